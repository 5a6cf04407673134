// SPDX-License-Identifier: Apache-2.0
//
// cycle-256: 8 requests of 32 blocks are taken and sent home, and the lap ends when all 256 are home. It measures nothing but the
// way home, as the LOCUS paper's first experiments did (0351 to 0353), with 1, 2, 4 or 8 producers that share the 8 requests
// evenly ("cycle-256/none/4w").
#include "testbed/workload/workload.h"

#define REQUESTS 8u
#define REQUEST_BLOCKS 32u
#define POOL_BLOCKS 1024u // four times the cycle: never short

static int cycle_build(struct tb_builder *builder, uint64_t *ticks)
{
    tb_builder_mark_lap(builder);
    for (uint32_t i = 0; i < REQUESTS; i++)
        tb_builder_add(builder, TB_OP_TAKE, i, REQUEST_BLOCKS);
    for (uint32_t i = 0; i < REQUESTS; i++)
        tb_builder_add(builder, TB_OP_RETIRE, i, 0);
    *ticks = 1;
    return tb_builder_mark_epilogue(builder);
}

static const struct tb_workload cycle = {"cycle-256", "256 blocks out and home again, 8 requests of 32", 0, POOL_BLOCKS,
                                         cycle_build};
TB_WORKLOAD(cycle);
