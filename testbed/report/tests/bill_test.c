// SPDX-License-Identifier: Apache-2.0
//
// bill: a cell of touch `decode` as it is shown: tokens in a second, floors, who computed, and the bill of a step.
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/base/json.h"
#include "testbed/base/tests/golden.h"
#include "testbed/doc/emit.h"
#include "testbed/judge/bill.h"
#include "testbed/judge/tests/decode_fixture.h"
#include "testbed/report/board/board.h"

static struct fixture f;

enum form { TEXT, JSON, CSV };

static char *shown(enum form form, const struct tb_rounds *rounds)
{
    struct tb_doc *doc = form == CSV ? tb_board_samples_doc(rounds) : tb_board_doc(NULL, rounds, "locus eval", "");
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int rc = form == CSV    ? tb_emit_csv(out, doc, "samples")
             : form == JSON ? tb_emit_json(out, doc)
                            : tb_emit_text(out, doc, (struct tb_report_style){.colour = false, .columns = 80});
    cr_assert_eq(rc, 0);
    fclose(out);
    tb_doc_close(doc);
    return text;
}

static void says(const struct tb_rounds *rounds, const char *words, bool expected)
{
    char *text = shown(TEXT, rounds), *to = text;
    for (const char *from = text; *from; from++) { // where a line was broken does not matter
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ')
            *to++ = c;
    }
    *to = '\0';
    cr_assert_eq(strstr(text, words) != NULL, expected, "\"%s\" in:\n%s", words, text);
    free(text);
}

Test(bill, page_of_a_decode_cell)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    char *text = shown(TEXT, rounds);
    golden("testbed/report/tests/golden/bill.txt", text);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        cr_assert_leq(strcspn(line, "\n"), 80, "%.*s", (int)strcspn(line, "\n"), line);
    free(text);
}

Test(bill, what_cannot_be_told_and_what_does_not_close_is_said)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_bill bill;
    char number[16], words[64];
    says(rounds, "the bill closes within 5 %", true);
    fixture_scatter(rounds, 0, NO_APPEND, 1.2);
    says(rounds, "cannot be told from 0", true);
    rounds = decode_fixture(&f, 12);
    fixture_slow(rounds, 0, NO_ATTEND, 2);
    says(rounds, "cannot be told from 0", false);
    says(rounds, "The parts are 90.0 % of the step [", true);
    cr_assert(tb_bill(rounds, 0, LOCUS, &bill));
    tb_text_number(number, 100 * fabs(1 - bill.line[TB_BILL_SUM].share.estimate));
    snprintf(words, sizeof words, "]: the bill does not close, by %s %%.", number);
    says(rounds, words, true);
    fixture_slow(rounds, 0, NO_ATTEND, 0.7);
    fixture_scatter(rounds, 0, NO_ATTEND, 1.2);
    says(rounds, "]: whether the bill closes within 5 % cannot be told.", true);
    rounds = decode_fixture(&f, 4);
    says(rounds, "the rounds are too few for an interval", true);
    rounds = decode_fixture(&f, 12);
    fixture_invalidate(rounds, 0, NOTHING, 0, "lost one");
    says(rounds, "there is none, as locus@nothing is INVALID.", true);
    says(rounds, "the bill closes", false);
    rounds = decode_fixture(&f, 12);
    fixture_wait(rounds, 0, NO_APPEND, 12);
    says(rounds, "locus@no-append is noisy: these figures might not hold", true);
    says(rounds, "No arm is without drains alone", false);
    snprintf(f.arms[NO_DRAIN].label, sizeof f.arms[NO_DRAIN].label, "another");
    says(rounds, "No arm is without drains alone", true);
    says(rounds, "of it: free", true);
    says(rounds, "of it: drain", false);
    f.cells[0].touch = TB_TOUCH_FULL;
    says(rounds, "bill", false);
}

Test(bill, what_was_counted_has_a_table)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_counter_set set;
    says(rounds, "counted, of a step", false);
    says(rounds, "No cycles were counted", false);
    decode_fixture_counted(&f, &set);
    char *text = shown(TEXT, rounds);
    golden("testbed/report/tests/golden/bill_counted.txt", strstr(text, "counted, of a step"));
    free(text);
    fixture_scatter(rounds, 0, NO_APPEND, 1);
    for (uint32_t round = 0; round < 12; round += 2)
        tb_rounds_sample(rounds, 0, NO_APPEND, round)->counters[1].value *= 2;
    says(rounds, "append cannot be told from 0 0", true);
    says(rounds, "Cycles are those of user mode", false);
    set.counter[1].attr.exclude_kernel = 1;
    says(rounds, "Cycles are those of user mode", true);
    tb_rounds_sample(rounds, 0, LOCUS, 0)->counters[1].error = EBUSY;
    says(rounds, "counted, of a step page faults", true);
    says(rounds, "No cycles were counted: not in every round, or by hardware that was shared.", true);
    snprintf(set.counter[1].why, sizeof set.counter[1].why, "not supported: no PMU");
    says(rounds, "No cycles were counted: not supported: no PMU.", true);
}

