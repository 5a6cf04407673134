// SPDX-License-Identifier: Apache-2.0
//
// here: see here.h.
//
// What a strategy decides is exact, so the interval of its tokens a second has one source: that of the clock. It is from the least
// to the most of what the strategy decodes by the slow, the estimated and the fast clock.
//
// The ranking: who refuses the fewest requests; then who decodes the most tokens a second. Two whose intervals overlap are no
// different: the clock is the same for both, so that is on the safe side.

#include "testbed/report/serve/here.h"

#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/report/recommend.h"
#include "testbed/report/serve/serve_internal.h"

struct rate {
    const char *name, *invalid;
    bool known;                 // in all cells
    double refused, estimate, low, high, floor;
};

struct here {
    const json_t *clock;
    struct rate rate[SERVED_ROWS_MAX]; // the best first
    uint32_t count, known;
    double confidence;
};

// --- what was measured ---------------------------------------------------------------------------------------------------------

static json_t *interval_json(const struct tb_ratio *ratio)
{
    const struct tb_json_member members[] = {{"estimate", tb_json_number(ratio->estimate)},
                                             {"low", tb_json_number(ratio->low)},
                                             {"high", tb_json_number(ratio->high)}};
    return TB_JSON_OBJECT(members);
}

json_t *tb_here_json(const struct tb_rounds *rounds, uint32_t cell, const char *name, const struct tb_pace *pace)
{
    const struct tb_decode_sample *by = tb_decoded_by(rounds, cell);
    char floor[sizeof rounds->arms->label];
    const struct tb_json_member members[] = {
        {"cell", json_string(rounds->cells[cell].name)},
        {"kernel", by ? json_string(by->kernel) : json_null()},
        {"threads", by ? tb_json_whole(by->threads) : json_null()},
        {"rounds", tb_json_whole(rounds->count)},
        {"step_bytes", tb_json_whole(pace->step_bytes)},
        {"arm", json_string(name)},
        {"floor", json_string(tb_pace_arm(name, 1, floor, sizeof floor))},
        {"read_ps", interval_json(&pace->read_ps)},
        {"floor_ps", interval_json(&pace->floor_ps)},
        {"confidence", tb_json_number(pace->read_ps.confidence + pace->floor_ps.confidence - 1)},
        {"unfit", tb_json_clean(rounds->unfit)},
        {"noisy", tb_json_clean(pace->noisy < 0 ? NULL : rounds->arms[pace->noisy].label)},
    };
    return TB_JSON_OBJECT(members);
}

bool tb_here_is(const struct tb_log_view *view)
{
    return json_is_object(tb_member(view->header, "measured.here"));
}

// --- rates ---------------------------------------------------------------------------------------------------------------------

static const struct served_row *row_of(const struct served_cell *cell, const char *name)
{
    for (uint32_t i = 0; i < cell->ranked; i++)
        if (strcmp(cell->row[i].name, name) == 0)
            return &cell->row[i];
    return NULL;
}

static void rate_load(const struct served_cell cells[TB_HERE_CELLS], const struct served_row *row, struct rate *out)
{
    double per_s[TB_HERE_CELLS];
    *out = (struct rate){.name = row->name, .invalid = row->invalid, .known = true};
    for (int i = 0; i < TB_HERE_CELLS; i++) {
        const struct served_row *found = row_of(&cells[i], row->name);
        per_s[i] = found ? served_figure(found, "tokens_per_s") : NAN;
        out->known = out->known && per_s[i] > 0;
    }
    out->refused = served_figure(row, "refused");
    out->estimate = per_s[TB_HERE_ESTIMATE];
    out->low = fmin(fmin(per_s[TB_HERE_SLOW], per_s[TB_HERE_FAST]), out->estimate);
    out->high = fmax(fmax(per_s[TB_HERE_SLOW], per_s[TB_HERE_FAST]), out->estimate);
    out->floor = per_s[TB_HERE_FLOOR];
}

