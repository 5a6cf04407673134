// SPDX-License-Identifier: Apache-2.0
//
// fleet: which machines there are, which run of each stands for a postulate, and what it says.
//
// No choice is made by how a run came out, only by whether it says anything: a prediction that fell on a host stays fallen there
// until a newer run of the same postulate says otherwise, and the older one is then counted beside it.
//
// A machine counts for an answer when its verdict rests on figures. All others are named with what kept them from it, because a
// prediction that survives wherever it was measured has still not been tried where nobody could.
#include "testbed/report/hosts/fleet.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/host/host.h"

// An official run.
struct entry {
    const struct tb_store_run *run;
    bool closed;                // sealed, complete, and in the ledger as it is
    bool says;                  // one of its predictions rests on figures
};

struct fleet {
    const struct tb_fleet_wanted *wanted;
    struct entry *runs;         // as the store: by postulate, then time
    size_t runs_count;
    json_t *groups, *hosts, *postulates, *warnings;
};

static const struct tb_fleet_word words[] = {
    {"survived", "survived", TB_FLEET_SURVIVED},
    {"falsified", "falsified", TB_FLEET_FALSIFIED},
    {"no-difference", "no diff.", TB_FLEET_SAME},
    {"in-between", "in between", TB_FLEET_SAME},
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
    {"ledger broken", "no ledger", TB_FLEET_SPOILT},
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

static bool is_measured(const char *verdict)
{
    return tb_fleet_word(verdict)->says <= TB_FLEET_OPEN;
}

static const char *text_at(const json_t *list, size_t i, const char *member)
{
    return tb_member_text(json_array_get(list, i), member);
}

static bool host_wanted(const struct fleet *fleet, const char *name)
{
    return !fleet->wanted->host || fnmatch(fleet->wanted->host, name, 0) == 0;
}

// "0013" of a run, "P2" or NULL for any.
static bool is_wanted(const struct fleet *fleet, const char *run, const char *prediction)
{
    const char *const *wanted = fleet->wanted->postulates;
    for (; wanted && *wanted; wanted++)
        if (strncmp(*wanted, run, 4) == 0 && (!prediction || !(*wanted)[4] || strcmp(*wanted + 5, prediction) == 0))
            return true;
    return !fleet->wanted->postulates || !*fleet->wanted->postulates;
}

// --- runs ----------------------------------------------------------------------------------------------------------------------

// A log that is missing or empty has no header; its ledger knows. A damaged one that nobody knows might have been official.
static bool is_official(const struct tb_store_run *run)
{
    const char *kind = tb_member_text(run->view.header, "kind");
    if (strspn(run->run, "0123456789") != 4 || run->run[4] != '-')
        return false; // a file of another name, of which nobody knows a postulate
    if (!*kind && run->opened)
        kind = tb_member_text(run->host->ledger.entries[run->opened - 1].object, "kind");
    return !*kind || strcmp(kind, "official") == 0;
}

static int collect_runs(struct fleet *fleet, const struct tb_store *store)
{
    fleet->runs = calloc(store->runs_count + 1, sizeof *fleet->runs);
    for (size_t i = 0; fleet->runs && i < store->runs_count; i++) {
        const struct tb_store_run *run = &store->runs[i];
        struct entry entry = {.run = run, .closed = run->state == TB_RUN_WHOLE};
        const json_t *prediction;
        size_t p;
        json_array_foreach (tb_member(run->view.summary, "predictions"), p, prediction)
            entry.says |= entry.closed && is_measured(tb_prediction_verdict(run->view.header, prediction));
        if (host_wanted(fleet, run->host->name) && is_official(run))
            fleet->runs[fleet->runs_count++] = entry;
    }
    return fleet->runs ? 0 : -ENOMEM;
}

// --- machines ------------------------------------------------------------------------------------------------------------------

// A text that the host had, and none of the words for what is absent.
static const char *known(const json_t *header, const char *path)
{
    const char *text = tb_member_text(header, path);
    return strcmp(text, "ABSENT") && strcmp(text, "FORBIDDEN") && strcmp(text, "UNREADABLE") ? text : "";
}

// Whether it is bare metal is what the doctor found before the run. A log from before the doctor does not say, and nothing else in
// it does for sure, so it is "unknown" rather than guessed. Real ones come first, and what cannot tell a time last.
static const char *const kinds[] = {"bare metal", "virtual", "unknown", "emulated"};

static const char *kind_of(const json_t *header)
{
    const char *said = tb_member_text(header, "doctor.findings.machine.now");
    for (size_t i = 0; i < 4 && !tb_emulated(header)[0]; i++)
        if (strncmp(said, kinds[i], strlen(kinds[i])) == 0)
            return kinds[i];
    return kinds[tb_emulated(header)[0] ? 3 : 2];
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

// "2 sockets, 3 nodes (1 without CPUs), 4 cores, 8 CPUs"; hwloc counts what is online.
static void say_topology(struct tb_words *out, const json_t *header)
{
    const char *xml = known(header, "env.hwloc.xml"), *number;
    int cpus = tb_id_list_count(known(header, "env.cpu.online"));
    json_t *nodes = (json_t *)tb_member(header, "env.nodes"), *node;
    size_t bare = 0, cores = occurrences(xml, "type=\"Core\"");
    json_object_foreach (nodes, number, node)
        bare += json_is_string(json_object_get(node, "cpus")) && !*tb_member_text(node, "cpus");
    const struct {
        size_t count;
        const char *what;
    } parts[] = {{occurrences(xml, "type=\"Package\""), "socket"},
                 {json_object_size(nodes), "node"},
                 {(int)cores == cpus ? 0 : cores, "core"},
                 {cpus < 0 ? 0 : (size_t)cpus, "CPU"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].count > 0)
            tb_say(out, "%s%zu %s%s", out->used ? ", " : "", parts[i].count, parts[i].what, parts[i].count == 1 ? "" : "s");
        if (i == 1 && bare > 0)
            tb_say(out, " (%zu without CPUs)", bare);
    }
}

static json_t *machine_json(const json_t *header)
{
    struct tb_words topology = {0};
    say_topology(&topology, header);
    const struct tb_json_member members[] = {
        {"kind", json_string(kind_of(header))},
        {"guest", tb_json_clean(tb_emulated(header))},
        {"cpu", tb_json_clean(known(header, "env.cpu.model"))},
        {"topology", tb_json_clean(topology.text)},
        {"kernel", tb_json_clean(known(header, "env.kernel.release"))},
    };
    return TB_JSON_OBJECT(members);
}

static bool same_text(const json_t *left, const json_t *right, const char *member)
{
    return strcmp(tb_member_text(left, member), tb_member_text(right, member)) == 0;
}

// Whatever order the postulates have, the newest run's header describes the host. What older logs cannot say is no change.
static json_t *host_json(const struct fleet *fleet, const struct tb_store_host *host)
{
    const json_t *newest = NULL, *header;
    json_int_t runs = 0;
    bool changed = false;
    char broken[256] = "";
    for (size_t i = 0; i < fleet->runs_count; i++) {
        if (strcmp(fleet->runs[i].run->host->name, host->name))
            continue;
        runs++;
        header = fleet->runs[i].run->view.header;
        newest = strcmp(tb_member_text(header, "time"), tb_member_text(newest, "time")) > 0 ? header : newest;
    }
    json_t *machine = machine_json(newest);
    for (size_t i = 0; i < fleet->runs_count; i++) {
        header = strcmp(fleet->runs[i].run->host->name, host->name) ? NULL : fleet->runs[i].run->view.header;
        json_t *then = header ? machine_json(header) : NULL;
        changed |= then && (!same_text(then, machine, "cpu") || !same_text(then, machine, "topology"));
        json_decref(then);
    }
    if (host->ledger.broken_line)
        snprintf(broken, sizeof broken, "line %zu: %s", host->ledger.broken_line, host->ledger.broken);
    json_t *own = json_pack("{s:o, s:I, s:b, s:o}", "host", tb_json_clean(host->name), "runs", runs, "changed", changed, "broken",
                            tb_json_clean(broken));
    if (machine && own && json_object_update(machine, own) == 0)
        return json_decref(own), machine;
    json_decref(own);
    json_decref(machine);
    return NULL;
}

static size_t kind_rank(const json_t *host)
{
    size_t rank = 0;
    while (rank < 3 && strcmp(kinds[rank], tb_member_text(host, "kind")))
        rank++;
    return rank;
}

static int by_machine(const json_t *a, const json_t *b)
{
    int order = (int)kind_rank(a) - (int)kind_rank(b);
    order = order ? order : strcmp(tb_member_text(a, "cpu"), tb_member_text(b, "cpu"));
    return order ? order : strcmp(tb_member_text(a, "topology"), tb_member_text(b, "topology"));
}

static int by_machine_and_name(const json_t *a, const json_t *b)
{
    int order = by_machine(a, b);
    return order ? order : strverscmp(tb_member_text(a, "host"), tb_member_text(b, "host")); // bm2 before bm10
}

static int insert(json_t *hosts, json_t *host)
{
    size_t at = 0;
    while (at < json_array_size(hosts) && by_machine_and_name(json_array_get(hosts, at), host) < 0)
        at++;
    return json_array_insert_new(hosts, at, host);
}

// Hosts that are alike stand side by side.
static int group_hosts(struct fleet *fleet)
{
    size_t i;
    json_t *host, *group = NULL;
    int failed = 0;
    json_array_foreach (fleet->hosts, i, host) {
        if (i == 0 || by_machine(json_array_get(fleet->hosts, i - 1), host)) {
            group = json_pack("{s:O, s:O, s:O, s:i}", "kind", json_object_get(host, "kind"), "cpu", json_object_get(host, "cpu"),
                              "topology", json_object_get(host, "topology"), "hosts", 0);
            failed |= json_array_append_new(fleet->groups, group);
        }
        failed |= json_object_set_new(host, "group", json_integer((json_int_t)json_array_size(fleet->groups) - 1));
        json_t *count = json_object_get(group, "hosts");
        failed |= json_integer_set(count, json_integer_value(count) + 1);
        if (json_is_true(json_object_get(host, "changed"))) {
            char text[256];
            snprintf(text, sizeof text, "%s: its runs were made on machines that differ; it is shown as the newest log has it.",
                     tb_member_text(host, "host"));
            failed |= json_array_append_new(fleet->warnings, json_string(text));
        }
    }
    return failed ? -ENOMEM : 0;
}

// Those that have an official run, or a ledger that is broken.
static int collect_hosts(struct fleet *fleet, const struct tb_store *store)
{
    int failed = 0;
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_store_host *host = store->hosts[i];
        bool shown = host->ledger.broken_line && host_wanted(fleet, host->name), twice = false;
        for (size_t r = 0; r < fleet->runs_count; r++)
            shown |= fleet->runs[r].run->host == host;
        for (size_t h = 0; h < json_array_size(fleet->hosts); h++) // below another root
            twice |= strcmp(text_at(fleet->hosts, h, "host"), host->name) == 0;
        if (shown && !twice)
            failed |= insert(fleet->hosts, host_json(fleet, host));
    }
    return failed ? -ENOMEM : group_hosts(fleet);
}

