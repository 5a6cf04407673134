// SPDX-License-Identifier: Apache-2.0
//
// report: table, summary, JSON and CSV of a measurement whose samples are known, and what they do on a full disk.
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "testbed/measure/tests/rounds_fixture.h"
#include "testbed/doc/emit.h"
#include "testbed/report/board/board.h"

static struct fixture f;
static const struct fixture_arm usual[] = {
    {"mimalloc", 722000},     {"locus", 361000},
    {"oracle", 358000},       {"locus#2", 361000},
    {"null", 120000},         {"jemalloc", 649800},
    {"locus-shared", 500000}, {"malloc:/opt/a \"quoted\" place/with_a_long_name/libfast.so", 900000},
};
enum { MIMALLOC, LOCUS, ORACLE, TWIN, HARNESS, JEMALLOC, SHARED, PATH };
static const struct tb_report_style plain = {.colour = false, .columns = 80};

enum form { TABLE, ANSWER, JSON, CSV };

static struct tb_doc *doc_of(enum form form, const struct tb_rounds *rounds)
{
    return form == ANSWER ? tb_board_answer_doc(rounds)
           : form == CSV  ? tb_board_samples_doc(rounds)
                          : tb_board_doc(NULL, rounds, "locus eval", "");
}

static int emit(FILE *out, enum form form, const struct tb_rounds *rounds, struct tb_report_style style)
{
    struct tb_doc *doc = doc_of(form, rounds);
    int rc = form == JSON ? tb_emit_json(out, doc) : form == CSV ? tb_emit_csv(out, doc, "samples") : tb_emit_text(out, doc, style);
    tb_doc_close(doc);
    return rc;
}

static char *text_in(enum form form, const struct tb_rounds *rounds, struct tb_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(emit(out, form, rounds, style), 0);
    fclose(out);
    return text;
}

static char *text_of(enum form form, const struct tb_rounds *rounds)
{
    return text_in(form, rounds, plain);
}

// Newlines are where a sentence was broken; whether it says something does not depend on that.
static void unwrap(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ')
            *to++ = c;
    }
    *to = '\0';
}

static void assert_within(const char *text, size_t columns)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        cr_assert(length <= columns, "%zu columns: %.*s", length, (int)length, line);
        cr_assert(length == 0 || line[length - 1] != ' ', "trailing space: %.*s|", (int)length, line);
    }
    for (const char *c = text; *c; c++)
        cr_assert((unsigned char)*c < 0x80, "not ASCII");
}

#define SAYS(text, words) cr_assert(strstr(text, words), "\"%s\" is not in:\n%s", words, text)
#define OMITS(text, words) cr_assert(!strstr(text, words), "\"%s\" is in:\n%s", words, text)

Test(report, table_is_80_columns_and_marks_locus)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->cells_count = 4;
    fixture_invalidate(rounds, 0, SHARED, 11, "pushed 2688, drained 2687");
    char *text = text_of(TABLE, rounds);
    assert_within(text, 80);
    SAYS(text, "spin dispatch, 1 worker pinned, 30 rounds (seed 41)\n");
    SAYS(text, "\nsteady-decode, full touch\n");
    SAYS(text, "\n> locus  ");
    SAYS(text, "1.80 [1.80, 1.80]      2.00");
    SAYS(text, "(harness only)");
    SAYS(text, "A/A control: locus#2 1.00");
    SAYS(text, "locus-shared is INVALID: pushed 2688, drained 2687 (round 12)\n");
    SAYS(text, "cannot be seen on this machine (A/A of locus alone).\n");
    OMITS(text, "\033");
    free(text);
}

Test(report, table_ranks_by_median_and_the_unranked_stand_below)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    fixture_invalidate(rounds, 0, SHARED, 0, "lost one");
    char *text = text_of(TABLE, rounds);
    static const char *const order[] = {"\n  oracle",   "\n> locus ",       "\n  jemalloc", "\n  mimalloc",
                                        "\n  malloc:/", "\n  locus-shared", "\n  null"};
    const char *at = text;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *here = strstr(text, order[i]);
        cr_assert(here && here > at, "%s is missing or out of order in\n%s", order[i] + 1, text);
        at = here;
    }
    free(text);
}

Test(report, table_shows_the_version_that_was_there)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 10);
    for (uint32_t round = 0; round < 10; round++)
        snprintf(tb_rounds_sample(rounds, 0, MIMALLOC, round)->version, 64, "mimalloc 2.0.9");
    char *text = text_of(TABLE, rounds);
    SAYS(text, "\n  mimalloc 2.0.9 ");
    free(text);
}

