// SPDX-License-Identifier: Apache-2.0
//
// log: lines are made and chained in memory while a round runs, and written between rounds, all of a round in one durable append.
// So no file is touched while something is measured, and a crash loses at most the round that it interrupted.
//
// A sample is given as an object and written as a row (rows.h). Its shape is written before the first row that has it. What has no
// hash of its own is covered by the next line that has one: of a round, the line that ends it.
//
// What is loaded has its lines in the order in which a run writes them: header, samples, counters, summary, seal. Whatever else has
// a valid chain was not written by this program, and is refused. Rows are made samples again at once, so that no reader sees them.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/base/words.h"
#include "testbed/record/log.h"
#include "testbed/record/rows.h"

// Of how many shapes null and its like are a part. Arbitrary, and more than a run has: what is null at random in many members would
// else have a shape for each sample.
#define SHAPES_FIXED 32

struct tb_log {
    struct tb_journal *journal;
    struct tb_hash head;    // of the last line with a hash
    size_t lines;           // added, the header too
    char *round;            // lines added since the last flush
    size_t round_bytes, hashed_bytes; // the rows behind the second have no hash yet
    size_t rows;            // since the last flush
    bool makes_rows;        // its header says so
    char **shapes;          // as text
    size_t shapes_count;
};

// --- writing -------------------------------------------------------------------------------------------------------------------

int tb_log_create(struct tb_log **out, const char *path, const json_t *header)
{
    struct tb_log *log = calloc(1, sizeof *log);
    if (!log)
        return -ENOMEM;
    int error = tb_journal_open(&log->journal, &(struct tb_journal_config){.path = path, .create = true, .lock = true});
    bool created = !error;
    if (!error && header)
        error = tb_log_add(log, header);
    if (!error)
        error = tb_log_flush(log);
    if (error) {
        tb_log_abandon(log);
        if (created) // an empty file is no log, not even that of a crashed run
            unlink(path);
        return error;
    }
    *out = log;
    return 0;
}

// Puts the bytes behind the first `from` of the round.
static int round_put(struct tb_log *log, size_t from, const char *lines, size_t bytes)
{
    char *round = realloc(log->round, from + bytes);
    if (!round)
        return -ENOMEM;
    memcpy(round + from, lines, bytes);
    log->round = round;
    log->round_bytes = from + bytes;
    log->lines++;
    return 0;
}

// Its hash covers the rows before it, too.
static int line_add(struct tb_log *log, const json_t *object)
{
    struct tb_hash head = log->head;
    size_t hashed = log->hashed_bytes, bytes;
    char *lines;
    int error = tb_chain_group(&head, log->round ? log->round + hashed : "", log->round_bytes - hashed, object, &lines, &bytes);
    if (error)
        return error;
    error = round_put(log, hashed, lines, bytes);
    free(lines);
    if (!error) {
        log->hashed_bytes = log->round_bytes;
        log->head = head;
    }
    return error;
}

// Adds a line of a type, and takes over the value of its member. "cols" and "round" are of nobody's concern but the log's.
static int own_line_add(struct tb_log *log, const char *type, const char *count, size_t value, json_t *of)
{
    json_t *line = json_pack("{s:s, s:I, s:o*}", "t", type, count, (json_int_t)value, "of", of);
    int error = line ? line_add(log, line) : -ENOMEM;
    json_decref(line);
    return error;
}

// Takes over `of`. *shape is its number; a new one gets its line.
static int shape_find(struct tb_log *log, json_t *of, size_t *shape)
{
    char *text = json_dumps(of, JSON_COMPACT), **grown = NULL;
    size_t count = log->shapes_count;
    for (*shape = 0; text && *shape < count && strcmp(log->shapes[*shape], text);)
        ++*shape;
    bool is_new = text && *shape == count;
    if (is_new)
        grown = realloc(log->shapes, (count + 1) * sizeof *grown);
    if (grown)
        log->shapes = grown;
    int error = !text || (is_new && !grown) ? -ENOMEM : 0;
    if (!error && is_new)
        error = own_line_add(log, "cols", "shape", count, json_incref(of));
    if (!error && is_new)
        log->shapes[log->shapes_count++] = text;
    else
        free(text);
    json_decref(of);
    return error;
}

