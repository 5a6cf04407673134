// SPDX-License-Identifier: Apache-2.0
//
// rules: the keys that only postulates of the second rules have, and that the first ones refuse.
#include "testbed/postulate/postulate.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH "postulates/0090-rules.md"

// `rules` is a line or nothing, `design` and `prediction` are more members, `pilot` is a line or nothing.
struct text {
    const char *rules, *rounds, *design, *prediction, *gates, *pilot;
};
static const struct text whole = {"rules: 2\n",
                                  "[30, 600]",
                                  ", pairing: laps, aa_band: 0.02, repeat_lost: 0.05, repeat_times: 2",
                                  ", zone: 1.2, gate: true",
                                  "aa_equivalent, host_fit",
                                  "pilot: {host: here, seed: 8, cells: [churn-touch/full]}\n"};

static int parse(const struct text *text, struct tb_postulate **out, struct tb_postulate_why *why)
{
    char file[2048];
    int bytes = snprintf(file, sizeof file,
                         "---\nid: \"0090\"\ntitle: t\n%srequires: []\narms: {A: locus, B: glibc, C: locus}\n"
                         "cells: [churn-touch/full, burst-storm/byte]\ndesign: {unit: process, rounds: %s, order: random, "
                         "dispatch: spin, workers: 1, block_bytes: 4096, laps: 100, seed: 7%s}\npredictions:\n"
                         "  - {id: P1, metric: time_ns, cell: churn-touch/full, stat: hl_ratio(B/A), op: \">=\", value: 1.25, "
                         "unit: x%s}\n  - {id: P2, metric: time_ns, cell: burst-storm/byte, stat: hl_ratio(B/A), op: \"<=\", "
                         "value: 1.25, unit: x}\ngates: [%s]\n%sprior: nothing\n---\n",
                         text->rules, text->rounds, text->design, text->prediction, text->gates, text->pilot);
    return tb_postulate_parse(PATH, file, (size_t)bytes, out, why);
}

Test(rules, all_keys_are_read)
{
    struct tb_postulate *p;
    struct tb_postulate_why why;
    char shown[128];
    cr_assert_eq(parse(&whole, &p, &why), 0, "%s", why.text);
    cr_expect(p->rules == 2 && p->rounds == 30 && p->rounds_max == 600 && p->pair_laps);
    cr_expect(p->aa_band == 0.02 && p->repeat_lost == 0.05 && p->repeat_times == 2);
    cr_expect(p->pilot.tried && p->pilot.seed == 8 && p->pilot.cells_count == 1);
    cr_expect_str_eq(p->pilot.host, "here");
    cr_expect(p->predictions[0].zone == 1.2 && p->predictions[0].gate && !p->predictions[1].gate);
    cr_expect_str_eq(tb_prediction_text(&p->predictions[0], shown, sizeof shown), "hl_ratio(B/A) >= 1.25, zone to 1.2");
    cr_expect_not(tb_prediction_blind(p, &p->predictions[0]), "its cell was tried");
    cr_expect(tb_prediction_blind(p, &p->predictions[1]));
    tb_postulate_close(p);
}

Test(rules, a_pattern_is_blind_to_what_was_tried_in_cells_that_the_postulate_has_not)
{
    struct text other = whole;
    struct tb_postulate *p;
    struct tb_postulate_why why;
    other.pilot = "pilot: {host: here, seed: 8, cells: [long-tail/full]}\n";
    cr_assert_eq(parse(&other, &p, &why), 0, "%s", why.text);
    strcpy(p->predictions[0].cell, "*/full");
    cr_expect(tb_prediction_blind(p, &p->predictions[0]));
    strcpy(p->pilot.cells[0], "churn-touch/full");
    cr_expect_not(tb_prediction_blind(p, &p->predictions[0]));
    tb_postulate_close(p);
}

Test(rules, the_first_ones_are_meant_where_none_are_named)
{
    static const struct text plain = {"", "20", "", "", "host_fit", ""};
    struct tb_postulate *p;
    struct tb_postulate_why why;
    cr_assert_eq(parse(&plain, &p, &why), 0, "%s", why.text);
    cr_expect(p->rules == 1 && p->rounds == 20 && p->rounds_max == 20 && !p->pair_laps && !p->pilot.tried);
    cr_expect_not(tb_prediction_blind(p, &p->predictions[1]), "nobody asked");
    tb_postulate_close(p);
}

