// SPDX-License-Identifier: Apache-2.0
//
// noise: measurements on a machine where others were at work, and what is said of them: nothing that a quieter run would refute.
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>

#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/doc/emit.h"
#include "testbed/report/board/board.h"

static struct fixture f;
static const struct fixture_arm usual[] = {
    {"locus", 100000},      {"locus#2", 100000},        {"oracle", 98000},    {"locus-shared", 120000}, {"mimalloc", 200000},
    {"mimalloc#2", 200000}, {"jemalloc-tuned", 150000}, {"jemalloc", 400000}, {"null", 20000},
};
enum { LOCUS, LOCUS_TWIN, ORACLE, SHARED, MIMALLOC, MIMALLOC_TWIN, TUNED, JEMALLOC };
static const struct tb_report_style plain = {.colour = false, .columns = 80};

enum form { TABLE, ANSWER, JSON };

static int emit(FILE *out, enum form form, const struct tb_rounds *rounds)
{
    struct tb_doc *doc = form == ANSWER ? tb_board_answer_doc(rounds) : tb_board_doc(NULL, rounds, "locus eval", "");
    int rc = form == JSON ? tb_emit_json(out, doc) : tb_emit_text(out, doc, plain);
    tb_doc_close(doc);
    return rc;
}

// One line, a blank between words, so that it does not matter where it was broken.
static char *said(enum form form, const struct tb_rounds *rounds)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(emit(out, form, rounds), 0);
    fclose(out);
    for (char *line = text; form != JSON && *line; line += strcspn(line, "\n"), line += *line == '\n')
        cr_assert(strcspn(line, "\n") <= 80, "more than 80 columns: %.*s", (int)strcspn(line, "\n"), line);
    char *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ')
            *to++ = c;
    }
    *to = '\0';
    return text;
}

#define SAYS(text, words) cr_assert(strstr(text, words), "\"%s\" is not in:\n%s", words, text)
#define OMITS(text, words) cr_assert(!strstr(text, words), "\"%s\" is in:\n%s", words, text)

#define SUMMARY_SAYS(rounds, words)                                                                                                \
    do {                                                                                                                           \
        char *text_ = said(ANSWER, rounds);                                                                                        \
        SAYS(text_, words);                                                                                                        \
        free(text_);                                                                                                               \
    } while (0)
#define SUMMARY_OMITS(rounds, words)                                                                                               \
    do {                                                                                                                           \
        char *text_ = said(ANSWER, rounds);                                                                                        \
        OMITS(text_, words);                                                                                                       \
        free(text_);                                                                                                               \
    } while (0)
#define TABLE_SAYS(rounds, words)                                                                                                  \
    do {                                                                                                                           \
        char *text_ = said(TABLE, rounds);                                                                                         \
        SAYS(text_, words);                                                                                                        \
        free(text_);                                                                                                               \
    } while (0)

// What may be said of the time of one arm over another's, in laps or (op) in an operation.
static enum tb_told told_in(const struct tb_rounds *rounds, int over, int over_op, int under, int under_op)
{
    struct tb_ratio ratio;
    return tb_pair_tell(rounds, 0, over, over_op, under, under_op, &ratio);
}

static enum tb_told told(const struct tb_rounds *rounds, int over, int under)
{
    return told_in(rounds, over, TB_LAP, under, TB_LAP);
}

static json_t *json_of(const struct tb_rounds *rounds)
{
    char *text = said(JSON, rounds);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(root);
    free(text);
    return root;
}

static json_t *json_cell(json_t *root)
{
    return json_array_get(json_object_get(root, "cells"), 0);
}

static json_t *json_arm(json_t *root, const char *name)
{
    json_t *arms = json_object_get(json_cell(root), "arms");
    for (size_t i = 0; i < json_array_size(arms); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(arms, i), "name")), name) == 0)
            return json_array_get(arms, i);
    cr_assert_fail("no arm %s", name);
    return NULL;
}

