// SPDX-License-Identifier: Apache-2.0
//
// Shared by the litmus programs: the number of runs, threads, and a start line.
//
// A litmus program has one edge between its threads, the pair of atomics under test. Under ThreadSanitizer the plain data that
// the pair orders becomes a race as soon as either half is weakened; a second edge (a counter, a queue, a join before the check)
// would hide it. So everything here is relaxed, which orders nothing, and threads are joined only after the data has been
// checked.
#ifndef LOCUS_TESTS_LITMUS_H
#define LOCUS_TESTS_LITMUS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "locus/lane.h"

#define LITMUS_RUNS 200u
#define LITMUS_SPINS 256u // polls before yielding the CPU to a partner that may wait for it; arbitrary

static inline unsigned litmus_runs(int argc, char **argv)
{
    return argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : LITMUS_RUNS;
}

static inline void litmus_pause(unsigned spin)
{
    if (spin % LITMUS_SPINS == 0)
        sched_yield();
    else
        locus_cpu_relax();
}

// Returns when `parties` threads are here, so that they leave at the same time.
static inline void litmus_start(_Atomic unsigned *arrived, unsigned parties)
{
    atomic_fetch_add_explicit(arrived, 1, memory_order_relaxed);
    for (unsigned spin = 1; atomic_load_explicit(arrived, memory_order_relaxed) < parties; spin++)
        litmus_pause(spin);
}

static inline pthread_t litmus_thread(void *(*main_function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, main_function, argument)) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

// For a wrong value or a failed call. Ends the program, because threads may be waiting for each other.
static inline void litmus_expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "litmus: not so: %s\n", what);
    _Exit(1);
}

#endif
