// SPDX-License-Identifier: Apache-2.0
//
// evict: lru evicts what its naive twin evicts (chain_test.c has that of chain), and the library's policies keep the contract.
#include "placement/evict/tests/evict_twin.h"

static void lru(struct twin *twin, uint64_t id)
{
    if (!row_drop(&twin->a, id) && twin->a.count == twin->blocks)
        twin->evicted = row_cut(&twin->a, 0);
    row_add(&twin->a, id);
}

Test(evict, lru_is_its_twin)
{
    same_as_twin("lru", lru);
}

Test(evict, the_list_has_every_policy)
{
    static const char *const names[] = {"chain", "lru"};
    uint32_t count = 0;
    while (locus_evict_at(count))
        count++;
    cr_expect_eq(count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct locus_evict_ops *ops = locus_evict_find(names[i]);
        cr_assert_not_null(ops, "%s", names[i]);
        cr_expect_str_eq(ops->name, names[i]);
        cr_expect_gt(strlen(ops->summary), 20);
    }
    cr_expect_eq(locus_evict_find("lru"), &locus_evict_lru);
    cr_expect_null(locus_evict_find("LRU"));
    cr_expect_null(locus_evict_at(UINT32_MAX));
}

Test(evict, no_policy_opens_without_blocks_or_with_too_many)
{
    for (uint32_t i = 0; locus_evict_at(i); i++)
        opens_with_blocks_that_it_can_have(locus_evict_at(i));
}

Test(evict, every_policy_keeps_the_contract)
{
    seed = 1;
    for (uint32_t i = 0; locus_evict_at(i); i++)
        keep_the_contract(locus_evict_at(i));
}
