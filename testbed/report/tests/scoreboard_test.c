// SPDX-License-Identifier: Apache-2.0
//
// scoreboard: which runs count, and figures and places whose truth is known. Runs are those of record_fixture.h: A and C are locus,
// B takes 1.4 times as long and is called mimalloc here.
#include <math.h>

#include "testbed/base/tests/golden.h"
#include "testbed/doc/emit.h"
#include "testbed/measure/contender.h"
#include "testbed/report/standing/scoreboard.h"
#include "testbed/report/tests/html_fixture.h"
#include "testbed/workload/workload.h"

static json_t *board;
static char home[4096]; // the project's folder

static void enter(void)
{
    cr_assert(getcwd(home, sizeof home));
    enter_folder();
}

static void leave(void)
{
    json_decref(board);
    leave_folder();
}

TestSuite(scoreboard, .init = enter, .fini = leave);

static struct record_fixture run_of(const char *run, unsigned seed)
{
    struct record_fixture fixture = usual;
    fixture.library = "mimalloc";
    fixture.run = run;
    fixture.seed = seed;
    return fixture;
}

static struct record_fixture one(void)
{
    return run_of("0002-20261121T101500Z-a1b2c3", 1);
}

static void collect(const char *host, const char *cell)
{
    json_decref(board);
    tb_store_close(&store);
    cr_assert_eq(tb_store_add(&store, "logs"), 0);
    cr_assert_eq(tb_scoreboard(&store, &(struct tb_scoreboard_wanted){host, cell}, &board), 0);
}

static const json_t *table(size_t i)
{
    return json_array_get(tb_member(board, "tables"), i);
}

static size_t tables(void)
{
    return json_array_size(tb_member(board, "tables"));
}

static const json_t *row(size_t t, size_t i)
{
    return json_array_get(tb_member(table(t), "contenders"), i);
}

#define TEXT(object, path, expected) cr_expect_str_eq(tb_member_text(object, path), expected)
#define NUMBER(object, path, expected) cr_expect_eq(tb_member_number(object, path), expected)
#define CLOSE(object, path, expected, within)                                                                                      \
    cr_expect(fabs(tb_member_number(object, path) - (expected)) < (within), "%s is %g", path, tb_member_number(object, path))

// The fixture's ledger gives all runs of a second the same time; the header's has to follow the run's name.
static const char *header_time;

static void dress_time(json_t *line)
{
    if (strcmp(tb_member_text(line, "t"), "hdr") == 0)
        json_object_set_new(line, "time", json_string(header_time));
}

static void make_at(struct record_fixture fixture, const char *time)
{
    header_time = time;
    fixture.dress = dress_time;
    make_run(fixture);
}

// --- figures ---

Test(scoreboard, has_velocity_stability_footprint_and_place_of_each)
{
    make_run(one());
    collect(NULL, NULL);
    cr_assert_eq(tables(), 2);
    TEXT(table(0), "cell", "churn-touch/full/spin/1w/4KiB");
    TEXT(table(1), "cell", "churn-touch/byte/spin/1w/4KiB");
    TEXT(table(0), "baseline", "mimalloc");
    NUMBER(table(0), "rounds", 20);
    NUMBER(table(0), "ranked", 2);
    TEXT(row(0, 0), "name", "locus");
    TEXT(row(0, 0), "key", "A");
    CLOSE(row(0, 0), "times_faster.estimate", 1.4, 0.01);
    cr_expect(tb_member_number(row(0, 0), "times_faster.low") < 1.4 && tb_member_number(row(0, 0), "times_faster.high") > 1.39);
    CLOSE(row(0, 0), "times_faster.confidence", 0.9516, 1e-3);
    CLOSE(row(0, 0), "median_ns", 1e6, 1e4);
    CLOSE(row(0, 0), "mad_percent", 0.5, 0.3);
    cr_expect(tb_member_number(row(0, 0), "interval_percent") > 0);
    CLOSE(row(0, 0), "footprint.worst", 1.01, 1e-9);
    NUMBER(row(0, 0), "rank", 1);
    TEXT(row(0, 1), "name", "mimalloc");
    TEXT(row(0, 1), "version", "glibc 2.36");
    NUMBER(row(0, 1), "times_faster.estimate", 1);
    CLOSE(row(0, 1), "footprint.mean", 1.3, 1e-9);
    NUMBER(row(0, 1), "rank", 2);
    cr_expect_not(json_is_true(tb_member(row(0, 1), "shared")));
    TEXT(row(0, 2), "kind", "twin");
    cr_expect(json_is_null(tb_member(row(0, 2), "rank")) && isfinite(tb_member_number(row(0, 2), "times_faster.estimate")));
}