// --- what makes a row noisy ---

Test(noise, a_base_whose_rounds_lie_apart_leaves_the_sentence)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_scatter(rounds, 0, MIMALLOC, 19);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_NOISY);
    SUMMARY_SAYS(rounds, "who is ahead cannot be told: too noisy.");
    SUMMARY_SAYS(rounds, "Left out as noisy: rounds too far apart: mimalloc.");
    cr_assert_eq(told(rounds, LOCUS, ORACLE), TB_TOLD_BLIND);
    TABLE_SAYS(rounds, "noisy: spread");
    json_t *root = json_of(rounds);
    cr_assert_str_eq(json_string_value(json_object_get(json_arm(root, "mimalloc"), "noisy")), "spread");
    cr_assert(json_is_null(json_object_get(json_arm(root, "locus"), "noisy")));
    json_decref(root);
}

// Two endless loops on two CPUs: each round of a malloc takes two time slices exactly.
Test(noise, a_base_that_waited_in_every_round_alike_leaves_the_sentence)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_slow(rounds, 0, MIMALLOC, 25);
    fixture_slow(rounds, 0, MIMALLOC_TWIN, 25);
    fixture_wait(rounds, 0, MIMALLOC, 20);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_NOISY);
    SUMMARY_SAYS(rounds, "Left out as noisy: waited for a CPU: mimalloc.");
    TABLE_SAYS(rounds, "noisy: waited");
    json_t *root = json_of(rounds);
    cr_assert_str_eq(json_string_value(json_object_get(json_arm(root, "mimalloc"), "noisy")), "waited");
    cr_assert_eq(json_number_value(json_object_get(json_arm(root, "mimalloc"), "rounds_waited")), 1);
    cr_assert(json_is_null(json_object_get(json_arm(root, "locus"), "rounds_waited")), "nobody watched it");
    json_decref(root);
}

Test(noise, waiting_in_a_quarter_of_the_rounds_is_borne)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_wait(rounds, 0, MIMALLOC, 5);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_ABOVE);
    fixture_wait(rounds, 0, MIMALLOC, 6);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_NOISY);
}

// The spread does not see them: most rounds agree.
Test(noise, a_few_rounds_that_make_the_interval_wide_are_seen)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    for (uint32_t round = 0; round < 8; round++)
        tb_rounds_sample(rounds, 0, LOCUS, round)->lap_ns /= 3;
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_NOISY);
    SUMMARY_SAYS(rounds, "ratio to mimalloc too wide: locus");
    TABLE_SAYS(rounds, "7.25 noisy noisy");
}

Test(noise, when_everything_is_noisy_nothing_is_said)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->cells_count = 4;
    for (uint32_t cell = 0; cell < 4; cell++)
        for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
            fixture_wait(rounds, cell, arm, 20);
    char *text = said(ANSWER, rounds);
    SAYS(text, "Full touch: who is ahead cannot be told: too noisy.");
    SAYS(text, "Others were at work: 720 of 720 processes waited for a CPU. End what runs, and measure again.");
    OMITS(text, "is ahead on");
    free(text);
}

Test(noise, one_noisy_workload_leaves_and_the_others_stay)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->cells_count = 3;
    fixture_wait(rounds, 1, LOCUS, 20);
    char *text = said(ANSWER, rounds);
    SAYS(text, "locus is ahead on 2 of 3 workloads, and on 1 it is too noisy to tell");
    SAYS(text, "burst-storm 107 noisy noisy jemalloc-tuned long-tail 107 1.02 [1.02, 1.02] 1.50 [1.50, 1.50]");
    SAYS(text, "waited for a CPU: locus in 1 of 3.");
    free(text);
}

// --- who is the first, when some are noisy ---

