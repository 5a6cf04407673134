// SPDX-License-Identifier: Apache-2.0
//
// backpressure_stress SECONDS SEED: bursts of requests while slow workers still hold the last ones. The footprint must never be
// larger than the theoretical peak, the most blocks that live requests have held at once. Now and then a worker dies for a
// while: grow then ends with -ETIMEDOUT, and when the worker is back nothing has been lost.
#include "placement/blocks/tests/stress_queue.h"

#include <errno.h>
#include <unistd.h>

#define WORKERS 3u
#define TABLES 32u
#define CAPACITY 16u
#define BLOCKS (TABLES * CAPACITY)
#define BURSTS 12u
#define WAIT_NS UINT64_C(60000000000)
#define DEAD_WAIT_NS UINT64_C(1000000)

struct worker {
    uint64_t random;
    struct locus_pool *pool;
    struct locus_route route;
    struct stress_queue queue;
    pthread_t thread;
};

struct round {
    uint64_t random;
    struct locus_pool *pool;
    struct locus_owner *owner;
    unsigned workers_count;
    struct worker workers[WORKERS];
    struct locus_table *tables[TABLES], *spare[TABLES];
    unsigned spare_count;
    uint64_t live, peak, taken, marks, timeouts;
    pthread_mutex_t morgue; // held by the owner while its workers are dead
};

static struct round round_now;

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct locus_table *table;
    while ((table = (struct locus_table *)(uintptr_t)stress_queue_get(&worker->queue))) {
        pthread_mutex_lock(&round_now.morgue);
        pthread_mutex_unlock(&round_now.morgue);
        usleep(stress_random(&worker->random, 100));
        for (uint32_t i = 0; i < table->count; i++)
            stress_unmark(worker->pool, table->blocks[i], table->tag);
        STRESS_EXPECT(locus_table_push(&worker->route, table) == 0);
    }
    return NULL;
}

static void round_open(struct round *round, uint64_t random, uint64_t wait_ns)
{
    *round = (struct round){.random = random, .morgue = PTHREAD_MUTEX_INITIALIZER};
    struct locus_pool_config pool = {.size = sizeof pool, .blocks = BLOCKS, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    STRESS_EXPECT(locus_pool_open(&round->pool, &pool) == 0);
    struct locus_owner_config owner = {
        .size = sizeof owner, .pool = round->pool, .lanes = WORKERS, .backpressure = true, .wait_ns = wait_ns};
    STRESS_EXPECT(locus_owner_open(&round->owner, &owner) == 0);
    STRESS_EXPECT(locus_owner_adopt(round->owner) == 0);
    for (unsigned i = 0; i < TABLES; i++)
        round->tables[i] = round->spare[round->spare_count++] = stress_table(1, CAPACITY);
    round->workers_count = 1 + stress_random(&round->random, WORKERS);
    bool exclusive = stress_random(&round->random, 2);
    for (unsigned i = 0; i < round->workers_count; i++) {
        struct worker *worker = &round->workers[i];
        *worker = (struct worker){.random = stress_fork(random, i + 1), .pool = round->pool};
        STRESS_EXPECT((exclusive ? locus_route_add_exclusive : locus_route_add)(&worker->route, round->owner, i) == 0);
        stress_queue_init(&worker->queue);
        STRESS_EXPECT(pthread_create(&worker->thread, NULL, worker_main, worker) == 0);
    }
}

static struct locus_table *spare_table(struct round *round)
{
    struct locus_table *table;
    while ((table = locus_owner_next_reclaimed(round->owner)))
        round->spare[round->spare_count++] = table;
    if (round->spare_count)
        return round->spare[--round->spare_count];
    locus_owner_drain(round->owner);
    return NULL;
}

static void footprint(struct round *round)
{
    struct locus_pool_stats stats;
    locus_pool_stats(round->pool, &stats);
    STRESS_EXPECT(stats.outstanding_high == round->peak);
    STRESS_EXPECT(stats.distinct_high == round->peak);
    STRESS_EXPECT(stats.allocated == round->taken);
}

// One that times out is tried again when the workers are back.
static void grow(struct round *round, struct locus_table *table, uint32_t count)
{
    uint32_t before = table->count;
    int error = locus_owner_grow(round->owner, table, count);
    if (error) {
        STRESS_EXPECT(error == -ETIMEDOUT && table->count == before);
        round->timeouts++;
        footprint(round);
        return;
    }
    for (uint32_t i = before; i < table->count; i++)
        stress_mark(round->pool, table->blocks[i], table->tag);
    round->taken += count;
    round->live += count;
    if (round->live > round->peak)
        round->peak = round->live;
    footprint(round);
}

static void send(struct round *round, struct locus_table *table)
{
    round->live -= table->count;
    if (locus_owner_retire(round->owner, table) == -ENODATA) {
        round->spare[round->spare_count++] = table;
        return;
    }
    stress_queue_put(&round->workers[stress_random(&round->random, round->workers_count)].queue, (uint64_t)(uintptr_t)table);
}

static void burst(struct round *round)
{
    struct locus_table *live[TABLES / 2];
    unsigned count = 1 + stress_random(&round->random, TABLES / 2), steps = 1 + stress_random(&round->random, 3);
    for (unsigned i = 0; i < count; i++) {
        while (!(live[i] = spare_table(round)))
            usleep(50);
        live[i]->tag = ++round->marks;
    }
    for (unsigned step = 0; step < steps; step++)
        for (unsigned i = 0; i < count; i++)
            grow(round, live[i], 1 + stress_random(&round->random, CAPACITY / 3));
    for (unsigned i = 0; i < count; i++)
        send(round, live[i]);
}

static void round_close(struct round *round)
{
    for (unsigned i = 0; i < round->workers_count; i++)
        stress_queue_put(&round->workers[i].queue, 0);
    for (unsigned i = 0; i < round->workers_count; i++)
        pthread_join(round->workers[i].thread, NULL);
    locus_owner_drain(round->owner);
    STRESS_EXPECT(spare_table(round) && round->spare_count == TABLES - 1);
    footprint(round);
    stress_expect_idle(round->pool);
    struct locus_owner_stats stats;
    locus_owner_stats(round->owner, &stats);
    STRESS_EXPECT(stats.tables_retired == stats.tables_drained && stats.blocks_in_flight == 0);
    locus_owner_leave(round->owner);
    locus_owner_close(round->owner);
    locus_pool_close(round->pool);
    for (unsigned i = 0; i < TABLES; i++)
        free(round->tables[i]);
}

// A round with living workers never times out; in one with dead ones the second burst finds nobody who has pushed the first.
static uint64_t run_round(uint64_t random, bool dying)
{
    struct round *round = &round_now;
    round_open(round, random, dying ? DEAD_WAIT_NS : WAIT_NS);
    for (unsigned i = 0; i < (dying ? 2 : BURSTS); i++) {
        if (dying && i == 0)
            pthread_mutex_lock(&round->morgue);
        burst(round);
    }
    if (dying)
        pthread_mutex_unlock(&round->morgue);
    STRESS_EXPECT(dying ? round->timeouts > 0 : round->timeouts == 0);
    round_close(round);
    return round->taken;
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t cycles = 0;
    unsigned rounds = 0;
    do {
        cycles += run_round(stress_fork(stress.seed, rounds), rounds % 8 == 7);
        rounds++;
    } while (stress_now_s() < stress.end_s);
    printf("%llu cycles in %u rounds\n", (unsigned long long)cycles, rounds);
    return 0;
}
