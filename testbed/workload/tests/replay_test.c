// SPDX-License-Identifier: Apache-2.0
//
// replay: the model worked out by hand on small traces, operation by operation; and for the recorded ones (LOCUS_TRACES, by
// default ../shared/traces) the exact figures of an independent simulation.
#include "testbed/workload/trace.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static const struct tb_replay_config small = {.tokens_per_block = 4, .pool_blocks = 4, .tick_ns = SECOND, .speedup = INFINITY};

static struct tb_schedule *replay(struct tb_trace_request *requests, size_t count, const struct tb_replay_config *config)
{
    struct tb_trace trace = {.path = "folder/t.csv", .count = count, .requests = requests};
    struct tb_schedule *schedule = NULL;
    struct tb_why why;

    cr_assert_eq(tb_schedule_replay(&trace, config, &schedule, &why), 0, "%s", why.text);
    return schedule;
}

// The stream in letters: d, s, and t, e or r with slot and count.
static void expect_stream(const struct tb_schedule *schedule, const char *expected)
{
    char found[512] = "";
    const struct tb_op *ops = tb_schedule_ops(schedule);

    for (uint64_t i = 0; i < schedule->ops_count; i++) {
        size_t at = strlen(found);

        if (ops[i].kind == TB_OP_DRAIN)
            snprintf(found + at, sizeof(found) - at, "d ");
        else if (ops[i].kind == TB_OP_RETIRE)
            snprintf(found + at, sizeof(found) - at, "r%u ", ops[i].slot);
        else if (ops[i].kind == TB_OP_STEP)
            snprintf(found + at, sizeof(found) - at, "s ");
        else if (ops[i].kind == TB_OP_EXTEND)
            snprintf(found + at, sizeof(found) - at, "e%u:%u ", ops[i].slot, ops[i].count);
        else
            snprintf(found + at, sizeof(found) - at, "t%u:%u ", ops[i].slot, ops[i].count);
    }
    cr_expect_str_eq(found, expected);
}

// Four tokens a block, four blocks. 0 needs 2 blocks, 1 needs 3, 2 and 3 need one.
//   tick 0   0 is admitted; 1 does not fit, and 2 must not overtake it. 0 decodes into its second block.
//   tick 1   0 decodes its last token and leaves.
//   tick 2   1 and 2 are admitted, 3 does not fit. 1 begins its second block. 2 leaves.
//   tick 3   3 is admitted and leaves.
//   tick 4,5 1 decodes within its block: nothing to be seen in the stream.
//   tick 6   1 begins its third block with its last token and leaves.
Test(replay, small_trace_goes_tick_by_tick)
{
    struct tb_trace_request requests[] = {{0, 5, 2, 2, 0, 0}, {0, 4, 5, 3, 0, 0}, {0, 1, 1, 4, 0, 0}, {0, 1, 1, 5, 0, 0}};
    struct tb_schedule *schedule = replay(requests, 4, &small);

    expect_stream(schedule, "d t0:2 d r0 d t1:1 t2:1 t1:1 r2 d t3:1 r3 d t1:1 r1 d ");
    cr_expect_eq(schedule->ticks, 7);
    cr_expect_eq(schedule->decoded_tokens, 9);
    cr_expect_eq(schedule->blocks_per_lap, 7);
    cr_expect_eq(schedule->requests_per_lap, 4);
    cr_expect_eq(schedule->blocks_peak, 3);
    cr_expect_eq(schedule->live_max, 2);
    cr_expect_eq(schedule->requests_queued, 3);
    cr_expect_eq(schedule->queue_ns_max, 3 * small.tick_ns);
    cr_expect_eq(schedule->laps_count, 1);
    cr_expect_eq(schedule->slots, 4);
    cr_expect_eq(schedule->pool_blocks, 4);
    cr_expect_str_eq(schedule->name, "t.csv");
    free(schedule);
}

