// SPDX-License-Identifier: Apache-2.0
//
// tiers: see tiers.h.
//
// Counts are the log's; times are products of them and the cell's prices, which are stated. A policy that finds more stands above
// one that finds less, and among equals the one whose moves take less.

#include "testbed/report/serve/tiers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/report/recommend.h"

#define ROWS_MAX 64u

struct row {
    const char *name;
    const json_t *served;
    bool ranked;
    double moves_ns;            // all moves of all tiers
};

struct tiers {
    const json_t *cell, *tiers;
    struct row row[ROWS_MAX];   // the best first
    uint32_t count;
};

static const char *const names[] = {"far", "file"}, *const labels[] = {"far tier", "file"};

bool tb_tiers_are(const struct tb_log_view *view)
{
    return json_is_object(tb_member(json_array_get(tb_member(view->header, "cells"), 0), "serving.tiers"));
}

static const json_t *tier_of(const struct tiers *tiers, const char *name) // json_null(): there is none
{
    return tb_member(tiers->tiers, name);
}

// "far_hits" and the like; 0: the log lacks it.
static double figure(const struct row *row, const char *tier, const char *what)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s", tier, what);
    double number = tb_member_number(row->served, name);
    return isfinite(number) ? number : 0;
}

static double moves_ns(const struct tiers *tiers, const struct row *row, const char *name)
{
    const json_t *tier = tier_of(tiers, name);
    if (!json_is_object(tier))
        return 0;
    return (figure(row, name, "_hits") + figure(row, name, "_sunk")) * tb_member_number(tier, "move_ns");
}

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    double more = figure(y, "", "hits") - figure(x, "", "hits"), longer = x->moves_ns - y->moves_ns;
    if (x->ranked != y->ranked)
        return y->ranked - x->ranked;
    return more != 0 ? (more > 0) - (more < 0) : longer != 0 ? (longer > 0) - (longer < 0) : strcmp(x->name, y->name);
}

static void load(const struct tb_log_view *view, size_t index, const json_t *cell, struct tiers *tiers)
{
    const json_t *arm;
    size_t i;
    *tiers = (struct tiers){.cell = cell, .tiers = tb_member(cell, "serving.tiers")};
    json_array_foreach (tb_member(view->header, "arms"), i, arm) {
        struct row row = {.name = tb_member_text(arm, "name"), .ranked = strcmp(tb_member_text(arm, "role"), "harness") != 0};
        for (size_t s = 0; s < view->samples_count; s++)
            if (view->samples[s].cell == index && strcmp(view->samples[s].arm, tb_member_text(arm, "key")) == 0 &&
                json_is_true(tb_member(view->samples[s].line, "valid")))
                row.served = tb_member(view->samples[s].line, "serving");
        if (!row.served || tiers->count == ROWS_MAX)
            continue;
        row.moves_ns = moves_ns(tiers, &row, "far") + moves_ns(tiers, &row, "file");
        tiers->row[tiers->count++] = row;
    }
    qsort(tiers->row, tiers->count, sizeof *tiers->row, compare);
}

// --- tables --------------------------------------------------------------------------------------------------------------------

static const struct tb_column found_columns[] = {
    {"blocks", "near\nblocks", TB_AS_IS, false},
    {"policy", "\npolicy", TB_AS_IS, false},
    {"near_hit_ratio", "\nnear", TB_AS_SHARE, false},
    {"far_hit_ratio", "found\nfar", TB_AS_SHARE, false},
    {"file_hit_ratio", "\nfile", TB_AS_SHARE, false},
    {"far_sunk", "sunk\nfar", TB_AS_IS, false},
    {"file_sunk", "\nfile", TB_AS_IS, false},
    {"lost", "\nlost", TB_AS_IS, false},
    {"far_bytes", "moved\nfar", TB_AS_BYTES, false},
    {"file_bytes", "\nfile", TB_AS_BYTES, false},
    {"far_even_ns", "wins from\nfar", TB_AS_TIME, false},
    {"file_even_ns", "\nfile", TB_AS_TIME, false},
    {"moves_ns", "moves\ntake", TB_AS_TIME, false},
    {NULL, NULL, TB_AS_IS, false},
};

