// SPDX-License-Identifier: Apache-2.0
//
// trial (private): tries foreign code that may crash on damaged input, in a child process.
#ifndef TOPO_TRIAL_H
#define TOPO_TRIAL_H

#include <stdbool.h>

// Runs attempt(argument) in a child that cannot print, dump core, or use more than ten seconds of CPU time. It has no effect on
// this process. *passed: it returned true and printed nothing to stderr. 0, or -errno: no child could be started.
int topo_trial(bool (*attempt)(void *), void *argument, bool *passed);

#endif
