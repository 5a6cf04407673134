// SPDX-License-Identifier: Apache-2.0
//
// html_run: one run, closed to two lines that can be scanned: its verdict and question, and each claim with what was observed.
// Opened it shows why, in the order in which a doubter asks: the claims against their intervals, the samples, the arms, the gates,
// how it was run, the machine.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/postulate/metric.h"
#include "testbed/report/page/html_chart.h"
#include "testbed/report/page/html_nodes.h"
#include "testbed/report/page/html_page.h"

static const struct tb_badge badges[] = {
    {"survived", "good", "\u2713"},
    {"falsified", "fell", "\u2717"},
    {"no-difference", "open", "="},
    {"inconclusive", "open", "?"},
    {"inconclusive (noise)", "open", "~"},
    {"inconclusive (unstable)", "open", "\u2248"},
    {"unmeasurable-on-host", "open", "\u2013"},
    {"none (smoke)", "open", "\u2013"},
    {"no verdict", "open", "\u2013"},
    {"invalid", "poor", "!"},
    {"stopped", "poor", "\u25a0"},
    {"crashed", "poor", "\u2020"},
    {"log broken", "poor", "!"},
    {"log missing", "poor", "!"},
    {"not in the ledger", "poor", "!"},
};

const struct tb_badge *tb_badge_at(size_t i)
{
    return i < sizeof badges / sizeof *badges ? &badges[i] : NULL;
}

const struct tb_badge *tb_badge(const char *verdict)
{
    static const struct tb_badge unknown = {"unknown verdict", "poor", "!"};
    for (size_t i = 0; tb_badge_at(i); i++)
        if (strcmp(badges[i].name, verdict) == 0)
            return &badges[i];
    return &unknown;
}

void tb_html_badge(FILE *out, const char *verdict)
{
    const struct tb_badge *badge = tb_badge(verdict);
    tb_html(out, "<span class=\"badge @\"><span class=\"sign\">@</span> @</span>", badge->css, badge->sign, badge->name);
}

// --- closed ---

// Why a prediction's figures are not shown. The log's own word, unless that is about the figures.
static void put_unmeasured(FILE *out, const json_t *header, const json_t *prediction)
{
    bool overruled = strcmp(tb_member_text(prediction, "verdict"), tb_prediction_verdict(header, prediction));
    const char *why = overruled ? "" : tb_member_text(prediction, "why");
    fputs("not measured", out);
    if (why[0])
        tb_html(out, ": @", why);
    else if (tb_emulated(header)[0])
        tb_html(out, ": in an emulated machine (@) times mean nothing", tb_emulated(header));
}

static void put_claim_line(FILE *out, const json_t *header, const json_t *prediction)
{
    const char *verdict = tb_prediction_verdict(header, prediction);
    bool measured = tb_prediction_measured(header, prediction);
    tb_html(out, "<span class=\"claim\"><span class=\"sign\" title=\"@\">@</span> @ <code>@</code> <span class=\"seen@\">", verdict,
            tb_badge(verdict)->sign, tb_member_text(prediction, "id"), tb_member_text(prediction, "text"), measured ? "" : " not");
    if (measured)
        tb_html_interval(out, tb_member_number(prediction, "estimate"), tb_member_number(prediction, "low"),
                         tb_member_number(prediction, "high"));
    else
        put_unmeasured(out, header, prediction);
    fputs("</span></span>\n", out);
}

// "2026-11-21T10:15:00Z" as "2026-11-21 10:15".
static void readable_time(const char *time, char out[20])
{
    snprintf(out, 20, "%.16s", time);
    if (strlen(out) == 16 && out[10] == 'T')
        out[10] = ' ';
}

static void put_badges(FILE *out, const struct tb_store_run *run)
{
    const char *emulated = tb_emulated(run->view.header);
    if (emulated[0])
        fputs("<span class=\"badges\">", out);
    tb_html_badge(out, tb_run_verdict(run));
    if (emulated[0])
        tb_html(out, "<span class=\"badge emulated\"><span class=\"sign\">\u25a3</span> emulated: @</span></span>", emulated);
}

