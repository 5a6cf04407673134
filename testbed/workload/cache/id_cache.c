// SPDX-License-Identifier: Apache-2.0
//
// id_cache: walks through the requests and asks the policy for victims.
//
// Each different id has a number, its node of the tree of all prefixes. A node knows its parent, its tier and its block there while
// it is held, and its children that are kept in the near cache, in the order in which they were kept. Blocks of the near cache are
// used one after the other until all are; a tier below has a stack of free ones, because what is raised leaves from its middle.
//
// A trace's ids are numbers. Policies are told locus_id_of() of them, of a request's in one array for all requests: a trace of ids
// of 128 bits would take twice the memory.
#include "testbed/workload/cache/id_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/id_map.h"
#include "testbed/workload/trace.h"

struct node {
    uint32_t parent;            // TB_ID_NONE: it begins prompts
    uint32_t block;             // of its tier; LOCUS_EVICT_NONE: it is not held
    enum tb_id_tier tier;
    uint32_t oldest, newest;    // of its kept children
    uint32_t older, newer;      // siblings; valid while it is kept
    bool fresh;                 // held for the first time by the present request
};

struct tier {
    const struct locus_evict_ops *ops;
    void *state;
    uint32_t *held;             // the number of a block's id
    uint32_t *vacant;           // below the near cache: blocks that are free
    uint32_t blocks, unused;    // near: blocks from `unused` on were never used; below: so many are not vacant
};

struct cache {
    struct tier tier[TB_ID_TIERS];
    bool tree;
    struct tb_id_map map;
    struct node *node;          // by number
    struct locus_id *ids;       // of the present request
    struct tb_id_cache_result *result;
};

// Kept children matter only for `tree`.
static void link_child(struct cache *cache, uint32_t number)
{
    struct node *node = &cache->node[number], *parent = node->parent == TB_ID_NONE ? NULL : &cache->node[node->parent];
    if (!parent)
        return;
    node->older = parent->newest;
    node->newer = TB_ID_NONE;
    *(node->older == TB_ID_NONE ? &parent->oldest : &cache->node[node->older].newer) = number;
    parent->newest = number;
}

static void unlink_child(struct cache *cache, uint32_t number)
{
    struct node *node = &cache->node[number], *parent = node->parent == TB_ID_NONE ? NULL : &cache->node[node->parent];
    if (!parent)
        return;
    *(node->older == TB_ID_NONE ? &parent->oldest : &cache->node[node->older].newer) = node->newer;
    *(node->newer == TB_ID_NONE ? &parent->newest : &cache->node[node->newer].older) = node->older;
}

static struct locus_id id_of(const struct cache *cache, uint32_t number)
{
    return locus_id_of(cache->map.id[number]);
}

// A policy hears of the block above only if that is in the same tier.
static uint32_t parent_in(const struct cache *cache, const struct node *node, enum tb_id_tier tier)
{
    const struct node *parent = node->parent == TB_ID_NONE ? NULL : &cache->node[node->parent];
    return parent && parent->tier == tier ? parent->block : LOCUS_EVICT_NONE;
}

static void keep(struct cache *cache, uint32_t number)
{
    struct tier *near = &cache->tier[TB_ID_NEAR];
    struct node *node = &cache->node[number];
    near->ops->insert(near->state, node->block, id_of(cache, number), parent_in(cache, node, TB_ID_NEAR), node->fresh);
    node->fresh = false;
    link_child(cache, number);
}

static void take(struct cache *cache, uint32_t number)
{
    struct tier *near = &cache->tier[TB_ID_NEAR];
    near->ops->hit(near->state, cache->node[number].block);
    unlink_child(cache, number);
}

// --- the tiers below -----------------------------------------------------------------------------------------------------------

static void leave_below(struct cache *cache, uint32_t number)
{
    struct node *node = &cache->node[number];
    struct tier *tier = &cache->tier[node->tier];
    tier->ops->remove(tier->state, node->block);
    tier->vacant[--tier->unused] = node->block;
    node->block = LOCUS_EVICT_NONE;
}

