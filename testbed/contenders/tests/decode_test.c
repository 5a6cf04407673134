// SPDX-License-Identifier: Apache-2.0
//
// decode: every contender carries a model's steps, and the results are those of contiguous memory; acts do what they say, and what
// is wrong with the memory or the reading is noticed.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/driver.h"
#include "testbed/workload/batch.h"

#define SHAPE "2x4x2x64"

static struct tb_schedule *schedule_of(uint32_t blocks_per_group)
{
    struct tb_schedule *schedule = NULL;
    struct tb_why why;
    cr_assert_eq(tb_decode_schedule("batch-3x40x16", 16, blocks_per_group, &schedule, &why), 0);
    return schedule;
}

static void job_make(struct tb_job *job, const char *layout, const char *act, uint32_t threads)
{
    *job = (struct tb_job){
        .touch = TB_TOUCH_DECODE,
        .dispatch = threads == 1 ? TB_DISPATCH_FUTEX : TB_DISPATCH_INLINE, // three spinning threads would starve on two CPUs
        .workers = 1,
        .pool_blocks = 64,
        .laps = 3,
        .laps_warmup = 1,
        .laps_clocked = 1,
        .decode = {.shape = SHAPE, .threads = threads},
        .block_bytes = 16 * 512 * (strcmp(layout, "runs") ? 2 : 1), // 512 bytes a token and layer
    };
    strcpy(job->decode.layout, layout);
    tb_decode_settings_fill(&job->decode);
    snprintf(job->act, sizeof job->act, "%s", act);
}

static const struct tb_sample *run(struct tb_job *job, const struct tb_contender *contender, const char *layout, const char *act,
                                   uint32_t threads, const struct tb_schedule *schedule)
{
    job_make(job, layout, act, threads);
    cr_assert_eq(tb_engine_run(job, contender, schedule), 0, "%s", contender->name);
    return &job->sample;
}

Test(decode, every_contender_carries_the_steps_of_a_model, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2), *all = schedule_of(1);
    struct tb_job *job = malloc(sizeof *job);
    uint32_t tried = 0;
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++) {
        if (!(*entry)->driver)
            continue;
        for (uint32_t threads = 1; threads <= 2; threads++) {
            const struct tb_sample *sample =
                run(job, *entry, threads == 1 ? "runs" : "tokens", "", threads, threads == 1 ? schedule : all);
            if (strstr(sample->invalid, "huge pages"))
                continue; // this host has none to spare
            cr_expect(sample->valid, "%s: %s", (*entry)->name, sample->invalid);
            cr_expect_gt(sample->decode.checked, 10);
            cr_expect_eq(sample->decode.wrong != 0, (*entry)->harness, "%s", (*entry)->name);
            cr_expect_eq(sample->decode.attended_bytes, sample->decode.attended_expected);
            cr_expect_gt(sample->decode.attended_bytes, sample->decode.appended_bytes);
            cr_expect_eq(sample->decode.threads, threads);
            tried++;
        }
    }
    cr_expect_gt(tried, 40, "only %u were tried", tried);
    free(job);
    free(schedule);
    free(all);
}

Test(decode, acts_are_valid_and_a_kernel_that_reads_too_much_is_not, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    for (size_t i = 0; tb_act_at(i); i++) {
        const char *act = tb_act_at(i)->name;
        if (tb_act_at(i)->failed)
            continue; // by PyTorch, which may not be here: below
        const struct tb_sample *sample = run(job, tb_contender_find("locus"), "runs", act, 1, schedule);
        cr_expect_eq(sample->valid, strcmp(act, "one-head-more") != 0, "%s: %s", act, sample->invalid);
    }
    free(job);
    free(schedule);
}

// Without PyTorch an arm is out, and says so; that is not a failure of the process.
Test(decode, pytorch_takes_the_steps_or_the_arm_is_out, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    char found[192];
    bool here = tb_act_torch_here(found, sizeof found);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        const struct tb_sample *sample = run(job, tb_contender_find("locus"), "runs", "torch-cat", threads, schedule);
        cr_expect_eq(sample->valid, here, "%s", sample->invalid);
        cr_expect_eq(strncmp(sample->decode.kernel, "torch ", 6) == 0, here, "%s", sample->decode.kernel);
        cr_expect(here || strstr(sample->invalid, "install python3-torch"), "%s", sample->invalid);
        cr_expect_eq(sample->decode.checked > 10, here);
    }
    free(job);
    free(schedule);
}