Test(replay, requests_without_a_prompt_or_an_output_are_left_out)
{
    struct tb_trace_request requests[] = {{0, 0, 3, 2, 0, 0}, {0, 5, 2, 3, 0, 0}, {0, 9, 0, 4, 0, 0}, {0, 1, 1, 5, 0, 0}};
    const struct tb_trace trace = {.path = "t.csv", .count = 4, .requests = requests};
    struct tb_schedule *schedule = replay(requests, 4, &small);
    struct tb_replay_config first = small;
    struct tb_why why;

    expect_stream(schedule, "d t0:2 t1:1 r1 d r0 d ");
    cr_expect_eq(schedule->requests_per_lap, 2);
    cr_expect_eq(schedule->slots, 2);
    free(schedule);
    first.requests = 1;
    cr_expect_eq(tb_schedule_replay(&trace, &first, &schedule, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t.csv: no request has both a prompt and an output");
}

// The same trace in blocks of 2 tokens, 3 for the same positions: who is admitted when is the same, and each token is appended.
Test(replay, decode_extends_all_that_are_alive_in_every_tick)
{
    struct tb_trace_request requests[] = {{0, 5, 2, 2, 0, 0}, {0, 4, 5, 3, 0, 0}, {0, 1, 1, 4, 0, 0}, {0, 1, 1, 5, 0, 0}};
    struct tb_replay_config config = small;
    config.block_tokens = 2;
    config.blocks_per_group = 3;
    struct tb_schedule *schedule = replay(requests, 4, &config);

    expect_stream(schedule, "d t0:9 e0:6 s d t0:3 e0:1 s r0 d t1:6 t2:3 t1:3 e1:5 e2:2 s r2 d t3:3 e1:1 e3:2 s r3 d "
                            "t1:3 e1:1 s d e1:1 s d t1:3 e1:1 s r1 d ");
    cr_expect_eq(schedule->ticks, 7);
    cr_expect_eq(schedule->steps_per_lap, 7);
    cr_expect_eq(schedule->decoded_tokens, 9);
    cr_expect_eq(schedule->tokens_per_lap, 20); // 9 decoded, 11 of prompts
    cr_expect_eq(schedule->attended_per_lap, 6 + 7 + (5 + 2) + (6 + 2) + 7 + 8 + 9);
    cr_expect_eq(schedule->tokens_peak, 9);
    cr_expect_eq(schedule->tokens_live_peak, 9);
    cr_expect_eq(schedule->blocks_peak, 15);
    cr_expect_eq(schedule->pool_blocks, 24); // 4 blocks of 4 tokens are 8 groups of 2
    free(schedule);
}

// What is reserved is of the model's blocks, so larger ones may need more than its pool: then it has a quarter more than the peak.
Test(replay, decode_has_the_pool_that_its_blocks_need)
{
    struct tb_trace_request requests[] = {{0, 3, 1, 2, 0, 0}, {0, 3, 1, 3, 0, 0}, {0, 3, 1, 4, 0, 0}, {0, 3, 1, 5, 0, 0}};
    struct tb_replay_config config = small;
    config.block_tokens = 16;
    config.blocks_per_group = 2;
    struct tb_schedule *schedule = replay(requests, 4, &config);

    cr_expect_eq(schedule->live_max, 4);
    cr_expect_eq(schedule->blocks_peak, 8);
    cr_expect_eq(schedule->pool_blocks, 10);
    free(schedule);
}

// A prompt that fills its blocks exactly: the first token decoded begins a new one. One token short: it does not.
Test(replay, token_after_a_full_prompt_begins_a_block)
{
    struct tb_trace_request full[] = {{0, 8, 1, 2, 0, 0}}, short_by_one[] = {{0, 7, 1, 2, 0, 0}};
    struct tb_schedule *schedule = replay(full, 1, &small);

    expect_stream(schedule, "d t0:2 t0:1 r0 d ");
    free(schedule);
    schedule = replay(short_by_one, 1, &small);
    expect_stream(schedule, "d t0:2 r0 d ");
    free(schedule);
}

// Those who stay keep their order when one between them leaves.
Test(replay, order_of_admission_is_kept)
{
    struct tb_trace_request requests[] = {{0, 1, 4, 2, 0, 0}, {0, 1, 1, 3, 0, 0}, {0, 1, 4, 4, 0, 0}};
    struct tb_replay_config config = {.tokens_per_block = 1, .pool_blocks = 12, .tick_ns = 1, .speedup = INFINITY};
    struct tb_schedule *schedule = replay(requests, 3, &config);

    expect_stream(schedule, "d t0:1 t1:1 t2:1 t0:1 t1:1 t2:1 r1 d t0:1 t2:1 d t0:1 t2:1 d t0:1 t2:1 r0 r2 d ");
    cr_expect_eq(schedule->live_max, 3);
    cr_expect_eq(schedule->blocks_peak, 10);
    free(schedule);
}

// A reservation is released at the end of a tick, so it admits another request only in the next one.
Test(replay, blocks_released_in_a_tick_are_reserved_in_the_next)
{
    struct tb_trace_request requests[] = {{0, 12, 4, 2, 0, 0}, {0, 12, 4, 3, 0, 0}};
    struct tb_schedule *schedule = replay(requests, 2, &small);

    expect_stream(schedule, "d t0:3 t0:1 d r0 d t1:3 t1:1 d r1 d ");
    cr_expect_eq(schedule->ticks, 8);
    cr_expect_eq(schedule->live_max, 1);
    free(schedule);
}

Test(replay, clock_jumps_when_nothing_is_alive_and_runs_when_something_is)
{
    static const struct {
        uint64_t arrivals[3];
        uint32_t outputs[3];
        double speedup;
        uint64_t ticks, live_max;
    } cases[] = {
        // there are blocks for all
        {{0, 0, 0}, {2, 2, 2}, 1, 2, 3},
        {{0, 10 * SECOND, 20 * SECOND}, {2, 2, 2}, 1, 6, 1},
        {{0, 1 * SECOND, 2 * SECOND}, {2, 2, 2}, 1, 4, 2},
        {{0, 10 * SECOND, 20 * SECOND}, {2, 2, 2}, 10, 4, 2},
        {{0, 10 * SECOND, 20 * SECOND}, {2, 2, 2}, INFINITY, 2, 3},
        {{0, 1 * SECOND + 1, 2 * SECOND}, {2, 2, 2}, 1, 4, 2},
        {{0, 1 * SECOND, 2 * SECOND}, {1, 1, 1}, 0.001, 3, 1},
        {{0, 10 * SECOND, 20 * SECOND}, {1, 1, 1}, 1e-300, 2, 2}, // both at the end of time
        {{0, 10400000000, 10900000000}, {1, 1, 1}, 1, 3, 1},        // ticks begin at the arrival, not on a grid of seconds
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tb_trace_request requests[3];
        struct tb_replay_config config = {4, 100, SECOND, cases[i].speedup, 0, 0, 0};

        for (uint32_t j = 0; j < 3; j++)
            requests[j] = (struct tb_trace_request){cases[i].arrivals[j], 4, cases[i].outputs[j], j + 2, 0, 0};

        struct tb_schedule *schedule = replay(requests, 3, &config);

        cr_expect_eq(schedule->ticks, cases[i].ticks, "case %zu: %llu ticks", i, (unsigned long long)schedule->ticks);
        cr_expect_eq(schedule->live_max, cases[i].live_max, "case %zu: %llu live", i, (unsigned long long)schedule->live_max);
        cr_expect_eq(schedule->requests_queued, 0, "case %zu: %llu queued", i, (unsigned long long)schedule->requests_queued);
        free(schedule);
    }
}

// A pool of one request: the second, which comes 2.5 ticks after the first, waits until that one has left.
Test(replay, waiting_for_blocks_is_told_from_waiting_for_the_next_tick)
{
    struct tb_trace_request requests[] = {{0, 12, 4, 2, 0, 0}, {2500, 12, 1, 3, 0, 0}, {6500, 12, 1, 4, 0, 0}};
    struct tb_replay_config config = {.tokens_per_block = 4, .pool_blocks = 4, .tick_ns = 1000, .speedup = 1};
    struct tb_schedule *schedule = replay(requests, 3, &config);

    cr_expect_eq(schedule->ticks, 6);
    cr_expect_eq(schedule->requests_queued, 1);
    cr_expect_eq(schedule->queue_ns_max, 1500, "%llu ns", (unsigned long long)schedule->queue_ns_max);
    free(schedule);
}

Test(replay, only_the_first_requests_when_asked)
{
    struct tb_trace_request requests[] = {{0, 1, 1, 2, 0, 0}, {0, 1, 1, 3, 0, 0}, {0, 100, 1, 4, 0, 0}};
    struct tb_replay_config config = small;

    config.requests = 2; // the third would not fit

    struct tb_schedule *schedule = replay(requests, 3, &config);

    cr_expect_eq(schedule->requests_per_lap, 2);
    free(schedule);
    config.requests = 99;
    schedule = replay(requests, 2, &config);
    cr_expect_eq(schedule->requests_per_lap, 2);
    free(schedule);
}

Test(replay, request_larger_than_the_pool_names_its_line)
{
    struct tb_trace_request requests[] = {{0, 8, 8, 2, 0, 0}, {0, 8, 9, 3, 0, 0}, {0, UINT32_MAX, UINT32_MAX, 4, 0, 0}};
    struct tb_trace trace = {.path = "t.csv", .count = 3, .requests = requests};
    struct tb_schedule *schedule = (struct tb_schedule *)1;
    struct tb_why why;

    cr_expect_eq(tb_schedule_replay(&trace, &small, &schedule, &why), -ENOSPC);
    cr_expect_str_eq(why.text, "t.csv:3: the request needs 5 blocks of 4 tokens, and the pool has only 4");
    cr_expect_null(schedule);
    trace.requests++;
    trace.requests++;
    trace.count = 1;
    cr_expect_eq(tb_schedule_replay(&trace, &small, &schedule, &why), -ENOSPC);
    cr_expect_str_eq(why.text, "t.csv:4: the request needs 2147483648 blocks of 4 tokens, and the pool has only 4");
}

Test(replay, settings_out_of_range_are_explained)
{
    struct tb_replay_config bad[] = {small, small, small, small, small, small, small, small};
    struct tb_trace_request requests[] = {{0, 1, 1, 2, 0, 0}};
    struct tb_trace trace = {.path = "t.csv", .count = 1, .requests = requests};

    bad[0].tokens_per_block = 0;
    bad[1].pool_blocks = 0;
    bad[2].pool_blocks = 1 << 28;
    bad[3].tick_ns = 0;
    bad[4].speedup = 0;
    bad[5].speedup = -1;
    bad[6].speedup = NAN;
    bad[7].block_tokens = 16;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tb_schedule *schedule = NULL;
        struct tb_why why;

        cr_expect_eq(tb_schedule_replay(&trace, &bad[i], &schedule, &why), -EINVAL);
        cr_expect_str_not_empty(why.text);
        cr_expect_null(schedule);
    }
}

// The file in $LOCUS_TRACES, or a skip.
static struct tb_trace *recorded(const char *name)
{
    const char *folder = getenv("LOCUS_TRACES");
    char path[4096];
    struct tb_trace *trace = NULL;
    struct tb_why why;

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "../shared/traces", name);
    if (access(path, R_OK) != 0)
        cr_skip_test("the recorded traces are not here (LOCUS_TRACES=folder)");
    cr_assert_eq(tb_trace_load(path, NULL, &trace, &why), 0, "%s", why.text);
    return trace;
}

