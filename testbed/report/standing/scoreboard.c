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
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/arm_figures.h"
#include "testbed/report/board/board.h"
#include "testbed/workload/workload.h"

// What a run is to the board.
struct standing {
    const struct tb_store_run *run;
    const char *what;           // why it is left out; NULL: it counts
    char why[256];
    bool gates_alone;           // left out, and its gates are still worth a look
};

// A cell of a run, and the runs that it stands for.
struct place {
    struct standing standing;
    size_t cell;
    char brief[128], whole[192];
    json_t *older;              // runs whose place it took
};

struct board {
    const struct tb_scoreboard_wanted *wanted;
    struct place *places;
    size_t places_count, older_count;
    json_t *left_out, *warnings;
};

// --- which runs count ----------------------------------------------------------------------------------------------------------

static void leave_out(struct standing *standing, const char *what, const char *why)
{
    standing->what = what;
    snprintf(standing->why, sizeof standing->why, "%s", why);
}

// A whole log's, by its header and summary.
static void judge_whole(struct standing *standing)
{
    const struct tb_log_view *view = &standing->run->view;
    const char *verdict = tb_member_text(view->summary, "verdict"), *why = tb_member_text(view->summary, "why");
    const char *kind = tb_member_text(view->header, "kind"), *guest = tb_log_emulated(view);
    if (strcmp(kind, "official"))
        leave_out(standing, strcmp(kind, "smoke") ? "trial" : "smoke", "nobody had to say beforehand what it would show");
    else if (standing->run->state != TB_RUN_WHOLE)
        leave_out(standing, tb_run_verdict(standing->run), standing->run->why);
    else if (guest)
        leave_out(standing, "emulated", guest);
    else if (view->samples_count == 0)
        leave_out(standing, "unmeasurable", *why ? why : "it has no sample");
    else if (strcmp(verdict, "inconclusive (noise)") == 0)
        leave_out(standing, "noise", why);
    else if (strcmp(verdict, "invalid") == 0)
        leave_out(standing, "invalid", why);
    else if (!*verdict)
        leave_out(standing, "no verdict", "its log has no summary");
    standing->gates_alone = standing->what && strcmp(standing->what, "invalid") == 0;
}

static struct standing standing_of(const struct tb_store_run *run)
{
    struct standing standing = {.run = run};
    if (run->state == TB_RUN_WHOLE || run->state == TB_RUN_UNCLOSED)
        judge_whole(&standing);
    else
        leave_out(&standing, run->state == TB_RUN_CRASHED ? "unsealed" : tb_run_verdict(run), run->why);
    return standing;
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

// A cell's own setting, or the design's.
static const json_t *setting(const struct tb_log_view *view, size_t cell, const char *key)
{
    const json_t *own = tb_member(json_array_get(tb_member(view->header, "cells"), cell), key);
    return own && !json_is_null(own) ? own : tb_member(tb_member(view->header, "design"), key);
}

static double setting_number(const struct tb_log_view *view, size_t cell, const char *key)
{
    const json_t *value = setting(view, cell, key);
    return json_is_number(value) ? json_number_value(value) : 0;
}

static const char *setting_text(const struct tb_log_view *view, size_t cell, const char *key)
{
    const char *value = json_string_value(setting(view, cell, key));
    return value ? value : "";
}

static void name_cell(const struct tb_log_view *view, size_t cell, struct place *place)
{
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell);
    char bytes[32], touch[32];
    snprintf(touch, sizeof touch, "%.*s", (int)strcspn(tb_member_text(object, "touch"), "/"), tb_member_text(object, "touch"));
    snprintf(place->brief, sizeof place->brief, "%.90s/%s", tb_member_text(object, "workload"), touch);
    snprintf(place->whole, sizeof place->whole, "%s/%.15s/%.0fw/%s%s", place->brief, setting_text(view, cell, "dispatch"),
             setting_number(view, cell, "workers"),
             tb_scoreboard_bytes(setting_number(view, cell, "block_bytes"), "", bytes, sizeof bytes),
             tb_many_nodes(view) ? "/nodes" : "");
}

bool tb_scoreboard_meant(const char *glob, const char *brief, const char *whole)
{
    return !glob || fnmatch(glob, brief, 0) == 0 || (whole && fnmatch(glob, whole, 0) == 0);
}

static const char *time_of(const struct standing *standing)
{
    return tb_member_text(standing->run->view.header, "time");
}

static size_t rivals_count(const struct standing *standing)
{
    const json_t *arm;
    size_t i, count = 0;
    char bare[96];
    json_array_foreach (tb_member(standing->run->view.header, "arms"), i, arm)
        count += tb_scoreboard_rival(tb_member_text(arm, "name"), bare);
    return count;
}

