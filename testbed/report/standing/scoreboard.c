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
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/loaded.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/postulate.h"
#include "testbed/workload/workload.h"

// A run that has figures, or gates alone: then it does not count, and they are still worth a look.
struct source {
    const struct tb_store_run *run;
    bool gates_alone;
    struct tb_loaded *loaded;
    json_t *rivals;             // an object with a member for each
};

// A cell of a run, and the runs that it stands for.
struct entry {
    const struct source *source;
    size_t cell;
    char brief[128], whole[192];
    json_t *older;              // runs whose place it took
};

struct board {
    const struct tb_scoreboard_wanted *wanted;
    struct source *sources;
    struct entry *entries;
    size_t sources_count, entries_count, older_count;
    json_t *left_out;
};

// --- which runs count ----------------------------------------------------------------------------------------------------------

// Why a run gives no figure, in a word, and more in *why. NULL: it counts.
static const char *reason_of(const struct tb_store_run *run, const char **why)
{
    const struct tb_log_view *view = &run->view;
    const char *verdict = tb_member_text(view->summary, "verdict"), *kind = tb_member_text(view->header, "kind");
    *why = run->why;
    if (run->state != TB_RUN_WHOLE && run->state != TB_RUN_UNCLOSED && run->state != TB_RUN_UNKNOWN)
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
    json_array_foreach (tb_member(run->view.header, "arms"), i, arm)
        if (tb_scoreboard_rival(tb_member_text(arm, "name"), bare))
            json_object_set_new(rivals, bare, json_true());
    return rivals;
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

static const struct tb_cell *cell_of(const struct entry *entry)
{
    return &entry->source->loaded->rounds.cells[entry->cell];
}

static uint32_t workers_of(const struct entry *entry)
{
    return cell_of(entry)->workers ? cell_of(entry)->workers : entry->source->loaded->rounds.workers;
}

static uint64_t bytes_of(const struct entry *entry)
{
    return tb_rounds_block_bytes(&entry->source->loaded->rounds, (uint32_t)entry->cell);
}

static void name_cell(struct entry *entry)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    const struct tb_cell *cell = cell_of(entry);
    uint64_t bytes = bytes_of(entry);
    size_t unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    snprintf(entry->brief, sizeof entry->brief, "%.90s/%s", cell->workload, tb_touch_name(cell->touch));
    snprintf(entry->whole, sizeof entry->whole, "%s/%s/%" PRIu32 "w/%" PRIu64 "%s%s", entry->brief,
             tb_dispatch_name(cell->dispatch), workers_of(entry), bytes, units[unit],
             entry->source->loaded->rounds.many_nodes ? "/nodes" : "");
}

// Is a cell meant by the glob (or NULL)? In its short form or the long one.
static bool is_meant(const char *glob, const char *brief, const char *whole)
{
    return !glob || fnmatch(glob, brief, 0) == 0 || (whole && fnmatch(glob, whole, 0) == 0);
}

static const char *host_of(const struct entry *entry)
{
    return entry->source->run->host->name;
}

static bool same_cell(const struct entry *a, const struct entry *b)
{
    return strcmp(a->whole, b->whole) == 0 && strcmp(host_of(a), host_of(b)) == 0;
}

// Does the newer run say all that the older one says: has it each of its rivals?
static bool supersedes(const struct entry *newer, const struct entry *older)
{
    const char *bare;
    json_t *value;
    if (!same_cell(newer, older))
        return false;
    json_object_foreach (older->source->rivals, bare, value)
        if (!json_object_get(newer->source->rivals, bare) && !older->source->gates_alone)
            return false;
    return true;
}

// Runs come newest first, those of gates alone after all others. entries has room for it.
static void add_cell(struct board *board, const struct source *source, size_t cell)
{
    struct entry *entry = &board->entries[board->entries_count];
    *entry = (struct entry){.source = source, .cell = cell};
    name_cell(entry);
    if (!is_meant(board->wanted->cell, entry->brief, entry->whole))
        return;
    for (struct entry *newer = board->entries; newer < entry; newer++)
        if (supersedes(newer, entry)) {
            board->older_count += !source->gates_alone;
            if (!source->gates_alone)
                newer->older = tb_json_appended(newer->older, tb_json_clean(source->run->run));
            return;
        }
    entry->older = json_array();
    board->entries_count++;
}

