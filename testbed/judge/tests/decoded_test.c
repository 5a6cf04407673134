// SPDX-License-Identifier: Apache-2.0
//
// decoded: tokens in a second, who computed, and which floor is an arm's own.
#include <criterion/criterion.h>
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

Test(decoded, a_floor_is_of_the_same_arm_and_the_lowest_valid_one)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    cr_expect_eq(tb_own_floor(rounds, 0, LOCUS), STREAM);
    cr_expect_eq(tb_own_floor(rounds, 0, MIMALLOC), CACHED);
    cr_expect_eq(tb_own_floor(rounds, 0, SMALL), -1);
    cr_expect_eq(tb_own_floor(rounds, 0, NO_APPEND), -1, "it does not do the work");
    fixture_invalidate(rounds, 0, STREAM, 3, "lost one");
    cr_expect_eq(tb_own_floor(rounds, 0, LOCUS), BLOCKS);
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
