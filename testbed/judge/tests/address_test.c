// SPDX-License-Identifier: Apache-2.0
//
// address: what is an address, and does it lead to the figure of the log?
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/judge/address.h"
#include "testbed/judge/tests/record_fixture.h"

static char folder[] = "/tmp/address-test-XXXXXX", path[4096], why[1024];
static struct tb_log_view view;

static void open_record(void)
{
    struct record_fixture fixture = {"logs",         "bm1",
                                     "official",     "0002-20261121T101500Z-a1b2c3",
                                     FIXTURE_COMMIT, "no",
                                     .seed = 1,      .factor = 1,
                                     .rounds = 20,   .invalid_round = -1};
    cr_assert(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(record_fixture_make(&fixture, path, sizeof path), 0);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s", why);
}

static void close_record(void)
{
    tb_log_view_close(&view);
    cr_assert_eq(tb_child_remove(folder), 0);
}

TestSuite(address, .init = open_record, .fini = close_record);

static int follow(const char *text, struct tb_addressed *out)
{
    struct tb_address address;
    int rc = tb_address_parse(text, &address, why, sizeof why);
    return rc ? rc : tb_address_measure(&view, &address, out, why, sizeof why);
}

static struct tb_addressed figure(const char *text)
{
    struct tb_addressed out;
    cr_assert_eq(follow(text, &out), 0, "%s: %s", text, why);
    return out;
}

Test(address, a_record_has_a_verdict_alone)
{
    struct tb_addressed run = figure("0002");
    cr_assert_str_eq(run.verdict, tb_member_text(view.summary, "verdict"));
    cr_assert(isnan(run.estimate) && isnan(run.low) && isnan(run.high));
}

Test(address, a_prediction_is_as_it_was_sealed)
{
    const json_t *p1 = json_array_get(tb_member(view.summary, "predictions"), 0);
    struct tb_addressed out = figure("0002/P1");
    cr_assert_eq(out.estimate, tb_member_number(p1, "estimate"));
    cr_assert_eq(out.low, tb_member_number(p1, "low"));
    cr_assert_eq(out.high, tb_member_number(p1, "high"));
    cr_assert_str_eq(out.verdict, "survived");
    cr_assert_eq(figure("0002.add1/P1 churn-touch/full").estimate, out.estimate); // which record's log it is, its caller knows
}

Test(address, a_prediction_about_several_cells_needs_the_cell)
{
    const json_t *parts = tb_member(json_array_get(tb_member(view.summary, "predictions"), 2), "parts");
    struct tb_addressed out;
    cr_assert_eq(follow("0002/P3", &out), -ENODATA);
    cr_assert(strstr(why, "P3 has parts in several cells: name one"), "%s", why);
    cr_assert_eq(figure("0002/P3 churn-touch/byte").estimate, tb_member_number(json_array_get(parts, 1), "estimate"));
    cr_assert_neq(figure("0002/P3 churn-touch/byte").estimate, figure("0002/P3 churn-touch/full").estimate);
}

Test(address, arms_have_keys_and_names_and_cells_two_forms)
{
    struct tb_addressed by_key = figure("0002 churn-touch/full B/A");
    cr_assert_eq(by_key.estimate, figure("0002/P1").estimate);
    cr_assert(by_key.low > 1.37 && by_key.low < 1.4 && by_key.high > 1.4 && by_key.high < 1.43);
    cr_assert_eq(figure("0002 churn-touch/full glibc/locus").estimate, by_key.estimate);
    cr_assert_eq(figure("0002 churn-touch/full hl_ratio(B/A)").estimate, by_key.estimate);
    cr_assert_eq(figure("0002 churn-touch/full/spin/1w/4KiB B/A").estimate, by_key.estimate);
    cr_assert(fabs(figure("0002 churn-touch/full A/B").estimate * by_key.estimate - 1) < 1e-12);
}

Test(address, largest_and_least_of_several_arms_and_cells)
{
    cr_assert_eq(figure("0002 churn-touch/full max(locus) of outstanding_ratio").estimate, 1.01);
    cr_assert_eq(figure("0002 churn-touch/full max(glibc) of outstanding_ratio").high, 1.3);
    double byte = figure("0002 churn-touch/byte min(A)").estimate, full = figure("0002 churn-touch/full max(A)").estimate;
    cr_assert(byte < 0.51e6 && full > 0.99e6);
    cr_assert_eq(figure("0002 * min(A)").estimate, byte);
    cr_assert_eq(figure("0002 * max(A)").estimate, full);
    cr_assert_eq(figure("0002 * max(locus)").estimate, fmax(full, figure("0002 * max(C)").estimate));
}

Test(address, what_is_not_there_is_said)
{
    static const struct {
        const char *address;
        int rc;
        const char *why;
    } cases[] = {
        {"", -EINVAL, "begin with a record"},
        {"2/P1", -EINVAL, "begin with a record"},
        {"0002.add/P1", -EINVAL, "begin with a record"},
        {"0002.addx", -EINVAL, "begin with a record"},
        {"0002/Q1", -EINVAL, "begin with a record"},
        {"0002/P", -EINVAL, "begin with a record"},
        {"0002/P1 churn-touch/full B/A", -EINVAL, "is neither"},
        {"0002 churn-touch/full", -EINVAL, "is neither"},
        {"0002 churn-touch/full B/A of", -EINVAL, "is neither"},
        {"0002 churn-touch/full B/A by time_ns", -EINVAL, "names no metric"},
        {"0002 churn-touch/full B/A of time_ns too", -EINVAL, "is neither"},
        {"0002 churn-touch/full B", -EINVAL, "names no arms"},
        {"0002 churn-touch/full max(B/A)", -EINVAL, "names no arms"},
        {"0002 churn-touch/full median(B)", -EINVAL, "names no arms"},
        {"0002 churn-touch/full hl_ratio(B)", -EINVAL, "names no arms"},
        {"0002 churn-touch/full max(B) of speed", -EINVAL, "names no metric"},
        {"0002/P9", -ENODATA, "has no prediction P9"},
        {"0002/P1 churn-touch/byte", -ENODATA, "no part in that cell"},
        {"0002 churn-touch/none B/A", -ENODATA, "was not run"},
        {"0002 * B/A", -ENODATA, "was not run"},
        {"0002 churn-touch/full Q/A", -ENODATA, "no arm Q"},
        {"0002 churn-touch/full A/Q", -ENODATA, "no arm Q"},
        {"0002 churn-touch/full max(A) of hit_ratio", -ENODATA, "no hit_ratio"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_addressed out;
        cr_expect_eq(follow(cases[i].address, &out), cases[i].rc, "%s", cases[i].address);
        cr_expect(strstr(why, cases[i].why), "%s: %s", cases[i].address, why);
    }
}
