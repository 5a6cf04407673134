// SPDX-License-Identifier: Apache-2.0
//
// swap_scenario: ranges of an arena on a near node leave for a tier on a far one, and come back. Says where the pages of both are,
// by move_pages and by numa_maps, how many pages moved each way, and whether every tag is as it was.
//
//     swap_scenario NEAR FAR      exit status 0; 1: a line of its output says what is not so; 77: no such nodes
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "locus/region.h"
#include "locus/tier.h"

#define PAGES 24u
#define PAGE_BYTES (UINT64_C(512) << 10)
#define OBJECTS 60u              // of 1 to 3 pages: five times what the arena holds

static struct {
    struct locus_pages *pages;
    struct locus_tier *tier;
    locus_range range[OBJECTS]; // LOCUS_RANGE_NONE: it is in the tier, or was never there
    uint64_t pages_out, pages_in;
    bool failed;
} world;

static void complain(const char *what, long long number)
{
    printf("not so: %s (%lld)\n", what, number);
    world.failed = true;
}

static uint32_t length_of(uint64_t object)
{
    return 1 + (uint32_t)(object % 3);
}

static uint64_t tag_of(uint64_t object, uint64_t at)
{
    return object * UINT64_C(0x9E3779B97F4A7C15) + at;
}

static void write_tags(uint64_t *memory, uint64_t object, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / sizeof *memory; i++)
        memory[i] = tag_of(object, i);
}

static void check_tags(const uint64_t *memory, uint64_t object, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / sizeof *memory; i++)
        if (memory[i] != tag_of(object, i))
            return complain("a tag is as it was; object", (long long)object);
}

static void done(struct locus_tier_op *op, int result)
{
    (void)op;
    if (result)
        complain("the tier did it; error", -result);
}

static int leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct locus_tier_op op = {.done = done};
    (void)context, (void)range, (void)kind;
    int error = locus_tier_store(world.tier, locus_id_of(owner), memory, bytes, &op);
    if (!error) {
        world.range[owner] = LOCUS_RANGE_NONE;
        world.pages_out += bytes / PAGE_BYTES;
    }
    return error;
}

// The object's range, pinned: where it is, or a new one with what the tier has of it, or with new contents.
static int bring(uint64_t object)
{
    struct locus_pages_request ask = {.kind = LOCUS_PAGES_KV, .pages = length_of(object), .owner = object};
    struct locus_tier_op op = {.done = done};
    uint64_t bytes = ask.pages * PAGE_BYTES;
    if (world.range[object])
        return locus_pages_pin(world.pages, world.range[object]);
    int error = locus_pages_alloc(world.pages, NULL, &ask, &world.range[object]);
    if (error)
        return error;
    void *memory = locus_pages_address(world.pages, world.range[object]);
    if (locus_tier_find(world.tier, locus_id_of(object), NULL)) {
        write_tags(memory, object, bytes);
        return 0;
    }
    error = locus_tier_load(world.tier, locus_id_of(object), memory, bytes, &op);
    struct locus_tier_op drop = {.done = done};
    world.pages_in += ask.pages;
    return error ? error : locus_tier_drop(world.tier, locus_id_of(object), &drop);
}

static void walk(void)
{
    for (uint64_t step = 0; step < 12 * OBJECTS && !world.failed; step++) {
        uint64_t object = step * 7 % OBJECTS;
        locus_pages_set_time(world.pages, step);
        int error = bring(object);
        if (error)
            return complain("an object is brought; error", -error);
        check_tags(locus_pages_address(world.pages, world.range[object]), object, length_of(object) * PAGE_BYTES);
        locus_pages_unpin(world.pages, world.range[object]);
    }
}

// By move_pages, and by numa_maps as the second witness.
static void where(const char *what, const struct locus_region *region, int node)
{
    static struct locus_placement placement;
    int error = locus_region_verify(region, &placement);
    if (error || placement.verified.verify_errno)
        return complain("the kernel says where the pages are; error", error ? -error : placement.verified.verify_errno);
    printf("%s: %llu units of 4 KiB present, %llu elsewhere than on node %d; numa_maps %s\n", what,
           (unsigned long long)placement.verified.pages_present, (unsigned long long)placement.verified.pages_elsewhere, node,
           !placement.verified.numa_maps_read    ? "is not there"
           : placement.verified.numa_maps_agrees ? "agrees"
                                                 : "DISAGREES");
    if (placement.verified.pages_present == 0 || placement.verified.pages_elsewhere > 0)
        complain("all pages are on their node; elsewhere", (long long)placement.verified.pages_elsewhere);
    if (!placement.verified.numa_maps_read || !placement.verified.numa_maps_agrees)
        complain("both witnesses agree; node", node);
}

int main(int argc, char **argv)
{
    char why[256] = "";
    if (argc != 3) {
        fprintf(stderr, "usage: swap_scenario NEAR FAR\n");
        return 2;
    }
    struct locus_pages_config near = {.size = sizeof near,
                                      .page_bytes = PAGE_BYTES,
                                      .pages = PAGES,
                                      .page = LOCUS_PAGE_4K,
                                      .policy = LOCUS_POLICY_BIND,
                                      .node = atoi(argv[1]),
                                      .evict = leave};
    struct locus_tier_far_config far = {
        .size = sizeof far, .bytes = 2 * OBJECTS * PAGE_BYTES, .node = atoi(argv[2]), .why = why, .why_bytes = sizeof why};
    int error = locus_pages_open(&world.pages, &near);
    if (!error)
        error = locus_tier_far_open(&world.tier, &far);
    if (error) {
        printf("nodes %s and %s: %s %s\n", argv[1], argv[2], strerror(-error), why);
        return 77;
    }
    walk();
    where("near", locus_pages_region(world.pages), near.node);
    where("far", locus_tier_region(world.tier), far.node);
    struct locus_pages_stats stats;
    struct locus_tier_stats waits;
    locus_pages_stats(world.pages, &stats);
    locus_tier_stats(world.tier, &waits);
    printf("%llu pages out, %llu pages back, %llu bytes stored, %llu loaded\n", (unsigned long long)world.pages_out,
           (unsigned long long)world.pages_in, (unsigned long long)waits.bytes_stored, (unsigned long long)waits.bytes_loaded);
    if (stats.pages_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM] != world.pages_out || world.pages_in == 0 ||
        waits.bytes_stored != world.pages_out * PAGE_BYTES || waits.bytes_loaded != world.pages_in * PAGE_BYTES)
        complain("arena, tier and program count the same pages; evicted",
                 (long long)stats.pages_evicted[LOCUS_PAGES_KV][LOCUS_EVICTED_FOR_ROOM]);
    locus_tier_close(world.tier);
    if (locus_pages_close(world.pages))
        complain("nobody pins any more", 0);
    printf("%s\n", world.failed ? "something is not so" : "every tag is as it was");
    return world.failed;
}
