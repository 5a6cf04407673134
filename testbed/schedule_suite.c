// SPDX-License-Identifier: Apache-2.0
//
// schedule_suite: the four workloads of LOCUS-EVAL v1, operation for operation.
//
// Three are traces: 64 requests arrive, prefill 16 blocks each, decode one block a step and leave, some early. One is churn: 256
// chunks of 16 blocks are alive, and each step replaces the oldest. The order of the walk over the live requests is part of
// the definition: a finished request is replaced in its place by the last one, which is then looked at in the same step. Any
// other order gives other peaks (1344, 1537 and 4168 are the published ones). So is the drain at both ends of a step: two drains
// follow each other without anything between them, and both are kept, because a worker may push in that instant.
#include "testbed/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
    REQUESTS = 64,
    PREFILL_BLOCKS = 16,
    CANCEL_STEPS = 8, // decode steps of a request that is cancelled early
    TRACE_POOL_BLOCKS = 8192,
    CHURN_POOL_BLOCKS = 16384,
    CHURN_LIVE = 256, // chunks
    CHURN_STEPS = 64, // in a lap
    CHURN_SLOTS = CHURN_LIVE + CHURN_STEPS,
    // A rotation ends where it began: after 20 * 64 = 1280 chunks = lcm(320, 256), both the slot of the next chunk and its place
    // among the 256 live ones (where an allocator with instant frees would put it) are the first ones again.
    CHURN_LAPS = 20,
    VERSION = 1,
};

static uint32_t steps_mixed(uint32_t request)
{
    return request % 4 == 0 ? CANCEL_STEPS : 16 + request % 3 * 16;
}

static uint32_t steps_long_tail(uint32_t request)
{
    return request % 8 == 0 ? 512 : 16;
}

const char *const tb_suite_names[] = {"steady-decode", "burst-storm", "long-tail", "churn-touch"};
const size_t tb_suite_count = sizeof(tb_suite_names) / sizeof(tb_suite_names[0]);

// By place in tb_suite_names. A workload without decode steps is the churn.
static const struct workload {
    uint32_t arrivals; // per step
    uint32_t (*steps)(uint32_t request);
    uint32_t pool_blocks;
} workloads[] = {
    {4, steps_mixed, TRACE_POOL_BLOCKS},
    {REQUESTS, steps_mixed, TRACE_POOL_BLOCKS},
    {4, steps_long_tail, TRACE_POOL_BLOCKS},
    {0, NULL, CHURN_POOL_BLOCKS},
};

struct live {
    uint32_t slot; // the request's number: each has a slot of its own
    uint32_t steps_left;
};

// Every live request once, by place.
static int walk(struct tb_builder *builder, struct live live[], uint32_t *count)
{
    for (uint32_t i = 0; i < *count;) {
        bool done = live[i].steps_left == 0;
        int error = tb_builder_add(builder, done ? TB_OP_RETIRE : TB_OP_TAKE, live[i].slot, done ? 0 : 1);

        if (error)
            return error;
        if (done) {
            live[i] = live[--*count];
        } else {
            live[i].steps_left--;
            i++;
        }
    }
    return 0;
}

static int trace_build(struct tb_builder *builder, const struct workload *workload, uint64_t *ticks)
{
    struct live live[REQUESTS];
    uint32_t count = 0, arrived = 0;
    int error = tb_builder_mark_lap(builder);

    for (*ticks = 0; !error && (arrived < REQUESTS || count > 0); ++*ticks) {
        error = tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
        for (uint32_t i = 0; !error && i < workload->arrivals && arrived < REQUESTS; i++, arrived++) {
            live[count++] = (struct live){.slot = arrived, .steps_left = workload->steps(arrived)};
            error = tb_builder_add(builder, TB_OP_TAKE, arrived, PREFILL_BLOCKS);
        }
        if (!error)
            error = walk(builder, live, &count);
        if (!error)
            error = tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
    }
    return error ? error : tb_builder_mark_epilogue(builder);
}

static int churn_step(struct tb_builder *builder, uint32_t chunk)
{
    int error = tb_builder_add(builder, TB_OP_DRAIN, 0, 0);

    if (!error)
        error = tb_builder_add(builder, TB_OP_RETIRE, (chunk - CHURN_LIVE) % CHURN_SLOTS, 0);
    if (!error)
        error = tb_builder_add(builder, TB_OP_TAKE, chunk % CHURN_SLOTS, PREFILL_BLOCKS);
    return error ? error : tb_builder_add(builder, TB_OP_DRAIN, 0, 0);
}

static int churn_build(struct tb_builder *builder, uint64_t *ticks)
{
    uint32_t chunk = 0;
    int error = 0;

    for (; !error && chunk < CHURN_LIVE; chunk++)
        error = tb_builder_add(builder, TB_OP_TAKE, chunk, PREFILL_BLOCKS);
    for (uint32_t lap = 0; !error && lap < CHURN_LAPS; lap++) {
        error = tb_builder_mark_lap(builder);
        for (uint32_t step = 0; !error && step < CHURN_STEPS; step++, chunk++)
            error = churn_step(builder, chunk);
    }
    if (!error)
        error = tb_builder_mark_epilogue(builder);
    for (uint32_t i = 0; !error && i < CHURN_LIVE; i++)
        error = tb_builder_add(builder, TB_OP_RETIRE, (chunk - CHURN_LIVE + i) % CHURN_SLOTS, 0);
    *ticks = CHURN_STEPS;
    return error;
}

int tb_schedule_suite(const char *name, struct tb_schedule **out)
{
    struct tb_builder *builder = NULL;
    const struct workload *workload = NULL;
    uint64_t ticks = 0;

    *out = NULL;
    for (size_t i = 0; i < tb_suite_count; i++)
        if (strcmp(name, tb_suite_names[i]) == 0)
            workload = &workloads[i];
    if (!workload)
        return -ENOENT;

    int error = tb_builder_open(&builder);

    if (!error)
        error = workload->steps ? trace_build(builder, workload, &ticks) : churn_build(builder, &ticks);
    if (!error)
        error = tb_builder_pack(builder, name, workload->pool_blocks, out);
    if (!error) {
        (*out)->ticks = ticks;
        (*out)->version = VERSION;
    }
    tb_builder_close(builder);
    return error;
}
