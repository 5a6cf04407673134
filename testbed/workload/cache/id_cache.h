// SPDX-License-Identifier: Apache-2.0
//
// id_cache: a model of a prefix cache: how many blocks of a sequence of prompts does an eviction policy find? Counts, exact on
// every host; no block has contents, and no time passes but that of the requests.
//
// The model. A request is the chain of ids of its prompt's blocks. They are looked at in order. An id that is held is touched:
// hit(), then insert(again). One that is not is missed and then inserted: miss(); if all blocks are held, the victim leaves; then
// insert(fresh). References that are held before the request's first miss are hits; a held one after it was touched, but a prefix
// cache could not use it. A victim may be a block of the same request.
//
// With `tree` the model comes closer to a cache of a running engine: the blocks of a request are in use until its last one was
// looked at, and are then kept in the order of the chain; and a victim never leaves before kept blocks below it. If it has some,
// the walk goes down from it, at each fork to the block that was kept longest ago, and the block at the end leaves instead. If
// all blocks are in use, the rest of the request is not inserted.
//
// With tiers below, a block that leaves the near cache sinks to the far tier, one that leaves that sinks to the file, and one that
// leaves the last of them is lost. A hit in a tier is raised: it goes back to the near cache, as if it had been computed, and its
// place below is free. What is held below after a request's first miss is computed again with the rest, and dropped there.
// So an id is in one place at a time: the tiers' sizes add up, hits by tier are disjoint, and their sum is what a single cache of
// all sizes together would find if its order were the same. That is so for LRU to the block, and for any policy where the last
// tier never overflows: then nothing is lost, and every hit of an unbounded cache is a hit (with `tree`, if the near cache holds
// the longest request). A copy below that outlived the way up would spare a store later, and cost its room until then.
// A tier's own victim is what sank there first, or, with `alike`, what the policy of the near cache names; lower tiers know no
// tree, for what is above a block sinks after it.
#ifndef TB_ID_CACHE_H
#define TB_ID_CACHE_H

#include "locus/evict.h"

#include <stddef.h>

struct tb_trace;

struct tb_id_request {
    uint64_t arrival_ns;        // never decreasing
    const uint64_t *ids;        // each of them has one parent (tb_trace_chained())
    uint32_t count;
};

enum tb_id_tier { TB_ID_NEAR, TB_ID_FAR, TB_ID_FILE, TB_ID_TIERS };

struct tb_id_cache_config {
    const struct locus_evict_ops *ops; // may be tb_clairvoyant
    uint32_t blocks;            // the capacity
    bool tree;
    uint32_t far_blocks, file_blocks; // capacities below; 0: there is no such tier
    bool alike;                 // their victims are chosen by a policy like the near one
};

struct tb_id_tier_result {
    uint64_t hits;              // found here before their request's first miss; below the near cache each of them was raised
    uint64_t sunk;              // came here from above (to the near cache: none)
    uint64_t dropped;           // given up here because a request computed it again
    uint64_t left;              // to the next tier, or lost
    uint64_t kept;              // are here at the end
};

struct tb_id_cache_result {
    uint64_t references;        // ids of all requests
    uint64_t held;              // references to held blocks, in any tier
    uint64_t hits;              // those before their request's first miss
    uint64_t evictions;         // from the near cache
    uint64_t lost;              // from the last tier
    struct tb_id_tier_result tier[TB_ID_TIERS];
};

// The requests of a trace that has ids, which stay the trace's. *out is malloc'd. 0 or -ENOMEM.
int tb_id_requests(const struct tb_trace *trace, struct tb_id_request **out);

// 0, -ENOMEM, or -EINVAL: the policy cannot have so many blocks.
int tb_id_cache_run(const struct tb_id_request requests[], size_t count, const struct tb_id_cache_config *config,
                    struct tb_id_cache_result *out);

// The policy that knows the future: the block that is used again last leaves first; of those that are never used again, the one
// that was kept last, which is the deepest. This is Belady's MIN, and no policy can find more held blocks, so none can have more
// hits than MIN finds. This one must insert what it would rather not, so it finds at least what MIN finds with one block less; and
// if the longest request fits in several times, nearly all that it finds are hits: an id is never used without those above it, so
// blocks leave from the end of a chain. It says what is left to gain for somebody who knows all, and not how much of that can be
// learned from the past.
extern const struct locus_evict_ops tb_clairvoyant;

// Tells a state of tb_clairvoyant all requests, before the first one. tb_id_cache_run() does it. 0 or -ENOMEM.
int tb_clairvoyant_foresee(void *state, const struct tb_id_request requests[], size_t count);

#endif
