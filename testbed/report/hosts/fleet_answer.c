// SPDX-License-Identifier: Apache-2.0
//
// fleet_answer: "on which machines does P2 survive?", in sentences.
//
// A machine counts for the answer when its verdict rests on figures. All others are named with what kept them from it, because a
// prediction that survives wherever it was measured has still not been tried where nobody could.
#include "testbed/report/hosts/fleet.h"

#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"

static const struct tb_fleet_word words[] = {
    {"survived", "survived", 'S'},
    {"falsified", "falsified", 'F'},
    {"no-difference", "no diff.", '='},
    {"inconclusive", "inconclusive", '?'},
    {"inconclusive (unstable)", "unstable", '?'},
    {"inconclusive (noise)", "noise", '!'},
    {"invalid", "invalid", '!'},
    {"unmeasurable-on-host", "unmeasurable", 'u'},
    {"crashed", "crashed", 'x'},
    {"stopped", "stopped", 'x'},
    {"log broken", "log broken", 'x'},
    {"log missing", "log missing", 'x'},
    {"not in the ledger", "unledgered", 'x'},
    {"not run", ".", '.'},
    {"no verdict", "no verdict", '-'},
};

const struct tb_fleet_word *tb_fleet_word(const char *verdict)
{
    size_t i = 0;
    while (i + 1 < sizeof words / sizeof *words && strcmp(words[i].verdict, verdict))
        i++;
    return &words[i];
}

// --- one prediction ------------------------------------------------------------------------------------------------------------

typedef bool asked(const char *verdict);

static bool survived(const char *verdict)
{
    return strcmp(verdict, "survived") == 0;
}

static bool falsified(const char *verdict)
{
    return strcmp(verdict, "falsified") == 0;
}

static bool same(const char *verdict)
{
    return strcmp(verdict, "no-difference") == 0;
}

static bool open_yet(const char *verdict)
{
    return strncmp(verdict, "inconclusive", 12) == 0 && tb_fleet_measured(verdict);
}

static bool unmeasurable(const char *verdict)
{
    return strcmp(verdict, "unmeasurable-on-host") == 0;
}

static bool not_run(const char *verdict)
{
    return strcmp(verdict, "not run") == 0;
}

static bool spoilt(const char *verdict)
{
    return !tb_fleet_measured(verdict) && !unmeasurable(verdict) && !not_run(verdict);
}

static size_t count_those(const json_t *results, asked *is)
{
    const json_t *result;
    size_t i, count = 0;
    json_array_foreach (results, i, result)
        count += is(tb_member_text(result, "verdict"));
    return count;
}

// "bm1, bm2 and guest-n2 (emulated)"; of what was spoilt also how. Nothing when there is none.
static void say_those(struct tb_words *out, const char *before, const json_t *results, const json_t *hosts, asked *is)
{
    size_t i, count = count_those(results, is), said = 0;
    const json_t *result;
    if (count > 0)
        tb_say(out, "%s", before);
    json_array_foreach (results, i, result) {
        const char *verdict = tb_member_text(result, "verdict");
        if (!is(verdict))
            continue;
        tb_say(out, "%s%s", said == 0 ? " " : said + 1 < count ? ", " : " and ", tb_member_text(result, "host"));
        said++;
        if (spoilt(verdict))
            tb_say(out, " (%s)", verdict);
        else if (strcmp(tb_member_text(json_array_get(hosts, i), "kind"), "emulated") == 0)
            tb_say(out, " (emulated)");
    }
}

// Whether it survives, and where.
static void say_measured(struct tb_words *out, const json_t *results, const json_t *hosts)
{
    size_t all = count_those(results, tb_fleet_measured), standing = count_those(results, survived);
    if (all == 0) {
        tb_say(out, "has not been measured on any machine.");
        return;
    }
    tb_say(out, "survives on %zu of %zu machine%s that could measure it", standing, all, all == 1 ? "" : "s");
    say_those(out, ":", results, hosts, survived);
    say_those(out, standing > 0 ? "; falsified on" : ": falsified on", results, hosts, falsified);
    say_those(out, "; no difference on", results, hosts, same);
    say_those(out, "; open on", results, hosts, open_yet);
    tb_say(out, ".");
}

