// SPDX-License-Identifier: Apache-2.0
//
// scoreboard: which runs count, and which of them stand for a cell.
//
// A run is believed as far as its own log and its host's ledger go together; whether either was written anew as a whole is what
// `locus verify` says. No choice is made by how a run came out: who takes part in it was settled before its first sample, and by
// that and its date alone it takes the place of an older one.
#include "testbed/report/standing/scoreboard.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/workload/workload.h"

// What a run is to the board.
struct standing {
    const struct tb_store_run *run;
    bool counts, gates_alone;   // gates_alone: it does not count, and its gates are still worth a look
    json_t *rivals;             // an object with a member for each
};

// A cell of a run, and the runs that it stands for.
struct place {
    const struct standing *standing;
    size_t cell;
    char brief[128], whole[192];
    json_t *older;              // runs whose place it took
};

struct board {
    const struct tb_scoreboard_wanted *wanted;
    struct standing *standings;
    struct place *places;
    size_t standings_count, places_count, older_count;
    json_t *left_out, *warnings;
};

// --- which runs count ----------------------------------------------------------------------------------------------------------

// Why a run gives no figure, in a word, and more in *why. NULL: it counts.
static const char *reason_of(const struct tb_store_run *run, const char **why)
{
    const struct tb_log_view *view = &run->view;
    const char *verdict = tb_member_text(view->summary, "verdict"), *kind = tb_member_text(view->header, "kind");
    *why = run->why;
    if (run->state != TB_RUN_WHOLE && run->state != TB_RUN_UNCLOSED)
        return run->state == TB_RUN_CRASHED ? "unsealed" : tb_run_verdict(run);
    *why = "nobody had to say beforehand what it would show";
    if (strcmp(kind, "official"))
        return strcmp(kind, "smoke") ? "trial" : "smoke";
    *why = run->why;
    if (run->state != TB_RUN_WHOLE)
        return tb_run_verdict(run);
    if ((*why = tb_log_emulated(view)))
        return "emulated";
    *why = tb_member_text(view->summary, "why");
    if (view->samples_count == 0)
        return "unmeasurable";
    if (!*verdict)
        return "no verdict";
    return strcmp(verdict, "inconclusive (noise)") == 0 ? "noise" : strcmp(verdict, "invalid") == 0 ? "invalid" : NULL;
}

static json_t *rivals_of(const struct tb_store_run *run)
{
    json_t *rivals = json_object();
    const json_t *arm;
    size_t i;
    char bare[96];
    bool failed = !rivals;
    json_array_foreach (tb_member(run->view.header, "arms"), i, arm)
        if (tb_scoreboard_rival(tb_member_text(arm, "name"), bare))
            failed |= json_object_set_new(rivals, bare, json_true());
    if (!failed)
        return rivals;
    json_decref(rivals);
    return NULL;
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

// A cell's own setting, or the design's.
static const json_t *setting(const struct tb_log_view *view, size_t cell, const char *key)
{
    const json_t *own = tb_member(json_array_get(tb_member(view->header, "cells"), cell), key);
    return own && !json_is_null(own) ? own : tb_member(tb_member(view->header, "design"), key);
}

static void name_cell(struct place *place)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    const struct tb_log_view *view = &place->standing->run->view;
    const json_t *object = json_array_get(tb_member(view->header, "cells"), place->cell);
    const char *dispatch = json_string_value(setting(view, place->cell, "dispatch")), *touch = tb_member_text(object, "touch");
    double bytes = json_number_value(setting(view, place->cell, "block_bytes"));
    size_t unit = 0;
    for (; unit < 3 && bytes >= 1024 && fmod(bytes, 1024) == 0; unit++)
        bytes /= 1024;
    snprintf(place->brief, sizeof place->brief, "%.90s/%.*s", tb_member_text(object, "workload"), (int)strcspn(touch, "/"), touch);
    snprintf(place->whole, sizeof place->whole, "%s/%.15s/%.0fw/%.0f%s%s", place->brief, dispatch ? dispatch : "",
             json_number_value(setting(view, place->cell, "workers")), bytes, units[unit], tb_many_nodes(view) ? "/nodes" : "");
}

bool tb_scoreboard_meant(const char *glob, const char *brief, const char *whole)
{
    return !glob || fnmatch(glob, brief, 0) == 0 || (whole && fnmatch(glob, whole, 0) == 0);
}

static const char *host_of(const struct place *place)
{
    return place->standing->run->host->name;
}

static bool same_cell(const struct place *a, const struct place *b)
{
    return strcmp(a->whole, b->whole) == 0 && strcmp(host_of(a), host_of(b)) == 0;
}

