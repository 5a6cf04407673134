// SPDX-License-Identifier: Apache-2.0
//
// contenders_thread: the paper's pool under the testbed's own driver and workers, where a worker or the owner has to wait.
// Requests that are larger than any bounded queue: each of up to eight workers waits for the owner. A pool that is too small for
// what is on its way: the owner waits for workers. And injected faults.
#include "testbed/contenders/tests/contenders_play.h"

#define LARGE_BLOCKS 1500u // more than the 1,024 handles of the largest queue
#define LARGE_REQUESTS 4u
#define TIGHT_BLOCKS 48u // of each request; the pool has room for one and a half
#define TIGHT_REQUESTS 12u

// Each lap takes all requests and retires them at its end, after the last drain. The pool has room for one more.
static struct tb_schedule *large_schedule(void)
{
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (uint32_t slot = 0; slot < LARGE_REQUESTS; slot++)
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, slot, LARGE_BLOCKS), 0);
    cr_assert_eq(tb_builder_add(builder, TB_OP_DRAIN, 0, 0), 0);
    for (uint32_t slot = 0; slot < LARGE_REQUESTS; slot++)
        cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, slot, 0), 0);
    cr_assert_eq(tb_builder_mark_epilogue(builder), 0);
    cr_assert_eq(tb_builder_pack(builder, "large", (LARGE_REQUESTS + 1) * LARGE_BLOCKS, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

// One request after the other, without a drain: each but the first needs blocks of the one before. A block, the rest, one more.
static struct tb_schedule *tight_schedule(void)
{
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_assert_eq(tb_builder_mark_lap(builder), 0);
    for (uint32_t slot = 0; slot < TIGHT_REQUESTS; slot++) {
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, slot, 1), 0);
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, slot, TIGHT_BLOCKS - 2), 0);
        cr_assert_eq(tb_builder_add(builder, TB_OP_TAKE, slot, 1), 0);
        cr_assert_eq(tb_builder_add(builder, TB_OP_RETIRE, slot, 0), 0);
    }
    cr_assert_eq(tb_builder_mark_epilogue(builder), 0);
    cr_assert_eq(tb_builder_pack(builder, "tight", TIGHT_BLOCKS * 3 / 2, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

// Those that this is about; all others: settle_test.c.
static bool on_papers_pool(const struct tb_contender *contender)
{
    static const char *const begin[] = {"locus-published", "locus-sh", "locus-chunk"};
    bool does = false;
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        does |= strncmp(contender->name, begin[i], strlen(begin[i])) == 0;
    return does;
}

static struct tb_job run_job(const struct tb_contender *contender, const struct tb_schedule *schedule, enum tb_dispatch dispatch,
                             uint32_t workers, enum tb_fault fault)
{
    static struct tb_job job;
    job = (struct tb_job){
        .touch = TB_TOUCH_BYTE,
        .dispatch = dispatch,
        .workers = workers,
        .fault = fault,
        .laps = 3,
        .laps_warmup = 1,
        .block_bytes = 64,
    };
    int error = tb_engine_run(&job, contender, schedule);
    cr_expect_eq(error, 0, "%s: %s", contender->name, strerror(-error));
    return job;
}

static void large_requests(enum tb_dispatch dispatch, uint32_t workers)
{
    struct tb_schedule *schedule = large_schedule();
    for
        EACH(entry)
        {
            if (!on_papers_pool(*entry))
                continue;
            struct tb_job job = run_job(*entry, schedule, dispatch, workers, TB_FAULT_NONE);
            cr_expect(job.sample.valid, "%s: %s", (*entry)->name, job.sample.invalid);
        }
    free(schedule);
}

Test(contenders_thread, requests_larger_than_a_queue_come_home_from_workers_that_sleep, .timeout = 60)
{
    for (uint32_t workers = 1; workers <= 8; workers += workers < 4 ? 1 : 4)
        large_requests(TB_DISPATCH_FUTEX, workers);
}

static void tight_pool(enum tb_dispatch dispatch, uint32_t workers)
{
    struct tb_schedule *schedule = tight_schedule();
    for
        EACH(entry)
        {
            if (!on_papers_pool(*entry))
                continue;
            struct tb_job job = run_job(*entry, schedule, dispatch, workers, TB_FAULT_NONE);
            cr_expect(job.sample.valid, "%s: %s", (*entry)->name, job.sample.invalid);
            cr_expect_gt(job.sample.waits, 0, "%s: the pool was never too small", (*entry)->name);
        }
    free(schedule);
}

Test(contenders_thread, an_exhausted_pool_waits_for_workers, .timeout = 60)
{
    tight_pool(TB_DISPATCH_INLINE, 1);
    tight_pool(TB_DISPATCH_SPIN, 1);
    for (uint32_t workers = 1; workers <= 8; workers += workers < 4 ? 1 : 4)
        tight_pool(TB_DISPATCH_FUTEX, workers);
}

static void fault_is_noticed(enum tb_fault fault, const char *words)
{
    struct tb_schedule *schedule = large_schedule();
    for
        EACH(entry)
        {
            if (!on_papers_pool(*entry))
                continue;
            for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch++) {
                struct tb_job job = run_job(*entry, schedule, (enum tb_dispatch)dispatch, 1, fault);
                cr_expect(!job.sample.valid && strstr(job.sample.invalid, words), "%s: '%s' instead of '%s'", (*entry)->name,
                          job.sample.invalid, words);
            }
        }
    free(schedule);
}

Test(contenders_thread, a_request_that_is_dropped_is_noticed, .timeout = 60)
{
    fault_is_noticed(TB_FAULT_DROP_CHUNK, "pushed");
}

Test(contenders_thread, a_handle_that_is_freed_twice_is_noticed, .timeout = 60)
{
    fault_is_noticed(TB_FAULT_DOUBLE_FREE, "1 frees were refused");
}
