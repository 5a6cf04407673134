// SPDX-License-Identifier: Apache-2.0
//
// room_scenario FILE: strict binds on a tiny node, in the emulated machine `odd` (testbed/tests/guest.sh).
//
// A bind beyond the node must be refused with the figures, and this process live on with what it had. A bind that fits only if page
// cache gives way must not be refused, or every host that has read its files for a while would refuse all: the node is filled with
// clean pages of FILE, which must be several times as large as the node (a disk: what lies in a tmpfs cannot be dropped).
//
// A span on the tiny node is held all the time, and read again after each step.
//
// Exit status: 0; 1 something else happened; 77 there is no node of 64 MiB or less, no mbind, or no FILE. Killed: the bind was let
// through.
#include "locus/region.h"
#include "topo/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define TINY_BYTES (64 * MIB)
#define HELD_BYTES (8 * MIB)
#define SLACK_BYTES (8 * MIB) // what others take meanwhile: less than the 16 MiB by which a refused bind goes beyond the node
#define READS 3 // times the node's memory: the cache's pages push each other out, and others of the node with them

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("room_scenario: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return 1;
}

static int tiny_node(void)
{
    struct locus_node_memory memory;
    for (unsigned node = 0; node < LOCUS_NODES_MAX; node++)
        if (locus_node_allowed((int)node) && !locus_node_memory_read((int)node, &memory) && memory.total_bytes <= TINY_BYTES)
            return (int)node;
    return -1;
}

static struct locus_node_memory memory_of(int node)
{
    struct locus_node_memory memory = {0};
    locus_node_memory_read(node, &memory);
    return memory;
}

static struct locus_region_config strict(int node, uint64_t bytes)
{
    return (struct locus_region_config){.size = sizeof(struct locus_region_config),
                                        .bytes = (size_t)bytes,
                                        .policy = LOCUS_POLICY_BIND,
                                        .node = node,
                                        .populate = true};
}

// --- what is held --------------------------------------------------------------------------------------------------------------

static void fill(struct locus_region *region)
{
    uint64_t *words = locus_region_base(region);
    for (size_t i = 0; i < locus_region_bytes(region) / sizeof *words; i++)
        words[i] = i * UINT64_C(0x9e3779b97f4a7c15);
}

// Reclaim makes the kernel compact a node: a page that it is just moving there is nowhere for that moment, and is looked for again.
static int look(const struct locus_region *region, struct locus_placement *out)
{
    int result = locus_region_verify(region, out);
    for (int tenths = 0; tenths < 100 && !result && out->verified.pages_present < out->verified.pages; tenths++) {
        usleep(100000);
        result = locus_region_verify(region, out);
    }
    return result;
}

static int check(const struct locus_region *region, const char *when)
{
    const uint64_t *words = locus_region_base(region);
    struct locus_placement placement;
    for (size_t i = 0; i < locus_region_bytes(region) / sizeof *words; i++)
        if (words[i] != i * UINT64_C(0x9e3779b97f4a7c15))
            return wrong("%s: word %zu of the held span is another", when, i);
    int result = look(region, &placement);
    if (result || placement.verified.verify_errno || placement.verified.pages_allowed != placement.verified.pages)
        return wrong("%s: %" PRIu64 " of %" PRIu64 " pages are on their node, %" PRIu64 " on another", when,
                     placement.verified.pages_allowed, placement.verified.pages, placement.verified.pages_elsewhere);
    return 0;
}

// --- the steps -----------------------------------------------------------------------------------------------------------------

