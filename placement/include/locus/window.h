// SPDX-License-Identifier: Apache-2.0
//
// window: scattered blocks, one behind the other in a range of addresses, by the page table. For attention that nobody will
// rewrite and that wants a sequence's K and V as one array (PyTorch's SDPA), while memory still comes and goes by blocks, is shared
// by blocks, and stays on its node.
//
// A window has rows, one for each sequence of a batch. A row shows the blocks of one table in their order, without a copy: its
// pages are the pool's. So growth costs a mapping, and a fork shares its pages. All rows have one stride, so a batch is one array.
//
//     pool        | 0 | 1 | 2 | 3 | 4 | 5 | ...          base
//     row 0       | 4 | 1 | 3 |   .   .   |              + 0          tables {4, 1, 3} and {4, 5}: block 4 is in both
//     row 1       | 4 | 5 |   .   .   .   |              + row_bytes
//
// Planes. A block may have its tokens in `planes` equal parts (locus_owner_write() has the same number): one for K and V of each
// head of each layer, say. Then a row has the first planes of all its blocks one behind the other, plane_bytes later the second
// ones, and so on. So token t of plane p of row r is at
//
//     base + r * row_bytes + p * plane_bytes + t * (block_bytes / planes / tokens_per_block)
//
// Kernels read a head's tokens one behind the other, and a strided view costs them up to a quarter of their pace. So give each head
// a plane. A plane of a block is whole pages of the pool: with 4 KiB pages, 16 tokens of 64 floats.
//
// Which memory. The pool is opened with `windows`, and is a file in memory then (region.h). The pages' policy is the file's, so a
// window cannot place any elsewhere; all are there before it shows them. Huge pages: LOCUS_PAGE_THP makes them where
// /sys/kernel/mm/transparent_hugepage/shmem_enabled says advise or always, which is rare, and a plane may be a part of one.
// Reserved ones (LOCUS_PAGE_2M, 1G) are refused, as the kernel maps them only once. A pool of the caller's memory will do if that
// is a shared mapping of ordinary pages.
//
// What a row shows is what its table had when it was last shown. So show it again after each grow, write, truncate or drop, and
// before anybody else may get the blocks: until then the row shows memory that may be another request's. Places without a block are
// holes; to touch one is SIGSEGV.
//
// Copy on write is the owner's. A store through a row goes to the block, and is seen by all who hold it. Call locus_owner_write()
// before tokens are written: it gives the table blocks of its own, and a show replaces what has changed.
//
// How many. A block in a row takes `planes` mappings of the process, of which Linux allows vm.max_map_count, 65,530 as it comes.
// Nothing works when these are used up: no thread starts, malloc fails. So show refuses, and changes nothing, where the windows of
// the process would have more than seven eighths of them. Larger blocks, or fewer planes, take fewer.
//
// Cost. A mapping takes some microseconds, and a fraction of one for each page; to unmap costs about the same, and interrupts the
// CPUs on which threads of the process run. `make bench-windows` shows it beside copies: of 64 KiB a mapping costs two, of 2 MiB
// less than one. Attention needs a copy in each step, and a mapping once in as many steps as a block has tokens. So windows do not
// pay where a block is read once or twice; nor with planes of single pages that hold a few tokens: each costs a mapping.
//
// fork(). A child inherits neither the pool nor what windows show; it must not use them, and has nothing to close.
//
// Threads: a window belongs to one thread at a time. Of the pool it reads only what never changes, so that need not be the owner;
// but the table must be the caller's (table.h). While a row is shown anew, others may use what did not change in it.
#ifndef LOCUS_WINDOW_H
#define LOCUS_WINDOW_H

#include "pool.h"
#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_window;

struct locus_window_config {
    size_t size;                // sizeof this struct (version.h)
    const struct locus_pool *pool; // opened with `windows`, or of the caller's shared memory; must outlive every show
    uint32_t rows;              // 0: 1
    uint32_t planes;            // 0: 1
    uint32_t blocks;            // that a row has room for
};

// Reserves the addresses, which costs no memory.
// 0; -EINVAL: no pool or no blocks; planes do not divide a block, or one is not whole pages; the pool's memory cannot be mapped a
// second time; -ENOMEM: no address space, or no memory for 4 bytes a block of a row; -E2BIG (version.h); -ENOSYS, -EPERM: mremap is
// forbidden here (seccomp).
int locus_window_open(struct locus_window **out, const struct locus_window_config *config);

// One sentence on why open or show returned `error`, as locus_pool_why(). Any thread.
void locus_window_why(const struct locus_window_config *config, int error, char *why, size_t why_bytes);

// Before or after the close of the pool, whose memory stays as long as a window shows it. NULL is allowed.
void locus_window_close(struct locus_window *window);

void *locus_window_base(const struct locus_window *window);
size_t locus_window_row_bytes(const struct locus_window *window);   // from a row to the next one
size_t locus_window_plane_bytes(const struct locus_window *window); // from a plane to the next one of the row

// Row `row` shows the table's blocks from now on; NULL: none. Only what differs from before is mapped and unmapped.
// 0, or nothing has changed:
// -ENOSPC   the row has no room for so many blocks
// -EXDEV    a block of another home, or that the pool does not have
// -EMLINK   too many mappings: see above
// -EINVAL   there is no such row
// or -ENOMEM: the kernel refused a mapping. Then the row shows some of the blocks, and holes in the places of the others.
int locus_window_show(struct locus_window *window, uint32_t row, const struct locus_table *table);

struct locus_window_stats {
    uint64_t mapped, unmapped;  // blocks, since open; one that takes another's place counts as mapped
    uint64_t mappings;          // of the process, for this window now; neighbours that the kernel joined count as two
    uint64_t mappings_all;      // for all windows of the process
    uint64_t mappings_max;      // that all may have; UINT64_MAX: the limit cannot be read
};

void locus_window_stats(const struct locus_window *window, struct locus_window_stats *out);

#ifdef __cplusplus
}
#endif

#endif
