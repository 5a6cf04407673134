// SPDX-License-Identifier: Apache-2.0
//
// The mallocs: one malloc per block, freed block by block on the worker, as users would. The process decides which malloc that is
// (LD_PRELOAD by the parent, checked in measure/lap_main.c), so all of them share this file and differ in one row.
//
// Settings are the defaults. By default glibc gives the top of the heap back to the kernel after every trace and faults it in
// again in the next, and jemalloc handles blocks of 4 KiB one by one; an operator would change that. So each has a variant
// NAME-tuned, with settings that made blocks freed by another thread cheaper here. The parent's environment is passed on.

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/contenders/counting.h"
#include "testbed/contenders/malloc.h"
#include "testbed/measure/driver.h"

struct malloc_context {
    struct tb_lane_counts counts;
    size_t block_bytes;
    uint64_t taken, released;
};

static int malloc_open(const struct tb_setup *setup, void **out)
{
    struct malloc_context *context = calloc(1, sizeof *context);
    if (!context)
        return -ENOMEM;
    *out = context;
    context->block_bytes = setup->block_bytes;
    return tb_lane_counts_open(&context->counts, setup->workers);
}

static void malloc_close(void *context)
{
    tb_lane_counts_close(&((struct malloc_context *)context)->counts);
    free(context);
}

static int malloc_take(void *opaque, struct locus_table *table, uint32_t count)
{
    struct malloc_context *context = opaque;
    for (uint32_t i = 0; i < count; i++) {
        void *block = malloc(context->block_bytes);
        if (!block)
            return -ENOMEM;
        table->blocks[table->count++] = (locus_block)(uintptr_t)block;
    }
    context->taken += count;
    return 0;
}

static locus_block malloc_alloc(void *opaque)
{
    struct malloc_context *context = opaque;
    context->taken++;
    return (locus_block)(uintptr_t)malloc(context->block_bytes);
}

static void malloc_release(void *context, locus_block blocks[], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free((void *)(uintptr_t)blocks[i]);
    ((struct malloc_context *)context)->released += count;
}

static void *malloc_address(void *context, locus_block block)
{
    (void)context;
    return (void *)(uintptr_t)block;
}

static int malloc_retire(void *context, struct locus_table *table)
{
    (void)context, (void)table;
    return 0;
}

static void malloc_finish(void *opaque, uint32_t worker, struct locus_table *table)
{
    struct malloc_context *context = opaque;
    for (uint32_t i = 0; i < table->count; i++)
        free((void *)(uintptr_t)table->blocks[i]);
    tb_lane_count(&context->counts, worker, table->count);
    table->count = 0;
}

static void malloc_drain(void *context)
{
    (void)context;
}

static uint64_t malloc_freed(void *context)
{
    return tb_lane_counts_blocks(&((struct malloc_context *)context)->counts);
}

// 209 is 2.0.9 and 301 is 3.0.1; later versions have two digits each for minor number and patch: 30600 is 3.6.0.
void tb_mimalloc_version(int number, char *out, size_t bytes)
{
    int base = number < 10000 ? 10 : 100;
    snprintf(out, bytes, "mimalloc %d.%d.%d", number / base / base, number / base % base, number % base);
}

// Each library has its own way to give its version; the one that answers is the one that is loaded.
void tb_malloc_version(char *out, size_t bytes)
{
    int (*mi_version)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "mi_version");
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctl");
    const char *(*tc_version)(int *, int *, const char **) =
        (const char *(*)(int *, int *, const char **))dlsym(RTLD_DEFAULT, "tc_version");
    const char *version = NULL;
    size_t version_bytes = sizeof version;
    if (mi_version)
        tb_mimalloc_version(mi_version(), out, bytes);
    else if (mallctl && mallctl("version", (void *)&version, &version_bytes, NULL, 0) == 0)
        snprintf(out, bytes, "jemalloc %.*s", (int)strcspn(version, "-"), version);
    else if (tc_version)
        snprintf(out, bytes, "%s", tc_version(&(int){0}, &(int){0}, &version));
    else if (!getenv("LD_PRELOAD"))
        snprintf(out, bytes, "glibc %s", gnu_get_libc_version());
}

static void malloc_audit(void *opaque, struct tb_audit *out)
{
    struct malloc_context *context = opaque;
    out->allocated = context->taken;
    out->freed = tb_lane_counts_blocks(&context->counts) + context->released;
    out->drained = tb_lane_counts_requests(&context->counts);
    tb_malloc_version(out->version, sizeof out->version);
}

