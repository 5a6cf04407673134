// SPDX-License-Identifier: Apache-2.0
//
// judge (many nodes): the gates, see engine.h. The first that fails is the reason; a run that fails a gate is invalid, not slow.

#include "locus/region.h"
#include "testbed/measure/nodes/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOKS 50u              // half a second in all; arbitrary: a migration takes microseconds, or milliseconds under emulation
#define LOOK_AGAIN_US 10000u

// --- placement -----------------------------------------------------------------------------------------------------------------

static void place_row(const struct tb_nodes_sample *sample, const struct locus_placement *placement, struct tb_node_placement *row)
{
    row->requested = placement->requested.policy;
    row->granted = placement->granted.policy;
    row->granted_errno = placement->granted.policy_errno;
    row->verify_errno = placement->verified.verify_errno;
    row->pages = placement->verified.pages;
    row->present = placement->verified.pages_present;
    row->elsewhere = placement->verified.pages_elsewhere;
    row->maps_read = placement->verified.numa_maps_read;
    row->maps_agree = placement->verified.numa_maps_agrees;
    for (unsigned i = 0; i < placement->verified.nodes; i++)
        for (uint32_t n = 0; n < sample->count; n++)
            if (sample->node[n].os == placement->verified.on[i].node)
                row->on[n] = placement->verified.on[i].pages;
}

// True: every page is somewhere, and the two witnesses agree; or they cannot be asked.
static bool at_rest(const struct locus_placement *placement)
{
    return placement->verified.verify_errno || (placement->verified.pages_present == placement->verified.pages &&
                                                (!placement->verified.numa_maps_read || placement->verified.numa_maps_agrees));
}

// A page that the kernel is migrating (to compact a nearly full node) is nowhere for a moment, and a strict pool must be seen
// whole, so it is checked again. First-touch pools have pages that were never present, so they are not checked again.
static int region_look(const struct locus_region *region, struct locus_placement *out)
{
    int error = locus_region_verify(region, out);
    for (unsigned look = 1; look < LOOKS && !error && locus_policy_strict(out->requested.policy) && !at_rest(out); look++) {
        usleep(LOOK_AGAIN_US);
        error = locus_region_verify(region, out);
    }
    return error;
}

int tb_nodes_place(const struct tb_nodes_run *run, struct tb_node_placement rows[])
{
    struct tb_nodes_sample *sample = &run->job->sample.nodes;
    if (!run->ops->region)
        return 0;
    for (uint32_t s = 0; s < run->count; s++) {
        struct locus_placement placement;
        int error = region_look(run->ops->region(run->context, s), &placement);
        if (error)
            return error;
        rows[s].station = run->stations[s].node;
        place_row(sample, &placement, &rows[s]);
    }
    sample->placements = run->count;
    return 0;
}

// A strict policy allows no page elsewhere, and every strict pool was populated. `when`: "before" or "after".
static bool strictly_placed(const struct tb_nodes_run *run, const struct tb_node_placement rows[], const char *when, char *why,
                            size_t why_bytes)
{
    const struct tb_nodes_sample *sample = &run->job->sample.nodes;
    for (uint32_t s = 0; s < sample->placements; s++) {
        const struct tb_node_placement *row = &rows[s];
        if (!locus_policy_strict((enum locus_policy)row->requested))
            continue;
        if (row->verify_errno)
            snprintf(why, why_bytes, "%s: move_pages cannot locate the pool of node %d: %s", when, row->station,
                     strerror(row->verify_errno));
        else if (row->elsewhere)
            snprintf(why, why_bytes, "%s: %" PRIu64 " of %" PRIu64 " pages of node %d's pool are elsewhere", when, row->elsewhere,
                     row->present, row->station);
        else if (row->present != row->pages)
            snprintf(why, why_bytes, "%s: %" PRIu64 " of %" PRIu64 " pages of node %d's pool are not in memory", when,
                     row->pages - row->present, row->pages, row->station);
        else if (row->maps_read && !row->maps_agree)
            snprintf(why, why_bytes, "%s: move_pages and numa_maps disagree about the pool of node %d", when, row->station);
        else
            continue;
        return false;
    }
    return true;
}

// --- balancing -----------------------------------------------------------------------------------------------------------------

void tb_nodes_balancing(struct tb_nodes_sample *sample, const char *vmstat, int sign)
{
    FILE *file = fopen(vmstat, "re");
    char name[64];
    unsigned long long value;
    sample->balancing_known = false;
    while (file && fscanf(file, "%63s %llu", name, &value) == 2) {
        uint64_t change = sign < 0 ? -(uint64_t)value : (uint64_t)value;
        if (strcmp(name, "numa_pte_updates") == 0)
            sample->numa_pte_updates += change;
        else if (strcmp(name, "numa_hint_faults") == 0)
            sample->numa_hint_faults += change;
        else if (strcmp(name, "numa_pages_migrated") == 0) {
            sample->numa_pages_migrated += change;
            sample->balancing_known = true;
        }
    }
    if (file)
        fclose(file);
}

