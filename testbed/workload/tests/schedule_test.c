// SPDX-License-Identifier: Apache-2.0
//
// schedule: the suite has the published totals and peaks, its streams are sound by an account independent of pack(), and pack()
// refuses streams that no contender could run.
#include "testbed/workload/suite.h"
#include "testbed/workload/workload.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct tb_schedule *suite(const char *name)
{
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(tb_workload_schedule(name, &schedule), 0, "%s", name);
    return schedule;
}

Test(schedule, suite_has_the_published_totals_and_peaks)
{
    static const struct {
        const char *name;
        uint64_t blocks, requests, ticks, laps, live_max;
        uint32_t peak, pool, slots;
    } expected[] = {
        {"steady-decode", 2688, 64, 64, 1, 57, 1344, 8192, 64},
        {"burst-storm", 2688, 64, 49, 1, 64, 1537, 8192, 64},
        {"long-tail", 6016, 64, 527, 1, 64, 4168, 8192, 64},
        {"churn-touch", 1024, 64, 64, 20, 256, 4096, 16384, 320},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct tb_schedule *schedule = suite(expected[i].name);

        cr_expect_str_eq(tb_suite(1)->workloads[i], expected[i].name);
        cr_expect_str_eq(schedule->name, expected[i].name);
        cr_expect_eq(schedule->blocks_per_lap, expected[i].blocks);
        cr_expect_eq(schedule->requests_per_lap, expected[i].requests);
        cr_expect_eq(schedule->ticks, expected[i].ticks);
        cr_expect_eq(schedule->laps_count, expected[i].laps);
        cr_expect_eq(schedule->live_max, expected[i].live_max);
        cr_expect_eq(schedule->blocks_peak, expected[i].peak, "%s: peak %u", expected[i].name, schedule->blocks_peak);
        cr_expect_eq(schedule->pool_blocks, expected[i].pool);
        cr_expect_eq(schedule->slots, expected[i].slots);
        cr_expect_eq(schedule->version, 1);
        free(schedule);
    }
}

Test(schedule, suite_knows_no_other_name)
{
    struct tb_schedule *schedule = (struct tb_schedule *)1;

    cr_assert_eq(tb_workload_schedule("steady", &schedule), -ENOENT);
    cr_assert_null(schedule);
    cr_assert_eq(tb_workload_schedule("", &schedule), -ENOENT);
}

static void expect_op(const struct tb_op *op, enum tb_op_kind kind, uint32_t slot, uint32_t count)
{
    cr_expect(op->kind == kind && op->slot == slot && op->count == count, "found kind %u slot %u count %u, wanted %u %u %u",
              op->kind, op->slot, op->count, kind, slot, count);
}

// Request 0 is cancelled after 8 steps. By then 32..35 have just arrived, so 35 is the last and takes its place, in that very step.
Test(schedule, swapped_in_request_decodes_in_the_same_step)
{
    struct tb_schedule *schedule = suite("steady-decode");
    const struct tb_op *op = tb_schedule_ops(schedule);

    expect_op(&op[0], TB_OP_DRAIN, 0, 0);
    expect_op(&op[1], TB_OP_TAKE, 0, 16);
    expect_op(&op[4], TB_OP_TAKE, 3, 16);
    expect_op(&op[5], TB_OP_TAKE, 0, 1);
    expect_op(&op[9], TB_OP_DRAIN, 0, 0);
    expect_op(&op[10], TB_OP_DRAIN, 0, 0);
    while (op->kind != TB_OP_RETIRE)
        op++;
    expect_op(&op[-5], TB_OP_DRAIN, 0, 0);
    expect_op(&op[-1], TB_OP_TAKE, 35, 16);
    expect_op(&op[0], TB_OP_RETIRE, 0, 0);
    expect_op(&op[1], TB_OP_TAKE, 35, 1);
    expect_op(&op[2], TB_OP_TAKE, 1, 1);
    free(schedule);
}

