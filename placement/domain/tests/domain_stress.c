// SPDX-License-Identifier: Apache-2.0
//
// domain_stress SECONDS SEED: two to four homes on one node, each with an owner thread, that grow beyond what they have; workers
// that send the tables home; a bystander that marks homes as avoided and asks after their health.
//
// Policy, waiting time, spare blocks, chunk and back-pressure come from the seed. Owners grow, give up, withdraw or wait; some fall
// silent for a while, so that questions are cancelled and answered at the same time. A block is marked by its taker and
// wiped by the worker (stress.h). At the end of a round every table is back where it was retired, every block is home,
// and of each home as many tables were drained as were pushed.
#include "locus/locus.h"
#include "placement/blocks/tests/stress_queue.h"
#include "topo/topo.h"

#include <errno.h>
#include <string.h>

#define HOMES 4u
#define WORKERS 2u
#define TABLES 12u // of each home
#define CAPACITY 48u
#define BLOCKS 64u
#define OPERATIONS 4000u

struct side {
    uint64_t random;
    uint32_t home;
    struct locus_owner *owner;
    struct locus_table *idle[TABLES], *live[TABLES];
    unsigned idle_count, live_count;
    uint64_t grown[HOMES]; // blocks of each home that came into tables here
    pthread_t thread;
};

struct worker {
    const struct locus_route *route;
    struct stress_queue queue;
    uint64_t pushed[HOMES];
    pthread_t thread;
};

static struct locus_domain *domain;
static struct side sides[HOMES];
static struct worker workers[WORKERS];
static uint32_t homes_count;
static double end_s;
static _Atomic uint64_t busy;  // owners whose tables are not all idle
static _Atomic bool over;

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct locus_table *table;
    while ((table = (struct locus_table *)(uintptr_t)stress_queue_get(&worker->queue))) {
        for (uint32_t i = 0; i < table->count; i++) {
            uint64_t *word = locus_domain_address(domain, table->blocks[i]);
            STRESS_EXPECT(*word == table->blocks[i]);
            *word = 0;
        }
        for (uint32_t i = 0; i < homes_count; i++)
            worker->pushed[i] += table->homes >> i & 1;
        STRESS_EXPECT(locus_table_push(worker->route, table) == 0);
    }
    return NULL;
}

static void drain(struct side *side)
{
    struct locus_table *table;
    if (stress_random(&side->random, 4))
        locus_domain_drain(domain, side->home);
    else
        locus_domain_drain_some(domain, side->home, stress_random(&side->random, 16));
    while ((table = locus_domain_next_reclaimed(domain, side->home))) {
        STRESS_EXPECT(table->state == LOCUS_TABLE_LIVE && table->count == 0 && table->homes == 0);
        STRESS_EXPECT(table->tag == side->home && side->idle_count < TABLES);
        side->idle[side->idle_count++] = table;
    }
}

static void grow(struct side *side, struct locus_table *table)
{
    uint32_t before = table->count, count = 1 + stress_random(&side->random, 12);
    int error = locus_domain_grow(domain, side->home, table, count);
    STRESS_EXPECT(error == 0 || error == -ENOMEM || error == -EAGAIN || error == -ETIMEDOUT || error == -ENOSPC);
    STRESS_EXPECT(table->count == before + (error ? 0 : count));
    for (uint32_t i = before; i < table->count; i++) {
        uint64_t *word = locus_domain_address(domain, table->blocks[i]);
        STRESS_EXPECT(*word == 0);
        *word = table->blocks[i];
        side->grown[locus_block_home(table->blocks[i])]++;
    }
}

static void finish(struct side *side, unsigned live)
{
    struct locus_table *table = side->live[live];
    side->live[live] = side->live[--side->live_count];
    int error = locus_owner_retire(side->owner, table);
    STRESS_EXPECT(error == 0 || error == -ENODATA);
    if (error)
        side->idle[side->idle_count++] = table;
    else
        stress_queue_put(&workers[stress_random(&side->random, WORKERS)].queue, (uint64_t)(uintptr_t)table);
}

