// SPDX-License-Identifier: Apache-2.0
//
// pool_stress SECONDS SEED: one owner, one to eight workers, and pools of every make, in rounds of a few thousand requests.
//
// The owner keeps a model beside the pool: the last generation of each block that was handed out. A block that leaves with a
// generation it has had before was handed out twice. What is in the blocks is looked at by the workers (stress.h). At the end of
// a round everything must be home and every count must agree with the model's.
#include "locus/inline.h"
#include "placement/blocks/tests/stress_queue.h"

#include <errno.h>
#include <string.h>

#define WORKERS 8u
#define TABLES 24u
#define CAPACITY 32u
#define BLOCKS 256u // at most, of one pool
#define OPERATIONS 4000u

struct round;

struct worker {
    struct round *round;
    struct locus_route route;
    struct stress_queue queue;
    pthread_t thread;
};

struct round {
    uint64_t random;
    struct locus_pool *pool;
    struct locus_owner *owner;
    uint32_t generations, generation_first;
    unsigned workers_count;
    bool exclusive;                  // each worker has a lane of its own
    bool whole;                 // tables are not divided
    struct worker workers[WORKERS];
    struct locus_table *tables[TABLES], *spare[TABLES], *live[TABLES];
    unsigned spare_count, live_count;
    uint32_t generation[BLOCKS]; // last handed out, 0: never
    uint64_t taken, marks, sent, reclaimed;
};

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct locus_table *table;
    while ((table = (struct locus_table *)(uintptr_t)stress_queue_get(&worker->queue))) {
        for (uint32_t i = 0; i < table->count; i++)
            stress_unmark(worker->round->pool, table->blocks[i], table->tag);
        STRESS_EXPECT(locus_table_push(&worker->route, table) == 0);
    }
    return NULL;
}

static void pool_make(struct round *round)
{
    uint64_t *random = &round->random;
    struct locus_pool_config config = {
        .size = sizeof config,
        .home = stress_random(random, 2),
        .blocks = 16 + stress_random(random, BLOCKS - 16),
        .block_bytes = 64,
        .stride_bytes = stress_random(random, 2) ? 192 : 0,
        .backing = stress_random(random, 4) ? LOCUS_BACKING_MAPPED : LOCUS_BACKING_HEAP,
        .reuse = (enum locus_reuse)stress_random(random, LOCUS_REUSE_RUNS + 1),
        .node = LOCUS_NODE_ANY,
        .populate = true, // and so zeroed, which a heap block is not otherwise
        .generations = stress_random(random, 4) ? 0 : 20,
        .fetch_ahead = stress_random(random, 2),
    };
    round->generations = config.generations;
    round->whole = config.reuse == LOCUS_REUSE_FIFO;
    STRESS_EXPECT(locus_pool_open(&round->pool, &config) == 0);
    struct locus_owner_config owner = {
        .size = sizeof owner,
        .pool = round->pool,
        .lanes = round->exclusive ? round->workers_count : 1 + stress_random(random, round->workers_count),
        .backpressure = config.reuse == LOCUS_REUSE_LIFO && stress_random(random, 2),
        .wait_ns = stress_random(random, 3) ? UINT64_C(60000000000) : 0,
    };
    STRESS_EXPECT(locus_owner_open(&round->owner, &owner) == 0);
    STRESS_EXPECT(locus_owner_adopt(round->owner) == 0);
    for (unsigned i = 0; i < round->workers_count; i++) {
        struct locus_route *route = &round->workers[i].route;
        STRESS_EXPECT((round->exclusive ? locus_route_add_exclusive : locus_route_add)(route, round->owner, i % owner.lanes) == 0);
    }
}

static void round_open(struct round *round, uint64_t random)
{
    *round = (struct round){.random = random};
    round->workers_count = 1 + stress_random(&round->random, WORKERS);
    round->exclusive = stress_random(&round->random, 2);
    pool_make(round);
    for (unsigned i = 0; i < TABLES; i++)
        round->tables[i] = round->spare[round->spare_count++] = stress_table(2, CAPACITY);
    for (unsigned i = 0; i < round->workers_count; i++) {
        round->workers[i].round = round;
        stress_queue_init(&round->workers[i].queue);
        STRESS_EXPECT(pthread_create(&round->workers[i].thread, NULL, worker_main, &round->workers[i]) == 0);
    }
}

static void collect(struct round *round)
{
    struct locus_table *table;
    while ((table = locus_owner_next_reclaimed(round->owner))) {
        STRESS_EXPECT(table->state == LOCUS_TABLE_LIVE && table->count == 0 && table->homes == 0);
        STRESS_EXPECT(round->spare_count < TABLES);
        round->spare[round->spare_count++] = table;
        round->reclaimed++;
    }
}

static void note_taken(struct round *round, struct locus_table *table, uint32_t from)
{
    if (!round->generation_first)
        round->generation_first = locus_block_generation(table->blocks[from]);
    STRESS_EXPECT(!round->generations || round->generation_first == LOCUS_GENERATION_MAX - round->generations + 1);
    for (uint32_t i = from; i < table->count; i++) {
        uint32_t index = locus_block_index(table->blocks[i]), generation = locus_block_generation(table->blocks[i]);
        STRESS_EXPECT(locus_pool_check(round->pool, table->blocks[i]) == 0);
        STRESS_EXPECT(generation == (round->generation[index] ? round->generation[index] + 1 : round->generation_first));
        round->generation[index] = generation;
        stress_mark(round->pool, table->blocks[i], table->tag);
    }
    round->taken += table->count - from;
}

