// SPDX-License-Identifier: Apache-2.0
//
// pairing: arms that share a process take turns, and each keeps its own books; which arms share; what becomes of a process that
// crashes; which rounds are repeated; and which windows an emulator is told of. And of a process: what single takes took, and the
// memory that it has.
//
// This program is also the measured process of its rounds: as such it runs toys, and says that the host was calm or not, as its
// environment tells it.
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/measure/contender.h"
#include "testbed/measure/pairing/process.h"
#include "testbed/measure/pairing/turns.h"
#include "testbed/measure/tests/toy_pool.h"
#include "testbed/measure/watch.h"

enum { SCHEDULE_FD = 3, JOB_FD = 4 };

static int toy_absent_open(const struct tb_setup *setup, void **out)
{
    (void)out;
    snprintf(setup->why, setup->why_bytes, "there is no such toy here");
    return -ENODEV;
}

static const struct tb_ops toy_absent_ops = {
    .open = toy_absent_open,
    .take = toy_pool_take,
    .address = toy_pool_address,
    .retire = toy_pool_retire,
    .finish = toy_pool_finish,
    .drain = toy_pool_drain,
    .freed = toy_pool_freed,
};
TB_DRIVER(toy_absent_ops);

static const char *const nothing_set[] = {NULL};
static const struct tb_contender toy = {.name = "toy", .frees_on_worker = true, .driver = &toy_pool_ops_driver},
                                 crashes = {.name = "crashes", .driver = &toy_pool_ops_driver},
                                 absent = {.name = "absent", .driver = &toy_absent_ops_driver},
                                 is_malloc = {.name = "malloc", .is_malloc = true, .driver = &toy_pool_ops_driver},
                                 tuned = {.name = "tuned", .environment = nothing_set, .driver = &toy_pool_ops_driver},
                                 alone = {.name = "alone", .alone = true, .driver = &toy_pool_ops_driver},
                                 of_many = {.name = "of-many"};

__attribute__((constructor)) static void act_as_lap(void)
{
    const size_t bytes = TB_PROCESS_ARMS * sizeof(struct tb_job);
    const char *lost = getenv("TOY_LOST");
    struct stat schedule, job;
    if (!lost || fstat(SCHEDULE_FD, &schedule) || fstat(JOB_FD, &job) || job.st_size != (off_t)bytes)
        return;
    struct tb_job *jobs = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, JOB_FD, 0);
    void *stream = mmap(NULL, (size_t)schedule.st_size, PROT_READ, MAP_SHARED, SCHEDULE_FD, 0);
    const struct tb_contender *contenders[TB_PROCESS_ARMS] = {&toy, &toy, &toy};
    int error = tb_engine_run_all(jobs, contenders, stream);
    for (uint32_t arm = 0; arm < jobs->arms; arm++) {
        if (strcmp(jobs[arm].contender, "crashes") == 0)
            raise(SIGKILL); // when all samples are written
        jobs[arm].sample.watched_ns = 100;
        jobs[arm].sample.waited_ns = (uint64_t)atoi(lost);
        jobs[arm].sample.steal_ns = 0; // of this host, if it is busy
    }
    _exit(error != 0);
}

// --- turns ---------------------------------------------------------------------------------------------------------------------

// How often an arm was at a place, of `count` turns.
static void turns_count(uint32_t arms, uint64_t seed, uint32_t count, uint32_t at[TB_PROCESS_ARMS][TB_PROCESS_ARMS])
{
    struct tb_turns turns;
    memset(at, 0, TB_PROCESS_ARMS * sizeof *at);
    tb_turns_begin(&turns, arms, seed);
    for (uint32_t turn = 0; turn < count; turn++) {
        uint32_t order[TB_PROCESS_ARMS];
        tb_turns_next(&turns, order);
        for (uint32_t place = 0; place < arms; place++)
            at[order[place]][place]++;
    }
}

Test(pairing, every_arm_is_as_often_at_every_place)
{
    for (uint32_t arms = 1; arms <= TB_PROCESS_ARMS; arms++) {
        uint32_t at[TB_PROCESS_ARMS][TB_PROCESS_ARMS];
        turns_count(arms, 7, 60, at);
        for (uint32_t arm = 0; arm < arms; arm++)
            for (uint32_t place = 0; place < arms; place++)
                cr_expect_eq(at[arm][place], 60 / arms, "%u arms: arm %u at %u: %u times", arms, arm, place, at[arm][place]);
    }
}

