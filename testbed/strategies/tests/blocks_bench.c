// SPDX-License-Identifier: Apache-2.0
//
// blocks_bench: what the calls of a pool of blocks and of its owner cost, and what becomes of that as pools grow. Started by
// `make bench-blocks`.
//
//   blocks_bench [ROUNDS [calls|scale|homes]]        60 rounds of all
//
//   calls    ns of each call alone, one thread, 128 tables of 32 blocks between two readings of the clock, whose cost is
//            subtracted; and an empty loop of as many turns
//   scale    pools of 2^10 to 2^26 blocks of 64 bytes, which nobody touches: how long one takes to open, how much memory its books
//            take, and ns for each block that is taken, pushed and freed, while three quarters of the pool are out
//   homes    64 pools, each with an owner of 256 lanes: how long they take to open, and what a drain costs that finds nothing
//
// Exit status: 0 all goals are met, 1 one is not shown, 2 cannot measure.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locus/inline.h"
#include "testbed/stats/latency.h"
#include "testbed/stats/random.h"
#include "testbed/stats/stats.h"
#include "testbed/stats/tests/contest.h"

#define TABLES 128u
#define BULK 32u
#define BLOCKS (TABLES * BULK)
#define REPEATS 16u              // of a batch between two readings of the clock, where nothing has to be undone in between

static uint32_t rounds = 60;
static double clock_ns;

struct world {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_route ring, mailbox;
    struct locus_table **tables;
    uint32_t tables_count;
};

static struct locus_table *table_make(void)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, BULK));
    if (!table)
        contest_fail("memory", ENOMEM);
    CONTEST_NEED(locus_table_init(table, 1, BULK, 16));
    return table;
}

static void world_open(struct world *world, uint32_t blocks, uint32_t tables)
{
    struct locus_pool_config pool = {
        .size = sizeof pool, .blocks = blocks, .block_bytes = 64, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY};
    CONTEST_NEED(locus_pool_open(&world->pool, &pool));
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 2};
    CONTEST_NEED(locus_owner_open(&world->owner, &owner));
    CONTEST_NEED(locus_owner_adopt(world->owner));
    CONTEST_NEED(locus_route_add_exclusive(&world->ring, world->owner, 0));
    CONTEST_NEED(locus_route_add(&world->mailbox, world->owner, 1));
    world->tables_count = tables;
    world->tables = calloc(tables, sizeof *world->tables);
    if (!world->tables)
        contest_fail("memory", ENOMEM);
    for (uint32_t i = 0; i < tables; i++)
        world->tables[i] = table_make();
}

static void world_close(struct world *world)
{
    for (uint32_t i = 0; i < world->tables_count; i++)
        free(world->tables[i]);
    free(world->tables);
    CONTEST_NEED(locus_owner_leave(world->owner));
    CONTEST_NEED(locus_owner_close(world->owner));
    locus_pool_close(world->pool);
    *world = (struct world){0};
}

// --- calls ----------------------------------------------------------------------------------------------------------------------

static struct world calls;

static void drain_all(void)
{
    locus_owner_drain(calls.owner);
    while (locus_owner_next_reclaimed(calls.owner))
        ;
}

static void grow_all(void)
{
    for (uint32_t i = 0; i < TABLES; i++)
        CONTEST_NEED(locus_owner_grow(calls.owner, calls.tables[i], BULK));
}

static void retire_all(void)
{
    for (uint32_t i = 0; i < TABLES; i++)
        CONTEST_NEED(locus_owner_retire(calls.owner, calls.tables[i]));
}

static void push_all(const struct locus_route *route)
{
    for (uint32_t i = 0; i < TABLES; i++)
        CONTEST_NEED(locus_table_push_inline(route, calls.tables[i]));
}

static void home_again(void)
{
    retire_all();
    push_all(&calls.mailbox);
    drain_all();
}

static double nothing_measure(void *context)
{
    double begin_ns = contest_now_ns();
    (void)context;
    for (uint32_t i = 0; i < REPEATS * BLOCKS; i++)
        __asm__ volatile("" : : "r"(i) : "memory");
    return (contest_now_ns() - begin_ns - clock_ns) / (REPEATS * (double)BLOCKS);
}