// Does the newer run say all that the older one says: has it each of its rivals?
static bool supersedes(const struct place *newer, const struct place *older)
{
    const char *bare;
    json_t *value;
    if (!same_cell(newer, older))
        return false;
    json_object_foreach (older->standing->rivals, bare, value)
        if (!json_object_get(newer->standing->rivals, bare) && !older->standing->gates_alone)
            return false;
    return true;
}

// Runs come newest first, those of gates alone behind all others.
static int add_cell(struct board *board, const struct standing *standing, size_t cell)
{
    struct place place = {.standing = standing, .cell = cell};
    name_cell(&place);
    if (!tb_scoreboard_meant(board->wanted->cell, place.brief, place.whole))
        return 0;
    for (size_t i = 0; i < board->places_count; i++) {
        struct place *newer = &board->places[i];
        if (!supersedes(newer, &place))
            continue;
        board->older_count += !standing->gates_alone;
        return !standing->gates_alone && json_array_append_new(newer->older, tb_json_clean(standing->run->run)) ? -ENOMEM : 0;
    }
    struct place *grown = realloc(board->places, (board->places_count + 1) * sizeof *grown);
    if (grown)
        board->places = grown;
    place.older = grown ? json_array() : NULL;
    if (!place.older)
        return -ENOMEM;
    board->places[board->places_count++] = place;
    return 0;
}

static const char *time_of(const struct standing *standing)
{
    return tb_member_text(standing->run->view.header, "time");
}

// Of one second the one with the greater name, so that the order of files means nothing.
static int newest_first(const void *left, const void *right)
{
    const struct standing *a = left, *b = right;
    int order = (int)a->gates_alone - (int)b->gates_alone;
    order = order ? order : strcmp(time_of(b), time_of(a));
    return order ? order : strcmp(b->run->run, a->run->run);
}

static int add_runs(struct board *board, const struct tb_store *store)
{
    board->standings = calloc(store->runs_count + 1, sizeof *board->standings);
    if (!board->standings)
        return -ENOMEM;
    for (size_t i = 0; i < store->runs_count; i++) {
        const struct tb_store_run *run = &store->runs[i];
        if (board->wanted->host && strcmp(board->wanted->host, run->host->name))
            continue;
        const char *why, *what = reason_of(run, &why);
        struct standing *standing = &board->standings[board->standings_count++];
        *standing = (struct standing){run, !what, what && strcmp(what, "invalid") == 0, rivals_of(run)};
        if (what)
            board->left_out = tb_json_appended(board->left_out,
                                               json_pack("{s:o, s:o, s:s, s:o}", "run", tb_json_clean(run->run), "host",
                                                         tb_json_clean(run->host->name), "what", what, "why", tb_json_clean(why)));
        if (!standing->rivals || !board->left_out)
            return -ENOMEM;
    }
    return 0;
}

static int add_cells(struct board *board)
{
    int rc = 0;
    qsort(board->standings, board->standings_count, sizeof *board->standings, newest_first);
    for (size_t i = 0; i < board->standings_count; i++) {
        const struct standing *standing = &board->standings[i];
        size_t count = standing->counts || standing->gates_alone ? tb_cells_count(&standing->run->view) : 0;
        for (size_t cell = 0; !rc && cell < count; cell++)
            rc = add_cell(board, standing, cell);
    }
    return rc;
}

// --- tables --------------------------------------------------------------------------------------------------------------------

// This program's workloads in their order, then all others.
static size_t workload_place(const char *brief)
{
    size_t i = 0;
    for (const struct tb_workload *workload; (workload = tb_workload_at(i)); i++)
        if (strncmp(brief, workload->name, strlen(workload->name)) == 0 && brief[strlen(workload->name)] == '/')
            break;
    return i;
}

