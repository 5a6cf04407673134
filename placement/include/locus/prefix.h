// SPDX-License-Identifier: Apache-2.0
//
// prefix: a cache of full blocks under the ids of their contents, so that a prompt need not compute what an earlier one did.
//
//     match(ids, table)                 the table adopts the blocks of the ids that are there, up to the first that is not
//     ... prefill the rest into new blocks (locus_owner_write) ...
//     publish(ids, count, table)        the table's first `count` blocks are full: others may find them from now on
//     ... the request ends: truncate, or retire and push ...
//
// A published block lives on when its last holder lets it go: it is *cached*, and becomes free when the pool runs out of free
// blocks. Which one goes first is the policy's decision (evict.h), but a block never goes before the cached blocks below it,
// because nobody could reach those. So a cache needs no room of its own: every block of the pool that nobody holds may be a cached
// one, and no grow fails for want of a block that is only cached.
//
// An id names a block's contents and everything before them. locus_prefix_id() makes ids under the cache's key, which nobody who
// chooses tokens can make equal; or the engine has its own: id.h says what they must satisfy. Ids of different models, adapters or
// tenants must differ: salt them.
//
// Checks. The cache takes equal ids for equal contents. With ids of locus_prefix_id() that is safe (id.h). A check is for engines
// that want to prove it for each block, or whose own ids promise less. There are two:
//
//     tokens_per_block   The cache keeps the tokens of each published block, and compares them with those that are asked for. It
//                        costs 4 bytes a token of the whole pool, on the pool's node, a copy of them at a publish, and for a block
//                        that is found a comparison: one cache line for 16 tokens.
//     check              The engine compares, by whatever it knows of the block. The cache keeps nothing.
//
// A match ends before the first block that is not what its id says, and so does a publish: the asker's block stays private, and
// those below it, whose ids name other contents for whoever has the block that is there. Nobody is served it, and each such end is
// counted (blocks_refused). What is compared is a block's own tokens; those before it are compared when the blocks before it are.
// A find, and what comes back from an offload connector, is by id alone.
//
// Cost. A look-up reads one line of an open-addressing table: two ids and their blocks, at most half full and on the pool's node,
// 64 bytes a block. Beside it 56 bytes a block say what it was published as. All three look-ups prefetch the lines of later ids
// while they compare earlier ones, which hides most of the misses of a large table; find() does best, 64 ids at a time.
//
// What is evicted is lost, unless the cache has an offload connector: then it goes to slower memory or to a file, and comes back
// (offload.h).
//
// Threads: owner context, all of it, except locus_prefix_stats() and locus_prefix_key_of(). One cache per pool.
#ifndef LOCUS_PREFIX_H
#define LOCUS_PREFIX_H

#include "evict.h"
#include "id.h"
#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_prefix_check {
    size_t size;                // sizeof this struct (version.h)
    void *context;              // the first argument
    // Does `block`, which has the id ids[position], have the contents that are asked for? `ids` and `tokens` are those that the
    // call was given: they say which prompt asks. Called in owner context by probe, match, publish and load; it must not call this
    // owner, its pool or its cache.
    bool (*same)(void *context, locus_block block, const struct locus_id ids[], const uint32_t tokens[], uint32_t position);
};

struct locus_prefix;
struct locus_prefix_check;
struct locus_offload_ops;         // offload.h

struct locus_prefix_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_owner *owner;  // of a shared pool; borrowed, must outlive the cache
    const struct locus_evict_ops *evict; // NULL: locus_evict_chain
    const struct locus_offload_ops *offload; // a connector (offload.h); copied. NULL: what is evicted is lost
    const struct locus_prefix_key *key; // copied. NULL: drawn by getrandom(2)
    uint32_t tokens_per_block;  // > 0: the cache keeps the tokens of its blocks, and compares them
    const struct locus_prefix_check *check; // copied. NULL: the engine is not asked. Not both
};

// 0; -EINVAL: no owner, or its pool is not shared, or has too many blocks for the policy, or the connector lacks store, probe or
// load,
// or there are two ways to check, or one without a function; -EBUSY: the pool has a cache; -ENOMEM; -E2BIG (version.h); -EPERM; the
// error of getrandom(2), for the key, or of locus_region_open(), for the table and the tokens.
int locus_prefix_open(struct locus_prefix **out, const struct locus_prefix_config *config);

// Cached blocks become free, and blocks that are held are published no longer. A connector gets none of them: evict first. NULL is
// allowed. 0, -EPERM, or -EBUSY: stores that were started are not done (offload.h), and nothing is closed.
int locus_prefix_close(struct locus_prefix *prefix);

// For the ids of this cache's blocks (id.h). The cache's own; it never changes. Any thread.
const struct locus_prefix_key *locus_prefix_key_of(const struct locus_prefix *prefix);

// In all that follows, ids[i] is the id of a prompt's block i, and `tokens` has the prompt's tokens, `tokens_per_block` of each
// block, from its first one on. Only a cache that keeps tokens reads them; without one they may be NULL.

// Appends the blocks of the first ids that are found to a LIVE table, which now holds them too, and returns how many. At most
// `count`, and at most as many as the table has room for. An engine that has to compute at least one token of a prompt asks for
// one block less than the prompt has. `now_ns` is the engine's clock, which policies may use; it never decreases.
// -EINVAL (the table is not LIVE, or lacks a link for this home, or tokens are missing), -ENOMEM (tags), -EPERM.
int64_t locus_prefix_match(struct locus_prefix *prefix, uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[],
                           uint32_t count, struct locus_table *table);

// How many of the first ids match() would find; *cached of them are held by nobody. Nothing changes, and no policy hears of it.
uint32_t locus_prefix_probe(const struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                            uint32_t *cached);

// Each id for itself, and unchecked: blocks[i] is the block of ids[i], or LOCUS_BLOCK_NONE. Returns how many there are. Nothing
// changes.
uint32_t locus_prefix_find(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count, locus_block blocks[]);

// The table's first `count` blocks are full, and have these ids. A block whose id is there already, under another block, stays
// private: it goes home as usual. So do blocks of other homes. Returns how many are newly published.
// -EINVAL: the table is not LIVE, or has fewer blocks, or an id is none, or tokens are missing; -ESTALE: a damaged handle; -EPERM.
// Then nothing changes.
int64_t locus_prefix_publish(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                             struct locus_table *table);

// Evicts `count` cached blocks, or all, to the connector if there is one, and returns how many.
uint32_t locus_prefix_evict(struct locus_prefix *prefix, uint32_t count);

struct locus_prefix_stats {
    uint64_t blocks_asked;      // by match
    uint64_t blocks_found;
    uint64_t blocks_published;  // since open
    uint64_t blocks_evicted;    // since open
    uint64_t blocks_cached;     // now
    uint64_t blocks_known;      // now: published, held or cached
    uint64_t blocks_refused;    // calls of match and publish that ended at a block which is not what its id says
};

// Any thread. Exact in owner context; elsewhere each figure is as of some moment.
void locus_prefix_stats(const struct locus_prefix *prefix, struct locus_prefix_stats *out);

#ifdef __cplusplus
}
#endif

#endif
