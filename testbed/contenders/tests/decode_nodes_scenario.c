// SPDX-License-Identifier: Apache-2.0
//
// decode_nodes_scenario: attention on all nodes of this machine, with every byte of K and V that is read and written in the books,
// for another witness to compare (testbed/tests/decode_guest.sh).
//
// For each case it prints
//
//   "case N NAME LAYOUT SHAPE valid", or "INVALID reason" at the end
//   "read N FROM TO BYTES", "written N FROM TO BYTES" for pairs of nodes above 0, of the counted laps
//   "expected N READ WRITTEN": positions x layers x bytes, of the schedule, of all nodes
//
// The pools of case N are windows 16 N and up (counters/window.h).
//
// Exit status: 0, or 1 if a case could not be run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/decode/kernel.h"
#include "testbed/measure/nodes/engine.h"
#include "testbed/workload/batch.h"

#define LAPS_COUNTED 2u

static const struct {
    const char *name, *layout, *shape;
    enum tb_dtype dtype;
    enum tb_dispatch dispatch;
} cases[] = {
    {"home-steered", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_FUTEX},
    {"home-steered%50", "runs", "2x4x2x64", TB_DTYPE_F16, TB_DISPATCH_FUTEX},
    {"home-steered", "columns", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"home-steered", "tokens", "2x4x4x128", TB_DTYPE_F32, TB_DISPATCH_INLINE},
    {"home-steered", "layers", "3x8x1x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"cross-node", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_FUTEX},
    {"cross-node", "interleaved", "1x2x2x128", TB_DTYPE_F32, TB_DISPATCH_INLINE},
    {"interleave", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_FUTEX},
    {"one-node", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"first-touch", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"unsteered%50", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"home-steered@misplace", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
    {"home-steered@one-head-more", "runs", "2x4x2x64", TB_DTYPE_BF16, TB_DISPATCH_INLINE},
};

static int job_make(uint32_t number, struct tb_job *job, struct tb_arm *arm, struct tb_schedule **schedule)
{
    char why[4500] = "";
    struct tb_why reason = {0};
    struct tb_cache cache;
    int error = tb_arm_parse(cases[number].name, arm, why, sizeof why);
    *job = (struct tb_job){
        .touch = TB_TOUCH_DECODE,
        .dispatch = cases[number].dispatch,
        .workers = 1,
        .laps_counted = LAPS_COUNTED,
        .many_nodes = true,
        .window = 16 * (number + 1),
        .fault = arm->fault,
        .cross_percent = arm->cross_percent,
        .decode = {.dtype = cases[number].dtype, .dtype_given = true},
    };
    strcpy(job->decode.shape, cases[number].shape);
    strcpy(job->decode.layout, cases[number].layout);
    strcpy(job->act, arm->act);
    tb_decode_settings_fill(&job->decode);
    if (!error)
        error = tb_decode_cache(&job->decode, 16, &cache, why, sizeof why);
    if (!error)
        error = tb_decode_schedule("batch-3x40x16", 16, cache.shape.layers / cache.block_layers, schedule, &reason);
    if (error)
        fprintf(stderr, "%s: %s%s\n", cases[number].name, why, reason.text);
    job->block_bytes = error ? 0 : cache.block_bytes;
    return error;
}

static void print_pairs(const char *what, uint32_t number, const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    for (uint32_t from = 0; from < nodes->count; from++)
        for (uint32_t to = 0; to < nodes->count; to++)
            if (counts->pair[from][to])
                printf("%s %" PRIu32 " %d %d %" PRIu64 "\n", what, number, nodes->node[from].os, nodes->node[to].os,
                       counts->pair[from][to]);
}

static uint64_t stations_of(const struct tb_nodes_sample *nodes)
{
    uint64_t stations = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        stations += nodes->node[n].station;
    return stations;
}

static int run(uint32_t number, struct tb_job *job)
{
    struct tb_schedule *schedule = NULL;
    struct tb_arm arm;
    struct tb_shape shape;
    char why[160];
    int error = job_make(number, job, &arm, &schedule);
    if (!error)
        error = tb_nodes_engine_run(job, arm.contender, schedule);
    if (!error)
        error = tb_shape_parse(cases[number].shape, &shape, why, sizeof why);
    if (!error) {
        const struct tb_nodes_sample *nodes = &job->sample.nodes;
        shape.value_bytes = (uint32_t)tb_dtype_bytes(cases[number].dtype);
        uint64_t each = tb_shape_token_bytes(&shape) * LAPS_COUNTED * stations_of(nodes);
        printf("case %" PRIu32 " %s %s %s %s %s\n", number + 1, cases[number].name, cases[number].layout, cases[number].shape,
               job->sample.valid ? "valid" : "INVALID", job->sample.invalid);
        print_pairs("read", number + 1, nodes, &nodes->read);
        print_pairs("written", number + 1, nodes, &nodes->written);
        printf("expected %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", number + 1, schedule->attended_per_lap * each,
               schedule->tokens_per_lap * each);
    }
    free(schedule);
    return error;
}

int main(void)
{
    static struct tb_job job;
    int failed = 0;
    for (uint32_t number = 0; number < sizeof cases / sizeof *cases; number++) {
        int error = run(number, &job);
        if (error)
            fprintf(stderr, "decode_nodes_scenario: %s: %s\n", cases[number].name, strerror(-error));
        failed |= error != 0;
    }
    printf("kernel %s\n", tb_kernel_at(0)->name);
    return failed;
}
