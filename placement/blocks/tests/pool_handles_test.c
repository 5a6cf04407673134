// SPDX-License-Identifier: Apache-2.0
//
// pool_handles: every kind of handle that a pool must refuse, handles of other pools, and the end of a block's generations.
#include "placement/blocks/tests/pool_test.h"

#include <errno.h>
#include <string.h>

TestSuite(pool_handles, .timeout = 60); // blocks that never wear out are a failure

struct report {
    unsigned calls;
    enum locus_free_error error;
    locus_block block;
    uint64_t tag;
};

static void on_error(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    struct report *report = context;
    *report = (struct report){report->calls + 1, error, block, tag};
}

// --- refused handles -----------------------------------------------------------------------------------------------------------

Test(pool_handles, a_double_free_is_refused_and_changes_nothing)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
        struct locus_pool *pool = worn_by(0, BLOCKS, reuse);
        locus_block block = locus_pool_alloc(pool);
        locus_pool_alloc(pool);
        cr_assert(give_back(pool, block));
        struct locus_pool_stats before = stats_of(pool);
        cr_assert_not(give_back(pool, block));
        struct locus_pool_stats after = stats_of(pool);
        cr_assert_eq(after.refused[LOCUS_FREE_DOUBLE], 1);
        after.refused[LOCUS_FREE_DOUBLE] = 0;
        cr_assert_arr_eq(before.refused, after.refused, sizeof before.refused);
        cr_assert_eq(before.allocated, after.allocated);
        cr_assert_eq(before.freed, after.freed);
        cr_assert_eq(before.blocks_free, after.blocks_free);
        cr_assert_eq(before.outstanding_high, after.outstanding_high);
        cr_assert_eq(before.distinct_high, after.distinct_high);
        locus_pool_close(pool);
    }
}

Test(pool_handles, a_handle_of_an_older_use_is_stale)
{
    struct locus_pool *pool = plain(1);
    locus_block old = locus_pool_alloc(pool);
    cr_assert(give_back(pool, old));
    locus_block now = locus_pool_alloc(pool);
    cr_assert_not(give_back(pool, old), "the block is out again, in other hands");
    cr_assert_eq(stats_of(pool).refused[LOCUS_FREE_STALE], 1);
    cr_assert(give_back(pool, now), "the living handle is not hurt");
    cr_assert_not(give_back(pool, old), "free again, but two uses ago");
    cr_assert_not(give_back(pool, now + 9), "a use that has not been yet");
    cr_assert_eq(stats_of(pool).refused[LOCUS_FREE_STALE], 3);
    locus_pool_close(pool);
}

Test(pool_handles, handles_of_another_home_and_of_no_block_are_told_apart)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_pool_alloc(pool);
    for (uint32_t home = 0; home < LOCUS_HOMES_MAX; home++)
        if (home != HOME)
            cr_assert_not(give_back(pool, locus_block_make(home, 0, LOCUS_GENERATION_MIN)), "home %u", home);
    cr_assert_not(give_back(pool, LOCUS_BLOCK_NONE));
    cr_assert_not(give_back(pool, locus_block_make(HOME, BLOCKS, LOCUS_GENERATION_MIN)));
    cr_assert_not(give_back(pool, locus_block_make(HOME, LOCUS_BLOCKS_MAX - 1, LOCUS_GENERATION_MIN)));
    struct locus_pool_stats stats = stats_of(pool);
    cr_assert_eq(stats.refused[LOCUS_FREE_FOREIGN], LOCUS_HOMES_MAX);
    cr_assert_eq(stats.refused[LOCUS_FREE_RANGE], 2);
    cr_assert_eq(stats.freed, 0);
    locus_pool_close(pool);
}

Test(pool_handles, one_bad_handle_does_not_keep_the_others_of_its_chunk)
{
    struct locus_pool *pool = plain(BLOCKS);
    struct report report = {0};
    locus_pool_on_error(pool, on_error, &report);
    locus_block chunk[5];
    cr_assert_eq(locus_pool_alloc_bulk(pool, 3, chunk), 0);
    chunk[3] = chunk[1]; // twice in one vector
    chunk[4] = locus_pool_alloc(pool);
    cr_assert_eq(locus_pool_free_bulk(pool, 5, chunk, 4711), 4);
    cr_assert_eq(report.calls, 1);
    cr_assert_eq(report.error, LOCUS_FREE_DOUBLE);
    cr_assert_eq(report.block, chunk[1]);
    cr_assert_eq(report.tag, 4711);
    cr_assert_eq(stats_of(pool).blocks_free, BLOCKS);
    cr_assert_eq(stats_of(pool).freed, 4);
    locus_pool_close(pool);
}

Test(pool_handles, the_error_function_is_told_each_kind_with_its_tag)
{
    struct locus_pool *pool = plain(1);
    struct report report = {0};
    locus_pool_on_error(pool, on_error, &report);
    locus_block used = locus_pool_alloc(pool);
    give_back(pool, used);
    locus_pool_alloc(pool);
    const struct report cases[] = {
        {.block = used, .error = LOCUS_FREE_STALE},
        {.block = locus_block_make(HOME + 1, 0, 1), .error = LOCUS_FREE_FOREIGN},
        {.block = locus_block_make(HOME, 1, 1), .error = LOCUS_FREE_RANGE},
    };
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(locus_pool_free_bulk(pool, 1, &cases[i].block, 100 + i), 0);
        cr_assert_eq(report.calls, i + 1);
        cr_assert_eq(report.error, cases[i].error);
        cr_assert_eq(report.block, cases[i].block);
        cr_assert_eq(report.tag, 100 + i);
    }
    locus_pool_close(pool);
}

