// SPDX-License-Identifier: Apache-2.0
//
// verdict: may the samples be judged at all, and what do they say? Gates first; then predictions taken apart, judged, and put
// together again.
//
// Proof gates say that the work was done: the measured process counts, and one sample that does not add up makes the whole run
// invalid, because what lost a block may have disturbed all. Noise gates say that the host was fit to measure. They look at
// the paired log-ratios and not at the arms' times: pairing removes what a whole round suffers.
//
// Arms and cells are those of the postulate and not those of the log: what was promised and not run cannot survive. A conjunction
// needs no correction for the number of its parts: each further part can only make it harder to survive. Predictions that
// are judged side by side do, because the record would show whichever of them came true by chance.
#include "testbed/judge/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/postulate/metric.h"

const char *tb_verdict_name(enum tb_verdict verdict)
{
    static const char *const names[TB_VERDICT_COUNT] = {
        [TB_VERDICT_SURVIVED] = "survived",
        [TB_VERDICT_FALSIFIED] = "falsified",
        [TB_VERDICT_INCONCLUSIVE] = "inconclusive",
        [TB_VERDICT_NOISE] = "inconclusive (noise)",
        [TB_VERDICT_UNSTABLE] = "inconclusive (unstable)",
        [TB_VERDICT_NO_DIFFERENCE] = "no-difference",
        [TB_VERDICT_INVALID] = "invalid",
        [TB_VERDICT_UNMEASURABLE] = "unmeasurable-on-host",
        [TB_VERDICT_SMOKE] = "none (smoke)",
    };
    return (size_t)verdict < TB_VERDICT_COUNT ? names[verdict] : "?";
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

// --- gates: proof --------------------------------------------------------------------------------------------------------------

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

struct gates {
    json_t *list;               // the summary's "gates"
    char failed_proof[256], failed_noise[256]; // the first that failed; ""
};

static int gate_add(struct gates *gates, const char *gate, bool proof, bool passed, const char *reason)
{
    char *failed = proof ? gates->failed_proof : gates->failed_noise;
    if (!passed && !*failed)
        snprintf(failed, sizeof gates->failed_proof, "%s: %s", gate, reason);
    return json_array_append_new(gates->list, json_pack("{s:s, s:s, s:b, s:o}", "gate", gate, "kind", proof ? "proof" : "noise",
                                                        "passed", passed, "reason", text_or_null(reason))) < 0
               ? -ENOMEM
               : 0;
}

// All of them, whatever the postulate lists.
static int proof_gates(const struct tb_log_view *view, struct gates *gates)
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

// --- gates: noise --------------------------------------------------------------------------------------------------------------

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

// `inside`: the interval must lie inside the band. Otherwise it may also be wider, if it contains 1: then no difference between the
// two is shown, and how wide it is tells in the other intervals.
static bool aa_gate(const struct tb_log_view *view, const struct tb_postulate *postulate, bool inside, char *reason, size_t bytes)
{
    double band = fmax(AA_BAND_MIN, smallest_effect(postulate) / 4);
    json_t *rows = tb_table_aa(view, postulate), *row;
    bool passed = json_array_size(rows) > 0;
    size_t i;
    if (!passed)
        snprintf(reason, bytes, "no contender is there twice, so nothing shows what the testbed adds");
    json_array_foreach (rows, i, row) {
        double low = tb_member_number(row, "low"), high = tb_member_number(row, "high");
        const char *cell = tb_member_text(row, "cell"), *arms = tb_member_text(row, "arms");
        if ((low >= 1 - band && high <= 1 + band) || (!inside && low <= 1 && high >= 1))
            continue;
        passed = false;
        if (isnan(low) || isnan(high))
            snprintf(reason, bytes, "%s in %s: too few rounds for a %.0f %% interval", arms, cell, 100 * TB_AA_CONFIDENCE);
        else
            snprintf(reason, bytes, "%s in %s: [%.4f, %.4f] %s 1 +/- %.4f", arms, cell, low, high,
                     inside ? "is not inside" : "excludes 1 and is not inside", band);
        break;
    }
    json_decref(rows);
    return passed;
}

static bool aa_contains_1(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes)
{
    return aa_gate(view, postulate, false, reason, bytes);
}

static bool aa_inside_band(const struct tb_log_view *view, const struct tb_postulate *postulate, char *reason, size_t bytes)
{
    return aa_gate(view, postulate, true, reason, bytes);
}

static bool part_is_calm(const struct tb_log_view *view, const struct tb_part *part, char *reason, size_t bytes)
{
    struct tb_pair pair;
    struct tb_spread spread;
    if (tb_pair_load(view, "time_ns", part->cell, part->over, part->under, &pair, reason, bytes))
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
} noises[] = {
    {"aa_ratio_ci contains 1", true, aa_contains_1},
    {"aa_ratio_ci inside band", true, aa_inside_band},
    {"paired_spread", true, paired_spread},
    {"throttle == 0", false, throttle},
    {"host_fit", true, host_fit},
};

static bool noise_passes(const struct noise *noise, const struct tb_log_view *view, const struct tb_postulate *postulate,
                         char *reason, size_t bytes)
{
    const char *guest = tb_log_emulated(view);
    if (!guest || !noise->of_time)
        return noise->passes(view, postulate, reason, bytes);
    snprintf(reason, bytes, "not asked: nothing is judged by the clock of an emulated machine (%.64s)", guest);
    return true;
}

static bool is_proof(const char *gate)
{
    for (size_t i = 0; i < PROOFS; i++)
        if (strcmp(gate, proofs[i].gate) == 0)
            return true;
    return false;
}

// Those that the postulate lists. One that nobody knows cannot have passed.
static int noise_gates(const struct tb_log_view *view, const struct tb_postulate *postulate, struct gates *gates)
{
    int rc = 0;
    for (uint32_t g = 0; g < postulate->gates_count && rc == 0; g++) {
        const char *gate = postulate->gates[g];
        const struct noise *noise = noises, *end = noises + sizeof noises / sizeof *noises;
        char reason[200] = "";
        while (noise < end && strcmp(gate, noise->gate))
            noise++;
        if (noise < end) {
            bool passed = noise_passes(noise, view, postulate, reason, sizeof reason);
            rc = gate_add(gates, gate, false, passed, reason);
        } else if (!is_proof(gate)) {
            rc = gate_add(gates, gate, true, false, "there is no such gate");
        }
    }
    return rc;
}

static int gates_judge(const struct tb_log_view *view, const struct tb_postulate *postulate, struct gates *out)
{
    *out = (struct gates){.list = json_array()};
    int rc = out->list ? proof_gates(view, out) : -ENOMEM;
    if (rc == 0)
        rc = noise_gates(view, postulate, out);
    if (rc < 0) {
        json_decref(out->list);
        out->list = NULL;
    }
    return rc;
}

// --- parts ---

static bool is_conjunction(const struct tb_prediction *prediction)
{
    return strpbrk(prediction->cell, "*?[") || prediction->stat == TB_STAT_ORDER ||
           (tb_stat_is_ratio(prediction->stat) && strcmp(prediction->over, "*") == 0);
}

static size_t cell_parts(const struct tb_postulate *postulate, const struct tb_prediction *prediction, const char *cell,
                         struct tb_part parts[])
{
    bool ratio = tb_stat_is_ratio(prediction->stat);
    size_t count = 0;
    for (uint32_t i = 1; prediction->stat == TB_STAT_ORDER && i < prediction->order_count; i++)
        parts[count++] = (struct tb_part){.cell = cell, .over = prediction->order[i], .under = prediction->order[i - 1]};
    if (prediction->stat == TB_STAT_ORDER)
        return count;
    if (!ratio || strcmp(prediction->over, "*")) {
        parts[0] = (struct tb_part){.cell = cell, .over = ratio ? prediction->over : prediction->arm};
        parts[0].under = ratio ? prediction->under : NULL;
        return 1;
    }
    for (uint32_t arm = 0; arm < postulate->arms_count; arm++)
        if (tb_prediction_compares(postulate, prediction, arm))
            parts[count++] = (struct tb_part){.cell = cell, .over = postulate->arms[arm].key, .under = prediction->under};
    return count;
}

int tb_parts(const struct tb_postulate *postulate, const struct tb_prediction *prediction, struct tb_part **parts, size_t *count)
{
    bool sum = prediction->stat == TB_STAT_SUM;
    *count = 0;
    *parts = calloc((postulate->cells_count + (size_t)1) * (postulate->arms_count + (size_t)1), sizeof **parts);
    if (!*parts)
        return -ENOMEM;
    if (sum)
        (*parts)[(*count)++] = (struct tb_part){.cell = "", .over = ""};
    for (uint32_t cell = 0; cell < postulate->cells_count && !sum; cell++)
        if (tb_prediction_covers(prediction, postulate->cells[cell]))
            *count += cell_parts(postulate, prediction, postulate->cells[cell], *parts + *count);
    return 0;
}

// --- one prediction ---

struct judgement {
    enum tb_verdict verdict;
    char why[TB_WHY_BYTES];
};

// The worse one first: what is refuted, then what is not known, then the least slack.
static bool stands_worse(const struct tb_part *a, const struct tb_part *b)
{
    if (a->refuted != b->refuted)
        return a->refuted;
    if ((a->verdict == TB_VERDICT_INCONCLUSIVE) != (b->verdict == TB_VERDICT_INCONCLUSIVE))
        return a->verdict == TB_VERDICT_INCONCLUSIVE;
    return a->slack < b->slack;
}

static void say_part(const struct tb_part *part, bool conjunction, char *out, size_t bytes)
{
    const struct tb_figure *figure = &part->figure;
    char place[160] = "";
    if (conjunction)
        snprintf(place, sizeof place, "%s, %s%s%s: ", part->cell, part->over, part->under ? "/" : "",
                 part->under ? part->under : "");
    if (figure->why[0])
        snprintf(out, bytes, "%s%s", place, figure->why);
    else if (figure->seen.low == figure->seen.high)
        snprintf(out, bytes, "%s%.4g", place, figure->seen.estimate);
    else
        snprintf(out, bytes, "%s%.4g, [%.4g, %.4g]", place, figure->seen.estimate, figure->seen.low, figure->seen.high);
}

// Two parts of a conjunction may be undecided in different ways; only all of them together are without a difference.
static struct judgement combine(const struct tb_part parts[], size_t count, const struct tb_part *worst, bool conjunction)
{
    size_t of[TB_VERDICT_COUNT] = {0}, refuted = 0;
    struct judgement out = {.verdict = TB_VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < count; i++) {
        of[parts[i].verdict]++;
        refuted += parts[i].refuted;
    }
    if (count == 0)
        snprintf(out.why, sizeof out.why, "there is nothing to compare");
    else if (of[TB_VERDICT_NO_DIFFERENCE] == count)
        out.verdict = TB_VERDICT_NO_DIFFERENCE;
    else if (refuted > 0)
        out.verdict = TB_VERDICT_FALSIFIED;
    else if (of[TB_VERDICT_SURVIVED] == count)
        out.verdict = TB_VERDICT_SURVIVED;
    if (count > 0 && out.verdict != TB_VERDICT_SURVIVED)
        say_part(worst, conjunction, out.why, sizeof out.why);
    return out;
}

// The members of what was seen: null where there is no such end.
static json_t *seen_json(const struct tb_ratio *seen)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "achieved", tb_json_number(seen->confidence), "estimate",
                     tb_json_number(seen->estimate), "low", seen->bounded ? tb_json_number(seen->low) : json_null(), "high",
                     seen->bounded ? tb_json_number(seen->high) : json_null());
}

