// SPDX-License-Identifier: Apache-2.0
//
// domain: memory that is not there, with the reason of the home that is at fault; and homes that no policy is named for.
#include "placement/domain/domain_internal.h"
#include "placement/memory/tests/group.h"

#define HOMES 3u

static const int *first_node(void)
{
    static int nodes[HOMES];
    for (unsigned i = 0; i < HOMES; i++)
        nodes[i] = next_node(0, true);
    return nodes;
}

static struct locus_domain_config three_homes(uint32_t blocks, size_t block_bytes)
{
    return (struct locus_domain_config){.size = sizeof(struct locus_domain_config),
                                        .nodes = first_node(),
                                        .nodes_count = HOMES,
                                        .lanes = 1,
                                        .blocks = blocks,
                                        .block_bytes = block_bytes};
}

// Two homes fit, three (96 MiB and the guards) do not: no home exceeds the limit by itself.
static int open_short_of_address_space(void *argument)
{
    struct locus_domain_config config = three_homes(16, 2 * MIB);
    struct locus_domain *domain;
    char why[400];
    (void)argument;
    if (!leave_address_space(80 * MIB))
        return CANNOT;
    if (locus_domain_open(&domain, &config) != -ENOMEM)
        return 3;
    locus_domain_why(&config, -ENOMEM, why, sizeof why);
    return !strstr(why, "RLIMIT_AS") || !strstr(why, "97 MiB are needed");
}

Test(domain_open, a_limit_that_the_homes_meet_together_is_named)
{
    cr_assert_eq(in_child(open_short_of_address_space, NULL), 0);
}

Test(domain_open, huge_pages_that_nobody_reserved_are_named)
{
    struct locus_domain_config config = three_homes(1000, 2 * MIB);
    struct locus_domain *domain;
    char why[400];
    config.page = LOCUS_PAGE_2M;
    int error = locus_domain_open(&domain, &config);
    if (!error)
        cr_skip_test("3000 huge pages are reserved here");
    cr_assert_eq(error, -ENOMEM);
    locus_domain_why(&config, error, why, sizeof why);
    cr_assert(strstr(why, "LOCUS_PAGE_THP"), "%s", why);
}

Test(domain_open, a_node_of_the_list_that_cannot_be_a_home_is_named_with_the_cause)
{
    int nodes[] = {next_node(0, true), next_node(1000, false)};
    char why[400], named[32];
    snprintf(named, sizeof named, "no node %d", nodes[1]);
    for (unsigned policy = 0; policy <= LOCUS_POLICY_BIND; policy++) {
        struct locus_domain_config config = three_homes(8, 64);
        struct locus_domain *domain;
        config.nodes = nodes;
        config.nodes_count = 2;
        config.policy = (enum locus_policy)policy;
        cr_assert_eq(locus_domain_open(&domain, &config), -EINVAL);
        locus_domain_why(&config, -EINVAL, why, sizeof why);
        cr_assert(strstr(why, named), "%s", why);
    }
}

Test(domain_open, a_home_is_bound_to_its_node_if_no_policy_is_named)
{
    skip_unless_available(LOCUS_POLICY_BIND);
    struct locus_domain_config config = {
        .size = sizeof config, .lanes = 1, .blocks = 8, .block_bytes = 4096, .populate = true}; // every node is a home
    struct locus_domain *domain;
    cr_assert_eq(locus_domain_open(&domain, &config), 0);
    for (uint32_t home = 0; home < locus_domain_homes(domain); home++) {
        const struct locus_region *regions[] = {locus_pool_region(domain->homes[home]->pool), domain->homes[home]->region};
        for (unsigned i = 0; i < 2; i++) {
            struct locus_placement placement = must_verify(regions[i]);
            cr_expect(placement.granted.policy == LOCUS_POLICY_BIND && placement.granted.node == locus_domain_node(domain, home));
            cr_expect_eq(placement.verified.pages_elsewhere, 0);
        }
    }
    locus_domain_close(domain);
}
