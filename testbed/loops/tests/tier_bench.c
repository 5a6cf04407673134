// SPDX-License-Identifier: Apache-2.0
//
// tier_bench: what a tier takes beside what it cannot do without. Started by `make bench-tier`.
//
//   tier_bench memory [ROUNDS [NODE]]   objects to memory of a node and back, in paired rounds against memcpy between the same
//                                       places; the node of the thread if none is named
//   tier_bench file PATH OBJECTS OBJECT_BYTES DEPTH [2m]
//                                       stores all objects in a new or a known file, and loads them, from and to base pages or
//                                       (2m) reserved huge ones; for bench/tier.sh, which lets fio do the same in the same file
//
// Ratios are memcpy's time over ours, the median of the rounds' with the sign test's interval. "checked" computes checksums. int8
// is compared by bytes moved: it reads a number's 2 bytes and writes 1 and its share of a scale, or the reverse. CPU time is that
// of the calling thread, as fio counts it: what the kernel's workers take is in neither. Exit status: 0 all goals are met, 1 one is
// not shown, 2 cannot measure.

#include "testbed/stats/tests/contest.h"

#include "locus/int8.h"
#include "locus/tier.h"
#include "locus/tier_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define UNIT_BYTES (256u << 10)

// --- memory --------------------------------------------------------------------------------------------------------------------

#define OBJECT (48u << 20) // larger than the caches that one core can use
#define GOAL_COPY 0.95
#define GOAL_INT8 0.85

static struct {
    char *near;
    char *far; // memcpy's place, in a region of the same kind
    struct locus_region *region;
    struct locus_tier *tier;
    uint64_t copied; // by memcpy
    uint32_t key;
} world;

static void copied(struct locus_tier_op *op, int result)
{
    (void)op;
    if (result)
        contest_fail("operation", -result);
}

static double store_ns(void *context)
{
    (void)context;
    struct locus_tier_op op = {.done = copied};
    double begin = contest_now_ns();
    CONTEST_NEED(-locus_tier_store(world.tier, locus_id_of(world.key ^= 1), world.near, OBJECT, &op));
    return contest_now_ns() - begin;
}

static double load_ns(void *context)
{
    (void)context;
    struct locus_tier_op op = {.done = copied};
    double begin = contest_now_ns();
    CONTEST_NEED(-locus_tier_load(world.tier, locus_id_of(world.key ^= 1), world.near, OBJECT, &op));
    return contest_now_ns() - begin;
}

static double copy_in_ns(void *context)
{
    (void)context;
    double begin = contest_now_ns();
    memcpy(world.far, world.near, world.copied);
    __asm__ volatile("" ::"r"(world.far) : "memory");
    return contest_now_ns() - begin;
}

static double copy_out_ns(void *context)
{
    (void)context;
    double begin = contest_now_ns();
    memcpy(world.near, world.far, world.copied);
    __asm__ volatile("" ::"r"(world.near) : "memory");
    return contest_now_ns() - begin;
}

static bool contest_of(const char *title, double (*ours)(void *), double (*memcpys)(void *), double goal, uint32_t rounds)
{
    const struct contest contest = {.title = title,
                                    .arms = {{.name = "tier", .measure = ours},
                                             {.name = "memcpy", .measure = memcpys, .goal = CONTEST_RATIO_AT_LEAST, .bound = goal}},
                                    .arms_count = 2,
                                    .rounds = rounds};
    return contest_run(&contest);
}

// Two objects, so that none is replaced beside another; numbers that int8 can hold.
static void world_open(int (*open)(struct locus_tier **, const struct locus_tier_far_config *), int node, bool unchecked)
{
    struct locus_tier_far_config config = {
        .size = sizeof config, .bytes = 3 * (uint64_t)OBJECT, .unit_bytes = UNIT_BYTES, .node = node, .unchecked = unchecked};
    struct locus_tier_op op = {.done = copied};
    CONTEST_NEED(-open(&world.tier, &config));
    for (size_t i = 0; i < OBJECT / sizeof(uint16_t); i++)
        ((uint16_t *)world.near)[i] = (uint16_t)(i * 2654435761u >> 7) & 0x3bff;
    for (uint64_t key = 0; key < 2; key++)
        CONTEST_NEED(-locus_tier_store(world.tier, locus_id_of(key), world.near, OBJECT, &op));
}

static bool memory_contests(uint32_t rounds, int node)
{
    bool met = true;
    const struct locus_region_config region = {.size = sizeof region,
                                               .bytes = OBJECT,
                                               .policy = node == LOCUS_NODE_ANY ? LOCUS_POLICY_FIRST_TOUCH : LOCUS_POLICY_BIND,
                                               .node = node,
                                               .populate = true};
    world.near = aligned_alloc(4096, OBJECT);
    if (!world.near)
        contest_fail("memory", ENOMEM);
    CONTEST_NEED(-locus_region_open(&world.region, &region));
    world.far = locus_region_base(world.region);
    world.copied = OBJECT;
    for (int unchecked = 1; unchecked >= 0; unchecked--) {
        world_open(locus_tier_far_open, node, unchecked);
        met &= contest_of(unchecked ? "store" : "store, checked", store_ns, copy_in_ns, GOAL_COPY, rounds);
        met &= contest_of(unchecked ? "load" : "load, checked", load_ns, copy_out_ns, GOAL_COPY, rounds);
        locus_tier_close(world.tier);
    }
    world.copied = (OBJECT + locus_int8_bytes(OBJECT / sizeof(uint16_t))) / 2; // memcpy moves each of its bytes twice, too
    world_open(locus_tier_int8_open, node, true);
    met &= contest_of("store as int8, by bytes moved", store_ns, copy_in_ns, GOAL_INT8, rounds);
    world_open(locus_tier_int8_open, node, true);
    met &= contest_of("load from int8, by bytes moved", load_ns, copy_out_ns, GOAL_INT8, rounds);
    locus_tier_close(world.tier);
    locus_region_close(world.region);
    free(world.near);
    return met;
}