static void nap(uint64_t ns)
{
    struct timespec time = {.tv_nsec = (long)ns};
    nanosleep(&time, NULL);
}

static void operate(struct side *side)
{
    unsigned choice = stress_random(&side->random, 64);
    if (side->idle_count && stress_random(&side->random, 3) == 0)
        side->live[side->live_count++] = side->idle[--side->idle_count];
    if (side->live_count && choice < 32)
        grow(side, side->live[stress_random(&side->random, side->live_count)]);
    else if (side->live_count && choice < 40)
        finish(side, stress_random(&side->random, side->live_count));
    else if (choice < 44)
        locus_domain_cancel(domain, side->home);
    else if (choice == 63 && stress_random(&side->random, 8) == 0)
        nap(200000);
    else if (choice >= 48)
        drain(side);
}

static void *side_main(void *argument)
{
    struct side *side = argument;
    STRESS_EXPECT(locus_owner_adopt(side->owner) == 0);
    for (unsigned i = 0; i < OPERATIONS && (i % 64 || stress_now_s() < end_s); i++)
        operate(side);
    while (side->live_count)
        finish(side, 0);
    locus_domain_cancel(domain, side->home);
    for (bool counted = false; atomic_load(&busy); nap(20000)) {
        drain(side);
        if (!counted && side->idle_count == TABLES) {
            atomic_fetch_sub(&busy, 1);
            counted = true;
        }
    }
    locus_owner_leave(side->owner);
    return NULL;
}

static void *bystander_main(void *argument)
{
    uint64_t random = *(uint64_t *)argument;
    struct locus_home_report reports[HOMES];
    while (!atomic_load(&over)) {
        STRESS_EXPECT(locus_domain_check(domain, reports) == 0);
        for (uint32_t i = 0; i < homes_count; i++)
            STRESS_EXPECT(reports[i].node_bytes_now == 0 || reports[i].condition <= LOCUS_HOME_MIGRATED);
        locus_domain_avoid(domain, stress_random(&random, homes_count), stress_random(&random, 4) == 0);
        nap(300000);
    }
    return NULL;
}

static void domain_open(uint64_t *random)
{
    int nodes[HOMES] = {0};
    while (!locus_node_allowed(nodes[0]))
        nodes[0]++;
    for (unsigned i = 1; i < HOMES; i++)
        nodes[i] = nodes[0];
    homes_count = 2 + stress_random(random, HOMES - 1);
    struct locus_domain_config config = {
        .size = sizeof config,
        .nodes = nodes,
        .nodes_count = homes_count,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .lanes = WORKERS,
        .blocks = BLOCKS,
        .block_bytes = 64,
        .exhausted = stress_random(random, 4) ? LOCUS_EXHAUSTED_BORROW : LOCUS_EXHAUSTED_WAIT,
        .wait_ns = stress_random(random, 2) ? 0 : 50000u << stress_random(random, 6),
        .spare = stress_random(random, 2) ? 0 : stress_random(random, BLOCKS / 4),
        .chunk = stress_random(random, 2) ? 0 : 1 + stress_random(random, 12),
        .backpressure = stress_random(random, 4) == 0,
        .exclusive = stress_random(random, 2),
    };
    STRESS_EXPECT(locus_domain_open(&domain, &config) == 0);
}

static void side_open(struct side *side, uint32_t home, uint64_t seed, struct locus_table **tables)
{
    *side = (struct side){.home = home, .random = stress_fork(seed, home + 1), .owner = locus_domain_owner(domain, home)};
    for (unsigned i = 0; i < TABLES; i++) {
        STRESS_EXPECT(locus_domain_table_init(domain, tables[i], CAPACITY, 16) == 0);
        tables[i]->tag = home;
        side->idle[side->idle_count++] = tables[i];
    }
}

