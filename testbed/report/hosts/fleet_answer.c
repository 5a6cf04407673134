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
    {"survived", "survived", TB_FLEET_SURVIVED},
    {"falsified", "falsified", TB_FLEET_FALSIFIED},
    {"no-difference", "no diff.", TB_FLEET_SAME},
    {"inconclusive", "inconclusive", TB_FLEET_OPEN},
    {"inconclusive (unstable)", "unstable", TB_FLEET_OPEN},
    {"inconclusive (noise)", "noise", TB_FLEET_SPOILT},
    {"invalid", "invalid", TB_FLEET_SPOILT},
    {"unmeasurable-on-host", "unmeasurable", TB_FLEET_UNMEASURABLE},
    {"crashed", "crashed", TB_FLEET_SPOILT},
    {"stopped", "stopped", TB_FLEET_SPOILT},
    {"log broken", "log broken", TB_FLEET_SPOILT},
    {"log missing", "log missing", TB_FLEET_SPOILT},
    {"not in the ledger", "unledgered", TB_FLEET_SPOILT},
    {"not run", ".", TB_FLEET_NOT_RUN},
    {"no verdict", "no verdict", TB_FLEET_SPOILT},
};

const struct tb_fleet_word *tb_fleet_word(const char *verdict)
{
    size_t i = 0;
    while (i + 1 < sizeof words / sizeof *words && strcmp(words[i].verdict, verdict))
        i++;
    return &words[i];
}

bool tb_fleet_measured(const char *verdict)
{
    return tb_fleet_word(verdict)->says <= TB_FLEET_OPEN;
}

// --- one prediction ------------------------------------------------------------------------------------------------------------

// How many machines say what.
static void count_all(const json_t *results, size_t counts[TB_FLEET_SAYS])
{
    const json_t *result;
    size_t i;
    memset(counts, 0, TB_FLEET_SAYS * sizeof *counts);
    json_array_foreach (results, i, result)
        counts[tb_fleet_word(tb_member_text(result, "verdict"))->says]++;
}

static size_t measured(const size_t counts[TB_FLEET_SAYS])
{
    return counts[TB_FLEET_SURVIVED] + counts[TB_FLEET_FALSIFIED] + counts[TB_FLEET_SAME] + counts[TB_FLEET_OPEN];
}

// "bm1, bm2 and guest-n2 (emulated)"; of what was spoilt also how. Nothing when there is none.
static void say_those(struct tb_words *out, const char *before, const json_t *results, const json_t *hosts, enum tb_fleet_says says,
                      const char *after)
{
    size_t i, counts[TB_FLEET_SAYS], said = 0;
    const json_t *result;
    count_all(results, counts);
    if (counts[says] == 0)
        return;
    tb_say(out, "%s", before);
    json_array_foreach (results, i, result) {
        const char *verdict = tb_member_text(result, "verdict");
        if (tb_fleet_word(verdict)->says != says)
            continue;
        tb_say(out, "%s%s", said == 0 ? " " : said + 1 < counts[says] ? ", " : " and ", tb_member_text(result, "host"));
        said++;
        if (says == TB_FLEET_SPOILT)
            tb_say(out, " (%s)", verdict);
        else if (strcmp(tb_member_text(json_array_get(hosts, i), "kind"), "emulated") == 0)
            tb_say(out, " (emulated)");
    }
    tb_say(out, "%s", after);
}

// Whether it survives, and where.
static void say_measured(struct tb_words *out, const json_t *results, const json_t *hosts, const size_t counts[TB_FLEET_SAYS])
{
    size_t all = measured(counts), standing = counts[TB_FLEET_SURVIVED];
    if (all == 0) {
        tb_say(out, "has not been measured on any machine.");
        return;
    }
    tb_say(out, "survives on %zu of %zu machine%s that could measure it", standing, all, all == 1 ? "" : "s");
    say_those(out, ":", results, hosts, TB_FLEET_SURVIVED, "");
    say_those(out, standing > 0 ? "; falsified on" : ": falsified on", results, hosts, TB_FLEET_FALSIFIED, "");
    say_those(out, "; no difference on", results, hosts, TB_FLEET_SAME, "");
    say_those(out, "; open on", results, hosts, TB_FLEET_OPEN, "");
    tb_say(out, ".");
}

int tb_fleet_count(json_t *object, const char *postulate, const char *prediction, const json_t *hosts)
{
    const json_t *results = tb_member(object, "results");
    struct tb_words sentence = {0};
    size_t counts[TB_FLEET_SAYS];
    count_all(results, counts);
    tb_say(&sentence, "%s%s%s ", postulate, *prediction ? " " : "", prediction);
    say_measured(&sentence, results, hosts, counts);
    say_those(&sentence, " Unmeasurable on", results, hosts, TB_FLEET_UNMEASURABLE, ".");
    say_those(&sentence, " No valid run on", results, hosts, TB_FLEET_SPOILT, ".");
    say_those(&sentence, " Not run on", results, hosts, TB_FLEET_NOT_RUN, ".");
    json_t *said = json_pack("{s:I, s:I, s:I, s:o}", "survived", (json_int_t)counts[TB_FLEET_SURVIVED], "falsified",
                             (json_int_t)counts[TB_FLEET_FALSIFIED], "measured", (json_int_t)measured(counts), "sentence",
                             tb_json_clean(sentence.text));
    int rc = said && json_object_update(object, said) == 0 ? 0 : -ENOMEM;
    json_decref(said);
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
