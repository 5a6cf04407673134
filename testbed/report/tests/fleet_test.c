// SPDX-License-Identifier: Apache-2.0
//
// fleet: hosts side by side: alike, emulated, crashed, of older logs, with a broken ledger; and which of their runs stands.
#include "testbed/report/tests/fleet_fixture.h"

TestSuite(fleet, .init = enter_folder, .fini = leave_fleet);

static void as_boasting_guest(json_t *line) // its summary judges a time
{
    as_guest(line);
    if (strcmp(tb_member_text(line, "t"), "sum") == 0)
        json_object_set_new(json_array_get(tb_member(line, "predictions"), 0), "verdict", json_string("survived"));
}

static void as_older_version(json_t *line) // of the postulate
{
    as_hardware(line);
    if (is_header(line))
        json_object_set_new(json_object_get(line, "postulate"), "sha256", json_string("0123456789abcdef"));
}

static void as_old_log(json_t *line) // from before most members of the header
{
    if (!is_header(line))
        return;
    json_object_del(line, "doctor");
    json_object_del(line, "emulated");
    json_object_set_new(line, "env",
                        json_pack("{s:{s:s, s:s}, s:s}", "cpu", "model", "ABSENT", "online", "ABSENT", "nodes", "UNREADABLE"));
}

static void as_gated(json_t *line) // P2 is a gate
{
    as_hardware(line);
    if (strcmp(tb_member_text(line, "t"), "sum") == 0)
        json_object_set_new(json_array_get(tb_member(line, "predictions"), 1), "gate", json_true());
}

// --- who they are --------------------------------------------------------------------------------------------------------------

Test(fleet, puts_machines_that_are_alike_side_by_side)
{
    runs("guest-n2", 1, as_guest);
    runs("bm10", 1, as_hardware);
    runs("cloud", 1, as_virtual);
    runs("bm2", 1, as_hardware);
    look(NULL, NULL);
    HAS(fleet, "groups", 3);
    static const char *const order[] = {"bm2", "bm10", "cloud", "guest-n2"};
    static const double groups[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        const json_t *host = json_array_get(tb_member(fleet, "hosts"), i);
        TELLS(host, "host", order[i]);
        cr_assert_eq(tb_member_number(host, "group"), groups[i]);
    }
    cr_assert_eq(tb_member_number(json_array_get(tb_member(fleet, "groups"), 0), "hosts"), 2);
    TELLS(host_of("bm2"), "cpu", "Big Iron 9000");
    TELLS(host_of("bm2"), "topology", "2 sockets, 3 nodes (1 without CPUs), 4 cores, 8 CPUs");
    TELLS(host_of("bm2"), "kind", "bare metal");
    TELLS(host_of("cloud"), "kind", "virtual");
    TELLS(host_of("guest-n2"), "kind", "emulated");
    TELLS(host_of("guest-n2"), "guest", "n2");
}

Test(fleet, shows_older_logs_with_gaps)
{
    runs("bm1", 1, as_old_log);
    runs("bm2", 1, as_hardware);
    look(NULL, NULL);
    TELLS(host_of("bm1"), "kind", "unknown");
    cr_assert(json_is_null(tb_member(host_of("bm1"), "cpu")) && json_is_null(tb_member(host_of("bm1"), "topology")));
    TELLS(result_of("bm1", "P1"), "verdict", "survived");
    HAS(fleet, "warnings", 0);
}

Test(fleet, says_when_a_host_was_another_machine)
{
    runs("bm1", 1, as_guest);
    struct record_fixture later = run_on("bm1", 1, NULL);
    make_run(later);
    look(NULL, NULL);
    HAS(fleet, "hosts", 1);
    HAS(fleet, "warnings", 1);
}

// --- what they say -------------------------------------------------------------------------------------------------------------

Test(fleet, counts_gates_apart)
{
    runs("bm1", 1, as_gated);
    runs("bm2", 1, as_gated);
    look(NULL, NULL);
    cr_assert(json_is_true(tb_member(prediction_of("P2"), "gate")) && json_is_false(tb_member(prediction_of("P1"), "gate")));
    const json_t *answer = tb_member(fleet, "answer");
    const char *shared = json_string_value(json_array_get(answer, 1)), *gates = json_string_value(json_array_get(answer, 2));
    cr_assert(strstr(shared, "more than one machine measured: 2."), "%s", shared);
    cr_assert(gates && strstr(gates, "counted apart: 1, of which 0 failed"), "%s", gates);
}

Test(fleet, answers_on_which_machines_a_prediction_survives)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 0.8, as_hardware); // 1.12 times, and at least 1.25 was claimed
    crashes("bm3", as_hardware);
    runs("guest-n2", 1, as_guest);
    look(NULL, NULL);
    const json_t *time = prediction_of("P1"), *count = prediction_of("P2");
    TELLS(result_of("bm1", "P1"), "verdict", "survived");
    TELLS(result_of("bm2", "P1"), "verdict", "falsified");
    TELLS(result_of("bm3", "P1"), "verdict", "crashed");
    TELLS(result_of("guest-n2", "P1"), "verdict", "unmeasurable-on-host");
    cr_assert(json_is_null(tb_member(result_of("guest-n2", "P1"), "estimate")), "no time of an emulated machine is a figure");
    cr_assert_eq(tb_member_number(time, "survived"), 1);
    cr_assert_eq(tb_member_number(time, "falsified"), 1);
    cr_assert_eq(tb_member_number(time, "measured"), 2);
    TELLS(time, "sentence",
          "0002 P1 survives on 1 of 2 machines that could measure it. Survived on bm1. Falsified on bm2. Unmeasurable on guest-n2 "
          "(emulated). No valid run on bm3 (crashed).");
    TELLS(count, "sentence",
          "0002 P2 survives on 3 of 3 machines that could measure it. Survived on bm1, bm2, guest-n2 (emulated). No valid run on "
          "bm3 (crashed).");
    HAS(fleet, "disagree", 1);
    TELLS(json_array_get(tb_member(fleet, "disagree"), 0), "prediction", "P1");
    cr_assert_str_eq(json_string_value(json_array_get(tb_member(fleet, "answer"), 1)),
                     "Predictions that more than one machine measured: 3. On all of these machines 2 survive and 0 are falsified; "
                     "they disagree about 1, and 0 are open on some.");
}

