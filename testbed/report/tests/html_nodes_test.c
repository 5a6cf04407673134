// SPDX-License-Identifier: Apache-2.0
//
// html_nodes: the tables of a run of many nodes are the log's figures, and the times of an emulated machine are nowhere on
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

// --- counts of an arm ---

static const char *row_of(const char *arm, const char *member)
{
    char text[64];
    snprintf(text, sizeof text, "<tr data-arm=\"%s\" data-%s=", arm, member);
    return must_find(page, text);
}

// The median of the first `rounds`, and the least and the most where they differ, in the first cell.
static void same_count(const char *arm, const char *key, const char *path, size_t rounds)
{
    const char *row = row_of(arm, "wandered_ratio");
    double values[ROUNDS], low = INFINITY, high = -INFINITY;
    char name[64];
    for (size_t r = 0; r < rounds; r++) {
        values[r] = tb_member_number(sample_of(0, arm, r), path);
        low = fmin(low, values[r]);
        high = fmax(high, values[r]);
    }
    snprintf(name, sizeof name, "data-%s", key);
    cr_assert_eq(attribute_number(row, name), tb_median(values, rounds), "%s of %s", key, arm);
    snprintf(name, sizeof name, "data-%s-low", key);
    if (low < high)
        cr_assert_eq(attribute_number(row, name), low);
    snprintf(name, sizeof name, "data-%s-high", key);
    if (low < high)
        cr_assert_eq(attribute_number(row, name), high);
}

static void same_counts(const char *arm, size_t rounds)
{
    same_count(arm, "wandered_ratio", "wandered_ratio", rounds);
    same_count(arm, "touches", "nodes.touches.remote", rounds);
    same_count(arm, "allocations", "nodes.allocations.remote", rounds);
    same_count(arm, "frees", "nodes.frees.remote", rounds);
    same_count(arm, "abroad", "nodes.frees.abroad", rounds);
}

Test(html_nodes, counts_each_arm_as_it_is_in_the_log)
{
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    well_formed();
    for (const char *arm = "A\0B\0C\0"; *arm; arm += 2)
        same_counts(arm, ROUNDS);
    cr_assert_eq(occurrences("data-key=\"shares\""), 2, "a table for each cell");
    cr_assert_gt(attribute_number(row_of("B", "wandered_ratio"), "data-wandered_ratio"), 0, "the fixture wanders");
    char low[64];
    cr_assert(!attribute(row_of("A", "wandered_ratio"), "data-touches-low", low, sizeof low), "A's rounds are equal");
}

Test(html_nodes, leaves_out_a_sample_that_is_not_valid_and_says_so)
{
    struct record_fixture broken = dressed(fixture_dress_nodes);
    broken.invalid_round = ROUNDS - 1;
    make_run(broken);
    make_page();
    turn_to(0);
    same_counts("B", ROUNDS - 1);
    cr_assert_eq(attribute_number(row_of("B", "wandered_ratio"), "data-rounds"), ROUNDS - 1);
    cr_assert_eq(attribute_number(row_of("B", "wandered_ratio"), "data-left_out"), 1);
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
    cr_assert(isnan(attribute_number(row_of("A", "wandered_ratio"), "data-abroad")));
    cr_assert(isnan(attribute_number(row_of("A", "wandered_ratio"), "data-abroad_free_ratio")));
}

// --- nodes ---

static const char *home_of(const char *arm, int node)
{
    char text[64];
    snprintf(text, sizeof text, "<tr data-arm=\"%s\" data-home=\"%d\"", arm, node);
    return must_find(page, text);
}

Test(html_nodes, shows_each_home_and_where_its_pages_are)
{
    static const char *const members[] = {"allocated", "freed", "pushed", "drained"};
    make_run(dressed(fixture_dress_nodes));
    make_page();
    turn_to(0);
    const char *row = home_of("A", 2);
    const json_t *home = json_array_get(tb_member(sample_of(0, "A", 0), "nodes.homes"), 1);
    for (size_t m = 0; m < 4; m++) {
        char name[64];
        snprintf(name, sizeof name, "data-%s", members[m]);
        same_number(row, name, home, members[m]);
    }
    must_find(row, "data-granted=\"bind\"");
    cr_assert_eq(attribute_number(row, "data-present"), 200);
    cr_assert_eq(attribute_number(row, "data-elsewhere"), 0);
    must_find(home_of("B", 2), ">not asked for<");
    cr_assert_eq(occurrences("data-balanced=\"false\""), 0);
}

static json_t *first_place(json_t *line, const char *phase)
{
    return json_array_get(json_object_get(json_object_get(line, "nodes"), phase), 0);
}

// A's first region was not granted, the other's pages lie elsewhere by the second witness, and a block did not come home in one
// round.
static void dress_misplaced(json_t *line)
{
    fixture_dress_nodes(line);
    if (strcmp(json_string_value(json_object_get(line, "t")), "s") || strcmp(json_string_value(json_object_get(line, "arm")), "A"))
        return;
    json_object_set_new(first_place(line, "before"), "granted", json_null());
    json_object_set_new(first_place(line, "before"), "why", json_string("EPERM <script>alert(1)</script>"));
    json_object_set_new(first_place(line, "after"), "elsewhere", json_integer(3));
    json_t *other = json_array_get(json_object_get(json_object_get(line, "nodes"), "after"), 1);
    json_object_set_new(other, "numa_maps", json_false());
    if (json_integer_value(json_object_get(line, "round")) == 5)
        json_object_set_new(first_place(line, "homes"), "freed", json_integer(1));
}

Test(html_nodes, hides_no_fault_of_a_placement)
{
    make_run(dressed(dress_misplaced));
    make_page();
    turn_to(0);
    well_formed();
    must_find(home_of("A", 0), "data-granted=\"not granted: EPERM &lt;script&gt;");
    cr_assert_eq(attribute_number(home_of("A", 0), "data-elsewhere"), 3);
    must_find(home_of("A", 2), "data-granted=\"numa_maps disagrees\"");
    cr_assert_eq(occurrences("data-balanced=\"false\""), 2, "one round suffices, in two cells");
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
    same_counts("B", ROUNDS);
}

Test(html_nodes, does_not_count_times_of_an_emulated_machine_as_results)
{
    struct record_fixture slower = dressed(fixture_dress_guest);
    slower.factor = 0.5; // B is faster than A: P1 and P3 would be refuted by a real machine
    slower.rounds = 20;
    make_run(slower);
    make_page();
    must_find(page, "Of 3 predictions in 1 run, 1 survived, 0 were falsified, 0 remain open and 2 could not be measured here.");
    must_find(page, "1 of 1 run was made in an emulated machine");
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
    static const char *const never[] = {"Node by node", "data-emulated=", "Made in an", "not measured", "here.</p>"};
    make_run(usual);
    make_page();
    turn_to(0);
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        cr_assert_eq(occurrences(never[i]), 0, "%s is on the page", never[i]);
    cr_assert_eq(occurrences("data-key=\"strips\""), 4);
}
