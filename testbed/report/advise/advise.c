// SPDX-License-Identifier: Apache-2.0
//
// advise: what this machine is, what can be run on it, and from samples to who stands where. See advise.h.
//
// A cost is a ratio within rounds, like all ratios (stats.h). It counts as one only where its interval excludes 1 and it is larger
// than what the A/A control shows between two runs of the same thing. "No difference" is claimed where the whole interval lies
// within that; in between nothing is claimed.
//
// What the machine cannot run is refused beforehand with the reason, and nothing else is run in its place.
#include "testbed/report/advise/advise.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "locus/region.h"
#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/host/environment.h"
#include "testbed/host/probe.h"
#include "testbed/measure/nodes/ops.h"

#define LINE_BYTES 64 // of a touch
#define SAME_MARGIN_MAX 0.05 // a run that cannot see a twentieth says "no difference" of nothing

// Best guaranteed first.
static const struct tb_advise_plan plans[] = {
    {"home-steered", "bind each pool to its scheduler's node and push every block home", LOCUS_POLICY_BIND, .populate = true,
     .numactl = "--cpunodebind=# --membind=#"},
    {"preferred", "prefer the scheduler's node for its pool", LOCUS_POLICY_PREFERRED, .populate = true,
     .numactl = "--cpunodebind=# --preferred=#"},
    {"first-touch", "set no policy, and let each scheduler be the first to write its pool", LOCUS_POLICY_FIRST_TOUCH,
     .numactl = "--cpunodebind=# --localalloc"},
    {"preferred-many", "prefer the nearest node that has room", LOCUS_POLICY_PREFERRED_MANY, .among = true,
     .numactl = "--preferred-many=*"},
    {"repair", "fill the pools anyhow, and move pages that are astray home between steps", LOCUS_POLICY_PREFERRED, .populate = true,
     .repaired = true},
    {"bind-balancing", "bind the pools to all nodes and leave the rest to NUMA balancing", LOCUS_POLICY_BIND_BALANCING,
     .populate = true, .among = true, .numactl = "--balancing --membind=*"},
    {"weighted-interleave", "spread the pools' pages over the nodes by weight", LOCUS_POLICY_WEIGHTED_INTERLEAVE, .populate = true,
     .among = true, .numactl = "--weighted-interleave=*"},
    {"interleave", "spread the pools' pages over the nodes in turn", LOCUS_POLICY_INTERLEAVE, .populate = true, .among = true,
     .numactl = "--interleave=*"},
    {"one-node", "bind all pools to the first node", LOCUS_POLICY_BIND, .populate = true, .first = true, .numactl = "--membind=#"},
};

const struct tb_advise_plan *tb_advise_plans(size_t *count)
{
    *count = sizeof plans / sizeof *plans;
    return plans;
}

static const struct tb_advise_plan *plan_of(const struct tb_arm *arm)
{
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        if (strcmp(plans[p].arm, arm->label) == 0) // a fault or a twin has another label
            return &plans[p];
    return NULL;
}

bool tb_advise_decodes(const struct tb_advise *advise)
{
    return advise->rounds && advise->rounds->cells[0].touch == TB_TOUCH_DECODE;
}

// --- counts --------------------------------------------------------------------------------------------------------------------

static void pairs_add(const struct tb_nodes_sample *nodes, const struct tb_node_counts *counts, uint64_t *all, uint64_t *remote)
{
    for (uint32_t from = 0; from < nodes->count; from++)
        for (uint32_t to = 0; to < nodes->count; to++) {
            *all += counts->pair[from][to];
            *remote += from == to ? 0 : counts->pair[from][to];
        }
}

static void counts_add(const struct tb_nodes_sample *nodes, bool decodes, struct tb_advise_counts *counts)
{
    const struct tb_node_counts *touches = decodes ? &nodes->read : &nodes->touches;
    uint64_t frees_remote = 0;
    counts->unknown += touches->unknown + nodes->written.unknown;
    counts->abroad += nodes->frees_abroad;
    counts->abroad_known &= nodes->abroad_known;
    pairs_add(nodes, touches, &counts->touches, &counts->remote);
    pairs_add(nodes, &nodes->written, &counts->written, &counts->written_remote);
    pairs_add(nodes, &nodes->frees, &counts->frees, &frees_remote);
}

static struct tb_advise_counts counts_of(const struct tb_rounds *rounds, uint32_t arm)
{
    struct tb_advise_counts counts = {.abroad_known = true};
    bool decodes = rounds->cells[0].touch == TB_TOUCH_DECODE;
    for (uint32_t round = 0; round < rounds->count; round++)
        counts_add(&tb_rounds_sample(rounds, 0, arm, round)->nodes, decodes, &counts);
    double laps = (double)rounds->count * rounds->cells[0].laps_counted, unit = decodes ? 1 : LINE_BYTES;
    counts.lap_bytes = laps > 0 ? (unit * (double)counts.touches + (double)counts.written) / laps : 0;
    counts.lap_bytes_remote = laps > 0 ? (unit * (double)counts.remote + (double)counts.written_remote) / laps : 0;
    return counts;
}

