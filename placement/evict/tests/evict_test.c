// SPDX-License-Identifier: Apache-2.0
//
// evict: the standard policies evict what a naive twin evicts, which is written from the definition with arrays and scans; and all
// policies keep the contract.
#include "placement/evict/tests/evict_ids.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

enum { BLOCKS_MAX = 40, IDS = 4 * BLOCKS_MAX, STEPS = 20000 };
#define NO_ID UINT64_MAX

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

// --- twins ----------------------------------------------------------------------------------------------------------------------

struct row {                    // ids, the oldest first
    uint64_t id[IDS];
    unsigned count;
};

static int row_find(const struct row *row, uint64_t id)
{
    for (unsigned i = 0; i < row->count; i++)
        if (row->id[i] == id)
            return (int)i;
    return -1;
}

static uint64_t row_cut(struct row *row, unsigned at)
{
    uint64_t id = row->id[at];
    memmove(&row->id[at], &row->id[at + 1], (--row->count - at) * sizeof row->id[0]);
    return id;
}

static void row_add(struct row *row, uint64_t id)
{
    row->id[row->count++] = id;
}

static bool row_drop(struct row *row, uint64_t id)
{
    int at = row_find(row, id);
    if (at >= 0)
        row_cut(row, (unsigned)at);
    return at >= 0;
}

struct twin {
    unsigned blocks;
    struct row a, b, gone_a, gone_b; // S, M, G of S3-FIFO; T1, T2, B1, B2 of ARC; the others have only a
    unsigned count[IDS];        // uses; S3-FIFO: freq
    double p;
    uint64_t evicted;
};

static void fifo(struct twin *twin, uint64_t id)
{
    if (row_find(&twin->a, id) >= 0)
        return;
    if (twin->a.count == twin->blocks)
        twin->evicted = row_cut(&twin->a, 0);
    row_add(&twin->a, id);
}

static void lru(struct twin *twin, uint64_t id)
{
    if (!row_drop(&twin->a, id) && twin->a.count == twin->blocks)
        twin->evicted = row_cut(&twin->a, 0);
    row_add(&twin->a, id);
}

static void lfu(struct twin *twin, uint64_t id)
{
    if (row_drop(&twin->a, id)) {
        twin->count[id]++;
    } else {
        unsigned least = 0;
        for (unsigned i = 1; i < twin->a.count; i++)
            if (twin->count[twin->a.id[i]] < twin->count[twin->a.id[least]])
                least = i;
        if (twin->a.count == twin->blocks)
            twin->evicted = row_cut(&twin->a, least);
        twin->count[id] = 1;
    }
    row_add(&twin->a, id);
}

static void s3fifo_evict_main(struct twin *twin)
{
    for (;;) {
        uint64_t t = row_cut(&twin->b, 0);
        if (twin->count[t] == 0) {
            twin->evicted = t;
            return;
        }
        twin->count[t]--;
        row_add(&twin->b, t);
    }
}

static void s3fifo_evict(struct twin *twin)
{
    if (10 * twin->a.count < twin->blocks) {
        s3fifo_evict_main(twin);
        return;
    }
    while (twin->a.count > 0) {
        uint64_t t = row_cut(&twin->a, 0);
        if (twin->count[t] <= 1) {
            row_add(&twin->gone_a, t);
            if (twin->gone_a.count > 9 * twin->blocks / 10)
                row_cut(&twin->gone_a, 0);
            twin->evicted = t;
            return;
        }
        twin->count[t] = 0;
        row_add(&twin->b, t);
        if (10 * twin->b.count > 9 * twin->blocks)
            break;
    }
    s3fifo_evict_main(twin);
}

static void s3fifo(struct twin *twin, uint64_t id)
{
    if (row_find(&twin->a, id) >= 0 || row_find(&twin->b, id) >= 0) {
        twin->count[id] += twin->count[id] < 3;
        return;
    }
    if (twin->a.count + twin->b.count == twin->blocks)
        s3fifo_evict(twin);
    row_add(row_drop(&twin->gone_a, id) ? &twin->b : &twin->a, id);
    twin->count[id] = 0;
}

static void arc_replace(struct twin *twin, bool in_b2)
{
    if (twin->a.count > 0 && (twin->a.count > twin->p || (in_b2 && twin->a.count == twin->p)))
        row_add(&twin->gone_a, twin->evicted = row_cut(&twin->a, 0));
    else
        row_add(&twin->gone_b, twin->evicted = row_cut(&twin->b, 0));
}

// In the order of the figure, which deletes from B1 and B2 before REPLACE.
static void arc_case_4(struct twin *twin)
{
    const unsigned first = twin->a.count + twin->gone_a.count, all = first + twin->b.count + twin->gone_b.count;
    if (first == twin->blocks) {
        if (twin->a.count < twin->blocks) {
            row_cut(&twin->gone_a, 0);
            arc_replace(twin, false);
        } else {
            twin->evicted = row_cut(&twin->a, 0);
        }
    } else if (all >= twin->blocks) {
        if (all == 2 * twin->blocks)
            row_cut(&twin->gone_b, 0);
        arc_replace(twin, false);
    }
}

