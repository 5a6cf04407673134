// SPDX-License-Identifier: Apache-2.0
//
// batch: a small batch by hand, the promises of batch.h on many sizes by an account of its own, names, and traces of touch decode.
#include "testbed/workload/batch.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/workload.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tb_schedule *decode(const char *name, uint32_t block_tokens, uint32_t blocks_per_group)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    cr_assert_eq(tb_decode_schedule(name, block_tokens, blocks_per_group, &schedule, &why), 0, "%s", why.text);
    return schedule;
}

static void expect_stream(const struct tb_schedule *schedule, struct tb_span span, const char *expected)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    char found[512] = "";
    for (uint64_t i = span.begin; i < span.end; i++) {
        size_t at = strlen(found);
        if (ops[i].kind == TB_OP_DRAIN || ops[i].kind == TB_OP_STEP)
            snprintf(found + at, sizeof found - at, "%s ", ops[i].kind == TB_OP_DRAIN ? "d" : "s");
        else
            snprintf(found + at, sizeof found - at, "%c%u:%u ", "dtre"[ops[i].kind], ops[i].slot, ops[i].count);
    }
    cr_expect_str_eq(found, expected);
}

// Two sequences, 16 tokens in the mean, four steps: from 14 to 17 tokens. In a lap 0 ends before step 0, with 17 tokens, and 1
// before step 2. Blocks of 16 tokens, two of them for the same positions.
Test(batch, small_one_goes_step_by_step)
{
    struct tb_schedule *schedule = decode("batch-2x16x4", 16, 2);

    expect_stream(schedule, schedule->prologue, "t0:4 e0:17 t1:2 e1:15 s ");
    expect_stream(schedule, *tb_schedule_lap(schedule, 0),
                  "d r0:0 t2:2 e2:14 e1:1 s d e2:1 t1:2 e1:1 s d r1:0 e2:1 t3:2 e3:14 s d t2:2 e2:1 e3:1 s ");
    expect_stream(schedule, *tb_schedule_lap(schedule, 1),
                  "d r2:0 t0:2 e0:14 e3:1 s d e0:1 t3:2 e3:1 s d r3:0 e0:1 t1:2 e1:14 s d t0:2 e0:1 e1:1 s ");
    expect_stream(schedule, schedule->epilogue, "r0:0 r1:0 ");
    cr_expect_eq(schedule->laps_count, 2);
    cr_expect_eq(schedule->slots, 4);
    cr_expect_eq(schedule->steps_per_lap, 4);
    cr_expect_eq(schedule->tokens_per_lap, 2 * (14 + 3));
    cr_expect_eq(schedule->attended_per_lap, 2 * (14 + 15 + 16 + 17));
    cr_expect_eq(schedule->tokens_peak, 17);
    cr_expect_eq(schedule->tokens_live_peak, 17 + 15);
    cr_expect_eq(schedule->blocks_peak, 6);
    cr_expect_eq(schedule->pool_blocks, 6 + 4, "a quarter would be less than one sequence");
    cr_expect_eq(schedule->decoded_tokens, 8);
    cr_expect_eq(schedule->ticks, 4);
    free(schedule);
}

// Without tokens the blocks are the same.
Test(batch, plain_touch_modes_leave_tokens_out)
{
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(tb_workload_schedule("batch-2x16x4", &schedule), 0);
    expect_stream(schedule, schedule->prologue, "t0:2 t1:1 ");
    expect_stream(schedule, *tb_schedule_lap(schedule, 0), "d r0:0 t2:1 d t1:1 d r1:0 t3:1 d t2:1 ");
    cr_expect_eq(schedule->block_tokens, 0);
    cr_expect_eq(schedule->steps_per_lap, 0);
    cr_expect_eq(schedule->pool_blocks, 3 + 2);
    cr_expect_str_eq(schedule->name, "batch-2x16x4");
    free(schedule);
}

// What happens in one lap, from its operations alone.
struct account {
    uint64_t tokens[2 * TB_BATCH_SEQUENCES_MAX], attended, extended, retired, taken;
    uint32_t attending, live;
};

