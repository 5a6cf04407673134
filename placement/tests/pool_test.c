// SPDX-License-Identifier: Apache-2.0
//
// pool: order of reuse, counts, every kind of refused handle, and the end of a block's generations. One thread; the pool has no
// lock.
#include "placement/pool.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 8u
#define HOME 3u

TestSuite(pool, .timeout = 10); // blocks that never wear out are a failure

static struct locus_pool_config config_of(uint32_t blocks)
{
    return (struct locus_pool_config){.home = HOME, .blocks = blocks, .block_bytes = 256, .node = LOCUS_NODE_ANY};
}

static struct locus_pool *opened(const struct locus_pool_config *config)
{
    struct locus_pool *pool = NULL;
    cr_assert_eq(locus_pool_open(&pool, config), 0);
    return pool;
}

static struct locus_pool *plain(uint32_t blocks)
{
    struct locus_pool_config config = config_of(blocks);
    return opened(&config);
}

static struct locus_pool *worn_by(uint32_t generations, uint32_t blocks, enum locus_reuse reuse)
{
    struct locus_pool_config config = config_of(blocks);
    config.generations = generations;
    config.reuse = reuse;
    return opened(&config);
}

static struct locus_pool_stats stats_of(const struct locus_pool *pool)
{
    struct locus_pool_stats stats;
    locus_pool_stats(pool, &stats);
    cr_assert_eq(stats.outstanding, stats.allocated - stats.freed);
    cr_assert_eq(stats.blocks, stats.blocks_free + stats.outstanding + stats.blocks_retired, "every block is somewhere");
    return stats;
}

static bool give_back(struct locus_pool *pool, locus_block block)
{
    return locus_pool_free_bulk(pool, 1, &block, 0) == 1;
}

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

// --- open and close ------------------------------------------------------------------------------------------------------------

Test(pool, open_refuses_fields_out_of_their_range)
{
    struct locus_pool *pool = NULL;
    struct locus_pool_config bad[10];
    for (unsigned i = 0; i < 10; i++)
        bad[i] = config_of(BLOCKS);
    bad[0].home = LOCUS_HOMES_MAX;
    bad[1].blocks = 0;
    bad[2].blocks = LOCUS_BLOCKS_MAX + 1;
    bad[3].block_bytes = 0;
    bad[4].stride_bytes = bad[4].block_bytes - 1;
    bad[5].backing = 2;
    bad[6].reuse = 2;
    bad[7].page = 99;
    bad[8].policy = 99;
    bad[9].block_bytes = SIZE_MAX / 2;
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(locus_pool_open(&pool, &bad[i]), -EINVAL, "config %u", i);
    cr_assert_null(pool);
}

Test(pool, open_passes_on_that_there_is_no_memory)
{
    struct locus_pool *pool = NULL;
    struct locus_pool_config config = config_of(1u << 20);
    config.block_bytes = SIZE_MAX >> 24; // 2^60 bytes in all: more than any address space, and no overflow
    cr_assert_eq(locus_pool_open(&pool, &config), -ENOMEM);
    cr_assert_null(pool);
}

Test(pool, close_allows_null)
{
    locus_pool_close(NULL);
}

Test(pool, a_new_pool_is_idle)
{
    struct locus_pool *pool = plain(BLOCKS);
    struct locus_pool_stats stats = stats_of(pool);
    cr_assert_eq(stats.blocks, BLOCKS);
    cr_assert_eq(stats.blocks_free, BLOCKS);
    cr_assert_eq(stats.allocated + stats.freed + stats.outstanding_high + stats.distinct_high + stats.blocks_retired, 0);
    cr_assert_eq(locus_pool_home(pool), HOME);
    cr_assert_eq(locus_pool_block_bytes(pool), 256);
    cr_assert_not_null(locus_pool_region(pool));
    locus_pool_close(pool);
}

// --- order and counts ----------------------------------------------------------------------------------------------------------

Test(pool, lifo_hands_out_what_came_home_last)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block first = locus_pool_alloc(pool), second = locus_pool_alloc(pool), held = locus_pool_alloc(pool);
    cr_assert_eq(locus_block_index(first), 0, "never-used blocks leave in the order of their addresses");
    cr_assert_eq(locus_block_index(second), 1);
    cr_assert_eq(locus_block_index(held), 2);
    cr_assert(give_back(pool, first) && give_back(pool, second));
    cr_assert_eq(locus_block_index(locus_pool_alloc(pool)), 1);
    cr_assert_eq(locus_block_index(locus_pool_alloc(pool)), 0);
    cr_assert_eq(locus_block_index(locus_pool_alloc(pool)), 3);
    cr_assert_eq(stats_of(pool).distinct_high, 4);
    locus_pool_close(pool);
}

