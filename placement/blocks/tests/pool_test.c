// SPDX-License-Identifier: Apache-2.0
//
// pool: what open accepts, order of reuse, counts, and where blocks lie. One thread; the pool has no lock. Handles that it must
// refuse: pool_handles_test.c.
#include "locus/owner.h"
#include "locus/region.h"
#include "placement/blocks/tests/pool_test.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(pool, .timeout = 60); // a walk that does not end is a failure

static struct locus_pool_config over(void *memory, size_t bytes)
{
    struct locus_pool_config config = config_of(16);
    config.backing = LOCUS_BACKING_CALLER;
    config.memory = memory;
    config.memory_bytes = bytes;
    return config;
}

// --- open and close ------------------------------------------------------------------------------------------------------------

Test(pool, open_refuses_fields_out_of_their_range)
{
    struct locus_pool *pool = NULL;
    _Alignas(4096) static char memory[4096];
    struct locus_pool_config bad[16];
    for (unsigned i = 0; i < 16; i++)
        bad[i] = config_of(BLOCKS);
    bad[0].home = LOCUS_HOMES_MAX;
    bad[1].blocks = 0;
    bad[2].blocks = LOCUS_BLOCKS_MAX + 1;
    bad[3].block_bytes = 0;
    bad[4].stride_bytes = bad[4].block_bytes - 1;
    bad[5].backing = 3;
    bad[6].reuse = 3;
    bad[7].page = 99;
    bad[8].policy = 99;
    bad[9].block_bytes = SIZE_MAX / 2;
    bad[10].memory = memory; // which mapped backing does not take
    bad[10].memory_bytes = sizeof memory;
    bad[11].backing = LOCUS_BACKING_CALLER;
    bad[12] = over(memory, sizeof memory);
    bad[12].blocks = 17;
    bad[13] = over(memory + 64, sizeof memory);
    bad[14] = over(memory, sizeof memory - 64);
    bad[14].blocks = 1;
    bad[15] = over(memory, sizeof memory);
    bad[15].page = LOCUS_PAGE_THP;
    for (unsigned i = 0; i < 16; i++) {
        char why[256] = "";
        cr_assert_eq(locus_pool_open(&pool, &bad[i]), -EINVAL, "config %u", i);
        locus_pool_why(&bad[i], -EINVAL, why, sizeof why);
        cr_assert(*why && !strchr(why, '\n') && why[strlen(why) - 1] != '.', "config %u: %s", i, why);
        for (unsigned j = 0; j < 2; j++) // the reason is the field's, not one for a good config
            cr_assert(!strstr(why, j ? "can be used" : "unexpected error"), "config %u: %s", i, why);
    }
    cr_assert_null(pool);
}

Test(pool, reasons_are_in_words)
{
    const struct {
        struct locus_pool_config config;
        int error;
        const char *word;
    } cases[] = {
        {.config = {.size = sizeof(struct locus_pool_config), .home = 64}, -EINVAL, "home"},
        {.config = {.size = sizeof(struct locus_pool_config), .blocks = 0}, -EINVAL, "blocks"},
        {.config = {.size = sizeof(struct locus_pool_config), .blocks = 1}, -EINVAL, "block_bytes"},
        {.config = {.size = sizeof(struct locus_pool_config), .blocks = 1, .block_bytes = 9, .stride_bytes = 8}, -EINVAL, "stride"},
        {.config =
             {.size = sizeof(struct locus_pool_config), .blocks = 1, .block_bytes = 64, .policy = LOCUS_POLICY_BIND, .node = 1000},
         -EINVAL,
         "node 1000"},
        {.config = {.size = 4}, -EINVAL, "size"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct locus_pool *pool;
        char why[256];
        cr_assert_eq(locus_pool_open(&pool, &cases[i].config), cases[i].error, "case %u", i);
        locus_pool_why(&cases[i].config, cases[i].error, why, sizeof why);
        cr_assert(strstr(why, cases[i].word), "case %u: %s", i, why);
        locus_pool_why(&cases[i].config, cases[i].error, why, 4);
        cr_assert_eq(strlen(why), 3);
    }
}

// The struct of a program that was built with another version of the header.
Test(pool, configs_of_other_versions_are_read_as_far_as_they_go)
{
    struct {
        struct locus_pool_config now;
        uint64_t later;
    } newer = {.now = config_of(BLOCKS)};
    struct locus_pool_config older = config_of(BLOCKS);
    struct locus_pool *pool = NULL;
    char why[256];
    older.size = offsetof(struct locus_pool_config, memory);
    older.memory = (void *)8, older.memory_bytes = 8; // whatever lies behind it
    cr_assert_eq(locus_pool_open(&pool, &older), 0);
    locus_pool_close(pool);
    newer.now.size = sizeof newer;
    cr_assert_eq(locus_pool_open(&pool, &newer.now), 0, "it asks for nothing new");
    locus_pool_close(pool);
    newer.later = 1;
    cr_assert_eq(locus_pool_open(&pool, &newer.now), -E2BIG);
    locus_pool_why(&newer.now, -E2BIG, why, sizeof why);
    cr_assert(strstr(why, "later version"), "%s", why);
    newer.now.size = 0;
    cr_assert_eq(locus_pool_open(&pool, &newer.now), 0, "as large as this version's");
    locus_pool_close(pool);
    newer.now.backing = LOCUS_BACKING_CALLER; // and read to its end
    newer.now.memory = (void *)8;
    cr_assert_eq(locus_pool_open(&pool, &newer.now), -EINVAL);
    const size_t wrong[] = {1, 7, SIZE_MAX, 5000};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        older.size = wrong[i];
        cr_assert_eq(locus_pool_open(&pool, &older), -EINVAL, "size %zu", wrong[i]);
    }
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
    cr_assert_eq(stats.allocated + stats.freed + stats.outstanding_high + stats.distinct_high + stats.blocks_worn, 0);
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
    const uint32_t uses = 100, first = LOCUS_GENERATION_MAX - uses + 1;
    struct locus_pool *pool = worn_by(uses, 3, LOCUS_REUSE_FIFO);
    for (unsigned turn = 0; turn < 20; turn++) { // more than once around the ring
        locus_block block = locus_pool_alloc(pool);
        cr_assert_eq(locus_block_index(block), turn % 3);
        cr_assert_eq(locus_block_generation(block), first + turn / 3);
        cr_assert(give_back(pool, block));
    }
    struct locus_pool_stats stats = stats_of(pool);
    cr_assert_eq(stats.distinct_high, 3);
    cr_assert_eq(stats.outstanding_high, 1);
    locus_pool_close(pool);
}

