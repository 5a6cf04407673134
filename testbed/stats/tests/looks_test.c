// SPDX-License-Identifier: Apache-2.0
//
// looks: where a run is looked at, and what each look may spend.
#include "testbed/stats/looks.h"

#include <criterion/criterion.h>
#include <math.h>

Test(looks, double_until_the_last)
{
    uint64_t looks[TB_LOOKS_MAX];
    const uint64_t wanted[] = {30, 60, 120, 240, 480, 600};
    cr_assert_eq(tb_looks(30, 600, looks), 6);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(looks[i], wanted[i]);
    cr_expect_eq(tb_looks(20, 20, looks), 1);
    cr_expect_eq(looks[0], 20);
    cr_assert_eq(tb_looks(1, 1000000, looks), TB_LOOKS_MAX);
    cr_expect(looks[TB_LOOKS_MAX - 2] == 16384 && looks[TB_LOOKS_MAX - 1] == 1000000);
}

Test(looks, spend_what_there_is_and_no_more)
{
    uint64_t looks[TB_LOOKS_MAX];
    size_t count = tb_looks(30, 600, looks);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double alpha = 1 - tb_look_confidence(0.95, looks, count, i);
        cr_expect(alpha > 0 && alpha < 0.05);
        sum += alpha;
    }
    cr_expect_float_eq(sum, 0.05, 1e-12, "%g", sum);
    // alpha ln(1 + (e - 1) / 20), and by hand: 0.05 * 0.082416
    cr_expect_float_eq(1 - tb_look_confidence(0.95, looks, count, 0), 0.05 * log(1 + (exp(1) - 1) / 20), 1e-12);
    cr_expect_eq(tb_look_confidence(0.9, looks, 1, 0), 0.9, "one look spends nothing");
}
