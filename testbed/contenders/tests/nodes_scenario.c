// SPDX-License-Identifier: Apache-2.0
//
// nodes_scenario: one contender on all nodes of this machine, counted, for people and for other witnesses.
//
//   nodes_scenario CONTENDER WORKLOAD [DISPATCH [COUNTED [TIMED [WORKERS]]]]
//
// Runs it in this process (so a malloc is this process's), with so many counted laps (2) and timed ones (1), and so many workers on
// each node (1), and prints
//
//   "valid" or "INVALID reason", "touches FROM TO COUNT", "frees FROM TO COUNT" for pairs of nodes above 0, "abroad COUNT",
//   "wandered COUNT of COUNT", "home NODE ALLOCATED FREED PUSHED DRAINED", "drift PERCENT..."
//
// Without arguments it checks what must hold on any machine, and what must hold on several nodes where there are several:
// home-steered touches are all local, cross-node ones all remote, and blocks of the unsteered control wander; a fault is caught by
// its own gate. Its last line is "COUNT checked, COUNT too large for this machine".
//
// Exit status: 0; 1 something does not hold, or the run is invalid; 2 bad use.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/nodes/engine.h"
#include "testbed/workload/workload.h"

struct numbers {
    uint32_t counted, timed, workers; // laps, laps, on each node
    uint32_t pools;             // in peaks of the workload; 0: what it says itself
};

