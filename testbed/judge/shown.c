// SPDX-License-Identifier: Apache-2.0
//
// shown: see shown.h.
#include "testbed/judge/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/postulate/metric.h"
#include "testbed/postulate/postulate.h"
#include "testbed/record/ledger.h"

// --- cells and arms ---

size_t tb_cells_count(const struct tb_log_view *view)
{
    return json_array_size(tb_member(view->header, "cells"));
}

size_t tb_arms_count(const struct tb_log_view *view)
{
    return json_array_size(tb_member(view->header, "arms"));
}

const char *tb_cell_label(const struct tb_log_view *view, size_t cell, char *out, size_t bytes)
{
    const json_t *object = json_array_get(tb_member(view->header, "cells"), cell);
    return tb_member_cell(object, out, bytes);
}

const json_t *tb_summary_arm(const struct tb_log_view *view, size_t cell, const char *arm)
{
    char label[256];
    const json_t *entry;
    size_t i;
    tb_cell_label(view, cell, label, sizeof label);
    json_array_foreach (tb_member(view->summary, "arms"), i, entry)
        if (strcmp(tb_member_text(entry, "cell"), label) == 0 && strcmp(tb_member_text(entry, "arm"), arm) == 0)
            return entry;
    return NULL;
}

int tb_log_largest(const struct tb_log_view *view, size_t cell, const char *arm, const char *name, double *out)
{
    const struct tb_metric *metric = tb_metric_find(name);
    double *values = NULL, peak = tb_member_number(json_array_get(tb_member(view->header, "cells"), cell), "blocks_peak");
    size_t count = 0;
    int rc = tb_log_values(view, cell, arm, metric->member, &values, &count);
    *out = NAN;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        *out = fmax(*out, metric->of_peak ? values[i] / peak : values[i]); // passes over NAN
    free(values);
    return rc;
}

// --- verdicts ---

const char *tb_replicated_words(const json_t *runs, const struct tb_chain *ledger, struct tb_words *out)
{
    const json_t *run;
    size_t i;
    *out = (struct tb_words){.used = 0};
    json_array_foreach (runs, i, run) {
        const char *id = json_is_string(run) ? json_string_value(run) : "?";
        size_t line = tb_ledger_last(ledger, SIZE_MAX, "close", "run", id);
        const char *verdict = line ? tb_member_text(ledger->entries[line - 1].object, "verdict") : "";
        const char *lacks = ledger->broken_line ? "its ledger is broken" : "not in the ledger";
        tb_say(out, "%s%s (%s)", i ? ", " : "", id, verdict[0] ? verdict : lacks);
    }
    return out->text;
}

const char *tb_emulated(const json_t *header)
{
    return tb_member_text(header, "emulated");
}

// Does it rest on the figures, in whatever way?
static bool is_judgement(const char *verdict)
{
    return strcmp(verdict, "unmeasurable-on-host") && strcmp(verdict, "invalid") && strcmp(verdict, "none (smoke)");
}

static bool is_emulated_time(const json_t *header, const json_t *prediction)
{
    return tb_emulated(header)[0] && tb_metric_is_time(tb_member_text(prediction, "metric"));
}

const char *tb_prediction_verdict(const json_t *header, const json_t *prediction)
{
    const char *verdict = tb_member_text(prediction, "verdict");
    return is_emulated_time(header, prediction) && is_judgement(verdict) ? "unmeasurable-on-host" : verdict;
}

bool tb_prediction_gate(const json_t *header, const json_t *prediction)
{
    return json_is_true(tb_member(prediction, "gate")) ||
           tb_early_gate(tb_member_text(header, "experiment.id"), tb_member_text(prediction, "id"));
}

bool tb_prediction_measured(const json_t *header, const json_t *prediction)
{
    return !is_emulated_time(header, prediction) && strcmp(tb_member_text(prediction, "verdict"), "unmeasurable-on-host");
}

// A verdict on the run that rests on times which were no times.
static bool rests_on_emulated_time(const struct tb_log_view *view)
{
    const json_t *prediction;
    size_t i;
    json_array_foreach (tb_member(view->summary, "predictions"), i, prediction)
        if (is_emulated_time(view->header, prediction) && is_judgement(tb_member_text(prediction, "verdict")))
            return true;
    return false;
}

const char *tb_run_verdict(const struct tb_store_run *run)
{
    static const char *const names[] = {[TB_RUN_UNCLOSED] = "not in the ledger",
                                        [TB_RUN_UNKNOWN] = "ledger broken",
                                        [TB_RUN_STOPPED] = "stopped",
                                        [TB_RUN_CRASHED] = "crashed",
                                        [TB_RUN_BROKEN] = "log broken",
                                        [TB_RUN_MISSING] = "log missing"};
    if (run->state != TB_RUN_WHOLE)
        return names[run->state];
    if (rests_on_emulated_time(&run->view))
        return "unmeasurable-on-host";
    const char *verdict = tb_member_text(run->view.summary, "verdict");
    return verdict[0] ? verdict : "no verdict";
}
