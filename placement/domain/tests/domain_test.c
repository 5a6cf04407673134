// SPDX-License-Identifier: Apache-2.0
//
// domain: homes on nodes, and what an exhausted home returns if it does not borrow.
#include "locus/region.h"
#include "placement/domain/tests/domain_test.h"

TestSuite(domain, .timeout = 60);

// --- homes ---------------------------------------------------------------------------------------------------------------------

Test(domain, without_a_list_every_node_with_memory_is_a_home)
{ // but a GPU's: domain_nodes_test.c
    struct locus_domain_config config = {
        .size = sizeof config, .lanes = 1, .blocks = BLOCKS, .block_bytes = 64, .policy = LOCUS_POLICY_FIRST_TOUCH};
    struct locus_domain *domain = opened(&config);
    uint32_t homes = 0, home;
    for (int node = 0; node < 1024; node++) {
        int error = locus_domain_home_of_node(domain, node, &home);
        cr_expect_eq(error, locus_node_allowed(node) ? 0 : -ENODEV, "node %d", node);
        if (error)
            continue;
        cr_expect_eq(home, homes++);
        cr_expect_eq(locus_domain_node(domain, home), node);
    }
    cr_expect_eq(homes, locus_domain_homes(domain));
    closed(domain);
}

Test(domain, a_node_listed_three_times_is_three_homes)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    struct locus_domain *domain = opened(&config);
    uint32_t home = 7;
    cr_expect_eq(locus_domain_homes(domain), HOMES);
    cr_expect_eq(locus_domain_home_of_node(domain, some_node(), &home), 0);
    cr_expect_eq(home, 0);
    for (uint32_t i = 0; i < HOMES; i++)
        cr_expect_eq(locus_pool_home(locus_owner_pool(locus_domain_owner(domain, i))), i);
    closed(domain);
}

Test(domain, open_refuses_what_makes_no_sense)
{
    struct locus_domain *domain;
    int absent = 1023, many[LOCUS_HOMES_MAX + 1];
    for (unsigned i = 0; i <= LOCUS_HOMES_MAX; i++)
        many[i] = some_node();
    struct locus_domain_config good = usual(LOCUS_EXHAUSTED_BORROW), bad[6];
    for (unsigned i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].lanes = 0;
    bad[1].blocks = 0;
    bad[2].spare = BLOCKS + 1;
    bad[3].nodes = NULL;
    bad[4].exhausted = (enum locus_exhausted)3;
    bad[5].nodes = &absent;
    bad[5].nodes_count = 1;
    const char *const words[] = {"lanes", "blocks is 0", "spare", "nodes", "exhausted", "node 1023"};
    char why[256];
    for (unsigned i = 0; i < 6; i++) {
        cr_expect_eq(locus_domain_open(&domain, &bad[i]), -EINVAL, "config %u", i);
        locus_domain_why(&bad[i], -EINVAL, why, sizeof why);
        cr_expect(strstr(why, words[i]), "config %u: %s", i, why);
    }
    good.nodes = many;
    good.nodes_count = LOCUS_HOMES_MAX + 1;
    cr_expect_eq(locus_domain_open(&domain, &good), -E2BIG);
    locus_domain_why(&good, -E2BIG, why, sizeof why);
    cr_expect(strstr(why, "64 nodes"), "%s", why);
    good.size = 3;
    cr_expect_eq(locus_domain_open(&domain, &good), -EINVAL);
    locus_domain_why(&good, -EINVAL, why, sizeof why);
    cr_expect(strstr(why, "size"), "%s", why);
    locus_domain_close(NULL);
}

