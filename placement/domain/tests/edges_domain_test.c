// SPDX-License-Identifier: Apache-2.0
//
// The edges of domain/ (edges.h).
#include "placement/domain/tests/edges.h"

#define HOMES 2u

static int node_usual(void)
{
    int node = 0;
    while (!locus_node_allowed(node))
        node++;
    return node;
}

static struct locus_domain_config domain_usual(void)
{
    static int nodes[HOMES];
    for (unsigned i = 0; i < HOMES; i++)
        nodes[i] = node_usual();
    return (struct locus_domain_config){.size = sizeof(struct locus_domain_config),
                                        .nodes = nodes,
                                        .nodes_count = HOMES,
                                        .lanes = 1,
                                        .blocks = BLOCKS,
                                        .block_bytes = BLOCK_BYTES,
                                        .shared = true,
                                        .exhausted = LOCUS_EXHAUSTED_BORROW};
}

static void domain_tried(const struct locus_domain_config *config, int wanted)
{
    struct locus_domain *domain = NULL;
    char why[200] = "";
    int error = locus_domain_open(&domain, config);
    ONE_OF(error, 0, -EINVAL, -E2BIG, -ENOMEM, -ENOSYS, -EPERM);
    cr_assert(wanted == 0 || error == wanted, "%d in place of %d", error, wanted);
    locus_domain_why(config, error, why, sizeof why);
    cr_assert(error ? *why && !domain : domain != NULL);
    cr_assert_eq(locus_domain_close(domain), 0);
}

Test(edges, locus_domain_open_takes_or_refuses_each_number)
{
    EACH(uint32_t, value, edges32)
    {
        struct locus_domain_config config = domain_usual();
        config.lanes = value;
        domain_tried(&config, value == 0 || value > LOCUS_LANES_MAX ? -EINVAL : 0);
        config = domain_usual();
        config.chunk = value;
        domain_tried(&config, value > LOCUS_BLOCKS_MAX ? -EINVAL : 0);
        config = domain_usual();
        config.chunk = value ? LOCUS_BLOCKS_MAX : 0; // makes room for no more than the homes have
        domain_tried(&config, 0);
        config = domain_usual();
        config.spare = value;
        domain_tried(&config, value > BLOCKS ? -EINVAL : 0);
        config = domain_usual();
        config.exhausted = (enum locus_exhausted)value;
        domain_tried(&config, value > LOCUS_EXHAUSTED_BORROW ? -EINVAL : 0);
        config = domain_usual();
        config.nodes_count = value;
        if (value > LOCUS_HOMES_MAX)
            domain_tried(&config, -E2BIG);
        config = domain_usual();
        config.blocks = value;
        config.block_bytes = value > 64 ? UINT64_C(1) << 40 : 64;
        domain_tried(&config, value == 0 || value > LOCUS_BLOCKS_MAX ? -EINVAL : 0);
        const uint32_t blocks_of[HOMES] = {BLOCKS, value};
        config.blocks_of = blocks_of;
        domain_tried(&config, value == 0 || value > LOCUS_BLOCKS_MAX ? -EINVAL : 0);
    }
    EACH(uint64_t, value, edges64)
    {
        struct locus_domain_config config = domain_usual();
        config.block_bytes = value;
        domain_tried(&config, value == 0 || (unsigned __int128)value * BLOCKS > UINT64_MAX ? -EINVAL : 0);
        config = domain_usual();
        config.wait_ns = value;
        domain_tried(&config, 0);
        config = domain_usual();
        config.size = value;
        domain_tried(&config, 0);
    }
    EACH(int, node, edges_int)
    {
        const int nodes[HOMES] = {node_usual(), node};
        struct locus_domain_config config = domain_usual();
        config.nodes = nodes;
        domain_tried(&config, locus_node_allowed(node) ? 0 : -EINVAL);
    }
}

struct many {
    struct locus_domain *domain;
    struct locus_table *table, *leavers;
};

static struct locus_table *table_new(const struct locus_domain *domain)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_domain_table_bytes(domain, CAPACITY));
    cr_assert(table && locus_domain_table_init(domain, table, CAPACITY, TOKENS) == 0);
    return table;
}

static void many_open(struct many *many)
{
    struct locus_domain_config config = domain_usual();
    cr_assert_eq(locus_domain_open(&many->domain, &config), 0);
    for (uint32_t i = 0; i < HOMES; i++)
        cr_assert_eq(locus_owner_adopt(locus_domain_owner(many->domain, i)), 0);
    many->table = table_new(many->domain);
    many->leavers = table_new(many->domain);
}

