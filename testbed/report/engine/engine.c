// SPDX-License-Identifier: Apache-2.0
//
// engine: see engine.h.
//
// Ratios are to stock-plain, the engine as it comes with weights as they lie in the file, because that is the same work as on our
// devices; to stock where nobody ran the other. Times in an emulated machine say nothing, so there the counts stand alone and the
// answer is about them.

#include "testbed/report/engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/engine/arm.h"
#include "testbed/engine/model.h"
#include "testbed/judge/board.h"
#include "testbed/report/recommend.h"

struct row {
    uint32_t arm;
    bool apart; // it does other work than the others: more sequences at once, or a bill beside the steps
    const char *invalid; // NULL: all of its samples are valid
    double tokens_per_s;
    struct tb_ratio over; // its time over the base's
    bool has_over;
    struct tb_engined most; // of all rounds, member by member
};

struct cell {
    uint32_t index;
    const json_t *header;
    int base; // arm; -1: there is none
    struct row row[TB_ARMS_MAX];
    uint32_t count;
};

// --- rows ----------------------------------------------------------------------------------------------------------------------

static void row_load(const struct tb_rounds *rounds, const struct cell *cell, uint32_t arm, struct row *row)
{
    double *times = tb_times(rounds, cell->index, arm, TB_LAP);
    const struct tb_engine_arm *how = tb_engine_arm_find(rounds->arms[arm].label);
    *row = (struct row){.arm = arm, .apart = how && how->threads == TB_ENGINE_EACH_NODE};
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell->index, arm, round);
        if (!sample->valid)
            row->invalid = sample->invalid;
        for (const struct tb_slot *slot = tb_engined_fields; slot->name; slot++)
            tb_slot_set(&row->most, slot, fmax(tb_slot_get(&row->most, slot), tb_slot_get(&sample->engined, slot)));
    }
    row->apart |= row->most.step_bill_ratio > 0;
    double median_ns = times ? tb_median(times, rounds->count) : NAN;
    row->tokens_per_s = tb_member_number(cell->header, "engine.batch") * 1e9 / median_ns;
    row->has_over = !row->invalid && cell->base >= 0 && (uint32_t)cell->base != arm &&
                    tb_pair_ratio(rounds, cell->index, (int)arm, TB_LAP, cell->base, TB_LAP, &row->over);
    free(times);
}

static int by_speed(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (!x->invalid != !y->invalid)
        return x->invalid ? 1 : -1;
    return x->tokens_per_s > y->tokens_per_s ? -1 : x->tokens_per_s < y->tokens_per_s;
}

static void cell_load(const struct tb_log_view *view, const struct tb_rounds *rounds, uint32_t index, struct cell *cell)
{
    *cell = (struct cell){.index = index, .header = json_array_get(tb_member(view->header, "cells"), index)};
    cell->base = tb_rounds_arm(rounds, "stock-plain");
    if (cell->base < 0)
        cell->base = tb_rounds_arm(rounds, "stock");
    cell->count = rounds->arms_count;
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        row_load(rounds, cell, arm, &cell->row[arm]);
    if (!tb_log_emulated(view)) // times say nothing there
        qsort(cell->row, cell->count, sizeof *cell->row, by_speed);
}

// --- the document --------------------------------------------------------------------------------------------------------------

static const struct tb_column columns[] = {
    {"arm", "arm", TB_AS_IS, false},
    {"tokens_per_s", "tokens\na second", TB_AS_IS, false},
    {"time_over", "time over\nthe base", TB_AS_RATIO, true},
    {"kv_remote_ratio", "remote reads\nof KV", TB_AS_SHARE, false},
    {"kv_resident_bytes", "KV in\nmemory", TB_AS_BYTES, false},
    {"kv_bytes", NULL, TB_AS_BYTES, false},
    {"exchange_wait_ns", "wait for\na sum", TB_AS_TIME, false},
    {NULL, NULL, TB_AS_IS, false},
};

static void put_row(struct tb_table *table, const struct tb_rounds *rounds, const struct cell *cell, const struct row *row,
                    bool timed)
{
    const struct tb_engined *most = &row->most;
    bool ours = strncmp(rounds->arms[row->arm].label, "tensor", 6) == 0;
    tb_table_row(table, row->invalid ? TB_ROW_ASIDE : ours ? TB_ROW_OURS : TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(rounds->arms[row->arm].label));
    if (row->invalid) {
        tb_table_put(table, tb_toned(tb_none("INVALID"), TB_TONE_POOR));
        tb_table_note(table, "%s is INVALID: %s.", rounds->arms[row->arm].label, row->invalid);
        return;
    }
    tb_table_put(table, timed ? tb_number(row->tokens_per_s) : tb_none(NULL));
    tb_table_put(table, timed && row->has_over                 ? tb_interval(&row->over)
                        : timed && (int)row->arm == cell->base ? tb_number(1)
                                                               : tb_none(NULL));
    tb_table_put(table, tb_number(most->kv_remote_ratio));
    tb_table_put(table, tb_count(most->kv_resident_bytes));
    tb_table_put(table, tb_count(most->kv_bytes));
    tb_table_put(table, timed && most->exchanges ? tb_number(most->exchange_wait_ns) : tb_none(NULL));
}