// --- which run stands ----------------------------------------------------------------------------------------------------------

static bool is_of(const struct entry *entry, const char *host, const char *postulate)
{
    return strcmp(entry->run->host->name, host) == 0 && strncmp(entry->run->run, postulate, 4) == 0;
}

// NULL: the host has not run it.
static const struct entry *standing(const struct fleet *fleet, const char *host, const char *postulate)
{
    const struct entry *best = NULL;
    for (const struct entry *entry = fleet->runs; entry < fleet->runs + fleet->runs_count; entry++)
        if (is_of(entry, host, postulate) && (!best || entry->says + entry->closed >= best->says + best->closed))
            best = entry;
    return best;
}

const json_t *tb_fleet_find(const json_t *list, const char *id)
{
    const json_t *entry;
    size_t i;
    json_array_foreach (list, i, entry)
        if (strcmp(tb_member_text(entry, "id"), id) == 0)
            return entry;
    return NULL;
}

// NULL: it has none of that name.
static const json_t *prediction_of(const struct entry *entry, const char *id)
{
    return entry->closed ? tb_fleet_find(tb_member(entry->run->view.summary, "predictions"), id) : NULL;
}

// Of one prediction, or ("") of the run.
static const char *verdict_of(const struct entry *entry, const char *id)
{
    const json_t *prediction = *id ? prediction_of(entry, id) : NULL;
    const char *verdict = prediction ? tb_prediction_verdict(entry->run->view.header, prediction) : "";
    return *verdict ? verdict : *id && entry->says ? "no verdict" : tb_run_verdict(entry->run);
}

