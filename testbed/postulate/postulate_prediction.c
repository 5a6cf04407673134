// SPDX-License-Identifier: Apache-2.0
//
// postulate_prediction: one entry of `predictions`, read, held against the arms and cells of its postulate, and shown.
//
// A prediction that could not fail, or could not survive, is refused here: a conjunction without parts, an equality of something
// that is only known as an interval.
#include "testbed/postulate/postulate_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/postulate/metric.h"
#include "testbed/postulate/sum.h"
#include "testbed/serving/keep.h"

static const struct {
    const char *name;
    bool ratio, exact;
} stats[] = {
    [TB_STAT_HL_RATIO] = {"hl_ratio", true, false}, [TB_STAT_MEDIAN_RATIO] = {"median_ratio", true, false},
    [TB_STAT_MAX] = {"max", false, true},           [TB_STAT_MIN] = {"min", false, true},
    [TB_STAT_MEDIAN] = {"median", false, false},    [TB_STAT_ORDER] = {"order", true, false},
    [TB_STAT_SUM] = {"sum", false, true},
};
static const char *const ops[] = {
    [TB_CLAIM_GE] = ">=", [TB_CLAIM_LE] = "<=", [TB_CLAIM_GT] = ">",
    [TB_CLAIM_LT] = "<",  [TB_CLAIM_EQ] = "==", [TB_CLAIM_WITHIN] = "within",
};
static const char *const units[] = {"x", "ns", "virtual_ns", "ratio", "count", "bytes", "1/s", NULL};

const char *tb_stat_name(enum tb_stat stat)
{
    return stats[stat].name;
}

bool tb_stat_is_ratio(enum tb_stat stat)
{
    return stats[stat].ratio;
}

const char *tb_op_name(enum tb_relation op)
{
    return ops[op];
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// "(B/A)" into its two keys.
static bool pair_read(const char *text, struct tb_prediction *out)
{
    int used = 0;
    return sscanf(text, "(%7[^/()]/%7[^/()])%n", out->over, out->under, &used) == 2 && used > 0 && text[used] == '\0';
}

// "(A<D<E)" into its keys: two at least.
static bool order_read(const char *text, struct tb_prediction *out)
{
    char separator = '(';
    for (out->order_count = 0; *text == separator && out->order_count < TB_LIST_MAX; out->order_count++, separator = '<') {
        int used = 0;
        if (sscanf(text + 1, "%7[^</()]%n", out->order[out->order_count], &used) != 1)
            return false;
        text += 1 + used;
    }
    return out->order_count >= 2 && strcmp(text, ")") == 0;
}

// What follows a statistic's name.
static bool operands_read(enum tb_stat stat, const char *text, struct tb_prediction *out)
{
    if (stat == TB_STAT_ORDER)
        return order_read(text, out);
    return stats[stat].ratio ? pair_read(text, out) : *text == '\0';
}

static int metric_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    const char *words[TB_METRICS_MAX + 1] = {NULL};
    for (unsigned i = 0; tb_metric_at(i); i++)
        words[i] = tb_metric_at(i)->name;
    const struct tb_yaml_field known = {field->key, NULL, field->offset, field->bytes, 0, 0, words, false};
    return tb_yaml_field_word(yaml, value, &known, object);
}

static int stat_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_prediction *out = object;
    char text[64], shown[TB_YAML_SHOWN];
    int rc = tb_yaml_text(yaml, value, field->key, text, sizeof text);
    if (rc)
        return rc;
    for (size_t i = 0; i < TB_STAT_SUM; i++) {
        size_t length = strlen(stats[i].name);
        out->stat = (enum tb_stat)i;
        if (strncmp(text, stats[i].name, length) == 0 && operands_read(out->stat, text + length, out))
            return 0;
    }
    return tb_yaml_refuse(yaml, value, "stat '%s' is not hl_ratio(X/Y), median_ratio(X/Y), order(X<Y<Z), max, min or median",
                          tb_yaml_shown(text, shown));
}