static int row_add(struct tb_log *log, const json_t *sample)
{
    json_t *of;
    char *values, *row = NULL;
    size_t shape;
    int error = tb_row_make(sample, log->shapes_count < SHAPES_FIXED, &of, &values);
    if (error)
        return error;
    error = shape_find(log, of, &shape);
    int length = error ? 0 : asprintf(&row, "[%zu%s]\n", shape, values);
    free(values);
    if (length < 0)
        return -ENOMEM;
    if (!error)
        error = round_put(log, log->round_bytes, row, (size_t)length);
    log->rows += !error;
    free(row);
    return error;
}

static int round_end(struct tb_log *log)
{
    int error = log->rows ? own_line_add(log, "round", "rows", log->rows, NULL) : 0;
    if (!error)
        log->rows = 0;
    return error;
}

int tb_log_add(struct tb_log *log, const json_t *object)
{
    const char *type = tb_member_text(object, "t");
    if (strcmp(type, "s") == 0 && log->makes_rows)
        return row_add(log, object);
    if (strcmp(type, "hdr") == 0)
        log->makes_rows = json_integer_value(json_object_get(object, "v")) >= 2;
    int error = round_end(log); // what comes behind the samples comes behind their end
    return error ? error : line_add(log, object);
}

// What a failed append leaves stays to be written, with the hash that it got.
int tb_log_flush(struct tb_log *log)
{
    int error = round_end(log);
    if (!error && log->round_bytes)
        error = tb_journal_append(log->journal, log->round, log->round_bytes);
    if (!error)
        log->round_bytes = log->hashed_bytes = 0;
    return error;
}

int tb_log_seal(struct tb_log *log, const char *status, const char *why, struct tb_hash *head, size_t *lines)
{
    size_t last = log->lines + (log->rows > 0) + 1; // after the end of the round
    json_t *seal = json_pack("{s:s, s:I, s:s, s:s?}", "t", "seal", "lines", (json_int_t)last, "status", status, "why", why);
    int error = seal ? tb_log_add(log, seal) : -ENOMEM;
    if (!error)
        error = tb_log_flush(log);
    json_decref(seal);
    *head = log->head;
    *lines = log->lines;
    tb_log_abandon(log);
    return error;
}

void tb_log_abandon(struct tb_log *log)
{
    if (!log)
        return;
    tb_journal_close(log->journal);
    for (size_t i = 0; i < log->shapes_count; i++)
        free(log->shapes[i]);
    free(log->shapes);
    free(log->round);
    free(log);
}

const char *tb_log_engine(const struct tb_log *log)
{
    return tb_journal_engine(log->journal);
}

// --- reading -------------------------------------------------------------------------------------------------------------------

// Rows as they are read: the shapes so far, and how many rows the round has.
struct rows {
    struct tb_shape **shapes;
    size_t shapes_count, rows;
};

