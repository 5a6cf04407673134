// SPDX-License-Identifier: Apache-2.0
//
// The edges of blocks/ (edges.h).
#include "placement/domain/tests/edges.h"

#include "locus/inline.h"
#include "placement/base/tests/sanitized.h"

#ifdef SANITIZED
#define HEAP_BYTES_MAX (UINT64_C(1) << 20) // its malloc() ends the program when it cannot have what it is asked for
#else
#define HEAP_BYTES_MAX UINT64_MAX
#endif

static void pool_tried(const struct locus_pool_config *config, bool possible)
{
    struct locus_pool *pool = NULL;
    char why[200] = "";
    int error = locus_pool_open(&pool, config);
    ONE_OF(error, 0, -EINVAL, -ENOMEM, -ENOSYS, -EPERM);
    cr_assert(possible || error == -EINVAL, "blocks %u bytes %zu: %d", config->blocks, config->block_bytes, error);
    locus_pool_why(config, error, why, sizeof why);
    cr_assert(error == 0 || *why);
    locus_pool_why(config, error, why, 1);
    if (error) {
        cr_assert_null(pool);
        return;
    }
    cr_assert_eq(locus_pool_home(pool), config->home);
    cr_assert_eq(locus_pool_block_bytes(pool), config->block_bytes);
    locus_block block = locus_pool_alloc(pool);
    cr_assert_eq(locus_pool_check(pool, block), 0);
    cr_assert_not_null(locus_pool_address(pool, block));
    cr_assert_eq(locus_pool_address_const(pool, block), locus_pool_address_inline(pool, block));
    cr_assert(config->backing == LOCUS_BACKING_HEAP || locus_pool_region(pool));
    cr_assert_eq(locus_pool_free_bulk(pool, 1, &block, 0), 1);
    locus_pool_close(pool);
}

Test(edges, locus_pool_open_takes_or_refuses_each_number)
{
    EACH(uint32_t, value, edges32)
    {
        struct locus_pool_config config = pool_usual();
        config.home = value;
        pool_tried(&config, value < LOCUS_HOMES_MAX);
        config = pool_usual();
        config.generations = value;
        pool_tried(&config, true);
        config = pool_usual();
        config.blocks = value;
        config.block_bytes = value > 64 ? UINT64_C(1) << 40 : 64; // so that what is possible is refused for want of memory
        pool_tried(&config, value > 0 && value <= LOCUS_BLOCKS_MAX);
        for (unsigned field = 0; field < 5; field++) {
            config = pool_usual();
            *(field == 0   ? (uint32_t *)&config.backing
              : field == 1 ? (uint32_t *)&config.reuse
              : field == 2 ? (uint32_t *)&config.page
              : field == 3 ? (uint32_t *)&config.policy
                           : (uint32_t *)&config.node) = value;
            pool_tried(&config, true);
        }
    }
}

Test(edges, locus_pool_open_refuses_products_that_wrap)
{
    EACH(uint64_t, value, edges64)
    {
        unsigned __int128 most = (unsigned __int128)value * BLOCKS;
        struct locus_pool_config config = pool_usual();
        config.block_bytes = value;
        pool_tried(&config, value && most <= UINT64_MAX);
        config.reuse = LOCUS_REUSE_RUNS;
        pool_tried(&config, value && most <= UINT64_MAX);
        config = pool_usual();
        config.stride_bytes = value;
        pool_tried(&config, (value == 0 || value >= BLOCK_BYTES) && most <= UINT64_MAX);
        config = pool_usual();
        config.blocks = 1;
        config.block_bytes = value;
        config.backing = LOCUS_BACKING_HEAP;
        if (value <= HEAP_BYTES_MAX)
            pool_tried(&config, value > 0);
        config = pool_usual();
        config.backing = LOCUS_BACKING_CALLER;
        config.memory = (void *)(uintptr_t)-4096;
        config.memory_bytes = value;
        pool_tried(&config, false);
        config = pool_usual();
        config.size = value;
        struct locus_pool *pool;
        if (value != 0 && (value < sizeof(size_t) || value > 4096))
            cr_assert_eq(locus_pool_open(&pool, &config), -EINVAL);
    }
}