Test(schedule, churn_replaces_the_oldest_chunk_and_rotates_its_slots)
{
    struct tb_schedule *schedule = suite("churn-touch");
    const struct tb_op *ops = tb_schedule_ops(schedule);

    cr_assert_eq(schedule->prologue.end - schedule->prologue.begin, 256);
    cr_assert_eq(schedule->epilogue.end - schedule->epilogue.begin, 256);
    for (uint32_t step = 0; step < 20 * 64; step++) {
        const struct tb_op *op = &ops[schedule->prologue.end + step * 4];

        expect_op(&op[0], TB_OP_DRAIN, 0, 0);
        expect_op(&op[1], TB_OP_RETIRE, step % 320, 0);
        expect_op(&op[2], TB_OP_TAKE, (step + 256) % 320, 16);
        expect_op(&op[3], TB_OP_DRAIN, 0, 0);
    }
    free(schedule);
}

struct account {
    uint32_t held[512];
    bool on_its_way[512]; // retired in this phase
    uint64_t taken, retired;
};

static void account_span(struct account *account, const struct tb_schedule *schedule, struct tb_span span)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);

    memset(account->on_its_way, 0, sizeof(account->on_its_way));
    account->taken = account->retired = 0;
    for (uint64_t i = span.begin; i < span.end; i++) {
        uint32_t slot = ops[i].slot;

        if (ops[i].kind == TB_OP_DRAIN)
            continue;
        cr_assert_lt(slot, schedule->slots);
        if (ops[i].kind == TB_OP_TAKE) {
            cr_assert(!account->on_its_way[slot], "op %llu takes slot %u too early", (unsigned long long)i, slot);
            account->held[slot] += ops[i].count;
            account->taken += ops[i].count;
            cr_assert_leq(account->held[slot], tb_schedule_capacity(schedule)[slot]);
        } else {
            cr_assert_gt(account->held[slot], 0, "op %llu retires an empty slot", (unsigned long long)i);
            account->held[slot] = 0;
            account->on_its_way[slot] = true;
            account->retired++;
        }
    }
}

static void check_rotation(const struct tb_schedule *schedule)
{
    struct account account = {.taken = 0};

    cr_assert_leq(schedule->slots, 512);
    account_span(&account, schedule, schedule->prologue);
    for (uint64_t lap = 0; lap < 2 * schedule->laps_count; lap++) { // the second time round it must fit just as well
        account_span(&account, schedule, *tb_schedule_lap(schedule, lap));
        cr_expect_eq(account.taken, schedule->blocks_per_lap);
        cr_expect_eq(account.retired, schedule->requests_per_lap);
    }
    account_span(&account, schedule, schedule->epilogue);
    for (uint32_t slot = 0; slot < schedule->slots; slot++)
        cr_expect_eq(account.held[slot], 0, "slot %u is never retired", slot);
}

Test(schedule, suite_streams_are_sound_when_repeated)
{
    for (size_t i = 0; tb_workload_at(i); i++) {
        struct tb_schedule *schedule = suite(tb_workload_at(i)->name);

        cr_expect_eq(schedule->prologue.begin, 0);
        cr_expect_eq(tb_schedule_lap(schedule, 0)->begin, schedule->prologue.end);
        cr_expect_eq(tb_schedule_lap(schedule, schedule->laps_count - 1)->end, schedule->epilogue.begin);
        cr_expect_eq(schedule->epilogue.end, schedule->ops_count);
        check_rotation(schedule);
        free(schedule);
    }
}

Test(schedule, flat_block_can_be_moved_and_is_the_same_each_time)
{
    for (size_t i = 0; tb_workload_at(i); i++) {
        struct tb_schedule *one = suite(tb_workload_at(i)->name), *two = suite(tb_workload_at(i)->name);
        struct tb_schedule *moved = malloc(one->bytes);

        cr_assert_eq(one->bytes, two->bytes);
        cr_expect_arr_eq(one, two, one->bytes);
        memcpy(moved, one, one->bytes);
        free(one);
        cr_expect_leq(moved->ops_offset + moved->ops_count * sizeof(struct tb_op), moved->capacity_offset);
        cr_expect_leq(moved->laps_offset + moved->laps_count * sizeof(struct tb_span), moved->bytes);
        check_rotation(moved);
        free(moved);
        free(two);
    }
}

