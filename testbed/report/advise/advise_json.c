// SPDX-License-Identifier: Apache-2.0
//
// advise_json: the page as one JSON object.
//
// An emulated machine's has no times, ratios or ranks, not even as null: a program that looks for them must not find a place where
// they could have been. Counts are sums over all rounds; placements are those of round 1, before and after all its laps.
#include <errno.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "testbed/base/json.h"
#include "testbed/host/head.h"
#include "testbed/report/advise/advise.h"
#include "testbed/report/board/board.h"

static json_t *json_nodes(const struct locus_nodes *nodes)
{
    json_t *array = json_array();
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1))
        array = tb_json_appended(array, json_integer(node));
    return array;
}

static json_t *json_errno(int number)
{
    const char *name = number ? strerrorname_np(number) : NULL;
    return name ? json_string(name) : number ? json_integer(number) : json_null();
}

// --- an arm --------------------------------------------------------------------------------------------------------------------

static json_t *json_pool(const struct tb_nodes_sample *nodes, const struct tb_node_placement *pool)
{
    json_t *on = json_array();
    for (uint32_t n = 0; n < nodes->count; n++)
        on = tb_json_appended(on, json_pack("{s:i s:I}", "node", (int)nodes->node[n].os, "pages", (json_int_t)pool->on[n]));
    return json_pack("{s:i s:s s:s s:o s:o s:I s:I s:o s:o}", "station", (int)pool->station, "requested",
                     locus_policy_name((enum locus_policy)pool->requested), "granted",
                     locus_policy_name((enum locus_policy)pool->granted), "granted_errno", json_errno(pool->granted_errno),
                     "verify_errno", json_errno(pool->verify_errno), "pages_present", (json_int_t)pool->present, "pages_elsewhere",
                     (json_int_t)pool->elsewhere, "on", on, "numa_maps_agrees",
                     pool->maps_read ? json_boolean(pool->maps_agree) : json_null());
}

static json_t *json_pools(const struct tb_nodes_sample *nodes, const struct tb_node_placement pools[])
{
    json_t *array = json_array();
    for (uint32_t s = 0; s < nodes->placements; s++)
        array = tb_json_appended(array, json_pool(nodes, &pools[s]));
    return array;
}

static json_t *json_counts(const struct tb_advise_counts *counts)
{
    double percent = counts->touches ? 100 * (double)counts->remote / (double)counts->touches : NAN;
    double percent_abroad = counts->frees && counts->abroad_known ? 100 * (double)counts->abroad / (double)counts->frees : NAN;
    return json_pack("{s:I s:I s:I s:o s:I s:o s:o s:o s:o}", "touches", (json_int_t)counts->touches, "touches_remote",
                     (json_int_t)counts->remote, "touches_unknown", (json_int_t)counts->unknown, "touches_remote_percent",
                     tb_json_number(percent), "frees", (json_int_t)counts->frees, "frees_abroad",
                     counts->abroad_known ? tb_json_whole(counts->abroad) : json_null(), "frees_abroad_percent",
                     tb_json_number(percent_abroad), "lap_bytes", tb_json_number(counts->lap_bytes), "lap_bytes_remote",
                     tb_json_number(counts->lap_bytes_remote));
}

static json_t *json_samples(const struct tb_campaign *campaign, uint32_t arm)
{
    json_t *array = json_array();
    for (uint32_t round = 0; round < campaign->rounds; round++) {
        const struct tb_sample *sample = tb_campaign_sample(campaign, 0, arm, round);
        array = tb_json_appended(array, sample->ran && sample->lap_ns > 0 ? tb_json_number(sample->lap_ns) : json_null());
    }
    return array;
}

static json_t *json_cost(const struct tb_advise_row *row)
{
    static const char *const words[] = {
        [TB_ADVISE_USED] = "used",          [TB_ADVISE_SLOWER] = "slower", [TB_ADVISE_FASTER] = "faster",
        [TB_ADVISE_SAME] = "no-difference", [TB_ADVISE_UNTOLD] = "untold", [TB_ADVISE_UNBOUNDED] = "too-few-rounds"};
    const struct tb_ratio *ratio = &row->ratio;
    if (row->cost == TB_ADVISE_UNKNOWN)
        return json_null();
    if (row->cost == TB_ADVISE_USED)
        return json_pack("{s:s}", "verdict", words[row->cost]);
    return json_pack("{s:s s:o s:o s:o s:o}", "verdict", words[row->cost], "estimate", tb_json_number(ratio->estimate), "low",
                     ratio->bounded ? tb_json_number(ratio->low) : json_null(), "high", tb_json_number(ratio->high), "confidence",
                     ratio->bounded ? tb_json_number(ratio->confidence) : json_null());
}

