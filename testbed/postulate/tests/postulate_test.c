// SPDX-License-Identifier: Apache-2.0
//
// postulate: what is written is read to the last key, and each way of being wrong is said in one sentence with its line.
//
// The broken ones are made from one good text by replacing a line's part, so that a case shows its mistake and nothing else.
#include "testbed/postulate/postulate.h"
#include "testbed/postulate/sum.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEN "ten_bytes_"
#define PATH "postulates/0002-churn-against-glibc.md"

static const char good[] = "---\n"                                                                  // 1
                           "id: \"0002\"\n"                                                         // 2
                           "title: glibc pays for churn on Linux, too\n"                            // 3
                           "reproduces: \"0360\"\n"                                                 // 4
                           "supersedes: \"0001\"\n"                                                 // 5
                           "requires: [cpus >= 2, workers_pinned]\n"                                // 6
                           "arms: {A: locus, B: glibc, C: locus}\n"                                 // 7
                           "cells: [churn-touch/full, burst-storm/byte]\n"                          // 8
                           "design:\n"                                                              // 9
                           "  {unit: process, rounds: 20, order: random, dispatch: spin,\n"         // 10
                           "   workers: 1, block_bytes: 4096, laps: 20, seed: 7}\n"                 // 11
                           "predictions:\n"                                                         // 12
                           "  - {id: P1, metric: time_ns, cell: churn-touch/full,\n"                // 13
                           "     stat: hl_ratio(B/A), op: \">=\", value: 1.25, unit: x, confidence: 0.99, margin: 0.02}\n" // 14
                           "  - {id: P2, metric: outstanding_ratio, cell: \"*\",\n"                 // 15
                           "     stat: max, arm: A, op: \"==\", value: 1, unit: ratio}\n"           // 16
                           "  - {id: P3, metric: time_ns, cell: \"*/full\",\n"                      // 17
                           "     stat: median_ratio(*/A), op: within, value: [0.5, 2e1], unit: x}\n" // 18
                           "gates: [allocated == freed, aa_ratio_ci contains 1]\n"                  // 19
                           "prior: |\n"                                                             // 20
                           "  the paper saw 1.15\n"                                                 // 21
                           "  on macOS\n"                                                           // 22
                           "---\n"                                                                  // 23
                           "# Why\n\n--- is no fence here\n---\nneither is that\n";

// The good text with the first `from` replaced by `to`, in a buffer of exactly its size (so that ASan sees a read beyond it).
static char *changed(const char *from, const char *to, size_t *bytes)
{
    const char *at = strstr(good, from);
    cr_assert_not_null(at, "the good text has no '%s'", from);
    size_t before = (size_t)(at - good), rest = strlen(at + strlen(from));
    *bytes = before + strlen(to) + rest;
    char *text = malloc(*bytes);
    memcpy(text, good, before);
    memcpy(text + before, to, strlen(to));
    memcpy(text + before + strlen(to), at + strlen(from), rest);
    return text;
}

static void expect_error(const char *path, const char *text, size_t bytes, unsigned line, const char *words)
{
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    char begin[256];
    snprintf(begin, sizeof begin, "%s:%u: ", path, line);
    int rc = tb_postulate_parse(path, text, bytes, &postulate, &why);
    cr_expect_eq(rc, -EINVAL, "'%s' was taken", words);
    cr_expect_null(postulate);
    cr_expect(strncmp(why.text, begin, strlen(begin)) == 0, "'%s' does not begin with '%s'", why.text, begin);
    cr_expect(strstr(why.text, words), "'%s' does not say '%s'", why.text, words);
    cr_expect_null(strchr(why.text, '\n'));
    tb_postulate_close(postulate);
}

static struct tb_postulate *parse_good(const char *text, size_t bytes)
{
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    cr_assert_eq(tb_postulate_parse(PATH, text, bytes, &postulate, &why), 0, "%s", why.text);
    cr_expect_str_empty(why.text);
    return postulate;
}

Test(postulate, is_read_to_the_last_key)
{
    struct tb_postulate *p = parse_good(good, strlen(good));
    cr_expect_str_eq(p->path, PATH);
    cr_expect_str_eq(p->id, "0002");
    cr_expect_str_eq(p->slug, "churn-against-glibc");
    cr_expect_str_eq(p->title, "glibc pays for churn on Linux, too");
    cr_expect_str_eq(p->reproduces, "0360");
    cr_expect_str_eq(p->supersedes, "0001");
    cr_assert_eq(p->needs_count, 2);
    cr_expect_str_eq(p->needs[0], "cpus >= 2");
    cr_assert_eq(p->arms_count, 3);
    cr_expect_str_eq(p->arms[1].key, "B");
    cr_expect_str_eq(p->arms[1].name, "glibc");
    cr_assert_eq(p->cells_count, 2);
    cr_expect_str_eq(p->cells[1], "burst-storm/byte");
    cr_expect(p->rounds == 20 && p->workers == 1 && p->block_bytes == 4096 && p->laps == 20 && p->seed == 7);
    cr_expect_str_eq(p->dispatch, "spin");
    cr_expect_str_eq(p->unit, "process");
    cr_expect_str_eq(p->order, "random");
    cr_assert_eq(p->gates_count, 2);
    cr_expect_str_eq(p->gates[1], "aa_ratio_ci contains 1");
    cr_expect_str_eq(p->prior, "the paper saw 1.15\non macOS\n");
    cr_expect_str_eq(p->body, "# Why\n\n--- is no fence here\n---\nneither is that\n");
    tb_postulate_close(p);
}

