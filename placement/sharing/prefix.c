// SPDX-License-Identifier: Apache-2.0
//
// prefix: an index from ids to blocks, and for each block its id, its parent's id, and the kept blocks below it.
//
//     slot[]      open addressing, linear probing from the start of a cache line, so that one in twenty looks into a second line
//                 when the table is half full; a slot that is vacated is filled from behind, so there are no tombstones
//     entry[]     by block: what it was published as, and its place among the kept children of its parent
//
// The parent is remembered by id and looked for when a block is kept. The block that had this id when the child was published may
// be gone by then, and another one may have it.
//
// Invariant: a block is in the index if and only if its word in pool->sharing says that it is published. A kept block is in the
// list of its parent if that is published. A block leaves only when its own list is empty, so the kept blocks below it go first.
// The victim's list is followed down to a block without one; the children are in the order in which they were kept, the oldest
// first. As long as the policy names the same victim, the way down begins where the last block left: a chain of n blocks costs n
// steps and not n squared.

#include "prefix_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "counters.h"
#include "placement/blocks/pools/shared.h"
#include "rules.h"

#define AHEAD 64u               // ids whose lines are on their way, at most as many as a word has bits
#define NONE LOCUS_EVICT_NONE

struct slot {
    uint64_t id;                // 0: empty
    locus_block block;          // LOCUS_BLOCK_NONE if it is empty
};

#define HUGE_BYTES (UINT64_C(2) << 20)
#define LINE_SLOTS (LOCUS_CACHE_LINE / sizeof(struct slot))

struct entry {
    uint64_t id, parent_id;     // 0: not published; a chain's first one
    uint32_t above;             // NONE: in no list
    uint32_t oldest, newest;    // kept blocks below this one
    uint32_t before, after;     // in the list of `above`
    bool fresh;                 // not kept since it was published
    bool sinking;               // not published any more, and out: a store reads it. parent_id is its own id
};

struct locus_prefix {
    struct locus_owner *owner;
    struct locus_pool *pool;
    const struct locus_evict_ops *evict;
    void *policy;
    struct locus_region *slots;
    struct slot *slot;
    struct entry *entry;
    uint64_t mask;
    struct pool_keeper keeper;
    uint32_t victim, above;     // the last one that the policy named, and the block above the one that left instead; NONE: itself
    uint64_t above_id;
    struct locus_prefix_sink sink; // without store: there is none
    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_prefix_stats counters;
    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_prefix_sink_stats sunk;
};

// --- ids -----------------------------------------------------------------------------------------------------------------------

// Multiply and fold, 64 bits at a time. The constants are odd and have no structure: digits of pi.
static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ UINT64_C(0x243f6a8885a308d3)) * (value ^ UINT64_C(0x13198a2e03707345));
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash << 1;
}

uint64_t locus_prefix_id(uint64_t parent, const uint32_t tokens[], uint32_t count, uint64_t salt)
{
    uint64_t hash = mix(mix(UINT64_C(0xa4093822299f31d1) + count, parent), parent ? 0 : salt);
    for (uint32_t i = 0; i + 1 < count; i += 2)
        hash = mix(hash, (uint64_t)tokens[i] << 32 | tokens[i + 1]);
    if (count % 2)
        hash = mix(hash, tokens[count - 1]);
    hash = mix(hash, UINT64_C(0x082efa98ec4e6c89));
    return hash ? hash : 1;
}

// --- the index -----------------------------------------------------------------------------------------------------------------

