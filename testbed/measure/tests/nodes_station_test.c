// SPDX-License-Identifier: Apache-2.0
//
// nodes_station: a station's scheduler and workers, with the toy as contender: who finishes which request, what is counted and
// when, and that a failed station keeps no other waiting.
#include "testbed/measure/tests/stations_fixture.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(nodes_station, .timeout = 60);

static struct stations_fixture fixture;

static void open_run(uint32_t stations, uint32_t workers, enum tb_dispatch dispatch)
{
    fixture_open(&fixture, stations, workers, dispatch, fixture_schedule(40, 2), &toy_ops);
}

// Of the requests that began at `from`, those that a worker of `at` finished.
static uint64_t finished(uint32_t from, uint32_t at)
{
    uint64_t sum = 0;
    for (uint32_t w = 0; w < fixture.run.workers; w++)
        sum += fixture.toy.lanes[at * fixture.run.workers + w].from[from];
    return sum;
}

static void expect_whole(void)
{
    for (uint32_t s = 0; s < fixture.run.count; s++) {
        const struct tb_station *station = &fixture.stations[s];
        const struct toy_home *home = &fixture.toy.homes[s];
        cr_expect_eq(station->error, 0, "station %u could not %s: %s", s, station->failed_to, strerror(-station->error));
        cr_expect_eq(station->retired, station->dispatched);
        cr_expect_eq(home->requests_home, station->retired);
        cr_expect_eq(home->taken, station->taken);
        cr_expect_eq(home->freed, home->taken);
        cr_expect_eq(station->damaged, 0);
        cr_expect_eq(station->touched_bytes, station->taken * TOY_BLOCK_BYTES);
        cr_expect(home->entered && home->left && !home->drained_outside);
    }
}

// --- who finishes what ---------------------------------------------------------------------------------------------------------

Test(nodes_station, of_the_requests_exactly_the_share_crosses_and_evenly)
{
    const uint32_t shares[] = {0, 5, 30, 50, 100};
    for (unsigned i = 0; i < sizeof shares / sizeof *shares; i++)
        for (uint32_t stations = 2; stations <= TOY_STATIONS; stations++) {
            open_run(stations, 1, TB_DISPATCH_INLINE);
            fixture.job.cross_percent = shares[i];
            fixture.job.laps = 2; // and one that is counted
            fixture_run(&fixture);
            expect_whole();
            uint64_t requests = 3 * 40, cross = requests * shares[i] / 100;
            for (uint32_t from = 0; from < stations; from++) {
                cr_expect_eq(finished(from, from), requests - cross, "%u %%, %u stations", shares[i], stations);
                for (uint32_t at = 0; at < stations; at++)
                    cr_expect(at == from || finished(from, at) - cross / (stations - 1) <= 1, "%u %%, %u to %u of %u: %lu",
                              shares[i], from, at, stations, (unsigned long)finished(from, at));
            }
            fixture_close(&fixture);
        }
}

Test(nodes_station, where_there_is_one_station_nothing_crosses)
{
    open_run(1, 1, TB_DISPATCH_SPIN);
    fixture.job.cross_percent = 100;
    fixture_run(&fixture);
    expect_whole();
    cr_expect_eq(finished(0, 0), 80);
    fixture_close(&fixture);
}

// With one turn for all stations every second request would go to the same worker of the same station.
Test(nodes_station, each_worker_gets_requests_of_its_own_station_and_of_others)
{
    open_run(2, 2, TB_DISPATCH_FUTEX);
    fixture.job.cross_percent = 50;
    fixture_run(&fixture);
    expect_whole();
    for (uint32_t lane = 0; lane < 4; lane++)
        for (uint32_t from = 0; from < 2; from++)
            cr_expect_eq(fixture.toy.lanes[lane].from[from], 20, "lane %u, from %u", lane, from);
    fixture_close(&fixture);
}

Test(nodes_station, every_dispatch_brings_all_home_with_more_workers_than_cpus)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch++) {
        open_run(3, dispatch == TB_DISPATCH_INLINE ? 1 : 3, (enum tb_dispatch)dispatch);
        fixture.job.cross_percent = 70;
        fixture_run(&fixture);
        expect_whole();
        fixture_close(&fixture);
    }
}

// --- what is counted -----------------------------------------------------------------------------------------------------------

static const struct tb_nodes_sample *sum(void)
{
    for (uint32_t s = 0; s < fixture.run.count; s++) {
        struct tb_books *books[] = {&fixture.stations[s].books, &fixture.stations[s].workers[0].books};
        cr_assert_eq(tb_books_sum(books, 2, &fixture.job.sample.nodes), 0);
    }
    return &fixture.job.sample.nodes;
}

