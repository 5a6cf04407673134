// SPDX-License-Identifier: Apache-2.0
//
// decode_lines: cells of touch `decode` from a postulate's words to a log's header, and read back from it. And where an arm's
// library lay, which no header says.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/json.h"
#include "testbed/judge/loaded.h"
#include "testbed/run/plan.h"
#include "testbed/run/room/room.h"
#include "testbed/run/run_lines.h"

static struct tb_postulate postulate = {.id = "9102",
                                        .dispatch = "inline",
                                        .workers = 1,
                                        .rounds = 2,
                                        .laps = 8,
                                        .block_bytes = 4096,
                                        .arms_count = 1,
                                        .cells_count = 4};

static struct tb_plan *plan_open(int expected, char *why, size_t why_bytes)
{
    struct tb_plan *plan = NULL;
    strcpy(postulate.arms[0].key, "A");
    strcpy(postulate.arms[0].name, postulate.laps_counted ? "home-steered" : "locus");
    why[0] = '\0';
    cr_assert_eq(tb_plan_open(&plan, &postulate, &(struct tb_plan_options){.seed = 1}, why, why_bytes), expected, "%s", why);
    return plan;
}

static void expect_same(const struct tb_cell *found, const struct tb_cell *planned)
{
    const struct tb_schedule *read = found->schedule, *made = planned->schedule;
    cr_expect_eq(found->touch, planned->touch);
    cr_expect_str_eq(found->name, planned->name);
    cr_expect_str_eq(found->workload, planned->workload);
    cr_expect_arr_eq(&found->decode, &planned->decode, sizeof found->decode, "%s", planned->name);
    cr_expect_eq(read->block_tokens, made->block_tokens);
    cr_expect_eq(read->blocks_per_group, made->blocks_per_group);
    cr_expect_eq(read->tokens_peak, made->tokens_peak);
    cr_expect_eq(read->tokens_live_peak, made->tokens_live_peak);
    cr_expect_eq(read->tokens_per_lap, made->tokens_per_lap);
    cr_expect_eq(read->steps_per_lap, made->steps_per_lap);
    cr_expect_eq(read->attended_per_lap, made->attended_per_lap);
    cr_expect_eq(read->pool_blocks, made->pool_blocks);
}

// What counted, for how long, and why others did not.
static void expect_counters(const struct tb_rounds *rounds, const struct tb_cell *planned)
{
    cr_assert_not_null(rounds->counters);
    cr_expect_eq(rounds->counters->count, 2);
    cr_expect_str_eq(rounds->counters->counter[0].name, "cycles");
    cr_expect_str_eq(rounds->counters->counter[0].why, "not supported: no PMU");
    cr_expect_str_empty(rounds->counters->counter[1].why);
    cr_expect(rounds->counters->counter[1].attr.exclude_kernel && !rounds->counters->counter[0].attr.exclude_kernel);
    cr_expect_eq(rounds->cells[0].laps_metered, planned->laps_metered);
    const struct tb_counter_value *values = tb_rounds_sample(rounds, 0, 0, 0)->counters;
    cr_expect_neq(values[0].error, 0, "it had no turn");
    cr_expect(values[1].value == 77 && values[1].enabled_ns == 1000 && values[1].running_ns == 900 && !values[1].error);
    cr_expect_neq(tb_rounds_sample(rounds, 1, 0, 0)->counters[1].error, 0, "it failed");
}

Test(decode_lines, a_header_does_not_say_where_the_clone_lay)
{
    char why[4500], folder[3000];
    postulate.cells_count = 1;
    strcpy(postulate.cells[0], "churn-touch/full");
    struct tb_plan *plan = plan_open(0, why, sizeof why);
    struct tb_line_head head = {.run = "r", .nonce = "n", .kind = "trial", .time = "t"};
    cr_assert_not_null(getcwd(folder, sizeof folder));
    snprintf(plan->arms[0].library, sizeof plan->arms[0].library, "%s/build/peers/x.so", folder);
    json_t *header = tb_line_header(&head, &plan->rounds);
    const json_t *arm = json_array_get(json_object_get(header, "arms"), 0);
    cr_expect_str_eq(tb_member_text(arm, "library"), "build/peers/x.so");
    json_decref(header);
    tb_plan_close(plan);
}

