// SPDX-License-Identifier: Apache-2.0
//
// tables: what the summary says beside the verdicts: each arm by itself, the A/A pairs, the positive control.
//
// An A/A pair shows what the testbed sees where nothing is to be seen. The positive control shows that it sees what is there: an
// arm slowed down on purpose.
#include "testbed/judge/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/stats/stats.h"

#define AA_CONFIDENCE 0.99
#define BOOTSTRAP_SEED 1 // the same log gives the same summary

static json_t *appended(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

// Ratio of two arms' times in a cell. false: there is none (no samples, invalid ones, no memory).
static bool time_ratio(const struct tb_log_view *view, const char *cell, const char *over, const char *under, double confidence,
                       struct tb_ratio *out)
{
    struct tb_pair pair;
    char ignored[200];
    if (tb_pair_load(view, "time_ns", cell, over, under, &pair, ignored, sizeof ignored))
        return false;
    int rc = tb_ratio(pair.under, pair.over, pair.n, confidence, out);
    tb_pair_close(&pair);
    return rc == 0;
}

static json_t *ratio_row(const char *cell, const char *over, const char *under, const struct tb_ratio *ratio)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "cell", cell, "arms", json_sprintf("%s/%s", over, under), "estimate",
                     tb_json_number(ratio->estimate), "low", ratio->bounded ? tb_json_number(ratio->low) : json_null(), "high",
                     tb_json_number(ratio->high), "confidence", ratio->bounded ? tb_json_number(ratio->confidence) : json_null());
}

// Of an emulated run none of these tables has anything: they are of time.
static uint32_t cells_timed(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    return tb_log_emulated(view) ? 0 : postulate->cells_count;
}

json_t *tb_table_aa(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    json_t *rows = json_array();
    for (uint32_t cell = 0; cell < cells_timed(view, postulate); cell++) {
        for (uint32_t second = 1; second < postulate->arms_count; second++) {
            for (uint32_t first = 0; first < second; first++) {
                const struct tb_postulate_arm *over = &postulate->arms[second], *under = &postulate->arms[first];
                struct tb_ratio ratio;
                if (strcmp(over->name, under->name) == 0 &&
                    time_ratio(view, postulate->cells[cell], over->key, under->key, AA_CONFIDENCE, &ratio))
                    rows = appended(rows, ratio_row(postulate->cells[cell], over->key, under->key, &ratio));
            }
        }
    }
    return rows;
}

static json_t *arm_row(const char *cell, const char *arm, const double values[], size_t n)
{
    struct tb_ratio median = {.estimate = NAN, .low = NAN, .high = NAN};
    struct tb_outliers outliers = {0};
    double least = INFINITY;
    bool known =
        tb_median_bootstrap(values, n, TB_CONFIDENCE, BOOTSTRAP_SEED, &median) == 0 && tb_outliers(values, n, &outliers) == 0;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, values[i]);
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cell", cell, "arm", arm, "n", (json_int_t)n, "median",
                     tb_json_number(median.estimate), "low", tb_json_number(median.low), "high", tb_json_number(median.high), "mad",
                     tb_json_number(tb_mad(values, n)), "min", tb_json_number(least), "outliers_mild",
                     known ? json_integer((json_int_t)outliers.mild) : json_null(), "outliers_severe",
                     known ? json_integer((json_int_t)outliers.severe) : json_null());
}

json_t *tb_table_arms(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    json_t *rows = json_array();
    for (uint32_t cell = 0; cell < cells_timed(view, postulate); cell++) {
        for (uint32_t arm = 0; arm < postulate->arms_count; arm++) {
            struct tb_pair pair;
            char ignored[200];
            const char *key = postulate->arms[arm].key;
            if (tb_pair_load(view, "time_ns", postulate->cells[cell], key, NULL, &pair, ignored, sizeof ignored))
                continue;
            rows = appended(rows, arm_row(postulate->cells[cell], key, pair.over, pair.n));
            tb_pair_close(&pair);
        }
    }
    return rows;
}

// "locus@delay:3" and "locus": the arms' places, and the percentage. false: there is no such pair.
static bool control_find(const struct tb_postulate *postulate, uint32_t *slowed, uint32_t *plain, double *percent)
{
    for (*slowed = 0; *slowed < postulate->arms_count; ++*slowed) {
        const char *name = postulate->arms[*slowed].name, *at = strstr(name, "@delay:");
        for (*plain = 0; at && *plain < postulate->arms_count; ++*plain) {
            const char *candidate = postulate->arms[*plain].name;
            if (strlen(candidate) != (size_t)(at - name) || strncmp(candidate, name, strlen(candidate)))
                continue;
            *percent = strtod(at + strlen("@delay:"), NULL);
            return true;
        }
    }
    return false;
}

json_t *tb_table_positive_control(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    struct tb_ratio least = {.low = INFINITY};
    const char *cell = NULL;
    uint32_t slowed, plain;
    double percent;
    if (tb_log_emulated(view) || !control_find(postulate, &slowed, &plain, &percent))
        return json_null();
    const char *over = postulate->arms[slowed].key, *under = postulate->arms[plain].key;
    for (uint32_t c = 0; c < postulate->cells_count; c++) {
        struct tb_ratio ratio;
        if (!time_ratio(view, postulate->cells[c], over, under, TB_CONFIDENCE, &ratio))
            ratio = (struct tb_ratio){.estimate = NAN, .high = INFINITY}; // no time to compare: not found
        if (!cell || ratio.low < least.low) {
            least = ratio;
            cell = postulate->cells[c];
        }
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "percent", tb_json_number(percent), "arms",
                     json_sprintf("%s/%s", over, under), "cell", tb_json_text(cell), "estimate", tb_json_number(least.estimate),
                     "low", least.bounded ? tb_json_number(least.low) : json_null(), "high", tb_json_number(least.high), "found",
                     cell && least.bounded && least.low > 1);
}
