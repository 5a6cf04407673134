// SPDX-License-Identifier: Apache-2.0
//
// The model of holders_stress.c: of each block its handle, its holders' tags, and whether a cache has it; and what the library must
// say about them.
#ifndef LOCUS_TESTS_HOLDERS_MODEL_H
#define LOCUS_TESTS_HOLDERS_MODEL_H

#include <errno.h>
#include <string.h>

#include "locus/domain.h"
#include "locus/offload.h"
#include "placement/blocks/tests/stress.h"
#include "topo/topo.h"

#define HOMES 3u
#define BLOCKS 12u
#define SEQS 8u
#define CAPACITY 6u
#define TOKENS 4u // of a block
#define LOOSE 4u
#define HOLDERS_MAX 48u
#define REPORTS 256u
#define OFFLOAD_TAG UINT64_MAX // no table has it

static inline struct locus_id id_of(uint32_t position, uint32_t variant)
{
    return locus_id_of(1 + position * 2 + variant); // what is above a block has another position, so no chain is a circle
}

enum state { FREE_NOW, OUT, KEPT, WORN };
enum kind { GROW, TAKE, FORK, WRITE, CUT, RETIRE, DRAIN, FREE, DAMAGE, PUBLISH, MATCH, EVICT, OFFLOAD, DROP, KINDS };

static const char *const kind_names[KINDS] = {"grow", "take",   "fork",    "write", "cut",   "retire",  "drain",
                                              "free", "damage", "publish", "match", "evict", "offload", "drop"};
static const char *const error_names[] = {"double", "stale", "foreign", "range", "not-held"};

struct model_block {
    enum state state;
    locus_block handle;         // of this use, or of the last one; LOCUS_BLOCK_NONE: never used
    uint32_t holders;
    uint64_t tag[HOLDERS_MAX];
    bool by_tag;                // another one has let this handle go
    bool published, offloading;
    struct locus_id id;
};

struct home {
    uint32_t ordinal, blocks, in_flight;
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_prefix *prefix;
    struct model_block block[BLOCKS];
    locus_block loose_block[LOOSE], offload_block[BLOCKS]; // taken by hand; being stored
    uint32_t loose, offloading;
    uint64_t freed, refused[LOCUS_FREE_ERRORS_COUNT];
};

struct seq {
    struct locus_table *table;
    uint64_t homes_left;        // away: homes that have not drained it
    struct home *declared_at;
    uint64_t sent;              // its number: what was sent first is drained first
    bool away;
};

struct report {
    enum locus_free_error error;
    locus_block block;
    uint64_t tag;
};

struct reports {
    uint32_t count;
    struct report report[REPORTS];
};

struct world {
    uint64_t random, tries, tag, now, sent, done[KINDS], refused[LOCUS_FREE_ERRORS_COUNT];
    bool tags, shared;
    uint32_t homes;
    struct locus_domain *domain; // NULL: pools and owners
    struct home home[HOMES];
    struct locus_route route;
    const struct locus_route *way;
    struct seq seq[SEQS + 1], *leavers;
    struct reports expected, got;
};

static inline uint32_t any(struct world *world, uint32_t below)
{
    return stress_random(&world->random, below);
}

static inline struct home *any_home(struct world *world)
{
    return &world->home[any(world, world->homes)];
}

// --- what the model knows ------------------------------------------------------------------------------------------------------

// NULL: it names no block of any home.
static inline struct model_block *block_of(const struct world *world, locus_block handle)
{
    const struct home *home = &world->home[locus_block_home(handle) % HOMES];
    bool there = locus_block_home(handle) < world->homes && locus_block_index(handle) < home->blocks;
    return there ? (struct model_block *)&home->block[locus_block_index(handle)] : NULL;
}

static inline uint32_t holders_of(const struct world *world, locus_block handle)
{
    const struct model_block *block = block_of(world, handle);
    return block && block->state == OUT && block->handle == handle ? block->holders : 0;
}

static inline uint32_t model_count(const struct home *home, enum state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < home->blocks; i++)
        count += home->block[i].state == state;
    return count;
}

static inline uint32_t free_blocks(const struct home *home)
{
    return model_count(home, FREE_NOW);
}

// Has it had its last use?
static inline bool is_worn(const struct model_block *block)
{
    return locus_block_generation(block->handle) == LOCUS_GENERATION_MAX;
}