static int greater(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

// Full touch is what counts, so it comes first.
static int by_host_and_cell(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(host_of(a), host_of(b));
    order = order ? order : greater(!strstr(a->brief, "/full"), !strstr(b->brief, "/full"));
    order = order ? order : greater(workload_place(a->brief), workload_place(b->brief));
    order = order ? order : strcmp(a->whole, b->whole);
    order = order ? order : greater(json_object_size(b->standing->rivals), json_object_size(a->standing->rivals));
    return order ? order : newest_first(a->standing, b->standing);
}

static json_t *ledger_json(const struct standing *standing)
{
    const struct tb_store_run *run = standing->run;
    char hash[TB_HASH_TEXT];
    tb_hash_text(&run->host->ledger.entries[run->closed - 1].head, hash);
    return json_pack("{s:o, s:I, s:s}", "path", tb_json_clean(run->host->path), "line", (json_int_t)run->closed, "hash", hash);
}

static json_t *table_json(const struct place *place, bool main)
{
    const struct tb_log_view *view = &place->standing->run->view;
    const json_t *cell = json_array_get(tb_member(view->header, "cells"), place->cell);
    bool figures = !place->standing->gates_alone;
    double workers = json_number_value(setting(view, place->cell, "workers"));
    const struct tb_json_member members[] = {
        {"host", tb_json_clean(host_of(place))},
        {"cell", tb_json_clean(place->whole)},
        {"workload", tb_json_clean(tb_member_text(cell, "workload"))},
        {"touch", tb_json_clean(strrchr(place->brief, '/') + 1)},
        {"dispatch", tb_json_clean(json_string_value(setting(view, place->cell, "dispatch")))},
        {"workers", tb_json_number(workers)},
        {"block_bytes", tb_json_number(json_number_value(setting(view, place->cell, "block_bytes")))},
        {"many_nodes", json_boolean(tb_many_nodes(view))},
        {"run", tb_json_clean(place->standing->run->run)},
        {"time", tb_json_clean(time_of(place->standing))},
        {"log", tb_json_clean(place->standing->run->path)},
        {"verdict", tb_json_clean(tb_member_text(view->summary, "verdict"))},
        {"why", tb_json_clean(tb_member_text(view->summary, "why"))},
        {"ledger", ledger_json(place->standing)},
        {"main", json_boolean(main)},
        {"figures", json_boolean(figures)},
        {"older", json_incref(place->older)},
    };
    json_t *table = TB_JSON_OBJECT(members);
    if (table && tb_scoreboard_cell(view, place->cell, figures, workers, table) == 0)
        return table;
    json_decref(table);
    return NULL;
}

static int warn(struct board *board, const struct tb_store *store)
{
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        char text[512];
        if (!host->ledger.broken_line)
            continue;
        snprintf(text, sizeof text, "%.200s:%zu: %.200s (see: locus verify)", host->path, host->ledger.broken_line,
                 host->ledger.broken);
        board->warnings = tb_json_appended(board->warnings, tb_json_clean(text));
    }
    return board->warnings ? 0 : -ENOMEM;
}

static json_t *answer_json(const json_t *standing)
{
    struct tb_words words = {0};
    const json_t *group;
    size_t i;
    json_array_foreach (standing, i, group)
        tb_say(&words, "%s%s", i > 0 ? " " : "", tb_member_text(group, "sentence"));
    return json_string(words.used > 0 ? words.text : TB_SCOREBOARD_NOTHING);
}

// The first table of a cell is the one with the most rivals.
static json_t *board_json(const struct board *board)
{
    json_t *tables = json_array();
    for (size_t i = 0; i < board->places_count && tables; i++) {
        const struct place *place = &board->places[i];
        tables = tb_json_appended(tables, table_json(place, i == 0 || !same_cell(place - 1, place)));
    }
    json_t *standing = tables ? tb_scoreboard_standing(tables) : NULL;
    json_t *missing = tables ? tb_scoreboard_missing(tables, board->wanted->cell) : NULL;
    const struct tb_json_member members[] = {
        {"confidence", json_real(TB_CONFIDENCE)},
        {"method", json_string("Hodges-Lehmann on logarithms of paired rounds, signed-rank interval")},
        {"standing", standing},
        {"tables", tables},
        {"left_out", json_incref(board->left_out)},
        {"older", json_integer((json_int_t)board->older_count)},
        {"not_measured", missing},
        {"warnings", json_incref(board->warnings)},
        {"answer", answer_json(standing)},
    };
    return TB_JSON_OBJECT(members);
}

int tb_scoreboard(const struct tb_store *store, const struct tb_scoreboard_wanted *wanted, json_t **out)
{
    struct board board = {.wanted = wanted, .left_out = json_array(), .warnings = json_array()};
    int rc = warn(&board, store);
    if (!rc)
        rc = add_runs(&board, store);
    if (!rc)
        rc = add_cells(&board);
    if (board.places_count > 0)
        qsort(board.places, board.places_count, sizeof *board.places, by_host_and_cell);
    *out = rc ? NULL : board_json(&board);
    for (size_t i = 0; i < board.places_count; i++)
        json_decref(board.places[i].older);
    for (size_t i = 0; i < board.standings_count; i++)
        json_decref(board.standings[i].rivals);
    free(board.places);
    free(board.standings);
    json_decref(board.left_out);
    json_decref(board.warnings);
    return rc ? rc : *out ? 0 : -ENOMEM;
}