static inline uint64_t first_slot(const struct locus_prefix *prefix, uint64_t id)
{
    return (id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & prefix->mask & ~(LINE_SLOTS - 1);
}

static inline uint64_t slot_of(const struct locus_prefix *prefix, uint64_t id)
{
    uint64_t at = first_slot(prefix, id);
    while (prefix->slot[at].id && prefix->slot[at].id != id)
        at = (at + 1) & prefix->mask;
    return at;
}

static __attribute__((noinline)) locus_block find_further(const struct locus_prefix *prefix, uint64_t id)
{
    return prefix->slot[slot_of(prefix, id)].block;
}

// All ids of a line are compared, without a branch that depends on where it is or whether it is there: the processor would guess
// it, and often wrong. *further: it may be in the next line, as this one is full. An id of 0 finds an empty slot, or is further.
static inline locus_block find_near(const struct slot line[], uint64_t id, bool *further)
{
    locus_block block = LOCUS_BLOCK_NONE;
#pragma GCC unroll 4
    for (unsigned i = 0; i < LINE_SLOTS; i++)
        block |= line[i].block & -(uint64_t)(line[i].id == id);
    *further = (block | (uint64_t)(line[LINE_SLOTS - 1].id == 0)) == 0;
    return block;
}

static inline locus_block find(const struct locus_prefix *prefix, uint64_t id)
{
    bool further;
    locus_block block = find_near(&prefix->slot[first_slot(prefix, id)], id, &further);
    return __builtin_expect(further, 0) ? find_further(prefix, id) : block;
}

static inline uint32_t block_of(const struct locus_prefix *prefix, uint64_t id)
{
    locus_block block = find(prefix, id);
    return block == LOCUS_BLOCK_NONE ? NONE : locus_block_index(block);
}

// Into the first cache. Into the second one (locality 2) is a little faster on some processors; on Zen 5 it was without any effect
// in one process of four, and a look-up took 40 ns in place of 14.
static inline void fetch(const struct locus_prefix *prefix, uint64_t id)
{
    __builtin_prefetch(&prefix->slot[first_slot(prefix, id)]);
}

static void index_add(struct locus_prefix *prefix, uint64_t id, locus_block block)
{
    prefix->slot[slot_of(prefix, id)] = (struct slot){.id = id, .block = block};
    counter_add(&prefix->counters.blocks_known, 1);
}

// What follows without a gap may have been pushed on by the slot that becomes empty: whoever may move up into it does.
static void index_drop(struct locus_prefix *prefix, uint64_t id)
{
    uint64_t gap = slot_of(prefix, id);
    for (uint64_t at = (gap + 1) & prefix->mask; prefix->slot[at].id; at = (at + 1) & prefix->mask) {
        uint64_t wanted = first_slot(prefix, prefix->slot[at].id);
        if (((at - wanted) & prefix->mask) < ((at - gap) & prefix->mask))
            continue;
        prefix->slot[gap] = prefix->slot[at];
        gap = at;
    }
    prefix->slot[gap] = (struct slot){0};
    counter_add(&prefix->counters.blocks_known, UINT64_MAX);
}

// --- kept blocks ---------------------------------------------------------------------------------------------------------------

static locus_block handle(const struct locus_prefix *prefix, uint32_t block)
{
    return locus_block_make(prefix->pool->home, block, prefix->pool->generation[block]);
}

static void link_below(struct locus_prefix *prefix, uint32_t block, uint32_t above)
{
    struct entry *entry = &prefix->entry[block];
    entry->above = above;
    entry->before = entry->after = NONE;
    if (above == NONE)
        return;
    struct entry *parent = &prefix->entry[above];
    entry->before = parent->newest;
    if (parent->newest == NONE)
        parent->oldest = block;
    else
        prefix->entry[parent->newest].after = block;
    parent->newest = block;
}

static void unlink_from_above(struct locus_prefix *prefix, uint32_t block)
{
    struct entry *entry = &prefix->entry[block];
    if (entry->above == NONE)
        return;
    struct entry *parent = &prefix->entry[entry->above];
    *(entry->before == NONE ? &parent->oldest : &prefix->entry[entry->before].after) = entry->after;
    *(entry->after == NONE ? &parent->newest : &prefix->entry[entry->after].before) = entry->before;
    entry->above = NONE;
}

static void keep(void *context, locus_block handle_kept)
{
    struct locus_prefix *prefix = context;
    uint32_t block = locus_block_index(handle_kept);
    struct entry *entry = &prefix->entry[block];
    uint32_t above = block_of(prefix, entry->parent_id);
    link_below(prefix, block, above);
    uint32_t told = above == NONE || prefix->entry[above].fresh ? NONE : above;
    prefix->evict->keep(prefix->policy, block, entry->id, told, entry->fresh);
    entry->fresh = false;
    counter_add(&prefix->counters.blocks_kept, 1);
}

static void take(struct locus_prefix *prefix, uint32_t block)
{
    unlink_from_above(prefix, block);
    prefix->evict->take(prefix->policy, block);
    counter_add(&prefix->counters.blocks_kept, UINT64_MAX);
}

// It is kept by nobody any more, and the pool has not heard of it.
static void unkeep(struct locus_prefix *prefix, uint32_t block)
{
    unlink_from_above(prefix, block);
    prefix->evict->leave(prefix->policy, block);
    index_drop(prefix, prefix->entry[block].id);
    prefix->entry[block].id = 0;
    counter_add(&prefix->counters.blocks_kept, UINT64_MAX);
    counter_add(&prefix->counters.blocks_evicted, 1);
}

static void store(struct locus_prefix *prefix, uint32_t block)
{
    const struct entry *entry = &prefix->entry[block];
    int error = prefix->sink.store(prefix->sink.context, entry->id, entry->parent_id,
                                   locus_pool_address(prefix->pool, handle(prefix, block)), prefix->pool->block_bytes);
    counter_add(error ? &prefix->sunk.blocks_lost : &prefix->sunk.blocks_sunk, 1);
}

static void leave(struct locus_prefix *prefix, uint32_t block)
{
    if (prefix->sink.store)
        store(prefix, block);
    unkeep(prefix, block);
    pool_evict(prefix->pool, handle(prefix, block));
}

// The block that leaves for this victim: the end of a way down from it.
static uint32_t lowest(struct locus_prefix *prefix, uint32_t victim)
{
    bool again = victim == prefix->victim && prefix->above != NONE && pool_is_kept(prefix->pool, prefix->above) &&
                 prefix->entry[prefix->above].id == prefix->above_id;
    uint32_t block = again ? prefix->above : victim;
    while (prefix->entry[block].oldest != NONE)
        block = prefix->entry[block].oldest;
    prefix->victim = victim;
    prefix->above = block == victim ? NONE : prefix->entry[block].above;
    prefix->above_id = prefix->above == NONE ? 0 : prefix->entry[prefix->above].id;
    return block;
}

static uint32_t shrink(struct locus_prefix *prefix, uint32_t count)
{
    uint32_t done = 0;
    for (; done < count && prefix->counters.blocks_kept; done++)
        leave(prefix, lowest(prefix, prefix->evict->victim(prefix->policy)));
    return done;
}

static void give(void *context, uint32_t count)
{
    shrink(context, count);
}

uint32_t locus_prefix_shrink(struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    return locus_owner_held_here(prefix->owner) ? shrink(prefix, count) : 0;
}

// --- the sink ------------------------------------------------------------------------------------------------------------------

// The block is out from now on, as if a request had found it; but nobody can find it, and done() frees it.
static bool start(struct locus_prefix *prefix, uint32_t block)
{
    struct entry *entry = &prefix->entry[block];
    uint64_t id = entry->id;
    locus_block it = handle(prefix, block);
    if (prefix->sink.start(prefix->sink.context, id, entry->parent_id, locus_pool_address(prefix->pool, it),
                           prefix->pool->block_bytes, it))
        return false;
    unkeep(prefix, block);
    entry->sinking = true;
    entry->parent_id = id;
    pool_revive(prefix->pool, it, prefix->sink.tag);
    pool_unpublish(prefix->pool, it);
    counter_add(&prefix->sunk.blocks_sinking, 1);
    return true;
}

uint32_t locus_prefix_sink_start(struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    uint32_t done = 0;
    if (!prefix->sink.start || !locus_owner_held_here(prefix->owner))
        return 0;
    while (done < count && prefix->counters.blocks_kept && start(prefix, lowest(prefix, prefix->evict->victim(prefix->policy))))
        done++;
    return done;
}

int locus_prefix_sink_done(struct locus_prefix *prefix, locus_block block, int error)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (locus_pool_check(prefix->pool, block) || !prefix->entry[locus_block_index(block)].sinking)
        return -ESTALE;
    struct entry *entry = &prefix->entry[locus_block_index(block)];
    entry->sinking = false;
    counter_add(&prefix->sunk.blocks_sinking, UINT64_MAX);
    counter_add(error ? &prefix->sunk.blocks_lost : &prefix->sunk.blocks_sunk, 1);
    locus_pool_free_bulk(prefix->pool, 1, &block, prefix->sink.tag);
    if (!error && prefix->sink.drop && block_of(prefix, entry->parent_id) != NONE)
        prefix->sink.drop(prefix->sink.context, entry->parent_id);
    return 0;
}

