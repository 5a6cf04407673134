// SPDX-License-Identifier: Apache-2.0
//
// shown: see shown.h.
#include "testbed/judge/shown.h"

#include <string.h>

#include "testbed/base/json.h"
#include "testbed/postulate/metric.h"

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