static uint64_t turns_word(uint64_t seed)
{
    struct tb_turns turns;
    uint64_t word = 0;
    tb_turns_begin(&turns, 2, seed);
    for (uint32_t turn = 0; turn < 64; turn++) {
        uint32_t order[TB_PROCESS_ARMS];
        tb_turns_next(&turns, order);
        word = word << 1 | order[0];
    }
    return word;
}

Test(pairing, turns_are_drawn_from_the_seed)
{
    cr_expect_eq(turns_word(1), turns_word(1));
    cr_expect_neq(turns_word(1), turns_word(2));
    cr_expect_neq(turns_word(1), UINT64_C(0x5555555555555555), "the arms merely alternate");
    cr_expect_neq(turns_word(1), UINT64_C(0xaaaaaaaaaaaaaaaa), "the arms merely alternate");
}

// --- windows -------------------------------------------------------------------------------------------------------------------

Test(pairing, windows_of_arms_and_cells_do_not_overlap)
{
    const struct tb_rounds rounds = {.arms_count = 3, .cells_count = 2};
    uint64_t last = 0;
    for (uint32_t cell = 0; cell < rounds.cells_count; cell++)
        for (uint32_t arm = 0; arm < rounds.arms_count; arm++) {
            uint64_t window = tb_rounds_window(&rounds, cell, arm);
            cr_expect_geq(window, last + TB_NODES_MAX, "cell %u, arm %u: %llu", cell, arm, (unsigned long long)window);
            last = window;
        }
}

// --- who shares a process ------------------------------------------------------------------------------------------------------

struct world {
    struct tb_arm arms[8];
    struct tb_cell cells[1];
    struct tb_rounds rounds;
    struct tb_sample *samples;
};

static void world_open(struct world *w, uint32_t count, const struct tb_contender *const contenders[])
{
    memset(w, 0, sizeof *w);
    w->rounds = (struct tb_rounds){.arms = w->arms,
                                   .arms_count = count,
                                   .cells = w->cells,
                                   .cells_count = 1,
                                   .count = 2,
                                   .seed = 11,
                                   .dispatch = TB_DISPATCH_SPIN,
                                   .workers = 1,
                                   .block_bytes = TOY_POOL_BLOCK_BYTES,
                                   .pair_laps = true};
    for (uint32_t arm = 0; arm < count; arm++)
        w->arms[arm].contender = contenders[arm];
    w->cells[0] = (struct tb_cell){.touch = TB_TOUCH_FULL, .laps = 4, .laps_warmup = 1};
}

static void expect_processes(const struct world *w, const uint32_t wanted[])
{
    for (uint32_t arm = 0; arm < w->rounds.arms_count; arm++)
        cr_expect_eq(tb_rounds_process(&w->rounds, 0, arm), wanted[arm], "arm %u is in process %u, not %u", arm,
                     tb_rounds_process(&w->rounds, 0, arm), wanted[arm]);
}

Test(pairing, three_share_in_the_order_of_the_arms)
{
    struct world w;
    world_open(&w, 8, (const struct tb_contender *const[]){&toy, &alone, &toy, &of_many, &toy, &toy, &tuned, &toy});
    expect_processes(&w, (const uint32_t[]){0, 1, 0, 3, 0, 5, 6, 5});
    cr_expect(tb_rounds_paired(&w.rounds));
    strcpy(w.arms[2].library, "/lib/malloc.so");
    w.arms[4].workers = 2;
    expect_processes(&w, (const uint32_t[]){0, 1, 2, 3, 4, 0, 6, 0});
    w.rounds.pair_laps = false;
    expect_processes(&w, (const uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7});
    cr_expect_not(tb_rounds_paired(&w.rounds));
}

Test(pairing, a_process_has_one_malloc)
{
    struct world w;
    world_open(&w, 3, (const struct tb_contender *const[]){&is_malloc, &toy, &is_malloc});
    expect_processes(&w, (const uint32_t[]){0, 0, 2});
}

Test(pairing, neither_benches_nor_many_nodes_nor_strategies_share)
{
    struct world w;
    world_open(&w, 2, (const struct tb_contender *const[]){&toy, &toy});
    cr_expect(tb_rounds_paired(&w.rounds));
    w.rounds.bench = true;
    cr_expect_not(tb_rounds_paired(&w.rounds));
    w.rounds.bench = false;
    w.rounds.many_nodes = true;
    cr_expect_not(tb_rounds_paired(&w.rounds));
    w.rounds.many_nodes = false;
    w.cells[0].touch = TB_TOUCH_SERVE;
    cr_expect_not(tb_rounds_paired(&w.rounds));
}