// --- results -------------------------------------------------------------------------------------------------------------------

// The other runs of the host: those that say something, or those that say nothing.
static json_t *others(const struct fleet *fleet, const char *host, const char *postulate, const char *prediction, bool says)
{
    const struct entry *stands = standing(fleet, host, postulate);
    json_t *list = json_array();
    for (const struct entry *entry = fleet->runs; entry < fleet->runs + fleet->runs_count; entry++)
        if (entry != stands && entry->says == says && is_of(entry, host, postulate))
            list = tb_json_appended(list, json_pack("{s:o, s:o}", "run", tb_json_clean(entry->run->run), "verdict",
                                                    tb_json_clean(verdict_of(entry, prediction))));
    return list;
}

static json_t *result_json(const struct fleet *fleet, const char *host, const char *postulate, const char *prediction)
{
    const struct entry *stands = standing(fleet, host, postulate);
    const json_t *header = stands ? stands->run->view.header : NULL;
    const char *verdict = stands ? verdict_of(stands, prediction) : "not run";
    const json_t *said = !stands || !stands->closed ? NULL
                         : *prediction              ? prediction_of(stands, prediction)
                                                    : stands->run->view.summary;
    const json_t *figures = *prediction && is_measured(verdict) ? said : NULL;
    const struct tb_json_member members[] = {
        {"host", json_string(host)},
        {"verdict", tb_json_clean(verdict)},
        {"run", tb_json_clean(stands ? stands->run->run : NULL)},
        {"time", tb_json_clean(tb_member_text(header, "time"))},
        {"commit", tb_json_clean(tb_member_text(header, "env.build.commit"))},
        {"postulate_sha256", tb_json_clean(tb_member_text(header, "postulate.sha256"))},
        {"why", tb_json_clean(said     ? tb_member_text(said, "why")
                              : stands ? stands->run->why
                                       : NULL)},
        {"estimate", tb_json_number(tb_member_number(figures, "estimate"))},
        {"low", tb_json_number(tb_member_number(figures, "low"))},
        {"high", tb_json_number(tb_member_number(figures, "high"))},
        {"older", others(fleet, host, postulate, prediction, true)},
        {"unfit", others(fleet, host, postulate, prediction, false)},
    };
    return TB_JSON_OBJECT(members);
}

