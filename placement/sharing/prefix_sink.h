// SPDX-License-Identifier: Apache-2.0
//
// prefix_sink: where the kept blocks of a prefix cache go when they leave it, and how they come back. The cache knows nothing of
// tiers: a sink is a table of functions, of the engine or of whatever stores bytes for it. tier_sink.h has a ready one.
//
//     grow, without a free block     store(id, block)         copies at once, or refuses: then the block is lost, as without a sink
//     start(64), before that         start(id, block)         reads the block later; until done(block) nobody gets its memory
//     match(ids, table)              -                        what is still in the cache
//     raise(ids, count, table)       look(ids), load(ids)     the next ids that the sink has: blocks are grown, filled, published
//     publish(ids, count, table)     drop(id)                 the cache has the id: an exclusive sink lets its copy go
//     ... prefill the rest ...
//
// Blocks leave from the end of a chain (prefix.h), so what is above a block in its chain sinks after it.
//
// Why two ways down. A grow needs the memory now, and must neither wait for a device nor hand out what one still reads: so store()
// copies, to memory, or to a buffer from which it writes later. To write from the block itself, the engine starts blocks ahead of
// need, a few in each step, say while fewer than so many are free. Such a block has left the cache, and is out: the pool counts it
// as outstanding, held by the cache under `tag`. It is free when the engine reports the completion. A grow neither waits for it
// nor finds it, and says -ENOMEM if it would have been needed.
//
// Why raise is a call of its own, and waits. match() costs nanoseconds, and a load as long as its device takes; so the engine
// decides whether a prompt is worth it. load() gets up to 64 blocks at once, to keep a device busy. An engine whose scheduler must
// not wait takes the same steps itself: look, locus_owner_grow(), its own loads, and locus_prefix_publish() at their completion.
//
// A sink that outlives its cache keeps ids that were made with the cache's key. The next cache finds them if it has the same key: a
// tier in a file has one (locus_tier_file_secret() in tier_file.h).
//
// Who reserves (promise.h) raises and starts through the promises: both take blocks that somebody may have been promised.
//
// Threads: owner context, all of it, and so the sink's functions: they are called within grow, write, shrink, publish and
// the calls below, and must not call this owner, its pool or its cache. A block that is lent to another home sinks before.
// Costs: without a sink, one branch for a block that leaves and for one that is published.
#ifndef LOCUS_PREFIX_SINK_H
#define LOCUS_PREFIX_SINK_H

#include "prefix.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_prefix_sink {
    size_t size;                // sizeof this struct (version.h)
    void *context;              // the first argument of each
    // Keeps a copy of the block's `bytes` under its id, before it returns. `parent`: the id above it, none: a chain's first. 0, or
    // an error: it does not want it, or cannot. An id that it has already has the same contents.
    int (*store)(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes);
    // The same, but it may read the block until the engine has called locus_prefix_sink_done() for it. NULL: there is no such way.
    int (*start)(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes, locus_block handle);
    // How many of the first ids it has.
    uint32_t (*look)(void *context, const struct locus_id ids[], uint32_t count);
    // Fills blocks[i] with what it has of ids[i]. How many of the first are whole; what is in the others is of no interest. Fewer
    // than look() said is no error: the blocks' own room may have pushed them out, or a device failed.
    uint32_t (*load)(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes);
    // The cache has this id (again). It may be one that the sink does not have. NULL: it is inclusive and does not care.
    void (*drop)(void *context, struct locus_id id);
    uint64_t tag;               // of blocks that are read by a store, in the pool's reports (pool_report.h)
};

// Starts to store up to `count` kept blocks, in the order in which they would be evicted. Returns how many: fewer if fewer are
// kept, or if start() refuses one, which then stays. 0 without start(), or without the role.
uint32_t locus_prefix_sink_start(struct locus_prefix *prefix, uint32_t count);

// The sink no longer reads the block, which is free now; `error` is 0, or the block's contents are lost. If the cache got its id
// again meanwhile, drop() follows. 0, -ESTALE: no store of this block is under way, or -EPERM. Then nothing changes.
int locus_prefix_sink_done(struct locus_prefix *prefix, locus_block block, int error);

// How many blocks locus_prefix_raise() would grow `table` by. Nothing changes, and nothing is loaded. 0 also for what it refuses.
uint32_t locus_prefix_raise_look(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count,
                                 const struct locus_table *table);

// `ids` and `tokens` are those of a prompt's blocks from its first one on, and `table`, which is LIVE, holds the first of them:
// what match() found. Of the ids that follow, appends as many as the sink has and can load, and publishes them; later ones may be
// in the cache again, and match() would find them. Returns how many; 0 also without a sink. At most as many as the table has room
// for. A sink knows contents by id alone: a cache that keeps tokens takes the asker's for what was raised.
// Errors as of locus_owner_grow(), and -EINVAL: an id is none, or tokens are missing. Then the table is as it was, and the sink
// still has what it had.
int64_t locus_prefix_raise(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                           struct locus_table *table);

struct locus_prefix_sink_stats {
    uint64_t blocks_sunk;       // stored; also those whose store was started and is done
    uint64_t blocks_lost;       // left the cache although there is a sink: it refused, or its store failed
    uint64_t blocks_sinking;    // now: a store reads them
    uint64_t blocks_raised;
    uint64_t blocks_unloaded;   // the sink had them, but did not load them: to be computed again
};

// Any thread. Exact in owner context; elsewhere each figure is as of some moment.
void locus_prefix_sink_stats(const struct locus_prefix *prefix, struct locus_prefix_sink_stats *out);

#ifdef __cplusplus
}
#endif

#endif
