// SPDX-License-Identifier: Apache-2.0
//
// gates: see gates.h.
//
// Proof gates say that the work was done: the measured process counts, and one sample that does not add up makes the whole run
// invalid, because what lost a block may have disturbed all. Noise gates say that the host was fit to measure. They look at
// the paired log-ratios and not at the arms' times: pairing removes what a whole round suffers.
#include "testbed/judge/gates.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/judge/figure.h"
#include "testbed/postulate/metric.h"
#include "testbed/stats/stats.h"

// --- gates: proof
// --------------------------------------------------------------------------------------------------------------

#define AA_BAND_MIN 0.01
#define SPREAD_SD_MAX 0.10
#define SPREAD_EXTREME_MAX 0.50

// The two counts that must be equal; "handles home" stands for everything else that makes a sample invalid: a handle that did
// not come home or was refused, a block that lost its content, a process that crashed.
static const struct proof {
    const char *gate, *left, *right;
} proofs[] = {
    {"allocated == freed", "allocated", "freed"},
    {"pushed == drained", "pushed", "drained"},
    {"touched == expected", "touched_bytes", "touched_bytes_expected"},
    {"handles home", NULL, NULL},
};

enum { PROOFS = sizeof proofs / sizeof *proofs };

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_int_t count_of(const json_t *sample, const char *member)
{
    return json_integer_value(json_object_get(sample, member));
}

// The proof that this sample fails, or PROOFS.
static size_t sample_failure(const json_t *sample)
{
    for (size_t i = 0; i < PROOFS; i++)
        if (proofs[i].left && count_of(sample, proofs[i].left) != count_of(sample, proofs[i].right))
            return i;
    return json_is_true(tb_member(sample, "ran")) && json_is_true(tb_member(sample, "valid")) ? PROOFS : PROOFS - 1;
}

static void sample_reason(const json_t *sample, const struct proof *proof, char *out, size_t bytes)
{
    const char *invalid = tb_member_text(sample, "invalid");
    char counts[96] = "the process did not end well";
    if (proof->left)
        snprintf(counts, sizeof counts, "%s %lld, %s %lld", proof->left, (long long)count_of(sample, proof->left), proof->right,
                 (long long)count_of(sample, proof->right));
    snprintf(out, bytes, "arm %s, cell %lld, round %lld: %.120s", tb_member_text(sample, "arm"),
             (long long)count_of(sample, "cell"), (long long)count_of(sample, "round"), *invalid ? invalid : counts);
}

static int gate_add(struct tb_gates *gates, const char *gate, bool proof, bool passed, const char *reason)
{
    char *failed = proof ? gates->failed_proof : gates->failed_noise;
    if (!passed && !*failed)
        snprintf(failed, TB_GATE_WHY_BYTES, "%s: %s", gate, reason);
    return json_array_append_new(gates->list, json_pack("{s:s, s:s, s:b, s:o}", "gate", gate, "kind", proof ? "proof" : "noise",
                                                        "passed", passed, "reason", text_or_null(reason))) < 0
               ? -ENOMEM
               : 0;
}

// All of them, whatever the postulate lists.
static int proof_gates(const struct tb_log_view *view, struct tb_gates *gates)
{
    char reasons[PROOFS][224] = {0};
    size_t failures[PROOFS + 1] = {0};
    for (size_t i = 0; i < view->samples_count; i++) {
        const json_t *sample = view->samples[i].line;
        size_t failure = sample_failure(sample);
        if (failures[failure]++ == 0 && failure < PROOFS)
            sample_reason(sample, &proofs[failure], reasons[failure], sizeof reasons[failure]);
    }
    int rc = 0;
    for (size_t i = 0; i < PROOFS && rc == 0; i++) {
        size_t length = strlen(reasons[i]);
        if (failures[i] > 1)
            snprintf(reasons[i] + length, sizeof reasons[i] - length, " (and %zu more)", failures[i] - 1);
        rc = gate_add(gates, proofs[i].gate, true, failures[i] == 0, reasons[i]);
    }
    return rc;
}

// --- gates: noise
// --------------------------------------------------------------------------------------------------------------

