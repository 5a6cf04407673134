// SPDX-License-Identifier: Apache-2.0
//
// homes_stress SECONDS SEED: two or three homes, each with an owner thread of its own, and tables that span them.
//
// An owner lends blocks by taking them from its pool and putting the handles into the borrower's inbox (a queue under a mutex);
// the borrower appends them to its own tables. Workers, which belong to no home, send finished tables to all homes whose blocks
// are in them. The home that drains last hands a table back and keeps it, so tables wander. At the end of a round every block is
// home, and as many tables were handed back as were sent.
#include "placement/blocks/tests/stress_queue.h"

#include <errno.h>
#include <string.h>

#define HOMES 3u
#define WORKERS 3u
#define TABLES 16u // for each home at the start
#define CAPACITY 24u
#define BLOCKS 160u
#define LENT 32u    // most handles in one inbox
#define OPERATIONS 6000u

struct home {
    uint64_t random;
    uint32_t ordinal;
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct stress_queue inbox, returned;
    struct locus_table *spare[HOMES * TABLES], *live[HOMES * TABLES];
    unsigned spare_count, live_count;
    uint64_t taken;
    pthread_t thread;
};

struct worker {
    struct locus_route route;
    struct stress_queue queue;
    pthread_t thread;
};

static struct home homes[HOMES];
static struct worker workers[WORKERS];
static struct locus_table *tables[HOMES * TABLES];
static unsigned homes_count, workers_count;
static double end_s;
static pthread_barrier_t everyone;
static _Atomic uint64_t sent, handed_back, producers;

// Every block is marked with its own handle, because it passes through several hands before it reaches a table.
static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct locus_table *table;
    while ((table = (struct locus_table *)(uintptr_t)stress_queue_get(&worker->queue))) {
        for (uint32_t i = 0; i < table->count; i++)
            stress_unmark(homes[locus_block_home(table->blocks[i])].pool, table->blocks[i], table->blocks[i]);
        STRESS_EXPECT(locus_table_push(&worker->route, table) == 0);
    }
    return NULL;
}

static void drain(struct home *home)
{
    struct locus_table *table;
    if (stress_random(&home->random, 4))
        locus_owner_drain(home->owner);
    else
        locus_owner_drain_some(home->owner, stress_random(&home->random, 9));
    while ((table = locus_owner_next_reclaimed(home->owner))) {
        STRESS_EXPECT(table->state == LOCUS_TABLE_LIVE && table->count == 0 && table->homes == 0);
        home->spare[home->spare_count++] = table;
        atomic_fetch_add(&handed_back, 1);
    }
}

static void lend(struct home *home)
{
    struct home *borrower = &homes[stress_random(&home->random, homes_count)];
    locus_block blocks[4];
    uint32_t count = 1 + stress_random(&home->random, 4);
    if (borrower == home || stress_queue_count(&borrower->inbox) > LENT || locus_pool_alloc_bulk(home->pool, count, blocks))
        return;
    home->taken += count;
    for (uint32_t i = 0; i < count; i++) {
        stress_mark(home->pool, blocks[i], blocks[i]);
        stress_queue_put(&borrower->inbox, blocks[i]);
    }
}

static void borrow(struct home *home, struct locus_table *table)
{
    uint64_t block;
    uint32_t most = 1 + stress_random(&home->random, 6);
    while (most-- && table->count < table->capacity && stress_queue_try_get(&home->inbox, &block))
        STRESS_EXPECT(locus_table_append(table, block) == 0);
}

static void grow(struct home *home, struct locus_table *table)
{
    uint32_t before = table->count;
    uint32_t count = 1 + stress_random(&home->random, 4);
    int error = locus_owner_grow(home->owner, table, count);
    STRESS_EXPECT(error == 0 || error == -ENOMEM || error == -ENOSPC);
    home->taken += table->count - before;
    for (uint32_t i = before; i < table->count; i++)
        stress_mark(home->pool, table->blocks[i], table->blocks[i]);
}

static void finish(struct home *home, unsigned live)
{
    struct locus_table *table = home->live[live];
    home->live[live] = home->live[--home->live_count];
    int error = locus_owner_retire(home->owner, table);
    if (error) {
        STRESS_EXPECT(error == -ENODATA);
        home->spare[home->spare_count++] = table;
        return;
    }
    atomic_fetch_add(&sent, 1);
    stress_queue_put(&workers[stress_random(&home->random, workers_count)].queue, (uint64_t)(uintptr_t)table);
}

static void operate(struct home *home)
{
    if (home->spare_count && stress_random(&home->random, 4) == 0)
        home->live[home->live_count++] = home->spare[--home->spare_count];
    if (home->live_count) {
        unsigned live = stress_random(&home->random, home->live_count), choice = stress_random(&home->random, 16);
        if (choice < 6)
            grow(home, home->live[live]);
        else if (choice < 10)
            borrow(home, home->live[live]);
        else if (choice < 14)
            finish(home, live);
        else
            lend(home);
    }
    if (stress_random(&home->random, 4) == 0)
        drain(home);
}

