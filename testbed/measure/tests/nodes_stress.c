// SPDX-License-Identifier: Apache-2.0
//
// nodes_stress SECONDS SEED: stations and workers in any number, dispatch and share; nothing is lost or doubled, and nobody sleeps
// for ever. A lost wake-up (`asleep` in nodes/station.h) is not a data race, so no litmus sees it: here workers go to sleep at
// about the time of the next push, again and again, and a request that does not come home in time is the failure. It must be
// the last one of a lap, or the next would wake the worker: hence every other round has two stations and two requests, one to each.
#include "placement/blocks/tests/stress.h"
#include "testbed/measure/tests/stations_fixture.h"

#include <unistd.h>

#define PATIENCE_NS UINT64_C(10000000000) // arbitrary; no scheduler of a kernel keeps a runnable thread waiting for so long
#define HESITATES_MAX 512u     // about as long as a worker needs to wake up and to finish; arbitrary
#define HANG_S 30u             // longer than a round; a worker that cannot be stopped is not waited for in vain

static struct stations_fixture fixture;

static void expect_whole(void)
{
    for (uint32_t s = 0; s < fixture.run.count; s++) {
        const struct tb_station *station = &fixture.stations[s];
        const struct toy_home *home = &fixture.toy.homes[s];
        STRESS_EXPECT(station->error == 0);
        STRESS_EXPECT(station->damaged == 0);
        STRESS_EXPECT(station->retired == station->dispatched && station->retired == home->requests_home);
        STRESS_EXPECT(station->taken == home->taken && home->taken == home->freed);
        STRESS_EXPECT(home->free_count == TOY_BLOCKS && !home->drained_outside);
        for (uint32_t w = 0; w < fixture.run.workers; w++)
            STRESS_EXPECT(locus_mailbox_empty(&station->workers[w].inbox));
    }
}

static uint64_t finish_round(void)
{
    uint64_t requests = 0;
    fixture.run.patience_ns = PATIENCE_NS;
    fixture_run(&fixture);
    expect_whole();
    for (uint32_t s = 0; s < fixture.run.count; s++)
        requests += fixture.stations[s].retired;
    fixture_close(&fixture);
    return requests;
}

static uint64_t run_wake_ups(void)
{
    fixture_open(&fixture, 2, 1, TB_DISPATCH_FUTEX, fixture_schedule(2, 1), &toy_ops);
    fixture.job.cross_percent = 50;
    fixture.job.laps = TB_LAPS_MAX;
    fixture.job.laps_counted = 0;
    fixture.job.block_bytes = 64;
    fixture.toy.hesitates_max = HESITATES_MAX;
    return finish_round();
}

static uint64_t run_anything(uint64_t random)
{
    enum tb_dispatch dispatch = stress_random(&random, 4) ? TB_DISPATCH_FUTEX : (enum tb_dispatch)stress_random(&random, 2);
    uint32_t stations = 1 + stress_random(&random, TOY_STATIONS);
    uint32_t workers = dispatch == TB_DISPATCH_INLINE ? 1 : 1 + stress_random(&random, 3);
    struct tb_schedule *schedule = fixture_schedule(1 + stress_random(&random, 20), 1 + stress_random(&random, 4));
    fixture_open(&fixture, stations, workers, dispatch, schedule, &toy_ops);
    fixture.job.cross_percent = stress_random(&random, 101);
    fixture.job.laps = 1 + stress_random(&random, 200);
    fixture.job.laps_counted = stress_random(&random, 3);
    return finish_round();
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t requests = 0;
    unsigned rounds = 0;
    do {
        alarm(HANG_S);
        requests += rounds % 2 ? run_wake_ups() : run_anything(stress_fork(stress.seed, rounds));
        rounds++;
    } while (stress_now_s() < stress.end_s);
    printf("%llu requests in %u rounds\n", (unsigned long long)requests, rounds);
    return 0;
}
