// SPDX-License-Identifier: Apache-2.0
//
// log of version 2: what is read is what was added, to the bit, and no change of a row, its shape or its round is overlooked.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/record/log.h"
#include "testbed/record/rows.h"

static char folder[] = "/tmp/record_rows_XXXXXX";
static char path[128];
static struct tb_log_view view;
static char why[512];

static void folder_make(void)
{
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.jsonl", folder);
}

static void folder_remove(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(record_rows, .init = folder_make, .fini = folder_remove);

// Every kind of value, numbers at the ends of their ranges, and what looks like the log's own form.
static const char *const samples[] = {
    "{\"t\":\"s\",\"round\":0,\"cell\":0,\"arm\":\"A\",\"valid\":true,\"invalid\":null,\"time_ns\":289169.84999999998,\"n\":3.0,"
    "\"counters\":{\"cycles\":{\"value\":9223372036854775807,\"why\":null},\"faults\":{\"value\":-9223372036854775808}},"
    "\"empty\":{}}",
    "{\"t\":\"s\",\"round\":0,\"cell\":1,\"arm\":\"B\",\"valid\":true,\"invalid\":null,\"time_ns\":1e300,"
    "\"n\":-0.0,\"counters\":{\"cycles\":{\"value\":0,\"enabled_ns\":7,\"running_ns\":7},\"faults\":{\"value\":7,\"enabled_ns\":7,"
    "\"running_ns\":5},\"late\":{\"value\":1,\"enabled_ns\":7,\"running_ns\":5.0}},\"empty\":{}}",
    "{\"t\":\"s\",\"round\":1,\"cell\":0,\"arm\":\"A\",\"valid\":false,\"invalid\":\",\\\"h\\\":\\\"\\n[0]\","
    "\"time_ns\":null,\"n\":5e-324,\"counters\":{},\"empty\":[]}",
    "{\"t\":\"s\",\"round\":1,\"cell\":1,\"arm\":\"B\",\"nodes\":{\"on\":[[0,1.5],[1,null]],\"a\":{\"b\":{\"c\":{\"d\":{\"e\":"
    "{\"f\":{\"g\":{\"h\":{\"i\":{\"j\":1}}}}}}}}},\"dotted\":{\"a.b\":1,\"\":2}}}",
    "{\"t\":\"s\",\"round\":2,\"cell\":0,\"arm\":\"A\",\"valid\":true,\"invalid\":null,\"time_ns\":0.1,"
    "\"n\":100000000000000000000.0,\"counters\":{\"cycles\":{\"value\":0.30000000000000004,\"why\":null},"
    "\"faults\":{\"value\":\"many\"}},\"empty\":{}}",
};
enum {
    SAMPLES = sizeof samples / sizeof *samples,
    LINES = 1 + 4 + SAMPLES + 3 + 1, // header, shapes, rows, ends of rounds, seal
};

static void add(struct tb_log *log, const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    cr_assert(object, "%s", text);
    cr_assert_eq(tb_log_add(log, object), 0);
    json_decref(object);
}

static struct tb_log *create(void)
{
    struct tb_log *log;
    json_t *header = json_pack("{s:s, s:i}", "t", "hdr", "v", TB_LOG_VERSION);
    cr_assert_eq(tb_log_create(&log, path, header), 0);
    json_decref(header);
    return log;
}

static void write_log(void)
{
    struct tb_log *log = create();
    struct tb_hash head;
    size_t lines;
    for (int i = 0; i < SAMPLES; i++) {
        add(log, samples[i]);
        if (i % 2)
            cr_assert_eq(tb_log_flush(log), 0);
    }
    cr_assert_eq(tb_log_seal(log, "complete", NULL, &head, &lines), 0);
    cr_assert_eq(lines, LINES);
}

Test(record_rows, samples_are_read_as_they_were_added)
{
    write_log();
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s", why);
    cr_assert(view.chain.broken_line == 0 && view.chain.count == LINES && view.seal && view.samples_count == SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        json_t *wanted = json_loads(samples[i], 0, NULL);
        char *texts[] = {json_dumps(wanted, 0), json_dumps(view.samples[i].line, 0)}; // 17 digits: equal to the bit
        cr_assert_str_eq(texts[0], texts[1]);
        cr_assert_eq(view.samples[i].cell, (size_t)json_integer_value(json_object_get(wanted, "cell")));
        cr_assert_str_eq(view.samples[i].arm, json_string_value(json_object_get(wanted, "arm")));
        free(texts[0]);
        free(texts[1]);
        json_decref(wanted);
    }
    tb_log_view_close(&view);
}

Test(record_rows, what_cannot_be_a_row_is_refused)
{
    static const char *const wrong[] = {"{\"t\":\"s\",\"a.b\":1}", "{\"t\":\"s\",\"\":1}"};
    struct tb_log *log = create();
    for (size_t i = 0; i < 2; i++) {
        json_t *object = json_loads(wrong[i], 0, NULL);
        cr_assert_eq(tb_log_add(log, object), -EINVAL, "case %zu", i);
        json_decref(object);
    }
    tb_log_abandon(log);
}

// However many members are null at random, there is no shape for each sample.
Test(record_rows, many_shapes_become_few)
{
    struct tb_log *log = create();
    struct tb_hash head;
    size_t lines;
    for (int i = 0; i < 1000; i++) {
        json_t *object = json_pack("{s:s, s:i}", "t", "s", "round", i);
        for (int bit = 0; bit < 10; bit++) {
            char name[8];
            snprintf(name, sizeof name, "m%d", bit);
            json_object_set_new(object, name, i >> bit & 1 ? json_null() : json_integer(i));
        }
        cr_assert_eq(tb_log_add(log, object), 0);
        json_decref(object);
    }
    cr_assert_eq(tb_log_seal(log, "complete", NULL, &head, &lines), 0);
    cr_assert_lt(lines, 1050);
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s", why);
    cr_assert_eq(view.samples_count, 1000);
    cr_assert_eq(json_integer_value(json_object_get(view.samples[992].line, "m4")), 992);
    cr_assert(json_is_null(json_object_get(view.samples[992].line, "m5")));
    tb_log_view_close(&view);
}

// --- damage --------------------------------------------------------------------------------------------------------------------

static void save(const char *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
}

// The first line that is covered by the same hash as `line` (from 0).
static size_t group_of(const char *const lines[], size_t line)
{
    while (line > 0 && lines[line - 1][0] == '[')
        line--;
    return line;
}

static size_t split(char *data, const char *lines[LINES + 1])
{
    size_t count = 0;
    for (char *at = data; *at; at = strchr(at, '\n') + 1)
        lines[count++] = at;
    lines[count] = data + strlen(data);
    return count;
}

static void expect_broken(size_t line, const char *what)
{
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%s: %s", what, why);
    cr_assert_eq(view.chain.broken_line, line + 1, "%s: line %zu, not %zu", what, view.chain.broken_line, line + 1);
    cr_assert_eq(view.chain.count, line, "%s", what);
    tb_log_view_close(&view);
}

Test(record_rows, a_changed_byte_is_located_to_its_round)
{
    char *data;
    const char *lines[LINES + 1];
    size_t bytes;
    write_log();
    cr_assert_eq(tb_file_read(path, &data, &bytes), 0);
    cr_assert_eq(split(data, lines), LINES);
    for (size_t line = 1; line < LINES; line++)
        for (const char *at = lines[line]; at < lines[line + 1]; at++) {
            char *changed = (char *)at, was = *at;
            *changed ^= 1;
            save(data, bytes);
            struct tb_chain chain;
            cr_assert_eq(tb_chain_load_groups(path, &chain), 0);
            cr_assert(chain.broken_line > group_of(lines, line) && chain.broken_line <= line + 1 && chain.count <= line,
                      "line %zu, byte %td: %zu", line + 1, at - lines[line], chain.broken_line);
            tb_chain_close(&chain);
            *changed = was;
        }
    free(data);
}

Test(record_rows, a_row_that_is_gone_or_moved_is_missed_by_its_round)
{
    char *data, changed[8192];
    const char *lines[LINES + 1];
    size_t bytes;
    write_log();
    cr_assert_eq(tb_file_read(path, &data, &bytes), 0);
    cr_assert_eq(split(data, lines), LINES);
    for (size_t line = 1; line < LINES - 1; line++) {
        size_t length = (size_t)(lines[line + 1] - lines[line]), before = (size_t)(lines[line] - data);
        memcpy(changed, data, before);
        memcpy(changed + before, lines[line + 1], bytes - before - length);
        save(changed, bytes - length);
        expect_broken(group_of(lines, line), "a line is gone");
        if (line + 2 >= LINES)
            continue;
        size_t next = (size_t)(lines[line + 2] - lines[line + 1]);
        memcpy(changed + before, lines[line + 1], next);
        memcpy(changed + before + next, lines[line], length);
        memcpy(changed + before + next + length, lines[line + 2], bytes - before - next - length);
        save(changed, bytes);
        expect_broken(group_of(lines, line), "two lines are swapped");
    }
    free(data);
}

Test(record_rows, a_round_without_its_end_is_torn_and_not_read)
{
    char *data;
    const char *lines[LINES + 1];
    size_t bytes;
    write_log();
    cr_assert_eq(tb_file_read(path, &data, &bytes), 0);
    cr_assert_eq(split(data, lines), LINES);
    for (size_t cut = (size_t)(lines[1] - data); cut < bytes; cut++) {
        size_t line = 0;
        save(data, cut);
        while (lines[line + 1] <= data + cut)
            line++;
        size_t first = group_of(lines, line);
        bool whole = lines[first] == data + cut;
        cr_assert_eq(tb_log_load(path, &view, why, sizeof why), 0, "%zu bytes: %s", cut, why);
        cr_assert_eq(view.chain.torn, !whole, "%zu bytes", cut);
        cr_assert_eq(view.chain.broken_line, whole ? 0 : first + 1, "%zu bytes", cut);
        cr_assert_eq(view.chain.count, first);
        cr_assert_eq(view.chain.bytes, (size_t)(lines[first] - data));
        cr_assert_null(view.seal);
        tb_log_view_close(&view);
    }
    free(data);
}

// --- what no run writes, with valid hashes -------------------------------------------------------------------------------------

static void forge(const char *text)
{
    struct tb_hash head = {{0}};
    const char *rows = text;
    FILE *file = fopen(path, "w");
    cr_assert(file);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (*line == '[')
            continue;
        char *written;
        size_t bytes;
        json_t *object = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        cr_assert(object, "%s", line);
        cr_assert_eq(tb_chain_group(&head, rows, (size_t)(line - rows), object, &written, &bytes), 0);
        fwrite(written, 1, bytes, file);
        rows = strchr(line, '\n') + 1;
        json_decref(object);
        free(written);
    }
    fclose(file);
}

