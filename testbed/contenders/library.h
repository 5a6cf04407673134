// SPDX-License-Identifier: Apache-2.0
//
// library: this library as an engine would use it, for contenders that change one thing about it. The owner thread grows tables
// and drains; each worker pushes into a lane of its own. Unless a contender says otherwise, the pool is one mapped, populated
// region with transparent huge pages and LIFO reuse.
//
//     locus.c          as it is, with back-pressure, and with mailboxes in place of rings
//     locus_inline.c   its usual cases inlined into the engine
//     locus_pools.c    another pool: reuse, backing, pages, colour
//     locus_order.c    another order of its blocks in memory
//     locus_drains.c   other times to drain, or a cap
//     carrier.h        another way home than the mailbox
//
// The timed part is inline, so that every contender's driver calls the library equally directly.
#ifndef TB_LIBRARY_H
#define TB_LIBRARY_H

#include "locus/locus.h"
#include "testbed/measure/driver.h"

struct tb_library {
    struct locus_owner *owner;
    struct locus_pool *pool;
    struct locus_route *routes; // one per worker
    bool shared_lanes;          // nothing is promised: each worker's lane is a mailbox. Set it before tb_library_open_in()
};

struct locus_pool_config tb_library_pool(const struct tb_setup *setup); // the usual pool, for a contender to change
int tb_library_open_usual(const struct tb_setup *setup, void **out);
int tb_library_open_coloured(const struct tb_setup *setup, void **out); // a cache line between two blocks
int tb_library_open(const struct tb_setup *setup, const struct locus_pool_config *pool, bool backpressure, void **out);
// The same in zeroed memory of the caller's that tb_library_close() shall free: what begins with a tb_library, say.
int tb_library_open_in(struct tb_library *library, const struct tb_setup *setup, const struct locus_pool_config *pool,
                       bool backpressure);
void tb_library_close(void *context);
uint64_t tb_library_freed(void *context);
uint64_t tb_library_waits(void *context);
void tb_library_audit(void *context, struct tb_audit *out);
void tb_library_audit_pool(const struct locus_pool *of, struct tb_audit *out); // the pool's part

static inline int tb_library_take(void *context, struct locus_table *table, uint32_t count)
{
    return locus_owner_grow(((struct tb_library *)context)->owner, table, count);
}

static inline locus_block tb_library_alloc(void *context)
{
    return locus_pool_alloc(((struct tb_library *)context)->pool);
}

static inline void tb_library_release(void *context, locus_block blocks[], uint32_t count)
{
    locus_pool_free_bulk(((struct tb_library *)context)->pool, count, blocks, 0);
}

static inline void *tb_library_address(void *context, locus_block block)
{
    return locus_pool_address(((struct tb_library *)context)->pool, block);
}

static inline int tb_library_retire(void *context, struct locus_table *table)
{
    return locus_owner_retire(((struct tb_library *)context)->owner, table);
}

static inline void tb_library_finish(void *context, uint32_t worker, struct locus_table *table)
{
    locus_table_push(&((struct tb_library *)context)->routes[worker], table);
}

static inline void tb_library_drain(void *context)
{
    struct locus_owner *owner = ((struct tb_library *)context)->owner;
    locus_owner_drain(owner);
    while (locus_owner_next_reclaimed(owner))
        ; // the driver knows its tables by slot
}

int tb_library_give_back(void *context); // of a pool that is one region

// step_blocks: NULL, or called between two steps instead of draining.
#define TB_LIBRARY_OPS(name, open_pool, take_blocks, step_blocks)                                                                  \
    TB_LIBRARY_OPS_OF(name, open_pool, take_blocks, step_blocks, tb_library_give_back, tb_library_freed, tb_library_audit)
#define TB_LIBRARY_OPS_OF(name, open_pool, take_blocks, step_blocks, give_pages_back, freed_blocks, audit_blocks)                  \
    TB_LIBRARY_OPS_BY(name, tb_library, open_pool, take_blocks, step_blocks, give_pages_back, freed_blocks, audit_blocks)
// by: whose calls the others are: by_alloc() and so on.
#define TB_LIBRARY_OPS_BY(name, by, open_pool, take_blocks, step_blocks, give_pages_back, freed_blocks, audit_blocks)              \
    static const struct tb_ops name = {                                                                                            \
        .open = open_pool,                                                                                                         \
        .close = tb_library_close,                                                                                                 \
        .take = take_blocks,                                                                                                       \
        .alloc = by##_alloc,                                                                                                       \
        .release = tb_library_release,                                                                                             \
        .address = by##_address,                                                                                                   \
        .retire = tb_library_retire,                                                                                               \
        .finish = by##_finish,                                                                                                     \
        .drain = by##_drain,                                                                                                       \
        .step = step_blocks,                                                                                                       \
        .give_back = give_pages_back,                                                                                              \
        .freed = freed_blocks,                                                                                                     \
        .waits = tb_library_waits,                                                                                                 \
        .audit = audit_blocks,                                                                                                     \
    };                                                                                                                             \
    TB_DRIVER(name)

#endif
