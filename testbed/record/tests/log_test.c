// SPDX-License-Identifier: Apache-2.0
//
// log: what a run writes is what a reader gets, and what a crash or a hand left is seen as such.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/record/log.h"

static char folder[] = "/tmp/record_log_XXXXXX";
static char path[128];
static struct tb_log_view view;
static char why[512];

static void folder_make(void)
{
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/host/0001-question/run.jsonl", folder);
}

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(record_log, .init = folder_make, .fini = folder_remove);

static struct tb_log *create(void)
{
    struct tb_log *log = NULL;
    json_t *header = json_pack("{s:s, s:i, s:s}", "t", "hdr", "v", 1, "run", "0001-x");
    cr_assert_eq(tb_log_create(&log, path, header), 0);
    json_decref(header);
    return log;
}

static void add(struct tb_log *log, json_t *object)
{
    cr_assert_eq(tb_log_add(log, object), 0);
    json_decref(object);
}

static json_t *sample(int round, int cell, const char *arm, bool valid)
{
    return json_pack("{s:s, s:i, s:i, s:s, s:b, s:f, s:i, s:n}", "t", "s", "round", round, "cell", cell, "arm", arm, "valid", valid,
                     "time_ns", 100.5 + round, "distinct", 7 + round, "touched_bytes");
}

static void add_attempt(struct tb_log *log, int round, int cell, const char *arm, int attempt, double time_ns)
{
    json_t *line = sample(round, cell, arm, true);
    json_object_set_new(line, "attempt", json_integer(attempt));
    json_object_set_new(line, "time_ns", json_real(time_ns));
    add(log, line);
}

static void seal(struct tb_log *log)
{
    struct tb_hash head;
    size_t lines;
    cr_assert_eq(tb_log_seal(log, "complete", NULL, &head, &lines), 0);
}

static long size_of(void)
{
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    return (long)status.st_size;
}

Test(record_log, a_whole_run_is_read_as_it_was_written)
{
    struct tb_log *log = create();
    struct tb_hash head;
    size_t lines;
    for (int round = 0; round < 3; round++) {
        add(log, sample(round, 0, "A", true));
        add(log, sample(round, 0, "B", true));
        cr_assert_eq(tb_log_flush(log), 0);
    }
    add(log, json_pack("{s:s}", "t", "after"));
    add(log, json_pack("{s:s, s:s}", "t", "sum", "verdict", "survived"));
    cr_assert_eq(tb_log_seal(log, "stopped", "by hand", &head, &lines), 0);
    cr_assert_eq(lines, 10);

    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s", why);
    cr_assert_eq(view.chain.broken_line, 0);
    cr_assert_eq(view.chain.count, 10);
    cr_assert_str_eq(view.path, path);
    cr_assert_str_eq(json_string_value(json_object_get(view.header, "run")), "0001-x");
    cr_assert(view.after);
    cr_assert_str_eq(json_string_value(json_object_get(view.summary, "verdict")), "survived");
    cr_assert_eq(json_integer_value(json_object_get(view.seal, "lines")), 10);
    cr_assert_str_eq(json_string_value(json_object_get(view.seal, "status")), "stopped");
    cr_assert_str_eq(json_string_value(json_object_get(view.seal, "why")), "by hand");
    cr_assert_eq(view.samples_count, 6);
    cr_assert_eq(memcmp(&view.chain.entries[9].head, &head, sizeof head), 0);
    tb_log_view_close(&view);
}

Test(record_log, a_seal_without_a_reason_says_null)
{
    seal(create());
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0);
    cr_assert(json_is_null(json_object_get(view.seal, "why")));
    cr_assert_eq(view.samples_count, 0);
    tb_log_view_close(&view);
}

Test(record_log, nothing_is_written_while_a_round_runs)
{
    struct tb_log *log = create();
    long header = size_of();
    cr_assert_gt(header, 0, "the header is there at once");
    add(log, sample(0, 0, "A", true));
    cr_assert_eq(size_of(), header);
    cr_assert_eq(tb_log_flush(log), 0);
    long round = size_of();
    cr_assert_gt(round, header);
    cr_assert_eq(tb_log_flush(log), 0);
    cr_assert_eq(size_of(), round, "a second flush has nothing to write");
    tb_log_abandon(log);
}

