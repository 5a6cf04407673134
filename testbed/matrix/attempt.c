// SPDX-License-Identifier: Apache-2.0
//
// attempt: what all kinds of samples share. Which CPUs a node has is said by the topology; which come first, by the rank of each in
// its core: threads on two hardware threads of one core share what they are to load.
#include "testbed/matrix/attempt.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/loops/gang.h"

// --- places --------------------------------------------------------------------------------------------------------------------

bool tb_places_live(const struct locus_topo *topo)
{
    return locus_topo_info(topo)->source == LOCUS_TOPO_THIS_MACHINE;
}

unsigned tb_places_cpus_count(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    return tb_places_live(topo) ? node->cpus_allowed_count : node->cpus_count;
}

bool tb_places_has_memory(const struct locus_topo_node *node)
{
    return locus_topo_node_by_default(node);
}

// The first `max` CPUs of a node into cpus[], one of each core first, the siblings of cores that are taken later. Returns how many.
// Ranks are few, so a walk for each is cheap. A CPU of unknown rank counts as the first of its core.
static unsigned places_cpus(const struct locus_topo *topo, int node, int cpus[], unsigned max)
{
    const struct locus_topo_node *place = locus_topo_node(topo, node);
    unsigned count = 0, smt_max = locus_topo_info(topo)->smt_max;
    if (!place)
        return 0;
    for (int rank = 0; rank < (int)(smt_max > 0 ? smt_max : 1); rank++)
        for (unsigned i = 0; i < place->cpus_count && count < max; i++) {
            const struct locus_topo_cpu *cpu = locus_topo_cpu(topo, place->cpus[i]);
            bool turn = cpu && (cpu->smt_rank > 0 ? cpu->smt_rank : 0) == rank;
            if (turn && (cpu->allowed || !tb_places_live(topo)))
                cpus[count++] = (int)cpu->os_index;
        }
    return count;
}

// The node with CPUs, or with memory, that is nearest to `node`.
static int nearest(const struct locus_topo *topo, int node, bool cpus)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned least = UINT_MAX;
    int found = -1;
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count; i++) {
        unsigned distance = locus_topo_distance(topo, node, nodes[i].os_index);
        if (!(cpus ? tb_places_cpus_count(topo, &nodes[i]) > 0 : tb_places_has_memory(&nodes[i])))
            continue;
        if (nodes[i].os_index == node)
            return node;
        if (found >= 0 && distance >= least)
            continue;
        found = nodes[i].os_index;
        least = distance;
    }
    return found;
}

int tb_places_nearest_cpus(const struct locus_topo *topo, int node)
{
    return nearest(topo, node, true);
}

int tb_places_nearest_memory(const struct locus_topo *topo, int node)
{
    return nearest(topo, node, false);
}

// --- attempts ------------------------------------------------------------------------------------------------------------------

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
    unsigned found = places_cpus(attempt->topo, node, cpus + attempt->cpus_count, count);
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
