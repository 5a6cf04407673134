// SPDX-License-Identifier: Apache-2.0
//
// windows_bench: what it costs to show scattered blocks as one array, against a copy of them. Started by `make bench-windows`.
//
//   windows_bench [ROUNDS]       30 rounds, for blocks of 64 KiB, 256 KiB and 2 MiB
//
//   a block          to map it, as one plane and as many of 4 KiB; to unmap it; to copy it, which is what else makes an array
//   a step           to read a context of 64 MiB: in the pool block by block, through a window, and from a copy that is made first.
//                    A copy is made in each step, a mapping once in as many steps as a block has tokens
//
// Ratios are the other way's time over the first one's. Exit status: 0, or 2: cannot measure.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/owner.h"
#include "locus/window.h"
#include "testbed/stats/random.h"
#include "testbed/stats/tests/contest.h"

#define CONTEXT_BYTES ((size_t)64 << 20)
#define PAGE_BYTES 4096u
#define LINE_WORDS 8u

struct world {
    size_t block_bytes;
    uint32_t blocks;            // of the context; the pool has twice as many, so that they can lie anywhere in it
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_table *table, *none;
    struct locus_window *whole, *by_page; // of one plane; of a plane for each page
    char *copy;
};

static volatile uint64_t sink;

static struct locus_table *table_of(uint32_t blocks)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, blocks));
    CONTEST_NEED(!table || locus_table_init(table, 1, blocks, 1));
    return table;
}

// Every second block of a random order goes to the table.
static void scatter(struct world *world)
{
    uint64_t random = 1;
    struct locus_table *all = table_of(2 * world->blocks);
    CONTEST_NEED(locus_owner_grow(world->owner, all, 2 * world->blocks));
    for (uint32_t i = 2 * world->blocks - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(tb_random_next(&random) % (i + 1));
        locus_block block = all->blocks[i];
        all->blocks[i] = all->blocks[other];
        all->blocks[other] = block;
    }
    for (uint32_t i = 0; i < world->blocks; i++)
        CONTEST_NEED(locus_table_append(world->table, all->blocks[2 * i]));
    free(all);
}

static void world_open(struct world *world, size_t block_bytes)
{
    *world = (struct world){.block_bytes = block_bytes, .blocks = (uint32_t)(CONTEXT_BYTES / block_bytes)};
    struct locus_pool_config pool = {.size = sizeof pool,
                                     .blocks = 2 * world->blocks,
                                     .block_bytes = block_bytes,
                                     .node = LOCUS_NODE_ANY,
                                     .windows = true};
    CONTEST_NEED(locus_pool_open(&world->pool, &pool));
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 1};
    CONTEST_NEED(locus_owner_open(&world->owner, &owner));
    CONTEST_NEED(locus_owner_adopt(world->owner));
    struct locus_window_config window = {.size = sizeof window, .pool = world->pool, .blocks = world->blocks};
    CONTEST_NEED(locus_window_open(&world->whole, &window));
    window.planes = (uint32_t)(block_bytes / PAGE_BYTES);
    CONTEST_NEED(locus_window_open(&world->by_page, &window));
    world->table = table_of(world->blocks);
    world->none = table_of(1);
    world->copy = aligned_alloc(PAGE_BYTES, CONTEXT_BYTES);
    CONTEST_NEED(!world->copy);
    memset(world->copy, 1, CONTEXT_BYTES);
    scatter(world);
}

static void world_close(struct world *world)
{
    locus_window_close(world->whole);
    locus_window_close(world->by_page);
    CONTEST_NEED(locus_owner_leave(world->owner));
    CONTEST_NEED(locus_owner_close(world->owner));
    locus_pool_close(world->pool);
    free(world->table);
    free(world->none);
    free(world->copy);
}

// --- a block --------------------------------------------------------------------------------------------------------------------

// One by one, as a sequence grows.
static double map_each(const struct world *world, struct locus_window *window)
{
    uint32_t count = world->table->count;
    CONTEST_NEED(locus_window_show(window, 0, NULL));
    double begin_ns = contest_now_ns();
    for (world->table->count = 1; world->table->count <= count; world->table->count++)
        CONTEST_NEED(locus_window_show(window, 0, world->table));
    double end_ns = contest_now_ns();
    world->table->count = count;
    CONTEST_NEED(locus_window_show(window, 0, NULL));
    return (end_ns - begin_ns) / count;
}

