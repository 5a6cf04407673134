// SPDX-License-Identifier: Apache-2.0
//
// html: nothing that a log holds becomes markup, every figure on the page is the log's, and every run is counted.
#include "testbed/report/tests/html_tags.h"

// --- the page ---

TestSuite(html_page, .init = enter_folder, .fini = leave_folder);

Test(html_page, shows_the_figures_of_each_prediction_as_they_are_in_the_log)
{
    make_run(usual);
    make_page();
    turn_to(0);
    const json_t *predictions = tb_member(store.runs[0].view.summary, "predictions"), *prediction, *part;
    size_t i, p;
    cr_assert_eq(json_array_size(predictions), 3);
    json_array_foreach (predictions, i, prediction) {
        char tag[64];
        snprintf(tag, sizeof tag, "<tr data-prediction=\"%s\" data-estimate=", tb_member_text(prediction, "id"));
        same_interval(must_find(page, tag), "data-estimate", prediction, "estimate");
        same_number(must_find(page, tag), "data-value", prediction, "value");
        same_number(must_find(page, tag), "data-achieved", prediction, "achieved");
        snprintf(tag, sizeof tag, "<tr data-prediction=\"%s\" data-cell=", tb_member_text(prediction, "id"));
        const char *row = page;
        json_array_foreach (tb_member(prediction, "parts"), p, part)
            same_interval(row = must_find(row + 1, tag), "data-estimate", part, "estimate");
    }
    cr_assert_eq(occurrences("<tr data-prediction=\"P3\" data-cell="), 2, "P3 is a conjunction over two cells");
    well_formed();
}

Test(html_page, says_a_claim_in_words_and_the_formula_beneath)
{
    make_run(usual);
    make_page();
    turn_to(0);
    must_find(page, "glibc takes at least 1.25 times as long as locus");
    must_find(page, "<small class=\"detail\">hl_ratio(B/A) &gt;= 1.25</small>");
}

// A rate is a time that no emulator can tell, but whoever has more of it does not take longer.
Test(html_page, says_of_a_time_how_long_and_of_a_rate_how_much)
{
    struct tb_words words;
    json_t *header = json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "arms", "key", "A", "name", "layer", "key", "B", "name", "stock");
    json_t *claim = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "stat", "hl_ratio", "over", "A", "under", "B", "op", ">",
                              "value", 2, "cell", "tiny/engine", "metric", "engine_tokens_per_s");
    cr_expect_str_eq(tb_claim_words(header, claim, &words),
                     "layer has more than 2 times as much engine_tokens_per_s as stock, in tiny/engine");
    json_object_set_new(claim, "metric", json_string("room_p50_ns"));
    cr_expect_str_eq(tb_claim_words(header, claim, &words),
                     "layer takes more than 2 times as long as stock (room_p50_ns), in tiny/engine");
    json_decref(header);
    json_decref(claim);
}

Test(html_page, shows_an_order_as_its_pairs)
{
    struct record_fixture ordered = usual;
    ordered.postulate = fixture_ordered;
    make_run(ordered);
    make_page();
    turn_to(0);
    cr_assert_eq(occurrences("<small class=\"detail\">order(A&lt;B) &gt; 1</small>"), 1);
    cr_assert_eq(occurrences(">locus comes first<"), 1, "in the words of its author");
    cr_assert_eq(occurrences(">B glibc / A locus<"), 2, "each pair with both its arms");
    cr_assert_geq(occurrences("class=\"same\""), 2, "it is a ratio, and 1 says no difference");
    well_formed();
}

// Of each strip the samples in the order of the rounds.
Test(html_page, shows_every_sample_of_the_log)
{
    make_run(usual);
    make_page();
    turn_to(0);
    const struct tb_log_view *view = &store.runs[0].view;
    size_t strips = 0, shown = 0;
    for (const char *at = page; (at = strstr(at, " data-metric=\"time_ns\"")); at++, strips++) {
        char cell[64], arm[8];
        const char *tag = at;
        while (*tag != '<')
            tag--;
        cr_assert(attribute(tag, "data-cell", cell, sizeof cell) && attribute(tag, "data-arm", arm, sizeof arm));
        char *number = strstr(tag, "data-samples=\"") + strlen("data-samples=\"");
        for (size_t i = 0; i < view->samples_count; i++) {
            const json_t *sample = view->samples[i].line;
            char name[160];
            size_t of = (size_t)tb_member_number(sample, "cell");
            tb_member_cell(json_array_get(tb_member(view->header, "cells"), of), name, sizeof name);
            if (strcmp(name, cell) || strcmp(tb_member_text(sample, "arm"), arm))
                continue;
            cr_assert_eq(strtod(number, &number), tb_member_number(sample, "time_ns"), "%s of %s", arm, cell);
            shown++;
        }
        cr_assert_eq(*number, '"', "and no more");
    }
    cr_assert_eq(view->samples_count, 120);
    cr_assert_eq(shown, 120);
    cr_assert_eq(strips, 6);
    cr_assert_eq(occurrences(" data-metric=\"outstanding_ratio\""), 6, "P2 is about it");
}