// Both in one object, which it returns; takes over both. NULL without memory.
static json_t *joined(json_t *object, json_t *more)
{
    if (object && more && json_object_update_new(object, more) == 0)
        return object;
    json_decref(object);
    return NULL;
}

// `under` is said by the prediction, unless each of its parts has another.
static json_t *parts_json(const struct tb_part parts[], size_t count, bool under)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct tb_part *part = &parts[i];
        json_t *object = json_pack("{s:s, s:s, s:s*, s:s}", "cell", part->cell, "over", part->over, "under",
                                   under ? part->under : NULL, "verdict", tb_verdict_name(part->verdict));
        array = tb_json_appended(array, joined(object, seen_json(&part->figure.seen)));
    }
    return array;
}

static json_t *order_json(const struct tb_prediction *p)
{
    json_t *order = p->stat == TB_STAT_ORDER ? json_array() : NULL;
    for (uint32_t i = 0; i < p->order_count && order; i++)
        order = tb_json_appended(order, json_string(p->order[i]));
    return order;
}

// The claim's members, then the figures of `shown`. Without words there is no member `claim`, as in the logs of before.
static json_t *prediction_json(const struct tb_prediction *p, const struct tb_part *shown, json_t *parts)
{
    bool ratio = tb_stat_is_ratio(p->stat);
    char text[256];
    json_t *value = p->op == TB_CLAIM_WITHIN ? json_pack("[f, f]", p->low, p->high) : json_real(p->low);
    json_t *claim =
        json_pack("{s:s, s:s*, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:o*}", "id", p->id, "claim",
                  *p->claim ? p->claim : NULL, "text", tb_prediction_text(p, text, sizeof text), "metric", p->metric, "cell",
                  p->cell, "over", text_or_null(ratio ? p->over : ""), "under", text_or_null(ratio ? p->under : ""), "arm",
                  text_or_null(ratio ? "" : p->arm), "stat", tb_stat_name(p->stat), "op", tb_op_name(p->op), "value", value, "unit",
                  p->unit, "order", order_json(p));
    json_t *figures = json_pack("{s:o, s:I, s:o}", "confidence", tb_json_number(shown->figure.confidence), "n",
                                (json_int_t)shown->figure.seen.n, "parts", parts);
    return joined(joined(claim, figures), seen_json(&shown->figure.seen));
}

