// SPDX-License-Identifier: Apache-2.0
//
// company: a contender that may share a process with others (pairing/process.h) runs twice in one without a trace of the other,
// and what cannot says so (tb_contender.alone).
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/engine.h"
#include "testbed/measure/pairing/process.h"
#include "testbed/workload/workload.h"

static bool shares_with_itself(const struct tb_contender *contender)
{
    struct tb_arm arms[2] = {{.contender = contender}, {.contender = contender}};
    struct tb_cell cell = {.touch = TB_TOUCH_BYTE};
    struct tb_rounds rounds = {
        .arms = arms, .arms_count = 2, .cells = &cell, .cells_count = 1, .count = 1, .workers = 1, .pair_laps = true};
    return tb_rounds_process(&rounds, 0, 1) == 0;
}

static uint32_t run_twice(const struct tb_contender *contender, struct tb_job jobs[2], const struct tb_schedule *schedule)
{
    const struct tb_contender *const both[] = {contender, contender};
    for (uint32_t i = 0; i < 2; i++)
        jobs[i] = (struct tb_job){.arms = 2,
                                  .seed = 9,
                                  .touch = TB_TOUCH_FULL,
                                  .dispatch = TB_DISPATCH_SPIN,
                                  .workers = 1,
                                  .laps = 4,
                                  .laps_warmup = 1,
                                  .block_bytes = 4096};
    cr_expect_eq(tb_engine_run_all(jobs, both, schedule), 0, "%s", contender->name);
    if (strstr(jobs[0].sample.invalid, "huge pages") || strstr(jobs[1].sample.invalid, "huge pages"))
        return 0; // this host has none to spare
    for (uint32_t i = 0; i < 2; i++) {
        const struct tb_sample *sample = &jobs[i].sample;
        cr_expect(sample->valid, "%s: %s", contender->name, sample->invalid);
        cr_expect_eq(sample->allocated, jobs[0].sample.allocated, "%s", contender->name);
        cr_expect_eq(sample->freed, sample->allocated, "%s", contender->name);
        cr_expect_gt(sample->lap_ratio, 0, "%s", contender->name);
    }
    return 1;
}

Test(company, contenders_that_share_a_process_do_not_see_each_other, .timeout = 120)
{
    struct tb_schedule *schedule = NULL;
    struct tb_job *jobs = calloc(2, sizeof *jobs);
    uint32_t shared = 0;
    cr_assert_not_null(jobs);
    cr_assert_eq(tb_workload_schedule("cycle-256", &schedule), 0);
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++)
        if (shares_with_itself(*entry))
            shared += run_twice(*entry, jobs, schedule);
    cr_expect_gt(shared, 10, "only %u contenders were tried", shared);
    free(jobs);
    free(schedule);
}

Test(company, a_malloc_and_what_says_so_share_with_none_of_their_kind)
{
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++)
        if ((*entry)->is_malloc || (*entry)->alone || !(*entry)->driver)
            cr_expect_not(shares_with_itself(*entry), "%s", (*entry)->name);
}