Test(pool, bulk_and_single_allocation_serve_from_the_same_stack)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
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

// What it was given goes into memcpy otherwise, which UBSan reports.
Test(pool, none_at_all_need_no_room)
{
    struct locus_pool *pool = plain(1);
    cr_assert_eq(locus_pool_alloc_bulk(pool, 0, NULL), 0);
    cr_assert_eq(locus_pool_free_bulk(pool, 0, NULL, 0), 0);
    cr_assert_neq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_pool_alloc_bulk(pool, 0, NULL), 0, "of an exhausted pool, too");
    cr_assert_eq(stats_of(pool).allocated, 1);
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
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++) {
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
        cr_assert_eq(stats.distinct_high, reuse == LOCUS_REUSE_FIFO ? BLOCKS : 3);
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
        const unsigned char *bytes = locus_pool_address_const(pool, blocks[i]);
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

// A file in memory, mapped twice: what is written by way of the pool is seen in the other mapping, and stays when the pool closes.
Test(pool, blocks_lie_in_the_callers_memory)
{
    const size_t bytes = 4 * 4096;
    int file = memfd_create("blocks", MFD_CLOEXEC);
    cr_assert(file >= 0 && ftruncate(file, (off_t)bytes) == 0);
    char *here = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *there = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    cr_assert(here != MAP_FAILED && there != MAP_FAILED);
    struct locus_pool_config config = over(here, bytes);
    config.block_bytes = 1024;
    config.populate = true;
    struct locus_pool *pool = opened(&config);
    for (unsigned i = 0; i < 16; i++) {
        locus_block block = locus_pool_alloc(pool);
        cr_assert_eq(locus_pool_address(pool, block), here + i * 1024);
        memset(locus_pool_address(pool, block), (int)i + 1, 1024);
    }
    cr_assert_eq(locus_pool_alloc(pool), LOCUS_BLOCK_NONE);
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(locus_pool_region(pool), &placement), 0);
    cr_assert(placement.verified.verify_errno || placement.verified.pages_present == 4);
    cr_assert_not(placement.verified.numa_maps_read);
    locus_pool_close(pool);
    for (unsigned i = 0; i < bytes; i++)
        cr_assert_eq(there[i], (char)(i / 1024 + 1));
    munmap(here, bytes);
    munmap(there, bytes);
    close(file);
}

// --- what is out ---------------------------------------------------------------------------------------------------------------

struct out {
    uint32_t count;
    locus_block blocks[BLOCKS];
    uint64_t tags[BLOCKS];
};

static void note_out(void *context, locus_block block, uint64_t tag)
{
    struct out *out = context;
    out->blocks[out->count] = block;
    out->tags[out->count++] = tag;
}

static struct out out_of(const struct locus_pool *pool)
{
    struct out out = {0};
    uint32_t count;
    cr_assert_eq(locus_pool_each_out(pool, note_out, &out, &count), 0);
    cr_assert_eq(count, out.count);
    cr_assert_eq(count, stats_of(pool).outstanding);
    return out;
}

struct leak {
    struct locus_pool *pool;
    locus_block blocks[4];
    uint32_t freed, calls;
};

