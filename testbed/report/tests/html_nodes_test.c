// SPDX-License-Identifier: Apache-2.0
//
// html_nodes: curves and tables of a run of many nodes are the log's figures, and the times of an emulated machine are nowhere on
// the page, nor in its answer.
#include "testbed/judge/tests/nodes_fixture.h"
#include "testbed/report/tests/html_tags.h"
#include "testbed/stats/stats.h"

enum { ROUNDS = 8 };

TestSuite(html_nodes, .init = enter_folder, .fini = leave_folder);

static struct record_fixture dressed(void (*dress)(json_t *line))
{
    struct record_fixture fixture = usual;
    fixture.dress = dress;
    fixture.rounds = ROUNDS;
    return fixture;
}

static const json_t *sample_of(size_t cell, const char *arm, size_t round)
{
    const struct tb_log_view *view = &store.runs[0].view;
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->chain.entries[view->samples_begin + i].object;
        if (tb_member_number(sample, "cell") == (double)cell && strcmp(tb_member_text(sample, "arm"), arm) == 0 &&
            tb_member_number(sample, "round") == (double)round)
            return sample;
    }
    cr_assert_fail("no sample of %s", arm);
    return NULL;
}

static const char *must_find(const char *from, const char *text)
{
    const char *at = from ? strstr(from, text) : NULL;
    cr_assert(at, "%s is missing", text);
    return at;
}

// --- curves ---

static double share_of(size_t cell, const char *arm, size_t round, size_t stretch)
{
    const json_t *point = json_array_get(tb_member(sample_of(cell, arm, round), "nodes.drift"), stretch);
    return 100 * json_number_value(json_array_get(point, 1)) / json_number_value(json_array_get(point, 0));
}

// One stretch of one arm's curve; `rounds` of the log's.
static void same_point(const char *tag, size_t cell, const char *arm, size_t rounds)
{
    double share[ROUNDS], low = INFINITY, high = -INFINITY;
    size_t stretch = (size_t)attribute_number(tag, "data-stretch");
    for (size_t r = 0; r < rounds; r++) {
        share[r] = share_of(cell, arm, r, stretch);
        low = fmin(low, share[r]);
        high = fmax(high, share[r]);
    }
    cr_assert_eq(attribute_number(tag, "data-share"), tb_median(share, rounds), "%s at %zu", arm, stretch);
    cr_assert_eq(attribute_number(tag, "data-low"), low);
    cr_assert_eq(attribute_number(tag, "data-high"), high);
}

// Its dots, then its marks.
static size_t same_curve(const char *from, size_t cell, const char *arm)
{
    char text[64];
    size_t count = 0;
    snprintf(text, sizeof text, " data-arm=\"%s\" data-rounds=\"%d\">", arm, ROUNDS);
    const char *at = must_find(from, "class=\"chart drift\"");
    for (int group = 0; group < 2; group++) {
        at = must_find(at + 1, text);
        const char *end = must_find(at, "</g>"), *point = at;
        while ((point = strstr(point + 1, " data-stretch=")) && point < end) {
            same_point(point, cell, arm, ROUNDS);
            count++;
        }
    }
    return count;
}

Test(html_nodes, draws_each_stretch_of_each_arm_as_it_is_in_the_log)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    well_formed();
    const char *at = page;
    for (size_t cell = 0; cell < 2; cell++) {
        at = must_find(at + 1, "<section class=\"nodes\"");
        for (const char *arm = "A\0B\0C\0"; *arm; arm += 2)
            cr_assert_eq(same_curve(at, cell, arm), FIXTURE_STRETCHES - 1, "of the silent stretch there is no share");
    }
    cr_assert_gt(share_of(0, "B", 0, FIXTURE_STRETCHES - 1), 40, "the fixture wanders");
}

