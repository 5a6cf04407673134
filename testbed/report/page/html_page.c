// SPDX-License-Identifier: Apache-2.0
//
// html_page: the frame of the page. What was falsified is named at the top, before what survived is shown, and every run that the
// ledgers know of is counted, those without a verdict too.
#include "testbed/report/page/html_page.h"

#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/report/hosts/fleet.h"
#include "testbed/report/page/html_chart.h"
#include "testbed/report/standing/scoreboard.h"

// --- the answer ---

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

static size_t count_speaking(const struct tb_store *store)
{
    size_t count = 0;
    for (size_t i = 0; i < store->runs_count; i++)
        count += speaks(&store->runs[i]);
    return count;
}

static size_t count_emulated(const struct tb_store *store)
{
    size_t count = 0;
    for (size_t i = 0; i < store->runs_count; i++)
        count += speaks(&store->runs[i]) && tb_emulated(store->runs[i].view.header)[0];
    return count;
}

// NULL: all of them.
static size_t count_predictions(const struct tb_store *store, const char *verdict)
{
    size_t count = 0, i;
    for (size_t r = 0; r < store->runs_count; r++) {
        const json_t *prediction;
        if (speaks(&store->runs[r]))
            json_array_foreach (tb_member(store->runs[r].view.summary, "predictions"), i, prediction)
                count += !verdict || strcmp(tb_prediction_verdict(store->runs[r].view.header, prediction), verdict) == 0;
    }
    return count;
}