Test(report, table_holds_its_columns_when_arms_lie_far_apart)
{
    static const struct fixture_arm far[] = {{"oracle", 180000}, {"locus-backpressure", 190000}, {"mimalloc", 7e6}, {"glibc", 2e8}};
    struct tb_rounds *rounds = FIXTURE(f, far, 8);
    for (uint32_t round = 0; round < 8; round++)
        tb_rounds_sample(rounds, 0, 3, round)->lap_ns *= 1 + 0.04 * (round % 4);
    char *text = text_of(TABLE, rounds);
    assert_within(text, 80);
    SAYS(text, "0.19");
    SAYS(text, " 0.0");
    free(text);
}

Test(report, table_of_few_rounds_has_no_interval)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 5);
    char *text = text_of(TABLE, rounds);
    assert_within(text, 80);
    SAYS(text, "[unbounded]");
    SAYS(text, "5 rounds are too few for a 95 % interval, 6 are the least");
    OMITS(text, "inf");
    free(text);
}

Test(report, table_without_mimalloc_or_oracle_or_control_leaves_gaps)
{
    static const struct fixture_arm two[] = {{"locus", 100}, {"glibc", 250}};
    struct tb_rounds *rounds = FIXTURE(f, two, 10);
    rounds->dispatch = TB_DISPATCH_INLINE;
    char *text = text_of(TABLE, rounds);
    assert_within(text, 80);
    SAYS(text, "inline dispatch, 10 rounds");
    SAYS(text, "No A/A control ran");
    SAYS(text, "2.50 [2.50, 2.50]  -         -       1.02\n"); // to the best malloc; no base, no floor
    OMITS(text, "nan");
    free(text);
}

Test(report, table_uses_colour_only_when_asked_and_a_wide_terminal_for_names)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 10);
    char *text = text_in(TABLE, rounds, (struct tb_report_style){.colour = true, .columns = 140});
    SAYS(text, "> \033[1mlocus");
    SAYS(text, "malloc:/opt/a \"quoted\" place/with_a_long_name/libfast.so ");
    free(text);
}

Test(report, bench_table_shows_operations_and_ratios_in_80_columns)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 20);
    rounds->bench = true;
    fixture_invalidate(rounds, 0, SHARED, 3, "lost one");
    for (uint32_t round = 0; round < 20; round++)
        tb_rounds_sample(rounds, 0, MIMALLOC, round)->bench_ns[TB_BENCH_PUSH] = 0;
    char *text = text_of(TABLE, rounds);
    assert_within(text, 80);
    SAYS(text, "alloc ns  bulk ns  push ns  free ns\n");
    SAYS(text, "Times faster than mimalloc");
    SAYS(text, "4.00 [");
    SAYS(text, "INVALID: lost one (round 4)");
    free(text);
}

Test(report, style_of_no_terminal_is_plain_and_80_columns)
{
    FILE *out = tmpfile();
    struct tb_report_style style = tb_report_style(out);
    cr_assert(!style.colour && style.columns == 80);
    fclose(out);
}

Test(report, summary_says_who_is_ahead_and_by_how_much)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->cells_count = 4;
    f.cells[3].touch = TB_TOUCH_NONE;
    fixture_slow(rounds, 1, MIMALLOC, 1.5);
    fixture_invalidate(rounds, 2, SHARED, 11, "pushed 2688, drained 2687");
    char *text = text_of(ANSWER, rounds);
    assert_within(text, 80);
    unwrap(text);
    SAYS(text, "Full touch: locus is ahead on 3 of 3 workloads.");
    SAYS(text, "burst-storm 410 1.01 [1.01, 1.01] 1.80 [1.80, 1.80] jemalloc");
    SAYS(text, "No touch: locus is ahead.");
    SAYS(text, "INVALID and not ranked: locus-shared in 1 of 4 tables, first in long-tail, full touch: pushed 2688, drained 2687 "
               "(round 12).");
    SAYS(text, "cannot be seen on this machine (A/A of locus alone)");
    free(text);
}

Test(report, summary_says_as_plainly_when_locus_is_behind)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->cells_count = 2;
    for (uint32_t cell = 0; cell < 2; cell++) {
        fixture_slow(rounds, cell, LOCUS, 4);
        fixture_slow(rounds, cell, TWIN, 4);
    }
    char *text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "Full touch: locus-shared is ahead on 2 of 2 workloads, locus on none.");
    SAYS(text, " 4.03 [4.03, 4.03] 0.45 [0.45, 0.45] ");
    free(text);
}

Test(report, summary_counts_where_locus_wins_loses_and_neither)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->cells_count = 3;
    fixture_slow(rounds, 1, MIMALLOC, 0.5);
    fixture_slow(rounds, 1, TWIN, 1.01);
    fixture_slow(rounds, 2, MIMALLOC, 0.25);
    char *text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "locus is ahead on 2 of 3 workloads, mimalloc on 1");
    SAYS(text, "Over the next there is no difference that this run could see on some.");
    free(text);
}