Test(domain, pool_and_mailboxes_lie_on_the_homes_node)
{
    struct locus_domain_config config = {
        .size = sizeof config, .lanes = 1, .blocks = BLOCKS, .block_bytes = 4096, .policy = LOCUS_POLICY_BIND};
    struct locus_domain *domain;
    struct locus_placement placement;
    config.populate = true;
    int error = locus_domain_open(&domain, &config);
    if (error == -EPERM || error == -ENOSYS)
        cr_skip_test("mbind is not available here");
    cr_assert_eq(error, 0);
    for (uint32_t i = 0; i < locus_domain_homes(domain); i++) {
        const struct locus_region *regions[] = {locus_pool_region(domain->homes[i]->pool), domain->homes[i]->region};
        for (unsigned r = 0; r < 2; r++) {
            cr_assert_eq(locus_region_verify(regions[r], &placement), 0);
            cr_expect_eq(placement.granted.node, locus_domain_node(domain, i));
            cr_expect_eq(placement.verified.pages_elsewhere, 0);
            cr_expect_eq(placement.verified.pages_present, placement.verified.pages);
        }
    }
    locus_domain_close(domain);
}

Test(domain, each_worker_has_a_route_to_every_home)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    struct locus_domain *domain = opened(&config);
    const struct locus_route *first = locus_domain_route(domain, 0), *second = locus_domain_route(domain, 1);
    cr_assert_eq(first->homes, 7);
    cr_assert_eq(second->homes, 7);
    for (uint32_t i = 0; i < HOMES; i++)
        cr_expect_neq(first->home[i], second->home[i]);
    cr_expect_null(locus_domain_route(domain, 2));
    closed(domain);
}

Test(domain, a_handle_finds_its_memory_whatever_its_home)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    struct locus_domain *domain = opened(&config);
    for (uint32_t i = 0; i < HOMES; i++) {
        struct locus_pool *pool = locus_owner_pool(locus_domain_owner(domain, i));
        locus_block block = locus_pool_alloc(pool);
        cr_expect_eq(locus_domain_address(domain, block), locus_pool_address(pool, block));
        locus_pool_free_bulk(pool, 1, &block, 0);
    }
    closed(domain);
}

Test(domain, of_equally_near_homes_the_next_one_is_asked_first)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    for (uint32_t i = 0; i < HOMES; i++) {
        cr_expect_eq(domain->homes[i]->lenders[0], (i + 1) % HOMES);
        cr_expect_eq(domain->homes[i]->lenders[1], (i + 2) % HOMES);
    }
    closed(domain);
}

Test(domain, nearer_homes_are_asked_first)
{
    struct locus_domain_config config = {
        .size = sizeof config, .lanes = 1, .blocks = 1, .block_bytes = 64, .policy = LOCUS_POLICY_FIRST_TOUCH};
    struct locus_topo *topo;
    cr_assert_eq(locus_topo_open(&topo, NULL, NULL, 0), 0);
    struct locus_domain *domain = opened(&config);
    uint32_t homes = locus_domain_homes(domain);
    for (uint32_t home = 0; home < homes; home++)
        for (uint32_t i = 0; i + 2 < homes; i++) {
            const uint8_t *lenders = domain->homes[home]->lenders;
            cr_expect_leq(locus_topo_distance(topo, domain->nodes[home], domain->nodes[lenders[i]]),
                          locus_topo_distance(topo, domain->nodes[home], domain->nodes[lenders[i + 1]]));
        }
    closed(domain);
    locus_topo_close(topo);
    if (homes < 3)
        cr_skip_test("needs >= 3 NUMA nodes");
}

// --- exhaustion ----------------------------------------------------------------------------------------------------------------

Test(domain, a_home_that_refuses_asks_nobody_and_does_not_wait)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    config.wait_ns = UINT64_C(60000000000);
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, first, BLOCKS), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -ENOMEM);
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 0), first), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -EAGAIN);
    cr_expect_eq(stats_of(domain, 0).asked + stats_of(domain, 0).waits, 0);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), first), 0);
    closed(domain);
    free(first);
    free(second);
}

Test(domain, a_home_that_waits_gets_what_is_in_flight_and_asks_nobody)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_WAIT);
    config.wait_ns = 20000000;
    struct locus_domain *domain = opened(&config);
    struct locus_table *first = table_new(domain), *second = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, first, BLOCKS), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -ENOMEM);
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 0), first), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), -ETIMEDOUT);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), first), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, second, 1), 0);
    cr_expect_eq(stats_of(domain, 0).asked, 0);
    cr_expect_geq(stats_of(domain, 0).wait_ns, config.wait_ns);
    send(domain, 0, second);
    closed(domain);
    free(first);
    free(second);
}

