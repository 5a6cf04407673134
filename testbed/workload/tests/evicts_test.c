// SPDX-License-Identifier: Apache-2.0
//
// evicts: the policies that the model compares with the library's evict what their naive twins evict, and keep the contract.
#include "placement/evict/tests/evict_twin.h"

static void fifo(struct twin *twin, uint64_t id)
{
    if (row_find(&twin->a, id) >= 0)
        return;
    if (twin->a.count == twin->blocks)
        twin->evicted = row_cut(&twin->a, 0);
    row_add(&twin->a, id);
}

static void lfu(struct twin *twin, uint64_t id)
{
    if (row_drop(&twin->a, id)) {
        twin->count[id]++;
    } else {
        unsigned least = 0;
        for (unsigned i = 1; i < twin->a.count; i++)
            if (twin->count[twin->a.id[i]] < twin->count[twin->a.id[least]])
                least = i;
        if (twin->a.count == twin->blocks)
            twin->evicted = row_cut(&twin->a, least);
        twin->count[id] = 1;
    }
    row_add(&twin->a, id);
}

static void s3fifo_evict_main(struct twin *twin)
{
    for (;;) {
        uint64_t t = row_cut(&twin->b, 0);
        if (twin->count[t] == 0) {
            twin->evicted = t;
            return;
        }
        twin->count[t]--;
        row_add(&twin->b, t);
    }
}

static void s3fifo_evict(struct twin *twin)
{
    if (10 * twin->a.count < twin->blocks) {
        s3fifo_evict_main(twin);
        return;
    }
    while (twin->a.count > 0) {
        uint64_t t = row_cut(&twin->a, 0);
        if (twin->count[t] <= 1) {
            row_add(&twin->gone_a, t);
            if (twin->gone_a.count > 9 * twin->blocks / 10)
                row_cut(&twin->gone_a, 0);
            twin->evicted = t;
            return;
        }
        twin->count[t] = 0;
        row_add(&twin->b, t);
        if (10 * twin->b.count > 9 * twin->blocks)
            break;
    }
    s3fifo_evict_main(twin);
}

static void s3fifo(struct twin *twin, uint64_t id)
{
    if (row_find(&twin->a, id) >= 0 || row_find(&twin->b, id) >= 0) {
        twin->count[id] += twin->count[id] < 3;
        return;
    }
    if (twin->a.count + twin->b.count == twin->blocks)
        s3fifo_evict(twin);
    row_add(row_drop(&twin->gone_a, id) ? &twin->b : &twin->a, id);
    twin->count[id] = 0;
}

static void arc_replace(struct twin *twin, bool in_b2)
{
    if (twin->a.count > 0 && (twin->a.count > twin->p || (in_b2 && twin->a.count == twin->p)))
        row_add(&twin->gone_a, twin->evicted = row_cut(&twin->a, 0));
    else
        row_add(&twin->gone_b, twin->evicted = row_cut(&twin->b, 0));
}

// In the order of the figure, which deletes from B1 and B2 before REPLACE.
static void arc_case_4(struct twin *twin)
{
    const unsigned first = twin->a.count + twin->gone_a.count, all = first + twin->b.count + twin->gone_b.count;
    if (first == twin->blocks) {
        if (twin->a.count < twin->blocks) {
            row_cut(&twin->gone_a, 0);
            arc_replace(twin, false);
        } else {
            twin->evicted = row_cut(&twin->a, 0);
        }
    } else if (all >= twin->blocks) {
        if (all == 2 * twin->blocks)
            row_cut(&twin->gone_b, 0);
        arc_replace(twin, false);
    }
}

static void arc(struct twin *twin, uint64_t id)
{
    const double b1 = twin->gone_a.count, b2 = twin->gone_b.count;
    if (row_drop(&twin->a, id) || row_drop(&twin->b, id)) {
        row_add(&twin->b, id);
    } else if (row_find(&twin->gone_a, id) >= 0) {
        twin->p += b1 >= b2 ? 1 : b2 / b1;
        if (twin->p > twin->blocks)
            twin->p = twin->blocks;
        arc_replace(twin, false);
        row_drop(&twin->gone_a, id);
        row_add(&twin->b, id);
    } else if (row_find(&twin->gone_b, id) >= 0) {
        twin->p -= b2 >= b1 ? 1 : b1 / b2;
        if (twin->p < 0)
            twin->p = 0;
        arc_replace(twin, true);
        row_drop(&twin->gone_b, id);
        row_add(&twin->b, id);
    } else {
        arc_case_4(twin);
        row_add(&twin->a, id);
    }
}

Test(evicts, fifo_is_its_twin)
{
    same_as_twin("fifo", fifo);
}

Test(evicts, lfu_is_its_twin)
{
    same_as_twin("lfu", lfu);
}

Test(evicts, s3fifo_is_its_twin)
{
    same_as_twin("s3fifo", s3fifo);
}

Test(evicts, arc_is_its_twin)
{
    same_as_twin("arc", arc);
}

Test(evicts, the_list_has_every_policy)
{
    static const char *const names[] = {"arc", "chain", "fifo", "lfu", "lru", "s3fifo"};
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
}

Test(evicts, no_policy_opens_without_blocks_or_with_too_many)
{
    for (uint32_t i = 0; locus_evict_at(i); i++)
        opens_with_blocks_that_it_can_have(locus_evict_at(i));
}

Test(evicts, every_policy_keeps_the_contract)
{
    seed = 1;
    for (uint32_t i = 0; locus_evict_at(i); i++)
        keep_the_contract(locus_evict_at(i));
}

// A block that is in use keeps its place in a queue by arrival, and its count.
Test(evicts, use_changes_no_arrival)
{
    const struct locus_evict_ops *ops = locus_evict_find("fifo");
    void *state;
    cr_assert_eq(ops->open(&state, 3), 0);
    for (uint32_t block = 0; block < 3; block++)
        ops->insert(state, block, as_id(block), LOCUS_EVICT_NONE, true);
    ops->hit(state, 0);
    cr_expect_eq(ops->victim(state), 1);
    ops->insert(state, 0, as_id(0), LOCUS_EVICT_NONE, false);
    cr_expect_eq(ops->victim(state), 0);
    ops->close(state);
}