static void say_unmeasured(struct tb_words *out, const json_t *results, const json_t *hosts)
{
    static const struct {
        const char *before;
        asked *is;
    } parts[] = {{" Unmeasurable on", unmeasurable}, {" No valid run on", spoilt}, {" Not run on", not_run}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        say_those(out, parts[i].before, results, hosts, parts[i].is);
        if (count_those(results, parts[i].is) > 0)
            tb_say(out, ".");
    }
}

int tb_fleet_count(json_t *object, const char *postulate, const char *prediction, const json_t *hosts)
{
    const json_t *results = tb_member(object, "results");
    struct tb_words sentence = {0};
    tb_say(&sentence, "%s%s%s ", postulate, *prediction ? " " : "", prediction);
    say_measured(&sentence, results, hosts);
    say_unmeasured(&sentence, results, hosts);
    json_t *counts = json_pack("{s:I, s:I, s:I, s:o}", "survived", (json_int_t)count_those(results, survived), "falsified",
                               (json_int_t)count_those(results, falsified), "measured",
                               (json_int_t)count_those(results, tb_fleet_measured), "sentence", tb_json_clean(sentence.text));
    int rc = counts && json_object_update(object, counts) == 0 ? 0 : -ENOMEM;
    json_decref(counts);
    return rc;
}

// --- all of them ---------------------------------------------------------------------------------------------------------------

struct tally {
    size_t shared, standing, fallen, split; // predictions that several machines measured
};

static json_t *disagree(const json_t *fleet, struct tally *tally)
{
    const json_t *postulate, *prediction;
    size_t i, j;
    json_t *list = json_array();
    json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
        json_array_foreach (tb_member(postulate, "predictions"), j, prediction) {
            double stands = tb_member_number(prediction, "survived"), fell = tb_member_number(prediction, "falsified");
            double measured = tb_member_number(prediction, "measured");
            tally->shared += measured > 1;
            tally->standing += measured > 1 && stands == measured;
            tally->fallen += measured > 1 && fell == measured;
            if (stands == 0 || fell == 0)
                continue;
            tally->split++;
            list = tb_json_appended(list, json_pack("{s:O, s:O, s:O}", "postulate", json_object_get(postulate, "id"), "prediction",
                                                    json_object_get(prediction, "id"), "sentence",
                                                    json_object_get(prediction, "sentence")));
        }
    }
    return list;
}

static size_t official_runs(const json_t *fleet)
{
    const json_t *host;
    size_t i, runs = 0;
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        runs += (size_t)tb_member_number(host, "runs");
    return runs;
}

static void say_shared(struct tb_words *out, const struct tally *tally)
{
    size_t rest = tally->shared - tally->standing - tally->fallen - tally->split;
    if (tally->shared == 0) {
        tb_say(out, "No prediction was measured on more than one machine yet, so nothing is confirmed elsewhere.");
        return;
    }
    tb_say(out, "Of %zu prediction%s that more than one machine measured, %zu survive%s on all of them", tally->shared,
           tally->shared == 1 ? "" : "s", tally->standing, tally->standing == 1 ? "s" : "");
    if (tally->fallen > 0)
        tb_say(out, ", %zu %s falsified on all", tally->fallen, tally->fallen == 1 ? "is" : "are");
    if (rest > 0)
        tb_say(out, ", %zu %s left open by some", rest, rest == 1 ? "is" : "are");
    if (tally->split > 0)
        tb_say(out, "; the machines disagree about %zu.", tally->split);
    else
        tb_say(out, "; about none the machines disagree.");
}

static void plural(struct tb_words *out, size_t count, const char *what, const char *behind)
{
    tb_say(out, "%zu %s%s%s", count, what, count == 1 ? "" : "s", behind);
}

int tb_fleet_answer(json_t *fleet)
{
    struct tb_words made = {0}, shared = {0};
    struct tally tally = {0};
    size_t machines = json_array_size(tb_member(fleet, "hosts"));
    plural(&made, official_runs(fleet), "official run", " on ");
    plural(&made, machines, "machine", " of ");
    plural(&made, json_array_size(tb_member(fleet, "groups")), "kind", ".");
    json_t *list = disagree(fleet, &tally);
    say_shared(&shared, &tally);
    json_t *answer = json_pack("[s, s]", made.text, shared.text);
    if (!list || !answer) {
        json_decref(list);
        json_decref(answer);
        return -ENOMEM;
    }
    int failed = json_object_set_new(fleet, "disagree", list);
    failed |= json_object_set_new(fleet, "answer", answer);
    return failed ? -ENOMEM : 0;
}