Test(record_log, a_crashed_run_has_no_seal_and_keeps_its_flushed_rounds)
{
    struct tb_log *log = create();
    add(log, sample(0, 0, "A", true));
    cr_assert_eq(tb_log_flush(log), 0);
    add(log, sample(1, 0, "A", true));
    tb_log_abandon(log);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0);
    cr_assert_eq(view.chain.broken_line, 0);
    cr_assert_eq(view.samples_count, 1);
    cr_assert_null(view.seal);
    cr_assert_null(view.summary);
    tb_log_view_close(&view);
}

Test(record_log, a_torn_or_changed_line_leaves_what_is_before_it)
{
    struct tb_log *log = create();
    add(log, sample(0, 0, "A", true));
    add(log, sample(1, 0, "A", true));
    seal(log);
    cr_assert_eq(truncate(path, size_of() - 5), 0);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0);
    cr_assert(view.chain.torn && view.chain.broken_line == 4 && view.samples_count == 2 && !view.seal);
    tb_log_view_close(&view);

    FILE *file = fopen(path, "r+");
    cr_assert(file && fseek(file, 3, SEEK_SET) == 0 && fputc('x', file) == 'x' && fclose(file) == 0);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "run.jsonl:1: not a log: changed"), "%s", why);
}

Test(record_log, an_existing_file_is_never_touched)
{
    seal(create());
    long before = size_of();
    struct tb_log *log;
    json_t *header = json_pack("{s:s}", "t", "hdr");
    cr_assert_eq(tb_log_create(&log, path, header), -EEXIST);
    cr_assert_eq(size_of(), before);
    json_decref(header);
}

Test(record_log, a_log_whose_header_does_not_fit_is_not_left_behind)
{
    struct tb_log *log;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, RLIM_INFINITY});
    json_t *header = json_pack("{s:s, s:i}", "t", "hdr", "v", 1);
    cr_assert_eq(tb_log_create(&log, path, header), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    cr_assert_neq(access(path, F_OK), 0);
    json_decref(header);
}

Test(record_log, a_round_that_did_not_fit_is_written_once_there_is_room)
{
    struct tb_log *log = create();
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {(rlim_t)size_of() + 20, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    add(log, sample(0, 0, "A", true));
    cr_assert_eq(tb_log_flush(log), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    seal(log);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0);
    cr_assert(view.chain.broken_line == 0 && view.samples_count == 1 && view.seal);
    tb_log_view_close(&view);
}

// Writes a valid chain of lines of these types, with "v" and "lines" set to `number`.
static void forge(const char *const types[], int number)
{
    struct tb_hash head = {{0}};
    FILE *file = fopen(path, "w");
    cr_assert(file);
    for (; *types; types++) {
        char *line;
        size_t bytes;
        json_t *object = json_pack("{s:s, s:i, s:i}", "t", *types, "v", number, "lines", number);
        cr_assert_eq(tb_chain_line(&head, object, &line, &bytes), 0);
        fputs(line, file);
        json_decref(object);
        free(line);
    }
    fclose(file);
}

Test(record_log, valid_chains_that_no_run_writes_are_no_logs)
{
    static const struct {
        const char *types[6];
        int number;
        const char *says;
    } cases[] = {
        {{"s", "seal"}, 1, ":1: not a log: a line of type 's'"},
        {{"ledger", "open"}, 1, ":1: not a log: a line of type 'ledger'"},
        {{"hdr", "hdr"}, 1, ":2: not a log: a line of type 'hdr'"},
        {{"hdr", "s", "after", "s"}, 1, ":4: not a log: a line of type 's'"},
        {{"hdr", "sum", "sum"}, 1, ":3: not a log: a line of type 'sum'"},
        {{"hdr", "s", "comment"}, 1, ":3: not a log: a line of type 'comment'"},
        {{"hdr", "s"}, 3, ":1: not a log of version 1 or 2"},
        {{"hdr", "s", "seal"}, 1, ":3: the seal is for another number of lines than 3"},
        {{NULL}, 1, ":1: not a log: the file is empty"},
    };
    seal(create());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge(cases[i].types, cases[i].number);
        cr_assert_eq(tb_log_load(path, &view, why, sizeof why), -EINVAL, "case %zu", i);
        cr_assert(strstr(why, cases[i].says), "case %zu says: %s", i, why);
    }
    cr_assert_eq(tb_log_load("/nowhere/at/all", &view, why, sizeof why), -ENOENT);
    cr_assert(strstr(why, "/nowhere/at/all: No such file"), "%s", why);
}

