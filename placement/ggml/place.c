// SPDX-License-Identifier: Apache-2.0
//
// place: see place.h.
//
// CPUs. A device gets physical cores: ggml's threads meet at a barrier after each operation, and two threads on one core meet
// later than one. Only if LOCUS_THREADS asks for more does it get their siblings. The devices of one node divide its cores, so that
// none shares a core with another while there are enough. So do the devices of nodes that list the same CPUs (topo_node.h).

#include "place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"

struct choice {
    const char *name;
    int value;
};

static const struct choice policies[] = {{"bind", LOCUS_POLICY_BIND},
                                         {"preferred", LOCUS_POLICY_PREFERRED},
                                         {"first-touch", LOCUS_POLICY_FIRST_TOUCH},
                                         {0}};
static const struct choice pages[] = {{"thp", LOCUS_PAGE_THP}, {"4k", LOCUS_PAGE_4K}, {"2m", LOCUS_PAGE_2M}, {0}};
static const struct choice kvs[] = {{"on-demand", LG_KV_ON_DEMAND}, {"static", LG_KV_STATIC}, {"populated", LG_KV_POPULATED}, {0}};
static const struct choice sums[] = {{"ours", false}, {"generic", true}, {0}};

// The first is what holds without the variable.
static int choose(const char *variable, const struct choice choices[], int *out, char *why, size_t why_bytes)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        value = choices[0].name;
    int length = snprintf(why, why_bytes, "%s=%s: it must be one of", variable, value);
    for (const struct choice *choice = choices; choice->name; choice++) {
        if (strcmp(choice->name, value) == 0) {
            *out = choice->value;
            return 0;
        }
        if (length >= 0 && (size_t)length < why_bytes)
            length += snprintf(why + length, why_bytes - (size_t)length, " %s", choice->name);
    }
    return -EINVAL;
}

// What a machine was described to be says nothing of permissions.
static bool is_described(const struct locus_topo *topo)
{
    return locus_topo_info(topo)->source != LOCUS_TOPO_THIS_MACHINE;
}

static bool can_compute(const struct locus_topo *topo, const struct locus_topo_node *node)
{
    return node->kind == LOCUS_NODE_DRAM && (is_described(topo) || (node->allowed && node->cpus_allowed_count));
}

static const char *why_not(const struct locus_topo_node *node)
{
    if (!node)
        return "this machine has no such node";
    if (node->kind == LOCUS_NODE_MEMORY_ONLY || node->kind == LOCUS_NODE_GPU_MEMORY)
        return "that node has no CPUs, so nothing can compute there";
    if (node->kind != LOCUS_NODE_DRAM)
        return "that node has no memory";
    if (!node->allowed)
        return "this process may not allocate there (its cpuset or cgroup)";
    return "this process may use none of that node's CPUs";
}

static int add_place(struct lg_settings *out, int node, char *why, size_t why_bytes)
{
    if (out->places_count == LG_DEVICES_MAX) {
        snprintf(why, why_bytes, "LOCUS_NODES: more than %u devices", LG_DEVICES_MAX);
        return -EINVAL;
    }
    out->places[out->places_count++].node = node;
    return 0;
}

// The next number of a list; *at moves behind it and its comma. -1: the list is malformed there.
static long next_number(const char **at)
{
    char *end;
    errno = 0;
    long number = strtol(*at, &end, 10);
    if (**at < '0' || **at > '9' || errno || number > 1 << 20 || (*end && (*end != ',' || !end[1])))
        return -1;
    *at = *end ? end + 1 : end;
    return number;
}

static int listed_places(struct lg_settings *out, const struct locus_topo *topo, const char *list, char *why, size_t why_bytes)
{
    int err = 0;
    for (const char *at = list; *at && !err;) {
        long node = next_number(&at);
        const struct locus_topo_node *found = node < 0 ? NULL : locus_topo_node(topo, (int)node);
        err = -EINVAL;
        if (node < 0)
            snprintf(why, why_bytes, "LOCUS_NODES=%s: it must be node numbers, such as 0,1", list);
        else if (!found || !can_compute(topo, found))
            snprintf(why, why_bytes, "LOCUS_NODES=%s: node %ld: %s", list, node, why_not(found));
        else
            err = add_place(out, (int)node, why, why_bytes);
    }
    return err;
}