Test(scoreboard, names_the_entry_that_closed_the_run)
{
    char hash[TB_HASH_TEXT];
    make_run(one());
    collect(NULL, NULL);
    TEXT(table(0), "run", "0002-20261121T101500Z-a1b2c3");
    TEXT(table(0), "ledger.path", "logs/bm1/ledger.jsonl");
    NUMBER(table(0), "ledger.line", 3);
    const struct tb_chain_entry *entry = &store.hosts[0]->ledger.entries[2];
    TEXT(entry->object, "t", "close");
    tb_hash_text(&entry->head, hash);
    TEXT(table(0), "ledger.hash", hash);
}

Test(scoreboard, has_the_predicted_place_of_an_order_and_of_nothing_else)
{
    struct record_fixture ordered = one();
    make_run(ordered);
    collect(NULL, NULL);
    cr_expect(json_is_null(tb_member(row(0, 0), "predicted_rank")), "its postulate claims no order");
    ordered.run = "0002-20261121T111500Z-b1b2c3";
    ordered.postulate =
        FIXTURE_POSTULATE("  - {id: P0, metric: time_ns_p90, cell: \"*\", stat: order(B<A), op: \">\", value: 1.0, unit: x}\n"
                          "  - {id: P1, metric: outstanding_ratio, cell: \"*\", stat: order(B<A), op: \">\", value: 1.0, unit: x}\n"
                          "  - {id: P2, metric: time_ns, cell: \"*/byte\", stat: order(B<C), op: \">\", value: 1.0, unit: x}\n"
                          "  - {id: P3, metric: time_ns, cell: \"*\", stat: order(A<B), op: \">\", value: 1.0, unit: x}\n");
    make_at(ordered, "2026-11-21T11:15:00Z");
    collect(NULL, NULL);
    cr_assert_eq(tables(), 2);
    NUMBER(row(0, 0), "predicted_rank", 1);
    NUMBER(row(0, 0), "predicted_of", 2);
    NUMBER(row(0, 1), "predicted_rank", 2);
    NUMBER(row(1, 0), "predicted_rank", 2); // at one byte the first order that covers it: B, then C, which is locus
    NUMBER(row(1, 1), "predicted_rank", 1);
    NUMBER(row(1, 0), "rank", 1);
    cr_expect(json_is_null(tb_member(row(0, 2), "predicted_rank")), "a twin has none");
}

Test(scoreboard, compares_with_the_first_where_there_is_no_mimalloc)
{
    make_run(usual);
    collect(NULL, NULL);
    TEXT(table(0), "baseline", "locus");
    TEXT(row(0, 1), "name", "glibc");
    CLOSE(row(0, 1), "times_faster.estimate", 1 / 1.4, 0.01);
}

Test(scoreboard, lets_those_share_a_place_who_are_not_told_apart)
{
    struct record_fixture level = one();
    level.factor = 1 / 1.4;
    make_run(level);
    collect(NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        NUMBER(row(0, i), "rank", 1);
        cr_expect(json_is_true(tb_member(row(0, i), "shared")));
    }
}

static void dress_few(json_t *line) // three rounds are too few for its noise gate, too
{
    dress_time(line);
    if (strcmp(tb_member_text(line, "t"), "sum") == 0)
        json_object_set_new(line, "verdict", json_string("inconclusive"));
}

Test(scoreboard, tells_nobody_apart_by_too_few_rounds)
{
    struct record_fixture few = one();
    few.rounds = 3;
    header_time = "2026-11-21T10:15:00Z";
    few.dress = dress_few;
    make_run(few);
    collect(NULL, NULL);
    CLOSE(row(0, 0), "times_faster.estimate", 1.4, 0.03);
    cr_expect(json_is_null(tb_member(row(0, 0), "times_faster.low")), "unbounded");
    NUMBER(row(0, 1), "rank", 1);
    cr_expect(json_is_true(tb_member(row(0, 0), "shared")) && json_is_true(tb_member(row(0, 1), "shared")));
}

static const char *const *arm_names;