static void many_close(struct many *many)
{
    for (uint32_t i = 0; i < HOMES; i++)
        cr_assert_eq(locus_owner_leave(locus_domain_owner(many->domain, i)), 0);
    cr_assert_eq(locus_domain_close(many->domain), 0);
    free(many->table);
    free(many->leavers);
}

Test(edges, a_home_of_any_number_is_there_or_not)
{
    struct many many;
    many_open(&many);
    EACH(uint32_t, home, edges32)
    {
        bool there = home < HOMES;
        struct locus_domain_stats stats, none = {0};
        cr_assert_eq(locus_domain_owner(many.domain, home) != NULL, there);
        cr_assert_eq(locus_domain_node(many.domain, home), there ? node_usual() : LOCUS_NODE_ANY);
        cr_assert_eq(locus_domain_route(many.domain, home) != NULL, home < 1);
        cr_assert_eq(locus_domain_avoid(many.domain, home, false), there ? 0 : -EINVAL);
        cr_assert_eq(locus_domain_cancel(many.domain, home), there ? 0 : -EINVAL);
        cr_assert_eq(locus_domain_drain(many.domain, home), 0);
        cr_assert_null(locus_domain_next_reclaimed(many.domain, home));
        locus_domain_stats(many.domain, home, &stats);
        cr_assert_eq(memcmp(&stats, &none, sizeof stats), 0);
        EACH(uint32_t, count, edges32)
        {
            cr_assert_eq(locus_domain_drain_some(many.domain, home, count), 0);
            int error = locus_domain_grow(many.domain, home, many.table, count);
            cr_assert_eq(error, !there ? -EINVAL : count > CAPACITY ? -ENOSPC : 0);
            cr_assert_eq(many.table->count, error ? 0 : count);
            if (many.table->count)
                cr_assert_eq(locus_owner_truncate(locus_domain_owner(many.domain, home), many.table, 0), 0);
        }
    }
    EACH(int, node, edges_int)
    {
        uint32_t home = 77;
        int error = locus_domain_home_of_node(many.domain, node, &home);
        cr_assert(error == (node == node_usual() ? 0 : -ENODEV) && home == (error ? 77 : 0));
    }
    EACH(uint32_t, capacity, edges32)
    {
        _Alignas(LOCUS_CACHE_LINE) char memory[4096];
        cr_assert_eq(locus_domain_table_bytes(many.domain, capacity), locus_table_bytes(HOMES, capacity));
        cr_assert_eq(locus_domain_table_init(many.domain, memory, capacity, capacity), capacity ? 0 : -EINVAL);
    }
    many_close(&many);
}

Test(edges, a_write_of_any_extent_at_any_home_changes_all_or_nothing)
{
    struct many many;
    struct locus_home_report reports[HOMES];
    many_open(&many);
    cr_assert_eq(locus_domain_homes(many.domain), HOMES);
    cr_assert_eq(locus_domain_grow(many.domain, 0, many.table, 3), 0);
    cr_assert_not_null(locus_domain_address(many.domain, many.table->blocks[2]));
    EACH(uint32_t, home, edges32)
    EACH(uint64_t, first, edges64)
    EACH(uint64_t, count, edges64)
    {
        unsigned __int128 end = ((unsigned __int128)first + count + TOKENS - 1) / TOKENS;
        if (home == 1 && count && end <= CAPACITY)
            continue; // copies home 0's blocks: domain_share_test.c
        int wanted = home >= HOMES || first > 3 * TOKENS ? -EINVAL : count && end > CAPACITY ? -ENOSPC : 0;
        uint32_t before = many.table->count;
        int error = locus_domain_write(many.domain, home, many.table, first, count, 1, many.leavers);
        cr_assert_eq(error, wanted, "%u: %llu + %llu: %d", home, (unsigned long long)first, (unsigned long long)count, error);
        cr_assert(error == 0 || (many.table->count == before && many.leavers->count == 0));
        cr_assert_eq(locus_owner_truncate(locus_domain_owner(many.domain, 0), many.table, 3), 0);
    }
    EACH(uint32_t, home, edges32)
    EACH(uint64_t, position, edges64)
    {
        if (home == 1 && position >= TOKENS)
            continue; // home 0's blocks go into the other table: domain_share_test.c
        int error = locus_domain_drop_before(many.domain, home, many.table, position, many.leavers);
        cr_assert_eq(error, home >= HOMES ? -EINVAL : 0);
        cr_assert_eq(many.table->dropped, error ? 0 : position / TOKENS < 3 ? position / TOKENS : 3);
        cr_assert_eq(locus_owner_truncate(locus_domain_owner(many.domain, 0), many.table, 0), 0);
        cr_assert_eq(locus_domain_grow(many.domain, 0, many.table, 3), 0);
    }
    cr_assert_eq(locus_domain_check(many.domain, reports), 0);
    many_close(&many);
}