Test(html_nodes, shows_curves_that_lie_at_zero)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    size_t marks_of_a = 0, at_zero = 0;
    const char *at = must_find(page, "<g class=\"marks k0072B2\" data-arm=\"A\""), *end = must_find(at, "</g>");
    while ((at = strstr(at + 1, "<use ")) && at < end) {
        double y = attribute_number(at, "y");
        cr_assert(y > 150 && y < 206 - 5, "the mark at %g is cut off by the plot's edge", y);
        marks_of_a++;
        at_zero += attribute_number(at, "data-share") == 0;
    }
    cr_assert_geq(marks_of_a, 3);
    cr_assert_eq(at_zero, marks_of_a);
    must_find(page, "<polyline class=\"k0072B2 d0\"");
    must_find(page, "<polyline class=\"k0072B2 d1\""); // C is of the same look: it has another line
    must_find(page, "<tspan class=\"k0072B2\">A </tspan><tspan class=\"k0072B2\">C </tspan>");
}

Test(html_nodes, draws_a_band_only_where_rounds_differ)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    cr_assert_eq(occurrences("<polygon class=\"k009E73\""), 4, "B's curve in two pieces, in two cells");
    cr_assert_eq(occurrences("<polygon "), 4);
}

Test(html_nodes, leaves_out_a_sample_that_is_not_valid_and_says_so)
{
    struct record_fixture broken = dressed(fixture_dress_nodes);
    broken.invalid_round = ROUNDS - 1;
    make_run(broken);
    make_page();
    char text[64];
    snprintf(text, sizeof text, " data-arm=\"B\" data-rounds=\"%d\">", ROUNDS - 1);
    const char *at = must_find(page, text);
    same_point(must_find(at, " data-stretch="), 0, "B", ROUNDS - 1);
    cr_assert_eq(occurrences("<td>7 <span class=\"bad\">1 invalid</span></td>"), 2);
}

// --- tables ---

static const char *pairs_of(const char *arm)
{
    char text[64];
    snprintf(text, sizeof text, " data-node-arm=\"%s\"", arm);
    return must_find(page, text);
}

static void same_range(const char *cell, const char *arm, const char *path)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t r = 0; r < ROUNDS; r++) {
        low = fmin(low, tb_member_number(sample_of(0, arm, r), path));
        high = fmax(high, tb_member_number(sample_of(0, arm, r), path));
    }
    same_number(cell, "data-n", sample_of(0, arm, 0), path);
    cr_assert_eq(attribute_number(cell, "data-low"), low);
    cr_assert_eq(attribute_number(cell, "data-high"), high);
}

// The pair's figures of the first round: touches, blocks handed out, blocks freed.
static void same_pair(const char *fold, const char *arm, const json_t *pair, const char *kind)
{
    char text[64];
    snprintf(text, sizeof text, "<tr data-from=\"%lld\" data-to=\"%lld\">", json_integer_value(json_array_get(pair, 0)),
             json_integer_value(json_array_get(pair, 1)));
    const char *row = must_find(fold, text);
    snprintf(text, sizeof text, "<td data-figure=\"%s\"", kind);
    cr_assert_eq(attribute_number(must_find(row, text), "data-n"), json_number_value(json_array_get(pair, 2)), "%s, %s", arm, text);
}

Test(html_nodes, says_from_where_to_where_as_the_first_round_has_it)
{
    static const char *const kinds[] = {"touches", "allocations", "frees"};
    make_run(dressed(fixture_dress_nodes));
    make_page();
    for (const char *arm = "A\0B\0"; *arm; arm += 2) {
        const char *fold = pairs_of(arm), *sum;
        for (size_t k = 0; k < 3; k++) {
            char path[64], figure[64];
            const json_t *pair;
            size_t i;
            snprintf(path, sizeof path, "nodes.%s.pairs", kinds[k]);
            json_array_foreach (tb_member(sample_of(0, arm, 0), path), i, pair)
                same_pair(fold, arm, pair, kinds[k]);
            cr_assert_eq(i, *arm == 'A' ? 2 : 4);
            snprintf(path, sizeof path, "nodes.%s.remote", kinds[k]);
            snprintf(figure, sizeof figure, "<td data-figure=\"%s\"", kinds[k]);
            sum = must_find(must_find(fold, "data-sum=\"remote\""), figure);
            same_range(sum, arm, path);
        }
        same_range(must_find(must_find(fold, "data-sum=\"abroad\""), "<td data-figure=\"frees\""), arm, "nodes.frees.abroad");
    }
    const char *none = must_find(pairs_of("A"), "<tr data-from=\"0\" data-to=\"2\">");
    cr_assert_eq(attribute_number(must_find(none, "<td "), "data-n"), 0, "that nothing went there is said");
}

