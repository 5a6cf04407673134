// SPDX-License-Identifier: Apache-2.0
//
// fleet: which run of each host stands for a postulate, and what it says. Hosts and runs are fleet_hosts', sentences
// fleet_answer's.
//
// No choice is made by how a run came out, only by whether it says anything: a prediction that fell on a host stays fallen there
// until a newer run of the same postulate says otherwise, and the older one is then counted beside it.
#include "testbed/report/hosts/fleet_parts.h"

#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"

// "0013" of a run, "P2" or NULL for any.
static bool is_wanted(const struct tb_fleet *fleet, const char *run, const char *prediction)
{
    const char *const *wanted = fleet->wanted->postulates;
    for (; wanted && *wanted; wanted++)
        if (strncmp(*wanted, run, 4) == 0 && (!prediction || !(*wanted)[4] || strcmp(*wanted + 5, prediction) == 0))
            return true;
    return !fleet->wanted->postulates;
}

// --- which run stands ----------------------------------------------------------------------------------------------------------

static bool is_of(const struct tb_fleet_run *entry, const char *host, const char *postulate)
{
    return strcmp(entry->run->host->name, host) == 0 && strncmp(entry->run->run, postulate, 4) == 0;
}

static int worth(const struct tb_fleet_run *entry)
{
    return entry->says ? 2 : entry->closed ? 1 : 0;
}

// NULL: the host has not run it.
static const struct tb_fleet_run *standing(const struct tb_fleet *fleet, const char *host, const char *postulate)
{
    const struct tb_fleet_run *best = NULL;
    for (size_t i = 0; i < fleet->runs_count; i++)
        if (is_of(&fleet->runs[i], host, postulate) && (!best || worth(&fleet->runs[i]) >= worth(best)))
            best = &fleet->runs[i];
    return best;
}

// NULL: it has none of that name.
static const json_t *prediction_of(const struct tb_fleet_run *entry, const char *id)
{
    const json_t *prediction;
    size_t i;
    json_array_foreach (tb_member(entry->run->view.summary, "predictions"), i, prediction)
        if (strcmp(tb_member_text(prediction, "id"), id) == 0)
            return prediction;
    return NULL;
}

// Of one prediction, or ("") of the run.
static const char *verdict_of(const struct tb_fleet_run *entry, const char *id)
{
    const json_t *prediction = *id && entry->closed ? prediction_of(entry, id) : NULL;
    const char *verdict = prediction ? tb_prediction_verdict(entry->run->view.header, prediction) : "";
    return *verdict ? verdict : *id && entry->says ? "no verdict" : entry->verdict;
}

// --- results -------------------------------------------------------------------------------------------------------------------

struct place {
    const struct tb_fleet *fleet;
    const struct tb_fleet_host *host;
    const char *postulate, *prediction;
    const struct tb_fleet_run *stands;
};

// The other runs of the host: those that say something, or those that say nothing.
static json_t *others(const struct place *place, bool says)
{
    json_t *list = json_array();
    for (size_t i = 0; i < place->fleet->runs_count; i++) {
        const struct tb_fleet_run *entry = &place->fleet->runs[i];
        if (entry != place->stands && entry->says == says && is_of(entry, place->host->name, place->postulate))
            list = tb_json_appended(list, json_pack("{s:o, s:o}", "run", tb_json_clean(entry->run->run), "verdict",
                                                    tb_json_clean(verdict_of(entry, place->prediction))));
    }
    return list;
}

static json_t *result_json(const struct place *place)
{
    const struct tb_fleet_run *stands = place->stands;
    const struct tb_log_view *view = stands ? &stands->run->view : NULL;
    const char *verdict = stands ? verdict_of(stands, place->prediction) : "not run";
    const json_t *said =
        stands && stands->closed ? *place->prediction ? prediction_of(stands, place->prediction) : view->summary : NULL;
    const json_t *figures = *place->prediction && tb_fleet_measured(verdict) ? said : NULL;
    const char *why = said ? tb_member_text(said, "why") : stands ? stands->run->why : NULL;
    const json_t *header = view ? view->header : NULL;
    const struct tb_json_member members[] = {
        {"host", tb_json_clean(place->host->name)},
        {"verdict", tb_json_clean(verdict)},
        {"run", tb_json_clean(stands ? stands->run->run : NULL)},
        {"time", tb_json_clean(tb_member_text(header, "time"))},
        {"commit", tb_json_clean(tb_member_text(header, "env.build.commit"))},
        {"postulate_sha256", tb_json_clean(tb_member_text(header, "postulate.sha256"))},
        {"why", tb_json_clean(why)},
        {"estimate", tb_json_number(tb_member_number(figures, "estimate"))},
        {"low", tb_json_number(tb_member_number(figures, "low"))},
        {"high", tb_json_number(tb_member_number(figures, "high"))},
        {"older", others(place, true)},
        {"unfit", others(place, false)},
    };
    return TB_JSON_OBJECT(members);
}

