// SPDX-License-Identifier: Apache-2.0
//
// gang: threads on given CPUs that do something at the same time, and how long it took from the first start to the last end.
//
// Threads: a gang is started and ended inside one call; the caller only waits. A job's functions run in the gang's threads, all
// with the same context.
#ifndef TB_GANG_H
#define TB_GANG_H

#include <stdatomic.h>
#include <stdint.h>

typedef void tb_gang_work(void *context, unsigned who); // who: 0 .. count - 1, in the order of the CPUs

struct tb_gang_job {
    const int *cpus;            // [count]; a CPU may be there twice
    unsigned count;
    tb_gang_work *prepare;      // untimed, before; or NULL
    tb_gang_work *work;
    tb_gang_work *check;        // untimed, after all have worked; or NULL
    void *context;
};

// 0, -ENOMEM, -EAGAIN (no more threads), or the first error of locus_pin_cpu(); then nothing was worked, and *culprit (or NULL) is
// the CPU, -1 where it was none's fault.
int tb_gang_run(const struct tb_gang_job *job, uint64_t *took_ns, int *culprit);

// Where `count` threads of a job wait for each other, once: {0} before. Spins, and gives the CPU away when that takes long, for
// threads that share one and for emulated CPUs.
struct tb_gang_meeting {
    atomic_uint arrived;
};
void tb_gang_meet(struct tb_gang_meeting *meeting, unsigned count);

// Something to spin on: waits with *turns = 0 before, and gives the CPU away now and then.
void tb_gang_pause(unsigned *turns);

uint64_t tb_gang_now_ns(void);

#endif
