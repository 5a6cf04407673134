// SPDX-License-Identifier: Apache-2.0
//
// claim: what a prediction says, in words, and how it came out. A formula such as "hl_ratio(E/A) >= 1.75" is exact and read by few.
#include <math.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/postulate/metric.h"
#include "testbed/report/page/page.h"

static const struct tb_verdict_look looks[] = {
    {"survived", "the figures bear it out", TB_TONE_GOOD},
    {"falsified", "the figures refute it", TB_TONE_BAD},
    {"no-difference", "the two are the same within the margin that was named", TB_TONE_OPEN},
    {"inconclusive", "the interval holds the threshold: more rounds may tell", TB_TONE_OPEN},
    {"inconclusive (noise)", "the machine was not quiet enough: its controls failed", TB_TONE_OPEN},
    {"inconclusive (unstable)", "the figures drifted while they were taken", TB_TONE_OPEN},
    {"unmeasurable-on-host", "this machine cannot show it", TB_TONE_FAINT},
    {"none (smoke)", "too short to say anything", TB_TONE_FAINT},
    {"no verdict", "its log holds none", TB_TONE_FAINT},
    {"invalid", "a proof failed: blocks were lost, or not touched", TB_TONE_POOR},
    {"stopped", "ended before its end, by hand", TB_TONE_POOR},
    {"crashed", "its log has no seal", TB_TONE_POOR},
    {"log broken", "its log is not what was written", TB_TONE_POOR},
    {"log missing", "the ledger knows of it, and there is no log", TB_TONE_POOR},
    {"not in the ledger", "nothing shows that it was promised", TB_TONE_POOR},
};

const struct tb_verdict_look *tb_verdict_look_at(size_t i)
{
    return i < sizeof looks / sizeof *looks ? &looks[i] : NULL;
}

const struct tb_verdict_look *tb_verdict_look(const char *verdict)
{
    static const struct tb_verdict_look unknown = {"unknown verdict", "", TB_TONE_POOR};
    for (size_t i = 0; tb_verdict_look_at(i); i++)
        if (strcmp(looks[i].verdict, verdict) == 0)
            return &looks[i];
    return &unknown;
}

struct tb_value tb_verdict_value(const char *verdict)
{
    const struct tb_verdict_look *look = tb_verdict_look(verdict);
    return tb_toned(tb_text_value(look->verdict), look->tone);
}

// --- arms ----------------------------------------------------------------------------------------------------------------------

static const char *name_of(const json_t *header, const char *key)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(header, "arms"), i, arm)
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            return tb_member_text(arm, "name");
    return key;
}

// Does an arm before it have the same contender?
static bool is_control(const json_t *header, const char *key)
{
    const json_t *arm;
    size_t i;
    json_array_foreach (tb_member(header, "arms"), i, arm) {
        if (strcmp(tb_member_text(arm, "key"), key) == 0)
            return false;
        if (strcmp(tb_member_text(arm, "name"), name_of(header, key)) == 0)
            return true;
    }
    return false;
}

const char *tb_arm_words(const json_t *header, const char *key, char out[160])
{
    snprintf(out, 160, "%.16s %.100s%s", key, name_of(header, key), is_control(header, key) ? " (A/A control)" : "");
    return out;
}

// --- what is claimed -----------------------------------------------------------------------------------------------------------

static const char *op_words(const char *op)
{
    static const char *const words[][2] = {{">=", "at least "}, {"<=", "at most "}, {">", "more than "},
                                           {"<", "less than "}, {"==", "exactly "}, {"within", "between "}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], op) == 0)
            return words[i][1];
    return op;
}

static void say_value(struct tb_words *out, const json_t *prediction)
{
    const json_t *value = tb_member(prediction, "value");
    tb_say(out, "%s", op_words(tb_member_text(prediction, "op")));
    if (json_is_array(value))
        tb_say(out, "%g and %g", json_number_value(json_array_get(value, 0)), json_number_value(json_array_get(value, 1)));
    else
        tb_say(out, "%g", json_number_value(value));
}

