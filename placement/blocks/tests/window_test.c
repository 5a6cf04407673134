// SPDX-License-Identifier: Apache-2.0
//
// window: rows show their tables' blocks and nothing else, at the cost of what has changed, and refuse what would break the
// process.
#include "locus/window.h"
#include "placement/blocks/tests/owner_test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define PLANES 3u
#define BLOCK_BYTES (size_t)(PLANES * PAGE)
#define ROW_BLOCKS 8u
#define POOL_BLOCKS 32u

static struct locus_pool_config windowed(uint32_t blocks, size_t block_bytes)
{
    return (struct locus_pool_config){.size = sizeof(struct locus_pool_config),
                                      .blocks = blocks,
                                      .block_bytes = block_bytes,
                                      .node = LOCUS_NODE_ANY,
                                      .windows = true};
}

static struct locus_window *opened(const struct locus_pool *pool, uint32_t rows, uint32_t planes, uint32_t blocks)
{
    struct locus_window_config config = {.size = sizeof config, .pool = pool, .rows = rows, .planes = planes, .blocks = blocks};
    struct locus_window *window = NULL;
    int error = locus_window_open(&window, &config);
    cr_assert_eq(error, 0, "open answered %s", strerror(-error));
    return window;
}

static struct locus_window_stats stats_of(const struct locus_window *window)
{
    struct locus_window_stats stats;
    locus_window_stats(window, &stats);
    return stats;
}

// Is there memory at this address? The kernel looks, so that nobody gets SIGSEGV.
static bool is_there(const void *address)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    ssize_t wrote = write(ends[1], address, 1);
    close(ends[0]);
    close(ends[1]);
    return wrote == 1;
}

static char *at(const struct locus_window *window, uint32_t row, uint32_t plane, uint32_t place)
{
    return (char *)locus_window_base(window) + row * locus_window_row_bytes(window) + plane * locus_window_plane_bytes(window) +
           place * PAGE;
}

// Does the row show the table, plane by plane, holes and all that is behind it?
static void shows(const struct world *world, const struct locus_window *window, uint32_t row, const struct locus_table *table)
{
    for (uint32_t plane = 0; plane < PLANES; plane++) {
        for (uint32_t i = 0; i < ROW_BLOCKS; i++) {
            char *seen = at(window, row, plane, i);
            bool shown = i < table->count && table->blocks[i] != LOCUS_BLOCK_NONE;
            cr_assert_eq(is_there(seen), shown, "row %u, plane %u, place %u", row, plane, i);
            if (!shown)
                continue;
            char *block = locus_pool_address(world->pool, table->blocks[i]), mark = (char)(row * 97 + plane * 17 + i + 1);
            memset(block + plane * PAGE, mark, PAGE);
            cr_assert(seen[0] == mark && seen[PAGE - 1] == mark);
            seen[1] = (char)~mark;
            cr_assert_eq(block[plane * PAGE + 1], (char)~mark, "a store goes to the block");
        }
    }
}

static void begin(struct world *world)
{
    struct locus_pool_config pool = windowed(POOL_BLOCKS, BLOCK_BYTES);
    world_open_with(world, &pool, false, 0);
}

