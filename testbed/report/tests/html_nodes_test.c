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
        const json_t *sample = view->samples[i].line;
        if (tb_member_number(sample, "cell") == (double)cell && strcmp(tb_member_text(sample, "arm"), arm) == 0 &&
            tb_member_number(sample, "round") == (double)round)
            return sample;
    }
    cr_assert_fail("no sample of %s", arm);
    return NULL;
}

// --- curves ---

static double share_of(size_t cell, const char *arm, size_t round, size_t stretch)
{
    const json_t *point = json_array_get(tb_member(sample_of(cell, arm, round), "nodes.drift"), stretch);
    return json_number_value(json_array_get(point, 1)) / json_number_value(json_array_get(point, 0));
}

// One stretch of one arm's curve, "x,median,least,most "; `rounds` of the log's.
static char *same_point(char *at, size_t cell, const char *arm, size_t stretch, size_t rounds)
{
    double share[ROUNDS], low = INFINITY, high = -INFINITY;
    cr_assert_eq(strtod(at, &at), ((double)stretch + 0.5) / FIXTURE_STRETCHES);
    if (stretch == FIXTURE_SILENT) {
        cr_assert_eq(strncmp(at, ",,, ", 4), 0, "of the silent stretch there is no share: %.20s", at);
        return at + 4;
    }
    for (size_t r = 0; r < rounds; r++) {
        share[r] = share_of(cell, arm, r, stretch);
        low = fmin(low, share[r]);
        high = fmax(high, share[r]);
    }
    cr_assert_eq(strtod(at + 1, &at), tb_median(share, rounds), "%s at %zu", arm, stretch);
    cr_assert_eq(strtod(at + 1, &at), low);
    cr_assert_eq(strtod(at + 1, &at), high);
    return at + 1;
}

// The figure of a cell, and in it the curve of an arm.
static char *curve_of(size_t cell, const char *arm)
{
    char text[64];
    const char *figure = page;
    for (size_t i = 0; i <= cell; i++)
        figure = must_find(figure + 1, "<figure data-key=\"drift\">");
    snprintf(text, sizeof text, "<g data-line=\"%s ", arm);
    return strstr(must_find(figure, text), "data-points=\"") + strlen("data-points=\"");
}

static void same_curve(size_t cell, const char *arm, size_t rounds)
{
    char *at = curve_of(cell, arm);
    for (size_t i = 0; i < FIXTURE_STRETCHES; i++)
        at = same_point(at, cell, arm, i, rounds);
    cr_assert_eq(*at, '"', "and no more");
}

Test(html_nodes, draws_each_stretch_of_each_arm_as_it_is_in_the_log)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    well_formed();
    for (size_t cell = 0; cell < 2; cell++)
        for (const char *arm = "A\0B\0C\0"; *arm; arm += 2)
            same_curve(cell, arm, ROUNDS);
    cr_assert_gt(share_of(0, "B", 0, FIXTURE_STRETCHES - 1), 0.4, "the fixture wanders");
}

Test(html_nodes, draws_curves_that_lie_at_zero_above_the_edge)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    const char *path = must_find(curve_of(0, "A"), "class=\"curve c1\" d=\"M") + strlen("class=\"curve c1\" d=\"M");
    char *end;
    strtod(path, &end);
    double y = strtod(end, NULL);
    cr_assert(y > 150 && y < 220 - 20, "%g", y);
    must_find(curve_of(0, "C"), "class=\"curve c3\"");
}

Test(html_nodes, draws_a_band_only_where_rounds_differ)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    cr_assert_eq(occurrences("class=\"band c1\" d=\"\""), 2, "A's rounds are equal");
    cr_assert_eq(occurrences("class=\"band c2\" d=\"M"), 2, "B's are not");
}

static const char *shares_of(const char *arm)
{
    char text[64];
    snprintf(text, sizeof text, "<tr data-arm=\"%s\" data-wandered_ratio=", arm);
    return must_find(page, text);
}

Test(html_nodes, leaves_out_a_sample_that_is_not_valid_and_says_so)
{
    struct record_fixture broken = dressed(fixture_dress_nodes);
    broken.invalid_round = ROUNDS - 1;
    make_run(broken);
    make_page();
    turn_to(0);
    same_curve(0, "B", ROUNDS - 1);
    cr_assert_eq(attribute_number(shares_of("B"), "data-rounds"), ROUNDS - 1);
    cr_assert_eq(attribute_number(shares_of("B"), "data-left_out"), 1);
}

