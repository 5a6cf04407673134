// SPDX-License-Identifier: Apache-2.0
//
// region: where the pages of a span are, by two witnesses, and what policy the kernel reports.
//
// The first witness is move_pages without target nodes, which reports the node of each page and moves nothing. The second is the
// span's line in /proc/self/numa_maps, which comes from another walk of the page tables. Neither faults a page in; reading one
// byte per page would, and would then report the placement it has just made. A witness that is unavailable (seccomp, no NUMA in
// the kernel) is reported as such and is not an error.
//
// Both count in units of 4 KiB, whatever the page size. move_pages is asked about every 4 KiB, so a page of 2 MiB answers 512
// times. numa_maps counts transparent huge pages in base pages and hugetlb in huge pages; the line's kernelpagesize_kB is the
// unit in either case.
//
// The witnesses look one after the other. While threads touch the span, or the kernel migrates it, they may disagree without
// either being wrong. To both a page on its way (compaction, balancing) is absent. So a span that was populated and seems to lack
// pages is looked at again a little later.
#include "placement/memory/region_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A huge page is moved in some 0.1 ms. A span of which pages were given back on purpose costs these looks in vain.
#define LOOKS_AGAIN 2
#define LOOK_AGAIN_NS 1000000

struct tally {
    uint64_t on[LOCUS_NODES_MAX]; // units of 4 KiB on each node
};

static void fill_granted(const struct locus_region *region, struct locus_placement *out)
{
    struct locus_nodes *nodes = &out->granted.nodes;
    out->granted.page_bytes = region->page_bytes;
    out->granted.thp_advised = region->thp_advised;
    out->granted.policy_errno = region_policy_read(region, &out->granted.policy, nodes);
    out->granted.node = locus_nodes_count(nodes) == 1 ? locus_nodes_next(nodes, 0) : LOCUS_NODE_ANY;
}

int region_ask_nodes(void *const *addresses, unsigned long count, int *node_or_error)
{
    return syscall(SYS_move_pages, 0, count, addresses, NULL, node_or_error, 0) == 0 ? 0 : -errno;
}

// Where each present page is, and which node it falls to.
static int ask_move_pages(const struct locus_region *region, const struct region_turns *turns, struct tally *is, struct tally *turn)
{
    void *addresses[REGION_BATCH];
    int status[REGION_BATCH];
    for (size_t done = 0; done < region->bytes;) {
        unsigned long count = 0;
        for (; count < REGION_BATCH && done < region->bytes; count++, done += REGION_UNIT_BYTES)
            addresses[count] = region->base + done;
        int result = region_ask_nodes(addresses, count, status);
        if (result)
            return result;
        for (unsigned long i = 0; i < count; i++) {
            if ((unsigned)status[i] >= LOCUS_NODES_MAX) // errors are negative
                continue;
            is->on[status[i]]++;
            if (turns->count > 0)
                turn->on[region_turn_of(turns, addresses[i])]++;
        }
    }
    return 0;
}

// One line: "7f0000000000 bind:0 anon=3 dirty=3 active=0 N0=3 kernelpagesize_kB=4". The policy may contain spaces ("prefer
// (many):0"), so fields are found by name, not by position.
static void count_line(char *line, struct tally *tally)
{
    uint64_t on[LOCUS_NODES_MAX] = {0};
    uint64_t page_kib = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        unsigned node;
        uint64_t pages;
        if (sscanf(word, "N%u=%" SCNu64, &node, &pages) == 2 && node < LOCUS_NODES_MAX)
            on[node] += pages;
        else
            sscanf(word, "kernelpagesize_kB=%" SCNu64, &page_kib);
    }
    for (unsigned node = 0; node < LOCUS_NODES_MAX; node++)
        tally->on[node] += on[node] * page_kib * 1024 / REGION_UNIT_BYTES;
}

