// SPDX-License-Identifier: Apache-2.0
//
// region: where the pages of a span are, asked of two witnesses and of the kernel's own idea of the policy.
//
// First witness: move_pages with no target nodes, which reports the node of each page and moves nothing. Second: the span's line
// in /proc/self/numa_maps, which comes from another walk of the page tables. Neither faults a page in; a read of one byte per page
// would, and would then report the placement it has just made. What cannot be asked here (seccomp, no NUMA in the
// kernel) is reported as such beside what could, and is no error.
//
// Both count in units of 4 KiB, whatever the page size. move_pages is asked about every 4 KiB, so a page of 2 MiB answers 512
// times. numa_maps counts transparent huge pages in base pages and hugetlb in huge pages; the line's kernelpagesize_kB is the
// unit in either case.
//
// The witnesses look one after the other. On a span that threads are touching, or that the kernel is migrating, they may disagree
// without either being wrong.
#include "placement/region_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNIT_BYTES 4096u

// Addresses per call: 12 KiB of stack, and one system call for 4 MiB.
#define BATCH 1024u

#define MODE_MASK 0xfffu // the bits above are MPOL_F_ flags

struct tally {
    uint64_t on[REGION_NODE_BITS]; // units of 4 KiB on each node
};

static int first_node(const unsigned long *mask, unsigned *count)
{
    const unsigned word_bits = 8 * sizeof(unsigned long);
    int first = LOCUS_NODE_ANY;
    *count = 0;
    for (unsigned node = 0; node < REGION_NODE_BITS; node++) {
        if (!(mask[node / word_bits] >> (node % word_bits) & 1))
            continue;
        if ((*count)++ == 0)
            first = (int)node;
    }
    return first;
}

// A span without a policy of its own follows the thread's: `numactl --interleave` would rule it, and "first touch" be untrue.
static int read_policy(const struct locus_region *region, int *mode, unsigned long *mask)
{
    if (syscall(SYS_get_mempolicy, mode, mask, REGION_MAXNODE, region->base, (unsigned long)MPOL_F_ADDR) != 0)
        return errno;
    if ((*mode & MODE_MASK) != MPOL_DEFAULT)
        return 0;
    return syscall(SYS_get_mempolicy, mode, mask, REGION_MAXNODE, NULL, 0ul) == 0 ? 0 : errno;
}

static void fill_granted(const struct locus_region *region, struct locus_placement *out)
{
    int mode = MPOL_DEFAULT;
    unsigned nodes;
    unsigned long mask[REGION_MASK_WORDS] = {0};
    out->granted.page_bytes = region->page_bytes;
    out->granted.thp_advised = region->thp_advised;
    out->granted.node = LOCUS_NODE_ANY;
    out->granted.policy_errno = read_policy(region, &mode, mask);
    if (out->granted.policy_errno)
        return;
    mode &= (int)MODE_MASK;
    int node = first_node(mask, &nodes);
    if (mode == MPOL_BIND && nodes == 1) {
        out->granted.policy = LOCUS_POLICY_BIND;
        out->granted.node = node;
    } else if (mode == MPOL_DEFAULT || mode == MPOL_LOCAL || (mode == MPOL_PREFERRED && nodes == 0)) {
        out->granted.policy = LOCUS_POLICY_FIRST_TOUCH;
    } else {
        out->granted.policy_errno = ERANGE;
    }
}

// -ENOENT is a page that was never touched, -EFAULT one that is mapped to the shared zero page: no memory behind either.
static int ask_move_pages(const struct locus_region *region, struct tally *tally)
{
    void *addresses[BATCH];
    int status[BATCH];
    for (size_t done = 0; done < region->bytes;) {
        unsigned long count = 0;
        for (; count < BATCH && done < region->bytes; count++, done += UNIT_BYTES)
            addresses[count] = region->base + done;
        if (syscall(SYS_move_pages, 0, count, addresses, NULL, status, 0) != 0)
            return -errno;
        for (unsigned long i = 0; i < count; i++)
            if ((unsigned)status[i] < REGION_NODE_BITS) // errors are negative
                tally->on[status[i]]++;
    }
    return 0;
}

// One line: "7f0000000000 bind:0 anon=3 dirty=3 active=0 N0=3 kernelpagesize_kB=4". The policy may contain spaces ("prefer
// (many):0"), so fields are known by their names, not by their place.
static void count_line(char *line, struct tally *tally)
{
    uint64_t on[REGION_NODE_BITS] = {0};
    uint64_t page_kib = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        unsigned node;
        uint64_t pages;
        if (sscanf(word, "N%u=%" SCNu64, &node, &pages) == 2 && node < REGION_NODE_BITS)
            on[node] += pages;
        else
            sscanf(word, "kernelpagesize_kB=%" SCNu64, &page_kib);
    }
    for (unsigned node = 0; node < REGION_NODE_BITS; node++)
        tally->on[node] += on[node] * page_kib * 1024 / UNIT_BYTES;
}

// The guards keep other mappings out of our line; a caller's mprotect may have split it, so all lines in the span count.
// 1 = read, 0 = there is no such file here, -ENOMEM.
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
    // The end of the file leaves errno alone or not; only the stream's own flag tells it from a failed read or allocation.
    int result = feof(file) ? 1 : errno == ENOMEM ? -ENOMEM : 0;
    free(line);
    fclose(file);
    return result;
}

// Machines with more than LOCUS_PLACEMENT_NODES_MAX nodes in one span lose rows, never the totals.
static void fill_rows(const struct locus_region *region, const struct tally *tally, struct locus_placement *out)
{
    bool bound = region->config.policy == LOCUS_POLICY_BIND;
    for (unsigned node = 0; node < REGION_NODE_BITS; node++) {
        uint64_t pages = tally->on[node];
        if (pages == 0)
            continue;
        out->verified.pages_present += pages;
        if (bound && (int)node != region->config.node)
            out->verified.pages_elsewhere += pages;
        if (out->verified.nodes == LOCUS_PLACEMENT_NODES_MAX)
            continue;
        out->verified.on[out->verified.nodes].node = (int)node;
        out->verified.on[out->verified.nodes++].pages = pages;
    }
}

int locus_region_verify(const struct locus_region *region, struct locus_placement *out)
{
    struct tally moved = {0};
    struct tally mapped = {0};
    *out = (struct locus_placement){.requested = region->config};
    fill_granted(region, out);
    out->verified.pages = region->bytes / UNIT_BYTES;
    int asked = ask_move_pages(region, &moved);
    if (asked == -ENOMEM)
        return asked;
    out->verified.verify_errno = -asked;
    int read = ask_numa_maps(region, &mapped);
    if (read < 0)
        return read;
    out->verified.numa_maps_read = read == 1;
    if (asked)
        return 0;
    fill_rows(region, &moved, out);
    out->verified.numa_maps_agrees = read == 1 && memcmp(&moved, &mapped, sizeof(moved)) == 0;
    return 0;
}