// What the engine will do with this shape, before anybody measures it.
static void say_division(struct tb_doc *doc, const struct cell *cell, unsigned devices)
{
    struct tb_model model = {.heads = (uint32_t)tb_member_number(cell->header, "engine.heads"),
                             .kv_heads = (uint32_t)tb_member_number(cell->header, "engine.kv_heads"),
                             .head_dim = (uint32_t)tb_member_number(cell->header, "engine.head_dim")};
    if (!tb_model_divides(&model, devices))
        tb_doc_say(doc, "division",
                   "The attention of this shape does not divide evenly over %u devices (%u heads, %u KV heads of %u): the engine "
                   "gives whole groups of heads to one or the other, and with `tensor` the others wait for it.",
                   devices, model.heads, model.kv_heads, model.head_dim);
}

static void put_cell(struct tb_doc *doc, const struct tb_rounds *rounds, const struct cell *cell, bool timed)
{
    char title[160];
    snprintf(title, sizeof title, "%.100s: %.0f sequence%s after %.0f tokens each", rounds->cells[cell->index].name,
             tb_member_number(cell->header, "engine.batch"), tb_member_number(cell->header, "engine.batch") == 1 ? "" : "s",
             tb_member_number(cell->header, "engine.prompt_tokens"));
    struct tb_table *table = tb_doc_table(doc, "arms", title, columns);
    for (uint32_t i = 0; i < cell->count; i++)
        put_row(table, rounds, cell, &cell->row[i], timed);
    tb_table_note(table,
                  "Remote reads: if each thread reads evenly of all of the cache, and on our devices only of its node's. The "
                  "most of all rounds.");
    for (uint32_t i = 0; i < cell->count; i++) {
        const struct tb_engine_arm *arm = tb_engine_arm_find(rounds->arms[cell->row[i].arm].label);
        if (arm && arm->threads == TB_ENGINE_EACH_NODE)
            tb_table_note(table,
                          "%s has a process for each node, and each decodes that many sequences: tokens and bytes are of all.",
                          arm->name);
    }
    if (timed && cell->base >= 0)
        tb_table_note(table, "The base is %s.", rounds->arms[cell->base].label);
    if (!timed)
        tb_table_note(table, "Times in an emulated machine say nothing, and are left out.");
}

// --- the bill ------------------------------------------------------------------------------------------------------------------

static const struct tb_column bill_columns[] = {
    {"arm", "arm", TB_AS_IS, false},
    {"step_weights_ratio", "weights", TB_AS_SHARE, false},
    {"step_kv_read_ratio", "KV\nread", TB_AS_SHARE, false},
    {"step_kv_written_ratio", "KV\nwritten", TB_AS_SHARE, false},
    {"step_rest_ratio", "other\noperations", TB_AS_SHARE, false},
    {"step_engine_ratio", "outside of\noperations", TB_AS_SHARE, false},
    {"step_bill_ratio", "billed step\nover the other", TB_AS_RATIO, false},
    {NULL, NULL, TB_AS_IS, false},
};

static double median_of(const struct tb_rounds *rounds, const struct cell *cell, uint32_t arm, const char *name)
{
    const struct tb_slot *slot = tb_engined_fields;
    while (strcmp(slot->name, name) != 0)
        slot++;
    double *values = calloc(rounds->count, sizeof *values), median = NAN;
    for (uint32_t round = 0; values && round < rounds->count; round++)
        values[round] = tb_slot_get(&tb_rounds_sample(rounds, cell->index, arm, round)->engined, slot);
    if (values)
        median = tb_median(values, rounds->count);
    free(values);
    return median;
}

static void put_bill(struct tb_doc *doc, const struct tb_rounds *rounds, const struct cell *cell)
{
    struct tb_table *table = NULL;
    for (uint32_t i = 0; i < cell->count; i++) {
        const struct row *row = &cell->row[i];
        if (row->invalid || row->most.step_bill_ratio <= 0)
            continue;
        if (!table)
            table = tb_doc_table(doc, "bill", "The parts of a step", bill_columns);
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(rounds->arms[row->arm].label));
        for (const struct tb_column *column = bill_columns + 1; column->key; column++)
            tb_table_put(table, tb_number(median_of(rounds, cell, row->arm, column->key)));
    }
    if (table)
        tb_table_note(table, "Medians of the rounds. A billed step is computed in runs of operations of one kind, each of which "
                             "starts the threads once more: the last column says what that costs.");
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