Test(pool, a_chunk_leaves_again_in_the_order_in_which_it_was_in_use)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block blocks[5], again[4];
    cr_assert_eq(locus_pool_alloc_bulk(pool, 5, blocks), 0);
    const locus_block chunk[4] = {blocks[3], blocks[0], blocks[2], blocks[1]};
    cr_assert_eq(locus_pool_free_bulk(pool, 4, chunk, 0), 4);
    again[0] = locus_pool_alloc(pool);
    cr_assert_eq(locus_pool_alloc_bulk(pool, 3, again + 1), 0);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(again[i], chunk[i] + 1, "block %u", i);
    locus_pool_close(pool);
}

Test(pool, a_chunk_with_refused_handles_keeps_every_accepted_one)
{
    for (unsigned bad = 0; bad < 4; bad++) {
        struct locus_pool *pool = plain(BLOCKS);
        locus_block blocks[5], again[4];
        cr_assert_eq(locus_pool_alloc_bulk(pool, 5, blocks), 0);
        locus_block chunk[4] = {blocks[0], blocks[1], blocks[2], blocks[3]};
        chunk[bad] = locus_block_make(HOME, BLOCKS, 1);
        cr_assert_eq(locus_pool_free_bulk(pool, 4, chunk, 0), 3);
        cr_assert_eq(locus_pool_alloc_bulk(pool, 3, again), 0);
        unsigned seen = 0;
        for (unsigned i = 0; i < 3; i++) {
            cr_assert_eq(locus_pool_check(pool, again[i]), 0);
            seen |= 1u << locus_block_index(again[i]);
        }
        cr_assert_eq(seen, 15u & ~(1u << bad));
        locus_pool_close(pool);
    }
}

// Everything home, and as much freed as there is to be put in order: ascending addresses again, with the handles of the next use.
Test(pool, an_idle_pool_is_in_ascending_order_again)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block blocks[6], again[BLOCKS];
    cr_assert_eq(locus_pool_alloc_bulk(pool, 6, blocks), 0);
    const unsigned order[6] = {4, 1, 5, 0, 3, 2};
    for (unsigned i = 0; i < 6; i++)
        cr_assert(give_back(pool, blocks[order[i]]));
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS, again), 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        cr_assert_eq(locus_block_index(again[i]), i);
        cr_assert_eq(locus_pool_check(pool, again[i]), 0);
    }
    locus_pool_close(pool);
}

Test(pool, fifo_hands_out_what_came_home_first_and_never_used_blocks_before)
{
    struct locus_pool *pool = worn_by(0, 3, LOCUS_REUSE_FIFO);
    for (unsigned turn = 0; turn < 20; turn++) { // more than once around the ring
        locus_block block = locus_pool_alloc(pool);
        cr_assert_eq(locus_block_index(block), turn % 3);
        cr_assert_eq(locus_block_generation(block), turn / 3 + 1);
        cr_assert(give_back(pool, block));
    }
    struct locus_pool_stats stats = stats_of(pool);
    cr_assert_eq(stats.distinct_high, 3);
    cr_assert_eq(stats.outstanding_high, 1);
    locus_pool_close(pool);
}

Test(pool, bulk_and_single_allocation_serve_from_the_same_stack)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_FIFO; reuse++) {
        struct locus_pool *pool = worn_by(0, BLOCKS, reuse);
        locus_block blocks[BLOCKS];
        cr_assert_eq(locus_pool_alloc_bulk(pool, 5, blocks), 0);
        for (unsigned i = 5; i < BLOCKS; i++)
            blocks[i] = locus_pool_alloc(pool);
        unsigned seen = 0;
        for (unsigned i = 0; i < BLOCKS; i++) {
            cr_assert_eq(locus_pool_check(pool, blocks[i]), 0);
            seen |= 1u << locus_block_index(blocks[i]);
        }
        cr_assert_eq(seen, (1u << BLOCKS) - 1, "every block once");
        cr_assert_eq(locus_pool_free_bulk(pool, BLOCKS, blocks, 0), BLOCKS);
        cr_assert_eq(stats_of(pool).blocks_free, BLOCKS);
        locus_pool_close(pool);
    }
}

