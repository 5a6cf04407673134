// SPDX-License-Identifier: Apache-2.0
//
// clocked: see clocked.h.
#include "testbed/measure/clocked/clocked.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/stats/latency.h"

static int room_for_times(struct tb_times *times, uint64_t max)
{
    times->ns = calloc(max + 1, sizeof *times->ns);
    times->max = max;
    return times->ns ? 0 : -ENOMEM;
}

// As many as a lap has operations, of which each has one time at most.
int tb_clocked_open(struct tb_engine *engine)
{
    uint64_t ops = 0;
    uint32_t workers = engine->job->workers;
    int error = room_for_times(&engine->steps, engine->schedule->steps_per_lap * engine->job->laps_clocked);
    for (uint64_t lap = 0; lap < engine->schedule->laps_count && engine->job->laps_clocked; lap++) {
        const struct tb_span *span = tb_schedule_lap(engine->schedule, lap);
        ops = span->end - span->begin > ops ? span->end - span->begin : ops;
    }
    for (int what = 0; what < TB_CLOCKED_COUNT && !error; what++)
        error = room_for_times(&engine->times[what], ops * engine->job->laps_clocked);
    engine->worker_times = error || !workers ? NULL : aligned_alloc(LOCUS_CACHE_LINE, workers * sizeof *engine->worker_times);
    if (workers && !engine->worker_times)
        return -ENOMEM;
    if (workers)
        memset(engine->worker_times, 0, workers * sizeof *engine->worker_times);
    for (uint32_t i = 0; i < workers && !error; i++)
        error = room_for_times(&engine->worker_times[i], ops * engine->job->laps_clocked);
    return error;
}

void tb_clocked_close(struct tb_engine *engine)
{
    for (int what = 0; what < TB_CLOCKED_COUNT; what++)
        free(engine->times[what].ns);
    for (uint32_t i = 0; i < engine->job->workers && engine->worker_times; i++)
        free(engine->worker_times[i].ns);
    free(engine->worker_times);
    free(engine->steps.ns);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The least of the sorted times that at least a share `of` of all kept.
static double quantile_ns(const uint64_t sorted_ns[], uint64_t count, double of)
{
    return (double)sorted_ns[(uint64_t)ceil(of * (double)count) - 1];
}

// Sorts the times.
static void tail_sum(struct tb_times *times, struct tb_tail *out)
{
    uint64_t *ns = times->ns, count = times->count;
    *out = (struct tb_tail){.calls = count};
    if (count == 0)
        return;
    qsort(ns, count, sizeof *ns, compare_u64);
    out->p50_ns = quantile_ns(ns, count, 0.5);
    out->p99_ns = quantile_ns(ns, count, 0.99);
    out->p999_ns = quantile_ns(ns, count, 0.999);
    out->max_ns = quantile_ns(ns, count, 1);
}

// All workers' pushes, as one. If there is no room for them, there are none.
static void pushes_join(struct tb_engine *engine)
{
    struct tb_times all = {0}, *pushes = &engine->times[TB_CLOCKED_PUSH];
    uint64_t count = 0;
    for (uint32_t i = 0; i < engine->crew.count; i++)
        count += engine->worker_times[i].count;
    if (count == 0 || room_for_times(&all, count))
        return;
    for (uint32_t i = 0; i < engine->crew.count; i++)
        for (uint64_t k = 0; k < engine->worker_times[i].count; k++)
            tb_times_note(&all, engine->worker_times[i].ns[k]);
    free(pushes->ns);
    *pushes = all;
}

void tb_clocked_sum(struct tb_engine *engine)
{
    struct tb_sample *sample = &engine->job->sample;
    struct tb_tail steps;
    pushes_join(engine);
    for (int what = 0; what < TB_CLOCKED_COUNT; what++)
        tail_sum(&engine->times[what], &sample->tails[what]);
    if (sample->tails[TB_CLOCKED_TAKE].calls)
        sample->clock_ns = (double)tb_latency_clock_ns();
    tail_sum(&engine->steps, &steps);
    sample->decode.step_p50_ns = steps.p50_ns;
    sample->decode.step_p99_ns = steps.p99_ns;
    sample->decode.step_max_ns = steps.max_ns;
}

void tb_clocked_finish(void *context, uint32_t worker, struct locus_table *table)
{
    struct tb_engine *engine = context;
    uint64_t start_ns = tb_now_ns();
    engine->contender->driver->ops->finish(engine->context, worker, table);
    tb_times_note(&engine->worker_times[worker], tb_now_ns() - start_ns);
}
