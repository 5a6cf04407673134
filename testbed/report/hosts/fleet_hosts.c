// SPDX-License-Identifier: Apache-2.0
//
// fleet_hosts: the official runs of all hosts, and the hosts themselves, those that are alike side by side.
#include "testbed/report/hosts/fleet_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"

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

static struct tb_fleet_run entry_of(const struct tb_store_run *run)
{
    struct tb_fleet_run entry = {.run = run, .verdict = tb_run_verdict(run), .closed = run->state == TB_RUN_WHOLE};
    const json_t *prediction;
    size_t i;
    json_array_foreach (tb_member(run->view.summary, "predictions"), i, prediction)
        entry.says |= entry.closed && tb_fleet_measured(tb_prediction_verdict(run->view.header, prediction));
    return entry;
}

static bool host_wanted(const struct tb_fleet *fleet, const char *name)
{
    return !fleet->wanted->host || fnmatch(fleet->wanted->host, name, 0) == 0;
}

static int collect_runs(struct tb_fleet *fleet)
{
    fleet->runs = calloc(fleet->store->runs_count + 1, sizeof *fleet->runs);
    for (size_t i = 0; fleet->runs && i < fleet->store->runs_count; i++) {
        const struct tb_store_run *run = &fleet->store->runs[i];
        if (host_wanted(fleet, run->host->name) && is_official(run))
            fleet->runs[fleet->runs_count++] = entry_of(run);
    }
    return fleet->runs ? 0 : -ENOMEM;
}

// --- hosts ---------------------------------------------------------------------------------------------------------------------

static struct tb_fleet_host *host_add(struct tb_fleet *fleet, const char *name)
{
    for (size_t i = 0; i < fleet->hosts_count; i++)
        if (strcmp(fleet->hosts[i].name, name) == 0)
            return &fleet->hosts[i];
    fleet->hosts[fleet->hosts_count] = (struct tb_fleet_host){.name = name};
    return &fleet->hosts[fleet->hosts_count++];
}

static bool same_text(const json_t *left, const json_t *right, const char *member)
{
    return strcmp(tb_member_text(left, member), tb_member_text(right, member)) == 0;
}

static bool alike(const json_t *left, const json_t *right)
{
    return same_text(left, right, "kind") && same_text(left, right, "cpu") && same_text(left, right, "topology");
}

// Whatever order the postulates have, the newest run's header describes the host. What older logs cannot say is no change.
static int describe(struct tb_fleet *fleet, struct tb_fleet_host *host)
{
    const json_t *newest = NULL;
    for (size_t i = 0; i < fleet->runs_count; i++) {
        const struct tb_store_run *run = fleet->runs[i].run;
        if (strcmp(run->host->name, host->name))
            continue;
        host->runs++;
        if (strcmp(tb_member_text(run->view.header, "time"), tb_member_text(newest, "time")) > 0)
            newest = run->view.header;
    }
    host->machine = tb_fleet_machine(newest);
    for (size_t i = 0; host->machine && i < fleet->runs_count; i++) {
        const json_t *header = fleet->runs[i].run->view.header;
        if (!header || strcmp(fleet->runs[i].run->host->name, host->name))
            continue;
        json_t *then = tb_fleet_machine(header);
        host->changed |= !same_text(then, host->machine, "cpu") || !same_text(then, host->machine, "topology");
        json_decref(then);
    }
    return host->machine ? 0 : -ENOMEM;
}

// Real ones first, and what cannot tell a time last.
static int rank_of(const struct tb_fleet_host *host)
{
    static const char *const kinds[] = {"bare metal", "virtual", "unknown", "emulated"};
    int rank = 0;
    while (rank < 3 && strcmp(kinds[rank], tb_member_text(host->machine, "kind")))
        rank++;
    return rank;
}