static void account_lap(struct account *account, const struct tb_schedule *schedule, struct tb_span span, uint32_t sequences)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    account->attended = account->extended = account->retired = account->taken = 0;
    for (uint64_t i = span.begin; i < span.end; i++) {
        uint32_t slot = ops[i].slot;
        if (ops[i].kind == TB_OP_EXTEND) {
            account->live += account->tokens[slot] == 0;
            account->tokens[slot] += ops[i].count;
            account->attended += account->tokens[slot];
            account->attending++;
        } else if (ops[i].kind == TB_OP_RETIRE) {
            account->tokens[slot] = 0;
            account->live--;
            account->retired++;
        } else if (ops[i].kind == TB_OP_TAKE) {
            account->taken += ops[i].count;
        } else if (ops[i].kind == TB_OP_STEP) {
            cr_expect_eq(account->attending, sequences, "every sequence is in every step");
            cr_expect_eq(account->live, sequences);
            account->extended += account->attending;
            account->attending = 0;
        }
    }
}

static void check_size(uint32_t sequences, uint32_t context, uint32_t steps)
{
    char name[48];
    snprintf(name, sizeof name, "batch-%ux%ux%u", sequences, context, steps);
    struct tb_schedule *schedule = decode(name, 32, 3);
    struct account account = {.live = 0};
    uint64_t all = (uint64_t)sequences * steps;
    account_lap(&account, schedule, schedule->prologue, sequences);
    for (uint64_t lap = 0; lap < 4; lap++) {
        account_lap(&account, schedule, *tb_schedule_lap(schedule, lap), sequences);
        cr_expect_eq(account.extended, all, "%s", name);
        cr_expect_eq(account.retired, sequences, "%s: each ends once", name);
        cr_expect_eq(2 * account.attended, 2 * all * context - (steps % 2 ? 0 : all), "%s: the mean is the context", name);
        cr_expect_eq(account.attended, schedule->attended_per_lap);
        cr_expect_eq(account.taken, schedule->blocks_per_lap);
    }
    uint64_t longest = context - steps / 2 + steps - 1, blocks = (longest + 31) / 32 * 3;
    cr_expect_eq(schedule->tokens_peak, longest, "%s", name);
    cr_expect_leq(schedule->tokens_live_peak, sequences * longest);
    cr_expect_eq(schedule->live_max, sequences);
    cr_expect_leq(schedule->blocks_peak, sequences * blocks, "%s", name);
    cr_expect_geq(schedule->pool_blocks, schedule->blocks_peak * 5 / 4);
    cr_expect_geq(schedule->pool_blocks, schedule->blocks_peak + blocks);
    free(schedule);
}

Test(batch, sizes_keep_what_is_promised)
{
    static const uint32_t sequences[] = {1, 2, 3, 8, 64}, contexts[] = {16, 100, 4096}, steps[] = {1, 2, 7, 31, 64, 199};
    for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++)
        for (size_t c = 0; c < sizeof contexts / sizeof *contexts; c++)
            for (size_t p = 0; p < sizeof steps / sizeof *steps; p++)
                if (steps[p] / 2 < contexts[c])
                    check_size(sequences[s], contexts[c], steps[p]);
}

// The same tokens, whatever the blocks; a block that is as long as a sequence may become is taken once.
Test(batch, tokens_do_not_depend_on_blocks)
{
    struct tb_schedule *small = decode("batch-8x4096", 16, 16);
    uint32_t tokens = 0;
    struct tb_why why;

    cr_assert_eq(tb_decode_tokens_peak("batch-8x4096", &tokens, &why), 0);
    cr_expect_eq(tokens, small->tokens_peak);
    struct tb_schedule *whole = decode("batch-8x4096", tokens, 16);
    cr_expect_eq(whole->tokens_per_lap, small->tokens_per_lap);
    cr_expect_eq(whole->attended_per_lap, small->attended_per_lap);
    cr_expect_eq(whole->blocks_per_lap, 8 * 16);
    cr_expect_eq(whole->blocks_peak, 8 * 16);
    cr_expect_eq(whole->pool_blocks, 8 * 16 * 5 / 4);
    free(whole);
    free(small);
}

