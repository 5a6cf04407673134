// SPDX-License-Identifier: Apache-2.0
//
// serve: the table of strategies and the sentence that says which to use, from log lines that are known.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/serve/serve.h"
#include "testbed/report/tests/doc_says.h"

static json_t *header, *lines[8];
static struct tb_log_sample samples[8];
static struct tb_log_view view;

static void cell_begin(const char *serving)
{
    header = json_pack("{s:[{s:s, s:s, s:o}], s:[]}", "cells", "name", "sample/serve", "touch", "serve", "serving",
                       json_loads(serving, 0, NULL), "arms");
    cr_assert_not_null(header);
    view = (struct tb_log_view){.header = header, .samples = samples};
}

static void arm_add(const char *name, const char *served)
{
    static const char *const keys[] = {"A", "B", "C", "D", "E", "F"};
    size_t at = view.samples_count++;
    json_array_append_new(json_object_get(header, "arms"),
                          json_pack("{s:s, s:s, s:s}", "key", keys[at], "name", name, "role", "serve"));
    lines[at] = json_pack("{s:b, s:s, s:o}", "valid", 1, "invalid", "", "serving", json_loads(served, 0, NULL));
    cr_assert_not_null(lines[at]);
    samples[at] = (struct tb_log_sample){.cell = 0, .arm = keys[at], .line = lines[at]};
}

static void says(const char *words, bool expected)
{
    doc_says(tb_serve_doc(NULL, &view), words, expected);
}

#define POOL "\"requests\": 4, \"pool_tokens\": 4096, \"token_bytes\": 32768, \"shape\": \"GPT-2\", \"step_ns\": 2480000"
#define LINE "{" POOL ", \"read_ps\": 14.5}"
#define LOADED "{" POOL ", \"read_ps\": 10, \"speedup\": 2.0, \"capacity_per_s\": 1.5, \"prompt_ns\": 124000}"

Test(serve, the_answer_has_the_tokens_a_second_of_the_one_to_use_and_of_the_next)
{
    cell_begin(LINE);
    arm_add("static", "{\"steps\": 300, \"refused\": 0, \"tokens_per_s\": 1711.4}");
    arm_add("paged", "{\"steps\": 200, \"refused\": 0, \"tokens_per_s\": 2345.6}");
    says("steps tokens live ns per strategy out a second call > paged", true);
    says("> paged - - - - - 200 2346 - -", true);
    says("static - - - - - 300 1711 - -", true);
    says("Use paged: static, the next, takes 1.50 times as many steps. paged decodes 2346 tokens a second, static 1711.", true);
    says("A step takes 2.5 ms and 14.5 ps for each byte of KV cache that it reads; prompts cost no step and no time.", true);
    says("bound by what arrives", false);
}

Test(serve, under_a_load_a_note_says_that_arrivals_bind_tokens_a_second)
{
    cell_begin(LOADED);
    arm_add("paged", "{\"first_p99_ns\": 2e9, \"refused\": 0, \"tokens_per_s\": 69.7}");
    arm_add("static", "{\"first_p99_ns\": 3e9, \"refused\": 0, \"tokens_per_s\": 69.5}");
    says("Tokens a second are bound by what arrives; --load all shows what a strategy can do.", true);
    says("A step takes 2.5 ms and 10 ps for each byte of KV cache that it reads, a prompt's token 0.12 ms.", true);
    says("paged decodes 69.7 tokens a second, static 69.5.", true);
}

Test(serve, a_log_that_is_older_than_the_figure_is_shown_without_it)
{
    cell_begin(LINE);
    arm_add("paged", "{\"steps\": 200, \"refused\": 0}");
    arm_add("static", "{\"steps\": 300, \"refused\": 0}");
    says("> paged - - - - - 200 - - -", true);
    says("Use paged: static, the next, takes 1.50 times as many steps.", true);
    says("decodes", false);
}

Test(serve, who_serves_nobody_has_no_figure)
{
    cell_begin(LINE);
    arm_add("static", "{\"steps\": 0, \"refused\": 4, \"tokens_per_s\": 0}");
    says("> static - - - - - 0 - - -", true);
    says("static has nobody to be compared with.", true);
    says("decodes", false);
    arm_add("paged", "{\"steps\": 200, \"refused\": 0, \"tokens_per_s\": 2345.6}");
    says("Use paged: all others refuse requests. paged decodes 2346 tokens a second.", true);
}

Test(serve, level_strategies_are_named_and_the_figure_is_that_of_the_first)
{
    cell_begin(LINE);
    arm_add("paged", "{\"steps\": 1000, \"refused\": 0, \"tokens_per_s\": 2345.6}");
    arm_add("slab", "{\"steps\": 1001, \"refused\": 0, \"tokens_per_s\": 2344}");
    says("No difference between paged and slab: none is more than 1 % ahead. A smaller pool (--pool) would tell them apart. paged "
         "decodes 2346 tokens a second.",
         true);
    says("Use ", false);
    arm_add("static", "{\"steps\": 1500, \"refused\": 0, \"tokens_per_s\": 1711}");
    says("would tell them apart. static, the next, takes 1.50 times as many steps.", true);
}

Test(serve, a_tie_in_a_pool_that_is_hardly_used_says_so)
{
    cell_begin(LINE);
    arm_add("paged", "{\"steps\": 1000, \"refused\": 0, \"live_use\": 0.0378}");
    arm_add("slab", "{\"steps\": 1001, \"refused\": 0, \"live_use\": 0.59}");
    arm_add("a", "{\"steps\": 1000, \"refused\": 0, \"live_use\": 0.0378}");
    arm_add("b", "{\"steps\": 1000, \"refused\": 0, \"live_use\": 0.0378}");
    arm_add("c", "{\"steps\": 1000, \"refused\": 0, \"live_use\": 0.0378}");
    says("No difference between a, b, c, paged and slab: none is more than 1 % ahead, as the pool has room for all: 3.78 % of it "
         "is in use in the mean. A smaller pool (--pool) would tell them apart.",
         true);
    arm_add("d", "{\"steps\": 1000, \"refused\": 0, \"live_use\": 0.0378}");
    says("No difference between a, b, c, d and 2 more: ", true);
    says("Use ", false);
}

Test(serve, json_has_the_figure_as_the_log_has_it)
{
    cell_begin(LINE);
    arm_add("paged", "{\"steps\": 200, \"refused\": 0, \"tokens_per_s\": 2345.6}");
    char *text = doc_shown(tb_serve_doc(NULL, &view), true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *cell = json_array_get(tb_member(root, "cells"), 0);
    const json_t *strategy = json_array_get(tb_member(cell, "strategies"), 0);
    cr_expect_float_eq(tb_member_number(strategy, "served.tokens_per_s"), 2345.6, 1e-9);
    cr_expect_float_eq(tb_member_number(cell, "serving.read_ps"), 14.5, 1e-9);
    json_decref(root);
    free(text);
}