Test(report, summary_calls_nothing_a_difference_that_the_control_shows_too)
{
    static const struct fixture_arm close[] = {{"mimalloc", 1020}, {"locus", 1000}, {"locus#2", 1000}};
    struct tb_rounds *rounds = FIXTURE(f, close, 30);
    char *text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "locus is ahead.");
    OMITS(text, "no difference");
    free(text);
    fixture_slow(rounds, 0, 2, 1.03); // the same contender, 3 % apart from itself
    text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "Over the next there is no difference that this run could see.");
    free(text);
}

Test(report, summary_says_what_it_cannot_know)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 4);
    char *text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "4 rounds are too few for a 95 % interval");
    free(text);
    rounds = fixture_open(&f, usual, TWIN, 20);
    for (uint32_t arm = 0; arm < TWIN; arm++)
        fixture_invalidate(rounds, 0, arm, 0, "lost one");
    text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "nobody is ahead: nothing valid to rank.");
    SAYS(text, "No A/A control ran");
    free(text);
}

Test(report, summary_finds_the_delay_that_was_put_in)
{
    static const struct fixture_arm arms[] = {{"mimalloc", 2000}, {"locus", 1000}, {"locus@delay:3", 1030}};
    struct tb_rounds *rounds = FIXTURE(f, arms, 30);
    f.arms[2].fault = TB_FAULT_DELAY;
    f.arms[2].fault_percent = 3;
    char *text = text_of(ANSWER, rounds);
    unwrap(text);
    SAYS(text, "The delay of 3 % put into locus@delay:3 was found in 1 of 1 tables, as 2.97 to 3.10 %.");
    free(text);
}

static json_t *json_of(const struct tb_rounds *rounds)
{
    char *text = text_of(JSON, rounds);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cr_assert(root, "line %d: %s", error.line, error.text);
    free(text);
    return root;
}

static json_t *json_arm(json_t *root, size_t cell, const char *name)
{
    json_t *arms = json_object_get(json_array_get(json_object_get(root, "cells"), cell), "arms");
    for (size_t i = 0; i < json_array_size(arms); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(arms, i), "name")), name) == 0)
            return json_array_get(arms, i);
    cr_assert_fail("no arm %s", name);
    return NULL;
}

static double json_at(json_t *object, const char *outer, const char *inner)
{
    json_t *value = json_object_get(object, outer);
    return json_number_value(inner ? json_object_get(value, inner) : value);
}

Test(report, json_reads_back_as_what_was_measured)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 30);
    rounds->cells_count = 2;
    f.schedules[0].ticks = 17038;
    tb_rounds_sample(rounds, 0, LOCUS, 7)->adjacency_known = true;
    tb_rounds_sample(rounds, 0, LOCUS, 7)->adjacency = 0.25;
    json_t *root = json_of(rounds), *locus = json_arm(root, 0, "locus");
    struct tb_row row;
    tb_rounds_row(rounds, 0, LOCUS, &row);
    cr_assert_str_eq(json_string_value(json_object_get(root, "command")), "locus eval");
    cr_assert_eq(json_integer_value(json_object_get(root, "seed")), 41);
    json_t *cell = json_array_get(json_object_get(root, "cells"), 0);
    cr_assert_eq(json_integer_value(json_object_get(cell, "ticks")), 17038);
    cr_assert_str_eq(json_string_value(json_object_get(cell, "touch")), "full");
    cr_assert_eq(json_at(cell, "resolution", NULL), tb_rounds_resolution(rounds, 0));
    cr_assert_eq(json_at(locus, "median_ns", NULL), row.ns_median);
    cr_assert_eq(json_at(locus, "vs_mimalloc", "estimate"), row.vs_base.estimate);
    cr_assert_eq(json_at(locus, "vs_mimalloc", "high"), row.vs_base.high);
    cr_assert_eq(json_at(locus, "vs_oracle", "low"), row.vs_oracle.low);
    cr_assert(fabs(json_at(locus, "vs_best_malloc", "estimate") - 1.8) < 0.005);
    cr_assert_eq(json_at(locus, "outstanding_high_ratio", NULL), 1.02);
    cr_assert_eq(json_at(locus, "adjacency", NULL), 0.25);
    cr_assert_eq(json_at(locus, "allocated", NULL), 2688);
    json_t *samples = json_object_get(locus, "samples_ns");
    cr_assert_eq(json_array_size(samples), 30);
    for (uint32_t round = 0; round < 30; round++)
        cr_assert_eq(json_real_value(json_array_get(samples, round)), tb_rounds_sample(rounds, 0, LOCUS, round)->lap_ns);
    json_decref(root);
}