// Into the table's blocks from `first` on. How many of the first ids are there.
static uint32_t load(struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, const struct locus_table *table,
                     uint32_t first)
{
    void *blocks[AHEAD];
    uint32_t done = 0, loaded = AHEAD;
    for (uint32_t some; done < count && loaded == AHEAD; done += loaded < some ? loaded : some) {
        some = count - done < AHEAD ? count - done : AHEAD;
        for (uint32_t i = 0; i < some; i++)
            blocks[i] = locus_pool_address(prefix->pool, table->blocks[first + done + i]);
        loaded = prefix->sink.load(prefix->sink.context, ids + done, blocks, some, prefix->pool->block_bytes);
    }
    return done;
}

static int raise_fault(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, const struct locus_table *table)
{
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || prefix->pool->home >= table->homes_max)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == 0)
            return -EINVAL;
    return 0;
}

uint32_t locus_prefix_raise_look(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count,
                                 const struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    const struct locus_prefix_sink *sink = &prefix->sink;
    uint32_t begin = table->count, wanted = count < table->capacity ? count : table->capacity;
    if (!sink->store || wanted <= begin || raise_fault(prefix, ids, count, table))
        return 0;
    uint32_t has = sink->look(sink->context, ids + begin, wanted - begin);
    return has < wanted - begin ? has : wanted - begin;
}

