// SPDX-License-Identifier: Apache-2.0
//
// verdict: may the samples be judged at all, and what do they say? Gates first; then predictions taken apart, judged, and put
// together again.
//
// Arms and cells are those of the postulate and not those of the log: what was promised and not run cannot survive. A
// conjunction needs no correction for the number of its parts: each further part can only make it harder to survive.
// Predictions that are judged side by side do, because the record would show whichever of them came true by chance.
#include "testbed/judge/figure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/judge/gates.h"
#include "testbed/postulate/metric.h"
#include "testbed/stats/looks.h"

const char *tb_verdict_name(enum tb_verdict verdict)
{
    static const char *const names[TB_VERDICT_COUNT] = {
        [TB_VERDICT_SURVIVED] = "survived",
        [TB_VERDICT_FALSIFIED] = "falsified",
        [TB_VERDICT_INCONCLUSIVE] = "inconclusive",
        [TB_VERDICT_NOISE] = "inconclusive (noise)",
        [TB_VERDICT_UNSTABLE] = "inconclusive (unstable)",
        [TB_VERDICT_NO_DIFFERENCE] = "no-difference",
        [TB_VERDICT_IN_BETWEEN] = "in-between",
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
        parts[0].cell_under = prediction->cell_under[0] ? prediction->cell_under : NULL;
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
    if (part->held && *part->held)
        snprintf(out, bytes, "%s%s", place, part->held);
    else if (figure->why[0])
        snprintf(out, bytes, "%s%s", place, figure->why);
    else if (figure->seen.low == figure->seen.high)
        snprintf(out, bytes, "%s%.4g", place, figure->seen.estimate);
    else
        snprintf(out, bytes, "%s%.4g, [%.4g, %.4g]", place, figure->seen.estimate, figure->seen.low, figure->seen.high);
}

// What the parts come to together. They may be undecided in different ways; only all of them are without a difference.
static enum tb_verdict joint(const size_t of[TB_VERDICT_COUNT], size_t refuted, size_t count)
{
    if (of[TB_VERDICT_NO_DIFFERENCE] == count)
        return TB_VERDICT_NO_DIFFERENCE;
    if (refuted > 0)
        return TB_VERDICT_FALSIFIED;
    if (of[TB_VERDICT_SURVIVED] == count)
        return TB_VERDICT_SURVIVED;
    if (of[TB_VERDICT_SURVIVED] + of[TB_VERDICT_IN_BETWEEN] == count)
        return TB_VERDICT_IN_BETWEEN;
    return of[TB_VERDICT_UNSTABLE] > 0 ? TB_VERDICT_UNSTABLE
           : of[TB_VERDICT_NOISE] > 0  ? TB_VERDICT_NOISE
                                       : TB_VERDICT_INCONCLUSIVE;
}

// "13 survived, 2 inconclusive; " of a conjunction by rules 2.
static size_t say_counts(const size_t of[TB_VERDICT_COUNT], char *out, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < TB_VERDICT_COUNT; i++)
        if (of[i] && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%zu %s", used ? ", " : "", of[i],
                                     tb_verdict_name((enum tb_verdict)i));
    if (used < bytes)
        used += (size_t)snprintf(out + used, bytes - used, "; ");
    return used < bytes ? used : bytes;
}

