// SPDX-License-Identifier: Apache-2.0
//
// arena: a cell of touch `pages`: the library's arena of pages (locus/pages.h) under the requests of a scenario, in
// virtual time: what it finds again, what leaves and comes back, and how full it is. The arena is the real one, and one thread
// makes all calls, so its counts are exact on every host. Only how long the calls take is real time, and measured. A page is 2 MiB;
// but its memory is never touched, and nothing that the arena decides depends on the size of a page, so each has only 512 KiB of
// address space.
//
// The model. A request runs from its arrival for 100 us for each token of its prompt, and 20 ms for each token that it puts out
// (10,000 and 50 tokens a second: stated, not measured), whatever it finds: all scores get the same requests at the same times.
// As long as it runs it pins
//
//     its adapter     one of 10,000, drawn by popularity (testbed/workload/adapters/popularity.h). It stays when nobody pins it
//     its KV          one range, of its prompt and all that it will put out
//     activations     while its prompt is computed: 4 vectors of the model's width, in f16, for up to 2,048 tokens
//
// A request that continues an earlier one (turns.h) finds that one's KV, or it does not: then what both have in common comes back.
// If found, it is copied into the new range, and the old one is freed. KV of a conversation stays after its end, unpinned, for the
// next turn, which only the arena does not know to come. KV of a scenario without ids is freed.
//
// Beside them come ranges of scratch, 1 to 8 pages for 1 to 50 ms, with gaps that are even between nothing and twice their mean.
//
// A request that lacks room for any range gives up all of its others and is dropped: nobody waits. What came with nothing evicted
// is no different from what did.
//
// What bringing back costs, for scores that look at it, and for `lost_mean_ns`: 100 us for each token, as if it were computed
// again; an adapter's bytes at 3 GB/s. Thrash: what left within the last second comes back.
//
// Shares of pages and of holes are means over the time from the first arrival to the last. Those "when full" begin with the first
// range that leaves; NAN if none does. A range that crosses the high watermark is in the arena before others leave, so the peak may
// be above it.
//
// Times of calls, up to the last arrival, are what their caller waits: each call is between two readings of a clock, whose cost is
// taken off. A pin takes less than that cost, so its quantiles are as coarse as the clock. NAN: there was no such call. What
// evicts is an allocation, so its time is in both.
#ifndef TB_ARENA_H
#define TB_ARENA_H

#include "locus/pages_evict.h"
#include "testbed/serving/arena/settings.h"
#include "testbed/stats/slot.h"

