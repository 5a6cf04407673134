// SPDX-License-Identifier: Apache-2.0
//
// tails: in clocked laps each call is timed once, whoever makes it, and takes that waited are told apart.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "testbed/measure/engine.h"
#include "testbed/workload/workload.h"

#define LAPS 3u

static uint64_t ops_of(const struct tb_schedule *schedule, unsigned kind)
{
    uint64_t count = 0;
    for (uint64_t lap = 0; lap < LAPS; lap++) {
        const struct tb_span *span = tb_schedule_lap(schedule, lap);
        for (uint64_t i = span->begin; i < span->end; i++)
            count += tb_schedule_ops(schedule)[i].kind == kind;
    }
    return count;
}

Test(tails, each_call_of_a_clocked_lap_is_timed_once, .timeout = 60)
{
    static const char *const names[] = {"locus", "locus-inline", "locus-backpressure", "locus-treiber", "locus-budget", "glibc"};
    struct tb_schedule *schedule = NULL;
    struct tb_job *job = malloc(sizeof *job);
    cr_assert_eq(tb_workload_schedule("steady-decode", &schedule), 0);
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        const struct tb_contender *contender = tb_contender_find(names[i / 2]);
        *job = (struct tb_job){.touch = TB_TOUCH_BYTE,
                               .dispatch = i % 2 ? TB_DISPATCH_FUTEX : TB_DISPATCH_INLINE,
                               .workers = 2,
                               .laps = schedule->laps_count > 3 ? (uint32_t)schedule->laps_count : 3,
                               .laps_clocked = LAPS,
                               .block_bytes = 4096};
        cr_assert_eq(tb_engine_run(job, contender, schedule), 0, "%s", contender->name);
        const struct tb_tail *tails = job->sample.tails;
        cr_expect(job->sample.valid, "%s: %s", contender->name, job->sample.invalid);
        cr_expect_eq(tails[TB_CLOCKED_TAKE].calls, ops_of(schedule, TB_OP_TAKE), "%s", contender->name);
        cr_expect_eq(tails[TB_CLOCKED_PUSH].calls, ops_of(schedule, TB_OP_RETIRE), "%s", contender->name);
        cr_expect_eq(tails[TB_CLOCKED_DRAIN].calls, ops_of(schedule, TB_OP_DRAIN), "%s", contender->name);
        cr_expect_leq(tails[TB_CLOCKED_WAIT].calls, job->sample.waits, "%s", contender->name);
        cr_expect(tails[TB_CLOCKED_PUSH].p50_ns > 0 && job->sample.clock_ns > 0, "%s", contender->name);
    }
    free(job);
    free(schedule);
}
