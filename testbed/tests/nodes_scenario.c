// SPDX-License-Identifier: Apache-2.0
//
// nodes_scenario: one contender on all nodes of this machine, counted, for people and for other witnesses.
//
//   nodes_scenario CONTENDER WORKLOAD [DISPATCH [LAPS]]
//
// Runs it in this process (so a malloc is this process's), with nothing but counted laps and one timed one, and prints
//
//   "valid" or "INVALID reason", "touches FROM TO COUNT", "frees FROM TO COUNT" for pairs of nodes above 0, "abroad COUNT",
//   "wandered COUNT of COUNT", "home NODE ALLOCATED FREED PUSHED DRAINED", "drift PERCENT..."
//
// Without arguments it checks what must hold on any machine, and what must hold on several nodes where there are several:
// home-steered touches are all local, cross-node ones all remote, and blocks of the unsteered control wander.
//
// Exit status: 0; 1 something does not hold, or the run is invalid; 2 bad use.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/nodes/engine.h"

static int run(const char *name, const char *workload, enum tb_dispatch dispatch, uint32_t laps, struct tb_job *job)
{
    struct tb_schedule *schedule = NULL;
    struct tb_arm arm;
    char why[4500] = "";
    int error = tb_arm_parse(name, &arm, why, sizeof why);
    if (!error)
        error = tb_schedule_suite(workload, &schedule);
    *job = (struct tb_job){.touch = TB_TOUCH_LINE,
                           .dispatch = dispatch,
                           .workers = 1,
                           .laps = 1,
                           .laps_counted = laps,
                           .block_bytes = 4096,
                           .many_nodes = true};
    if (!error) {
        job->fault = arm.fault;
        job->cross_percent = arm.cross_percent;
        error = tb_nodes_engine_run(job, arm.contender, schedule);
    }
    if (error)
        fprintf(stderr, "nodes_scenario: %s on %s: %s %s\n", name, workload, strerror(-error), why);
    free(schedule);
    return error;
}

static uint64_t sum(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts, bool remote)
{
    uint64_t total = 0;
    for (uint32_t from = 0; from < nodes->count; from++)
        for (uint32_t to = 0; to < nodes->count; to++)
            total += (from != to) == remote ? counts->pair[from][to] : 0;
    return total;
}

static void print_pairs(const char *what, const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    for (uint32_t from = 0; from < nodes->count; from++)
        for (uint32_t to = 0; to < nodes->count; to++)
            if (counts->pair[from][to])
                printf("%s %d %d %" PRIu64 "\n", what, nodes->node[from].os, nodes->node[to].os, counts->pair[from][to]);
}

static void print(const struct tb_sample *sample)
{
    const struct tb_nodes_sample *nodes = &sample->nodes;
    uint64_t wandered = sum(nodes, &nodes->allocations, true);
    printf(sample->valid ? "valid\n" : "INVALID %s\n", sample->invalid);
    print_pairs("touches", nodes, &nodes->touches);
    print_pairs("frees", nodes, &nodes->frees);
    printf("abroad %" PRIu64 "\n", nodes->frees_abroad);
    printf("wandered %" PRIu64 " of %" PRIu64 "\n", wandered, wandered + sum(nodes, &nodes->allocations, false));
    for (uint32_t n = 0; n < nodes->count; n++)
        if (nodes->node[n].station)
            printf("home %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", nodes->node[n].os, nodes->node[n].allocated,
                   nodes->node[n].freed, nodes->node[n].pushed, nodes->node[n].drained);
    printf("drift");
    for (uint32_t p = 0; p < nodes->points_count; p++)
        printf(" %.1f",
               nodes->points[p].allocated ? 100.0 * (double)nodes->points[p].wandered / (double)nodes->points[p].allocated : 0);
    printf("\n");
}

// --- what must hold ------------------------------------------------------------------------------------------------------------

static int holds(bool claim, const char *name, const char *what, const struct tb_sample *sample)
{
    if (claim)
        return 0;
    printf("%s: %s does not hold\n", name, what);
    print(sample);
    return 1;
}

enum expect { ALL_LOCAL = 1, ALL_REMOTE = 2, SOME_REMOTE = 4, NONE_ABROAD = 8, SOME_ABROAD = 16, IS_INVALID = 32 };

