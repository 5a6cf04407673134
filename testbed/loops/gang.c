// SPDX-License-Identifier: Apache-2.0
//
// gang: each thread pins itself, prepares, and waits until all have. Nobody releases the others, the last to arrive does, so
// that all leave within a line transfer of each other. Where one thread cannot be had or pinned, all are told at that meeting,
// and none works.
//
// Synchronization: M1 below. What a thread prepared is seen by all that work, and what it worked by all that check.
#include "testbed/loops/gang.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "locus/lane.h"
#include "topo/pin.h"

// A line transfer takes below 1 us; after so many turns (some 10 us and more) somebody else needs the CPU. Arbitrary beyond that.
#define TURNS_BEFORE_YIELD 1024u

struct gang {
    const struct tb_gang_job *job;
    struct tb_gang_meeting ready, worked;
    atomic_int error;
    atomic_int culprit;
};

struct member {
    struct gang *gang;
    unsigned who;
    pthread_t thread;
    uint64_t start_ns, end_ns;
};

uint64_t tb_gang_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void tb_gang_pause(unsigned *turns)
{
    if (++*turns % TURNS_BEFORE_YIELD == 0)
        sched_yield();
    else
        locus_cpu_relax();
}

// M1 (release and acquire), partner: itself in every other thread. The last one's increment is seen by all.
void tb_gang_meet(struct tb_gang_meeting *meeting, unsigned count)
{
    unsigned turns = 0;
    atomic_fetch_add_explicit(&meeting->arrived, 1, memory_order_acq_rel); // M1
    while (atomic_load_explicit(&meeting->arrived, memory_order_acquire) < count) // M1
        tb_gang_pause(&turns);
}

static void fail(struct gang *gang, int error, int culprit)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&gang->error, &none, error))
        atomic_store(&gang->culprit, culprit);
}

static void *be_member(void *context)
{
    struct member *self = context;
    struct gang *gang = self->gang;
    const struct tb_gang_job *job = gang->job;
    int error = locus_pin_cpu(job->cpus[self->who]);
    if (error)
        fail(gang, error, job->cpus[self->who]);
    if (job->prepare && !atomic_load(&gang->error))
        job->prepare(job->context, self->who);
    tb_gang_meet(&gang->ready, job->count);
    if (atomic_load(&gang->error))
        return NULL;
    self->start_ns = tb_gang_now_ns();
    job->work(job->context, self->who);
    self->end_ns = tb_gang_now_ns();
    tb_gang_meet(&gang->worked, job->count);
    if (job->check)
        job->check(job->context, self->who);
    return NULL;
}

static uint64_t first_to_last(const struct member members[], unsigned count)
{
    uint64_t start = members[0].start_ns, end = members[0].end_ns;
    for (unsigned i = 1; i < count; i++) {
        start = members[i].start_ns < start ? members[i].start_ns : start;
        end = members[i].end_ns > end ? members[i].end_ns : end;
    }
    return end - start;
}

int tb_gang_run(const struct tb_gang_job *job, uint64_t *took_ns, int *culprit)
{
    struct gang gang = {.job = job, .culprit = -1};
    struct member *members = calloc(job->count, sizeof *members);
    unsigned started = 0;
    if (!members)
        return -ENOMEM;
    for (; started < job->count; started++) {
        members[started] = (struct member){.gang = &gang, .who = started};
        int error = -pthread_create(&members[started].thread, NULL, be_member, &members[started]);
        if (error) { // the missing ones arrive here
            fail(&gang, error, -1);
            atomic_fetch_add(&gang.ready.arrived, job->count - started);
            break;
        }
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(members[i].thread, NULL);
    *took_ns = gang.error ? 0 : first_to_last(members, job->count);
    if (culprit)
        *culprit = gang.culprit;
    free(members);
    return gang.error;
}