Test(replay, azure_conv_equals_the_model_exactly)
{
    struct tb_trace *trace = recorded("AzureLLMInferenceTrace_conv.csv");
    struct tb_replay_config config = {16, 8192, 30000000, INFINITY, 6000, 0, 0};
    struct tb_schedule *schedule = replay(trace->requests, trace->count, &config);

    cr_expect_eq(schedule->ticks, 17038, "%llu ticks", (unsigned long long)schedule->ticks);
    cr_expect_eq(schedule->decoded_tokens, 1515140, "%llu tokens", (unsigned long long)schedule->decoded_tokens);
    cr_expect_eq(schedule->live_max, 127, "%llu live", (unsigned long long)schedule->live_max);
    cr_expect_leq(schedule->blocks_peak, 8192);
    free(schedule);
    tb_trace_close(trace);
}

static void expect_no_two_drains(const struct tb_schedule *schedule)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);

    cr_expect_eq(ops[0].kind, TB_OP_DRAIN);
    cr_expect_eq(ops[schedule->ops_count - 1].kind, TB_OP_DRAIN);
    for (uint64_t i = 1; i < schedule->ops_count; i++)
        cr_assert(ops[i].kind != TB_OP_DRAIN || ops[i - 1].kind != TB_OP_DRAIN, "operation %llu", (unsigned long long)i);
}

