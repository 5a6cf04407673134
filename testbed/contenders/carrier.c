// SPDX-License-Identifier: Apache-2.0
//
// carrier: the untimed part of the contenders with another way home (carrier.h): opening, closing, waiting and counting.

#include "testbed/contenders/carrier.h"

#include <stdlib.h>
#include <string.h>

#include "testbed/contenders/waiting.h"

void tb_carrier_close(void *context)
{
    struct tb_carrier *carrier = context;
    carrier->calls->close(carrier->pool);
    free(carrier->boxes);
    free(carrier);
}

int tb_carrier_open_with(const struct tb_carrier_pool *calls, const struct tb_setup *setup, size_t box_bytes, void **out)
{
    struct tb_carrier *carrier = aligned_alloc(LOCUS_CACHE_LINE, sizeof *carrier);
    if (!carrier)
        return -ENOMEM;
    *out = carrier;
    *carrier = (struct tb_carrier){.box_bytes = box_bytes, .boxes_count = setup->workers, .calls = calls};
    carrier->boxes = aligned_alloc(LOCUS_CACHE_LINE, setup->workers * box_bytes);
    if (!carrier->boxes)
        return -ENOMEM;
    memset(carrier->boxes, 0, setup->workers * box_bytes);
    return calls->open(setup, &carrier->pool);
}

static int library_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config config = tb_library_pool(setup);
    struct locus_pool *pool = NULL;
    int error = locus_pool_open(&pool, &config);
    *out = pool;
    return error;
}

static void library_close(void *pool)
{
    locus_pool_close(pool);
}

static void library_stats(const void *pool, struct locus_pool_stats *out)
{
    locus_pool_stats(pool, out);
}

static void library_audit(const void *pool, struct tb_audit *out)
{
    tb_library_audit_pool(pool, out);
}

const struct tb_carrier_pool tb_carrier_library = {library_open, library_close, library_stats, library_audit};

int tb_carrier_open(const struct tb_setup *setup, size_t box_bytes, void **out)
{
    return tb_carrier_open_with(&tb_carrier_library, setup, box_bytes, out);
}

static void look(void *context, struct tb_wait *wait)
{
    struct tb_carrier *carrier = context;
    struct locus_pool_stats pool;
    carrier->calls->stats(carrier->pool, &pool);
    wait->free = pool.blocks_free;
    wait->in_flight = carrier->in_flight;
}

__attribute__((cold)) int tb_carrier_wait(struct tb_carrier *carrier, uint32_t count, void (*drain)(void *))
{
    carrier->waits++;
    return tb_wait_for(&(struct tb_wait){.drain = drain, .drain_context = carrier, .look = look, .look_context = carrier}, count);
}

uint64_t tb_carrier_freed(void *context)
{
    struct tb_carrier *carrier = context;
    struct locus_pool_stats stats;
    carrier->calls->stats(carrier->pool, &stats);
    return stats.freed;
}

uint64_t tb_carrier_waits(void *context)
{
    return ((struct tb_carrier *)context)->waits;
}

void tb_carrier_audit(void *context, struct tb_audit *out)
{
    struct tb_carrier *carrier = context;
    carrier->calls->audit(carrier->pool, out);
    out->drained = carrier->drained;
    out->waits = carrier->waits;
}
