// SPDX-License-Identifier: Apache-2.0
//
// domain_health: the contents of a report, and that a moved home loses nothing. Only the guest takes a node offline
// (testbed/tests); here its report is derived from made-up numbers.
#include "locus/pool.h"
#include "placement/domain/domain_internal.h"

#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS 16u
#define PAGE 4096u

TestSuite(domain_health, .timeout = 60);

static struct locus_domain *two_homes(enum locus_exhausted exhausted)
{
    static int nodes[2];
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
        .block_bytes = PAGE,
        .exhausted = exhausted,
        .populate = true,
    };
    struct locus_domain *domain;
    cr_assert_eq(locus_domain_open(&domain, &config), 0);
    for (uint32_t i = 0; i < 2; i++)
        cr_assert_eq(locus_owner_adopt(locus_domain_owner(domain, i)), 0);
    return domain;
}

static void closed(struct locus_domain *domain)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct locus_pool_stats pool;
        locus_domain_drain(domain, i);
        locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, i)), &pool);
        cr_expect_eq(pool.blocks_free, BLOCKS);
        locus_owner_leave(locus_domain_owner(domain, i));
    }
    locus_domain_close(domain);
}

static struct locus_table *table_new(const struct locus_domain *domain)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, 2 * BLOCKS));
    cr_assert_not_null(table);
    cr_assert_eq(locus_domain_table_init(domain, table, 2 * BLOCKS, 16), 0);
    return table;
}

static void end(struct locus_domain *domain, struct locus_table *table)
{
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, 0), table), 0);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), table), 0);
    closed(domain);
    free(table);
}

Test(domain_health, the_worst_that_the_numbers_say_is_the_condition)
{
    static const struct {
        uint64_t then, now, elsewhere;
        enum locus_home_condition condition;
    } cases[] = {
        {100, 100, 0, LOCUS_HOME_OK},       {100, 120, 0, LOCUS_HOME_OK},      {100, 99, 0, LOCUS_HOME_SHRUNK},
        {100, 100, 1, LOCUS_HOME_MIGRATED}, {100, 99, 1, LOCUS_HOME_MIGRATED}, {100, 0, 1, LOCUS_HOME_OFFLINE},
        {100, 0, 0, LOCUS_HOME_OFFLINE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct locus_home_report report = {
            .node_bytes_then = cases[i].then,
            .node_bytes_now = cases[i].now,
            .pages_elsewhere = cases[i].elsewhere,
        };
        cr_expect_eq(domain_condition(&report), cases[i].condition, "case %zu", i);
    }
}

Test(domain_health, homes_that_nobody_touched_are_well)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_REFUSE);
    struct locus_home_report reports[2];
    cr_assert_eq(locus_domain_check(domain, reports), 0);
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_eq(reports[i].condition, LOCUS_HOME_OK);
        cr_expect_eq(reports[i].node, locus_domain_node(domain, i));
        cr_expect_gt(reports[i].node_bytes_now, 0);
        cr_expect_eq(reports[i].node_bytes_now, reports[i].node_bytes_then);
        if (!reports[i].verify_errno)
            cr_expect_eq(reports[i].pages_present, BLOCKS);
    }
    closed(domain);
}

Test(domain_health, a_node_that_was_larger_at_open_has_shrunk)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_REFUSE);
    struct locus_home_report reports[2];
    domain->homes[1]->node_bytes++;
    cr_assert_eq(locus_domain_check(domain, reports), 0);
    cr_expect_eq(reports[0].condition, LOCUS_HOME_OK);
    cr_expect_eq(reports[1].condition, LOCUS_HOME_SHRUNK);
    closed(domain);
}

Test(domain_health, a_node_that_is_gone_is_offline)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_REFUSE);
    struct locus_home_report reports[2];
    domain->nodes[1] = 1023; // as if
    cr_assert_eq(locus_domain_check(domain, reports), 0);
    cr_expect_eq(reports[1].condition, LOCUS_HOME_OFFLINE);
    cr_expect_eq(reports[1].node, 1023);
    closed(domain);
}

