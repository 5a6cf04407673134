// SPDX-License-Identifier: Apache-2.0
//
// toy: a contender on many nodes that works or, on request, fails. Its functions: toy_owner.h, toy_home.h.
#ifndef TB_TESTS_TOY_H
#define TB_TESTS_TOY_H

#include "testbed/measure/nodes/ops.h"

#define TOY_STATIONS 4u
#define TOY_BLOCKS 256u         // of each station
#define TOY_BLOCK_BYTES 4096u
#define TOY_LANES 16u
#define TOY_LINES (TOY_BLOCK_BYTES / 64)

struct toy_home {
    struct locus_mailbox returned;
    _Alignas(LOCUS_CACHE_LINE) locus_block free[TOY_BLOCKS];
    uint32_t free_count;
    uint64_t taken, freed, requests_home, random;
    bool entered, left;
    bool drained_outside;       // drained before it had entered, or after it had left
};

struct toy {
    char (*memory)[TOY_BLOCKS][TOY_BLOCK_BYTES];
    struct toy_home homes[TOY_STATIONS];
    struct {
        _Alignas(LOCUS_CACHE_LINE) uint64_t from[TOY_STATIONS]; // requests that it finished, by the station where they began
    } lanes[TOY_LANES];

    uint32_t hesitates_max;     // before it retires, so many pauses at most
    uint32_t broken;            // the station at which something goes wrong:
    int enter_error;            // and the others begin a while later, so that it is the one that waits at the gate
    _Atomic bool refused;
    int take_error;             // after so many good ones
    uint64_t takes_good;
    uint32_t takes_late;        // so many takes answer -EAGAIN first
    bool loses_request;         // its first one does not come home
    bool one_for_all;           // all stations get the same blocks
};

static _Thread_local int fixture_cpu; // where this thread is in the invented world

#endif
