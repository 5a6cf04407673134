// SPDX-License-Identifier: Apache-2.0
//
// html: nothing that a log holds becomes markup, every figure on the page is the log's, and every run is counted.
#include "testbed/report/tests/html_tags.h"

// --- text ---

Test(html, escapes_whatever_could_be_markup)
{
    char *out;
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    tb_html(stream, "<b title=\"@\">@</b>", "\"><script>&'",
            "a\x01"
            "b\xff\n<");
    tb_html_text(stream, NULL);
    fclose(stream);
    cr_assert_str_eq(out, "<b title=\"&quot;&gt;&lt;script&gt;&amp;&#39;\">a?b?\n&lt;</b>");
    free(out);
}

Test(html, writes_numbers_that_read_back_the_same)
{
    double values[] = {1.0 / 3, 361234.5678901234, 1e-300, -0.1, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cr_assert_eq(strtod(TB_EXACT(values[i]), NULL), values[i]);
    cr_assert_str_eq(TB_EXACT(NAN), "");
    cr_assert_str_eq(TB_FIGURE(1.2345), "1.23");
    cr_assert_str_eq(TB_FIGURE(20), "20");
    cr_assert_str_eq(TB_FIGURE(NAN), "none");
}

// --- the page ---

TestSuite(html_page, .init = enter_folder, .fini = leave_folder);

Test(html_page, shows_the_figures_of_each_prediction_as_they_are_in_the_log)
{
    make_run(usual);
    make_page();
    const json_t *predictions = tb_member(store.runs[0].view.summary, "predictions"), *prediction, *part;
    const char *at = page;
    size_t i, p;
    cr_assert_eq(json_array_size(predictions), 3);
    json_array_foreach (predictions, i, prediction) {
        at = strstr(at + 1, "<section class=\"prediction\"");
        cr_assert(at);
        same_number(at, "data-estimate", prediction, "estimate");
        same_number(at, "data-low", prediction, "low");
        same_number(at, "data-high", prediction, "high");
        same_number(at, "data-value", prediction, "value");
        same_number(at, "data-achieved", prediction, "achieved");
        const char *row = at;
        json_array_foreach (tb_member(prediction, "parts"), p, part) {
            row = strstr(row + 1, "<div class=\"row\" data-part=");
            cr_assert(row);
            same_number(row, "data-estimate", part, "estimate");
            same_number(row, "data-low", part, "low");
            same_number(row, "data-high", part, "high");
        }
    }
    cr_assert_eq(occurrences("data-part="), 2); // P3 is a conjunction over two cells
    well_formed();
}

Test(html_page, shows_an_order_as_its_pairs)
{
    struct record_fixture ordered = usual;
    ordered.postulate = fixture_ordered;
    make_run(ordered);
    make_page();
    cr_assert_eq(occurrences("<code>order(A&lt;B) &gt; 1</code> <small>"), 1);
    cr_assert_eq(occurrences("data-part="), 2);
    cr_assert_eq(occurrences(" glibc / locus</span>"), 2, "each pair with both its arms");
    cr_assert_eq(occurrences("class=\"same\""), 4, "it is a ratio, and 1 says no difference");
    cr_assert_eq(occurrences("<span class=\"key\">"), 2);
    well_formed();
}

Test(html_page, shows_every_sample_of_the_log)
{
    make_run(usual);
    make_page();
    const struct tb_log_view *view = &store.runs[0].view;
    cr_assert_eq(view->samples_count, 120);
    for (size_t i = 0; i < view->samples_count; i++) {
        char dot[96];
        double ns = tb_member_number(view->chain.entries[view->samples_begin + i].object, "time_ns");
        snprintf(dot, sizeof dot, "data-value=\"%.17g\"/>", ns);
        cr_assert_gt(occurrences(dot), 0, "%s is missing", dot);
    }
    cr_assert_eq(occurrences("data-round="), 240); // and as many of the outstanding_ratio that P2 is about
}

Test(html_page, shows_the_arms_as_the_summary_has_them)
{
    make_run(usual);
    make_page();
    const json_t *arms = tb_member(store.runs[0].view.summary, "arms"), *arm;
    const char *at = page;
    size_t i;
    cr_assert_eq(json_array_size(arms), 6);
    json_array_foreach (arms, i, arm) {
        at = strstr(at + 1, "<tr data-arm=");
        cr_assert(at);
        same_number(at, "data-median", arm, "median");
        same_number(at, "data-low", arm, "low");
        same_number(at, "data-high", arm, "high");
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
    well_formed();
    cr_assert_eq(occurrences("<script"), 0);
    cr_assert_eq(occurrences("<img"), 0);
    cr_assert_eq(occurrences("<!--"), 0);
    cr_assert_gt(occurrences("&lt;script&gt;alert(1)"), 0);
    cr_assert_gt(occurrences("&lt;script&gt;alert(2)"), 0);
    cr_assert_eq(occurrences("data-invalid="), 4, "one sample, by two metrics, in two cells");
}

Test(html_page, loads_nothing_and_runs_nothing)
{
    static const char *const never[] = {"http:", "https:",  "<script", "<iframe",    " src=",
                                        "url(",  "@import", " onload", "javascript:"};
    make_run(usual);
    make_page();
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        cr_assert_eq(occurrences(never[i]), 0, "%s is on the page", never[i]);
    cr_assert_eq(occurrences("default-src 'none'"), 1);
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
    cr_assert_eq(occurrences("data-count=\"crashed\" data-runs=\"1\""), 1);
    cr_assert_eq(occurrences("3 more runs have no verdict"), 1);
    cr_assert_eq(occurrences("Of 3 predictions in 1 run,"), 1);
}

Test(html_page, says_when_a_log_is_not_the_one_that_was_closed)
{
    struct record_fixture other = usual;
    make_run(other);
    cr_assert_eq(fixture_enter(&other, json_pack("{s:s, s:s, s:s}", "t", "close", "run", other.run, "log_head", "00")), 0);
    make_page();
    expect_state(0, TB_RUN_BROKEN, "log broken");
}

Test(html_page, shows_a_log_without_a_ledger_and_says_so)
{
    make_run(usual);
    cr_assert_eq(unlink("logs/bm1/ledger.jsonl"), 0);
    make_page();
    cr_assert_eq(store.runs_count, 1);
    cr_assert_eq(occurrences("does not know this log"), 1);
    cr_assert_eq(occurrences("there is no ledger"), 1);
}

Test(html_page, names_what_was_falsified_at_the_top)
{
    struct record_fixture slower = usual;
    slower.factor = 0.8; // B takes 1.12 times as long, and at least 1.25 was claimed
    make_run(slower);
    make_page();
    const char *fallen = strstr(page, "<ul class=\"fallen\">");
    cr_assert(fallen && fallen < strstr(page, "<h2>"));
    cr_assert(strstr(page, "1 was falsified"));
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
