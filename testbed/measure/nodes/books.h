// SPDX-License-Identifier: Apache-2.0
//
// books (many nodes): what one thread of a run did from which node to which, in the laps that are counted. Nothing here is called
// in laps that are timed.
//
// The page is asked for right after the write, and before the free (tb_locality_look): so the node of every touch is the one on
// which it was made, also for a malloc that returns pages to the kernel between two steps.
#ifndef TB_NODES_BOOKS_H
#define TB_NODES_BOOKS_H

#include "testbed/measure/locality/locality.h"
#include "testbed/measure/nodes/ops.h"

struct tb_books {
    struct tb_locality *locality;
    const struct tb_nodes_ops *ops;
    void *context;
    size_t block_bytes;
    int error;                  // the first that move_pages answered
};

// 0 or -errno, and close may follow in either case.
int tb_books_open(struct tb_books *books, const struct tb_locality_config *config, const struct tb_nodes_ops *ops, void *context,
                  size_t block_bytes);
void tb_books_close(struct tb_books *books);

// The thread got and wrote the table's blocks from `first` on.
void tb_books_written(struct tb_books *books, const struct locus_table *table, uint32_t first);

// The thread, a worker of `station`, is about to finish this table.
void tb_books_finishing(struct tb_books *books, uint32_t station, const struct locus_table *table);

void tb_books_step(struct tb_books *books); // a stretch of the drift curve ends

// Adds up the books of all threads, which are at rest, into the sample's counts and points. -EINVAL: nodes that the sample lacks.
int tb_books_sum(struct tb_books *const books[], uint32_t count, struct tb_nodes_sample *out);

#endif
