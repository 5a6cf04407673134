// SPDX-License-Identifier: Apache-2.0
//
// attempt: what all kinds of samples share. See attempt.h.
#include "testbed/matrix/attempt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/matrix/kernels/gang.h"
#include "testbed/matrix/places.h"

void tb_attempt_fail(struct tb_attempt *attempt, enum tb_matrix_state state, const char *format, ...)
{
    va_list words;
    if (attempt->state != TB_MATRIX_PLANNED)
        return;
    attempt->state = state;
    va_start(words, format);
    vsnprintf(attempt->why, sizeof attempt->why, format, words);
    va_end(words);
}

bool tb_attempt_span(struct tb_attempt *attempt, unsigned which, enum tb_span_use use, int memory, uint64_t bytes)
{
    char why[TB_MATRIX_WHY] = "";
    if (attempt->state != TB_MATRIX_PLANNED)
        return false;
    int result = tb_spans_take(attempt->spans, use, memory, bytes, &attempt->span[which], why, sizeof why);
    if (result) {
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "%s", why);
        return false;
    }
    attempt->region[attempt->regions_count++] = attempt->span[which]->region;
    return true;
}

bool tb_attempt_cpus(struct tb_attempt *attempt, int node, unsigned count)
{
    if (attempt->state != TB_MATRIX_PLANNED)
        return false;
    int *cpus = realloc(attempt->cpus, (attempt->cpus_count + count) * sizeof *cpus);
    if (!cpus) {
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "out of memory");
        return false;
    }
    attempt->cpus = cpus;
    unsigned found = tb_places_cpus(attempt->topo, node, cpus + attempt->cpus_count, count);
    attempt->cpus_count += found;
    if (found < count)
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "node %d has %u CPUs that this process may use, and %u are needed", node,
                        found, count);
    return found == count;
}

bool tb_attempt_gang(struct tb_attempt *attempt, struct tb_gang_job *job)
{
    int culprit;
    job->cpus = attempt->cpus;
    job->count = attempt->cpus_count;
    int result = tb_gang_run(job, &attempt->time_ns, &culprit);
    if (!result)
        return true;
    if (culprit >= 0)
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "no thread can run on CPU %d: %s", culprit,
                        result == -ENODEV  ? "it is offline now"
                        : result == -EPERM ? "this process may not use it"
                                           : strerror(-result));
    else
        tb_attempt_fail(attempt, TB_MATRIX_UNMEASURABLE, "%u threads cannot be started: %s", job->count, strerror(-result));
    return false;
}