static const struct tb_ops malloc_ops = {
    .open = malloc_open,
    .close = malloc_close,
    .take = malloc_take,
    .alloc = malloc_alloc,
    .release = malloc_release,
    .address = malloc_address,
    .retire = malloc_retire,
    .finish = malloc_finish,
    .drain = malloc_drain,
    .freed = malloc_freed,
    .audit = malloc_audit,
};
TB_DRIVER(malloc_ops);

// What all have in common; a row adds name, library and settings.
#define MALLOC .frees_on_worker = true, .is_malloc = true, .driver = &malloc_ops_driver, .nodes = &tb_malloc_nodes
#define LIST(...)                                                                                                                  \
    (const char *const[])                                                                                                          \
    {                                                                                                                              \
        __VA_ARGS__, NULL                                                                                                          \
    }

#define JEMALLOC LIST("libjemalloc.so.2", "libjemalloc.so")
#define MIMALLOC LIST("libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so")
#define TCMALLOC LIST("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so")

static const struct tb_contender glibc = {
    MALLOC,
    .name = "glibc",
    .summary = "the C library's malloc, default settings",
};
TB_CONTENDER(glibc);

static const struct tb_contender glibc_tuned = {
    MALLOC,
    .name = "glibc-tuned",
    .summary = "the C library's malloc, told to keep its heap (trim_threshold 1 GiB)",
    .environment = LIST("GLIBC_TUNABLES=glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=33554432"),
};
TB_CONTENDER(glibc_tuned);

static const struct tb_contender jemalloc = {
    MALLOC,
    .name = "jemalloc",
    .summary = "jemalloc, default settings",
    .libraries = JEMALLOC,
};
TB_CONTENDER(jemalloc);

// By default a block of 4 KiB is a slab of its own, with an extent to look up and a lock to take for each, and a thread keeps 20.
static const struct tb_contender jemalloc_tuned = {
    MALLOC,
    .name = "jemalloc-tuned",
    .summary = "jemalloc: 64 blocks of 4 KiB a slab, 1024 to 4096 in a thread's cache (blocks to 64 KiB), no decay",
    .libraries = JEMALLOC,
    .environment = LIST("MALLOC_CONF=slab_sizes:4096-4096:64,tcache_nslots_small_min:1024,tcache_nslots_small_max:4096,"
                        "lg_tcache_max:16,tcache_nslots_large:1024,dirty_decay_ms:-1,muzzy_decay_ms:-1"),
};
TB_CONTENDER(jemalloc_tuned);

static const struct tb_contender mimalloc = {
    MALLOC,
    .name = "mimalloc",
    .summary = "mimalloc, default settings: the base of all ratios",
    .libraries = MIMALLOC,
};
TB_CONTENDER(mimalloc);

// Version 2.0 decommits memory that a segment has had free for 25 ms; later ones purge it after 10 ms: hence two settings.
static const struct tb_contender mimalloc_tuned = {
    MALLOC,
    .name = "mimalloc-tuned",
    .summary = "mimalloc, giving nothing back to the kernel (allow_decommit 0, purge_delay -1), large pages",
    .libraries = MIMALLOC,
    .environment = LIST("MIMALLOC_ALLOW_DECOMMIT=0", "MIMALLOC_PURGE_DELAY=-1", "MIMALLOC_LARGE_OS_PAGES=1"),
};
TB_CONTENDER(mimalloc_tuned);

static const struct tb_contender tcmalloc = {
    MALLOC,
    .name = "tcmalloc",
    .summary = "gperftools' tcmalloc, default settings",
    .libraries = TCMALLOC,
};
TB_CONTENDER(tcmalloc);

static const struct tb_contender tcmalloc_tuned = {
    MALLOC,
    .name = "tcmalloc-tuned",
    .summary = "gperftools' tcmalloc: thread caches of 1 GiB in all, 512 blocks a transfer, nothing given back",
    .libraries = TCMALLOC,
    .environment =
        LIST("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1073741824", "TCMALLOC_TRANSFER_NUM_OBJ=512", "TCMALLOC_RELEASE_RATE=0"),
};
TB_CONTENDER(tcmalloc_tuned);

// The proxy replaces malloc; it loads libtbbmalloc, which gives its version only on stderr.
static const struct tb_contender tbbmalloc = {
    MALLOC,
    .name = "tbbmalloc",
    .summary = "oneTBB's scalable allocator, default settings",
    .libraries = LIST("libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so"),
};
TB_CONTENDER(tbbmalloc);

static const struct tb_contender malloc_by_path = {
    MALLOC,
    .name = "malloc",
    .summary = "any other library that replaces malloc; NAME=malloc:/path/lib.so names its row, and NAME may be repeated",
};
TB_CONTENDER(malloc_by_path);