Test(record_rows, valid_chains_that_no_run_writes_are_no_logs)
{
    static const char header[] = "{\"t\":\"hdr\",\"v\":2}\n";
    static const char *const cases[][2] = {
        {"[0,1]\n{\"t\":\"round\",\"rows\":1}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":1,\"of\":[\"a\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\",\"a\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\",\"a.b\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a.b\",\"c\",\"a.d\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"t\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[7]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a.b.c.d.e.f.g.h.i.j\"]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\",[\"b\",\"=\",\"c\"]]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[[\"b\",\"=\",\"b\"]]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[[\"a\"]]}\n", ":2: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n[0]\n{\"t\":\"round\",\"rows\":1}\n", ":3: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n[0,1,2]\n{\"t\":\"round\",\"rows\":1}\n", ":3: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n[-1,1]\n{\"t\":\"round\",\"rows\":1}\n", ":3: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n[\"0\",1]\n{\"t\":\"round\",\"rows\":1}\n", ":3: not a log"},
        {"{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n[0,1]\n{\"t\":\"round\",\"rows\":2}\n", ":4: not a log"},
        {"{\"t\":\"sum\"}\n{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n", ":3: not a log: a line of type 'cols'"},
    };
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s%s", header, cases[i][0]);
        forge(text);
        cr_assert_eq(tb_log_load(path, &view, why, sizeof why), -EINVAL, "case %zu", i);
        cr_assert(strstr(why, cases[i][1]), "case %zu says: %s", i, why);
    }
    forge("{\"t\":\"hdr\",\"v\":1}\n{\"t\":\"cols\",\"shape\":0,\"of\":[\"a\"]}\n");
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, ":2: not a log: a line of type 'cols'"), "%s", why);
    forge("{\"t\":\"hdr\",\"v\":1}\n[0,1]\n{\"t\":\"seal\",\"lines\":3}\n");
    cr_assert_eq(tb_log_load(path, &view, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, ":2: not a log: a line of type ''"), "%s", why);
}

Test(record_rows, a_ledger_has_a_hash_in_every_line)
{
    struct tb_chain chain;
    forge("{\"t\":\"ledger\",\"v\":1}\n[0,1]\n{\"t\":\"open\"}\n");
    cr_assert_eq(tb_chain_load(path, &chain), 0);
    cr_assert(chain.broken_line == 2 && strstr(chain.broken, "does not end with its hash"), "%s", chain.broken);
    tb_chain_close(&chain);
}
