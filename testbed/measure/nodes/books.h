// SPDX-License-Identifier: Apache-2.0
//
// books (many nodes): what one thread of a run did from node to node in the counted laps. Timed laps call nothing here.
//
// The page is located right after the write, and before the free (tb_locality_look). So every touch counts on the node where it
// was made, even if a malloc returns pages to the kernel between two steps.
#ifndef TB_NODES_BOOKS_H
#define TB_NODES_BOOKS_H

#include "testbed/measure/locality/locality.h"
#include "testbed/measure/nodes/ops.h"

struct tb_books {
    struct tb_locality *locality;
    const struct tb_nodes_ops *ops;
    void *context;
    size_t block_bytes;
    int error;                  // the first error of move_pages
};

// 0 or -errno; close it in either case.
int tb_books_open(struct tb_books *books, const struct tb_locality_config *config, const struct tb_nodes_ops *ops, void *context,
                  size_t block_bytes);
void tb_books_close(struct tb_books *books);

// The thread has taken and written the table's blocks from `first` on.
void tb_books_written(struct tb_books *books, const struct locus_table *table, uint32_t first);

// Touch `decode`: it has taken blocks, and has written or read so many bytes of K and V. A page is located after it is written.
void tb_books_taken(struct tb_books *books, const struct locus_table *table, uint32_t first);
void tb_books_bytes(struct tb_books *books, bool written, void *at, size_t bytes);

// The thread, a worker of `station`, is about to finish this table.
void tb_books_finishing(struct tb_books *books, uint32_t station, const struct locus_table *table);

void tb_books_step(struct tb_books *books); // a stretch of the drift curve ends

// Adds the books of all threads, which are at rest, to the sample's counts and points. -EINVAL: nodes that the sample lacks.
int tb_books_sum(struct tb_books *const books[], uint32_t count, struct tb_nodes_sample *out);

#endif