Test(html_nodes, says_whether_all_rounds_are_equal)
{
    char text[8];
    make_run(dressed(fixture_dress_nodes));
    make_page();
    cr_assert(attribute(pairs_of("A"), "data-equal", text, sizeof text) && strcmp(text, "yes") == 0);
    cr_assert(attribute(pairs_of("B"), "data-equal", text, sizeof text) && strcmp(text, "no") == 0);
    cr_assert_eq(occurrences("8 rounds, all equal<"), 4);
    cr_assert_eq(occurrences("8 rounds, not all equal<"), 2);
}

Test(html_nodes, shows_each_home_and_where_its_pages_are)
{
    static const char *const members[] = {"allocated", "freed", "pushed", "drained"};
    make_run(dressed(fixture_dress_nodes));
    make_page();
    const char *fold = pairs_of("A"), *row = must_find(fold, "<tr data-home=\"2\">");
    const json_t *home = json_array_get(tb_member(sample_of(0, "A", 0), "nodes.homes"), 1);
    for (size_t m = 0; m < 4; m++) {
        char text[64];
        snprintf(text, sizeof text, "<td data-figure=\"%s\"", members[m]);
        same_number(must_find(row, text), "data-n", home, members[m]);
    }
    row = must_find(fold, "<tr data-phase=\"after\" data-station=\"2\" data-requested=\"bind\" data-granted=\"bind\">");
    cr_assert_eq(attribute_number(must_find(row, "<td data-figure=\"present\""), "data-n"), 200);
    cr_assert_eq(attribute_number(must_find(row, "<td data-figure=\"elsewhere\""), "data-n"), 0);
    must_find(row, "2: 200</td>");
    must_find(row, "data-maps=\"yes\">agrees");
    cr_assert_eq(occurrences("It asks the kernel for no placement."), 2, "B is a malloc, in two cells");
    cr_assert_eq(occurrences("data-balanced=\"no\""), 0);
}

// A malloc does not say where it keeps what is freed.
static void dress_untold(json_t *line)
{
    fixture_dress_nodes(line);
    if (strcmp(json_string_value(json_object_get(line, "t")), "s") == 0) {
        json_object_set_new(line, "abroad_free_ratio", json_null());
        json_object_set_new(json_object_get(json_object_get(line, "nodes"), "frees"), "abroad", json_null());
    }
}

Test(html_nodes, takes_what_is_not_known_for_no_zero)
{
    make_run(dressed(dress_untold));
    make_page();
    const char *sum = must_find(must_find(pairs_of("A"), "data-sum=\"abroad\""), "<td data-figure=\"frees\"");
    cr_assert(isnan(attribute_number(sum, "data-n")));
    cr_assert_eq(strncmp(strchr(sum, '>'), ">\u2013</td>", 8), 0);
    const char *share = must_find(page, "<td data-metric=\"abroad_free_ratio\"");
    cr_assert(isnan(attribute_number(share, "data-median")));
    cr_assert_eq(strncmp(strchr(share, '>'), ">\u2013</td>", 8), 0);
}

static json_t *first_place(json_t *line, const char *phase)
{
    return json_array_get(json_object_get(json_object_get(line, "nodes"), phase), 0);
}

