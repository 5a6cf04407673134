// SPDX-License-Identifier: Apache-2.0
//
// step_world: three sequences of a small model in blocks of scattered memory, and forty steps of them.
#ifndef TB_STEP_WORLD_H
#define TB_STEP_WORLD_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "testbed/decode/step.h"

#define SLOTS 3u
#define CAPACITY 64u
#define TOKENS_MAX 100u

struct fixture {
    struct tb_cache cache;
    struct tb_team *team;
    struct tb_step *step;
    char *memory;
    size_t next; // block
    uint32_t tokens[SLOTS];
    const char *why;            // an act did not open
};

// 0, or the act's error.
static inline int open_fixture_as(struct fixture *f, const char *layout, enum tb_dtype value, const struct tb_act *act,
                                  uint32_t threads)
{
    static const uint32_t capacity[SLOTS] = {CAPACITY, CAPACITY, CAPACITY};
    static char why[160];
    struct tb_shape shape;
    *f = (struct fixture){.why = why};
    cr_assert_eq(tb_shape_parse("3x4x2x64", &shape, why, sizeof why), 0);
    uint32_t block_tokens = tb_layout_find(layout)->whole ? 112 : 16;
    cr_assert_eq(tb_cache_open(&f->cache, &shape, value, tb_layout_find(layout), block_tokens, why, sizeof why), 0);
    cr_assert_eq(tb_team_open(&f->team, threads, NULL), 0);
    f->memory = aligned_alloc(4096, SLOTS * CAPACITY * f->cache.block_bytes);
    memset(f->memory, 0xff, SLOTS * CAPACITY * f->cache.block_bytes);
    struct tb_step_config config = {
        .cache = &f->cache,
        .kernel = tb_kernel_at(0),
        .team = f->team,
        .act = act,
        .slots = SLOTS,
        .capacity = capacity,
        .batch = SLOTS,
        .tokens_max = TOKENS_MAX,
        .tokens_live = SLOTS * TOKENS_MAX,
        .why = why,
        .why_bytes = sizeof why,
    };
    return tb_step_open(&f->step, &config);
}

static inline void open_fixture(struct fixture *f, const char *layout, const struct tb_act *act, uint32_t threads)
{
    cr_assert_eq(open_fixture_as(f, layout, TB_DTYPE_BF16, act, threads), 0);
}

static inline void close_fixture(struct fixture *f)
{
    tb_step_close(f->step);
    tb_team_close(f->team);
    free(f->memory);
}

static inline void extend(struct fixture *f, uint32_t slot, uint32_t tokens)
{
    uint32_t before = tb_cache_blocks(&f->cache, f->tokens[slot]), after = tb_cache_blocks(&f->cache, f->tokens[slot] + tokens);
    for (uint32_t i = before; i < after; i++) {
        f->next = (f->next + 7) % (SLOTS * CAPACITY); // coprime: no block twice
        tb_step_take(f->step, slot, i - before, after - before, f->memory + f->next * f->cache.block_bytes);
    }
    f->tokens[slot] += tokens;
    tb_step_extend(f->step, slot, tokens);
}

// Prompts of 5 to 40 tokens, then 40 tokens one by one, and slot 1 is replaced in between. Returns positions that were read.
static inline uint64_t run(struct fixture *f)
{
    uint64_t positions = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        extend(f, slot, 5 + 17 * slot);
    for (uint32_t i = 0; i < 40; i++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            positions += f->tokens[slot];
        tb_step_run(f->step, true);
        if (i == 20) {
            tb_step_retire(f->step, 1);
            f->tokens[1] = 0;
        }
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            extend(f, slot, 1);
    }
    return positions;
}

#endif