int64_t prefix_raise(struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, struct locus_table *table, uint32_t has)
{
    int error = raise_fault(prefix, ids, count, table);
    uint32_t begin = table->count;
    if (!error && has)
        error = locus_owner_grow(prefix->owner, table, has);
    if (error || !has)
        return error;
    uint32_t loaded = load(prefix, ids + begin, has, table, begin);
    if (loaded < has)
        locus_owner_truncate(prefix->owner, table, begin + loaded);
    locus_prefix_publish(prefix, ids, begin + loaded, table);
    counter_add(&prefix->sunk.blocks_raised, loaded);
    counter_add(&prefix->sunk.blocks_unloaded, has - loaded);
    return loaded;
}

int64_t locus_prefix_raise(struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    return prefix_raise(prefix, ids, count, table, locus_prefix_raise_look(prefix, ids, count, table));
}

void locus_prefix_sink_stats(const struct locus_prefix *prefix, struct locus_prefix_sink_stats *out)
{
    counters_read(out, &prefix->sunk, sizeof *out);
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static int open_fault(const struct locus_prefix_config *config)
{
    if (!config->owner)
        return -EINVAL;
    const struct locus_pool *pool = locus_owner_pool(config->owner);
    if (!locus_owner_held_here(config->owner))
        return -EPERM;
    if (!pool->sharing)
        return -EINVAL;
    return pool->keeper ? -EBUSY : 0;
}

static int sink_take(struct locus_prefix_sink *own, const struct locus_prefix_sink *given)
{
    int error = config_take(own, sizeof *own, given);
    return error ? error : own->store && own->look && own->load ? 0 : -EINVAL;
}

static void prefix_free(struct locus_prefix *prefix)
{
    prefix->evict->close(prefix->policy);
    locus_region_close(prefix->slots);
    free(prefix->entry);
    free(prefix);
}

// On the pool's node, as its own arrays are. A look-up goes anywhere in the table, so a large one is on huge pages.
static int slots_open(struct locus_prefix *prefix, uint64_t slots)
{
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = slots * sizeof *prefix->slot,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = slots * sizeof *prefix->slot >= HUGE_BYTES ? LOCUS_PAGE_THP : LOCUS_PAGE_4K,
        .policy = prefix->pool->policy,
        .node = prefix->pool->node,
        .populate = true,
    };
    int error = locus_region_open(&prefix->slots, &region);
    if (error == -ENOSYS && region.page == LOCUS_PAGE_THP) {
        region.page = LOCUS_PAGE_4K;
        error = locus_region_open(&prefix->slots, &region);
    }
    if (!error)
        prefix->slot = locus_region_base(prefix->slots);
    return error;
}

