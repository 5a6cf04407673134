// SPDX-License-Identifier: Apache-2.0
//
// offload: where the cached blocks of a prefix cache go when they are evicted, and how they come back.
//
// The cache knows nothing of tiers. It has a *connector*, a table of functions: the engine's own, or that of a locus_offload, which
// keeps the blocks in one or two tiers (below).
//
//     grow, without a free block     store(id, block)         copies at once, or refuses: then the block is lost
//     offload_start(64), before      start(id, block)         reads the block later; until done(block) nobody gets its memory
//     match(ids, table)              -                        what is still in the cache
//     load(ids, count, table)        probe(ids), load(ids)    the next ids that it has: blocks are grown, filled, published
//     publish(ids, count, table)     drop(id)                 the cache has the id: an exclusive connector lets its copy go
//     ... prefill the rest ...
//
// Blocks leave from the end of a chain (prefix.h), so what is above a block in its chain is offloaded after it.
//
// Why two ways down. A grow needs the memory now, and must neither wait for a device nor hand out what one still reads: so store()
// copies, to memory, or to a buffer from which it writes later. To write from the block itself, the engine starts blocks ahead of
// need, a few in each step, say while fewer than so many are free. Such a block has left the cache, and is out: the pool counts it
// as outstanding, held by the cache under `tag`. It is free when the engine reports the completion. A grow neither waits for it
// nor finds it, and says -ENOMEM if it would have been needed.
//
// Why load is a call of its own, and waits. match() costs nanoseconds, and a load as long as its device takes; so the engine
// decides whether a prompt is worth it. The connector's load() gets up to 64 blocks at once, to keep a device busy. An engine whose
// scheduler must not wait takes the same steps itself: probe, locus_owner_grow(), its own loads, and locus_prefix_publish() at
// their completion.
//
// A connector that outlives its cache keeps ids that were made with the cache's key. The next cache finds them if it has the same
// key: a tier in a file has one (locus_tier_file_secret() in tier_file.h).
//
// Who reserves (reservation.h) loads and starts through the reservations: both take blocks that somebody may have reserved.
//
// Threads: owner context, all of it, and so the connector's functions: they are called within grow, write, evict, publish and
// the calls below, and must not call this owner, its pool or its cache. A block that is lent to another home is offloaded before.
// Costs: without a connector, one branch for a block that leaves and for one that is published.
//
// Offload to tiers (tier.h):
//
//     locus_offload_open(&offload, tiers)         which tiers, and how many blocks each may hold
//     locus_offload_connector(offload, &table)    -> locus_prefix_open(&prefix, {.offload = &table})
//     locus_offload_poll(offload, prefix, 0)      in each step of the engine, if a tier is a file
//     locus_prefix_close(prefix), locus_offload_close(offload), locus_tier_close(tiers)
//
// A block that leaves the cache goes to the first tier. If that has its number of blocks, the one that came there first is demoted
// to the second tier, and what came to the last tier first is lost. A file writes while the engine goes on: store() first copies
// the block to one of `copies` buffers, and refuses it when they are all in use. start() stores from the block itself, past the
// first tier; there is no start() without a file.
//
// A policy (demote.h), if there is one, says where a block goes that leaves the cache, and one that leaves the first tier for
// another: to the second, or nowhere. The policy sees tiers by room, where spares count as free, and by what a load costs; of a
// block how long it has been in its tier, and how often it was loaded from there. start() takes blocks that the policy sends to the
// last tier.
//
// What is loaded, or computed again, stays in its tier as a spare: nobody finds it there, and it is the first to leave when room is
// needed. If the cache gives the block up before, the spare counts again and nothing is written. So a drop costs nothing, and an id
// is found in one place.
//
// A tier that refuses a store, or cannot load what it has, loses blocks and does no other harm: what cannot be read is computed
// again, and forgotten here. A file is asked for up to 64 blocks at once, and waited for.
//
// Threads: the cache's owner makes all calls, and owns the tiers; nobody else may use them. One cache for each locus_offload. The
// blocks of int8 tiers are f16 numbers, and come back with int8's error (int8.h).
// Memory: 56 to 60 bytes a block; with a file also `copies` blocks, and with two tiers one more.
#ifndef LOCUS_OFFLOAD_H
#define LOCUS_OFFLOAD_H

#include "demote.h"
#include "prefix.h"
#include "tier.h"