Test(postulate, a_claim_in_words_may_go_with_the_formula)
{
    size_t bytes;
    char *text = changed("{id: P1, ", "{id: P1, claim: \"glibc takes a quarter longer, or more\", ", &bytes), long_claim[200];
    struct tb_postulate *p = parse_good(text, bytes);
    cr_expect_str_eq(p->predictions[0].claim, "glibc takes a quarter longer, or more");
    cr_expect_str_empty(p->predictions[1].claim);
    tb_postulate_close(p);
    free(text);
    snprintf(long_claim, sizeof long_claim, "{id: P1, claim: %0170d, ", 0);
    text = changed("{id: P1, ", long_claim, &bytes);
    expect_error(PATH, text, bytes, 13, "'claim'");
    free(text);
    text = changed("{id: P1, ", "{id: P1, claim: \"two\\nlines\", ", &bytes);
    expect_error(PATH, text, bytes, 13, "'claim' has to be one line");
    free(text);
}

Test(postulate, predictions_are_read_and_shown)
{
    static const char *const texts[] = {"hl_ratio(B/A) >= 1.25", "max(A) of outstanding_ratio == 1",
                                        "median_ratio(*/A) within [0.5, 20]"};
    struct tb_postulate *p = parse_good(good, strlen(good));
    char text[128];
    cr_assert_eq(p->predictions_count, 3);
    for (size_t i = 0; i < 3; i++)
        cr_expect_str_eq(tb_prediction_text(&p->predictions[i], text, sizeof text), texts[i]);
    cr_expect_eq(p->predictions[0].confidence, 0.99);
    cr_expect_eq(p->predictions[0].margin, 0.02);
    cr_expect_eq(p->predictions[1].confidence, 0.95);
    cr_expect_eq(p->predictions[1].margin, 0);
    cr_expect_eq(p->predictions[0].line, 13);
    cr_expect_eq(p->predictions[2].line, 17);
    tb_postulate_close(p);
}

