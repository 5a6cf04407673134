// SPDX-License-Identifier: Apache-2.0
//
// prefix: an index from ids to blocks, and for each block its id, its parent's id, and the kept blocks below it.
//
//     index       from ids to blocks: prefix_index.h
//     entry[]     by block: what it was published as, and its place among the kept children of its parent
//     tokens[]    by block, if the cache keeps them: what its KV was computed from
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
#include <sys/random.h>

#include "locus/prefix.h"
#include "placement/base/config.h"
#include "placement/base/counters.h"
#include "placement/base/rules.h"
#include "placement/blocks/pools/shared.h"
#include "prefix_index.h"

#define AHEAD 64u               // ids whose lines are on their way, at most as many as a word has bits
#define NONE LOCUS_EVICT_NONE
#define NOBODY ((struct locus_id){{0}})

struct entry {
    struct locus_id id, parent_id; // none: not published; a chain's first one
    uint32_t above;             // NONE: in no list
    uint32_t oldest, newest;    // kept blocks below this one
    uint32_t before, after;     // in the list of `above`
    bool fresh;                 // not kept since it was published
    bool offloading;               // not published any more, and out: a store reads it. parent_id is its own id
};

struct locus_prefix {
    struct locus_owner *owner;
    struct locus_pool *pool;
    const struct locus_evict_ops *evict;
    void *policy;
    struct prefix_index index;
    struct entry *entry;
    struct locus_region *tokens_region;
    uint32_t *tokens;           // NULL: they are not kept
    uint32_t tokens_per_block;
    struct locus_prefix_check check; // without `same`: there is none
    struct locus_prefix_key key;
    struct pool_keeper keeper;
    uint32_t victim, above;     // the last one that the policy named, and the block above the one that left instead; NONE: itself
    struct locus_id above_id;
    struct locus_offload_ops connector; // without store: there is none
    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_prefix_stats counters;
    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_prefix_offload_stats offloaded;
};

// --- contents ------------------------------------------------------------------------------------------------------------------

static inline uint32_t block_of(const struct locus_prefix *prefix, struct locus_id id)
{
    locus_block block = index_find(&prefix->index, id);
    return block == LOCUS_BLOCK_NONE ? NONE : locus_block_index(block);
}

static locus_block handle(const struct locus_prefix *prefix, uint32_t block)
{
    return locus_block_make(prefix->pool->home, block, prefix->pool->generation[block]);
}

static uint32_t *tokens_of(const struct locus_prefix *prefix, uint32_t block)
{
    return prefix->tokens + block * (size_t)prefix->tokens_per_block;
}

// Does the block, which has the id ids[i], hold what the asker means by it?
static bool is_meant(const struct locus_prefix *prefix, uint32_t block, const struct locus_id ids[], const uint32_t tokens[],
                     uint32_t i)
{
    const uint32_t per_block = prefix->tokens_per_block;
    if (prefix->tokens)
        return !memcmp(tokens_of(prefix, block), tokens + i * (size_t)per_block, per_block * sizeof *tokens);
    return !prefix->check.same || prefix->check.same(prefix->check.context, handle(prefix, block), ids, tokens, i);
}

static bool tokens_missing(const struct locus_prefix *prefix, const uint32_t tokens[], uint32_t count)
{
    return prefix->tokens && !tokens && count;
}

// --- kept blocks ---------------------------------------------------------------------------------------------------------------

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
    prefix->evict->insert(prefix->policy, block, entry->id, told, entry->fresh);
    entry->fresh = false;
    counter_add(&prefix->counters.blocks_cached, 1);
}

static void take(struct locus_prefix *prefix, uint32_t block)
{
    unlink_from_above(prefix, block);
    prefix->evict->hit(prefix->policy, block);
    counter_add(&prefix->counters.blocks_cached, UINT64_MAX);
}

