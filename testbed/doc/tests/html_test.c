// SPDX-License-Identifier: Apache-2.0
//
// A document as a page and as a picture: nothing in it becomes markup, and what has a key carries its exact value.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/doc/emit.h"
#include "testbed/doc/doc_internal.h"

static struct tb_doc *doc;
static char *bytes;
static size_t count;

static void begin(void)
{
    doc = tb_doc_open(NULL);
}

static void end(void)
{
    tb_doc_close(doc);
    free(bytes);
}

TestSuite(html, .init = begin, .fini = end);

static const char hostile[] = "\"><script>alert(1)</script>&'";

static void page(void)
{
    FILE *stream = open_memstream(&bytes, &count);
    cr_assert_eq(tb_emit_html(stream, doc, "<t>@TITLE@</t><s>@STYLE@</s><nav>@INDEX@</nav>@BODY@", "p{}"), 0);
    fclose(stream);
}

static void picture(void)
{
    FILE *stream = open_memstream(&bytes, &count);
    cr_assert_eq(tb_emit_svg(stream, doc), 0);
    fclose(stream);
}

static size_t occurrences(const char *text)
{
    size_t found = 0;
    for (const char *at = bytes; (at = strstr(at, text)); at += strlen(text))
        found++;
    return found;
}

static const struct tb_column columns[] = {{"arm", "arm", TB_AS_IS, false},
                                           {"ratio", "times", TB_AS_RATIO, true},
                                           {"samples", "all", TB_AS_TIME, true},
                                           {NULL, NULL, TB_AS_IS, false}};

static struct tb_table *put_row(struct tb_table *table, const char *arm, double estimate)
{
    static const double samples[] = {100.5, NAN, 300};
    table = table ? table : tb_doc_table(doc, "rows", arm, columns);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(arm));
    tb_table_put(table, tb_interval_of(estimate, estimate - 0.1, estimate + 0.1, 0.95));
    tb_table_put(table, tb_samples(samples, 3));
    return table;
}

Test(html, escapes_whatever_could_be_markup)
{
    FILE *stream = open_memstream(&bytes, &count);
    tb_html(stream, "<b title=\"@\">@</b>", "\"><script>&'",
            "a\x01"
            "b\xff\n<");
    tb_html_text(stream, NULL);
    fclose(stream);
    cr_assert_str_eq(bytes, "<b title=\"&quot;&gt;&lt;script&gt;&amp;&#39;\">a?b?\n&lt;</b>");
}

Test(html, writes_numbers_that_read_back_the_same)
{
    double values[] = {1.0 / 3, 361234.5678901234, 1e-300, -0.1, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cr_assert_eq(strtod(TB_EXACT(values[i]), NULL), values[i]);
    cr_assert_str_eq(TB_EXACT(NAN), "");
    cr_assert_str_eq(TB_EXACT(0.1), "0.1");
}

static void everything_hostile(void)
{
    tb_doc_heading(doc, 1, NULL, hostile);
    tb_doc_folded(doc, 2, hostile, hostile);
    tb_doc_anchor(doc, hostile);
    tb_doc_answer(doc, hostile, "%s", hostile);
    tb_doc_say(doc, hostile, "%s", hostile);
    tb_doc_code(doc, hostile, hostile);
    tb_doc_fact(doc, "fact", hostile, TB_AS_IS, tb_detailed(tb_linked(tb_text_value(hostile), hostile), hostile));
    struct tb_table *table = put_row(NULL, hostile, 1.5);
    tb_table_note(table, "%s", hostile);
    struct tb_curves *curves = tb_doc_curves(doc, hostile, hostile, (struct tb_curve_axis){hostile, TB_AS_IS, false},
                                             (struct tb_curve_axis){hostile, TB_AS_IS, false});
    tb_curves_line(curves, hostile);
    tb_curves_point(curves, 1, tb_number(1));
    tb_curves_mark(curves, 1, hostile);
}

Test(html, lets_nothing_become_markup_on_a_page)
{
    everything_hostile();
    page();
    cr_expect_eq(occurrences("<script"), 0, "%s", bytes);
    cr_expect_gt(occurrences("&lt;script&gt;alert(1)"), 15);
}

Test(html, lets_nothing_become_markup_in_a_picture)
{
    everything_hostile();
    picture();
    cr_expect_eq(occurrences("<script"), 0, "%s", bytes);
    cr_expect_gt(occurrences("&lt;script&gt;alert(1)"), 3);
}

Test(html, rows_carry_their_exact_values)
{
    put_row(NULL, "locus", 1.5);
    tb_doc_fact(doc, "third", "a third", TB_AS_IS, tb_number(1.0 / 3));
    page();
    cr_expect_eq(occurrences(" data-arm=\"locus\" data-ratio=\"1.5\" data-ratio-low=\"1.4\" data-ratio-high=\"1.6\""), 1, "%s",
                 bytes);
    cr_expect_eq(occurrences(" data-samples=\"100.5 - 300\""), 1);
    cr_expect_eq(occurrences(">1.50 <small class=\"range\">[1.40, 1.60]</small>"), 1);
    cr_expect_eq(occurrences("<div data-third=\"0.3333333333333333\">"), 1);
}

static double dot_at(size_t nth)
{
    const char *at = bytes;
    for (size_t i = 0; i <= nth && at; i++)
        at = strstr(at + 1, "<circle cx=\"");
    cr_assert(at);
    return strtod(at + strlen("<circle cx=\""), NULL);
}

Test(html, a_key_ends_no_attribute)
{
    tb_doc_fact(doc, "x onclick=alert(1)", "fact", TB_AS_IS, tb_count(1));
    page();
    cr_expect_eq(occurrences("<div data-x_onclick_alert_1_=\"1\">"), 1, "%s", bytes);
}

Test(html, tables_of_one_group_draw_on_one_scale)
{
    tb_table_scale(put_row(NULL, "a", 1.2), "touch");
    tb_table_scale(put_row(NULL, "b", 2.4), "touch");
    tb_table_scale(put_row(NULL, "c", 1.2), "another");
    page();
    cr_expect_lt(dot_at(0), dot_at(1), "the larger one lies further to the right");
    cr_expect_gt(dot_at(2), dot_at(0), "on its own scale it lies elsewhere");
}

Test(html, a_strip_has_a_dot_for_each_valid_sample)
{
    put_row(NULL, "a", 1.2);
    page();
    const char *path = strstr(bytes, "class=\"dots\" d=\"");
    cr_assert(path);
    size_t dots = 0;
    for (const char *at = path + 16; *at != '"'; at++)
        dots += *at == 'M';
    cr_expect_eq(dots, 2);
}

Test(html, a_strip_without_a_valid_sample_has_no_dots)
{
    struct tb_table *table = tb_doc_table(doc, "rows", "a", columns);
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value("a"));
    tb_table_put(table, tb_number(1));
    tb_table_put(table, tb_samples((const double[]){NAN, NAN}, 2));
    page();
    cr_expect_eq(occurrences("data-samples="), 1);
    cr_expect_eq(occurrences("class=\"dots\""), 0);
}

