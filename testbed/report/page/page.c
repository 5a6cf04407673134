// SPDX-License-Identifier: Apache-2.0
//
// page: the index, what people open first. The finding stands at its top, in a sentence and with the machine; what was falsified is
// named, postulate by postulate; and every run that the ledgers know of is counted, those without a verdict too.
#include "testbed/report/page/page.h"

#include <ctype.h>
#include <errno.h>
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

static struct tb_value run_link(const struct tb_page *page, const struct tb_store_run *run, const char *text, char link[256])
{
    char name[80];
    snprintf(link, 256, "%s/%s.html", page->folder, tb_page_of(run, name));
    return tb_linked(tb_text_value(text), link);
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

// Predictions, or the gates among them, which are counted apart. NULL: all of them.
static size_t count_of_run(const struct tb_store_run *run, bool gates, const char *verdict)
{
    const json_t *prediction;
    size_t count = 0, i;
    if (speaks(run))
        json_array_foreach (tb_member(run->view.summary, "predictions"), i, prediction)
            count += tb_prediction_gate(run->view.header, prediction) == gates &&
                     (!verdict || strcmp(tb_prediction_verdict(run->view.header, prediction), verdict) == 0);
    return count;
}

static size_t count_all(const struct tb_store *store, bool gates, const char *verdict)
{
    size_t count = 0;
    for (size_t r = 0; r < store->runs_count; r++)
        count += count_of_run(&store->runs[r], gates, verdict);
    return count;
}

static size_t count_predictions(const struct tb_store *store, const char *verdict)
{
    return count_all(store, false, verdict);
}

static size_t count_speaking(const struct tb_store *store, bool emulated)
{
    size_t count = 0;
    for (size_t i = 0; i < store->runs_count; i++)
        count += speaks(&store->runs[i]) && (!emulated || tb_emulated(store->runs[i].view.header)[0]);
    return count;
}

static void say_predictions(struct tb_words *out, const struct tb_store *store, size_t runs)
{
    size_t all = count_predictions(store, NULL), survived = count_predictions(store, "survived");
    size_t falsified = count_predictions(store, "falsified"), beyond = count_predictions(store, "unmeasurable-on-host");
    size_t open = all - survived - falsified - beyond, gates = count_all(store, true, NULL);
    tb_say(out, "Of %zu prediction%s in %zu run%s, %zu survived, %zu %s falsified%s %zu remain%s open", all, all == 1 ? "" : "s",
           runs, runs == 1 ? "" : "s", survived, falsified, falsified == 1 ? "was" : "were", beyond > 0 ? "," : " and", open,
           open == 1 ? "s" : "");
    if (beyond > 0)
        tb_say(out, " and %zu could not be measured here", beyond);
    tb_say(out, ".");
    if (gates > 0)
        tb_say(out, " Besides, %zu of %zu gate%s, which cannot fail but by a bug, held.", count_all(store, true, "survived"), gates,
               gates == 1 ? "" : "s");
}

void tb_page_answer(struct tb_words *out, const struct tb_store *store)
{
    size_t runs = count_speaking(store, false), rest = store->runs_count - runs, emulated = count_speaking(store, true);
    if (runs > 0)
        say_predictions(out, store, runs);
    else
        tb_say(out, "Nothing yet: no run has come to its end.");
    if (rest > 0)
        tb_say(out, " %zu %srun%s no verdict (smoke, crashed, stopped or damaged), counted below.", rest, runs > 0 ? "more " : "",
               rest == 1 ? " has" : "s have");
    if (emulated > 0)
        tb_say(out, " %zu of %zu run%s made in an emulated machine: its counts are evidence, its times are not.", emulated, runs,
               runs == 1 ? " was" : "s were");
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
    struct tb_words answer = {.used = 0};
    tb_doc_heading(doc, 1, NULL, page->store->hosts_count > 1 ? "What did these machines show?" : "What did this machine show?");
    if (tb_standing_finding(board, fleet, finding, sizeof finding) || tb_measured_finding(page->measured, finding, sizeof finding))
        tb_doc_answer(doc, "finding", "%s", finding);
    tb_page_answer(&answer, page->store);
    tb_doc_say(doc, "answer", "%s", answer.text);
    if (all_official(page->store))
        return;
    tb_doc_say(doc, "trial", "There are trial runs here. They are not the record: nobody had to predict what they would show.");
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
        struct tb_words words;
        char link[256];
        if (!speaks(run) || strcmp(tb_prediction_verdict(header, prediction), "falsified"))
            continue;
        tb_table_add(table, TB_ROW_PLAIN, run_link(page, run, tb_member_text(prediction, "id"), link),
                     tb_detailed(tb_text_value(tb_claim_words(header, prediction, &words)), tb_member_text(prediction, "text")),
                     tb_observed(header, prediction), tb_text_value(run->host->name));
    }
}