Test(rules, each_mistake_is_named)
{
#define WITH(member, value, words)                                                                                                 \
    {                                                                                                                              \
        offsetof(struct text, member), value, words                                                                                \
    }
    static const struct {
        size_t member;
        const char *value, *words;
    } cases[] = {
        WITH(rules, "", "need the key rules: 2"),
        WITH(rules, "rules: 1\n", "'rules' has to be a whole number from 2"),
        WITH(rounds, "[30]", "[first, last]"),
        WITH(rounds, "[30, 30]", "the first below the last"),
        WITH(rounds, "[0, 30]", "a whole number from 1"),
        WITH(design, ", repeat_lost: 0.05, aa_band: 0.02", "go together"),
        WITH(design, ", aa_band: 1", "above 0 and below 1"),
        WITH(design, ", pairing: cells", "one of rounds, laps"),
        WITH(design, "", "needs two arms with the same contender, and aa_band"),
        WITH(prediction, ", zone: 1.25", "'zone' has to be above 0, and below 'value'"),
        WITH(prediction, ", gate: false", "has to be true"),
        WITH(prediction, ", cell_under: churn-touch/full", "are both 'churn-touch/full'"),
        WITH(prediction, ", cell_under: burst-storm/byte", "are not of the same workload"),
        WITH(prediction, ", cell_under: churn-touch/byte", "'churn-touch/byte' is none of the cells"),
        WITH(pilot, "", "no key 'pilot'"),
        WITH(pilot, "pilot: some\n", "'pilot' is none, or has"),
        WITH(pilot, "pilot: {host: here, seed: 7, cells: []}\n", "the pilot's seed is the run's"),
        WITH(pilot, "pilot: {host: here, seed: 8}\n", "no key 'cells'"),
        WITH(pilot, "pilot: {host: here, seed: 8, cells: [nowhere/full]}\n", "cell 'nowhere/full' is not a cell"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = whole;
        struct tb_postulate *p = NULL;
        struct tb_postulate_why why = {""};
        memcpy((char *)&text + cases[i].member, &cases[i].value, sizeof cases[i].value);
        cr_expect_eq(parse(&text, &p, &why), -EINVAL, "'%s' was taken", cases[i].value);
        cr_expect(strstr(why.text, cases[i].words), "'%s' does not say '%s'", why.text, cases[i].words);
        tb_postulate_close(p);
    }
}

Test(rules, keys_of_the_second_are_refused_by_the_first)
{
    static const struct text cases[] = {
        {"", "[30, 60]", "", "", "host_fit", ""},        {"", "30", ", pairing: laps", "", "host_fit", ""},
        {"", "30", "", ", zone: 1.2", "host_fit", ""},   {"", "30", "", ", gate: true", "host_fit", ""},
        {"", "30", "", "", "host_fit", "pilot: none\n"}, {"", "30", "", ", cell_under: burst-storm/byte", "host_fit", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tb_postulate *p = NULL;
        struct tb_postulate_why why = {""};
        cr_expect_eq(parse(&cases[i], &p, &why), -EINVAL, "case %zu was taken", i);
        cr_expect(strstr(why.text, "rules: 2"), "'%s' does not say which key", why.text);
        tb_postulate_close(p);
    }
}

// Three cells of one workload, and a prediction about two of them.
static int parse_two_cells(const char *stat, const char *cells, const char *tried, struct tb_postulate **out,
                           struct tb_postulate_why *why)
{
    char file[2048];
    int bytes =
        snprintf(file, sizeof file,
                 "---\nid: \"0090\"\ntitle: t\nrules: 2\nrequires: []\narms: {A: locus, B: glibc}\n"
                 "cells: [churn-touch/full, churn-touch/byte, churn-touch/full/64KiB]\ndesign: {unit: process, rounds: [30, 60], "
                 "order: random, dispatch: spin, workers: 1, block_bytes: 4096, laps: 100, seed: 7}\npredictions:\n"
                 "  - {id: P1, metric: time_ns, %s, stat: %s, op: \">=\", value: 1.25, unit: x}\ngates: []\n"
                 "pilot: {host: here, seed: 8, cells: [%s]}\nprior: nothing\n---\n",
                 cells, stat, tried);
    return tb_postulate_parse(PATH, file, (size_t)bytes, out, why);
}

Test(rules, an_arm_is_compared_with_itself_in_another_cell)
{
    static const char *const cells = "cell: churn-touch/full/64KiB, cell_under: churn-touch/full";
    struct tb_postulate *p;
    struct tb_postulate_why why;
    char shown[160];
    cr_assert_eq(parse_two_cells("hl_ratio(A/A)", cells, "churn-touch/full/64KiB", &p, &why), 0, "%s", why.text);
    cr_expect_str_eq(tb_prediction_text(&p->predictions[0], shown, sizeof shown),
                     "hl_ratio(A/A) >= 1.25, over A in churn-touch/full");
    cr_expect(tb_prediction_blind(p, &p->predictions[0]), "one of the two cells was not tried");
    strcpy(p->pilot.cells[p->pilot.cells_count++], "churn-touch/full");
    cr_expect_not(tb_prediction_blind(p, &p->predictions[0]));
    tb_postulate_close(p);
}

Test(rules, two_cells_are_for_a_ratio_of_two_arms)
{
    static const char *const stats[] = {"order(A<B)", "hl_ratio(*/A)"};
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        struct tb_postulate *p = NULL;
        struct tb_postulate_why why = {""};
        const char *cells = "cell: churn-touch/byte, cell_under: churn-touch/full";
        cr_expect_eq(parse_two_cells(stats[i], cells, "churn-touch/full", &p, &why), -EINVAL, "%s was taken", stats[i]);
        cr_expect(strstr(why.text, "'cell_under' is for a ratio of two arms"), "%s", why.text);
        tb_postulate_close(p);
    }
}