Test(postulate, a_claim_in_words_is_kept_and_may_be_left_out)
{
    size_t bytes;
    char *text = changed("id: P1", "id: P1, claim: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN, &bytes);
    struct tb_postulate *p = parse_good(text, bytes);
    cr_expect_eq(strlen(p->predictions[0].claim), 160);
    cr_expect_str_empty(p->predictions[1].claim);
    tb_postulate_close(p);
    free(text);
}

#define P2_FROM "  - {id: P2, metric: outstanding_ratio, cell: \"*\",\n     stat: max, arm: A, op: \"==\", value: 1, unit: ratio}\n"

Test(postulate, a_sum_is_arithmetic_in_place_of_a_measurement)
{
    size_t bytes;
    char shown[256],
        *text = changed(P2_FROM, "  - {id: S1, sum: \"0.7 * 80\", op: \"==\", value: 56, claim: 30 % of 80}\n", &bytes);
    struct tb_postulate *p = parse_good(text, bytes);
    cr_assert_eq(p->predictions_count, 3);
    cr_expect_eq(p->predictions[1].stat, TB_STAT_SUM);
    cr_expect_str_eq(p->predictions[1].claim, "30 % of 80");
    cr_expect_str_eq(tb_prediction_text(&p->predictions[1], shown, sizeof shown), "0.7 * 80 == 56");
    tb_postulate_close(p);
    free(text);
    text = changed(P2_FROM, "  - {id: S1, sum: \"-2 / 3\", op: within, value: [-0.66666666666666666, 1099511627776]}\n", &bytes);
    p = parse_good(text, bytes);
    cr_expect_eq(p->predictions[1].low, -0.666666666667);
    cr_expect_eq(p->predictions[1].high, 1099511627776);
    tb_postulate_close(p);
    free(text);
    static const struct {
        const char *entry, *words;
    } bad[] = {
        {"  - {id: S1, sum: \"0.7 * x\", op: \"==\", value: 56}\n", "'sum' cannot be worked out: at character 7, 'x'"},
        {"  - {id: S1, sum: \"1 / 0\", op: \"==\", value: 56}\n", "no finite value"},
        {"  - {id: S1, sum: \"1\", op: \"==\", value: 56, cell: \"*\"}\n", "unknown key 'cell' in a sum"},
        {"  - {id: P2, metric: faults, cell: \"*\", stat: max, arm: A, op: \"==\", value: 0, unit: count}\n",
         "P2: faults are counted of traps alone"},
        {"  - {id: P1, sum: \"1\", op: \"==\", value: 56}\n", "two predictions are called P1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text = changed(P2_FROM, bad[i].entry, &bytes);
        expect_error(PATH, text, bytes, 15, bad[i].words);
        free(text);
    }
}

Test(postulate, a_sum_has_the_usual_precedence_and_twelve_digits)
{
    static const struct {
        const char *text;
        double value;
    } good_sums[] = {
        {"1 + 2 * 3", 7},
        {"(1+2)*3", 9},
        {"10 - 4 - 3", 3},
        {"64 / 4 / 2", 8},
        {"-2 * -3", 6},
        {"0.1 * 3", 0.3},
        {"ceil(1000 / 16)", 63},
        {"floor(-0.5)", -1},
        {" ceil ( 2 * floor(3.7) / 4 ) ", 2},
        {"7e1", 70},
        {"1 - 0.7 - 0.15 - 0.1 - 0.05", 0},
        {"1e-15 + 1e-16", 1.1e-15},
        {"3 / 100000000", 3e-8},
        {"131072 / (64 * 1024 * 1024 * 1024)", 1.90734863281e-06},
        {"1024 * 1024 * 1024 * 1024", 1099511627776},
        {"floor(0.57 * 100)", 57},
        {"ceil(1.1 * 1.1 * 100)", 121},
        {"122 - 168", -46},
    };
    static const char *const bad_sums[] = {"",       "1 +",     "(1",    "1)",     "1 2", "inf",         "0x10",
                                           "1 // 2", "floor 3", "0 / 0", "ceil()", "* 3", "1 / (1 / 0)", "5 + 1 / 1e999"};
    char why[96], deep[80];
    double value;
    for (size_t i = 0; i < sizeof good_sums / sizeof *good_sums; i++) {
        cr_expect_eq(tb_sum(good_sums[i].text, &value, why, sizeof why), 0, "%s", good_sums[i].text);
        cr_expect_eq(value, good_sums[i].value, "%s is %.17g", good_sums[i].text, value);
    }
    for (size_t i = 0; i < sizeof bad_sums / sizeof *bad_sums; i++)
        cr_expect_eq(tb_sum(bad_sums[i], &value, why, sizeof why), -EINVAL, "%s", bad_sums[i]);
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    cr_expect_eq(tb_sum(deep, &value, why, sizeof why), -EINVAL);
}

Test(postulate, a_conjunction_knows_its_parts)
{
    struct tb_postulate *p = parse_good(good, strlen(good));
    cr_expect(tb_prediction_covers(&p->predictions[0], "churn-touch/full"));
    cr_expect_not(tb_prediction_covers(&p->predictions[0], "long-tail/full"));
    cr_expect(tb_prediction_covers(&p->predictions[1], "burst-storm/byte"));
    cr_expect(tb_prediction_covers(&p->predictions[2], "churn-touch/full"));
    cr_expect_not(tb_prediction_covers(&p->predictions[2], "burst-storm/byte"));
    cr_expect_not(tb_prediction_compares(p, &p->predictions[2], 0), "A over itself");
    cr_expect(tb_prediction_compares(p, &p->predictions[2], 1));
    cr_expect_not(tb_prediction_compares(p, &p->predictions[2], 2), "C is A's twin");
    cr_expect(tb_prediction_compares(p, &p->predictions[0], 1));
    cr_expect_not(tb_prediction_compares(p, &p->predictions[0], 2));
    tb_postulate_close(p);
}

Test(postulate, an_order_is_read_shown_and_compares_neighbours)
{
    size_t bytes;
    char shown[128], *text = changed("hl_ratio(B/A)", "order(C<B)", &bytes);
    struct tb_postulate *p = parse_good(text, bytes);
    const struct tb_prediction *order = &p->predictions[0];
    cr_expect_str_eq(tb_prediction_text(order, shown, sizeof shown), "order(C<B) >= 1.25");
    cr_assert_eq(order->stat, TB_STAT_ORDER);
    cr_assert_eq(order->order_count, 2);
    cr_expect_str_eq(order->order[0], "C");
    cr_expect_str_eq(order->order[1], "B");
    cr_expect(order->over[0] == '\0' && order->under[0] == '\0' && order->arm[0] == '\0');
    cr_expect_not(tb_prediction_compares(p, order, 0));
    cr_expect(tb_prediction_compares(p, order, 1));
    cr_expect_not(tb_prediction_compares(p, order, 2), "the first is compared with nothing");
    tb_postulate_close(p);
    free(text);
    text = changed("metric: time_ns, cell: churn-touch/full,\n     stat: hl_ratio(B/A)",
                   "metric: outstanding_ratio, cell: \"*\",\n     stat: order(A<B)", &bytes);
    p = parse_good(text, bytes);
    cr_expect_str_eq(tb_prediction_text(&p->predictions[0], shown, sizeof shown), "order(A<B) of outstanding_ratio >= 1.25");
    tb_postulate_close(p);
    free(text);
}

Test(postulate, many_nodes_have_cells_needs_and_metrics_of_their_own)
{
    size_t bytes;
    char *text = changed("burst-storm/byte", "steady-decode/line, azure-conv/line, sample/full, mooncake/none", &bytes);
    struct tb_postulate *p = parse_good(text, bytes);
    cr_expect_eq(p->cells_count, 5);
    cr_expect_str_eq(p->cells[2], "azure-conv/line");
    tb_postulate_close(p);
    free(text);
    text = changed("workers_pinned]", "cpu_nodes >= 2, hardware, policies, traces, numa_nodes >= 2]", &bytes);
    p = parse_good(text, bytes);
    cr_expect_eq(p->needs_count, 6);
    tb_postulate_close(p);
    free(text);
    text = changed("laps: 20, seed: 7}", "laps: 20, seed: 7, laps_counted: 2}", &bytes);
    memcpy(strstr(text, "outstanding_ratio"), "wandered_ratio   ", strlen("outstanding_ratio"));
    p = parse_good(text, bytes);
    char shown[128];
    cr_expect_str_eq(tb_prediction_text(&p->predictions[1], shown, sizeof shown), "max(A) of wandered_ratio == 1");
    cr_expect_eq(p->laps_counted, 2);
    tb_postulate_close(p);
    free(text);
}

Test(postulate, says_its_question_and_its_suite)
{
    size_t bytes;
    char *text = changed("reproduces:", "question: What does it lose?\nsuite: 2\nreproduces:", &bytes);
    struct tb_postulate *p = parse_good(text, bytes), *plain = parse_good(good, strlen(good));
    cr_expect_str_eq(p->question, "What does it lose?");
    cr_expect_eq(p->suite, 2);
    cr_expect(plain->suite == 0 && plain->laps_counted == 0, "PATH is the name of an early one of one node and no suite");
    cr_expect_str_eq(plain->question,
                     "On Linux, how much does glibc's malloc lose to locus on churn when every block is written in full?");
    tb_postulate_close(plain);
    struct tb_postulate_why why;
    cr_assert_eq(tb_postulate_parse("0002-other.md", good, strlen(good), &plain, &why), 0, "%s", why.text);
    cr_expect_str_eq(plain->question, plain->title);
    tb_postulate_close(plain);
    tb_postulate_close(p);
    free(text);
}

// What is filed does not say it, and runs as it always did.
Test(postulate, those_that_were_filed_early_have_what_they_do_not_say)
{
    static const struct {
        const char *number;
        uint64_t suite, laps_counted;
    } early[] = {{"1", 0, 0}, {"5", 0, 2}, {"7", 0, 10}, {"10", 0, 1}, {"22", 0, 0}, {"23", 2, 0}, {"31", 2, 0}};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        struct tb_postulate *postulate;
        struct tb_postulate_why why;
        cr_assert_eq(tb_postulate_open(early[i].number, &postulate, &why), 0, "%s", why.text);
        cr_expect_eq(postulate->suite, early[i].suite, "%s", early[i].number);
        cr_expect_eq(postulate->laps_counted, early[i].laps_counted, "%s", early[i].number);
        cr_expect_str_neq(postulate->question, postulate->title);
        tb_postulate_close(postulate);
    }
}

// A share of requests that finish elsewhere makes no other contender.
Test(postulate, a_share_makes_no_rival)
{
    size_t bytes;
    char *text =
        changed("A: locus, B: glibc, C: locus", "A: locus, B: locus%50, C: locus, D: glibc%50, E: null%50, F: oracle%100", &bytes);
    struct tb_postulate *p = parse_good(text, bytes);
    static const bool compared[] = {false, false, false, true, false, false};
    for (uint32_t arm = 0; arm < 6; arm++)
        cr_expect_eq(tb_prediction_compares(p, &p->predictions[2], arm), compared[arm], "arm %u", arm);
    tb_postulate_close(p);
    free(text);
}

Test(postulate, crlf_is_the_same_and_hashes_as_it_is)
{
    char text[2 * sizeof good];
    size_t bytes = 0;
    for (const char *c = good; *c; c++) {
        if (*c == '\n')
            text[bytes++] = '\r';
        text[bytes++] = *c;
    }
    struct tb_postulate *unix_ = parse_good(good, strlen(good)), *dos = parse_good(text, bytes);
    char sha256[TB_HASH_TEXT];
    cr_expect_str_eq(dos->prior, unix_->prior);
    cr_expect_eq(dos->predictions[2].line, 17);
    cr_expect_str_eq(dos->title, unix_->title);
    cr_expect_str_neq(dos->sha256, unix_->sha256);
    cr_assert_eq(tb_hash_memory(text, bytes, sha256), 0);
    cr_expect_str_eq(dos->sha256, sha256);
    tb_postulate_close(unix_);
    tb_postulate_close(dos);
}

static const struct wrong {
    const char *from, *to;
    unsigned line;
    const char *words;
} wrongs[] = {
    // keys
    {"title:", "titel:", 3, "unknown key 'titel' in the front matter"},
    {"laps: 20", "lap: 20", 11, "unknown key 'lap' in design"},
    {"metric: time", "methric: time", 13, "unknown key 'methric' in a prediction"},
    {"title:", "id: \"0002\"\ntitle:", 3, "'id' is there twice (first in line 2)"},
    {"rounds: 20", "unit: process, rounds: 20", 10, "'unit' is there twice"},
    {"B: glibc", "A: glibc", 7, "'A' is there twice"},
    {"title: glibc pays for churn on Linux, too\n", "", 2, "the front matter has no key 'title'"},
    {", seed: 7", "", 10, "design has no key 'seed'"},
    {", unit: x", "", 13, "a prediction has no key 'unit'"},
    {"title:", "\"\\x1b\\t\\\"\": 1\ntitle:", 3, "a control character, written as an escape"},
    {"title:", "? [a]\n: b\ntitle:", 3, "a key that is a list or a map"},
    // YAML that stands for something else
    {"locus, B: glibc", "&a locus, B: *a", 7, "an anchor"},
    {"B: glibc", "B: *a", 7, "an alias"},
    {"title: glibc", "title: !!str glibc", 3, "a tag"},
    {"title: glibc", "title: ! glibc", 3, "a tag"},
    {"cells: [", "cells: !x [", 8, "a tag"},
    {"  - {id: P1", "  - &p {id: P1", 13, "an anchor"},
    {"title:", "&k title:", 3, "an anchor"},
    {"title:", "<<: {}\ntitle:", 3, "unknown key '<<'"},
    {"gates:", "--- \ngates:", 19, "a second document"},
    {"gates:", "...\ngates:", 19, "a second document"},
    {"id:", "%YAML 1.1\n--- \nid:", 2, "a second document, a directive"},
    {"id:", "--- \nid:", 2, "a second document"},
    {"prior: |", "...\nprior: |", 20, "a second document"},
    {"title: glibc", "title: \"glibc", 0, "not YAML"},
    {"title: glibc", "title: [[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]", 3, "nested deeper than 8"},
    // types
    {"\"0002\"", "0002", 2, "four digits in quotes"},
    {"\"0002\"", "\"2\"", 2, "four digits in quotes"},
    {"\"0002\"", "", 2, "four digits in quotes, such as \"0002\", not nothing"},
    {"\"0002\"", "\"0003\"", 2, "the id is \"0003\", and the file's name says 0002"},
    {"\"0001\"", "\"0002\"", 2, "only an earlier number"},
    {"glibc pays for churn on Linux, too", "", 3, "'title' is empty"},
    {"glibc pays for churn on Linux, too", "yes", 3, "put yes in quotes"},
    {"glibc pays for churn on Linux, too", "0x1f", 3, "put 0x1f in quotes"},
    {"glibc pays for churn on Linux, too", "[a]", 3, "'title' is a list, and has to be one value"},
    {"glibc pays for churn on Linux, too", "|\n  one\n  two", 3, "'title' has to be one line"},
    {"[cpus >= 2, workers_pinned]", "cpus >= 2", 6, "'requires' is one value, and has to be a list"},
    {"{A: locus, B: glibc, C: locus}", "[locus]", 7, "'arms' is a list, and has to be a map"},
    {"rounds: 20", "rounds: \"20\"", 10, "whole number from 1 to 10000, not text: 20"},
    {"rounds: 20", "rounds: 20.0", 10, "not 20.0"},
    {"rounds: 20", "rounds: 020", 10, "not 020"},
    {"rounds: 20", "rounds: +20", 10, "not +20"},
    {"rounds: 20", "rounds: 0x14", 10, "not 0x14"},
    {"value: 1.25", "value: \"1.25\"", 14, "has to be a number, not text: 1.25"},
    {"value: 1.25", "value: .inf", 14, "has to be a number, not .inf"},
    {"value: 1.25", "value: 1e999", 14, "has to be a number"},
    {"value: 1.25", "value: 1.", 14, "has to be a number"},
    {"value: 1.25", "value: [1, 2]", 14, "'value' is a list"},
    {"[0.5, 2e1]", "1", 18, "'value' is one value, and has to be a list"},
    {"prior: |\n  the paper saw 1.15\n  on macOS\n", "prior: \n", 20, "what was already known"},
    // ranges
    {"rounds: 20", "rounds: 0", 10, "from 1 to 10000, not 0"},
    {"rounds: 20", "rounds: 99999999999999999999", 10, "from 1 to 10000"},
    {"workers: 1", "workers: 65", 11, "from 1 to 64"},
    {"block_bytes: 4096", "block_bytes: 63", 11, "from 64 to"},
    {"seed: 7", "seed: 9223372036854775808", 11, "'seed'"},
    {"confidence: 0.99", "confidence: 1", 14, "'confidence' has to be at least 0.5 and below 1"},
    {"confidence: 0.99", "confidence: 95", 14, "'confidence'"},
    {"margin: 0.02", "margin: 0", 14, "'margin' has to be above 0"},
    {"value: 1.25", "value: -1", 14, "must not be negative"},
    {"value: 1.25", "value: 0", 13, "a ratio is always above 0"},
    {"[0.5, 2e1]", "[2, 1]", 18, "the first below the second"},
    {"[0.5, 2e1]", "[1]", 18, "[low, high]"},
    // words
    {"cpus >= 2", "cpus>=2", 6, "need 'cpus>=2' is not cpus >= N, numa_nodes >= N, cpu_nodes >= N, hardware,"},
    {"cpus >= 2", "hardware >= 2", 6, "need 'hardware >= 2'"},
    {"cpus >= 2", "cpus >= 0", 6, "need 'cpus >= 0'"},
    {"workers_pinned]", "cpus >= 2]", 6, "'requires' has 'cpus >= 2' twice"},
    {"A: locus,", "a-b: locus,", 7, "arm 'a-b'"},
    {"A: locus,", "ABCDEFGH: locus,", 7, "one to seven letters"},
    {"{A: locus, B: glibc, C: locus}", "{}", 7, "0 arms"},
    {"burst-storm/byte", "burst/byte", 8, "cell 'burst/byte' is not WORKLOAD/TOUCH"},
    {"burst-storm/byte", "burst-storm", 8, "cell 'burst-storm'"},
    {"burst-storm/byte", "burst-storm/lines", 8, "cell 'burst-storm/lines'"},
    {"burst-storm/byte", "azure/line", 8, "a recorded trace (sample, azure-conv, azure-code, mooncake)"},
    {"burst-storm/byte", "/line", 8, "cell '/line'"},
    {"burst-storm/byte", "churn-touch/full", 8, "'cells' has 'churn-touch/full' twice"},
    {"[churn-touch/full, burst-storm/byte]", "[]", 8, "no cell"},
    {"unit: process", "unit: thread", 10, "'unit' is 'thread', and has to be process"},
    {"order: random", "order: abba", 10, "'order'"},
    {"dispatch: spin", "dispatch: poll", 10, "one of inline, spin, futex"},
    {"metric: time_ns", "metric: remote_touch_ratio", 13, "P1: remote_touch_ratio may be 0, so arms have no ratio of it"},
    {"metric: time_ns", "metric: wandered_ratio", 13, "claim its max, min or median of an arm"},
    {"metric: outstanding_ratio", "metric: abroad_free_ratio", 15, "P2: abroad_free_ratio is counted in runs of many nodes"},
    {"laps: 20", "laps: 20, laps_counted: 0", 11, "'laps_counted' has to be a whole number from 1 to"},
    {"title:", "suite: 3\ntitle:", 3, "'suite' has to be a whole number from 1 to 2, not 3"},
    {"title:", "question: [a]\ntitle:", 3, "'question' is a list"},
    {"id: P1", "id: P1, claim: \"\"", 13, "'claim' is empty"},
    {"id: P1", "id: P1, claim: \"a\\nb\"", 13, "'claim' has to be one line"},
    {"id: P1", "id: P1, claim: \"\\e[2J\"", 13, "a control character, written as an escape"},
    {"id: P1", "id: P1, claim: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "x", 13,
     "'claim' is longer than 160 bytes"},
    {"metric: outstanding_ratio", "metric: outstanding_ratio, margin: 0.1", 15, "'margin' is for ratios of two arms"},
    {"metric: time_ns", "metric: time", 13, "resident_ratio, remote_touch"},
    {"hl_ratio(B/A)", "hl_ratio(B)", 14, "stat 'hl_ratio(B)'"},
    {"hl_ratio(B/A)", "hl_ratio(B/A", 14, "stat 'hl_ratio(B/A'"},
    {"hl_ratio(B/A)", "hl_ratio(B/A) x", 14, "stat"},
    {"hl_ratio(B/A)", "order(A)", 14, "stat 'order(A)' is not hl_ratio(X/Y), median_ratio(X/Y), order(X<Y<Z)"},
    {"hl_ratio(B/A)", "order(A<B", 14, "stat 'order(A<B'"},
    {"hl_ratio(B/A)", "order(A<B) x", 14, "stat 'order(A<B) x'"},
    {"hl_ratio(B/A)", "order(A<<B)", 14, "stat 'order(A<<B)'"},
    {"hl_ratio(B/A)", "order(A/B)", 14, "stat 'order(A/B)'"},
    {"hl_ratio(B/A)", "order", 14, "stat 'order'"},
    {"stat: max", "stat: maximum", 16, "stat 'maximum'"},
    {"op: \">=\"", "op: \"=>\"", 14, "op '=>'"},
    {"[allocated == freed", "[allocated = freed", 19, "gate 'allocated = freed'"},
    // what the parts say about each other
    {"hl_ratio(B/A)", "hl_ratio(D/A)", 13, "P1: there is no arm 'D'"},
    {"hl_ratio(B/A)", "hl_ratio(B/*)", 13, "P1: there is no arm '*'"},
    {"hl_ratio(B/A)", "hl_ratio(A/A)", 13, "P1: arm 'A' over itself"},
    {"hl_ratio(B/A)", "order(A<Z)", 13, "P1: there is no arm 'Z'"},
    {"hl_ratio(B/A)", "order(A<*)", 13, "P1: there is no arm '*'"},
    {"hl_ratio(B/A)", "order(A<B<A)", 13, "P1: the order has one contender twice, as 'A' and 'A'"},
    {"hl_ratio(B/A)", "order(A<B<C)", 13, "P1: the order has one contender twice, as 'A' and 'C'"},
    {"hl_ratio(B/A), op: \">=\", value: 1.25", "order(A<B), op: \"<=\", value: 1.25", 13, "P1: an order claims that each"},
    {"hl_ratio(B/A), op: \">=\", value: 1.25", "order(A<B), op: \">\", value: 0.9", 13, "op > or >=, value 1 or more"},
    {"hl_ratio(B/A), op", "order(A<B), arm: A, op", 13, "'arm' is for max, min and median"},
    {"metric: time_ns, cell: churn-touch/full,\n     stat: hl_ratio(B/A)",
     "metric: waits, cell: churn-touch/full,\n     stat: order(A<B)", 13, "P1: waits may be 0"},
    {"B: glibc", "B: locus", 17, "P3: there is no rival of arm 'A' to compare with"},
    {"B: glibc", "B: oracle", 17, "P3: there is no rival"},
    {"B: glibc", "B: \"null\"", 17, "P3: there is no rival"},
    {"B: glibc", "B: glibc@delay:3", 17, "P3: there is no rival"},
    {"B: glibc, C: locus", "B: glibc", 19, "needs two arms with the same contender"},
    {"cell: churn-touch/full", "cell: long-tail/full", 13, "P1: 'long-tail/full' is none of the cells"},
    {"\"*/full\"", "\"*/none\"", 17, "P3: '*/none' is none of the cells"},
    {"arm: A, ", "", 15, "P2: max needs an 'arm'"},
    {"arm: A, ", "arm: Z, ", 15, "P2: there is no arm 'Z'"},
    {"arm: A, ", "arm: A, margin: 0.1, ", 15, "'margin' is for ratios"},
    {"op: \">=\"", "arm: A, op: \">=\"", 13, "'arm' is for max, min and median"},
    {"op: \">=\"", "op: \"==\"", 13, "an interval never equals one value"},
    {"unit: ratio", "unit: x", 15, "the unit of outstanding_ratio is 'ratio', not 'x'"},
    {"unit: x", "unit: ns", 13, "the unit of a ratio of arms is 'x', not 'ns'"},
    {"id: P2", "id: P1", 15, "two predictions are called P1"},
    // the file
    {"---\nid", "--\nid", 1, "the first line has to be '---'"},
    {"---\nid", "\xef\xbb\xbf---\nid", 1, "a byte order mark"},
    {"title: glibc", "title: \xc3\x28glibc", 3, "invalid UTF-8"},
    {"title: glibc", "title: \xed\xa0\x80", 3, "invalid UTF-8"},
    {"title: glibc", "title: \x1b[2J", 3, "a control character"},
    {"title: glibc", "title: \xc2\x85", 3, "a control character"},
    {"title: glibc", "title: \xe2\x80\xa8", 3, "a line separator"},
    {"title: glibc", "title: a\rb", 3, "a control character"},
    {"title: glibc pays", "title: \"\\0\" #", 3, "a NUL byte, written as an escape"},
    {"neither", "\xff", 28, "invalid UTF-8"},
};

Test(postulate, each_mistake_is_named_with_its_line)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        size_t bytes;
        char *text = changed(wrongs[i].from, wrongs[i].to, &bytes);
        if (wrongs[i].line) {
            expect_error(PATH, text, bytes, wrongs[i].line, wrongs[i].words);
        } else { // libyaml decides on the line
            struct tb_postulate *postulate = NULL;
            struct tb_postulate_why why;
            cr_expect_eq(tb_postulate_parse(PATH, text, bytes, &postulate, &why), -EINVAL);
            cr_expect(strstr(why.text, wrongs[i].words), "%s", why.text);
        }
        free(text);
    }
}

