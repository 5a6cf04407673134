// SPDX-License-Identifier: Apache-2.0
//
// page: the index, what people open first. The finding stands at its top, in a sentence and with the machine; what was falsified is
// named, postulate by postulate; and every run that the ledgers know of is counted, those without a verdict too.
#include "testbed/report/page/page.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/hosts/fleet.h"
#include "testbed/report/standing/scoreboard.h"

const char *tb_page_name(const char *run, char out[80])
{
    size_t i = 0;
    for (; run[i] && i < 79; i++)
        out[i] = isalnum((unsigned char)run[i]) || run[i] == '-' || run[i] == '_' ? run[i] : '_';
    out[i] = '\0';
    return out;
}

const char *tb_page_of(const struct tb_store_run *run, char out[80])
{
    const char *file = strrchr(run->path, '/');
    char name[80];
    snprintf(name, sizeof name, "%.4s-%.70s", run->run, file ? file + 1 : run->path);
    name[strcspn(name, ".")] = '\0';
    return tb_page_name(name, out);
}

static const char *run_link(const struct tb_page *page, const struct tb_store_run *run, char out[256])
{
    char name[80];
    snprintf(out, 256, "%s/%s.html", page->folder, tb_page_of(run, name));
    return out;
}

// --- the answer ----------------------------------------------------------------------------------------------------------------

static size_t count_runs(const struct tb_store *store, const char *verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < store->runs_count; i++)
        count += strcmp(tb_run_verdict(&store->runs[i]), verdict) == 0;
    return count;
}

// A smoke run was too short to say anything.
static bool speaks(const struct tb_store_run *run)
{
    return run->state == TB_RUN_WHOLE && strcmp(tb_member_text(run->view.header, "kind"), "smoke");
}

// NULL: all of them.
static size_t count_of_run(const struct tb_store_run *run, const char *verdict)
{
    const json_t *prediction;
    size_t count = 0, i;
    if (speaks(run))
        json_array_foreach (tb_member(run->view.summary, "predictions"), i, prediction)
            count += !verdict || strcmp(tb_prediction_verdict(run->view.header, prediction), verdict) == 0;
    return count;
}

static size_t count_predictions(const struct tb_store *store, const char *verdict)
{
    size_t count = 0;
    for (size_t r = 0; r < store->runs_count; r++)
        count += count_of_run(&store->runs[r], verdict);
    return count;
}

static size_t count_speaking(const struct tb_store *store, bool emulated)
{
    size_t count = 0;
    for (size_t i = 0; i < store->runs_count; i++)
        count += speaks(&store->runs[i]) && (!emulated || tb_emulated(store->runs[i].view.header)[0]);
    return count;
}

void tb_page_answer(FILE *out, const struct tb_store *store)
{
    size_t all = count_predictions(store, NULL), survived = count_predictions(store, "survived");
    size_t falsified = count_predictions(store, "falsified"), beyond = count_predictions(store, "unmeasurable-on-host");
    size_t open = all - survived - falsified - beyond, runs = count_speaking(store, false);
    if (runs == 0) {
        fputs("Nothing yet: no run has come to its end.", out);
        return;
    }
    fprintf(out, "Of %zu prediction%s in %zu run%s, %zu survived, %zu %s falsified%s %zu remain%s open", all, all == 1 ? "" : "s",
            runs, runs == 1 ? "" : "s", survived, falsified, falsified == 1 ? "was" : "were", beyond > 0 ? "," : " and", open,
            open == 1 ? "s" : "");
    if (beyond > 0)
        fprintf(out, " and %zu could not be measured here", beyond);
    fputs(".", out);
}