// " Falsified on bm1, guest-n2 (emulated)."; of what was spoilt also how.
static void say_those(struct tb_words *out, const struct fleet *fleet, const json_t *results, enum tb_fleet_says says)
{
    static const char *const facts[] = {"Survived on",     "Falsified on",    "No difference on", "Open on",
                                        "Unmeasurable on", "No valid run on", "Not run on"};
    const json_t *result;
    size_t i, said = 0;
    json_array_foreach (results, i, result) {
        const char *verdict = tb_member_text(result, "verdict");
        bool emulated = strcmp(text_at(fleet->hosts, i, "kind"), "emulated") == 0;
        if (tb_fleet_word(verdict)->says != says)
            continue;
        tb_say(out, said ? ", %s%s" : " %s %s", said ? "" : facts[says], tb_member_text(result, "host"));
        said++;
        if (says == TB_FLEET_SPOILT || emulated)
            tb_say(out, " (%s)", says == TB_FLEET_SPOILT ? verdict : "emulated");
    }
    tb_say(out, said ? "." : "");
}

// Adds results, how many of them say what, and that in sentences. `prediction`: "" for the postulate as a whole. -1: no memory.
static int add_results(const struct fleet *fleet, json_t *object, const char *postulate, const char *prediction)
{
    json_t *results = json_array();
    size_t i, counts[TB_FLEET_SAYS] = {0};
    struct tb_words sentence = {0};
    for (i = 0; i < json_array_size(fleet->hosts); i++)
        results = tb_json_appended(results, result_json(fleet, text_at(fleet->hosts, i, "host"), postulate, prediction));
    for (i = 0; i < json_array_size(results); i++)
        counts[tb_fleet_word(text_at(results, i, "verdict"))->says]++;
    size_t measured = counts[TB_FLEET_SURVIVED] + counts[TB_FLEET_FALSIFIED] + counts[TB_FLEET_SAME] + counts[TB_FLEET_OPEN];
    tb_say(&sentence, "%s%s%s ", postulate, *prediction ? " " : "", prediction);
    if (measured > 0)
        tb_say(&sentence, "survives on %zu of %zu machine%s that could measure it.", counts[TB_FLEET_SURVIVED], measured,
               measured == 1 ? "" : "s");
    else
        tb_say(&sentence, "has not been measured on any machine.");
    for (enum tb_fleet_says says = 0; says < TB_FLEET_SAYS; says++)
        say_those(&sentence, fleet, results, says);
    json_t *said = json_pack("{s:o, s:I, s:I, s:I, s:o}", "results", results, "survived", (json_int_t)counts[TB_FLEET_SURVIVED],
                             "falsified", (json_int_t)counts[TB_FLEET_FALSIFIED], "measured", (json_int_t)measured, "sentence",
                             tb_json_clean(sentence.text));
    int failed = json_object_update(object, said);
    json_decref(said);
    return failed;
}