Test(pairing, processes_are_in_random_order_and_those_that_cannot_share_are_neighbours)
{
    struct world w;
    struct tb_process order[TB_ARMS_MAX];
    uint64_t random = 3;
    uint32_t first[8] = {0};
    world_open(&w, 6, (const struct tb_contender *const[]){&toy, &alone, &toy, &toy, &tuned, &toy}); // {0 2 3} {1} {4} {5}
    for (uint32_t draw = 0; draw < 200; draw++) {
        uint32_t count = tb_rounds_order(&w.rounds, 0, &random, order), at = 0, seen = 0;
        cr_assert_eq(count, 4);
        first[order[0].arms[0]]++;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t arm = 0; arm < order[i].count; arm++)
                seen |= 1u << order[i].arms[arm];
        cr_expect_eq(seen, 0x3fu, "an arm is missing");
        while (order[at].count > 1)
            at++;
        cr_expect_leq(at, 1u);
        cr_expect_eq(order[at].count + order[at + 1].count + order[at + 2].count, 3u, "the lonely ones are not neighbours");
    }
    for (uint32_t arm = 0; arm < 6; arm++)
        cr_expect_eq(first[arm] > 0, arm != 2 && arm != 3, "arm %u was first %u times", arm, first[arm]);
}

// --- laps in one process -------------------------------------------------------------------------------------------------------

static struct tb_schedule *schedule_make(void)
{
    struct tb_builder *builder = NULL;
    struct tb_schedule *schedule = NULL;
    cr_assert_eq(tb_builder_open(&builder), 0);
    tb_builder_add(builder, TB_OP_TAKE, 0, 3); // lives from before the first lap to after the last
    tb_builder_mark_lap(builder);
    for (uint32_t i = 0; i < 20; i++) {
        tb_builder_add(builder, TB_OP_TAKE, 1 + i, 5);
        tb_builder_add(builder, TB_OP_RETIRE, 1 + i, 0);
    }
    tb_builder_mark_epilogue(builder);
    tb_builder_add(builder, TB_OP_RETIRE, 0, 0);
    cr_assert_eq(tb_builder_pack(builder, "pairing", TOY_POOL_BLOCKS, &schedule), 0);
    tb_builder_close(builder);
    return schedule;
}

static struct tb_job *jobs_make(uint32_t arms, enum tb_dispatch dispatch)
{
    struct tb_job *jobs = calloc(TB_PROCESS_ARMS, sizeof *jobs);
    cr_assert_not_null(jobs);
    for (uint32_t arm = 0; arm < arms; arm++)
        jobs[arm] = (struct tb_job){.arms = arms,
                                    .seed = 5,
                                    .touch = TB_TOUCH_FULL,
                                    .dispatch = dispatch,
                                    .workers = dispatch == TB_DISPATCH_FUTEX ? 2 : 1,
                                    .laps = 7,
                                    .laps_warmup = 2,
                                    .block_bytes = TOY_POOL_BLOCK_BYTES};
    return jobs;
}

static void jobs_run(struct tb_job jobs[], const struct tb_contender *const contenders[])
{
    struct tb_schedule *schedule = schedule_make();
    cr_assert_eq(tb_engine_run_all(jobs, contenders, schedule), 0);
    free(schedule);
}

static const struct tb_contender *const toys[] = {&toy, &toy, &toy};

// 2 warm-up laps, 7 timed ones, 5 that probe: 20 requests each, and one that outlives them.
static void expect_counts(const struct tb_sample *sample)
{
    cr_expect(sample->ran && sample->valid, "%s", sample->invalid);
    cr_expect_eq(sample->pushed, 14 * 20 + 1);
    cr_expect_eq(sample->drained, 14 * 20 + 1);
    cr_expect_eq(sample->allocated, 14 * 100 + 3);
    cr_expect_eq(sample->freed, sample->allocated);
    cr_expect_eq(sample->touched_bytes, sample->allocated * TOY_POOL_BLOCK_BYTES);
    cr_expect_geq(sample->outstanding_high, 8);
}

