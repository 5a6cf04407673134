// SPDX-License-Identifier: Apache-2.0
//
// oracle: what it has computed in advance can be replayed for ever: no block is given to two sequences at once, also where a stack
// does not come back to where it was.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/driver.h"
#include "testbed/workload/batch.h"

#define BLOCK_BYTES 4096u
#define WHY_BYTES 200
#define ROTATIONS 5u

struct replay {
    const struct tb_ops *ops;
    void *context;
    const struct tb_schedule *schedule;
    struct locus_table **tables;
    bool *live;                 // [pool_blocks]
    uint32_t live_count;
};

static void tables_open(struct replay *replay)
{
    const uint32_t *capacity = tb_schedule_capacity(replay->schedule);
    replay->live = calloc(replay->schedule->pool_blocks, sizeof *replay->live);
    replay->tables = calloc(replay->schedule->slots, sizeof(struct locus_table *));
    for (uint32_t i = 0; i < replay->schedule->slots; i++) {
        size_t bytes = locus_table_bytes(1, capacity[i]);
        replay->tables[i] = aligned_alloc(LOCUS_CACHE_LINE, bytes);
        cr_assert_eq(locus_table_init(replay->tables[i], 1, capacity[i], 1), 0);
    }
}

static void tables_close(struct replay *replay)
{
    for (uint32_t i = 0; i < replay->schedule->slots; i++)
        free(replay->tables[i]);
    free(replay->tables);
    free(replay->live);
}

static void span_replay(struct replay *replay, const struct tb_span *span)
{
    for (uint64_t i = span->begin; i < span->end; i++) {
        struct tb_op op = tb_schedule_ops(replay->schedule)[i];
        struct locus_table *table = replay->tables[op.slot];
        uint32_t first = table->count;
        if (op.kind == TB_OP_TAKE)
            cr_assert_eq(replay->ops->take(replay->context, table, op.count), 0);
        for (uint32_t at = first; at < table->count; at++) {
            cr_assert_lt(table->blocks[at], replay->schedule->pool_blocks, "not in the pool");
            cr_assert_not(replay->live[table->blocks[at]], "%s: block %llu is somebody's", replay->schedule->name,
                          (unsigned long long)table->blocks[at]);
            replay->live[table->blocks[at]] = true;
            replay->live_count++;
        }
        if (op.kind != TB_OP_RETIRE)
            continue;
        for (uint32_t at = 0; at < table->count; at++)
            replay->live[table->blocks[at]] = false;
        replay->live_count -= table->count;
        replay->ops->retire(replay->context, table);
        replay->ops->finish(replay->context, 0, table);
    }
}

static struct tb_setup setup_of(const struct tb_schedule *schedule, uint32_t blocks, char words[WHY_BYTES])
{
    return (struct tb_setup){
        .schedule = schedule,
        .block_bytes = BLOCK_BYTES,
        .pool_blocks = blocks,
        .workers = 1,
        .why = words,
        .why_bytes = WHY_BYTES,
    };
}

static void expect_replayed(const char *workload, uint32_t blocks_per_group)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why;
    char words[WHY_BYTES] = "";
    cr_assert_eq(tb_decode_schedule(workload, 16, blocks_per_group, &schedule, &why), 0);
    struct replay replay = {.ops = tb_contender_find("oracle")->driver->ops, .schedule = schedule};
    struct tb_setup setup = setup_of(schedule, schedule->pool_blocks, words);
    cr_assert_eq(replay.ops->open(&setup, &replay.context), 0, "%s: %s", workload, words);
    tables_open(&replay);
    span_replay(&replay, &schedule->prologue);
    for (uint64_t lap = 0; lap < ROTATIONS * schedule->laps_count; lap++)
        span_replay(&replay, tb_schedule_lap(schedule, lap));
    span_replay(&replay, &schedule->epilogue);
    cr_expect_eq(replay.live_count, 0);
    tables_close(&replay);
    replay.ops->close(replay.context);
    free(schedule);
}

Test(oracle, replays_what_a_stack_closes)
{
    expect_replayed("batch-3x40x16", 2);
    expect_replayed("batch-4x512x32", 4);
    expect_replayed("batch-1x2048x32", 1);
}

// A stack comes back here after 6, 257 and 15 rotations, and in the last two after more than 300.
Test(oracle, replays_what_a_stack_does_not_close)
{
    expect_replayed("batch-8x512", 1);
    expect_replayed("batch-4x4096x4", 8);
    expect_replayed("batch-8x64x8", 1);
    expect_replayed("batch-16x128x8", 1);
    expect_replayed("batch-64x512", 1);
}

// With no block to spare, the growth of one sequence has to take what another gets back later.
Test(oracle, says_why_there_is_no_order)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why;
    char words[WHY_BYTES] = "";
    void *context = NULL;
    const struct tb_ops *ops = tb_contender_find("oracle")->driver->ops;
    cr_assert_eq(tb_decode_schedule("batch-64x512", 16, 1, &schedule, &why), 0);
    struct tb_setup setup = setup_of(schedule, schedule->blocks_peak, words);
    cr_expect_eq(ops->open(&setup, &context), -EINVAL);
    cr_expect(strstr(words, "name another number of steps"), "%s", words);
    ops->close(context);
    free(schedule);
}
