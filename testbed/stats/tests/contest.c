// SPDX-License-Identifier: Apache-2.0
#include "testbed/stats/tests/contest.h"

#include "testbed/stats/random.h"
#include "testbed/stats/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double times[CONTEST_ARMS_MAX][CONTEST_ROUNDS_MAX];

_Noreturn void contest_fail(const char *what, int error)
{
    fprintf(stderr, "%s: %s\n", what, strerror(error < 0 ? -error : error));
    exit(2);
}

static bool show(const struct contest *contest, uint32_t arm)
{
    const struct contest_arm *it = &contest->arms[arm];
    struct tb_ratio ns, ratio;
    CONTEST_NEED(tb_median_sign(times[arm], contest->rounds, TB_CONFIDENCE, &ns));
    CONTEST_NEED(tb_ratio_sign(times[0], times[arm], contest->rounds, TB_CONFIDENCE, &ratio));
    bool met = it->goal == CONTEST_NONE || (it->goal == CONTEST_NS_AT_MOST ? ns.high <= it->bound : ratio.low >= it->bound);
    printf("  %-22s %12.2f ns (%.2f .. %.2f)", it->name, ns.estimate, ns.low, ns.high);
    if (arm)
        printf("   x %6.3f (%.3f .. %.3f)", ratio.estimate, ratio.low, ratio.high);
    if (it->goal)
        printf("   %s %g: %s", it->goal == CONTEST_NS_AT_MOST ? "at most" : "at least", it->bound, met ? "met" : "NOT SHOWN");
    printf("\n");
    fflush(stdout);
    return met;
}

bool contest_run(const struct contest *contest)
{
    uint32_t order[CONTEST_ARMS_MAX];
    uint64_t random = 1;
    bool met = true;
    for (uint32_t round = 0; round < contest->rounds; round++) {
        tb_random_order(order, contest->arms_count, &random);
        for (uint32_t i = 0; i < contest->arms_count; i++) {
            const struct contest_arm *arm = &contest->arms[order[i]];
            if (contest->prepare)
                contest->prepare();
            times[order[i]][round] = arm->measure(arm->context);
        }
    }
    printf("%s\n", contest->title);
    for (uint32_t arm = 0; arm < contest->arms_count; arm++)
        met &= show(contest, arm);
    return met;
}