Test(pairing, each_arm_has_its_own_books_and_as_many_laps, .timeout = 60)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch++) {
        for (uint32_t arms = 1; arms <= TB_PROCESS_ARMS; arms++) {
            struct tb_job *jobs = jobs_make(arms, (enum tb_dispatch)dispatch);
            jobs_run(jobs, toys);
            for (uint32_t arm = 0; arm < arms; arm++) {
                expect_counts(&jobs[arm].sample);
                for (uint32_t lap = 0; lap < 7; lap++)
                    cr_expect_gt(jobs[arm].lap_ns[lap], 0);
                cr_expect_eq(jobs[arm].lap_ns[7], 0);
                cr_expect_eq(jobs[arm].sample.lap_ratio > 0, arms > 1, "%g", jobs[arm].sample.lap_ratio);
            }
            cr_expect_eq(jobs[0].sample.lap_ratio, arms > 1 ? 1 : 0);
            free(jobs);
        }
    }
}

Test(pairing, a_fault_in_one_arm_is_found_in_that_arm, .timeout = 60)
{
    const enum tb_fault faults[] = {TB_FAULT_SKIP_TOUCH, TB_FAULT_DROP_CHUNK, TB_FAULT_DOUBLE_FREE};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct tb_job *jobs = jobs_make(3, TB_DISPATCH_SPIN);
        jobs[1].fault = faults[i];
        jobs_run(jobs, toys);
        expect_counts(&jobs[0].sample);
        expect_counts(&jobs[2].sample);
        cr_expect(jobs[1].sample.ran && !jobs[1].sample.valid, "%s was not found", tb_fault_name(faults[i]));
        free(jobs);
    }
}

Test(pairing, a_delay_in_one_arm_is_seen_in_its_ratio, .timeout = 60)
{
    struct tb_job *jobs = jobs_make(3, TB_DISPATCH_INLINE);
    jobs[1].fault = TB_FAULT_DELAY;
    jobs[1].fault_percent = 400;
    jobs_run(jobs, toys);
    cr_expect_gt(jobs[1].sample.lap_ratio, 1.5);
    cr_expect_lt(jobs[2].sample.lap_ratio, jobs[1].sample.lap_ratio);
    free(jobs);
}

// Every 20th take is late, and there are 20 in a lap.
static uint64_t toy_late_count;

static uint64_t toy_late_waits(void *context)
{
    (void)context;
    return toy_late_count;
}

static int toy_late_take(void *context, struct locus_table *table, uint32_t count)
{
    static uint32_t takes;
    uint64_t begun_ns = tb_now_ns();
    if (count == 5 && ++takes % 20 == 0) {
        toy_late_count++;
        while (tb_now_ns() - begun_ns < 2000000)
            ;
    }
    return toy_pool_take(context, table, count);
}

static const struct tb_ops toy_late_ops = {
    .open = toy_pool_open,
    .close = toy_pool_close,
    .take = toy_late_take,
    .address = toy_pool_address,
    .retire = toy_pool_retire,
    .finish = toy_pool_finish,
    .drain = toy_pool_drain,
    .freed = toy_pool_freed,
    .waits = toy_late_waits,
    .audit = toy_pool_audit,
};
TB_DRIVER(toy_late_ops);
static const struct tb_contender late = {.name = "late", .frees_on_worker = true, .driver = &toy_late_ops_driver};

Test(pairing, takes_are_timed_in_clocked_laps_alone, .timeout = 60)
{
    struct tb_job *jobs = jobs_make(1, TB_DISPATCH_INLINE);
    const struct tb_sample *sample = &jobs[0].sample;
    jobs_run(jobs, (const struct tb_contender *const[]){&late});
    cr_expect_eq(sample->tails[TB_CLOCKED_TAKE].calls, 0);
    jobs[0].laps_clocked = 10;
    jobs_run(jobs, (const struct tb_contender *const[]){&late});
    cr_expect(sample->valid, "%s", sample->invalid);
    cr_expect_eq(sample->tails[TB_CLOCKED_TAKE].calls, 200);
    cr_expect_lt(sample->tails[TB_CLOCKED_TAKE].p50_ns, 2e6, "19 of 20 are not late");
    cr_expect_geq(sample->tails[TB_CLOCKED_TAKE].p99_ns, 2e6, "1 of 20 is");
    cr_expect_geq(sample->tails[TB_CLOCKED_TAKE].p999_ns, sample->tails[TB_CLOCKED_TAKE].p99_ns);
    cr_expect_geq(sample->tails[TB_CLOCKED_TAKE].max_ns, sample->tails[TB_CLOCKED_TAKE].p999_ns);
    cr_expect_gt(sample->clock_ns, 0);
    cr_expect_eq(sample->tails[TB_CLOCKED_WAIT].calls, 10, "that is the one that waited");
    cr_expect_geq(sample->tails[TB_CLOCKED_WAIT].p50_ns, 2e6);
    free(jobs);
}