// One more drain: what was cancelled or given back last lies in the desks. Returns the blocks that went round.
static uint64_t side_close(struct side *side)
{
    struct locus_pool_stats pool;
    struct locus_owner_stats owner;
    struct locus_domain_stats stats;
    uint64_t grown = 0, pushed = 0;
    for (uint32_t i = 0; i < homes_count; i++)
        grown += sides[i].grown[side->home];
    for (unsigned i = 0; i < WORKERS; i++)
        pushed += workers[i].pushed[side->home];
    stress_expect_idle(locus_owner_pool(side->owner));
    locus_pool_stats(locus_owner_pool(side->owner), &pool);
    locus_owner_stats(side->owner, &owner);
    locus_domain_stats(domain, side->home, &stats);
    STRESS_EXPECT(owner.blocks_in_flight == 0 && owner.tables_drained == pushed);
    STRESS_EXPECT(pool.allocated == grown + stats.blocks_lent_unused + stats.blocks_late);
    STRESS_EXPECT(stats.blocks_lent - stats.blocks_lent_unused <= grown);
    return grown;
}

static uint64_t blocks_between(void)
{
    uint64_t lent = 0, borrowed = 0, returned = 0, unlent = 0;
    for (uint32_t i = 0; i < homes_count; i++) {
        struct locus_domain_stats stats;
        locus_domain_stats(domain, i, &stats);
        lent += stats.blocks_lent;
        unlent += stats.blocks_lent_unused;
        borrowed += stats.blocks_borrowed;
        returned += stats.blocks_returned;
    }
    STRESS_EXPECT(lent == borrowed && unlent == returned);
    return lent - unlent;
}

static void run_threads(uint64_t seed)
{
    pthread_t bystander;
    for (unsigned i = 0; i < WORKERS; i++) {
        memset(&workers[i], 0, sizeof workers[i]);
        workers[i].route = locus_domain_route(domain, i);
        stress_queue_init(&workers[i].queue);
        STRESS_EXPECT(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
    }
    for (uint32_t i = 0; i < homes_count; i++)
        STRESS_EXPECT(pthread_create(&sides[i].thread, NULL, side_main, &sides[i]) == 0);
    STRESS_EXPECT(pthread_create(&bystander, NULL, bystander_main, &seed) == 0);
    for (uint32_t i = 0; i < homes_count; i++)
        pthread_join(sides[i].thread, NULL);
    atomic_store(&over, true);
    pthread_join(bystander, NULL);
    for (unsigned i = 0; i < WORKERS; i++) {
        stress_queue_put(&workers[i].queue, 0);
        pthread_join(workers[i].thread, NULL);
    }
    for (uint32_t i = 0; i < homes_count; i++) {
        STRESS_EXPECT(locus_owner_adopt(sides[i].owner) == 0);
        drain(&sides[i]);
        locus_owner_leave(sides[i].owner);
    }
}

static void run_round(uint64_t seed, struct locus_table **tables, uint64_t *cycles, uint64_t *borrowed)
{
    uint64_t random = stress_fork(seed, 0);
    domain_open(&random);
    atomic_store(&over, false);
    atomic_store(&busy, homes_count);
    for (uint32_t i = 0; i < homes_count; i++)
        side_open(&sides[i], i, seed, tables + i * TABLES);
    run_threads(stress_fork(seed, 99));
    for (uint32_t i = 0; i < homes_count; i++)
        *cycles += side_close(&sides[i]);
    *borrowed += blocks_between();
    locus_domain_close(domain);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    struct locus_table *tables[HOMES * TABLES];
    uint64_t cycles = 0, borrowed = 0;
    unsigned rounds = 0;
    end_s = stress.end_s;
    for (unsigned i = 0; i < HOMES * TABLES; i++)
        tables[i] = stress_table(HOMES, CAPACITY);
    do {
        run_round(stress_fork(stress.seed, rounds++), tables, &cycles, &borrowed);
    } while (stress_now_s() < end_s);
    for (unsigned i = 0; i < HOMES * TABLES; i++)
        free(tables[i]);
    printf("%llu cycles, %llu of them borrowed, in %u rounds\n", (unsigned long long)cycles, (unsigned long long)borrowed, rounds);
    return 0;
}
