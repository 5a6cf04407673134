// SPDX-License-Identifier: Apache-2.0
//
// residency: a cell of touch `residency`: how many uses of adapters find them hot, under a policy of residency, and what bringing
// back the others costs. Virtual time: the uses' own, nothing waits. Counts, exact on every host.
//
// The bytes are those of Llama-3-8B, adapters at q, k, v and o of its 32 layers: 851,968 values for each unit of the rank. f16
// takes two bytes a value, int8 one (its scales are left out); rank 8 is 13.6 MB and 6.8 MB.
//
// What bringing back takes, by bandwidths that are stated, not measured, one adapter at a time:
//
//     warm    int8 to f16 at 20 GB/s of bytes read and written: 1.0 ms of rank 8, 8.2 ms of rank 64
//     cold    int8 from a file at 3 GB/s, and then the same: 3.3 ms and 26.4 ms
//
// A use that finds its adapter hot takes nothing. One that does not makes f16 weights, wherever these stay
// (locus/adapter_policy.h). Thrash: an adapter becomes hot within one second after it was hot. Adapters are numbered by
// popularity, for the sake of `fixed`; all others treat numbers alike.
#ifndef TB_RESIDENCY_H
#define TB_RESIDENCY_H

#include "testbed/serving/adapters/resident.h"
#include "testbed/serving/adapters/settings.h"
#include "testbed/stats/slot.h"

//    type, member, unit, whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_RESIDED_FIELDS(FIELD)                                                                                                   \
    FIELD(uint64_t, uses, "count", true, "uses of an adapter")                                                                     \
    FIELD(uint64_t, used_adapters, "count", true, "different adapters among them")                                                 \
    FIELD(double, hot_ratio, "ratio", false, "uses that found their adapter hot, over all")                                        \
    FIELD(double, warm_ratio, "ratio", false, "uses that found it warm, over all")                                                 \
    FIELD(double, cold_ratio, "ratio", false, "uses that found it cold, over all")                                                 \
    FIELD(double, hot_mean, "count", false, "adapters hot when one is used, mean")                                                 \
    FIELD(uint64_t, hot_most, "count", false, "adapters hot at once, at most")                                                     \
    FIELD(uint64_t, thrash, "count", false, "adapters that became hot within a second after they were")                            \
    FIELD(uint64_t, unasked, "count", false, "adapters that became hot without a use")                                             \
    FIELD(uint64_t, f16_bytes, "bytes", false, "f16 weights that were made")                                                       \
    FIELD(uint64_t, reloaded_bytes, "bytes", false, "of these, of adapters whose f16 weights were made before")                    \
    FIELD(uint64_t, cold_bytes, "bytes", false, "int8 weights that were read from the file")                                       \
    FIELD(uint64_t, int8_bytes, "bytes", false, "int8 weights that were made of those no longer hot")                              \
    FIELD(uint64_t, back_p50_ns, "virtual_ns", false, "time to bring an adapter back, median of all uses")                         \
    FIELD(uint64_t, back_p99_ns, "virtual_ns", false, "the same, 99th percentile")                                                 \
    FIELD(double, back_mean_ns, "virtual_ns", false, "the same, mean of all uses")                                                 \
    FIELD(double, back_busy_ratio, "ratio", false, "sum of these times, over the time from the first use to the last")

#define TB_RESIDED_MEMBER(type, member, unit, ratio, what) type member;
struct tb_resided {
    TB_RESIDED_FIELDS(TB_RESIDED_MEMBER)
};

extern const struct tb_slot tb_resided_fields[]; // ends with a NULL name

uint64_t tb_adapter_f16_bytes(uint32_t rank);
uint64_t tb_adapter_back_ns(uint32_t rank, enum locus_adapter_place place);

// Filled settings that were checked. 0; -ENOMEM; -EBADMSG: the policy has more hot or warm than there are places, or
// says of an adapter's place what it did not report.
int tb_residency(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings,
                 const struct locus_adapter_policy *resident, struct tb_resided *out, struct tb_why *why);

#endif