// How far from 1 the least of the claimed ratios of measured values is. A claim of mere order has no size: 0.
static double smallest_effect(const struct tb_postulate *postulate)
{
    double smallest = INFINITY;
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_prediction *p = &postulate->predictions[i];
        if (!tb_stat_is_ratio(p->stat) || tb_prediction_exact(p))
            continue;
        smallest = fmin(smallest, fabs(p->low - 1));
        if (p->op == TB_CLAIM_WITHIN)
            smallest = fmin(smallest, fabs(p->high - 1));
    }
    return isfinite(smallest) ? smallest : 0;
}

// The test that a gate of A/A pairs makes of one interval.
enum aa_test { AA_CONTAINS, AA_INSIDE, AA_EQUIVALENT };

static bool aa_passes(enum aa_test test, double low, double high, double band)
{
    if (test == AA_EQUIVALENT)
        return low >= 1 / (1 + band) && high <= 1 + band;
    return (low >= 1 - band && high <= 1 + band) || (test == AA_CONTAINS && low <= 1 && high >= 1);
}

static void aa_say(enum aa_test test, const json_t *row, double band, char *reason, size_t bytes)
{
    double low = tb_member_number(row, "low"), high = tb_member_number(row, "high");
    const char *cell = tb_member_text(row, "cell"), *arms = tb_member_text(row, "arms");
    if (isnan(low) || isnan(high))
        snprintf(reason, bytes, "%s in %s: too few rounds for a %.0f %% interval", arms, cell,
                 100 * (test == AA_EQUIVALENT ? TB_CONFIDENCE : TB_AA_CONFIDENCE));
    else if (test == AA_EQUIVALENT)
        snprintf(reason, bytes, "%s in %s: [%.4f, %.4f] is not inside [%.4f, %.4f]", arms, cell, low, high, 1 / (1 + band),
                 1 + band);
    else
        snprintf(reason, bytes, "%s in %s: [%.4f, %.4f] %s 1 +/- %.4f", arms, cell, low, high,
                 test == AA_INSIDE ? "is not inside" : "excludes 1 and is not inside", band);
}

static void hold(const struct tb_postulate *postulate, struct tb_gates *gates, const char *cell, const char *gate,
                 const char *reason)
{
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        if ((!cell || strcmp(postulate->cells[i], cell) == 0) && !gates->held[i][0])
            snprintf(gates->held[i], TB_GATE_WHY_BYTES, "%s: %s", gate, reason);
}

// Without a twin all cells are held: nothing shows what the testbed adds.
static bool aa_gate(const struct tb_log_view *view, const struct tb_postulate *postulate, struct tb_gates *gates, const char *gate,
                    enum aa_test test, char *reason, size_t bytes)
{
    double band = test == AA_EQUIVALENT ? postulate->aa_band : fmax(AA_BAND_MIN, smallest_effect(postulate) / 4);
    json_t *rows = tb_table_aa(view, postulate, test == AA_EQUIVALENT ? TB_CONFIDENCE : TB_AA_CONFIDENCE), *row;
    bool passed = json_array_size(rows) > 0;
    size_t i;
    if (!passed) {
        snprintf(reason, bytes, "no contender is there twice, so nothing shows what the testbed adds");
        hold(postulate, gates, NULL, gate, reason);
    }
    json_array_foreach (rows, i, row) {
        char why[200];
        if (aa_passes(test, tb_member_number(row, "low"), tb_member_number(row, "high"), band))
            continue;
        aa_say(test, row, band, why, sizeof why);
        hold(postulate, gates, tb_member_text(row, "cell"), gate, why);
        if (passed)
            snprintf(reason, bytes, "%s", why);
        passed = false;
    }
    json_decref(rows);
    return passed;
}

static bool part_is_calm(const struct tb_log_view *view, const struct tb_part *part, char *reason, size_t bytes)
{
    struct tb_pair pair;
    struct tb_spread spread;
    if (tb_part_load(view, "time_ns", part, &pair, reason, bytes))
        return false;
    int rc = tb_spread(pair.under, pair.over, pair.n, &spread);
    tb_pair_close(&pair);
    bool calm = rc == 0 && !(spread.sd >= SPREAD_SD_MAX) && expm1(spread.extreme) < SPREAD_EXTREME_MAX;
    if (!calm && rc == 0)
        snprintf(reason, bytes, "%s/%s in %s: sd %.1f %%, the farthest round %.0f %% off", part->over, part->under, part->cell,
                 100 * spread.sd, 100 * expm1(spread.extreme));
    else if (!calm)
        snprintf(reason, bytes, "%s/%s in %s: a round has no time", part->over, part->under, part->cell);
    return calm;
}