Test(batch, names)
{
    static const struct {
        const char *name;
        int error;
    } cases[] = {
        {"batch-8x4096", 0},
        {"batch-64x131072x4096", 0},
        {"batch-1x16x1", 0},
        {"batch-1x16x31", 0},
        {"batch", -ENOENT},
        {"churn-touch", -ENOENT},
        {"", -ENOENT},
        {"batch-", -EINVAL},
        {"batch-8", -EINVAL},
        {"batch-8x", -EINVAL},
        {"batch-8x4096x", -EINVAL},
        {"batch-8x4096x64x1", -EINVAL},
        {"batch-08x64", -EINVAL},
        {"batch-8x4096 ", -EINVAL},
        {"batch-0x4096", -EINVAL},
        {"batch-65x4096", -EINVAL},
        {"batch-8x15x2", -EINVAL},
        {"batch-8x131073", -EINVAL},
        {"batch-8x64x0", -EINVAL},
        {"batch-8x4096x4097", -EINVAL},
        {"batch-8x16", -EINVAL},
        {"batch-8x32x64", -EINVAL},
        {"batch--8x64", -EINVAL},
        {"batch-8x18446744073709551632", -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_batch batch;
        struct tb_why why = {""};
        cr_expect_eq(tb_batch_read(cases[i].name, &batch, &why), cases[i].error, "%s", cases[i].name);
        cr_expect_eq(why.text[0] != '\0', cases[i].error == -EINVAL, "%s", cases[i].name);
        cr_expect_eq(tb_workload_known(cases[i].name), cases[i].error == 0 || strcmp(cases[i].name, "churn-touch") == 0);
    }
}

// One name for one workload.
Test(batch, steps_that_are_the_usual_ones_are_left_out_of_the_name)
{
    struct tb_batch batch;
    struct tb_why why;
    cr_assert_eq(tb_batch_read("batch-8x4096x64", &batch, &why), 0);
    cr_expect_str_eq(batch.name, "batch-8x4096");
    cr_assert_eq(tb_batch_read("batch-8x4096x63", &batch, &why), 0);
    cr_expect_str_eq(batch.name, "batch-8x4096x63");
    cr_expect_eq(batch.steps, 63);
}

// The project's own trace: who is served when is as in its plain replay.
Test(batch, recorded_traces_are_decoded_as_well)
{
    struct tb_schedule *plain = NULL, *small = decode("sample", 16, 1), *large = decode("sample", 128, 4);
    struct tb_why why;
    cr_assert_eq(tb_known_trace_schedule("sample", &plain, &why), 0);
    cr_expect_eq(small->steps_per_lap, plain->ticks);
    cr_expect_eq(small->blocks_per_lap, plain->blocks_per_lap);
    cr_expect_eq(small->blocks_peak, plain->blocks_peak);
    cr_expect_eq(small->pool_blocks, plain->pool_blocks);
    cr_expect_eq(large->pool_blocks, plain->pool_blocks * 16 / 128 * 4);
    cr_expect_eq(large->attended_per_lap, small->attended_per_lap);
    cr_expect_eq(large->tokens_per_lap, small->tokens_per_lap);
    cr_expect_eq(small->decoded_tokens, plain->decoded_tokens);
    free(plain);
    free(small);
    free(large);
}

Test(batch, other_workloads_have_no_tokens)
{
    struct tb_schedule *schedule = (struct tb_schedule *)1;
    struct tb_why why = {""};
    cr_expect_eq(tb_decode_schedule("churn-touch", 16, 1, &schedule, &why), -ENOENT);
    cr_expect_null(schedule);
    cr_expect_str_not_empty(why.text);
    why.text[0] = '\0';
    cr_expect_eq(tb_decode_schedule("batch-8x4096", 16, 0, &schedule, &why), -EINVAL);
    cr_expect_str_not_empty(why.text);
}
