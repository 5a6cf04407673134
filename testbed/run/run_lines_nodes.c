// SPDX-License-Identifier: Apache-2.0
//
// run_lines_nodes: see run_lines_nodes.h.
//
// The counts go in as they came, by the nodes' OS numbers; a pair of nodes, or a node of a placement, that counted nothing is left
// out, since most of the square is empty. Only the ratios are worked out here, so that everybody forms them alike: a metric must
// not depend on who reads the log. The sample comes from another process, which may have died in the middle of it: no count of
// rows is believed beyond its array.

#include "testbed/run/run_lines_nodes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "placement/memory/policy.h"

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static uint32_t rows_of(const struct tb_nodes_sample *nodes)
{
    return nodes->count < TB_NODES_MAX ? nodes->count : TB_NODES_MAX;
}

// --- ratios ---

struct split {
    uint64_t local, remote;
};

static struct split split_of(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    struct split out = {0};
    for (uint32_t from = 0; from < rows_of(nodes); from++)
        for (uint32_t to = 0; to < rows_of(nodes); to++)
            *(from == to ? &out.local : &out.remote) += counts->pair[from][to];
    return out;
}

static json_t *share(uint64_t part, struct split split)
{
    uint64_t whole = split.local + split.remote;
    return whole ? json_real((double)part / (double)whole) : json_null();
}

// --- counts ---

static json_t *counts_json(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts)
{
    struct split split = split_of(nodes, counts);
    json_t *pairs = json_array();
    for (uint32_t from = 0; from < rows_of(nodes); from++)
        for (uint32_t to = 0; to < rows_of(nodes); to++)
            if (counts->pair[from][to])
                json_array_append_new(pairs, json_pack("[i, i, o]", nodes->node[from].os, nodes->node[to].os,
                                                       number(counts->pair[from][to])));
    return json_pack("{s:o, s:o, s:o, s:o}", "local", number(split.local), "remote", number(split.remote), "unknown",
                     number(counts->unknown), "pairs", pairs);
}

static json_t *frees_json(const struct tb_nodes_sample *nodes)
{
    json_t *frees = counts_json(nodes, &nodes->frees);
    json_object_set_new(frees, "abroad", nodes->abroad_known ? number(nodes->frees_abroad) : json_null());
    return frees;
}

static json_t *os_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++)
        json_array_append_new(list, json_integer(nodes->node[i].os));
    return list;
}

static json_t *homes_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++) {
        const struct tb_node_row *row = &nodes->node[i];
        if (row->station)
            json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o, s:o}", "node", row->os, "allocated", number(row->allocated),
                                                  "freed", number(row->freed), "pushed", number(row->pushed), "drained",
                                                  number(row->drained)));
    }
    return list;
}

static json_t *drift_json(const struct tb_nodes_sample *nodes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < nodes->points_count && i < TB_DRIFT_POINTS_MAX; i++)
        json_array_append_new(list, json_pack("[o, o]", number(nodes->points[i].allocated), number(nodes->points[i].wandered)));
    return list;
}

// --- placements ---

static json_t *policy_json(uint32_t policy)
{
    const char *name = locus_policy_name((enum locus_policy)policy);
    return json_string(name ? name : "unknown");
}

static json_t *why_json(const struct tb_node_placement *placement)
{
    char granted[96] = "", verify[96] = "";
    if (placement->granted_errno)
        snprintf(granted, sizeof granted, "the policy could not be read back: %s", strerror(placement->granted_errno));
    if (placement->verify_errno)
        snprintf(verify, sizeof verify, "the kernel does not say where the pages are: %s", strerror(placement->verify_errno));
    return *granted || *verify ? json_sprintf("%s%s%s", granted, *granted && *verify ? "; " : "", verify) : json_null();
}

static json_t *placement_json(const struct tb_nodes_sample *nodes, const struct tb_node_placement *placement)
{
    json_t *on = json_array();
    for (uint32_t i = 0; i < rows_of(nodes); i++)
        if (placement->on[i])
            json_array_append_new(on, json_pack("[i, o]", nodes->node[i].os, number(placement->on[i])));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "station", placement->station, "requested",
                     policy_json(placement->requested), "granted",
                     placement->granted_errno ? json_null() : policy_json(placement->granted), "why", why_json(placement),
                     "present", number(placement->present), "elsewhere", number(placement->elsewhere), "on", on, "numa_maps",
                     placement->maps_read ? json_boolean(placement->maps_agree) : json_null());
}

static json_t *placements_json(const struct tb_nodes_sample *nodes, const struct tb_node_placement placements[])
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < nodes->placements && i < TB_NODES_MAX; i++)
        json_array_append_new(list, placement_json(nodes, &placements[i]));
    return list;
}

static json_t *balancing_json(const struct tb_nodes_sample *nodes)
{
    if (!nodes->balancing_known)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "pte_updates", number(nodes->numa_pte_updates), "hint_faults",
                     number(nodes->numa_hint_faults), "pages_migrated", number(nodes->numa_pages_migrated));
}

// --- the line ---

static json_t *nodes_json(const struct tb_nodes_sample *nodes)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "os", os_json(nodes), "homes", homes_json(nodes),
                     "touches", counts_json(nodes, &nodes->touches), "allocations", counts_json(nodes, &nodes->allocations),
                     "frees", frees_json(nodes), "drift", drift_json(nodes), "before", placements_json(nodes, nodes->before),
                     "after", placements_json(nodes, nodes->after), "pages_moved", number(nodes->pages_moved), "pages_repaired",
                     number(nodes->pages_repaired), "balancing", balancing_json(nodes));
}

int tb_line_nodes(json_t *line, const struct tb_nodes_sample *nodes)
{
    bool many = nodes->count > 0;
    struct split touches = split_of(nodes, &nodes->touches), frees = split_of(nodes, &nodes->frees);
    struct split allocations = split_of(nodes, &nodes->allocations);
    int rc = json_object_set_new(line, "remote_touch_ratio", share(touches.remote, touches));
    rc |= json_object_set_new(line, "wandered_ratio", share(allocations.remote, allocations));
    rc |= json_object_set_new(line, "abroad_free_ratio", nodes->abroad_known ? share(nodes->frees_abroad, frees) : json_null());
    rc |= json_object_set_new(line, "nodes", many ? nodes_json(nodes) : json_null());
    return rc ? -ENOMEM : 0;
}