Test(noise, the_best_malloc_is_not_known_while_a_noisy_one_may_be_faster)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_wait(rounds, 0, TUNED, 20); // it had its CPU in no round: what it could do is not known
    cr_assert_eq(tb_best_malloc(rounds, 0, TB_LAP).rival, TUNED);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_ABOVE);
    TABLE_SAYS(rounds, "Which malloc is the best cannot be told: jemalloc-tuned is noisy.");
    json_t *root = json_of(rounds);
    cr_assert(json_is_null(json_object_get(json_cell(root), "best_malloc")));
    cr_assert(json_is_null(json_object_get(json_arm(root, "locus"), "vs_best_malloc")));
    json_decref(root);
}

Test(noise, a_noisy_malloc_that_was_slower_in_its_best_round_changes_nothing)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_scatter(rounds, 0, JEMALLOC, 3);
    cr_assert_eq(tb_best_malloc(rounds, 0, TB_LAP).arm, TUNED);
    TABLE_SAYS(rounds, "The best malloc: jemalloc-tuned.");
}

Test(noise, nobody_is_ahead_while_a_noisy_one_may_be)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_scatter(rounds, 0, SHARED, 0.5);
    SUMMARY_SAYS(rounds, "Full touch: who is ahead cannot be told: too noisy.");
    SUMMARY_OMITS(rounds, "is ahead.");
}

// --- the controls ---

Test(noise, a_base_that_differs_from_itself_blinds_as_locus_would)
{
    static const struct fixture_arm close[] = {{"locus", 1000}, {"locus#2", 1000}, {"mimalloc", 1060}, {"mimalloc#2", 1060}};
    struct tb_rounds *rounds = FIXTURE(f, close, 20);
    cr_assert_eq(told(rounds, 2, 0), TB_TOLD_ABOVE);
    SUMMARY_SAYS(rounds, "cannot be seen on this machine (A/A of locus, mimalloc).");
    fixture_slow(rounds, 0, 3, 1.08); // the base once more, 8 % slower
    cr_assert_eq(told(rounds, 2, 0), TB_TOLD_SAME);
    SUMMARY_SAYS(rounds, "no difference that this run could see");
}

Test(noise, a_base_without_a_control_is_named)
{
    static const struct fixture_arm one[] = {{"locus", 1000}, {"locus#2", 1000}, {"mimalloc", 1060}};
    SUMMARY_SAYS(FIXTURE(f, one, 20), "cannot be seen on this machine (A/A of locus alone).");
}

Test(noise, a_bench_sees_by_operation)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->bench = true;
    for (uint32_t round = 0; round < 20; round++) // drains of the same pool, two times apart
        tb_rounds_sample(rounds, 0, LOCUS_TWIN, round)->bench_ns[TB_BENCH_FREE] *= 2.1;
    cr_assert_eq(told_in(rounds, MIMALLOC, TB_BENCH_ALLOC, LOCUS, TB_BENCH_BULK), TB_TOLD_ABOVE);
    cr_assert_eq(told_in(rounds, MIMALLOC, TB_BENCH_FREE, LOCUS, TB_BENCH_FREE), TB_TOLD_SAME);
    char *text = said(TABLE, rounds);
    SAYS(text, "> locus 1.50 [1.50, 1.50] 3.00 [3.00, 3.00] ");
    SAYS(text, "> locus 2.00 [2.00, 2.00] 4.00 [");
    SAYS(text, "Differences under 0.");
    SAYS(text, "% (free) cannot be seen on this machine (A/A of locus, mimalloc).");
    free(text);
    json_t *root = json_of(rounds), *by = json_object_get(json_cell(root), "resolutions");
    cr_assert(json_number_value(json_object_get(by, "alloc")) < 0.01 && json_number_value(json_object_get(by, "free")) > 1.0);
    json_decref(root);
}

