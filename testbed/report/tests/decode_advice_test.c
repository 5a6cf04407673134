// SPDX-License-Identifier: Apache-2.0
//
// decode_advice: what a model's cache should use, from samples that are made up. Three block sizes in layout runs, and columns at
// the first of them; a lap of 100 ms decodes 32 tokens.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>

#include "testbed/base/json.h"
#include "testbed/base/tests/golden.h"
#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/report/advise/decode_advice.h"
#include "testbed/report/tests/doc_says.h"

static struct fixture f;
static struct tb_decode_advice advice;
enum { RUNS_16, RUNS_64, RUNS_32, COLUMNS };
enum { LOCUS, TWIN, SMALL, IN_RUNS, MIMALLOC, STREAM };
static const struct fixture_arm usual[] = {{"locus", 100000000},      {"locus#2", 100000000},  {"locus-4k", 100000000},
                                           {"locus-runs", 100000000}, {"mimalloc", 120000000}, {"locus@stream", 90000000}};

static struct tb_rounds *decoded(uint32_t count)
{
    static const struct {
        const char *name, *layout;
        uint32_t tokens;
    } cells[FIXTURE_CELLS] = {[RUNS_16] = {"batch-4x1024x8/decode", "runs", 16},
                              [RUNS_64] = {"batch-4x1024x8/decode/64t", "runs", 64},
                              [RUNS_32] = {"batch-4x1024x8/decode/32t", "runs", 32},
                              [COLUMNS] = {"batch-4x1024x8/decode/columns", "columns", 16}};
    struct tb_rounds *rounds = FIXTURE(f, usual, count);
    rounds->cells_count = FIXTURE_CELLS;
    f.arms[STREAM].fault = TB_FAULT_ACT;
    snprintf(f.arms[STREAM].act, sizeof f.arms[STREAM].act, "stream");
    for (uint32_t c = 0; c < FIXTURE_CELLS; c++) {
        f.schedules[c].decoded_tokens = 32;
        f.schedules[c].steps_per_lap = 8;
        f.schedules[c].block_tokens = cells[c].tokens;
        f.cells[c].touch = TB_TOUCH_DECODE;
        f.cells[c].name = cells[c].name;
        snprintf(f.cells[c].decode.layout, sizeof f.cells[c].decode.layout, "%s", cells[c].layout);
        tb_decode_settings_fill(&f.cells[c].decode);
    }
    for (uint32_t round = 0; round < count; round++)
        tb_rounds_sample(rounds, RUNS_16, LOCUS, round)->decode =
            (struct tb_decode_sample){.steps = 8, .threads = 1, .kernel = "avx2"};
    return rounds;
}

static const struct tb_decode_advice *advise(const struct tb_rounds *rounds)
{
    tb_decode_advice(rounds, "Llama-3.2-1B, batch-4x1024x8: 32 tokens decoded in 8 steps", &advice);
    return &advice;
}

static void cell_slow(struct tb_rounds *rounds, uint32_t cell, double factor)
{
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        fixture_slow(rounds, cell, arm, factor);
}

static json_t *json_of(const struct tb_rounds *rounds)
{
    struct tb_doc *doc = tb_decode_advice_doc(NULL, advise(rounds));
    json_t *json = tb_doc_as_json(doc);
    cr_assert_not_null(json);
    tb_doc_close(doc);
    return json;
}

static void page_is(const char *path, const struct tb_rounds *rounds)
{
    char *text = doc_shown(tb_decode_advice_doc(NULL, advise(rounds)), false);
    golden(path, text);
    free(text);
}

static void answer_begins(const struct tb_rounds *rounds, const char *words)
{
    json_t *json = json_of(rounds);
    const char *answer = tb_member_text(json, "answer");
    cr_assert_eq(strncmp(answer, words, strlen(words)), 0, "%s", answer);
    json_decref(json);
}

static enum tb_advise_cost cost(enum tb_decode_question question, uint32_t cell, uint32_t arm)
{
    const struct tb_decode_choices *all = &advice.questions[question];
    for (uint32_t i = 0; i < all->count; i++)
        if (all->choices[i].cell == cell && all->choices[i].arm == arm)
            return all->choices[i].cost;
    cr_assert(false, "no such choice");
    return TB_ADVISE_UNKNOWN;
}

Test(decode_advice, says_what_to_use_in_tokens_and_each_question_in_a_table)
{
    struct tb_rounds *rounds = decoded(20);
    cell_slow(rounds, RUNS_16, 1.1);
    cell_slow(rounds, COLUMNS, 1.3);
    page_is("testbed/report/tests/golden/decode_advice.txt", rounds);
}

Test(decode_advice, a_faster_block_size_is_chosen_and_its_gain_is_a_ratio_within_rounds)
{
    struct tb_rounds *rounds = decoded(20);
    cell_slow(rounds, RUNS_16, 1.25);
    cell_slow(rounds, RUNS_32, 1.1);
    advise(rounds);
    cr_assert(advice.any);
    cr_assert_eq(advice.use.cell, RUNS_64);
    cr_assert_eq(advice.use.arm, LOCUS);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_USED);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_16, LOCUS), TB_ADVISE_SLOWER);
    const struct tb_decode_choice *smallest = &advice.questions[TB_DECODE_BLOCK].choices[0];
    cr_assert_eq(smallest->cell, RUNS_16, "small blocks come first, whatever the order of the cells");
    cr_assert_float_eq(smallest->speed.estimate, 0.8, 1e-9);
    cr_assert(smallest->speed.low <= 0.8 + 1e-9 && smallest->speed.high >= 0.8 - 1e-9);
    cr_assert_float_eq(advice.use.tokens_per_s.estimate, 320 / 1.095, 2); // rounds get slower, by a per cent each
    cr_assert(advice.use.tokens_per_s.low < advice.use.tokens_per_s.estimate);
}

