// SPDX-License-Identifier: Apache-2.0
//
// engine: one measured process, from its jobs to their samples. The timed part is in driver.h.
//
// Arms that share a process share its caches, too: a lap finds there what the lap before it left, which may have been another
// arm's. That makes laps longer than in a process of their own, but of all arms alike, since turns are in random order.

#include "testbed/measure/clocked/clocked.h"
#include "testbed/measure/engine.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "locus/lane.h"
#include "testbed/counters/mark.h"
#include "testbed/measure/decoding/decoding.h"
#include "testbed/measure/driver.h"
#include "testbed/measure/pairing/turns.h"
#include "testbed/measure/watch.h"
#include "testbed/stats/latency.h"

// Repetitions of `locus bench`. Arbitrary, but odd, so that the median is one of them.
#define BENCH_REPETITIONS 101u

struct process {
    struct tb_engine engines[TB_PROCESS_ARMS];
    uint32_t count;
    uint32_t probe_laps;
    struct tb_crew crew;
    struct tb_team *team;       // of touch `decode`, as the crew shared by all arms; else NULL
    bool team_pinned;
    struct tb_turns turns;
};

uint64_t tb_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// One table per slot, in one piece of memory; a bench gets as many tables as it uses.
static int tables_open(struct tb_engine *engine, uint32_t count, const uint32_t capacity[])
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += locus_table_bytes(1, capacity ? capacity[i] : TB_BENCH_BULK_BLOCKS);
    engine->tables = calloc(count, sizeof(struct locus_table *));
    engine->tables_memory = aligned_alloc(LOCUS_CACHE_LINE, bytes);
    if (!engine->tables || !engine->tables_memory)
        return -ENOMEM;
    char *memory = engine->tables_memory;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t blocks = capacity ? capacity[i] : TB_BENCH_BULK_BLOCKS;
        int error = locus_table_init(memory, 1, blocks, 1);
        if (error)
            return error;
        engine->tables[i] = (struct locus_table *)(void *)memory;
        memory += locus_table_bytes(1, blocks);
    }
    return 0;
}

static int engine_open(struct tb_engine *engine, uint32_t probe_laps)
{
    const struct tb_schedule *schedule = engine->schedule;
    engine->seen_max = schedule->blocks_per_lap * probe_laps + schedule->blocks_peak + TB_BENCH_BLOCKS;
    engine->seen = calloc(engine->seen_max, sizeof *engine->seen);
    int error = tb_clocked_open(engine);
    engine->late = calloc(schedule->slots + (size_t)1, sizeof *engine->late);
    if (error || !engine->seen || !engine->late)
        return -ENOMEM;
    if (engine->job->bench)
        return tables_open(engine, TB_BENCH_BLOCKS / TB_BENCH_BULK_BLOCKS, NULL);
    return tables_open(engine, schedule->slots, tb_schedule_capacity(schedule));
}

static void engine_close(struct tb_engine *engine)
{
    free(engine->seen);
    tb_clocked_close(engine);
    free(engine->late);
    free(engine->tables);
    free(engine->tables_memory);
}

bool tb_engine_fault(struct tb_engine *engine, struct locus_table *table)
{
    if (engine->job->fault == TB_FAULT_DROP_CHUNK)
        return true;
    if (engine->job->fault == TB_FAULT_DOUBLE_FREE && table->count > 1)
        table->blocks[1] = table->blocks[0];
    return false;
}