Test(window, rows_show_what_their_tables_have_also_after_they_shrink_and_lose_their_first_blocks)
{
    struct world world;
    begin(&world);
    struct locus_window *window = opened(world.pool, 2, PLANES, ROW_BLOCKS);
    struct locus_table *a = world.tables[0], *b = world.tables[1];
    shows(&world, window, 0, a);
    for (uint32_t i = 0; i < 4; i++) { // the two take turns, so that no table's blocks are neighbours
        cr_assert_eq(locus_owner_grow(world.owner, a, 1), 0);
        cr_assert_eq(locus_owner_grow(world.owner, b, 1), 0);
        cr_assert_eq(locus_window_show(window, 0, a), 0);
        cr_assert_eq(locus_window_show(window, 1, b), 0);
        shows(&world, window, 0, a);
        shows(&world, window, 1, b);
    }
    cr_assert_eq(stats_of(window).mapped, 8, "each block once");
    cr_assert_eq(locus_owner_truncate(world.owner, a, 2), 0);
    cr_assert_eq(locus_owner_drop_before(world.owner, b, 32), 0);
    cr_assert_eq(locus_window_show(window, 0, a), 0);
    cr_assert_eq(locus_window_show(window, 1, b), 0);
    shows(&world, window, 0, a);
    shows(&world, window, 1, b);
    cr_assert_eq(stats_of(window).unmapped, 4);
    cr_assert_eq(locus_owner_grow(world.owner, a, 3), 0);
    cr_assert_eq(locus_window_show(window, 0, a), 0);
    shows(&world, window, 0, a);
    cr_assert_eq(locus_window_show(window, 1, a), 0, "any row shows any table");
    shows(&world, window, 1, a);
    cr_assert_eq(locus_window_show(window, 1, NULL), 0);
    shows(&world, window, 1, world.tables[2]);
    cr_assert_eq(stats_of(window).mappings, (a->count + 1) * PLANES);
    locus_window_close(window);
    world_close(&world);
}

static uint64_t mappings_of_process(void)
{
    uint64_t count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    cr_assert(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        count += c == '\n';
    fclose(file);
    return count;
}

Test(window, a_thousand_sequences_that_come_and_go_leave_no_mapping_and_no_block_behind)
{
    struct world world;
    begin(&world);
    struct locus_window *window = opened(world.pool, 4, PLANES, ROW_BLOCKS);
    uint64_t before = mappings_of_process();
    for (uint32_t i = 0; i < 1000; i++) {
        struct locus_table *table = world.tables[i % 4];
        cr_assert_eq(locus_owner_truncate(world.owner, table, 0), 0);
        cr_assert_eq(locus_owner_grow(world.owner, table, 1 + i % ROW_BLOCKS), 0);
        cr_assert_eq(locus_window_show(window, i % 4, table), 0);
        for (uint32_t place = 0; place < table->count; place++)
            at(window, i % 4, 0, place)[0] = (char)i;
        uint64_t now = mappings_of_process();
        cr_assert_leq(now, before + stats_of(window).mappings, "it has not more than it counts");
    }
    for (uint32_t row = 0; row < 4; row++)
        cr_assert_eq(locus_window_show(window, row, NULL), 0);
    cr_assert_eq(stats_of(window).mappings, 0);
    cr_assert_eq(mappings_of_process(), before);
    struct locus_placement placement;
    cr_assert_eq(locus_region_verify(locus_pool_region(world.pool), &placement), 0);
    cr_assert_eq(placement.verified.pages_present, POOL_BLOCKS * PLANES);
    locus_window_close(window);
    cr_assert_lt(mappings_of_process(), before);
    world_close(&world);
}

Test(window, a_child_inherits_neither_what_a_window_shows_nor_the_pool)
{
    struct world world;
    begin(&world);
    struct locus_window *window = opened(world.pool, 1, PLANES, ROW_BLOCKS);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 2), 0);
    cr_assert_eq(locus_window_show(window, 0, world.tables[0]), 0);
    const char *block = locus_pool_address(world.pool, world.tables[0]->blocks[0]);
    cr_assert(is_there(at(window, 0, 0, 0)) && is_there(block));
    pid_t child = fork();
    if (child == 0)
        _exit(is_there(at(window, 0, 0, 0)) || is_there(at(window, 0, 2, 1)) || is_there(block));
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert(is_there(at(window, 0, 2, 1)), "the parent has it still");
    locus_window_close(window);
    world_close(&world);
}

Test(window, what_is_shown_outlives_the_pool)
{
    struct world world;
    begin(&world);
    struct locus_window *window = opened(world.pool, 1, PLANES, ROW_BLOCKS);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), 0);
    cr_assert_eq(locus_window_show(window, 0, world.tables[0]), 0);
    memset(at(window, 0, 1, 0), 0x5a, PAGE);
    world_close(&world);
    cr_assert_eq(at(window, 0, 1, 0)[PAGE - 1], 0x5a);
    locus_window_close(window);
}

