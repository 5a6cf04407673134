// SPDX-License-Identifier: Apache-2.0
//
// adjacency: of the blocks that have a successor in their table, the share that is followed by its neighbour in memory. The toy has
// a fixed place for a table's i-th block, so that the share is known.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "testbed/measure/contender.h"
#include "testbed/measure/tests/toy_pool.h"

#define BYTES TOY_POOL_BLOCK_BYTES

// Behind its neighbour; a cache line behind it, and so still its neighbour; a byte more; before it; the same.
static const size_t places[] = {0, BYTES, 2 * BYTES + 64, 3 * BYTES + 129, 2 * BYTES, 2 * BYTES};
static char memory[8 * BYTES];
static uint64_t taken, freed, requests;

static int toy_order_open(const struct tb_setup *setup, void **out)
{
    (void)setup;
    taken = freed = requests = 0;
    *out = memory;
    return 0;
}

static void toy_order_close(void *context)
{
    (void)context;
}

static int toy_order_take(void *context, struct locus_table *table, uint32_t count)
{
    (void)context;
    for (uint32_t i = 0; i < count; i++, table->count++)
        table->blocks[table->count] = (locus_block)(uintptr_t)(memory + places[table->count]);
    taken += count;
    return 0;
}

static void toy_order_finish(void *context, uint32_t worker, struct locus_table *table)
{
    (void)context, (void)worker;
    freed += table->count;
    requests++;
    table->count = 0;
}

static uint64_t toy_order_freed(void *context)
{
    (void)context;
    return freed;
}

static void toy_order_audit(void *context, struct tb_audit *out)
{
    (void)context;
    *out = (struct tb_audit){.allocated = taken, .freed = freed, .drained = requests};
}

static const struct tb_ops toy_order_ops = {
    .open = toy_order_open,
    .close = toy_order_close,
    .take = toy_order_take,
    .address = toy_pool_address,
    .retire = toy_pool_retire,
    .finish = toy_order_finish,
    .drain = toy_pool_drain,
    .freed = toy_order_freed,
    .audit = toy_order_audit,
};
TB_DRIVER(toy_order_ops);
static const struct tb_contender toy = {.name = "toy", .frees_on_worker = true, .driver = &toy_order_ops_driver};

// Of a lap in which a request of `prompt` blocks grows by `growth`, and another has one block.
static struct tb_sample sample_of(uint32_t prompt, uint32_t growth)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;
    struct tb_job job = {.touch = TB_TOUCH_NONE, .laps = 3, .workers = 1, .block_bytes = BYTES};
    cr_assert_eq(tb_builder_open(&builder), 0);
    tb_builder_mark_lap(builder);
    tb_builder_add(builder, TB_OP_TAKE, 0, prompt);
    tb_builder_add(builder, TB_OP_TAKE, 1, 1);
    for (uint32_t i = 0; i < growth; i++)
        tb_builder_add(builder, TB_OP_TAKE, 0, 1);
    tb_builder_add(builder, TB_OP_RETIRE, 0, 0);
    tb_builder_add(builder, TB_OP_RETIRE, 1, 0);
    tb_builder_mark_epilogue(builder);
    cr_assert_eq(tb_builder_pack(builder, "order", TOY_POOL_BLOCKS, &schedule), 0);
    tb_builder_close(builder);
    cr_assert_eq(tb_engine_run(&job, &toy, schedule), 0);
    cr_expect(job.sample.valid, "%s", job.sample.invalid);
    free(schedule);
    return job.sample;
}

Test(adjacency, is_the_share_of_blocks_that_are_followed_by_their_neighbour)
{
    const double expected[] = {1, 1, 2. / 3, 2. / 4, 2. / 5};
    for (uint32_t blocks = 2; blocks <= 6; blocks++) {
        for (uint32_t growth = 0; growth < blocks; growth++) {
            struct tb_sample sample = sample_of(blocks - growth, growth);
            cr_expect(sample.adjacency_known);
            cr_expect_float_eq(sample.adjacency, expected[blocks - 2], 1e-12, "%u blocks: %f", blocks, sample.adjacency);
        }
    }
}

Test(adjacency, of_single_blocks_is_unknown)
{
    struct tb_sample sample = sample_of(1, 0);
    cr_expect_not(sample.adjacency_known);
    cr_expect_eq(sample.adjacency, 0);
}
