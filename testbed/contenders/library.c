// SPDX-License-Identifier: Apache-2.0
//
// library: the untimed part of the contenders that use the library (library.h): opening, closing and counting.

#include "testbed/contenders/library.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

// Long enough for any live worker; a dead one makes the run invalid instead of endless.
#define WAIT_NS UINT64_C(2000000000)

struct locus_pool_config tb_library_pool(const struct tb_setup *setup)
{
    return (struct locus_pool_config){
        .size = sizeof(struct locus_pool_config),
        .blocks = setup->pool_blocks,
        .block_bytes = setup->block_bytes,
        .backing = LOCUS_BACKING_MAPPED,
        .reuse = LOCUS_REUSE_LIFO,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
        .populate = true,
    };
}

void tb_library_close(void *context)
{
    struct tb_library *library = context;
    if (library->owner)
        locus_owner_leave(library->owner);
    locus_owner_close(library->owner);
    locus_pool_close(library->pool);
    free(library->routes);
    free(library);
}

int tb_library_open(const struct tb_setup *setup, const struct locus_pool_config *pool, bool backpressure, void **out)
{
    *out = calloc(1, sizeof(struct tb_library));
    return *out ? tb_library_open_in(*out, setup, pool, backpressure) : -ENOMEM;
}

int tb_library_open_usual(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    return tb_library_open(setup, &pool, false, out);
}

int tb_library_open_coloured(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.stride_bytes = setup->block_bytes + LOCUS_CACHE_LINE;
    return tb_library_open(setup, &pool, false, out);
}

int tb_library_open_in(struct tb_library *library, const struct tb_setup *setup, const struct locus_pool_config *pool,
                       bool backpressure)
{
    library->routes = calloc(setup->workers, sizeof *library->routes);
    int error = library->routes ? locus_pool_open(&library->pool, pool) : -ENOMEM;
    if (error)
        return error;
    struct locus_owner_config owner = {
        .size = sizeof owner,
        .pool = library->pool,
        .lanes = setup->workers,
        .backpressure = backpressure,
        .wait_ns = WAIT_NS,
    };
    error = locus_owner_open(&library->owner, &owner);
    if (error)
        return error;
    for (uint32_t i = 0; i < setup->workers && !error; i++)
        error = (library->shared_lanes ? locus_route_add : locus_route_add_exclusive)(&library->routes[i], library->owner, i);
    return error ? error : locus_owner_adopt(library->owner);
}

int tb_library_give_back(void *context)
{
    const struct locus_region *region = locus_pool_region(((struct tb_library *)context)->pool);
    return madvise(locus_region_base(region), locus_region_bytes(region), MADV_DONTNEED) ? -errno : 0;
}

uint64_t tb_library_freed(void *context)
{
    struct locus_pool_stats stats;
    locus_pool_stats(((struct tb_library *)context)->pool, &stats);
    return stats.freed;
}

uint64_t tb_library_waits(void *context)
{
    struct locus_owner_stats stats;
    locus_owner_stats(((struct tb_library *)context)->owner, &stats);
    return stats.waits;
}

void tb_library_audit_pool(const struct locus_pool *of, struct tb_audit *out)
{
    struct locus_pool_stats pool;
    locus_pool_stats(of, &pool);
    out->allocated = pool.allocated;
    out->freed = pool.freed;
    for (int i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        out->refused += pool.refused[i];
    out->not_home = pool.blocks - pool.blocks_free - pool.blocks_worn;
}

void tb_library_audit(void *context, struct tb_audit *out)
{
    struct tb_library *library = context;
    struct locus_owner_stats owner;
    tb_library_audit_pool(library->pool, out);
    locus_owner_stats(library->owner, &owner);
    out->drained = owner.tables_drained;
    out->waits = owner.waits;
    out->wait_ns = owner.wait_ns;
}
