// SPDX-License-Identifier: Apache-2.0
//
// engine (many nodes): finds the stations, opens them, runs them to the end, and judges them. See engine.h.

#include "testbed/measure/nodes/engine.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/base/cpus/cpus.h"
#include "testbed/measure/nodes/judge.h"
#include "testbed/stats/stats.h"

// Arbitrary, but longer than a lap with an injected delay, and than an emulated machine may keep a thread from running.
#define PATIENCE_NS UINT64_C(30000000000)
#define REPAIRS_PER_LAP 8u // arbitrary: how often per lap contenders that repair look for stray pages

// --- where ---------------------------------------------------------------------------------------------------------------------

static bool has_memory(const struct locus_topo_node *node)
{
    return node->allowed && locus_topo_node_by_default(node);
}

// A CPU that several nodes list (topo_node.h) is for the first station that has a thread there.
static bool is_taken(const struct tb_nodes_run *run, unsigned cpu)
{
    for (uint32_t s = 0; s < run->count; s++)
        for (uint32_t w = 0; w <= run->workers; w++)
            if ((w < run->workers ? run->stations[s].workers[w].cpu : run->stations[s].cpu) == (int)cpu)
                return true;
    return false;
}

// The node's allowed CPU number `skip`, or -1.
static int cpu_of(const struct tb_nodes_run *run, int node, uint32_t skip)
{
    const struct locus_topo_node *on = locus_topo_node(run->topo, node);
    for (unsigned c = 0; c < on->cpus_count; c++)
        if (locus_topo_cpu(run->topo, on->cpus[c])->allowed && !is_taken(run, on->cpus[c]) && skip-- == 0)
            return (int)on->cpus[c];
    return -1;
}

static int station_add(struct tb_nodes_run *run, int node)
{
    struct tb_station *station = &run->stations[run->count];
    bool threads = run->job->dispatch != TB_DISPATCH_INLINE;
    *station = (struct tb_station){.run = run, .number = run->count, .node = node, .cpu = cpu_of(run, node, 0)};
    station->workers = aligned_alloc(LOCUS_CACHE_LINE, run->workers * sizeof *station->workers);
    if (!station->workers)
        return -ENOMEM;
    for (uint32_t w = 0; w < run->workers; w++) {
        struct tb_node_worker *worker = &station->workers[w];
        *worker = (struct tb_node_worker){.lane = run->count * run->workers + w, .station = station};
        worker->cpu = threads ? cpu_of(run, node, w + 1) : station->cpu;
        run->job->sample.workers_pinned &= worker->cpu >= 0;
        locus_mailbox_init(&worker->inbox);
    }
    run->count++;
    return 0;
}

static int stations_find(struct tb_nodes_run *run, struct locus_nodes *memory)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(run->topo);
    struct tb_nodes_sample *sample = &run->job->sample.nodes;
    run->job->sample.workers_pinned = true;
    for (unsigned n = 0; n < locus_topo_info(run->topo)->nodes_count; n++) {
        if (!has_memory(&nodes[n]))
            continue;
        if (sample->count == TB_NODES_MAX)
            return -E2BIG;
        bool station = nodes[n].kind == LOCUS_NODE_DRAM && nodes[n].cpus_allowed_count > 0;
        locus_nodes_add(memory, nodes[n].os_index);
        sample->node[sample->count++] = (struct tb_node_row){.os = nodes[n].os_index, .station = station};
        int error = station ? station_add(run, nodes[n].os_index) : 0;
        if (error)
            return error;
    }
    return run->count ? 0 : -ENODEV;
}

// --- books ---------------------------------------------------------------------------------------------------------------------

static uint64_t drains_in(const struct tb_schedule *schedule, const struct tb_span *span)
{
    uint64_t drains = 0;
    for (uint64_t i = span->begin; i < span->end; i++)
        drains += tb_schedule_ops(schedule)[i].kind == TB_OP_DRAIN;
    return drains;
}

