// SPDX-License-Identifier: Apache-2.0
//
// team: see team.h. The job is plain memory: it is written only while nobody reads it, between the last D2 and the next R1.

#include "testbed/decode/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "testbed/loops/gang.h"
#include "topo/pin.h"

struct member {
    struct tb_team *team;
    pthread_t thread;
    uint32_t who;
    int cpu;                    // -1: not pinned
};

struct tb_team {
    uint32_t count;             // with the caller
    uint32_t started;           // threads
    tb_team_work *work;         // NULL: go home
    void *context;
    struct member members[TB_TEAM_MAX];
    _Alignas(64) atomic_uint job;
    _Alignas(64) atomic_uint done;
    atomic_int error;
};

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct tb_team *team = member->team;
    int error = member->cpu >= 0 ? locus_pin_cpu(member->cpu) : 0;
    if (error)
        atomic_store_explicit(&team->error, error, memory_order_relaxed); // seen by D2 below
    atomic_fetch_add_explicit(&team->done, 1, memory_order_release); // D1
    for (unsigned seen = 0;;) {
        for (unsigned turns = 0; atomic_load_explicit(&team->job, memory_order_acquire) == seen;) // R2
            tb_gang_pause(&turns);
        seen++;
        if (!team->work)
            return NULL;
        team->work(team->context, member->who, team->count);
        atomic_fetch_add_explicit(&team->done, 1, memory_order_release); // D1
    }
}

static void wait_all(struct tb_team *team)
{
    for (unsigned turns = 0; atomic_load_explicit(&team->done, memory_order_acquire) != team->started;) // D2
        tb_gang_pause(&turns);
    atomic_store_explicit(&team->done, 0, memory_order_relaxed); // nobody adds before the next R1
}

static void job_post(struct tb_team *team, tb_team_work *work, void *context)
{
    team->work = work;
    team->context = context;
    atomic_fetch_add_explicit(&team->job, 1, memory_order_release); // R1
}

int tb_team_open(struct tb_team **out, uint32_t count, const int *cpus)
{
    struct tb_team *team = count && count <= TB_TEAM_MAX ? aligned_alloc(64, sizeof *team) : NULL;
    int error = 0;
    if (!team)
        return count && count <= TB_TEAM_MAX ? -ENOMEM : -EINVAL;
    *team = (struct tb_team){.count = count, .members[0].cpu = cpus ? cpus[0] : -1};
    for (uint32_t who = 1; who < count && !error; who++) {
        struct member *member = &team->members[who];
        *member = (struct member){.team = team, .who = who, .cpu = cpus ? cpus[who] : -1};
        error = -pthread_create(&member->thread, NULL, member_main, member);
        team->started += !error;
    }
    wait_all(team);
    error = error ? error : atomic_load_explicit(&team->error, memory_order_relaxed);
    if (error) {
        tb_team_close(team);
        return error;
    }
    *out = team;
    return 0;
}

void tb_team_close(struct tb_team *team)
{
    if (!team)
        return;
    job_post(team, NULL, NULL);
    for (uint32_t who = 1; who <= team->started; who++)
        pthread_join(team->members[who].thread, NULL);
    free(team);
}

uint32_t tb_team_count(const struct tb_team *team)
{
    return team->count;
}

int tb_team_cpu(const struct tb_team *team, uint32_t who)
{
    return team->members[who].cpu;
}

void tb_team_run(struct tb_team *team, tb_team_work *work, void *context)
{
    if (team->started)
        job_post(team, work, context);
    work(context, 0, team->count);
    if (team->started)
        wait_all(team);
}