static void dress_arms(json_t *line)
{
    for (size_t i = 0; i < 3 && strcmp(tb_member_text(line, "t"), "hdr") == 0; i++)
        json_object_set_new(json_array_get(json_object_get(line, "arms"), i), "name", json_string(arm_names[i]));
}

Test(scoreboard, ranks_no_fault_no_harness_and_nobody_with_other_workers)
{
    struct record_fixture fixture = one();
    fixture.dress = dress_arms;
    arm_names = (const char *const[]){"locus", "mimalloc", "locus@delay:3"};
    make_run(fixture);
    collect(NULL, NULL);
    TEXT(row(0, 2), "kind", "fault");
    NUMBER(table(0), "ranked", 2);
    fixture.run = "0002-20261121T111500Z-b1b2c3";
    fixture.host = "bm2";
    arm_names = (const char *const[]){"oracle", "mimalloc", "locus+4w"};
    make_run(fixture);
    collect("bm2", NULL);
    cr_assert_eq(tables(), 2);
    NUMBER(table(0), "ranked", 1);
    TEXT(row(0, 0), "name", "mimalloc");
    size_t oracle = strcmp(tb_member_text(row(0, 1), "name"), "oracle") == 0 ? 1 : 2; // as fast as the other
    TEXT(row(0, oracle), "kind", "harness");
    TEXT(row(0, 3 - oracle), "kind", "workers");
    CLOSE(row(0, 3 - oracle), "times_faster.estimate", 1.4, 0.01);
}

// --- which runs count ---

Test(scoreboard, takes_the_newest_and_says_what_it_stands_for)
{
    make_at(run_of("0002-20261121T111500Z-b1b2c3", 2), "2026-11-21T11:15:00Z");
    make_at(run_of("0002-20261121T101500Z-a1b2c3", 1), "2026-11-21T10:15:00Z");
    make_at(run_of("0002-20261121T091500Z-c1b2c3", 3), "2026-11-21T09:15:00Z");
    collect(NULL, NULL);
    cr_assert_eq(tables(), 2);
    TEXT(table(0), "run", "0002-20261121T111500Z-b1b2c3");
    cr_expect_eq(json_array_size(tb_member(table(0), "older")), 2);
    NUMBER(board, "older", 4);
}

Test(scoreboard, keeps_an_older_run_that_has_contenders_which_the_newer_lacks)
{
    struct record_fixture newer = usual; // with glibc
    newer.run = "0002-20261121T111500Z-b1b2c3";
    make_at(newer, "2026-11-21T11:15:00Z");
    make_at(one(), "2026-11-21T10:15:00Z"); // with mimalloc
    collect(NULL, NULL);
    cr_assert_eq(tables(), 4);
    TEXT(table(0), "run", "0002-20261121T111500Z-b1b2c3");
    cr_expect(json_is_true(tb_member(table(0), "main")) && !json_is_true(tb_member(table(1), "main")));
    TEXT(table(1), "baseline", "mimalloc");
    NUMBER(board, "older", 0);
    NUMBER(json_array_get(tb_member(board, "standing"), 0), "cells", 1); // of the main table alone
}

Test(scoreboard, has_a_table_for_each_host)
{
    struct record_fixture other = run_of("0002-20261121T111500Z-b1b2c3", 2);
    other.host = "bm2";
    make_run(one());
    make_run(other);
    collect(NULL, NULL);
    cr_assert_eq(tables(), 4);
    TEXT(table(2), "host", "bm2");
    collect("bm1", "*/byte");
    cr_assert_eq(tables(), 1);
    TEXT(table(0), "touch", "byte");
    collect(NULL, "churn-touch/full/spin/1w/*");
    cr_assert_eq(tables(), 2);
    collect(NULL, "churn-touch/full/futex*");
    cr_assert_eq(tables(), 0);
}

static void dress_settings(json_t *line)
{
    json_t *cell = json_array_get(json_object_get(line, "cells"), 0);
    if (!cell)
        return;
    json_object_set_new(cell, "workers", json_integer(4));
    json_object_set_new(cell, "block_bytes", json_integer(65536));
    json_object_set_new(cell, "dispatch", json_string("futex"));
    json_object_set_new(json_array_get(json_object_get(line, "cells"), 1), "workers", json_null());
}

