// SPDX-License-Identifier: Apache-2.0
//
// live: the nodes of this machine, as its kernel lists them.
//
// The list of nodes is the kernel's (node/online), not hwloc's, so that nodes without memory and nodes without CPUs are in it.
// hwloc has already contributed CPUs, cores and packages; here it adds only the names of memory tiers.
#include "topo/model.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/sysfs.h"

static int live_node(struct locus_topo *topo, struct locus_topo_node *node, const char *root, const struct topo_why *why)
{
    struct topo_idset cpus;
    int error = topo_sysfs_node_cpus(root, (unsigned)node->os_index, &cpus);
    if (error)
        return topo_why(why, -EIO, "cannot read the CPUs of node %d: %s", node->os_index, strerror(-error));
    error = topo_sysfs_node_memory(root, node->os_index, &node->memory);
    if (error)
        return topo_why(why, -EIO, "cannot read the memory of node %d: %s", node->os_index, strerror(-error));
    node->memory_live = true;
    for (unsigned i = 0; i < topo->info.cpus_count; i++)
        if (topo_idset_has(&cpus, topo->cpus[i].os_index))
            topo->cpus[i].node = node->os_index;
    return 0;
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

int topo_model_live_nodes(struct locus_topo *topo, const char *root, hwloc_topology_t topology, const struct topo_idset *allowed,
                          const struct topo_why *why)
{
    struct topo_idset online;
    struct topo_idset mems;
    int error = topo_sysfs_nodes(root, &online);
    if (!error && topo_idset_count(&online) == 0)
        error = -ENODATA;
    if (error)
        return topo_why(why, -EIO, "cannot read the list of nodes: %s", strerror(-error));
    error = topo_sysfs_mems_allowed(root, &mems);
    if (error)
        return topo_why(why, -EIO, "cannot read which nodes this process may use: %s", strerror(-error));
    error = topo_model_nodes_alloc(topo, topo_idset_count(&online), why);
    for (unsigned id = 0, n = 0; !error && n < topo->info.nodes_count; id++) {
        if (!topo_idset_has(&online, id))
            continue;
        struct locus_topo_node *node = &topo->nodes[n++];
        node->os_index = (int)id;
        node->allowed = topo_idset_has(&mems, id);
        node->tier = topo_model_tier(hwloc_get_numanode_obj_by_os_index(topology, id));
        error = live_node(topo, node, root, why);
    }
    for (unsigned i = 0; i < topo->info.cpus_count; i++)
        topo->cpus[i].allowed = topo_idset_has(allowed, topo->cpus[i].os_index);
    return error ? error : live_distances(topo, root, why);
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
    unsigned long kib = 0;
    int end = 0;
    if (sscanf(name, "hugepages-%lukB%n", &kib, &end) != 1 || end == 0 || name[end] != '\0')
        return false;
    char path[512];
    out->bytes = (uint64_t)kib * 1024u;
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
