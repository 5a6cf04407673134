// SPDX-License-Identifier: Apache-2.0
//
// pool: equal blocks, handed out and taken back by one owner.
//
// Free blocks are a flat stack of ready-made handles. So a bulk allocation is one memcpy, and the chunk that came home last,
// whose lines are still warm, leaves first, in the order in which it was in use. A second array has one generation per block. A
// free compares the handle's generation with the block's, adds one to the block's, and pushes the new handle. Nothing is stored
// inside a block.
//
// Limits of detection: a handle of a closed pool, or of another pool with the same home, is refused as stale, except in one case
// in 2^28, when its generation happens to be the block's. In a pool with few `generations` even that is not promised.
//
// Threads: a pool has no lock. Every function is *owner context* (owner.h), except locus_pool_address() and
// locus_pool_address_const(): they read only what never changes after open, so any thread with a live handle may call them.
// Statistics and reasons are for any thread, too: see there.
//
// For the requested, granted and verified placement of a mapped pool call locus_region_verify(locus_pool_region(pool), ...).
#ifndef LOCUS_POOL_H
#define LOCUS_POOL_H

#include "block.h"
#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_pool;

enum locus_backing {
    LOCUS_BACKING_MAPPED,       // one region, block i at i * stride
    LOCUS_BACKING_HEAP,         // a malloc'd, page-aligned block each: the comparison of experiment 0359
    LOCUS_BACKING_CALLER,       // one region over the caller's `memory`: shared, a memfd, registered with a device
};

enum locus_reuse {
    LOCUS_REUSE_LIFO,           // last chunk home, first out: warm
    LOCUS_REUSE_FIFO,           // first home, first out: cold, and a quarantine against use after free
    LOCUS_REUSE_RUNS,           // a table's blocks are neighbours in memory, and room is kept for its growth: for attention
};

struct locus_pool_config {
    size_t size;                // sizeof this struct (version.h)
    uint32_t home;              // ordinal that goes into the handles, < LOCUS_HOMES_MAX
    uint32_t blocks;            // 1 .. LOCUS_BLOCKS_MAX
    size_t block_bytes;         // > 0
    size_t stride_bytes;        // 0: block_bytes; a larger one spreads the blocks' first bytes over the cache sets
    enum locus_backing backing;
    enum locus_reuse reuse;
    enum locus_page page;       // page, policy, node, nodes, populate: as in region.h (not for heap backing)
    enum locus_policy policy;
    int node;                   // for the pool's own arrays, and for the blocks if `nodes` is empty. Without a policy a named node
                              // binds (policy.h): 0 is node 0, and LOCUS_NODE_ANY names none
    struct locus_nodes nodes;   // for the blocks, with a policy on several nodes; empty: `node`
    bool populate;
    bool tags;                  // keep the request's tag for each block, for locus_pool_each_out(); 8 bytes a block
    bool shared;                // blocks may have several holders (share.h) and be cached (prefix.h); 4 bytes a block, 8 with tags
    bool fetch_ahead;           // takes of used blocks fetch ahead (inline.h); needs LIFO, mapped, no tags
    uint32_t generations;       // uses until a block is worn out and never handed out again; 0: at least 2^32 - 2^28
    void *memory;               // for LOCUS_BACKING_CALLER only: whole pages that outlive the pool
    size_t memory_bytes;
    bool windows;               // its blocks can be shown by windows (window.h): as in region.h; not for heap backing
};

// Why a handle, or a table, was refused. The pool does not change, and the other handles of the chunk are freed.
enum locus_free_error {
    LOCUS_FREE_DOUBLE,          // the block is already free, and this handle is of its last use
    LOCUS_FREE_STALE,           // the handle is of an older use of the block
    LOCUS_FREE_FOREIGN,         // the handle names another home
    LOCUS_FREE_RANGE,           // the pool has no such block
    LOCUS_FREE_NOT_HELD,        // other tags hold the block, or one that shared it or found it cached, but not this one (share.h)
    LOCUS_FREE_NOT_RETIRED,     // a whole table (owner.h): pushed twice, or never declared; the block is LOCUS_BLOCK_NONE
    LOCUS_FREE_MISROUTED,       // a whole table: it holds blocks of homes that its route does not have. It is still RETIRED
    LOCUS_FREE_ERRORS_COUNT,
};