static int compare(const void *a, const void *b)
{
    const struct rate *x = a, *y = b;
    if (x->known != y->known)
        return y->known - x->known;
    if (x->known && x->refused != y->refused)
        return x->refused < y->refused ? -1 : 1;
    if (x->known && x->estimate != y->estimate)
        return x->estimate > y->estimate ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void rates_load(const struct tb_log_view *view, const struct served_cell cells[TB_HERE_CELLS], struct here *out)
{
    const struct served_cell *cell = &cells[TB_HERE_ESTIMATE];
    *out = (struct here){.clock = tb_member(view->header, "measured.here"), .count = cell->count};
    out->confidence = tb_member_number(out->clock, "confidence");
    for (uint32_t i = 0; i < cell->count; i++)
        rate_load(cells, &cell->row[i], &out->rate[i]);
    qsort(out->rate, out->count, sizeof *out->rate, compare);
    while (out->known < out->count && out->rate[out->known].known)
        out->known++;
}

// --- the document --------------------------------------------------------------------------------------------------------------

static const char *said_interval(char out[64], const json_t *clock, const char *member)
{
    char path[32], number[3][16];
    static const char *const ends[] = {"estimate", "low", "high"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%.16s.%s", member, ends[i]);
        tb_text_number(number[i], tb_member_number(clock, path));
    }
    snprintf(out, 64, "%s ps [%s, %s]", number[0], number[1], number[2]);
    return out;
}

static void put_measured(struct tb_table *table, const json_t *clock, bool loaded)
{
    char read[64], least[64];
    const char *noisy = tb_member_text(clock, "noisy"), *unfit = tb_member_text(clock, "unfit");
    double threads = tb_member_number(clock, "threads");
    tb_table_note(
        table,
        "Measured before, in %.0f rounds of %s: attention (%s, %.0f thread%s) reads a byte of KV in %s, and %s, its floor, "
        "in %s. A step read %.0f MiB.",
        tb_member_number(clock, "rounds"), tb_member_text(clock, "cell"), tb_member_text(clock, "kernel"), threads,
        threads == 1 ? "" : "s", said_interval(read, clock, "read_ps"), tb_member_text(clock, "floor"),
        said_interval(least, clock, "floor_ps"), tb_member_number(clock, "step_bytes") / (1 << 20));
    tb_table_note(
        table,
        "The clock is made of that: a byte of KV takes what it took attention, and weights are read at the pace of the floor. "
        "Brackets cover both intervals, with %.0f %% confidence. The time of prompts is stated, not measured%s.",
        floor(100 * tb_member_number(clock, "confidence")), loaded ? "" : ": here it is none");
    tb_table_note(table, "At the floor: what they would decode if attention read a byte as fast as %s.",
                  tb_member_text(clock, "floor"));
    if (*noisy)
        tb_table_note(table, "%s is noisy: the clock might not hold on a quieter machine.", noisy);
    if (*unfit)
        tb_table_note(table, "%s", unfit);
}

static void put_rates(struct tb_doc *doc, const struct here *here, bool loaded)
{
    static const struct tb_column columns[] = {{"strategy", "strategy", TB_AS_IS, false},
                                               {"tokens_per_s", "tokens a second,\non this machine", TB_AS_IS, true},
                                               {"floor_tokens_per_s", "at the\nfloor", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    struct tb_table *table = tb_doc_table(doc, "tokens", "On this machine", columns);
    for (uint32_t i = 0; i < here->count; i++) {
        const struct rate *rate = &here->rate[i];
        tb_table_row(table, !rate->known ? TB_ROW_ASIDE : i == 0 ? TB_ROW_OURS : TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(rate->name));
        if (rate->invalid)
            tb_table_put(table, tb_toned(tb_none("INVALID"), TB_TONE_POOR));
        else
            tb_table_put(table,
                         rate->known ? tb_interval_of(rate->estimate, rate->low, rate->high, here->confidence) : tb_none(NULL));
        tb_table_put(table, tb_number(rate->known ? rate->floor : NAN));
    }
    put_measured(table, here->clock, loaded);
}

static void say_rate(struct tb_words *words, const struct rate *rate)
{
    char number[3][16];
    tb_say(words, "%s tokens a second [%s, %s]", tb_text_number(number[0], rate->estimate), tb_text_number(number[1], rate->low),
           tb_text_number(number[2], rate->high));
}

// Those behind the best one that serve as many, and whose intervals overlap its: they need not stand side by side. Returns the
// first that is worse.
static uint32_t level_add(const struct here *here, struct tb_recommend *recommend)
{
    const struct rate *best = &here->rate[0];
    uint32_t next = here->known;
    for (uint32_t i = 0; i < here->known; i++) {
        const struct rate *rate = &here->rate[i];
        if (rate->refused == best->refused && rate->high >= best->low)
            tb_recommend_add(recommend, rate->name);
        else if (next == here->known)
            next = i;
    }
    return next;
}

static void put_answer(struct tb_doc *doc, const struct here *here)
{
    const struct rate *best = &here->rate[0];
    struct tb_words words = {0}, because = {0};
    struct tb_recommend recommend = {.because = because.text,
                                     .noisy = *tb_member_text(here->clock, "noisy") != '\0',
                                     .why = "their intervals overlap",
                                     .separates = "A smaller pool (--pool), or a quieter machine,"};
    if (here->known == 0) {
        tb_doc_answer(doc, "answer", "No strategy served these requests.");
        return;
    }
    uint32_t next = level_add(here, &recommend);
    if (here->known == 1)
        tb_say(&words, "%s has nobody to be compared with: it decodes ", best->name);
    else if (recommend.count > 1)
        tb_say(&because, "%s decodes ", best->name);
    say_rate(here->known == 1 ? &words : &because, best);
    if (next < here->known && here->rate[next].refused > best->refused) {
        tb_say(&because, "; %s others refuse requests", recommend.count > 1 ? "the" : "all");
    } else if (next < here->known) {
        tb_say(&because, "; %s, the next, ", here->rate[next].name);
        say_rate(&because, &here->rate[next]);
    }
    if (here->known == 1)
        tb_say(&words, ".%s", recommend.noisy ? " The clock is noisy: end what else runs, and measure again." : "");
    else
        tb_say_recommend(&words, &recommend);
    tb_doc_answer(doc, "answer", "%s", words.text);
}

struct tb_doc *tb_here_doc(json_t *head, const struct tb_log_view *view)
{
    static struct served_cell cells[TB_HERE_CELLS];
    static struct here here;
    struct tb_doc *doc = tb_doc_open(head);
    json_t *all = json_array();
    for (size_t i = 0; i < TB_HERE_CELLS; i++) {
        served_cell_load(view, i, json_array_get(tb_member(view->header, "cells"), i), &cells[i]);
        all = tb_json_appended(all, served_cell_json(&cells[i]));
    }
    rates_load(view, cells, &here);
    served_put_cell(doc, &cells[TB_HERE_ESTIMATE]);
    put_rates(doc, &here, cells[TB_HERE_ESTIMATE].loaded);
    put_answer(doc, &here);
    served_about(doc, view);
    tb_doc_json(doc, "clock", json_deep_copy(here.clock));
    tb_doc_json(doc, "cells", all);
    return doc;
}