Test(decode_lines, a_header_says_what_is_decoded)
{
    char why[4500];
    struct tb_loaded loaded;
    strcpy(postulate.cells[0], "batch-2x64/decode");
    strcpy(postulate.cells[1], "batch-2x64/decode/GPT-2/128t/columns/f16/2c/4w");
    strcpy(postulate.cells[2], "batch-2x64/decode/contiguous");
    strcpy(postulate.cells[3], "batch-2x64/full");
    struct tb_plan *plan = plan_open(0, why, sizeof why);
    struct tb_line_head head = {.run = "r", .nonce = "n", .kind = "trial", .time = "t"};
    struct tb_counter_set set = {.count = 2,
                                 .counter = {{.name = "cycles", .why = "not supported: no PMU"}, {.name = "page_faults"}}};
    set.counter[1].attr.exclude_kernel = 1;
    plan->rounds.counters = &set;
    plan->rounds.count = 1;
    for (uint32_t i = 0; i < 4; i++)
        tb_rounds_sample(&plan->rounds, i, 0, 0)->counters[0].error = ENODATA;
    tb_rounds_sample(&plan->rounds, 0, 0, 0)->counters[1] = (struct tb_counter_value){77, 1000, 900, 0};
    tb_rounds_sample(&plan->rounds, 1, 0, 0)->counters[1].error = EBUSY;
    json_t *header = tb_line_header(&head, &plan->rounds);
    struct tb_log_sample lines[4];
    for (uint32_t i = 0; i < 4; i++)
        lines[i] = (struct tb_log_sample){.line = tb_line_sample(&plan->rounds, 0, i, 0, 0, 0)};
    struct tb_log_view view = {.header = header, .samples = lines, .samples_count = 4};

    cr_assert_not_null(header);
    cr_assert_eq(tb_loaded(&view, &loaded, why, sizeof why), 0, "%s", why);
    for (uint32_t i = 0; i < 4; i++)
        expect_same(&loaded.rounds.cells[i], &plan->cells[i]);
    const json_t *plain = json_array_get(json_object_get(header, "cells"), 3);
    cr_expect(json_is_null(json_object_get(plain, "decode")));
    cr_expect_eq(plan->cells[0].schedule->blocks_per_group, 16);
    cr_expect_eq(tb_rounds_block_bytes(&loaded.rounds, 0), 16 * 2048);
    cr_expect_eq(tb_rounds_workers(&loaded.rounds, 1, 0), 4);
    cr_expect_eq(plan->cells[0].pool_blocks, 0, "the schedule's");
    cr_expect_eq(plan->cells[0].laps_warmup, 1);
    cr_expect_eq(plan->cells[3].schedule->block_tokens, 0, "a plain cell of the same workload has its own");
    expect_counters(&loaded.rounds, &plan->cells[0]);
    tb_loaded_close(&loaded);
    for (uint32_t i = 0; i < 4; i++)
        json_decref(lines[i].line);
    json_decref(header);
    tb_plan_close(plan);
}

Test(decode_lines, a_cell_that_cannot_be_is_named)
{
    char why[4500];
    postulate.cells_count = 1;
    strcpy(postulate.cells[0], "batch-64x131072/decode/80x64x8x128"); // terabytes
    struct tb_plan *plan = plan_open(0, why, sizeof why);
    cr_expect_eq(tb_room(&plan->rounds, why, sizeof why), -E2BIG);
    cr_expect(strstr(why, postulate.cells[0]) && strstr(why, "TiB"), "%s", why);
    tb_plan_close(plan);
    strcpy(postulate.cells[0], "churn-touch/decode");
    cr_expect_null(plan_open(-EINVAL, why, sizeof why));
    cr_expect(strstr(why, postulate.cells[0]), "%s", why);
    strcpy(postulate.cells[0], "batch-2x64/decode/100t");
    cr_expect_null(plan_open(-EINVAL, why, sizeof why));
    cr_expect(strstr(why, "'100t'"), "%s", why);
}

// Where each node runs the schedule, too, although not with workers of its own.
Test(decode_lines, many_nodes_may_decode)
{
    char why[4500];
    postulate.cells_count = 1;
    postulate.laps_counted = 2;
    strcpy(postulate.cells[0], "batch-2x64/decode");
    struct tb_plan *plan = plan_open(0, why, sizeof why);
    cr_expect_eq(plan->cells[0].schedule->steps_per_lap, 64);
    tb_plan_close(plan);
    strcpy(postulate.cells[0], "batch-2x64/decode/4w");
    cr_expect_null(plan_open(-EINVAL, why, sizeof why));
    strcpy(postulate.cells[0], "batch-2x64/decode/2c"); // a scheduler computes alone
    cr_expect_null(plan_open(-EINVAL, why, sizeof why));
}
