// SPDX-License-Identifier: Apache-2.0
//
// workload: who takes how many blocks when, and when they are finished. Adding one is adding one file to workloads/.
//
// A workload writes its operations into a builder once (schedule.h), beforehand; what it costs to work them out is never timed. The
// smallest one is workloads/cycle.c. Recorded traces are workloads, too, but files: known_trace.h.
#ifndef TB_WORKLOAD_H
#define TB_WORKLOAD_H

#include "testbed/workload/schedule.h"

struct tb_workload {
    const char *name;       // "churn-touch": what cells and `locus eval -W` call it
    const char *summary;    // one line
    uint32_t version;       // of LOCUS-EVAL, in which it came in; 0: of no suite
    uint32_t pool_blocks;   // of the pool that contenders are given; at least the theoretical peak
    int (*build)(struct tb_builder *builder, uint64_t *ticks); // operations, marks of laps and epilogue; 0 or -errno
};

// As TB_CONTENDER: the linker keeps the list.
#define TB_WORKLOAD(variable)                                                                                                      \
    static const struct tb_workload *const variable##_entry __attribute__((used, retain, section("tb_workloads"))) = &(variable)

const struct tb_workload *tb_workload_at(size_t i); // NULL behind the last
const struct tb_workload *tb_workload_find(const char *name);
const char *tb_workload_meant(const char *name, char *out, size_t bytes); // ", did you mean 'NAME'?", or ""; `out`

// Its schedule; malloc'd. 0, -ENOENT (no such workload), -ENOMEM, or -EINVAL (the stream is not sound: tb_builder_pack).
int tb_workload_schedule(const char *name, struct tb_schedule **out);

// --- what several workloads are made of ---

#define TB_REQUESTS_MAX 64u // alive at once, in a workload of tb_build_requests

// Requests that arrive, prefill, decode one block a step and leave, in the order of LOCUS-EVAL v1: in each step the owner drains,
// admits, walks the live requests once by place (one with no step left is replaced by the last one, which is then looked at in
// the same step), and drains. Any other order has other peaks.
struct tb_requests {
    uint32_t count, prefill_blocks;
    uint32_t arrivals;                  // per step
    uint32_t reserve_blocks;            // 0: all are admitted; else, in order, those that fit with all that they will ever need
    uint32_t (*steps)(uint32_t request); // that it decodes
};
int tb_build_requests(struct tb_builder *builder, const struct tb_requests *requests, uint64_t *ticks);

#endif