Test(scoreboard, takes_a_cells_own_settings_for_the_designs)
{
    struct record_fixture fixture = one();
    fixture.dress = dress_settings;
    make_run(fixture);
    collect(NULL, NULL);
    TEXT(table(0), "cell", "churn-touch/full/futex/4w/64KiB");
    NUMBER(table(0), "block_bytes", 65536);
    TEXT(table(1), "cell", "churn-touch/byte/spin/1w/4KiB");
}

static void dress_noise(json_t *line) // the twin is slower, so the testbed itself differs
{
    if (strcmp(tb_member_text(line, "arm"), "C") == 0)
        json_object_set_new(line, "time_ns", json_real(1.2 * tb_member_number(line, "time_ns")));
}

static void dress_guest(json_t *line)
{
    if (strcmp(tb_member_text(line, "t"), "hdr") == 0)
        json_object_set_new(line, "emulated", json_string("n2"));
}

static void expect_left_out(struct record_fixture fixture, const char *what)
{
    static unsigned number;
    char run[32];
    snprintf(run, sizeof run, "0002-20261121T1%05uZ-d1b2c3", number++);
    fixture.run = run;
    make_run(fixture);
    collect(NULL, NULL);
    const json_t *left_out = tb_member(board, "left_out"), *last = json_array_get(left_out, json_array_size(left_out) - 1);
    TEXT(last, "run", run);
    TEXT(last, "what", what);
}

Test(scoreboard, takes_no_figure_from_a_run_that_cannot_give_one)
{
    struct record_fixture fixture = one();
    fixture.no_seal = true;
    expect_left_out(fixture, "unsealed");
    fixture = one();
    fixture.kind = "trial";
    expect_left_out(fixture, "trial");
    fixture = one();
    fixture.kind = "smoke";
    expect_left_out(fixture, "smoke");
    fixture = one();
    fixture.dress = dress_guest;
    expect_left_out(fixture, "emulated");
    fixture = one();
    fixture.dress = dress_noise;
    expect_left_out(fixture, "noise");
    fixture = one();
    fixture.no_samples = true;
    expect_left_out(fixture, "unmeasurable");
    cr_expect_eq(tables(), 0);
    cr_expect_eq(json_array_size(tb_member(board, "left_out")), 6);
    TEXT(board, "answer", TB_SCOREBOARD_NOTHING);
    make_run(one());
    collect(NULL, NULL);
    cr_expect_eq(tables(), 2, "and the others do not keep it from being shown");
}

Test(scoreboard, takes_no_figure_from_a_run_that_its_ledger_does_not_close)
{
    make_run(one());
    cr_assert_eq(remove("logs/bm1/ledger.jsonl"), 0);
    collect(NULL, NULL);
    cr_expect_eq(tables(), 0);
    TEXT(json_array_get(tb_member(board, "left_out"), 0), "what", "not in the ledger");
}

Test(scoreboard, takes_no_figure_from_a_damaged_log_and_warns_of_a_damaged_ledger)
{
    make_run(one());
    FILE *log = fopen("logs/bm1/0002-glibc-churn/20261121T101500Z-a1b2c3.jsonl", "r+");
    cr_assert(log && fseek(log, 4000, SEEK_SET) == 0 && fputc('#', log) == '#' && fclose(log) == 0);
    collect(NULL, NULL);
    cr_expect_eq(tables(), 0);
    TEXT(json_array_get(tb_member(board, "left_out"), 0), "what", "log broken");
    FILE *ledger = fopen("logs/bm1/ledger.jsonl", "a");
    cr_assert(ledger && fputs("{}\n", ledger) >= 0 && fclose(ledger) == 0);
    collect(NULL, NULL);
    cr_assert_eq(json_array_size(tb_member(board, "warnings")), 1);
    cr_expect(strstr(json_string_value(json_array_get(tb_member(board, "warnings"), 0)), "ledger.jsonl:4: "));
}

