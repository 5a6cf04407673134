// SPDX-License-Identifier: Apache-2.0
//
// plan: the words of a cell that state its clock, and the clock that they make.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/serving/plan.h"
#include "testbed/workload/scenarios/scenario.h"

static struct tb_serving_settings settings;

static bool reads(const char *word)
{
    return tb_serving_setting(&settings, word);
}

static const char *text(void)
{
    static char out[192];
    tb_serving_settings_fill(&settings);
    tb_serving_settings_text(&settings, out, sizeof out);
    return out;
}

static void begin(void)
{
    settings = (struct tb_serving_settings){.watermark_percent = -1};
}

Test(plan, a_clock_that_is_not_stated_has_no_word)
{
    begin();
    cr_expect_str_eq(text(), "serve/16t/131072t/watermark5");
}

Test(plan, the_words_of_the_clock_are_printed_as_they_were_read)
{
    begin();
    cr_expect(reads("read12ps") && reads("step30000us") && reads("load90") && reads("swap"));
    cr_expect_eq(settings.read_fs, 12000);
    cr_expect_eq(settings.step_us, 30000);
    cr_expect_str_eq(text(), "serve/16t/131072t/watermark5/load90/swap/read12ps/step30000us");
    begin();
    cr_expect(reads("read14.507ps"));
    cr_expect_str_eq(text(), "serve/16t/131072t/watermark5/read14.507ps");
    begin();
    cr_expect(reads("read999999.999ps"));
    cr_expect_str_eq(text(), "serve/16t/131072t/watermark5/read999999.999ps");
}

Test(plan, words_that_state_no_clock_are_refused)
{
    static const char *const words[] = {"read",          "readps",    "read12",    "read0ps",  "read-1ps",  "read12us",
                                        "read2000000ps", "read12psx", "step",      "step0us",  "step1.5us", "step30000",
                                        "step1ms",       "step2e9us", "readinfps", "stepnanus"};
    begin();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cr_expect_not(reads(words[i]), "%s", words[i]);
    cr_expect_str_eq(text(), "serve/16t/131072t/watermark5");
}

Test(plan, a_clock_is_stated_once_and_not_for_what_has_none)
{
    begin();
    cr_expect(reads("read12ps") && reads("step7us"));
    cr_expect_not(reads("read12ps"));
    cr_expect_not(reads("step8us"));
    cr_expect_not(reads("random"));
    begin();
    cr_expect(reads("random"));
    cr_expect_not(reads("read12ps"));
    cr_expect_not(reads("step7us"));
}

static struct tb_clock planned(uint64_t *scenario_hash)
{
    struct tb_scenario *scenario = NULL, mapped;
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    tb_serving_settings_fill(&settings);
    cr_assert_eq(tb_scenario_open("beam", 20, 0, &scenario, &why), 0, "%s", why.text);
    cr_assert_eq(tb_serving_plan(scenario, "beam", &settings, &schedule, &why), 0, "%s", why.text);
    const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &mapped);
    struct tb_clock clock = plan->clock;
    *scenario_hash = plan->scenario_hash;
    tb_scenario_close(scenario);
    free(schedule);
    return clock;
}

Test(plan, a_stated_clock_takes_the_place_of_the_shapes_and_nothing_else_changes)
{
    uint64_t before, after;
    begin();
    struct tb_clock usual = planned(&before);
    cr_expect_eq(usual.read_fs, 10000);
    cr_expect_eq(usual.step_ns, 24800000);
    begin();
    cr_expect(reads("read12.5ps") && reads("step30000us"));
    struct tb_clock stated = planned(&after);
    cr_expect_eq(stated.read_fs, 12500);
    cr_expect_eq(stated.step_ns, 30000000);
    cr_expect_eq(stated.prompt_ns, usual.prompt_ns);
    cr_expect_eq(after, before);
}
