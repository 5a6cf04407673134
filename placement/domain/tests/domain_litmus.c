// SPDX-License-Identifier: Apache-2.0
//
// L1/L2 and L3/L2: what a lender leaves to a borrower. A loan goes to the lender through its desk (P1/T1), and nothing but the
// loan's state comes back. L1: the handles, and a plain word that the lender wrote into each of its blocks. L3: the link of a
// question that was cancelled, or of blocks that were returned, which the lender has read and the borrower posts again.
#include "locus/domain.h"
#include "locus/pool.h"
#include "placement/base/tests/litmus.h"
#include "topo/topo.h"

#include <errno.h>

#define BLOCKS 4u

static struct locus_domain *domain;
static struct locus_table *tables[2];
static _Atomic unsigned arrived;
static _Atomic bool over;

// Home 1: marks its blocks, puts them back, and lends them on request. Each drain is one chance for the borrower.
static void *lender_main(void *argument)
{
    (void)argument;
    struct locus_owner *owner = locus_domain_owner(domain, 1);
    litmus_expect(locus_owner_adopt(owner) == 0, "the role is free");
    litmus_expect(locus_domain_grow(domain, 1, tables[1], BLOCKS) == 0, "the home is whole");
    for (uint32_t i = 0; i < BLOCKS; i++)
        *(uint32_t *)locus_domain_address(domain, tables[1]->blocks[i]) = 1 + i;
    litmus_expect(locus_owner_truncate(owner, tables[1], 0) == 0, "the table is live");
    litmus_start(&arrived, 2);
    for (unsigned spin = 1; !atomic_load_explicit(&over, memory_order_relaxed); spin++) {
        locus_domain_drain(domain, 1);
        litmus_pause(spin);
    }
    locus_owner_leave(owner);
    return NULL;
}

static void borrow(void)
{
    for (unsigned spin = 1; tables[0]->count == 0; spin++) {
        int error = locus_domain_grow(domain, 0, tables[0], 2 * BLOCKS);
        litmus_expect(error == 0 || error == -EAGAIN, "the lender has enough");
        litmus_pause(spin);
    }
    for (uint32_t i = BLOCKS; i < 2 * BLOCKS; i++)
        litmus_expect(*(uint32_t *)locus_domain_address(domain, tables[0]->blocks[i]) == 1 + i - BLOCKS, "the lender's word");
}

// Questions put and cancelled at any moment: before, while, and after they are answered.
static void ask_and_withdraw(unsigned run)
{
    for (unsigned i = 0; i < 8; i++) {
        int error = locus_domain_grow(domain, 0, tables[0], 2 * BLOCKS + 1);
        litmus_expect(error == -EAGAIN || error == -ENOMEM, "that many there are not");
        for (unsigned spin = 1; spin <= (run * 37 + i * 11) % 256; spin++)
            litmus_pause(spin);
        locus_domain_cancel(domain, 0);
    }
}

static void *borrower_main(void *argument)
{
    unsigned run = *(unsigned *)argument;
    litmus_expect(locus_owner_adopt(locus_domain_owner(domain, 0)) == 0, "the role is free");
    litmus_start(&arrived, 2);
    ask_and_withdraw(run);
    borrow();
    locus_owner_leave(locus_domain_owner(domain, 0));
    atomic_store_explicit(&over, true, memory_order_relaxed);
    return NULL;
}

// By this thread alone, after both were joined.
static void bring_home(void)
{
    for (uint32_t i = 0; i < 2; i++)
        litmus_expect(locus_owner_adopt(locus_domain_owner(domain, i)) == 0, "the role is free");
    litmus_expect(locus_owner_retire(locus_domain_owner(domain, 0), tables[0]) == 0, "the table is live");
    litmus_expect(locus_table_push(locus_domain_route(domain, 0), tables[0]) == 0, "the table goes home");
    for (uint32_t i = 0; i < 2; i++) {
        struct locus_pool_stats stats;
        locus_domain_drain(domain, i);
        locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, i)), &stats);
        litmus_expect(stats.outstanding == 0, "every block is home");
        locus_owner_leave(locus_domain_owner(domain, i));
    }
}

// Whatever left the lender's pool was grown there in each run, lent, or too late.
static void expect_books_to_close(unsigned runs)
{
    struct locus_pool_stats pool;
    struct locus_domain_stats stats;
    locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, 1)), &pool);
    locus_domain_stats(domain, 1, &stats);
    litmus_expect(pool.allocated == (uint64_t)runs * BLOCKS + stats.blocks_lent + stats.blocks_late, "the books close");
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    int nodes[2] = {0};
    while (!locus_node_allowed(nodes[0]))
        nodes[0]++;
    nodes[1] = nodes[0];
    struct locus_domain_config config = {
        .size = sizeof config,
        .nodes = nodes,
        .nodes_count = 2,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .lanes = 1,
        .blocks = BLOCKS,
        .block_bytes = 64,
        .exhausted = LOCUS_EXHAUSTED_BORROW,
    };
    litmus_expect(locus_domain_open(&domain, &config) == 0, "a domain opens");
    for (unsigned i = 0; i < 2; i++) {
        tables[i] = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, 3 * BLOCKS));
        litmus_expect(tables[i] && locus_domain_table_init(domain, tables[i], 3 * BLOCKS, 1) == 0, "a table is laid out");
    }
    for (unsigned run = 0; run < runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&over, false, memory_order_relaxed);
        pthread_t lender = litmus_thread(lender_main, NULL), borrower = litmus_thread(borrower_main, &run);
        pthread_join(borrower, NULL);
        pthread_join(lender, NULL);
        bring_home();
    }
    expect_books_to_close(runs);
    locus_domain_close(domain);
    free(tables[0]);
    free(tables[1]);
    printf("%u runs\n", runs);
    return 0;
}