static bool paired_spread(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes)
{
    bool calm = true;
    for (uint32_t p = 0; p < postulate->predictions_count && calm; p++) {
        const struct tb_prediction *prediction = &postulate->predictions[p];
        struct tb_part *parts = NULL;
        size_t count = 0;
        if (!tb_stat_is_ratio(prediction->stat) || !tb_metric_is_time(prediction->metric))
            continue;
        calm = tb_parts(postulate, prediction, &parts, &count) == 0;
        for (size_t i = 0; i < count && calm; i++)
            calm = part_is_calm(view, &parts[i], reason, bytes);
        free(parts);
    }
    return calm;
}

static bool throttle(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes)
{
    (void)postulate;
    const json_t *before = json_object_get(view->header, "before"), *after = json_object_get(view->after, "counters");
    bool known = json_is_object(before) && json_is_object(after);
    if (!known)
        snprintf(reason, bytes, "the counters before or after the run are missing");
    else if (tb_environment_throttled(before, after))
        snprintf(reason, bytes, "the host throttled during the run");
    return known && !*reason;
}

// What was there before the first sample. What came up meanwhile shows in the other gates.
static bool host_fit(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes)
{
    (void)postulate;
    bool fit = tb_doctor_header_says(view->header, reason, bytes);
    if (fit)
        reason[0] = '\0';
    else if (!reason[0])
        snprintf(reason, bytes, "the log does not say whether the host was fit");
    return fit;
}

static const struct noise {
    const char *gate;
    bool of_time;               // looks at times: an emulated machine has none, and no prediction rests on them there
    bool (*passes)(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes);
    enum aa_test test;          // where `passes` is NULL
} noises[] = {
    {"aa_ratio_ci contains 1", true, NULL, AA_CONTAINS},
    {"aa_ratio_ci inside band", true, NULL, AA_INSIDE},
    {"aa_equivalent", true, NULL, AA_EQUIVALENT},
    {"paired_spread", true, paired_spread, 0},
    {"throttle == 0", false, throttle, 0},
    {"host_fit", true, host_fit, 0},
};

static bool noise_passes(const struct noise *noise, const struct tb_log_view *view, const struct tb_postulate *postulate,
                         struct tb_gates *gates, char *reason, size_t bytes)
{
    const char *guest = tb_log_emulated(view);
    if (guest && noise->of_time) {
        snprintf(reason, bytes, "not asked: nothing is judged by the clock of an emulated machine (%.64s)", guest);
        return true;
    }
    if (!noise->passes)
        return aa_gate(view, postulate, gates, noise->gate, noise->test, reason, bytes);
    bool passed = noise->passes(view, postulate, reason, bytes);
    if (!passed)
        hold(postulate, gates, NULL, noise->gate, reason);
    return passed;
}

static bool is_proof(const char *gate)
{
    for (size_t i = 0; i < PROOFS; i++)
        if (strcmp(gate, proofs[i].gate) == 0)
            return true;
    return false;
}

// Those that the postulate lists. One that nobody knows cannot have passed.
static int noise_gates(const struct tb_log_view *view, const struct tb_postulate *postulate, struct tb_gates *gates)
{
    int rc = 0;
    for (uint32_t g = 0; g < postulate->gates_count && rc == 0; g++) {
        const char *gate = postulate->gates[g];
        const struct noise *noise = noises, *end = noises + sizeof noises / sizeof *noises;
        char reason[200] = "";
        while (noise < end && strcmp(gate, noise->gate))
            noise++;
        if (noise < end) {
            bool passed = noise_passes(noise, view, postulate, gates, reason, sizeof reason);
            rc = gate_add(gates, gate, false, passed, reason);
        } else if (!is_proof(gate)) {
            rc = gate_add(gates, gate, true, false, "there is no such gate");
        }
    }
    return rc;
}

int tb_gates_judge(const struct tb_log_view *view, const struct tb_postulate *postulate, struct tb_gates *out)
{
    *out = (struct tb_gates){.list = json_array()};
    int rc = out->list ? proof_gates(view, out) : -ENOMEM;
    if (rc == 0)
        rc = noise_gates(view, postulate, out);
    if (rc < 0) {
        json_decref(out->list);
        out->list = NULL;
    }
    return rc;
}
