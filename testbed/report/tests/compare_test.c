// SPDX-License-Identifier: Apache-2.0
//
// compare: two runs whose truth is known.
#include <criterion/criterion.h>
#include <math.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/doc/emit.h"
#include "testbed/judge/tests/nodes_fixture.h"
#include "testbed/judge/tests/record_fixture.h"
#include "testbed/record/store.h"
#include "testbed/report/hosts/compare.h"
#include "testbed/stats/stats.h"

static char why[1024], folder[] = "/tmp/compare-test-XXXXXX";
static struct tb_log_view first, second;

static void enter(void)
{
    cr_assert(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void leave(void)
{
    tb_log_view_close(&first);
    tb_log_view_close(&second);
    cr_assert_eq(tb_child_remove(folder), 0);
}

static struct record_fixture fixture_of(const char *host, const char *run, unsigned seed, double factor)
{
    return (struct record_fixture){.root = "logs",
                                   .host = host,
                                   .kind = "official",
                                   .run = run,
                                   .commit = FIXTURE_COMMIT,
                                   .dirty = "no",
                                   .seed = seed,
                                   .factor = factor,
                                   .rounds = 20,
                                   .invalid_round = -1};
}

static void load(struct tb_log_view *view, const struct record_fixture *fixture)
{
    char path[4096];
    cr_assert_eq(record_fixture_make(fixture, path, sizeof path), 0);
    cr_assert_eq(tb_store_load(path, view, why, sizeof why), 0, "%s", why);
}

static void load_two(double factor)
{
    struct record_fixture one = fixture_of("bm1", "0002-20261121T101500Z-aaaaaa", 1, 1);
    struct record_fixture two = fixture_of("bm2", "0002-20261121T111500Z-bbbbbb", 2, factor);
    load(&first, &one);
    load(&second, &two);
}

static const json_t *item(const json_t *object, const char *list, size_t index)
{
    return json_array_get(tb_member(object, list), index);
}

static void written(json_t *comparison, FILE *stream)
{
    struct tb_doc *doc = tb_compare_doc(NULL, comparison);
    cr_assert_eq(tb_emit_text(stream, doc, (struct tb_report_style){.columns = 80}), 0);
    tb_doc_close(doc);
}

Test(compare, finds_the_arm_that_became_slower_and_no_other, .init = enter, .fini = leave)
{
    json_t *comparison;
    load_two(1.05);
    cr_assert_eq(tb_compare(&first, &second, &comparison), 0);
    cr_assert_eq(json_array_size(tb_member(comparison, "cells")), 2);
    const json_t *cell = item(comparison, "cells", 0);
    cr_assert_str_eq(tb_member_text(cell, "cell"), "churn-touch/full");
    const json_t *same = item(cell, "arms", 0), *slower = item(cell, "arms", 1), *twin = item(cell, "arms", 2);
    cr_assert_str_eq(tb_member_text(slower, "name"), "glibc");
    cr_assert(tb_member_number(slower, "ratio.low") > 1.04 && tb_member_number(slower, "ratio.high") < 1.06);
    cr_assert(tb_member_number(same, "ratio.low") < 1 && tb_member_number(same, "ratio.high") > 1);
    cr_assert(tb_member_number(slower, "ratio.confidence") >= 0.95);
    cr_assert_str_eq(json_string_value(item(twin, "keys", 1)), "C", "the second of an A/A pair goes with the second");
    cr_assert_str_eq(tb_member_text(item(comparison, "runs", 1), "host"), "bm2");
    cr_assert_eq(json_array_size(tb_member(comparison, "differences")), 0);
    json_decref(comparison);
}

Test(compare, of_an_emulated_guest_compares_counts_and_no_times, .init = enter, .fini = leave)
{
    json_t *comparison;
    struct record_fixture one = fixture_of("bm1", "0002-20261121T101500Z-aaaaaa", 1, 1);
    struct record_fixture two = fixture_of("bm2", "0002-20261121T111500Z-bbbbbb", 2, 1);
    two.dress = fixture_dress_guest;
    load(&first, &one);
    load(&second, &two);
    cr_assert_eq(tb_compare(&first, &second, &comparison), 0);
    const json_t *glibc = item(item(comparison, "cells", 0), "arms", 1);
    cr_assert(json_is_null(tb_member(glibc, "ratio")));
    cr_assert(json_is_number(item(glibc, "medians_ns", 0)) && json_is_null(item(glibc, "medians_ns", 1)));
    cr_assert(json_is_null(item(glibc, "counts.wandered_ratio", 0)), "an older log has none");
    double *values, worst = 0;
    size_t count;
    cr_assert_eq(tb_log_values(&second, 0, "B", "remote_touch_ratio", &values, &count), 0);
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, values[i]);
    free(values);
    cr_assert(worst > 0.1 && json_number_value(item(glibc, "counts.remote_touch_ratio", 1)) == worst);
    cr_assert_str_eq(tb_member_text(item(comparison, "runs", 1), "emulated"), "n2");
    cr_assert(json_is_null(tb_member(item(comparison, "runs", 0), "emulated")));
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    written(comparison, stream);
    fclose(stream);
    cr_expect(strstr(text, " an emulated guest (n2): counts, no times\n"), "%s", text);
    cr_expect(strstr(text, "  no times\n"), "%s", text);
    char row[96];
    snprintf(row, sizeof row, "remote touches         -  %.4f  worst round, counted", worst);
    cr_expect(strstr(text, row), "no '%s' in\n%s", row, text);
    cr_expect_not(strstr(text, "no valid sample"), "%s", text);
    free(text);
    json_decref(comparison);
}

Test(compare, names_what_differs_and_what_one_run_alone_has, .init = enter, .fini = leave)
{
    json_t *comparison;
    struct record_fixture one = fixture_of("bm1", "0002-20261121T101500Z-aaaaaa", 1, 1);
    struct record_fixture two = fixture_of("bm2", "0002-20261121T111500Z-bbbbbb", 2, 1);
    one.commit = "1111111111111111111111111111111111111111";
    two.rounds = 8;
    two.library = "mimalloc";
    load(&first, &one);
    load(&second, &two);
    cr_assert_eq(tb_compare(&first, &second, &comparison), 0);
    cr_assert_str_eq(json_string_value(json_array_get(item(comparison, "only", 0), 0)), "glibc");
    cr_assert_str_eq(json_string_value(json_array_get(item(comparison, "only", 1), 0)), "mimalloc");
    const json_t *rounds = item(comparison, "differences", 0), *commit = NULL, *entry;
    size_t i;
    cr_assert_str_eq(tb_member_text(rounds, "what"), "design.rounds");
    cr_assert_eq(json_integer_value(item(rounds, "values", 1)), 8);
    json_array_foreach (tb_member(comparison, "differences"), i, entry)
        if (strcmp(tb_member_text(entry, "what"), "build.commit") == 0)
            commit = entry;
    cr_assert(commit);
    cr_assert_str_eq(json_string_value(item(commit, "values", 1)), FIXTURE_COMMIT);
    json_decref(comparison);
}

Test(compare, text_fits_80_columns, .init = enter, .fini = leave)
{
    json_t *comparison;
    char *text = NULL;
    size_t bytes;
    load_two(1.05);
    cr_assert_eq(tb_compare(&first, &second, &comparison), 0);
    FILE *stream = open_memstream(&text, &bytes);
    written(comparison, stream);
    cr_assert_eq(fclose(stream), 0);
    cr_assert(strstr(text, "rank-sum interval, unpaired") && strstr(text, "Nothing else differs."));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        cr_assert_leq(strlen(line), 80, "%s", line);
    free(text);
    json_decref(comparison);
}

// A log is input: what stands in it must not steer the terminal.
Test(compare, text_has_no_control_characters_of_the_logs, .init = enter, .fini = leave)
{
    static const char *const members[] = {"run", "host", "kind", "verdict"};
    json_t *comparison;
    char *text = NULL;
    size_t bytes;
    load_two(1);
    cr_assert_eq(tb_compare(&first, &second, &comparison), 0);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        json_object_set_new(json_array_get(json_object_get(comparison, "runs"), 1), members[i], json_string("\033[31m"));
    json_object_set_new(json_array_get(json_object_get(comparison, "cells"), 0), "cell", json_string("\033[31m"));
    FILE *stream = open_memstream(&text, &bytes);
    written(comparison, stream);
    cr_assert_eq(fclose(stream), 0);
    cr_assert_null(strchr(text, '\033'));
    free(text);
    json_decref(comparison);
}

// The four predicted figures (P1, P2, and two parts of P3): how many agree, and is the whole reproduced as `reproduced` says?
static json_t *figures(size_t agreed, bool reproduced)
{
    json_t *all, *list = tb_compare_predictions(&first, &second, &all);
    const json_t *entry;
    size_t i, count = 0;
    cr_assert_eq(json_array_size(list), 4);
    json_array_foreach (list, i, entry)
        count += json_is_true(tb_member(entry, "agrees"));
    cr_expect_eq(count, agreed, "%zu agree", count);
    cr_expect(json_is_boolean(all) && json_is_true(all) == reproduced);
    json_decref(all);
    return list;
}

Test(compare, same_truth_is_reproduced, .init = enter, .fini = leave)
{
    load_two(1);
    json_t *list = figures(4, true);
    cr_assert_str_eq(tb_member_text(json_array_get(list, 1), "how"), "the same figure");
    cr_assert_str_eq(tb_member_text(json_array_get(list, 3), "cell"), "churn-touch/byte");
    cr_assert_str_eq(tb_member_text(json_array_get(list, 3), "over"), "B");
    json_decref(list);
}

Test(compare, another_truth_is_not_although_the_claim_survives_it, .init = enter, .fini = leave)
{
    load_two(1.04);
    json_t *list = figures(1, false); // the exact one alone
    cr_assert_str_eq(tb_member_text(json_array_get(list, 0), "how"), "the intervals do not meet");
    cr_assert_str_eq(tb_member_text(item(json_array_get(list, 0), "figures", 1), "verdict"), "survived");
    json_decref(list);
}

Test(compare, a_smaller_figure_is_not_either, .init = enter, .fini = leave)
{
    load_two(0.96);
    json_decref(figures(1, false));
}

Test(compare, few_rounds_are_held_against_the_interval_there_is, .init = enter, .fini = leave)
{
    struct record_fixture one = fixture_of("bm1", "0002-20261121T101500Z-aaaaaa", 1, 1);
    struct record_fixture two = fixture_of("bm2", "0002-20261121T111500Z-bbbbbb", 2, 1.03);
    two.rounds = 4;
    load(&first, &one);
    load(&second, &two);
    json_t *list = figures(1, false);
    cr_assert_str_eq(tb_member_text(json_array_get(list, 0), "how"), "outside the one interval there is");
    json_decref(list);
    tb_log_view_close(&first);
    one.rounds = 4;
    one.run = "0002-20261121T101500Z-cccccc";
    load(&first, &one);
    list = figures(1, false);
    cr_assert_str_eq(tb_member_text(json_array_get(list, 0), "how"), "too few rounds in both for an interval");
    json_decref(list);
}

Test(compare, of_other_arms_is_of_another_experiment, .init = enter, .fini = leave)
{
    struct record_fixture one = fixture_of("bm1", "0002-20261121T101500Z-aaaaaa", 1, 1);
    struct record_fixture two = fixture_of("bm2", "0002-20261121T111500Z-bbbbbb", 2, 1);
    json_t *all;
    two.library = "mimalloc";
    load(&first, &one);
    load(&second, &two);
    json_t *list = tb_compare_predictions(&first, &second, &all);
    cr_assert(json_array_size(list) == 0 && json_is_null(all));
    json_decref(list);
}