static int op_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    char text[64], shown[TB_YAML_SHOWN];
    int rc = tb_yaml_text(yaml, value, field->key, text, sizeof text);
    if (rc)
        return rc;
    for (size_t i = 0; i < COUNT(ops); i++) {
        ((struct tb_prediction *)object)->op = (enum tb_relation)i;
        if (strcmp(text, ops[i]) == 0)
            return 0;
    }
    return tb_yaml_refuse(yaml, value, "op '%s' is not >=, <=, >, <, == or within", tb_yaml_shown(text, shown));
}

// A number; of `within`, which the table reads before, a list of two.
static int value_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_prediction *out = object;
    bool within = out->op == TB_CLAIM_WITHIN;
    int rc = tb_yaml_want(yaml, value, field->key, within ? YAML_SEQUENCE_NODE : YAML_SCALAR_NODE);
    if (!rc && within && tb_yaml_count(value) != 2)
        rc = tb_yaml_refuse(yaml, value, "'value' of within is [low, high]");
    if (!rc)
        rc = tb_yaml_number(yaml, within ? tb_yaml_at(yaml, value, 0) : value, field->key, &out->low);
    out->high = out->low;
    if (!rc && within)
        rc = tb_yaml_number(yaml, tb_yaml_at(yaml, value, 1), field->key, &out->high);
    bool sum = out->stat == TB_STAT_SUM;
    if (!rc && within && out->high <= out->low)
        rc = tb_yaml_refuse(yaml, value, "'value' of within is [low, high], the first below the second");
    else if (!rc && !sum && out->low < 0)
        rc = tb_yaml_refuse(yaml, value, "'value' must not be negative");
    if (!rc && sum) {
        out->low = tb_sum_rounded(out->low);
        out->high = tb_sum_rounded(out->high);
    }
    return rc;
}

static int share_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    double *out = (double *)((char *)object + field->offset);
    double low = (double)field->min / 100;
    int rc = tb_yaml_number(yaml, value, field->key, out);
    if (!rc && (*out < low || *out <= 0 || *out >= 1))
        rc = tb_yaml_refuse(yaml, value, "'%s' has to be %s %g and below 1", field->key, field->min ? "at least" : "above", low);
    return rc;
}

static int sum_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_prediction *out = object;
    char why[96];
    double ignored;
    int rc = tb_yaml_text(yaml, value, field->key, out->sum, sizeof out->sum);
    if (!rc && tb_sum(out->sum, &ignored, why, sizeof why))
        rc = tb_yaml_refuse(yaml, value, "'sum' cannot be worked out: %s", why);
    return rc;
}

static int zone_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_prediction *out = object;
    bool least = out->op == TB_CLAIM_GE || out->op == TB_CLAIM_GT, most = out->op == TB_CLAIM_LE || out->op == TB_CLAIM_LT;
    int rc = tb_yaml_number(yaml, value, field->key, &out->zone);
    if (!rc && !least && !most)
        rc = tb_yaml_refuse(yaml, value, "'zone' is for >=, >, <= and <");
    else if (!rc && (out->zone <= 0 || (least ? out->zone >= out->low : out->zone <= out->low)))
        rc = tb_yaml_refuse(yaml, value, "'zone' has to be above 0, and %s 'value': between them the claim is not decided against",
                            least ? "below" : "above");
    return rc;
}

static int gate_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    static const char *const words[] = {"true", NULL};
    char word[8];
    const struct tb_yaml_field known = {field->key, NULL, 0, sizeof word, 0, 0, words, true};
    int rc = tb_yaml_field_word(yaml, value, &known, word);
    ((struct tb_prediction *)object)->gate = !rc;
    return rc;
}

