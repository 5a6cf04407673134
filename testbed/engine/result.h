// SPDX-License-Identifier: Apache-2.0
//
// result: what the measured process says of a run of the engine, in one table: the members of struct tb_engined, of a sample's line
// in a log, and the metrics of predictions. To add one, add a line here and fill it in (llama/llama_main.c).
//
// Plain data, written by locus-llama, hf_steps.py or vllm_turns.py to a file descriptor, and read by its parent, a program of the
// same build.
#ifndef TB_ENGINE_RESULT_H
#define TB_ENGINE_RESULT_H

#include <stdint.h>

#include "testbed/stats/slot.h"

#define TB_ENGINE_STEPS_MAX 4096u
#define TB_ENGINE_TOGETHER_FD 6 // of the file by which processes begin their steps together (llama/together.h)

// Remote: the share of pages on other nodes than the threads, each thread weighed by its running time during the steps. It is the
// share of remote reads if every thread reads evenly of all of it; of a device, whose memory only its own threads read, it is the
// share of pages on other nodes than the device's.
//
// Billed: an arm with --bill takes the steps once more, with the engine asked after each run of operations of one kind
// (llama/bill.h). The parts are of that step, and add up to 1.
//
// MEASURED differs from process to process, so a median is one of a sample. FIXED follows from model and settings, and is the same
// in each round. COUNTED is exact and need not be the same: it depends on where threads ran and which pages the kernel had.
//
//    type, member, unit, which of these, whether arms have a ratio of it (otherwise it may well be 0), what
#define TB_ENGINED_FIELDS(FIELD)                                                                                                   \
    FIELD(double, engine_tokens_per_s, "1/s", MEASURED, true, "tokens decoded per second, by the median step")                     \
    FIELD(uint64_t, kv_bytes, "bytes", FIXED, true, "reserved for the KV cache")                                                   \
    FIELD(uint64_t, kv_opened_bytes, "bytes", COUNTED, false, "of it in memory once the context is open")                          \
    FIELD(uint64_t, kv_resident_bytes, "bytes", MEASURED, true, "of it in memory after the steps")                                 \
    FIELD(uint64_t, kv_cleared_bytes, "bytes", COUNTED, false, "of it in memory after it was cleared")                             \
    FIELD(uint64_t, kv_written_bytes, "bytes", FIXED, true, "of it written: the cells in use, by the model's shape")               \
    FIELD(double, kv_remote_ratio, "ratio", COUNTED, false, "remote reads of the KV cache")                                        \
    FIELD(double, weights_remote_ratio, "ratio", COUNTED, false, "remote reads of the weights")                                    \
    FIELD(double, kv_uneven_ratio, "ratio", COUNTED, false,                                                                        \
          "pages of the cache on the node with most of them, over an even share")                                                  \
    FIELD(uint64_t, exchanges, "count", FIXED, false, "sums over the nodes, in all steps")                                         \
    FIELD(uint64_t, exchanged_bytes, "bytes", FIXED, false, "that crossed in these sums")                                          \
    FIELD(double, exchange_wait_ns, "ns", MEASURED, false, "mean wait for the other nodes' parts, imbalance included")             \
    FIELD(double, step_weights_ratio, "ratio", MEASURED, false, "of a billed step: products with weights")                         \
    FIELD(double, step_kv_read_ratio, "ratio", MEASURED, false, "of a billed step: operations that read the KV cache")             \
    FIELD(double, step_kv_written_ratio, "ratio", MEASURED, false, "of a billed step: writing its keys and values")                \
    FIELD(double, step_rest_ratio, "ratio", MEASURED, false, "of a billed step: every other operation")                            \
    FIELD(double, step_engine_ratio, "ratio", MEASURED, false, "of a billed step: outside of operations, cells found included")    \
    FIELD(double, step_bill_ratio, "ratio", MEASURED, false, "a billed step over one that is not")                                 \
    FIELD(double, step_beside_p50_ratio, "ratio", MEASURED, false,                                                                 \
          "median of a step over DynamicCache's, which takes turns with it (hf-*)")                                                \
    FIELD(double, step_beside_p99_ratio, "ratio", MEASURED, false,                                                                 \
          "where of 100 steps the slowest begins, over DynamicCache's (hf-*)")                                                     \
    FIELD(double, ttft_p50_ns, "ns", MEASURED, true, "half of all requests have their first token in this (vllm-*)")               \
    FIELD(double, ttft_p99_ns, "ns", MEASURED, true, "of 100 requests the slowest first token comes after this (vllm-*)")          \
    FIELD(uint64_t, computed_tokens, "count", MEASURED, true, "of prompts: computed, and found in no cache (vllm-*)")

#define TB_ENGINED_MEMBER(type, member, unit, kind, ratio, what) type member;
struct tb_engined {
    TB_ENGINED_FIELDS(TB_ENGINED_MEMBER)
};

extern const struct tb_slot tb_engined_fields[]; // ends with a NULL name

struct tb_engine_result {
    uint64_t bytes;             // sizeof this struct: another size is another build's
    char version[64];           // of the engine
    struct tb_engined engined;
    uint64_t waited_ns;         // its threads were ready to run while others had the CPU, during the steps
    uint64_t steps_wall_ns;
    uint32_t threads;           // that ran during the steps
    uint32_t steps;
    uint64_t step_ns[TB_ENGINE_STEPS_MAX];
};

#endif