// A request's blocks at the first of them, as an engine frees what it finds leaked.
static void free_all_at_once(void *context, locus_block block, uint64_t tag)
{
    struct leak *leak = context;
    (void)tag, (void)block;
    leak->calls++;
    leak->freed += locus_pool_free_bulk(leak->pool, 4, leak->blocks, 0);
}

Test(pool, what_a_report_of_leaks_frees_is_not_reported_after_that)
{
    struct leak leak = {.pool = plain(BLOCKS)};
    uint32_t count;
    cr_assert_eq(locus_pool_alloc_bulk(leak.pool, 4, leak.blocks), 0);
    cr_assert_eq(locus_pool_each_out(leak.pool, free_all_at_once, &leak, &count), 0);
    cr_assert(leak.calls == 1 && count == 1 && leak.freed == 4, "%u calls", leak.calls);
    cr_assert_eq(stats_of(leak.pool).outstanding, 0);
    locus_pool_close(leak.pool);
}

Test(pool, what_is_out_is_named_and_what_is_free_or_retired_is_not)
{
    const enum locus_reuse reuses[] = {LOCUS_REUSE_LIFO, LOCUS_REUSE_FIFO, LOCUS_REUSE_RUNS};
    for (unsigned r = 0; r < 3; r++) {
        struct locus_pool *pool = worn_by(1, BLOCKS, reuses[r]);
        locus_block blocks[BLOCKS];
        cr_assert_eq(out_of(pool).count, 0);
        cr_assert_eq(locus_pool_alloc_bulk(pool, 6, blocks), 0);
        cr_assert(give_back(pool, blocks[2]) && give_back(pool, blocks[5])); // whose last use it was
        struct out out = out_of(pool);
        const locus_block expected[] = {blocks[0], blocks[1], blocks[3], blocks[4]};
        cr_assert_arr_eq(out.blocks, expected, sizeof expected);
        cr_assert_eq(out.count, 4);
        locus_pool_close(pool);
    }
}

// Single blocks, blocks of a table, and a block that goes to another request later.
static void expect_tags(enum locus_reuse reuse)
{
    struct locus_pool_config config = config_of(BLOCKS);
    config.tags = true;
    config.reuse = reuse;
    struct locus_pool *pool = opened(&config);
    cr_assert_eq(locus_pool_free_bulk(pool, 1, (locus_block[]){locus_pool_alloc(pool)}, 0), 1);
    struct locus_owner_config role = {.size = sizeof role, .pool = pool, .lanes = 1};
    struct locus_owner *owner;
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(HOME + 1, 4));
    cr_assert(table && locus_table_init(table, HOME + 1, 4, 16) == 0);
    cr_assert(locus_owner_open(&owner, &role) == 0 && locus_owner_adopt(owner) == 0);
    for (uint64_t tag = 7; tag < 9; tag++) {
        locus_table_set_tag(table, tag);
        cr_assert_eq(locus_owner_grow(owner, table, 2), 0);
        cr_assert_eq(locus_owner_grow(owner, table, 1), 0);
        locus_block single = locus_pool_alloc(pool);
        struct out out = out_of(pool);
        cr_assert_eq(out.count, 4);
        for (uint32_t i = 0; i < 4; i++)
            cr_assert_eq(out.tags[i], out.blocks[i] == single ? 0 : tag);
        cr_assert(give_back(pool, single));
        cr_assert_eq(locus_owner_truncate(owner, table, 0), 0);
        cr_assert_eq(out_of(pool).count, 0);
    }
    locus_owner_leave(owner);
    locus_owner_close(owner);
    locus_pool_close(pool);
    free(table);
}

Test(pool, the_request_of_a_block_that_is_out_is_known_where_tags_are_kept)
{
    for (unsigned reuse = LOCUS_REUSE_LIFO; reuse <= LOCUS_REUSE_RUNS; reuse++)
        expect_tags((enum locus_reuse)reuse);
}

// --- fork ----------------------------------------------------------------------------------------------------------------------

static int child_that_touches(const char *address)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); // no sanitizer's report
        _exit(*(volatile const char *)address);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Test(pool, a_forked_child_has_neither_blocks_nor_books_and_the_parent_goes_on)
{
    struct locus_pool_config config = config_of(BLOCKS);
    config.populate = true;
    struct locus_pool *pool = opened(&config);
    locus_block block = locus_pool_alloc(pool);
    memset(locus_pool_address(pool, block), 0x5a, 256);
    cr_assert_eq(child_that_touches(locus_pool_address(pool, block)), SIGSEGV);
    cr_assert_eq(*(char *)locus_pool_address(pool, block), 0x5a);
    cr_assert(give_back(pool, block));
    locus_pool_close(pool);
    void *memory = aligned_alloc(4096, 4096);
    config = over(memory, 4096);
    pool = opened(&config);
    block = locus_pool_alloc(pool);
    cr_assert_eq(child_that_touches(memset(locus_pool_address(pool, block), 0, 1)), 0, "the caller's memory is left as it is");
    locus_pool_close(pool);
    free(memory);
}
