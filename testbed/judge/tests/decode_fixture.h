// SPDX-License-Identifier: Apache-2.0
//
// decode_fixture: a cell of touch `decode` on rounds_fixture.h: 8 steps a lap, 4 sequences, and the arms of two bills. Of locus a
// step takes 1000 us: 900 of attention, 60 to append, 30 for the allocator (12 to allocate, 10 to free,
// 8 to drain), and 10 of the harness. First touches would add 50.
#ifndef TB_DECODE_FIXTURE_H
#define TB_DECODE_FIXTURE_H

#include <errno.h>

#include "testbed/measure/tests/rounds_fixture.h"

#define STEP_NS 8e3 // of a lap: a microsecond of each step

static const struct fixture_arm decode_arms[] = {
    {"locus", 1000 * STEP_NS},
    {"locus@no-attend", 100 * STEP_NS},
    {"locus@no-append", 940 * STEP_NS},
    {"locus@nothing", 40 * STEP_NS},
    {"oracle@nothing", 10 * STEP_NS},
    {"locus-4k", 1200 * STEP_NS},
    {"mimalloc", 1500 * STEP_NS},
    {"locus@blocks", 930 * STEP_NS},
    {"locus@stream", 700 * STEP_NS},
    {"mimalloc@cached", 600 * STEP_NS},
    {"locus@no-drain", 32 * STEP_NS},
    {"locus@no-free", 22 * STEP_NS},
    {"locus@first-touch", 150 * STEP_NS},
};
enum { LOCUS, NO_ATTEND, NO_APPEND, NOTHING, ORACLE, SMALL, MIMALLOC, BLOCKS, STREAM, CACHED, NO_DRAIN, NO_FREE, FIRST_TOUCH };

static inline struct tb_rounds *decode_fixture(struct fixture *f, uint32_t rounds)
{
    uint32_t count = sizeof decode_arms / sizeof *decode_arms;
    fixture_open(f, decode_arms, count, rounds);
    f->cells[0].touch = TB_TOUCH_DECODE;
    f->cells[0].name = "batch-4x512x8/decode";
    f->schedules[0].steps_per_lap = 8;
    f->schedules[0].decoded_tokens = 4 * 8;
    f->schedules[0].tokens_per_lap = 4 * (508 + 7);
    for (uint32_t arm = 0; arm < count; arm++) {
        const char *act = strchr(f->arms[arm].label, '@');
        f->contenders[arm].floor = arm == ORACLE;
        f->contenders[arm].is_malloc = arm == MIMALLOC || arm == CACHED;
        f->arms[arm].fault = act ? TB_FAULT_ACT : TB_FAULT_NONE;
        snprintf(f->arms[arm].act, sizeof f->arms[arm].act, "%s", act ? act + 1 : "");
        for (uint32_t round = 0; round < rounds; round++) {
            struct tb_decode_sample *decode = &tb_rounds_sample(&f->rounds, 0, arm, round)->decode;
            decode->threads = 1;
            strcpy(decode->kernel, "avx2");
        }
    }
    return &f->rounds;
}

// In three metered laps a host with 3 GHz counted cycles, and a page fault a step where pages are first touched. It has no TLB
// misses.
static inline void decode_fixture_counted(struct fixture *f, struct tb_counter_set *set)
{
    *set = (struct tb_counter_set){.count = 3,
                                   .counter = {{.name = "page_faults"}, {.name = "cycles"}, {.name = "dtlb_misses", .why = "no"}}};
    f->rounds.counters = set;
    f->cells[0].laps_metered = 3;
    for (uint32_t arm = 0; arm < f->rounds.arms_count; arm++)
        for (uint32_t round = 0; round < f->rounds.count; round++) {
            struct tb_sample *sample = tb_rounds_sample(&f->rounds, 0, arm, round);
            sample->counters[0] = (struct tb_counter_value){arm == FIRST_TOUCH ? 3 * 8 : 0, 1000, 1000, 0};
            sample->counters[1] = (struct tb_counter_value){(uint64_t)(3 * 3 * sample->lap_ns), 1000, 1000, 0};
            sample->counters[2].error = ENODATA;
        }
}

#endif