static bool undisturbed(const struct tb_nodes_run *run, char *why, size_t why_bytes)
{
    const struct tb_nodes_sample *sample = &run->job->sample.nodes;
    if (run->migrates || !sample->balancing_known)
        return true;
    if (sample->numa_pte_updates == 0 && sample->numa_hint_faults == 0 && sample->numa_pages_migrated == 0)
        return true;
    snprintf(why, why_bytes,
             "NUMA balancing was at work (%" PRIu64 " PTEs, %" PRIu64 " hint faults, %" PRIu64
             " pages migrated): sysctl kernel.numa_balancing=0",
             sample->numa_pte_updates, sample->numa_hint_faults, sample->numa_pages_migrated);
    return false;
}

// --- counts --------------------------------------------------------------------------------------------------------------------

static struct tb_node_row *row_of(struct tb_nodes_sample *sample, int node)
{
    uint32_t n = 0;
    while (sample->node[n].os != node)
        n++;
    return &sample->node[n];
}

static void audit_add(const struct tb_station *station, const struct tb_audit *audit, struct tb_sample *sample)
{
    struct tb_node_row *row = row_of(&sample->nodes, station->node);
    row->allocated = audit->allocated;
    row->freed = audit->freed;
    row->pushed = station->retired;
    row->drained = audit->drained;
    sample->allocated += row->allocated;
    sample->freed += row->freed;
    sample->pushed += row->pushed;
    sample->drained += row->drained;
    sample->touched_bytes += station->touched_bytes;
    sample->touched_bytes_expected += station->decode.step ? 0 : station->taken * station->run->job->block_bytes;
    if (station->decode.step)
        tb_decode_sum(&station->decode, station->run->schedule, station->laps, station->ended, &sample->decode);
    sample->nodes.pages_repaired += station->repaired;
    memcpy(sample->version, audit->version, sizeof sample->version);
}

static int workers_error(const struct tb_station *station)
{
    int error = 0;
    for (uint32_t w = 0; w < station->run->workers && !error; w++)
        error = station->workers[w].error;
    return error;
}

static bool home_whole(const struct tb_station *station, const struct tb_audit *audit, char *why, size_t why_bytes)
{
    int node = station->node;
    if (station->error)
        snprintf(why, why_bytes, "node %d: the scheduler could not %s: %s", node, station->failed_to,
                 tb_blocks_why(station->error));
    else if (workers_error(station))
        snprintf(why, why_bytes, "node %d: a worker could not be pinned: %s", node, strerror(-workers_error(station)));
    else if (audit->refused)
        snprintf(why, why_bytes, "node %d: %" PRIu64 " frees were refused", node, audit->refused);
    else if (station->retired != audit->drained)
        snprintf(why, why_bytes, "node %d: pushed %" PRIu64 ", drained %" PRIu64, node, station->retired, audit->drained);
    else if (audit->allocated != station->taken)
        snprintf(why, why_bytes, "node %d: took %" PRIu64 ", allocated %" PRIu64, node, station->taken, audit->allocated);
    else if (audit->allocated != audit->freed)
        snprintf(why, why_bytes, "node %d: allocated %" PRIu64 ", freed %" PRIu64, node, audit->allocated, audit->freed);
    else if (audit->not_home)
        snprintf(why, why_bytes, "node %d: %" PRIu64 " blocks are not home", node, audit->not_home);
    else if (station->damaged)
        snprintf(why, why_bytes, "node %d: %" PRIu64 " blocks did not hold what was written", node, station->damaged);
    else
        return true;
    return false;
}

static bool known(const struct tb_nodes_run *run, char *why, size_t why_bytes)
{
    const struct tb_nodes_sample *nodes = &run->job->sample.nodes;
    uint64_t unknown =
        nodes->touches.unknown + nodes->allocations.unknown + nodes->frees.unknown + nodes->written.unknown + nodes->read.unknown;
    int error = 0;
    for (uint32_t s = 0; s < run->count; s++)
        error = error ? error : run->stations[s].books.error;
    if (error)
        snprintf(why, why_bytes, "move_pages cannot locate the pages: %s", strerror(-error));
    else if (unknown)
        snprintf(why, why_bytes, "%" PRIu64 " touches or frees were on pages whose node is unknown", unknown);
    return !error && !unknown;
}

void tb_nodes_judge(struct tb_nodes_run *run)
{
    struct tb_sample *sample = &run->job->sample;
    struct tb_audit audits[TB_NODES_MAX] = {0};
    char *why = sample->invalid;
    size_t n = sizeof sample->invalid;
    bool good = true;
    for (uint32_t s = 0; s < run->count; s++) {
        run->ops->audit(run->context, s, &audits[s]);
        audit_add(&run->stations[s], &audits[s], sample);
    }
    for (uint32_t s = 0; s < run->count && good; s++)
        good = home_whole(&run->stations[s], &audits[s], why, n);
    if (good && sample->touched_bytes != sample->touched_bytes_expected) {
        good = false;
        snprintf(why, n, "touched %" PRIu64 " bytes of %" PRIu64, sample->touched_bytes, sample->touched_bytes_expected);
    }
    good = good && strictly_placed(run, sample->nodes.before, "before", why, n) &&
           strictly_placed(run, sample->nodes.after, "after", why, n) && known(run, why, n) && undisturbed(run, why, n);
    if (good && run->job->touch == TB_TOUCH_DECODE) {
        tb_decode_judge(run->job, false, why, n);
        good = why[0] == '\0';
    }
    sample->valid = good;
    sample->ran = true;
}
