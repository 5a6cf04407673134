// SPDX-License-Identifier: Apache-2.0
//
// Counters of a pool and of its owner, read by a thread without the role while the owner works. Nothing orders the two, so every
// word that the reader reads must be atomic on both sides, or ThreadSanitizer reports a race. And whenever each counter was read,
// the figures must be possible.
#include "locus/owner.h"
#include "locus/pool.h"
#include "placement/base/tests/litmus.h"

#include <stdbool.h>

#define BLOCKS 8u
#define LOOKS 20u

static struct locus_pool *pool;
static struct locus_owner *owner;
static struct locus_route route;
static struct locus_table *table;
static _Atomic unsigned arrived;
static _Atomic bool looked;

static void look(uint64_t *freed)
{
    struct locus_pool_stats stats;
    struct locus_owner_stats role;
    locus_pool_stats(pool, &stats);
    locus_owner_stats(owner, &role);
    litmus_expect(stats.blocks_free + stats.outstanding + stats.blocks_worn == BLOCKS, "each block is somewhere");
    litmus_expect(stats.allocated >= stats.freed && stats.freed >= *freed, "what was freed had been allocated");
    litmus_expect(stats.outstanding_high <= BLOCKS && stats.distinct_high <= BLOCKS, "no peak above the pool");
    litmus_expect(role.blocks_in_flight <= BLOCKS, "no more in flight than there are");
    *freed = stats.freed;
}

static void *reader_main(void *argument)
{
    uint64_t freed = 0;
    (void)argument;
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < LOOKS; i++)
        look(&freed);
    atomic_store_explicit(&looked, true, memory_order_relaxed);
    return NULL;
}

// Single blocks and several, with and without a table; a refused handle; a wait that does not help.
static void work(void)
{
    locus_block block = locus_pool_alloc(pool);
    locus_pool_free_bulk(pool, 1, &block, 0);
    locus_pool_free_bulk(pool, 1, &block, 0);
    litmus_expect(locus_owner_grow(owner, table, 3) == 0 && locus_owner_grow(owner, table, 1) == 0, "the pool is idle");
    litmus_expect(locus_owner_retire(owner, table) == 0, "the table is live");
    litmus_expect(locus_owner_grow(owner, table, BLOCKS) < 0, "it was retired");
    litmus_expect(locus_table_push(&route, table) == 0 && locus_owner_drain(owner) == 4, "and comes home");
    litmus_expect(locus_owner_next_reclaimed(owner) == table, "in one piece");
}

static void run_once(void)
{
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&looked, false, memory_order_relaxed);
    pthread_t reader = litmus_thread(reader_main, NULL);
    litmus_start(&arrived, 2);
    while (!atomic_load_explicit(&looked, memory_order_relaxed))
        work();
    pthread_join(reader, NULL);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    struct locus_pool_config pool_config = {.size = sizeof pool_config,
                                            .blocks = BLOCKS,
                                            .block_bytes = 64,
                                            .node = LOCUS_NODE_ANY};
    litmus_expect(locus_pool_open(&pool, &pool_config) == 0, "a pool opens");
    struct locus_owner_config config = {.size = sizeof config, .pool = pool, .lanes = 1};
    litmus_expect(locus_owner_open(&owner, &config) == 0 && locus_owner_adopt(owner) == 0, "an owner opens");
    litmus_expect(locus_route_add(&route, owner, 0) == 0, "a route leads there");
    table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, BLOCKS));
    litmus_expect(table && locus_table_init(table, 1, BLOCKS, 1) == 0, "a table is laid out");
    for (unsigned run = 0; run < runs; run++)
        run_once();
    locus_owner_leave(owner);
    locus_owner_close(owner);
    locus_pool_close(pool);
    free(table);
    printf("%u runs\n", runs);
    return 0;
}
