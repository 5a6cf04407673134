// SPDX-License-Identifier: Apache-2.0
//
// served: what the scheduler counts, in one table: the members of struct tb_served, of a sample's line in a log, and the metrics of
// predictions. To add one, add a line here and fill it in (account.c).
//
// Times are virtual, but for call_ns. The means and scattered_max are over the steps in which requests waited, or over all steps
// if none ever did. call_ns is 0 where no call was made, since every request could never fit.
#ifndef TB_SERVED_H
#define TB_SERVED_H

#include <stdint.h>

#include "testbed/stats/slot.h"

//    type, member, unit, whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_SERVED_FIELDS(FIELD)                                                                                                    \
    FIELD(uint64_t, steps, "count", true, "steps of decoding until the last request has left")                                     \
    FIELD(uint64_t, requests, "count", true, "requests that were served to their last token")                                      \
    FIELD(uint64_t, refused, "count", false, "requests that could never fit")                                                      \
    FIELD(uint64_t, tokens, "count", true, "decoded tokens, those of each beam")                                                   \
    FIELD(uint64_t, prompt_tokens, "count", false, "tokens of prompts computed, again after a preemption")                         \
    FIELD(uint64_t, cached_tokens, "count", false, "tokens of prompts found in the cache")                                         \
    FIELD(uint64_t, preempted, "count", false, "requests thrown out for room")                                                     \
    FIELD(uint64_t, thrown_tokens, "count", false, "tokens that those had")                                                        \
    FIELD(uint64_t, swapped_tokens, "count", false, "tokens moved out and back in")                                                \
    FIELD(uint64_t, tier_stored_bytes, "bytes", false, "bytes of KV that victims left in the tier")                                \
    FIELD(uint64_t, tier_loaded_bytes, "bytes", false, "bytes of KV that came back from it")                                       \
    FIELD(uint64_t, tier_left, "count", false, "requests whose KV is still in it at the end: there must be none")                  \
    FIELD(uint64_t, moved_tokens, "count", false, "tokens copied from one place of the region to another")                         \
    FIELD(uint64_t, refusals, "count", false, "admissions answered with not now")                                                  \
    FIELD(uint64_t, blocked, "count", false, "of those, with enough free tokens, but not in one piece")                            \
    FIELD(uint64_t, live_max, "count", true, "sequences live at once, at most")                                                    \
    FIELD(uint64_t, faults, "count", false, "1: a trap broke its contract, and served nobody after that")                          \
    FIELD(uint64_t, calls, "count", true, "calls to the strategy")                                                                 \
    FIELD(uint64_t, end_ns, "virtual_ns", true, "when the last request left")                                                      \
    FIELD(uint64_t, backlog_ns, "virtual_ns", false, "when requests waited for the last time")                                     \
    FIELD(uint64_t, backlog_requests, "count", false, "requests served by then")                                                   \
    FIELD(uint64_t, first_p50_ns, "virtual_ns", true, "time to the first token, median of all requests")                           \
    FIELD(uint64_t, first_p99_ns, "virtual_ns", true, "time to the first token, 99th percentile")                                  \
    FIELD(uint64_t, first_max_ns, "virtual_ns", true, "time to the first token, longest")                                          \
    FIELD(double, first_spread, "ratio", true, "time to the first token, 99th percentile over the median")                         \
    FIELD(uint64_t, between_p50_ns, "virtual_ns", true, "time between two tokens of a sequence, median")                           \
    FIELD(uint64_t, between_p99_ns, "virtual_ns", true, "time between two tokens of a sequence, 99th percentile")                  \
    FIELD(uint64_t, between_max_ns, "virtual_ns", true, "time between two tokens of a sequence, longest")                          \
    FIELD(double, tokens_per_step, "count", true, "decoded tokens per step")                                                       \
    FIELD(double, tokens_per_s, "count", true, "decoded tokens per second of virtual time, from first arrival to last finish")     \
    FIELD(double, live_use, "ratio", true, "tokens of live sequences, over the pool")                                              \
    FIELD(double, reserved_use, "ratio", false, "tokens reserved for live sequences, over the pool")                               \
    FIELD(double, unfilled, "ratio", false, "of the tokens reserved for live sequences, the part that none has yet")               \
    FIELD(double, live, "count", true, "live sequences")                                                                           \
    FIELD(double, largest_over_free, "ratio", false, "the longest sequence that would fit, over the free tokens")                  \
    FIELD(double, holes, "ratio", false, "free tokens in holes below the median request, over the free tokens")                    \
    FIELD(double, scattered_max, "ratio", false, "free tokens outside the longest free piece, over the free ones, at most")        \
    FIELD(double, hit_ratio, "ratio", true, "tokens (touch keep: blocks) of prompts found in the cache, over all of them")         \
    FIELD(double, call_ns, "ns", true, "real time of one call, of all executed again")

// Of touch keep with tiers below the near cache. A block is moved as a whole, also the last one of a prompt. Hits of a tier
// below are moved up, so its bytes are those of what sank there, of its hits, and of what went on to the next tier.
#define TB_TIERED_FIELDS(FIELD)                                                                                                    \
    FIELD(uint64_t, hits, "count", true, "blocks of prompts found in the cache, in any tier")                                      \
    FIELD(uint64_t, near_hits, "count", false, "blocks of prompts found in the near cache")                                        \
    FIELD(uint64_t, far_hits, "count", false, "blocks of prompts found in the far tier")                                           \
    FIELD(uint64_t, file_hits, "count", false, "blocks of prompts found in the file")                                              \
    FIELD(double, near_hit_ratio, "ratio", false, "blocks of prompts found in the near cache, over all of them")                   \
    FIELD(double, far_hit_ratio, "ratio", false, "blocks of prompts found in the far tier, over all of them")                      \
    FIELD(double, file_hit_ratio, "ratio", false, "blocks of prompts found in the file, over all of them")                         \
    FIELD(uint64_t, far_sunk, "count", false, "blocks that sank to the far tier")                                                  \
    FIELD(uint64_t, file_sunk, "count", false, "blocks that sank to the file")                                                     \
    FIELD(uint64_t, lost, "count", false, "blocks that left the last tier")                                                        \
    FIELD(uint64_t, dropped, "count", false, "blocks below that a request computed again, as one above them was missing")          \
    FIELD(uint64_t, far_bytes, "bytes", false, "bytes moved to the far tier and from it")                                          \
    FIELD(uint64_t, file_bytes, "bytes", false, "bytes moved to the file and from it")                                             \
    FIELD(double, far_even_ns, "virtual_ns", false, "price of a token above which far hits save more than all moves there take")   \
    FIELD(double, file_even_ns, "virtual_ns", false, "price of a token above which the file's hits save more than its moves take")

#define TB_SERVED_MEMBER(type, member, unit, ratio, what) type member;
struct tb_served {
    TB_SERVED_FIELDS(TB_SERVED_MEMBER)
};

struct tb_tiered {
    TB_TIERED_FIELDS(TB_SERVED_MEMBER)
};

extern const struct tb_slot tb_served_fields[], tb_tiered_fields[]; // each ends with a NULL name

#endif