// --- predictions and postulates ------------------------------------------------------------------------------------------------

// "B glibc, A locus": the arms that it speaks of.
static json_t *arms_json(const json_t *header, const json_t *prediction)
{
    static const char *const members[] = {"over", "under", "arm"};
    struct tb_words out = {0};
    const json_t *arm;
    size_t i;
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        json_array_foreach (tb_member(header, "arms"), i, arm)
            if (*tb_member_text(arm, "key") && strcmp(tb_member_text(arm, "key"), tb_member_text(prediction, members[m])) == 0)
                tb_say(&out, "%s%s %s", out.used ? ", " : "", tb_member_text(arm, "key"), tb_member_text(arm, "name"));
    return tb_json_clean(out.text);
}

static json_t *prediction_json(const struct fleet *fleet, const json_t *header, const char *postulate, const json_t *prediction)
{
    const char *id = tb_member_text(prediction, "id"), *cell = tb_member_text(prediction, "cell");
    char about[256];
    snprintf(about, sizeof about, "%.60s%s%.150s", tb_member_text(prediction, "metric"), *cell ? ", " : "",
             strcmp(cell, "*") ? cell : "every cell");
    const struct tb_json_member members[] = {
        {"id", tb_json_clean(id)},
        {"text", tb_json_clean(tb_member_text(prediction, "text"))},
        {"about", tb_json_clean(about)},
        {"arms", arms_json(header, prediction)},
        {"unit", tb_json_clean(tb_member_text(prediction, "unit"))},
        {"gate", json_boolean(tb_prediction_gate(header, prediction))},
    };
    json_t *object = TB_JSON_OBJECT(members);
    if (object && add_results(fleet, object, postulate, id) == 0)
        return object;
    json_decref(object);
    return NULL;
}

// Those of every host's standing run, in the order of the first that has them: all by name, and in full those that are wanted.
static int add_predictions(const struct fleet *fleet, json_t *object, const char *postulate)
{
    json_t *ids = json_array(), *list = json_array(), *seen = json_object();
    for (size_t h = 0; h < json_array_size(fleet->hosts); h++) {
        const struct entry *stands = standing(fleet, text_at(fleet->hosts, h, "host"), postulate);
        const struct tb_log_view *view = stands && stands->closed ? &stands->run->view : NULL;
        const json_t *prediction;
        size_t i;
        json_array_foreach (view ? tb_member(view->summary, "predictions") : NULL, i, prediction) {
            const char *id = tb_member_text(prediction, "id");
            if (!*id || json_object_get(seen, id))
                continue;
            json_object_set_new(seen, id, json_true());
            ids = tb_json_appended(ids, tb_json_clean(id));
            if (is_wanted(fleet, postulate, id))
                list = tb_json_appended(list, prediction_json(fleet, view->header, postulate, prediction));
        }
    }
    json_decref(seen);
    int failed = json_object_set_new(object, "ids", ids);
    return json_object_set_new(object, "predictions", list) || failed;
}

// Predictions are comparable where the hosts ran the same postulate.
static void warn_of_versions(struct fleet *fleet, const char *id, const json_t *results)
{
    const json_t *result;
    const char *first = NULL, *host = NULL;
    size_t i;
    json_array_foreach (results, i, result) {
        const char *hash = tb_member_text(result, "postulate_sha256");
        char text[320];
        if (*hash && !first) {
            first = hash;
            host = tb_member_text(result, "host");
        }
        if (!*hash || strcmp(first, hash) == 0)
            continue;
        snprintf(text, sizeof text,
                 "%s: %.60s and %.60s ran different versions of the postulate (SHA-256 %.8s and %.8s), so their "
                 "predictions need not be the same.",
                 id, host, tb_member_text(result, "host"), first, hash);
        fleet->warnings = tb_json_appended(fleet->warnings, json_string(text));
    }
}

