// SPDX-License-Identifier: Apache-2.0
//
// record_nodes_scenario: a postulate of one arm, one cell and one need that never was: planned, and run.
//
//   record_nodes_scenario many|one ARM CELL NEED [smoke | run]
//
// P1 claims that no touch is remote, P2 that a lap takes less than an hour. Prints "refused WHY" (the plan); "unmet VERDICT: WHY"
// and the log below build/logs, where the host does not meet the need: then no sample is taken; otherwise "met" and the header that
// a log would have, or, with `run`, "ran VERDICT: WHY" and the log, after two rounds.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/run/needs.h"
#include "testbed/run/run.h"
#include "testbed/run/run_lines.h"

static int print_header(const struct tb_run_config *config)
{
    const struct tb_line_head head = {
        .run = "9101-20261121T101500Z-a1b2c3",
        .nonce = "00",
        .time = "2026-11-21T10:15:00Z",
        .kind = tb_run_kind_name(config->kind),
        .postulate = tb_line_postulate(config->plan->postulate, config->commit),
        .experiment = tb_line_experiment(config->plan->postulate),
        .block_rounds = config->plan->block_rounds,
    };
    json_t *header = tb_line_header(&head, &config->plan->rounds);
    printf("met ");
    int failed = !header || json_dumpf(header, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(header);
    return failed;
}

static int run(struct tb_plan *plan, enum tb_run_kind kind, bool wanted)
{
    const struct tb_run_config config = {.plan = plan, .kind = kind, .root = "build/logs", .host = "scenario", .quiet = true};
    const struct tb_needing wants = {.arms = plan->arms,
                                     .arms_count = plan->rounds.arms_count,
                                     .workers = plan->rounds.workers,
                                     .many_nodes = plan->rounds.many_nodes,
                                     .cells = plan->postulate->cells,
                                     .cells_count = plan->postulate->cells_count};
    struct tb_run_result result;
    char found[TB_FOUND_BYTES], why[400];
    int met = tb_need_met(plan->postulate->needs[0], &wants, found, sizeof found);
    if (met > 0 && !wanted)
        return print_header(&config);
    int error = met < 0 ? met : tb_run(&config, &result, why, sizeof why);
    if (error)
        return fprintf(stderr, "%s\n", met < 0 ? "the host does not tell" : why), 1;
    const char *reason = json_string_value(json_object_get(result.summary, "why"));
    printf("%s %s: %s\nlog %s\n", met ? "ran" : "unmet", tb_verdict_name(result.verdict), reason ? reason : "", result.log);
    json_decref(result.summary);
    return 0;
}

// Of one cell, twice where it is only planned.
static struct tb_postulate *postulate_of(bool many, const char *arm, const char *cell, const char *need, uint32_t cells)
{
    static struct tb_postulate out = {.path = "postulates/9101-scenario.md",
                                      .id = "9101",
                                      .slug = "scenario",
                                      .question = "Is it planned as it should be?",
                                      .dispatch = "inline",
                                      .workers = 1,
                                      .rounds = 2,
                                      .laps = 8,
                                      .block_bytes = 4096};
    static const struct tb_prediction claims[] = {
        {.id = "P1",
         .metric = "remote_touch_ratio",
         .cell = "*",
         .stat = TB_STAT_MAX,
         .arm = "A",
         .op = TB_CLAIM_EQ,
         .unit = "ratio"},
        {.id = "P2",
         .metric = "time_ns",
         .cell = "*",
         .stat = TB_STAT_MAX,
         .arm = "A",
         .op = TB_CLAIM_LT,
         .low = 36e11,
         .unit = "ns"},
    };
    memset(out.sha256, '0', sizeof out.sha256 - 1);
    memcpy(out.predictions, claims, sizeof claims);
    snprintf(out.arms[0].key, sizeof out.arms[0].key, "A");
    snprintf(out.arms[0].name, sizeof out.arms[0].name, "%s", arm);
    for (uint32_t i = 0; i < cells; i++)
        snprintf(out.cells[i], sizeof out.cells[i], "%s", cell);
    snprintf(out.needs[0], sizeof out.needs[0], "%s", need);
    out.laps_counted = many ? 5 : 0;
    out.arms_count = out.needs_count = 1;
    out.cells_count = cells;
    out.predictions_count = 2;
    return &out;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return fprintf(stderr, "usage: record_nodes_scenario many|one ARM CELL NEED [smoke | run]\n"), 2;
    bool smoke = argc > 5 && strcmp(argv[5], "smoke") == 0, wanted = argc > 5 && strcmp(argv[5], "run") == 0;
    struct tb_postulate *postulate = postulate_of(strcmp(argv[1], "many") == 0, argv[2], argv[3], argv[4], wanted ? 1 : 2);
    const struct tb_plan_options options = {.smoke = smoke};
    struct tb_plan *plan = NULL;
    char why[4500];
    if (tb_plan_open(&plan, postulate, &options, why, sizeof why))
        return printf("refused %s\n", why), 0;
    int status = run(plan, smoke ? TB_RUN_SMOKE : TB_RUN_TRIAL, wanted);
    tb_plan_close(plan);
    return status;
}
