// SPDX-License-Identifier: Apache-2.0
//
// live: the CPUs and nodes of this machine, as its kernel lists them; and of another one, by a copy of its kernel's files.
//
// Not by hwloc, although it knows all of this: hwloc 2.9 aborts the process on an empty node folder, prints to stderr where CPUs
// have no topology folder or nodes and packages contradict each other, drops nodes without memory, and keeps the last of several
// nodes that list the same CPU. A program that embeds the library can have none of that, and we need only four files for each CPU.
//
// Memory without CPUs. A GPU's: see topo_node.h. Other such memory comes to Linux as a device ("dax") whose driver makes a node of
// it, and the device's path in /sys names the bus: NVDIMMs (ndbus), CXL (the ACPI device that has its root ports), or memory that
// the firmware has set apart for a special purpose (hmem). The latter is HBM if it is said to be much faster than the processors'
// own memory. The factor of two is hwloc's.
#include "topo/model.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/sysfs.h"

#define DAX "/sys/bus/dax/devices"
#define GPUS "/proc/driver/nvidia/gpus"

// --- CPUs ----------------------------------------------------------------------------------------------------------------------

// The CPUs of its core, under the file's present name and its name before Linux 5.3.
static bool read_core(const char *root, unsigned cpu, struct topo_idset *out)
{
    static const char *const names[] = {"core_cpus", "thread_siblings"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char list[104];
        char map[96];
        snprintf(map, sizeof(map), "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, names[i]);
        snprintf(list, sizeof(list), "%s_list", map);
        if (topo_sysfs_list_or_map(root, list, map, out) == 0 && topo_idset_has(out, cpu))
            return true;
    }
    return false;
}

static void live_cpu(struct locus_topo_cpu *cpu, const char *root, const struct topo_idset *online)
{
    struct topo_idset core;
    uint64_t package = 0;
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu->os_index);
    if (topo_sysfs_u64(root, path, &package) == 0 && package < TOPO_ID_MAX) // some kernels say -1
        cpu->package = (int)package;
    if (!read_core(root, cpu->os_index, &core))
        return;
    topo_idset_intersect(&core, online);
    cpu->smt_rank = 0;
    for (unsigned id = 0; id < cpu->os_index; id++) {
        if (!topo_idset_has(&core, id))
            continue;
        if (cpu->core < 0)
            cpu->core = (int)id;
        cpu->smt_rank++;
    }
    if (cpu->core < 0)
        cpu->core = (int)cpu->os_index;
}

static int live_cpus(struct locus_topo *topo, const char *root, const struct topo_idset *online, const struct topo_idset *allowed,
                     const struct topo_why *why)
{
    int error = topo_model_cpus_alloc(topo, topo_idset_count(online), why);
    for (unsigned id = 0, i = 0; !error && i < topo->info.cpus_count; id++) {
        if (!topo_idset_has(online, id))
            continue;
        struct locus_topo_cpu *cpu = &topo->cpus[i++];
        *cpu = (struct locus_topo_cpu){.os_index = id, .node = -1, .package = -1, .core = -1, .smt_rank = -1};
        cpu->allowed = topo_idset_has(allowed, id);
        live_cpu(cpu, root, online);
        topo->info.cores_count += cpu->smt_rank == 0;
        if (cpu->smt_rank >= (int)topo->info.smt_max)
            topo->info.smt_max = (unsigned)cpu->smt_rank + 1u;
    }
    return error;
}

// --- what the memory of a node without CPUs is --------------------------------------------------------------------------------

// Calls `match` for each entry of a directory until one matches.
static bool any_entry(const char *root, const char *directory, bool (*match)(const char *root, const char *name, void *seek),
                      void *seek)
{
    char path[PATH_MAX];
    struct dirent *entry = NULL;
    bool found = false;
    snprintf(path, sizeof(path), "%s%s", root, directory);
    DIR *open = opendir(path);
    if (!open)
        return false;
    while (!found && (entry = readdir(open)) != NULL)
        found = entry->d_name[0] != '.' && match(root, entry->d_name, seek);
    closedir(open);
    return found;
}

// "Node:   1\nStatus: online\n"
static bool is_gpu_of(const char *root, const char *name, void *node)
{
    char path[512];
    char text[256];
    snprintf(path, sizeof(path), GPUS "/%.255s/numa_status", name);
    const char *line = topo_sysfs_read(root, path, text, sizeof(text), NULL) == 0 ? strstr(text, "Node:") : NULL;
    unsigned said = 0;
    return line && sscanf(line, "Node: %u", &said) == 1 && said == *(unsigned *)node;
}

