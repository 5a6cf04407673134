// SPDX-License-Identifier: Apache-2.0
//
// books (many nodes): see books.h.

#include "testbed/measure/nodes/books.h"

#include <errno.h>

#define BATCH 64u // blocks located per call

int tb_books_open(struct tb_books *books, const struct tb_locality_config *config, const struct tb_nodes_ops *ops, void *context,
                  size_t block_bytes)
{
    *books = (struct tb_books){.ops = ops, .context = context, .block_bytes = block_bytes};
    return tb_locality_open(&books->locality, config);
}

void tb_books_close(struct tb_books *books)
{
    tb_locality_close(books->locality);
    books->locality = NULL;
}

// Locates up to BATCH blocks from `first` on, so that the map knows their nodes; returns their addresses.
static uint32_t look(struct tb_books *books, const struct locus_table *table, uint32_t first, void *addresses[])
{
    uint32_t count = 0;
    for (; count < BATCH && first + count < table->count; count++)
        addresses[count] = books->ops->address(books->context, table->blocks[first + count]);
    int error = tb_locality_look(books->locality, count, addresses, books->block_bytes);
    books->error = books->error ? books->error : error;
    return count;
}

void tb_books_written(struct tb_books *books, const struct locus_table *table, uint32_t first)
{
    void *addresses[BATCH];
    for (uint32_t count; first < table->count; first += count) {
        count = look(books, table, first, addresses);
        for (uint32_t i = 0; i < count; i++) {
            tb_locality_note_alloc(books->locality, addresses[i]);
            tb_locality_note_write(books->locality, addresses[i], books->block_bytes);
        }
    }
}

void tb_books_taken(struct tb_books *books, const struct locus_table *table, uint32_t first)
{
    for (uint32_t i = first; i < table->count; i++)
        tb_locality_note_alloc(books->locality, books->ops->address(books->context, table->blocks[i]));
}

void tb_books_bytes(struct tb_books *books, bool written, void *at, size_t bytes)
{
    int error = written ? tb_locality_look(books->locality, 1, &at, bytes) : 0;
    books->error = books->error ? books->error : error;
    tb_locality_note_bytes(books->locality, written ? TB_LOCALITY_BYTES_WRITTEN : TB_LOCALITY_BYTES_READ, at, bytes);
}

void tb_books_finishing(struct tb_books *books, uint32_t station, const struct locus_table *table)
{
    void *addresses[BATCH];
    for (uint32_t first = 0, count; first < table->count; first += count) {
        count = look(books, table, first, addresses);
        for (uint32_t i = 0; i < count; i++) {
            int kept_on = TB_LOCALITY_UNKNOWN;
            if (books->ops->kept_on)
                kept_on = books->ops->kept_on(books->context, station, table->blocks[first + i]);
            tb_locality_note_free(books->locality, addresses[i], kept_on);
        }
    }
}

void tb_books_step(struct tb_books *books)
{
    int error = tb_locality_refresh(books->locality);
    books->error = books->error ? books->error : error;
}

static void counts_add(const struct tb_locality *locality, enum tb_locality_what what, const struct tb_nodes_sample *sample,
                       struct tb_node_counts *out)
{
    for (uint32_t from = 0; from < sample->count; from++)
        for (uint32_t to = 0; to < sample->count; to++)
            out->pair[from][to] += tb_locality_count(locality, what, sample->node[from].os, sample->node[to].os);
    out->unknown += tb_locality_sums(locality, what).unknown;
}

static uint64_t abroad(const struct tb_locality *locality)
{
    struct tb_locality_sums sums = tb_locality_sums(locality, TB_LOCALITY_FREES_ABROAD);
    return sums.local + sums.remote; // freed from any node
}

int tb_books_sum(struct tb_books *const books[], uint32_t count, struct tb_nodes_sample *out)
{
    for (uint32_t b = 0; b < count; b++) {
        const struct tb_locality *locality = books[b]->locality;
        uint32_t points = 0;
        const struct tb_locality_point *drift = tb_locality_drift(locality, &points);
        counts_add(locality, TB_LOCALITY_TOUCHES, out, &out->touches);
        counts_add(locality, TB_LOCALITY_ALLOCATIONS, out, &out->allocations);
        counts_add(locality, TB_LOCALITY_FREES, out, &out->frees);
        counts_add(locality, TB_LOCALITY_BYTES_WRITTEN, out, &out->written);
        counts_add(locality, TB_LOCALITY_BYTES_READ, out, &out->read);
        out->frees_abroad += abroad(locality);
        out->pages_moved += tb_locality_map(locality).pages_moved;
        if (points > TB_DRIFT_POINTS_MAX)
            return -EINVAL;
        for (uint32_t p = 0; p < points; p++) {
            out->points[p].allocated += drift[p].allocated;
            out->points[p].wandered += drift[p].wandered;
        }
        out->points_count = points > out->points_count ? points : out->points_count;
    }
    while (out->points_count > 0 && out->points[out->points_count - 1].allocated == 0)
        out->points_count--; // the last step, which never began
    return 0;
}