Test(edges, a_pool_refuses_any_number_as_a_handle)
{
    struct world world;
    world_open(&world);
    locus_block out[BLOCKS + 1];
    book(&world);
    EACH(uint64_t, handle, edges64)
    {
        int error = locus_pool_check(world.pool, handle);
        ONE_OF(error, -EXDEV, -ERANGE, -ESTALE);
        cr_assert_eq(locus_pool_holders(world.pool, handle), 0);
        cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &handle, handle), 0);
        cr_assert_eq(locus_block_make(locus_block_home(handle), locus_block_index(handle), locus_block_generation(handle)), handle);
        unchanged(&world);
    }
    cr_assert_eq(world.reports, sizeof edges64 / sizeof *edges64);
    EACH(uint32_t, count, edges32)
    {
        if (count <= BLOCKS - 3 && count) // tried below
            continue;
        cr_assert_eq(locus_pool_alloc_bulk(world.pool, count, out), count ? -ENOMEM : 0);
        cr_assert_eq(locus_pool_has(locus_pool_hot(world.pool), count), false);
        unchanged(&world);
    }
    cr_assert_eq(locus_pool_free_bulk(world.pool, 0, NULL, 0), 0);
    unchanged(&world);
    cr_assert_eq(locus_pool_alloc_bulk(world.pool, 4, out), 0);
    out[4] = locus_pool_alloc_inline(world.pool);
    cr_assert_eq(locus_pool_alloc(world.pool), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_pool_alloc_slow(world.pool), LOCUS_BLOCK_NONE);
    cr_assert_not(locus_pool_has_one(locus_pool_hot(world.pool)));
    cr_assert_eq(locus_pool_free_bulk(world.pool, 5, out, UINT64_MAX), 5);
    world_close(&world);
}

static void counted(void *context, locus_block block, uint64_t tag)
{
    (void)block;
    (void)tag;
    ++*(unsigned *)context;
}

Test(edges, locus_pool_each_out_counts_holders)
{
    struct world world;
    unsigned calls = 0;
    uint32_t count;
    world_open(&world);
    cr_assert_eq(locus_owner_fork(world.owner, world.table, world.other), 0);
    cr_assert_eq(locus_pool_each_out(world.pool, counted, &calls, &count), 0);
    cr_assert(count == 6 && calls == 6);
    world_close(&world);
}

Test(edges, locus_owner_open_has_a_limit_of_lanes)
{
    struct locus_pool_config config = pool_usual();
    struct locus_pool *pool;
    char why[200];
    cr_assert_eq(locus_pool_open(&pool, &config), 0);
    EACH(uint32_t, lanes, edges32)
    EACH(uint64_t, wait_ns, edges64)
    {
        struct locus_owner *owner = NULL;
        struct locus_owner_config given = {.size = sizeof given, .pool = pool, .lanes = lanes, .wait_ns = wait_ns};
        int error = locus_owner_open(&owner, &given);
        cr_assert_eq(error, lanes && lanes <= LOCUS_LANES_MAX ? 0 : -EINVAL);
        locus_owner_why(&given, error, why, sizeof why);
        cr_assert_eq(locus_owner_close(owner), 0);
    }
    locus_pool_close(pool);
}

Test(edges, tables_of_any_size_are_laid_out_or_refused)
{
    _Alignas(LOCUS_CACHE_LINE) char memory[4096];
    EACH(uint32_t, homes, edges32)
    EACH(uint32_t, capacity, edges32)
    {
        unsigned __int128 least = (unsigned __int128)capacity * sizeof(locus_block) + homes * sizeof(struct locus_link);
        size_t bytes = locus_table_bytes(homes, capacity);
        cr_assert(bytes >= least && bytes % LOCUS_CACHE_LINE == 0 && bytes <= least + 1024);
        EACH(uint32_t, tokens, edges32)
        {
            int error = locus_table_init(memory, homes, capacity, tokens);
            cr_assert_eq(error, homes && homes <= LOCUS_HOMES_MAX && capacity && tokens ? 0 : -EINVAL);
            cr_assert_eq(locus_table_init(memory + 8, homes, capacity, tokens), -EINVAL);
            cr_assert_eq(locus_table_init(NULL, homes, capacity, tokens), -EINVAL);
            EACH(uint64_t, position, edges64)
            {
                if (error)
                    break;
                const struct locus_table *table = (const struct locus_table *)(const void *)memory;
                unsigned __int128 blocks = ((unsigned __int128)position + tokens - 1) / tokens;
                cr_assert(blocks == locus_table_blocks_for(table, position));
                cr_assert_eq(locus_table_at(table, position), LOCUS_BLOCK_NONE);
            }
        }
    }
}