// What a grow may have: free blocks, and kept ones that are free when they have left.
static inline uint32_t ready_blocks(const struct home *home)
{
    uint32_t count = free_blocks(home);
    for (uint32_t i = 0; i < home->blocks; i++)
        count += home->block[i].state == KEPT && !is_worn(&home->block[i]);
    return count;
}

static inline struct model_block *known(struct home *home, struct locus_id id)
{
    for (uint32_t i = 0; i < home->blocks; i++)
        if (home->block[i].published && locus_id_equal(home->block[i].id, id))
            return &home->block[i];
    return NULL;
}

static inline uint64_t homes_of_some(const struct locus_table *table, uint32_t begin, uint32_t end)
{
    uint64_t homes = 0;
    for (uint32_t i = begin; i < end; i++)
        homes |= UINT64_C(1) << locus_block_home(table->blocks[i]);
    return homes;
}

static inline uint64_t homes_of(const struct locus_table *table)
{
    return homes_of_some(table, table->dropped, table->count);
}

// Does the table hold each of its blocks, as often as it names it?
static inline bool is_good(const struct world *world, const struct locus_table *table)
{
    for (uint32_t i = table->dropped; i < table->count; i++) {
        uint32_t named = 0, held = 0;
        const struct model_block *block = block_of(world, table->blocks[i]);
        for (uint32_t j = 0; j < table->count; j++)
            named += table->blocks[j] == table->blocks[i];
        for (uint32_t j = 0; block && j < block->holders; j++)
            held += block->tag[j] == table->tag;
        if (!holders_of(world, table->blocks[i]) || (world->tags ? held < named : block->holders < named) || named > 1)
            return false;
    }
    return true;
}

// A free block's handle-to-be, which nobody has.
static inline bool is_next_use(const struct world *world, locus_block handle)
{
    const struct model_block *block = block_of(world, handle);
    return block && block->state == FREE_NOW && handle != block->handle &&
           locus_pool_check(world->home[locus_block_home(handle)].pool, handle) == 0;
}

// --- what calls do to it -------------------------------------------------------------------------------------------------------

static inline bool is_found(const struct home *home, const struct model_block *block)
{
    locus_block at;
    return locus_prefix_find(home->prefix, &block->id, 1, &at) == 1 && at == block->handle;
}

static inline void model_home(struct model_block *block)
{
    block->state = is_worn(block) ? WORN : FREE_NOW;
    block->published = block->by_tag = false;
    block->holders = 0;
}

// The pool handed out this handle: of a block that is free, or was kept until now.
static inline void model_take(struct world *world, struct home *home, locus_block handle, uint64_t tag)
{
    struct model_block *block = block_of(world, handle);
    STRESS_EXPECT(block && locus_block_home(handle) == home->ordinal);
    if (block->state == KEPT && !is_found(home, block))
        model_home(block);
    STRESS_EXPECT(block->state == FREE_NOW);
    STRESS_EXPECT(block->handle == LOCUS_BLOCK_NONE || handle == block->handle + 1);
    block->state = OUT;
    block->handle = handle;
    block->holders = 1;
    block->tag[0] = world->tags ? tag : 0;
}

// So many kept blocks have left for free ones at most, whichever they were; those that were taken at once are counted already.
static inline void model_evicted(struct home *home, uint32_t most)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < home->blocks; i++)
        if (home->block[i].state == KEPT && !is_found(home, &home->block[i])) {
            model_home(&home->block[i]);
            left++;
        }
    STRESS_EXPECT(left <= most);
}

static inline void expect_report(struct world *world, struct home *home, enum locus_free_error error, locus_block block,
                                 uint64_t tag)
{
    STRESS_EXPECT(world->expected.count < REPORTS);
    world->expected.report[world->expected.count++] = (struct report){error, block, tag};
    home->refused[error]++;
    world->refused[error]++;
}

// One holder less: -1 if that is right, else why it is refused.
static inline int model_drop(struct world *world, struct home *home, struct model_block *block, uint64_t tag)
{
    uint32_t at = 0;
    while (world->tags && at < block->holders && block->tag[at] != tag)
        at++;
    if (at == block->holders && (block->holders > 1 || block->by_tag))
        return LOCUS_FREE_NOT_HELD;
    block->by_tag = world->tags;
    if (block->holders > 1) {
        block->tag[at] = block->tag[--block->holders];
        return -1;
    }
    home->freed++;
    block->holders = 0;
    if (block->published)
        block->state = KEPT;
    else
        model_home(block);
    return -1;
}