static bool is_gpu(const char *root, unsigned node)
{
    struct topo_idset initiators;
    if (topo_sysfs_idset(root, "/sys/devices/system/node/has_generic_initiator", &initiators) == 0 &&
        topo_idset_has(&initiators, node))
        return true;
    return any_entry(root, GPUS, is_gpu_of, &node);
}

struct dax {
    unsigned node;
    const char *kind;
};

static bool is_dax_of(const char *root, const char *name, void *seek)
{
    struct dax *dax = seek;
    char path[PATH_MAX];
    char target[PATH_MAX];
    uint64_t node = 0;
    snprintf(path, sizeof(path), DAX "/%.255s/target_node", name);
    if (topo_sysfs_u64(root, path, &node) || node != dax->node)
        return false;
    snprintf(path, sizeof(path), "%s" DAX "/%.255s", root, name);
    if (!realpath(path, target))
        return false;
    dax->kind = strstr(target, "/ndbus") ? "NVM" : strstr(target, "/ACPI0017") || strstr(target, "/dax_region") ? "CXL" : "SPM";
    return true;
}

// From the nearest CPUs, as the firmware's HMAT says. 0: unknown.
static uint64_t bandwidth(const char *root, unsigned node)
{
    char path[96];
    uint64_t mib_per_s = 0;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/access0/initiators/read_bandwidth", node);
    return topo_sysfs_u64(root, path, &mib_per_s) ? 0 : mib_per_s;
}

// Twice as fast as the fastest node with CPUs?
static bool is_fast(const char *root, unsigned node)
{
    struct topo_idset with_cpus;
    uint64_t best = 0;
    if (topo_sysfs_idset(root, "/sys/devices/system/node/has_cpu", &with_cpus))
        return false;
    for (unsigned id = 0; id < TOPO_ID_MAX; id++)
        if (topo_idset_has(&with_cpus, id) && bandwidth(root, id) > best)
            best = bandwidth(root, id);
    return best > 0 && bandwidth(root, node) > 2 * best;
}

// A string to free, or NULL.
static char *tier_of(const char *root, unsigned node)
{
    struct dax dax = {node, NULL};
    if (is_gpu(root, node))
        return strdup("GPUMemory");
    if (!any_entry(root, DAX, is_dax_of, &dax))
        return NULL;
    return strdup(strcmp(dax.kind, "SPM") == 0 && is_fast(root, node) ? "HBM" : dax.kind);
}

// --- nodes ---------------------------------------------------------------------------------------------------------------------

// Nodes of older kernels list offline CPUs, too. A list of the online ones that lacks some of `allowed` is not the kernel's, but a
// container's own (lxcfs).
static void drop_offline(const char *root, const struct topo_idset *allowed, struct topo_idset *cpus)
{
    struct topo_idset online;
    struct topo_idset both = *allowed;
    if (topo_sysfs_cpus_online(root, &online))
        return;
    topo_idset_intersect(&both, &online);
    if (memcmp(&both, allowed, sizeof(both)) == 0)
        topo_idset_intersect(cpus, &online);
}

// The CPUs of all nodes, and those that the process may run on.
static int online_cpus(const char *root, const struct topo_idset *nodes, const struct topo_idset *allowed, struct topo_idset *out,
                       const struct topo_why *why)
{
    *out = *allowed;
    for (unsigned id = 0; id < TOPO_ID_MAX; id++) {
        struct topo_idset cpus;
        if (!topo_idset_has(nodes, id))
            continue;
        int error = topo_sysfs_node_cpus(root, id, allowed, &cpus);
        if (error)
            return topo_why(why, -EIO, "cannot read the CPUs of node %u: %s", id, strerror(-error));
        topo_idset_unite(out, &cpus);
    }
    drop_offline(root, allowed, out);
    return topo_idset_count(out) ? 0 : topo_why(why, -EIO, "no node has CPUs");
}

static bool is_copy(const struct locus_topo *topo)
{
    return topo->info.source == LOCUS_TOPO_ROOT;
}

static int live_node(struct locus_topo *topo, struct locus_topo_node *node, const char *root, const struct topo_idset *allowed,
                     const struct topo_why *why)
{
    struct topo_idset cpus;
    int error = topo_sysfs_node_cpus(root, (unsigned)node->os_index, allowed, &cpus);
    if (error)
        return topo_why(why, -EIO, "cannot read the CPUs of node %d: %s", node->os_index, strerror(-error));
    error = is_copy(topo) ? topo_sysfs_node_total_bytes(root, node->os_index, &node->memory.total_bytes)
                          : topo_sysfs_node_memory(root, node->os_index, &node->memory);
    if (is_copy(topo) && (error == -ENODEV || error == -ENOENT))
        return topo_why(why, -EIO, "it lacks the memory of node %d (MemTotal in its meminfo)", node->os_index);
    if (error)
        return topo_why(why, -EIO, "cannot read the memory of node %d: %s", node->os_index, strerror(-error));
    node->memory_live = !is_copy(topo);
    if (topo_idset_count(&cpus) == 0 && node->memory.total_bytes > 0)
        node->tier = tier_of(root, (unsigned)node->os_index);
    return topo_model_node_cpus(topo, node, &cpus, why);
}