static int arrays_open(struct locus_prefix *prefix, uint32_t blocks)
{
    uint64_t slots = LINE_SLOTS;
    while (slots < 2 * (uint64_t)blocks)
        slots *= 2;
    prefix->mask = slots - 1;
    int error = slots_open(prefix, slots);
    if (error)
        return error;
    prefix->entry = malloc(blocks * sizeof *prefix->entry);
    if (!prefix->entry)
        return -ENOMEM;
    for (uint32_t i = 0; i < blocks; i++)
        prefix->entry[i] = (struct entry){.above = NONE, .oldest = NONE, .newest = NONE};
    return prefix->evict->open(&prefix->policy, blocks);
}

int locus_prefix_open(struct locus_prefix **out, const struct locus_prefix_config *given)
{
    struct locus_prefix_config config;
    struct locus_prefix_sink sink = {0};
    int error = config_take(&config, sizeof config, given);
    if (!error)
        error = open_fault(&config);
    if (!error && config.sink)
        error = sink_take(&sink, config.sink);
    if (error)
        return error;
    struct locus_prefix *prefix = aligned_alloc(COUNTERS_ALIGN_BYTES, sizeof *prefix);
    if (!prefix)
        return -ENOMEM;
    *prefix = (struct locus_prefix){
        .owner = config.owner,
        .pool = locus_owner_pool(config.owner),
        .evict = config.evict ? config.evict : &locus_evict_chain,
        .victim = NONE,
        .above = NONE,
        .sink = sink,
        .keeper = {.context = prefix, .keep = keep, .give = give},
    };
    error = arrays_open(prefix, prefix->pool->blocks);
    if (error) {
        prefix_free(prefix);
        return error;
    }
    prefix->pool->keeper = &prefix->keeper;
    *out = prefix;
    return 0;
}

int locus_prefix_close(struct locus_prefix *prefix)
{
    if (!prefix)
        return 0;
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (prefix->sunk.blocks_sinking)
        return -EBUSY;
    prefix->sink.store = NULL;
    shrink(prefix, UINT32_MAX);
    for (uint32_t i = 0; i < prefix->pool->blocks; i++)
        if (prefix->entry[i].id)
            pool_unpublish(prefix->pool, handle(prefix, i));
    prefix->pool->keeper = NULL;
    prefix_free(prefix);
    return 0;
}

// --- match and publish ---------------------------------------------------------------------------------------------------------

uint32_t locus_prefix_look(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, uint32_t *kept)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    uint32_t found = 0;
    *kept = 0;
    for (uint32_t i = 0; i < AHEAD && i < count; i++)
        fetch(prefix, ids[i]);
    for (; found < count; found++) {
        if (found + AHEAD < count)
            fetch(prefix, ids[found + AHEAD]);
        uint32_t block = block_of(prefix, ids[found]);
        if (block == NONE)
            break;
        *kept += pool_is_kept(prefix->pool, block);
    }
    return found;
}