// It is kept by nobody any more, and the pool has not heard of it.
static void unkeep(struct locus_prefix *prefix, uint32_t block)
{
    unlink_from_above(prefix, block);
    prefix->evict->remove(prefix->policy, block);
    index_drop(&prefix->index, prefix->entry[block].id);
    prefix->entry[block].id = NOBODY;
    counter_add(&prefix->counters.blocks_known, UINT64_MAX);
    counter_add(&prefix->counters.blocks_cached, UINT64_MAX);
    counter_add(&prefix->counters.blocks_evicted, 1);
}

static void store(struct locus_prefix *prefix, uint32_t block)
{
    const struct entry *entry = &prefix->entry[block];
    int error = prefix->connector.store(prefix->connector.context, entry->id, entry->parent_id,
                                        locus_pool_address(prefix->pool, handle(prefix, block)), prefix->pool->block_bytes);
    counter_add(error ? &prefix->offloaded.blocks_lost : &prefix->offloaded.blocks_offloaded, 1);
}

static void leave(struct locus_prefix *prefix, uint32_t block)
{
    if (prefix->connector.store)
        store(prefix, block);
    unkeep(prefix, block);
    pool_evict(prefix->pool, handle(prefix, block));
}

// The block that leaves for this victim: the end of a way down from it.
static uint32_t lowest(struct locus_prefix *prefix, uint32_t victim)
{
    bool again = victim == prefix->victim && prefix->above != NONE && pool_is_kept(prefix->pool, prefix->above) &&
                 locus_id_equal(prefix->entry[prefix->above].id, prefix->above_id);
    uint32_t block = again ? prefix->above : victim;
    while (prefix->entry[block].oldest != NONE)
        block = prefix->entry[block].oldest;
    prefix->victim = victim;
    prefix->above = block == victim ? NONE : prefix->entry[block].above;
    prefix->above_id = prefix->above == NONE ? NOBODY : prefix->entry[prefix->above].id;
    return block;
}

static uint32_t shrink(struct locus_prefix *prefix, uint32_t count)
{
    uint32_t done = 0;
    for (; done < count && prefix->counters.blocks_cached; done++)
        leave(prefix, lowest(prefix, prefix->evict->victim(prefix->policy)));
    return done;
}

static void give(void *context, uint32_t count)
{
    shrink(context, count);
}

uint32_t locus_prefix_evict(struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    return locus_owner_held_here(prefix->owner) ? shrink(prefix, count) : 0;
}

// --- the connector -------------------------------------------------------------------------------------------------------------

// The block is out from now on, as if a request had found it; but nobody can find it, and done() frees it.
static bool start(struct locus_prefix *prefix, uint32_t block)
{
    struct entry *entry = &prefix->entry[block];
    struct locus_id id = entry->id;
    locus_block it = handle(prefix, block);
    if (prefix->connector.start(prefix->connector.context, id, entry->parent_id, locus_pool_address(prefix->pool, it),
                                prefix->pool->block_bytes, it))
        return false;
    unkeep(prefix, block);
    entry->offloading = true;
    entry->parent_id = id;
    pool_revive(prefix->pool, it, prefix->connector.tag);
    pool_unpublish(prefix->pool, it);
    counter_add(&prefix->offloaded.blocks_offloading, 1);
    return true;
}

uint32_t locus_prefix_offload_start(struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    uint32_t done = 0;
    if (!prefix->connector.start || !locus_owner_held_here(prefix->owner))
        return 0;
    while (done < count && prefix->counters.blocks_cached && start(prefix, lowest(prefix, prefix->evict->victim(prefix->policy))))
        done++;
    return done;
}

