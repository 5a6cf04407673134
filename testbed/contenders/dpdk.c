// SPDX-License-Identifier: Apache-2.0
//
// dpdk-ring, dpdk-stack: DPDK's rte_mempool, with its default ring and with its stack. They are in the program only if the build
// found DPDK (libdpdk-dev); otherwise this file is empty.
//
//     owner                                           worker
//     rte_mempool_get_bulk --- its cache --- ring --- its cache --- rte_mempool_put_bulk
//
// Each registered thread has a cache of CACHE_BLOCKS, the most that DPDK allows. Blocks in a worker's cache are free but out of
// the owner's reach, so the pool is larger by the capacity of these caches.
//
// Objects are as rte_mempool lays them out: a header of 64 bytes before each, so blocks of 4 KiB are 4160 bytes apart and aligned
// to a cache line, not to a page (its interface knows no other layout). That suits a touch of one byte: see locus-coloured. They
// are in a region mapped and populated like that of `locus`; ring and caches are in ordinary pages, since EAL runs without huge
// ones. No generations are checked and no free is refused. A double free shows at rest, when all blocks are counted.
//
// EAL is started once in a process, without PCI, telemetry and shared files, as one lcore on the first CPU allowed. It pins the
// thread that starts it; we undo that, because the testbed pins. It takes a tenth of a second to measure the TSC, and leaves an
// empty folder dpdk/rte in the run directory.
//
// `locus` only lists contenders, so it gets this file without their code: DPDK's archives are linked into locus-lap alone.

#ifdef TB_DPDK // the Makefile found it

#ifdef TB_DPDK_NAMES

#include "testbed/measure/driver.h"

static const struct tb_driver ring_ops_driver = {0}, stack_ops_driver = {0};

#else

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/lane.h"
#include "locus/region.h"
#include "testbed/contenders/counting.h"
#include "testbed/measure/driver.h"
#include "topo/pin.h"

#define CACHE_BLOCKS ((uint32_t)RTE_MEMPOOL_CACHE_MAX_SIZE)
#define CACHE_BLOCKS_MOST (CACHE_BLOCKS * 3 / 2) // a cache is flushed only when it would hold more
#define MEGABYTES_BASE 64u                       // what EAL takes by default without huge pages
#define SPINS_PER_YIELD 64u                      // arbitrary, as in shared.c
#define WAIT_NS 2000000000u                      // a live worker needs microseconds

struct dpdk_context {
    struct tb_lane_counts counts;
    struct rte_mempool *pool;
    struct locus_region *region;
    uint32_t blocks;            // in the pool, with those for the workers' caches
    uint64_t taken, released, retired, waits;
};

// --- EAL -----------------------------------------------------------------------------------------------------------------------

static pthread_key_t registered; // when a thread ends, its number and cache go to the next one

static void thread_leave(void *value)
{
    (void)value;
    rte_thread_unregister();
}

static void thread_join(void)
{
    if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0)
        pthread_setspecific(registered, &registered);
}

static int eal_start_pinned(uint32_t megabytes)
{
    char lcores[32], memory[16];
    unsigned cpu = 0, count = 0;
    int error = locus_pin_allowed(&cpu, 1, &count);
    if (error || count == 0)
        return error ? error : -ENODEV;
    snprintf(lcores, sizeof lcores, "--lcores=0@%u", cpu);
    snprintf(memory, sizeof memory, "%u", megabytes);
    char *words[] = {"locus",         "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf",
                     "--log-level=1", lcores,      "-m",       memory,           NULL};
    return rte_eal_init(sizeof words / sizeof *words - 1, words) < 0 ? -rte_errno : -pthread_key_create(&registered, thread_leave);
}

static int eal_start(uint32_t megabytes)
{
    static bool started;
    cpu_set_t before;
    if (started) { // perhaps by another thread, which may have ended
        thread_join();
        return 0;
    }
    if (sched_getaffinity(0, sizeof before, &before))
        return -errno;
    int error = eal_start_pinned(megabytes);
    if (sched_setaffinity(0, sizeof before, &before) && !error)
        error = -errno;
    started = !error;
    return error;
}

// --- the contender -------------------------------------------------------------------------------------------------------------