Test(nodes_station, counts_the_counted_laps_and_no_others)
{
    for (uint32_t counted = 0; counted < 3; counted++) {
        open_run(2, 1, TB_DISPATCH_FUTEX);
        fixture.job.laps = 3;
        fixture.job.laps_warmup = 2;
        fixture.job.laps_counted = counted;
        fixture.job.cross_percent = 50;
        fixture_run(&fixture);
        expect_whole();
        const struct tb_nodes_sample *nodes = sum();
        for (uint32_t n = 0; n < 2; n++) {
            cr_expect_eq(fixture.stations[n].taken, (5 + counted) * 80);
            cr_expect_eq(nodes->allocations.pair[n][n], counted * 80);
            cr_expect_eq(nodes->touches.pair[n][n], counted * 80 * TOY_LINES);
            cr_expect_eq(nodes->touches.pair[n][1 - n], 0);
            cr_expect_eq(nodes->frees.pair[n][n], counted * 40);
            cr_expect_eq(nodes->frees.pair[n][1 - n], counted * 40);
        }
        cr_expect_eq(nodes->frees_abroad, 0, "the toy sends them home");
        cr_expect_eq(nodes->touches.unknown + nodes->allocations.unknown + nodes->frees.unknown, 0);
        fixture_close(&fixture);
    }
}

Test(nodes_station, the_drift_curve_has_a_point_for_each_stretch)
{
    open_run(1, 1, TB_DISPATCH_INLINE); // 61 drains a lap
    fixture.run.steps_per_point = 8;
    fixture.job.laps_counted = 2;
    fixture_run(&fixture);
    const struct tb_nodes_sample *nodes = sum();
    uint64_t allocated = 0;
    for (uint32_t p = 0; p < nodes->points_count; p++)
        allocated += nodes->points[p].allocated;
    cr_expect_eq(allocated, 160);
    cr_expect_eq(nodes->points_count, 13, "%u points; the last takes of the second lap are its 40th step", nodes->points_count);
    cr_expect_eq(nodes->points[0].allocated, 16);
    fixture_close(&fixture);
}

// Both hold their blocks from the prologue on, so the first writer's data is overwritten by the first lap.
Test(nodes_station, a_block_that_two_stations_hold_is_seen)
{
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    const enum tb_op_kind take = TB_OP_TAKE, retire = TB_OP_RETIRE;
    cr_assert_eq(tb_builder_open(&builder), 0);
    int error = tb_builder_add(builder, take, 0, 4);
    for (uint32_t lap = 0; lap < 2; lap++)
        error |= tb_builder_mark_lap(builder) | tb_builder_add(builder, take, 1 - lap, 4) | tb_builder_add(builder, retire, lap, 0);
    error |= tb_builder_mark_epilogue(builder) | tb_builder_add(builder, retire, 0, 0);
    cr_assert_eq(error | tb_builder_pack(builder, "two", TOY_BLOCKS, &schedule), 0);
    tb_builder_close(builder);
    for (int touch = TB_TOUCH_FULL; touch <= TB_TOUCH_LINE; touch++)
        for (int shared = 0; shared < 2; shared++) {
            struct tb_schedule *copy = malloc(schedule->bytes);
            fixture_open(&fixture, 2, 1, TB_DISPATCH_INLINE, memcpy(copy, schedule, schedule->bytes), &toy_ops);
            fixture.job.touch = (enum tb_touch)touch;
            fixture.toy.one_for_all = shared;
            fixture.job.laps_counted = 2;
            fixture_run(&fixture);
            uint64_t damaged = fixture.stations[0].damaged + fixture.stations[1].damaged;
            cr_expect(shared ? damaged >= 4 : damaged == 0, "%lu damaged", (unsigned long)damaged);
            fixture_close(&fixture);
        }
    free(schedule);
}

// --- what goes wrong -----------------------------------------------------------------------------------------------------------

Test(nodes_station, a_station_that_cannot_begin_ends_the_run_and_its_contender_is_left_alone)
{
    open_run(3, 1, TB_DISPATCH_FUTEX);
    fixture.toy.broken = 1;
    fixture.toy.enter_error = -EBUSY;
    fixture_run(&fixture);
    cr_expect_eq(fixture.stations[1].error, -EBUSY);
    cr_expect_str_eq(fixture.stations[1].failed_to, "begin");
    for (uint32_t s = 0; s < 3; s++) {
        cr_expect_eq(fixture.stations[s].taken, 0);
        cr_expect_eq(fixture.toy.homes[s].left, s != 1);
        cr_expect_not(fixture.toy.homes[s].drained_outside);
    }
    fixture_close(&fixture);
}

Test(nodes_station, a_station_that_cannot_take_serves_the_others_to_the_end)
{
    for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch += 2) {
        open_run(2, 1, (enum tb_dispatch)dispatch);
        fixture.toy.broken = 1;
        fixture.toy.take_error = -ENOMEM;
        fixture.job.cross_percent = 100;
        fixture_run(&fixture);
        cr_expect_eq(fixture.stations[1].error, -ENOMEM);
        cr_expect_str_eq(fixture.stations[1].failed_to, "take blocks");
        cr_expect_eq(fixture.stations[1].taken, 0);
        cr_expect_eq(fixture.stations[0].error, 0);
        cr_expect_eq(finished(0, 1), 80);
        cr_expect_eq(fixture.toy.homes[0].requests_home, 80);
        fixture_close(&fixture);
    }
}