// --- refused --------------------------------------------------------------------------------------------------------------------

static void refused(const struct locus_window_config *config, int error, const char *word)
{
    struct locus_window *window;
    char why[400];
    cr_assert_eq(locus_window_open(&window, config), error);
    cr_assert_null(window);
    locus_window_why(config, error, why, sizeof why);
    cr_assert(strstr(why, word), "%s", why);
}

Test(window, open_refuses_with_the_reason)
{
    struct world world;
    begin(&world);
    struct locus_window_config right = {.size = sizeof right, .pool = world.pool, .planes = PLANES, .blocks = 1}, config = right;
    config.pool = NULL;
    refused(&config, -EINVAL, "no pool");
    config = right, config.blocks = 0;
    refused(&config, -EINVAL, "blocks is 0");
    config = right, config.planes = 7;
    refused(&config, -EINVAL, "do not divide");
    config = right, config.planes = 6;
    refused(&config, -EINVAL, "whole pages");
    config = right, config.rows = UINT32_MAX, config.blocks = UINT32_MAX;
    refused(&config, -ENOMEM, "addresses");
    config = right, config.size = 3;
    refused(&config, -EINVAL, "`size`");
    struct locus_pool_config plain = windowed(2, BLOCK_BYTES);
    plain.windows = false;
    struct locus_pool *other;
    cr_assert_eq(locus_pool_open(&other, &plain), 0);
    config = right, config.pool = other;
    refused(&config, -EINVAL, "`windows`");
    locus_pool_close(other);
    plain.windows = true, plain.backing = LOCUS_BACKING_HEAP;
    cr_assert_eq(locus_pool_open(&other, &plain), -EINVAL);
    world_close(&world);
}

Test(window, show_refuses_what_it_cannot_show_and_changes_nothing)
{
    struct world world;
    begin(&world);
    struct locus_window *window = opened(world.pool, 1, PLANES, 2);
    struct locus_window_config config = {.size = sizeof config, .pool = world.pool, .planes = PLANES, .blocks = 2};
    struct locus_table *table = world.tables[0], *foreign = world.tables[1];
    char why[400];
    cr_assert_eq(locus_owner_grow(world.owner, table, 3), 0);
    cr_assert_eq(locus_window_show(window, 0, table), -ENOSPC);
    cr_assert_not(is_there(at(window, 0, 0, 0)));
    locus_window_why(&config, -ENOSPC, why, sizeof why);
    cr_assert(strstr(why, "room for 2 blocks"), "%s", why);
    locus_block elsewhere[] = {locus_block_make(1, 0, 1), locus_block_make(0, POOL_BLOCKS, 1)};
    for (int i = 0; i < 2; i++) {
        foreign->blocks[0] = elsewhere[i];
        foreign->count = 1;
        cr_assert_eq(locus_window_show(window, 0, foreign), -EXDEV);
    }
    cr_assert_eq(locus_window_show(window, 1, table), -EINVAL);
    cr_assert_eq(stats_of(window).mapped, 0);
    foreign->count = 0;
    locus_window_close(window);
    world_close(&world);
}