Test(pool_handles, check_names_what_is_wrong_with_a_handle)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block block = locus_pool_alloc(pool);
    cr_assert_eq(locus_pool_check(pool, block), 0);
    cr_assert_eq(locus_pool_check(pool, block + 1), -ESTALE);
    cr_assert_eq(locus_pool_check(pool, locus_block_make(HOME, BLOCKS, 1)), -ERANGE);
    cr_assert_eq(locus_pool_check(pool, locus_block_make(HOME + 1, 0, 1)), -EXDEV);
    give_back(pool, block);
    cr_assert_eq(locus_pool_check(pool, block), -ESTALE);
    locus_pool_close(pool);
}

// --- the end of the generations ------------------------------------------------------------------------------------------------

Test(pool_handles, a_worn_out_block_is_retired_and_a_pool_of_one_ends_exhausted)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
        struct locus_pool *pool = worn_by(3, 1, reuse);
        locus_block used[3];
        for (unsigned i = 0; i < 3; i++) {
            used[i] = locus_pool_alloc(pool);
            cr_assert_eq(locus_block_generation(used[i]), LOCUS_GENERATION_MAX - 2 + i);
            cr_assert(give_back(pool, used[i]));
        }
        cr_assert_eq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
        cr_assert_eq(locus_pool_alloc_bulk(pool, 1, used + 2), -ENOMEM);
        for (unsigned i = 0; i < 3; i++)
            cr_assert_not(give_back(pool, used[i]));
        struct locus_pool_stats stats = stats_of(pool);
        cr_assert_eq(stats.blocks_worn, 1);
        cr_assert_eq(stats.blocks_free, 0);
        cr_assert_eq(stats.allocated, 3);
        cr_assert_eq(stats.freed, 3);
        cr_assert_eq(stats.refused[LOCUS_FREE_DOUBLE], 1, "its last use");
        cr_assert_eq(stats.refused[LOCUS_FREE_STALE], 2);
        locus_pool_close(pool);
    }
}

// A worn block is marked with a generation that no valid handle has. A damaged handle may have any.
Test(pool_handles, a_retired_block_cannot_be_freed_with_generation_zero)
{
    struct locus_pool_config config = config_of(2);
    config.home = 0;
    config.generations = 1;
    struct locus_pool *pool = opened(&config);
    locus_block block = locus_pool_alloc(pool);
    cr_assert(give_back(pool, block));
    cr_assert_eq(stats_of(pool).blocks_worn, 1);
    cr_assert_neq(locus_pool_check(pool, LOCUS_BLOCK_NONE), 0);
    cr_assert_not(give_back(pool, LOCUS_BLOCK_NONE));
    cr_assert_eq(stats_of(pool).refused[LOCUS_FREE_STALE], 1);
    locus_pool_close(pool);
}

Test(pool_handles, counts_are_conserved_while_blocks_wear_out)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
        struct locus_pool *pool = worn_by(3, BLOCKS, reuse);
        locus_block blocks[BLOCKS];
        uint32_t uses = 0, wanted = 5;
        while (stats_of(pool).blocks_free) {
            uint32_t count = wanted = wanted * 7 % 11 % BLOCKS + 1;
            if (locus_pool_alloc_bulk(pool, count, blocks))
                count = locus_pool_alloc_bulk(pool, 1, blocks) ? 0 : 1;
            uses += count;
            cr_assert_eq(locus_pool_free_bulk(pool, count, blocks, 0), count);
        }
        struct locus_pool_stats stats = stats_of(pool);
        cr_assert_eq(uses, 3 * BLOCKS, "each block served each of its generations");
        cr_assert_eq(stats.blocks_worn, BLOCKS);
        cr_assert_eq(stats.outstanding, 0);
        cr_assert_leq(stats.outstanding_high, BLOCKS);
        cr_assert_eq(stats.distinct_high, BLOCKS);
        locus_pool_close(pool);
    }
}

// --- other pools' handles ------------------------------------------------------------------------------------------------------

// Fails once in 2^28 / BLOCKS runs, when the generation drawn is the one before.
Test(pool_handles, handles_of_a_closed_pool_are_refused_by_the_next_of_its_number)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block old[BLOCKS], now[BLOCKS];
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS, old), 0);
    locus_pool_close(pool);
    pool = plain(BLOCKS);
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS, now), 0);
    cr_assert_eq(locus_pool_free_bulk(pool, BLOCKS, old, 0), 0);
    cr_assert_eq(stats_of(pool).refused[LOCUS_FREE_STALE], BLOCKS);
    cr_assert_eq(stats_of(pool).outstanding, BLOCKS, "nobody's block is handed out twice");
    cr_assert_eq(locus_pool_free_bulk(pool, BLOCKS, now, 0), BLOCKS);
    locus_pool_close(pool);
}

// Where nothing is out, nothing can come home, whatever its generation: there would be no place for it on the stack.
Test(pool_handles, a_pool_of_which_nothing_is_out_accepts_nothing)
{
    const enum locus_reuse reuses[] = {LOCUS_REUSE_LIFO, LOCUS_REUSE_FIFO, LOCUS_REUSE_RUNS};
    for (unsigned i = 0; i < 3; i++) {
        struct locus_pool *here = worn_by(9, 2, reuses[i]), *there = worn_by(9, 2, reuses[i]); // their generations are alike
        locus_block block = locus_pool_alloc(there);
        cr_assert_not(give_back(here, block));
        cr_assert_eq(stats_of(here).refused[LOCUS_FREE_STALE], 1);
        cr_assert_eq(stats_of(here).blocks_free, 2);
        cr_assert(give_back(there, block));
        locus_pool_close(there);
        locus_pool_close(here);
    }
}
