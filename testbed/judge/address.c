// SPDX-License-Identifier: Apache-2.0
//
// address: see address.h. A prediction's figure is read from the sealed summary, so that a text cannot show another one than the
// verdict rests on; a ratio that nobody predicted is worked out from the samples.
#include "testbed/judge/address.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/judge/figure.h"
#include "testbed/judge/shown.h"
#include "testbed/postulate/metric.h"

// --- the text ------------------------------------------------------------------------------------------------------------------

// "0018.add1", "0018.add1/P3"
static bool parse_record(const char *word, struct tb_address *out)
{
    size_t digits = strspn(word, "0123456789"), length = strcspn(word, "/");
    size_t added = strncmp(word + digits, ".add", 4) == 0 ? 4 + strspn(word + digits + 4, "0123456789") : 0;
    const char *id = word + length + (word[length] == '/');
    bool id_whole = strchr("PS", id[0]) && strspn(id + 1, "0123456789") == strlen(id + 1) && id[1];
    if (digits != 4 || added == 4 || digits + added != length || length >= sizeof out->record)
        return false;
    if (word[length] && (!id_whole || strlen(id) >= sizeof out->prediction))
        return false;
    snprintf(out->record, sizeof out->record, "%.*s", (int)length, word);
    snprintf(out->prediction, sizeof out->prediction, "%s", id);
    return true;
}

// "D/A", "hl_ratio(D/A)", "max(locus)". Changes the word.
static bool parse_arms(char *word, struct tb_address *out)
{
    static const enum tb_stat stats[] = {TB_STAT_HL_RATIO, TB_STAT_MAX, TB_STAT_MIN};
    const char *name = tb_stat_name(TB_STAT_HL_RATIO);
    char *open = strchr(word, '('), *close = word + strlen(word) - 1;
    if (open && *close == ')') {
        *open = *close = 0;
        name = word;
        word = open + 1;
    }
    size_t length = strcspn(word, "/");
    const char *under = word + length + (word[length] == '/');
    if (length == 0 || length >= sizeof out->over || strlen(under) >= sizeof out->under || strpbrk(word, "()"))
        return false;
    snprintf(out->over, sizeof out->over, "%.*s", (int)length, word);
    snprintf(out->under, sizeof out->under, "%s", under);
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++)
        if (strcmp(name, tb_stat_name(stats[i])) == 0) {
            out->stat = stats[i];
            return tb_stat_is_ratio(stats[i]) == (under[0] != 0);
        }
    return false;
}

int tb_address_parse(const char *text, struct tb_address *out, char *why, size_t why_bytes)
{
    char record[32] = "", arms[160] = "", of[4] = "", metric[32] = "time_ns", more[2];
    *out = (struct tb_address){.stat = TB_STAT_HL_RATIO};
    int words = sscanf(text, "%31s %127s %159s %3s %31s %1s", record, out->cell, arms, of, metric, more);
    const char *wrong = NULL;
    if (words < 1 || !parse_record(record, out))
        wrong = "does not begin with a record, as in 0018.add1 or 0018.add1/P3";
    else if (out->prediction[0] ? words > 2 : words == 2 || words == 4 || words > 5)
        wrong = "is neither '0018/P3 CELL' nor '0018 CELL ARM/ARM of METRIC'";
    else if (words > 2 && !parse_arms(arms, out))
        wrong = "names no arms, as in D/A, max(A) or min(A)";
    else if (words == 5 && (strcmp(of, "of") || !tb_metric_find(metric)))
        wrong = "names no metric at its end, as in: of outstanding_ratio";
    snprintf(out->metric, sizeof out->metric, "%s", metric);
    if (wrong)
        snprintf(why, why_bytes, "'%.200s' %s", text, wrong);
    return wrong ? -EINVAL : 0;
}

// --- what was sealed -----------------------------------------------------------------------------------------------------------

static const json_t *prediction_find(const struct tb_log_view *view, const char *id)
{
    const json_t *prediction;
    size_t i;
    json_array_foreach (tb_member(view->summary, "predictions"), i, prediction)
        if (strcmp(tb_member_text(prediction, "id"), id) == 0)
            return prediction;
    return NULL;
}

static bool has_cell(const json_t *part, const char *cell)
{
    return !cell[0] || strcmp(tb_member_text(part, "cell"), cell) == 0;
}

// The prediction itself, or its part in the cell: of several, an order's, the one that stands worst, which is the prediction's own
// figure. NULL: there is none, or it is not said which.
static const json_t *part_find(const json_t *prediction, const char *cell)
{
    const json_t *parts = tb_member(prediction, "parts"), *part, *found = NULL;
    const char *first = tb_member_text(json_array_get(parts, 0), "cell");
    double worst = tb_member_number(prediction, "estimate");
    size_t i;
    if (json_array_size(parts) == 0)
        return has_cell(prediction, cell) ? prediction : NULL;
    json_array_foreach (parts, i, part) {
        if (!cell[0] && !has_cell(part, first))
            return NULL;
        if (has_cell(part, cell) && (!found || tb_member_number(part, "estimate") == worst))
            found = part;
    }
    return found;
}