Test(scoreboard, shows_the_gates_of_an_invalid_run_where_there_is_no_other)
{
    struct record_fixture invalid = one();
    invalid.invalid_round = 3;
    make_run(invalid);
    collect(NULL, NULL);
    cr_assert_eq(tables(), 2);
    cr_expect_eq(json_array_size(tb_member(board, "standing")), 0);
    cr_expect_not(json_is_true(tb_member(table(0), "figures")));
    for (size_t i = 0; i < 3; i++) {
        cr_expect(json_is_null(tb_member(row(0, i), "median_ns")) && json_is_null(tb_member(row(0, i), "rank")));
        cr_expect(json_is_null(tb_member(row(0, i), "times_faster")));
    }
    TEXT(row(0, 1), "name", "mimalloc");
    TEXT(row(0, 1), "invalid", "pushed 10, drained 9 (round 4)");
    TEXT(json_array_get(tb_member(board, "left_out"), 0), "what", "invalid");
    make_at(run_of("0002-20261121T091500Z-b1b2c3", 2), "2026-11-21T09:15:00Z");
    collect(NULL, NULL);
    cr_assert_eq(tables(), 2);
    TEXT(table(0), "run", "0002-20261121T091500Z-b1b2c3"); // older, but it has figures
    NUMBER(board, "older", 0);
}

// --- the standing ---

static const json_t *standing_of(size_t group, const char *name)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (tb_member(json_array_get(tb_member(board, "standing"), group), "contenders"), i, entry)
        if (strcmp(tb_member_text(entry, "name"), name) == 0)
            return entry;
    return NULL;
}

static void dress_other_cell(json_t *line) // another cell at full touch, where B takes 2.8 times as long and C is no twin
{
    dress_settings(line);
    dress_arms(line);
    if (strcmp(tb_member_text(line, "arm"), "B") == 0 && json_object_get(line, "time_ns"))
        json_object_set_new(line, "time_ns", json_real(2 * tb_member_number(line, "time_ns")));
}

Test(scoreboard, sums_up_by_geometric_means_and_has_locus_on_the_same_cells)
{
    struct record_fixture other = run_of("0002-20261121T111500Z-b1b2c3", 2);
    make_run(one());
    arm_names = (const char *const[]){"locus", "mimalloc", "jemalloc"};
    other.dress = dress_other_cell;
    make_run(other);
    collect(NULL, "*/full");
    cr_assert_eq(tables(), 2);
    cr_assert_eq(json_array_size(tb_member(board, "standing")), 1);
    const json_t *group = json_array_get(tb_member(board, "standing"), 0), *locus = standing_of(0, "locus");
    TEXT(group, "host", "bm1");
    TEXT(group, "touch", "full");
    NUMBER(group, "cells", 2);
    NUMBER(locus, "cells", 2);
    CLOSE(locus, "mean_times_faster", sqrt(1.4 * 2.8), 0.02);
    CLOSE(locus, "least", 1.4, 0.01);
    CLOSE(locus, "most", 2.8, 0.02);
    NUMBER(locus, "ranked", 2);
    NUMBER(locus, "first", 2);
    NUMBER(locus, "shared", 1); // C is as fast, and a rival in one of them
    NUMBER(standing_of(0, "mimalloc"), "mean_times_faster", 1);
    NUMBER(standing_of(0, "mimalloc"), "first", 0);
    NUMBER(standing_of(0, "jemalloc"), "cells", 1);
    CLOSE(standing_of(0, "jemalloc"), "mean_times_faster", 2.8, 0.03);
    CLOSE(standing_of(0, "jemalloc"), "locus_mean", 2.8, 0.03);
    TEXT(json_array_get(tb_member(group, "contenders"), 0), "name", "jemalloc");
    TEXT(board, "answer", tb_member_text(group, "sentence"));
}

Test(scoreboard, has_no_mean_where_there_is_no_mimalloc)
{
    make_run(usual);
    collect(NULL, NULL);
    cr_expect(json_is_null(tb_member(standing_of(0, "locus"), "mean_times_faster")));
    NUMBER(standing_of(0, "locus"), "cells", 0);
    NUMBER(standing_of(0, "locus"), "first", 1);
}

// --- what is missing, and the views ---

static bool is_missing(const char *list, const char *member, const char *name)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (tb_member(board, list), i, entry)
        if (strcmp(tb_member_text(entry, member), name) == 0)
            return true;
    return false;
}

Test(scoreboard, names_every_contender_and_every_workload_of_the_program)
{
    make_run(one());
    collect(NULL, NULL);
    for (const struct tb_contender *const *c = __start_tb_contenders; c < __stop_tb_contenders; c++) {
        bool shown = strcmp((*c)->name, "locus") == 0 || strcmp((*c)->name, "mimalloc") == 0;
        cr_expect_eq(is_missing("not_measured.contenders", "name", (*c)->name), !shown, "%s", (*c)->name);
    }
    for (size_t i = 0; tb_workload_at(i); i++) {
        char cell[128];
        snprintf(cell, sizeof cell, "%s/full", tb_workload_at(i)->name);
        cr_expect_eq(is_missing("not_measured.cells", "cell", cell), strcmp(cell, "churn-touch/full") != 0, "%s", cell);
    }
    collect(NULL, "long-tail/*");
    cr_expect_eq(json_array_size(tb_member(board, "not_measured.cells")), 2);
}