#define MEMBER(name) offsetof(struct tb_prediction, name), sizeof((struct tb_prediction *)0)->name
static const struct tb_yaml_field sum_fields[] = {
    {"id", tb_yaml_field_text, MEMBER(id), 0, 0, NULL, false}, {"claim", tb_yaml_field_text, MEMBER(claim), 0, 0, NULL, true},
    {"sum", sum_read, MEMBER(sum), 0, 0, NULL, false},         {"op", op_read, MEMBER(op), 0, 0, NULL, false},
    {"value", value_read, MEMBER(low), 0, 0, NULL, false},     {NULL, NULL, 0, 0, 0, 0, NULL, false},
};

static const struct tb_yaml_field fields[] = {
    {"id", tb_yaml_field_text, MEMBER(id), 0, 0, NULL, false},
    {"claim", tb_yaml_field_text, MEMBER(claim), 0, 0, NULL, true},
    {"metric", metric_read, MEMBER(metric), 0, 0, NULL, false},
    {"cell", tb_yaml_field_text, MEMBER(cell), 0, 0, NULL, false},
    {"cell_under", tb_yaml_field_text, MEMBER(cell_under), 0, 0, NULL, true},
    {"stat", stat_read, MEMBER(stat), 0, 0, NULL, false},
    {"arm", tb_yaml_field_text, MEMBER(arm), 0, 0, NULL, true},
    {"op", op_read, MEMBER(op), 0, 0, NULL, false},
    {"value", value_read, MEMBER(low), 0, 0, NULL, false},
    {"unit", tb_yaml_field_word, MEMBER(unit), 0, 0, units, false},
    {"confidence", share_read, MEMBER(confidence), 50, 0, NULL, true},
    {"margin", share_read, MEMBER(margin), 0, 0, NULL, true},
    {"zone", zone_read, 0, 0, 0, 0, NULL, true},
    {"gate", gate_read, 0, 0, 0, 0, NULL, true},
    {NULL, NULL, 0, 0, 0, 0, NULL, false},
};

// --- against the postulate ---

static const struct tb_postulate_arm *arm_find(const struct tb_postulate *postulate, const char *key)
{
    for (uint32_t i = 0; i < postulate->arms_count; i++)
        if (strcmp(postulate->arms[i].key, key) == 0)
            return &postulate->arms[i];
    return NULL;
}

bool tb_prediction_covers(const struct tb_prediction *prediction, const char *cell)
{
    return fnmatch(prediction->cell, cell, FNM_NOESCAPE) == 0;
}

static bool pilot_tried(const struct tb_pilot *pilot, const char *cell)
{
    for (uint32_t i = 0; i < pilot->cells_count; i++)
        if (strcmp(cell, pilot->cells[i]) == 0)
            return true;
    return false;
}

// A ratio of two cells was tried if both were.
bool tb_prediction_blind(const struct tb_postulate *postulate, const struct tb_prediction *prediction)
{
    const struct tb_pilot *pilot = &postulate->pilot;
    if (postulate->rules < 2 || prediction->stat == TB_STAT_SUM)
        return false;
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        if (tb_prediction_covers(prediction, postulate->cells[i]) && pilot_tried(pilot, postulate->cells[i]))
            return prediction->cell_under[0] && !pilot_tried(pilot, prediction->cell_under);
    return true;
}

// An arm's name without the share of requests that finish on another node ("home-steered%50") and without its workers
// ("locus+4w"), which make no other contender.
static const char *contender_of(const char *name, char out[96])
{
    size_t length = strncmp(name, "malloc:", 7) ? strcspn(name, "%+") : strlen(name);
    snprintf(out, 96, "%.*s", (int)length, name);
    return out;
}

bool tb_arm_is_rival(const char *name)
{
    char bare[96];
    const struct tb_contender *contender = tb_contender_find(contender_of(name, bare));
    const struct tb_strategy *strategy = tb_strategy_find(bare);
    bool fault = strchr(name, '@') && strncmp(name, "malloc:", 7) != 0;
    return !fault && !(contender && (contender->harness || contender->floor)) && !(strategy && strategy->trap) &&
           tb_policy_find(bare) != &tb_clairvoyant;
}