// --- tables ---

// In the first cell.
static const char *pairs_of(const char *arm)
{
    char text[64];
    snprintf(text, sizeof text, "<div data-arm=\"%s\"", arm);
    return must_find(page, text);
}

static const char *sum_of(const char *arm, const char *where)
{
    char text[128];
    snprintf(text, sizeof text, "<tr data-where=\"%s\"", where);
    return must_find(pairs_of(arm), text);
}

// The first round's figure, and the least and the most of all where they differ.
static void same_range(const char *row, const char *kind, const char *arm, const char *path)
{
    double low = INFINITY, high = -INFINITY;
    char name[64];
    for (size_t r = 0; r < ROUNDS; r++) {
        low = fmin(low, tb_member_number(sample_of(0, arm, r), path));
        high = fmax(high, tb_member_number(sample_of(0, arm, r), path));
    }
    snprintf(name, sizeof name, "data-%s", kind);
    same_number(row, name, sample_of(0, arm, 0), path);
    if (!(low < high))
        return;
    snprintf(name, sizeof name, "data-%s-low", kind);
    cr_assert_eq(attribute_number(row, name), low);
    snprintf(name, sizeof name, "data-%s-high", kind);
    cr_assert_eq(attribute_number(row, name), high);
}

Test(html_nodes, says_from_where_to_where_as_the_first_round_has_it)
{
    static const char *const kinds[] = {"touches", "allocations", "frees"};
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    for (const char *arm = "A\0B\0"; *arm; arm += 2) {
        for (size_t k = 0; k < 3; k++) {
            char path[64], where[64], name[64];
            const json_t *pair;
            size_t i;
            snprintf(path, sizeof path, "nodes.%s.pairs", kinds[k]);
            snprintf(name, sizeof name, "data-%s", kinds[k]);
            json_array_foreach (tb_member(sample_of(0, arm, 0), path), i, pair) {
                snprintf(where, sizeof where, "CPU on %g, page on %g", json_number_value(json_array_get(pair, 0)),
                         json_number_value(json_array_get(pair, 1)));
                cr_assert_eq(attribute_number(sum_of(arm, where), name), json_number_value(json_array_get(pair, 2)));
            }
            cr_assert_eq(i, *arm == 'A' ? 2 : 4);
            snprintf(path, sizeof path, "nodes.%s.remote", kinds[k]);
            same_range(sum_of(arm, "on another node"), kinds[k], arm, path);
        }
        same_range(sum_of(arm, "kept abroad"), "frees", arm, "nodes.frees.abroad");
    }
    cr_assert_eq(attribute_number(sum_of("A", "CPU on 0, page on 2"), "data-touches"), 0, "that nothing went there is said");
}

Test(html_nodes, says_whether_all_rounds_are_equal)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    cr_assert_eq(occurrences("<div data-equal=\"yes\""), 4);
    cr_assert_eq(occurrences("<div data-equal=\"no\""), 2);
    cr_assert_eq(occurrences(": 8 rounds, all equal<"), 4);
    cr_assert_eq(occurrences(": 8 rounds, not all equal<"), 2);
}

Test(html_nodes, shows_each_home_and_where_its_pages_are)
{
    static const char *const members[] = {"allocated", "freed", "pushed", "drained"};
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    const char *row = must_find(pairs_of("A"), "<tr data-home=\"2\"");
    const json_t *home = json_array_get(tb_member(sample_of(0, "A", 0), "nodes.homes"), 1);
    for (size_t m = 0; m < 4; m++) {
        char name[64];
        snprintf(name, sizeof name, "data-%s", members[m]);
        same_number(row, name, home, members[m]);
    }
    row = must_find(pairs_of("A"), "<tr data-station=\"2\" data-phase=\"after\" data-requested=\"bind\" data-granted=\"bind\"");
    cr_assert_eq(attribute_number(row, "data-present"), 200);
    cr_assert_eq(attribute_number(row, "data-elsewhere"), 0);
    must_find(row, "2: 200</td>");
    must_find(row, "data-maps=\"agrees\"");
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
    turn_to(0);
    cr_assert(isnan(attribute_number(sum_of("A", "kept abroad"), "data-frees")));
    cr_assert(isnan(attribute_number(shares_of("A"), "data-abroad_free_ratio")));
    must_find(sum_of("A", "kept abroad"), "<td>-</td></tr>");
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
    turn_to(0);
    well_formed();
    const char *fold = pairs_of("A"), *before = must_find(fold, "<tr data-station=\"0\" data-phase=\"before\"");
    must_find(before, "data-granted=\"not granted: EPERM &lt;script&gt;");
    const char *after = must_find(fold, "<tr data-station=\"0\" data-phase=\"after\"");
    cr_assert_eq(attribute_number(after, "data-elsewhere"), 3);
    must_find(after, "data-maps=\"disagrees\"");
    cr_assert_eq(occurrences("data-balanced=\"no\""), 2, "one round suffices, in two cells");
    cr_assert_eq(occurrences("<script"), 0);
}