// The runs are sorted by experiment: each one's fold holds what fell in all of its runs.
static void put_fallen(struct tb_doc *doc, const struct tb_page *page)
{
    const struct tb_store *store = page->store;
    if (count_predictions(store, "falsified") + count_all(store, true, "falsified") == 0)
        return;
    tb_doc_heading(doc, 2, "fallen", "What fell");
    for (size_t first = 0, end; first < store->runs_count; first = end) {
        const struct tb_store_run *run = &store->runs[first];
        size_t fallen = 0, all = 0;
        char title[400];
        for (end = first; end < store->runs_count && strcmp(id_of(&store->runs[end]), id_of(run)) == 0; end++) {
            size_t gates = count_of_run(&store->runs[end], true, "falsified"); // a bug, which nobody should overlook
            fallen += gates + count_of_run(&store->runs[end], false, "falsified");
            all += gates + count_of_run(&store->runs[end], false, NULL);
        }
        if (fallen == 0)
            continue;
        snprintf(title, sizeof title, "%.16s %.250s %zu of %zu fell", id_of(run),
                 tb_member_text(run->view.header, "experiment.question"), fallen, all);
        tb_doc_folded(doc, 3, NULL, title);
        tb_doc_tone(doc, TB_TONE_BAD);
        tb_doc_anchor(doc, id_of(run));
        struct tb_table *table =
            tb_doc_grid(doc, "fallen", NULL, "fallen=prediction|=what was claimed|estimate=what was seen|host=on");
        for (size_t r = first; r < end; r++)
            put_fallen_of(table, page, &store->runs[r]);
    }
}

// --- all runs, the legend, the ledgers -----------------------------------------------------------------------------------------

static void put_runs(struct tb_doc *doc, const struct tb_page *page)
{
    char title[64];
    snprintf(title, sizeof title, "All runs: %zu", page->store->runs_count);
    tb_doc_folded(doc, 2, NULL, title);
    tb_doc_anchor(doc, "runs");
    struct tb_table *table =
        tb_doc_grid(doc, "runs", NULL, "run|=run|=question|verdict=verdict|host=host|=time, UTC|kind=kind|emulated=emulated");
    for (const struct tb_store_run *run = page->store->runs; run < page->store->runs + page->store->runs_count; run++) {
        const json_t *header = run->view.header;
        const char *time = tb_member_text(header, "time"), *emulated = tb_emulated(header);
        char link[256], minute[20];
        snprintf(minute, sizeof minute, "%.10s %.5s", time, strlen(time) > 11 ? time + 11 : "");
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(run->run), run_link(page, run, run->run, link),
                     tb_detailed(tb_text_value(tb_member_text(header, "experiment.question")), run->why[0] ? run->why : NULL),
                     tb_verdict_value(tb_run_verdict(run)), tb_text_value(run->host->name), tb_text_value(minute),
                     tb_text_value(tb_member_text(header, "kind")), emulated[0] ? tb_text_value(emulated) : tb_none(""));
    }
}

static void put_legend(struct tb_doc *doc, const struct tb_store *store)
{
    tb_doc_heading(doc, 2, NULL, "Verdicts, and what they mean");
    tb_doc_anchor(doc, "legend");
    struct tb_table *table = tb_doc_grid(doc, "legend", NULL, "count=verdict|runs=runs|=it means");
    for (size_t i = 0; tb_verdict_look_at(i); i++) {
        const struct tb_verdict_look *look = tb_verdict_look_at(i);
        size_t count = count_runs(store, look->verdict);
        bool always = i < 2 || strcmp(look->verdict, "crashed") == 0; // that there is none of these is worth a word, too
        if (count > 0 || always)
            tb_table_add(table, TB_ROW_PLAIN, tb_verdict_value(look->verdict), tb_count(count), tb_text_value(look->means));
    }
}

static size_t count_entries(const struct tb_store_host *host, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < host->ledger.count; i++)
        count += strcmp(tb_member_text(host->ledger.entries[i].object, "t"), type) == 0;
    return count;
}

static struct tb_value checkpoint(const struct tb_store_host *host, char text[500])
{
    const struct tb_chain *ledger = &host->ledger;
    char head[TB_HASH_TEXT] = "";
    if (!host->exists)
        return tb_toned(tb_none("there is no ledger: nothing shows what was promised"), TB_TONE_POOR);
    if (ledger->broken_line > 0) {
        snprintf(text, 500, "line %zu is broken: %.400s", (size_t)ledger->broken_line, ledger->broken);
        return tb_toned(tb_text_value(text), TB_TONE_POOR);
    }
    if (ledger->count > 0)
        tb_hash_text(&ledger->entries[ledger->count - 1].head, head);
    snprintf(text, 500, "%zu %s", (size_t)ledger->bytes, head);
    return tb_text_value(text);
}

static bool is_whole(const struct tb_store_host *host)
{
    return host->exists && host->ledger.broken_line == 0;
}

// Folded, as all runs are, while nothing is wrong with any.
static void put_ledgers(struct tb_doc *doc, const struct tb_store *store)
{
    static const char *const types[] = {"postulate", "open", "close", "record"};
    size_t whole = 0;
    char title[64];
    for (size_t i = 0; i < store->hosts_count; i++)
        whole += is_whole(store->hosts[i]);
    snprintf(title, sizeof title, "Ledgers: %zu", store->hosts_count);
    (whole == store->hosts_count ? tb_doc_folded : tb_doc_heading)(doc, 2, NULL, title);
    struct tb_table *table =
        tb_doc_grid(doc, "ledgers", NULL, "ledger=ledger|=filed|=opened|=closed|=records|=checkpoint: bytes, last hash");
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        char text[500];
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(host->path));
        for (size_t t = 0; t < 4; t++)
            tb_table_put(table, host->exists ? tb_count(count_entries(host, types[t])) : tb_none(NULL));
        tb_table_put(table, checkpoint(host, text));
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

int tb_page_index(FILE *out, const void *what)
{
    const struct tb_page *page = what;
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

int tb_page_scoreboard(FILE *out, const void *what)
{
    const struct tb_page *page = what;
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