Test(decode_advice, of_equals_the_smallest_block_and_the_first_arm_are_used)
{
    struct tb_rounds *rounds = decoded(40);
    cell_slow(rounds, COLUMNS, 1.0001);
    for (uint32_t c = 0; c < FIXTURE_CELLS; c++)
        fixture_slow(rounds, c, TWIN, 1.01); // the control, so that a per cent cannot be seen
    advise(rounds);
    cr_assert_eq(advice.use.cell, RUNS_16);
    cr_assert_eq(advice.use.arm, LOCUS);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_SAME);
    cr_assert_eq(cost(TB_DECODE_LAYOUT, COLUMNS, LOCUS), TB_ADVISE_SAME);
    cr_assert_eq(cost(TB_DECODE_PAGE, RUNS_16, SMALL), TB_ADVISE_SAME);
    cr_assert_eq(cost(TB_DECODE_ALLOCATOR, RUNS_16, MIMALLOC), TB_ADVISE_SLOWER);
    json_t *json = json_of(rounds);
    cr_assert_not_null(
        strstr(tb_member_text(json, "answer"),
               "It makes no difference how large blocks are, or how K and V lie in blocks, or how large pages are, or in "
               "which order blocks leave."));
    json_decref(json);
    for (uint32_t c = 0; c < FIXTURE_CELLS; c++)
        fixture_slow(rounds, c, TWIN, 1.1); // nor ten: now nothing is claimed
    advise(rounds);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_UNTOLD);
}

Test(decode_advice, an_allocator_that_is_ahead_is_used)
{
    struct tb_rounds *rounds = decoded(20);
    fixture_slow(rounds, RUNS_16, MIMALLOC, 0.6);
    answer_begins(rounds, "Use blocks of 16 tokens, layout runs, mimalloc: ");
    cr_assert_eq(cost(TB_DECODE_ALLOCATOR, RUNS_16, LOCUS), TB_ADVISE_SLOWER);
    cr_assert_lt(advice.floor, 0, "a floor is its arm's own");
}

Test(decode_advice, what_is_invalid_is_neither_chosen_nor_compared)
{
    struct tb_rounds *rounds = decoded(20);
    cell_slow(rounds, RUNS_16, 1.2);
    fixture_invalidate(rounds, RUNS_64, LOCUS, 3, "K and V were appended twice");
    advise(rounds);
    cr_assert_eq(advice.use.cell, RUNS_32);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_UNKNOWN);
    page_is("testbed/report/tests/golden/decode_advice_invalid.txt", rounds);
    for (uint32_t c = 0; c < FIXTURE_CELLS; c++)
        fixture_invalidate(rounds, c, LOCUS, 0, "crashed");
    for (uint32_t arm = SMALL; arm <= MIMALLOC; arm++)
        fixture_invalidate(rounds, RUNS_16, arm, 0, "crashed");
    answer_begins(rounds, "There is nothing valid to choose from, and so no advice.");
    json_t *json = json_of(rounds);
    cr_assert(json_is_null(json_object_get(json, "use")));
    json_decref(json);
}

Test(decode_advice, what_is_noisy_is_not_chosen_and_cannot_be_told)
{
    struct tb_rounds *rounds = decoded(20);
    cell_slow(rounds, RUNS_16, 1.2);
    fixture_wait(rounds, RUNS_64, LOCUS, 10);
    advise(rounds);
    cr_assert_eq(advice.use.cell, RUNS_32);
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_UNTOLD);
    for (uint32_t c = 0; c < FIXTURE_CELLS; c++)
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            fixture_wait(rounds, c, arm, 10);
    answer_begins(rounds, "Too noisy to tell what to use: end what else runs here, and measure again.");
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_16, LOCUS), TB_ADVISE_UNTOLD);
}

Test(decode_advice, few_rounds_have_medians_and_no_verdict)
{
    struct tb_rounds *rounds = decoded(5);
    cell_slow(rounds, RUNS_16, 1.2);
    cell_slow(rounds, RUNS_32, 1.1);
    answer_begins(rounds, "Too few rounds to tell, 6 are the least (--rounds). By the medians alone, blocks of 64 tokens");
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_16, LOCUS), TB_ADVISE_UNBOUNDED);
    cr_assert_not(advice.use.tokens_per_s.bounded);
}

Test(decode_advice, cells_of_different_work_are_not_compared)
{
    struct tb_rounds *rounds = decoded(20);
    f.schedules[RUNS_32].attended_per_lap = 1;
    answer_begins(rounds, "The cells of this run do not decode the same tokens");
    cr_assert_not(advice.any);
}

Test(decode_advice, a_layout_that_wins_says_where_it_was_not_tried)
{
    struct tb_rounds *rounds = decoded(20);
    cell_slow(rounds, RUNS_16, 1.2);
    cell_slow(rounds, RUNS_32, 1.1);
    cell_slow(rounds, COLUMNS, 0.8);
    json_t *json = json_of(rounds);
    cr_assert_str_eq(tb_member_text(json, "use.layout"), "columns");
    cr_assert_not_null(
        strstr(tb_member_text(json, "answer"), "Layout columns was tried at one block size only: --layouts columns"));
    cr_assert_eq(cost(TB_DECODE_BLOCK, RUNS_64, LOCUS), TB_ADVISE_USED, "of its own question");
    json_decref(json);
}