static int live_distances(struct locus_topo *topo, const char *root, const struct topo_why *why)
{
    unsigned count = topo->info.nodes_count;
    for (unsigned n = 0; n < count; n++) {
        int error = topo_sysfs_distances(root, (unsigned)topo->nodes[n].os_index, topo->distances + (size_t)n * count, count);
        if (error && error != -ENOENT)
            return topo_why(why, -EIO, "node %d does not list its distance to each of %u nodes", topo->nodes[n].os_index, count);
    }
    return 0;
}

static int live_nodes(struct locus_topo *topo, const char *root, const struct topo_idset *online, const struct topo_idset *allowed,
                      const struct topo_why *why)
{
    struct topo_idset mems = {{0}};
    int error = is_copy(topo) ? 0 : topo_sysfs_mems_allowed(root, &mems);
    if (error)
        return topo_why(why, -EIO, "cannot read which nodes this process may use: %s", strerror(-error));
    error = topo_model_nodes_alloc(topo, topo_idset_count(online), why);
    for (unsigned id = 0, n = 0; !error && n < topo->info.nodes_count; id++) {
        if (!topo_idset_has(online, id))
            continue;
        struct locus_topo_node *node = &topo->nodes[n++];
        node->os_index = (int)id;
        node->allowed = topo_idset_has(&mems, id);
        error = live_node(topo, node, root, allowed, why);
    }
    return error || topo->info.nodes_hidden ? error : live_distances(topo, root, why);
}

int topo_model_live(struct locus_topo *topo, const char *root, const struct topo_idset *allowed, const struct topo_why *why)
{
    struct topo_idset nodes;
    struct topo_idset cpus;
    int error = topo_sysfs_nodes(root, &nodes);
    if (!error && topo_idset_count(&nodes) == 0)
        error = -ENODATA;
    if (error)
        return topo_why(why, -EIO, "cannot read the list of nodes: %s", strerror(-error));
    topo->info.nodes_hidden = topo_sysfs_nodes_hidden(root);
    if (is_copy(topo) || topo_sysfs_bytes(root, "/proc/meminfo", "MemTotal", &topo->info.kernel_total_bytes))
        topo->info.kernel_total_bytes = 0;
    error = online_cpus(root, &nodes, allowed, &cpus, why);
    if (!error)
        error = live_cpus(topo, root, &cpus, allowed, why);
    return error ? error : live_nodes(topo, root, &nodes, allowed, why);
}

static int compare_pages(const void *left, const void *right)
{
    uint64_t a = ((const struct locus_page_size *)left)->bytes;
    uint64_t b = ((const struct locus_page_size *)right)->bytes;
    return (a > b) - (a < b);
}

// "hugepages-2048kB": the name has the size, the files below it have the pool.
static bool read_pool(const char *root, const char *name, struct locus_page_size *out)
{
    static const char before[] = "hugepages-";
    const char *at = name + strlen(before);
    uint64_t kib = 0;
    if (strncmp(name, before, strlen(before)) || topo_number_take(&at, &kib) || strcmp(at, "kB") || kib > INT64_MAX / 1024u)
        return false;
    char path[512];
    out->bytes = kib * 1024u;
    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/nr_hugepages", name);
    if (topo_sysfs_u64(root, path, &out->reserved_pages))
        return false;
    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/free_hugepages", name);
    return topo_sysfs_u64(root, path, &out->free_pages) == 0;
}

void topo_model_pages(struct locus_topo *topo, const char *root)
{
    char path[4096];
    topo->pages[0] = (struct locus_page_size){.bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    topo->info.pages_count = 1;
    topo->info.pages = topo->pages;
    snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages", root);
    DIR *directory = opendir(path);
    if (!directory)
        return;
    struct dirent *entry = NULL;
    while (topo->info.pages_count < TOPO_PAGE_SIZES_MAX && (entry = readdir(directory)) != NULL)
        if (read_pool(root, entry->d_name, &topo->pages[topo->info.pages_count]))
            topo->info.pages_count++;
    closedir(directory);
    qsort(topo->pages, topo->info.pages_count, sizeof(topo->pages[0]), compare_pages);
}
