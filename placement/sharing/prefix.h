// SPDX-License-Identifier: Apache-2.0
//
// prefix: a cache of full blocks under the ids of their contents, so that a prompt need not compute what an earlier one did.
//
//     match(ids, table)                 the table adopts the blocks of the ids that are there, up to the first that is not
//     ... prefill the rest into new blocks (locus_owner_write) ...
//     publish(ids, count, table)        the table's first `count` blocks are full: others may find them from now on
//     ... the request ends: cut, or retire and push ...
//
// A published block lives on when its last holder lets it go: it is *kept*, and becomes free when the pool runs out of free
// blocks. Which one goes first is the policy's decision (evict.h), but a block never goes before the kept blocks below it, because
// nobody could reach those. So a cache needs no room of its own: every block of the pool that nobody holds may be a kept one, and
// no grow fails for want of a block that is only kept.
//
// An id names a block's contents and everything before them. locus_prefix_id() makes ids under the cache's key, which nobody who
// chooses tokens can make equal; or the engine has its own: prefix_id.h says what they must satisfy. Ids of different models,
// adapters or tenants must differ: salt them. The cache takes equal ids for equal tokens, unless it is told to check that
// (prefix_check.h).
//
// Cost. A look-up reads one line of an open-addressing table: two ids and their blocks, at most half full and on the pool's node,
// 64 bytes a block. Beside it 56 bytes a block say what it was published as. All three look-ups fetch the lines of later ids while
// they compare earlier ones, which hides most of the misses of a large table; find() does best, 64 ids at a time.
//
// What leaves is lost, unless the cache has a sink: then it goes to slower memory or to a file, and comes back (prefix_sink.h).
//
// Threads: owner context, all of it, except locus_prefix_stats() and locus_prefix_key_of(). One cache per pool.
#ifndef LOCUS_PREFIX_H
#define LOCUS_PREFIX_H

#include "evict.h"
#include "owner.h"
#include "prefix_id.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_prefix;
struct locus_prefix_check;
struct locus_prefix_sink;

struct locus_prefix_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_owner *owner;  // of a shared pool; borrowed, must outlive the cache
    const struct locus_evict_ops *evict; // NULL: locus_evict_chain
    const struct locus_prefix_sink *sink; // prefix_sink.h; copied. NULL: what leaves is lost
    const struct locus_prefix_key *key; // copied. NULL: drawn by getrandom(2)
    uint32_t tokens_per_block;  // > 0: the cache keeps the tokens of its blocks, and compares them (prefix_check.h)
    const struct locus_prefix_check *check; // prefix_check.h; copied. NULL: the engine is not asked. Not both
};

// 0; -EINVAL: no owner, or its pool is not shared, or has too many blocks for the policy, or the sink lacks store, look or load,
// or there are two ways to check, or one without a function; -EBUSY: the pool has a cache; -ENOMEM; -E2BIG (version.h); -EPERM; the
// error of getrandom(2), for the key, or of locus_region_open(), for the table and the tokens.
int locus_prefix_open(struct locus_prefix **out, const struct locus_prefix_config *config);

// Kept blocks become free, and blocks that are held are published no longer. A sink gets none of them: shrink first. NULL is
// allowed. 0, -EPERM, or -EBUSY: stores that were started are not done (prefix_sink.h), and nothing is closed.
int locus_prefix_close(struct locus_prefix *prefix);

// For the ids of this cache's blocks (prefix_id.h). The cache's own; it never changes. Any thread.
const struct locus_prefix_key *locus_prefix_key_of(const struct locus_prefix *prefix);

// In all that follows, ids[i] is the id of a prompt's block i, and `tokens` has the prompt's tokens, `tokens_per_block` of each
// block, from its first one on. Only a cache that keeps tokens reads them; without one they may be NULL.

// Appends the blocks of the first ids that are found to a LIVE table, which now holds them too, and returns how many. At most
// `count`, and at most as many as the table has room for. An engine that has to compute at least one token of a prompt asks for
// one block less than the prompt has. `now_ns` is the engine's clock, which policies may use; it never decreases.
// -EINVAL (the table is not LIVE, or lacks a link for this home, or tokens are missing), -ENOMEM (tags), -EPERM.
int64_t locus_prefix_match(struct locus_prefix *prefix, uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[],
                           uint32_t count, struct locus_table *table);

// How many of the first ids match() would find; *kept of them are held by nobody. Nothing changes, and no policy hears of it.
uint32_t locus_prefix_look(const struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                           uint32_t *kept);

// Each id for itself, and unchecked: blocks[i] is the block of ids[i], or LOCUS_BLOCK_NONE. Returns how many there are. Nothing
// changes.
uint32_t locus_prefix_find(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count, locus_block blocks[]);

// The table's first `count` blocks are full, and have these ids. A block whose id is there already, under another block, stays
// private: it goes home as usual. So do blocks of other homes. Returns how many are newly published.
// -EINVAL: the table is not LIVE, or has fewer blocks, or an id is none, or tokens are missing; -ESTALE: a damaged handle; -EPERM.
// Then nothing changes.
int64_t locus_prefix_publish(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                             struct locus_table *table);

// Gives up `count` kept blocks, or all, to the sink if there is one, and returns how many.
uint32_t locus_prefix_shrink(struct locus_prefix *prefix, uint32_t count);

struct locus_prefix_stats {
    uint64_t blocks_asked;      // by match
    uint64_t blocks_found;
    uint64_t blocks_published;  // since open
    uint64_t blocks_evicted;    // since open
    uint64_t blocks_kept;       // now
    uint64_t blocks_known;      // now: published, held or kept
    uint64_t blocks_refused;    // calls of match and publish that ended at a block which is not what its id says
};

// Any thread. Exact in owner context; elsewhere each figure is as of some moment.
void locus_prefix_stats(const struct locus_prefix *prefix, struct locus_prefix_stats *out);

#ifdef __cplusplus
}
#endif

#endif