static int judge(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct tb_prediction *prediction,
                 double confidence, struct judgement *judgement, json_t **out)
{
    struct tb_part *parts = NULL, nothing = {.figure = {.seen = {.estimate = NAN}, .confidence = confidence}};
    const struct tb_part *worst = &nothing;
    bool conjunction = is_conjunction(prediction);
    size_t count;
    int rc = tb_parts(postulate, prediction, &parts, &count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = tb_part_measure(view, prediction, confidence, &parts[i]);
        tb_part_judge(prediction, &parts[i]);
        if (i == 0 || stands_worse(&parts[i], worst))
            worst = &parts[i];
    }
    if (rc == 0) {
        *judgement = combine(parts, count, worst, conjunction);
        *out = prediction_json(prediction, worst, parts_json(parts, conjunction ? count : 0, prediction->stat == TB_STAT_ORDER));
        rc = *out ? 0 : -ENOMEM;
    }
    free(parts);
    return rc;
}

// --- the run ---

// What makes all predictions moot; TB_VERDICT_COUNT: nothing does.
static struct judgement overruling(const struct tb_log_view *view, const struct gates *gates)
{
    struct judgement out = {.verdict = TB_VERDICT_COUNT};
    const char *unmet = json_string_value(json_object_get(view->header, "unmet"));
    const char *kind = json_string_value(json_object_get(view->header, "kind"));
    if (unmet && *unmet) {
        out.verdict = TB_VERDICT_UNMEASURABLE;
        snprintf(out.why, sizeof out.why, "%s", unmet);
    } else if (gates->failed_proof[0]) {
        out.verdict = TB_VERDICT_INVALID;
        snprintf(out.why, sizeof out.why, "%s", gates->failed_proof);
    } else if (kind && strcmp(kind, "smoke") == 0) {
        out.verdict = TB_VERDICT_SMOKE;
        snprintf(out.why, sizeof out.why, "a smoke run is too short to say anything");
    } else if (view->samples_count > 0 && gates->failed_noise[0]) {
        out.verdict = TB_VERDICT_NOISE;
        snprintf(out.why, sizeof out.why, "%s", gates->failed_noise);
    }
    return out;
}