static void say_ratio(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const char *over = tb_member_text(prediction, "over"), *metric = tb_member_text(prediction, "metric");
    const char *under = name_of(header, tb_member_text(prediction, "under"));
    bool time = tb_metric_is_time(metric), plain = strcmp(metric, "time_ns") == 0;
    tb_say(out, "%s %s ", strcmp(over, "*") ? name_of(header, over) : "every other contender", time ? "takes" : "has");
    say_value(out, prediction);
    tb_say(out, " times as %s", time ? "long as " : "much ");
    if (!time)
        tb_say(out, "%s as ", metric);
    tb_say(out, "%s%s%s%s", under, time && !plain ? " (" : "", time && !plain ? metric : "", time && !plain ? ")" : "");
}

static void say_order(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const json_t *key;
    size_t i, count = json_array_size(tb_member(prediction, "order"));
    bool time = tb_metric_is_time(tb_member_text(prediction, "metric"));
    tb_say(out, "%s, ", time ? "From the fastest to the slowest" : "From the least");
    if (!time)
        tb_say(out, "%s to the most, ", tb_member_text(prediction, "metric"));
    json_array_foreach (tb_member(prediction, "order"), i, key)
        tb_say(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", name_of(header, json_string_value(key)));
    tb_say(out, ": each ");
    say_value(out, prediction);
    tb_say(out, " times the one before");
}

static void say_one(struct tb_words *out, const json_t *header, const json_t *prediction)
{
    const char *stat = tb_member_text(prediction, "stat"), *unit = tb_member_text(prediction, "unit");
    tb_say(out, "the %s %s of %s is ",
           strcmp(stat, "max") == 0   ? "largest"
           : strcmp(stat, "min") == 0 ? "least"
                                      : "median",
           tb_member_text(prediction, "metric"), name_of(header, tb_member_text(prediction, "arm")));
    say_value(out, prediction);
    tb_say(out, "%s%s", *unit && strcmp(unit, "ratio") && strcmp(unit, "x") ? " " : "",
           strcmp(unit, "ratio") && strcmp(unit, "x") ? unit : "");
}

const char *tb_claim_words(const json_t *header, const json_t *prediction, char *out, size_t bytes)
{
    const char *own = tb_member_text(prediction, "claim"), *cell = tb_member_text(prediction, "cell");
    struct tb_words words = {.used = 0};
    if (*own) {
        snprintf(out, bytes, "%s", own);
        return out;
    }
    if (tb_member_text(prediction, "under")[0])
        say_ratio(&words, header, prediction);
    else if (json_is_array(tb_member(prediction, "order")))
        say_order(&words, header, prediction);
    else
        say_one(&words, header, prediction);
    if (strcmp(cell, "*") == 0)
        tb_say(&words, ", in every cell");
    else if (strcmp(cell, "*/full") == 0)
        tb_say(&words, ", in every cell that is written in full");
    else if (*cell)
        tb_say(&words, ", in %s", cell);
    snprintf(out, bytes, "%s", words.text);
    return out;
}

// --- what was seen -------------------------------------------------------------------------------------------------------------

// The log's own word on why there is no figure, unless that is about the figures.
struct tb_value tb_observed(const json_t *header, const json_t *prediction)
{
    double low = tb_member_number(prediction, "low"), high = tb_member_number(prediction, "high");
    double estimate = tb_member_number(prediction, "estimate");
    if (tb_prediction_measured(header, prediction)) {
        if (isnan(estimate))
            return tb_none("no figure");
        return low == high ? tb_number(estimate)
                           : tb_interval_of(estimate, isnan(low) ? -INFINITY : low, isnan(high) ? INFINITY : high,
                                            tb_member_number(prediction, "achieved"));
    }
    bool overruled = strcmp(tb_member_text(prediction, "verdict"), tb_prediction_verdict(header, prediction));
    const char *why = overruled ? "" : tb_member_text(prediction, "why");
    if (!*why && tb_emulated(header)[0])
        why = "in an emulated machine times mean nothing";
    return tb_detailed(tb_none("not measured"), *why ? why : NULL);
}
