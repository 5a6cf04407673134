// SPDX-License-Identifier: Apache-2.0
//
// fleet: the same for people: in 80 columns, and on the page.
#include "testbed/doc/emit.h"
#include "testbed/report/tests/fleet_fixture.h"

TestSuite(fleet_view, .init = enter_folder, .fini = leave_fleet);

// --- for people ----------------------------------------------------------------------------------------------------------------

static char *text;

enum view { ALL, POSTULATE, PREDICTION };

static const char *written(enum view view, bool colour)
{
    static const char *const wanted[][2] = {[ALL] = {NULL}, [POSTULATE] = {"0002", NULL}, [PREDICTION] = {"0002/P1", NULL}};
    const struct tb_report_style style = {.colour = colour, .columns = 80};
    struct tb_doc *doc = tb_fleet_doc(NULL, fleet, wanted[view]);
    size_t bytes;
    free(text);
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(tb_emit_text(out, doc, style), 0);
    fclose(out);
    tb_doc_close(doc);
    return text;
}

static void narrow(void)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        cr_assert_leq(length, 80, "%.*s", (int)length, line);
        cr_assert(length == 0 || line[length - 1] != ' ', "blanks behind: %.*s", (int)length, line);
    }
}

#define READS(part) cr_assert(strstr(text, part), "no '%s' in:\n%s", part, text)

// The last lines, in which `sentence` begins.
static void ends_with(const char *sentence)
{
    const char *at = strstr(text, sentence), *next = at;
    cr_assert(at, "no '%s' in:\n%s", sentence, text);
    while ((next = strchr(next, '\n')) && next[1])
        cr_assert(*++next == ' ', "there is more behind the answer:\n%s", text);
}

Test(fleet_view, is_readable_with_a_handful_of_hosts)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 0.8, as_hardware);
    runs("guest-n2", 1, as_guest);
    crashes("guest-n2", as_guest);
    look(NULL, NULL);
    written(ALL, false);
    narrow();
    READS("A  bm1          1  bare metal  Big Iron 9000  2 sockets");
    READS("guest-n2 is emulated: counts, no times");
    READS("survived  falsified  unmeasurable +1\n");
    ends_with("0002 P1 survives on 1 of 2 machines");
    cr_assert(!strchr(text, '\033'));
    written(POSTULATE, false);
    narrow();
    READS("P1   bm1       survived         1.40 [1.39, 1.41]");
    READS("P2   guest-n2  survived +1      1.01");
    written(PREDICTION, false);
    narrow();
    READS("bm2       falsified        1.12 [1.12, 1.13]");
    READS("1 without a verdict: crashed");
    ends_with("0002 P1 survives on 1 of 2 machines");
    written(ALL, true);
    READS("\033[31mfalsified\033[0m");
    free(text);
}

// --- on the page ---------------------------------------------------------------------------------------------------------------

Test(fleet_view, is_a_section_of_the_page)
{
    char word[32], head[512];
    runs("bm1", 1, as_hardware);
    runs("bm2", 0.8, as_hardware);
    runs("guest-n2", 1, as_guest);
    make_page();
    well_formed();
    const char *section = must_find(page, "<section id=\"machines\">"), *row = must_find(page, "<tr data-postulate=\"0002\"");
    cr_assert(section < row);
    for (size_t r = 0; r < store.runs_count; r++) {
        snprintf(head, sizeof head, "data-%s", store.runs[r].host->name);
        cr_assert(attribute(row, head, word, sizeof word), "no %s", head);
        cr_assert_str_eq(word, tb_fleet_word(tb_run_verdict(&store.runs[r]))->word);
        snprintf(head, sizeof head, "<a href=\"report/%s.html\">%s</a>", store.runs[r].run, word);
        cr_assert(must_find(row, head) < must_find(row, "</tr>"), "no %s", head);
    }
    must_find(section, ">guest-n2\n");
    must_find(section, "; emulated: n2</th>");
    cr_assert_geq(occurrences("Big Iron 9000\n"), 2);
    must_find(page, "0002 P1 survives on 1 of 2 machines that could measure it. Survived on bm1.");
    const char *fallen = must_find(page, "<tr data-fallen=\"P1\"");
    cr_assert(attribute(fallen, "data-host", word, sizeof word));
    cr_assert_str_eq(word, "bm2");
}

Test(fleet_view, is_no_section_of_one_machine)
{
    runs("bm1", 0.8, as_hardware);
    make_page();
    well_formed();
    cr_assert_eq(occurrences("id=\"machines\""), 0);
    cr_assert_eq(occurrences("<tr data-fallen=\"P1\""), 1);
}

static void as_hostile(json_t *line)
{
    dress(line, "<img src=x>\"", "bare metal", NULL);
}

Test(fleet_view, lets_nothing_become_markup)
{
    runs("bm1", 1, as_hostile);
    runs("bm2", 1, as_hardware);
    cr_assert_eq(rename("logs/bm1", "logs/bm1<script>\""), 0);
    make_page();
    well_formed();
    cr_assert_eq(occurrences("<script") + occurrences("<img"), 0);
    cr_assert_gt(occurrences("bm1&lt;script&gt;&quot;"), 0);
    cr_assert_gt(occurrences("&lt;img src=x&gt;&quot;\n"), 0);
}
