// SPDX-License-Identifier: Apache-2.0
//
// needs: see needs.h. What was found is said with its cause and, where there is one, the remedy: a person who reads "unmeasurable
// on this host" wants to know on which it could be measured.

#include "testbed/run/needs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/decode/act.h"
#include "testbed/host/environment.h"
#include "testbed/host/probe.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/nodes/ops.h"
#include "testbed/postulate/known.h"
#include "testbed/run/emulate.h"
#include "testbed/workload/known_trace.h"
#include "topo/pin.h"
#include "topo/topo.h"

struct asked {
    uint64_t least;             // of "NAME >= N", otherwise 1
    const struct tb_needing *run;
    char *found;
    size_t found_bytes;
};

// --- CPUs and nodes ---

static int cpus_at_least(const struct asked *asked, uint64_t least)
{
    unsigned count = 0;
    int error = locus_pin_allowed(NULL, 0, &count);
    if (error || count >= least)
        return error ? error : 1;
    snprintf(asked->found, asked->found_bytes, "here is %u allowed CPU%s", count, count == 1 ? "" : "s");
    return 0;
}

static int need_cpus(const struct asked *asked)
{
    return cpus_at_least(asked, asked->least);
}

static bool usable(const struct locus_topo_node *node, bool with_cpus)
{
    return node->allowed && locus_topo_node_by_default(node) && (!with_cpus || node->cpus_allowed_count > 0);
}

// Adds why this machine's node is not this process's, where that is so: " (node 1 is outside this process's cpuset)".
static size_t say_kept_away(const struct asked *asked, const struct locus_topo_node *node, bool with_cpus, size_t used, bool first)
{
    bool cpuset = node->memory.total_bytes > 0 && !node->allowed && (!with_cpus || node->cpus_count > 0);
    bool cpus = !cpuset && with_cpus && node->allowed && node->memory.total_bytes > 0 && node->cpus_count > 0;
    if ((!cpuset && !cpus) || used >= asked->found_bytes)
        return used;
    return used + (size_t)snprintf(asked->found + used, asked->found_bytes - used, "%snode %d%s", first ? " (" : ", ",
                                   node->os_index,
                                   cpuset ? " is outside this process's cpuset" : " has no CPU that this process may run on");
}

static int nodes_at_least(const struct asked *asked, const struct locus_topo *topo, bool with_cpus)
{
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    unsigned all = locus_topo_info(topo)->nodes_count;
    uint64_t count = 0;
    for (unsigned n = 0; n < all; n++)
        count += usable(&nodes[n], with_cpus);
    if (count >= asked->least)
        return 1;
    size_t used = (size_t)snprintf(asked->found, asked->found_bytes, "here %s %llu node%s%s", count == 1 ? "is" : "are",
                                   (unsigned long long)count, count == 1 ? "" : "s", with_cpus ? " with CPUs and memory" : "");
    size_t told = used;
    for (unsigned n = 0; n < all; n++)
        if (!usable(&nodes[n], with_cpus))
            told = say_kept_away(asked, &nodes[n], with_cpus, told, told == used);
    if (told > used && told < asked->found_bytes)
        snprintf(asked->found + told, asked->found_bytes - told, ")");
    return 0;
}

static int on_topo(const struct asked *asked, int (*ask)(const struct asked *asked, const struct locus_topo *topo))
{
    struct locus_topo *topo;
    int rc = locus_topo_open(&topo, NULL, NULL, 0);
    if (rc)
        return rc;
    rc = ask(asked, topo);
    locus_topo_close(topo);
    return rc;
}

static int memory_nodes(const struct asked *asked, const struct locus_topo *topo)
{
    return nodes_at_least(asked, topo, false);
}

static int cpu_nodes(const struct asked *asked, const struct locus_topo *topo)
{
    return nodes_at_least(asked, topo, true);
}

// How many usable nodes have these CPUs: they divide them (topo_node.h).
static unsigned sharers_of(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    unsigned count = 0;
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *other = &locus_topo_nodes(topo)[n];
        count += usable(other, true) && locus_topo_node_has_cpu(other, node->cpus[0]);
    }
    return count;
}

static int pinned_on_each(const struct asked *asked, const struct locus_topo *topo)
{
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        if (!usable(node, true) || node->cpus_allowed_count / sharers_of(topo, node) > asked->run->workers)
            continue;
        snprintf(asked->found, asked->found_bytes, "node %d has %u allowed CPU%s for %u worker%s and a scheduler", node->os_index,
                 node->cpus_allowed_count, node->cpus_allowed_count == 1 ? "" : "s", asked->run->workers,
                 asked->run->workers == 1 ? "" : "s");
        return 0;
    }
    return 1;
}

