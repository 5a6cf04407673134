// SPDX-License-Identifier: Apache-2.0
//
// contenders_play: one open contender, and tables with which a test plays the driver. For Criterion tests.
//
// A contender may lack something on this host (reserved huge pages, say). Then it says so, play_open() returns false, and the
// test goes on with the next one; an open that fails without a reason is a failure.
#ifndef TB_CONTENDERS_PLAY_H
#define TB_CONTENDERS_PLAY_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/driver.h"

#define BLOCK_BYTES 4096u
#define POOL_BLOCKS 64u
#define TABLES 4u

// Those that run on one node.
#define EACH(contender)                                                                                                            \
    (const struct tb_contender *const *contender = __start_tb_contenders; contender < __stop_tb_contenders;                        \
     contender++) if ((*contender)->driver)

struct play {
    const struct tb_contender *contender;
    const struct tb_ops *ops;
    void *context;
    struct tb_schedule *schedule;
    struct locus_table *tables[TABLES];
    uint64_t taken, retired;
};

// Lap: two requests at once, one that grows, one that comes after a retirement; everything is home at its end. Epilogue: one that
// takes the whole pool, so that a pool as large as the theoretical peak is as large as all others.
static inline struct tb_schedule *small_schedule(uint32_t pool_blocks)
{
    const struct {
        enum tb_op_kind kind;
        uint32_t slot, count;
    } ops[] = {
        {TB_OP_TAKE, 0, 3}, {TB_OP_TAKE, 1, 2}, {TB_OP_DRAIN, 0, 0},  {TB_OP_RETIRE, 0, 0}, {TB_OP_DRAIN, 0, 0},
        {TB_OP_TAKE, 2, 4}, {TB_OP_TAKE, 1, 1}, {TB_OP_RETIRE, 1, 0}, {TB_OP_RETIRE, 2, 0}, {TB_OP_DRAIN, 0, 0},
    };
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        cr_assert_eq(tb_builder_add(builder, ops[i].kind, ops[i].slot, ops[i].count), 0);
    cr_assert_eq(tb_builder_mark_epilogue(builder), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, 3, pool_blocks), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, 3, 0), 0);
    cr_assert_eq(tb_builder_pack(builder, "small", pool_blocks, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

static inline void play_close(struct play *play)
{
    if (play->context)
        play->ops->close(play->context);
    for (uint32_t i = 0; i < TABLES; i++)
        free(play->tables[i]);
    free(play->schedule);
}

static inline bool play_open(struct play *play, const struct tb_contender *contender, uint32_t pool_blocks)
{
    char why[192] = "";
    *play = (struct play){.contender = contender, .ops = contender->driver->ops, .schedule = small_schedule(pool_blocks)};
    struct tb_setup setup = {.schedule = play->schedule,
                             .block_bytes = BLOCK_BYTES,
                             .pool_blocks = pool_blocks,
                             .workers = 2,
                             .why = why,
                             .why_bytes = sizeof why};
    int error = play->ops->open(&setup, &play->context);
    if (error && why[0]) {
        play_close(play);
        return false;
    }
    cr_assert_eq(error, 0, "%s: open: %s", contender->name, strerror(-error));
    for (uint32_t i = 0; i < TABLES; i++) {
        play->tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, pool_blocks));
        cr_assert_eq(locus_table_init(play->tables[i], 1, pool_blocks, 1), 0);
    }
    return true;
}

static inline int play_take(struct play *play, uint32_t slot, uint32_t count)
{
    int error = play->ops->take(play->context, play->tables[slot], count);
    play->taken += error ? 0 : count;
    return error;
}

static inline void play_retire(struct play *play, uint32_t slot)
{
    int error = play->ops->retire(play->context, play->tables[slot]);
    cr_assert_eq(error, 0, "%s: retire: %s", play->contender->name, strerror(-error));
    play->retired++;
}

static inline void *play_address(const struct play *play, uint32_t slot, uint32_t i)
{
    return play->ops->address(play->context, play->tables[slot]->blocks[i]);
}

static inline void expect_home(struct play *play, uint64_t refused)
{
    const char *name = play->contender->name;
    struct tb_audit audit = {0};
    for (uint32_t i = 0; i < TABLES; i++)
        cr_expect(play->tables[i]->count == 0 && play->tables[i]->state == LOCUS_TABLE_LIVE, "%s: table %u is not back", name, i);
    cr_expect_eq(play->ops->freed(play->context), play->taken - refused, "%s: freed()", name);
    play->ops->audit(play->context, &audit);
    cr_expect_eq(audit.allocated, play->taken, "%s: allocated %lu of %lu", name, audit.allocated, play->taken);
    cr_expect_eq(audit.freed, play->taken - refused, "%s: freed %lu of %lu", name, audit.freed, play->taken);
    cr_expect_eq(audit.drained, play->retired, "%s: drained %lu of %lu", name, audit.drained, play->retired);
    cr_expect_eq(audit.refused, refused, "%s: refused %lu", name, audit.refused);
    cr_expect_eq(audit.not_home, refused, "%s: not home %lu", name, audit.not_home);
}

static inline bool is_oracle(const struct tb_contender *contender)
{
    return contender->floor;
}

static inline bool is_pool(const struct tb_contender *contender)
{
    return strncmp(contender->name, "locus", 5) == 0 && !contender->floor;
}

// A pool whose handles are valid only once.
static inline bool has_generations(const struct tb_contender *contender)
{
    return is_pool(contender) && strcmp(contender->name, "locus-bare") != 0;
}

#endif
