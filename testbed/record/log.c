// SPDX-License-Identifier: Apache-2.0
//
// log: lines are made and chained in memory while a round runs, and written between rounds, all of a round in one durable append.
// So no file is touched while something is measured, and a crash loses at most the round that it interrupted.
//
// What is loaded has its lines in the order in which a run writes them: header, samples, counters, summary, seal. Whatever else has
// a valid chain was not written by this program, and is refused.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/record/log.h"

struct tb_log {
    struct tb_journal *journal;
    struct tb_hash head;    // of the last line added
    size_t lines;           // added, the header too
    char *round;            // lines added since the last flush
    size_t round_bytes;
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

int tb_log_add(struct tb_log *log, const json_t *object)
{
    struct tb_hash head = log->head;
    char *line;
    size_t bytes;
    int error = tb_chain_line(&head, object, &line, &bytes);
    if (error)
        return error;
    char *round = realloc(log->round, log->round_bytes + bytes);
    if (round) {
        memcpy(round + log->round_bytes, line, bytes);
        log->round = round;
        log->round_bytes += bytes;
        log->head = head;
        log->lines++;
    }
    free(line);
    return round ? 0 : -ENOMEM;
}

int tb_log_flush(struct tb_log *log)
{
    int error = log->round_bytes ? tb_journal_append(log->journal, log->round, log->round_bytes) : 0;
    if (!error)
        log->round_bytes = 0;
    return error;
}

int tb_log_seal(struct tb_log *log, const char *status, const char *why, struct tb_hash *head, size_t *lines)
{
    json_t *seal =
        json_pack("{s:s, s:I, s:s, s:s?}", "t", "seal", "lines", (json_int_t)log->lines + 1, "status", status, "why", why);
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
    free(log->round);
    free(log);
}

const char *tb_log_engine(const struct tb_log *log)
{
    return tb_journal_engine(log->journal);
}

// --- reading -------------------------------------------------------------------------------------------------------------------

// Where a line stands in its log, or -1.
static int rank(const json_t *object)
{
    static const char *const order[] = {"hdr", "s", "after", "sum", "seal"};
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++)
        if (strcmp(tb_member_text(object, "t"), order[i]) == 0)
            return i;
    return -1;
}

// Fills in the parts. Returns the first line that is not in its place (from 1), or 0.
static size_t sort_lines(struct tb_log_view *view)
{
    const struct tb_chain *chain = &view->chain;
    const json_t *parts[5] = {NULL};
    for (size_t i = 0, last = 0; i < chain->count; i++) {
        int now = rank(chain->entries[i].object);
        bool in_place = i == 0 ? now == 0 : now > (int)last || (now == 1 && last == 1);
        if (!in_place)
            return i + 1;
        parts[now] = chain->entries[i].object;
        view->samples_count += now == 1;
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
    view->samples = calloc(view->samples_count + 1, sizeof *view->samples);
    for (size_t i = 0; view->samples && i < view->samples_count; i++) { // they follow the header
        json_t *line = view->chain.entries[1 + i].object;
        size_t cell = (size_t)json_integer_value(json_object_get(line, "cell"));
        view->samples[i] = (struct tb_log_sample){.cell = cell, .arm = tb_member_text(line, "arm"), .line = line};
    }
    if (view->samples)
        mark_superseded(view);
    return view->samples ? 0 : -ENOMEM;
}

static int view_check(struct tb_log_view *view, char *why, size_t why_bytes)
{
    const struct tb_chain *chain = &view->chain;
    if (chain->count == 0) {
        snprintf(why, why_bytes, "%s:1: not a log: %s", view->path, chain->broken_line ? chain->broken : "the file is empty");
        return -EINVAL;
    }
    size_t line = sort_lines(view);
    if (line) {
        char type[64];
        tb_text_clean(tb_member_text(chain->entries[line - 1].object, "t"), true, type, sizeof type);
        snprintf(why, why_bytes, "%s:%zu: not a log: a line of type '%s' cannot stand here", view->path, line, type);
        return -EINVAL;
    }
    if (json_integer_value(json_object_get(view->header, "v")) != 1) {
        snprintf(why, why_bytes, "%s:1: not a log of version 1, the only one that this program reads", view->path);
        return -EINVAL;
    }
    if (view->seal && (size_t)json_integer_value(json_object_get(view->seal, "lines")) != chain->count) {
        snprintf(why, why_bytes, "%s:%zu: the seal is for another number of lines than %zu", view->path, chain->count,
                 chain->count);
        return -EINVAL;
    }
    return 0;
}

int tb_log_load(const char *path, struct tb_log_view *out, char *why, size_t why_bytes)
{
    *out = (struct tb_log_view){0};
    int error = (size_t)snprintf(out->path, sizeof out->path, "%s", path) < sizeof out->path ? 0 : -ENAMETOOLONG;
    if (!error)
        error = tb_chain_load(path, &out->chain);
    if (error) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-error));
        return error;
    }
    error = view_check(out, why, why_bytes);
    if (!error && index_samples(out)) {
        snprintf(why, why_bytes, "%s: out of memory", path);
        error = -ENOMEM;
    }
    if (error)
        tb_log_view_close(out);
    return error;
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
