// SPDX-License-Identifier: Apache-2.0
//
// region: will the node hold it? Asked before a strict bind is populated, because the kernel's answer to one that does not fit is
// SIGKILL: a strict policy leaves it no other node to allocate from, and it kills rather than fails a page fault.
//
// Free bytes alone are too hopeful an answer. A user's page comes from a zone only while more than the zone's watermark and its
// protection would remain free: on a host of 1 TiB the 3 GiB below 4 GiB are free, and out of reach. So what every zone keeps
// back is taken off:
//
//     needed <= free + reclaimable - sum over the node's zones of min(free, 2 * high watermark + protection)
//
// The kernel kills at the lowest watermark, "min", and "high" is about 1.3 times that. Twice "high" is a measured margin: on a
// node of 64 MiB (kernel 6.12) strict binds were still killed with 1.2 times "high" to spare, because counters lag behind, CPUs
// hold pages in lists of their own, and other processes allocate meanwhile. With twice "high" none of a hundred was.
//
// What zones keep back is read once per region: the file has lines for every CPU of every zone, and it hardly changes. What is free
// is asked before each step.
#include "placement/region_internal.h"

#include "topo/topo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Without /proc/zoneinfo (some sandboxes): the kernel's default for "min" ends at 5 % of the memory and, with huge pages
// on, at some 66 MiB a node; about twice either.
#define KEPT_BACK_BYTES ((uint64_t)128 << 20)
#define KEPT_BACK_FRACTION 8

#define ENTRIES_PER_PAGE_TABLE 512 // one 8-byte entry per page: populating costs 1/512 in page tables

struct zone {
    int node;
    uint64_t free_pages, high_pages;
};

// "        protection: (0, 2843, 23934, 23934)": what is kept from an allocation that could use the zone of that position. A
// user's page could use the last one.
static uint64_t last_protection(const char *line)
{
    const char *last = strrchr(line, ',');
    if (!last)
        last = strchr(line, '(');
    return last ? strtoull(last + 1, NULL, 10) : 0;
}

// Takes one line in; true, and the zone's share in *kept_pages, when it completes a zone of `node`.
static bool take_line(const char *line, int node, struct zone *zone, uint64_t *kept_pages)
{
    if (sscanf(line, "Node %d,", &zone->node) == 1) {
        zone->free_pages = zone->high_pages = 0;
        return false;
    }
    if (sscanf(line, " pages free %" SCNu64, &zone->free_pages) == 1 || sscanf(line, " high %" SCNu64, &zone->high_pages) == 1)
        return false;
    if (zone->node != node || !strstr(line, " protection:"))
        return false;
    uint64_t kept = 2 * zone->high_pages + last_protection(line);
    *kept_pages = kept < zone->free_pages ? kept : zone->free_pages;
    return true;
}

// 1: the node's zones were read, 0: there is no such account here, or -ENOMEM.
static int read_zones(int node, uint64_t *kept_pages)
{
    struct zone zone = {.node = -1};
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    errno = 0;
    FILE *file = fopen("/proc/zoneinfo", "re");
    if (!file)
        return errno == ENOMEM ? -ENOMEM : 0;
    *kept_pages = 0;
    while (getline(&line, &capacity, file) > 0) {
        uint64_t pages;
        if (!take_line(line, node, &zone, &pages))
            continue;
        *kept_pages += pages;
        found = true;
    }
    int result = feof(file) ? found : errno == ENOMEM ? -ENOMEM : 0;
    free(line);
    fclose(file);
    return result;
}

int region_kept_back(int node, uint64_t *bytes)
{
    struct locus_node_memory memory;
    uint64_t pages = 0;
    int result = read_zones(node, &pages);
    if (result < 0)
        return result;
    *bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    if (result)
        return 0;
    result = locus_node_memory_read(node, &memory);
    if (result)
        return result;
    *bytes = memory.total_bytes / KEPT_BACK_FRACTION;
    if (*bytes > KEPT_BACK_BYTES)
        *bytes = KEPT_BACK_BYTES;
    return 0;
}

int region_node_holds(int node, size_t bytes, uint64_t kept_back_bytes)
{
    struct locus_node_memory memory;
    uint64_t cgroup_room;
    int result = locus_node_memory_read(node, &memory);
    if (!result)
        result = locus_cgroup_memory_room_bytes(&cgroup_room);
    if (result)
        return result;
    uint64_t need = bytes + bytes / ENTRIES_PER_PAGE_TABLE;
    if (need > cgroup_room || need + kept_back_bytes > memory.free_bytes + memory.reclaimable_bytes)
        return -ENOMEM;
    return 0;
}