static size_t touch_bytes(const struct tb_job *job)
{
    return job->touch == TB_TOUCH_NONE || job->touch == TB_TOUCH_DECODE ? 0 : job->touch == TB_TOUCH_BYTE ? 1 : job->block_bytes;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double values[], uint32_t count)
{
    qsort(values, count, sizeof *values, compare_double);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// An injected delay must scale with the work: it is measured in the warm-up laps, and spent inside every timed lap.
static void spin_ns(uint64_t duration_ns)
{
    for (uint64_t start_ns = tb_now_ns(); tb_now_ns() - start_ns < duration_ns;)
        locus_cpu_relax();
}

static void run_span_as(struct tb_engine *engine, const struct tb_span *span, enum tb_lap lap)
{
    const struct tb_driver *driver = engine->contender->driver;
    engine->decoding_as = lap;
    if (engine->decode.step)
        driver->decode(engine, engine->context, span);
    else
        (lap == TB_LAP_PROBE     ? driver->probe
         : lap == TB_LAP_CLOCKED ? driver->clocked
                                 : driver->span)(engine, engine->context, span);
}

// After each span, untimed: what its act has left out of it.
static void span_finish(struct tb_engine *engine)
{
    const struct tb_ops *ops = engine->contender->driver->ops;
    if (!engine->drains_late)
        return;
    for (uint32_t i = 0; i < engine->late_count; i++)
        tb_send_home(engine, ops, engine->context, engine->tables[engine->late[i]], engine->decoding_as == TB_LAP_CLOCKED);
    engine->late_count = 0;
    tb_settle(engine, ops, engine->context, true);
}

static void run_span(struct tb_engine *engine, const struct tb_span *span)
{
    run_span_as(engine, span, TB_LAP_TIMED);
    span_finish(engine);
}

// Before a lap that is measured in any way.
static const struct tb_span *lap_begin(struct tb_engine *engine)
{
    int error = engine->touches_first ? engine->contender->driver->ops->give_back(engine->context) : 0;
    engine->error = engine->error ? engine->error : error;
    return tb_schedule_lap(engine->schedule, engine->lap++);
}

// counters: NULL, or they count during this lap alone.
static double run_lap(struct tb_engine *engine, uint64_t delay_ns, struct tb_counters *counters)
{
    const struct tb_span *span = lap_begin(engine);
    if (counters)
        tb_counters_start(counters);
    uint64_t start_ns = tb_now_ns();
    run_span_as(engine, span, TB_LAP_TIMED);
    if (delay_ns)
        spin_ns(delay_ns);
    double ns = (double)(tb_now_ns() - start_ns);
    if (counters)
        tb_counters_stop(counters);
    span_finish(engine);
    return ns;
}

// An arm that is alone has had the crew from the start.
static void take_crew(struct process *process, const struct tb_engine *engine)
{
    if (process->count > 1)
        tb_crew_assign(&process->crew, engine->contender->driver->ops->finish, engine->context);
}

// A lap of each arm, the i-th of its job. Their times take the place of those of the warm-up.
static void turn_run(struct process *process, uint32_t i)
{
    uint32_t order[TB_PROCESS_ARMS];
    tb_turns_next(&process->turns, order);
    for (uint32_t at = 0; at < process->count; at++) {
        struct tb_engine *engine = &process->engines[order[at]];
        if (engine->out)
            continue;
        take_crew(process, engine);
        engine->job->lap_ns[i] = run_lap(engine, engine->delay_ns, NULL);
    }
}

static void delay_set(struct tb_engine *engine)
{
    struct tb_job *job = engine->job;
    if (job->fault == TB_FAULT_DELAY && job->laps_warmup)
        engine->delay_ns = (uint64_t)(median_of(job->lap_ns, job->laps_warmup) * job->fault_percent / 100);
}

static void fault_arm(struct tb_engine *engine)
{
    if (engine->job->fault == TB_FAULT_DROP_CHUNK || engine->job->fault == TB_FAULT_DOUBLE_FREE)
        engine->fault_countdown = 1;
}

static void laps_timed(struct process *process)
{
    const struct tb_job *job = process->engines[0].job; // as many laps for all
    for (uint32_t i = 0; i < job->laps_warmup; i++)
        turn_run(process, i);
    for (uint32_t arm = 0; arm < process->count; arm++)
        delay_set(&process->engines[arm]);
    for (uint32_t i = 0; i < job->laps; i++) {
        for (uint32_t arm = 0; arm < process->count && i + 1 == job->laps; arm++)
            fault_arm(&process->engines[arm]);
        turn_run(process, i);
    }
}

// Opened only here, because counters make every switch to or from a thread of this process slower. If memory runs out, nothing is
// counted. Nor is what an act of decoding does between its laps; so that acts can be compared, that of all arms of such a cell.
static void laps_metered(struct tb_engine *engine)
{
    struct tb_job *job = engine->job;
    struct tb_counters *counters = NULL;
    double ns[TB_LAPS_MAX];
    if (job->laps_metered == 0 || tb_counters_open(&counters, &job->counters, job->counters_on))
        return;
    bool each = job->touch == TB_TOUCH_DECODE;
    if (!each)
        tb_counters_start(counters);
    for (uint32_t i = 0; i < job->laps_metered; i++)
        ns[i] = run_lap(engine, 0, each ? counters : NULL);
    if (!each)
        tb_counters_stop(counters);
    tb_counters_read(counters, job->sample.counters);
    tb_counters_close(counters);
    job->sample.metered_lap_ns = median_of(ns, job->laps_metered);
}

static void *nothing(void *argument)
{
    return argument;
}

// For an emulator that counts. Libraries leave their locks out until a process has a second thread, which every engine has.
static void laps_marked(struct tb_engine *engine)
{
    pthread_t second;
    if (engine->job->laps_marked == 0 || pthread_create(&second, NULL, nothing, NULL) || pthread_join(second, NULL))
        return;
    for (uint32_t i = 0; i < engine->job->laps_marked; i++) {
        const struct tb_span *span = lap_begin(engine);
        tb_mark_begin();
        run_span_as(engine, span, TB_LAP_TIMED);
        tb_mark_end();
        span_finish(engine);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void laps_clocked(struct tb_engine *engine)
{
    const struct tb_ops *ops = engine->contender->driver->ops;
    engine->waits_seen = ops->waits ? ops->waits(engine->context) : 0;
    tb_crew_assign(&engine->crew, tb_clocked_finish, engine);
    for (uint32_t i = 0; i < engine->job->laps_clocked; i++) {
        const struct tb_span *span = lap_begin(engine);
        engine->step_end_ns = tb_now_ns();
        run_span_as(engine, span, TB_LAP_CLOCKED);
        span_finish(engine);
    }
    tb_crew_assign(&engine->crew, ops->finish, engine->context);
    tb_clocked_sum(engine);
}

// Blocks that live requests already hold are also in use.
static void probe_begin(struct tb_engine *engine)
{
    const struct tb_ops *ops = engine->contender->driver->ops;
    for (uint32_t slot = 0; slot < engine->schedule->slots; slot++) {
        const struct locus_table *table = engine->tables[slot];
        for (uint32_t i = 0; table->state == LOCUS_TABLE_LIVE && i < table->count && engine->seen_count < engine->seen_max; i++)
            engine->seen[engine->seen_count++] = (uint64_t)(uintptr_t)ops->address(engine->context, table->blocks[i]);
    }
}

static uint32_t distinct_seen(struct tb_engine *engine)
{
    uint32_t distinct = 0;
    qsort(engine->seen, engine->seen_count, sizeof *engine->seen, compare_u64);
    for (uint64_t i = 0; i < engine->seen_count; i++)
        distinct += i == 0 || engine->seen[i] != engine->seen[i - 1];
    return distinct;
}

// From the last timed lap to the end of the schedule.
static void laps_end(struct process *process, struct tb_engine *engine)
{
    const struct tb_schedule *schedule = engine->schedule;
    if (engine->error || engine->job->fault == TB_FAULT_DROP_CHUNK) // after a dropped chunk only its gate matters
        return;
    take_crew(process, engine);
    laps_clocked(engine);
    probe_begin(engine);
    for (uint32_t i = 0; i < process->probe_laps; i++) {
        run_span_as(engine, tb_schedule_lap(schedule, engine->lap++), TB_LAP_PROBE);
        span_finish(engine);
    }
    laps_metered(engine);
    laps_marked(engine);
    while (engine->lap % schedule->laps_count) // the epilogue expects the slots as after whole rotations
        run_span(engine, tb_schedule_lap(schedule, engine->lap++));
    run_span(engine, &schedule->epilogue);
    engine->ended = true;
}

static void laps_sum(struct tb_engine *engine)
{
    struct tb_sample *sample = &engine->job->sample;
    tb_job_laps_sum(engine->job);
    sample->outstanding_high = (uint32_t)engine->outstanding_high;
    sample->distinct = distinct_seen(engine);
    sample->adjacency_known = engine->followed > 0;
    sample->adjacency = sample->adjacency_known ? (double)engine->adjacent / (double)engine->followed : 0;
}

// The median of the ratios, and not the ratio of the medians: a disturbance that lasted for a turn is in both of its laps.
static void ratios_form(struct process *process)
{
    const struct tb_job *first = process->engines[0].job;
    double ratios[TB_LAPS_MAX];
    for (uint32_t arm = 0; arm < process->count && process->count > 1 && !process->engines[0].out; arm++) {
        struct tb_job *job = process->engines[arm].job;
        for (uint32_t i = 0; i < job->laps; i++)
            ratios[i] = job->lap_ns[i] / first->lap_ns[i];
        job->sample.lap_ratio = process->engines[arm].out ? 0 : median_of(ratios, job->laps);
    }
}

static void watch_copy(struct tb_sample *out, const struct tb_sample *from)
{
    out->watched_ns = from->watched_ns;
    out->waited_ns = from->waited_ns;
    out->switches = from->switches;
    out->steal_ns = from->steal_ns;
    out->steal_known = from->steal_known;
}

static void resident_note(struct tb_engine *engine)
{
    uint64_t now_bytes = engine->resident_before_bytes ? tb_watch_resident_bytes() : 0;
    if (now_bytes > engine->resident_before_bytes)
        engine->job->sample.resident_bytes = now_bytes - engine->resident_before_bytes;
}

static void measure_laps(struct process *process)
{
    struct tb_watch watch;
    for (uint32_t arm = 0; arm < process->count; arm++) {
        struct tb_engine *engine = &process->engines[arm];
        if (engine->out)
            continue;
        take_crew(process, engine);
        run_span(engine, &engine->schedule->prologue);
    }
    tb_watch_start(&watch);
    laps_timed(process);
    if (process->crew.pinned)
        tb_watch_stop(&watch, &process->engines[0].job->sample);
    resident_note(&process->engines[0]);
    for (uint32_t arm = 0; arm < process->count; arm++) {
        struct tb_engine *engine = &process->engines[arm];
        watch_copy(&engine->job->sample, &process->engines[0].job->sample);
        if (engine->out)
            continue;
        laps_end(process, engine);
        laps_sum(engine);
        if (engine->decode.step)
            tb_decode_sum(&engine->decode, engine->schedule, engine->lap, engine->ended, &engine->job->sample.decode);
    }
    ratios_form(process);
}

static double stage_ns(struct tb_engine *engine, void *context, enum tb_stage stage, uint32_t tables, double clock_ns)
{
    uint64_t start_ns = tb_now_ns();
    engine->contender->driver->stage(engine, context, stage, tables);
    double ns = (double)(tb_now_ns() - start_ns) - clock_ns;
    return ns > 0 ? ns : 0;
}

static void measure_bench(struct tb_engine *engine, void *context)
{
    const struct tb_contender *contender = engine->contender;
    uint32_t blocks = contender->batch_blocks_max ? contender->batch_blocks_max : TB_BENCH_BLOCKS;
    uint32_t tables = blocks / TB_BENCH_BULK_BLOCKS;
    double ns[TB_BENCH_COUNT][BENCH_REPETITIONS], clock_ns = (double)tb_latency_clock_ns();
    struct tb_watch watch;
    tb_watch_start(&watch);
    for (uint32_t i = 0; i < 2 * BENCH_REPETITIONS && !engine->error; i++) { // the first half is warm-up
        uint32_t r = i % BENCH_REPETITIONS;
        ns[TB_BENCH_ALLOC][r] = stage_ns(engine, context, TB_STAGE_ALLOC, tables, clock_ns) / blocks;
        stage_ns(engine, context, TB_STAGE_RELEASE, tables, clock_ns);
        ns[TB_BENCH_BULK][r] = stage_ns(engine, context, TB_STAGE_TAKE_BULK, tables, clock_ns) / blocks;
        stage_ns(engine, context, TB_STAGE_RETIRE, tables, clock_ns);
        double finish_ns = stage_ns(engine, context, TB_STAGE_FINISH, tables, clock_ns);
        double drain_ns = stage_ns(engine, context, TB_STAGE_DRAIN, tables, clock_ns);
        ns[TB_BENCH_PUSH][r] = contender->frees_on_worker ? 0 : finish_ns / tables;
        ns[TB_BENCH_FREE][r] = (contender->frees_on_worker ? finish_ns : drain_ns) / blocks;
        engine->taken += 2 * blocks;
        engine->retired += tables;
    }
    tb_watch_stop(&watch, &engine->job->sample);
    for (int i = 0; i < TB_BENCH_COUNT; i++)
        engine->job->sample.bench_ns[i] = median_of(ns[i], BENCH_REPETITIONS);
}

// The gates. The first that fails is the reason; a run that fails a gate is invalid, not slow.
static void judge(struct tb_engine *engine, const struct tb_audit *audit)
{
    struct tb_sample *s = &engine->job->sample;
    char *why = s->invalid;
    size_t n = sizeof s->invalid;
    s->allocated = audit->allocated;
    s->freed = audit->freed;
    s->pushed = engine->retired;
    s->drained = audit->drained;
    s->waits = audit->waits;
    s->wait_ns = audit->wait_ns;
    s->touched_bytes = engine->touched_bytes;
    s->touched_bytes_expected = engine->job->bench ? 0 : engine->taken * touch_bytes(engine->job);
    memcpy(s->version, audit->version, sizeof s->version);
    if (engine->error)
        snprintf(why, n, "a block could not be taken or retired: %s", tb_blocks_why(engine->error));
    else if (audit->refused)
        snprintf(why, n, "%llu frees were refused", (unsigned long long)audit->refused);
    else if (s->pushed != s->drained)
        snprintf(why, n, "pushed %llu, drained %llu", (unsigned long long)s->pushed, (unsigned long long)s->drained);
    else if (s->allocated != engine->taken)
        snprintf(why, n, "took %llu, allocated %llu", (unsigned long long)engine->taken, (unsigned long long)s->allocated);
    else if (s->allocated != s->freed)
        snprintf(why, n, "allocated %llu, freed %llu", (unsigned long long)s->allocated, (unsigned long long)s->freed);
    else if (audit->not_home)
        snprintf(why, n, "%llu blocks are not home", (unsigned long long)audit->not_home);
    else if (s->touched_bytes != s->touched_bytes_expected)
        snprintf(why, n, "touched %llu bytes of %llu", (unsigned long long)s->touched_bytes,
                 (unsigned long long)s->touched_bytes_expected);
    else if (engine->damaged && !engine->contender->harness)
        snprintf(why, n, "%llu blocks did not hold what was written", (unsigned long long)engine->damaged);
    else if (engine->decode.step)
        tb_decode_judge(engine->job, engine->contender->harness, why, n);
    s->valid = why[0] == '\0';
    s->ran = true;
}

// What comes home after a lap has to be had twice in it.
static int act_open(struct tb_engine *engine, struct tb_setup *setup)
{
    const struct tb_act *act = engine->job->touch == TB_TOUCH_DECODE ? tb_act_find(engine->job->act) : NULL;
    uint64_t blocks = setup->pool_blocks + engine->schedule->blocks_per_lap, bytes = blocks * setup->block_bytes;
    uint64_t available_bytes = tb_decoding_available();
    if (!act)
        return 0;
    engine->drains_late = act->drains_late;
    engine->frees_late = act->frees_late;
    engine->touches_first = act->touches_first;
    if (!act->drains_late)
        return 0;
    if (blocks > LOCUS_BLOCKS_MAX || (available_bytes && bytes > available_bytes)) {
        snprintf(setup->why, setup->why_bytes,
                 "@%s needs a pool for all that a lap takes, %llu blocks and %llu MiB, which is too large: name a shorter context",
                 act->name, (unsigned long long)blocks, (unsigned long long)(bytes >> 20));
        return -ENOSPC;
    }
    setup->pool_blocks = (uint32_t)blocks;
    return 0;
}

static int pages_try(const struct tb_engine *engine, const struct tb_setup *setup)
{
    const struct tb_ops *ops = engine->contender->driver->ops;
    int error = !engine->touches_first ? 0 : ops->give_back ? ops->give_back(engine->context) : -ENOTSUP;
    if (error)
        snprintf(setup->why, setup->why_bytes, "the pool of %s cannot give its pages back (%s): take locus@first-touch",
                 engine->contender->name, strerror(-error));
    return error;
}

// Tables, blocks and lanes of one arm. A contender that has said what this host lacks is out, and the others run.
static int arm_open(struct process *process, struct tb_engine *engine)
{
    struct tb_job *job = engine->job;
    struct tb_setup setup = {
        .schedule = engine->schedule,
        .block_bytes = job->block_bytes,
        .pool_blocks = job->pool_blocks ? job->pool_blocks : engine->schedule->pool_blocks,
        .workers = job->workers ? job->workers : 1,
        .why = job->sample.invalid,
        .why_bytes = sizeof job->sample.invalid,
    };
    int error = engine_open(engine, process->probe_laps);
    // What several arms have is not told apart.
    engine->resident_before_bytes = process->count == 1 && !job->bench ? tb_watch_resident_bytes() : 0;
    if (!error)
        error = act_open(engine, &setup);
    if (!error)
        error = engine->contender->driver->ops->open(&setup, &engine->context);
    if (!error)
        error = pages_try(engine, &setup);
    if (!error)
        error = tb_decode_open(&engine->decode, job, engine->schedule, process->team, setup.why, setup.why_bytes);
    engine->out = job->sample.ran = error && job->sample.invalid[0];
    return engine->out ? 0 : error;
}

// In random order: what is opened first gets other memory than what follows.
static int arms_open(struct process *process)
{
    uint64_t random = ~process->turns.random;
    uint32_t order[TB_PROCESS_ARMS];
    int error = 0;
    tb_random_order(order, process->count, &random);
    for (uint32_t i = 0; i < process->count && !error; i++)
        error = arm_open(process, &process->engines[order[i]]);
    return error;
}

static int crew_open(struct process *process)
{
    const struct tb_engine *first = &process->engines[0];
    const struct tb_job *job = first->job;
    int error = tb_crew_start(&process->crew, job->workers, job->bench ? TB_DISPATCH_INLINE : job->dispatch,
                              first->contender->driver->ops->finish, first->context);
    for (uint32_t arm = 0; arm < process->count; arm++) {
        process->engines[arm].crew = process->crew;
        process->engines[arm].job->sample.workers_pinned = process->crew.pinned && process->team_pinned;
    }
    return error;
}

static void arms_judge(struct process *process)
{
    for (uint32_t arm = 0; arm < process->count; arm++) {
        struct tb_engine *engine = &process->engines[arm];
        struct tb_audit audit = {0};
        if (engine->out)
            continue;
        engine->contender->driver->ops->audit(engine->context, &audit);
        judge(engine, &audit);
    }
}

static int measure(struct process *process)
{
    struct tb_engine *first = &process->engines[0];
    bool long_laps = (first->schedule->laps_count == 1 && first->job->laps <= 2) || process->team;
    process->probe_laps = long_laps ? 1 : TB_PROBE_LAPS;
    int error = tb_decode_team(first->job, &process->team, &process->team_pinned);
    bool runs = false;
    if (!error)
        error = arms_open(process);
    for (uint32_t arm = 0; arm < process->count; arm++)
        runs |= !process->engines[arm].out;
    if (!error && runs)
        error = crew_open(process);
    if (!error && runs) {
        first->job->bench ? measure_bench(first, first->context) : measure_laps(process);
        tb_crew_stop(&process->crew);
        arms_judge(process);
    }
    for (uint32_t arm = 0; arm < process->count; arm++) {
        struct tb_engine *engine = &process->engines[arm];
        tb_decode_close(&engine->decode);
        if (engine->context)
            engine->contender->driver->ops->close(engine->context);
        engine_close(engine);
    }
    tb_team_close(process->team);
    return error;
}

static bool job_possible(const struct tb_job *job, const struct tb_job *first)
{
    bool laps = job->laps > 0 && job->laps <= TB_LAPS_MAX && job->laps_warmup <= TB_LAPS_MAX && job->laps_metered <= TB_LAPS_MAX &&
                job->laps_clocked <= TB_LAPS_MAX;
    bool alike = job->laps == first->laps && job->laps_warmup == first->laps_warmup && job->workers == first->workers &&
                 job->dispatch == first->dispatch;
    return laps && alike && (first->arms <= 1 || !job->bench);
}

int tb_engine_run_all(struct tb_job jobs[], const struct tb_contender *const contenders[], const struct tb_schedule *schedule)
{
    struct process process = {.count = jobs[0].arms ? jobs[0].arms : 1, .team_pinned = true};
    if (process.count > TB_PROCESS_ARMS)
        return -EINVAL;
    for (uint32_t arm = 0; arm < process.count; arm++) {
        struct tb_engine *engine = &process.engines[arm];
        *engine = (struct tb_engine){.job = &jobs[arm], .contender = contenders[arm], .schedule = schedule};
        if (!job_possible(&jobs[arm], &jobs[0]))
            return -EINVAL;
        engine->touch_bytes = jobs[arm].fault == TB_FAULT_SKIP_TOUCH ? 0 : touch_bytes(&jobs[arm]);
    }
    tb_turns_begin(&process.turns, process.count, jobs[0].seed);
    return measure(&process);
}

int tb_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule)
{
    job->arms = 1;
    return tb_engine_run_all(job, &contender, schedule);
}
