// SPDX-License-Identifier: Apache-2.0
//
// job: the input and the output of one measured process, in memory that it shares with the parent. Plain data without pointers:
// parent and process are two programs (lap_main.c) of one build. A different size shows that they are not.
#ifndef TB_JOB_H
#define TB_JOB_H

#include "testbed/measure/sample.h"

#define TB_LAPS_MAX 4096u
#define TB_PROBE_LAPS 5u        // laps that check footprint and contents; 1 for a replay, whose lap is long

struct tb_job {
    char contender[64];
    char library[4096];         // must be the process's malloc; "": any
    enum tb_touch touch;
    enum tb_dispatch dispatch;
    enum tb_fault fault;
    double fault_percent;
    uint32_t workers;
    uint32_t laps, laps_warmup, laps_counted, laps_metered;
    uint64_t block_bytes;
    uint32_t pool_blocks;       // 0: the schedule's
    uint32_t cross_percent;
    bool bench, many_nodes;
    struct tb_counter_set counters; // resolved and probed by the parent; empty: nothing is counted
    uint64_t counters_on;

    struct tb_sample sample;
    double lap_ns[TB_LAPS_MAX];
};

#endif