int locus_prefix_offload_done(struct locus_prefix *prefix, locus_block block, int error)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (locus_pool_check(prefix->pool, block) || !prefix->entry[locus_block_index(block)].offloading)
        return -ESTALE;
    struct entry *entry = &prefix->entry[locus_block_index(block)];
    entry->offloading = false;
    counter_add(&prefix->offloaded.blocks_offloading, UINT64_MAX);
    counter_add(error ? &prefix->offloaded.blocks_lost : &prefix->offloaded.blocks_offloaded, 1);
    locus_pool_free_bulk(prefix->pool, 1, &block, prefix->connector.tag);
    if (!error && prefix->connector.drop && block_of(prefix, entry->parent_id) != NONE)
        prefix->connector.drop(prefix->connector.context, entry->parent_id);
    return 0;
}

// Into the table's blocks from `first` on. How many of the first ids are there.
static uint32_t load(struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count, const struct locus_table *table,
                     uint32_t first)
{
    void *blocks[AHEAD];
    uint32_t done = 0, loaded = AHEAD;
    for (uint32_t some; done < count && loaded == AHEAD; done += loaded < some ? loaded : some) {
        some = count - done < AHEAD ? count - done : AHEAD;
        for (uint32_t i = 0; i < some; i++)
            blocks[i] = locus_pool_address(prefix->pool, table->blocks[first + done + i]);
        loaded = prefix->connector.load(prefix->connector.context, ids + done, blocks, some, prefix->pool->block_bytes);
    }
    return done;
}

static int load_fault(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count,
                      const struct locus_table *table)
{
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || prefix->pool->home >= table->homes_max)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (locus_id_is_none(ids[i]))
            return -EINVAL;
    return 0;
}

uint32_t locus_prefix_load_probe(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count,
                                 const struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    const struct locus_offload_ops *connector = &prefix->connector;
    uint32_t begin = table->count, wanted = count < table->capacity ? count : table->capacity;
    if (!connector->store || wanted <= begin || load_fault(prefix, ids, count, table))
        return 0;
    uint32_t has = connector->probe(connector->context, ids + begin, wanted - begin);
    return has < wanted - begin ? has : wanted - begin;
}

int64_t prefix_load(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                    struct locus_table *table, uint32_t has)
{
    int error = load_fault(prefix, ids, count, table);
    if (!error && tokens_missing(prefix, tokens, count))
        error = -EINVAL;
    uint32_t begin = table->count;
    if (!error && has)
        error = locus_owner_grow(prefix->owner, table, has);
    if (error || !has)
        return error;
    uint32_t loaded = load(prefix, ids + begin, has, table, begin);
    if (loaded < has)
        locus_owner_truncate(prefix->owner, table, begin + loaded);
    locus_prefix_publish(prefix, ids, tokens, begin + loaded, table);
    counter_add(&prefix->offloaded.blocks_loaded, loaded);
    counter_add(&prefix->offloaded.blocks_load_failed, has - loaded);
    return loaded;
}

int64_t locus_prefix_load(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                          struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    return prefix_load(prefix, ids, tokens, count, table, locus_prefix_load_probe(prefix, ids, count, table));
}