static struct judgement combine(const struct tb_part parts[], size_t count, const struct tb_part *worst, bool conjunction,
                                unsigned rules)
{
    size_t of[TB_VERDICT_COUNT] = {0}, refuted = 0, used = 0;
    struct judgement out = {.verdict = TB_VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < count; i++) {
        of[parts[i].verdict]++;
        refuted += parts[i].refuted;
    }
    if (count == 0)
        snprintf(out.why, sizeof out.why, "there is nothing to compare");
    else
        out.verdict = joint(of, refuted, count);
    if (count > 0 && out.verdict != TB_VERDICT_SURVIVED) {
        if (conjunction && rules >= 2)
            used = say_counts(of, out.why, sizeof out.why);
        say_part(worst, conjunction, out.why + used, sizeof out.why - used);
    }
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

// What rules 2 say of an estimate beside the figure: its halves where they differ, and the sign interval where it and
// Hodges-Lehmann's exclude one another's estimate. NULL without memory.
static json_t *closer_json(const struct tb_figure *figure)
{
    const struct tb_ratio *sign = &figure->sign, *seen = &figure->seen;
    json_t *out = json_object();
    bool disagree = sign->n && (sign->estimate < seen->low || sign->estimate > seen->high || seen->estimate < sign->low ||
                                seen->estimate > sign->high);
    if (out && figure->drifted)
        out = joined(out, json_pack("{s:[o, o]}", "halves", tb_json_number(figure->halves[0].estimate),
                                    tb_json_number(figure->halves[1].estimate)));
    if (out && disagree)
        out = joined(out, json_pack("{s:o}", "sign", seen_json(sign)));
    return out;
}

// `under` is said by the prediction, unless each of its parts has another.
static json_t *parts_json(const struct tb_part parts[], size_t count, bool under)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct tb_part *part = &parts[i];
        json_t *object = json_pack("{s:s, s:s, s:s*, s:s}", "cell", part->cell, "over", part->over, "under",
                                   under ? part->under : NULL, "verdict", tb_verdict_name(part->verdict));
        array = tb_json_appended(array, joined(joined(object, seen_json(&part->figure.seen)), closer_json(&part->figure)));
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
        json_pack("{s:s, s:s*, s:s, s:s, s:s, s:s*, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:o*}", "id", p->id, "claim",
                  *p->claim ? p->claim : NULL, "text", tb_prediction_text(p, text, sizeof text), "metric", p->metric, "cell",
                  p->cell, "cell_under", *p->cell_under ? p->cell_under : NULL, "over", text_or_null(ratio ? p->over : ""), "under",
                  text_or_null(ratio ? p->under : ""), "arm", text_or_null(ratio ? "" : p->arm), "stat", tb_stat_name(p->stat),
                  "op", tb_op_name(p->op), "value", value, "unit", p->unit, "order", order_json(p));
    json_t *figures = json_pack("{s:o, s:I, s:o}", "confidence", tb_json_number(shown->figure.confidence), "n",
                                (json_int_t)shown->figure.seen.n, "parts", parts);
    json_t *seen = joined(seen_json(&shown->figure.seen), closer_json(&shown->figure));
    if (p->gate)
        seen = joined(seen, json_pack("{s:b}", "gate", 1));
    return joined(joined(claim, figures), seen);
}

// By rules 2 a conjunction has no figures but those of its parts: the worst one, shown alone, is quoted as if it were all.
static struct tb_part all_of(const struct tb_part *worst)
{
    struct tb_part out = {
        .figure = {.seen = {.estimate = NAN, .n = worst->figure.seen.n, .confidence = worst->figure.seen.confidence}}};
    out.figure.confidence = worst->figure.confidence;
    return out;
}

// The gate that holds back what a prediction says of a cell, or NULL.
static const char *held_by(const struct tb_postulate *postulate, const struct tb_prediction *prediction,
                           const struct tb_gates *gates, const char *cell)
{
    bool rests_on_time = postulate->rules >= 2 && tb_metric_is_time(prediction->metric) && !tb_prediction_exact(prediction);
    for (uint32_t i = 0; rests_on_time && i < postulate->cells_count; i++)
        if (strcmp(postulate->cells[i], cell) == 0)
            return gates->held[i];
    return NULL;
}

static int part_judge(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct tb_prediction *prediction,
                      const struct tb_gates *gates, double confidence, struct tb_part *part)
{
    int rc = tb_part_measure(view, prediction, (unsigned)postulate->rules, confidence, part);
    tb_part_judge(prediction, part);
    part->held = held_by(postulate, prediction, gates, part->cell);
    if (part->cell_under && !(part->held && *part->held))
        part->held = held_by(postulate, prediction, gates, part->cell_under);
    if (part->held && *part->held) {
        part->verdict = TB_VERDICT_NOISE;
        part->refuted = false;
    }
    return rc;
}

static int judge(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct tb_prediction *prediction,
                 const struct tb_gates *gates, double confidence, struct judgement *judgement, json_t **out)
{
    struct tb_part *parts = NULL, nothing = {.figure = {.seen = {.estimate = NAN}, .confidence = confidence}}, whole;
    const struct tb_part *worst = &nothing;
    bool conjunction = is_conjunction(prediction);
    size_t count;
    int rc = tb_parts(postulate, prediction, &parts, &count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = part_judge(view, postulate, prediction, gates, confidence, &parts[i]);
        if (i == 0 || stands_worse(&parts[i], worst))
            worst = &parts[i];
    }
    if (rc == 0) {
        *judgement = combine(parts, count, worst, conjunction, (unsigned)postulate->rules);
        whole = conjunction && postulate->rules >= 2 ? all_of(worst) : *worst;
        *out = prediction_json(prediction, &whole, parts_json(parts, conjunction ? count : 0, prediction->stat == TB_STAT_ORDER));
        rc = *out ? 0 : -ENOMEM;
    }
    free(parts);
    return rc;
}

// --- the run ---