static void dpdk_close(void *opaque)
{
    struct dpdk_context *context = opaque;
    rte_mempool_free(context->pool);
    locus_region_close(context->region);
    tb_lane_counts_close(&context->counts);
    free(context);
}

// Only a device would need physical addresses: hence NO_IOVA_CONTIG, and none.
static int pool_open(struct dpdk_context *context, size_t block_bytes, const char *ops)
{
    static unsigned number;
    char name[RTE_MEMPOOL_NAMESIZE];
    uint32_t cache = context->blocks * 2 / 3 < CACHE_BLOCKS ? context->blocks * 2 / 3 : CACHE_BLOCKS;
    snprintf(name, sizeof name, "locus%u", number++);
    context->pool = rte_mempool_create_empty(name, context->blocks, (unsigned)block_bytes, cache, 0, SOCKET_ID_ANY,
                                             RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (!context->pool)
        return -rte_errno;
    const struct rte_mempool *pool = context->pool;
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = (size_t)context->blocks * (pool->header_size + pool->elt_size + pool->trailer_size) + RTE_CACHE_LINE_SIZE,
        .page = LOCUS_PAGE_THP,
        .policy = LOCUS_POLICY_FIRST_TOUCH,
        .node = LOCUS_NODE_ANY,
        .populate = true,
    };
    int error = rte_mempool_set_ops_byname(context->pool, ops, NULL);
    if (!error)
        error = locus_region_open(&context->region, &region);
    if (error)
        return error;
    int populated = rte_mempool_populate_iova(context->pool, locus_region_base(context->region), RTE_BAD_IOVA,
                                              locus_region_bytes(context->region), NULL, NULL);
    return populated < 0 ? populated : (uint32_t)populated == context->blocks ? 0 : -ENOMEM;
}

static int dpdk_open(const struct tb_setup *setup, void **out, const char *ops)
{
    struct dpdk_context *context = calloc(1, sizeof *context);
    if (!context)
        return -ENOMEM;
    *out = context;
    context->blocks = setup->pool_blocks + setup->workers * CACHE_BLOCKS_MOST;
    int error = eal_start(MEGABYTES_BASE + (uint32_t)((uint64_t)context->blocks * 4 * sizeof(void *) >> 20)); // twice a ring
    if (!error)
        error = tb_lane_counts_open(&context->counts, setup->workers);
    return error ? error : pool_open(context, setup->block_bytes, ops);
}

static int ring_open(const struct tb_setup *setup, void **out)
{
    return dpdk_open(setup, out, "ring_mp_mc");
}

static int stack_open(const struct tb_setup *setup, void **out)
{
    return dpdk_open(setup, out, "stack");
}

// -ENOMEM: too few, and nothing is on its way; -ETIMEDOUT after two seconds.
static __attribute__((cold, noinline)) int take_wait(struct dpdk_context *context, void *blocks[], uint32_t count)
{
    uint64_t start_ns = tb_now_ns();
    context->waits++;
    for (uint32_t tries = 1;; tries++) {
        bool all_home = tb_lane_counts_blocks(&context->counts) == context->retired;
        if (rte_mempool_get_bulk(context->pool, blocks, count) == 0)
            return 0;
        if (all_home)
            return -ENOMEM;
        if (tries % SPINS_PER_YIELD) {
            locus_cpu_relax();
            continue;
        }
        if (tb_now_ns() - start_ns > WAIT_NS)
            return -ETIMEDOUT;
        sched_yield();
    }
}

// A handle is the pointer, so the table is the array that rte_mempool fills.
_Static_assert(sizeof(locus_block) == sizeof(void *), "rte_mempool writes pointers into the table");

static int dpdk_take(void *opaque, struct locus_table *table, uint32_t count)
{
    struct dpdk_context *context = opaque;
    void **blocks = (void **)(void *)&table->blocks[table->count];
    if (__builtin_expect(rte_mempool_get_bulk(context->pool, blocks, count) != 0, 0)) {
        int error = take_wait(context, blocks, count);
        if (error)
            return error;
    }
    table->count += count;
    context->taken += count;
    return 0;
}

static locus_block dpdk_alloc(void *opaque)
{
    struct dpdk_context *context = opaque;
    void *block = NULL;
    if (rte_mempool_get(context->pool, &block) == 0)
        context->taken++;
    return (locus_block)(uintptr_t)block;
}