// One block of many planes, which many rows show.
Test(window, the_process_keeps_mappings_for_everything_else)
{
    enum { MANY = 1024 };
    struct world world;
    struct locus_pool_config pool = windowed(1, (size_t)MANY * PAGE);
    world_open_with(&world, &pool, false, 0);
    struct locus_window *window = opened(world.pool, 64, MANY, 1);
    uint64_t most = stats_of(window).mappings_max;
    locus_window_close(window);
    if (most > 64 * MANY)
        cr_skip_test("vm.max_map_count is too large here to be met");
    uint32_t rows = (uint32_t)(most / MANY) + 1, shown = 0;
    window = opened(world.pool, rows, MANY, 1);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 1), 0);
    int error = 0;
    while (!error && shown < rows)
        if ((error = locus_window_show(window, shown, world.tables[0])) == 0)
            shown++;
    cr_assert_eq(error, -EMLINK);
    cr_assert_leq(stats_of(window).mappings_all, most);
    struct locus_window_config config = {.size = sizeof config, .pool = world.pool, .rows = rows, .planes = MANY, .blocks = 1};
    char why[400];
    locus_window_why(&config, error, why, sizeof why);
    cr_assert(strstr(why, "max_map_count"), "%s", why);
    void *others = malloc(1 << 26); // which is a mapping
    cr_assert(others, "there is room for others");
    free(others);
    cr_assert_eq(locus_window_show(window, 0, NULL), 0);
    cr_assert_eq(locus_window_show(window, shown, world.tables[0]), 0, "and for one row, where another left");
    locus_window_close(window);
    world_close(&world);
}

// Takes all mappings but a few, or gives them back: neighbours have unlike rights, so that the kernel cannot join them.
static bool fill_mappings(char *base, size_t pages, size_t left)
{
    size_t at = 0;
    while (at < pages && mprotect(base + at * PAGE, PAGE, PROT_READ) == 0)
        at += 2;
    for (size_t back = 0; back < left && at >= 2; back++)
        mprotect(base + (at -= 2) * PAGE, PAGE, PROT_NONE);
    return at < pages;
}

// A row of which the kernel refused some planes is whole again once there is room.
Test(window, what_the_kernel_refused_in_the_middle_is_shown_the_next_time)
{
    enum { MANY = 256, PAGES = 1 << 17 };
    struct world world;
    struct locus_pool_config pool = windowed(2, (size_t)MANY * PAGE);
    world_open_with(&world, &pool, false, 0);
    struct locus_window *window = opened(world.pool, 1, MANY, 2);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 2), 0);
    char *filler = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(filler, MAP_FAILED);
    if (!fill_mappings(filler, PAGES, 60))
        cr_skip_test("vm.max_map_count is too large here to be met");
    int error = locus_window_show(window, 0, world.tables[0]);
    uint64_t then = stats_of(window).mappings;
    munmap(filler, (size_t)PAGES * PAGE);
    cr_assert_eq(error, -ENOMEM);
    cr_assert_leq(then, 3 * MANY);
    cr_assert_eq(locus_window_show(window, 0, world.tables[0]), 0);
    for (uint32_t plane = 0; plane < MANY; plane++)
        for (uint32_t block = 0; block < 2; block++)
            cr_assert(is_there(at(window, 0, plane, block)), "plane %u of block %u", plane, block);
    locus_window_close(window);
    world_close(&world);
}

Test(window, the_callers_memory_will_do_if_it_is_shared)
{
    for (int shared = 0; shared < 2; shared++) {
        int kind = shared ? MAP_SHARED : MAP_PRIVATE;
        void *memory = mmap(NULL, 2 * BLOCK_BYTES, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
        struct locus_pool_config config = windowed(2, BLOCK_BYTES);
        config.backing = LOCUS_BACKING_CALLER, config.memory = memory, config.memory_bytes = 2 * BLOCK_BYTES;
        struct world world;
        world_open_with(&world, &config, false, 0);
        struct locus_window_config wanted = {.size = sizeof wanted, .pool = world.pool, .planes = PLANES, .blocks = ROW_BLOCKS};
        struct locus_window *window;
        cr_assert_eq(locus_window_open(&window, &wanted), shared ? 0 : -EINVAL);
        if (shared) {
            cr_assert_eq(locus_owner_grow(world.owner, world.tables[0], 2), 0);
            cr_assert_eq(locus_window_show(window, 0, world.tables[0]), 0);
            shows(&world, window, 0, world.tables[0]);
        }
        locus_window_close(window);
        world_close(&world);
        munmap(memory, 2 * BLOCK_BYTES);
    }
}