void locus_prefix_offload_stats(const struct locus_prefix *prefix, struct locus_prefix_offload_stats *out)
{
    counters_read(out, &prefix->offloaded, sizeof *out);
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static int open_fault(const struct locus_prefix_config *config)
{
    if (!config->owner || (config->tokens_per_block && config->check))
        return -EINVAL;
    const struct locus_pool *pool = locus_owner_pool(config->owner);
    if (!locus_owner_held_here(config->owner))
        return -EPERM;
    if (!pool->sharing)
        return -EINVAL;
    return pool->keeper ? -EBUSY : 0;
}

static int connector_take(struct locus_offload_ops *own, const struct locus_offload_ops *given)
{
    int error = config_take(own, sizeof *own, given);
    return error ? error : own->store && own->probe && own->load ? 0 : -EINVAL;
}

static void prefix_free(struct locus_prefix *prefix)
{
    prefix->evict->close(prefix->policy);
    index_close(&prefix->index);
    locus_region_close(prefix->tokens_region);
    free(prefix->entry);
    free(prefix);
}

static int check_take(struct locus_prefix_check *own, const struct locus_prefix_check *given)
{
    int error = config_take(own, sizeof *own, given);
    return error ? error : own->same ? 0 : -EINVAL;
}

static int key_draw(struct locus_prefix_key *key)
{
    ssize_t drawn;
    do
        drawn = getrandom(key, sizeof *key, 0);
    while (drawn < 0 && errno == EINTR);
    return drawn == sizeof *key ? 0 : drawn < 0 ? -errno : -EIO;
}

static int tokens_open(struct locus_prefix *prefix, uint32_t blocks)
{
    uint64_t block_bytes = prefix->tokens_per_block * (uint64_t)sizeof *prefix->tokens;
    int error = block_bytes ? memory_beside(&prefix->tokens_region, prefix->pool, blocks * block_bytes) : 0;
    if (!error && block_bytes)
        prefix->tokens = locus_region_base(prefix->tokens_region);
    return error;
}

static int arrays_open(struct locus_prefix *prefix, uint32_t blocks)
{
    int error = index_open(&prefix->index, prefix->pool);
    if (!error)
        error = tokens_open(prefix, blocks);
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
    struct locus_offload_ops connector = {0};
    struct locus_prefix_check check = {0};
    struct locus_prefix_key key;
    int error = config_take(&config, sizeof config, given);
    if (!error)
        error = open_fault(&config);
    if (!error && config.offload)
        error = connector_take(&connector, config.offload);
    if (!error && config.check)
        error = check_take(&check, config.check);
    if (!error && config.key)
        key = *config.key;
    else if (!error)
        error = key_draw(&key);
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
        .connector = connector,
        .check = check,
        .key = key,
        .tokens_per_block = config.tokens_per_block,
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
    if (prefix->offloaded.blocks_offloading)
        return -EBUSY;
    prefix->connector.store = NULL;
    shrink(prefix, UINT32_MAX);
    for (uint32_t i = 0; i < prefix->pool->blocks; i++)
        if (!locus_id_is_none(prefix->entry[i].id))
            pool_unpublish(prefix->pool, handle(prefix, i));
    prefix->pool->keeper = NULL;
    prefix_free(prefix);
    return 0;
}

// --- match and publish ---------------------------------------------------------------------------------------------------------

uint32_t locus_prefix_probe(const struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                            uint32_t *kept)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    uint32_t found = 0;
    *kept = 0;
    if (tokens_missing(prefix, tokens, count))
        return 0;
    for (uint32_t i = 0; i < AHEAD && i < count; i++)
        index_fetch(index_line_of(&prefix->index, ids[i]));
    for (; found < count; found++) {
        if (found + AHEAD < count)
            index_fetch(index_line_of(&prefix->index, ids[found + AHEAD]));
        uint32_t block = block_of(prefix, ids[found]);
        if (block == NONE || !is_meant(prefix, block, ids, tokens, found))
            break;
        *kept += pool_is_kept(prefix->pool, block);
    }
    return found;
}

// At most AHEAD ids. The few that are further are looked for at the end, their second lines all on their way at once. Which ones
// these are is kept in a register: a store whose place depends on what is not here yet would hold back the loads behind it.
static uint32_t find_batch(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    const struct prefix_index *index = &prefix->index;
    uint64_t far = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        index_fetch(index_line_of(index, ids[i]));
    for (uint32_t i = 0; i < count; i++) {
        bool further;
        blocks[i] = index_find_near(index_line_of(index, ids[i]), ids[i], &further);
        found += blocks[i] != LOCUS_BLOCK_NONE;
        far |= (uint64_t)further << i;
    }
    for (uint64_t left = far; left; left &= left - 1)
        index_fetch(index_line_after(index, ids[__builtin_ctzll(left)]));
    for (; far; far &= far - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(far);
        blocks[i] = index_find_further(index, ids[i]);
        found += blocks[i] != LOCUS_BLOCK_NONE;
    }
    return found;
}