Test(record_log, values_are_those_of_one_cell_and_arm_and_nan_where_there_is_none)
{
    struct tb_log *log = create();
    double *values;
    size_t count;
    for (int round = 0; round < 3; round++) {
        add(log, sample(round, 0, "A", true));
        add(log, sample(round + 10, 1, "A", true));
        add(log, sample(round + 20, 0, "B", round != 1));
    }
    seal(log);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0);
    cr_assert_eq(tb_log_values(&view, 0, "A", "time_ns", &values, &count), 0);
    cr_assert(count == 3 && values[0] == 100.5 && values[1] == 101.5 && values[2] == 102.5);
    free(values);
    cr_assert_eq(tb_log_values(&view, 1, "A", "distinct", &values, &count), 0);
    cr_assert(count == 3 && values[0] == 17 && values[2] == 19);
    free(values);
    cr_assert_eq(tb_log_values(&view, 0, "B", "time_ns", &values, &count), 0);
    cr_assert(count == 3 && values[0] == 120.5 && isnan(values[1]) && values[2] == 122.5);
    free(values);
    cr_assert_eq(tb_log_values(&view, 0, "A", "touched_bytes", &values, &count), 0);
    cr_assert(count == 3 && isnan(values[0]), "null is not a number");
    free(values);
    cr_assert_eq(tb_log_values(&view, 2, "A", "time_ns", &values, &count), 0);
    cr_assert_eq(count, 0);
    free(values);
    tb_log_view_close(&view);
}

static void expect_values(size_t cell, const char *arm, const double wanted[], size_t count)
{
    double *values = NULL;
    size_t found = 0;
    cr_assert_eq(tb_log_values(&view, cell, arm, "time_ns", &values, &found), 0);
    cr_expect_eq(found, count);
    for (size_t i = 0; i < count && i < found; i++)
        cr_expect_eq(values[i], wanted[i], "%s, value %zu is %g", arm, i, values[i]);
    free(values);
}

Test(record_log, only_the_last_attempt_of_a_round_and_cell_counts)
{
    struct tb_log *log = create();
    for (int attempt = 0; attempt < 3; attempt++) { // one arm is first in one attempt, the other in the next
        add_attempt(log, 0, 0, attempt % 2 ? "A" : "B", attempt, 10 + attempt);
        add_attempt(log, 0, 0, attempt % 2 ? "B" : "A", attempt, 20 + attempt);
    }
    for (int round = 0; round < 2; round++) {
        add_attempt(log, round, 1, "A", 0, 30 + round);
        add_attempt(log, round, 1, "B", 0, 40 + round);
    }
    add_attempt(log, 1, 1, "A", 1, 50);
    add_attempt(log, 1, 1, "B", 1, 60);
    seal(log);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s", why);
    cr_assert_eq(view.samples_count, 12);
    for (size_t i = 0; i < 12; i++)
        cr_expect_eq(view.samples[i].superseded, i < 4 || i == 8 || i == 9, "sample %zu", i);
    expect_values(0, "A", (const double[]){22}, 1);
    expect_values(0, "B", (const double[]){12}, 1);
    expect_values(1, "A", (const double[]){30, 50}, 2);
    expect_values(1, "B", (const double[]){40, 60}, 2);
    tb_log_view_close(&view);
}