// The guards keep other mappings out of our line. A caller's mprotect may have split it, so all lines within the span count. 1:
// read, 0: the file is missing here, -ENOMEM.
static int ask_numa_maps(const struct locus_region *region, struct tally *tally)
{
    char *line = NULL;
    size_t capacity = 0;
    uintptr_t begin = (uintptr_t)region->base;
    errno = 0;
    FILE *file = fopen("/proc/self/numa_maps", "re");
    if (!file)
        return errno == ENOMEM ? -ENOMEM : 0;
    while (getline(&line, &capacity, file) > 0) {
        uintptr_t start = (uintptr_t)strtoull(line, NULL, 16);
        if (start >= begin && start - begin < region->bytes)
            count_line(line, tally);
    }
    // At the end of the file errno may or may not have changed; only the stream's flag distinguishes it from a failed read or
    // allocation.
    int result = feof(file) ? 1 : errno == ENOMEM ? -ENOMEM : 0;
    free(line);
    fclose(file);
    return result;
}

static unsigned weight_on(const struct region_turns *turns, int node)
{
    unsigned i = 0;
    while (i < turns->count && turns->node[i] != node)
        i++;
    return i < turns->count ? turns->weight[i] : 0;
}

// Machines with more than LOCUS_PLACEMENT_NODES_MAX nodes in one span lose rows, never the totals.
static void fill_rows(const struct locus_region *region, const struct tally *is, const struct region_turns *turns,
                      const struct tally *turn, struct locus_placement *out)
{
    bool everywhere = turns->count == 0;
    bool in_turn = region->config.policy == LOCUS_POLICY_INTERLEAVE || region->config.policy == LOCUS_POLICY_WEIGHTED_INTERLEAVE;
    out->verified.expected_exact = turns->exact;
    for (int node = 0; (unsigned)node < LOCUS_NODES_MAX; node++) {
        uint64_t pages = is->on[node];
        uint64_t expected = in_turn ? turn->on[node] : 0;
        out->verified.pages_present += pages;
        if (everywhere || locus_nodes_has(&region->nodes, node))
            out->verified.pages_allowed += pages;
        else
            out->verified.pages_elsewhere += pages;
        if (pages + expected == 0 || out->verified.nodes == LOCUS_PLACEMENT_NODES_MAX)
            continue;
        out->verified.on[out->verified.nodes].node = node;
        out->verified.on[out->verified.nodes].pages = pages;
        out->verified.on[out->verified.nodes].pages_expected = expected;
        out->verified.on[out->verified.nodes++].weight = weight_on(turns, node);
    }
}

static int look(const struct locus_region *region, struct locus_placement *out)
{
    struct tally moved = {0}, turn = {0}, mapped = {0};
    struct region_turns turns;
    *out = (struct locus_placement){.requested = region->config};
    fill_granted(region, out);
    region_turns_read(region, &turns);
    out->verified.pages = region->bytes / REGION_UNIT_BYTES;
    int asked = ask_move_pages(region, &turns, &moved, &turn);
    if (asked == -ENOMEM)
        return asked;
    out->verified.verify_errno = -asked;
    int read = region->config.memory ? 0 : ask_numa_maps(region, &mapped);
    if (read < 0)
        return read;
    out->verified.numa_maps_read = read == 1;
    if (asked)
        return 0;
    fill_rows(region, &moved, &turns, &turn, out);
    out->verified.numa_maps_agrees = read == 1 && memcmp(&moved, &mapped, sizeof(moved)) == 0;
    return 0;
}

static bool is_settled(const struct locus_region *region, const struct locus_placement *seen)
{
    bool whole = seen->verified.pages_present == seen->verified.pages;
    return !region->config.populate || seen->verified.verify_errno ||
           (whole && (!seen->verified.numa_maps_read || seen->verified.numa_maps_agrees));
}

int locus_region_verify(const struct locus_region *region, struct locus_placement *out)
{
    int result = look(region, out);
    for (int again = 0; !result && !is_settled(region, out) && again < LOOKS_AGAIN; again++) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_AGAIN_NS}, NULL);
        result = look(region, out);
    }
    return result;
}