Test(bill, scalar_code_and_more_threads_are_said)
{
    struct tb_rounds *rounds = decode_fixture(&f, 6);
    struct tb_decode_sample *by = &tb_rounds_sample(rounds, 0, LOCUS, 0)->decode;
    says(rounds, "Attention: avx2, 1 thread.", true);
    says(rounds, "Scalar code", false);
    strcpy(by->kernel, "scalar");
    by->threads = 2;
    says(rounds, "Attention: scalar, 2 threads.", true);
    says(rounds, "Scalar code computed", true);
}

static const json_t *arm_of(const json_t *cell, const char *name)
{
    const json_t *arms = tb_member(cell, "arms"), *arm;
    size_t i;
    json_array_foreach (arms, i, arm)
        if (strcmp(tb_member_text(arm, "name"), name) == 0)
            return arm;
    cr_assert_fail("no arm %s", name);
    return NULL;
}

Test(bill, json_has_the_figures)
{
    struct tb_rounds *rounds = decode_fixture(&f, 12);
    struct tb_counter_set set;
    decode_fixture_counted(&f, &set);
    set.counter[1].attr.exclude_kernel = 1;
    rounds->cells_count = 2;
    char *text = shown(JSON, rounds);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *cell = json_array_get(tb_member(root, "cells"), 0), *decode = tb_member(cell, "decode");
    const json_t *bill = json_array_get(tb_member(decode, "bills"), 0), *locus = arm_of(cell, "locus");
    struct tb_bill expected;
    cr_assert(tb_bill(rounds, 0, LOCUS, &expected));
    cr_expect_str_eq(tb_member_text(decode, "kernel"), "avx2");
    cr_expect_eq(tb_member_number(decode, "steps_per_lap"), 8);
    cr_expect_eq(json_array_size(tb_member(decode, "bills")), 1);
    cr_expect_str_eq(tb_member_text(bill, "arm"), "locus");
    cr_expect(json_is_true(tb_member(bill, "closes")));
    cr_expect(json_is_true(tb_member(bill, "user_only")));
    for (int line = 0; line < TB_BILL_LINES; line++) {
        const json_t *figure = tb_member(bill, tb_bill_word((enum tb_bill_line)line));
        cr_expect_eq(tb_member_number(figure, "ns.estimate"), expected.line[line].ns.estimate);
        cr_expect_eq(tb_member_number(figure, "share.high"), expected.line[line].share.high);
        cr_expect(json_is_true(tb_member(figure, "told")));
        cr_expect_eq(tb_member_number(figure, "cycles.low"), expected.line[line].count[TB_BILL_CYCLES].low);
        cr_expect_eq(tb_member_number(figure, "page_faults.estimate"), line == TB_BILL_FIRST_TOUCH);
        cr_expect(json_is_null(tb_member(figure, "dtlb_misses")));
    }
    cr_expect_float_eq(tb_member_number(locus, "tokens_per_s"), 32e9 / tb_member_number(locus, "median_ns"), 1e-6);
    cr_expect_str_eq(tb_member_text(locus, "floor"), "locus@blocks");
    cr_expect_float_eq(tb_member_number(locus, "of_floor.estimate"), 0.93, 0.002);
    cr_expect(json_is_null(tb_member(arm_of(cell, "locus@nothing"), "tokens_per_s")), "it decodes none");
    cr_expect(json_is_null(tb_member(arm_of(cell, "locus-4k"), "of_floor")));
    cr_expect(json_is_null(tb_member(json_array_get(tb_member(root, "cells"), 1), "decode")), "full touch");
    json_decref(root);
    free(text);
}

Test(bill, csv_has_what_a_bill_is_made_of)
{
    struct tb_rounds *rounds = decode_fixture(&f, 1);
    char *text = shown(CSV, rounds), kernel[8];
    double tokens_per_s;
    unsigned threads;
    const char *row = strchr(text, '\n') + 1, *at = strstr(row, ",8,"); // the first one is that of locus
    cr_assert(at && sscanf(at, ",8,%lf,%4[a-z0-9],%u", &tokens_per_s, kernel, &threads) == 3, "%s", row);
    cr_expect_float_eq(tokens_per_s, 32e9 / tb_rounds_sample(rounds, 0, LOCUS, 0)->lap_ns, 1e-6);
    cr_expect_str_eq(kernel, "avx2");
    cr_expect_eq(threads, 1);
    cr_expect(strstr(text, "adjacency,steps_per_lap,tokens_per_s,kernel,threads\n"), "%s", text);
    cr_expect(strstr(text, ",8,,avx2,1\n"), "an arm without attention decodes nothing: %s", text);
    free(text);
}