static json_t *json_arm(const struct tb_advise *advise, const struct tb_advise_row *row)
{
    static const char *const roles[] = {
        [TB_ADVISE_CHOICE] = "choice", [TB_ADVISE_OTHER] = "comparison", [TB_ADVISE_CONTROL] = "control"};
    const struct tb_nodes_sample *nodes = &tb_campaign_sample(advise->campaign, 0, row->arm, 0)->nodes;
    json_t *arm = json_pack("{s:o s:s s:o s:b s:o s:o s:o s:o}", "name", tb_json_clean(row->row.arm->label), "role",
                            roles[row->role], "version", tb_json_clean(row->row.version), "valid", (int)row->row.valid, "invalid",
                            tb_json_clean(row->row.invalid), "counts", row->row.valid ? json_counts(&row->counts) : json_null(),
                            "placed_before", json_pools(nodes, nodes->before), "placed_after", json_pools(nodes, nodes->after));
    if (!advise->machine.emulated && arm &&
        json_object_update_new(arm, json_pack("{s:o s:o s:o}", "cost", json_cost(row), "median_ns",
                                              tb_json_number(row->row.valid ? row->row.ns_median : NAN), "samples_ns",
                                              json_samples(advise->campaign, row->arm)))) {
        json_decref(arm);
        return NULL;
    }
    return arm;
}

// --- the whole -----------------------------------------------------------------------------------------------------------------

static json_t *json_machine(const struct tb_advise_machine *machine)
{
    return json_pack("{s:o s:o s:o s:o s:b s:o}", "emulated", tb_json_clean(machine->emulated), "homes",
                     json_nodes(&machine->homes), "without_cpus", json_nodes(&machine->bare), "not_for_this_process",
                     json_nodes(&machine->barred), "equally_near", (int)machine->equally_near, "numa_balancing",
                     machine->balancing < 0 ? json_null() : json_integer(machine->balancing));
}

static json_t *json_refusals(const struct tb_advise *advise)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < advise->refusals_count; i++)
        array = tb_json_appended(array, json_pack("{s:o s:o}", "name", tb_json_clean(advise->refusals[i].arm), "why",
                                                  tb_json_clean(advise->refusals[i].why)));
    return array;
}

static json_t *json_measured(const struct tb_advise *advise)
{
    const struct tb_campaign *campaign = advise->campaign;
    struct tb_advise_result result;
    tb_advise_work_out(advise, &result);
    json_t *arms = json_array();
    for (uint32_t i = 0; i < result.count; i++)
        arms = tb_json_appended(arms, json_arm(advise, &result.rows[i]));
    const char *use = result.use < 0 ? NULL : result.rows[result.use].row.arm->label;
    json_t *object = json_pack("{s:s s:s s:I s:s s:I s:o s:o s:o}", "touch", tb_touch_name(campaign->cells[0].touch), "dispatch",
                               tb_dispatch_name(campaign->dispatch), "rounds", (json_int_t)campaign->rounds, "schedule",
                               campaign->cells[0].schedule->name, "laps_counted", (json_int_t)campaign->cells[0].laps_counted,
                               "seed", tb_json_whole(campaign->seed), "arms", arms, "not_here", json_refusals(advise));
    if (!advise->machine.emulated && object &&
        json_object_update_new(object, json_pack("{s:o s:o}", "use", tb_json_clean(use), "resolution",
                                                 tb_json_number(result.resolution < 0 ? NAN : result.resolution)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

int tb_advise_json(FILE *stream, json_t *head, const struct tb_advise *advise)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc < 0)
        return rc;
    json_t *root = json_pack("{s:s s:o s:b s:o s:I s:I s:I}", "command", "advise", "machine", json_machine(&advise->machine),
                             "measured", (int)(advise->campaign != NULL), "why_not",
                             tb_json_clean(advise->campaign ? NULL : "one node: every placement is the same, nothing to choose"),
                             "block_bytes", (json_int_t)advise->block_bytes, "pool_blocks", (json_int_t)advise->pool_blocks,
                             "cross_percent", (json_int_t)advise->cross_percent);
    if (root && advise->campaign && json_object_update_new(root, json_measured(advise)))
        rc = -ENOMEM;
    if (head)
        root = tb_headed(json_incref(head), root);
    if (!root || rc || json_dumpf(root, text.stream, JSON_INDENT(2)) != 0 || fputc('\n', text.stream) == EOF)
        rc = -ENOMEM;
    json_decref(root);
    return tb_text_close(&text, stream, rc);
}
