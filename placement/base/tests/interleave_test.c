// SPDX-License-Identifier: Apache-2.0
//
// interleave: the search visits every state, finds what it should by a shortest schedule, and finds nothing where nothing is.
#include <criterion/criterion.h>

#include "placement/base/tests/interleave.h"

enum kind { INDEPENDENT, SPLIT_ADD, ADD, LOCKS, SPIN };

struct small {
    uint8_t at[4], read[4];
    uint8_t count, lock[2], spins;
};

static void begin(const void *with, void *state)
{
    (void)with;
    (void)state;
}

static enum interleave_step step_locks(struct small *small, unsigned thread)
{
    unsigned at = small->at[thread], lock = at == 0 ? thread : !thread;
    if (at == 2)
        return INTERLEAVE_ENDED;
    if (small->lock[lock])
        return INTERLEAVE_WAITS;
    small->lock[lock] = 1;
    small->at[thread]++;
    interleave_say("takes lock %u", lock);
    return INTERLEAVE_WENT;
}

static enum interleave_step step(const void *with, void *state, unsigned thread)
{
    enum kind kind = *(const enum kind *)with;
    struct small *small = state;
    if (kind == LOCKS)
        return step_locks(small, thread);
    if (kind == SPIN) {
        small->spins ^= 1;
        return INTERLEAVE_WENT;
    }
    unsigned steps = kind == INDEPENDENT ? 15 : kind == SPLIT_ADD ? 2 : 1;
    if (small->at[thread] == steps)
        return INTERLEAVE_ENDED;
    if (kind == SPLIT_ADD && small->at[thread] == 0)
        small->read[thread] = small->count;
    else if (kind == SPLIT_ADD)
        small->count = small->read[thread] + 1;
    else if (kind == ADD)
        small->count++;
    small->at[thread]++;
    return INTERLEAVE_WENT;
}

static const char *wrong(const void *with, const void *state, bool all_ended)
{
    enum kind kind = *(const enum kind *)with;
    bool adds = kind == ADD || kind == SPLIT_ADD;
    return all_ended && adds && ((const struct small *)state)->count != 2 ? "an addition is lost" : NULL;
}

static struct interleave_found explore(enum kind kind, unsigned threads)
{
    struct interleave_model model = {"small", &kind, threads, sizeof(struct small), begin, step, wrong};
    struct interleave_found found = interleave_explore(&model);
    free(found.schedule);
    return found;
}

Test(interleave, visits_every_state_once)
{
    cr_expect_eq(explore(INDEPENDENT, 1).states, 16);
    cr_expect_eq(explore(INDEPENDENT, 3).states, 16 * 16 * 16);
    cr_expect_eq(explore(INDEPENDENT, 4).states, 16 * 16 * 16 * 16);
    cr_expect_null(explore(INDEPENDENT, 4).what);
}

Test(interleave, finds_a_lost_addition_by_a_shortest_schedule)
{
    struct interleave_found found = explore(SPLIT_ADD, 2);
    cr_expect_str_eq(found.what, "an addition is lost");
    cr_expect_eq(found.steps, 4);
    cr_expect_null(explore(ADD, 2).what);
}

Test(interleave, finds_threads_that_wait_for_each_other)
{
    struct interleave_found found = explore(LOCKS, 2);
    cr_expect_str_eq(found.what, "no thread can go on");
    cr_expect_eq(found.steps, 2);
}

Test(interleave, finds_a_loop_that_nothing_leaves)
{
    struct interleave_found found = explore(SPIN, 1);
    cr_expect_str_eq(found.what, "no way leads to the end");
    cr_expect_eq(found.states, 2);
}