// What is taken in `count` at a time, by one table after the other as in a decode step, through the call or inlined. Sums over
// REPEATS, as all has to come home in between.
static double take_measure(uint32_t count, bool inlined)
{
    double sum_ns = 0;
    for (uint32_t r = 0; r < REPEATS; r++) {
        double begin_ns = contest_now_ns();
        for (uint32_t k = 0; k < BULK; k += count)
            for (uint32_t i = 0; i < TABLES; i++) {
                if (inlined)
                    locus_owner_grow_inline(calls.owner, calls.tables[i], count);
                else
                    locus_owner_grow(calls.owner, calls.tables[i], count);
            }
        sum_ns += contest_now_ns() - begin_ns - clock_ns;
        home_again();
    }
    return sum_ns / (REPEATS * (double)BLOCKS);
}

static double alloc_measure(void *context)
{
    static locus_block blocks[BLOCKS];
    double sum_ns = 0;
    (void)context;
    for (uint32_t r = 0; r < REPEATS; r++) {
        double begin_ns = contest_now_ns();
        for (uint32_t i = 0; i < BLOCKS; i++)
            blocks[i] = locus_pool_alloc_inline(calls.pool);
        sum_ns += contest_now_ns() - begin_ns - clock_ns;
        locus_pool_free_bulk(calls.pool, BLOCKS, blocks, 0);
    }
    return sum_ns / (REPEATS * (double)BLOCKS);
}

static double one_measure(void *context)
{
    return take_measure(1, context != NULL);
}

static double bulk_measure(void *context)
{
    return take_measure(BULK, context != NULL);
}

static double push_measure(void *context)
{
    double sum_ns = 0;
    for (uint32_t r = 0; r < REPEATS; r++) {
        grow_all();
        retire_all();
        double begin_ns = contest_now_ns();
        push_all(context);
        sum_ns += contest_now_ns() - begin_ns - clock_ns;
        drain_all();
    }
    return sum_ns / (REPEATS * (double)TABLES);
}

static double drain_measure(void *context)
{
    double sum_ns = 0;
    for (uint32_t r = 0; r < REPEATS; r++) {
        grow_all();
        retire_all();
        push_all(context);
        double begin_ns = contest_now_ns();
        locus_owner_drain(calls.owner);
        sum_ns += contest_now_ns() - begin_ns - clock_ns;
        drain_all();
    }
    return sum_ns / (REPEATS * (double)BLOCKS);
}

static bool calls_run(void)
{
    struct contest contest = {
        .title = "calls, one thread, ns each (bulk and drain: a block)",
        .rounds = rounds,
        .arms = {{"an empty loop", nothing_measure, NULL, CONTEST_NONE, 0},
                 {"allocate without a table, inlined", alloc_measure, NULL, CONTEST_NS_AT_MOST, 1.5},
                 {"take one", one_measure, NULL, CONTEST_NONE, 0},
                 {"take one, inlined", one_measure, &calls, CONTEST_NONE, 0},
                 {"take 32", bulk_measure, NULL, CONTEST_NONE, 0},
                 {"take 32, inlined", bulk_measure, &calls, CONTEST_NS_AT_MOST, 0.2},
                 {"push into a ring", push_measure, &calls.ring, CONTEST_NS_AT_MOST, 1.5},
                 {"push into a mailbox", push_measure, &calls.mailbox, CONTEST_NS_AT_MOST, 6},
                 {"drain of a ring", drain_measure, &calls.ring, CONTEST_NS_AT_MOST, 0.8},
                 {"drain of a mailbox", drain_measure, &calls.mailbox, CONTEST_NS_AT_MOST, 0.8}},
        .arms_count = 10,
    };
    world_open(&calls, BLOCKS, TABLES);
    grow_all();
    home_again(); // from now on there are used blocks
    bool met = contest_run(&contest);
    world_close(&calls);
    return met;
}

// --- scale ----------------------------------------------------------------------------------------------------------------------

static double resident_bytes(void)
{
    unsigned long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &total, &resident) != 2)
        contest_fail("/proc/self/statm", EINVAL);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

// A request ends and another begins: 32 blocks go home, and 32 are taken. Who, is drawn beforehand.
static double turn_ns(struct world *world, uint64_t *random, uint32_t turns)
{
    uint32_t *who = calloc(turns, sizeof *who);
    if (!who)
        contest_fail("memory", ENOMEM);
    for (uint32_t i = 0; i < turns; i++)
        who[i] = (uint32_t)(tb_random_next(random) % world->tables_count);
    double begin_ns = contest_now_ns();
    for (uint32_t i = 0; i < turns; i++) {
        struct locus_table *table = world->tables[who[i]];
        locus_owner_retire(world->owner, table);
        locus_table_push_inline(&world->ring, table);
        locus_owner_drain_inline(world->owner);
        locus_owner_next_reclaimed_inline(world->owner);
        for (uint32_t k = 0; k < BULK; k += 4)
            locus_owner_grow_inline(world->owner, table, 4);
    }
    double ns = (contest_now_ns() - begin_ns - clock_ns) / (turns * (double)BULK);
    free(who);
    return ns;
}