// A malloc's pages are never forgotten, so mallocs get room for several times as many as the pools have. 24 bytes each.
static int books_open(struct tb_nodes_run *run)
{
    const struct tb_schedule *schedule = run->schedule;
    uint64_t pages = (uint64_t)run->count * schedule->pool_blocks * (run->job->block_bytes / 4096 + 1), drains = 0;
    pages *= run->ops->region ? 1 : 4;
    struct tb_locality_config config = {
        .topo = run->topo,
        .pages_max = pages < UINT64_C(1) << 28 ? (uint32_t)pages : 1u << 28,
        .pending_max = 1u << 16,
        .points_max = TB_DRIFT_POINTS_MAX,
    };
    for (uint32_t lap = 0; lap < run->job->laps_counted; lap++)
        drains += drains_in(schedule, tb_schedule_lap(schedule, lap));
    run->steps_per_point = drains / (TB_DRIFT_POINTS_MAX - 1) + 1;
    run->steps_per_repair = drains_in(schedule, tb_schedule_lap(schedule, 0)) / REPAIRS_PER_LAP + 1;
    int error = 0;
    for (uint32_t s = 0; s < run->count && !error; s++) {
        error = tb_books_open(&run->stations[s].books, &config, run->ops, run->context, run->job->block_bytes);
        for (uint32_t w = 0; w < run->workers && !error; w++)
            error = tb_books_open(&run->stations[s].workers[w].books, &config, run->ops, run->context, run->job->block_bytes);
    }
    return error;
}

static int books_sum(struct tb_nodes_run *run)
{
    int error = 0;
    run->job->sample.nodes.abroad_known = run->ops->kept_on != NULL;
    for (uint32_t s = 0; s < run->count && !error; s++) {
        struct tb_books *books[TB_WORKERS_MAX + 1] = {&run->stations[s].books};
        for (uint32_t w = 0; w < run->workers; w++) {
            books[w + 1] = &run->stations[s].workers[w].books;
            tb_books_step(books[w + 1]); // books pending notes
            if (books[w + 1]->error && !books[0]->error)
                books[0]->error = books[w + 1]->error;
        }
        error = tb_books_sum(books, run->workers + 1, &run->job->sample.nodes);
    }
    return error;
}

// --- the run -------------------------------------------------------------------------------------------------------------------

// The fault: each pool's pages move to the next node, but its handles do not show it.
static int misplace(struct tb_nodes_run *run)
{
    for (uint32_t s = 0; s < run->count; s++) {
        const struct locus_region *region = run->ops->region ? run->ops->region(run->context, s) : NULL;
        struct locus_nodes to = {0};
        if (!region)
            return -ENOTSUP;
        locus_nodes_add(&to, run->stations[(s + 1) % run->count].node);
        if (syscall(SYS_mbind, locus_region_base(region), locus_region_bytes(region), MPOL_BIND, to.words, LOCUS_NODES_MAX + 1ul,
                    MPOL_MF_MOVE | MPOL_MF_STRICT))
            return -errno;
    }
    return 0;
}

static void threads_end(struct tb_nodes_run *run)
{
    for (uint32_t s = 0; s < run->count; s++)
        if (run->stations[s].running)
            pthread_join(run->stations[s].thread, NULL);
    for (uint32_t s = 0; s < run->count; s++)
        for (uint32_t w = 0; w < run->workers; w++)
            tb_node_worker_stop(&run->stations[s].workers[w]);
}

// Without its scheduler a station would hold the others at their first gate for ever, so the gate is passed on its behalf.
static int threads_run(struct tb_nodes_run *run)
{
    int error = 0;
    tb_cpus_leave(); // this thread only waits
    for (uint32_t s = 0; s < run->count && run->job->dispatch != TB_DISPATCH_INLINE; s++)
        for (uint32_t w = 0; w < run->workers && !error; w++)
            error = tb_node_worker_start(&run->stations[s].workers[w]);
    for (uint32_t s = 0; s < run->count && !error; s++) {
        error = -pthread_create(&run->stations[s].thread, NULL, tb_station_main, &run->stations[s]);
        run->stations[s].running = error == 0;
        for (uint32_t missing = s; error && missing < run->count; missing++) {
            run->stations[missing].error = error;
            atomic_fetch_add_explicit(&run->arrived, 1, memory_order_release); // G1
        }
    }
    threads_end(run);
    return error;
}