Test(domain_health, pages_that_the_kernel_moved_are_reported_and_the_blocks_stay_usable)
{
    struct locus_domain_config config = {
        .size = sizeof config, .lanes = 1, .blocks = BLOCKS, .block_bytes = PAGE, .policy = LOCUS_POLICY_BIND};
    struct locus_domain *domain;
    struct locus_home_report reports[LOCUS_HOMES_MAX];
    void *pages[BLOCKS];
    int nodes[BLOCKS], status[BLOCKS];
    config.populate = true;
    int error = locus_domain_open(&domain, &config);
    if (error == -EPERM || error == -ENOSYS)
        cr_skip_test("mbind is not available here");
    cr_assert_eq(error, 0);
    if (locus_domain_homes(domain) < 2) {
        locus_domain_close(domain);
        cr_skip_test("needs >= 2 NUMA nodes");
    }
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_owner_adopt(locus_domain_owner(domain, 0)), 0);
    cr_assert_eq(locus_domain_grow(domain, 0, table, BLOCKS), 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        pages[i] = locus_domain_address(domain, table->blocks[i]);
        *(uint32_t *)pages[i] = i;
        nodes[i] = locus_domain_node(domain, 1);
    }
    cr_assert_eq(syscall(SYS_move_pages, 0, (unsigned long)BLOCKS, pages, nodes, status, MPOL_MF_MOVE), 0);
    cr_assert_eq(locus_domain_check(domain, reports), 0);
    cr_expect_eq(reports[0].condition, LOCUS_HOME_MIGRATED);
    cr_expect_eq(reports[0].pages_elsewhere, BLOCKS);
    cr_expect_eq(reports[1].condition, LOCUS_HOME_OK);
    for (uint32_t i = 0; i < BLOCKS; i++)
        cr_expect_eq(*(uint32_t *)locus_domain_address(domain, table->blocks[i]), i);
    cr_expect_eq(locus_owner_truncate(locus_domain_owner(domain, 0), table, 0), 0);
    locus_owner_leave(locus_domain_owner(domain, 0));
    locus_domain_close(domain);
    free(table);
}

Test(domain_health, an_avoided_home_takes_its_new_blocks_elsewhere)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_BORROW);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_grow(domain, 0, table, 1), 0);
    cr_assert_eq(locus_domain_avoid(domain, 0, true), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, table, 2), -EAGAIN);
    locus_domain_drain(domain, 1);
    cr_expect_eq(locus_domain_grow(domain, 0, table, 2), 0);
    cr_expect_eq(locus_block_home(table->blocks[0]), 0);
    cr_expect_eq(locus_block_home(table->blocks[1]), 1);
    cr_expect_eq(locus_block_home(table->blocks[2]), 1);
    cr_assert_eq(locus_domain_avoid(domain, 0, false), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, table, 1), 0);
    cr_expect_eq(locus_block_home(table->blocks[3]), 0);
    end(domain, table);
}

Test(domain_health, an_avoided_home_uses_its_own_blocks_when_nobody_lends)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_BORROW);
    struct locus_table *table = table_new(domain);
    cr_assert_eq(locus_domain_avoid(domain, 0, true), 0);
    cr_assert_eq(locus_domain_avoid(domain, 1, true), 0);
    cr_expect_eq(locus_domain_grow(domain, 0, table, 2), -EAGAIN);
    locus_domain_drain(domain, 1);
    cr_expect_eq(locus_domain_grow(domain, 0, table, 2), 0);
    cr_expect_eq(table->homes, 1);
    end(domain, table);
}

Test(domain_health, only_a_home_that_may_borrow_can_be_avoided)
{
    struct locus_domain *domain = two_homes(LOCUS_EXHAUSTED_WAIT);
    cr_expect_eq(locus_domain_avoid(domain, 0, true), -EINVAL);
    closed(domain);
    domain = two_homes(LOCUS_EXHAUSTED_BORROW);
    cr_expect_eq(locus_domain_avoid(domain, 2, true), -EINVAL);
    closed(domain);
}