static double remote_share(const struct tb_advise_row *row)
{
    return row->counts.touches ? (double)row->counts.remote / (double)row->counts.touches : 0;
}

// --- times ---------------------------------------------------------------------------------------------------------------------

// Is `row` faster than `than`, as far as can be seen?
static bool visibly_faster(const struct tb_rounds *rounds, const struct tb_advise_row *row, const struct tb_advise_row *than,
                           double resolution)
{
    struct tb_ratio ratio;
    return tb_pair_ratio(rounds, 0, (int)row->arm, TB_LAP, (int)than->arm, TB_LAP, &ratio) && tb_visible(&ratio, resolution) < 0;
}

static bool choosable(const struct tb_advise_row *row)
{
    return row->role == TB_ADVISE_CHOICE && row->row.valid;
}

static bool beaten(const struct tb_rounds *rounds, const struct tb_advise_result *result, const struct tb_advise_row *row)
{
    for (uint32_t i = 0; i < result->count; i++)
        if (choosable(&result->rows[i]) && visibly_faster(rounds, &result->rows[i], row, result->resolution))
            return true;
    return false;
}

// Of two that no other beats: fewer remote touches, then the better guaranteed.
static bool preferable(const struct tb_advise_row *row, const struct tb_advise_row *to)
{
    double share = remote_share(row), other = remote_share(to);
    return share != other ? share < other : row->plan < to->plan;
}

static const struct tb_advise_row *to_use(const struct tb_rounds *rounds, const struct tb_advise_result *result)
{
    const struct tb_advise_row *use = NULL, *end = result->rows + result->count;
    for (const struct tb_advise_row *row = result->rows; row < end; row++)
        if (choosable(row) && !beaten(rounds, result, row) && (!use || preferable(row, use)))
            use = row;
    for (const struct tb_advise_row *row = result->rows; row < end && !use; row++) // each beats another in a circle: by time
        use = choosable(row) ? row : NULL;
    return use;
}

enum tb_advise_cost tb_advise_cost_of(const struct tb_ratio *ratio, double resolution)
{
    int side = tb_visible(ratio, resolution);
    if (!ratio->bounded)
        return TB_ADVISE_UNBOUNDED;
    if (side)
        return side > 0 ? TB_ADVISE_SLOWER : TB_ADVISE_FASTER;
    bool fine = resolution > 0 && resolution <= SAME_MARGIN_MAX;
    return fine && tb_equivalent(ratio, resolution) ? TB_ADVISE_SAME : TB_ADVISE_UNTOLD;
}

static void costs(const struct tb_rounds *rounds, struct tb_advise_result *result)
{
    for (struct tb_advise_row *row = result->rows; row < result->rows + result->count && result->use; row++) {
        if (row == result->use)
            row->cost = TB_ADVISE_USED;
        else if (tb_pair_ratio(rounds, 0, (int)row->arm, TB_LAP, (int)result->use->arm, TB_LAP, &row->ratio))
            row->cost = tb_advise_cost_of(&row->ratio, result->resolution);
    }
}

// --- rows ----------------------------------------------------------------------------------------------------------------------

static int compare_rows(const void *left, const void *right)
{
    const struct tb_advise_row *a = left, *b = right;
    if (a->row.valid != b->row.valid)
        return a->row.valid ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->row.ns_median != b->row.ns_median)
        return a->row.ns_median < b->row.ns_median ? -1 : 1;
    return a->arm < b->arm ? -1 : 1;
}

void tb_advise_work_out(const struct tb_advise *advise, struct tb_advise_result *out)
{
    const struct tb_rounds *rounds = advise->rounds;
    *out = (struct tb_advise_result){.count = rounds->arms_count, .resolution = -1};
    for (uint32_t arm = 0; arm < out->count; arm++) {
        struct tb_advise_row *row = &out->rows[arm];
        *row = (struct tb_advise_row){.arm = arm, .counts = counts_of(rounds, arm)};
        tb_rounds_row(rounds, 0, arm, &row->row);
        row->plan = plan_of(row->row.arm);
        row->role = tb_twin(rounds, arm) >= 0 ? TB_ADVISE_CONTROL : row->plan ? TB_ADVISE_CHOICE : TB_ADVISE_OTHER;
        if (advise->machine.emulated || !isfinite(row->row.ns_median))
            row->row.ns_median = 0; // the rows keep the order of the arms
    }
    qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
    if (advise->machine.emulated)
        return;
    out->resolution = tb_rounds_resolution(rounds, 0);
    out->use = to_use(rounds, out);
    costs(rounds, out);
}

