// SPDX-License-Identifier: Apache-2.0
//
// verdict: predictions taken apart, judged, and put together again.
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

// --- parts ---

bool tb_prediction_conjunction(const struct tb_prediction *prediction)
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
    *count = 0;
    *parts = calloc((postulate->cells_count + (size_t)1) * (postulate->arms_count + (size_t)1), sizeof **parts);
    if (!*parts)
        return -ENOMEM;
    for (uint32_t cell = 0; cell < postulate->cells_count; cell++)
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
    else if (figure->low == figure->high)
        snprintf(out, bytes, "%s%.4g", place, figure->estimate);
    else
        snprintf(out, bytes, "%s%.4g, [%.4g, %.4g]", place, figure->estimate, figure->low, figure->high);
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

static const char *stat_name(enum tb_stat stat)
{
    static const char *const names[] = {[TB_STAT_HL_RATIO] = "hl_ratio", [TB_STAT_MEDIAN_RATIO] = "median_ratio",
                                        [TB_STAT_MAX] = "max",           [TB_STAT_MIN] = "min",
                                        [TB_STAT_MEDIAN] = "median",     [TB_STAT_ORDER] = "order"};
    return names[stat];
}

static const char *op_name(enum tb_op_kind_claim op)
{
    static const char *const names[] = {[TB_CLAIM_GE] = ">=", [TB_CLAIM_LE] = "<=", [TB_CLAIM_GT] = ">",
                                        [TB_CLAIM_LT] = "<",  [TB_CLAIM_EQ] = "==", [TB_CLAIM_WITHIN] = "within"};
    return names[op];
}

// `under` is said by the prediction, unless each of its parts has another.
static json_t *part_json(const struct tb_part *part, bool under)
{
    const struct tb_figure *figure = &part->figure;
    json_t *out = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "cell", part->cell, "over", tb_json_text(part->over), "estimate",
                            tb_json_number(figure->estimate), "low", figure->bounded ? tb_json_number(figure->low) : json_null(),
                            "high", tb_json_number(figure->high), "achieved", tb_json_number(figure->achieved), "verdict",
                            tb_verdict_name(part->verdict));
    if (out && under && json_object_set_new(out, "under", tb_json_text(part->under)) < 0) {
        json_decref(out);
        out = NULL;
    }
    return out;
}

static json_t *parts_json(const struct tb_part parts[], size_t count, bool under)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count && array; i++) {
        if (json_array_append_new(array, part_json(&parts[i], under)) < 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

// Adds what an order is of. 0 or -ENOMEM.
static int order_set(json_t *claim, const struct tb_prediction *p)
{
    json_t *order = json_array();
    for (uint32_t i = 0; i < p->order_count; i++)
        order = tb_json_appended(order, json_string(p->order[i]));
    return json_object_set_new(claim, "order", order) < 0 ? -ENOMEM : 0;
}

// The claim's members, then the figures of `shown`. Without words there is no member `claim`, as in logs of before there were any.
static json_t *prediction_json(const struct tb_prediction *p, const struct tb_part *shown, json_t *parts)
{
    const struct tb_figure *figure = &shown->figure;
    bool ratio = tb_stat_is_ratio(p->stat);
    char text[256];
    json_t *value = p->op == TB_CLAIM_WITHIN ? json_pack("[f, f]", p->low, p->high) : json_real(p->low);
    json_t *claim = json_pack("{s:s, s:s*, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s}", "id", p->id, "claim",
                              *p->claim ? p->claim : NULL, "text", tb_prediction_text(p, text, sizeof text), "metric", p->metric,
                              "cell", p->cell, "over", tb_json_text(ratio ? p->over : NULL), "under",
                              tb_json_text(ratio ? p->under : NULL), "arm", tb_json_text(ratio ? NULL : p->arm), "stat",
                              stat_name(p->stat), "op", op_name(p->op), "value", value, "unit", p->unit);
    json_t *figures =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "confidence", tb_json_number(figure->confidence), "achieved",
                  tb_json_number(figure->achieved), "estimate", tb_json_number(figure->estimate), "low",
                  figure->bounded ? tb_json_number(figure->low) : json_null(), "high",
                  figure->bounded ? tb_json_number(figure->high) : json_null(), "n", (json_int_t)figure->n, "parts", parts);
    bool whole = claim && figures && json_object_update(claim, figures) == 0;
    if (!whole || (p->stat == TB_STAT_ORDER && order_set(claim, p) < 0)) {
        json_decref(claim);
        claim = NULL;
    }
    json_decref(figures);
    return claim;
}

static int judge(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct tb_prediction *prediction,
                 double confidence, struct judgement *judgement, json_t **out)
{
    struct tb_part *parts = NULL, nothing = {.figure = {.estimate = NAN, .confidence = confidence}};
    const struct tb_part *worst = &nothing;
    bool conjunction = tb_prediction_conjunction(prediction);
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
static struct judgement overruling(const struct tb_log_view *view, const struct tb_gates *gates)
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
    rc |= json_object_set_new(object, "why", tb_json_text(judgement->why));
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
        json_int_t number = json_integer_value(json_object_get(view->chain.entries[view->samples_begin + i].object, member));
        count = number + 1 > count ? number + 1 : count;
    }
    return count;
}

int tb_verdict_summary(const struct tb_log_view *view, const struct tb_postulate *postulate, json_t **out)
{
    struct tb_gates gates;
    struct judgement run;
    int rc = tb_gates(view, postulate, &gates);
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
