// SPDX-License-Identifier: Apache-2.0
//
// id_cache: walks through the requests and asks the policy for victims.
//
// Each different id has a number, its node of the tree of all prefixes. A node knows its parent, its block while it is held, and
// its kept children in the order in which they were kept.
#include "testbed/workload/cache/id_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/id_map.h"
#include "testbed/workload/trace.h"

struct node {
    uint32_t parent;            // TB_ID_NONE: it begins prompts
    uint32_t block;             // LOCUS_EVICT_NONE: it is not held
    uint32_t oldest, newest;    // of its kept children
    uint32_t older, newer;      // siblings; valid while it is kept
    bool fresh;                 // held for the first time by the present request
};

struct cache {
    const struct locus_evict_ops *ops;
    void *state;
    bool tree;
    struct tb_id_map map;
    struct node *node;          // by number
    uint32_t *held;             // the number of a block's id
    uint32_t blocks, unused;    // blocks from `unused` on were never used
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

static void keep(struct cache *cache, uint32_t number)
{
    struct node *node = &cache->node[number];
    uint32_t parent = node->parent == TB_ID_NONE ? LOCUS_EVICT_NONE : cache->node[node->parent].block;
    cache->ops->keep(cache->state, node->block, cache->map.id[number], parent, node->fresh);
    node->fresh = false;
    link_child(cache, number);
}

static void take(struct cache *cache, uint32_t number)
{
    cache->ops->take(cache->state, cache->node[number].block);
    unlink_child(cache, number);
}

// A block that was never used, or that of a victim. LOCUS_EVICT_NONE: all are in use.
static uint32_t room(struct cache *cache)
{
    if (cache->unused < cache->blocks)
        return cache->unused++;
    uint32_t block = cache->ops->victim(cache->state);
    if (block == LOCUS_EVICT_NONE)
        return block;
    while (cache->tree && cache->node[cache->held[block]].oldest != TB_ID_NONE)
        block = cache->node[cache->node[cache->held[block]].oldest].block;
    cache->ops->leave(cache->state, block);
    unlink_child(cache, cache->held[block]);
    cache->node[cache->held[block]].block = LOCUS_EVICT_NONE;
    cache->result->evictions++;
    return block;
}

static bool insert(struct cache *cache, uint32_t number)
{
    struct node *node = &cache->node[number];
    if (cache->ops->miss)
        cache->ops->miss(cache->state, cache->map.id[number]);
    uint32_t block = room(cache);
    if (block == LOCUS_EVICT_NONE)
        return false;
    node->block = block;
    node->fresh = true;
    cache->held[block] = number;
    return true;
}

static void serve(struct cache *cache, const struct tb_id_request *request)
{
    uint32_t parent = TB_ID_NONE, done;
    bool missed = false;
    if (cache->ops->request)
        cache->ops->request(cache->state, request->arrival_ns, request->ids, request->count);
    for (done = 0; done < request->count; done++) {
        uint32_t number = tb_id_map_number(&cache->map, request->ids[done]);
        cache->node[number].parent = parent;
        if (cache->node[number].block != LOCUS_EVICT_NONE) {
            take(cache, number);
            cache->result->held++;
            cache->result->hits += !missed;
        } else {
            missed = true;
            if (!insert(cache, number))
                break;
        }
        if (!cache->tree)
            keep(cache, number);
        parent = number;
    }
    for (uint32_t i = 0; cache->tree && i < done; i++)
        keep(cache, tb_id_map_number(&cache->map, request->ids[i]));
    cache->result->references += request->count;
}

static int cache_open(struct cache *cache, const struct tb_id_request requests[], size_t count,
                      const struct tb_id_cache_config *config)
{
    size_t ids = 0;
    for (size_t i = 0; i < count; i++)
        ids += requests[i].count;
    int error = tb_id_map_open(&cache->map, ids);
    cache->node = malloc((ids + 1) * sizeof *cache->node);
    cache->held = malloc((config->blocks + (size_t)1) * sizeof *cache->held);
    if (error || !cache->node || !cache->held)
        return -ENOMEM;
    for (size_t i = 0; i < ids; i++)
        cache->node[i] = (struct node){.parent = TB_ID_NONE, .block = LOCUS_EVICT_NONE, .oldest = TB_ID_NONE, .newest = TB_ID_NONE};
    error = config->ops->open(&cache->state, config->blocks);
    if (!error && config->ops == &tb_clairvoyant)
        error = tb_clairvoyant_foresee(cache->state, requests, count);
    return error;
}

int tb_id_cache_run(const struct tb_id_request requests[], size_t count, const struct tb_id_cache_config *config,
                    struct tb_id_cache_result *out)
{
    struct cache cache = {.ops = config->ops, .tree = config->tree, .blocks = config->blocks, .result = out};
    *out = (struct tb_id_cache_result){0};
    int error = cache_open(&cache, requests, count, config);
    for (size_t i = 0; !error && i < count; i++)
        serve(&cache, &requests[i]);
    config->ops->close(cache.state);
    free(cache.held);
    free(cache.node);
    tb_id_map_close(&cache.map);
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