static int shape_read(struct rows *rows, const json_t *line)
{
    if (json_integer_value(json_object_get(line, "shape")) != (json_int_t)rows->shapes_count)
        return -EINVAL;
    struct tb_shape **grown = realloc(rows->shapes, (rows->shapes_count + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    rows->shapes = grown;
    int error = tb_shape_make(&grown[rows->shapes_count], json_object_get(line, "of"));
    rows->shapes_count += !error;
    return error;
}

// The row becomes the sample.
static int row_read(struct rows *rows, struct tb_chain_entry *entry)
{
    const json_t *number = json_array_get(entry->object, 0);
    json_int_t shape = json_is_integer(number) ? json_integer_value(number) : -1;
    json_t *sample;
    if (shape < 0 || shape >= (json_int_t)rows->shapes_count)
        return -EINVAL;
    int error = tb_shape_sample(rows->shapes[shape], entry->object, &sample);
    if (error)
        return error;
    json_decref(entry->object);
    entry->object = sample;
    rows->rows++;
    return 0;
}

static int round_read(struct rows *rows, const json_t *line)
{
    bool all = json_integer_value(json_object_get(line, "rows")) == (json_int_t)rows->rows;
    rows->rows = 0;
    return all ? 0 : -EINVAL;
}

// *line is the one (from 1) of an error.
static int rows_read(struct tb_chain *chain, size_t *line)
{
    struct rows rows = {0};
    int error = 0;
    for (size_t i = 0; i < chain->count && !error; i++) {
        struct tb_chain_entry *entry = &chain->entries[i];
        const char *type = tb_member_text(entry->object, "t");
        if (json_is_array(entry->object))
            error = row_read(&rows, entry);
        else if (strcmp(type, "cols") == 0)
            error = shape_read(&rows, entry->object);
        else if (strcmp(type, "round") == 0)
            error = round_read(&rows, entry->object);
        *line = i + 1;
    }
    for (size_t i = 0; i < rows.shapes_count; i++)
        tb_shape_free(rows.shapes[i]);
    free(rows.shapes);
    return error;
}

enum {
    SAMPLES = 1, // in the order of rank()
};

// Where a line stands in its log, or -1.
static int rank(const json_t *object, json_int_t version)
{
    static const char *const order[] = {"hdr", "s", "after", "sum", "seal"};
    const char *type = tb_member_text(object, "t");
    if (version > 1 && (strcmp(type, "cols") == 0 || strcmp(type, "round") == 0))
        return SAMPLES;
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
        if (strcmp(type, order[i]) == 0)
            return i;
    return -1;
}

static bool is_sample(const json_t *object)
{
    return strcmp(tb_member_text(object, "t"), "s") == 0;
}

// Fills in the parts. Returns the first line that is not in its place (from 1), or 0.
static size_t sort_lines(struct tb_log_view *view, json_int_t version)
{
    const struct tb_chain *chain = &view->chain;
    const json_t *parts[5] = {NULL};
    for (size_t i = 0, last = 0; i < chain->count; i++) {
        int now = rank(chain->entries[i].object, version);
        bool in_place = i == 0 ? now == 0 : now > (int)last || (now == SAMPLES && last == SAMPLES);
        if (!in_place)
            return i + 1;
        parts[now] = chain->entries[i].object;
        view->samples_count += is_sample(parts[now]);
        last = (size_t)now;
    }
    view->header = parts[0];
    view->after = parts[2];
    view->summary = parts[3];
    view->seal = parts[4];
    return 0;
}

static json_int_t number_of(const struct tb_log_sample *sample, const char *member)
{
    return json_integer_value(json_object_get(sample->line, member)); // 0 where an older log has none
}

// Attempts of a cell and round follow each other: from the back, the first one seen of each is the last that was made.
static void mark_superseded(struct tb_log_view *view)
{
    const struct tb_log_sample *later = NULL;
    for (size_t i = view->samples_count; i-- > 0;) {
        struct tb_log_sample *sample = &view->samples[i];
        bool same = later && later->cell == sample->cell && number_of(later, "round") == number_of(sample, "round");
        sample->superseded = same && number_of(sample, "attempt") < number_of(later, "attempt");
        if (!sample->superseded)
            later = sample;
    }
}

static int index_samples(struct tb_log_view *view)
{
    size_t count = 0;
    view->samples = calloc(view->samples_count + 1, sizeof *view->samples);
    for (size_t i = 0; view->samples && i < view->chain.count; i++) {
        json_t *line = view->chain.entries[i].object;
        if (!is_sample(line))
            continue;
        size_t cell = (size_t)json_integer_value(json_object_get(line, "cell"));
        view->samples[count++] = (struct tb_log_sample){.cell = cell, .arm = tb_member_text(line, "arm"), .line = line};
    }
    if (view->samples)
        mark_superseded(view);
    return view->samples ? 0 : -ENOMEM;
}

// The first line (from 1) that cannot stand where it does, or 0.
static size_t misplaced(struct tb_log_view *view, json_int_t version, char *why, size_t why_bytes)
{
    const struct tb_chain *chain = &view->chain;
    size_t line = sort_lines(view, version);
    if (line) {
        char type[64];
        tb_text_clean(tb_member_text(chain->entries[line - 1].object, "t"), true, type, sizeof type);
        snprintf(why, why_bytes, "not a log: a line of type '%s' cannot stand here", type);
    } else if (version != 1 && version != 2) {
        line = 1;
        snprintf(why, why_bytes, "not a log of version 1 or 2, the only ones that this program reads");
    } else if (view->seal && (size_t)json_integer_value(json_object_get(view->seal, "lines")) != chain->count) {
        line = chain->count;
        snprintf(why, why_bytes, "the seal is for another number of lines than %zu", chain->count);
    }
    return line;
}

int tb_log_take(struct tb_log_view *view, size_t *line, char *why, size_t why_bytes)
{
    struct tb_chain *chain = &view->chain;
    *line = 1;
    if (chain->count == 0) {
        snprintf(why, why_bytes, "not a log: %s", chain->broken_line ? chain->broken : "the file is empty");
        return -EINVAL;
    }
    json_int_t version = json_integer_value(json_object_get(chain->entries[0].object, "v"));
    int error = version == 2 ? rows_read(chain, line) : 0;
    if (error == -EINVAL)
        snprintf(why, why_bytes, "not a log: this is no row of a shape before it, no shape, or no end of a round");
    if (!error && (*line = misplaced(view, version, why, why_bytes)))
        error = -EINVAL;
    if (!error)
        error = index_samples(view);
    if (error == -ENOMEM)
        snprintf(why, why_bytes, "out of memory");
    return error;
}

int tb_log_load(const char *path, struct tb_log_view *out, char *why, size_t why_bytes)
{
    char what[256];
    size_t line = 0;
    *out = (struct tb_log_view){0};
    int error = (size_t)snprintf(out->path, sizeof out->path, "%s", path) < sizeof out->path ? 0 : -ENAMETOOLONG;
    if (!error)
        error = tb_chain_load_groups(path, &out->chain);
    if (error) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-error));
        return error;
    }
    error = tb_log_take(out, &line, what, sizeof what);
    if (error) {
        snprintf(why, why_bytes, "%s:%zu: %s", path, line, what);
        tb_log_view_close(out);
    }
    return error;
}