Test(pairing, pushes_are_timed_where_they_are_made, .timeout = 60)
{
    uint64_t pushes[2] = {0};
    for (unsigned worker = 0; worker < 2; worker++) {
        struct tb_job *jobs = jobs_make(1, worker ? TB_DISPATCH_SPIN : TB_DISPATCH_INLINE);
        const struct tb_sample *sample = &jobs[0].sample;
        jobs[0].laps_clocked = 10;
        jobs_run(jobs, (const struct tb_contender *const[]){&late});
        cr_expect(sample->valid, "%s", sample->invalid);
        pushes[worker] = sample->tails[TB_CLOCKED_PUSH].calls;
        cr_expect_gt(sample->tails[TB_CLOCKED_PUSH].max_ns, 0);
        free(jobs);
    }
    cr_expect(pushes[0] > 0 && pushes[0] % 10 == 0 && pushes[0] == pushes[1], "%lu and %lu", pushes[0], pushes[1]);
}

enum { TOY_LARGE_BYTES = 16 << 20 };
static void *toy_large_memory;

static int toy_large_open(const struct tb_setup *setup, void **out)
{
    toy_large_memory = mmap(NULL, TOY_LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return toy_large_memory == MAP_FAILED ? -ENOMEM : toy_pool_open(setup, out);
}

static void toy_large_close(void *context)
{
    munmap(toy_large_memory, TOY_LARGE_BYTES);
    toy_pool_close(context);
}

static const struct tb_ops toy_large_ops = {
    .open = toy_large_open,
    .close = toy_large_close,
    .take = toy_pool_take,
    .address = toy_pool_address,
    .retire = toy_pool_retire,
    .finish = toy_pool_finish,
    .drain = toy_pool_drain,
    .freed = toy_pool_freed,
    .audit = toy_pool_audit,
};
TB_DRIVER(toy_large_ops);
static const struct tb_contender large = {.name = "large", .frees_on_worker = true, .driver = &toy_large_ops_driver};

Test(pairing, the_memory_of_an_arm_is_known_when_it_is_alone, .timeout = 60)
{
    // Where every mapping gets huge pages, a first touch of this program's own data would add 2 MiB.
    cr_assert_eq(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    struct tb_job *jobs = jobs_make(1, TB_DISPATCH_SPIN);
    jobs_run(jobs, (const struct tb_contender *const[]){&large});
    cr_expect_geq(jobs[0].sample.resident_bytes, TOY_LARGE_BYTES);
    cr_expect_lt(jobs[0].sample.resident_bytes, TOY_LARGE_BYTES + (1 << 20));
    free(jobs);
    jobs = jobs_make(2, TB_DISPATCH_SPIN);
    jobs_run(jobs, (const struct tb_contender *const[]){&large, &toy});
    cr_expect_eq(jobs[0].sample.resident_bytes, 0);
    cr_expect_eq(jobs[1].sample.resident_bytes, 0);
    free(jobs);
}

Test(pairing, an_arm_that_this_host_lacks_does_not_keep_the_others_from_running, .timeout = 60)
{
    struct tb_job *jobs = jobs_make(3, TB_DISPATCH_SPIN);
    jobs_run(jobs, (const struct tb_contender *const[]){&absent, &toy, &toy});
    cr_expect(jobs[0].sample.ran && !jobs[0].sample.valid);
    cr_expect_str_eq(jobs[0].sample.invalid, "there is no such toy here");
    expect_counts(&jobs[1].sample);
    expect_counts(&jobs[2].sample);
    cr_expect_eq(jobs[1].sample.lap_ratio, 0, "there is nothing to compare with");
    free(jobs);
}

Test(pairing, arms_with_other_laps_or_workers_are_refused)
{
    struct tb_schedule *schedule = schedule_make();
    struct tb_job *jobs = jobs_make(2, TB_DISPATCH_SPIN);
    jobs[1].laps++;
    cr_expect_eq(tb_engine_run_all(jobs, toys, schedule), -EINVAL);
    jobs[1].laps--;
    jobs[1].workers++;
    cr_expect_eq(tb_engine_run_all(jobs, toys, schedule), -EINVAL);
    jobs[0].arms = TB_PROCESS_ARMS + 1;
    cr_expect_eq(tb_engine_run_all(jobs, toys, schedule), -EINVAL);
    free(jobs);
    free(schedule);
}

// --- rounds --------------------------------------------------------------------------------------------------------------------

static void world_run(struct world *w, const char *lost, const struct tb_rounds_hooks *hooks)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    cr_assert_gt(length, 0);
    self[length] = '\0';
    setenv("LOCUS_LAP", self, 1);
    setenv("TOY_LOST", lost, 1);
    struct tb_schedule *schedule = schedule_make();
    w->cells[0].schedule = schedule;
    w->samples = w->rounds.samples = calloc((size_t)w->rounds.arms_count * w->rounds.count, sizeof *w->samples);
    cr_assert_eq(tb_rounds_run(&w->rounds, 0, w->rounds.count, hooks), 0);
    free(schedule);
}

Test(pairing, every_arm_of_a_process_gets_its_sample, .timeout = 60)
{
    struct world w;
    world_open(&w, 4, (const struct tb_contender *const[]){&toy, &alone, &toy, &toy});
    world_run(&w, "0", &(struct tb_rounds_hooks){.sample = NULL});
    for (uint32_t round = 0; round < 2; round++) {
        const struct tb_sample *of[4];
        for (uint32_t arm = 0; arm < 4; arm++) {
            of[arm] = tb_rounds_sample(&w.rounds, 0, arm, round);
            cr_expect(of[arm]->valid, "%s", of[arm]->invalid);
            cr_expect_eq(of[arm]->pushed, 10 * 20 + 1);
            cr_expect_eq(of[arm]->lap_ratio > 0, arm != 1);
        }
        cr_expect(of[0]->process == of[2]->process && of[0]->process == of[3]->process && of[0]->process != of[1]->process);
    }
    free(w.samples);
}

Test(pairing, a_crash_takes_all_samples_of_its_process_and_no_other, .timeout = 60)
{
    struct world w;
    world_open(&w, 4, (const struct tb_contender *const[]){&toy, &alone, &toy, &crashes});
    world_run(&w, "0", &(struct tb_rounds_hooks){.sample = NULL});
    for (uint32_t arm = 0; arm < 4; arm++) {
        const struct tb_sample *sample = tb_rounds_sample(&w.rounds, 0, arm, 0);
        cr_expect_eq(sample->valid, arm == 1, "arm %u: %s", arm, sample->invalid);
        cr_expect_eq(sample->ran, arm == 1);
        cr_expect_eq(strstr(sample->invalid, "killed by signal 9") == sample->invalid, arm != 1, "arm %u: %s", arm,
                     sample->invalid);
    }
    free(w.samples);
}

struct attempts {
    uint32_t seen, done, calm_from; // calm_from: the attempt from which on nothing is lost
    uint64_t bits;                  // a bit for each attempt and arm, of round 0
};

static int on_sample(void *context, const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, uint32_t round, uint32_t position)
{
    struct attempts *attempts = context;
    const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
    attempts->seen++;
    cr_expect_lt(position, rounds->arms_count);
    if (round == 0)
        attempts->bits |= UINT64_C(1) << (8 * sample->attempt + arm);
    setenv("TOY_LOST", sample->attempt + 1 >= attempts->calm_from ? "0" : "60", 1);
    return 0;
}

static void on_progress(void *context, const struct tb_rounds *rounds, uint32_t cell, uint64_t done, uint64_t total)
{
    (void)rounds, (void)cell;
    ((struct attempts *)context)->done = (uint32_t)done;
    cr_expect_leq(done, total);
}

static struct attempts repeat(struct world *w, double lost, uint32_t times, uint32_t calm_from)
{
    struct attempts attempts = {.calm_from = calm_from};
    world_open(w, 3, (const struct tb_contender *const[]){&toy, &alone, &toy});
    w->rounds.repeat_lost = lost;
    w->rounds.repeat_times = times;
    w->rounds.count = 1;
    world_run(w, "60",
              &(struct tb_rounds_hooks){
                  .sample = on_sample, .context = &attempts, .progress = on_progress, .progress_context = &attempts});
    cr_expect_eq(attempts.done, 3);
    for (uint32_t arm = 0; arm < 3; arm++)
        cr_expect(tb_rounds_sample(&w->rounds, 0, arm, 0)->valid);
    return attempts;
}

Test(pairing, all_arms_are_run_again_as_often_as_allowed_and_the_last_attempt_is_kept, .timeout = 60)
{
    struct world w;
    struct attempts attempts = repeat(&w, 0.5, 2, UINT32_MAX);
    cr_expect_eq(attempts.seen, 9);
    cr_expect_eq(attempts.bits, UINT64_C(0x070707));
    for (uint32_t arm = 0; arm < 3; arm++)
        cr_expect_eq(tb_rounds_sample(&w.rounds, 0, arm, 0)->attempt, 2);
    free(w.samples);
}

Test(pairing, a_calm_attempt_is_the_last, .timeout = 60)
{
    struct world w;
    struct attempts attempts = repeat(&w, 0.5, 5, 1);
    cr_expect_eq(attempts.seen, 6);
    cr_expect_eq(tb_rounds_sample(&w.rounds, 0, 0, 0)->attempt, 1);
    free(w.samples);
}

Test(pairing, nothing_is_run_again_below_the_threshold_or_without_one, .timeout = 60)
{
    struct world w;
    cr_expect_eq(repeat(&w, 0.61, 2, UINT32_MAX).seen, 3);
    free(w.samples);
    cr_expect_eq(repeat(&w, 0, 2, UINT32_MAX).seen, 3);
    free(w.samples);
}

Test(pairing, waits_and_steal_count_and_times_do_not)
{
    struct world w;
    struct tb_sample samples[4] = {{.lap_ns = 1}, {.lap_ns = 1e12}};
    world_open(&w, 2, (const struct tb_contender *const[]){&toy, &toy});
    w.rounds.samples = samples; // of two arms in two rounds
    w.rounds.repeat_lost = 0.1;
    cr_expect_not(tb_rounds_disturbed(&w.rounds, 0, 1), "nobody watched");
    samples[3] = (struct tb_sample){.watched_ns = 1000, .waited_ns = 50, .steal_ns = 50};
    cr_expect_not(tb_rounds_disturbed(&w.rounds, 0, 1));
    samples[3].steal_ns++;
    cr_expect(tb_rounds_disturbed(&w.rounds, 0, 1));
    cr_expect_not(tb_rounds_disturbed(&w.rounds, 0, 0), "that is another round");
}

// --- what the host took --------------------------------------------------------------------------------------------------------

Test(pairing, steal_is_the_eighth_number_of_the_first_line)
{
    uint64_t ns = 0, tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    cr_expect(tb_watch_steal("cpu  1 2 3 4 5 6 7 8 9 10\n", &ns));
    cr_expect_eq(ns, 8 * tick_ns);
    cr_expect(tb_watch_steal("cpu  1 2 3 4 5 6 7 9\n", &ns));
    cr_expect_eq(ns, 9 * tick_ns);
    cr_expect_not(tb_watch_steal("cpu0 1 2 3 4 5 6 7 8 9 10\n", &ns));
    cr_expect_not(tb_watch_steal("cpu  1 2 3 4 5 6 7\n", &ns));
    cr_expect_not(tb_watch_steal("cpu  1 2 3 4 5 6 7 x\n", &ns));
    cr_expect_not(tb_watch_steal("", &ns));
}

// Two children on one CPU, one of them ready at any time, while this process sleeps.
Test(pairing, waits_of_a_child_are_the_process_own, .timeout = 20)
{
    struct tb_watch watch;
    struct tb_sample sample = {0};
    pid_t children[2];
    cpu_set_t one;
    if (access("/proc/thread-self/children", R_OK) || access("/proc/self/schedstat", R_OK))
        cr_skip_test("this kernel does not list children or their waits");
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        cr_assert_geq(children[i], 0);
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            sched_setaffinity(0, sizeof one, &one);
            setpriority(PRIO_PROCESS, 0, 19); // other tests run beside
            for (;;)
                ;
        }
    }
    usleep(50000);
    tb_watch_start(&watch);
    usleep(300000);
    tb_watch_stop(&watch, &sample);
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    cr_expect_gt(sample.watched_ns, 290000000);
    cr_expect_gt(sample.waited_ns, 200000000, "%llu", (unsigned long long)sample.waited_ns);
}