Test(html_page, shows_the_arms_as_the_summary_has_them)
{
    make_run(usual);
    make_page();
    turn_to(0);
    const json_t *arms = tb_member(store.runs[0].view.summary, "arms"), *arm;
    size_t i;
    cr_assert_eq(json_array_size(arms), 6);
    json_array_foreach (arms, i, arm) {
        char tag[200];
        snprintf(tag, sizeof tag, "<tr data-cell=\"%s\" data-arm=\"%s\" data-median=", tb_member_text(arm, "cell"),
                 tb_member_text(arm, "arm"));
        same_interval(must_find(page, tag), "data-median", arm, "median");
    }
}

Test(html_page, lets_nothing_from_a_log_become_markup)
{
    struct record_fixture hostile = usual;
    hostile.library = "malloc:/x'\"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;.so";
    hostile.commit = "</style><script>alert(2)</script>";
    hostile.dirty = "</pre></details>\"'<!--";
    hostile.invalid_round = 3;
    make_run(hostile);
    make_page();
    for (int p = 0; p < 2; p++) {
        well_formed();
        cr_assert_eq(occurrences("<script"), 0);
        cr_assert_eq(occurrences("<img"), 0);
        cr_assert_eq(occurrences("<!--"), 0);
        turn_to(0);
    }
    cr_assert_gt(occurrences("&lt;script&gt;alert(1)"), 0);
    cr_assert_gt(occurrences("&lt;script&gt;alert(2)"), 0);
    cr_assert_eq(occurrences(" data-invalid="), 2, "one sample, in two cells");
    cr_assert_gt(occurrences(" - "), 0, "it is left out of its strip");
}

Test(html_page, loads_nothing_and_runs_nothing)
{
    static const char *const never[] = {"http:", "https:",  "<script", "<iframe",    " src=",
                                        "url(",  "@import", " onload", "javascript:"};
    make_run(usual);
    make_page();
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof never / sizeof *never; i++)
            cr_assert_eq(occurrences(never[i]), 0, "%s is on the page", never[i]);
        cr_assert_eq(occurrences("default-src 'none'"), 1);
        turn_to(0);
    }
}

// --- runs without a verdict ---

static void expect_state(size_t i, enum tb_run_state state, const char *verdict)
{
    cr_assert_eq(store.runs[i].state, state, "%s: %s", store.runs[i].run, store.runs[i].why);
    cr_assert_str_eq(tb_run_verdict(&store.runs[i]), verdict);
}

// A byte in the middle becomes another.
static void spoil(const char *path)
{
    struct stat about;
    FILE *file = fopen(path, "r+");
    cr_assert(file && stat(path, &about) == 0 && fseek(file, about.st_size / 2, SEEK_SET) == 0);
    int byte = fgetc(file);
    cr_assert(fseek(file, -1, SEEK_CUR) == 0 && fputc(byte == '7' ? '8' : '7', file) != EOF && fclose(file) == 0);
}

Test(html_page, counts_runs_that_crashed_or_were_damaged_or_are_gone)
{
    struct record_fixture other = usual;
    make_run(other);
    other.run = "0002-20261121T101600Z-b1b2c3";
    other.no_seal = true;
    make_run(other);
    other.run = "0002-20261121T101700Z-c1b2c3";
    other.no_seal = false;
    make_run(other);
    spoil("logs/bm1/0002-glibc-churn/20261121T101700Z-c1b2c3.jsonl");
    other.run = "0002-20261121T101800Z-d1b2c3";
    make_run(other);
    cr_assert_eq(unlink("logs/bm1/0002-glibc-churn/20261121T101800Z-d1b2c3.jsonl"), 0);
    make_page();
    well_formed();
    cr_assert_eq(store.runs_count, 4);
    expect_state(0, TB_RUN_WHOLE, tb_member_text(store.runs[0].view.summary, "verdict"));
    expect_state(1, TB_RUN_CRASHED, "crashed");
    expect_state(2, TB_RUN_BROKEN, "log broken");
    expect_state(3, TB_RUN_MISSING, "log missing");
    cr_assert_eq(occurrences("<tr data-count=\"crashed\" data-runs=\"1\">"), 1);
    cr_assert_eq(occurrences("3 more runs have no verdict"), 1);
    cr_assert_eq(occurrences("Of 3 predictions in 1 run,"), 1);
}

static void as_gated(json_t *line)
{
    if (strcmp(tb_member_text(line, "t"), "sum") == 0)
        json_object_set_new(json_array_get(tb_member(line, "predictions"), 1), "gate", json_true());
}