// When lending has ended, the handles in the inbox go back to the lenders by hand: the tables that could carry them may all have
// wandered to another home. After a second barrier each home frees what came back.
static void inbox_return(struct home *home)
{
    uint64_t block;
    while (stress_queue_try_get(&home->inbox, &block))
        stress_queue_put(&homes[locus_block_home(block)].returned, block);
    pthread_barrier_wait(&everyone);
    while (stress_queue_try_get(&home->returned, &block)) {
        stress_unmark(home->pool, block, block);
        STRESS_EXPECT(locus_pool_free_bulk(home->pool, 1, &block, 0) == 1);
    }
}

static void *home_main(void *argument)
{
    struct home *home = argument;
    STRESS_EXPECT(locus_owner_adopt(home->owner) == 0);
    for (unsigned i = 0; i < OPERATIONS && (i % 64 || stress_now_s() < end_s); i++)
        operate(home);
    pthread_barrier_wait(&everyone);
    while (home->live_count)
        finish(home, 0);
    inbox_return(home);
    atomic_fetch_sub(&producers, 1);
    while (atomic_load(&producers) || atomic_load(&handed_back) < atomic_load(&sent)) {
        drain(home);
        struct timespec nap = {.tv_nsec = 20000};
        nanosleep(&nap, NULL);
    }
    locus_owner_leave(home->owner);
    return NULL;
}

static void home_open(struct home *home, uint32_t ordinal, uint64_t seed)
{
    *home = (struct home){.ordinal = ordinal, .random = stress_fork(seed, ordinal + 1)};
    struct locus_pool_config pool = {
        .size = sizeof pool, .home = ordinal, .blocks = BLOCKS, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    pool.reuse = (enum locus_reuse)stress_random(&home->random, LOCUS_REUSE_RUNS + 1);
    STRESS_EXPECT(locus_pool_open(&home->pool, &pool) == 0);
    struct locus_owner_config owner = {.size = sizeof owner,
                                       .pool = home->pool,
                                       .lanes = WORKERS,
                                       .wait_ns = UINT64_C(60000000000)};
    owner.backpressure = pool.reuse == LOCUS_REUSE_LIFO && stress_random(&home->random, 2);
    STRESS_EXPECT(locus_owner_open(&home->owner, &owner) == 0);
    stress_queue_init(&home->inbox);
    stress_queue_init(&home->returned);
    bool exclusive = stress_random(&home->random, 2);
    for (unsigned i = 0; i < TABLES; i++)
        home->spare[home->spare_count++] = tables[ordinal * TABLES + i];
    for (unsigned i = 0; i < workers_count; i++)
        STRESS_EXPECT((exclusive ? locus_route_add_exclusive : locus_route_add)(&workers[i].route, home->owner, i) == 0);
}

static uint64_t home_close(struct home *home)
{
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    stress_expect_idle(home->pool);
    locus_pool_stats(home->pool, &pool);
    STRESS_EXPECT(pool.allocated == home->taken);
    locus_owner_stats(home->owner, &owner);
    STRESS_EXPECT(owner.blocks_in_flight == 0);
    locus_owner_close(home->owner);
    locus_pool_close(home->pool);
    return home->taken;
}

static uint64_t run_round(uint64_t seed)
{
    uint64_t random = stress_fork(seed, 0), cycles = 0;
    homes_count = 2 + stress_random(&random, HOMES - 1);
    workers_count = 1 + stress_random(&random, WORKERS);
    memset(workers, 0, sizeof workers);
    STRESS_EXPECT(pthread_barrier_init(&everyone, NULL, homes_count) == 0);
    atomic_store(&sent, 0);
    atomic_store(&handed_back, 0);
    atomic_store(&producers, homes_count);
    for (uint32_t i = 0; i < homes_count; i++)
        home_open(&homes[i], i, seed);
    for (unsigned i = 0; i < workers_count; i++) {
        stress_queue_init(&workers[i].queue);
        STRESS_EXPECT(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < homes_count; i++)
        STRESS_EXPECT(pthread_create(&homes[i].thread, NULL, home_main, &homes[i]) == 0);
    unsigned spare = 0;
    for (unsigned i = 0; i < homes_count; i++) {
        pthread_join(homes[i].thread, NULL);
        spare += homes[i].spare_count;
    }
    for (unsigned i = 0; i < workers_count; i++)
        stress_queue_put(&workers[i].queue, 0);
    for (unsigned i = 0; i < workers_count; i++)
        pthread_join(workers[i].thread, NULL);
    STRESS_EXPECT(spare == homes_count * TABLES && atomic_load(&handed_back) == atomic_load(&sent));
    for (unsigned i = 0; i < homes_count; i++)
        cycles += home_close(&homes[i]);
    pthread_barrier_destroy(&everyone);
    return cycles;
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t cycles = 0;
    unsigned rounds = 0;
    end_s = stress.end_s;
    for (unsigned i = 0; i < HOMES * TABLES; i++)
        tables[i] = stress_table(HOMES, CAPACITY);
    do {
        cycles += run_round(stress_fork(stress.seed, rounds++));
    } while (stress_now_s() < end_s);
    for (unsigned i = 0; i < HOMES * TABLES; i++)
        free(tables[i]);
    printf("%llu cycles in %u rounds\n", (unsigned long long)cycles, rounds);
    return 0;
}
