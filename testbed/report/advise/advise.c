// SPDX-License-Identifier: Apache-2.0
//
// advise: from samples to who stands where, see advise.h.
//
// A cost is a ratio within rounds, like all ratios (stats.h). It counts as one only where its interval excludes 1 and it is larger
// than what the A/A control shows between two runs of the same thing. "No difference" is claimed where the whole interval lies
// within that; in between nothing is claimed.
#include "testbed/report/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const struct tb_advise_plan *plan_of(const struct tb_arm *arm)
{
    for (size_t p = 0; p < sizeof plans / sizeof *plans; p++)
        if (strcmp(plans[p].arm, arm->label) == 0) // a fault or a twin has another label
            return &plans[p];
    return NULL;
}

// --- counts --------------------------------------------------------------------------------------------------------------------

static void counts_add(const struct tb_nodes_sample *nodes, struct tb_advise_counts *counts)
{
    counts->unknown += nodes->touches.unknown;
    counts->abroad += nodes->frees_abroad;
    counts->abroad_known &= nodes->abroad_known;
    for (uint32_t from = 0; from < nodes->count; from++) {
        for (uint32_t to = 0; to < nodes->count; to++) {
            counts->touches += nodes->touches.pair[from][to];
            counts->remote += from == to ? 0 : nodes->touches.pair[from][to];
            counts->frees += nodes->frees.pair[from][to];
        }
    }
}

static struct tb_advise_counts counts_of(const struct tb_campaign *campaign, uint32_t arm)
{
    struct tb_advise_counts counts = {.abroad_known = true};
    for (uint32_t round = 0; round < campaign->rounds; round++)
        counts_add(&tb_campaign_sample(campaign, 0, arm, round)->nodes, &counts);
    double laps = (double)campaign->rounds * campaign->cells[0].laps_counted;
    counts.lap_bytes = laps > 0 ? LINE_BYTES * (double)counts.touches / laps : 0;
    counts.lap_bytes_remote = laps > 0 ? LINE_BYTES * (double)counts.remote / laps : 0;
    return counts;
}

static double remote_share(const struct tb_advise_row *row)
{
    return row->counts.touches ? (double)row->counts.remote / (double)row->counts.touches : 0;
}

// --- times ---------------------------------------------------------------------------------------------------------------------

// Is `row` faster than `than`, as far as can be seen?
static bool visibly_faster(const struct tb_campaign *campaign, const struct tb_advise_row *row, const struct tb_advise_row *than,
                           double resolution)
{
    struct tb_ratio ratio;
    return tb_pair_ratio(campaign, 0, (int)row->arm, TB_LAP, (int)than->arm, TB_LAP, &ratio) && tb_visible(&ratio, resolution) < 0;
}

static bool choosable(const struct tb_advise_row *row)
{
    return row->role == TB_ADVISE_CHOICE && row->row.valid;
}

static bool beaten(const struct tb_campaign *campaign, const struct tb_advise_result *result, const struct tb_advise_row *row)
{
    for (uint32_t i = 0; i < result->count; i++)
        if (choosable(&result->rows[i]) && visibly_faster(campaign, &result->rows[i], row, result->resolution))
            return true;
    return false;
}

// Of two that no other beats: fewer remote touches, then the better guaranteed.
static bool preferable(const struct tb_advise_row *row, const struct tb_advise_row *to)
{
    double share = remote_share(row), other = remote_share(to);
    return share != other ? share < other : row->plan < to->plan;
}

static const struct tb_advise_row *to_use(const struct tb_campaign *campaign, const struct tb_advise_result *result)
{
    const struct tb_advise_row *use = NULL, *end = result->rows + result->count;
    for (const struct tb_advise_row *row = result->rows; row < end; row++)
        if (choosable(row) && !beaten(campaign, result, row) && (!use || preferable(row, use)))
            use = row;
    for (const struct tb_advise_row *row = result->rows; row < end && !use; row++) // each beats another in a circle: by time
        use = choosable(row) ? row : NULL;
    return use;
}

static enum tb_advise_cost cost_of(const struct tb_ratio *ratio, double resolution)
{
    int side = tb_visible(ratio, resolution);
    if (!ratio->bounded)
        return TB_ADVISE_UNBOUNDED;
    if (side)
        return side > 0 ? TB_ADVISE_SLOWER : TB_ADVISE_FASTER;
    bool fine = resolution > 0 && resolution <= SAME_MARGIN_MAX;
    return fine && tb_equivalent(ratio, resolution) ? TB_ADVISE_SAME : TB_ADVISE_UNTOLD;
}

static void costs(const struct tb_campaign *campaign, struct tb_advise_result *result)
{
    for (struct tb_advise_row *row = result->rows; row < result->rows + result->count && result->use; row++) {
        if (row == result->use)
            row->cost = TB_ADVISE_USED;
        else if (tb_pair_ratio(campaign, 0, (int)row->arm, TB_LAP, (int)result->use->arm, TB_LAP, &row->ratio))
            row->cost = cost_of(&row->ratio, result->resolution);
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
    const struct tb_campaign *campaign = advise->campaign;
    *out = (struct tb_advise_result){.count = campaign->arms_count, .resolution = -1};
    for (uint32_t arm = 0; arm < out->count; arm++) {
        struct tb_advise_row *row = &out->rows[arm];
        *row = (struct tb_advise_row){.arm = arm, .counts = counts_of(campaign, arm)};
        tb_campaign_row(campaign, 0, arm, &row->row);
        row->plan = plan_of(row->row.arm);
        row->role = tb_twin(campaign, arm) >= 0 ? TB_ADVISE_CONTROL : row->plan ? TB_ADVISE_CHOICE : TB_ADVISE_OTHER;
        if (advise->machine.emulated || !isfinite(row->row.ns_median))
            row->row.ns_median = 0; // the rows keep the order of the arms
    }
    qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
    if (advise->machine.emulated)
        return;
    out->resolution = tb_campaign_resolution(campaign, 0);
    out->use = to_use(campaign, out);
    costs(campaign, out);
}