// At every block size, on a pool just large enough for the largest request and a little more, so that the others queue.
static void check_all_sizes(const char *name, double speedup)
{
    struct tb_trace *trace = recorded(name);

    for (uint32_t per_block = 8; per_block <= 128; per_block *= 2) {
        struct tb_replay_config config = {per_block, 131072 / per_block, 30000000, speedup, 0, 0, 0};
        struct tb_schedule *schedule = replay(trace->requests, trace->count, &config);
        uint64_t blocks = 0, tokens = 0;

        for (size_t i = 0; i < trace->count; i++) {
            const struct tb_trace_request *recorded = &trace->requests[i];

            blocks += ((uint64_t)recorded->prompt_tokens + recorded->output_tokens + per_block - 1) / per_block;
            tokens += recorded->output_tokens;
        }
        cr_expect_eq(schedule->blocks_per_lap, blocks, "%s at %u", name, per_block);
        cr_expect_eq(schedule->decoded_tokens, tokens);
        cr_expect_eq(schedule->requests_per_lap, trace->count);
        expect_no_two_drains(schedule);
        free(schedule);
    }
    tb_trace_close(trace);
}

Test(replay, azure_conv_takes_every_block_it_needs)
{
    check_all_sizes("AzureLLMInferenceTrace_conv.csv", INFINITY);
}

Test(replay, azure_code_takes_every_block_it_needs)
{
    check_all_sizes("AzureLLMInferenceTrace_code.csv", 10);
}

Test(replay, mooncake_conversation_takes_every_block_it_needs)
{
    check_all_sizes("conversation_trace.jsonl", INFINITY);
}