static int sealed(const struct tb_log_view *view, const struct tb_address *address, struct tb_addressed *out, char *why,
                  size_t why_bytes)
{
    const json_t *prediction = prediction_find(view, address->prediction);
    const json_t *part = part_find(prediction, address->cell);
    if (!prediction)
        snprintf(why, why_bytes, "%s: %s has no prediction %s", view->path, address->record, address->prediction);
    else if (!part)
        snprintf(why, why_bytes, "%s: %s has %s", view->path, address->prediction,
                 address->cell[0] ? "no part in that cell" : "parts in several cells: name one");
    else if (!tb_prediction_measured(view->header, prediction) || !isfinite(tb_member_number(part, "estimate")))
        snprintf(why, why_bytes, "%s: %s has no figure", view->path, address->prediction);
    else {
        *out = (struct tb_addressed){tb_member_number(part, "estimate"), tb_member_number(part, "low"),
                                     tb_member_number(part, "high"), tb_member_text(part, "verdict")};
        return 0;
    }
    return -ENODATA;
}

// --- what was measured ---------------------------------------------------------------------------------------------------------

// A member of a cell, or of the design where the log is older than the member.
static const json_t *setting(const struct tb_log_view *view, const json_t *cell, const char *name)
{
    const json_t *value = tb_member(cell, name);
    return value && !json_is_null(value) ? value : tb_member(tb_member(view->header, "design"), name);
}

// "steady-decode/full/futex/4w/4KiB"
static const char *cell_long(const struct tb_log_view *view, size_t index, char *out, size_t bytes)
{
    const json_t *cell = json_array_get(tb_member(view->header, "cells"), index);
    const char *dispatch = json_string_value(setting(view, cell, "dispatch"));
    uint64_t size = (uint64_t)json_number_value(setting(view, cell, "block_bytes"));
    char workers[24] = "";
    if (dispatch && strcmp(dispatch, "inline"))
        snprintf(workers, sizeof workers, "%.0fw/", json_number_value(setting(view, cell, "workers")));
    snprintf(out, bytes, "%s/%s/%s/%s%" PRIu64 "%s", tb_member_text(cell, "workload"), tb_member_text(cell, "touch"),
             dispatch ? dispatch : "", workers, size % 1024 ? size : size / 1024, size % 1024 ? "B" : "KiB");
    return out;
}

static bool is_arm(const json_t *arm, const char *wanted)
{
    const char *name = tb_member_text(arm, "name");
    size_t length = strcspn(name, "%");
    return strcmp(tb_member_text(arm, "key"), wanted) == 0 || (strlen(wanted) == length && strncmp(name, wanted, length) == 0);
}

// The n-th arm that is meant, by its key; NULL: there is none.
static const char *arm_key(const struct tb_log_view *view, const char *wanted, size_t n)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(view->header, "arms"), i, arm)
        if (is_arm(arm, wanted) && n-- == 0)
            return tb_member_text(arm, "key");
    return NULL;
}

// Takes one cell's figure into `out`: of several the largest or least stays.
static int measure_cell(const struct tb_log_view *view, const struct tb_address *address, const char *cell,
                        struct tb_addressed *out, char *why, size_t why_bytes)
{
    struct tb_prediction prediction = {.stat = address->stat, .confidence = TB_CONFIDENCE};
    const char *over;
    bool several = !tb_stat_is_ratio(address->stat);
    snprintf(prediction.metric, sizeof prediction.metric, "%s", address->metric);
    for (size_t i = 0; (over = arm_key(view, address->over, i)) && (i == 0 || several); i++) {
        struct tb_part part = {.cell = cell, .over = over, .under = several ? NULL : arm_key(view, address->under, 0)};
        const struct tb_ratio *seen = &part.figure.seen;
        int rc = tb_part_measure(view, &prediction, 1, TB_CONFIDENCE, &part); // nobody claimed it: the plain interval
        if (rc)
            return rc;
        if (!part.figure.known) {
            snprintf(why, why_bytes, "%s: %s", view->path, part.figure.why);
            return -ENODATA;
        }
        bool better = address->stat == TB_STAT_MIN ? seen->estimate < out->estimate : seen->estimate > out->estimate;
        if (isnan(out->estimate) || better)
            out->estimate = seen->estimate, out->low = seen->low, out->high = seen->high;
    }
    return 0;
}

static int measured(const struct tb_log_view *view, const struct tb_address *address, struct tb_addressed *out, char *why,
                    size_t why_bytes)
{
    bool several = !tb_stat_is_ratio(address->stat);
    size_t cells = 0;
    if (!arm_key(view, address->over, 0) || (!several && !arm_key(view, address->under, 0))) {
        snprintf(why, why_bytes, "%s: there is no arm %s", view->path,
                 arm_key(view, address->over, 0) ? address->under : address->over);
        return -ENODATA;
    }
    for (size_t i = 0; i < tb_cells_count(view); i++) {
        char label[160], whole[256];
        tb_cell_label(view, i, label, sizeof label);
        cell_long(view, i, whole, sizeof whole);
        if (strcmp(label, address->cell) && strcmp(whole, address->cell) && !(several && fnmatch(address->cell, label, 0) == 0))
            continue;
        cells++;
        int rc = measure_cell(view, address, label, out, why, why_bytes);
        if (rc)
            return rc;
    }
    if (cells == 0)
        snprintf(why, why_bytes, "%s: the cell %s was not run", view->path, address->cell);
    return cells == 0 ? -ENODATA : 0;
}

int tb_address_measure(const struct tb_log_view *view, const struct tb_address *address, struct tb_addressed *out, char *why,
                       size_t why_bytes)
{
    *out = (struct tb_addressed){NAN, NAN, NAN, tb_member_text(view->summary, "verdict")};
    if (address->prediction[0])
        return sealed(view, address, out, why, why_bytes);
    return address->over[0] ? measured(view, address, out, why, why_bytes) : 0;
}
