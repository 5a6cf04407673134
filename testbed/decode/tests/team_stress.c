// SPDX-License-Identifier: Apache-2.0
//
// team_stress SECONDS SEED: teams of one to four threads, which are opened, work and are closed again. Each member does each job
// once, before tb_team_run() returns and not after; and no team is left with a member that still waits, or closing would hang.
// Some members are late: they sleep, or give the CPU away.
#include "placement/blocks/tests/stress.h"
#include "testbed/decode/team.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

#define THREADS_MAX 4u
#define JOBS_MAX 200u

struct round {
    uint64_t random[THREADS_MAX]; // each member's own
    uint32_t count;
    uint32_t job;               // plain: the team orders it
    uint32_t done[THREADS_MAX];
    bool working;
};

static void one_job(void *context, uint32_t who, uint32_t count)
{
    struct round *round = context;
    STRESS_EXPECT(round->working && count == round->count && who < count);
    STRESS_EXPECT(round->done[who] + 1 == round->job);
    if (stress_random(&round->random[who], 16) == 0)
        sched_yield();
    else if (stress_random(&round->random[who], 256) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    round->done[who] = round->job;
}

// A job in between, which must find what the last one left.
static void idle_job(void *context, uint32_t who, uint32_t count)
{
    struct round *round = context;
    STRESS_EXPECT(count == round->count && round->done[who] == round->job);
}

static uint32_t round_run(struct round *round, uint64_t *random)
{
    struct tb_team *team;
    uint32_t jobs = stress_random(random, JOBS_MAX);
    *round = (struct round){.count = 1 + stress_random(random, THREADS_MAX)};
    for (uint32_t who = 0; who < round->count; who++)
        round->random[who] = stress_fork(*random, who);
    STRESS_EXPECT(tb_team_open(&team, round->count, NULL) == 0);
    STRESS_EXPECT(tb_team_count(team) == round->count);
    for (uint32_t job = 1; job <= jobs; job++) {
        round->job = job;
        round->working = true;
        tb_team_run(team, one_job, round);
        round->working = false;
        for (uint32_t who = 0; who < round->count; who++)
            STRESS_EXPECT(round->done[who] == job);
        if (stress_random(random, 4) == 0)
            tb_team_run(team, idle_job, round);
    }
    tb_team_close(team);
    return jobs;
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    struct round round;
    uint64_t random = stress_fork(stress.seed, 0), jobs = 0;
    struct tb_team *team;
    STRESS_EXPECT(tb_team_open(&team, 0, NULL) == -EINVAL && tb_team_open(&team, TB_TEAM_MAX + 1, NULL) == -EINVAL);
    STRESS_EXPECT(tb_team_open(&team, 2, (int[]){0, 1 << 20}) < 0); // no such CPU, and nobody is left behind
    while (stress_now_s() < stress.end_s)
        jobs += round_run(&round, &random);
    printf("%llu jobs\n", (unsigned long long)jobs);
    return 0;
}
