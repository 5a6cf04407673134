// SPDX-License-Identifier: Apache-2.0
//
// prefix_index: see prefix_index.h. Places are numbered through all lines.

#include "prefix_index.h"

#include <errno.h>

#define HUGE_BYTES (UINT64_C(2) << 20)

static uint64_t places(const struct prefix_index *index)
{
    return index->lines * INDEX_LINE_IDS;
}

static uint64_t next(const struct prefix_index *index, uint64_t at)
{
    return at + 1 == places(index) ? 0 : at + 1;
}

// From `from` on to `at`.
static uint64_t way(const struct prefix_index *index, uint64_t from, uint64_t at)
{
    return at >= from ? at - from : at + places(index) - from;
}

static struct locus_id *id_at(const struct prefix_index *index, uint64_t at)
{
    return &index->line[at / INDEX_LINE_IDS].id[at % INDEX_LINE_IDS];
}

static locus_block *block_at(const struct prefix_index *index, uint64_t at)
{
    return &index->line[at / INDEX_LINE_IDS].block[at % INDEX_LINE_IDS];
}

static void set(struct prefix_index *index, uint64_t at, struct locus_id id, locus_block block)
{
    *id_at(index, at) = id;
    *block_at(index, at) = block;
}

static uint64_t first_place(const struct prefix_index *index, struct locus_id id)
{
    return id_place(id, index->lines) * INDEX_LINE_IDS;
}

// Where it is, or else the empty place where it would be.
static uint64_t place_of(const struct prefix_index *index, struct locus_id id)
{
    uint64_t at = first_place(index, id);
    while (!locus_id_is_none(*id_at(index, at)) && !locus_id_equal(*id_at(index, at), id))
        at = next(index, at);
    return at;
}

locus_block index_find_further(const struct prefix_index *index, struct locus_id id)
{
    return *block_at(index, place_of(index, id));
}

void index_add(struct prefix_index *index, struct locus_id id, locus_block block)
{
    set(index, place_of(index, id), id, block);
}

// What follows without a gap may have been pushed on by the place that becomes empty: whoever may move up into it does.
void index_drop(struct prefix_index *index, struct locus_id id)
{
    uint64_t gap = place_of(index, id);
    for (uint64_t at = next(index, gap); !locus_id_is_none(*id_at(index, at)); at = next(index, at)) {
        if (way(index, first_place(index, *id_at(index, at)), at) < way(index, gap, at))
            continue;
        set(index, gap, *id_at(index, at), *block_at(index, at));
        gap = at;
    }
    set(index, gap, (struct locus_id){{0}}, LOCUS_BLOCK_NONE);
}

int memory_beside(struct locus_region **out, const struct locus_pool *pool, uint64_t bytes)
{
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = bytes,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = bytes >= HUGE_BYTES ? LOCUS_PAGE_THP : LOCUS_PAGE_4K,
        .policy = pool->policy,
        .node = pool->node,
        .populate = true,
    };
    int error = locus_region_open(out, &region);
    if (error == -ENOSYS && region.page == LOCUS_PAGE_THP) {
        region.page = LOCUS_PAGE_4K;
        error = locus_region_open(out, &region);
    }
    return error;
}

// As many lines as blocks, so half of the places stay empty, and one at least: a look-up ends there.
int index_open(struct prefix_index *index, const struct locus_pool *pool)
{
    index->lines = pool->blocks;
    int error = memory_beside(&index->region, pool, index->lines * sizeof *index->line);
    if (!error)
        index->line = locus_region_base(index->region);
    return error;
}

void index_close(struct prefix_index *index)
{
    locus_region_close(index->region);
}