Test(postulate, what_comes_after_the_document_is_refused)
{
    static const char text[] = "---\n{id: \"0002\"}\ntitle: more\n---\n", nothing[] = "---\n# nothing\n---\n";
    expect_error(PATH, text, strlen(text), 3, "not YAML");
    expect_error(PATH, nothing, strlen(nothing), 2, "there is nothing in it");
}

Test(postulate, a_nul_byte_is_refused_with_its_line)
{
    char text[sizeof good];
    memcpy(text, good, sizeof good);
    strchr(strstr(text, "# Why"), '\n')[1] = '\0';
    expect_error(PATH, text, strlen(good), 25, "a NUL byte");
}

Test(postulate, a_text_that_stops_anywhere_is_refused_or_whole)
{
    size_t closed = (size_t)(strstr(good, "---\n# Why") - good);
    for (size_t bytes = 0; bytes <= strlen(good); bytes++) {
        char *text = malloc(bytes ? bytes : 1);
        struct tb_postulate *postulate = NULL;
        struct tb_postulate_why why;
        memcpy(text, good, bytes);
        int rc = tb_postulate_parse(PATH, text, bytes, &postulate, &why);
        cr_expect_eq(rc, bytes < closed + 3 ? -EINVAL : 0, "%zu bytes: %d %s", bytes, rc, why.text);
        tb_postulate_close(postulate);
        free(text);
    }
}