static int all_places(struct lg_settings *out, const struct locus_topo *topo, char *why, size_t why_bytes)
{
    int err = 0;
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count && !err; i++)
        if (can_compute(topo, &nodes[i]))
            err = add_place(out, nodes[i].os_index, why, why_bytes);
    if (!err && !out->places_count) {
        snprintf(why, why_bytes, "no node here has memory and CPUs that this process may use");
        return -EINVAL;
    }
    return err;
}

// The CPUs of a node in the order in which they are given out: all first CPUs of cores, then their siblings.
static unsigned cpus_of(const struct locus_topo *topo, int node, unsigned cpus[], unsigned *cores)
{
    unsigned count = 0, all = locus_topo_info(topo)->cpus_count;
    const struct locus_topo_cpu *cpu = locus_topo_cpus(topo);
    const struct locus_topo_node *on = locus_topo_node(topo, node);
    bool any = is_described(topo);
    *cores = 0;
    for (int rank = -1; rank < 8; rank++)
        for (unsigned i = 0; i < all && count < LG_CPUS_MAX; i++)
            if (cpu[i].smt_rank == rank && (any || cpu[i].allowed) && locus_topo_node_has_cpu(on, cpu[i].os_index)) {
                cpus[count++] = cpu[i].os_index;
                *cores += rank < 1;
            }
    if (!*cores) // a cpuset of siblings alone
        *cores = count;
    return count;
}

static int ascending(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
    return (left > right) - (left < right);
}

// `share`: which of the `rivals` this is, the devices that divide these CPUs.
static int give_cpus(const struct locus_topo *topo, struct lg_place *place, unsigned share, unsigned rivals, unsigned long threads,
                     char *why, size_t why_bytes)
{
    unsigned cpus[LG_CPUS_MAX], cores, count = cpus_of(topo, place->node, cpus, &cores);
    unsigned first = share * cores / rivals, end = (share + 1) * cores / rivals;
    for (unsigned i = first; i < end && (!threads || place->cpus_count < threads); i++)
        place->cpus[place->cpus_count++] = cpus[i];
    for (unsigned i = cores + share; i < count && place->cpus_count < threads; i += rivals)
        place->cpus[place->cpus_count++] = cpus[i];
    if (!place->cpus_count) // more devices than cores: they share, which is slow and right
        place->cpus[place->cpus_count++] = cpus[share % cores];
    if (place->cpus_count < threads) {
        snprintf(why, why_bytes, "LOCUS_THREADS=%lu: this process may use %u CPUs of node %d for each device", threads,
                 place->cpus_count, place->node);
        return -EINVAL;
    }
    qsort(place->cpus, place->cpus_count, sizeof(place->cpus[0]), ascending);
    return 0;
}

static int threads_asked(unsigned long *threads, char *why, size_t why_bytes)
{
    const char *value = getenv("LOCUS_THREADS");
    *threads = 0;
    if (!value || !*value)
        return 0;
    char *end;
    errno = 0;
    *threads = strtoul(value, &end, 10);
    if (*value >= '0' && *value <= '9' && !*end && !errno && *threads && *threads <= LG_CPUS_MAX)
        return 0;
    snprintf(why, why_bytes, "LOCUS_THREADS=%s: it must be a number from 1 to %u", value, LG_CPUS_MAX);
    return -EINVAL;
}

static bool have_same_cpus(const struct locus_topo *topo, int a, int b)
{
    return a == b || locus_topo_node_has_cpu(locus_topo_node(topo, a), locus_topo_node(topo, b)->cpus[0]);
}

static int places(struct lg_settings *out, const struct locus_topo *topo, char *why, size_t why_bytes)
{
    const char *list = getenv("LOCUS_NODES");
    unsigned long threads;
    int err = list && *list ? listed_places(out, topo, list, why, why_bytes) : all_places(out, topo, why, why_bytes);
    if (!err)
        err = threads_asked(&threads, why, why_bytes);
    for (unsigned i = 0; i < out->places_count && !err; i++) {
        unsigned share = 0, rivals = 0;
        for (unsigned j = 0; j < out->places_count; j++) {
            bool rival = have_same_cpus(topo, out->places[i].node, out->places[j].node);
            share += j < i && rival;
            rivals += rival;
            out->places[i].sharers += out->places[j].node == out->places[i].node;
        }
        err = give_cpus(topo, &out->places[i], share, rivals, threads, why, why_bytes);
    }
    return err;
}

