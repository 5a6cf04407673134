// SPDX-License-Identifier: Apache-2.0
//
// plan: a cell of touch `pins`: how fast threads can hold one of many ranges.
//
//     zipf/pins                   1 thread, 1,024 ranges, of which few are popular
//     even/pins/4t/64r            4 threads, 64 ranges, each as popular
//     zipf/pins/4t/seed2          other draws
//
// `zipf` is the popularity of adapters (testbed/workload/adapters/popularity.h): pieces of power laws, by which 10 of the ranges
// have 28 % of the pins and 100 have 68.8 %. Which ranges these are is drawn, so that popular ones are no neighbours.
//
// The plan travels behind a schedule without operations, which is what a process is given.
#ifndef TB_PINS_PLAN_H
#define TB_PINS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "testbed/workload/schedule.h"

#define TB_PINS_RANGES_MAX (1u << 16) // a draw has 16 bits
#define TB_PINS_PAIRS (1u << 14) // of each thread in a lap; arbitrary: 32 KiB of draws, and a lap of some hundred us

struct tb_pins_settings {       // all 0: nothing was said yet
    uint32_t threads;           // "4t", 1 to TB_WORKERS_MAX
    uint32_t ranges;            // "64r"
    uint32_t seed;              // "seed2"
};

struct tb_pins_plan {
    struct tb_schedule schedule; // first: a process is given this
    struct tb_pins_settings settings;
    bool zipf;
};

// Takes one word. False: it is no setting, or one of its kind was made before.
bool tb_pins_setting(struct tb_pins_settings *settings, const char *word);

// What nobody said.
void tb_pins_settings_fill(struct tb_pins_settings *settings);

// Is it a popularity, which stands where other cells have their workload?
bool tb_pins_popularity(const char *name, bool *zipf);

// 0, -ENOMEM, or -EINVAL with why: no such popularity, or too few ranges for it.
int tb_pins_open(const char *popularity, const struct tb_pins_settings *settings, struct tb_schedule **out, char *why,
                 size_t why_bytes);

static inline const struct tb_pins_plan *tb_pins_plan(const struct tb_schedule *schedule)
{
    return (const struct tb_pins_plan *)(const void *)schedule;
}

// The longest that a process may take.
uint64_t tb_pins_patience_ms(const struct tb_schedule *schedule, uint64_t laps);

#endif
