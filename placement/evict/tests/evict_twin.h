// SPDX-License-Identifier: Apache-2.0
//
// evict_twin: a policy beside its naive twin, which is written from the definition with arrays and scans; and the contract that
// every policy keeps. For the policies of the library and for those that the testbed compares with them.
#ifndef LOCUS_TESTS_EVICT_TWIN_H
#define LOCUS_TESTS_EVICT_TWIN_H

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "placement/evict/tests/evict_ids.h"

enum { BLOCKS_MAX = 40, IDS = 4 * BLOCKS_MAX, STEPS = 20000 };
#define NO_ID UINT64_MAX

static uint64_t seed;

static inline uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

// --- twins ----------------------------------------------------------------------------------------------------------------------

struct row {                    // ids, the oldest first
    uint64_t id[IDS];
    unsigned count;
};

static inline int row_find(const struct row *row, uint64_t id)
{
    for (unsigned i = 0; i < row->count; i++)
        if (row->id[i] == id)
            return (int)i;
    return -1;
}

static inline uint64_t row_cut(struct row *row, unsigned at)
{
    uint64_t id = row->id[at];
    memmove(&row->id[at], &row->id[at + 1], (--row->count - at) * sizeof row->id[0]);
    return id;
}

static inline void row_add(struct row *row, uint64_t id)
{
    row->id[row->count++] = id;
}

static inline bool row_drop(struct row *row, uint64_t id)
{
    int at = row_find(row, id);
    if (at >= 0)
        row_cut(row, (unsigned)at);
    return at >= 0;
}

struct twin {
    unsigned blocks;
    struct row a, b, gone_a, gone_b; // S, M, G of S3-FIFO; T1, T2, B1, B2 of ARC; others have only a
    unsigned count[IDS];        // uses; S3-FIFO: freq
    double p;
    uint64_t evicted;
};

// --- a policy beside its twin ---------------------------------------------------------------------------------------------------

struct cache {
    const struct locus_evict_ops *ops;
    void *state;
    unsigned blocks, used;
    uint64_t held[BLOCKS_MAX];
};

// What leaves, or NO_ID.
static inline uint64_t reference(struct cache *cache, uint64_t id)
{
    uint64_t evicted = NO_ID;
    uint32_t block = 0;
    if (cache->ops->request)
        cache->ops->request(cache->state, 0, as_ids(&id, 1), 1);
    while (block < cache->used && cache->held[block] != id)
        block++;
    if (block < cache->used) {
        cache->ops->hit(cache->state, block);
        cache->ops->insert(cache->state, block, as_id(id), LOCUS_EVICT_NONE, false);
        return NO_ID;
    }
    if (cache->ops->miss)
        cache->ops->miss(cache->state, as_id(id));
    if (cache->used == cache->blocks) {
        block = cache->ops->victim(cache->state);
        cr_assert_lt(block, cache->blocks);
        cr_assert_eq(cache->ops->victim(cache->state), block, "a second call finds another one");
        evicted = cache->held[block];
        cache->ops->remove(cache->state, block);
    } else {
        cache->used++;
    }
    cache->held[block] = id;
    cache->ops->insert(cache->state, block, as_id(id), LOCUS_EVICT_NONE, true);
    return evicted;
}

// Few ids are asked for often, and which ones they are changes; now and then all are asked for in turn.
static inline uint64_t next_id(unsigned blocks, unsigned step)
{
    const uint64_t range = 3 * blocks + 1, shift = step / 1000;
    switch (draw(4)) {
    case 0: return draw(range);
    case 1: return (step + shift) % range;
    default: return (draw(blocks + 1) * draw(2) + draw(blocks / 2 + 1) + 7 * shift) % range;
    }
}

static inline void same_as_twin(const char *name, void (*twin_access)(struct twin *, uint64_t))
{
    static const unsigned sizes[] = {1, 2, 3, 4, 10, 19, 20, 37};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct cache cache = {.ops = locus_evict_find(name), .blocks = sizes[i]};
        struct twin twin = {.blocks = sizes[i]};
        unsigned evictions = 0;
        seed = sizes[i];
        cr_assert_not_null(cache.ops);
        cr_assert_eq(cache.ops->open(&cache.state, sizes[i]), 0);
        for (unsigned step = 0; step < STEPS; step++) {
            uint64_t id = next_id(sizes[i], step), evicted = reference(&cache, id);
            twin.evicted = NO_ID;
            twin_access(&twin, id);
            cr_assert_eq(evicted, twin.evicted, "%s, %u blocks, step %u: %lld left, not %lld", name, sizes[i], step,
                         (long long)evicted, (long long)twin.evicted);
            evictions += evicted != NO_ID;
        }
        cr_expect_gt(evictions, STEPS / 10);
        cache.ops->close(cache.state);
    }
}

// --- the contract ---------------------------------------------------------------------------------------------------------------

static inline void opens_with_blocks_that_it_can_have(const struct locus_evict_ops *ops)
{
    void *state = &state;
    cr_expect_eq(ops->open(&state, 0), -EINVAL, "%s", ops->name);
    cr_expect_null(state);
    cr_expect_eq(ops->open(&state, LOCUS_EVICT_NONE / 8), -EINVAL, "%s", ops->name);
    ops->close(NULL);
    cr_assert_eq(ops->open(&state, 1), 0);
    cr_expect_eq(ops->victim(state), LOCUS_EVICT_NONE, "%s", ops->name);
    ops->close(state);
}

enum { EMPTY, IN_USE, KEPT };

// Blocks come and go in any order, as in a cache with many requests at once. Only kept blocks are victims, each block that is kept
// leaves in the end, and none twice.
static inline void keep_the_contract(const struct locus_evict_ops *ops)
{
    unsigned char where[BLOCKS_MAX] = {EMPTY};
    uint64_t ids[BLOCKS_MAX], fresh_id = 0;
    unsigned kept = 0;
    void *state;
    cr_assert_eq(ops->open(&state, BLOCKS_MAX), 0);
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t block = (uint32_t)draw(BLOCKS_MAX), victim;
        if (where[block] == KEPT && draw(3) > 0) {
            ops->hit(state, block);
            where[block] = IN_USE, kept--;
        } else if (where[block] != KEPT) {
            bool fresh = where[block] == EMPTY;
            ids[block] = !fresh ? ids[block] : draw(2) ? fresh_id++ : draw(fresh_id + 1);
            if (ops->request && draw(2))
                ops->request(state, step * UINT64_C(100000000), as_ids(&ids[block], 1), 1);
            if (ops->miss && fresh)
                ops->miss(state, as_id(ids[block]));
            ops->insert(state, block, as_id(ids[block]), LOCUS_EVICT_NONE, fresh);
            where[block] = KEPT, kept++;
        }
        victim = ops->victim(state);
        cr_assert_eq(victim == LOCUS_EVICT_NONE, kept == 0, "%s", ops->name);
        cr_assert(kept == 0 || where[victim] == KEPT, "%s, step %u: the victim is not kept", ops->name, step);
        if (kept > 0 && draw(3) == 0) {
            ops->remove(state, victim);
            where[victim] = EMPTY, kept--;
        }
    }
    for (uint32_t victim; (victim = ops->victim(state)) != LOCUS_EVICT_NONE; kept--) {
        cr_assert_eq(where[victim], KEPT, "%s", ops->name);
        where[victim] = EMPTY;
        ops->remove(state, victim);
    }
    cr_expect_eq(kept, 0, "%s: %u blocks never leave", ops->name, kept);
    ops->close(state);
}

#endif