static const char *time_of(const struct source *source)
{
    return tb_member_text(source->run->view.header, "time");
}

// Of one second the one with the greater name, so that the order of files means nothing.
static int newest_first(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    int order = (int)a->gates_alone - (int)b->gates_alone;
    order = order ? order : strcmp(time_of(b), time_of(a));
    return order ? order : strcmp(b->run->run, a->run->run);
}

static struct tb_loaded *load(const struct tb_store_run *run)
{
    struct tb_loaded *loaded = malloc(sizeof *loaded);
    char why[512];
    if (loaded && tb_loaded(&run->view, loaded, why, sizeof why) == 0)
        return loaded;
    free(loaded);
    return NULL;
}

static int add_runs(struct board *board, const struct tb_store *store)
{
    size_t cells = 0;
    board->sources = calloc(store->runs_count + 1, sizeof *board->sources);
    for (size_t i = 0; board->sources && i < store->runs_count; i++) {
        const struct tb_store_run *run = &store->runs[i];
        if (board->wanted->host && strcmp(board->wanted->host, run->host->name))
            continue;
        const char *why, *what = reason_of(run, &why);
        bool gates_alone = what && strcmp(what, "invalid") == 0;
        struct tb_loaded *loaded = !what || gates_alone ? load(run) : NULL;
        if (loaded) {
            board->sources[board->sources_count++] = (struct source){run, gates_alone, loaded, rivals_of(run)};
            cells += loaded->rounds.cells_count;
        } else if (!what) {
            what = "more contenders than this program knows";
        }
        if (what)
            board->left_out = tb_json_appended(board->left_out,
                                               json_pack("{s:o, s:o, s:s, s:o}", "run", tb_json_clean(run->run), "host",
                                                         tb_json_clean(run->host->name), "what", what, "why", tb_json_clean(why)));
    }
    board->entries = calloc(cells + 1, sizeof *board->entries);
    return board->sources && board->entries ? 0 : -ENOMEM;
}

static void add_cells(struct board *board)
{
    qsort(board->sources, board->sources_count, sizeof *board->sources, newest_first);
    for (size_t i = 0; i < board->sources_count; i++)
        for (size_t cell = 0; cell < board->sources[i].loaded->rounds.cells_count; cell++)
            if (!tb_touch_serves(board->sources[i].loaded->rounds.cells[cell].touch))
                add_cell(board, &board->sources[i], cell);
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
    const struct entry *a = left, *b = right;
    int order = strcmp(host_of(a), host_of(b));
    order = order ? order : greater(!strstr(a->brief, "/full"), !strstr(b->brief, "/full"));
    order = order ? order : greater(workload_place(a->brief), workload_place(b->brief));
    order = order ? order : strcmp(a->whole, b->whole);
    order = order ? order : greater(json_object_size(b->source->rivals), json_object_size(a->source->rivals));
    return order ? order : newest_first(a->source, b->source);
}

// The first table of a cell is the one with the most rivals: its main one.
static json_t *table_json(const struct entry *entry, bool main)
{
    const struct tb_store_run *run = entry->source->run;
    const struct tb_log_view *view = &run->view;
    const struct tb_rounds *rounds = &entry->source->loaded->rounds;
    const struct tb_cell *cell = cell_of(entry);
    bool figures = !entry->source->gates_alone;
    char hash[TB_HASH_TEXT];
    tb_hash_text(&run->host->ledger.entries[run->closed - 1].head, hash);
    const struct tb_json_member members[] = {
        {"host", tb_json_clean(host_of(entry))},
        {"cell", tb_json_clean(entry->whole)},
        {"workload", tb_json_clean(cell->workload)},
        {"touch", json_string(tb_touch_name(cell->touch))},
        {"dispatch", json_string(tb_dispatch_name(cell->dispatch))},
        {"workers", tb_json_whole(workers_of(entry))},
        {"block_bytes", tb_json_whole(bytes_of(entry))},
        {"many_nodes", json_boolean(rounds->many_nodes)},
        {"run", tb_json_clean(run->run)},
        {"time", tb_json_clean(time_of(entry->source))},
        {"log", tb_json_clean(run->path)},
        {"verdict", tb_json_clean(tb_member_text(view->summary, "verdict"))},
        {"why", tb_json_clean(tb_member_text(view->summary, "why"))},
        {"ledger",
         json_pack("{s:o, s:I, s:s}", "path", tb_json_clean(run->host->path), "line", (json_int_t)run->closed, "hash", hash)},
        {"main", json_boolean(main)},
        {"figures", json_boolean(figures)},
        {"older", json_incref(entry->older)},
    };
    json_t *table = TB_JSON_OBJECT(members);
    if (table && tb_scoreboard_cell(rounds, view, entry->cell, figures, table) == 0)
        return table;
    json_decref(table);
    return NULL;
}