// A's first region was not granted, the second witness of its pages says otherwise, and a block did not come home in one round.
static void dress_misplaced(json_t *line)
{
    fixture_dress_nodes(line);
    if (strcmp(json_string_value(json_object_get(line, "t")), "s") || strcmp(json_string_value(json_object_get(line, "arm")), "A"))
        return;
    json_object_set_new(first_place(line, "before"), "granted", json_null());
    json_object_set_new(first_place(line, "before"), "why", json_string("EPERM <script>alert(1)</script>"));
    json_object_set_new(first_place(line, "after"), "elsewhere", json_integer(3));
    json_object_set_new(first_place(line, "after"), "numa_maps", json_false());
    if (json_integer_value(json_object_get(line, "round")) == 5)
        json_object_set_new(first_place(line, "homes"), "freed", json_integer(1));
}

Test(html_nodes, hides_no_fault_of_a_placement)
{
    make_run(dressed(dress_misplaced));
    make_page();
    well_formed();
    const char *fold = pairs_of("A"), *before = must_find(fold, "<tr data-phase=\"before\" data-station=\"0\"");
    must_find(before, "<td class=\"text bad\">not granted: EPERM &lt;script&gt;");
    const char *after = must_find(fold, "<tr data-phase=\"after\" data-station=\"0\"");
    cr_assert_eq(attribute_number(must_find(after, "<td data-figure=\"elsewhere\""), "data-n"), 3);
    must_find(after, "data-maps=\"no\">disagrees");
    cr_assert_eq(occurrences("data-balanced=\"no\""), 2, "one round suffices, in two cells");
    cr_assert_eq(occurrences("<script"), 0);
}

// --- an emulated machine ---

Test(html_nodes, marks_a_run_of_an_emulated_machine)
{
    make_run(dressed(fixture_dress_guest));
    make_page();
    well_formed();
    must_find(page, " data-emulated=\"n2\">");
    must_find(page, "</span> emulated: n2</span>");
    must_find(page,
              "<b>Made in an emulated machine (n2).</b> What is counted here is evidence; times are not, and are not shown as "
              "results.");
}

Test(html_nodes, shows_no_time_of_an_emulated_machine_and_all_that_was_counted)
{
    make_run(dressed(fixture_dress_guest));
    make_page();
    cr_assert_eq(occurrences("data-metric=\"time_ns\""), 0);
    cr_assert_eq(occurrences("class=\"arms\""), 0);
    cr_assert_eq(occurrences("A/A"), 0);
    cr_assert_eq(occurrences("data-part="), 0, "P3 is about time");
    const char *p1 = must_find(page, "data-prediction=\"P1\"");
    cr_assert(isnan(attribute_number(p1, "data-estimate")) && isnan(attribute_number(p1, "data-high")));
    const char *p2 = must_find(page, "data-prediction=\"P2\"");
    same_number(p2, "data-estimate", json_array_get(tb_member(store.runs[0].view.summary, "predictions"), 1), "estimate");
    cr_assert_gt(occurrences("data-metric=\"outstanding_ratio\""), 0);
    cr_assert_eq(same_curve(page, 0, "B"), FIXTURE_STRETCHES - 1);
}

Test(html_nodes, does_not_count_times_of_an_emulated_machine_as_results)
{
    struct record_fixture slower = dressed(fixture_dress_guest);
    slower.factor = 0.5; // B is faster than A: P1 and P3 would be refuted by a real machine
    slower.rounds = 20;
    make_run(slower);
    make_page();
    must_find(page, "Of 3 predictions in 1 run, 1 survived, 0 were falsified, 0 remain open and 2 could not be measured here.");
    must_find(page, "The run was made in an emulated machine");
    cr_assert_eq(occurrences("falsified\" data-runs=\"0\""), 1);
    cr_assert_eq(occurrences("<ul class=\"fallen\">"), 0);
    cr_assert_eq(occurrences("data-verdict=\"falsified\""), 0);
    for (const char *id = "P1\0P3\0"; *id; id += 3) {
        char text[32], verdict[32];
        snprintf(text, sizeof text, "data-prediction=\"%s\"", id);
        cr_assert(attribute(must_find(page, text), "data-verdict", verdict, sizeof verdict));
        cr_assert_str_eq(verdict, "unmeasurable-on-host");
    }
}