// --- the machine ---------------------------------------------------------------------------------------------------------------

static bool all_equally_near(const struct locus_topo *topo, const struct locus_nodes *nodes)
{
    for (int from = locus_nodes_next(nodes, 0); from >= 0; from = locus_nodes_next(nodes, from + 1))
        for (int to = locus_nodes_next(nodes, 0); to >= 0; to = locus_nodes_next(nodes, to + 1))
            if (locus_topo_distance(topo, from, to) != locus_topo_distance(topo, from, from))
                return false;
    return true;
}

void tb_advise_machine_of(const struct locus_topo *topo, struct tb_advise_machine *out)
{
    bool here = locus_topo_info(topo)->source == LOCUS_TOPO_THIS_MACHINE;
    *out = (struct tb_advise_machine){.emulated = here ? tb_emulated_as("") : NULL,
                                      .balancing = here ? tb_numa_balancing() : -1,
                                      .cpus_least = UINT_MAX};
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        unsigned cpus = here ? node->cpus_allowed_count : node->cpus_count;
        bool memory = locus_topo_node_by_default(node);
        bool usable = (node->allowed || !here) && (node->cpus_count == 0 || cpus > 0);
        bool home = memory && usable && node->cpus_count > 0;
        if (memory)
            locus_nodes_add(home ? &out->homes : usable ? &out->bare : &out->barred, node->os_index);
        if (home && cpus < out->cpus_least)
            out->cpus_least = cpus;
    }
    out->equally_near = all_equally_near(topo, &out->homes);
}

int tb_advise_machine_look(struct tb_advise_machine *out)
{
    char why[512] = "";
    struct locus_topo *topo = NULL;
    int error = locus_topo_open(&topo, NULL, why, sizeof why);
    if (error) {
        tb_error("%s", why);
        return error;
    }
    tb_advise_machine_of(topo, out);
    locus_topo_close(topo);
    error = locus_nodes_count(&out->homes) > 1 ? tb_probe_move_pages() : 0;
    if (error)
        tb_error("nobody can tell where pages are, because move_pages answers %s; or run on the host", tb_probe_why(error));
    return -error;
}
// --- what it can run -----------------------------------------------------------------------------------------------------------

static uint64_t mib(uint64_t bytes)
{
    return bytes >> 20;
}

// What a strict bind could have of a node, by the rule that will be applied to it; a sixteenth less, for what else a run needs.
static uint64_t room_on(int node)
{
    uint64_t room = 0;
    return locus_node_room_bytes(node, &room) ? 0 : room / 16 * 15;
}

int tb_advise_room(const struct tb_advise *advise)
{
    const struct tb_advise_machine *machine = &advise->machine;
    uint64_t block_bytes = advise->block_bytes, pool_bytes = advise->pool_blocks * block_bytes;
    uint64_t cgroup = UINT64_MAX, homes = locus_nodes_count(&machine->homes);
    locus_cgroup_memory_room_bytes(&cgroup);
    for (int node = locus_nodes_next(&machine->homes, 0); node >= 0; node = locus_nodes_next(&machine->homes, node + 1)) {
        uint64_t room = room_on(node);
        if (pool_bytes <= room)
            continue;
        tb_error("node %d has room for %" PRIu64 " MiB, its pool needs %" PRIu64
                 ": use a smaller --block-bytes, or for a trace --pool-blocks %" PRIu64 " at most",
                 node, mib(room), mib(pool_bytes), room / block_bytes);
        return -ENOMEM;
    }
    if (pool_bytes > cgroup / homes) {
        tb_error("this process's cgroup has room for %" PRIu64 " MiB, the pools of %" PRIu64 " nodes need %" PRIu64
                 ": use a smaller --block-bytes, or for a trace --pool-blocks %" PRIu64 " at most",
                 mib(cgroup), homes, mib(homes * pool_bytes), cgroup / homes / block_bytes);
        return -ENOMEM;
    }
    return 0;
}

// These begin, or stay, with the pools of all on the first node.
static bool crowds_the_first(const char *contender)
{
    return strcmp(contender, "one-node") == 0 || strcmp(contender, "repair") == 0 || strcmp(contender, "bind-balancing") == 0;
}