// --- a file --------------------------------------------------------------------------------------------------------------------

// More operations than the depth, so that one waits when one ends: as many are under way as with fio.
#define MORE_OPS 8u
#define OPS_MAX (LOCUS_TIER_DEPTH_MAX + MORE_OPS)

struct file_op {
    struct locus_tier_op op; // first
    char *bytes;
};

static struct {
    struct locus_tier *tier;
    struct file_op ops[OPS_MAX], *idle[OPS_MAX];
    uint32_t idle_count, ops_count;
    uint64_t object_bytes;
} bench;

static void ended(struct locus_tier_op *op, int result)
{
    if (result)
        contest_fail("operation", -result);
    bench.idle[bench.idle_count++] = (struct file_op *)op;
}

static int store_begin(uint64_t key, struct file_op *own)
{
    memcpy(own->bytes, &key, sizeof key);
    return locus_tier_store(bench.tier, locus_id_of(key), own->bytes, bench.object_bytes, &own->op);
}

static int load_begin(uint64_t key, struct file_op *own)
{
    return locus_tier_load(bench.tier, locus_id_of(key), own->bytes, bench.object_bytes, &own->op);
}

static int drop_begin(uint64_t key, struct file_op *own)
{
    int error = locus_tier_drop(bench.tier, locus_id_of(key), &own->op);
    if (error == -ENOENT) // fio has written over the last one, which open looks at
        bench.idle[bench.idle_count++] = own;
    return error == -ENOENT ? 0 : error;
}

static double cpu_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return 1e9 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// One operation of each object. Prints bytes a second and ns of CPU time a byte.
static void pass(const char *name, uint64_t objects, int (*begin)(uint64_t, struct file_op *))
{
    double at_ns = contest_now_ns(), at_cpu_ns = cpu_ns();
    for (uint64_t key = 0; key < objects || bench.idle_count < bench.ops_count;) {
        for (; key < objects && bench.idle_count; key++)
            CONTEST_NEED(-begin(key, bench.idle[--bench.idle_count]));
        locus_tier_poll(bench.tier, 1000000000);
    }
    double bytes = (double)objects * (double)bench.object_bytes;
    if (name)
        printf("%s %.0f %.4f\n", name, 1e9 * bytes / (contest_now_ns() - at_ns), (cpu_ns() - at_cpu_ns) / bytes);
}

static int file_passes(const char *path, uint64_t objects, uint64_t object_bytes, uint32_t depth, enum locus_page page)
{
    char why[300];
    uint32_t ops = depth + MORE_OPS;
    struct locus_region *region;
    struct locus_tier_file_granted granted;
    const struct locus_region_config place = {.size = sizeof place,
                                              .bytes = ops * object_bytes,
                                              .page = page,
                                              .policy = LOCUS_POLICY_FIRST_TOUCH};
    if (object_bytes % 4096 || depth == 0 || depth > LOCUS_TIER_DEPTH_MAX)
        contest_fail("size or depth", EINVAL);
    CONTEST_NEED(-locus_region_open(&region, &place));
    char *memory = locus_region_base(region);
    memset(memory, 0x5a, ops * object_bytes);
    struct locus_tier_file_config config = {.size = sizeof config,
                                            .path = path,
                                            .bytes = objects * (object_bytes + object_bytes / UNIT_BYTES * 4096) + 2 * UNIT_BYTES,
                                            .unit_bytes = UNIT_BYTES,
                                            .depth = depth,
                                            .memory = memory,
                                            .memory_bytes = ops * object_bytes,
                                            .why = why,
                                            .why_bytes = sizeof why};
    int error = locus_tier_file_open(&bench.tier, &config);
    if (error)
        contest_fail(why, -error);
    locus_tier_file_granted(bench.tier, &granted);
    printf("granted direct %d, io_uring %d, registered memory %d\n", granted.direct, granted.io_uring, granted.registered_memory);
    bench.ops_count = bench.idle_count = ops;
    bench.object_bytes = object_bytes;
    for (uint32_t i = 0; i < ops; i++) {
        bench.ops[i] = (struct file_op){{.done = ended}, memory + i * object_bytes};
        bench.idle[i] = &bench.ops[i];
    }
    if (!granted.made)
        pass(NULL, objects, drop_begin);
    pass("store", objects, store_begin);
    pass("load", objects, load_begin);
    locus_tier_close(bench.tier);
    locus_region_close(region);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && argc <= 4 && strcmp(argv[1], "memory") == 0)
        return !memory_contests(argc > 2 ? (uint32_t)atoi(argv[2]) : 60, argc > 3 ? atoi(argv[3]) : LOCUS_NODE_ANY);
    if ((argc == 6 || (argc == 7 && strcmp(argv[6], "2m") == 0)) && strcmp(argv[1], "file") == 0)
        return file_passes(argv[2], strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0), (uint32_t)atoi(argv[5]),
                           argc == 7 ? LOCUS_PAGE_2M : LOCUS_PAGE_4K);
    fputs("usage: tier_bench memory [ROUNDS [NODE]] | file PATH OBJECTS OBJECT_BYTES DEPTH [2m]\n", stderr);
    return 2;
}