bool tb_prediction_compares(const struct tb_postulate *postulate, const struct tb_prediction *prediction, uint32_t arm)
{
    const struct tb_postulate_arm *candidate = &postulate->arms[arm], *under = arm_find(postulate, prediction->under);
    for (uint32_t i = 1; prediction->stat == TB_STAT_ORDER && i < prediction->order_count; i++)
        if (strcmp(prediction->order[i], candidate->key) == 0)
            return true;
    if (prediction->stat == TB_STAT_ORDER)
        return false;
    if (prediction->over[0] != '*')
        return strcmp(prediction->over, candidate->key) == 0;
    char names[2][96];
    return under && strcmp(contender_of(candidate->name, names[0]), contender_of(under->name, names[1])) != 0 &&
           tb_arm_is_rival(candidate->name);
}

static int ratio_check(struct tb_yaml *yaml, const struct tb_postulate *postulate, const struct tb_prediction *out)
{
    uint32_t parts = 0;
    if (out->arm[0])
        return tb_yaml_bad(yaml, out->line, "%s: 'arm' is for max, min and median", out->id);
    if (!arm_find(postulate, out->under))
        return tb_yaml_bad(yaml, out->line, "%s: there is no arm '%s'", out->id, out->under);
    if (strcmp(out->over, "*") != 0 && !arm_find(postulate, out->over))
        return tb_yaml_bad(yaml, out->line, "%s: there is no arm '%s'", out->id, out->over);
    if (strcmp(out->over, out->under) == 0 && !out->cell_under[0])
        return tb_yaml_bad(yaml, out->line, "%s: arm '%s' over itself", out->id, out->over);
    for (uint32_t i = 0; i < postulate->arms_count; i++)
        parts += tb_prediction_compares(postulate, out, i);
    return parts ? 0 : tb_yaml_bad(yaml, out->line, "%s: there is no rival of arm '%s' to compare with", out->id, out->under);
}

// Laps of two workloads are not the same work, so their times have no ratio that says anything.
static int cell_under_check(struct tb_yaml *yaml, const struct tb_postulate *postulate, const struct tb_prediction *out)
{
    const char *under = out->cell_under;
    size_t workload = strcspn(under, "/");
    bool known = false;
    if (out->stat == TB_STAT_ORDER || !stats[out->stat].ratio || strcmp(out->over, "*") == 0)
        return tb_yaml_bad(yaml, out->line, "%s: 'cell_under' is for a ratio of two arms, or of one in two cells", out->id);
    for (uint32_t i = 0; i < postulate->cells_count; i++) {
        const char *cell = postulate->cells[i];
        known |= strcmp(cell, under) == 0;
        if (!tb_prediction_covers(out, cell))
            continue;
        if (strcmp(cell, under) == 0)
            return tb_yaml_bad(yaml, out->line, "%s: 'cell' and 'cell_under' are both '%s'", out->id, under);
        if (strncmp(cell, under, workload + 1) != 0)
            return tb_yaml_bad(yaml, out->line, "%s: '%s' and '%s' are not of the same workload", out->id, cell, under);
    }
    return known ? 0 : tb_yaml_bad(yaml, out->line, "%s: '%s' is none of the cells", out->id, under);
}

// A contender has one place, so that it is not ranked against itself; and what is ordered is claimed to rise.
static int order_check(struct tb_yaml *yaml, const struct tb_postulate *postulate, const struct tb_prediction *out)
{
    char names[2][96];
    if (out->arm[0])
        return tb_yaml_bad(yaml, out->line, "%s: 'arm' is for max, min and median", out->id);
    for (uint32_t i = 0; i < out->order_count; i++) {
        const struct tb_postulate_arm *arm = arm_find(postulate, out->order[i]);
        if (!arm)
            return tb_yaml_bad(yaml, out->line, "%s: there is no arm '%s'", out->id, out->order[i]);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(contender_of(arm->name, names[0]), contender_of(arm_find(postulate, out->order[j])->name, names[1])) == 0)
                return tb_yaml_bad(yaml, out->line, "%s: the order has one contender twice, as '%s' and '%s'", out->id,
                                   out->order[j], out->order[i]);
    }
    if ((out->op != TB_CLAIM_GT && out->op != TB_CLAIM_GE) || out->low < 1)
        return tb_yaml_bad(yaml, out->line,
                           "%s: an order claims that each is more than the one before it: op > or >=, value 1 or more", out->id);
    return 0;
}