static json_t *tables_json(const struct board *board)
{
    json_t *tables = json_array();
    if (board->entries_count > 0)
        qsort(board->entries, board->entries_count, sizeof *board->entries, by_host_and_cell);
    for (size_t i = 0; i < board->entries_count; i++) {
        const struct entry *entry = &board->entries[i];
        tables = tb_json_appended(tables, table_json(entry, i == 0 || !same_cell(entry - 1, entry)));
    }
    return tables;
}

// --- the standing ----------------------------------------------------------------------------------------------------------------
//
// On each host at each touch, how many times as fast as mimalloc every rival is: a geometric mean, as twice and half as fast are to
// cancel. A contender's is over the cells that it shares with mimalloc, and contenders were not all measured on the same ones: so
// beside each mean stands that of locus on just these cells. Intervals of several cells cannot be combined, as the cells are no
// sample of anything: a mean has none.

const json_t *tb_scoreboard_find(const json_t *contenders, const char *name)
{
    const json_t *row;
    size_t i;
    json_array_foreach (contenders, i, row)
        if (strcmp(tb_member_text(row, "name"), name) == 0)
            return row;
    return NULL;
}

// Is it a main table of the same host at the same touch?
static bool belongs(const json_t *table, const json_t *like)
{
    return json_is_true(tb_member(table, "main")) && json_is_true(tb_member(table, "figures")) &&
           json_equal(tb_member(table, "host"), tb_member(like, "host")) &&
           json_equal(tb_member(table, "touch"), tb_member(like, "touch"));
}

// One contender, over all tables that belong to `like`. Rows with a place come first, so that a twin is not taken for it.
static json_t *sum_up(const json_t *tables, const json_t *like, const char *name)
{
    double logs = 0, locus_logs = 0, least = INFINITY, most = -INFINITY;
    json_int_t cells = 0, ranked = 0, first = 0, shared = 0;
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table) {
        const json_t *contenders = tb_member(table, "contenders"), *row = tb_scoreboard_find(contenders, name);
        double rank = tb_member_number(row, "rank"), times = tb_member_number(row, "times_faster.estimate");
        if (!belongs(table, like) || isnan(rank))
            continue;
        ranked++;
        first += rank == 1;
        shared += rank == 1 && json_is_true(tb_member(row, "shared"));
        if (strcmp(tb_member_text(table, "baseline"), TB_SCOREBOARD_BASELINE))
            continue;
        cells++;
        logs += log(times);
        locus_logs += log(tb_member_number(tb_scoreboard_find(contenders, TB_SCOREBOARD_FOCUS), "times_faster.estimate"));
        least = fmin(least, times);
        most = fmax(most, times);
    }
    const struct tb_json_member members[] = {
        {"name", json_string(name)},
        {"cells", json_integer(cells)},
        {"mean_times_faster", tb_json_number(exp(logs / (double)cells))}, // null: no cell
        {"least", tb_json_number(least)},
        {"most", tb_json_number(most)},
        {"locus_mean", tb_json_number(exp(locus_logs / (double)cells))},
        {"ranked", json_integer(ranked)},
        {"first", json_integer(first)},
        {"shared", json_integer(shared)},
    };
    return TB_JSON_OBJECT(members);
}

static double mean_of(const json_t *contender)
{
    double mean = tb_member_number(contender, "mean_times_faster");
    return isnan(mean) ? 0 : mean;
}

// By their means. 0, or -1: out of memory.
static int insert(json_t *contenders, json_t *contender)
{
    size_t at = 0;
    while (at < json_array_size(contenders) && mean_of(json_array_get(contenders, at)) >= mean_of(contender))
        at++;
    return json_array_insert_new(contenders, at, contender);
}

