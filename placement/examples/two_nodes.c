// SPDX-License-Identifier: Apache-2.0
//
// Two nodes, one engine, built on the installed library:
//
//     cc -std=c11 -D_GNU_SOURCE -pthread two_nodes.c $(pkg-config --cflags --libs locus)
//
// Each home has a scheduler thread, spawned on its node, that decodes its own requests with blocks of its node. The worker that
// reads a finished request may run anywhere: one push per home sends each block to where it belongs. The first home is busy, with
// more requests at a time than its memory can hold; it borrows from the second one, which is not.
//
// On a machine with one node both homes are there: the same program, without the distance. Without mbind (a container may forbid
// it) the homes are where their threads first write.
#include <locus/locus.h>

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOMES = 2, REQUESTS = 2000, LIVE = 24, LIVE_QUIET = 8, LENGTH = 16, BLOCKS = 320, BLOCK_BYTES = 4096 };

struct scheduler {
    uint32_t home, admitted, served, requests;
    uint64_t blocks;
    struct locus_table *idle[LIVE], *live[LIVE];
    unsigned tables, idle_count, live_count;
};

static struct locus_domain *domain;
static struct scheduler schedulers[HOMES];

// The engine's dispatch: a queue of finished requests under a mutex, with room for all requests.
static struct locus_table *queue[HOMES * LIVE];
static unsigned queued;
static bool closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t damaged;
static _Atomic unsigned unfinished = HOMES; // schedulers

// The library returns 0 or -errno. Here an error ends the program.
static void check(int result, const char *what)
{
    if (result < 0)
        errx(1, "%s: %s", what, strerror(-result));
}

static struct locus_table *next_finished(void)
{
    pthread_mutex_lock(&lock);
    while (queued == 0 && !closed)
        pthread_cond_wait(&changed, &lock);
    struct locus_table *table = queued ? queue[--queued] : NULL;
    pthread_mutex_unlock(&lock);
    return table;
}

static void *work(void *unused)
{
    (void)unused;
    for (struct locus_table *table; (table = next_finished());) {
        for (uint32_t i = 0; i < table->count; i++)
            damaged += *(locus_block *)locus_domain_address(domain, table->blocks[i]) != table->blocks[i];
        check(locus_table_push(locus_domain_route(domain, 0), table), "push");
    }
    return NULL;
}