static void put_summary(FILE *out, const struct tb_store_run *run)
{
    const json_t *header = run->view.header, *predictions = tb_member(run->view.summary, "predictions"), *prediction;
    const char *question = tb_member_text(header, "experiment.question"), *kind = tb_member_text(header, "kind");
    char time[20];
    size_t i;
    readable_time(tb_member_text(header, "time"), time);
    fputs("<summary>", out);
    put_badges(out, run);
    tb_html(out, "<span class=\"what\"><span class=\"title\"><span class=\"id\">@</span> @</span>\n",
            tb_member_text(header, "experiment.id"), question[0] ? question : run->run);
    json_array_foreach (predictions, i, prediction)
        if (run->state == TB_RUN_WHOLE)
            put_claim_line(out, header, prediction);
    if (run->why[0])
        tb_html(out, "<span class=\"claim\">@</span>\n", run->why);
    tb_html(out, "<span class=\"meta\">@ \u00b7 @@@@</span></span></summary>\n", run->host->name, time, time[0] ? " UTC" : "no log",
            strcmp(kind, "official") && kind[0] ? " \u00b7 " : "", strcmp(kind, "official") ? kind : "");
}

// --- open ---

static void put_value(FILE *out, const json_t *prediction)
{
    const json_t *value = tb_member(prediction, "value");
    if (json_is_array(value))
        tb_html(out, " data-value=\"@\" data-value-high=\"@\"", TB_EXACT(json_number_value(json_array_get(value, 0))),
                TB_EXACT(json_number_value(json_array_get(value, 1))));
    else
        tb_html(out, " data-value=\"@\"", TB_EXACT(json_number_value(value)));
}

static void put_key(FILE *out, const json_t *header, const char *key)
{
    if (!key[0] || strcmp(key, "*") == 0)
        return;
    struct tb_arm_look arm = tb_arm_look(header, key);
    fputs("<span class=\"key\">", out);
    tb_html_arm(out, &arm);
    fputs("</span>\n", out);
}

// What the figure is, in words.
static void put_observed(FILE *out, const json_t *prediction)
{
    double achieved = tb_member_number(prediction, "achieved"), asked = tb_member_number(prediction, "confidence");
    double low = tb_member_number(prediction, "low"), high = tb_member_number(prediction, "high");
    const char *unit = tb_member_text(prediction, "unit"), *why = tb_member_text(prediction, "why");
    fputs("<p class=\"observed\">observed ", out);
    tb_html_interval(out, tb_member_number(prediction, "estimate"), low, high);
    if (strcmp(unit, "x") && strcmp(unit, "ratio"))
        tb_html(out, " @", strcmp(unit, "count") ? unit : "per lap");
    if (low == high)
        fputs(", exact", out);
    else if (achieved > 0)
        tb_html(out, ", @&#8239;% confidence (@&#8239;% asked for)", TB_FIGURE(100 * achieved), TB_FIGURE(100 * asked));
    tb_html(out, ", @ rounds@", TB_FIGURE(tb_member_number(prediction, "n")),
            json_array_size(tb_member(prediction, "parts")) > 0 ? "; of the part that stands worst" : "");
    if (why[strcspn(why, "abcdefghijklmnopqrstuvwxyz")]) // not only the figures again
        tb_html(out, ". <span class=\"why\">@</span>", why);
    fputs("</p>\n", out);
}