Test(pool, bulk_is_all_or_none)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_block blocks[BLOCKS + 1];
    memset(blocks, 0xAA, sizeof blocks);
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS + 1, blocks), -ENOMEM);
    for (unsigned i = 0; i <= BLOCKS; i++)
        cr_assert_eq(blocks[i], UINT64_C(0xAAAAAAAAAAAAAAAA), "out[] is untouched");
    cr_assert_eq(stats_of(pool).allocated, 0);
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS, blocks), 0);
    cr_assert_eq(locus_pool_alloc_bulk(pool, 0, blocks), 0);
    cr_assert_eq(locus_pool_alloc_bulk(pool, 1, blocks), -ENOMEM);
    locus_pool_close(pool);
}

Test(pool, an_exhausted_pool_answers_none_until_a_block_is_home)
{
    struct locus_pool *pool = plain(2);
    locus_block first = locus_pool_alloc(pool);
    locus_pool_alloc(pool);
    cr_assert_eq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
    cr_assert_eq(stats_of(pool).allocated, 2, "nothing was counted for none");
    cr_assert(give_back(pool, first));
    locus_block again = locus_pool_alloc(pool);
    cr_assert_eq(locus_block_index(again), locus_block_index(first));
    cr_assert_eq(locus_block_generation(again), locus_block_generation(first) + 1);
    locus_pool_close(pool);
}

Test(pool, high_water_marks_count_peaks_and_distinct_blocks)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_FIFO; reuse++) {
        struct locus_pool *pool = worn_by(0, BLOCKS, reuse);
        locus_block blocks[3];
        for (unsigned turn = 0; turn < 3; turn++) {
            cr_assert_eq(locus_pool_alloc_bulk(pool, 3, blocks), 0);
            cr_assert_eq(locus_pool_free_bulk(pool, 3, blocks, 0), 3);
        }
        struct locus_pool_stats stats = stats_of(pool);
        cr_assert_eq(stats.allocated, 9);
        cr_assert_eq(stats.freed, 9);
        cr_assert_eq(stats.outstanding_high, 3);
        cr_assert_eq(stats.distinct_high, reuse == LOCUS_REUSE_LIFO ? 3 : BLOCKS);
        locus_pool_close(pool);
    }
}

// --- refused handles -----------------------------------------------------------------------------------------------------------

Test(pool, a_double_free_is_refused_and_changes_nothing)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_FIFO; reuse++) {
        struct locus_pool *pool = worn_by(0, BLOCKS, reuse);
        locus_block block = locus_pool_alloc(pool);
        locus_pool_alloc(pool);
        cr_assert(give_back(pool, block));
        struct locus_pool_stats before = stats_of(pool);
        cr_assert_not(give_back(pool, block));
        struct locus_pool_stats after = stats_of(pool);
        cr_assert_eq(after.refused[LOCUS_FREE_DOUBLE], 1);
        after.refused[LOCUS_FREE_DOUBLE] = 0;
        cr_assert_arr_eq(&before, &after, sizeof before);
        locus_pool_close(pool);
    }
}

Test(pool, a_handle_of_an_older_use_is_stale)
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

Test(pool, handles_of_another_home_and_of_no_block_are_told_apart)
{
    struct locus_pool *pool = plain(BLOCKS);
    locus_pool_alloc(pool);
    for (uint32_t home = 0; home < LOCUS_HOMES_MAX; home++)
        if (home != HOME)
            cr_assert_not(give_back(pool, locus_block_make(home, 0, LOCUS_GENERATION_FIRST)), "home %u", home);
    cr_assert_not(give_back(pool, LOCUS_BLOCK_NONE));
    cr_assert_not(give_back(pool, locus_block_make(HOME, BLOCKS, LOCUS_GENERATION_FIRST)));
    cr_assert_not(give_back(pool, locus_block_make(HOME, LOCUS_BLOCKS_MAX - 1, LOCUS_GENERATION_FIRST)));
    struct locus_pool_stats stats = stats_of(pool);
    cr_assert_eq(stats.refused[LOCUS_FREE_FOREIGN], LOCUS_HOMES_MAX);
    cr_assert_eq(stats.refused[LOCUS_FREE_RANGE], 2);
    cr_assert_eq(stats.freed, 0);
    locus_pool_close(pool);
}

Test(pool, one_bad_handle_does_not_keep_the_others_of_its_chunk)
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