Test(html, a_tone_has_a_sign_and_a_fold_has_a_summary)
{
    tb_doc_folded(doc, 2, NULL, "Folded");
    tb_doc_tone(doc, TB_TONE_BAD);
    tb_doc_say(doc, NULL, "inside");
    tb_doc_heading(doc, 2, NULL, "Open");
    page();
    cr_expect_eq(occurrences("<details id=\"s0\"><summary><h2 class=\"bad\"><span class=\"sign bad\">\u2717</span> Folded</h2>"), 1,
                 "%s", bytes);
    cr_expect_eq(occurrences("</details>\n<section id=\"s1\">"), 1);
    cr_expect_eq(occurrences("<a href=\"#s1\">Open</a>"), 1, "the index leads there");
}

Test(html, curves_are_broken_where_there_is_no_figure)
{
    static const struct tb_curve_axis x = {"x", TB_AS_IS, false}, y = {"y", TB_AS_SHARE, false};
    struct tb_curves *curves = tb_doc_curves(doc, "drift", NULL, x, y);
    tb_curves_line(curves, "A");
    for (int i = 0; i < 3; i++)
        tb_curves_point(curves, i, i == 1 ? tb_none(NULL) : tb_interval_of(0.1 * i, 0, 0.3, 1));
    picture();
    const char *curve = strstr(strstr(bytes, "<g data-line"), "class=\"curve c1\" d=\"");
    cr_assert(curve);
    cr_expect(strchr(strchr(curve + 20, 'M') + 1, 'M') < strchr(curve + 20, '"') && !memchr(curve + 20, 'L', 20));
}

Test(html, heat_runs_from_the_best_to_the_worst)
{
    struct tb_table *table = tb_doc_grid(doc, "heat", NULL, "of=of|a=a|b=b");
    tb_table_heat(table, true);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value("row"), tb_number(100), tb_number(900));
    picture();
    cr_expect_eq(occurrences("fill-opacity=\"0.05\""), 1, "%s", bytes);
    cr_expect_eq(occurrences("fill-opacity=\"0.59\""), 1);
}

Test(html, a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    everything_hostile();
    cr_expect_eq(tb_emit_html(full, doc, "@BODY@", ""), -ENOSPC);
    cr_expect_eq(tb_emit_svg(full, doc), -ENOSPC);
    fclose(full);
}

// A mark that lies outside of all intervals widens the scale.
Test(html, a_mark_is_a_line_at_its_place_beside_an_interval)
{
    struct tb_table *table = tb_doc_table(doc, "rows", "t", columns);
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value("a"), tb_marked(tb_interval_of(1.2, 1.1, 1.3, 0.95), 1.4));
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value("b"), tb_marked(tb_interval_of(1.2, 1.1, 1.3, 0.95), NAN));
    picture();
    cr_expect_eq(occurrences("<line class=\"mark\""), 1);
    cr_expect_eq(occurrences("<line class=\"mark\" x1=\"95.45%\" x2=\"95.45%\""), 1, "%s", bytes); // 1 to 1.4, and a twentieth
}

Test(html, a_picture_has_each_text_in_one_line)
{
    static const struct tb_column broken[] = {{"ratio", "two\nlines", TB_AS_RATIO, true}, {NULL, NULL, TB_AS_IS, false}};
    tb_table_add(tb_doc_table(doc, "rows", "a", broken), TB_ROW_PLAIN, tb_number(1.2));
    picture();
    cr_expect_eq(occurrences("two lines"), 1, "%s", bytes);
    cr_expect_eq(occurrences("two\nlines"), 0);
}

Test(html, a_picture_has_colours_of_its_own_for_the_dark)
{
    put_row(NULL, "a", 1.2);
    picture();
    cr_expect_eq(occurrences("<rect class=\"paper\""), 1);
    cr_expect_eq(occurrences("@media(prefers-color-scheme:dark){.paper{"), 1);
}