void tb_page_rest(FILE *out, const struct tb_store *store)
{
    size_t runs = count_speaking(store, false), rest = store->runs_count - runs, emulated = count_speaking(store, true);
    if (rest > 0)
        fprintf(out, "%zu %srun%s ha%s no verdict (smoke, crashed, stopped or damaged) and %s counted below.", rest,
                runs > 0 ? "more " : "", rest == 1 ? "" : "s", rest == 1 ? "s" : "ve", rest == 1 ? "is" : "are");
    if (emulated > 0 && rest > 0)
        fputc(' ', out);
    if (emulated == 1)
        fprintf(out, "%s was made in an emulated machine: what was counted there is evidence, and about time it says nothing.",
                runs == 1 ? "The run" : "One of the runs");
    else if (emulated > 1)
        fprintf(out,
                "%zu of the %zu runs were made in emulated machines: what was counted there is evidence, and about time they "
                "say nothing.",
                emulated, runs);
}

typedef void teller(FILE *out, const struct tb_store *store);

static void put_told(struct tb_doc *doc, const char *key, const struct tb_store *store, teller *tell)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return;
    tell(stream, store);
    if (fclose(stream) == 0 && bytes > 0)
        tb_doc_say(doc, key, "%s", text);
    free(text);
}

static bool all_official(const struct tb_store *store)
{
    for (size_t i = 0; i < store->runs_count; i++) {
        const char *kind = tb_member_text(store->runs[i].view.header, "kind");
        if (kind[0] && strcmp(kind, "official"))
            return false;
    }
    return true;
}

static void put_answer(struct tb_doc *doc, const struct tb_page *page, const json_t *board, const json_t *fleet)
{
    char finding[1024];
    tb_doc_heading(doc, 1, NULL, page->store->hosts_count > 1 ? "What did these machines show?" : "What did this machine show?");
    if (tb_standing_finding(board, fleet, finding, sizeof finding) || tb_measured_finding(page->measured, finding, sizeof finding))
        tb_doc_answer(doc, "finding", "%s", finding);
    put_told(doc, "answer", page->store, tb_page_answer);
    put_told(doc, "rest", page->store, tb_page_rest);
    if (all_official(page->store))
        return;
    tb_doc_say(doc, "trial",
               "There are trial runs here. They are not the record: nobody had to say beforehand what they would show.");
    tb_doc_tone(doc, TB_TONE_OPEN);
}

// --- what fell -----------------------------------------------------------------------------------------------------------------

static const char *id_of(const struct tb_store_run *run)
{
    return tb_member_text(run->view.header, "experiment.id");
}

static void put_fallen_of(struct tb_table *table, const struct tb_page *page, const struct tb_store_run *run)
{
    const json_t *header = run->view.header, *prediction;
    size_t i;
    json_array_foreach (tb_member(run->view.summary, "predictions"), i, prediction) {
        char words[512], link[256];
        if (!speaks(run) || strcmp(tb_prediction_verdict(header, prediction), "falsified"))
            continue;
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_linked(tb_text_value(tb_member_text(prediction, "id")), run_link(page, run, link)));
        tb_table_put(table, tb_detailed(tb_text_value(tb_claim_words(header, prediction, words, sizeof words)),
                                        tb_member_text(prediction, "text")));
        tb_table_put(table, tb_observed(header, prediction));
        tb_table_put(table, tb_text_value(run->host->name));
    }
}