Test(fleet, believes_no_time_of_an_emulated_machine)
{
    runs("bm1", 1, as_hardware);
    runs("guest-n2", 1, as_boasting_guest);
    look(NULL, NULL);
    TELLS(json_array_get(tb_member(store.runs[1].view.summary, "predictions"), 0), "verdict", "survived");
    TELLS(result_of("guest-n2", "P1"), "verdict", "unmeasurable-on-host");
    TELLS(result_of("guest-n2", "P2"), "verdict", "survived");
    cr_assert_eq(tb_member_number(prediction_of("P1"), "measured"), 1);
}

Test(fleet, has_the_figures_of_the_logs)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 0.8, as_hardware);
    look(NULL, NULL);
    for (size_t r = 0; r < store.runs_count; r++) {
        const json_t *logged = json_array_get(tb_member(store.runs[r].view.summary, "predictions"), 0);
        const json_t *result = result_of(store.runs[r].host->name, "P1");
        static const char *const members[] = {"estimate", "low", "high"};
        for (size_t m = 0; m < 3; m++)
            cr_assert_eq(tb_member_number(result, members[m]), tb_member_number(logged, members[m]));
        TELLS(result, "run", store.runs[r].run);
    }
}

Test(fleet, lets_the_newest_run_stand_that_says_something)
{
    runs("bm1", 1, as_hardware);
    runs("bm1", 0.8, as_hardware);
    fails_a_gate("bm1", as_hardware);
    crashes("bm1", as_hardware);
    look(NULL, NULL);
    const json_t *result = result_of("bm1", "P1");
    TELLS(result, "verdict", "falsified");
    HAS(result, "older", 1);
    TELLS(json_array_get(tb_member(result, "older"), 0), "verdict", "survived");
    HAS(result, "unfit", 2);
    TELLS(json_array_get(tb_member(result, "unfit"), 0), "verdict", "invalid");
    TELLS(json_array_get(tb_member(result, "unfit"), 1), "verdict", "crashed");
    cr_assert_eq(tb_member_number(host_of("bm1"), "runs"), 4);
}

Test(fleet, says_what_kept_a_host_from_a_verdict)
{
    runs("bm1", 1, as_hardware);
    fails_a_gate("bm2", as_hardware);
    crashes("bm2", as_hardware);
    look(NULL, NULL);
    TELLS(result_of("bm2", ""), "verdict", "invalid");
    cr_assert(strstr(tb_member_text(result_of("bm2", ""), "why"), "pushed 10, drained 9"));
    cr_assert(strstr(tb_member_text(prediction_of("P2"), "sentence"), "No valid run on bm2 (invalid)."));
}

Test(fleet, does_not_count_what_no_ledger_closed)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 1, as_hardware);
    cr_assert_eq(unlink("logs/bm2/ledger.jsonl"), 0);
    look(NULL, NULL);
    TELLS(result_of("bm2", "P1"), "verdict", "not in the ledger");
    cr_assert_eq(tb_member_number(prediction_of("P1"), "measured"), 1);
}

Test(fleet, names_a_broken_ledger_and_shows_the_others)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 1, as_hardware);
    FILE *ledger = fopen("logs/bm2/ledger.jsonl", "w");
    cr_assert(ledger && fputs("{\"t\":\"ledger\"}\n", ledger) >= 0 && fclose(ledger) == 0);
    look(NULL, NULL);
    cr_assert_eq(strncmp(tb_member_text(host_of("bm2"), "broken"), "line 1: ", 8), 0);
    cr_assert(json_is_null(tb_member(host_of("bm1"), "broken")));
    TELLS(result_of("bm1", "P1"), "verdict", "survived");
    TELLS(result_of("bm2", "P1"), "verdict", "ledger broken");
}

Test(fleet, warns_when_hosts_ran_different_versions)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 1, as_older_version);
    look(NULL, NULL);
    HAS(fleet, "warnings", 1);
    cr_assert(strstr(json_string_value(json_array_get(tb_member(fleet, "warnings"), 0)), "bm1 and bm2 ran different versions"));
}

Test(fleet, takes_official_runs_alone)
{
    struct record_fixture trial = run_on("bm2", 1, as_hardware);
    trial.kind = "trial";
    make_run(trial);
    runs("bm1", 1, as_hardware);
    look(NULL, NULL);
    HAS(fleet, "hosts", 1);
}

Test(fleet, shows_what_was_asked_for)
{
    runs("bm1", 1, as_hardware);
    runs("bm2", 1, as_hardware);
    runs("cloud", 1, as_virtual);
    look("bm*", (const char *const[]){"0002/P2", "0007", NULL});
    HAS(fleet, "hosts", 2);
    HAS(fleet, "postulates", 1);
    const json_t *postulate = json_array_get(tb_member(fleet, "postulates"), 0);
    HAS(postulate, "ids", 3);
    HAS(postulate, "predictions", 1);
    TELLS(json_array_get(tb_member(postulate, "predictions"), 0), "id", "P2");
}