// "P1, P3": the predictions with this verdict. Returns the first of them.
static size_t those_with(enum tb_verdict verdict, const struct tb_postulate *postulate, const struct judgement each[], char *out,
                         size_t bytes)
{
    size_t used = 0, first = 0;
    out[0] = '\0';
    for (size_t i = 0; i < postulate->predictions_count; i++) {
        if (each[i].verdict != verdict)
            continue;
        first = used ? first : i;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", postulate->predictions[i].id);
    }
    return first;
}

// What this machine could not judge, and that nothing else speaks against the postulate.
static void say_unmeasurable(const struct tb_postulate *postulate, const struct judgement each[], struct judgement *out)
{
    char unknown[TB_PREDICTIONS_MAX * 18], survived[TB_PREDICTIONS_MAX * 18];
    size_t first = those_with(TB_VERDICT_UNMEASURABLE, postulate, each, unknown, sizeof unknown);
    those_with(TB_VERDICT_SURVIVED, postulate, each, survived, sizeof survived);
    snprintf(out->why, sizeof out->why, "%s: %.260s%s%s%s", unknown, each[first].why, *survived ? "; the rest survived (" : "",
             survived, *survived ? ")" : "");
}

// A postulate stands or falls with each of its predictions.
static struct judgement overall(const struct tb_postulate *postulate, const struct judgement each[])
{
    size_t of[TB_VERDICT_COUNT] = {0}, count = postulate->predictions_count;
    struct judgement out = {.verdict = TB_VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < count; i++)
        of[each[i].verdict]++;
    if (of[TB_VERDICT_FALSIFIED] > 0)
        out.verdict = TB_VERDICT_FALSIFIED;
    else if (count > 0 && of[TB_VERDICT_SURVIVED] == count)
        out.verdict = TB_VERDICT_SURVIVED;
    else if (count > 0 && of[TB_VERDICT_SURVIVED] + of[TB_VERDICT_UNMEASURABLE] == count)
        out.verdict = TB_VERDICT_UNMEASURABLE;
    else if (count > 0 && of[TB_VERDICT_NO_DIFFERENCE] == count)
        out.verdict = TB_VERDICT_NO_DIFFERENCE;
    else if (count > 0 && of[TB_VERDICT_UNSTABLE] == count)
        out.verdict = TB_VERDICT_UNSTABLE;
    if (out.verdict == TB_VERDICT_UNMEASURABLE)
        say_unmeasurable(postulate, each, &out);
    bool mixed = out.verdict == TB_VERDICT_INCONCLUSIVE;
    for (size_t i = 0; i < count && !out.why[0] && out.verdict != TB_VERDICT_SURVIVED; i++)
        if (each[i].verdict == out.verdict ||
            (mixed && each[i].verdict != TB_VERDICT_SURVIVED && each[i].verdict != TB_VERDICT_UNMEASURABLE))
            snprintf(out.why, sizeof out.why, "%s %s: %.260s", postulate->predictions[i].id, tb_verdict_name(each[i].verdict),
                     each[i].why);
    return out;
}