// "On bm1 locus is 1.53 times as fast as mimalloc, unbeaten on 23 of 36 cells."
static void say_sentence(struct tb_words *words, const json_t *like, const json_t *contenders)
{
    const json_t *locus = tb_scoreboard_find(contenders, TB_SCOREBOARD_FOCUS);
    const char *touch = tb_member_text(like, "touch");
    char number[16];
    tb_say(words, "On %s", tb_member_text(like, "host"));
    if (strcmp(touch, "full"))
        tb_say(words, ", %s,", strcmp(touch, "none") == 0 ? "untouched" : strcmp(touch, "byte") == 0 ? "one byte touched" : touch);
    tb_say(words, " " TB_SCOREBOARD_FOCUS);
    if (mean_of(locus) > 0)
        tb_say(words, " is %s times as fast as " TB_SCOREBOARD_BASELINE ", unbeaten on %.0f of %.0f cells.",
               tb_text_number(number, mean_of(locus)), tb_member_number(locus, "first"), tb_member_number(locus, "ranked"));
    else
        tb_say(words, " was not measured beside " TB_SCOREBOARD_BASELINE ".");
}

static json_t *group_json(const json_t *tables, const json_t *like)
{
    struct tb_words sentence = {0};
    json_t *contenders = json_array();
    json_int_t cells = 0;
    const json_t *table, *row;
    size_t t, r;
    int failed = 0;
    json_array_foreach (tables, t, table) {
        if (!belongs(table, like))
            continue;
        cells++;
        json_array_foreach (tb_member(table, "contenders"), r, row) {
            const char *name = tb_member_text(row, "name");
            if (json_is_number(tb_member(row, "rank")) && !tb_scoreboard_find(contenders, name))
                failed |= insert(contenders, sum_up(tables, like, name));
        }
    }
    say_sentence(&sentence, like, contenders);
    json_t *group = json_pack("{s:O, s:O, s:I, s:s, s:o}", "host", tb_member(like, "host"), "touch", tb_member(like, "touch"),
                              "cells", cells, "sentence", sentence.text, "contenders", contenders);
    if (!failed)
        return group;
    json_decref(group);
    return NULL;
}

static json_t *standing_json(const json_t *tables)
{
    json_t *out = json_array();
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table) {
        size_t before = 0;
        while (before < i && !belongs(json_array_get(tables, before), table))
            before++;
        if (before == i && belongs(table, table))
            out = tb_json_appended(out, group_json(tables, table));
    }
    return out;
}

// --- what is missing -------------------------------------------------------------------------------------------------------------

// "NAME", "NAME%50" and "NAME+4w" are NAME, "malloc:LIBRARY" is malloc; "NAME@delay:5" is a fault of it.
static bool is_of(const char *arm, const char *name)
{
    size_t length = strlen(name);
    return strncmp(arm, name, length) == 0 && strchr("%+#:", arm[length]);
}

// Has it this cell, counted in laps that take long enough, or else this contender?
static bool postulate_has(const struct tb_postulate *postulate, const char *cell, const char *contender)
{
    bool has = false;
    for (uint32_t i = 0; cell && i < postulate->cells_count && postulate->laps_counted == 0; i++)
        has |= strncmp(postulate->cells[i], cell, strlen(cell)) == 0 && strchr("/", postulate->cells[i][strlen(cell)]);
    for (uint32_t i = 0; contender && i < postulate->arms_count; i++)
        has |= is_of(postulate->arms[i].name, contender);
    return has;
}

// The first postulate by number that has it is to be run; where there is none, `otherwise`, which needs none.
static json_t *entry_json(const struct tb_postulates *all, const char *cell, const char *contender, const char *otherwise)
{
    char command[160];
    snprintf(command, sizeof command, "%s", otherwise);
    for (size_t i = all->count; i-- > 0;)
        if (all->files[i].postulate && postulate_has(all->files[i].postulate, cell, contender))
            snprintf(command, sizeof command, "locus run %s --official", all->files[i].postulate->id);
    return json_pack("{s:s, s:s}", cell ? "cell" : "name", cell ? cell : contender, "command", command);
}

static bool has_table(const json_t *tables, const char *workload, const char *touch)
{
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table)
        if (json_is_true(tb_member(table, "figures")) && strcmp(tb_member_text(table, "workload"), workload) == 0 &&
            strcmp(tb_member_text(table, "touch"), touch) == 0)
            return true;
    return false;
}