//    type, member, unit, whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_ARENA_FIELDS(FIELD)                                                                                                     \
    FIELD(uint64_t, admitted, "count", true, "requests that found room for all of their ranges")                                   \
    FIELD(uint64_t, turned_away, "count", false, "requests that did not")                                                          \
    FIELD(uint64_t, too_large, "count", false, "of these, those whose KV is larger than all pages of its kind")                    \
    FIELD(uint64_t, failed_ranges, "count", false, "allocations that found no room, scratch included")                             \
    FIELD(uint64_t, turns, "count", false, "admitted requests that continue an earlier one")                                       \
    FIELD(uint64_t, turns_found, "count", false, "of these, those that found its KV")                                              \
    FIELD(double, kv_hit_ratio, "ratio", false, "tokens found again, over those that earlier turns have in common with the later") \
    FIELD(double, adapter_hit_ratio, "ratio", false, "requests that found their adapter, over all admitted ones")                  \
    FIELD(double, byte_hit_ratio, "ratio", false, "bytes of both found, over those asked for that were there once")                \
    FIELD(uint64_t, kv_reloaded_bytes, "bytes", false, "KV that had left and came back")                                           \
    FIELD(uint64_t, adapter_reloaded_bytes, "bytes", false, "adapters that had left and came back")                                \
    FIELD(uint64_t, both_reloaded_bytes, "bytes", false, "the sum of both")                                                        \
    FIELD(uint64_t, both_reloaded_pages, "count", false, "pages that these bytes fill, range by range")                            \
    FIELD(double, lost_mean_ns, "virtual_ns", false, "cost of what came back, mean of admitted requests")                          \
    FIELD(uint64_t, kv_thrash, "count", false, "KV that came back within a second after it left")                                  \
    FIELD(uint64_t, adapter_thrash, "count", false, "adapters that came back within a second after they left")                     \
    FIELD(uint64_t, both_thrash, "count", false, "the sum of both")                                                                \
    FIELD(uint64_t, left_for_room, "count", false, "ranges that left because an allocation found no room")                         \
    FIELD(uint64_t, left_by_mark, "count", false, "ranges that left by the watermarks")                                            \
    FIELD(uint64_t, kv_left_pages, "count", false, "pages of KV that left")                                                        \
    FIELD(uint64_t, adapter_left_pages, "count", false, "pages of adapters that left")                                             \
    FIELD(uint64_t, copied_bytes, "bytes", false, "KV found that was copied into the range of the next turn")                      \
    FIELD(double, used_mean, "ratio", false, "pages in use")                                                                       \
    FIELD(double, used_peak, "ratio", false, "pages in use at most")                                                               \
    FIELD(double, used_full_mean, "ratio", false, "pages in use, when full")                                                       \
    FIELD(double, used_full_least, "ratio", false, "the least of it, when full")                                                   \
    FIELD(double, above_95_ratio, "ratio", false, "time in which more than 95 % of the pages are in use, when full")               \
    FIELD(double, pinned_mean, "ratio", false, "pages that a request or a kernel pins")                                            \
    FIELD(double, full_ratio, "ratio", false, "time when full, over all")                                                          \
    FIELD(double, stretch_mean, "ratio", false, "longest free stretch over all free pages, when full")                             \
    FIELD(double, stretch_least, "ratio", false, "the least of it, when full")                                                     \
    FIELD(double, stretch_good_ratio, "ratio", false, "time in which it is above 0.8, when full")                                  \
    FIELD(double, room_p50_ns, "ns", true, "half of all allocations are done in this, evictions included")                         \
    FIELD(double, room_p99_ns, "ns", true, "of 100 allocations the slowest begin here, evictions included")                        \
    FIELD(double, room_p999_ns, "ns", true, "of 1000 allocations the slowest begin here, evictions included")                      \
    FIELD(double, evict_p50_ns, "ns", false, "half of the allocations that evicted are done in this")                              \
    FIELD(double, evict_p99_ns, "ns", false, "of 100 allocations that evicted the slowest begin here")                             \
    FIELD(double, evict_range_ns, "ns", false, "time of all allocations that evicted, over the ranges that left")                  \
    TB_PIN_TIME_FIELDS(FIELD)

// Also of touch `pins` (testbed/measure/pins), whose ways to hold a range take the same times.
#define TB_PIN_TIME_FIELDS(FIELD)                                                                                                  \
    FIELD(double, pin_p50_ns, "ns", false, "half of all pins are done in this, refused ones included")                             \
    FIELD(double, pin_p99_ns, "ns", false, "of 100 pins the slowest begin here")                                                   \
    FIELD(double, unpin_p50_ns, "ns", false, "half of all unpins are done in this")                                                \
    FIELD(double, unpin_p99_ns, "ns", false, "of 100 unpins the slowest begin here")

#define TB_ARENA_MEMBER(type, member, unit, ratio, what) type member;
struct tb_arena {
    TB_ARENA_FIELDS(TB_ARENA_MEMBER)
};

extern const struct tb_slot tb_arena_fields[]; // ends with a NULL name

#define TB_ARENA_PROMPT_NS UINT64_C(100000)     // for each token
#define TB_ARENA_OUTPUT_NS UINT64_C(20000000)
#define TB_ARENA_LOAD_BYTES_PER_NS UINT64_C(3)  // of an adapter
#define TB_ARENA_PART_TOKENS 2048u              // of a prompt that are computed at once
#define TB_ARENA_PART_VECTORS 4u
#define TB_ARENA_SCRATCH_PAGES 8u
#define TB_ARENA_SCRATCH_NS UINT64_C(50000000)
#define TB_ARENA_THRASH_NS UINT64_C(1000000000)

// Filled settings that were checked. 0; -ENOMEM; or the error of locus_pages_open(), with a sentence in why. -EBADMSG: the arena's
// counts are not those that the model made with it.
int tb_arena(const struct tb_scenario *scenario, const struct tb_arena_settings *settings, const struct locus_score_ops *score,
             struct tb_arena *out, struct tb_why *why);

#endif