// `header`: of any of its runs.
static json_t *postulate_json(struct fleet *fleet, const char *id, const json_t *header)
{
    json_t *object = json_pack("{s:s, s:o, s:o}", "id", id, "slug", tb_json_clean(tb_member_text(header, "experiment.slug")),
                               "question", tb_json_clean(tb_member_text(header, "experiment.question")));
    if (!object || add_results(fleet, object, id, "") || add_predictions(fleet, object, id)) {
        json_decref(object);
        return NULL;
    }
    warn_of_versions(fleet, id, json_object_get(object, "results"));
    return object;
}

static void collect_postulates(struct fleet *fleet)
{
    size_t next;
    for (size_t i = 0; i < fleet->runs_count; i = next) {
        const char *run = fleet->runs[i].run->run;
        const json_t *header = NULL;
        char id[5];
        for (next = i; next < fleet->runs_count && strncmp(fleet->runs[next].run->run, run, 4) == 0; next++)
            header = fleet->runs[next].run->view.header ? fleet->runs[next].run->view.header : header;
        snprintf(id, sizeof id, "%.4s", run);
        if (is_wanted(fleet, id, NULL))
            fleet->postulates = tb_json_appended(fleet->postulates, postulate_json(fleet, id, header));
    }
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

// Where machines disagree about a prediction; how many of those that several measured stand and fall everywhere, and how many do
// neither.
static json_t *disagree_json(const struct fleet *fleet, json_t *answer)
{
    const json_t *postulate, *prediction;
    size_t i, j, shared = 0, standing = 0, fallen = 0, gates = 0, broken = 0;
    char text[320];
    json_t *list = json_array();
    json_array_foreach (fleet->postulates, i, postulate)
        json_array_foreach (tb_member(postulate, "predictions"), j, prediction) {
            double stands = tb_member_number(prediction, "survived"), fell = tb_member_number(prediction, "falsified");
            double measured = tb_member_number(prediction, "measured");
            if (json_is_true(tb_member(prediction, "gate"))) {
                gates += measured > 0;
                broken += fell > 0;
                continue;
            }
            shared += measured > 1;
            standing += measured > 1 && stands == measured;
            fallen += measured > 1 && fell == measured;
            if (stands > 0 && fell > 0)
                list =
                    tb_json_appended(list, json_pack("{s:O, s:O, s:O}", "postulate", tb_member(postulate, "id"), "prediction",
                                                     tb_member(prediction, "id"), "sentence", tb_member(prediction, "sentence")));
        }
    if (shared == 0)
        snprintf(text, sizeof text, "No prediction was measured on more than one machine yet.");
    else
        snprintf(
            text, sizeof text,
            "Predictions that more than one machine measured: %zu. On all of these machines %zu survive and %zu are falsified; "
            "they disagree about %zu, and %zu are open on some.",
            shared, standing, fallen, json_array_size(list), shared - standing - fallen - json_array_size(list));
    if (json_array_append_new(answer, json_string(text)))
        return NULL;
    snprintf(text, sizeof text, "Gates, which cannot fail but by a bug, are counted apart: %zu, of which %zu failed somewhere.",
             gates, broken);
    return gates > 0 && json_array_append_new(answer, json_string(text)) ? NULL : list;
}

static json_t *assemble(const struct fleet *fleet)
{
    char text[128];
    snprintf(text, sizeof text, "Official runs: %zu, on %zu machines of %zu kinds.", fleet->runs_count,
             json_array_size(fleet->hosts), json_array_size(fleet->groups));
    json_t *answer = json_pack("[s]", text);
    const struct tb_json_member members[] = {
        {"groups", json_incref(fleet->groups)},         {"hosts", json_incref(fleet->hosts)},
        {"postulates", json_incref(fleet->postulates)}, {"warnings", json_incref(fleet->warnings)},
        {"disagree", disagree_json(fleet, answer)},     {"answer", answer},
    };
    return TB_JSON_OBJECT(members);
}

int tb_fleet(const struct tb_store *store, const struct tb_fleet_wanted *wanted, json_t **out)
{
    struct fleet fleet = {wanted, NULL, 0, json_array(), json_array(), json_array(), json_array()};
    int rc = collect_runs(&fleet, store);
    rc = rc ? rc : collect_hosts(&fleet, store);
    if (!rc)
        collect_postulates(&fleet);
    *out = rc ? NULL : assemble(&fleet);
    json_decref(fleet.groups);
    json_decref(fleet.hosts);
    json_decref(fleet.postulates);
    json_decref(fleet.warnings);
    free(fleet.runs);
    return *out ? 0 : -ENOMEM;
}
