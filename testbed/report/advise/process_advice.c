// SPDX-License-Identifier: Apache-2.0
//
// process_advice: see process_advice.h. What a cure leaves follows from the same sum, with the pages or the threads where the cure
// puts them.
#include "testbed/report/advise/process_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/words.h"

#define ROOM_SHARE 0.9          // of a node's memory: the kernel and others need some

// --- shares --------------------------------------------------------------------------------------------------------------------

// Of pages that lie by the shares `on`, read by threads that run by the shares `ran`.
static double remote_of(const struct tb_process *process, const double on[], const double ran[])
{
    double local = 0;
    for (unsigned n = 0; n < process->nodes_count; n++)
        local += on[n] * ran[n];
    return local < 1 ? 1 - local : 0;
}

static bool is_large(const struct tb_region *region)
{
    return region->kind != TB_REGION_REST;
}

// False: nothing of it is known.
static bool shares_of(const struct tb_process *process, const uint64_t bytes[], double on[])
{
    double sum = 0;
    for (unsigned n = 0; n < process->nodes_count; n++)
        sum += (double)bytes[n];
    for (unsigned n = 0; n < process->nodes_count; n++)
        on[n] = sum > 0 ? (double)bytes[n] / sum : 0;
    return sum > 0;
}

static void threads_sum(const struct tb_process *process, struct tb_process_advice *out)
{
    for (unsigned n = 0; n < process->nodes_count; n++)
        out->ran_s += process->ran_on[n];
    for (unsigned n = 0; n < process->nodes_count; n++)
        out->ran[n] = out->ran_s > 0 ? process->ran_on[n] / out->ran_s : 0;
}

// The index of the only node that threads read this region from; -1: any. Only the devices of libggml-locus.so have such regions.
static int reader_of(const struct tb_process *process, const struct tb_region *region)
{
    int node, end = 0;
    if (!process->devices || sscanf(region->policy, "bind:%d%n", &node, &end) != 1 || region->policy[end])
        return -1;
    for (unsigned n = 0; n < process->nodes_count; n++)
        if (process->node[n] == node)
            return (int)n;
    return -1;
}

static void regions_sum(const struct tb_process *process, struct tb_process_advice *out)
{
    uint64_t all[TB_PROCESS_NODES_MAX] = {0};
    double on[TB_PROCESS_NODES_MAX], remote_bytes = 0, known_bytes = 0;
    for (unsigned r = 0; r < process->regions_count; r++) {
        const struct tb_region *region = &process->regions[r];
        bool known = is_large(region) && shares_of(process, region->on_bytes, on) && out->ran_s > 0;
        int reader = reader_of(process, region);
        out->region_remote[r] = !known ? (double)NAN : reader >= 0 ? 1 - on[reader] : remote_of(process, on, out->ran);
        double placed = known ? (double)(region->present_bytes - region->unplaced_bytes) : 0;
        remote_bytes += known ? placed * out->region_remote[r] : 0;
        known_bytes += placed;
        out->large_bytes += is_large(region) ? (double)region->present_bytes : 0;
        for (unsigned n = 0; n < process->nodes_count && is_large(region); n++)
            all[n] += region->on_bytes[n];
    }
    shares_of(process, all, out->on);
    out->remote = known_bytes > 0 ? remote_bytes / known_bytes : (double)NAN;
}

// --- nodes ---------------------------------------------------------------------------------------------------------------------

static void homes_find(const struct tb_process *process, const struct locus_topo *topo, struct tb_process_advice *out)
{
    unsigned nodes = 0;
    out->best = -1;
    for (unsigned n = 0; n < process->nodes_count; n++) {
        const struct locus_topo_node *node = locus_topo_node(topo, process->node[n]);
        nodes += node->kind != LOCUS_NODE_EMPTY;
        if (node->kind != LOCUS_NODE_DRAM || !locus_nodes_has(&process->mems, node->os_index))
            continue;
        locus_nodes_add(&out->homes, node->os_index);
        if (out->best < 0 || out->on[n] > out->on[out->best])
            out->best = (int)n;
    }
    out->choice = nodes > 1;
    if (out->best >= 0) {
        const struct locus_topo_node *best = locus_topo_node(topo, process->node[out->best]);
        out->fits = out->large_bytes <= ROOM_SHARE * (double)best->memory.total_bytes;
    }
}

static void say_cpus(struct tb_words *words, const struct locus_topo_node *node)
{
    for (unsigned first = 0, last; first < node->cpus_count; first = last + 1) {
        for (last = first; last + 1 < node->cpus_count && node->cpus[last + 1] == node->cpus[last] + 1;)
            last++;
        tb_say(words, last > first ? "%s%u-%u" : "%s%u", first ? "," : "", node->cpus[first], node->cpus[last]);
    }
}

static void say_homes(struct tb_words *words, const struct tb_process_advice *advice)
{
    for (int node = locus_nodes_next(&advice->homes, 0), first = node; node >= 0; node = locus_nodes_next(&advice->homes, node + 1))
        tb_say(words, "%s%d", node == first ? "" : ",", node);
}

// --- cures ---------------------------------------------------------------------------------------------------------------------

// Each says what it leaves. pre: out->best >= 0.
struct bedside {
    const struct tb_process *process;
    const struct locus_topo *topo;
    struct tb_process_advice *out;
    double even[TB_PROCESS_NODES_MAX], best[TB_PROCESS_NODES_MAX]; // all homes alike; all on the best
};

static struct tb_process_cure *cure_add(const struct bedside *bedside, const char *name, double remote, const char *words)
{
    struct tb_process_cure *cure = &bedside->out->cures[bedside->out->cures_count++];
    *cure = (struct tb_process_cure){.name = name, .words = words, .remote = remote};
    return cure;
}

