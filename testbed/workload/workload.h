// SPDX-License-Identifier: Apache-2.0
//
// workload: which requests take how many blocks at which step, and when they finish. To add one, add one file to this folder.
//
// A workload writes its operations into a builder (schedule.h) once, in advance and untimed. The smallest one is cycle.c.
// Recorded traces are also workloads, but in files: known_trace.h.
#ifndef TB_WORKLOAD_H
#define TB_WORKLOAD_H

#include <stdbool.h>

#include "testbed/workload/schedule.h"

struct tb_workload {
    const char *name;       // "churn-touch": for cells and `locus eval -W`
    const char *summary;    // one line
    uint32_t version;       // of LOCUS-EVAL that introduced it; 0: in no suite
    uint32_t pool_blocks;   // size of the contenders' pool; at least the theoretical peak
    int (*build)(struct tb_builder *builder, uint64_t *ticks); // operations, marks of laps and epilogue; 0 or -errno
};

// As TB_CONTENDER: the linker keeps the list.
#define TB_WORKLOAD(variable)                                                                                                      \
    static const struct tb_workload *const variable##_entry __attribute__((used, retain, section("tb_workloads"))) = &(variable)

const struct tb_workload *tb_workload_at(size_t i); // NULL after the last
const struct tb_workload *tb_workload_find(const char *name);
const char *tb_workload_meant(const char *name, char *out, size_t bytes); // ", did you mean 'NAME'?", or ""; `out`

// Is there such a workload: in the list, or a batch (batch.h)?
bool tb_workload_known(const char *name);

// Its schedule for a plain touch mode, malloc'd. 0, -ENOENT (no such workload), -ENOMEM, or -EINVAL (the stream is unsound:
// tb_builder_pack; or a batch that tb_batch_read() refuses).
int tb_workload_schedule(const char *name, struct tb_schedule **out);

// --- what several workloads are made of ---

#define TB_REQUESTS_MAX 64u // alive at once, in a workload of tb_build_requests

// Requests that arrive, prefill, decode one block a step and leave, in the order of LOCUS-EVAL v1: in each step the owner drains,
// admits, walks the live requests once in order of place, and drains. A request with no step left is replaced by the last one,
// which is visited in the same step. Any other order gives other peaks.
struct tb_requests {
    uint32_t count, prefill_blocks;
    uint32_t arrivals;                  // per step
    uint32_t reserve_blocks;            // 0: all are admitted; else, in order, those whose blocks for their whole life fit
    uint32_t (*steps)(uint32_t request); // steps that it decodes
};
int tb_build_requests(struct tb_builder *builder, const struct tb_requests *requests, uint64_t *ticks);

#endif
