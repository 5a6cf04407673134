// SPDX-License-Identifier: Apache-2.0
//
// times: how long single calls took, noted where they are made, and what is said of them.
#ifndef TB_TIMES_H
#define TB_TIMES_H

#include <stdint.h>

#include "locus/lane.h"

// What clocked laps time: a take without its touch; a push, which for a malloc is the free of a whole request; a drain at a step;
// and those takes that waited for blocks on their way home.
enum tb_clocked { TB_CLOCKED_TAKE, TB_CLOCKED_PUSH, TB_CLOCKED_DRAIN, TB_CLOCKED_WAIT, TB_CLOCKED_COUNT };

// One operation's times, each with a reading of the clock, which is longer than many a take: subtracted it would leave noise, and
// ratios of it. 0 calls: there were none, or no such laps.
struct tb_tail {
    uint64_t calls;
    double p50_ns, p99_ns, p999_ns, max_ns;
};

// Times of one operation, each with a reading of the clock, as many as there is room for. One thread writes them.
struct tb_times {
    _Alignas(LOCUS_CACHE_LINE) uint64_t *ns;
    uint64_t count, max;
};

static inline void tb_times_note(struct tb_times *times, uint64_t ns)
{
    if (times->count < times->max)
        times->ns[times->count++] = ns;
}

#endif