Test(report, json_says_null_for_what_is_absent_or_no_number)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 5);
    fixture_invalidate(rounds, 0, SHARED, 0, "lost one");
    tb_rounds_sample(rounds, 0, SHARED, 1)->lap_ns = NAN;
    tb_rounds_sample(rounds, 0, SHARED, 2)->allocated++;
    f.schedules[0].blocks_peak = 0;
    rounds->seed = UINT64_MAX;
    json_t *root = json_of(rounds), *locus = json_arm(root, 0, "locus"), *shared = json_arm(root, 0, "locus-shared");
    cr_assert(json_is_null(json_object_get(json_object_get(locus, "vs_mimalloc"), "high")), "unbounded");
    cr_assert(json_is_null(json_object_get(json_object_get(locus, "vs_mimalloc"), "low")));
    cr_assert(json_is_null(json_object_get(locus, "outstanding_high_ratio")), "no peak to compare with");
    cr_assert(json_is_null(json_object_get(locus, "adjacency")), "as from a log that lacks it");
    cr_assert(json_is_null(json_object_get(locus, "invalid")) && json_is_true(json_object_get(locus, "valid")));
    cr_assert(json_is_false(json_object_get(shared, "valid")));
    cr_assert_str_eq(json_string_value(json_object_get(shared, "invalid")), "lost one (round 1)");
    cr_assert(json_is_null(json_object_get(shared, "median_ns")));
    cr_assert(json_is_null(json_object_get(shared, "vs_mimalloc")));
    cr_assert(json_is_null(json_object_get(shared, "allocated")), "it differs between rounds");
    cr_assert(json_is_null(json_array_get(json_object_get(shared, "samples_ns"), 1)));
    cr_assert_str_eq(json_string_value(json_object_get(root, "seed")), "18446744073709551615");
    json_decref(root);
}

Test(report, json_survives_a_path_that_is_no_utf8)
{
    static const struct fixture_arm broken[] = {{"malloc:/\xff\xc0\xaf\"\\/\xc3\xa9.so", 10}};
    struct tb_rounds *rounds = FIXTURE(f, broken, 6);
    rounds->bench = true;
    json_t *root = json_of(rounds), *arm = json_arm(root, 0, "malloc:/???\"\\/\xc3\xa9.so");
    cr_assert(json_object_get(json_object_get(arm, "bench"), "bulk"));
    json_decref(root);
}

static size_t allocations_left;

static void *scarce(size_t bytes)
{
    return allocations_left > 0 ? allocations_left--, malloc(bytes) : NULL;
}

Test(report, json_is_whole_or_an_error_whichever_allocation_fails)
{
    static const struct fixture_arm two[] = {{"mimalloc", 200}, {"locus", 100}};
    struct tb_rounds *rounds = FIXTURE(f, two, 6);
    rounds->bench = true;
    json_set_alloc_funcs(scarce, free);
    int rc = -ENOMEM;
    for (size_t allowed = 0; rc != 0; allowed++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        allocations_left = allowed;
        rc = emit(out, JSON, rounds, plain);
        fclose(out);
        cr_assert(rc == 0 ? bytes > 0 && allowed > 100 : rc == -ENOMEM && bytes == 0, "%zu allowed: %d", allowed, rc);
        free(text);
    }
}

Test(report, csv_has_a_line_for_every_sample_and_as_many_fields)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 7);
    rounds->cells_count = 2;
    fixture_invalidate(rounds, 0, SHARED, 0, "lost \"one\", or two");
    *tb_rounds_sample(rounds, 0, LOCUS, 1) = (struct tb_sample){.lap_ns = NAN};
    char *text = text_of(CSV, rounds);
    size_t lines = 0, header = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++) {
        size_t fields = 1;
        bool quoted = false;
        for (const char *c = line; *c != '\n'; c++) {
            quoted ^= *c == '"';
            fields += *c == ',' && !quoted;
        }
        header = lines == 0 ? fields : header;
        cr_assert_eq(fields, header, "line %zu has %zu fields", lines + 1, fields);
    }
    cr_assert_eq(lines, 1 + 2 * rounds->arms_count * 7);
    SAYS(text, "\"lost \"\"one\"\", or two\"");
    SAYS(text, "\"malloc:/opt/a \"\"quoted\"\" place/with_a_long_name/libfast.so\"");
    OMITS(text, "nan");
    free(text);
}

Test(report, a_full_disk_is_an_error)
{
    struct tb_rounds *rounds = FIXTURE(f, usual, 10);
    FILE *full = fopen("/dev/full", "w");
    cr_assert(full);
    for (enum form form = TABLE; form <= CSV; form++) {
        cr_assert_eq(emit(full, form, rounds, plain), -ENOSPC);
        clearerr(full);
    }
    fclose(full);
}
