// SPDX-License-Identifier: Apache-2.0
//
// D2: two owners drain the same table, and the last one empties it. By then the other one must have finished reading, and only
// the countdown of `pending` ensures that: the two owners share nothing else.
#include "locus/owner.h"
#include "placement/base/tests/litmus.h"

#define HOMES 2u
#define BLOCKS 4u // that the table holds of each home

struct side {
    struct locus_pool *pool;
    struct locus_owner *owner;
    unsigned drained, reclaimed;
};

static struct side sides[HOMES];
static struct locus_route route;
static struct locus_table *table;
static _Atomic unsigned arrived;

static void *owner_main(void *argument)
{
    struct side *side = argument;
    litmus_expect(locus_owner_adopt(side->owner) == 0, "the role is free");
    litmus_start(&arrived, HOMES);
    side->drained = side->reclaimed = 0;
    for (unsigned spin = 1; side->drained == 0; spin++) {
        side->drained = locus_owner_drain(side->owner);
        litmus_pause(spin);
    }
    while (locus_owner_next_reclaimed(side->owner))
        side->reclaimed++;
    locus_owner_leave(side->owner);
    return NULL;
}

static void side_open(struct side *side, uint32_t home)
{
    struct locus_pool_config pool = {
        .size = sizeof pool, .home = home, .blocks = BLOCKS, .block_bytes = 64, .node = LOCUS_NODE_ANY};
    litmus_expect(locus_pool_open(&side->pool, &pool) == 0, "a pool opens");
    struct locus_owner_config owner = {.size = sizeof owner, .pool = side->pool, .lanes = 1};
    litmus_expect(locus_owner_open(&side->owner, &owner) == 0, "an owner opens");
    litmus_expect(locus_route_add(&route, side->owner, 0) == 0, "the route takes the owner");
}

static void table_send(void)
{
    for (unsigned i = 0; i < HOMES; i++) {
        litmus_expect(locus_owner_adopt(sides[i].owner) == 0, "the role is free");
        litmus_expect(locus_owner_grow(sides[i].owner, table, BLOCKS) == 0, "every block is home");
        if (i == HOMES - 1)
            litmus_expect(locus_owner_retire(sides[i].owner, table) == 0, "the table is live");
        locus_owner_leave(sides[i].owner);
    }
    litmus_expect(locus_table_push(&route, table) == 0, "the table goes home");
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (uint32_t i = 0; i < HOMES; i++)
        side_open(&sides[i], i);
    table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(HOMES, HOMES * BLOCKS));
    litmus_expect(table && locus_table_init(table, HOMES, HOMES * BLOCKS, 1) == 0, "a table is laid out");
    for (unsigned run = 0; run < runs; run++) {
        pthread_t threads[HOMES];
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        table_send();
        for (unsigned i = 0; i < HOMES; i++)
            threads[i] = litmus_thread(owner_main, &sides[i]);
        for (unsigned i = 0; i < HOMES; i++)
            pthread_join(threads[i], NULL);
        litmus_expect(sides[0].drained == BLOCKS && sides[1].drained == BLOCKS, "each home frees its own");
        litmus_expect(sides[0].reclaimed + sides[1].reclaimed == 1, "one of them hands the table back");
    }
    for (uint32_t i = 0; i < HOMES; i++) {
        locus_owner_close(sides[i].owner);
        locus_pool_close(sides[i].pool);
    }
    free(table);
    printf("%u runs\n", runs);
    return 0;
}