Test(html_nodes, shows_no_figure_of_a_time_that_was_left_open)
{
    struct record_fixture close = dressed(fixture_dress_guest);
    close.factor = 1.25 / 1.4; // on hardware inconclusive
    close.rounds = 20;
    make_run(close);
    make_page();
    const json_t *p1 = json_array_get(tb_member(store.runs[0].view.summary, "predictions"), 0);
    cr_assert_str_neq(tb_member_text(p1, "verdict"), "survived");
    cr_assert_eq(occurrences("not measured: the clock of an emulated machine (n2) says nothing about hardware<"), 4,
                 "P1 and P3, twice each");
}

Test(html_nodes, counts_the_same_times_of_a_real_machine)
{
    struct record_fixture slower = dressed(fixture_dress_nodes);
    slower.factor = 0.5;
    slower.rounds = 20;
    make_run(slower);
    make_page();
    must_find(page, "Of 3 predictions in 1 run, 1 survived, 2 were falsified and 0 remain open.");
    cr_assert_eq(occurrences("emulated"), occurrences("badge.emulated") + occurrences("[data-emulated]"));
    cr_assert_gt(occurrences("data-metric=\"time_ns\""), 0);
    cr_assert_eq(occurrences("class=\"arms\""), 2);
}

// --- single predictions, and old logs ---

static void dress_unmeasurable(json_t *line)
{
    json_t *prediction = json_array_get(json_object_get(line, "predictions"), 0);
    if (!prediction)
        return;
    json_object_set_new(prediction, "verdict", json_string("unmeasurable-on-host"));
    json_object_set_new(prediction, "why", json_string("this machine has one node"));
}

Test(html_nodes, says_why_a_single_prediction_could_not_be_measured)
{
    make_run(dressed(dress_unmeasurable));
    make_page();
    well_formed();
    cr_assert_eq(occurrences("not measured: this machine has one node<"), 2, "in the line and in the section");
    const char *p1 = must_find(page, "data-prediction=\"P1\""), *p2 = must_find(p1, "data-prediction=\"P2\"");
    cr_assert(must_find(p1, "class=\"chart intervals\"") > p2, "there is nothing to draw");
    must_find(page, ", 0 were falsified, ");
    must_find(page, " and 1 could not be measured here.");
}

Test(html_nodes, shows_an_old_log_as_ever)
{
    static const char *const never[] = {"Node by node", "class=\"plot\"", "class=\"nodes\"", "data-emulated=", "class=\"badges\"",
                                        "Made in an",   "not measured",   "here.</p>",       "data-node-arm="};
    make_run(usual);
    make_page();
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        cr_assert_eq(occurrences(never[i]), 0, "%s is on the page", never[i]);
    cr_assert_eq(occurrences("class=\"chart strips\""), 4);
}

// --- figures ---

Test(html, writes_counts_in_full_and_shares_that_are_exact_at_their_ends)
{
    cr_assert_str_eq(TB_WHOLE(0), "0");
    cr_assert_str_eq(TB_WHOLE(999), "999");
    cr_assert_str_eq(TB_WHOLE(1234567), "1\u202f234\u202f567");
    cr_assert_str_eq(TB_WHOLE(999999999999999), "999\u202f999\u202f999\u202f999\u202f999");
    cr_assert_str_eq(TB_WHOLE(1000.5), "1\u202f000.5");
    cr_assert_str_eq(TB_WHOLE(NAN), "none");
    cr_assert_str_eq(TB_SHARE(0), "0");
    cr_assert_str_eq(TB_SHARE(1), "100");
    cr_assert_str_eq(TB_SHARE(1e-9), "<0.001");
    cr_assert_str_eq(TB_SHARE(0.99999), ">99.9");
    cr_assert_str_eq(TB_SHARE(0.325), "32.5");
}