// Called in owner context for each refused handle or table. `tag` is the tag of the table that it came in (table.h), or 0. While it
// runs, a drain brings nothing home, and a grow does not wait.
typedef void locus_free_error_fn(void *context, enum locus_free_error error, locus_block block, uint64_t tag);

// 0, -EINVAL (a field is out of range), -ENOMEM, -E2BIG (version.h), or the error of locus_region_open().
int locus_pool_open(struct locus_pool **out, const struct locus_pool_config *config);

// NULL is allowed. Handles that are still out dangle: close a pool only when its users are gone.
void locus_pool_close(struct locus_pool *pool);

// One block, or LOCUS_BLOCK_NONE if none is free.
locus_block locus_pool_alloc(struct locus_pool *pool);

// `count` blocks into out[], all or none: 0, or -ENOMEM with out[] untouched.
int locus_pool_alloc_bulk(struct locus_pool *pool, uint32_t count, locus_block out[]);

// Takes blocks back and returns how many it accepted. Refused ones are counted by kind and reported to the error function. To
// find the kind of an error takes a walk over the free list: errors are bugs of the caller, and the good path pays nothing for
// them.
uint32_t locus_pool_free_bulk(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag);

// 0 if the handle is live in this pool, else -ERANGE, -EXDEV (another home) or -ESTALE. Owner context.
int locus_pool_check(const struct locus_pool *pool, locus_block block);

// Address of a live block. Any thread. The handle is not checked: if it may be stale, call locus_pool_check() first.
void *locus_pool_address(const struct locus_pool *pool, locus_block block);

// The same for readers: attention reads blocks that it must not write.
const void *locus_pool_address_const(const struct locus_pool *pool, locus_block block);

void locus_pool_on_error(struct locus_pool *pool, locus_free_error_fn *function, void *context);
uint32_t locus_pool_home(const struct locus_pool *pool);
size_t locus_pool_block_bytes(const struct locus_pool *pool);
const struct locus_region *locus_pool_region(const struct locus_pool *pool); // NULL for heap backing

struct locus_pool_stats {
    uint64_t allocated;         // blocks handed out since open
    uint64_t freed;             // blocks that came home since open
    uint64_t refused[LOCUS_FREE_ERRORS_COUNT];
    uint32_t blocks;            // size of the pool
    uint32_t blocks_free;       // ready to be handed out
    uint32_t blocks_worn;       // out of generations: never handed out again
    uint32_t outstanding;       // handed out and not home: allocated - freed
    uint32_t outstanding_high;  // highest `outstanding` so far: the footprint's high-water mark
    uint32_t distinct_high;     // distinct blocks ever handed out
    uint32_t blocks_cached;     // held by nobody, cached for later requests (prefix.h); given up when the pool needs them
    uint64_t sharers;           // holders beyond the first, of all blocks (share.h)
};

// Any thread, at any time. Exact in owner context; elsewhere each figure is as of some moment, but blocks, blocks_free,
// blocks_worn, blocks_cached and outstanding always add up. `freed` never decreases; `allocated` may, by what a running drain
// brings home, so take rates from `freed`. Within on_error the chunk in question is half counted. A read costs the owner the
// transfer of two cache lines.
void locus_pool_stats(const struct locus_pool *pool, struct locus_pool_stats *out);

// Calls the function for each block that is out, in ascending order of index, so that an engine can report leaks when it shuts
// down; for a shared block once for each of its holders. The tag is the table's at the time of the grow; 0 for a block without a
// table, and always 0 in a pool without `tags`. The function may free this block and others; those that are home by then are
// skipped. It must not allocate.
// 0, with the number of calls in *count, or -ENOMEM. Owner context, or when the pool is at rest.
typedef void locus_block_out_fn(void *context, locus_block block, uint64_t tag);
int locus_pool_each_out(const struct locus_pool *pool, locus_block_out_fn *function, void *context, uint32_t *count);

// One sentence (no newline, no full stop) on why locus_pool_open() returned `error` for this config; looks at the host again. Cut
// to why_bytes > 0, always terminated. Any thread.
void locus_pool_why(const struct locus_pool_config *config, int error, char *why, size_t why_bytes);

#ifdef __cplusplus
}
#endif

#endif