Test(html_page, counts_gates_apart)
{
    struct record_fixture gated = usual;
    gated.dress = as_gated;
    make_run(gated);
    make_page();
    cr_assert_eq(occurrences("Of 2 predictions in 1 run,"), 1);
    cr_assert_eq(occurrences("Besides, 1 of 1 gate, which cannot fail but by a bug, held."), 1);
}

Test(html_page, a_copy_of_a_log_has_a_page_of_its_own)
{
    static const char log[] = "logs/bm1/0002-glibc-churn/20261121T101500Z-a1b2c3";
    char from[100], to[100];
    make_run(usual);
    snprintf(from, sizeof from, "%s.jsonl", log);
    snprintf(to, sizeof to, "%s-cut.jsonl", log);
    cr_assert_eq(link(from, to), 0);
    make_page();
    cr_assert_eq(store.runs_count, 2);
    cr_expect(occurrences("href=\"report/0002-20261121T101500Z-a1b2c3.html\"") > 0);
    cr_expect(occurrences("href=\"report/0002-20261121T101500Z-a1b2c3-cut.html\"") > 0);
}

Test(html_page, says_when_a_log_is_not_the_one_that_was_closed)
{
    struct record_fixture other = usual;
    make_run(other);
    cr_assert_eq(fixture_enter(&other, json_pack("{s:s, s:s, s:s}", "t", "close", "run", other.run, "log_head", "00")), 0);
    make_page();
    expect_state(0, TB_RUN_BROKEN, "log broken");
}

Test(html_page, folds_its_ledgers_while_they_are_whole)
{
    make_run(usual);
    make_page();
    cr_expect_eq(occurrences("<summary><h2>Ledgers: 1</h2>"), 1);
}

Test(html_page, shows_a_ledger_at_once_that_is_not_whole)
{
    struct record_fixture other = usual;
    make_run(other);
    other.host = "bm2";
    make_run(other);
    FILE *ledger = fopen("logs/bm2/ledger.jsonl", "w");
    cr_assert(ledger && fputs("{\"t\":\"ledger\"}\n", ledger) >= 0 && fclose(ledger) == 0);
    make_page();
    well_formed();
    cr_expect_eq(occurrences("<summary><h2>Ledgers"), 0);
    cr_expect_eq(occurrences("<h2>Ledgers: 2</h2>"), 1);
    cr_expect_eq(occurrences("line 1 is broken"), 1);
}

static void replicate_usual(json_t *line)
{
    if (strcmp(tb_member_text(line, "t"), "hdr") == 0)
        json_object_set_new(line, "replicates", json_pack("[s]", usual.run));
}

Test(html_page, says_which_run_it_is_a_replication_of)
{
    struct record_fixture second = usual;
    second.run = "0002-20261121T111500Z-a1b2c4";
    second.dress = replicate_usual;
    make_run(usual);
    make_run(second);
    make_page();
    turn_to(0);
    cr_expect_eq(occurrences("a replication of"), 0);
    turn_to(1);
    cr_expect_eq(occurrences("This is a replication of 0002-20261121T101500Z-a1b2c3 (survived)."), 1);
    well_formed();
}

Test(html_page, shows_a_log_without_a_ledger_and_says_so)
{
    make_run(usual);
    cr_assert_eq(unlink("logs/bm1/ledger.jsonl"), 0);
    make_page();
    cr_assert_eq(store.runs_count, 1);
    cr_assert_eq(occurrences("there is no ledger"), 1);
    turn_to(0);
    cr_assert_eq(occurrences("does not know this log"), 1);
}

Test(html_page, names_what_was_falsified_at_the_top)
{
    struct record_fixture slower = usual;
    slower.factor = 0.8; // B takes 1.12 times as long, and at least 1.25 was claimed
    make_run(slower);
    make_page();
    const char *fallen = must_find(page, "data-key=\"fallen\"");
    cr_assert(fallen < must_find(page, "<tr data-run="), "before the runs");
    must_find(page, "<tr data-fallen=\"P1\"");
    must_find(page, "<a href=\"report/0002-20261121T101500Z-a1b2c3.html\">P1</a>");
    must_find(page, "1 was falsified");
}

Test(html_page, does_not_count_a_smoke_run_as_an_answer)
{
    struct record_fixture smoke = usual;
    smoke.kind = "smoke";
    make_run(smoke);
    make_page();
    cr_assert(strstr(page, "Nothing yet"));
    cr_assert(strstr(page, "There are trial runs here"));
}

Test(html_page, finds_nothing_where_nothing_is)
{
    cr_assert_eq(tb_store_add(&store, "logs"), 0);
    cr_assert_eq(mkdir("logs", 0777), 0);
    cr_assert_eq(mkdir("logs/empty", 0777), 0);
    cr_assert_eq(tb_store_add(&store, "logs"), 0);
    cr_assert_eq(store.runs_count + store.hosts_count, 0);
}