static json_t *results_json(const struct tb_fleet *fleet, const char *postulate, const char *prediction)
{
    json_t *results = json_array();
    for (size_t i = 0; i < fleet->hosts_count; i++) {
        const char *host = fleet->hosts[i].name;
        const struct place place = {fleet, &fleet->hosts[i], postulate, prediction, standing(fleet, host, postulate)};
        results = tb_json_appended(results, result_json(&place));
    }
    return results;
}

// --- predictions ---------------------------------------------------------------------------------------------------------------

// "B glibc, A locus": the arms that it speaks of.
static json_t *arms_json(const json_t *header, const json_t *prediction)
{
    static const char *const members[] = {"over", "under", "arm"};
    struct tb_words words = {0};
    const json_t *arm;
    size_t i;
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        json_array_foreach (tb_member(header, "arms"), i, arm)
            if (*tb_member_text(arm, "key") && strcmp(tb_member_text(arm, "key"), tb_member_text(prediction, members[m])) == 0)
                tb_say(&words, "%s%s %s", words.used ? ", " : "", tb_member_text(arm, "key"), tb_member_text(arm, "name"));
    return tb_json_clean(words.text);
}

static json_t *prediction_json(const struct tb_fleet *fleet, const struct tb_fleet_run *entry, const char *postulate,
                               const json_t *prediction, const json_t *hosts)
{
    const char *id = tb_member_text(prediction, "id"), *cell = tb_member_text(prediction, "cell");
    char about[256];
    snprintf(about, sizeof about, "%.60s%s%.150s", tb_member_text(prediction, "metric"),
             strcmp(cell, "*") ? *cell ? ", " : "" : ", every cell", strcmp(cell, "*") ? cell : "");
    const struct tb_json_member members[] = {
        {"id", tb_json_clean(id)},
        {"text", tb_json_clean(tb_member_text(prediction, "text"))},
        {"about", tb_json_clean(about)},
        {"arms", arms_json(entry->run->view.header, prediction)},
        {"unit", tb_json_clean(tb_member_text(prediction, "unit"))},
        {"results", results_json(fleet, postulate, id)},
    };
    json_t *object = TB_JSON_OBJECT(members);
    if (object && tb_fleet_count(object, postulate, id, hosts) == 0)
        return object;
    json_decref(object);
    return NULL;
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

// Those of every host's standing run, in the order of the first that has them.
static json_t *ids_json(const struct tb_fleet *fleet, const char *postulate)
{
    json_t *ids = json_array(), *known = json_object();
    for (size_t h = 0; h < fleet->hosts_count; h++) {
        const struct tb_fleet_run *stands = standing(fleet, fleet->hosts[h].name, postulate);
        const json_t *prediction;
        size_t i;
        json_array_foreach (stands && stands->closed ? tb_member(stands->run->view.summary, "predictions") : NULL, i, prediction) {
            const char *id = tb_member_text(prediction, "id");
            if (!*id || json_object_get(known, id))
                continue;
            json_object_set_new(known, id, json_true());
            ids = tb_json_appended(ids, tb_json_clean(id));
        }
    }
    json_decref(known);
    return ids;
}

static json_t *predictions_json(const struct tb_fleet *fleet, const char *postulate, const json_t *ids, const json_t *hosts)
{
    json_t *list = json_array();
    const json_t *id;
    size_t i;
    json_array_foreach (ids, i, id) {
        const struct tb_fleet_run *has = NULL;
        for (size_t h = 0; h < fleet->hosts_count && !has; h++) {
            has = standing(fleet, fleet->hosts[h].name, postulate);
            has = has && has->closed && prediction_of(has, json_string_value(id)) ? has : NULL;
        }
        if (has && is_wanted(fleet, postulate, json_string_value(id)))
            list = tb_json_appended(list, prediction_json(fleet, has, postulate, prediction_of(has, json_string_value(id)), hosts));
    }
    return list;
}

// --- postulates ----------------------------------------------------------------------------------------------------------------

// Predictions are comparable where the hosts ran the same postulate.
static int warn_of_versions(struct tb_fleet *fleet, const char *id, const json_t *results)
{
    const json_t *result, *first = NULL;
    size_t i;
    json_array_foreach (results, i, result) {
        const char *hash = tb_member_text(result, "postulate_sha256");
        char text[320];
        if (*hash && !first)
            first = result;
        if (!*hash || strcmp(tb_member_text(first, "postulate_sha256"), hash) == 0)
            continue;
        snprintf(text, sizeof text,
                 "%s: %.60s and %.60s ran different versions of the postulate (SHA-256 %.8s and %.8s), so their "
                 "predictions need not be the same.",
                 id, tb_member_text(first, "host"), tb_member_text(result, "host"), tb_member_text(first, "postulate_sha256"),
                 hash);
        fleet->warnings = tb_json_appended(fleet->warnings, json_string(text));
    }
    return fleet->warnings ? 0 : -ENOMEM;
}

// `header`: of any of its runs.
static json_t *postulate_json(struct tb_fleet *fleet, const char *id, const json_t *header, const json_t *hosts)
{
    json_t *results = results_json(fleet, id, ""), *ids = ids_json(fleet, id);
    const struct tb_json_member members[] = {
        {"id", json_string(id)},
        {"ids", ids},
        {"slug", tb_json_clean(tb_member_text(header, "experiment.slug"))},
        {"question", tb_json_clean(tb_member_text(header, "experiment.question"))},
        {"results", results},
        {"predictions", predictions_json(fleet, id, ids, hosts)},
    };
    json_t *object = TB_JSON_OBJECT(members);
    if (object && tb_fleet_count(object, id, "", hosts) == 0 && warn_of_versions(fleet, id, results) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static int collect_postulates(struct tb_fleet *fleet, const json_t *hosts)
{
    size_t next;
    for (size_t i = 0; hosts && i < fleet->runs_count; i = next) {
        const char *run = fleet->runs[i].run->run;
        const json_t *header = NULL;
        char id[5];
        for (next = i; next < fleet->runs_count && strncmp(fleet->runs[next].run->run, run, 4) == 0; next++)
            header = fleet->runs[next].run->view.header ? fleet->runs[next].run->view.header : header;
        snprintf(id, sizeof id, "%.4s", run);
        if (is_wanted(fleet, id, NULL))
            fleet->postulates = tb_json_appended(fleet->postulates, postulate_json(fleet, id, header, hosts));
    }
    return hosts && fleet->postulates ? 0 : -ENOMEM;
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

static int warn_of_hosts(struct tb_fleet *fleet)
{
    for (size_t i = 0; i < fleet->hosts_count; i++) {
        char text[256];
        if (!fleet->hosts[i].changed)
            continue;
        snprintf(text, sizeof text, "%s: its runs were made on machines that differ; it is shown as the newest log has it.",
                 fleet->hosts[i].name);
        fleet->warnings = tb_json_appended(fleet->warnings, tb_json_clean(text));
    }
    return fleet->warnings ? 0 : -ENOMEM;
}

static json_t *assemble(struct tb_fleet *fleet)
{
    json_t *hosts = tb_fleet_hosts_json(fleet);
    int rc = collect_postulates(fleet, hosts);
    const struct tb_json_member members[] = {{"groups", json_incref(fleet->groups)},
                                             {"hosts", hosts},
                                             {"postulates", json_incref(fleet->postulates)},
                                             {"warnings", json_incref(fleet->warnings)}};
    json_t *object = TB_JSON_OBJECT(members);
    if (object && !rc && tb_fleet_answer(object) == 0)
        return object;
    json_decref(object);
    return NULL;
}

int tb_fleet(const struct tb_store *store, const struct tb_fleet_wanted *wanted, json_t **out)
{
    struct tb_fleet fleet = {
        .store = store, .wanted = wanted, .groups = json_array(), .postulates = json_array(), .warnings = json_array()};
    int rc = fleet.groups && fleet.postulates && fleet.warnings ? tb_fleet_collect(&fleet) : -ENOMEM;
    if (!rc)
        rc = warn_of_hosts(&fleet);
    *out = rc ? NULL : assemble(&fleet);
    tb_fleet_close(&fleet);
    return rc ? rc : *out ? 0 : -ENOMEM;
}