static int need_workers_pinned(const struct asked *asked)
{
    return asked->run->many_nodes ? on_topo(asked, pinned_on_each) : cpus_at_least(asked, (uint64_t)asked->run->workers + 1);
}

static int need_hardware(const struct asked *asked)
{
    const char *guest = tb_environment_guest();
    if (!guest)
        return 1;
    snprintf(asked->found, asked->found_bytes, "this is an emulated guest (%s)", guest);
    return 0;
}

// --- system calls ---

static int call_works(const struct asked *asked, const char *call, int error)
{
    if (error == EPERM)
        snprintf(asked->found, asked->found_bytes, "this container forbids %s (EPERM by seccomp): run it with --cap-add SYS_NICE",
                 call);
    else if (error == ENOSYS)
        snprintf(asked->found, asked->found_bytes,
                 "here is no %s (ENOSYS): the kernel was built without NUMA support, or a sandbox hides the call", call);
    else if (error)
        snprintf(asked->found, asked->found_bytes, "%s fails: %s", call, strerror(error));
    return error == 0;
}

static int mbind_works(const struct asked *asked, const struct locus_topo *topo)
{
    return call_works(asked, "mbind", tb_probe_mbind(topo));
}

static int need_move_pages(const struct asked *asked)
{
    return call_works(asked, "move_pages", tb_probe_move_pages());
}

// First touch is what a kernel does when nobody asks it for anything: there is nothing to probe.
static int need_policies(const struct asked *asked)
{
    for (uint32_t i = 0; i < asked->run->arms_count; i++) {
        const struct tb_arm *arm = &asked->run->arms[i];
        enum locus_policy policy = arm->contender->nodes ? arm->contender->nodes->policy : LOCUS_POLICY_FIRST_TOUCH;
        int error = policy == LOCUS_POLICY_FIRST_TOUCH ? 0 : locus_policy_probe(policy);
        if (!error)
            continue;
        const char *name = locus_policy_name(policy);
        snprintf(asked->found, asked->found_bytes, "arm %s cannot have the policy %s: %s", arm->label, name ? name : "(unknown)",
                 locus_policy_why(policy, error));
        return 0;
    }
    return 1;
}

// --- files ---

static int need_libraries(const struct asked *asked)
{
    for (uint32_t i = 0; i < asked->run->arms_count; i++) {
        const struct tb_arm *arm = &asked->run->arms[i];
        bool wants = arm->library[0] || arm->contender->libraries || strcmp(arm->contender->name, "malloc") == 0;
        if (wants && access(arm->library, R_OK)) {
            snprintf(asked->found, asked->found_bytes, "here is no library for %s", arm->label);
            return 0;
        }
    }
    return 1;
}

static int need_traces(const struct asked *asked)
{
    for (uint32_t i = 0; i < asked->run->cells_count; i++) {
        const char *cell = asked->run->cells[i];
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(cell, "/"), cell);
        if (tb_known_trace(name) && tb_known_trace_missing(name, asked->found, asked->found_bytes))
            return 0;
    }
    return 1;
}

static int need_emulator(const struct asked *asked)
{
    return tb_emulate_check(NULL, 0, asked->found, asked->found_bytes);
}

static int need_pytorch(const struct asked *asked)
{
    return tb_act_torch_here(asked->found, asked->found_bytes);
}

static int need_engine(const struct asked *asked)
{
    return tb_engines_here(asked->found, asked->found_bytes);
}

// --- by name ---

static const struct need {
    const char *name;
    int (*met)(const struct asked *asked);
    int (*met_by)(const struct asked *asked, const struct locus_topo *topo); // instead
} needs[] = {
    {"cpus", need_cpus, NULL},           {"numa_nodes", NULL, memory_nodes},
    {"cpu_nodes", NULL, cpu_nodes},      {"hardware", need_hardware, NULL},
    {"mbind_ok", NULL, mbind_works},     {"move_pages_ok", need_move_pages, NULL},
    {"policies", need_policies, NULL},   {"workers_pinned", need_workers_pinned, NULL},
    {"libraries", need_libraries, NULL}, {"traces", need_traces, NULL},
    {"emulator", need_emulator, NULL},   {"pytorch", need_pytorch, NULL},
    {"engine", need_engine, NULL},
};

int tb_need_met(const char *need, const struct tb_needing *run, char *found, size_t bytes)
{
    struct asked asked = {.run = run, .found = found, .found_bytes = bytes};
    const char *name = tb_need_name(need, &asked.least);
    if (bytes > 0)
        found[0] = '\0';
    for (const struct need *known = needs; name && known < needs + sizeof needs / sizeof *needs; known++)
        if (strcmp(known->name, name) == 0)
            return known->met ? known->met(&asked) : on_topo(&asked, known->met_by);
    return -EINVAL;
}
