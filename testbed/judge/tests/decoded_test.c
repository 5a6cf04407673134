// SPDX-License-Identifier: Apache-2.0
//
// decoded: tokens in a second, who computed, which floor is an arm's own, and what a byte of KV takes.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>

#include "testbed/decode/act.h"
#include "testbed/judge/decoded.h"
#include "testbed/judge/tests/decode_fixture.h"

static struct fixture f;

Test(decoded, tokens_are_those_of_a_lap_without_prompts)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    cr_expect_float_eq(tb_tokens_per_s(rounds, 0, 8e6), 4000, 1e-9);
    cr_expect(isnan(tb_tokens_per_s(rounds, 0, 0)));
    cr_expect(isnan(tb_tokens_per_s(rounds, 1, 8e6)), "full touch");
}

Test(decoded, the_kernel_is_that_of_a_sample_that_names_one)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    for (uint32_t round = 0; round < 6; round++)
        tb_rounds_sample(rounds, 0, LOCUS, round)->decode = (struct tb_decode_sample){0}; // as of processes that crashed
    cr_assert_not_null(tb_decoded_by(rounds, 0));
    cr_expect_str_eq(tb_decoded_by(rounds, 0)->kernel, "avx2");
    cr_expect_null(tb_decoded_by(rounds, 1));
}

Test(decoded, an_act_with_a_kernel_of_its_own_speaks_for_itself)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    f.arms[LOCUS].fault = TB_FAULT_ACT;
    strcpy(f.arms[LOCUS].act, "torch-cat");
    cr_expect_not_null(tb_decoded_by_itself(rounds, 0, LOCUS));
    for (uint32_t round = 0; round < 6; round++)
        strcpy(tb_rounds_sample(rounds, 0, LOCUS, round)->decode.kernel, "torch 1.13 f32");
    cr_expect_str_eq(tb_decoded_by_itself(rounds, 0, LOCUS)->kernel, "torch 1.13 f32");
    cr_expect_str_eq(tb_decoded_by(rounds, 0)->kernel, "avx2", "that of the others, though it stands first");
    cr_expect_null(tb_decoded_by_itself(rounds, 0, NOTHING));
    cr_expect_null(tb_decoded_by_itself(rounds, 1, LOCUS), "full touch");
}

Test(decoded, a_floor_is_of_the_same_arm_and_the_valid_one_that_binds)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    cr_expect_eq(tb_own_floor(rounds, 0, LOCUS), BLOCKS);
    cr_expect_eq(tb_own_floor(rounds, 0, MIMALLOC), CACHED);
    cr_expect_eq(tb_own_floor(rounds, 0, SMALL), -1);
    cr_expect_eq(tb_own_floor(rounds, 0, NO_APPEND), -1, "it does not do the work");
    fixture_invalidate(rounds, 0, BLOCKS, 3, "lost one");
    cr_expect_eq(tb_own_floor(rounds, 0, LOCUS), STREAM);
}

Test(decoded, an_act_is_what_is_left_out)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    cr_expect_null(tb_arm_act(&rounds->arms[LOCUS]));
    cr_expect(tb_arm_act(&rounds->arms[BLOCKS])->floor);
    cr_expect_not(tb_arm_act(&rounds->arms[NOTHING])->floor);
    strcpy(f.arms[NOTHING].act, "attend");
    cr_expect_null(tb_arm_act(&rounds->arms[NOTHING]));
}

// --- pace ----------------------------------------------------------------------------------------------------------------------

// A step attends over 100 tokens of 2 layers, each of 4096 bytes: 819,200 bytes.
static struct tb_rounds *paced(uint32_t rounds)
{
    decode_fixture(&f, rounds);
    f.cells[0].block_bytes = 16 * 4096;
    f.schedules[0].block_tokens = 16;
    f.schedules[0].blocks_per_group = 2;
    f.schedules[0].attended_per_lap = 8 * 100;
    return &f.rounds;
}