static double map_measure(void *context)
{
    struct world *world = context;
    return map_each(world, world->whole);
}

static double map_pages_measure(void *context)
{
    struct world *world = context;
    return map_each(world, world->by_page);
}

// From the end, as a sequence is cut; what is left shows a block at the front.
static double unmap_measure(void *context)
{
    struct world *world = context;
    uint32_t count = world->table->count;
    CONTEST_NEED(locus_window_show(world->whole, 0, world->table));
    double begin_ns = contest_now_ns();
    while (world->table->count > 1) {
        world->table->count--;
        CONTEST_NEED(locus_window_show(world->whole, 0, world->table));
    }
    double end_ns = contest_now_ns();
    world->table->count = count;
    return (end_ns - begin_ns) / (count - 1);
}

static void gather(const struct world *world)
{
    for (uint32_t i = 0; i < world->table->count; i++)
        memcpy(world->copy + i * world->block_bytes, locus_pool_address(world->pool, world->table->blocks[i]), world->block_bytes);
}

static double copy_measure(void *context)
{
    struct world *world = context;
    double begin_ns = contest_now_ns();
    gather(world);
    return (contest_now_ns() - begin_ns) / world->table->count;
}

// --- a step ---------------------------------------------------------------------------------------------------------------------

static uint64_t sum_of(const char *memory, size_t bytes)
{
    const uint64_t *words = (const void *)memory;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *words; i += LINE_WORDS)
        for (size_t j = 0; j < LINE_WORDS; j++)
            sum += words[i + j];
    return sum;
}

static double read_pool_measure(void *context)
{
    struct world *world = context;
    double begin_ns = contest_now_ns();
    for (uint32_t i = 0; i < world->table->count; i++)
        sink = sum_of(locus_pool_address(world->pool, world->table->blocks[i]), world->block_bytes);
    return contest_now_ns() - begin_ns;
}

static double read_window(const struct world *world, struct locus_window *window)
{
    CONTEST_NEED(locus_window_show(window, 0, world->table));
    double begin_ns = contest_now_ns();
    sink = sum_of(locus_window_base(window), CONTEXT_BYTES);
    return contest_now_ns() - begin_ns;
}

static double read_window_measure(void *context)
{
    struct world *world = context;
    return read_window(world, world->whole);
}

static double read_pages_measure(void *context)
{
    struct world *world = context;
    return read_window(world, world->by_page);
}

static double read_copy_measure(void *context)
{
    struct world *world = context;
    double begin_ns = contest_now_ns();
    gather(world);
    sink = sum_of(world->copy, CONTEXT_BYTES);
    return contest_now_ns() - begin_ns;
}

static void measure(size_t block_bytes, uint32_t rounds)
{
    struct world world;
    char block[64], step[64];
    world_open(&world, block_bytes);
    snprintf(block, sizeof block, "a block of %zu KiB, ns", block_bytes >> 10);
    snprintf(step, sizeof step, "a step: 64 MiB in blocks of %zu KiB, ns", block_bytes >> 10);
    struct contest blocks = {.title = block,
                             .rounds = rounds,
                             .arms = {{"map", map_measure, &world, CONTEST_NONE, 0},
                                      {"map, planes of 4 KiB", map_pages_measure, &world, CONTEST_NONE, 0},
                                      {"unmap", unmap_measure, &world, CONTEST_NONE, 0},
                                      {"copy", copy_measure, &world, CONTEST_NONE, 0}},
                             .arms_count = 4};
    struct contest steps = {.title = step,
                            .rounds = rounds,
                            .arms = {{"read through a window", read_window_measure, &world, CONTEST_NONE, 0},
                                     {"the same, planes of 4 KiB", read_pages_measure, &world, CONTEST_NONE, 0},
                                     {"read in the pool", read_pool_measure, &world, CONTEST_NONE, 0},
                                     {"copy, then read", read_copy_measure, &world, CONTEST_NONE, 0}},
                            .arms_count = 4};
    contest_run(&blocks);
    contest_run(&steps);
    world_close(&world);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 30;
    if (rounds == 0 || rounds > CONTEST_ROUNDS_MAX) {
        fprintf(stderr, "usage: windows_bench [ROUNDS]: 1 to %u\n", CONTEST_ROUNDS_MAX);
        return 2;
    }
    for (size_t kib = 64; kib <= 2048; kib *= kib == 64 ? 4 : 8)
        measure(kib << 10, rounds);
    return 0;
}