static int run_open(struct tb_nodes_run *run)
{
    const struct tb_job *job = run->job;
    struct locus_nodes memory = {0};
    int nodes[TB_NODES_MAX];
    run->stations = aligned_alloc(LOCUS_CACHE_LINE, TB_NODES_MAX * sizeof *run->stations);
    int error = run->stations ? locus_topo_open(&run->topo, NULL, NULL, 0) : -ENOMEM;
    if (!error)
        error = stations_find(run, &memory);
    for (uint32_t s = 0; s < run->count; s++)
        nodes[s] = run->stations[s].node;
    struct tb_nodes_setup setup = {
        .plan = run->plan,
        .schedule = run->schedule,
        .block_bytes = job->block_bytes,
        .nodes = nodes,
        .count = run->count,
        .memory = &memory,
        .lanes = run->count * run->workers,
    };
    if (!error)
        error = run->ops->open(&setup, &run->context);
    if (!error && job->fault == TB_FAULT_MISPLACE)
        error = misplace(run);
    return error ? error : books_open(run);
}

static void run_close(struct tb_nodes_run *run)
{
    for (uint32_t s = 0; s < run->count; s++) {
        struct tb_station *station = &run->stations[s];
        for (uint32_t w = 0; w < run->workers; w++)
            tb_books_close(&station->workers[w].books);
        tb_books_close(&station->books);
        free(station->workers);
        free(station->tables);
        free(station->tables_memory);
        free(station->parcels);
        tb_decode_close(&station->decode);
        tb_team_close(station->team);
    }
    if (run->context)
        run->ops->close(run->context);
    locus_topo_close(run->topo);
    free(run->stations);
}

// 0 without timed laps.
static void times(struct tb_job *job)
{
    if (job->laps == 0)
        return;
    job->sample.lap_ns = tb_median(job->lap_ns, job->laps);
    job->sample.lap_ns_min = job->lap_ns[0];
    for (uint32_t i = 1; i < job->laps; i++)
        if (job->lap_ns[i] < job->sample.lap_ns_min)
            job->sample.lap_ns_min = job->lap_ns[i];
}

static int job_check(const struct tb_job *job, uint32_t workers)
{
    bool fault_in_timed_lap =
        job->fault == TB_FAULT_DROP_CHUNK || job->fault == TB_FAULT_DOUBLE_FREE || job->fault == TB_FAULT_DELAY;
    if (job->laps + job->laps_counted == 0 || (fault_in_timed_lap && job->laps == 0))
        return -EINVAL;
    if (job->laps > TB_LAPS_MAX || job->laps_warmup > TB_LAPS_MAX || job->laps_counted > TB_LAPS_MAX ||
        job->laps_metered > TB_LAPS_MAX)
        return -EINVAL;
    if (workers == 0 || workers > TB_WORKERS_MAX || job->cross_percent > 100 || job->decode.threads > 1)
        return -EINVAL;
    return job->touch == TB_TOUCH_LINE || job->touch == TB_TOUCH_FULL || job->touch == TB_TOUCH_DECODE ? 0 : -EINVAL;
}

int tb_nodes_engine_run(struct tb_job *job, const struct tb_contender *contender, const struct tb_schedule *schedule)
{
    struct tb_nodes_sample *sample = &job->sample.nodes;
    struct tb_nodes_run run = {.job = job, .schedule = schedule, .patience_ns = PATIENCE_NS};
    run.workers = job->dispatch == TB_DISPATCH_INLINE ? 1 : job->workers;
    int error = contender->nodes ? job_check(job, run.workers) : -EINVAL;
    if (error)
        return error;
    run.ops = contender->nodes->ops;
    run.plan = contender->nodes->plan;
    run.migrates = contender->nodes->migrates;
    error = run_open(&run);
    if (!error)
        error = tb_nodes_place(&run, sample->before);
    if (!error) {
        tb_nodes_balancing(sample, TB_VMSTAT, -1);
        error = threads_run(&run);
        tb_nodes_balancing(sample, TB_VMSTAT, 1);
    }
    if (!error)
        error = books_sum(&run);
    if (!error)
        error = tb_nodes_place(&run, sample->after);
    if (!error) {
        tb_nodes_judge(&run);
        times(job);
    }
    run_close(&run);
    return error;
}