// False when not even one block will ever be free: worn out, which only a pool with few generations may be.
static bool grow(struct round *round, struct locus_table *table)
{
    uint32_t before = table->count, room = table->capacity - before;
    uint32_t count = 1 + stress_random(&round->random, room < 8 ? room : 8);
    bool inlined = stress_random(&round->random, 2);
    int error = (inlined ? locus_owner_grow_inline : locus_owner_grow)(round->owner, table, count);
    if (error == 0)
        note_taken(round, table, before);
    else
        STRESS_EXPECT((error == -ENOMEM || error == -EAGAIN) && table->count == before);
    if (error != -ENOMEM || before || round->live_count > 1)
        return true;
    struct locus_pool_stats stats;
    locus_pool_stats(round->pool, &stats);
    STRESS_EXPECT(round->generations && stats.blocks_worn + count > stats.blocks);
    return false;
}

static void truncate(struct round *round, struct locus_table *table)
{
    uint32_t keep = stress_random(&round->random, table->count + 1);
    for (uint32_t i = keep; i < table->count; i++)
        stress_unmark(round->pool, table->blocks[i], table->tag);
    STRESS_EXPECT(locus_owner_truncate(round->owner, table, keep) == 0);
}

static void finish(struct round *round, unsigned live)
{
    struct locus_table *table = round->live[live];
    round->live[live] = round->live[--round->live_count];
    int error = locus_owner_retire(round->owner, table);
    if (error) {
        STRESS_EXPECT(error == -ENODATA && table->count == 0);
        round->spare[round->spare_count++] = table;
        return;
    }
    struct worker *worker = &round->workers[stress_random(&round->random, round->workers_count)];
    stress_queue_put(&worker->queue, (uint64_t)(uintptr_t)table);
    round->sent++;
}

static void books(struct round *round)
{
    struct locus_pool_stats stats;
    locus_pool_stats(round->pool, &stats);
    STRESS_EXPECT(stats.allocated == round->taken);
    STRESS_EXPECT(stats.outstanding == stats.allocated - stats.freed);
    STRESS_EXPECT(stats.blocks_free + stats.outstanding + stats.blocks_worn == stats.blocks);
    STRESS_EXPECT(stats.outstanding <= stats.outstanding_high && stats.outstanding_high <= stats.distinct_high);
}

static bool operate(struct round *round)
{
    collect(round);
    if (round->spare_count && stress_random(&round->random, 4) == 0) {
        struct locus_table *table = round->spare[--round->spare_count];
        table->tag = ++round->marks;
        round->live[round->live_count++] = table;
    }
    if (round->live_count) {
        unsigned live = stress_random(&round->random, round->live_count);
        struct locus_table *table = round->live[live];
        unsigned choice = stress_random(&round->random, 16);
        if (choice < 10 && table->count < table->capacity) {
            if (!grow(round, table))
                return false;
        } else if (choice < 12) {
            truncate(round, table);
        } else {
            finish(round, live);
        }
    }
    if (stress_random(&round->random, 8) == 0)
        locus_owner_drain_inline(round->owner);
    if (stress_random(&round->random, 8) == 0) {
        uint32_t budget = stress_random(&round->random, 20);
        STRESS_EXPECT(locus_owner_drain_some(round->owner, budget) <= budget || round->whole);
    }
    return true;
}

static void round_close(struct round *round)
{
    while (round->live_count)
        finish(round, 0);
    for (unsigned i = 0; i < round->workers_count; i++)
        stress_queue_put(&round->workers[i].queue, 0);
    for (unsigned i = 0; i < round->workers_count; i++)
        pthread_join(round->workers[i].thread, NULL);
    locus_owner_drain(round->owner);
    collect(round);
    books(round);
    stress_expect_idle(round->pool);
    struct locus_owner_stats stats;
    locus_owner_stats(round->owner, &stats);
    STRESS_EXPECT(stats.tables_retired == round->sent && stats.tables_drained == round->sent);
    STRESS_EXPECT(round->reclaimed == round->sent && round->spare_count == TABLES);
    STRESS_EXPECT(stats.blocks_in_flight == 0);
    locus_owner_leave(round->owner);
    locus_owner_close(round->owner);
    locus_pool_close(round->pool);
    for (unsigned i = 0; i < TABLES; i++)
        free(round->tables[i]);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t cycles = 0;
    unsigned rounds = 0;
    do {
        static struct round round;
        round_open(&round, stress_fork(stress.seed, rounds++));
        for (unsigned i = 0; i < OPERATIONS && operate(&round); i++) {
            if (i % 64 == 0) {
                books(&round);
                if (stress_now_s() > stress.end_s)
                    break;
            }
        }
        round_close(&round);
        cycles += round.taken;
    } while (stress_now_s() < stress.end_s);
    printf("%llu cycles in %u rounds\n", (unsigned long long)cycles, rounds);
    return 0;
}