Test(domain, grow_refuses_tables_as_the_owner_does)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    for (int avoid = 0; avoid < 2; avoid++) {
        cr_assert_eq(locus_domain_avoid(domain, 0, avoid), 0);
        cr_expect_eq(locus_domain_grow(domain, 0, table, CAPACITY + 1), -ENOSPC);
        table->state = LOCUS_TABLE_RETIRED;
        cr_expect_eq(locus_domain_grow(domain, 0, table, 1), -EINVAL);
        table->state = LOCUS_TABLE_LIVE;
    }
    cr_expect_eq(stats_of(domain, 0).asked, 0);
    closed(domain);
    free(table);
}

// --- roles and homes that are not the caller's -----------------------------------------------------------------------------------

Test(domain, a_home_that_there_is_not_is_refused_everywhere)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    struct locus_domain_stats stats = {.asked = 9};
    const uint32_t wrong[] = {HOMES, HOMES + 1, LOCUS_HOMES_MAX, UINT32_MAX};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(locus_domain_node(domain, wrong[i]), LOCUS_NODE_ANY);
        cr_expect_null(locus_domain_owner(domain, wrong[i]));
        cr_expect_eq(locus_domain_grow(domain, wrong[i], table, 1), -EINVAL);
        cr_expect_eq(locus_domain_cancel(domain, wrong[i]), -EINVAL);
        cr_expect_eq(locus_domain_avoid(domain, wrong[i], true), -EINVAL);
        cr_expect_eq(locus_domain_drain(domain, wrong[i]), 0);
        cr_expect_null(locus_domain_next_reclaimed(domain, wrong[i]));
        locus_domain_stats(domain, wrong[i], &stats);
        cr_expect_eq(stats.asked, 0);
    }
    closed(domain);
    free(table);
}

// The first home lacks a block and has asked the second, which would lend it.
Test(domain, without_the_role_of_a_home_nothing_of_it_changes)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    struct locus_domain *domain = opened(&config);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EAGAIN);
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(locus_owner_leave(locus_domain_owner(domain, i)), 0);
    for (int avoid = 0; avoid < 2; avoid++) {
        cr_assert_eq(locus_domain_avoid(domain, 0, avoid), 0);
        cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), -EPERM);
    }
    cr_assert_eq(locus_domain_avoid(domain, 0, false), 0);
    cr_expect_eq(locus_domain_cancel(domain, 0), -EPERM);
    cr_expect_eq(locus_domain_drain(domain, 1), 0);
    cr_expect_null(locus_domain_next_reclaimed(domain, 0));
    cr_expect_eq(stats_of(domain, 0).cancelled, 0);
    cr_expect_eq(stats_of(domain, 1).blocks_lent, 0, "the question was not served");
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(locus_owner_adopt(locus_domain_owner(domain, i)), 0);
    locus_domain_drain(domain, 1);
    cr_expect_eq(stats_of(domain, 1).blocks_lent, 1);
    cr_expect_eq(locus_domain_grow(domain, 0, table, BLOCKS + 1), 0);
    send(domain, 0, table);
    closed(domain);
    free(table);
}

static int step_once(struct locus_owner *owner, void *context)
{
    (void)owner, (void)context;
    return 1;
}

Test(domain, is_not_closed_under_a_spawned_thread)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    struct locus_domain *domain = opened(&config);
    struct locus_owner *last = locus_domain_owner(domain, HOMES - 1);
    int result;
    cr_assert_eq(locus_owner_leave(last), 0);
    cr_assert_eq(locus_owner_spawn(last, LOCUS_NODE_ANY, step_once, NULL), 0);
    cr_assert_eq(locus_domain_close(domain), -EBUSY);
    cr_assert_eq(locus_owner_join(last, &result), 0, "nothing was closed");
    cr_assert_eq(locus_owner_adopt(last), 0);
    closed(domain);
}
