// SPDX-License-Identifier: Apache-2.0
//
// shared: what a pool with shared and kept blocks offers to the rooms above, and what pool.c and pools/shared.c need of each
// other. Not installed. The theory is in pools/shared.c.
#ifndef LOCUS_POOLS_SHARED_H
#define LOCUS_POOLS_SHARED_H

#include "placement/blocks/pool_internal.h"

#define POOL_PUBLISHED (1u << 31) // the prefix cache knows the block's contents: nobody may write it
#define POOL_KEPT (1u << 30)      // and nobody holds it. Its handle keeps its generation
#define POOL_KEPT_NOW (1u << 29)  // by the free that is running
#define POOL_BY_TAG (1u << 28)    // with tags: others have let this handle go, so its last holder's tag is compared as well
#define POOL_SHARERS (POOL_BY_TAG - 1)
#define POOL_NO_HOLDER UINT32_MAX

struct pool_holder {
    uint64_t tag;
    uint32_t next;              // of the same block, or of the free ones; POOL_NO_HOLDER: none
};

// The prefix cache, which is a layer above.
struct pool_keeper {
    void *context;
    void (*keep)(void *context, locus_block block); // the last holder of a published block has left
    void (*give)(void *context, uint32_t count);    // pool_evict() so many kept blocks, or all
};

// pre: the pool is shared. One holder more for each block: 0, -ENOMEM (for its tag), -EOVERFLOW (2^28 - 1 sharers), or what
// locus_pool_check() says of one of them. Then nothing changes.
int pool_share(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag);

// Undoes it, as if it had not been. pre: no other call has changed the pool since.
void pool_unshare(struct locus_pool *pool, uint32_t count, const locus_block blocks[]);

// One holder of the block less, who gets a free block instead. NONE, and nothing has changed: that is not so simple (nobody else
// holds it, there are tags, or a fresh or no block would leave).
locus_block pool_replace_fast(struct locus_pool *pool, locus_block block);

// locus_pool_free_bulk() of a shared pool: one holder less for each.
uint32_t pool_free_shared(struct locus_pool *pool, uint32_t count, const locus_block blocks[], uint64_t tag);

// Kept blocks become free until at least `count` are. False: there are too few.
bool pool_reclaim(struct locus_pool *pool, uint32_t count);

void pool_publish(struct locus_pool *pool, locus_block block);             // pre: live
void pool_unpublish(struct locus_pool *pool, locus_block block);           // pre: published
void pool_revive(struct locus_pool *pool, locus_block block, uint64_t tag); // pre: kept; the caller holds it now
void pool_evict(struct locus_pool *pool, locus_block block);               // pre: kept; it is free and not published any more

// In pool.c, for pools/shared.c.
void pool_refuse(struct locus_pool *pool, enum locus_free_error error, locus_block block, uint64_t tag);
enum locus_free_error pool_error_kind(const struct locus_pool *pool, locus_block block);
void pool_put_home(struct locus_pool *pool, locus_block block); // pre: live, and held by nobody any more

static inline bool pool_is_kept(const struct locus_pool *pool, uint32_t index)
{
    return pool->sharing && pool->sharing[index] & POOL_KEPT;
}

#endif