Test(nodes_station, blocks_that_are_on_their_way_are_waited_for)
{
    open_run(2, 1, TB_DISPATCH_INLINE);
    fixture.toy.broken = 1;
    fixture.toy.takes_late = 1000;
    fixture_run(&fixture);
    expect_whole();
    fixture_close(&fixture);
}

Test(nodes_station, blocks_that_never_come_are_given_up)
{
    open_run(2, 1, TB_DISPATCH_INLINE);
    fixture.run.patience_ns = 500000000; // of a busy machine too
    fixture.toy.broken = 1;
    fixture.toy.takes_late = UINT32_MAX;
    fixture_run(&fixture);
    cr_expect_eq(fixture.stations[1].error, -ETIMEDOUT);
    cr_expect_eq(fixture.stations[0].error, 0);
    fixture_close(&fixture);
}

Test(nodes_station, a_request_that_is_lost_is_given_up_once_and_does_not_hide_an_earlier_error)
{
    for (int failed = 0; failed < 2; failed++) {
        open_run(2, 1, TB_DISPATCH_FUTEX);
        fixture.run.patience_ns = 500000000; // of a busy machine too
        fixture.toy.loses_request = true;
        fixture.toy.take_error = failed ? -EIO : 0;
        fixture.toy.takes_good = 30;
        fixture.job.laps = 3;
        fixture_run(&fixture);
        const struct tb_station *station = &fixture.stations[0];
        cr_expect_eq(station->error, failed ? -EIO : -ETIMEDOUT);
        cr_expect_str_eq(station->failed_to, failed ? "take blocks" : "bring every request home");
        cr_expect_eq(station->retired, fixture.toy.homes[0].requests_home + 1);
        cr_expect_eq(fixture.stations[1].error, 0);
        cr_expect_eq(fixture.toy.homes[1].requests_home, 160);
        fixture_close(&fixture);
    }
}

Test(nodes_station, the_faults_are_put_in_at_the_first_station)
{
    const enum tb_fault faults[] = {TB_FAULT_DROP_CHUNK, TB_FAULT_DOUBLE_FREE, TB_FAULT_SKIP_TOUCH, TB_FAULT_DELAY};
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
        open_run(2, 1, TB_DISPATCH_INLINE);
        fixture.job.fault = faults[i];
        fixture.job.laps_warmup = 1;
        fixture.job.fault_percent = 1000;
        fixture_run(&fixture);
        const struct tb_station *first = &fixture.stations[0], *second = &fixture.stations[1];
        const struct toy_home *home = &fixture.toy.homes[0];
        cr_expect_eq(first->retired - first->dispatched, faults[i] == TB_FAULT_DROP_CHUNK);
        cr_expect_eq(first->touched_bytes == 0, faults[i] == TB_FAULT_SKIP_TOUCH);
        uint64_t sum = 0;
        for (uint32_t b = 0; b < home->free_count; b++)
            sum += home->free[b];
        cr_expect_eq(sum != TOY_BLOCKS * (TOY_BLOCKS - 1) / 2,
                     faults[i] == TB_FAULT_DOUBLE_FREE || faults[i] == TB_FAULT_DROP_CHUNK);
        cr_expect_eq(first->error + second->error, 0);
        cr_expect_eq(second->retired, second->dispatched);
        fixture_close(&fixture);
    }
}

static double shortest_lap(enum tb_fault fault)
{
    open_run(2, 1, TB_DISPATCH_INLINE);
    fixture.job.fault = fault;
    fixture.job.laps_warmup = 3;
    fixture.job.laps = 5;
    fixture.job.fault_percent = 1000; // ten times the shortest of the laps before
    fixture_run(&fixture);
    double least = fixture.job.lap_ns[0];
    for (uint32_t i = 1; i < 5; i++)
        least = fixture.job.lap_ns[i] < least ? fixture.job.lap_ns[i] : least;
    fixture_close(&fixture);
    return least;
}

Test(nodes_station, a_delay_makes_the_lap_longer)
{
    if (getenv("LOCUS_GUEST"))
        cr_skip_test("an emulated machine's time means nothing");
    double plain = INFINITY, delayed = INFINITY;
    for (int i = 0; i < 5; i++) { // somebody else may have the CPU for all laps of one of them
        plain = fmin(plain, shortest_lap(TB_FAULT_NONE));
        delayed = fmin(delayed, shortest_lap(TB_FAULT_DELAY));
    }
    cr_expect_gt(delayed, 3 * plain, "%g ns against %g", delayed, plain);
}