static const struct {
    const char *name;
    enum expect one_node, many; // on a machine of one node, and on several
} expectations[] = {
    {"home-steered", ALL_LOCAL | NONE_ABROAD, ALL_LOCAL | NONE_ABROAD},
    {"home-steered%50", ALL_LOCAL | NONE_ABROAD, ALL_LOCAL | NONE_ABROAD},
    {"home-steered%100", ALL_LOCAL | NONE_ABROAD, ALL_LOCAL | NONE_ABROAD},
    {"home-borrow%50", ALL_LOCAL | NONE_ABROAD, SOME_REMOTE | NONE_ABROAD},
    {"cross-node", ALL_LOCAL, ALL_REMOTE},
    {"cross-node%50", ALL_LOCAL, ALL_REMOTE},
    {"one-node", ALL_LOCAL, SOME_REMOTE},
    {"first-touch%50", ALL_LOCAL, ALL_LOCAL},
    {"unsteered", ALL_LOCAL | NONE_ABROAD, ALL_LOCAL | NONE_ABROAD},
    {"unsteered%50", ALL_LOCAL | NONE_ABROAD, SOME_REMOTE | SOME_ABROAD},
    {"glibc%50", ALL_LOCAL, 0},
    {"home-steered@misplace", ALL_LOCAL, ALL_REMOTE | IS_INVALID},
    {"home-steered%50@drop-chunk", IS_INVALID, IS_INVALID},
    {"home-steered@double-free", IS_INVALID, IS_INVALID},
    {"home-steered@skip-touch", IS_INVALID, IS_INVALID},
};

static int check(const char *name, enum expect expect, const struct tb_sample *sample)
{
    const struct tb_nodes_sample *nodes = &sample->nodes;
    uint64_t local = sum(nodes, &nodes->touches, false), remote = sum(nodes, &nodes->touches, true);
    int bad = holds(sample->valid == !(expect & IS_INVALID), name, "validity", sample);
    if (expect & ALL_LOCAL)
        bad |= holds(local > 0 && remote == 0, name, "all touches local", sample);
    if (expect & ALL_REMOTE)
        bad |= holds(remote > 0 && local == 0, name, "all touches remote", sample);
    if (expect & SOME_REMOTE)
        bad |= holds(remote > 0, name, "some touches remote", sample);
    if (expect & NONE_ABROAD)
        bad |= holds(nodes->frees_abroad == 0, name, "no block kept abroad", sample);
    if (expect & SOME_ABROAD)
        bad |= holds(nodes->frees_abroad > 0, name, "some blocks kept abroad", sample);
    return bad;
}

static int check_all(struct tb_job *job)
{
    int bad = 0;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch += 2) {
            if (run(expectations[i].name, "steady-decode", (enum tb_dispatch)dispatch, 2, job))
                return 1;
            uint32_t stations = 0;
            for (uint32_t n = 0; n < job->sample.nodes.count; n++)
                stations += job->sample.nodes.node[n].station;
            bad |= check(expectations[i].name, stations > 1 ? expectations[i].many : expectations[i].one_node, &job->sample);
        }
    return bad;
}

int main(int argc, char **argv)
{
    struct tb_job *job = calloc(1, sizeof *job);
    if (!job)
        return 1;
    int dispatch = TB_DISPATCH_INLINE, status = 2;
    while (argc > 3 && dispatch <= TB_DISPATCH_FUTEX && strcmp(argv[3], tb_dispatch_name((enum tb_dispatch)dispatch)))
        dispatch++;
    if (argc == 1)
        status = check_all(job);
    else if (argc < 3 || argc > 5 || dispatch > TB_DISPATCH_FUTEX)
        fprintf(stderr, "usage: nodes_scenario [CONTENDER WORKLOAD [inline|spin|futex [LAPS]]]\n");
    else {
        status = run(argv[1], argv[2], (enum tb_dispatch)dispatch, argc > 4 ? (uint32_t)atoi(argv[4]) : 2, job) ? 1 : 0;
        if (status == 0)
            print(&job->sample);
        status |= !job->sample.valid;
    }
    free(job);
    return status;
}