int lg_settings_for(struct lg_settings *out, const struct locus_topo *topo, char *why, size_t why_bytes)
{
    int policy, page, kv, sum;
    memset(out, 0, sizeof(*out));
    int err = choose("LOCUS_POLICY", policies, &policy, why, why_bytes);
    if (!err)
        err = choose("LOCUS_PAGES", pages, &page, why, why_bytes);
    if (!err)
        err = choose("LOCUS_KV", kvs, &kv, why, why_bytes);
    if (!err)
        err = choose("LOCUS_SUM", sums, &sum, why, why_bytes);
    if (err)
        return err;
    out->policy = (enum locus_policy)policy;
    out->page = (enum locus_page)page;
    out->kv = (enum lg_kv)kv;
    out->generic_sum = sum;
    return places(out, topo, why, why_bytes);
}

int lg_settings_read(struct lg_settings *out, char *why, size_t why_bytes)
{
    struct locus_topo *topo;
    int err = locus_topo_open(&topo, NULL, why, why_bytes);
    if (!err)
        err = lg_settings_for(out, topo, why, why_bytes);
    locus_topo_close(topo);
    return err;
}

// --- the KV cache alone --------------------------------------------------------------------------------------------------------

static int policy_named(const char *name, enum locus_policy *out, char *why, size_t why_bytes)
{
    int length = snprintf(why, why_bytes, "LOCUS_KV_POLICY=%s: it must be one of", name);
    for (unsigned i = LOCUS_POLICY_FIRST_TOUCH; i < LOCUS_POLICIES; i++) { // the nodes are known: by-node would be bind
        if (strcmp(locus_policy_name(i), name) == 0) {
            *out = (enum locus_policy)i;
            return 0;
        }
        if (length >= 0 && (size_t)length < why_bytes)
            length += snprintf(why + length, why_bytes - (size_t)length, " %s", locus_policy_name(i));
    }
    return -EINVAL;
}

// The region's own check has the words for a node that does not exist or cannot be used.
static int kv_nodes(struct lg_memory *out, const struct locus_topo *topo, char *why, size_t why_bytes)
{
    const char *list = getenv("LOCUS_KV_NODES");
    const struct locus_topo_node *nodes = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count && !(list && *list); i++)
        if ((nodes[i].allowed || is_described(topo)) && locus_topo_node_by_default(&nodes[i]) &&
            nodes[i].os_index < (int)LOCUS_NODES_MAX)
            locus_nodes_add(&out->nodes, nodes[i].os_index);
    for (const char *at = list ? list : ""; *at;) {
        long node = next_number(&at);
        if (node < 0 || node >= (long)LOCUS_NODES_MAX) {
            snprintf(why, why_bytes, "LOCUS_KV_NODES=%s: it must be node numbers, such as 0,1", list);
            return -EINVAL;
        }
        locus_nodes_add(&out->nodes, (int)node);
    }
    out->node = LOCUS_NODE_ANY;
    if (out->policy == LOCUS_POLICY_PREFERRED && !(list && *list)) { // one node by its nature
        out->node = locus_nodes_next(&out->nodes, 0);
        out->nodes = (struct locus_nodes){0};
    }
    return 0;
}

int lg_kv_memory_for(struct lg_memory *out, const struct locus_topo *topo, char *why, size_t why_bytes)
{
    int page, kv;
    const char *name = getenv("LOCUS_KV_POLICY");
    memset(out, 0, sizeof(*out));
    int err = policy_named(name && *name ? name : "interleave", &out->policy, why, why_bytes);
    if (!err)
        err = choose("LOCUS_PAGES", pages, &page, why, why_bytes);
    if (!err)
        err = choose("LOCUS_KV", kvs, &kv, why, why_bytes);
    if (err)
        return err;
    out->page = (enum locus_page)page;
    out->kv = (enum lg_kv)kv;
    return kv_nodes(out, topo, why, why_bytes);
}

int lg_kv_memory_read(struct lg_memory *out, char *why, size_t why_bytes)
{
    struct locus_topo *topo;
    int err = locus_topo_open(&topo, NULL, why, why_bytes);
    if (!err)
        err = lg_kv_memory_for(out, topo, why, why_bytes);
    locus_topo_close(topo);
    return err;
}