Test(edges, a_table_takes_any_handle_of_its_homes_and_any_array_that_holds_what_it_has)
{
    struct world world;
    locus_block array[CAPACITY], *unused;
    world_open(&world);
    EACH(uint64_t, handle, edges64)
    {
        uint32_t before = world.other->count, full = before == world.other->capacity;
        int error = locus_table_append(world.other, handle);
        cr_assert_eq(error, !handle ? -EINVAL : locus_block_home(handle) >= 2 ? -EXDEV : full ? -ENOSPC : 0);
        cr_assert_eq(locus_table_count(world.other), before + !error);
        locus_table_set_tag(world.table, handle);
        cr_assert_eq(locus_table_tag(world.table), handle);
    }
    world.other->count = 0;
    book(&world);
    EACH(uint32_t, capacity, edges32)
    {
        if (capacity >= 3)
            continue;
        cr_assert_eq(locus_table_extend(world.table, array, capacity, &unused), -EINVAL);
        cr_assert_null(unused);
        cr_assert_eq(locus_table_extend(world.table, NULL, capacity + 8, &unused), -EINVAL);
        unchanged(&world);
    }
    cr_assert_eq(locus_table_extend(world.table, array, CAPACITY, &unused), 0);
    cr_assert_eq(world.table->blocks, array);
    cr_assert_eq(locus_table_at(world.table, 2 * TOKENS), array[2]);
    cr_assert_eq(locus_table_extend(world.table, array, UINT32_MAX, &unused), 0, "the caller says that it is so large");
    world.table->capacity = CAPACITY;
    cr_assert_eq(locus_owner_truncate(world.owner, world.table, 0), 0);
    world_close(&world);
}

Test(edges, a_window_may_begin_at_any_position)
{
    struct world world;
    world_open(&world);
    EACH(uint64_t, position, edges64)
    {
        uint64_t blocks = position / TOKENS;
        cr_assert_eq(locus_owner_drop_before(world.owner, world.table, position), 0);
        cr_assert_eq(locus_table_dropped(world.table), blocks < 3 ? blocks : 3);
        cr_assert_eq(locus_table_count(world.table), 3);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 0), 0);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, 3), 0);
    }
    world_close(&world);
}

typedef int grow_fn(struct locus_owner *owner, struct locus_table *table, uint32_t count);

Test(edges, a_grow_of_any_count_takes_all_or_nothing)
{
    grow_fn *const grows[] = {locus_owner_grow, locus_owner_grow_inline, locus_owner_grow_slow};
    struct world world;
    world_open(&world);
    for (unsigned i = 0; i < 3; i++)
        EACH(uint32_t, count, edges32)
        {
            book(&world);
            int error = grows[i](world.owner, world.table, count);
            cr_assert_eq(error, count <= CAPACITY - 3 ? 0 : -ENOSPC, "%u: %d", count, error);
            cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
            if (error)
                unchanged(&world);
            cr_assert_not(locus_owner_grow_fast(world.owner, world.table, count) && count > CAPACITY - 3);
            cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
        }
    cr_assert_eq(locus_owner_grow(world.owner, world.table, CAPACITY - 3), 0);
    cr_assert_not(locus_owner_grow_one_fast(world.owner, world.table));
    cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.table), 0);
    EACH(uint32_t, count, edges32)
    {
        book(&world);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, count), -EINVAL, "it is retired");
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, count), -EINVAL);
        cr_assert_eq(locus_owner_retire(world.owner, world.table), -EINVAL);
        unchanged(&world);
        cr_assert_eq(locus_owner_leave(world.owner), 0);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, count), -EPERM, "the role is nobody's");
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, count), -EPERM);
        cr_assert_eq(locus_owner_retire(world.owner, world.table), -EPERM);
        cr_assert_eq(locus_owner_drain_some(world.owner, count), 0);
        cr_assert_eq(locus_owner_drain(world.owner) + locus_owner_drain_inline(world.owner), 0);
        cr_assert_eq(locus_owner_drain_slow(world.owner), 0);
        cr_assert_null(locus_owner_next_reclaimed(world.owner));
        cr_assert_null(locus_owner_next_reclaimed_inline(world.owner));
        cr_assert_null(locus_owner_next_reclaimed_slow(world.owner));
        unchanged(&world);
        cr_assert_eq(locus_owner_adopt(world.owner), 0);
        cr_assert_eq(locus_owner_adopt(world.owner), -EBUSY);
    }
    world_close(&world);
}