static int run(const char *name, const char *workload, enum tb_dispatch dispatch, struct numbers numbers, struct tb_job *job)
{
    struct tb_schedule *schedule = NULL;
    struct tb_arm arm;
    char why[4500] = "";
    int error = tb_arm_parse(name, &arm, why, sizeof why);
    if (!error)
        error = tb_workload_schedule(workload, &schedule);
    *job = (struct tb_job){.touch = TB_TOUCH_LINE,
                           .dispatch = dispatch,
                           .workers = numbers.workers,
                           .laps = numbers.timed,
                           .laps_counted = numbers.counted,
                           .block_bytes = 4096,
                           .many_nodes = true};
    if (!error) {
        if (numbers.pools)
            schedule->pool_blocks = numbers.pools * schedule->blocks_peak;
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

enum expect {
    ALL_LOCAL = 1,
    ALL_REMOTE = 2,
    SOME_REMOTE = 4,
    NONE_ABROAD = 8,
    SOME_ABROAD = 16,
    STEERED = ALL_LOCAL | NONE_ABROAD
};

static const struct {
    const char *name, *workload;
    enum expect one_node, many; // on a machine of one node, and on several
    const char *invalid, *invalid_many; // words of the gate that fails, or NULL: it is valid
} expectations[] = {
    {"home-steered", "steady-decode", STEERED, STEERED, NULL, NULL},
    {"home-steered%50", "steady-decode", STEERED, STEERED, NULL, NULL},
    {"home-steered%100", "burst-storm", STEERED, STEERED, NULL, NULL},
    {"home-steered%50", "long-tail", STEERED, STEERED, NULL, NULL},
    {"home-steered%50", "churn-touch", STEERED, STEERED, NULL, NULL},
    {"home-borrow%50", "steady-decode", STEERED, SOME_REMOTE | NONE_ABROAD, NULL, NULL},
    {"cross-node", "steady-decode", ALL_LOCAL, ALL_REMOTE, NULL, NULL},
    {"cross-node%50", "churn-touch", ALL_LOCAL, ALL_REMOTE, NULL, NULL},
    {"one-node", "steady-decode", ALL_LOCAL, SOME_REMOTE, NULL, NULL},
    {"first-touch%50", "steady-decode", ALL_LOCAL, ALL_LOCAL, NULL, NULL},
    {"unsteered", "steady-decode", STEERED, STEERED, NULL, NULL},
    {"unsteered%50", "steady-decode", STEERED, SOME_REMOTE | SOME_ABROAD, NULL, NULL},
    {"unsteered%100", "long-tail", STEERED, SOME_REMOTE | SOME_ABROAD, NULL, NULL},
    {"glibc%50", "steady-decode", ALL_LOCAL, 0, NULL, NULL},
    {"home-steered@misplace", "steady-decode", ALL_LOCAL, ALL_REMOTE, NULL, "pool are elsewhere"},
    {"home-steered%50@drop-chunk", "steady-decode", 0, 0, "pushed", "pushed"},
    {"home-steered@double-free", "steady-decode", 0, 0, "frees were refused", "frees were refused"},
    {"home-steered@skip-touch", "steady-decode", 0, 0, "did not hold", "did not hold"},
    {"unsteered%50@double-free", "steady-decode", 0, 0, "not home", "not home"},
    {"unsteered@drop-chunk", "steady-decode", 0, 0, "pushed", "pushed"},
};

static int check(const char *name, enum expect expect, const char *invalid, const struct tb_sample *sample)
{
    const struct tb_nodes_sample *nodes = &sample->nodes;
    uint64_t local = sum(nodes, &nodes->touches, false), remote = sum(nodes, &nodes->touches, true);
    int bad = holds(sample->valid == !invalid, name, "validity", sample);
    if (invalid)
        bad |= holds(strstr(sample->invalid, invalid) != NULL, name, invalid, sample);
    if (expect & ALL_LOCAL)
        bad |= holds(local > 0 && remote == 0, name, "all touches local", sample);
    if (expect & ALL_REMOTE)
        bad |= holds(remote > 0 && local == 0, name, "all touches remote", sample);
    if (expect & SOME_REMOTE)
        bad |= holds(remote > 0, name, "some touches remote", sample);
    if (expect & NONE_ABROAD)
        bad |= holds(nodes->abroad_known && nodes->frees_abroad == 0, name, "no block kept abroad", sample);
    if (expect & SOME_ABROAD)
        bad |= holds(nodes->abroad_known && nodes->frees_abroad > 0, name, "some blocks kept abroad", sample);
    return bad;
}

static bool several_stations(const struct tb_nodes_sample *nodes)
{
    uint32_t stations = 0;
    for (uint32_t n = 0; n < nodes->count; n++)
        stations += nodes->node[n].station;
    return stations > 1;
}

// Inline, and with sleeping workers, one or two on a node. With pools of twice what is needed, for machines with little memory.
static int check_all(struct tb_job *job)
{
    int bad = 0;
    unsigned checked = 0, too_large = 0;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++)
        for (int dispatch = TB_DISPATCH_INLINE; dispatch <= TB_DISPATCH_FUTEX; dispatch += 2) {
            const char *name = expectations[i].name;
            struct numbers numbers = {.counted = 1, .timed = 1, .workers = 1 + i % 2, .pools = 2};
            int error = run(name, expectations[i].workload, (enum tb_dispatch)dispatch, numbers, job);
            too_large += error == -ENOMEM;
            if (error == -ENOMEM)
                continue;
            bool many = several_stations(&job->sample.nodes);
            bad |= error || check(name, many ? expectations[i].many : expectations[i].one_node,
                                  many ? expectations[i].invalid_many : expectations[i].invalid, &job->sample);
            checked++;
        }
    printf("%u checked, %u too large for this machine\n", checked, too_large);
    return bad;
}

static uint32_t number(int argc, char **argv, int at, uint32_t otherwise)
{
    return argc > at ? (uint32_t)strtoul(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct tb_job *job = calloc(1, sizeof *job);
    if (!job)
        return 1;
    int dispatch = TB_DISPATCH_INLINE, status = 2;
    while (argc > 3 && dispatch <= TB_DISPATCH_FUTEX && strcmp(argv[3], tb_dispatch_name((enum tb_dispatch)dispatch)))
        dispatch++;
    struct numbers numbers = {number(argc, argv, 4, 2), number(argc, argv, 5, 1), number(argc, argv, 6, 1), 0};
    if (argc == 1)
        status = check_all(job);
    else if (argc < 3 || argc > 7 || dispatch > TB_DISPATCH_FUTEX)
        fprintf(stderr, "usage: nodes_scenario [CONTENDER WORKLOAD [inline|spin|futex [COUNTED [TIMED [WORKERS]]]]]\n");
    else {
        status = run(argv[1], argv[2], (enum tb_dispatch)dispatch, numbers, job) ? 1 : 0;
        if (status == 0)
            print(&job->sample);
        status |= !job->sample.valid;
    }
    free(job);
    return status;
}