// --- an emulated machine ---

Test(html_nodes, marks_a_run_of_an_emulated_machine)
{
    make_run(dressed(fixture_dress_guest));
    make_page();
    well_formed();
    must_find(page, "data-emulated=\"n2\">");
    turn_to(0);
    well_formed();
    must_find(page, "<div data-emulated=\"n2\">");
    must_find(page,
              "Made in an emulated machine (n2). What is counted here is evidence; times are not, and are not shown as results.");
}

Test(html_nodes, shows_no_time_of_an_emulated_machine_and_all_that_was_counted)
{
    make_run(dressed(fixture_dress_guest));
    make_page();
    turn_to(0);
    cr_assert_eq(occurrences("data-metric=\"time_ns\""), 0);
    cr_assert_eq(occurrences("data-key=\"arms\""), 0);
    cr_assert_eq(occurrences("A/A control</th>"), 0);
    cr_assert_eq(occurrences("<tr data-prediction=\"P3\" data-cell="), 0, "P3 is about time");
    const char *p1 = must_find(page, "<tr data-prediction=\"P1\"");
    cr_assert(isnan(attribute_number(p1, "data-estimate")));
    const char *p2 = must_find(page, "<tr data-prediction=\"P2\"");
    same_number(p2, "data-estimate", json_array_get(tb_member(store.runs[0].view.summary, "predictions"), 1), "estimate");
    cr_assert_gt(occurrences("data-metric=\"outstanding_ratio\""), 0);
    same_curve(0, "B", ROUNDS);
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
    cr_assert_eq(occurrences("data-fallen="), 0);
    cr_assert_eq(occurrences("data-verdict=\"falsified\""), 0);
    turn_to(0);
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
    turn_to(0);
    const json_t *p1 = json_array_get(tb_member(store.runs[0].view.summary, "predictions"), 0);
    cr_assert_str_neq(tb_member_text(p1, "verdict"), "survived");
    cr_assert_eq(occurrences(
                     "not measured<small class=\"detail\">the clock of an emulated machine (n2) says nothing about hardware<"),
                 2, "P1 and P3");
}

Test(html_nodes, counts_the_same_times_of_a_real_machine)
{
    struct record_fixture slower = dressed(fixture_dress_nodes);
    slower.factor = 0.5;
    slower.rounds = 20;
    make_run(slower);
    make_page();
    must_find(page, "Of 3 predictions in 1 run, 1 survived, 2 were falsified and 0 remain open.");
    cr_assert_eq(occurrences("data-fallen="), 2);
    turn_to(0);
    cr_assert_eq(occurrences("data-emulated="), 0);
    cr_assert_gt(occurrences("data-metric=\"time_ns\""), 0);
    cr_assert_eq(occurrences("data-key=\"arms\""), 2);
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
    must_find(page, ", 0 were falsified, ");
    must_find(page, " and 1 could not be measured here.");
    turn_to(0);
    well_formed();
    cr_assert_eq(occurrences("not measured<small class=\"detail\">this machine has one node<"), 1);
    cr_assert_eq(occurrences("<tr data-prediction=\"P1\" data-cell="), 0, "there is nothing to draw");
    cr_assert_gt(occurrences("<tr data-prediction=\"P2\" data-cell="), 0);
}

Test(html_nodes, shows_an_old_log_as_ever)
{
    static const char *const never[] = {"Node by node", "<figure",   "data-emulated=", "Made in an",
                                        "not measured", "here.</p>", "data-equal="};
    make_run(usual);
    make_page();
    turn_to(0);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        cr_assert_eq(occurrences(never[i]), 0, "%s is on the page", never[i]);
    cr_assert_eq(occurrences("data-key=\"strips\""), 4);
}