static bool has_rival(const struct standing *standing, const char *bare)
{
    const json_t *arm;
    size_t i;
    char other[96];
    json_array_foreach (tb_member(standing->run->view.header, "arms"), i, arm)
        if (tb_scoreboard_rival(tb_member_text(arm, "name"), other) && strcmp(bare, other) == 0)
            return true;
    return false;
}

// Does the newer run say all that the older one says: has it each of its rivals?
static bool supersedes(const struct standing *newer, const struct standing *older)
{
    const json_t *arm;
    size_t i;
    char bare[96];
    json_array_foreach (tb_member(older->run->view.header, "arms"), i, arm)
        if (tb_scoreboard_rival(tb_member_text(arm, "name"), bare) && !has_rival(newer, bare))
            return false;
    return true;
}

static struct place *find_superseding(const struct board *board, const struct place *like)
{
    for (size_t i = 0; i < board->places_count; i++) {
        struct place *place = &board->places[i];
        if (strcmp(place->whole, like->whole) == 0 &&
            strcmp(place->standing.run->host->name, like->standing.run->host->name) == 0 &&
            (like->standing.gates_alone || supersedes(&place->standing, &like->standing)))
            return place;
    }
    return NULL;
}

// Runs come newest first, those of gates alone behind all others.
static int add_cell(struct board *board, const struct standing *standing, size_t cell)
{
    struct place place = {.standing = *standing, .cell = cell};
    name_cell(&standing->run->view, cell, &place);
    if (!tb_scoreboard_meant(board->wanted->cell, place.brief, place.whole))
        return 0;
    struct place *newer = find_superseding(board, &place);
    if (newer && standing->gates_alone)
        return 0;
    board->older_count += newer != NULL;
    if (newer)
        return json_array_append_new(newer->older, tb_json_clean(standing->run->run)) ? -ENOMEM : 0;
    struct place *grown = realloc(board->places, (board->places_count + 1) * sizeof *grown);
    if (grown)
        board->places = grown;
    place.older = grown ? json_array() : NULL;
    if (!place.older)
        return -ENOMEM;
    board->places[board->places_count++] = place;
    return 0;
}

static int add_run(struct board *board, const struct standing *standing)
{
    int rc = 0;
    if (standing->what)
        board->left_out =
            tb_json_appended(board->left_out, json_pack("{s:o, s:o, s:s, s:o}", "run", tb_json_clean(standing->run->run), "host",
                                                        tb_json_clean(standing->run->host->name), "what", standing->what, "why",
                                                        tb_json_clean(standing->why)));
    if (!board->left_out)
        return -ENOMEM;
    if (standing->what && !standing->gates_alone)
        return 0;
    for (size_t cell = 0; !rc && cell < tb_cells_count(&standing->run->view); cell++)
        rc = add_cell(board, standing, cell);
    return rc;
}

// Of one second the one with the greater name, so that the order of files means nothing.
static int newest_first(const void *left, const void *right)
{
    const struct standing *a = left, *b = right;
    int order = (int)a->gates_alone - (int)b->gates_alone;
    order = order ? order : strcmp(time_of(b), time_of(a));
    return order ? order : strcmp(b->run->run, a->run->run);
}