uint32_t locus_prefix_find(const struct locus_prefix *prefix, const struct locus_id ids[], uint32_t count, locus_block blocks[])
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

int64_t locus_prefix_match(struct locus_prefix *prefix, uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[],
                           uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    const struct locus_evict_ops *evict = prefix->evict;
    uint32_t begin = table->count, kept, found, done = 0;
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || prefix->pool->home >= table->homes_max || tokens_missing(prefix, tokens, count))
        return -EINVAL;
    if (evict->request)
        evict->request(prefix->policy, now_ns, ids, count);
    found = locus_prefix_probe(prefix, ids, tokens, count, &kept);
    counter_add(&prefix->counters.blocks_refused, found < count && block_of(prefix, ids[found]) != NONE);
    if (found > table->capacity - begin)
        found = table->capacity - begin;
    for (int error; done < found; done++) {
        error = adopt(prefix, table, index_find(&prefix->index, ids[done]));
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

static int publish_fault(const struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                         const struct locus_table *table)
{
    if (!locus_owner_held_here(prefix->owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE || count > table->count || tokens_missing(prefix, tokens, count))
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (locus_id_is_none(ids[i]))
            return -EINVAL;
    for (uint32_t i = table->dropped; i < count; i++)
        if (locus_pool_check(prefix->pool, table->blocks[i]) && locus_block_home(table->blocks[i]) == prefix->pool->home)
            return -ESTALE;
    return 0;
}

// NULL: the block is of another home, or was dropped.
static const struct entry *entry_of(const struct locus_prefix *prefix, locus_block it)
{
    bool own = it != LOCUS_BLOCK_NONE && locus_block_home(it) == prefix->pool->home;
    return own ? &prefix->entry[locus_block_index(it)] : NULL;
}

static void publish(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t i, locus_block it)
{
    uint32_t block = locus_block_index(it), per_block = prefix->tokens_per_block;
    struct entry *entry = &prefix->entry[block];
    entry->id = ids[i];
    entry->parent_id = i ? ids[i - 1] : NOBODY;
    entry->fresh = true;
    if (prefix->tokens)
        memcpy(tokens_of(prefix, block), tokens + i * (size_t)per_block, per_block * sizeof *tokens);
    index_add(&prefix->index, ids[i], it);
    counter_add(&prefix->counters.blocks_known, 1);
    pool_publish(prefix->pool, it);
    if (prefix->connector.drop)
        prefix->connector.drop(prefix->connector.context, ids[i]);
}

// Below a block that is not what its id says, the ids name other contents than they do for whoever has the right one.
int64_t locus_prefix_publish(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                             struct locus_table *table)
{
    RULE(locus_owner_held_here(prefix->owner), RULE_ROLE);
    int error = publish_fault(prefix, ids, tokens, count, table);
    uint32_t published = 0;
    for (uint32_t i = 0; !error && i < count; i++) {
        const struct entry *own = entry_of(prefix, table->blocks[i]);
        if (own && locus_id_equal(own->id, ids[i]))
            continue;
        uint32_t there = block_of(prefix, ids[i]);
        if (there != NONE && !is_meant(prefix, there, ids, tokens, i)) {
            counter_add(&prefix->counters.blocks_refused, 1);
            break;
        }
        if (there != NONE || !own || !locus_id_is_none(own->id))
            continue;
        publish(prefix, ids, tokens, i, table->blocks[i]);
        published++;
    }
    counter_add(&prefix->counters.blocks_published, published);
    return error ? error : (int64_t)published;
}

const struct locus_prefix_key *locus_prefix_key_of(const struct locus_prefix *prefix)
{
    return &prefix->key;
}

void locus_prefix_stats(const struct locus_prefix *prefix, struct locus_prefix_stats *out)
{
    counters_read(out, &prefix->counters, sizeof *out);
}