// What left `from` goes to the next tier that there is, whose victim goes on before.
static void sink(struct cache *cache, uint32_t number, enum tb_id_tier from)
{
    unsigned to = from + 1;
    while (to < TB_ID_TIERS && cache->tier[to].blocks == 0)
        to++;
    cache->result->tier[from].left++;
    if (to == TB_ID_TIERS) {
        cache->result->lost++;
        return;
    }
    struct tier *tier = &cache->tier[to];
    struct node *node = &cache->node[number];
    if (tier->ops->miss)
        tier->ops->miss(tier->state, id_of(cache, number));
    if (tier->unused == tier->blocks) {
        uint32_t victim = tier->held[tier->ops->victim(tier->state)];
        leave_below(cache, victim);
        sink(cache, victim, to);
    }
    node->tier = to;
    node->block = tier->vacant[tier->unused++];
    tier->held[node->block] = number;
    tier->ops->insert(tier->state, node->block, id_of(cache, number), parent_in(cache, node, to), true);
    cache->result->tier[to].sunk++;
}

// --- the near cache ------------------------------------------------------------------------------------------------------------

// False: all blocks are in use. *victim is NONE if one was never used.
static bool has_room(const struct cache *cache, uint32_t *victim)
{
    const struct tier *near = &cache->tier[TB_ID_NEAR];
    bool unused = near->unused < near->blocks;
    *victim = unused ? LOCUS_EVICT_NONE : near->ops->victim(near->state);
    return unused || *victim != LOCUS_EVICT_NONE;
}

// A block that was never used, or that of the victim, or of one below it.
static uint32_t room(struct cache *cache, uint32_t victim)
{
    struct tier *near = &cache->tier[TB_ID_NEAR];
    if (victim == LOCUS_EVICT_NONE)
        return near->unused++;
    uint32_t block = victim;
    while (cache->tree && cache->node[near->held[block]].oldest != TB_ID_NONE)
        block = cache->node[cache->node[near->held[block]].oldest].block;
    uint32_t number = near->held[block];
    near->ops->remove(near->state, block);
    unlink_child(cache, number);
    cache->node[number].block = LOCUS_EVICT_NONE;
    cache->result->evictions++;
    sink(cache, number, TB_ID_NEAR);
    return block;
}

// It is missing, or below. What is below makes its room there first, so that the victim of the near cache may have it.
static bool insert(struct cache *cache, uint32_t number, bool missed)
{
    struct tier *near = &cache->tier[TB_ID_NEAR];
    struct node *node = &cache->node[number];
    if (near->ops->miss)
        near->ops->miss(near->state, id_of(cache, number));
    uint32_t victim;
    if (!has_room(cache, &victim))
        return false;
    if (node->block != LOCUS_EVICT_NONE) {
        struct tb_id_tier_result *below = &cache->result->tier[node->tier];
        ++*(missed ? &below->dropped : &below->hits);
        cache->result->held++;
        cache->result->hits += !missed;
        leave_below(cache, number);
    }
    uint32_t block = room(cache, victim);
    node->tier = TB_ID_NEAR;
    node->block = block;
    node->fresh = true;
    near->held[block] = number;
    return true;
}

static bool look_at(struct cache *cache, uint32_t number, bool *missed)
{
    const struct node *node = &cache->node[number];
    if (node->block == LOCUS_EVICT_NONE || node->tier != TB_ID_NEAR) {
        *missed |= node->block == LOCUS_EVICT_NONE;
        return insert(cache, number, *missed);
    }
    take(cache, number);
    cache->result->held++;
    cache->result->hits += !*missed;
    cache->result->tier[TB_ID_NEAR].hits += !*missed;
    return true;
}