static void finish(struct scheduler *scheduler, unsigned live)
{
    struct locus_table *table = scheduler->live[live];
    scheduler->live[live] = scheduler->live[--scheduler->live_count];
    check(locus_owner_retire(locus_domain_owner(domain, scheduler->home), table), "retire");
    pthread_mutex_lock(&lock);
    queue[queued++] = table;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

// Takes one more block for a request. If neither home has one, the request has to wait: -EAGAIN means that blocks are on their
// way, -ENOMEM that a request has to end first. Both homes together have room for all live requests, so one will end.
static void decode(struct scheduler *scheduler, unsigned live)
{
    struct locus_table *table = scheduler->live[live];
    int error = locus_domain_grow(domain, scheduler->home, table, 1);
    if (error == -EAGAIN || error == -ENOMEM)
        return;
    check(error, "grow");
    locus_block block = table->blocks[table->count - 1];
    *(locus_block *)locus_domain_address(domain, block) = block;
    scheduler->blocks++;
    if (table->count == LENGTH)
        finish(scheduler, live);
}

// One round. A scheduler that has finished goes on answering its neighbour until that one has finished as well.
static int step(struct locus_owner *owner, void *argument)
{
    struct scheduler *scheduler = argument;
    uint64_t before = scheduler->blocks;
    (void)owner;
    locus_domain_drain(domain, scheduler->home);
    for (struct locus_table *table; (table = locus_domain_next_reclaimed(domain, scheduler->home));) {
        scheduler->idle[scheduler->idle_count++] = table;
        if (++scheduler->served == scheduler->requests) {
            locus_domain_cancel(domain, scheduler->home);
            unfinished--;
        }
    }
    for (; scheduler->idle_count && scheduler->admitted < scheduler->requests; scheduler->admitted++)
        scheduler->live[scheduler->live_count++] = scheduler->idle[--scheduler->idle_count];
    for (unsigned i = scheduler->live_count; i-- > 0;)
        decode(scheduler, i);
    if (scheduler->blocks == before)
        sched_yield(); // the worker has everything, or requests wait
    return unfinished ? 0 : 1;
}

static void domain_open(void)
{
    struct locus_domain_config config = {
        .size = sizeof config,
        .lanes = 1,
        .blocks = BLOCKS,
        .block_bytes = BLOCK_BYTES,
        .policy = LOCUS_POLICY_BIND,
        .populate = true,
        .exhausted = LOCUS_EXHAUSTED_BORROW,
        .spare = 32,
    };
    int error = locus_domain_open(&domain, &config);
    if (error == -EPERM || error == -ENOSYS) {
        config.policy = LOCUS_POLICY_FIRST_TOUCH;
        error = locus_domain_open(&domain, &config);
    }
    check(error, "domain");
    int node = locus_domain_node(domain, 0), other = locus_domain_homes(domain) > 1 ? locus_domain_node(domain, 1) : node;
    locus_domain_close(domain);
    config.nodes = (const int[]){node, other};
    config.nodes_count = HOMES;
    check(locus_domain_open(&domain, &config), "domain of two homes");
    printf("homes on nodes       %d and %d\n", node, other);
}

static void start(uint32_t home)
{
    struct scheduler *scheduler = &schedulers[home];
    *scheduler = (struct scheduler){.home = home};
    scheduler->requests = home == 0 ? REQUESTS * 3 / 4 : REQUESTS / 4;
    scheduler->tables = home == 0 ? LIVE : LIVE_QUIET;
    for (; scheduler->idle_count < scheduler->tables; scheduler->idle_count++) {
        struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, LENGTH));
        if (!table)
            errx(1, "out of memory");
        check(locus_domain_table_init(domain, table, LENGTH, 16), "table");
        scheduler->idle[scheduler->idle_count] = table;
    }
    check(locus_owner_spawn(locus_domain_owner(domain, home), locus_domain_node(domain, home), step, scheduler), "scheduler");
}

static void report(uint64_t *lent, uint64_t *out)
{
    for (uint32_t home = 0; home < HOMES; home++) {
        struct locus_domain_stats stats;
        struct locus_pool_stats pool;
        check(locus_owner_adopt(locus_domain_owner(domain, home)), "adopt");
        locus_domain_drain(domain, home); // what a neighbour gave back last
        locus_domain_stats(domain, home, &stats);
        locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, home)), &pool);
        locus_owner_leave(locus_domain_owner(domain, home));
        printf("home %u              %u requests, %llu blocks; lent %llu\n", home, schedulers[home].served,
               (unsigned long long)schedulers[home].blocks, (unsigned long long)(stats.blocks_lent - stats.blocks_lent_unused));
        *lent += stats.blocks_lent - stats.blocks_lent_unused;
        *out += pool.allocated - pool.freed;
    }
}

int main(void)
{
    pthread_t worker;
    uint64_t lent = 0, out = 0;
    int result;
    domain_open();
    for (uint32_t home = 0; home < HOMES; home++)
        start(home);
    check(-pthread_create(&worker, NULL, work, NULL), "worker");
    for (uint32_t home = 0; home < HOMES; home++)
        check(locus_owner_join(locus_domain_owner(domain, home), &result), "join");
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    report(&lent, &out);
    printf("requests served      %u of %d\n", schedulers[0].served + schedulers[1].served, REQUESTS);
    printf("blocks lent          %llu\n", (unsigned long long)lent);
    for (uint32_t home = 0; home < HOMES; home++)
        for (unsigned i = 0; i < schedulers[home].tables; i++)
            free(schedulers[home].idle[i]);
    locus_domain_close(domain);
    bool well = out == 0 && damaged == 0 && lent > 0;
    puts(well ? "all blocks came home" : "something is wrong");
    return well ? 0 : 1;
}