// 1: accepted.
static inline uint32_t model_free(struct world *world, struct home *home, locus_block handle, uint64_t tag)
{
    struct model_block *block = block_of(world, handle);
    int error;
    if (locus_block_home(handle) != home->ordinal)
        error = LOCUS_FREE_FOREIGN;
    else if (!block)
        error = LOCUS_FREE_RANGE;
    else if (block->state == OUT && block->handle == handle)
        error = model_drop(world, home, block, tag);
    else
        error = block->state != OUT && block->handle == handle && handle ? LOCUS_FREE_DOUBLE : LOCUS_FREE_STALE;
    if (error >= 0)
        expect_report(world, home, (enum locus_free_error)error, handle, tag);
    return error < 0;
}

// The handles of this home from place `begin` to before `end` that were not dropped, from the last one on or from the first one on:
// equal ones are equal, so it does not matter.
static inline uint32_t model_free_of(struct world *world, struct home *home, const struct locus_table *table, uint32_t begin,
                                     uint32_t end)
{
    uint32_t accepted = 0;
    for (uint32_t i = begin > table->dropped ? begin : table->dropped; i < end; i++)
        if (locus_block_home(table->blocks[i]) == home->ordinal)
            accepted += model_free(world, home, table->blocks[i], table->tag);
    return accepted;
}

static inline void model_adopt(struct world *world, struct model_block *block, uint64_t tag)
{
    STRESS_EXPECT(block->holders < HOLDERS_MAX && (block->state == KEPT || block->state == OUT));
    if (block->state == KEPT)
        block->by_tag = world->tags;
    block->state = OUT;
    block->tag[block->holders++] = world->tags ? tag : 0;
}

// One home's part of a fork: 0, or what it is refused for, and then nothing changes.
static inline int model_share(struct world *world, struct home *home, const struct locus_table *from, uint64_t tag)
{
    if (!world->shared)
        return -EINVAL;
    for (uint32_t i = from->dropped; i < from->count; i++) {
        const struct model_block *block = block_of(world, from->blocks[i]);
        if (locus_block_home(from->blocks[i]) != home->ordinal)
            continue;
        if (!block)
            return -ERANGE;
        if (!holders_of(world, from->blocks[i]))
            return -ESTALE;
    }
    for (uint32_t i = from->dropped; i < from->count; i++)
        if (locus_block_home(from->blocks[i]) == home->ordinal)
            model_adopt(world, block_of(world, from->blocks[i]), tag);
    return 0;
}

static inline void model_offload(struct world *world, locus_block handle)
{
    struct model_block *block = block_of(world, handle);
    STRESS_EXPECT(block->state == KEPT && block->handle == handle);
    model_adopt(world, block, OFFLOAD_TAG);
    block->published = false;
    block->offloading = true;
}

static inline bool is_mine(const struct world *world, const struct home *home, locus_block handle)
{
    return locus_block_home(handle) == home->ordinal && holders_of(world, handle) == 1 && !block_of(world, handle)->published;
}

// How many blocks a write takes, and whether they are there: a published block that nobody else held is kept, and may be the next.
static inline uint32_t model_write_needs(const struct world *world, const struct home *home, const struct locus_table *table,
                                         uint32_t begin, uint32_t end, bool *there)
{
    uint32_t needs = 0, ready = ready_blocks(home), grows = end > table->count ? end - table->count : 0;
    *there = true;
    for (uint32_t i = begin; i < end && i < table->count; i++) {
        const struct model_block *block = block_of(world, table->blocks[i]);
        if (is_mine(world, home, table->blocks[i]))
            continue;
        *there &= ready > 0;
        ready += (locus_block_home(table->blocks[i]) == home->ordinal && block->holders == 1 && !is_worn(block)) - 1u;
        needs++;
    }
    *there &= ready >= grows;
    return needs + grows;
}

// Both lists in one order: what is refused does not depend on the order, except which of two equal handles it is.
static inline int report_order(const void *a, const void *b)
{
    const struct report *one = a, *two = b;
    if (one->error != two->error)
        return one->error < two->error ? -1 : 1;
    if (one->block != two->block)
        return one->block < two->block ? -1 : 1;
    return one->tag < two->tag ? -1 : one->tag > two->tag;
}

#endif