// What makes all predictions moot; TB_VERDICT_COUNT: nothing does.
static struct judgement overruling(const struct tb_log_view *view, const struct tb_gates *gates, bool noise_overrules)
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
    } else if (noise_overrules && view->samples_count > 0 && gates->failed_noise[0]) {
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
    snprintf(out->why, sizeof out->why, "%s: %.260s%s%.300s%s", unknown, each[first].why, *survived ? "; the rest survived (" : "",
             survived, *survived ? ")" : "");
}

// A postulate stands or falls with each of its predictions. Those that cannot fail but by a bug are not among them, unless there
// are no others.
static struct judgement overall(const struct tb_postulate *postulate, const struct judgement each[])
{
    size_t of[TB_VERDICT_COUNT] = {0}, count = 0, gates = 0;
    struct judgement out = {.verdict = TB_VERDICT_INCONCLUSIVE};
    for (size_t i = 0; i < postulate->predictions_count; i++)
        gates += postulate->predictions[i].gate;
    bool all_gates = gates == postulate->predictions_count;
    for (size_t i = 0; i < postulate->predictions_count; i++) {
        bool counts = all_gates || !postulate->predictions[i].gate;
        count += counts;
        of[each[i].verdict] += counts;
    }
    size_t decided_for = of[TB_VERDICT_SURVIVED] + of[TB_VERDICT_IN_BETWEEN];
    if (of[TB_VERDICT_FALSIFIED] > 0)
        out.verdict = TB_VERDICT_FALSIFIED;
    else if (count > 0 && of[TB_VERDICT_SURVIVED] == count)
        out.verdict = TB_VERDICT_SURVIVED;
    else if (count > 0 && decided_for == count)
        out.verdict = TB_VERDICT_IN_BETWEEN;
    else if (count > 0 && decided_for + of[TB_VERDICT_UNMEASURABLE] == count)
        out.verdict = TB_VERDICT_UNMEASURABLE;
    else if (count > 0 && of[TB_VERDICT_NO_DIFFERENCE] == count)
        out.verdict = TB_VERDICT_NO_DIFFERENCE;
    else if (count > 0 && of[TB_VERDICT_UNSTABLE] == count)
        out.verdict = TB_VERDICT_UNSTABLE;
    else if (count > 0 && of[TB_VERDICT_NOISE] == count)
        out.verdict = TB_VERDICT_NOISE;
    if (out.verdict == TB_VERDICT_UNMEASURABLE)
        say_unmeasurable(postulate, each, &out);
    bool mixed = out.verdict == TB_VERDICT_INCONCLUSIVE;
    for (size_t i = 0; i < postulate->predictions_count && !out.why[0] && out.verdict != TB_VERDICT_SURVIVED; i++)
        if ((all_gates || !postulate->predictions[i].gate) &&
            (each[i].verdict == out.verdict ||
             (mixed && each[i].verdict != TB_VERDICT_SURVIVED && each[i].verdict != TB_VERDICT_UNMEASURABLE)))
            snprintf(out.why, sizeof out.why, "%s %s: %.260s", postulate->predictions[i].id, tb_verdict_name(each[i].verdict),
                     each[i].why);
    return out;
}

