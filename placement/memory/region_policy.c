// SPDX-License-Identifier: Apache-2.0
//
// region: policies, by raw system calls. Not every libnuma knows preferred-many and weighted interleave, and libnuma hides
// errors.
//
// mbind answers EINVAL to an unknown mode, to a node that does not exist and to a cpuset that excludes all the nodes; it silently
// drops from a set the nodes that the process may not use. So each node is checked first, by itself, and the mode is checked by
// an mbind of 0 bytes: every kernel checks its mode and flags, and then does nothing.
#include "placement/memory/region_internal.h"

#include "topo/topo.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// From uapi/linux/mempolicy.h. There they are enumerators, which older headers lack and #ifdef does not see.
#define MODE_PREFERRED_MANY 5
#define MODE_WEIGHTED_INTERLEAVE 6
#define FLAG_NUMA_BALANCING (1 << 13)
#define MODE_MASK 0xfff // the bits above are flags

#define HUGE_SHIFT_2M 21

#define NOT_KNOWN(since)                                                                                                           \
    "this kernel does not offer the policy: Linux " since " and later do, if built with NUMA support and not hidden by a sandbox"

static const struct {
    const char *name, *not_known;
    int mode; // with flags
} policies[LOCUS_POLICIES] = {
    [LOCUS_POLICY_BY_NODE] = {"by-node", NOT_KNOWN("2.6"), MPOL_BIND}, // to probe; a region has what it stands for
    [LOCUS_POLICY_FIRST_TOUCH] = {"first-touch", NOT_KNOWN("2.6"), MPOL_DEFAULT},
    [LOCUS_POLICY_BIND] = {"bind", NOT_KNOWN("2.6"), MPOL_BIND},
    [LOCUS_POLICY_BIND_BALANCING] = {"bind-balancing", NOT_KNOWN("5.12"), MPOL_BIND | FLAG_NUMA_BALANCING},
    [LOCUS_POLICY_PREFERRED] = {"preferred", NOT_KNOWN("2.6"), MPOL_PREFERRED},
    [LOCUS_POLICY_PREFERRED_MANY] = {"preferred-many", NOT_KNOWN("5.15"), MODE_PREFERRED_MANY},
    [LOCUS_POLICY_INTERLEAVE] = {"interleave", NOT_KNOWN("2.6"), MPOL_INTERLEAVE},
    [LOCUS_POLICY_WEIGHTED_INTERLEAVE] = {"weighted-interleave", NOT_KNOWN("6.9"), MODE_WEIGHTED_INTERLEAVE},
};

const char *locus_policy_name(enum locus_policy policy)
{
    return (unsigned)policy < LOCUS_POLICIES ? policies[policy].name : NULL;
}

bool locus_policy_migrates(enum locus_policy policy)
{
    return policy == LOCUS_POLICY_BIND_BALANCING;
}

bool locus_policy_strict(enum locus_policy policy)
{
    return policy == LOCUS_POLICY_BIND || policy == LOCUS_POLICY_BIND_BALANCING;
}

static int place(void *base, size_t bytes, enum locus_policy policy, const struct locus_nodes *nodes)
{
    bool none = policy == LOCUS_POLICY_FIRST_TOUCH;
    long result = syscall(SYS_mbind, base, bytes, (unsigned long)policies[policy].mode, none ? NULL : nodes->words,
                          none ? 0ul : REGION_MAXNODE, 0ul);
    return result == 0 ? 0 : -errno;
}

int locus_policy_probe(enum locus_policy policy)
{
    struct locus_nodes lowest = {{1}};
    if ((unsigned)policy >= LOCUS_POLICIES)
        return -EINVAL;
    int result = place(NULL, 0, policy, &lowest);
    return result == -EINVAL ? -ENOSYS : result;
}

const char *locus_policy_why(enum locus_policy policy, int error)
{
    if ((unsigned)policy >= LOCUS_POLICIES)
        return "the policy is out of range";
    switch (abs(error)) {
    case 0: return "the policy can be used";
    case ENOSYS: return policies[policy].not_known;
    case EPERM:
        return "memory policies are forbidden here, as a container's seccomp profile does: give it CAP_SYS_NICE "
               "(docker run --cap-add SYS_NICE) or run on the host";
    case EINVAL:
        return "a requested node does not exist, has no memory or is outside this process's cpuset, or the policy does not take "
               "that many nodes";
    case ENODEV: return "a requested node no longer has memory: it went offline";
    case ENOMEM:
        return "memory, address space or huge pages were short, and what was in the way is gone or not to be seen: try again, or "
               "take less memory";
    default: return "the kernel refused the policy with an unexpected error";
    }
}

// --- nodes ---------------------------------------------------------------------------------------------------------------------

void region_nodes_named(const struct locus_region_config *config, struct locus_nodes *out)
{
    *out = (struct locus_nodes){{0}};
    if (config->policy == LOCUS_POLICY_FIRST_TOUCH)
        return;
    if (locus_nodes_count(&config->nodes) > 0)
        *out = config->nodes;
    else if (config->node >= 0 && (unsigned)config->node < LOCUS_NODES_MAX)
        locus_nodes_add(out, config->node);
}

