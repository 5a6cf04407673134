// SPDX-License-Identifier: Apache-2.0
//
// F1/F2 and G1/G2 (nodes/station.h). Odd runs: when a scheduler sees a request as finished, it sees the table as the worker left
// it; with spinning workers there is no other edge from a worker to a scheduler. Even runs: after a gate all see what a station
// did before it, which is how `counting` reaches the others; the stations send each other nothing.
#include "testbed/measure/tests/stations_fixture.h"

static struct stations_fixture fixture;

static void run_once(uint32_t stations, enum tb_dispatch dispatch, uint32_t laps, uint32_t laps_counted)
{
    fixture_open(&fixture, stations, 1, dispatch, fixture_schedule(3, 1), &toy_ops_at_once);
    fixture.job.laps = laps;
    fixture.job.laps_counted = laps_counted;
    fixture_run(&fixture);
    for (uint32_t s = 0; s < stations; s++) {
        litmus_expect(fixture.stations[s].error == 0, "a station comes to its end");
        litmus_expect(fixture.stations[s].taken == 3ull * (laps + laps_counted), "all laps are run");
    }
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 1; run <= runs; run++) {
        if (run % 2)
            run_once(1, TB_DISPATCH_SPIN, 3, 0);
        else
            run_once(2, TB_DISPATCH_INLINE, 1, 1);
    }
    printf("%u runs\n", runs);
    return 0;
}
