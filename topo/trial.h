// SPDX-License-Identifier: Apache-2.0
//
// trial (private): a dress rehearsal in a child process, for code of others that may crash on damaged input.
#ifndef TOPO_TRIAL_H
#define TOPO_TRIAL_H

#include <stdbool.h>

// Runs attempt(argument) in a child that cannot print, dump core, or run for more than ten seconds of CPU time. Nothing that
// it does is seen here. *passed: it returned true and had nothing to say on stderr. 0, or -errno when there is no child to be had.
int topo_trial(bool (*attempt)(void *), void *argument, bool *passed);

#endif