#ifdef __cplusplus
extern "C" {
#endif

// A connector.
struct locus_offload_ops {
    size_t size;                // sizeof this struct (version.h)
    void *context;              // the first argument of each
    // Keeps a copy of the block's `bytes` under its id, before it returns. `parent`: the id above it, none: a chain's first. 0, or
    // an error: it does not want it, or cannot. An id that it has already has the same contents.
    int (*store)(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes);
    // The same, but it may read the block until the engine has called locus_prefix_offload_done() for it. NULL: there is no such
    // way.
    int (*start)(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes, locus_block handle);
    // How many of the first ids it has.
    uint32_t (*probe)(void *context, const struct locus_id ids[], uint32_t count);
    // Fills blocks[i] with what it has of ids[i]. How many of the first are whole; what is in the others is of no interest. Fewer
    // than probe() said is no error: the blocks' own room may have pushed them out, or a device failed.
    uint32_t (*load)(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes);
    // The cache has this id (again). It may be one that the connector does not have. NULL: it is inclusive and does not care.
    void (*drop)(void *context, struct locus_id id);
    uint64_t tag;               // of blocks that are read by a store, in the pool's reports (pool.h)
};

// Starts to store up to `count` cached blocks, in the order in which they would be evicted. Returns how many: fewer if fewer are
// cached, or if start() refuses one, which then stays. 0 without start(), or without the role.
uint32_t locus_prefix_offload_start(struct locus_prefix *prefix, uint32_t count);

// The connector no longer reads the block, which is free now; `error` is 0, or the block's contents are lost. If the cache got its
// id again meanwhile, drop() follows. 0, -ESTALE: no store of this block is under way, or -EPERM. Then nothing changes.
int locus_prefix_offload_done(struct locus_prefix *prefix, locus_block block, int error);

// How many blocks locus_prefix_load() would grow `table` by. Nothing changes, and nothing is loaded. 0 also for what it refuses.
uint32_t locus_prefix_load_probe(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count,
                                 const struct locus_table *table);

// `ids` and `tokens` are those of a prompt's blocks from its first one on, and `table`, which is LIVE, holds the first of them:
// what match() found. Of the ids that follow, appends as many as the connector has and can load, and publishes them; later ones may
// be in the cache again, and match() would find them. Returns how many; 0 also without a connector. At most as many as the table
// has room for. A connector knows contents by id alone: a cache that keeps tokens takes the asker's for what was loaded. Errors as
// of locus_owner_grow(), and -EINVAL: an id is none, or tokens are missing. Then the table is as it was, and the connector still
// has what it had.
int64_t locus_prefix_load(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                          struct locus_table *table);

struct locus_prefix_offload_stats {
    uint64_t blocks_offloaded;  // stored; also those whose store was started and is done
    uint64_t blocks_lost;       // left the cache although there is a connector: it refused, or its store failed
    uint64_t blocks_offloading; // now: a store reads them
    uint64_t blocks_loaded;
    uint64_t blocks_load_failed; // the connector had them, but did not load them: to be computed again
};

// Any thread. Exact in owner context; elsewhere each figure is as of some moment.
void locus_prefix_offload_stats(const struct locus_prefix *prefix, struct locus_prefix_offload_stats *out);

struct locus_offload;

struct locus_offload_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_tier *tier[2]; // borrowed. The first of two is in memory. [1] may be NULL
    uint32_t blocks[2];         // that each may hold. A file needs room for some more, as it frees units only later: say for 64
    size_t block_bytes;         // the pool's
    uint32_t copies;            // blocks that store() has copied and a file still writes, 1 .. 64; 0: 16
    uint64_t tag;               // of blocks that start() reads (locus_offload_ops)
    const struct locus_demote_ops *policy; // NULL: all to the first tier, and from there to the second
    uint64_t latency_ns[2], bytes_per_s[2]; // of a load from each tier, for the policy. bytes_per_s 0: the latency is all
    uint64_t compute_ns;        // of a block, for the policy; 0: not known
};

// Blocks that a tier has already, from an earlier run, are found again, by a cache with the key of that run: for a file that is
// locus_tier_file_secret() (tier_file.h). 0; -EINVAL: a field is out of range, or a tier has objects that are no blocks of this
// size, or more than it may hold, or both have the same one; -E2BIG (version.h); -ENOMEM.
int locus_offload_open(struct locus_offload **out, const struct locus_offload_config *config);

// Waits until no tier reads a copy any more. The tiers keep their blocks. NULL is allowed. 0, or -EBUSY: blocks that were started
// have not been reported to the cache.
int locus_offload_close(struct locus_offload *offload);

// For the cache's config. It refers to the offload, which must outlive the cache.
void locus_offload_connector(struct locus_offload *offload, struct locus_offload_ops *out);

// Takes what a file has completed, waiting up to wait_ns for it if nothing has been, and reports to the cache the blocks that it
// reads no longer: how many of these.
uint32_t locus_offload_poll(struct locus_offload *offload, struct locus_prefix *prefix, uint64_t wait_ns);

struct locus_offload_stats {
    uint64_t blocks[2];         // now, in each tier or on their way to it; without spares
    uint64_t spares[2];         // now
    uint64_t blocks_demoted;    // from the first tier to the second
    uint64_t blocks_lost;       // that were here: they left the last tier, or a tier could not take, keep or load them
};

// As of this moment; owner context.
void locus_offload_stats(const struct locus_offload *offload, struct locus_offload_stats *out);

#ifdef __cplusplus
}
#endif

#endif