static void answer_nothing(struct tb_doc *doc, const struct cell *cell)
{
    for (uint32_t i = 0; i < cell->count; i++)
        if (!cell->row[i].invalid) {
            tb_doc_answer(doc, "answer", "None of these ways does the work of one engine alone, so none can be recommended.");
            return;
        }
    tb_doc_answer(doc, "answer", "No way to run the engine passed.");
}

static void answer_counts(struct tb_doc *doc, const struct tb_rounds *rounds, const struct cell *cell)
{
    const struct row *least = NULL, *base = NULL;
    for (uint32_t i = 0; i < cell->count; i++)
        if (!cell->row[i].invalid && (int)cell->row[i].arm == cell->base)
            base = &cell->row[i];
    for (uint32_t i = 0; i < cell->count; i++)
        if (!cell->row[i].invalid && !cell->row[i].apart &&
            (!least || cell->row[i].most.kv_remote_ratio < least->most.kv_remote_ratio))
            least = &cell->row[i];
    if (!least)
        answer_nothing(doc, cell);
    else if (base)
        tb_doc_answer(doc, "answer", "%s reads %.0f %% of its KV cache on other nodes, %s %.0f %%.", rounds->arms[least->arm].label,
                      100 * least->most.kv_remote_ratio, rounds->arms[base->arm].label, 100 * base->most.kv_remote_ratio);
    else
        tb_doc_answer(doc, "answer", "%s reads least of its KV cache on other nodes: %.0f %%.", rounds->arms[least->arm].label,
                      100 * least->most.kv_remote_ratio);
}

static const char *untold(const struct tb_ratio *over)
{
    return over->bounded ? "the interval holds 1" : "it takes more rounds (--rounds)";
}

// Which ways do the same work as the base, the fastest first.
static const struct row *comparable(const struct cell *cell, uint32_t at)
{
    for (uint32_t i = 0; i < cell->count; i++)
        if (!cell->row[i].apart && !cell->row[i].invalid && at-- == 0)
            return &cell->row[i];
    return NULL;
}

// base: whose time its own is held against, or NULL: it is the base itself.
static void answer_use(struct tb_doc *doc, const char *name, const struct row *best, const char *base)
{
    struct tb_words words = {0}, because = {0};
    struct tb_recommend recommend = {.names = {name}, .count = 1, .because = because.text};
    tb_say(&because, "%.3g tokens a second, ", best->tokens_per_s);
    if (base)
        tb_say(&because, "%.2f [%.2f, %.2f] times the time of %s", best->over.estimate, best->over.low, best->over.high, base);
    else
        tb_say(&because, "and nothing here is faster");
    tb_say_recommend(&words, &recommend);
    tb_doc_answer(doc, "answer", "%s", words.text);
}

// Rows are ordered by their medians; whether these differ only an interval says.
static void answer_times(struct tb_doc *doc, const struct tb_rounds *rounds, const struct cell *cell)
{
    const struct row *best = comparable(cell, 0), *next = comparable(cell, 1);
    if (!best) {
        answer_nothing(doc, cell);
        return;
    }
    const char *name = rounds->arms[best->arm].label;
    bool base = (int)best->arm == cell->base;
    const struct row *told = base ? next : best;
    if (!told || !told->has_over)
        tb_doc_answer(doc, "answer", "%s decodes %.3g tokens a second, and there is nothing to compare it with.", name,
                      best->tokens_per_s);
    else if (!told->over.bounded || (base ? told->over.low <= 1 : told->over.high >= 1))
        tb_doc_answer(doc, "answer", "%s has the best median, %.3g tokens a second, but its difference from %s cannot be told: %s.",
                      name, best->tokens_per_s, base ? rounds->arms[next->arm].label : rounds->arms[cell->base].label,
                      untold(&told->over));
    else
        answer_use(doc, name, best, base ? NULL : rounds->arms[cell->base].label);
}

struct tb_doc *tb_engine_doc(json_t *head, const struct tb_log_view *view, const struct tb_rounds *rounds)
{
    struct tb_doc *doc = tb_doc_open(head);
    static struct cell cell;
    bool timed = !tb_log_emulated(view);
    unsigned devices = (unsigned)tb_member_number(view->header, "measured.here.devices");
    if (!doc)
        return NULL;
    const char *about = tb_member_text(view->header, "measured.about");
    if (*about)
        tb_doc_say(doc, "about", "%s", about);
    for (uint32_t i = 0; i < rounds->cells_count; i++) {
        cell_load(view, rounds, i, &cell);
        if (rounds->cells_count > 1)
            tb_doc_heading(doc, 2, rounds->cells[i].name, rounds->cells[i].name);
        put_cell(doc, rounds, &cell, timed);
        if (timed)
            put_bill(doc, rounds, &cell);
        say_division(doc, &cell, devices > 1 ? devices : 2);
        (timed ? answer_times : answer_counts)(doc, rounds, &cell);
    }
    return doc;
}
