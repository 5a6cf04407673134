// SPDX-License-Identifier: Apache-2.0
//
// pin: binds threads to CPUs, and never to more than the process was given.
//
// The kernel lets a thread widen its own affinity up to its cpuset. So pinning to "all CPUs of node 1" would silently undo a
// taskset or a batch system's binding, and intersecting with the thread's present affinity would make a second pin of the same
// thread impossible. So the process's affinity must be remembered from before the first pin. It is read from the main thread
// (whose id is the process id), because the first caller may be a worker that is already pinned.
//
// A memory-only node has no CPUs. The nearest nodes' CPUs serve it; for a CXL expander these belong to the socket it is attached
// to. Without distances from the firmware, all nodes with CPUs are equally far.
#include "topo/pin.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "topo/allowed.h"
#include "topo/sysfs.h"

static pthread_once_t remember_once = PTHREAD_ONCE_INIT;
static struct topo_idset remembered;
static int remember_error;

static void remember(void)
{
    if (sched_getaffinity(getpid(), sizeof(remembered.words), (cpu_set_t *)remembered.words))
        remember_error = -errno;
}

int topo_allowed_cpus(struct topo_idset *out)
{
    pthread_once(&remember_once, remember);
    *out = remembered;
    return remember_error;
}

// Collects the CPUs of all nodes that are exactly `distance` away, and finds the next larger distance for the next attempt.
static int cpus_at_distance(const char *root, const struct topo_idset *nodes, const struct topo_idset *allowed,
                            const unsigned *distances, unsigned distance, struct topo_idset *out, unsigned *next)
{
    *out = (struct topo_idset){{0}};
    *next = UINT_MAX;
    for (unsigned id = 0, i = 0; id < TOPO_ID_MAX; id++) {
        if (!topo_idset_has(nodes, id))
            continue;
        unsigned there = distances[i++];
        if (there > distance && there < *next)
            *next = there;
        if (there != distance)
            continue;
        struct topo_idset cpus;
        int error = topo_sysfs_node_cpus(root, id, allowed, &cpus);
        if (error)
            return error;
        topo_idset_unite(out, &cpus);
    }
    return 0;
}

static int nearest_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out)
{
    struct topo_idset nodes;
    int error = topo_sysfs_nodes(root, &nodes);
    if (error)
        return error;
    unsigned count = topo_idset_count(&nodes);
    unsigned *distances = calloc(count, sizeof(*distances));
    if (!distances)
        return -ENOMEM;
    error = topo_sysfs_distances(root, node, distances, count);
    if (error == -ENOENT)
        error = 0;
    for (unsigned distance = 0; !error;) {
        unsigned next = 0;
        error = cpus_at_distance(root, &nodes, allowed, distances, distance, out, &next);
        topo_idset_intersect(out, allowed);
        if (error || topo_idset_count(out) > 0)
            break;
        if (next == UINT_MAX)
            error = -EPERM;
        distance = next;
    }
    free(distances);
    return error;
}

int topo_allowed_node_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out)
{
    int error = topo_sysfs_node_cpus(root, node, allowed, out);
    if (error)
        return error;
    if (topo_idset_count(out) == 0)
        return nearest_cpus(root, node, allowed, out);
    topo_idset_intersect(out, allowed);
    return topo_idset_count(out) > 0 ? 0 : -EPERM;
}

// The kernel answers EINVAL for a CPU that has gone offline; to our caller that is "no such CPU".
static int set_affinity(const struct topo_idset *cpus)
{
    if (sched_setaffinity(0, sizeof(cpus->words), (const cpu_set_t *)cpus->words) == 0)
        return 0;
    return errno == EINVAL ? -ENODEV : -errno;
}

int locus_pin_cpu(int cpu)
{
    if (cpu < 0)
        return -EINVAL;
    struct topo_idset allowed;
    struct topo_idset online;
    int error = topo_allowed_cpus(&allowed);
    if (error)
        return error;
    if (!topo_idset_has(&allowed, (unsigned)cpu)) {
        error = topo_sysfs_idset("", "/sys/devices/system/cpu/online", &online);
        return !error && topo_idset_has(&online, (unsigned)cpu) ? -EPERM : -ENODEV;
    }
    struct topo_idset only = {{0}};
    topo_idset_add(&only, (unsigned)cpu);
    return set_affinity(&only);
}

int locus_pin_node(int node)
{
    if (node < 0)
        return -EINVAL;
    struct topo_idset allowed;
    struct topo_idset cpus;
    int error = topo_allowed_cpus(&allowed);
    if (!error)
        error = topo_allowed_node_cpus("", (unsigned)node, &allowed, &cpus);
    return error ? error : set_affinity(&cpus);
}

int locus_pin_allowed(unsigned *cpus, unsigned max, unsigned *count)
{
    struct topo_idset allowed;
    int error = topo_allowed_cpus(&allowed);
    if (error)
        return error;
    *count = 0;
    for (unsigned id = 0; id < TOPO_ID_MAX; id++) {
        if (!topo_idset_has(&allowed, id))
            continue;
        if (*count < max)
            cpus[*count] = id;
        ++*count;
    }
    return 0;
}
