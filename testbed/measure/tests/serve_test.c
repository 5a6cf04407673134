// SPDX-License-Identifier: Apache-2.0
//
// A measured process of a strategy: what makes its sample invalid, by name.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/serve.h"
#include "testbed/serving/plan.h"
#include "testbed/workload/scenarios/scenario.h"

static struct tb_schedule *planned(const char *name)
{
    struct tb_scenario *scenario = NULL;
    struct tb_serving_settings settings = {.requests = 20, .watermark_percent = -1, .line = true, .pool_tokens = 16384};
    struct tb_schedule *schedule = NULL;
    struct tb_why why = {""};
    tb_serving_settings_fill(&settings);
    cr_assert_eq(tb_scenario_open(name, settings.requests, NULL, &scenario, &why), 0, "%s", why.text);
    cr_assert_eq(tb_serving_plan(scenario, name, &settings, &schedule, &why), 0, "%s", why.text);
    tb_scenario_close(scenario);
    return schedule;
}

static struct tb_sample run_one(const struct tb_strategy *strategy, const struct tb_schedule *schedule)
{
    static struct tb_job job;
    job = (struct tb_job){.touch = TB_TOUCH_SERVE, .laps = 1};
    cr_assert_eq(tb_serve_run(&job, strategy, schedule), 0);
    return job.sample;
}

static struct tb_sample run(const char *strategy, const struct tb_schedule *schedule)
{
    return run_one(tb_strategy_find(strategy), schedule);
}

Test(serve, a_scenario_that_is_not_the_same_for_all_is_found)
{
    struct tb_schedule *schedule = planned("beam");
    struct tb_scenario scenario;
    struct tb_sample sample = run("paged", schedule);
    cr_assert(sample.valid, "%s", sample.invalid);
    tb_serving_plan_read(schedule, &scenario);
    ((struct tb_request *)(uintptr_t)scenario.requests)[7].prompt_tokens--;
    sample = run("paged", schedule);
    cr_assert_not(sample.valid);
    cr_assert(strstr(sample.invalid, "the scenario is not the one that the others got"), "%s", sample.invalid);
    free(schedule);
}

// A trap's fault is what it is there to show, so that its sample stands and a prediction may be about it. Nobody else's does.
Test(serve, a_strategy_that_breaks_its_contract_is_named)
{
    struct tb_schedule *schedule = planned("beam");
    struct tb_strategy broken = *tb_strategy_find("seed-copy-on-write");
    struct tb_sample sample = run(broken.name, schedule);
    cr_assert(sample.valid && sample.served.faults == 1);
    cr_assert(strstr(sample.invalid, "two owners") || strstr(sample.invalid, "a skipped copy"), "%s", sample.invalid);
    broken.trap = false;
    sample = run_one(&broken, schedule);
    cr_assert(!sample.valid && sample.served.faults == 0);
    cr_assert_eq(run("paged", schedule).served.faults, 0);
    free(schedule);
}