static void commands_set(struct tb_process_cure *cure, const struct tb_words *words)
{
    snprintf(cure->commands, sizeof cure->commands, "%.*s", (int)sizeof cure->commands - 1, words->text);
}

static void unit_set(struct tb_process_cure *cure, const struct tb_words *words)
{
    snprintf(cure->unit, sizeof cure->unit, "%.*s", (int)sizeof cure->unit - 1, words->text);
}

static void cure_bind(const struct bedside *bedside)
{
    int node = bedside->process->node[bedside->out->best];
    struct tb_words command = {0}, unit = {0};
    struct tb_process_cure *cure =
        cure_add(bedside, "bind", 0, "start it on one node, on whose CPUs and bandwidth it then has to do");
    tb_say(&command, "numactl --cpunodebind=%d --membind=%d ENGINE\n", node, node);
    tb_say(&unit, "[Service]\nNUMAPolicy=bind\nNUMAMask=%d\nAllowedCPUs=", node);
    say_cpus(&unit, locus_topo_node(bedside->topo, node));
    tb_say(&unit, "\n");
    commands_set(cure, &command);
    unit_set(cure, &unit);
}

static void cure_one_each(const struct bedside *bedside)
{
    const struct locus_nodes *homes = &bedside->out->homes;
    struct tb_words command = {0};
    struct tb_process_cure *cure = cure_add(
        bedside, "one-each", 0,
        "start an engine on each node and divide the requests, each with weights of its own (mapped files have one copy in "
        "the page cache; llama.cpp: --no-mmap)");
    for (int node = locus_nodes_next(homes, 0); node >= 0; node = locus_nodes_next(homes, node + 1))
        tb_say(&command, "numactl --cpunodebind=%d --membind=%d ENGINE\n", node, node);
    commands_set(cure, &command);
}

static void cures_llama(const struct bedside *bedside)
{
    const struct tb_process *process = bedside->process;
    const struct tb_process_advice *out = bedside->out;
    struct tb_words command = {0};
    struct tb_process_cure *cure =
        cure_add(bedside, "backend", 0,
                 "a backend of llama.cpp with a device for each node, which splits weights and KV heads over them");
    tb_say(&command, "GGML_BACKEND_PATH=libggml-locus.so ENGINE -sm tensor -dev ");
    for (unsigned n = 0; n < locus_nodes_count(&out->homes); n++)
        tb_say(&command, "%sLOCUS%u", n ? "," : "", n);
    tb_say(&command, "\n");
    commands_set(cure, &command);
    cure = cure_add(bedside, "isolate", remote_of(process, out->on, bedside->best),
                    "llama.cpp's own flag keeps the threads on one node and places no page; with the pages as they are");
    snprintf(cure->commands, sizeof cure->commands, "numactl --cpunodebind=%d ENGINE --numa isolate\n", process->node[out->best]);
    cure = cure_add(bedside, "distribute", remote_of(process, out->on, bedside->even),
                    "llama.cpp's own flag spreads the threads evenly and places no page; with the pages as they are");
    snprintf(cure->commands, sizeof cure->commands, "ENGINE --numa distribute\n");
}

static void cure_interleave(const struct bedside *bedside)
{
    struct tb_words command = {0}, unit = {0};
    struct tb_process_cure *cure =
        cure_add(bedside, "interleave", remote_of(bedside->process, bedside->even, bedside->out->ran),
                 "spread its pages over the nodes, so that no node's memory alone has to serve all reads");
    tb_say(&command, "numactl --interleave=");
    say_homes(&command, bedside->out);
    tb_say(&command, " ENGINE\n");
    tb_say(&unit, "[Service]\nNUMAPolicy=interleave\nNUMAMask=");
    say_homes(&unit, bedside->out);
    tb_say(&unit, "\n");
    commands_set(cure, &command);
    unit_set(cure, &unit);
}

static void cure_taskset(const struct bedside *bedside)
{
    const struct tb_process *process = bedside->process;
    const struct tb_process_advice *out = bedside->out;
    struct tb_words command = {0};
    struct tb_process_cure *cure = cure_add(bedside, "taskset", remote_of(process, out->on, bedside->best),
                                            "without a restart: all threads to the node with most of the pages");
    tb_say(&command, "taskset -a -c -p ");
    say_cpus(&command, locus_topo_node(bedside->topo, process->node[out->best]));
    tb_say(&command, " %" PRIu64 "\n", process->pid);
    commands_set(cure, &command);
}

// Where next to nothing is remote the only thing to do is to keep it so.
static void cures_find(const struct tb_process *process, const struct locus_topo *topo, struct tb_process_advice *out)
{
    struct bedside bedside = {.process = process, .topo = topo, .out = out};
    unsigned homes = locus_nodes_count(&out->homes);
    for (unsigned n = 0; n < process->nodes_count && homes > 0; n++) {
        bedside.even[n] = locus_nodes_has(&out->homes, process->node[n]) ? 1.0 / homes : 0;
        bedside.best[n] = (int)n == out->best;
    }
    if (out->fits)
        cure_bind(&bedside);
    if (out->remote < TB_PROCESS_REMOTE_LITTLE)
        return;
    if (out->fits && homes > 1)
        cure_one_each(&bedside);
    if (process->llama && !process->devices && homes > 1)
        cures_llama(&bedside);
    if (homes > 1)
        cure_interleave(&bedside);
    cure_taskset(&bedside);
}

void tb_process_advise(const struct tb_process *process, const struct locus_topo *topo, struct tb_process_advice *out)
{
    *out = (struct tb_process_advice){0};
    threads_sum(process, out);
    regions_sum(process, out);
    homes_find(process, topo, out);
    if (out->choice && out->best >= 0 && isfinite(out->remote))
        cures_find(process, topo, out);
}