static int verdict_set(json_t *object, const struct judgement *judgement)
{
    int rc = json_object_set_new(object, "verdict", json_string(tb_verdict_name(judgement->verdict)));
    rc |= json_object_set_new(object, "why", text_or_null(judgement->why));
    return rc ? -ENOMEM : 0;
}

// The parts of a prediction that nothing overruled keep their verdicts; those of an overruled one are overruled with it.
static int overrule_parts(json_t *prediction, const struct judgement *overruled)
{
    size_t i;
    json_t *part;
    int rc = 0;
    json_array_foreach (json_object_get(prediction, "parts"), i, part)
        rc |= json_object_set_new(part, "verdict", json_string(tb_verdict_name(overruled->verdict)));
    return rc ? -ENOMEM : 0;
}

// What makes one prediction moot, where nothing stronger makes them all so. A noise gate that failed keeps every figure from being
// judged; but of a time without a clock there is no figure, quiet or not.
static struct judgement overruling_one(const struct tb_log_view *view, const struct tb_postulate *postulate,
                                       const struct tb_prediction *prediction, const struct judgement *all)
{
    struct judgement out = *all;
    if (all->verdict != TB_VERDICT_COUNT && all->verdict != TB_VERDICT_NOISE)
        return out;
    if (tb_unmeasurable(view, prediction, out.why, sizeof out.why))
        out.verdict = TB_VERDICT_UNMEASURABLE;
    else if (all->verdict == TB_VERDICT_COUNT && tb_blocks_disagree(view, postulate, prediction, out.why, sizeof out.why))
        out.verdict = TB_VERDICT_UNSTABLE;
    return out;
}