// The runs are sorted by experiment: each one's fold holds what fell in all of its runs.
static void put_fallen(struct tb_doc *doc, const struct tb_page *page)
{
    static const struct tb_column columns[] = {{"fallen", "prediction", TB_AS_IS, false},
                                               {NULL, "what was claimed", TB_AS_IS, false},
                                               {"estimate", "what was seen", TB_AS_IS, false},
                                               {"host", "on", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    const struct tb_store *store = page->store;
    if (count_predictions(store, "falsified") == 0)
        return;
    tb_doc_heading(doc, 2, "fallen", "What fell");
    for (size_t first = 0, end; first < store->runs_count; first = end) {
        const struct tb_store_run *run = &store->runs[first];
        size_t fallen = 0, all = 0;
        char title[400];
        for (end = first; end < store->runs_count && strcmp(id_of(&store->runs[end]), id_of(run)) == 0; end++) {
            fallen += count_of_run(&store->runs[end], "falsified");
            all += count_of_run(&store->runs[end], NULL);
        }
        if (fallen == 0)
            continue;
        snprintf(title, sizeof title, "%.16s %.250s %zu of %zu fell", id_of(run),
                 tb_member_text(run->view.header, "experiment.question"), fallen, all);
        tb_doc_folded(doc, 3, NULL, title);
        tb_doc_tone(doc, TB_TONE_BAD);
        tb_doc_anchor(doc, id_of(run));
        struct tb_table *table = tb_doc_table(doc, "fallen", NULL, columns);
        for (size_t r = first; r < end; r++)
            put_fallen_of(table, page, &store->runs[r]);
    }
}

// --- all runs, the legend, the ledgers -----------------------------------------------------------------------------------------

// "2026-11-21T10:15:00Z" as "2026-11-21 10:15".
static const char *readable_time(const char *time, char out[20])
{
    snprintf(out, 20, "%.16s", time);
    if (strlen(out) == 16 && out[10] == 'T')
        out[10] = ' ';
    return out;
}

static void put_runs(struct tb_doc *doc, const struct tb_page *page)
{
    static const struct tb_column columns[] = {{"run", NULL, TB_AS_IS, false},      {NULL, "run", TB_AS_IS, false},
                                               {NULL, "question", TB_AS_IS, false}, {"verdict", "verdict", TB_AS_IS, false},
                                               {"host", "host", TB_AS_IS, false},   {NULL, "time, UTC", TB_AS_IS, false},
                                               {"kind", "kind", TB_AS_IS, false},   {"emulated", "emulated", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    char title[64];
    snprintf(title, sizeof title, "All runs: %zu", page->store->runs_count);
    tb_doc_folded(doc, 2, NULL, title);
    tb_doc_anchor(doc, "runs");
    struct tb_table *table = tb_doc_table(doc, "runs", NULL, columns);
    for (size_t i = 0; i < page->store->runs_count; i++) {
        const struct tb_store_run *run = &page->store->runs[i];
        const json_t *header = run->view.header;
        char link[256], time[20];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(run->run));
        tb_table_put(table, tb_linked(tb_text_value(run->run), run_link(page, run, link)));
        tb_table_put(table,
                     tb_detailed(tb_text_value(tb_member_text(header, "experiment.question")), run->why[0] ? run->why : NULL));
        tb_table_put(table, tb_verdict_value(tb_run_verdict(run)));
        tb_table_put(table, tb_text_value(run->host->name));
        tb_table_put(table, tb_text_value(readable_time(tb_member_text(header, "time"), time)));
        tb_table_put(table, tb_text_value(tb_member_text(header, "kind")));
        tb_table_put(table, tb_emulated(header)[0] ? tb_text_value(tb_emulated(header)) : tb_none(""));
    }
}

static void put_legend(struct tb_doc *doc, const struct tb_store *store)
{
    static const struct tb_column columns[] = {{"count", "verdict", TB_AS_IS, false},
                                               {"runs", "runs", TB_AS_IS, false},
                                               {NULL, "it means", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    tb_doc_heading(doc, 2, NULL, "Verdicts, and what they mean");
    tb_doc_anchor(doc, "legend");
    struct tb_table *table = tb_doc_table(doc, "legend", NULL, columns);
    for (size_t i = 0; tb_verdict_look_at(i); i++) {
        const struct tb_verdict_look *look = tb_verdict_look_at(i);
        size_t count = count_runs(store, look->verdict);
        bool always = i < 2 || strcmp(look->verdict, "crashed") == 0; // that there is none of these is worth a word, too
        if (count == 0 && !always)
            continue;
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_verdict_value(look->verdict));
        tb_table_put(table, tb_count(count));
        tb_table_put(table, tb_text_value(look->means));
    }
}

static size_t count_entries(const struct tb_store_host *host, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < host->ledger.count; i++)
        count += strcmp(tb_member_text(host->ledger.entries[i].object, "t"), type) == 0;
    return count;
}

static void put_checkpoint(struct tb_table *table, const struct tb_store_host *host)
{
    char head[TB_HASH_TEXT] = "", text[500];
    if (host->ledger.broken_line > 0) {
        snprintf(text, sizeof text, "line %zu is broken: %.400s", (size_t)host->ledger.broken_line, host->ledger.broken);
        tb_table_put(table, tb_toned(tb_text_value(text), TB_TONE_POOR));
        return;
    }
    if (host->ledger.count > 0)
        tb_hash_text(&host->ledger.entries[host->ledger.count - 1].head, head);
    snprintf(text, sizeof text, "%zu %s", (size_t)host->ledger.bytes, head);
    tb_table_put(table, tb_text_value(text));
}

static void put_ledgers(struct tb_doc *doc, const struct tb_store *store)
{
    static const char *const types[] = {"postulate", "open", "close", "record"};
    static const struct tb_column columns[] = {{"ledger", "ledger", TB_AS_IS, false},
                                               {NULL, "filed", TB_AS_IS, false},
                                               {NULL, "opened", TB_AS_IS, false},
                                               {NULL, "closed", TB_AS_IS, false},
                                               {NULL, "records", TB_AS_IS, false},
                                               {NULL, "checkpoint: bytes, last hash", TB_AS_IS, false},
                                               {NULL, NULL, TB_AS_IS, false}};
    tb_doc_heading(doc, 2, NULL, "Ledgers");
    struct tb_table *table = tb_doc_table(doc, "ledgers", NULL, columns);
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        tb_table_row(table, TB_ROW_PLAIN);
        tb_table_put(table, tb_text_value(host->path));
        for (size_t t = 0; t < 4; t++)
            tb_table_put(table, host->exists ? tb_count(count_entries(host, types[t])) : tb_none(NULL));
        if (host->exists)
            put_checkpoint(table, host);
        else
            tb_table_put(table, tb_toned(tb_none("there is no ledger: nothing shows what was promised"), TB_TONE_POOR));
    }
    tb_table_note(table,
                  "A checkpoint that you keep elsewhere shows later that nothing was taken away: locus verify --checkpoint FILE");
}

// --- the pages -----------------------------------------------------------------------------------------------------------------

static int emit(FILE *out, struct tb_doc *doc, int rc)
{
    if (rc >= 0)
        rc = tb_emit_html(out, doc, tb_page_frame, tb_page_style);
    tb_doc_close(doc);
    return rc < 0 ? rc : 0;
}

int tb_page_index(FILE *out, const struct tb_page *page)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    json_t *fleet = NULL, *board = NULL;
    if (!doc)
        return -ENOMEM;
    int rc = tb_fleet(page->store, &(struct tb_fleet_wanted){0}, &fleet);
    if (rc == 0)
        rc = tb_scoreboard(page->store, &(struct tb_scoreboard_wanted){0}, &board);
    if (rc == 0) {
        put_answer(doc, page, board, fleet);
        if (page->measured)
            tb_page_measured(doc, page->measured);
        if (json_array_size(tb_member(board, "standing")) > 0)
            tb_page_standing(doc, board, page->folder);
        put_fallen(doc, page);
        if (json_array_size(tb_member(fleet, "hosts")) > 1) // one machine has nothing to stand beside
            tb_page_fleet(doc, fleet, page->folder);
        put_runs(doc, page);
        put_legend(doc, page->store);
        put_ledgers(doc, page->store);
    }
    json_decref(fleet);
    json_decref(board);
    return emit(out, doc, rc);
}

int tb_page_scoreboard(FILE *out, const struct tb_page *page)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    json_t *board = NULL;
    int rc = doc ? tb_scoreboard(page->store, &(struct tb_scoreboard_wanted){0}, &board) : -ENOMEM;
    if (rc == 0 && json_array_size(tb_member(board, "standing")) == 0)
        rc = -ENODATA;
    if (rc == 0)
        tb_page_tables(doc, board);
    json_decref(board);
    return emit(out, doc, rc);
}
