// SPDX-License-Identifier: Apache-2.0
//
// tiers: what is said of tiers below a cache, from log lines that are known: 200 blocks of 8 tokens of 1,000 bytes.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>

#include "testbed/base/json.h"
#include "testbed/report/serve/keep.h"
#include "testbed/report/tests/doc_says.h"

#define FAR "{\"blocks\": 70, \"gbs\": 8, \"us\": 1, \"move_ns\": 2000}"
#define FILE_TIER "{\"blocks\": 900, \"gbs\": 1, \"us\": 8, \"move_ns\": 16000}"
#define CELL(far, file)                                                                                                            \
    "{\"name\": \"t/keep/30b\", \"workload\": \"t\", \"touch\": \"keep\", \"serving\": {\"requests\": 9, \"ids\": 200,"            \
    "\"id_tokens\": 8, \"blocks\": 30, \"tree\": false, \"tiers\": {\"far\": " far ", \"file\": " file ", \"alike\": false,"       \
    "\"shape\": \"S\", \"block_bytes\": 8000, \"token_ns\": 5000}}}"

static json_t *header, *lines[4];
static struct tb_log_sample samples[4];
static struct tb_log_view view;

static void cell_begin(const char *cell)
{
    header = json_pack("{s:[o], s:[]}", "cells", json_loads(cell, 0, NULL), "arms");
    cr_assert_not_null(header);
    view = (struct tb_log_view){.header = header, .samples = samples};
}

static void arm_add(const char *name, const char *role, const char *served)
{
    static const char *const keys[] = {"A", "B", "C", "D"};
    size_t at = view.samples_count++;
    json_array_append_new(json_object_get(header, "arms"),
                          json_pack("{s:s, s:s, s:s}", "key", keys[at], "name", name, "role", role));
    lines[at] = json_pack("{s:b, s:s, s:o}", "valid", 1, "invalid", "", "serving", json_loads(served, 0, NULL));
    cr_assert_not_null(lines[at]);
    samples[at] = (struct tb_log_sample){.cell = 0, .arm = keys[at], .line = lines[at]};
}

static void says(const char *words, bool expected)
{
    doc_says(tb_keep_doc(NULL, &view), words, expected);
}

#define SERVED(near, far, sunk, file, file_sunk)                                                                                   \
    "{\"hit_ratio\": 0.5, \"hits\": 100, \"near_hits\": " near ", \"near_hit_ratio\": 0.25, \"far_hits\": " far                    \
    ", \"far_hit_ratio\": 0.125, \"far_sunk\": " sunk ", \"file_hits\": " file                                                     \
    ", \"file_hit_ratio\": 0.125, \"file_sunk\": " file_sunk ", \"lost\": 0, \"far_even_ns\": 1000, \"file_even_ns\": 6000}"

Test(tiers, say_what_a_hit_takes_and_from_which_price_on_they_win)
{
    cell_begin(CELL(FAR, FILE_TIER));
    arm_add("more", "policy", SERVED("50", "25", "100", "25", "75"));
    arm_add("less", "policy", SERVED("50", "25", "75", "25", "50"));
    arm_add("seer", "harness", SERVED("90", "5", "1", "5", "1"));
    says("Use less: nobody finds more in all tiers together, and its moves take 0.757 times as long as more's.", true);
    says("With less the far tier finds 12.50 % of the blocks. With the moves of all that sinks there it loses where a token takes "
         "less than 1 us; here it takes 5 us.",
         true);
    says("far 70 8.00 1000 2000 40.0", true); // 2 us for 8 tokens
    says("file 900 1.00 8000 16000 40.0", true);
    says("takes less than ns far 250 file 2000", true);
    says("A block is 8 tokens of S, 8000 bytes. A token takes 5 us; that and all bandwidths are stated, not measured.", true);
    says("-- file wins", true);
    says("near, far and file", true);
}

// 100 blocks at 8 x 1 us = 800 us, of 1600; with the far tier 75 less and 2000 ns x 100 moves: 600 + 200.
Test(tiers, draw_what_prompts_take_at_another_price)
{
    cell_begin(CELL(FAR, "null"));
    arm_add("only", "policy", SERVED("100", "25", "75", "0", "0"));
    char *text = doc_shown(tb_keep_doc(NULL, &view), true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *curves = json_object_get(root, "price_of_tokens");
    cr_assert_not_null(curves, "%s", text);
    const json_t *point = json_array_get(json_object_get(curves, "near"), 0);
    cr_expect_float_eq(tb_member_number(point, "x"), 1000, 1e-9);
    cr_expect_float_eq(tb_member_number(point, "y"), 0.5, 1e-9, "%s", text);
    point = json_array_get(json_object_get(curves, "near and far"), 0);
    cr_expect_float_eq(tb_member_number(point, "y"), 0.5, 1e-9, "%s", text);
    cr_expect_null(json_object_get(curves, "near, far and file"));
    cr_expect_eq(json_array_size(json_object_get(root, "prices")), 1);
    json_decref(root);
    free(text);
    says("only has nobody to be compared with.", true);
}

Test(tiers, that_find_nothing_lose_at_any_price)
{
    cell_begin(CELL("null", FILE_TIER));
    arm_add("only", "policy", SERVED("100", "0", "0", "0", "9"));
    says("With only the file finds nothing, so it loses at any price.", true);
    says("near and file", true);
}
