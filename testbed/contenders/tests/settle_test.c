// SPDX-License-Identifier: Apache-2.0
//
// settle: at the end of a lap everything comes home, even through a queue that is smaller than one request: then the worker waits
// for the owner in the middle of the request.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/engine.h"

#define REQUEST_BLOCKS 1500u // more than the largest queue (1024 handles) holds

static struct tb_schedule *one_large_request(void)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (uint32_t slot = 0; slot < 2; slot++)
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, slot, REQUEST_BLOCKS), 0);
    for (uint32_t slot = 0; slot < 2; slot++)
        cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, slot, 0), 0);
    cr_assert_eq(tb_builder_mark_epilogue(builder), 0);
    cr_assert_eq(tb_builder_pack(builder, "large", 2 * REQUEST_BLOCKS, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

static void run_all(enum tb_dispatch dispatch)
{
    struct tb_schedule *schedule = one_large_request();
    struct tb_job *job = malloc(sizeof *job);
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++) {
        if (!(*entry)->driver || (*entry)->libraries)
            continue; // a malloc of a library is the process's: it has no queue
        *job = (struct tb_job){.touch = TB_TOUCH_BYTE, .dispatch = dispatch, .workers = 2, .laps = 3, .block_bytes = 4096};
        cr_expect_eq(tb_engine_run(job, *entry, schedule), 0, "%s", (*entry)->name);
        if (strstr(job->sample.invalid, "huge pages"))
            continue; // this host has none to spare
        cr_expect(job->sample.valid, "%s: %s", (*entry)->name, job->sample.invalid);
        cr_expect_eq(job->sample.freed, job->sample.allocated, "%s", (*entry)->name);
    }
    free(job);
    free(schedule);
}

Test(settle, a_request_larger_than_the_way_home_comes_home_by_sleeping_workers, .timeout = 60)
{
    run_all(TB_DISPATCH_FUTEX);
}

Test(settle, a_request_larger_than_the_way_home_comes_home_by_spinning_workers, .timeout = 60)
{
    run_all(TB_DISPATCH_SPIN);
}