static void arc(struct twin *twin, uint64_t id)
{
    const double b1 = twin->gone_a.count, b2 = twin->gone_b.count;
    if (row_drop(&twin->a, id) || row_drop(&twin->b, id)) {
        row_add(&twin->b, id);
    } else if (row_find(&twin->gone_a, id) >= 0) {
        twin->p += b1 >= b2 ? 1 : b2 / b1;
        if (twin->p > twin->blocks)
            twin->p = twin->blocks;
        arc_replace(twin, false);
        row_drop(&twin->gone_a, id);
        row_add(&twin->b, id);
    } else if (row_find(&twin->gone_b, id) >= 0) {
        twin->p -= b2 >= b1 ? 1 : b1 / b2;
        if (twin->p < 0)
            twin->p = 0;
        arc_replace(twin, true);
        row_drop(&twin->gone_b, id);
        row_add(&twin->b, id);
    } else {
        arc_case_4(twin);
        row_add(&twin->a, id);
    }
}

// --- the policies ---------------------------------------------------------------------------------------------------------------

struct cache {
    const struct locus_evict_ops *ops;
    void *state;
    unsigned blocks, used;
    uint64_t held[BLOCKS_MAX];
};

// What leaves, or NO_ID.
static uint64_t reference(struct cache *cache, uint64_t id)
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
static uint64_t next_id(unsigned blocks, unsigned step)
{
    const uint64_t range = 3 * blocks + 1, shift = step / 1000;
    switch (draw(4)) {
    case 0: return draw(range);
    case 1: return (step + shift) % range;
    default: return (draw(blocks + 1) * draw(2) + draw(blocks / 2 + 1) + 7 * shift) % range;
    }
}

static void same_as_twin(const char *name, void (*twin_access)(struct twin *, uint64_t))
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

Test(evict, fifo_is_its_twin)
{
    same_as_twin("fifo", fifo);
}

Test(evict, lru_is_its_twin)
{
    same_as_twin("lru", lru);
}

Test(evict, lfu_is_its_twin)
{
    same_as_twin("lfu", lfu);
}

Test(evict, s3fifo_is_its_twin)
{
    same_as_twin("s3fifo", s3fifo);
}

Test(evict, arc_is_its_twin)
{
    same_as_twin("arc", arc);
}

Test(evict, the_list_has_every_policy)
{
    static const char *const names[] = {"fifo", "lru", "lfu", "s3fifo", "arc", "chain"};
    uint32_t count = 0;
    while (locus_evict_at(count))
        count++;
    cr_expect_eq(count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct locus_evict_ops *ops = locus_evict_find(names[i]);
        cr_assert_not_null(ops, "%s", names[i]);
        cr_expect_str_eq(ops->name, names[i]);
        cr_expect_gt(strlen(ops->summary), 20);
    }
    cr_expect_eq(locus_evict_find("lru"), &locus_evict_lru);
    cr_expect_null(locus_evict_find("LRU"));
    cr_expect_null(locus_evict_at(UINT32_MAX));
}

Test(evict, no_policy_opens_without_blocks_or_with_too_many)
{
    for (uint32_t i = 0; locus_evict_at(i); i++) {
        const struct locus_evict_ops *ops = locus_evict_at(i);
        void *state = &state;
        cr_expect_eq(ops->open(&state, 0), -EINVAL, "%s", ops->name);
        cr_expect_null(state);
        cr_expect_eq(ops->open(&state, LOCUS_EVICT_NONE / 8), -EINVAL, "%s", ops->name);
        ops->close(NULL);
        cr_assert_eq(ops->open(&state, 1), 0);
        cr_expect_eq(ops->victim(state), LOCUS_EVICT_NONE, "%s", ops->name);
        ops->close(state);
    }
}

enum { EMPTY, IN_USE, KEPT };

// Blocks come and go in any order, as in a cache with many requests at once. Only kept blocks are victims, each block that is kept
// leaves in the end, and none twice.
static void keep_the_contract(const struct locus_evict_ops *ops)
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

Test(evict, every_policy_keeps_the_contract)
{
    seed = 1;
    for (uint32_t i = 0; locus_evict_at(i); i++)
        keep_the_contract(locus_evict_at(i));
}

// A block that is in use keeps its place in a queue by arrival, and its count.
Test(evict, use_changes_no_arrival)
{
    const struct locus_evict_ops *ops = &locus_evict_fifo;
    void *state;
    cr_assert_eq(ops->open(&state, 3), 0);
    for (uint32_t block = 0; block < 3; block++)
        ops->insert(state, block, as_id(block), LOCUS_EVICT_NONE, true);
    ops->hit(state, 0);
    cr_expect_eq(ops->victim(state), 1);
    ops->insert(state, 0, as_id(0), LOCUS_EVICT_NONE, false);
    cr_expect_eq(ops->victim(state), 0);
    ops->close(state);
}