static int by_machine_and_name(const void *left, const void *right)
{
    static const char *const members[] = {"cpu", "topology"};
    const struct tb_fleet_host *a = left, *b = right;
    int order = rank_of(a) - rank_of(b);
    for (size_t i = 0; i < 2 && !order; i++)
        order = strcmp(tb_member_text(a->machine, members[i]), tb_member_text(b->machine, members[i]));
    return order ? order : strverscmp(a->name, b->name); // bm2 before bm10
}

// Hosts that are alike stand side by side.
static int group_hosts(struct tb_fleet *fleet)
{
    size_t groups = 0, first = 0;
    for (size_t i = 0; i < fleet->hosts_count; i++) {
        const json_t *machine = fleet->hosts[i].machine;
        groups += i == 0 || !alike(machine, fleet->hosts[i - 1].machine);
        fleet->hosts[i].group = groups - 1;
    }
    for (size_t i = 0; i < fleet->hosts_count; i++) {
        const struct tb_fleet_host *host = &fleet->hosts[i];
        if (i + 1 < fleet->hosts_count && fleet->hosts[i + 1].group == host->group)
            continue;
        fleet->groups =
            tb_json_appended(fleet->groups,
                             json_pack("{s:O, s:O, s:O, s:I}", "kind", json_object_get(host->machine, "kind"), "cpu",
                                       json_object_get(host->machine, "cpu"), "topology",
                                       json_object_get(host->machine, "topology"), "hosts", (json_int_t)(i + 1 - first)));
        first = i + 1;
    }
    return fleet->groups ? 0 : -ENOMEM;
}

static int collect_hosts(struct tb_fleet *fleet)
{
    const struct tb_store *store = fleet->store;
    int rc = 0;
    fleet->hosts = calloc(store->hosts_count + store->runs_count + 1, sizeof *fleet->hosts);
    if (!fleet->hosts)
        return -ENOMEM;
    for (size_t i = 0; i < fleet->runs_count; i++)
        host_add(fleet, fleet->runs[i].run->host->name);
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_chain *ledger = &store->hosts[i]->ledger;
        if (!ledger->broken_line || !host_wanted(fleet, store->hosts[i]->name))
            continue;
        struct tb_fleet_host *host = host_add(fleet, store->hosts[i]->name);
        host->broken = ledger->broken;
        host->broken_line = ledger->broken_line;
    }
    for (size_t i = 0; i < fleet->hosts_count && !rc; i++)
        rc = describe(fleet, &fleet->hosts[i]);
    if (!rc && fleet->hosts_count > 0)
        qsort(fleet->hosts, fleet->hosts_count, sizeof *fleet->hosts, by_machine_and_name);
    return rc ? rc : group_hosts(fleet);
}

json_t *tb_fleet_hosts_json(const struct tb_fleet *fleet)
{
    json_t *hosts = json_array();
    for (size_t i = 0; i < fleet->hosts_count; i++) {
        const struct tb_fleet_host *host = &fleet->hosts[i];
        char broken[256] = "";
        if (host->broken)
            snprintf(broken, sizeof broken, "line %zu: %s", host->broken_line, host->broken);
        const struct tb_json_member members[] = {
            {"host", tb_json_clean(host->name)},
            {"group", json_integer((json_int_t)host->group)},
            {"runs", json_integer((json_int_t)host->runs)},
            {"changed", json_boolean(host->changed)},
            {"broken", tb_json_clean(broken)},
        };
        json_t *object = TB_JSON_OBJECT(members);
        if (object && json_object_update_missing(object, host->machine)) {
            json_decref(object);
            object = NULL;
        }
        hosts = tb_json_appended(hosts, object);
    }
    return hosts;
}

int tb_fleet_collect(struct tb_fleet *fleet)
{
    int rc = collect_runs(fleet);
    return rc ? rc : collect_hosts(fleet);
}

void tb_fleet_close(struct tb_fleet *fleet)
{
    for (size_t i = 0; i < fleet->hosts_count; i++)
        json_decref(fleet->hosts[i].machine);
    json_decref(fleet->groups);
    json_decref(fleet->postulates);
    json_decref(fleet->warnings);
    free(fleet->runs);
    free(fleet->hosts);
}