// A prediction that cannot fail but by a bug has failed: nothing of the run counts.
static bool gate_fell(const struct tb_postulate *postulate, const struct judgement each[], struct judgement *out)
{
    for (size_t i = 0; i < postulate->predictions_count; i++) {
        if (!postulate->predictions[i].gate || each[i].verdict != TB_VERDICT_FALSIFIED)
            continue;
        out->verdict = TB_VERDICT_INVALID;
        snprintf(out->why, sizeof out->why, "%s, which cannot fail but by a bug: %.260s", postulate->predictions[i].id,
                 each[i].why);
        return true;
    }
    return false;
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

// What makes one prediction moot, where nothing stronger makes them all so. A noise gate that failed keeps every figure from
// being judged; but of a time without a clock there is no figure, quiet or not.
static struct judgement overruling_one(const struct tb_log_view *view, const struct tb_postulate *postulate,
                                       const struct tb_prediction *prediction, const struct judgement *all)
{
    struct judgement out = *all;
    if (all->verdict != TB_VERDICT_COUNT && all->verdict != TB_VERDICT_NOISE)
        return out;
    if (tb_unmeasurable(view, prediction, out.why, sizeof out.why))
        out.verdict = TB_VERDICT_UNMEASURABLE;
    else if (postulate->rules < 2 && all->verdict == TB_VERDICT_COUNT &&
             tb_blocks_disagree(view, postulate, prediction, out.why, sizeof out.why))
        out.verdict = TB_VERDICT_UNSTABLE;
    return out;
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

// Which look the run ended with: the header has the counts of rounds at which to look; a log of before has none.
struct looking {
    uint64_t looks[TB_LOOKS_MAX];
    size_t count, at;           // at: count, where the rounds are none of these
};

static struct looking looking_of(const struct tb_log_view *view)
{
    const json_t *looks = tb_member(view->header, "design.looks");
    struct looking out = {.count = json_array_size(looks)};
    out.count = out.count < TB_LOOKS_MAX ? out.count : TB_LOOKS_MAX;
    out.at = out.count;
    json_int_t rounds = counted(view, "round");
    for (size_t i = 0; i < out.count; i++) {
        json_int_t look = json_integer_value(json_array_get(looks, i));
        out.looks[i] = (uint64_t)look;
        out.at = look == rounds ? i : out.at;
    }
    return out;
}

// The confidence of one prediction's intervals: shared by those that have any, and by the looks of the run. NAN: the run ended
// where nobody was to look.
static double confidence_of(const struct tb_prediction *prediction, unsigned intervals, const struct looking *looking)
{
    double shared = 1 - (1 - prediction->confidence) / intervals;
    if (tb_prediction_exact(prediction))
        return 1;
    return looking->count == 0             ? shared
           : looking->at == looking->count ? (double)NAN
                                           : tb_look_confidence(shared, looking->looks, looking->count, looking->at);
}

static int predictions(const struct tb_log_view *view, const struct tb_postulate *postulate, const struct tb_gates *gates,
                       const struct judgement *overruled, struct judgement *run, json_t *list)
{
    struct judgement each[TB_PREDICTIONS_MAX];
    struct looking looking = looking_of(view);
    unsigned intervals = 0;
    int rc = 0;
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        intervals += !tb_prediction_exact(&postulate->predictions[i]);
    for (uint32_t i = 0; i < postulate->predictions_count && rc == 0; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        json_t *object = NULL;
        rc = judge(view, postulate, prediction, gates, confidence_of(prediction, intervals, &looking), &each[i], &object);
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
    if (rc == 0 && overruled->verdict != TB_VERDICT_COUNT)
        *run = *overruled;
    else if (rc == 0 && !gate_fell(postulate, each, run))
        *run = overall(postulate, each);
    return rc;
}

int tb_verdict_summary(const struct tb_log_view *view, const struct tb_postulate *postulate, json_t **out)
{
    struct tb_gates gates;
    struct judgement run;
    bool first_rules = postulate->rules < 2;
    int rc = tb_gates_judge(view, postulate, &gates);
    if (rc < 0)
        return rc;
    json_t *list = json_array();
    struct judgement overruled = overruling(view, &gates, first_rules);
    rc = list ? predictions(view, postulate, &gates, &overruled, &run, list) : -ENOMEM;
    json_t *sum = json_pack("{s:s, s:o*, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "t", "sum", "rules",
                            first_rules ? NULL : json_integer((json_int_t)postulate->rules), "rounds", counted(view, "round"),
                            "blocks", counted(view, "block"), "gates", gates.list, "predictions", list, "aa",
                            tb_table_aa(view, postulate, first_rules ? TB_AA_CONFIDENCE : TB_CONFIDENCE), "arms",
                            tb_table_arms(view, postulate), "positive_control", tb_table_positive_control(view, postulate));
    if (rc == 0)
        rc = sum ? verdict_set(sum, &run) : -ENOMEM;
    if (rc < 0)
        json_decref(sum);
    else
        *out = sum;
    return rc;
}

// Would more rounds help one of these? What is exact is what it is, and an unfit host stays unfit.
bool tb_verdict_open(const json_t *summary)
{
    const json_t *entry;
    bool helpless = false;
    size_t i;
    json_array_foreach (tb_member(summary, "gates"), i, entry)
        helpless |= !json_is_true(tb_member(entry, "passed")) && strncmp(tb_member_text(entry, "gate"), "aa_", 3) != 0;
    json_array_foreach (tb_member(summary, "predictions"), i, entry) {
        const char *verdict = tb_member_text(entry, "verdict");
        bool noise = strcmp(verdict, tb_verdict_name(TB_VERDICT_NOISE)) == 0;
        if (strncmp(verdict, "inconclusive", strlen("inconclusive")) == 0 && tb_member_number(entry, "confidence") < 1 &&
            !(noise && helpless))
            return true;
    }
    return false;
}

bool tb_verdict_unstable(const struct tb_log_view *view, const struct tb_postulate *postulate)
{
    char ignored[300];
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        if (tb_blocks_disagree(view, postulate, &postulate->predictions[i], ignored, sizeof ignored))
            return true;
    return false;
}