static int predictions(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct judgement *overruled,
                       struct judgement *run, json_t *list)
{
    struct judgement each[TB_PREDICTIONS_MAX];
    unsigned intervals = 0;
    int rc = 0;
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        intervals += !tb_prediction_exact(&postulate->predictions[i]);
    for (uint32_t i = 0; i < postulate->predictions_count && rc == 0; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        bool exact = tb_prediction_exact(prediction);
        json_t *object = NULL;
        rc = judge(view, postulate, prediction, exact ? 1 : 1 - (1 - prediction->confidence) / intervals, &each[i], &object);
        struct judgement overrule = overruling_one(view, postulate, prediction, overruled);
        if (rc == 0 && overrule.verdict != TB_VERDICT_COUNT) {
            each[i] = overrule;
            rc = overrule_parts(object, &overrule);
        }
        if (rc == 0)
            rc = verdict_set(object, &each[i]);
        if (json_array_append_new(list, object) < 0)
            rc = -ENOMEM;
    }
    if (rc == 0)
        *run = overruled->verdict != TB_VERDICT_COUNT ? *overruled : overall(postulate, each);
    return rc;
}

// Rounds and blocks that have a sample: the highest number, and one, since both count from 0.
static json_int_t counted(const struct tb_log_view *view, const char *member)
{
    json_int_t count = 0;
    for (size_t i = 0; i < view->samples_count; i++) {
        json_int_t number = json_integer_value(json_object_get(view->samples[i].line, member));
        count = number + 1 > count ? number + 1 : count;
    }
    return count;
}

int tb_verdict_summary(const struct tb_log_view *view, const struct tb_postulate *postulate, json_t **out)
{
    struct gates gates;
    struct judgement run;
    int rc = gates_judge(view, postulate, &gates);
    if (rc < 0)
        return rc;
    json_t *list = json_array();
    struct judgement overruled = overruling(view, &gates);
    rc = list ? predictions(view, postulate, &overruled, &run, list) : -ENOMEM;
    json_t *sum = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "t", "sum", "rounds", counted(view, "round"), "blocks",
                            counted(view, "block"), "gates", gates.list, "predictions", list, "aa", tb_table_aa(view, postulate),
                            "arms", tb_table_arms(view, postulate), "positive_control", tb_table_positive_control(view, postulate));
    if (rc == 0)
        rc = sum ? verdict_set(sum, &run) : -ENOMEM;
    if (rc < 0)
        json_decref(sum);
    else
        *out = sum;
    return rc;
}

bool tb_verdict_unstable(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    char ignored[300];
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        if (tb_blocks_disagree(view, postulate, &postulate->predictions[i], ignored, sizeof ignored))
            return true;
    return false;
}