// No page of this process can lie elsewhere.
static bool is_only_node(const struct locus_nodes *nodes)
{
    struct locus_nodes allowed;
    return region_nodes_allowed(&allowed) == 0 && locus_nodes_count(&allowed) == 1 && memcmp(nodes, &allowed, sizeof allowed) == 0;
}

enum locus_policy region_policy_meant(const struct locus_region_config *config)
{
    struct locus_nodes named;
    if (config->policy != LOCUS_POLICY_BY_NODE)
        return config->policy;
    if (config->node == LOCUS_NODE_ANY && locus_nodes_count(&config->nodes) == 0)
        return LOCUS_POLICY_FIRST_TOUCH;
    region_nodes_named(config, &named);
    return locus_policy_probe(LOCUS_POLICY_BIND) && is_only_node(&named) ? LOCUS_POLICY_FIRST_TOUCH : LOCUS_POLICY_BIND;
}

// A node of the set that this process may not use?
static bool has_forbidden(const struct locus_nodes *nodes)
{
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1))
        if (!locus_node_allowed(node))
            return true;
    return false;
}

int region_policy_nodes(const struct locus_region_config *config, struct locus_nodes *out)
{
    if ((unsigned)config->policy >= LOCUS_POLICIES)
        return -EINVAL;
    region_nodes_named(config, out);
    if (config->policy == LOCUS_POLICY_FIRST_TOUCH)
        return 0;
    unsigned count = locus_nodes_count(out);
    if (count == 0 || (config->policy == LOCUS_POLICY_PREFERRED && count > 1))
        return -EINVAL;
    return has_forbidden(out) ? -EINVAL : 0;
}

// --- the span's policy ---------------------------------------------------------------------------------------------------------

int region_policy_apply(const struct locus_region *region)
{
    if (region->config.policy == LOCUS_POLICY_FIRST_TOUCH)
        return 0;
    int result = place(region->base, region->bytes, region->config.policy, &region->nodes);
    if (result != -EINVAL)
        return result;
    return locus_policy_probe(region->config.policy) == 0 ? -EINVAL : -ENOSYS;
}

// A span without a policy of its own would follow the thread's policy: under `numactl --interleave` it would not be first touch.
static int ask_mode(const struct locus_region *region, int *mode, struct locus_nodes *nodes)
{
    if (syscall(SYS_get_mempolicy, mode, nodes->words, REGION_MAXNODE, region->base, (unsigned long)MPOL_F_ADDR) != 0)
        return errno;
    if ((*mode & MODE_MASK) != MPOL_DEFAULT)
        return 0;
    return syscall(SYS_get_mempolicy, mode, nodes->words, REGION_MAXNODE, NULL, 0ul) == 0 ? 0 : errno;
}

int region_policy_read(const struct locus_region *region, enum locus_policy *policy, struct locus_nodes *nodes)
{
    int mode = MPOL_DEFAULT;
    *nodes = (struct locus_nodes){{0}};
    *policy = LOCUS_POLICY_FIRST_TOUCH;
    int error = ask_mode(region, &mode, nodes);
    if (error)
        return error;
    mode &= MODE_MASK | FLAG_NUMA_BALANCING;
    if (mode == MPOL_LOCAL || (mode == MPOL_PREFERRED && locus_nodes_count(nodes) == 0))
        mode = MPOL_DEFAULT;
    for (unsigned known = LOCUS_POLICY_FIRST_TOUCH; known < LOCUS_POLICIES; known++) {
        *policy = (enum locus_policy)known;
        if (policies[known].mode == mode)
            return 0;
    }
    return ERANGE;
}

// --- turns ---------------------------------------------------------------------------------------------------------------------

static unsigned weight_of(int node)
{
    char path[64];
    unsigned weight = 0;
    snprintf(path, sizeof(path), "/sys/kernel/mm/mempolicy/weighted_interleave/node%d", node);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%u", &weight) != 1)
        weight = 0;
    fclose(file);
    return weight;
}

static unsigned in_turn(unsigned weight)
{
    return weight ? weight : 1;
}

void region_turns_read(const struct locus_region *region, struct region_turns *out)
{
    bool weighted = region->config.policy == LOCUS_POLICY_WEIGHTED_INTERLEAVE;
    bool thp = region->config.page == LOCUS_PAGE_THP;
    out->origin = region_is_pooled(&region->config) ? (uintptr_t)region->base : 0;
    out->shift = thp ? HUGE_SHIFT_2M : (unsigned)__builtin_ctzl(region->page_bytes);
    out->exact = !thp && (weighted || region->config.policy == LOCUS_POLICY_INTERLEAVE);
    out->total = 0;
    out->count = 0;
    for (int node = locus_nodes_next(&region->nodes, 0); node >= 0; node = locus_nodes_next(&region->nodes, node + 1)) {
        unsigned weight = weighted ? weight_of(node) : 0;
        out->exact = out->exact && weighted == (weight > 0);
        out->total += in_turn(weight);
        out->weight[out->count] = weight;
        out->node[out->count++] = node;
    }
}

int region_turn_of(const struct region_turns *turns, const void *address)
{
    unsigned long left = (((uintptr_t)address - turns->origin) >> turns->shift) % turns->total;
    unsigned i = 0;
    while (left >= in_turn(turns->weight[i]))
        left -= in_turn(turns->weight[i++]);
    return turns->node[i];
}