static void put_found(struct tb_table *table, const struct tiers *tiers)
{
    for (uint32_t i = 0; i < tiers->count; i++) {
        const struct row *row = &tiers->row[i];
        tb_table_row(table, !row->ranked ? TB_ROW_ASIDE : i == 0 ? TB_ROW_OURS : TB_ROW_PLAIN);
        tb_table_put(table, tb_count((uint64_t)tb_member_number(tiers->cell, "serving.blocks")));
        tb_table_put(table, tb_text_value(row->name));
        for (const struct tb_column *column = found_columns + 2; strcmp(column->key, "moves_ns"); column++) {
            double number = tb_member_number(row->served, column->key);
            bool count = column->unit == TB_AS_IS && isfinite(number);
            tb_table_put(table, count ? tb_count((uint64_t)number) : tb_number(number));
        }
        tb_table_put(table, tb_number(row->moves_ns));
    }
}

// What a hit saves and takes, tier by tier.
static void put_prices(struct tb_doc *doc, const struct tiers *tiers)
{
    static const struct tb_column columns[] = {
        {"tier", "tier", TB_AS_IS, false},
        {"blocks", "blocks", TB_AS_IS, false},
        {"bytes_per_s", "bandwidth", TB_AS_RATE, false},
        {"latency_ns", "latency", TB_AS_TIME, false},
        {"move_ns", "a hit\ntakes", TB_AS_TIME, false},
        {"compute_ns", "computing\ntakes", TB_AS_TIME, false},
        {"even_ns", "loses if a token\ntakes less than", TB_AS_TIME, false},
        {NULL, NULL, TB_AS_IS, false},
    };
    double tokens = tb_member_number(tiers->cell, "serving.id_tokens"), token_ns = tb_member_number(tiers->tiers, "token_ns");
    struct tb_table *table = tb_doc_table(doc, "prices", "What a block takes, as stated", columns);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *tier = tier_of(tiers, names[i]);
        if (!json_is_object(tier))
            continue;
        double move_ns = tb_member_number(tier, "move_ns");
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(names[i]), tb_count((uint64_t)tb_member_number(tier, "blocks")),
                     tb_number(tb_member_number(tier, "gbs") * 1e9), tb_number(tb_member_number(tier, "us") * 1e3),
                     tb_number(move_ns), tb_number(token_ns * tokens), tb_number(move_ns / tokens));
    }
    tb_table_note(table,
                  "A block is %.0f tokens of %s, %.0f bytes. A token takes %.6g us; that and all bandwidths are stated, not "
                  "measured.",
                  tokens, tb_member_text(tiers->tiers, "shape"), tb_member_number(tiers->tiers, "block_bytes"), token_ns / 1000);
}

// --- sentences and curves ------------------------------------------------------------------------------------------------------

static void put_worth(struct tb_doc *doc, const struct tiers *tiers, const struct row *row)
{
    double token_ns = tb_member_number(tiers->tiers, "token_ns");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!json_is_object(tier_of(tiers, names[i])))
            continue;
        double hits = figure(row, names[i], "_hits"), even_ns = figure(row, names[i], "_even_ns");
        if (hits == 0) {
            tb_doc_say(doc, "tier_prices", "With %s the %s finds nothing, so it loses at any price.", row->name, labels[i]);
            continue;
        }
        tb_doc_say(
            doc, "tier_prices",
            "With %s the %s finds %.2f %% of the blocks. With the moves of all that sinks there it loses where a token takes "
            "less than %.3g us; here it takes %.6g us.",
            row->name, labels[i], 100 * figure(row, names[i], "_hit_ratio"), even_ns / 1000, token_ns / 1000);
    }
}

// Time of all prompts, over that without any cache, at another price of a token: the blocks that are computed, and the moves.
static double share_of_time(const struct tiers *tiers, const struct row *row, unsigned depth, double token_ns)
{
    double blocks = tb_member_number(tiers->cell, "serving.ids");
    double block_ns = token_ns * tb_member_number(tiers->cell, "serving.id_tokens");
    double hits = figure(row, "near", "_hits"), moved_ns = 0;
    for (unsigned i = 0; i < depth; i++) {
        hits += figure(row, names[i], "_hits");
        moved_ns += moves_ns(tiers, row, names[i]);
    }
    return ((blocks - hits) * block_ns + moved_ns) / (blocks * block_ns);
}