// Small streams in letters: t takes 2 blocks into slot 0, T into slot 1, + one more into slot 0, r and R retire, d drains,
// | begins a lap, ; the epilogue.
static int pack(const char *stream, uint32_t pool_blocks, struct tb_schedule **out)
{
    struct tb_builder *builder = NULL;
    int error = tb_builder_open(&builder);

    for (*out = NULL; !error && *stream; stream++) {
        switch (*stream) {
        case 't': error = tb_builder_add(builder, TB_OP_TAKE, 0, 2); break;
        case 'T': error = tb_builder_add(builder, TB_OP_TAKE, 1, 2); break;
        case '+': error = tb_builder_add(builder, TB_OP_TAKE, 0, 1); break;
        case 'r': error = tb_builder_add(builder, TB_OP_RETIRE, 0, 0); break;
        case 'R': error = tb_builder_add(builder, TB_OP_RETIRE, 1, 0); break;
        case 'd': error = tb_builder_add(builder, TB_OP_DRAIN, 0, 0); break;
        case '|': error = tb_builder_mark_lap(builder); break;
        case ';': error = tb_builder_mark_epilogue(builder); break;
        default: cr_assert_fail("unknown letter %c", *stream);
        }
    }
    if (!error)
        error = tb_builder_pack(builder, "small", pool_blocks, out);
    tb_builder_close(builder);
    return error;
}

Test(schedule, builder_refuses_unsound_streams)
{
    static const struct {
        const char *stream, *why;
    } unsound[] = {
        {"", "nothing at all"},
        {"dtr", "no lap"},
        {"|d;", "a lap without work"},
        {"|tr|;", "a lap without work beside one with"},
        {"t|d;r", "a lap without work between a prologue and an epilogue with"},
        {"|trr;", "retired twice"},
        {"|r;", "retired before it took anything"},
        {"|t;", "never retired"},
        {"T|tr;", "taken in the prologue and never retired"},
        {"trrT|tr;", "one retired twice, one never: the sum is right"},
        {"|t", "never retired, no epilogue"},
        {"t|Tr;R", "the live slots move"},
        {"|trt;r", "taken again while on its way"},
        {"|trtr;", "taken again while on its way"},
        {"|tTrR|ttr;", "laps differ in requests"},
        {"|tr|t+r;", "laps differ in blocks"},
        {"t|Tr|tR+;r", "the live request has more blocks than at first"},
        {"|tTrR+r;", "taken again in the same lap, after others"},
        {"|ttr+;", "left over"},
        {"|tr;|", "a lap in the epilogue"},
        {"|tr;;", "two epilogues"},
        {";", "an epilogue without a lap"},
    };

    for (size_t i = 0; i < sizeof(unsound) / sizeof(unsound[0]); i++) {
        struct tb_schedule *schedule = NULL;

        cr_expect_eq(pack(unsound[i].stream, 100, &schedule), -EINVAL, "%s: %s", unsound[i].stream, unsound[i].why);
        cr_expect_null(schedule);
        free(schedule);
    }
}

Test(schedule, builder_computes_what_the_simulation_sees)
{
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(pack("td|drTd|dRtd;dr", 4, &schedule), 0);
    cr_expect_eq(schedule->blocks_peak, 2);
    cr_expect_eq(schedule->blocks_per_lap, 2);
    cr_expect_eq(schedule->requests_per_lap, 1);
    cr_expect_eq(schedule->live_max, 1);
    cr_expect_eq(schedule->slots, 2);
    free(schedule);

    cr_assert_eq(pack("|tT++rR", 6, &schedule), 0);
    cr_expect_eq(schedule->blocks_peak, 6);
    cr_expect_eq(schedule->live_max, 2);
    cr_expect_eq(tb_schedule_capacity(schedule)[0], 4);
    cr_expect_eq(tb_schedule_capacity(schedule)[1], 2);
    cr_expect_eq(schedule->epilogue.begin, schedule->epilogue.end);
    free(schedule);
}

