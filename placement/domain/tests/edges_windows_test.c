// SPDX-License-Identifier: Apache-2.0
//
// The edges of windows (edges.h).
#include "placement/domain/tests/edges.h"

#define PAGE 4096u

// A pool of pages that windows can show, and a table with all of them.
static void windowed_open(struct world *world)
{
    struct locus_pool_config pool = pool_usual();
    *world = (struct world){0};
    pool.block_bytes = 4 * PAGE;
    pool.windows = true;
    cr_assert_eq(locus_pool_open(&world->pool, &pool), 0);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 2};
    cr_assert_eq(locus_owner_open(&world->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    world->table = table_usual();
    world->other = table_usual();
    cr_assert_eq(locus_owner_grow(world->owner, world->table, BLOCKS), 0);
}

static void window_tried(const struct locus_window_config *config, bool possible)
{
    struct locus_window *window = (void *)(uintptr_t)1;
    char why[400] = "";
    int error = locus_window_open(&window, config);
    ONE_OF(error, 0, -EINVAL, -ENOMEM, -ENOSYS, -EPERM);
    cr_assert(possible || error, "rows %u planes %u blocks %u", config->rows, config->planes, config->blocks);
    locus_window_why(config, error, why, sizeof why);
    cr_assert(error == 0 || *why);
    locus_window_why(config, error, why, 1);
    if (error)
        cr_assert_null(window);
    else
        cr_assert(locus_window_base(window) && locus_window_row_bytes(window) >= locus_window_plane_bytes(window));
    locus_window_close(window);
}

Test(edges, locus_window_open_takes_or_refuses_each_number)
{
    struct world world;
    windowed_open(&world);
    const struct locus_window_config usual = {.size = sizeof usual, .pool = world.pool, .planes = 2, .blocks = CAPACITY};
    EACH(uint32_t, value, edges32)
    {
        struct locus_window_config config = usual;
        config.rows = value;
        window_tried(&config, true);
        config = usual;
        config.planes = value;
        window_tried(&config, value <= 2 || value == 4);
        config = usual;
        config.blocks = value;
        window_tried(&config, value > 0);
        config.rows = value;
        window_tried(&config, value > 0);
    }
    EACH(uint64_t, size, edges64)
    {
        struct locus_window_config config = usual;
        struct locus_window *window;
        config.size = size;
        if (size != 0 && (size < sizeof(size_t) || size > 4096))
            cr_assert_eq(locus_window_open(&window, &config), -EINVAL);
    }
    struct locus_window_config none = {.size = sizeof none};
    window_tried(&none, false);
    world_close(&world);
}

Test(edges, locus_window_show_refuses_each_row_and_handle_that_is_none)
{
    struct world world;
    windowed_open(&world);
    struct locus_window_config config = {.size = sizeof config, .pool = world.pool, .rows = 3, .planes = 4, .blocks = CAPACITY};
    struct locus_window *window;
    struct locus_window_stats stats;
    cr_assert_eq(locus_window_open(&window, &config), 0);
    EACH(uint32_t, row, edges32)
    {
        cr_assert_eq(locus_window_show(window, row, world.table), row < 3 ? 0 : -EINVAL);
        cr_assert_eq(locus_window_show(window, row, NULL), row < 3 ? 0 : -EINVAL);
    }
    EACH(uint64_t, handle, edges64)
    {
        world.other->blocks[0] = handle;
        world.other->count = 1;
        bool possible = locus_block_home(handle) == 0 && locus_block_index(handle) < BLOCKS;
        cr_assert_eq(locus_window_show(window, 0, world.other), possible ? 0 : -EXDEV);
        cr_assert_eq(locus_window_show(window, 0, NULL), 0);
    }
    world.other->count = 0;
    locus_window_stats(window, &stats);
    cr_assert_eq(stats.mappings, 0);
    EACH(int, error, edges_int)
    {
        char why[400] = "";
        locus_window_why(&config, error, why, sizeof why);
        cr_assert(*why);
    }
    locus_window_close(window);
    locus_window_close(NULL);
    world_close(&world);
}
