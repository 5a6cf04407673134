// SPDX-License-Identifier: Apache-2.0
//
// contest: ways to do the same thing, timed in turn in one process. Each round runs all of them once, in random order, so what
// disturbs a whole round cancels in the round's ratios.
#ifndef TESTS_CONTEST_H
#define TESTS_CONTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CONTEST_ARMS_MAX 10u
#define CONTEST_ROUNDS_MAX 2000u

// A goal of each arm: none, its ns an operation at most `bound`, or its time over the first arm's at least `bound`.
enum contest_goal { CONTEST_NONE, CONTEST_NS_AT_MOST, CONTEST_RATIO_AT_LEAST };

struct contest_arm {
    const char *name;
    double (*measure)(void *context); // ns an operation
    void *context;
    enum contest_goal goal;
    double bound;
};

struct contest {
    const char *title;
    void (*prepare)(void);      // before each arm of each round, or NULL
    struct contest_arm arms[CONTEST_ARMS_MAX];
    uint32_t arms_count, rounds;
};

// Runs it and prints a line for each arm. True: every goal is met by the whole 95 % interval.
bool contest_run(const struct contest *contest);

static inline double contest_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// For what a benchmark cannot go on without.
_Noreturn void contest_fail(const char *what, int error);
#define CONTEST_NEED(call)                                                                                                         \
    do {                                                                                                                           \
        int need_error = (call);                                                                                                   \
        if (need_error)                                                                                                            \
            contest_fail(#call, need_error);                                                                                       \
    } while (0)

#endif