static void put_prediction(FILE *out, const json_t *header, const json_t *prediction)
{
    const char *id = tb_member_text(prediction, "id"), *cell = tb_member_text(prediction, "cell");
    const json_t *figures = tb_prediction_measured(header, prediction) ? prediction : NULL, *key;
    size_t i;
    tb_html(out, "<section class=\"prediction\" data-prediction=\"@\" data-estimate=\"@\" data-low=\"@\" data-high=\"@\" ", id,
            TB_EXACT(tb_member_number(figures, "estimate")), TB_EXACT(tb_member_number(figures, "low")),
            TB_EXACT(tb_member_number(figures, "high")));
    tb_html(out, "data-achieved=\"@\" data-n=\"@\" data-verdict=\"@\"", TB_EXACT(tb_member_number(figures, "achieved")),
            TB_EXACT(tb_member_number(figures, "n")), tb_prediction_verdict(header, prediction));
    put_value(out, prediction);
    fputs("><h3>", out);
    tb_html_badge(out, tb_prediction_verdict(header, prediction));
    tb_html(out, " @ <code>@</code> <small>@@</small></h3>\n<p class=\"keys\">", id, tb_member_text(prediction, "text"),
            strcmp(cell, "*") ? "in " : "in every cell", strcmp(cell, "*") ? cell : "");
    put_key(out, header, tb_member_text(prediction, "over"));
    put_key(out, header, tb_member_text(prediction, "under"));
    put_key(out, header, tb_member_text(prediction, "arm"));
    json_array_foreach (tb_member(prediction, "order"), i, key)
        put_key(out, header, json_string_value(key));
    fputs("</p>\n", out);
    if (figures) {
        put_observed(out, prediction);
        tb_html_prediction_chart(out, header, prediction);
    } else {
        fputs("<p class=\"observed\">", out);
        put_unmeasured(out, header, prediction);
        fputs("</p>\n", out);
    }
    fputs("</section>\n", out);
}

static bool is_predicted(const json_t *summary, const char *metric)
{
    const json_t *predictions = tb_member(summary, "predictions"), *prediction;
    size_t i;
    json_array_foreach (predictions, i, prediction)
        if (strcmp(tb_member_text(prediction, "metric"), metric) == 0)
            return true;
    return false;
}

// The median times always, unless they are none; what else there is where something was said about it.
static bool is_shown(const struct tb_log_view *view, const char *metric)
{
    if (tb_metric_is_time(metric) && tb_log_emulated(view))
        return false;
    return strcmp(metric, "time_ns") == 0 || is_predicted(view->summary, metric);
}

static int put_samples(FILE *out, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    bool begun = false;
    int rc = 0;
    for (unsigned m = 0; tb_metric_at(m); m++) {
        if (!is_shown(view, tb_metric_at(m)->name))
            continue;
        if (!begun)
            fputs("<h3>Every sample</h3>\n<p class=\"note\">A dot is one round, a fresh process, the first at the strip's upper "
                  "edge. The bar is the median.</p>\n<div class=\"panels\">\n",
                  out);
        begun = true;
        for (size_t cell = 0; cell < cells && rc == 0; cell++)
            rc = tb_html_strips(out, view, cell, tb_metric_at(m));
    }
    if (begun)
        fputs("</div>\n", out);
    return rc;
}

static void put_arms(FILE *out, const struct tb_log_view *view)
{
    size_t cells = json_array_size(tb_member(view->header, "cells"));
    if (tb_member(view->summary, "arms"))
        fputs("<h3>The arms</h3>\n", out);
    for (size_t cell = 0; cell < cells; cell++)
        tb_html_arms_table(out, view, cell);
}

// On paper the raw ones stay closed.
static void put_fold(FILE *out, const char *title, bool raw, const json_t *value)
{
    if (!value)
        return;
    tb_html(out, "<details class=\"fold@\"><summary>@</summary>", raw ? " raw" : "", title);
    tb_html_json(out, value);
    fputs("</details>\n", out);
}

// Before the first sample was taken: the answer is the fold's title, what was found is inside.
static void put_doctor(FILE *out, const json_t *header)
{
    char said[512], title[600];
    bool fit = tb_doctor_header_says(header, said, sizeof said);
    snprintf(title, sizeof title, fit ? "Host: %s to measure" : "Host: %s", said);
    if (said[0])
        put_fold(out, title, false, tb_member(header, "doctor.findings"));
}

