// SPDX-License-Identifier: Apache-2.0
//
// locus with one thing about its pool changed, and nothing else (library.h):
//
//     locus-coloured      a cache line between two blocks, so that first bytes do not all fall into the same cache set
//     locus-fetch         a take asks the caches for the block that leaves four takes later
//     locus-fifo          the block that came home first leaves first: cold (the paper's experiment 0358)
//     locus-heap          a page-aligned block of malloc each, instead of one mapped region (0359)
//     locus-4k            base pages, and the kernel is told not to join them
//     locus-2m            huge pages from the host's reserved pool: granted at open, or not at all
//     locus-unpopulated   a page is faulted in by the lap that first touches it
//
// The first laps pay for the faults of locus-unpopulated; they are warm-up laps and not timed (engine.h). Timed laps pay only for
// blocks that no earlier lap used. So it shows what remains of the price of not populating, which is little unless each lap uses
// few and new blocks. Touch mode none faults nothing in.

#include <errno.h>
#include <stdio.h>

#include "testbed/contenders/library.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define HUGE_FOLDER "/sys/kernel/mm/hugepages/hugepages-2048kB/"

static int fetch_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.fetch_ahead = true;
    return tb_library_open(setup, &pool, false, out);
}

static int fifo_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.reuse = LOCUS_REUSE_FIFO;
    return tb_library_open(setup, &pool, false, out);
}

static int heap_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.backing = LOCUS_BACKING_HEAP;
    return tb_library_open(setup, &pool, false, out);
}

static int small_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.page = LOCUS_PAGE_4K;
    return tb_library_open(setup, &pool, false, out);
}

static int unpopulated_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.populate = false;
    return tb_library_open(setup, &pool, false, out);
}

// 0 if it cannot be read: a kernel without huge pages has none.
static unsigned long huge_pages(const char *path)
{
    unsigned long count = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu", &count) != 1)
        count = 0;
    fclose(file);
    return count;
}

// Silent if there are enough: then memory was short for another reason.
static void say_what_huge_pages_are_missing(const struct tb_setup *setup)
{
    unsigned long needed = (setup->block_bytes * setup->pool_blocks + HUGE_BYTES - 1) / HUGE_BYTES;
    unsigned long available = huge_pages(HUGE_FOLDER "free_hugepages");
    unsigned long reserved = huge_pages(HUGE_FOLDER "nr_hugepages");
    if (setup->why && available < needed)
        snprintf(setup->why, setup->why_bytes,
                 "needs %lu reserved huge pages of 2 MiB, %lu are free: sudo sysctl vm.nr_hugepages=%lu", needed, available,
                 reserved - available + needed);
}

static int huge_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    pool.page = LOCUS_PAGE_2M;
    int error = tb_library_open(setup, &pool, false, out);
    if (error == -ENOMEM)
        say_what_huge_pages_are_missing(setup);
    return error;
}

TB_LIBRARY_OPS(coloured_ops, tb_library_open_coloured, tb_library_take, NULL);
TB_LIBRARY_OPS(fetch_ops, fetch_open, tb_library_take, NULL);
TB_LIBRARY_OPS(fifo_ops, fifo_open, tb_library_take, NULL);
TB_LIBRARY_OPS_OF(heap_ops, heap_open, tb_library_take, NULL, NULL, tb_library_freed, tb_library_audit);
TB_LIBRARY_OPS(small_ops, small_open, tb_library_take, NULL);
TB_LIBRARY_OPS(huge_ops, huge_open, tb_library_take, NULL);
TB_LIBRARY_OPS(unpopulated_ops, unpopulated_open, tb_library_take, NULL);

static const struct tb_contender coloured = {
    .name = "locus-coloured",
    .summary = "locus with a cache line between blocks: good for a touch of one byte, worse for whole blocks",
    .driver = &coloured_ops_driver,
};
TB_CONTENDER(coloured);

static const struct tb_contender fetch = {
    .name = "locus-fetch",
    .summary = "locus that fetches ahead: for processors that do not overlap first writes",
    .driver = &fetch_ops_driver,
};
TB_CONTENDER(fetch);

static const struct tb_contender fifo = {
    .name = "locus-fifo",
    .summary = "locus whose blocks leave in the order in which they came home: cold",
    .driver = &fifo_ops_driver,
};
TB_CONTENDER(fifo);

static const struct tb_contender heap = {
    .name = "locus-heap",
    .summary = "locus on one malloc'd block each instead of one mapped region",
    .on_demand = true,
    .driver = &heap_ops_driver,
};
TB_CONTENDER(heap);

static const struct tb_contender small = {
    .name = "locus-4k",
    .summary = "locus on pages of 4 KiB",
    .driver = &small_ops_driver,
};
TB_CONTENDER(small);

static const struct tb_contender huge = {
    .name = "locus-2m",
    .summary = "locus on reserved huge pages of 2 MiB (vm.nr_hugepages)",
    .driver = &huge_ops_driver,
};
TB_CONTENDER(huge);

static const struct tb_contender unpopulated = {
    .name = "locus-unpopulated",
    .summary = "locus with pages faulted in by the first touch; the warm-up laps pay for most of it",
    .on_demand = true,
    .driver = &unpopulated_ops_driver,
};
TB_CONTENDER(unpopulated);
