// SPDX-License-Identifier: Apache-2.0
//
// stations_world: an invented machine for the books of the stations' tests: four nodes with a CPU each, station s and its blocks
// on node s. And a schedule.
#ifndef TB_TESTS_STATIONS_WORLD_H
#define TB_TESTS_STATIONS_WORLD_H

#include <errno.h>

#include "placement/base/tests/litmus.h"
#include "testbed/measure/tests/toy.h"

static inline int fixture_world_cpu(void *context)
{
    (void)context;
    return fixture_cpu;
}

static inline int fixture_world_pages(void *context, size_t count, void *const pages[], int nodes[])
{
    const struct toy *toy = context;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)((char *)pages[i] - (char *)toy->memory);
        nodes[i] = at < TOY_STATIONS * sizeof *toy->memory ? (int)(at / sizeof *toy->memory) : -ENOENT;
    }
    return 0;
}

// `requests` of `blocks` each in a lap, in slots of their own, half of them alive at once.
static inline struct tb_schedule *fixture_schedule(uint32_t requests, uint32_t blocks)
{
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    uint32_t alive = requests / 2 + 1;
    int error = tb_builder_open(&builder) | tb_builder_mark_lap(builder);
    for (uint32_t i = 0; i < requests + alive; i++) {
        if (i < requests)
            error |= tb_builder_add(builder, TB_OP_TAKE, i, blocks);
        if (i >= alive)
            error |= tb_builder_add(builder, TB_OP_RETIRE, i - alive, 0);
        error |= tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
    }
    error |= tb_builder_mark_epilogue(builder) | tb_builder_pack(builder, "fixture", TOY_BLOCKS, &schedule);
    tb_builder_close(builder);
    litmus_expect(error == 0, "a schedule is built");
    return schedule;
}

#endif