static void dpdk_release(void *opaque, locus_block blocks[], uint32_t count)
{
    struct dpdk_context *context = opaque;
    rte_mempool_put_bulk(context->pool, (void **)(void *)blocks, count);
    context->released += count;
}

static void *dpdk_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int dpdk_retire(void *context, struct locus_table *table)
{
    ((struct dpdk_context *)context)->retired += table->count;
    return 0;
}

static void dpdk_finish(void *opaque, uint32_t worker, struct locus_table *table)
{
    struct dpdk_context *context = opaque;
    thread_join();
    rte_mempool_put_bulk(context->pool, (void **)(void *)table->blocks, table->count);
    tb_lane_count(&context->counts, worker, table->count);
    table->count = 0;
}

static void dpdk_drain(void *context)
{
    (void)context;
}

static uint64_t dpdk_freed(void *context)
{
    return tb_lane_counts_blocks(&((struct dpdk_context *)context)->counts);
}

static int compare_pointers(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t) * (void *const *)left, b = (uintptr_t) * (void *const *)right;
    return (a > b) - (a < b);
}

// Counts the distinct blocks in the pool, including its caches. Only at rest. 0: out of memory.
static uint32_t blocks_home(struct dpdk_context *context)
{
    uint32_t home = 0, got = 0;
    void **blocks = calloc(context->blocks, sizeof *blocks);
    for (unsigned lcore = 0; blocks && context->pool->cache_size && lcore < RTE_MAX_LCORE; lcore++)
        rte_mempool_cache_flush(rte_mempool_default_cache(context->pool, lcore), context->pool);
    while (blocks && got < context->blocks && rte_mempool_ops_dequeue_bulk(context->pool, &blocks[got], 1) == 0)
        got++;
    if (blocks)
        qsort(blocks, got, sizeof *blocks, compare_pointers);
    for (uint32_t i = 0; i < got; i++)
        home += i == 0 || blocks[i] != blocks[i - 1];
    if (got)
        rte_mempool_ops_enqueue_bulk(context->pool, blocks, got);
    free(blocks);
    return home;
}

static void dpdk_audit(void *opaque, struct tb_audit *out)
{
    struct dpdk_context *context = opaque;
    out->allocated = context->taken;
    out->freed = tb_lane_counts_blocks(&context->counts) + context->released;
    out->drained = tb_lane_counts_requests(&context->counts);
    out->not_home = context->blocks - blocks_home(context);
    out->waits = context->waits;
    snprintf(out->version, sizeof out->version, "%s", rte_version());
}

#define DPDK_OPS(name, open_pool)                                                                                                  \
    static const struct tb_ops name = {                                                                                            \
        .open = open_pool,                                                                                                         \
        .close = dpdk_close,                                                                                                       \
        .take = dpdk_take,                                                                                                         \
        .alloc = dpdk_alloc,                                                                                                       \
        .release = dpdk_release,                                                                                                   \
        .address = dpdk_address,                                                                                                   \
        .retire = dpdk_retire,                                                                                                     \
        .finish = dpdk_finish,                                                                                                     \
        .drain = dpdk_drain,                                                                                                       \
        .freed = dpdk_freed,                                                                                                       \
        .audit = dpdk_audit,                                                                                                       \
    };                                                                                                                             \
    TB_DRIVER(name)
DPDK_OPS(ring_ops, ring_open);
DPDK_OPS(stack_ops, stack_open);

#endif

static const struct tb_contender ring_contender = {
    .name = "dpdk-ring",
    .summary = "DPDK's rte_mempool with its defaults: a ring, 512 blocks cached per thread; blocks 64-byte aligned",
    .frees_on_worker = true,
    .alone = true, // EAL gets its memory once, for one pool
    .driver = &ring_ops_driver,
};
TB_CONTENDER(ring_contender);

static const struct tb_contender stack_contender = {
    .name = "dpdk-stack",
    .summary = "the same with rte_mempool's stack instead of the ring",
    .frees_on_worker = true,
    .alone = true,
    .driver = &stack_ops_driver,
};
TB_CONTENDER(stack_contender);

#endif