static void set_all(uint32_t arm, double lap_ns)
{
    for (uint32_t round = 0; round < f.rounds.count; round++)
        tb_rounds_sample(&f.rounds, 0, arm, round)->lap_ns = lap_ns;
}

Test(decoded, a_byte_takes_what_attention_adds_over_the_bytes_that_it_reads)
{
    struct tb_pace pace;
    struct tb_rounds *rounds = paced(10);
    set_all(LOCUS, 8 * 1000000);
    set_all(NO_ATTEND, 8 * 180800); // 819,200 ns are left of a step: 1 ns for each byte
    set_all(STREAM, 8 * (180800 + 409600));
    cr_assert_eq(tb_pace(rounds, 0, "locus", &pace), 0);
    cr_expect_eq(pace.step_bytes, 819200);
    cr_expect_float_eq(pace.read_ps.estimate, 1000, 1e-9);
    cr_expect_float_eq(pace.read_ps.low, 1000, 1e-9);
    cr_expect_float_eq(pace.floor_ps.estimate, 500, 1e-9);
    cr_expect_geq(pace.read_ps.confidence, TB_PACE_CONFIDENCE);
    cr_expect_eq(pace.invalid, -1);
    cr_expect_eq(pace.noisy, -1);
}

// The median of ten, and their second and ninth.
Test(decoded, the_interval_leaves_out_the_first_and_the_last_round)
{
    struct tb_pace pace;
    struct tb_rounds *rounds = paced(10);
    set_all(NO_ATTEND, 0);
    set_all(STREAM, 8 * 81920);
    for (uint32_t round = 0; round < 10; round++)
        tb_rounds_sample(rounds, 0, LOCUS, round)->lap_ns = 8 * 819200 * (1 + 0.01 * round);
    cr_assert_eq(tb_pace(rounds, 0, "locus", &pace), 0);
    cr_expect_float_eq(pace.read_ps.estimate, 1045, 1e-9);
    cr_expect_float_eq(pace.read_ps.low, 1010, 1e-9);
    cr_expect_float_eq(pace.read_ps.high, 1080, 1e-9);
    cr_expect_float_eq(pace.floor_ps.estimate, 100, 1e-9);
}

Test(decoded, too_few_rounds_or_ones_that_hold_nothing_give_no_figure)
{
    struct tb_pace pace;
    cr_expect_eq(tb_pace(paced(6), 0, "locus", &pace), -ERANGE);
    struct tb_rounds *rounds = paced(10);
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), 0);
    for (uint32_t round = 0; round < 3; round++)
        tb_rounds_sample(rounds, 0, NO_ATTEND, round)->lap_ns = 1e12;
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), -ERANGE);
}

Test(decoded, an_arm_that_is_missing_or_invalid_leaves_no_pace_and_one_that_is_noisy_is_named)
{
    struct tb_pace pace;
    struct tb_rounds *rounds = paced(10);
    cr_expect_eq(tb_pace(rounds, 0, "mimalloc", &pace), -EINVAL);
    cr_expect_eq(pace.invalid, -1);
    fixture_wait(rounds, 0, STREAM, 10);
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), 0);
    cr_expect_eq(pace.noisy, STREAM);
    fixture_invalidate(rounds, 0, STREAM, 2, "lost one");
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), -EINVAL);
    cr_expect_eq(pace.invalid, STREAM);
    rounds = paced(10);
    fixture_wait(rounds, 0, NO_ATTEND, 10);
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), 0);
    cr_expect_eq(pace.noisy, -1, "its time is short beside the others");
}

Test(decoded, another_touch_mode_has_no_pace)
{
    struct tb_pace pace;
    struct tb_rounds *rounds = paced(10);
    f.cells[0].touch = TB_TOUCH_FULL;
    cr_expect_eq(tb_pace(rounds, 0, "locus", &pace), -EINVAL);
}