enum form { AS_TEXT, AS_MARKDOWN, AS_CSV, AS_JSON };

static char *shown(enum form form, bool standing, bool cells)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct tb_doc *doc = form == AS_CSV ? tb_scoreboard_rows_doc(board) : tb_scoreboard_doc(NULL, board, standing, cells);
    struct tb_report_style style = {.columns = 80};
    cr_assert_eq(form == AS_TEXT       ? tb_emit_text(out, doc, style)
                 : form == AS_MARKDOWN ? tb_emit_markdown(out, doc)
                 : form == AS_JSON     ? tb_emit_json(out, doc)
                                       : tb_emit_csv(out, doc, "rows"),
                 0);
    tb_doc_close(doc);
    cr_assert_eq(fclose(out), 0);
    return text;
}

static void as_golden(const char *name, char *text)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/testbed/report/tests/golden/%s.txt", home, name);
    golden(path, text);
    free(text);
}

static void make_ordered(void)
{
    struct record_fixture ordered = one();
    ordered.postulate = fixture_ordered;
    make_run(ordered);
    collect(NULL, NULL);
}

Test(scoreboard, is_one_screen_and_each_cell_on_demand)
{
    make_ordered();
    as_golden("scoreboard", shown(AS_TEXT, true, false));
    as_golden("scoreboard_cells", shown(AS_TEXT, false, true));
}

Test(scoreboard, has_for_programs_what_the_model_has)
{
    json_t *read;
    make_ordered();
    char *text = shown(AS_JSON, true, false), *csv = shown(AS_CSV, false, false);
    cr_assert((read = json_loads(text, 0, NULL)));
    cr_expect(json_equal(read, board), "whatever view is shown");
    cr_expect_eq(strncmp(csv, "host,cell,workload,touch,", 25), 0);
    cr_expect(strstr(csv, ",times_faster,times_faster_low,times_faster_high,"));
    cr_expect(strstr(csv, "\nbm1,churn-touch/full/spin/1w/4KiB,churn-touch,full,spin,1,4096,false,"), "%s", csv);
    cr_expect(strstr(csv, ",footprint_worst,footprint_mean,") && strstr(csv, ",ledger_line,ledger_hash,"));
    size_t lines = 0;
    for (const char *at = csv; (at = strchr(at, '\n')); at++)
        lines++;
    cr_expect_eq(lines, 7, "a heading and six lines");
    json_decref(read);
    free(text);
    free(csv);
}

Test(scoreboard, is_on_the_page_with_a_way_to_the_run)
{
    char tag[96];
    make_ordered();
    turn_to_scoreboard();
    size_t rows = 0;
    for (const char *at = page; (at = strstr(at, "<tr data-contender=")); at++)
        rows++;
    cr_expect_eq(rows, 6);
    snprintf(tag, sizeof tag, "data-times_faster=\"%.17g\"", tb_member_number(row(0, 0), "times_faster.estimate"));
    cr_expect(strstr(page, tag), "%s", tag);
    cr_expect(strstr(page, "<a href=\"0002-20261121T101500Z-a1b2c3.html\">"));
}

Test(scoreboard, lets_nothing_from_a_log_steer_a_terminal_or_become_markup)
{
    struct record_fixture hostile = one();
    hostile.library = "malloc:/x'|<b>\033[31m,\"y\".so";
    make_run(hostile);
    collect(NULL, NULL);
    turn_to_scoreboard();
    char *text = shown(AS_TEXT, true, true), *markdown = shown(AS_MARKDOWN, true, true), *csv = shown(AS_CSV, false, false);
    cr_expect(!strchr(text, '\033') && !strchr(markdown, '\033') && !strchr(csv, '\033') && !strchr(page, '\033'));
    cr_expect(strstr(markdown, "\\|\\<b\\>"), "%s", markdown);
    cr_expect(strstr(csv, ",\"\"y\"\".so\""), "%s", csv);
    cr_expect_not(strstr(page, "<b>?"));
    free(text);
    free(markdown);
    free(csv);
}