// --- what its lines say --------------------------------------------------------------------------------------------------------

static bool has_arm(const json_t *arms, const char *key)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (arms, i, arm)
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            return true;
    return false;
}

static bool is_whole(const json_t *object, const char *member, json_int_t below)
{
    const json_t *value = json_object_get(object, member);
    return json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) < below;
}

// A time is null where the process took none.
static bool is_duration(const json_t *value)
{
    return json_is_null(value) || (json_is_number(value) && json_number_value(value) >= 0);
}

static const char *sample_fault(const json_t *header, const json_t *sample)
{
    const json_t *arms = json_object_get(header, "arms"), *cells = json_object_get(header, "cells");
    if (!is_whole(sample, "cell", (json_int_t)json_array_size(cells)))
        return "a sample of a cell that the header does not have";
    if (!has_arm(arms, tb_member_text(sample, "arm")))
        return "a sample of an arm that the header does not have";
    if (!is_whole(sample, "round", INT32_MAX))
        return "a sample of no round";
    if (!json_is_boolean(json_object_get(sample, "valid")))
        return "a sample that does not say whether it is valid";
    return is_duration(json_object_get(sample, "time_ns")) ? NULL : "a sample whose time_ns is no time";
}

static const char *line_fault(const struct tb_log_view *view, const json_t *line)
{
    time_t time;
    if (line == view->header && !tb_time_read(tb_member_text(line, "time"), &time))
        return "the header's time is no time";
    if (line == view->summary && json_array_size(json_object_get(line, "predictions")) == 0)
        return "a summary without predictions";
    if (line == view->summary && !*tb_member_text(line, "verdict"))
        return "a summary without a verdict";
    return is_sample(line) ? sample_fault(view->header, line) : NULL;
}

size_t tb_log_check(const struct tb_log_view *view, const char **fault)
{
    for (size_t i = 0; i < view->chain.count; i++) {
        *fault = line_fault(view, view->chain.entries[i].object);
        if (*fault)
            return i + 1;
    }
    return 0;
}

void tb_log_view_close(struct tb_log_view *view)
{
    free(view->samples);
    tb_chain_close(&view->chain);
    *view = (struct tb_log_view){0};
}

const char *tb_log_emulated(const struct tb_log_view *view)
{
    const char *guest = tb_member_text(view->header, "emulated");
    return *guest ? guest : NULL;
}

double tb_log_number(const json_t *sample, const char *path)
{
    char counter[96];
    const char *dot = strrchr(path, '.');
    snprintf(counter, sizeof counter, "%.*s", dot ? (int)(dot - path) : 0, path);
    const json_t *of = dot ? tb_member(sample, counter) : NULL;
    double running = tb_member_number(of, "running_ns"), enabled = tb_member_number(of, "enabled_ns");
    return running < enabled ? NAN : tb_member_number(sample, path);
}

int tb_log_values(const struct tb_log_view *view, size_t cell, const char *arm, const char *member, double **values, size_t *count)
{
    double *found = malloc((view->samples_count + 1) * sizeof *found);
    if (!found)
        return -ENOMEM;
    *count = 0;
    for (size_t i = 0; i < view->samples_count; i++) {
        const struct tb_log_sample *sample = &view->samples[i];
        if (!sample->superseded && sample->cell == cell && strcmp(sample->arm, arm) == 0)
            found[(*count)++] =
                json_is_true(json_object_get(sample->line, "valid")) ? tb_log_number(sample->line, member) : (double)NAN;
    }
    *values = found;
    return 0;
}