static void scale_one(unsigned power)
{
    struct world world = {0};
    uint32_t blocks = 1u << power, tables = blocks / BULK * 3 / 4, turns = 65536;
    double resident_before_bytes = resident_bytes(), begin_ns = contest_now_ns(), ns[9];
    uint64_t random = 1;
    world_open(&world, blocks, 0);
    double open_ns = contest_now_ns() - begin_ns, books_bytes = resident_bytes() - resident_before_bytes;
    free(world.tables);
    world.tables = calloc(tables, sizeof *world.tables);
    if (!world.tables)
        contest_fail("memory", ENOMEM);
    for (; world.tables_count < tables; world.tables_count++) {
        world.tables[world.tables_count] = table_make();
        CONTEST_NEED(locus_owner_grow(world.owner, world.tables[world.tables_count], BULK));
    }
    turn_ns(&world, &random, turns);
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        ns[i] = turn_ns(&world, &random, turns);
    printf("2^%-2u  %12.3f  %10.2f  %8.2f\n", power, open_ns / 1e6, books_bytes / blocks, tb_median(ns, sizeof ns / sizeof *ns));
    fflush(stdout);
    world_close(&world);
}

static void scale_run(void)
{
    printf("\nscale: blocks of a pool, ms to open it, bytes of books a block, ns a block (taken, pushed, freed)\n");
    for (unsigned power = 10; power <= 26; power += 2)
        scale_one(power);
}

// --- homes ----------------------------------------------------------------------------------------------------------------------

static void homes_run(void)
{
    enum { HOMES = LOCUS_HOMES_MAX, LANES = 256, POLLS = 4096 };
    static struct locus_pool *pools[HOMES];
    static struct locus_owner *owners[HOMES];
    double before_bytes = resident_bytes(), begin_ns = contest_now_ns(), ns[9];
    for (uint32_t i = 0; i < HOMES; i++) {
        struct locus_pool_config pool = {
            .size = sizeof pool, .home = i, .blocks = 1024, .block_bytes = 64, .page = LOCUS_PAGE_4K, .node = LOCUS_NODE_ANY};
        CONTEST_NEED(locus_pool_open(&pools[i], &pool));
        struct locus_owner_config owner = {.size = sizeof owner, .pool = pools[i], .lanes = LANES};
        CONTEST_NEED(locus_owner_open(&owners[i], &owner));
        CONTEST_NEED(locus_owner_adopt(owners[i]));
    }
    double open_ns = contest_now_ns() - begin_ns, bytes = resident_bytes() - before_bytes;
    for (size_t r = 0; r < sizeof ns / sizeof *ns; r++) {
        begin_ns = contest_now_ns();
        for (uint32_t i = 0; i < POLLS; i++)
            locus_owner_drain_inline(owners[0]);
        ns[r] = (contest_now_ns() - begin_ns - clock_ns) / POLLS;
    }
    printf("\nhomes: %d pools of 1,024 blocks with %d lanes each: %.1f ms to open, %.0f KiB resident; a drain that finds nothing: "
           "%.0f ns\n",
           (int)HOMES, (int)LANES, open_ns / 1e6, bytes / 1024, tb_median(ns, sizeof ns / sizeof *ns));
    for (uint32_t i = 0; i < HOMES; i++) {
        CONTEST_NEED(locus_owner_leave(owners[i]));
        CONTEST_NEED(locus_owner_close(owners[i]));
        locus_pool_close(pools[i]);
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    bool met = true;
    char *end = NULL;
    if (argc > 1)
        rounds = (uint32_t)strtoul(argv[1], &end, 10);
    if (rounds == 0 || (end && *end) || argc > 3) {
        fprintf(stderr, "usage: %s [ROUNDS [calls|scale|homes]]\n", argv[0]);
        return 2;
    }
    clock_ns = (double)tb_latency_clock_ns();
    if (!*part || strcmp(part, "calls") == 0)
        met = calls_run();
    if (!*part || strcmp(part, "scale") == 0)
        scale_run();
    if (!*part || strcmp(part, "homes") == 0)
        homes_run();
    return met ? 0 : 1;
}