static bool refused(const struct tb_advise_machine *machine, uint64_t pool_bytes, const struct tb_arm *arm, char *why,
                    size_t why_bytes)
{
    enum locus_policy policy = arm->contender->nodes->policy;
    int error = policy == LOCUS_POLICY_FIRST_TOUCH ? 0 : locus_policy_probe(policy);
    int first = locus_nodes_next(&machine->homes, 0);
    uint64_t all = locus_nodes_count(&machine->homes) * pool_bytes;
    if (error)
        snprintf(why, why_bytes, "%s", locus_policy_why(policy, error));
    else if (policy == LOCUS_POLICY_BIND_BALANCING && machine->balancing <= 0)
        snprintf(why, why_bytes, "%s, so nothing would move",
                 machine->balancing < 0 ? "this kernel has no NUMA balancing, or does not show it"
                                        : "NUMA balancing is off (kernel.numa_balancing)");
    else if (crowds_the_first(arm->contender->name) && all > room_on(first))
        snprintf(why, why_bytes,
                 "it puts the pools of all nodes on node %d, which has room for %" PRIu64 " MiB of %" PRIu64 " (--pool-blocks)",
                 first, mib(room_on(first)), mib(all));
    else
        return false;
    return true;
}

void tb_advise_refuse(uint64_t pool_bytes, struct tb_arm arms[], uint32_t *count, struct tb_advise *advise)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        struct tb_advise_refusal *refusal = &advise->refusals[advise->refusals_count];
        if (refused(&advise->machine, pool_bytes, &arms[i], refusal->why, sizeof refusal->why)) {
            snprintf(refusal->arm, sizeof refusal->arm, "%s", arms[i].label);
            advise->refusals_count++;
        } else {
            arms[kept++] = arms[i];
        }
    }
    *count = kept;
}

// --- in its log ----------------------------------------------------------------------------------------------------------------

static json_t *nodes_json(const struct locus_nodes *nodes)
{
    json_t *array = json_array();
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1))
        array = tb_json_appended(array, json_integer(node));
    return array;
}

json_t *tb_advise_machine_json(const struct tb_advise_machine *machine)
{
    const struct tb_json_member members[] = {
        {"emulated", tb_json_clean(machine->emulated)},
        {"homes", nodes_json(&machine->homes)},
        {"without_cpus", nodes_json(&machine->bare)},
        {"not_for_this_process", nodes_json(&machine->barred)},
        {"equally_near", json_boolean(machine->equally_near)},
        {"numa_balancing", machine->balancing < 0 ? json_null() : json_integer(machine->balancing)},
    };
    return TB_JSON_OBJECT(members);
}

json_t *tb_advise_json(const struct tb_advise *advise)
{
    json_t *refusals = json_array();
    for (const struct tb_advise_refusal *refusal = advise->refusals; refusal < advise->refusals + advise->refusals_count; refusal++)
        refusals = tb_json_appended(refusals, json_pack("{s:o, s:o}", "name", tb_json_clean(refusal->arm), "why",
                                                        tb_json_clean(refusal->why)));
    const struct tb_json_member members[] = {
        {"machine", tb_advise_machine_json(&advise->machine)},
        {"refusals", refusals},
    };
    return TB_JSON_OBJECT(members);
}

static struct locus_nodes nodes_load(const json_t *array)
{
    struct locus_nodes nodes = {0};
    const json_t *node;
    size_t i;
    json_array_foreach (array, i, node)
        locus_nodes_add(&nodes, (int)json_integer_value(node));
    return nodes;
}

static struct tb_advise_machine machine_load(const json_t *machine)
{
    const json_t *balancing = tb_member(machine, "numa_balancing");
    return (struct tb_advise_machine){
        .emulated = json_string_value(tb_member(machine, "emulated")),
        .homes = nodes_load(tb_member(machine, "homes")),
        .bare = nodes_load(tb_member(machine, "without_cpus")),
        .barred = nodes_load(tb_member(machine, "not_for_this_process")),
        .equally_near = json_is_true(tb_member(machine, "equally_near")),
        .balancing = json_is_integer(balancing) ? (int)json_integer_value(balancing) : -1,
    };
}

void tb_advise_load(const struct tb_log_view *view, const struct tb_rounds *rounds, struct tb_advise *out)
{
    const json_t *advise = tb_member(view->header, "measured.advise"), *entry;
    size_t i;
    *out = (struct tb_advise){
        .machine = machine_load(tb_member(advise, "machine")),
        .rounds = rounds,
        .workload = tb_member_text(view->header, "measured.about"),
        .cross_percent = rounds->arms[0].cross_percent, // of all alike
        .pool_blocks = rounds->cells[0].schedule->pool_blocks,
        .block_bytes = rounds->block_bytes,
    };
    json_array_foreach (tb_member(advise, "refusals"), i, entry) {
        if (i == TB_ARMS_MAX)
            break;
        struct tb_advise_refusal *refusal = &out->refusals[out->refusals_count++];
        snprintf(refusal->arm, sizeof refusal->arm, "%s", tb_member_text(entry, "name"));
        snprintf(refusal->why, sizeof refusal->why, "%s", tb_member_text(entry, "why"));
    }
}
