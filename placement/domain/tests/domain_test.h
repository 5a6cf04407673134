// SPDX-License-Identifier: Apache-2.0
//
// Shared by the domain's tests. One thread holds all roles, so that the test controls every step of a loan; domain_litmus.c and
// domain_stress.c test several threads. On a machine with one node, several homes are on it.
#ifndef LOCUS_TESTS_DOMAIN_TEST_H
#define LOCUS_TESTS_DOMAIN_TEST_H

#include "locus/pool.h"
#include "placement/domain/domain_internal.h"
#include "topo/topo.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define HOMES 3u
#define BLOCKS 8u
#define CAPACITY 32u

static inline int some_node(void)
{
    int node = 0;
    while (!locus_node_allowed(node))
        node++;
    return node;
}

static inline struct locus_domain_config usual(enum locus_exhausted exhausted)
{
    static int nodes[HOMES];
    for (unsigned i = 0; i < HOMES; i++)
        nodes[i] = some_node();
    return (struct locus_domain_config){
        .size = sizeof(struct locus_domain_config),
        .nodes = nodes,
        .nodes_count = HOMES,
        .lanes = 2,
        .blocks = BLOCKS,
        .block_bytes = 64,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .exhausted = exhausted,
    };
}

static inline struct locus_domain *opened(const struct locus_domain_config *config)
{
    struct locus_domain *domain;
    cr_assert_eq(locus_domain_open(&domain, config), 0);
    for (uint32_t i = 0; i < locus_domain_homes(domain); i++)
        cr_assert_eq(locus_owner_adopt(locus_domain_owner(domain, i)), 0);
    return domain;
}

static inline struct locus_table *table_new(const struct locus_domain *domain)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, CAPACITY));
    cr_assert_not_null(table);
    cr_assert_eq(locus_domain_table_init(domain, table, CAPACITY, 16), 0);
    return table;
}

static inline struct locus_pool_stats pool_of(const struct locus_domain *domain, uint32_t home)
{
    struct locus_pool_stats stats;
    locus_pool_stats(locus_owner_pool(locus_domain_owner(domain, home)), &stats);
    return stats;
}

static inline struct locus_domain_stats stats_of(const struct locus_domain *domain, uint32_t home)
{
    struct locus_domain_stats stats;
    locus_domain_stats(domain, home, &stats);
    return stats;
}

static inline void send(struct locus_domain *domain, uint32_t home, struct locus_table *table)
{
    cr_assert_eq(locus_owner_retire(locus_domain_owner(domain, home), table), 0);
    cr_assert_eq(locus_table_push(locus_domain_route(domain, 0), table), 0);
}

static inline void drain_all(struct locus_domain *domain)
{
    for (uint32_t i = 0; i < locus_domain_homes(domain); i++)
        locus_domain_drain(domain, i);
}

// Every block is home, none was refused; and closes.
static inline void closed(struct locus_domain *domain)
{
    drain_all(domain);
    for (uint32_t i = 0; i < locus_domain_homes(domain); i++) {
        struct locus_pool_stats pool = pool_of(domain, i);
        cr_expect_eq(pool.allocated, pool.freed);
        cr_expect_eq(pool.blocks_free, pool.blocks);
        for (unsigned kind = 0; kind < LOCUS_FREE_ERRORS_COUNT; kind++)
            cr_expect_eq(pool.refused[kind], 0);
        locus_owner_leave(locus_domain_owner(domain, i));
    }
    locus_domain_close(domain);
}

static inline uint32_t blocks_of(const struct locus_table *table, uint32_t home)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++)
        count += locus_block_home(table->blocks[i]) == home;
    return count;
}

#endif
