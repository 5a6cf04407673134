// SPDX-License-Identifier: Apache-2.0
//
// tier_sink: a ready sink of a prefix cache (prefix_sink.h): blocks that leave the cache wait in one or two tiers (tier.h).
//
//     locus_tier_sink_open(&sink, tiers)      which tiers, and how many blocks each may hold
//     locus_tier_sink_table(sink, &table)     -> locus_prefix_open(&prefix, {.sink = &table})
//     locus_tier_sink_poll(sink, prefix, 0)   in each step of the engine, if a tier is a file
//     locus_prefix_close(prefix), locus_tier_sink_close(sink), locus_tier_close(tiers)
//
// A block that leaves the cache goes to the first tier. If that has its number of blocks, the one that came there first goes on to
// the second tier, and what came to the last tier first is lost. A file writes while the engine goes on: store() first copies the
// block to one of `copies` buffers, and refuses it when they are all in use. start() stores from the block itself, past the first
// tier; there is no start() without a file.
//
// With a policy (sink.h) the sink asks where a block goes that leaves the cache, and one that leaves the first tier for another: to
// the second, or nowhere. The policy sees tiers by room, where spares count as free, and by what a load costs; of a block how long
// it has been in its tier, and how often it was raised from there. start() takes blocks that the policy sends to the last tier.
//
// What is raised, or computed again, stays in its tier as a spare: nobody finds it there, and it is the first to leave when room is
// needed. If the cache gives the block up before, the spare counts again and nothing is written. So a drop costs nothing, and an id
// is found in one place.
//
// A tier that refuses a store, or cannot load what it has, loses blocks and does no other harm: what load() cannot read is computed
// again, and forgotten here. load() asks a file for up to 64 blocks at once, and waits for them.
//
// Threads: the cache's owner makes all calls, and owns the tiers; nobody else may use them. One cache per sink. The blocks of int8
// tiers are f16 numbers, and come back with int8's error (tier_far.h).
// Memory: 56 to 60 bytes a block; with a file also `copies` blocks, and with two tiers one more.
#ifndef LOCUS_TIER_SINK_H
#define LOCUS_TIER_SINK_H

#include "prefix_sink.h"
#include "sink.h"
#include "tier.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_tier_sink;

struct locus_tier_sink_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_tier *tier[2]; // borrowed. The first of two is in memory. [1] may be NULL
    uint32_t blocks[2];         // that each may hold. A file needs room for some more, as it frees units only later: say for 64
    size_t block_bytes;         // the pool's
    uint32_t copies;            // blocks that store() has copied and a file still writes, 1 .. 64; 0: 16
    uint64_t tag;               // of blocks that start() reads (prefix_sink.h)
    const struct locus_sink_ops *policy; // NULL: all to the first tier, and from there to the second
    uint64_t latency_ns[2], bytes_per_s[2]; // of a load from each tier, for the policy. bytes_per_s 0: the latency is all
    uint64_t compute_ns;        // of a block, for the policy; 0: not known
};

// Blocks that a tier has already, from an earlier run, are found again, by a cache with the key of that run: for a file that is
// locus_tier_file_secret() (tier_file.h). 0; -EINVAL: a field is out of range, or a tier has objects
// that are no blocks of this size, or more than it may hold, or both have the same one; -E2BIG (version.h); -ENOMEM.
int locus_tier_sink_open(struct locus_tier_sink **out, const struct locus_tier_sink_config *config);

// Waits until no tier reads a copy any more. The tiers keep their blocks. NULL is allowed. 0, or -EBUSY: blocks that were started
// have not been reported to the cache.
int locus_tier_sink_close(struct locus_tier_sink *sink);

// For the cache's config. It refers to the sink, which must outlive the cache.
void locus_tier_sink_table(struct locus_tier_sink *sink, struct locus_prefix_sink *out);

// Takes what a file has completed, waiting up to wait_ns for it if nothing has been, and reports to the cache the blocks that it
// reads no longer: how many of these.
uint32_t locus_tier_sink_poll(struct locus_tier_sink *sink, struct locus_prefix *prefix, uint64_t wait_ns);

struct locus_tier_sink_stats {
    uint64_t blocks[2];         // now, in each tier or on their way to it; without spares
    uint64_t spares[2];         // now
    uint64_t blocks_passed;     // from the first tier to the second
    uint64_t blocks_lost;       // that were here: they left the last tier, or a tier could not take, keep or load them
};

// As of this moment; owner context.
void locus_tier_sink_stats(const struct locus_tier_sink *sink, struct locus_tier_sink_stats *out);

#ifdef __cplusplus
}
#endif

#endif
