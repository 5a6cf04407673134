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
// An id names a block's contents and everything before them: locus_prefix_id() chains them, or the engine has its own. Equal ids
// mean equal tokens; the cache never looks into a block. Ids of different models, adapters or tenants must differ: salt them.
//
// Cost. A look-up is one probe of an open-addressing table, 16 bytes an entry, at most half full and on the pool's node. All three
// look-ups fetch the lines of later ids while they compare earlier ones, which hides most of the misses of a large table; find()
// does best, 64 ids at a time.
//
// What leaves is lost, unless the cache has a sink: then it goes to slower memory or to a file, and comes back (prefix_sink.h).
//
// Threads: owner context, all of it, except locus_prefix_id() and locus_prefix_stats(). One cache per pool.
#ifndef LOCUS_PREFIX_H
#define LOCUS_PREFIX_H

#include "evict.h"
#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_prefix;
struct locus_prefix_sink;

struct locus_prefix_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_owner *owner;  // of a shared pool; borrowed, must outlive the cache
    const struct locus_evict_ops *evict; // NULL: locus_evict_chain
    const struct locus_prefix_sink *sink; // prefix_sink.h; copied. NULL: what leaves is lost
};

// 0; -EINVAL: no owner, or its pool is not shared, or has too many blocks for the policy, or the sink lacks store, look or load;
// -EBUSY: the pool has a cache; -ENOMEM;
// -E2BIG (version.h); -EPERM; the error of locus_region_open(), for the table.
int locus_prefix_open(struct locus_prefix **out, const struct locus_prefix_config *config);

// Kept blocks become free, and blocks that are held are published no longer. A sink gets none of them: shrink first. NULL is
// allowed. 0, -EPERM, or -EBUSY: stores that were started are not done (prefix_sink.h), and nothing is closed.
int locus_prefix_close(struct locus_prefix *prefix);

// The id of a block with these tokens behind the block `parent`; 0 as `parent`: the first block, and then `salt` tells apart what
// must not be shared. A 64-bit hash of all of them (two different prefixes collide once in 2^64). Never 0. Any thread.
uint64_t locus_prefix_id(uint64_t parent, const uint32_t tokens[], uint32_t count, uint64_t salt);

// Appends the blocks of the first ids that are found to a LIVE table, which now holds them too, and returns how many. At most
// `count`, and at most as many as the table has room for. An engine that has to compute at least one token of a prompt asks for
// one block less than the prompt has. `now_ns` is the engine's clock, which policies may use; it never decreases.
// -EINVAL (the table is not LIVE, or lacks a link for this home), -ENOMEM (tags), -EPERM.
int64_t locus_prefix_match(struct locus_prefix *prefix, uint64_t now_ns, const uint64_t ids[], uint32_t count,
                           struct locus_table *table);

// How many of the first ids match() would find; *kept of them are held by nobody. Nothing changes, and no policy hears of it.
uint32_t locus_prefix_look(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, uint32_t *kept);

// Each id for itself: blocks[i] is the block of ids[i], or LOCUS_BLOCK_NONE. Returns how many there are. Nothing changes.
uint32_t locus_prefix_find(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, locus_block blocks[]);

// The table's first `count` blocks are full, and have these ids. A block whose id is there already, under another block, stays
// private: it goes home as usual. So do blocks of other homes. Returns how many are newly published.
// -EINVAL: the table is not LIVE, or has fewer blocks, or an id is 0; -ESTALE: a damaged handle; -EPERM. Then nothing changes.
int64_t locus_prefix_publish(struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, struct locus_table *table);

// Gives up `count` kept blocks, or all, to the sink if there is one, and returns how many.
uint32_t locus_prefix_shrink(struct locus_prefix *prefix, uint32_t count);

struct locus_prefix_stats {
    uint64_t blocks_asked;      // by match
    uint64_t blocks_found;
    uint64_t blocks_published;  // since open
    uint64_t blocks_evicted;    // since open
    uint64_t blocks_kept;       // now
    uint64_t blocks_known;      // now: published, held or kept
};

// Any thread. Exact in owner context; elsewhere each figure is as of some moment.
void locus_prefix_stats(const struct locus_prefix *prefix, struct locus_prefix_stats *out);

#ifdef __cplusplus
}
#endif

#endif
