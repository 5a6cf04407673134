// SPDX-License-Identifier: Apache-2.0
//
// here: tokens a second by a clock that was measured, from log lines that are known.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/serve/here.h"
#include "testbed/report/tests/doc_says.h"

enum { ARMS_MAX = 3 };
static json_t *header;
static struct tb_log_sample samples[ARMS_MAX * TB_HERE_CELLS];
static struct tb_log_view view;

static void end(void)
{
    for (size_t i = 0; i < view.samples_count; i++)
        json_decref(samples[i].line);
    json_decref(header);
    view = (struct tb_log_view){0};
}

static void begin(const char *noisy, const char *unfit)
{
    json_t *cells = json_array();
    for (int i = 0; i < TB_HERE_CELLS; i++)
        json_array_append_new(cells, json_pack("{s:s, s:s, s:{s:i, s:i, s:i, s:s, s:f, s:f}}", "name", "sample/serve", "touch",
                                               "serve", "serving", "requests", 4, "pool_tokens", 4096, "token_bytes", 32768,
                                               "shape", "GPT-2", "step_ns", 2480000.0, "read_ps", 14.5));
    json_t *here =
        json_pack("{s:s, s:s, s:i, s:i, s:f, s:s, s:s, s:{s:f,s:f,s:f}, s:{s:f,s:f,s:f}, s:f, s:s?, s:s?}", "cell",
                  "batch-4x1024x16/decode/2c", "kernel", "avx2", "threads", 2, "rounds", 10, "step_bytes", 134217728.0, "arm",
                  "locus", "floor", "locus@stream", "read_ps", "estimate", 14.5, "low", 14.0, "high", 15.0, "floor_ps", "estimate",
                  12.0, "low", 11.5, "high", 12.5, "confidence", 0.957, "noisy", noisy, "unfit", unfit);
    cr_assert_not_null(here);
    header = json_pack("{s:o, s:[], s:{s:o}}", "cells", cells, "arms", "measured", "here", here);
    cr_assert_not_null(header);
    view = (struct tb_log_view){.header = header, .samples = samples};
}

// The figures are in the order of the cells: estimate, fast, slow, floor.
static void arm_add(const char *name, double refused, double estimate, double fast, double slow, double floor)
{
    static const char *const keys[ARMS_MAX] = {"A", "B", "C"};
    const double per_s[TB_HERE_CELLS] = {estimate, fast, slow, floor};
    const char *key = keys[view.samples_count / TB_HERE_CELLS];
    json_array_append_new(json_object_get(header, "arms"), json_pack("{s:s, s:s, s:s}", "key", key, "name", name, "role", "serve"));
    for (size_t i = 0; i < TB_HERE_CELLS; i++) {
        json_t *line = json_pack("{s:b, s:s, s:{s:f, s:f, s:f}}", "valid", 1, "invalid", "", "serving", "refused", refused, "steps",
                                 200.0, "tokens_per_s", per_s[i]);
        cr_assert_not_null(line);
        samples[view.samples_count++] = (struct tb_log_sample){.cell = i, .arm = key, .line = line};
    }
}

static void says(const char *words, bool expected)
{
    doc_says(tb_here_doc(NULL, &view), words, expected);
}

Test(here, the_interval_is_from_the_slow_clock_to_the_fast_one)
{
    begin(NULL, NULL);
    arm_add("static", 0, 1500, 1600, 1400, 1800);
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    cr_assert(tb_here_is(&view));
    says("> paged 2000 [1900, 2100] 2400 static 1500 [1400, 1600] 1800", true);
    says("Use paged: 2000 tokens a second [1900, 2100]; static, the next, 1500 tokens a second [1400, 1600].", true);
    says("No difference", false);
    says("noisy", false);
    end();
}

Test(here, what_was_measured_is_said)
{
    begin("locus", "UNFIT: 1 thing can spoil a figure: load.");
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    says("Measured before, in 10 rounds of batch-4x1024x16/decode/2c: attention (avx2, 2 threads) reads a byte of KV in 14.5 ps "
         "[14.0, 15.0], and locus@stream, its floor, in 12.0 ps [11.5, 12.5]. A step read 128 MiB.",
         true);
    says("with 95 % confidence. The time of prompts is stated, not measured: here it is none.", true);
    says("if attention read a byte as fast as locus@stream.", true);
    says("locus is noisy: the clock might not hold on a quieter machine.", true);
    says("UNFIT: 1 thing can spoil a figure: load.", true);
    says("paged has nobody to be compared with: it decodes 2000 tokens a second [1900, 2100]. The clock is noisy:", true);
    end();
}

Test(here, intervals_that_overlap_are_no_difference)
{
    begin(NULL, NULL);
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    arm_add("slab", 0, 1850, 1900, 1800, 2300); // they touch
    arm_add("static", 0, 1500, 1600, 1400, 1800);
    says("No difference between paged and slab: their intervals overlap. A smaller pool (--pool), or a quieter machine, would tell "
         "them apart. paged decodes 2000 tokens a second [1900, 2100]; static, the next, 1500 tokens a second [1400, 1600].",
         true);
    says("Use ", false);
    end();
    begin(NULL, NULL);
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    arm_add("slab", 0, 1850, 1899, 1800, 2300);
    says("No difference", false);
    end();
}

Test(here, a_noisy_clock_recommends_nobody)
{
    begin("locus", NULL);
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    arm_add("static", 0, 1500, 1600, 1400, 1800);
    says("Too noisy to tell: end what else runs, and measure again. By the medians alone, paged is ahead: 2000 tokens", true);
    says("Use ", false);
    end();
}

Test(here, who_refuses_requests_is_behind_however_fast)
{
    begin(NULL, NULL);
    arm_add("static", 3, 2500, 2600, 2400, 2800);
    arm_add("paged", 0, 2000, 2600, 1900, 2400);
    says("Use paged: 2000 tokens a second [1900, 2600]; all others refuse requests.", true);
    end();
}

Test(here, json_has_the_clock_the_tokens_and_all_cells)
{
    begin(NULL, NULL);
    arm_add("paged", 0, 2000, 2100, 1900, 2400);
    char *text = doc_shown(tb_here_doc(NULL, &view), true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *tokens = json_array_get(tb_member(root, "tokens"), 0);
    cr_expect_float_eq(tb_member_number(root, "clock.read_ps.estimate"), 14.5, 1e-9);
    cr_expect_float_eq(tb_member_number(tokens, "tokens_per_s.low"), 1900, 1e-9);
    cr_expect_float_eq(tb_member_number(tokens, "tokens_per_s.high"), 2100, 1e-9);
    cr_expect_float_eq(tb_member_number(tokens, "floor_tokens_per_s"), 2400, 1e-9);
    cr_expect_eq(json_array_size(tb_member(root, "cells")), TB_HERE_CELLS);
    json_decref(root);
    free(text);
    end();
}