Test(schedule, builder_refuses_a_peak_above_the_pool)
{
    struct tb_schedule *schedule = NULL;

    cr_expect_eq(pack("|tT++rR;", 5, &schedule), -EINVAL);
    cr_expect_eq(pack("|tT++rR;", 6, &schedule), 0);
    free(schedule);
}

Test(schedule, builder_refuses_operations_that_do_not_fit)
{
    struct tb_builder *builder = NULL;

    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, 0, 0), -EINVAL);
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, 0, UINT32_C(1) << 28), -EINVAL);
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, UINT32_MAX, 1), -EINVAL);
    cr_expect_eq(tb_builder_add(builder, (enum tb_op_kind)7, 0, 1), -EINVAL);
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, 0, (UINT32_C(1) << 28) - 1), 0);
    tb_builder_close(builder);
    tb_builder_close(NULL);
}

// Small streams of touch `decode`, in blocks of 2 tokens, 3 for the same positions: t takes such a group into slot 0, T into 1;
// digits extend slot 0 by so many tokens, a to e slot 1 by 1 to 5; s is a step; the rest is as in pack().
static int pack_decode(const char *stream, struct tb_schedule **out)
{
    struct tb_builder *builder = NULL;
    int error = tb_builder_open(&builder);
    if (!error)
        error = tb_builder_decodes(builder, 2, 3);
    for (*out = NULL; !error && *stream; stream++) {
        switch (*stream) {
        case 't': error = tb_builder_add(builder, TB_OP_TAKE, 0, 3); break;
        case 'T': error = tb_builder_add(builder, TB_OP_TAKE, 1, 3); break;
        case 'r': error = tb_builder_add(builder, TB_OP_RETIRE, 0, 0); break;
        case 'R': error = tb_builder_add(builder, TB_OP_RETIRE, 1, 0); break;
        case 's': error = tb_builder_add(builder, TB_OP_STEP, 0, 0); break;
        case '|': error = tb_builder_mark_lap(builder); break;
        case ';': error = tb_builder_mark_epilogue(builder); break;
        default:
            error = *stream < 'a' ? tb_builder_add(builder, TB_OP_EXTEND, 0, (uint32_t)(*stream - '0'))
                                  : tb_builder_add(builder, TB_OP_EXTEND, 1, (uint32_t)(*stream - 'a' + 1));
        }
    }
    if (!error)
        error = tb_builder_pack(builder, "tokens", 100, out);
    tb_builder_close(builder);
    return error;
}

Test(schedule, steps_append_and_attend_what_was_extended)
{
    struct tb_schedule *schedule = NULL;

    // 0 begins with 3 tokens; 1 with 2 in the step in which 0 has a fourth; then 1 has a third.
    cr_assert_eq(pack_decode("|tt3sTTb1sasrR;", &schedule), 0);
    cr_expect_eq(schedule->block_tokens, 2);
    cr_expect_eq(schedule->blocks_per_group, 3);
    cr_expect_eq(schedule->steps_per_lap, 3);
    cr_expect_eq(schedule->tokens_per_lap, 3 + (2 + 1) + 1);
    cr_expect_eq(schedule->attended_per_lap, 3 + (2 + 4) + 3);
    cr_expect_eq(schedule->tokens_peak, 4);
    cr_expect_eq(schedule->tokens_live_peak, 7);
    cr_expect_eq(schedule->blocks_peak, 12);
    free(schedule);
}

