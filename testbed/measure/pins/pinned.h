// SPDX-License-Identifier: Apache-2.0
//
// pinned: what the measured process of touch `pins` found, in one table: the members of struct tb_pinned, of a sample's line in a
// log, and the metrics of predictions. All of it is real time or a count of real threads.
#ifndef TB_PINNED_H
#define TB_PINNED_H

#include "testbed/serving/arena/arena.h"

// A pair is a pin, a word of the range read, and an unpin.
//
//    type, member, unit, MEASURED or COUNTED (engine/result.h), whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_PINNED_FIELDS(FIELD)                                                                                                    \
    FIELD(double, pairs_per_s, "1/s", MEASURED, true, "pairs of all threads per second, by the median lap")                        \
    FIELD(double, pair_ns, "ns", MEASURED, true, "mean time of a pair, as its thread sees it")                                     \
    FIELD(uint64_t, pins_refused, "count", COUNTED, false, "pins that were refused")

#define TB_PINNED_MEMBER(type, member, unit, kind, ratio, what) type member;
struct tb_pinned {
    TB_PINNED_FIELDS(TB_PINNED_MEMBER)
    TB_PIN_TIME_FIELDS(TB_ARENA_MEMBER) // of a lap in which each call is timed alone
};

extern const struct tb_slot tb_pinned_fields[]; // ends with a NULL name

#endif
