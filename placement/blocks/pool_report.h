// SPDX-License-Identifier: Apache-2.0
//
// pool_report: what a pool reports: statistics while it works, the blocks that are out, and why it could not be opened.
#ifndef LOCUS_POOL_REPORT_H
#define LOCUS_POOL_REPORT_H

#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_pool_stats {
    uint64_t allocated;         // blocks handed out since open
    uint64_t freed;             // blocks that came home since open
    uint64_t refused[LOCUS_FREE_ERRORS_COUNT];
    uint32_t blocks;            // size of the pool
    uint32_t blocks_free;       // ready to be handed out
    uint32_t blocks_worn;    // out of generations: never handed out again
    uint32_t outstanding;       // handed out and not home: allocated - freed
    uint32_t outstanding_high;  // highest `outstanding` so far: the footprint's high-water mark
    uint32_t distinct_high;     // distinct blocks ever handed out
    uint32_t blocks_kept;       // held by nobody, kept for later requests (prefix.h); given up when the pool needs them
    uint64_t sharers;           // holders beyond the first, of all blocks (share.h)
};

// Any thread, at any time. Exact in owner context; elsewhere each figure is as of some moment, but blocks, blocks_free,
// blocks_worn, blocks_kept and outstanding always add up. `freed` never decreases; `allocated` may, by what a running drain brings
// home, so take rates from `freed`. Within on_error (pool.h) the chunk in question is half counted. A read costs the owner the
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
