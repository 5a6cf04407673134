// SPDX-License-Identifier: Apache-2.0
//
// plan: the words of a cell that state its clock, the clock that they make, and loads that have no meaning.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
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
    cr_assert_eq(tb_scenario_open("beam", 20, NULL, &scenario, &why), 0, "%s", why.text);
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

static int planned_of(struct tb_request requests[], size_t count, struct tb_why *why)
{
    struct tb_scenario scenario = {.file = "t.csv", .requests = requests, .count = count};
    struct tb_schedule *schedule = NULL;
    cr_assert_eq(tb_scenario_seal(&scenario), 0);
    tb_serving_settings_fill(&settings);
    int error = tb_serving_plan(&scenario, "t", &settings, &schedule, why);
    cr_expect((error == 0) == (schedule != NULL));
    if (schedule) {
        const struct tb_serving_plan *plan = tb_serving_plan_read(schedule, &scenario);
        cr_expect(isfinite(plan->capacity_per_s) && isfinite(plan->speedup) && plan->speedup > 0);
    }
    free(schedule);
    return error;
}

Test(plan, a_load_needs_a_capacity_that_somebody_shows)
{
    struct tb_request requests[20];
    struct tb_why why = {""};
    for (uint32_t i = 0; i < 20; i++)
        requests[i] =
            (struct tb_request){.arrival_ns = i * UINT64_C(20000000000), .prompt_tokens = 320, .output_tokens = 16, .width = 1};
    begin();
    cr_expect(reads("load90"));
    cr_expect_eq(planned_of(requests, 20, &why), -EINVAL, "all fit at once");
    cr_expect_str_eq(why.text, "t: no request is done while another one waits, so the pool's capacity is unknown and load90 has no "
                               "meaning: more requests, another --pool, or --load all");
    begin();
    cr_expect(reads("load90") && reads("16t") && reads("672t"));
    cr_expect_eq(planned_of(requests, 3, &why), -EINVAL, "when the first are done nobody waits any longer");
    cr_expect_eq(planned_of(requests, 20, &why), 0, "%s", why.text);
}

// 320 steps of 1,000 s for each request, one at a time, and at load1 100 times as long between them: 400 of these end after 400
// years.
Test(plan, the_clock_of_a_load_ends)
{
    struct tb_request requests[400];
    struct tb_why why = {""};
    for (uint32_t i = 0; i < 400; i++)
        requests[i] = (struct tb_request){.arrival_ns = i, .prompt_tokens = 16, .output_tokens = 320, .width = 1};
    begin();
    cr_expect(reads("load1") && reads("16t") && reads("336t") && reads("step1000000000us"));
    cr_expect_eq(planned_of(requests, 400, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t: at load1 the last request arrives after more than 292 years: a larger load, or shorter steps");
    cr_expect_eq(planned_of(requests, 200, &why), 0, "%s", why.text);
}