Test(decode, what_copies_gives_the_same_bits_from_every_layout, .timeout = 120)
{
    static const char *const layouts[] = {"runs", "interleaved", "tokens", "columns"}, *const acts[] = {"gather", "cat"};
    struct tb_schedule *schedule = schedule_of(2), *all = schedule_of(1);
    struct tb_job *job = malloc(sizeof *job);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (uint32_t of = 0; of < 4; of++) { // both acts, one and two threads
            const char *layout = layouts[i], *act = acts[of / 2];
            const struct tb_contender *locus = tb_contender_find("locus");
            run(job, locus, layout, act, of % 2 + 1, strcmp(layout, "tokens") ? schedule : all);
            if (strcmp(layout, "columns") || strcmp(act, "cat"))
                cr_expect(job->sample.valid, "%s %s: %s", layout, act, job->sample.invalid);
            else
                cr_expect(!job->sample.valid && strstr(job->sample.invalid, "has K in rows"), "%s", job->sample.invalid);
        }
    free(job);
    free(schedule);
    free(all);
}

// A take has two blocks or more here: one for each layer.
Test(decode, takes_are_clocked_and_the_steps_go_on, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    job_make(job, "runs", "", 1);
    job->laps_clocked = 2;
    cr_assert_eq(tb_engine_run(job, tb_contender_find("locus"), schedule), 0);
    cr_expect(job->sample.valid, "%s", job->sample.invalid);
    cr_expect_gt(job->sample.tails[TB_CLOCKED_TAKE].calls, 0);
    cr_expect_leq(job->sample.tails[TB_CLOCKED_TAKE].calls, schedule->blocks_per_lap);
    cr_expect_geq(job->sample.tails[TB_CLOCKED_TAKE].max_ns, job->sample.tails[TB_CLOCKED_TAKE].p50_ns);
    cr_expect_gt(job->sample.decode.step_p50_ns, job->sample.tails[TB_CLOCKED_TAKE].p50_ns, "a step takes blocks, and attends");
    cr_expect_geq(job->sample.decode.step_p99_ns, job->sample.decode.step_p50_ns);
    cr_expect_geq(job->sample.decode.step_max_ns, job->sample.decode.step_p99_ns);
    free(job);
    free(schedule);
}

static struct tb_ops lying;

// Every other block of a pool is said to be where the one before it is.
static void *address_lie(void *context, locus_block block)
{
    char *address = tb_contender_find("locus")->driver->ops->address(context, block);
    return locus_block_index(block) % 2 ? address - 16 * 512 : address;
}

static void lying_decode(struct tb_engine *engine, void *context, const struct tb_span *span)
{
    tb_run_span(engine, &lying, context, span, TB_LAP_DECODE);
}

Test(decode, a_handle_that_lies_is_noticed, .timeout = 120)
{
    const struct tb_contender *locus = tb_contender_find("locus");
    struct tb_driver driver = *locus->driver;
    struct tb_contender liar = *locus;
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    lying = *driver.ops;
    lying.address = address_lie;
    driver.ops = &lying;
    driver.decode = lying_decode;
    liar.driver = &driver;
    const struct tb_sample *sample = run(job, &liar, "runs", "", 1, schedule);
    cr_expect_not(sample->valid);
    cr_expect_gt(sample->decode.wrong, 0);
    free(job);
    free(schedule);
}

// What a lap calls, and what is called beside it.
static struct tb_ops spied;
static struct {
    bool in_a_lap;
    uint32_t retired[2], drained[2], given_back[2];
} calls;

static const struct tb_ops *spied_on(void)
{
    return tb_contender_find("locus")->driver->ops;
}

static int retire_spied(void *context, struct locus_table *table)
{
    calls.retired[calls.in_a_lap]++;
    return spied_on()->retire(context, table);
}

