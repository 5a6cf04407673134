// SPDX-License-Identifier: Apache-2.0
//
// batches: a cell of touch `adapters`: what a batcher does with a scenario's requests, each of which uses an adapter. Virtual time,
// in batches; counts, exact on every host.
//
// The model. All batches take the same time T. Batch b begins at b T and takes requests that arrived before or then; they are done
// when it ends. T is such that the mean of arrivals in it is `load` percent of a batch. So a batch costs the same whoever is in it:
// what different adapters cost is for a kernel to say, and adapters_per_batch is what it is asked.
//
// A request waits for as many batches as began without it since it arrived. The last batch is the first one that all requests may
// be in: what still waits then is unserved, and counts with its wait so far, so that nobody looks better for what he left undone.
//
// A request starved if its adapter had requests, this one among them, and got none served in more batches in succession than
// `starved_beyond`, which is what robin promises to each adapter (batcher.h): (adapters - 1)/slots. Its own adapter's requests
// before it are no starvation: waits count these.
#ifndef TB_BATCHES_H
#define TB_BATCHES_H

#include "testbed/serving/adapters/batcher.h"
#include "testbed/serving/adapters/settings.h"
#include "testbed/stats/slot.h"

// Of whom: the ten most popular adapters, the next 90, the rest. Shares of a class are of its own requests.
//    type, member, unit, whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_BATCHED_FIELDS(FIELD)                                                                                                   \
    FIELD(uint64_t, batches, "count", true, "batches until every request may have been in one")                                    \
    FIELD(uint64_t, batched, "count", true, "requests that were in one of them")                                                   \
    FIELD(uint64_t, unserved, "count", false, "requests that still waited after the last")                                         \
    FIELD(uint64_t, starved_beyond, "count", true, "batches in succession in which an adapter that waits may get nothing")         \
    FIELD(uint64_t, starved, "count", false, "requests whose adapter got nothing in more batches than that while they waited")     \
    FIELD(uint64_t, starved_adapters, "count", false, "adapters with such a request")                                              \
    FIELD(uint64_t, passed_over_max, "count", false, "most batches in succession in which an adapter waited and got nothing")      \
    FIELD(double, starved_ratio, "ratio", false, "of all requests, those that starved")                                            \
    FIELD(double, starved_rest_ratio, "ratio", false, "of the requests of adapters beyond the first 100, those that starved")      \
    FIELD(double, unserved_rest_ratio, "ratio", false, "of the requests of adapters beyond the first 100, the unserved")           \
    FIELD(double, batch_fill, "ratio", true, "slots in use, over those of all batches")                                            \
    FIELD(double, adapters_per_batch, "count", true, "different adapters in a batch, mean")                                        \
    FIELD(uint64_t, wait_p50, "count", false, "batches that began without a request since it arrived, median")                     \
    FIELD(uint64_t, wait_p99, "count", false, "the same, 99th percentile")                                                         \
    FIELD(uint64_t, wait_max, "count", false, "the same, longest")                                                                 \
    FIELD(uint64_t, wait_top10_p50, "count", false, "of the ten most popular adapters: the same, median")                          \
    FIELD(uint64_t, wait_top10_p99, "count", false, "of the ten most popular adapters: the same, 99th percentile")                 \
    FIELD(uint64_t, wait_top10_max, "count", false, "of the ten most popular adapters: the same, longest")                         \
    FIELD(uint64_t, wait_top100_p50, "count", false, "of the next 90 adapters: the same, median")                                  \
    FIELD(uint64_t, wait_top100_p99, "count", false, "of the next 90 adapters: the same, 99th percentile")                         \
    FIELD(uint64_t, wait_top100_max, "count", false, "of the next 90 adapters: the same, longest")                                 \
    FIELD(uint64_t, wait_rest_p50, "count", false, "of all other adapters: the same, median")                                      \
    FIELD(uint64_t, wait_rest_p99, "count", false, "of all other adapters: the same, 99th percentile")                             \
    FIELD(uint64_t, wait_rest_max, "count", false, "of all other adapters: the same, longest")

#define TB_BATCHED_MEMBER(type, member, unit, ratio, what) type member;
struct tb_batched {
    TB_BATCHED_FIELDS(TB_BATCHED_MEMBER)
};

extern const struct tb_slot tb_batched_fields[]; // ends with a NULL name

// What the bounds of batcher.h are held against. NULL where nobody asks.
struct tb_batch_wait {
    uint32_t wait;              // in batches; TB_BATCH_UNSERVED: it was in none
    uint32_t before;            // requests that waited when it arrived: those that arrived before it and were in no batch
    uint32_t own;               // of these, those of its adapter
};
#define TB_BATCH_UNSERVED UINT32_MAX

// Filled settings that were checked. waits[uses], or NULL. 0; -ENOMEM; -EBADMSG: the batcher broke its contract, and why says how.
int tb_batches(const struct tb_scenario *scenario, const struct tb_adapter_settings *settings, const struct tb_batcher *batcher,
               struct tb_batched *out, struct tb_batch_wait waits[], struct tb_why *why);

#endif