// At most AHEAD ids. The few that are further are looked for at the end, their second lines all on their way at once. Which ones
// these are is kept in a register: a store whose place depends on what is not here yet would hold back the loads behind it.
static uint32_t find_batch(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, locus_block blocks[])
{
    uint64_t far = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        fetch(prefix, ids[i]);
    for (uint32_t i = 0; i < count; i++) {
        bool further;
        blocks[i] = find_near(&prefix->slot[first_slot(prefix, ids[i])], ids[i], &further);
        found += blocks[i] != LOCUS_BLOCK_NONE;
        far |= (uint64_t)further << i;
    }
    for (uint64_t left = far; left; left &= left - 1)
        __builtin_prefetch(&prefix->slot[(first_slot(prefix, ids[__builtin_ctzll(left)]) + LINE_SLOTS) & prefix->mask]);
    for (; far; far &= far - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(far);
        blocks[i] = find_further(prefix, ids[i]);
        found += blocks[i] != LOCUS_BLOCK_NONE;
    }
    return found;
}

uint32_t locus_prefix_find(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, locus_block blocks[])
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    uint32_t found = 0;
    for (uint64_t i = 0; i < count; i += AHEAD)
        found += find_batch(prefix, ids + i, count - i < AHEAD ? (uint32_t)(count - i) : AHEAD, blocks + i);
    return found;
}

// The table's new end: a kept block is revived, one that is in use gets one more holder.
static int adopt(struct locus_prefix *prefix, struct locus_table *table, locus_block it)
{
    uint32_t block = locus_block_index(it);
    if (pool_is_kept(prefix->pool, block)) {
        take(prefix, block);
        pool_revive(prefix->pool, it, table->tag);
    } else {
        int error = pool_share(prefix->pool, 1, &it, table->tag);
        if (error)
            return error;
    }
    return locus_table_append(table, it);
}

int64_t locus_prefix_match(struct locus_prefix *prefix, uint64_t now_ns, const uint64_t ids[], uint32_t count,
                           struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    const struct locus_evict_ops *evict = prefix->evict;
    uint32_t begin = table->count, kept, found, done = 0;
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || prefix->pool->home >= table->homes_max)
        return -EINVAL;
    if (evict->request)
        evict->request(prefix->policy, now_ns, ids, count);
    found = locus_prefix_look(prefix, ids, count, &kept);
    if (found > table->capacity - begin)
        found = table->capacity - begin;
    for (int error; done < found; done++) {
        error = adopt(prefix, table, find(prefix, ids[done]));
        if (error) {
            locus_owner_truncate(prefix->owner, table, begin);
            return error;
        }
    }
    for (uint32_t i = found; evict->miss && i < count; i++)
        if (block_of(prefix, ids[i]) == NONE)
            evict->miss(prefix->policy, ids[i]);
    counter_add(&prefix->counters.blocks_asked, count);
    counter_add(&prefix->counters.blocks_found, found);
    return found;
}

static int publish_fault(const struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, const struct locus_table *table)
{
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || count > table->count)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == 0)
            return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (locus_pool_check(prefix->pool, table->blocks[i]) && locus_block_home(table->blocks[i]) == prefix->pool->home)
            return -ESTALE;
    return 0;
}

int64_t locus_prefix_publish(struct locus_prefix *prefix, const uint64_t ids[], uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    int error = publish_fault(prefix, ids, count, table);
    uint32_t published = 0;
    for (uint32_t i = 0; !error && i < count; i++) {
        uint32_t block = locus_block_index(table->blocks[i]);
        bool ours = locus_block_home(table->blocks[i]) == prefix->pool->home;
        if (!ours || prefix->entry[block].id || block_of(prefix, ids[i]) != NONE)
            continue;
        prefix->entry[block].id = ids[i];
        prefix->entry[block].parent_id = i ? ids[i - 1] : 0;
        prefix->entry[block].fresh = true;
        index_add(prefix, ids[i], table->blocks[i]);
        pool_publish(prefix->pool, table->blocks[i]);
        if (prefix->sink.drop)
            prefix->sink.drop(prefix->sink.context, ids[i]);
        published++;
    }
    counter_add(&prefix->counters.blocks_published, published);
    return error ? error : (int64_t)published;
}

void locus_prefix_stats(const struct locus_prefix *prefix, struct locus_prefix_stats *out)
{
    counters_read(out, &prefix->counters, sizeof *out);
}