static int arm_check(struct tb_yaml *yaml, const struct tb_postulate *postulate, const struct tb_prediction *out)
{
    if (!out->arm[0])
        return tb_yaml_bad(yaml, out->line, "%s: %s needs an 'arm'", out->id, stats[out->stat].name);
    if (!arm_find(postulate, out->arm))
        return tb_yaml_bad(yaml, out->line, "%s: there is no arm '%s'", out->id, out->arm);
    if (out->margin > 0)
        return tb_yaml_bad(yaml, out->line, "%s: 'margin' is for ratios of two arms", out->id);
    const struct tb_strategy *strategy = tb_strategy_find(arm_find(postulate, out->arm)->name);
    if (strcmp(out->metric, "faults") == 0 && !(strategy && strategy->trap))
        return tb_yaml_bad(yaml, out->line, "%s: faults are counted of traps alone: another arm's would make the run invalid",
                           out->id);
    return 0;
}

static bool needs_emulator(const struct tb_postulate *postulate)
{
    bool needs = false;
    for (uint32_t i = 0; i < postulate->needs_count; i++)
        needs |= strcmp(postulate->needs[i], "emulator") == 0;
    return needs;
}

static int check(struct tb_yaml *yaml, const struct tb_postulate *postulate, const struct tb_prediction *out)
{
    bool ratio = stats[out->stat].ratio, covered = false;
    const struct tb_metric *metric = tb_metric_find(out->metric);
    const char *unit = ratio ? "x" : metric->unit;
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        covered |= tb_prediction_covers(out, postulate->cells[i]);
    if (!covered)
        return tb_yaml_bad(yaml, out->line, "%s: '%s' is none of the cells", out->id, out->cell);
    if (ratio && !metric->ratio)
        return tb_yaml_bad(yaml, out->line, "%s: %s may be 0, so arms have no ratio of it: claim its max, min or median of an arm",
                           out->id, out->metric);
    if (strcmp(out->unit, unit) != 0)
        return tb_yaml_bad(yaml, out->line, "%s: the unit of %s is '%s', not '%s'", out->id,
                           ratio ? "a ratio of arms" : out->metric, unit, out->unit);
    if (metric->many_nodes && postulate->laps_counted == 0)
        return tb_yaml_bad(yaml, out->line,
                           "%s: %s is counted in runs of many nodes: say in 'design' in how many laps, laps_counted", out->id,
                           out->metric);
    if (metric->emulated && !needs_emulator(postulate))
        return tb_yaml_bad(yaml, out->line, "%s: %s is counted by an emulator: say so in 'requires', emulator", out->id,
                           out->metric);
    if (out->zone > 0 && (stats[out->stat].exact || metric->fixed))
        return tb_yaml_bad(yaml, out->line, "%s: 'zone' is for estimates: %s is exact", out->id, out->metric);
    if (out->op == TB_CLAIM_EQ && !stats[out->stat].exact)
        return tb_yaml_bad(yaml, out->line, "%s: an interval never equals one value: claim 'within'", out->id);
    if (ratio && out->low <= 0)
        return tb_yaml_bad(yaml, out->line, "%s: a ratio is always above 0", out->id);
    int rc = out->cell_under[0] ? cell_under_check(yaml, postulate, out) : 0;
    if (rc || out->stat == TB_STAT_ORDER)
        return rc ? rc : order_check(yaml, postulate, out);
    return ratio ? ratio_check(yaml, postulate, out) : arm_check(yaml, postulate, out);
}