static int refused(int node)
{
    struct locus_node_memory before = memory_of(node);
    struct locus_region_config config = strict(node, before.free_bytes + before.reclaimable_bytes + 16 * MIB);
    struct locus_region *region;
    char why[256];
    int result = locus_region_open(&region, &config);
    if (result != -ENOMEM)
        return wrong("a bind beyond the node answered %s", strerror(-result));
    locus_region_why(&config, result, why, sizeof why);
    printf("refused: %s\n", why);
    if (!strstr(why, "MiB free and reclaimable") || !strstr(why, "are needed"))
        return wrong("the reason lacks the figures");
    struct locus_node_memory after = memory_of(node);
    if (after.free_bytes + after.reclaimable_bytes + SLACK_BYTES < before.free_bytes + before.reclaimable_bytes)
        return wrong("what was refused was taken nevertheless: %" PRIu64 " MiB were free and reclaimable, and %" PRIu64 " are",
                     (before.free_bytes + before.reclaimable_bytes) / MIB, (after.free_bytes + after.reclaimable_bytes) / MIB);
    return 0;
}

// Clean pages of the file on this node: page cache comes from where the reader's policy says, and a strict one keeps to it.
static int read_onto(int node, int file)
{
    static char buffer[1 << 20];
    unsigned long mask[LOCUS_NODES_MAX / (8 * sizeof(long))] = {0};
    uint64_t left = READS * TINY_BYTES;
    ssize_t got = 1;
    memset(buffer, 1, sizeof buffer); // its own pages stay where they are
    mask[(unsigned)node / (8 * sizeof(long))] = 1ul << ((unsigned)node % (8 * sizeof(long)));
    int result = syscall(SYS_set_mempolicy, MPOL_BIND, mask, LOCUS_NODES_MAX + 1ul) ? -errno : 0;
    for (; !result && left > 0 && got > 0; left -= (uint64_t)got < left ? (uint64_t)got : left) {
        got = read(file, buffer, sizeof buffer);
        if (got < 0)
            result = -errno;
    }
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
    return !result && left > 0 ? -ENODATA : result;
}

static int granted_over_cache(int node, int file)
{
    struct locus_region *region;
    int result = read_onto(node, file);
    if (result)
        return wrong("reading the file: %s", result == -ENODATA ? "it is too short" : strerror(-result));
    struct locus_node_memory full = memory_of(node);
    printf("full of page cache: %" PRIu64 " MiB free, %" PRIu64 " MiB reclaimable\n", full.free_bytes / MIB,
           full.reclaimable_bytes / MIB);
    if (full.reclaimable_bytes < full.free_bytes + 8 * MIB)
        return wrong("the node did not fill with page cache");
    struct locus_region_config config = strict(node, full.free_bytes + full.reclaimable_bytes / 2);
    result = locus_region_open(&region, &config);
    if (result)
        return wrong("a bind of %" PRIu64 " MiB beside page cache answered %s", (uint64_t)config.bytes / MIB, strerror(-result));
    fill(region);
    result = check(region, "over page cache");
    printf("granted: %zu MiB\n", config.bytes >> 20);
    locus_region_close(region);
    return result;
}

// A disk's page cache goes when the last one closes it, so it stays open.
static int steps(int node, const char *path, const struct locus_region *held)
{
    int result = refused(node);
    result = result ? result : check(held, "after a refusal");
    int file = result ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        if (!result)
            printf("SKIP room_scenario: %s, to fill the page cache from: %s\n", path, strerror(errno));
        return result ? result : 77;
    }
    result = granted_over_cache(node, file);
    result = result ? result : check(held, "after the cache gave way");
    result = result ? result : refused(node);
    result = result ? result : check(held, "at the end");
    close(file);
    return result;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); // in order with what goes to stderr
    if (argc != 2) {
        fputs("usage: room_scenario FILE\n", stderr);
        return 2;
    }
    int node = tiny_node();
    if (node < 0 || locus_policy_probe(LOCUS_POLICY_BIND)) {
        puts("SKIP room_scenario: needs mbind and a node of 64 MiB or less; run it in the guest `odd`");
        return 77;
    }
    struct locus_region_config config = strict(node, HELD_BYTES);
    struct locus_region *held;
    int result = locus_region_open(&held, &config);
    if (result)
        return wrong("the first %" PRIu64 " MiB: %s", HELD_BYTES / MIB, strerror(-result));
    fill(held);
    result = steps(node, argv[1], held);
    locus_region_close(held);
    return result;
}