static int add_all(struct board *board, const struct tb_store *store)
{
    size_t count = 0;
    int rc = 0;
    struct standing *standings = calloc(store->runs_count + 1, sizeof *standings);
    if (!standings)
        return -ENOMEM;
    for (size_t i = 0; i < store->runs_count; i++)
        if (!board->wanted->host || strcmp(board->wanted->host, store->runs[i].host->name) == 0)
            standings[count++] = standing_of(&store->runs[i]);
    qsort(standings, count, sizeof *standings, newest_first);
    for (size_t i = 0; i < count && !rc; i++)
        rc = add_run(board, &standings[i]);
    free(standings);
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

// Full touch is what counts, so it comes first.
static int by_host_and_cell(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    size_t workload[2] = {workload_place(a->brief), workload_place(b->brief)};
    int order = strcmp(a->standing.run->host->name, b->standing.run->host->name);
    const char *full[2] = {strstr(a->brief, "/full"), strstr(b->brief, "/full")};
    if (!order && !full[0] != !full[1])
        order = full[0] ? -1 : 1;
    if (!order && workload[0] != workload[1])
        order = workload[0] < workload[1] ? -1 : 1;
    if (!order)
        order = strcmp(a->whole, b->whole);
    size_t rivals[2] = {rivals_count(&a->standing), rivals_count(&b->standing)};
    if (!order && rivals[0] != rivals[1])
        order = rivals[0] > rivals[1] ? -1 : 1;
    return order ? order : newest_first(&a->standing, &b->standing);
}

// The first of a cell is the one with the most rivals.
static bool is_main(const struct board *board, size_t i)
{
    const struct place *place = &board->places[i], *before = i > 0 ? place - 1 : NULL;
    return !before || strcmp(before->whole, place->whole) ||
           strcmp(before->standing.run->host->name, place->standing.run->host->name);
}

static json_t *ledger_json(const struct standing *standing)
{
    const struct tb_store_run *run = standing->run;
    char hash[TB_HASH_TEXT];
    tb_hash_text(&run->host->ledger.entries[run->closed - 1].head, hash);
    return json_pack("{s:o, s:I, s:s}", "path", tb_json_clean(run->host->path), "line", (json_int_t)run->closed, "hash", hash);
}

static json_t *table_json(const struct board *board, size_t i)
{
    const struct place *place = &board->places[i];
    const struct tb_log_view *view = &place->standing.run->view;
    const json_t *cell = json_array_get(tb_member(view->header, "cells"), place->cell);
    const struct tb_json_member members[] = {
        {"host", tb_json_clean(place->standing.run->host->name)},
        {"cell", tb_json_clean(place->whole)},
        {"workload", tb_json_clean(tb_member_text(cell, "workload"))},
        {"touch", tb_json_clean(strrchr(place->brief, '/') + 1)},
        {"dispatch", tb_json_clean(setting_text(view, place->cell, "dispatch"))},
        {"workers", tb_json_number(setting_number(view, place->cell, "workers"))},
        {"block_bytes", tb_json_number(setting_number(view, place->cell, "block_bytes"))},
        {"many_nodes", json_boolean(tb_many_nodes(view))},
        {"run", tb_json_clean(place->standing.run->run)},
        {"time", tb_json_clean(time_of(&place->standing))},
        {"log", tb_json_clean(place->standing.run->path)},
        {"verdict", tb_json_clean(tb_member_text(view->summary, "verdict"))},
        {"why", tb_json_clean(tb_member_text(view->summary, "why"))},
        {"ledger", ledger_json(&place->standing)},
        {"main", json_boolean(is_main(board, i))},
        {"figures", json_boolean(!place->standing.gates_alone)},
        {"older", json_incref(place->older)},
    };
    json_t *table = TB_JSON_OBJECT(members);
    int rc = table ? tb_scoreboard_cell(view, place->cell, !place->standing.gates_alone,
                                        setting_number(view, place->cell, "workers"), table)
                   : -ENOMEM;
    if (rc < 0) {
        json_decref(table);
        table = NULL;
    }
    return table;
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

static int by_run(const void *left, const void *right)
{
    const json_t *const *a = left, *const *b = right;
    return strcmp(tb_member_text(*a, "run"), tb_member_text(*b, "run"));
}

// They were looked at newest first, and are shown by experiment.
static json_t *left_out_sorted(const struct board *board)
{
    size_t count = json_array_size(board->left_out);
    json_t **runs = calloc(count + 1, sizeof(*runs)), *out = runs ? json_array() : NULL;
    for (size_t i = 0; i < count && out; i++)
        runs[i] = json_array_get(board->left_out, i);
    if (out)
        qsort(runs, count, sizeof(*runs), by_run);
    for (size_t i = 0; i < count && out; i++)
        out = tb_json_appended(out, json_incref(runs[i]));
    free(runs);
    return out;
}

static json_t *board_json(const struct board *board)
{
    json_t *tables = json_array();
    for (size_t i = 0; i < board->places_count && tables; i++)
        tables = tb_json_appended(tables, table_json(board, i));
    json_t *missing = tables ? tb_scoreboard_missing(tables, board->wanted->cell) : NULL;
    json_t *answer = missing ? tb_scoreboard_answer(tables, missing, board->left_out) : NULL;
    const struct tb_json_member members[] = {
        {"confidence", json_real(TB_CONFIDENCE)},
        {"method", json_string("Hodges-Lehmann on logarithms of paired rounds, signed-rank interval")},
        {"tables", tables},
        {"left_out", left_out_sorted(board)},
        {"older", json_integer((json_int_t)board->older_count)},
        {"not_measured", missing},
        {"warnings", json_incref(board->warnings)},
        {"answer", answer},
    };
    return TB_JSON_OBJECT(members);
}

int tb_scoreboard(const struct tb_store *store, const struct tb_scoreboard_wanted *wanted, json_t **out)
{
    struct board board = {.wanted = wanted, .left_out = json_array(), .warnings = json_array()};
    int rc = warn(&board, store);
    if (!rc)
        rc = add_all(&board, store);
    if (board.places_count > 0)
        qsort(board.places, board.places_count, sizeof *board.places, by_host_and_cell);
    *out = rc ? NULL : board_json(&board);
    for (size_t i = 0; i < board.places_count; i++)
        json_decref(board.places[i].older);
    free(board.places);
    json_decref(board.left_out);
    json_decref(board.warnings);
    return rc ? rc : *out ? 0 : -ENOMEM;
}