static void put_curves(struct tb_doc *doc, const struct tiers *tiers, const struct row *row)
{
    static const char *const lines[] = {"near", "near and far", "near, far and file"};
    static const double decade[] = {1e3, 3e3}; // ns
    char upwards[128];
    snprintf(upwards, sizeof upwards, "time with %s over that without a cache", row->name);
    struct tb_curves *curves = tb_doc_curves(doc, "price_of_tokens", "Time of prompts by the price of a token",
                                             (struct tb_curve_axis){"a token takes", TB_AS_TIME, true},
                                             (struct tb_curve_axis){upwards, TB_AS_SHARE, true});
    for (unsigned depth = 0; depth <= 2; depth++) {
        if (depth && !json_is_object(tier_of(tiers, names[depth - 1])))
            continue;
        bool far = json_is_object(tier_of(tiers, "far"));
        tb_curves_line(curves, depth == 2 && !far ? "near and file" : lines[depth]);
        for (double scale = 1; scale <= 1000; scale *= 10)
            for (unsigned i = 0; i < sizeof decade / sizeof *decade; i++)
                tb_curves_point(curves, decade[i] * scale, tb_number(share_of_time(tiers, row, depth, decade[i] * scale)));
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (figure(row, names[i], "_even_ns") > 0)
            tb_curves_mark(curves, figure(row, names[i], "_even_ns"), i ? "file wins" : "far tier wins");
}

static void put_answer(struct tb_doc *doc, const struct tiers *tiers)
{
    const struct row *best = &tiers->row[0], *next = &tiers->row[1];
    double more = tiers->count > 1 && next->ranked ? figure(best, "", "hits") - figure(next, "", "hits") : NAN;
    double blocks = tb_member_number(tiers->cell, "serving.ids");
    struct tb_words words = {0}, because = {0};
    struct tb_recommend recommend = {.names = {best->name},
                                     .count = 1,
                                     .because = because.text,
                                     .why = "they find the same in all tiers together, and their moves take as long",
                                     .separates = "Smaller tiers (--pool, --far, --file)"};
    if (!isfinite(more)) {
        tb_doc_answer(doc, "answer", "%s has nobody to be compared with.", best->name);
        return;
    }
    if (more > 0)
        tb_say(&because, "with its tiers it finds %.2f points more than %s", 100 * more / blocks, next->name);
    else if (best->moves_ns != next->moves_ns)
        tb_say(&because, "nobody finds more in all tiers together, and its moves take %.3g times as long as %s's",
               best->moves_ns / next->moves_ns, next->name);
    for (uint32_t i = 1; !because.used && i < tiers->count && tiers->row[i].ranked; i++)
        if (figure(&tiers->row[i], "", "hits") == figure(best, "", "hits") && tiers->row[i].moves_ns == best->moves_ns)
            tb_recommend_add(&recommend, tiers->row[i].name);
    tb_say_recommend(&words, &recommend);
    tb_doc_answer(doc, "answer", "%s", words.text);
}

void tb_tiers_put(struct tb_doc *doc, const struct tb_log_view *view)
{
    static struct tiers tiers;
    const json_t *cells = tb_member(view->header, "cells"), *cell;
    char title[128];
    size_t i;
    load(view, 0, json_array_get(cells, 0), &tiers);
    snprintf(title, sizeof title, "%.60s: where blocks are found", tb_member_text(tiers.cell, "workload"));
    struct tb_table *table = tb_doc_table(doc, "tiers", title, found_columns);
    json_array_foreach (cells, i, cell) {
        load(view, i, cell, &tiers);
        put_found(table, &tiers);
    }
    tb_table_note(table, "A found block is raised to the near cache; what leaves a tier sinks to the next one%s.",
                  json_is_true(tb_member(tiers.tiers, "alike")) ? ", by a policy like the near cache's" : ", the oldest first");
    tb_table_note(table, "A tier wins from this price of a token on, with the moves of its hits and of all that sank there.");
    put_prices(doc, &tiers);
    if (json_array_size(cells) > 1 || tiers.count == 0)
        return;
    put_worth(doc, &tiers, &tiers.row[0]);
    put_curves(doc, &tiers, &tiers.row[0]);
    put_answer(doc, &tiers);
}
