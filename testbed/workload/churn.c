// SPDX-License-Identifier: Apache-2.0
//
// churn-touch of LOCUS-EVAL v1: 256 chunks of 16 blocks are alive, and each step replaces the oldest one. With 4 KiB blocks, 16
// MiB live in a pool of 64 MiB. The drains of two neighbouring steps are adjacent; both are kept, because a worker may push
// between them.
#include "testbed/workload/workload.h"

enum {
    CHUNK_BLOCKS = 16,
    LIVE = 256, // chunks
    STEPS = 64, // in a lap
    SLOTS = LIVE + STEPS,
    // A rotation ends where it began: after 20 * 64 = 1280 chunks = lcm(320, 256), the next chunk has the first slot again and
    // the first place among the 256 live ones (where an allocator with instant frees would put it).
    LAPS = 20,
    POOL_BLOCKS = 16384,
};

static void churn_step(struct tb_builder *builder, uint32_t chunk)
{
    tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
    tb_builder_add(builder, TB_OP_RETIRE, (chunk - LIVE) % SLOTS, 0);
    tb_builder_add(builder, TB_OP_TAKE, chunk % SLOTS, CHUNK_BLOCKS);
    tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
}

static int churn_build(struct tb_builder *builder, uint64_t *ticks)
{
    uint32_t chunk = 0;
    for (; chunk < LIVE; chunk++)
        tb_builder_add(builder, TB_OP_TAKE, chunk, CHUNK_BLOCKS);
    for (uint32_t lap = 0; lap < LAPS; lap++) {
        tb_builder_mark_lap(builder);
        for (uint32_t step = 0; step < STEPS; step++, chunk++)
            churn_step(builder, chunk);
    }
    tb_builder_mark_epilogue(builder);
    for (uint32_t i = 0; i < LIVE; i++)
        tb_builder_add(builder, TB_OP_RETIRE, (chunk - LIVE + i) % SLOTS, 0);
    *ticks = STEPS;
    return 0;
}

static const struct tb_workload churn = {"churn-touch", "256 live chunks of 16 blocks, each step replaces the oldest", 1,
                                         POOL_BLOCKS, churn_build};
TB_WORKLOAD(churn);