void tb_html_answer(FILE *out, const struct tb_store *store)
{
    size_t all = count_predictions(store, NULL), survived = count_predictions(store, "survived");
    size_t falsified = count_predictions(store, "falsified"), beyond = count_predictions(store, "unmeasurable-on-host");
    size_t open = all - survived - falsified - beyond, runs = count_speaking(store);
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

void tb_html_rest(FILE *out, const struct tb_store *store)
{
    size_t runs = count_speaking(store), rest = store->runs_count - runs, emulated = count_emulated(store);
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

static void put_answer(FILE *out, const struct tb_store *store)
{
    size_t i;
    fputs("<p class=\"answer\">", out);
    tb_html_answer(out, store);
    fputs("</p>\n<p class=\"note\">", out);
    tb_html_rest(out, store);
    fputs("</p>\n", out);
    if (count_predictions(store, "falsified") == 0)
        return;
    fputs("<ul class=\"fallen\">\n", out);
    for (size_t r = 0; r < store->runs_count; r++) {
        const struct tb_store_run *run = &store->runs[r];
        const json_t *prediction;
        json_array_foreach (tb_member(run->view.summary, "predictions"), i, prediction) {
            if (!speaks(run) || strcmp(tb_prediction_verdict(run->view.header, prediction), "falsified"))
                continue;
            tb_html(out, "<li><a href=\"#@\">@ @</a> <code>@</code> was falsified@@: ", run->run,
                    tb_member_text(run->view.header, "experiment.id"), tb_member_text(prediction, "id"),
                    tb_member_text(prediction, "text"), store->hosts_count > 1 ? " on " : "",
                    store->hosts_count > 1 ? run->host->name : "");
            tb_html_interval(out, tb_member_number(prediction, "estimate"), tb_member_number(prediction, "low"),
                             tb_member_number(prediction, "high"));
            fputs("</li>\n", out);
        }
    }
    fputs("</ul>\n", out);
}

// --- the ledgers at a glance ---

static void put_counts(FILE *out, const struct tb_store *store)
{
    fputs("<ul class=\"counts\">\n", out);
    for (size_t i = 0; tb_badge_at(i); i++) {
        size_t count = count_runs(store, tb_badge_at(i)->name);
        bool always = i < 2 || strcmp(tb_badge_at(i)->name, "crashed") == 0; // none of these is worth a word, too
        if (count > 0 || always)
            tb_html(out,
                    "<li class=\"@\" data-count=\"@\" data-runs=\"@\"><b>@</b><span><span class=\"sign\">@</span> @</span></li>\n",
                    tb_badge_at(i)->css, tb_badge_at(i)->name, TB_COUNT(count), TB_COUNT(count), tb_badge_at(i)->sign,
                    tb_badge_at(i)->name);
    }
    fputs("</ul>\n", out);
}

static size_t count_entries(const struct tb_store_host *host, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < host->ledger.count; i++)
        count += strcmp(tb_member_text(host->ledger.entries[i].object, "t"), type) == 0;
    return count;
}

static void put_checkpoint(FILE *out, const struct tb_store_host *host)
{
    char head[TB_HASH_TEXT] = "";
    if (host->ledger.broken_line > 0) {
        tb_html(out, "<td class=\"bad\">line @ is broken: @</td>", TB_COUNT(host->ledger.broken_line), host->ledger.broken);
        return;
    }
    if (host->ledger.count > 0)
        tb_hash_text(&host->ledger.entries[host->ledger.count - 1].head, head);
    tb_html(out, "<td class=\"text\"><code class=\"hash\">@ @</code></td>", TB_COUNT(host->ledger.bytes), head);
}

static void put_hosts(FILE *out, const struct tb_store *store)
{
    fputs("<div class=\"wide\"><table class=\"ledgers\"><thead><tr><th scope=\"col\">ledger</th><th scope=\"col\">filed</th>"
          "<th scope=\"col\">opened</th><th scope=\"col\">closed</th><th scope=\"col\">records</th>"
          "<th scope=\"col\" class=\"text\">checkpoint: bytes, last hash</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        tb_html(out, "<tr data-ledger=\"@\"><th scope=\"row\">@</th>", host->path, host->path);
        if (host->exists) {
            tb_html(out, "<td>@</td><td>@</td><td>@</td><td>@</td>", TB_COUNT(count_entries(host, "postulate")),
                    TB_COUNT(count_entries(host, "open")), TB_COUNT(count_entries(host, "close")),
                    TB_COUNT(count_entries(host, "record")));
            put_checkpoint(out, host);
        } else {
            fputs("<td class=\"bad text\" colspan=\"5\">there is no ledger: nothing shows what was promised</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

// --- the page ---

// One machine has nothing to stand beside.
static int put_fleet(FILE *out, const struct tb_store *store)
{
    json_t *fleet = NULL;
    int rc = tb_fleet(store, &(struct tb_fleet_wanted){0}, &fleet);
    if (rc == 0 && json_array_size(tb_member(fleet, "hosts")) > 1)
        tb_fleet_html(out, fleet);
    json_decref(fleet);
    return rc;
}

// Where no official run has a figure there is none to show.
static int put_scoreboard(FILE *out, const struct tb_store *store)
{
    json_t *board = NULL;
    int rc = tb_scoreboard(store, &(struct tb_scoreboard_wanted){0}, &board);
    if (rc == 0 && tb_scoreboard_tables(board) > 0)
        tb_scoreboard_html(out, board);
    json_decref(board);
    return rc;
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

int tb_html_page(FILE *out, const struct tb_store *store)
{
    int rc = 0;
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>\n"
        "<link rel=\"icon\" href=\"data:,\"/>\n<title>LOCUS: what did this machine show?</title>\n",
        out);
    tb_html_style(out);
    fputs("</head><body>\n", out);
    tb_html_shapes(out);
    tb_html(out, "<main><header><h1>What did @ show?</h1>\n", store->hosts_count > 1 ? "these machines" : "this machine");
    put_answer(out, store);
    fputs("</header>\n", out);
    if (!all_official(store))
        fputs("<p class=\"note trial\">There are trial runs here. They are not the record: nobody had to say beforehand what they "
              "would show.</p>\n",
              out);
    put_counts(out, store);
    rc = put_fleet(out, store);
    fputs("<h2>Verdicts</h2>\n", out);
    for (size_t i = 0; i < store->runs_count && rc == 0; i++)
        rc = tb_html_run(out, &store->runs[i]);
    if (rc == 0)
        rc = put_scoreboard(out, store);
    fputs("<h2>Ledgers</h2>\n<p class=\"note\">A checkpoint that you keep elsewhere shows later that nothing was taken away: "
          "<code>locus verify --checkpoint FILE</code></p>\n",
          out);
    put_hosts(out, store);
    fputs("</main></body></html>\n", out);
    return rc < 0 ? rc : ferror(out) ? -ENOMEM : 0;
}