static bool has_figure(const json_t *tables, const char *name)
{
    const json_t *table, *row;
    size_t i, r;
    json_array_foreach (tables, i, table)
        json_array_foreach (tb_member(table, "contenders"), r, row)
            if (is_of(tb_member_text(row, "name"), name) && json_is_number(tb_member(row, "median_ns")))
                return true;
    return false;
}

// What this program has and the record has no figure of: who adds a contender or a workload finds its name here at once. Each
// workload at the touches that it is ranked at.
static json_t *missing_json(const json_t *tables, const char *glob)
{
    static const char *const touches[][2] = {{"full", ""}, {"byte", " --touch byte"}};
    const struct tb_workload *workload;
    struct tb_postulates all = {0};
    json_t *cells = json_array(), *contenders = json_array();
    char cell[128], command[160];
    tb_postulates_load(&all);
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; (workload = tb_workload_at(i)); i++) {
            snprintf(cell, sizeof cell, "%s/%s", workload->name, touches[t][0]);
            snprintf(command, sizeof command, "locus eval -W %s%s", workload->name, touches[t][1]);
            if (is_meant(glob, cell, NULL) && !has_table(tables, workload->name, touches[t][0]))
                cells = tb_json_appended(cells, entry_json(&all, cell, NULL, command));
        }
    for (const struct tb_contender *const *c = __start_tb_contenders; c < __stop_tb_contenders; c++) {
        const char *name = (*c)->name;
        strcpy(command, "locus postulate new (it is for many nodes, and no postulate has it)");
        if ((*c)->driver)
            snprintf(command, sizeof command, "locus eval -c locus,mimalloc,%s%s", name, strcmp(name, "malloc") ? "" : ":LIBRARY");
        if (!has_figure(tables, name))
            contenders = tb_json_appended(contenders, entry_json(&all, NULL, name, command));
    }
    tb_postulates_close(&all);
    return json_pack("{s:o, s:o}", "cells", cells, "contenders", contenders);
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

static json_t *warnings_json(const struct tb_store *store)
{
    json_t *warnings = json_array();
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        char text[512];
        snprintf(text, sizeof text, "%.200s:%zu: %.200s (see: locus verify)", host->path, host->ledger.broken_line,
                 host->ledger.broken);
        if (host->ledger.broken_line)
            warnings = tb_json_appended(warnings, tb_json_clean(text));
    }
    return warnings;
}

static json_t *answer_json(const json_t *standing)
{
    struct tb_words answer = {0};
    const json_t *group;
    size_t i;
    json_array_foreach (standing, i, group)
        tb_say(&answer, "%s%s", i > 0 ? " " : "", tb_member_text(group, "sentence"));
    return json_string(i > 0 ? answer.text : TB_SCOREBOARD_NOTHING);
}

static json_t *board_json(struct board *board, const struct tb_store *store)
{
    json_t *tables = tables_json(board), *standing = standing_json(tables);
    const struct tb_json_member members[] = {
        {"confidence", json_real(TB_CONFIDENCE)},
        {"method", json_string("Hodges-Lehmann on logarithms of paired rounds, signed-rank interval")},
        {"standing", standing},
        {"tables", tables},
        {"left_out", json_incref(board->left_out)},
        {"older", json_integer((json_int_t)board->older_count)},
        {"not_measured", missing_json(tables, board->wanted->cell)},
        {"warnings", warnings_json(store)},
        {"answer", answer_json(standing)},
    };
    return TB_JSON_OBJECT(members);
}

int tb_scoreboard(const struct tb_store *store, const struct tb_scoreboard_wanted *wanted, json_t **out)
{
    struct board board = {.wanted = wanted, .left_out = json_array()};
    int rc = add_runs(&board, store);
    if (!rc)
        add_cells(&board);
    *out = rc ? NULL : board_json(&board, store);
    for (size_t i = 0; i < board.entries_count; i++)
        json_decref(board.entries[i].older);
    for (size_t i = 0; i < board.sources_count; i++) {
        json_decref(board.sources[i].rivals);
        tb_loaded_close(board.sources[i].loaded);
        free(board.sources[i].loaded);
    }
    free(board.entries);
    free(board.sources);
    json_decref(board.left_out);
    return *out ? 0 : -ENOMEM;
}