static void put_source(FILE *out, const struct tb_store_run *run)
{
    char head[TB_HASH_TEXT] = "";
    const struct tb_chain *chain = &run->view.chain;
    if (chain->count > 0)
        tb_hash_text(&chain->entries[chain->count - 1].head, head);
    tb_html(out, "<dl class=\"source\"><div><dt>run</dt><dd>@</dd></div><div><dt>log</dt><dd>@</dd></div>", run->run, run->path);
    tb_html(out, "<div><dt>last hash</dt><dd>@</dd></div><div><dt>ledger</dt><dd>@</dd></div>", head[0] ? head : "none",
            run->opened ? "opened before the first sample" : "does not know this log");
    tb_html(out, "<div><dt>postulate</dt><dd>@</dd></div><div><dt>its SHA-256</dt><dd>@</dd></div></dl>\n",
            tb_member_text(run->view.header, "postulate.path"), tb_member_text(run->view.header, "postulate.sha256"));
}

static void put_head(FILE *out, const struct tb_store_run *run)
{
    const struct tb_chain *chain = &run->view.chain;
    char head[TB_HASH_TEXT] = "";
    if (chain->count > 0)
        tb_hash_text(&chain->entries[chain->count - 1].head, head);
    tb_html(out, "<details class=\"run\" id=\"@\" data-run=\"@\" data-host=\"@\" data-verdict=\"@\" ", run->run, run->run,
            run->host->name, tb_run_verdict(run));
    tb_html(out, "data-kind=\"@\" data-log=\"@\" data-head=\"@\"", tb_member_text(run->view.header, "kind"), run->path, head);
    if (tb_emulated(run->view.header)[0])
        tb_html(out, " data-emulated=\"@\"", tb_emulated(run->view.header));
    fputs(">\n", out);
}

int tb_html_run(FILE *out, const struct tb_store_run *run)
{
    const struct tb_log_view *view = &run->view;
    const json_t *predictions = tb_member(view->summary, "predictions"), *prediction;
    size_t i;
    put_head(out, run);
    put_summary(out, run);
    fputs("<div class=\"body\">\n", out);
    if (tb_emulated(view->header)[0])
        tb_html(
            out,
            "<p class=\"emulation\"><b>Made in an emulated machine (@).</b> What is counted here is evidence; times are not, and "
            "are not shown as results.</p>\n",
            tb_emulated(view->header));
    bool overruled = tb_emulated(view->header)[0] && strcmp(tb_run_verdict(run), tb_member_text(view->summary, "verdict"));
    if (tb_member_text(view->summary, "why")[0] && !overruled)
        tb_html(out, "<p class=\"why\">@</p>\n", tb_member_text(view->summary, "why"));
    json_array_foreach (predictions, i, prediction)
        put_prediction(out, view->header, prediction);
    int rc = tb_html_nodes(out, view);
    if (rc == 0 && view->samples_count > 0)
        rc = put_samples(out, view);
    if (view->samples_count > 0 && !tb_emulated(view->header)[0])
        put_arms(out, view);
    if (view->summary) {
        fputs("<h3>Gates</h3>\n", out);
        tb_html_gates(out, view);
    }
    fputs("<h3>Where it comes from</h3>\n", out);
    put_source(out, run);
    put_fold(out, "Design", false, tb_member(view->header, "design"));
    put_doctor(out, view->header);
    put_fold(out, "Environment", false, tb_member(view->header, "env"));
    put_fold(out, "What could be counted", true, tb_member(view->header, "counters"));
    put_fold(out, "Counters before", true, tb_member(view->header, "before"));
    put_fold(out, "Counters after", true, tb_member(view->after, "counters"));
    fputs("</div></details>\n", out);
    return rc;
}