Test(pool, the_error_function_is_told_each_kind_with_its_tag)
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

Test(pool, check_names_what_is_wrong_with_a_handle)
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

Test(pool, a_worn_out_block_is_retired_and_a_pool_of_one_ends_exhausted)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_FIFO; reuse++) {
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
        cr_assert_eq(stats.blocks_retired, 1);
        cr_assert_eq(stats.blocks_free, 0);
        cr_assert_eq(stats.allocated, 3);
        cr_assert_eq(stats.freed, 3);
        cr_assert_eq(stats.refused[LOCUS_FREE_DOUBLE], 1, "its last use");
        cr_assert_eq(stats.refused[LOCUS_FREE_STALE], 2);
        locus_pool_close(pool);
    }
}

// A retired block is marked with a generation that no handle carries. A damaged handle may carry anything.
Test(pool, a_retired_block_cannot_be_freed_with_generation_zero)
{
    struct locus_pool_config config = config_of(2);
    config.home = 0;
    config.generations = 1;
    struct locus_pool *pool = opened(&config);
    locus_block block = locus_pool_alloc(pool);
    cr_assert(give_back(pool, block));
    cr_assert_eq(stats_of(pool).blocks_retired, 1);
    cr_assert_neq(locus_pool_check(pool, LOCUS_BLOCK_NONE), 0);
    cr_assert_not(give_back(pool, LOCUS_BLOCK_NONE));
    cr_assert_eq(stats_of(pool).refused[LOCUS_FREE_STALE], 1);
    locus_pool_close(pool);
}

Test(pool, counts_are_conserved_while_blocks_wear_out)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_FIFO; reuse++) {
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
        cr_assert_eq(stats.blocks_retired, BLOCKS);
        cr_assert_eq(stats.outstanding, 0);
        cr_assert_leq(stats.outstanding_high, BLOCKS);
        cr_assert_eq(stats.distinct_high, BLOCKS);
        locus_pool_close(pool);
    }
}

// --- addresses -----------------------------------------------------------------------------------------------------------------

static void fill_and_verify(const struct locus_pool_config *config)
{
    struct locus_pool *pool = opened(config);
    locus_block blocks[BLOCKS];
    cr_assert_eq(locus_pool_alloc_bulk(pool, BLOCKS, blocks), 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        memset(locus_pool_address(pool, blocks[i]), (int)i + 1, config->block_bytes);
    for (unsigned i = 0; i < BLOCKS; i++) {
        const unsigned char *bytes = locus_pool_read(pool, blocks[i]);
        cr_assert_eq((const void *)bytes, locus_pool_address(pool, blocks[i]));
        for (size_t n = 0; n < config->block_bytes; n++)
            cr_assert_eq(bytes[n], i + 1, "block %u, byte %zu is another block's", i, n);
    }
    locus_pool_close(pool);
}

Test(pool, no_block_overlaps_another)
{
    struct locus_pool_config config = config_of(BLOCKS);
    fill_and_verify(&config);
    config.block_bytes = 100; // not a multiple of anything
    fill_and_verify(&config);
    config.stride_bytes = 164;
    fill_and_verify(&config);
    config.backing = LOCUS_BACKING_HEAP;
    config.populate = true;
    fill_and_verify(&config);
}

Test(pool, mapped_blocks_lie_stride_apart_from_the_base)
{
    struct locus_pool_config config = config_of(BLOCKS);
    config.stride_bytes = 320;
    struct locus_pool *pool = opened(&config);
    char *base = locus_region_base(locus_pool_region(pool));
    cr_assert_geq(locus_region_bytes(locus_pool_region(pool)), BLOCKS * 320);
    for (uint32_t i = 0; i < BLOCKS; i++)
        cr_assert_eq(locus_pool_address(pool, locus_block_make(HOME, i, 1)), (void *)(base + i * 320));
    locus_pool_close(pool);
}

Test(pool, heap_blocks_are_page_aligned_and_have_no_region)
{
    struct locus_pool_config config = config_of(BLOCKS);
    config.backing = LOCUS_BACKING_HEAP;
    struct locus_pool *pool = opened(&config);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    cr_assert_null(locus_pool_region(pool));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uintptr_t address = (uintptr_t)locus_pool_address(pool, locus_pool_alloc(pool));
        cr_assert_eq(address % page, 0);
    }
    cr_assert_eq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
    locus_pool_close(pool);
}
