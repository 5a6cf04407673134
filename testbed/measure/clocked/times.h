// SPDX-License-Identifier: Apache-2.0
//
// times: how long single calls took, noted where they are made.
#ifndef TB_TIMES_H
#define TB_TIMES_H

#include <stdint.h>

#include "placement/blocks/mailbox.h"

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
