// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of the flagship's stations: a hand-made run of several stations on a machine with any number of nodes, with
// the toy as contender. All threads run on one node of this machine.
#ifndef TB_TESTS_STATIONS_FIXTURE_H
#define TB_TESTS_STATIONS_FIXTURE_H

#include <string.h>

#include "testbed/measure/nodes/judge.h"
#include "testbed/measure/tests/stations_world.h"
#include "testbed/measure/tests/toy_home.h"
#include "topo/topo.h"

struct stations_fixture {
    struct tb_job job;
    struct tb_nodes_run run;
    struct tb_station stations[TOY_STATIONS];
    struct toy toy;
    struct locus_topo *invented;
};

static inline int fixture_node(void)
{
    int node = 0;
    while (!locus_node_allowed(node))
        node++;
    return node;
}

static inline void fixture_books(struct stations_fixture *fixture, struct tb_books *books)
{
    struct tb_locality_world world = {fixture_world_cpu, fixture_world_pages, &fixture->toy};
    struct tb_locality_config config = {
        .topo = fixture->invented, .pages_max = 4096, .pending_max = 4096, .points_max = TB_DRIFT_POINTS_MAX, .world = &world};
    litmus_expect(tb_books_open(books, &config, fixture->run.ops, &fixture->toy, TOY_BLOCK_BYTES) == 0, "books are opened");
}

static inline void fixture_station(struct stations_fixture *fixture, uint32_t number)
{
    struct tb_nodes_run *run = &fixture->run;
    struct tb_station *station = &fixture->stations[number];
    struct toy_home *home = &fixture->toy.homes[number];
    *station = (struct tb_station){.run = run, .number = number, .node = fixture_node(), .cpu = -1};
    station->workers = aligned_alloc(LOCUS_CACHE_LINE, run->workers * sizeof *station->workers);
    litmus_expect(station->workers != NULL, "there is memory for workers");
    for (uint32_t w = 0; w < run->workers; w++) {
        station->workers[w] = (struct tb_node_worker){.lane = number * run->workers + w, .station = station, .cpu = -1};
        locus_mailbox_init(&station->workers[w].inbox);
        fixture_books(fixture, &station->workers[w].books);
    }
    fixture_books(fixture, &station->books);
    locus_mailbox_init(&home->returned);
    for (home->free_count = 0; home->free_count < TOY_BLOCKS; home->free_count++)
        home->free[home->free_count] = number * TOY_BLOCKS + home->free_count;
}

// The job is the caller's to change before fixture_run(); the schedule is freed by close.
static inline void fixture_open(struct stations_fixture *fixture, uint32_t stations, uint32_t workers, enum tb_dispatch dispatch,
                                struct tb_schedule *schedule, const struct tb_nodes_ops *ops)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->job =
        (struct tb_job){.touch = TB_TOUCH_LINE, .dispatch = dispatch, .laps = 1, .laps_counted = 1, .block_bytes = TOY_BLOCK_BYTES};
    fixture->run = (struct tb_nodes_run){.job = &fixture->job,
                                         .ops = ops,
                                         .schedule = schedule,
                                         .context = &fixture->toy,
                                         .stations = fixture->stations,
                                         .workers = workers,
                                         .steps_per_point = 1,
                                         .steps_per_repair = 1,
                                         .patience_ns = UINT64_C(20000000000)};
    fixture->toy.memory = aligned_alloc(4096, TOY_STATIONS * sizeof *fixture->toy.memory);
    litmus_expect(fixture->toy.memory != NULL, "there is memory for blocks");
    litmus_expect(locus_topo_open(&fixture->invented, "pack:4 [numa(memory=1GB)] core:1 pu:1", NULL, 0) == 0,
                  "a world is invented");
    struct tb_nodes_sample *sample = &fixture->job.sample.nodes;
    for (; fixture->run.count < stations; fixture->run.count++, sample->count++) {
        fixture_station(fixture, fixture->run.count);
        sample->node[sample->count] = (struct tb_node_row){.os = (int32_t)fixture->run.count, .station = true};
    }
}

// As in the engine, but without the case of a thread that cannot be started.
static inline void fixture_run(struct stations_fixture *fixture)
{
    struct tb_nodes_run *run = &fixture->run;
    for (uint32_t s = 0; s < run->count && fixture->job.dispatch != TB_DISPATCH_INLINE; s++)
        for (uint32_t w = 0; w < run->workers; w++)
            litmus_expect(tb_node_worker_start(&run->stations[s].workers[w]) == 0, "a worker starts");
    for (uint32_t s = 0; s < run->count; s++)
        run->stations[s].thread = litmus_thread(tb_station_main, &run->stations[s]);
    for (uint32_t s = 0; s < run->count; s++)
        pthread_join(run->stations[s].thread, NULL);
    for (uint32_t s = 0; s < run->count; s++)
        for (uint32_t w = 0; w < run->workers; w++)
            tb_node_worker_stop(&run->stations[s].workers[w]);
}

static inline void fixture_close(struct stations_fixture *fixture)
{
    for (uint32_t s = 0; s < fixture->run.count; s++) {
        struct tb_station *station = &fixture->stations[s];
        for (uint32_t w = 0; w < fixture->run.workers; w++)
            tb_books_close(&station->workers[w].books);
        tb_books_close(&station->books);
        free(station->workers);
        free(station->tables);
        free(station->tables_memory);
        free(station->parcels);
    }
    locus_topo_close(fixture->invented);
    free(fixture->toy.memory);
    free((void *)(uintptr_t)fixture->run.schedule);
}

#endif
