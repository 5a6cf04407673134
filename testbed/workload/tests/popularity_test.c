// SPDX-License-Identifier: Apache-2.0
//
// popularity: the shares that are given hold, in the table exactly and in draws; popularity falls with the rank; uses that come
// again leave the shares.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/workload/adapters/popularity.h"

#define DRAWS 9007199254740992.0

static void shares_hold(const struct tb_popularity *popularity, uint32_t again_percent, double within)
{
    enum { USES = 1000000 };
    uint32_t *ranks = malloc(USES * sizeof *ranks), classes[TB_POPULAR_CLASSES] = {0};
    tb_popularity_uses(popularity, 7, again_percent, ranks, USES);
    for (uint32_t i = 0; i < USES; i++) {
        cr_assert_lt(ranks[i], popularity->adapters);
        classes[tb_popular_class(ranks[i])]++;
    }
    double top10 = (double)classes[TB_POPULAR_TOP10] / USES, top100 = top10 + (double)classes[TB_POPULAR_TOP100] / USES;
    cr_expect(fabs(top10 - 0.28) < within, "%u: %.5f", popularity->adapters, top10);
    cr_expect(fabs(top100 - 0.688) < within, "%u: %.5f", popularity->adapters, top100);
    free(ranks);
}

Test(popularity, ten_and_a_hundred_have_their_shares)
{
    static const uint32_t sizes[] = {101, 2000, 10000, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tb_popularity popularity;
        cr_assert_eq(tb_popularity_open(&popularity, sizes[i]), 0);
        cr_expect_eq(popularity.below[9], (uint64_t)(0.28 * DRAWS));
        cr_expect(fabs((double)popularity.below[99] / DRAWS - 0.688) < 1e-15);
        cr_expect_eq(popularity.below[sizes[i] - 1], (uint64_t)DRAWS);
        shares_hold(&popularity, 0, 0.001);
        tb_popularity_close(&popularity);
    }
}

// No adapter is more popular than the one before it.
static void falls(uint32_t adapters)
{
    struct tb_popularity popularity;
    cr_assert_eq(tb_popularity_open(&popularity, adapters), 0);
    uint64_t before = UINT64_MAX;
    for (uint32_t rank = 0; rank < adapters; rank++) {
        uint64_t part = popularity.below[rank] - (rank ? popularity.below[rank - 1] : 0);
        cr_assert_gt(part, 0, "rank %u", rank);
        cr_assert_leq(part, before == UINT64_MAX ? before : before + 1, "rank %u", rank); // + 1: rounded
        before = part;
    }
    tb_popularity_close(&popularity);
}

Test(popularity, it_falls_with_the_rank)
{
    struct tb_popularity popularity;
    falls(1500);
    falls(10000);
    cr_assert_eq(tb_popularity_open(&popularity, 10000), 0);
    // The first ten follow r^(-3/4), the last r^(-13/8).
    cr_expect(fabs((double)popularity.below[0] / (double)(popularity.below[7] - popularity.below[6]) - pow(8, 0.75)) < 1e-9);
    cr_expect(
        fabs((double)(popularity.below[999] - popularity.below[998]) / (double)(popularity.below[9999] - popularity.below[9998]) -
             pow(10, 1.625)) < 1e-4);
    tb_popularity_close(&popularity);
}

// Uses that come again vary more, so the bound is wider. Of the last 64 uses then three in four are of adapters used before.
Test(popularity, uses_that_come_again_leave_the_shares)
{
    enum { USES = 20000 };
    struct tb_popularity popularity;
    uint32_t ranks[USES], found[2] = {0};
    cr_assert_eq(tb_popularity_open(&popularity, 10000), 0);
    shares_hold(&popularity, 60, 0.01);
    for (uint32_t again = 0; again < 2; again++) {
        tb_popularity_uses(&popularity, 3, again * 60, ranks, USES);
        for (uint32_t i = TB_AGAIN_USES; i < USES; i++)
            for (uint32_t past = 1; past <= TB_AGAIN_USES; past++)
                if (ranks[i - past] == ranks[i]) {
                    found[again]++;
                    break;
                }
    }
    cr_expect_gt(found[1], 12 * found[0] / 10, "%u of %u", found[1], found[0]);
    tb_popularity_close(&popularity);
}

Test(popularity, the_same_seed_gives_the_same_uses_and_a_shorter_list_is_its_beginning)
{
    struct tb_popularity popularity;
    uint32_t a[500], b[500], other[500], differ = 0;
    cr_assert_eq(tb_popularity_open(&popularity, 10000), 0);
    tb_popularity_uses(&popularity, 1, 30, a, 500);
    tb_popularity_uses(&popularity, 1, 30, b, 100);
    tb_popularity_uses(&popularity, 2, 30, other, 500);
    for (uint32_t i = 0; i < 500; i++) {
        cr_expect(i >= 100 || a[i] == b[i]);
        differ += a[i] != other[i];
    }
    cr_expect_gt(differ, 400);
    tb_popularity_close(&popularity);
}

// Whatever computes it, these are the first uses of seed 1: whole numbers and square roots alone.
Test(popularity, every_host_draws_these)
{
    struct tb_popularity popularity;
    static const uint32_t known[] = {57, 136, 2229, 30, 30, 151, 391, 46};
    uint32_t ranks[8];
    cr_assert_eq(tb_popularity_open(&popularity, 10000), 0);
    tb_popularity_uses(&popularity, 1, 0, ranks, 8);
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(ranks[i], known[i], "%zu: %u", i, ranks[i]);
    tb_popularity_close(&popularity);
}

Test(popularity, has_all_three_pieces_or_is_refused)
{
    struct tb_popularity popularity;
    cr_expect_eq(tb_popularity_open(&popularity, 100), -EINVAL);
    cr_expect_eq(tb_popularity_open(&popularity, TB_ADAPTERS_MAX + 1), -EINVAL);
    cr_expect_eq(tb_popular_class(9), TB_POPULAR_TOP10);
    cr_expect_eq(tb_popular_class(10), TB_POPULAR_TOP100);
    cr_expect_eq(tb_popular_class(99), TB_POPULAR_TOP100);
    cr_expect_eq(tb_popular_class(100), TB_POPULAR_REST);
}
