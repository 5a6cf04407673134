// SPDX-License-Identifier: Apache-2.0
//
// prefix_index: which block has an id. Not installed.
//
// Open addressing. Two ids share a cache line with the handles of their blocks, so that a look-up reads nothing else; an id begins
// at the first place of its line and goes on from there, line after line, so that of a table that is half full few look-ups read a
// second line. A place that becomes empty is filled from behind: there are no tombstones, and what follows an empty place is not
// looked at.
#ifndef LOCUS_PREFIX_INDEX_H
#define LOCUS_PREFIX_INDEX_H

#include <stdbool.h>

#include "locus/evict.h"
#include "placement/base/id_hash.h"
#include "placement/blocks/pool_internal.h"

#define INDEX_LINE_IDS 2u

// A line of zeros is empty, as memory is that nobody has touched.
struct index_line {
    _Alignas(LOCUS_CACHE_LINE) struct locus_id id[INDEX_LINE_IDS]; // none: the place is empty
    locus_block block[INDEX_LINE_IDS]; // LOCUS_BLOCK_NONE where the place is empty
};

struct prefix_index {
    struct index_line *line;
    uint64_t lines;
    struct locus_region *region;
};

// Zeros on the pool's node, on huge pages if there are many. 0 or the error of locus_region_open().
int memory_beside(struct locus_region **out, const struct locus_pool *pool, uint64_t bytes);

int index_open(struct prefix_index *index, const struct locus_pool *pool); // as memory_beside()
void index_close(struct prefix_index *index);                              // {0} is allowed
void index_add(struct prefix_index *index, struct locus_id id, locus_block block); // pre: it is not there
void index_drop(struct prefix_index *index, struct locus_id id);           // pre: it is there
locus_block index_find_further(const struct prefix_index *index, struct locus_id id);

static inline const struct index_line *index_line_of(const struct prefix_index *index, struct locus_id id)
{
    return &index->line[id_place(id, index->lines)];
}

static inline const struct index_line *index_line_after(const struct prefix_index *index, struct locus_id id)
{
    uint64_t line = id_place(id, index->lines) + 1;
    return &index->line[line == index->lines ? 0 : line];
}

// All ids of the line are compared, without a branch that depends on where it is or whether it is there: the processor would guess
// it, and often wrong. *further: it may be in the next line, as this one is full. None finds an empty place, or is further.
static inline locus_block index_find_near(const struct index_line *line, struct locus_id id, bool *further)
{
    locus_block block = LOCUS_BLOCK_NONE;
#pragma GCC unroll 2
    for (unsigned i = 0; i < INDEX_LINE_IDS; i++)
        block |= line->block[i] & -(uint64_t)locus_id_equal(line->id[i], id);
    *further = (block | (uint64_t)locus_id_is_none(line->id[INDEX_LINE_IDS - 1])) == 0;
    return block;
}

// LOCUS_BLOCK_NONE: it is not there.
static inline locus_block index_find(const struct prefix_index *index, struct locus_id id)
{
    bool further;
    locus_block block = index_find_near(index_line_of(index, id), id, &further);
    return __builtin_expect(further, 0) ? index_find_further(index, id) : block;
}

// Into the first cache. Into the second one (locality 2) is a little faster on some processors; on Zen 5 it was without any effect
// in one process of four, and a look-up took 40 ns in place of 14.
static inline void index_fetch(const struct index_line *line)
{
    __builtin_prefetch(line);
}

#endif
