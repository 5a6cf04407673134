// SPDX-License-Identifier: Apache-2.0
//
// O1/O2: the next holder of the role finds the pool as the last one left it. Pool, owner and mailboxes are plain memory; the second
// holder tries to adopt until it may, and then goes on where the first one stopped.
#include "locus/owner.h"
#include "locus/pool.h"
#include "placement/base/tests/litmus.h"

#define BLOCKS 4u

static struct locus_pool *pool;
static struct locus_owner *owner;
static struct locus_table *tables[2];
static _Atomic unsigned arrived;

static void adopt_when_free(void)
{
    for (unsigned spin = 1; locus_owner_adopt(owner); spin++)
        litmus_pause(spin);
}

static void *second_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    adopt_when_free();
    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    litmus_expect(stats.outstanding == 1, "the first holder's block is out");
    litmus_expect(locus_owner_grow(owner, tables[1], BLOCKS - 1) == 0, "the second holder gets the others");
    litmus_expect(locus_owner_truncate(owner, tables[1], 0) == 0, "and gives them back");
    locus_owner_leave(owner);
    return NULL;
}

// Takes the role back from the second holder, too, before it is joined. In each run BLOCKS blocks are taken, so the count shows
// whether the second holder has been there.
static bool finish(void)
{
    struct locus_pool_stats stats;
    adopt_when_free();
    locus_pool_stats(pool, &stats);
    bool done = stats.allocated % BLOCKS == 0;
    if (done)
        litmus_expect(locus_owner_truncate(owner, tables[0], 0) == 0, "the first holder's block goes back");
    locus_owner_leave(owner);
    return done;
}

static void run_once(void)
{
    litmus_expect(locus_owner_adopt(owner) == 0, "the role is free");
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    pthread_t second = litmus_thread(second_main, NULL);
    litmus_start(&arrived, 2);
    litmus_expect(locus_owner_grow(owner, tables[0], 1) == 0, "the pool is idle");
    locus_owner_leave(owner);
    while (!finish())
        sched_yield();
    pthread_join(second, NULL);
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
    litmus_expect(locus_owner_open(&owner, &config) == 0, "an owner opens");
    for (unsigned i = 0; i < 2; i++) {
        tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, BLOCKS));
        litmus_expect(tables[i] && locus_table_init(tables[i], 1, BLOCKS, 1) == 0, "a table is laid out");
    }
    for (unsigned run = 0; run < runs; run++)
        run_once();
    locus_owner_close(owner);
    locus_pool_close(pool);
    free(tables[0]);
    free(tables[1]);
    printf("%u runs\n", runs);
    return 0;
}