static void drain_spied(void *context)
{
    calls.drained[calls.in_a_lap]++;
    spied_on()->drain(context);
}

static int give_back_spied(void *context)
{
    calls.given_back[calls.in_a_lap]++;
    return spied_on()->give_back(context);
}

static void spied_decode(struct tb_engine *engine, void *context, const struct tb_span *span)
{
    calls.in_a_lap = true;
    tb_run_span(engine, &spied, context, span, TB_LAP_DECODE);
    calls.in_a_lap = false;
}

static const struct tb_sample *run_spied(struct tb_job *job, const char *act, const struct tb_schedule *schedule)
{
    struct tb_contender contender = *tb_contender_find("locus");
    struct tb_driver driver = *contender.driver;
    memset(&calls, 0, sizeof calls);
    spied = *driver.ops;
    spied.retire = retire_spied;
    spied.drain = drain_spied;
    spied.give_back = give_back_spied;
    driver.ops = &spied;
    driver.decode = spied_decode;
    contender.driver = &driver;
    const struct tb_sample *sample = run(job, &contender, "runs", act, 1, schedule);
    cr_expect(sample->valid, "%s: %s", act, sample->invalid);
    cr_expect_eq(calls.retired[0] + calls.retired[1], sample->pushed, "%s", act);
    cr_expect_gt(sample->pushed, 10);
    cr_expect_eq(sample->allocated, sample->freed);
    return sample;
}

Test(decode, what_an_act_leaves_out_of_a_lap_is_done_after_it, .timeout = 120)
{
    static const struct {
        const char *act;
        bool retires, drains; // in a lap
    } acts[] = {{"nothing", true, true}, {"no-drain", true, false}, {"no-free", false, false}};
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        run_spied(job, acts[i].act, schedule);
        cr_expect_eq(calls.retired[1] > 0, acts[i].retires, "%s", acts[i].act);
        cr_expect_eq(calls.retired[0] > 0, !acts[i].retires, "%s", acts[i].act);
        cr_expect_eq(calls.drained[1] > 0, acts[i].drains, "%s", acts[i].act);
        cr_expect_eq(calls.drained[0] > 0, !acts[i].drains, "%s", acts[i].act);
        cr_expect_eq(calls.given_back[0] + calls.given_back[1], 0);
    }
    free(job);
    free(schedule);
}

// Once to see whether it can, and before each lap of three, of the one that warms up, and of the one whose steps are clocked.
Test(decode, pages_are_given_back_before_each_lap_that_is_measured, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    const struct tb_sample *sample = run_spied(job, "first-touch", schedule);
    cr_expect_eq(calls.given_back[0], 1 + 1 + 3 + 1);
    cr_expect_eq(calls.given_back[1], 0);
    cr_expect_gt(sample->decode.appended_bytes, 0);
    cr_expect_eq(sample->decode.attended_bytes, 0);
    sample = run(job, tb_contender_find("locus-heap"), "runs", "first-touch", 1, schedule);
    cr_expect(!sample->valid && strstr(sample->invalid, "cannot give its pages back"), "%s", sample->invalid);
    free(job);
    free(schedule);
}

// What is retired only after a lap has to fit beside what is taken in it.
Test(decode, a_pool_for_all_that_a_lap_takes_has_to_fit, .timeout = 120)
{
    struct tb_schedule *schedule = schedule_of(2);
    struct tb_job *job = malloc(sizeof *job);
    job_make(job, "runs", "no-free", 1);
    job->pool_blocks = schedule->blocks_peak; // and none to spare
    cr_assert_eq(tb_engine_run(job, tb_contender_find("locus"), schedule), 0);
    cr_expect(job->sample.valid, "%s", job->sample.invalid);
    cr_expect_gt(job->sample.outstanding_high, schedule->blocks_peak);
    job_make(job, "runs", "no-free", 1);
    job->block_bytes = UINT64_C(1) << 40;
    cr_assert_eq(tb_engine_run(job, tb_contender_find("locus"), schedule), 0);
    cr_expect(!job->sample.valid && strstr(job->sample.invalid, "name a shorter context"), "%s", job->sample.invalid);
    free(job);
    free(schedule);
}