Test(edges, a_truncate_keeps_any_number)
{
    struct world world;
    world_open(&world);
    EACH(uint32_t, keep, edges32)
    {
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, keep), 0);
        cr_assert_eq(world.table->count, keep < 3 ? keep : 3);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 0), 0);
        cr_assert_eq(locus_owner_retire(world.owner, world.table), -ENODATA);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, 3), 0);
    }
    world_close(&world);
}

Test(edges, a_drain_takes_any_budget_and_a_route_any_lane)
{
    struct world world;
    world_open(&world);
    struct locus_route *route = locus_route_new();
    EACH(uint32_t, lane, edges32)
    {
        cr_assert_eq(locus_route_add(route, world.owner, lane), lane < 2 ? 0 : -EINVAL);
        cr_assert_eq(locus_route_add_exclusive(route, world.owner, lane), lane < 2 ? -EBUSY : -EINVAL);
    }
    cr_assert_eq(locus_table_push(route, world.table), -EINVAL, "it is not retired");
    cr_assert_eq(locus_table_push_inline(route, world.table), -EINVAL);
    cr_assert_eq(locus_table_push_slow(route, world.table), -EINVAL);
    EACH(uint32_t, budget, edges32)
    {
        uint32_t freed = 0;
        cr_assert_eq(locus_owner_retire(world.owner, world.table), 0);
        cr_assert_eq(locus_table_push(route, world.table), 0);
        freed += locus_owner_drain_some(world.owner, budget);
        cr_assert_eq(freed, budget < 3 ? budget : 3);
        freed += locus_owner_drain(world.owner);
        cr_assert_eq(freed, 3);
        cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.table);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, 3), 0);
    }
    locus_route_free(route);
    world_close(&world);
}

static int ends(struct locus_owner *owner, void *context)
{
    (void)context;
    return locus_owner_held_here(owner) ? 5 : 6;
}

Test(edges, a_thread_is_spawned_on_any_node_that_there_is)
{
    struct world world;
    int result = 0;
    world_open(&world);
    cr_assert_eq(locus_owner_spawn(world.owner, LOCUS_NODE_ANY, ends, NULL), -EBUSY, "the role is held");
    cr_assert_eq(locus_owner_leave(world.owner), 0);
    cr_assert_eq(locus_owner_join(world.owner, &result), -EINVAL);
    EACH(int, node, edges_int)
    {
        int error = locus_owner_spawn(world.owner, node, ends, NULL);
        ONE_OF(error, 0, -EINVAL, -ENODEV, -EPERM);
        cr_assert_eq(locus_owner_join(world.owner, &result), error ? -EINVAL : 0);
        cr_assert(error || result == 5);
        cr_assert(node >= 0 ? node < 1024 || error == -ENODEV : error == (node == LOCUS_NODE_ANY ? 0 : -EINVAL));
    }
    world_close(&world);
}

Test(edges, the_version_is_that_of_the_headers)
{
    cr_assert_eq(locus_version(), LOCUS_VERSION_NUMBER);
    locus_cpu_relax();
}