// Is this entry plain arithmetic? It has then other keys, none of which speaks of a measurement.
static bool is_sum(struct tb_yaml *yaml, const yaml_node_t *entry)
{
    bool found = false;
    for (size_t i = 0; entry->type == YAML_MAPPING_NODE && i < tb_yaml_count(entry); i++)
        found |= strcmp(tb_yaml_raw(tb_yaml_key_at(yaml, entry, i)), "sum") == 0;
    return found;
}

int tb_prediction_read(struct tb_yaml *yaml, yaml_node_t *entry, struct tb_postulate *postulate)
{
    struct tb_prediction *out = &postulate->predictions[postulate->predictions_count];
    bool sum = is_sum(yaml, entry);
    *out = (struct tb_prediction){
        .confidence = 0.95, .line = tb_yaml_line(yaml, entry), .metric = "sum", .unit = "number", .stat = TB_STAT_SUM};
    int rc = sum ? tb_yaml_fields(yaml, entry, "a sum", sum_fields, out) : tb_yaml_fields(yaml, entry, "a prediction", fields, out);
    for (uint32_t i = 0; !rc && i < postulate->predictions_count; i++)
        if (strcmp(postulate->predictions[i].id, out->id) == 0)
            rc = tb_yaml_bad(yaml, out->line, "two predictions are called %s", out->id);
    if (!rc && postulate->rules < 2 && (out->zone > 0 || out->gate || out->cell_under[0]))
        rc = tb_yaml_bad(yaml, out->line, "%s: 'zone', 'gate' and 'cell_under' need the key rules: 2", out->id);
    if (!rc && !sum)
        rc = check(yaml, postulate, out);
    postulate->predictions_count += !rc;
    return rc;
}

#define SUBJECT_BYTES sizeof(((struct tb_prediction *)0)->order) // an order of all the arms that a postulate may have

static void subject_text(const struct tb_prediction *prediction, char out[SUBJECT_BYTES])
{
    if (!stats[prediction->stat].ratio)
        snprintf(out, SUBJECT_BYTES, "%s", prediction->arm);
    else if (prediction->stat != TB_STAT_ORDER)
        snprintf(out, SUBJECT_BYTES, "%s/%s", prediction->over, prediction->under);
    for (size_t i = 0, used = 0; prediction->stat == TB_STAT_ORDER && i < prediction->order_count; i++)
        used += (size_t)snprintf(out + used, SUBJECT_BYTES - used, "%s%s", i ? "<" : "", prediction->order[i]);
}

const char *tb_prediction_text(const struct tb_prediction *prediction, char *out, size_t bytes)
{
    char subject[SUBJECT_BYTES], metric[64] = "", value[64], zone[48] = "", under[96] = "";
    subject_text(prediction, subject);
    if (strcmp(prediction->metric, "time_ns") != 0)
        snprintf(metric, sizeof metric, " of %s", prediction->metric);
    if (prediction->op == TB_CLAIM_WITHIN)
        snprintf(value, sizeof value, "[%.15g, %.15g]", prediction->low, prediction->high);
    else
        snprintf(value, sizeof value, "%.15g", prediction->low);
    if (prediction->zone > 0)
        snprintf(zone, sizeof zone, ", zone to %.15g", prediction->zone);
    if (prediction->cell_under[0])
        snprintf(under, sizeof under, ", over %s in %s", prediction->under, prediction->cell_under);
    if (prediction->stat == TB_STAT_SUM)
        snprintf(out, bytes, "%s %s %s", prediction->sum, ops[prediction->op], value);
    else
        snprintf(out, bytes, "%s(%s)%s %s %s%s%s", stats[prediction->stat].name, subject, metric, ops[prediction->op], value, zone,
                 under);
    return out;
}