// A bulk allocation is held against a malloc's single one, so the controls of both operations have a say.
Test(noise, a_control_that_is_noisy_in_the_other_operation_blinds_too)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->bench = true;
    for (uint32_t round = 0; round < 20; round++) {
        tb_rounds_sample(rounds, 0, LOCUS, round)->bench_ns[TB_BENCH_BULK] *= 1.4;
        tb_rounds_sample(rounds, 0, MIMALLOC_TWIN, round)->bench_ns[TB_BENCH_ALLOC] *= round % 2 ? 20 : 0.2;
    }
    cr_assert_eq(told_in(rounds, MIMALLOC, TB_BENCH_ALLOC, LOCUS, TB_BENCH_ALLOC), TB_TOLD_BLIND);
    cr_assert_eq(told_in(rounds, MIMALLOC, TB_BENCH_ALLOC, LOCUS, TB_BENCH_BULK), TB_TOLD_BLIND);
}

// --- few rounds ---

Test(noise, five_rounds_tell_nothing_and_say_so)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 5);
    rounds->cells_count = 2;
    char *text = said(ANSWER, rounds);
    SAYS(text, "Full touch: too few rounds to tell, 6 are the least.");
    SAYS(text, "steady-decode");
    OMITS(text, "no difference");
    OMITS(text, "ahead");
    free(text);
    cr_assert_eq(told(rounds, MIMALLOC, LOCUS), TB_TOLD_FEW);
    cr_assert_eq(told(FIXTURE(f, usual, 6), MIMALLOC, LOCUS), TB_TOLD_ABOVE);
}

// --- what stands where ---

Test(noise, what_the_doctor_has_against_the_host_stands_at_each_table_and_in_the_summary)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->cells_count = 3;
    rounds->unfit = "UNFIT: 2 things can spoil a figure: load, pressure.";
    SUMMARY_SAYS(rounds, rounds->unfit);
    char *text = said(TABLE, rounds);
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, rounds->unfit)); at++)
        count++;
    cr_assert_eq(count, 4, "three tables, and the answer");
    free(text);
}

Test(noise, the_table_holds_against_the_best_malloc_and_against_the_base)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    char *text = said(TABLE, rounds);
    SAYS(text, "median spread times faster than over held");
    SAYS(text, "contender us % the best malloc mimalloc floor /peak");
    SAYS(text, "> locus 109.6 4.56 1.50 [1.50, 1.50] 2.00 1.02 1.02");
    SAYS(text, "jemalloc-tuned 164.1 4.60 the best 1.33 1.53 1.02");
    free(text);
    json_t *root = json_of(rounds), *by_name = json_object_get(json_arm(root, "locus"), "vs_mallocs");
    cr_assert_eq(json_object_size(by_name), 3, "the twin is none of them");
    double ratio = json_number_value(json_object_get(json_object_get(by_name, "jemalloc"), "estimate"));
    cr_assert(ratio > 3.99 && ratio < 4.01, "%g", ratio);
    json_decref(root);
}

Test(noise, the_overview_has_a_row_for_each_workload_at_full_touch)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->cells_count = 4;
    f.cells[3].touch = TB_TOUCH_BYTE;
    fixture_wait(rounds, 1, LOCUS, 20);
    fixture_wait(rounds, 2, TUNED, 20);
    char *text = said(ANSWER, rounds);
    SAYS(text, "Full touch floor locus best malloc workload us over floor over locus best malloc");
    SAYS(text, "steady-decode 107 1.02 [1.02, 1.02] 1.50 [1.50, 1.50] jemalloc-tuned");
    SAYS(text, "burst-storm 107 noisy noisy");
    SAYS(text, "long-tail 107 1.02 [1.02, 1.02] noisy");
    OMITS(text, "churn-touch");
    free(text);
    rounds->cells_count = 1;
    SUMMARY_OMITS(rounds, "over floor");
}

Test(noise, a_tiny_ratio_of_a_bench_has_three_digits)
{
    static const struct fixture_arm far[] = {{"mimalloc", 10}, {"malloc:/slow.so", 3205}};
    struct tb_rounds *rounds = FIXTURE(f, far, 20);
    rounds->bench = true;
    TABLE_SAYS(rounds, " 0.00312");
}