static void serve(struct cache *cache, const struct tb_id_request *request)
{
    uint32_t parent = TB_ID_NONE, done;
    bool missed = false;
    for (uint32_t i = 0; i < request->count; i++)
        cache->ids[i] = locus_id_of(request->ids[i]);
    for (unsigned i = 0; i < TB_ID_TIERS; i++)
        if (cache->tier[i].blocks && cache->tier[i].ops->request)
            cache->tier[i].ops->request(cache->tier[i].state, request->arrival_ns, cache->ids, request->count);
    for (done = 0; done < request->count; done++) {
        uint32_t number = tb_id_map_number(&cache->map, request->ids[done]);
        cache->node[number].parent = parent;
        if (!look_at(cache, number, &missed))
            break;
        if (!cache->tree)
            keep(cache, number);
        parent = number;
    }
    for (uint32_t i = 0; cache->tree && i < done; i++)
        keep(cache, tb_id_map_number(&cache->map, request->ids[i]));
    cache->result->references += request->count;
}

// --- open and run --------------------------------------------------------------------------------------------------------------

static int tier_open(struct tier *tier, const struct tb_id_request requests[], size_t count)
{
    tier->held = malloc((tier->blocks + (size_t)1) * sizeof *tier->held);
    tier->vacant = malloc((tier->blocks + (size_t)1) * sizeof *tier->vacant);
    if (!tier->held || !tier->vacant)
        return -ENOMEM;
    for (uint32_t i = 0; i < tier->blocks; i++)
        tier->vacant[i] = i;
    int error = tier->ops->open(&tier->state, tier->blocks);
    if (!error && tier->ops == &tb_clairvoyant)
        error = tb_clairvoyant_foresee(tier->state, requests, count);
    return error;
}

static int cache_open(struct cache *cache, const struct tb_id_request requests[], size_t count)
{
    size_t ids = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        ids += requests[i].count;
        longest = requests[i].count > longest ? requests[i].count : longest;
    }
    int error = tb_id_map_open(&cache->map, ids);
    cache->node = malloc((ids + 1) * sizeof *cache->node);
    cache->ids = malloc((longest + 1) * sizeof *cache->ids);
    if (error || !cache->node || !cache->ids)
        return -ENOMEM;
    for (size_t i = 0; i < ids; i++)
        cache->node[i] = (struct node){.parent = TB_ID_NONE, .block = LOCUS_EVICT_NONE, .oldest = TB_ID_NONE, .newest = TB_ID_NONE};
    for (unsigned i = 0; i < TB_ID_TIERS && !error; i++)
        if (i == TB_ID_NEAR || cache->tier[i].blocks)
            error = tier_open(&cache->tier[i], requests, count);
    return error;
}

static void cache_close(struct cache *cache)
{
    for (unsigned i = 0; i < TB_ID_TIERS; i++) {
        struct tier *tier = &cache->tier[i];
        tier->ops->close(tier->state);
        free(tier->held);
        free(tier->vacant);
        cache->result->tier[i].kept = tier->unused;
    }
    free(cache->node);
    free(cache->ids);
    tb_id_map_close(&cache->map);
}

int tb_id_cache_run(const struct tb_id_request requests[], size_t count, const struct tb_id_cache_config *config,
                    struct tb_id_cache_result *out)
{
    const struct locus_evict_ops *below = config->alike ? config->ops : &locus_evict_lru;
    struct cache cache = {.tier = {[TB_ID_NEAR] = {.ops = config->ops, .blocks = config->blocks},
                                   [TB_ID_FAR] = {.ops = below, .blocks = config->far_blocks},
                                   [TB_ID_FILE] = {.ops = below, .blocks = config->file_blocks}},
                          .tree = config->tree,
                          .result = out};
    *out = (struct tb_id_cache_result){0};
    int error = cache_open(&cache, requests, count);
    for (size_t i = 0; !error && i < count; i++)
        serve(&cache, &requests[i]);
    cache_close(&cache);
    return error;
}

int tb_id_requests(const struct tb_trace *trace, struct tb_id_request **out)
{
    struct tb_id_request *requests = malloc((trace->count + 1) * sizeof *requests);
    *out = requests;
    for (size_t i = 0; requests && i < trace->count; i++)
        requests[i] = (struct tb_id_request){
            .arrival_ns = trace->requests[i].arrival_ns,
            .ids = trace->ids ? trace->ids + trace->requests[i].ids : NULL,
            .count = trace->requests[i].ids_count,
        };
    return requests ? 0 : -ENOMEM;
}
