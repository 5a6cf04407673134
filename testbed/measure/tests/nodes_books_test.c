// SPDX-License-Identifier: Apache-2.0
//
// nodes_books: who wrote and freed what, by where the pages are at that moment, in an invented world of two nodes.
#include "testbed/measure/nodes/books.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define BLOCKS 200u             // more than are asked about at once
#define LINES (PAGE / 64u)

static _Alignas(PAGE) char memory[BLOCKS][PAGE];
static struct {
    int cpu, node_of[BLOCKS], kept_on, refusal;
    uint32_t station;           // the last that kept_on was asked about
} world;

static struct locus_topo *topo;
static struct locus_table *table;
static struct tb_books books;
static struct tb_nodes_sample sample;

static int world_cpu(void *context)
{
    (void)context;
    return world.cpu;
}

static int world_pages(void *context, size_t count, void *const pages[], int nodes[])
{
    (void)context;
    for (size_t i = 0; i < count && !world.refusal; i++)
        nodes[i] = world.node_of[((char *)pages[i] - memory[0]) / PAGE];
    return world.refusal;
}

static void *address(void *context, locus_block block)
{
    (void)context;
    return memory[block];
}

static int kept_on(void *context, uint32_t station, locus_block block)
{
    (void)context, (void)block;
    world.station = station;
    return world.kept_on;
}

static const struct tb_nodes_ops ops = {.address = address, .kept_on = kept_on};

static void open_books(struct tb_books *out)
{
    const struct tb_locality_world asked = {world_cpu, world_pages, NULL};
    struct tb_locality_config config = {.topo = topo, .pages_max = 1024, .pending_max = 1024, .points_max = 4, .world = &asked};
    cr_assert_eq(tb_books_open(out, &config, &ops, NULL, PAGE), 0);
}

// The first half of the blocks is on node 0, the other on node 1; CPU 0 is on node 0, CPU 1 on node 1.
static void begin(void)
{
    cr_assert_eq(locus_topo_open(&topo, "pack:2 [numa(memory=1GB)] core:1 pu:1", NULL, 0), 0);
    memset(&world, 0, sizeof world);
    sample = (struct tb_nodes_sample){.count = 2, .node = {{.os = 0}, {.os = 1}}};
    table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, BLOCKS));
    cr_assert(table && locus_table_init(table, 1, BLOCKS, 1) == 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        world.node_of[i] = i >= BLOCKS / 2;
        table->blocks[table->count++] = i;
    }
    world.kept_on = TB_LOCALITY_HERE;
    open_books(&books);
}

static void end(void)
{
    tb_books_close(&books);
    free(table);
    locus_topo_close(topo);
}

TestSuite(nodes_books, .init = begin, .fini = end);

static void sum(void)
{
    struct tb_books *all[] = {&books};
    cr_assert_eq(tb_books_sum(all, 1, &sample), 0);
}

Test(nodes_books, what_was_written_is_counted_from_the_first_new_block_on)
{
    tb_books_written(&books, table, 70);
    sum();
    cr_expect_eq(sample.allocations.pair[0][0], 30);
    cr_expect_eq(sample.allocations.pair[0][1], 100);
    cr_expect_eq(sample.touches.pair[0][0], 30 * LINES);
    cr_expect_eq(sample.touches.pair[0][1], 100 * LINES);
    cr_expect_eq(sample.touches.pair[1][0] + sample.touches.pair[1][1] + sample.touches.unknown, 0);
    cr_expect_eq(sample.frees.pair[0][0] + sample.frees.pair[0][1], 0);
}

Test(nodes_books, a_page_counts_where_it_is_now_and_not_where_it_was)
{
    tb_books_written(&books, table, 190);
    world.node_of[195] = 0; // given back to the kernel and touched again by another node's CPU, say
    world.cpu = 1;
    tb_books_written(&books, table, 190);
    sum();
    cr_expect_eq(sample.touches.pair[0][1], 10 * LINES);
    cr_expect_eq(sample.touches.pair[1][1], 9 * LINES);
    cr_expect_eq(sample.touches.pair[1][0], LINES);
    cr_expect_eq(sample.pages_moved, 1);
}

Test(nodes_books, a_free_counts_by_who_finishes_and_where_the_block_goes)
{
    const struct {
        int kept_on;
        uint64_t abroad; // of 100 blocks on either node
    } cases[] = {{TB_LOCALITY_HERE, 100}, {0, 100}, {1, 100}, {TB_LOCALITY_UNKNOWN, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        end();
        begin();
        world.cpu = 1;
        world.kept_on = cases[i].kept_on;
        tb_books_finishing(&books, 7, table);
        sum();
        cr_expect_eq(world.station, 7);
        cr_expect_eq(sample.frees.pair[1][0], 100);
        cr_expect_eq(sample.frees.pair[1][1], 100);
        cr_expect_eq(sample.frees.pair[0][0] + sample.frees.pair[0][1] + sample.frees.unknown, 0);
        cr_expect_eq(sample.frees_abroad, cases[i].abroad, "case %u: %lu", i, (unsigned long)sample.frees_abroad);
    }
}

Test(nodes_books, of_a_contender_that_does_not_say_where_it_keeps_blocks_nothing_is_abroad)
{
    const struct tb_nodes_ops silent = {.address = address};
    books.ops = &silent;
    world.cpu = 1;
    tb_books_finishing(&books, 0, table);
    sum();
    cr_expect_eq(sample.frees.pair[1][0], 100);
    cr_expect_eq(sample.frees.pair[1][1], 100);
    cr_expect_eq(sample.frees_abroad, 0);
}

Test(nodes_books, what_goes_home_is_not_abroad)
{
    table->count = BLOCKS / 2;
    world.cpu = 1;
    world.kept_on = 0; // where they lie
    tb_books_finishing(&books, 0, table);
    sum();
    cr_expect_eq(sample.frees.pair[1][0], 100);
    cr_expect_eq(sample.frees_abroad, 0);
}

Test(nodes_books, the_first_refusal_is_kept_and_its_counts_are_unknown)
{
    world.refusal = -EPERM;
    tb_books_written(&books, table, 198);
    world.refusal = -ENOSYS;
    tb_books_finishing(&books, 0, table);
    tb_books_step(&books);
    sum();
    cr_expect_eq(books.error, -EPERM);
    cr_expect_eq(sample.touches.unknown, 2 * LINES);
    cr_expect_eq(sample.allocations.unknown, 2);
    cr_expect_eq(sample.frees.unknown, BLOCKS);
}

Test(nodes_books, sums_of_several_threads_add_up_point_by_point)
{
    struct tb_books other, *all[] = {&books, &other};
    open_books(&other);
    tb_books_written(&books, table, 199);
    tb_books_step(&books);
    tb_books_step(&books); // nothing was handed out
    tb_books_written(&books, table, 190);
    world.cpu = 1;
    tb_books_written(&other, table, 100);
    tb_books_step(&other);
    tb_books_step(&books);
    cr_assert_eq(tb_books_sum(all, 2, &sample), 0);
    cr_expect_eq(sample.points_count, 3, "the steps after the last block are no points");
    cr_expect_eq(sample.points[0].allocated, 1 + 100);
    cr_expect_eq(sample.points[0].wandered, 1);
    cr_expect_eq(sample.points[1].allocated, 0);
    cr_expect_eq(sample.points[2].allocated, 10);
    cr_expect_eq(sample.points[2].wandered, 10);
    cr_expect_eq(sample.allocations.pair[1][1], 100);
    tb_books_close(&other);
}
