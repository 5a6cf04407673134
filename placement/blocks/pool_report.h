// SPDX-License-Identifier: Apache-2.0
//
// pool_report: what a pool says of itself. Statistics while it works, the blocks that are out, and why it could not be opened.
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
    uint32_t blocks_worn;    // worn out: used as often as there are generations; never handed out again
    uint32_t outstanding;       // handed out and not home: allocated - freed
    uint32_t outstanding_high;  // running maximum of outstanding: the footprint's high-water
    uint32_t distinct_high;     // distinct blocks ever handed out
};

// Any thread, at any time: exact in owner context, elsewhere each figure as of some moment, and blocks, blocks_free, blocks_worn
// and outstanding such that they add up. `freed` never decreases; `allocated` may, by what a drain that is under way brings home,
// so a rate is taken of `freed`. In a call of on_error (pool.h) the chunk that it is about is half counted. Reading costs the owner
// the transfer of two cache lines.
void locus_pool_stats(const struct locus_pool *pool, struct locus_pool_stats *out);

// Calls the function for each block that is out, ascending by index: what an engine that shuts down reports as leaked. The tag is
// that of the table when it grew; 0 for a block without a table, and always 0 in a pool that does not keep `tags`. The function
// may free blocks, also others than its own: what is home by then is left out. It may not allocate.
// 0 and how many calls there were, or -ENOMEM. Owner context, or when the pool is at rest.
typedef void locus_block_out_fn(void *context, locus_block block, uint64_t tag);
int locus_pool_each_out(const struct locus_pool *pool, locus_block_out_fn *function, void *context, uint32_t *count);

// One sentence (no newline, no final stop) on why locus_pool_open() answered `error` for this config; looks at the host anew. Cut
// to why_bytes > 0, always terminated. Any thread.
void locus_pool_why(const struct locus_pool_config *config, int error, char *why, size_t why_bytes);

#ifdef __cplusplus
}
#endif

#endif
