// SPDX-License-Identifier: Apache-2.0
//
// full_queue: what a sender does when its bounded queue is full. On a thread of its own it spins, and yields its CPU to the owner
// now and then. With inline dispatch the sender is the owner, and nobody else makes room: it drains.
#ifndef TB_FULL_QUEUE_H
#define TB_FULL_QUEUE_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "locus/lane.h"

#define TB_SPINS_PER_YIELD 64u // arbitrary: a full queue empties in about the time of as many spins

// `spins` counts from 1.
static inline void tb_full_queue_wait(uint32_t spins, pthread_t owner, void (*drain)(void *context), void *context)
{
    if (pthread_equal(owner, pthread_self()))
        drain(context);
    else if (spins % TB_SPINS_PER_YIELD == 0)
        sched_yield();
    else
        locus_cpu_relax();
}

#endif
