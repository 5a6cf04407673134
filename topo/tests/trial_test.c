// SPDX-License-Identifier: Apache-2.0
//
// trial: whatever goes wrong in the child, the parent survives, stays silent and gets the right result.
#include "topo/trial.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int changed;

static bool succeed(void *argument)
{
    changed = 1;
    return argument != NULL;
}

static bool crash(void *argument)
{
    raise(*(const int *)argument);
    return true;
}

static bool complain(void *argument)
{
    for (int i = 0; i < *(const int *)argument; i++)
        fputs("yes, but this file is odd\n", stderr);
    return true;
}

static bool passes(bool (*attempt)(void *), void *argument)
{
    bool passed = true;
    cr_assert_eq(topo_trial(attempt, argument, &passed), 0);
    return passed;
}

Test(trial, hears_the_verdict_and_nothing_else)
{
    cr_assert(passes(succeed, &changed));
    cr_assert_not(passes(succeed, NULL));
    cr_assert_eq(changed, 0, "what the child does stays in the child");
}

Test(trial, survives_every_way_to_die)
{
    static int deadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGXCPU, SIGKILL};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        cr_assert_not(passes(crash, &deadly[i]), "signal %d", deadly[i]);
}

Test(trial, fails_what_complains)
{
    int lines = 1;
    cr_assert_not(passes(complain, &lines));
    lines = 100000; // far more than a pipe holds
    cr_assert_not(passes(complain, &lines));
}

Test(trial, works_where_children_are_reaped_by_others)
{
    signal(SIGCHLD, SIG_IGN);
    cr_assert(passes(succeed, &changed));
    cr_assert_not(passes(succeed, NULL));
}

Test(trial, leaves_no_child_behind)
{
    cr_assert(passes(succeed, &changed));
    cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
}