Test(postulate, the_name_of_the_file_is_part_of_it)
{
    static const char *const names[] = {"2-x.md",     "0002.md",    "0002-.md",  "0002-X.md",
                                        "0002-x.txt", "0002-x.md~", "0000-x.md", "00022-x.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_error(names[i], good, strlen(good), 1, "the file's name is not NNNN-slug.md");
}

Test(postulate, lists_have_an_end)
{
    static char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%.*s", (int)(strstr(good, "requires") - good), good);
    used += (size_t)snprintf(text + used, sizeof text - used, "requires: [");
    for (unsigned i = 1; i <= 25; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "cpus >= %u, ", i);
    snprintf(text + used, sizeof text - used, "]\n%s", strstr(good, "arms:"));
    expect_error(PATH, text, strlen(text), 6, "'requires' has 25 entries, and at most 24 fit");
    for (unsigned i = 0; i < 50; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "cpus >= %u, ", i);
    snprintf(text + used, sizeof text - used, "]\n%s", strstr(good, "arms:"));
    expect_error(PATH, text, strlen(text), 6, "more than 64 entries");
}

Test(postulate, numbers_are_four_digits)
{
    char id[8];
    cr_expect_eq(tb_postulate_id("2", id), 0);
    cr_expect_str_eq(id, "0002");
    cr_expect_eq(tb_postulate_id("0042", id), 0);
    cr_expect_str_eq(id, "0042");
    static const char *const bad[] = {"", "0", "0000", "12345", "-1", " 1", "1 ", "x", "0002-x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(tb_postulate_id(bad[i], id), -EINVAL, "'%s'", bad[i]);
}

// Otherwise the fuzzer would begin with texts that end at their first line.
Test(postulate, the_seeds_of_the_fuzzer_are_taken)
{
    static const char *const seeds[] = {"whole", "block-style", "crlf", "many-nodes"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char path[128], text[4096];
        struct tb_postulate *postulate = NULL;
        struct tb_postulate_why why;
        snprintf(path, sizeof path, "testbed/postulate/tests/corpus/postulate/%s", seeds[i]);
        FILE *file = fopen(path, "r");
        cr_assert_not_null(file, "%s", path);
        size_t bytes = fread(text, 1, sizeof text, file);
        fclose(file);
        cr_expect_eq(tb_postulate_parse("0001-x.md", text, bytes, &postulate, &why), 0, "%s: %s", seeds[i], why.text);
        tb_postulate_close(postulate);
    }
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(postulate, is_found_by_its_number_and_loaded)
{
    char folder[] = "/tmp/locus-postulate-XXXXXX", path[512], command[600];
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    cr_assert_not_null(mkdtemp(folder));
    write_file(folder, "0002-churn.md", good);
    write_file(folder, "README.md", "");
    cr_expect_eq(tb_postulate_find(folder, "1", path, sizeof path), -ENOENT);
    cr_expect_eq(tb_postulate_find(folder, "x", path, sizeof path), -ENOENT);
    cr_assert_eq(tb_postulate_find(folder, "2", path, sizeof path), 0);
    cr_expect_eq(tb_postulate_load(path, &postulate, &why), 0, "%s", why.text);
    tb_postulate_close(postulate);
    write_file(folder, "0002-other.md", good);
    cr_expect_eq(tb_postulate_find(folder, "0002", path, sizeof path), -ENOTUNIQ);
    snprintf(path, sizeof path, "%s/0003-none.md", folder);
    cr_expect_eq(tb_postulate_load(path, &postulate, &why), -ENOENT);
    cr_expect(strstr(why.text, "0003-none.md: No such file"), "%s", why.text);
    cr_expect_eq(tb_postulate_load(folder, &postulate, &why), -EISDIR);
    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_expect_eq(system(command), 0);
}

Test(postulate, gates_of_the_first_postulates_are_known)
{
    cr_assert(tb_early_gate("0005", "P6") && tb_early_gate("0031", "P14"));
    cr_assert(!tb_early_gate("0005", "P7") && !tb_early_gate("0031", "P1") && !tb_early_gate("", ""));
}
