// SPDX-License-Identifier: Apache-2.0
//
// run: what the header of a run says of those before it. The host lacks what the postulate needs, so no sample is taken.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/record/log.h"
#include "testbed/run/run.h"

#define FIRST "9101-20261121T101500Z-a1b2c3"

static char folder[] = "/tmp/run_XXXXXX";
static struct tb_postulate postulate = {.path = "postulates/9101-first.md",
                                        .id = "9101",
                                        .slug = "first",
                                        .question = "Was it run before?",
                                        .dispatch = "inline",
                                        .workers = 1,
                                        .rounds = 2,
                                        .laps = 8,
                                        .block_bytes = 4096,
                                        .arms_count = 1,
                                        .cells_count = 1,
                                        .needs_count = 1};

static void folder_make(void)
{
    cr_assert(mkdtemp(folder));
    memset(postulate.sha256, '0', sizeof postulate.sha256 - 1);
    strcpy(postulate.arms[0].key, "A");
    strcpy(postulate.arms[0].name, "locus");
    strcpy(postulate.cells[0], "steady-decode/full");
    strcpy(postulate.needs[0], "numa_nodes >= 1000");
}

static void folder_remove(void)
{
    cr_assert_eq(tb_child_remove(folder), 0);
}

TestSuite(run, .init = folder_make, .fini = folder_remove);

static void ledger_add(json_t *entry)
{
    struct tb_ledger *ledger;
    char why[400];
    cr_assert_eq(tb_ledger_open(&ledger, folder, "host", true, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_ledger_append(ledger, entry), 0);
    tb_ledger_close(ledger);
    json_decref(entry);
}

// The header of a run that is made now.
static json_t *header_of(enum tb_run_kind kind)
{
    struct tb_run_config config = {.kind = kind, .root = folder, .host = "host", .quiet = true};
    struct tb_run_result result;
    struct tb_log_view view;
    char why[4500];
    cr_assert_eq(tb_plan_open(&config.plan, &postulate, &(struct tb_plan_options){.seed = 1}, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_run(&config, &result, why, sizeof why), 0, "%s", why);
    cr_expect_eq(result.verdict, TB_VERDICT_UNMEASURABLE);
    cr_assert_eq(tb_log_load(result.log, &view, why, sizeof why), 0, "%s", why);
    json_t *header = json_deep_copy(view.header);
    tb_log_view_close(&view);
    json_decref(result.summary);
    tb_plan_close(config.plan);
    return header;
}

static void says(enum tb_run_kind kind, const char *first)
{
    json_t *header = header_of(kind);
    const json_t *runs = json_object_get(header, "replicates");
    cr_expect_eq(json_array_size(runs), first ? 1 : 0);
    cr_expect_eq(runs == NULL, first == NULL);
    if (first)
        cr_expect_str_eq(json_string_value(json_array_get(runs, 0)), first);
    json_decref(header);
}

Test(run, an_official_one_says_what_it_replicates)
{
    says(TB_RUN_OFFICIAL, NULL);
    ledger_add(json_pack("{s:s, s:s, s:s, s:s}", "t", "open", "run", FIRST, "kind", "official", "postulate_id", "9101"));
    says(TB_RUN_OFFICIAL, NULL);
    ledger_add(json_pack("{s:s, s:s, s:s, s:s}", "t", "close", "run", FIRST, "status", "complete", "verdict", "falsified"));
    says(TB_RUN_OFFICIAL, FIRST);
    says(TB_RUN_TRIAL, NULL);
    says(TB_RUN_OFFICIAL, FIRST);
}