Test(schedule, builder_refuses_unsound_tokens)
{
    static const struct {
        const char *stream, *why;
    } unsound[] = {
        {"|t3sr;", "more tokens than blocks"},
        {"|2tsr;", "tokens before blocks"},
        {"|t1s2sr;", "more tokens than blocks, step by step"},
        {"|t1ssr;", "a step without tokens"},
        {"|tsr;", "the same, of a request without any"},
        {"|t11sr;", "extended twice before a step"},
        {"|t1rs;", "retired before the step"},
        {"|t1;sr", "no step in the lap"},
        {"t1|sTasR;r", "the step for the prologue is in the lap, which could not be repeated"},
        {"|t2srT|t2sr;R", "laps differ in requests"},
        {"|t2sr|t1sr;", "laps differ in tokens"},
        {"|tT2sasrR|tT2asrR;", "laps differ in steps"},
        {"|tt1s2sr|tt2s1sr;", "laps differ in positions that are read"},
        {"t1s|Tas1sR;r", "the live request has more tokens than at first"},
        {"|t0sr;", "extended by nothing"},
    };

    for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++) {
        struct tb_schedule *schedule = NULL;

        cr_expect_eq(pack_decode(unsound[i].stream, &schedule), -EINVAL, "%s: %s", unsound[i].stream, unsound[i].why);
        cr_expect_null(schedule);
        free(schedule);
    }
}

// A request that follows another in its slot begins without tokens.
Test(schedule, retirement_clears_tokens)
{
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(pack_decode("|t2sr|t2sr;", &schedule), 0);
    cr_expect_eq(schedule->tokens_peak, 2);
    cr_expect_eq(schedule->tokens_live_peak, 2);
    free(schedule);
}

Test(schedule, tokens_are_for_decode_alone)
{
    struct tb_builder *builder = NULL;

    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_expect_eq(tb_builder_add(builder, TB_OP_EXTEND, 0, 1), -EINVAL);
    cr_expect_eq(tb_builder_add(builder, TB_OP_STEP, 0, 0), -EINVAL);
    cr_expect_eq(tb_builder_decodes(builder, 16, 0), -EINVAL);
    cr_expect_eq(tb_builder_decodes(builder, 0, 1), -EINVAL);
    cr_expect_eq(tb_builder_decodes(builder, 16, 2), 0);
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, 0, 3), -EINVAL, "a group and a half");
    cr_expect_eq(tb_builder_add(builder, TB_OP_TAKE, 0, 4), 0);
    cr_expect_eq(tb_builder_decodes(builder, 16, 2), -EINVAL, "too late");
    tb_builder_close(builder);
}

// Without what was refused this stream would be sound, and do less than was meant.
Test(schedule, builder_that_refused_an_operation_is_not_packed)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(tb_builder_open(&builder), 0);
    tb_builder_mark_lap(builder);
    tb_builder_add(builder, TB_OP_TAKE, 0, 1);
    tb_builder_add(builder, TB_OP_TAKE, 0, 0);
    tb_builder_add(builder, TB_OP_RETIRE, 0, 0);
    tb_builder_mark_epilogue(builder);
    cr_expect_eq(tb_builder_pack(builder, "refused", 8, &schedule), -EINVAL);
    cr_expect_null(schedule);
    tb_builder_close(builder);
}

// Two takes whose sum wraps 32 bits: still more than the pool.
Test(schedule, sums_of_blocks_do_not_wrap)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (int i = 0; i < 17; i++)
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, 0, (UINT32_C(1) << 28) - 1), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, 0, 0), 0);
    cr_expect_eq(tb_builder_pack(builder, "wraps", UINT32_MAX, &schedule), -EINVAL);
    cr_expect_null(schedule);
    tb_builder_close(builder);
}

Test(schedule, long_names_are_cut)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;

    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, 0, 1), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, 0, 0), 0);
    cr_assert_eq(tb_builder_pack(builder, "a-name-of-more-than-forty-seven-characters-is-cut-to-fit", 1, &schedule), 0);
    cr_expect_str_eq(schedule->name, "a-name-of-more-than-forty-seven-characters-is-c");
    free(schedule);
    tb_builder_close(builder);
}
