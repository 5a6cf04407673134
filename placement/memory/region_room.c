// SPDX-License-Identifier: Apache-2.0
//
// region: is there room for it? Checked before a span is populated, because the kernel answers one that does not fit with SIGKILL:
// it kills rather than fail a page fault. A strict policy leaves it the policy's nodes only, any other all that the process may
// use; and the limit of a cgroup holds whatever the policy is.
//
// Free bytes alone are too optimistic. A user's page comes from a zone only while more than the zone's watermark and its
// protection remain free: on a host of 1 TiB the 3 GiB below 4 GiB are free, but out of reach. So each zone's reserve is
// subtracted:
//
//     needed <= free + reclaimable - sum over the nodes' zones of min(free, 2 * high watermark + protection)
//
// The kernel kills at the lowest watermark, "min", and "high" is about 1.3 times that. Twice "high" is a measured margin: on a
// node of 64 MiB (kernel 6.12) strict binds were still killed with 1.2 times "high" to spare, because counters lag, CPUs keep
// pages in lists of their own, and other processes allocate meanwhile. With twice "high" none of a hundred was killed.
//
// Several nodes fail only when all of them are exhausted, so their figures are added up. Swap does not count, neither here nor in a
// cgroup: what is populated shall be in memory, and not push out what was there.
//
// What cannot be read refuses a strict bind only. Other policies open in every sandbox.
//
// The zones' reserves are read once per region: the file has lines for every CPU of every zone, and hardly changes. Free memory
// is read before each step.
#include "placement/memory/region_internal.h"

#include "topo/sysfs.h"
#include "topo/topo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// For sandboxes without /proc/zoneinfo. The kernel's default for "min" is at most 5 % of the memory and, with huge pages on, some
// 66 MiB a node; these are about twice as much.
#define KEPT_BACK_BYTES ((uint64_t)128 << 20)
#define KEPT_BACK_FRACTION 8

#define ENTRIES_PER_PAGE_TABLE 512 // one 8-byte entry per page: populating costs 1/512 in page tables

struct zone {
    int node;
    uint64_t free_pages, high_pages;
};

// "        protection: (0, 2843, 23934, 23934)": pages withheld from an allocation that could also use the zone at that position. A
// user's page could use the last one.
static uint64_t last_protection(const char *line)
{
    const char *last = strrchr(line, ',');
    if (!last)
        last = strchr(line, '(');
    return last ? strtoull(last + 1, NULL, 10) : 0;
}

// Reads one line. True when it completes a zone of one of the nodes; *kept_pages is then that zone's reserve.
static bool take_line(const char *line, const struct locus_nodes *nodes, struct zone *zone, uint64_t *kept_pages)
{
    if (sscanf(line, "Node %d,", &zone->node) == 1) {
        zone->free_pages = zone->high_pages = 0;
        return false;
    }
    if (sscanf(line, " pages free %" SCNu64, &zone->free_pages) == 1 || sscanf(line, " high %" SCNu64, &zone->high_pages) == 1)
        return false;
    if (!locus_nodes_has(nodes, zone->node) || !strstr(line, " protection:"))
        return false;
    uint64_t kept = 2 * zone->high_pages + last_protection(line);
    *kept_pages = kept < zone->free_pages ? kept : zone->free_pages;
    return true;
}

// *found are the nodes whose zones were read: none without /proc/zoneinfo. 0, or -ENOMEM.
static int read_zones(const struct locus_nodes *nodes, struct locus_nodes *found, uint64_t *kept_pages)
{
    struct zone zone = {.node = -1};
    char *line = NULL;
    size_t capacity = 0;
    *kept_pages = 0;
    errno = 0;
    FILE *file = fopen("/proc/zoneinfo", "re");
    if (!file)
        return errno == ENOMEM ? -ENOMEM : 0;
    while (getline(&line, &capacity, file) > 0) {
        uint64_t pages;
        if (!take_line(line, nodes, &zone, &pages))
            continue;
        *kept_pages += pages;
        locus_nodes_add(found, zone.node);
    }
    int result = !feof(file) && errno == ENOMEM ? -ENOMEM : 0;
    free(line);
    fclose(file);
    return result;
}

// For nodes whose zones are unknown.
static int presumed_kept_back(int node, uint64_t *bytes)
{
    struct locus_node_memory memory;
    int result = locus_node_memory_read(node, &memory);
    if (result)
        return result;
    *bytes = memory.total_bytes / KEPT_BACK_FRACTION;
    if (*bytes > KEPT_BACK_BYTES)
        *bytes = KEPT_BACK_BYTES;
    return 0;
}

int region_kept_back(const struct locus_nodes *nodes, uint64_t *bytes)
{
    struct locus_nodes found = {{0}};
    uint64_t pages;
    int result = read_zones(nodes, &found, &pages);
    if (result)
        return result;
    *bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    for (int node = locus_nodes_next(nodes, 0); node >= 0; node = locus_nodes_next(nodes, node + 1)) {
        uint64_t presumed = 0;
        if (!locus_nodes_has(&found, node))
            result = presumed_kept_back(node, &presumed);
        if (result)
            return result;
        *bytes += presumed;
    }
    return 0;
}

