// SPDX-License-Identifier: Apache-2.0
//
// rounds_fixture: a finished measurement with made-up samples, for the tests of rows and reports.
//
// Each arm has a true time; each round slows all of them by the same factor, and each arm wavers by a few thousandths in a pattern
// of its own. So ratios are known to about a part in a thousand.
#ifndef TB_ROUNDS_FIXTURE_H
#define TB_ROUNDS_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/rounds.h"
#include "testbed/measure/contender.h"

enum { FIXTURE_CELLS = 4 };

struct fixture {
    struct tb_contender contenders[TB_ARMS_MAX];
    struct tb_arm arms[TB_ARMS_MAX];
    struct tb_schedule schedules[FIXTURE_CELLS];
    struct tb_cell cells[FIXTURE_CELLS];
    struct tb_sample *samples; // not static: LeakSanitizer reads all static memory at the end of each test
    struct tb_rounds rounds;
};

struct fixture_arm {
    const char *label;
    double ns;
};

static inline void fixture_sample(struct tb_sample *sample, double ns, uint32_t arm, uint32_t round)
{
    uint32_t mixed = (arm * 2654435761u) ^ ((round + 1) * 2246822519u);
    mixed = (mixed ^ (mixed >> 15)) * 2654435761u;
    double waver = 1 + 0.004 * ((mixed >> 8) / 16777216.0 - 0.5);
    *sample = (struct tb_sample){
        .ran = true,
        .valid = true,
        .lap_ns = ns * (1 + 0.01 * round) * waver,
        .lap_ns_min = 0.9 * ns,
        .allocated = 2688,
        .freed = 2688,
        .pushed = 168,
        .drained = 168,
        .touched_bytes = 4096,
        .touched_bytes_expected = 4096,
        .outstanding_high = 100 + round % 3,
        .distinct = 104,
        .workers_pinned = true,
    };
    for (int op = 0; op < TB_BENCH_COUNT; op++)
        sample->bench_ns[op] = sample->lap_ns / (op + 1);
}

// One cell, full touch, `count` arms.
static inline struct tb_rounds *fixture_open(struct fixture *f, const struct fixture_arm arms[], uint32_t count, uint32_t rounds)
{
    static const char *const names[FIXTURE_CELLS] = {"steady-decode", "burst-storm", "long-tail", "churn-touch"};
    free(f->samples);
    memset(f, 0, sizeof *f);
    f->samples = calloc((size_t)FIXTURE_CELLS * count * (rounds ? rounds : 1), sizeof *f->samples);
    cr_assert_not_null(f->samples);
    f->rounds = (struct tb_rounds){.arms = f->arms,
                                   .arms_count = count,
                                   .cells = f->cells,
                                   .cells_count = 1,
                                   .count = rounds,
                                   .seed = 41,
                                   .dispatch = TB_DISPATCH_SPIN,
                                   .workers = 1,
                                   .block_bytes = 65536,
                                   .samples = f->samples};
    for (uint32_t cell = 0; cell < FIXTURE_CELLS; cell++) {
        snprintf(f->schedules[cell].name, sizeof f->schedules[cell].name, "%s", names[cell]);
        f->schedules[cell].blocks_peak = 100;
        f->schedules[cell].version = 1;
        f->cells[cell] = (struct tb_cell){.schedule = &f->schedules[cell], .touch = TB_TOUCH_FULL, .laps = 10};
    }
    for (uint32_t arm = 0; arm < count; arm++) {
        f->contenders[arm].name = arms[arm].label;
        f->contenders[arm].is_malloc = strstr(arms[arm].label, "malloc") || strncmp(arms[arm].label, "glibc", 5) == 0;
        f->contenders[arm].harness = strcmp(arms[arm].label, "null") == 0;
        f->contenders[arm].floor = strncmp(arms[arm].label, "oracle", 6) == 0;
        f->arms[arm].contender = &f->contenders[arm];
        snprintf(f->arms[arm].label, sizeof f->arms[arm].label, "%s", arms[arm].label);
        for (uint32_t cell = 0; cell < FIXTURE_CELLS; cell++)
            for (uint32_t round = 0; round < rounds; round++)
                fixture_sample(tb_rounds_sample(&f->rounds, cell, arm, round), arms[arm].ns, arm, round);
    }
    return &f->rounds;
}

static inline void fixture_invalidate(struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round, const char *why)
{
    struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
    sample->valid = false;
    snprintf(sample->invalid, sizeof sample->invalid, "%s", why);
}

// Slows an arm in one cell by a factor.
static inline void fixture_slow(struct tb_rounds *rounds, uint32_t cell, uint32_t arm, double factor)
{
    for (uint32_t round = 0; round < rounds->count; round++)
        tb_rounds_sample(rounds, cell, arm, round)->lap_ns *= factor;
}

// Every other round takes `factor` times as long.
static inline void fixture_scatter(struct tb_rounds *rounds, uint32_t cell, uint32_t arm, double factor)
{
    for (uint32_t round = 0; round < rounds->count; round += 2) {
        struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        sample->lap_ns *= factor;
        for (int op = 0; op < TB_BENCH_COUNT; op++)
            sample->bench_ns[op] *= factor;
    }
}

// In the first `some` rounds somebody else had the CPU half of the time.
static inline void fixture_wait(struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t some)
{
    for (uint32_t round = 0; round < rounds->count; round++) {
        struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        sample->watched_ns = 10000000;
        sample->waited_ns = round < some ? 5000000 : 100000;
    }
}

#define FIXTURE(f, arms, rounds) fixture_open(&(f), arms, sizeof(arms) / sizeof(arms)[0], rounds)

#endif