int locus_node_room_bytes(int node, uint64_t *out)
{
    struct locus_nodes only = {{0}};
    struct locus_node_memory memory;
    uint64_t kept_back = 0;
    if (node < 0 || (unsigned)node >= LOCUS_NODES_MAX)
        return -ENODEV;
    locus_nodes_add(&only, node);
    int result = locus_node_memory_read(node, &memory);
    if (!result)
        result = region_kept_back(&only, &kept_back);
    if (result)
        return result;
    uint64_t there = memory.free_bytes + memory.reclaimable_bytes;
    *out = there > kept_back ? there - kept_back : 0;
    return 0;
}

struct room {
    uint64_t needed_bytes;      // with the page tables
    uint64_t nodes_bytes, cgroup_bytes;
};

static int room_read(const struct locus_nodes *nodes, size_t bytes, struct room *out)
{
    *out = (struct room){.needed_bytes = bytes + bytes / ENTRIES_PER_PAGE_TABLE};
    int result = locus_cgroup_memory_room_bytes(&out->cgroup_bytes);
    for (int node = locus_nodes_next(nodes, 0); !result && node >= 0; node = locus_nodes_next(nodes, node + 1)) {
        struct locus_node_memory memory = {0};
        result = locus_node_memory_read(node, &memory);
        out->nodes_bytes += memory.free_bytes + memory.reclaimable_bytes;
    }
    return result;
}

static bool nodes_lack(const struct room *room, uint64_t kept_back_bytes)
{
    return room->needed_bytes + kept_back_bytes > room->nodes_bytes;
}

int region_nodes_hold(const struct locus_nodes *nodes, size_t bytes, uint64_t kept_back_bytes)
{
    struct room room;
    int result = room_read(nodes, bytes, &room);
    if (result)
        return result;
    return room.needed_bytes > room.cgroup_bytes || nodes_lack(&room, kept_back_bytes) ? -ENOMEM : 0;
}

int region_nodes_allowed(struct locus_nodes *out)
{
    struct topo_idset allowed;
    *out = (struct locus_nodes){{0}};
    int result = topo_sysfs_mems_allowed("", &allowed);
    for (unsigned node = 0; !result && node < LOCUS_NODES_MAX; node++)
        if (topo_idset_has(&allowed, node))
            locus_nodes_add(out, (int)node);
    return result;
}

int region_room_open(enum locus_policy policy, const struct locus_nodes *nodes, struct region_room *out)
{
    *out = (struct region_room){.strict = locus_policy_strict(policy)};
    int result = 0;
    if (out->strict)
        out->nodes = *nodes;
    else
        result = region_nodes_allowed(&out->nodes);
    if (!result)
        result = region_kept_back(&out->nodes, &out->kept_back_bytes);
    out->unknown = !out->strict && result && result != -ENOMEM;
    return out->unknown ? 0 : result;
}

int region_room_holds(const struct region_room *room, size_t bytes)
{
    uint64_t cgroup_bytes;
    if (room->unknown)
        return locus_cgroup_memory_room_bytes(&cgroup_bytes) == 0 && bytes > cgroup_bytes ? -ENOMEM : 0;
    int result = region_nodes_hold(&room->nodes, bytes, room->kept_back_bytes);
    return room->strict || result == -ENOMEM ? result : 0;
}

int region_process_holds(size_t bytes)
{
    struct region_room room;
    int result = region_room_open(LOCUS_POLICY_FIRST_TOUCH, NULL, &room);
    return result ? result : region_room_holds(&room, bytes);
}

static unsigned long long mib(uint64_t bytes)
{
    return (unsigned long long)(bytes >> 20);
}

bool region_room_why(enum locus_policy policy, const struct locus_nodes *nodes, size_t bytes, char *why, size_t why_bytes)
{
    struct room room;
    struct region_room asked;
    char who[40] = "the nodes together have";
    if (region_room_open(policy, nodes, &asked) || room_read(&asked.nodes, bytes, &room))
        return false;
    if (locus_nodes_count(&asked.nodes) == 1)
        snprintf(who, sizeof who, "node %d has", locus_nodes_next(&asked.nodes, 0));
    unsigned long long needed = mib(room.needed_bytes + (1 << 20) - 1);
    if (room.needed_bytes > room.cgroup_bytes)
        snprintf(why, why_bytes,
                 "the cgroup's limit leaves %llu MiB, and %llu MiB are needed: the kernel would kill this process. Take less "
                 "memory or raise memory.max (cgroup v1: memory.limit_in_bytes)",
                 mib(room.cgroup_bytes), needed);
    else if (!asked.unknown && nodes_lack(&room, asked.kept_back_bytes))
        snprintf(why, why_bytes,
                 "%s %llu MiB free and reclaimable, of which the kernel keeps back %llu MiB, and %llu MiB are needed: it "
                 "would kill %s",
                 who, mib(room.nodes_bytes), mib(asked.kept_back_bytes), needed,
                 asked.strict ? "a strict bind. Take less memory, more nodes, or the policy preferred"
                              : "this process. Take less memory, or do not populate it");
    else
        return false;
    return true;
}
