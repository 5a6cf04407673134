// SPDX-License-Identifier: Apache-2.0
//
// domain: which nodes a domain uses, and what is on each of them.
//
// All that an owner uses constantly is on its own node: pool, lanes, and the struct home with its loans. Only the domain
// itself and the routes, which nobody writes after open, are where the opening thread runs.

#include "domain_internal.h"
#include "placement/base/config.h"
#include "placement/base/rules.h"
#include "placement/blocks/owner_internal.h"
#include "placement/blocks/pool_internal.h"
#include "placement/memory/region_internal.h"

#include "topo/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK_DEFAULT 256u // a prompt of 4096 tokens in blocks of 16; arbitrary
#define DISTANCE_UNKNOWN 255u // the largest that firmware can say

static size_t round_up(size_t bytes)
{
    return (bytes + LOCUS_CACHE_LINE - 1) / LOCUS_CACHE_LINE * LOCUS_CACHE_LINE;
}

static uint32_t blocks_of(const struct locus_domain_config *config, uint32_t ordinal)
{
    return config->blocks_of ? config->blocks_of[ordinal] : config->blocks;
}

static uint32_t blocks_most(const struct locus_domain_config *config)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i == 0 || i < config->nodes_count; i++)
        most = blocks_of(config, i) > most ? blocks_of(config, i) : most;
    return most;
}

// `config` is the caller's: domain->config does not keep its arrays. `node` is the policy's.
static struct locus_pool_config pool_config(const struct locus_domain_config *config, uint32_t ordinal, int node)
{
    return (struct locus_pool_config){
        .size = sizeof(struct locus_pool_config),
        .home = ordinal,
        .blocks = blocks_of(config, ordinal),
        .block_bytes = config->block_bytes,
        .page = config->page,
        .policy = config->policy,
        .node = node,
        .nodes = config->among,
        .populate = config->populate,
        .tags = config->tags,
        .shared = config->shared,
    };
}

// What is wrong with a config, in words; NULL: nothing that shows without asking the machine.
static const char *config_fault(const struct locus_domain_config *config)
{
    if (config->lanes == 0 || config->lanes > LOCUS_LANES_MAX)
        return "lanes is 0, so that nothing could come home, or more than 65536 (LOCUS_LANES_MAX)";
    if ((unsigned)config->exhausted > LOCUS_EXHAUSTED_BORROW)
        return "exhausted is out of range";
    if (config->chunk > LOCUS_BLOCKS_MAX)
        return "chunk is more than 64 Mi (LOCUS_BLOCKS_MAX)";
    if (config->nodes_count && !config->nodes)
        return "nodes_count without nodes";
    if (config->nodes_count > LOCUS_HOMES_MAX)
        return "more than 64 nodes (LOCUS_HOMES_MAX)";
    if (config->blocks_of && config->nodes_count == 0)
        return "blocks_of without nodes: its length would be unknown";
    for (uint32_t i = 0; i == 0 || i < config->nodes_count; i++) {
        struct locus_pool_config pool = pool_config(config, i, LOCUS_NODE_ANY);
        if (config->spare > pool.blocks)
            return "spare is more than a home has blocks";
        if (pool_config_fault(&pool))
            return pool_config_fault(&pool);
    }
    return NULL;
}

static int config_check(const struct locus_domain_config *config)
{
    if (!config_fault(config))
        return 0;
    return config->nodes_count > LOCUS_HOMES_MAX && config->nodes ? -E2BIG : -EINVAL;
}

static bool usable(const struct locus_topo_node *node)
{
    return node && node->allowed && (locus_topo_node_by_default(node) || node->kind == LOCUS_NODE_GPU_MEMORY);
}

static bool usable_by_default(const struct locus_topo_node *node)
{
    return node->allowed && locus_topo_node_by_default(node);
}

static int nodes_choose(struct locus_domain *domain, const struct locus_domain_config *config, const struct locus_topo *topo)
{
    const struct locus_topo_node *all = locus_topo_nodes(topo);
    for (uint32_t i = 0; i < config->nodes_count; i++) {
        if (!usable(locus_topo_node(topo, config->nodes[i])))
            return -EINVAL;
        domain->nodes[domain->homes_count++] = config->nodes[i];
    }
    for (unsigned i = 0; config->nodes_count == 0 && i < locus_topo_info(topo)->nodes_count; i++) {
        if (!usable_by_default(&all[i]))
            continue;
        if (domain->homes_count == LOCUS_HOMES_MAX)
            return -E2BIG;
        domain->nodes[domain->homes_count++] = all[i].os_index;
    }
    return domain->homes_count ? 0 : -EINVAL;
}

// Among equally near homes the one after the borrower comes first, so that not all borrowers ask the same home.
static void lenders_sort(const struct locus_domain *domain, struct home *home, const struct locus_topo *topo)
{
    unsigned distance[LOCUS_HOMES_MAX];
    for (uint32_t i = 1; i < domain->homes_count; i++) {
        uint32_t lender = (home->ordinal + i) % domain->homes_count, at = i - 1;
        unsigned far = locus_topo_distance(topo, domain->nodes[home->ordinal], domain->nodes[lender]);
        if (far == 0)
            far = DISTANCE_UNKNOWN;
        for (; at > 0 && distance[at - 1] > far; at--) {
            distance[at] = distance[at - 1];
            home->lenders[at] = home->lenders[at - 1];
        }
        distance[at] = far;
        home->lenders[at] = (uint8_t)lender;
    }
}

static int node_of_policy(const struct locus_domain *domain, uint32_t ordinal)
{
    return domain->config.policy == LOCUS_POLICY_FIRST_TOUCH ? LOCUS_NODE_ANY : domain->nodes[ordinal];
}

static int home_memory(struct locus_domain *domain, uint32_t ordinal)
{
    struct locus_region *region;
    struct locus_region_config config = {
        .size = sizeof config,
        .bytes = round_up(sizeof(struct home)) + domain->homes_count * domain->loan_bytes,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = domain->config.policy,
        .node = node_of_policy(domain, ordinal),
        .populate = true,
    };
    int error = locus_region_open(&region, &config);
    if (error)
        return error;
    struct home *home = locus_region_base(region);
    *home = (struct home){.region = region, .ordinal = ordinal, .loans = (char *)home + round_up(sizeof *home)};
    locus_mailbox_init(&home->desk);
    locus_mailbox_init(&home->finished);
    domain->homes[ordinal] = home;
    return 0;
}

static int home_open(struct locus_domain *domain, uint32_t ordinal, const struct locus_domain_config *config)
{
    int error = home_memory(domain, ordinal);
    if (error)
        return error;
    struct home *home = domain->homes[ordinal];
    struct locus_node_memory memory;
    struct locus_pool_config pool = pool_config(config, ordinal, node_of_policy(domain, ordinal));
    error = locus_node_memory_read(domain->nodes[ordinal], &memory);
    if (!error)
        error = locus_pool_open(&home->pool, &pool);
    if (error)
        return error;
    home->node_bytes = memory.total_bytes;
    struct locus_owner_config owner = {.size = sizeof owner,
                                       .pool = home->pool,
                                       .lanes = config->lanes,
                                       .backpressure = config->backpressure};
    return locus_owner_open(&home->owner, &owner); // its grow never waits: the domain's does, and answers the neighbours meanwhile
}

static int routes_open(struct locus_domain *domain)
{
    domain->routes = calloc(domain->config.lanes, sizeof *domain->routes);
    if (!domain->routes)
        return -ENOMEM;
    int error = 0;
    int (*add)(struct locus_route *, const struct locus_owner *, uint32_t) =
        domain->config.exclusive ? locus_route_add_exclusive : locus_route_add;
    for (uint32_t lane = 0; lane < domain->config.lanes; lane++)
        for (uint32_t i = 0; i < domain->homes_count && !error; i++)
            error = add(&domain->routes[lane], domain->homes[i]->owner, lane);
    return error;
}

static int homes_open(struct locus_domain *domain, const struct locus_domain_config *config)
{
    struct locus_topo *topo;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    if (error)
        return error;
    error = nodes_choose(domain, config, topo);
    for (uint32_t i = 0; i < domain->homes_count && !error; i++) {
        error = home_open(domain, i, config);
        if (!error)
            lenders_sort(domain, domain->homes[i], topo);
    }
    locus_topo_close(topo);
    return error;
}

int locus_domain_open(struct locus_domain **out, const struct locus_domain_config *given)
{
    struct locus_domain_config config;
    int error = config_take(&config, sizeof config, given);
    if (!error)
        error = config_check(&config);
    if (error)
        return error;
    struct locus_domain *domain = calloc(1, sizeof *domain);
    if (!domain)
        return -ENOMEM;
    domain->config = config;
    domain->config.nodes = NULL;
    domain->config.blocks_of = NULL;
    if (config.chunk == 0)
        domain->config.chunk = CHUNK_DEFAULT;
    if (domain->config.chunk > blocks_most(&config))
        domain->config.chunk = blocks_most(&config); // nobody can lend more
    domain->loan_bytes = round_up(sizeof(struct loan) + domain->config.chunk * sizeof(locus_block));
    error = homes_open(domain, &config);
    if (!error)
        error = routes_open(domain);
    if (error) {
        locus_domain_close(domain);
        return error;
    }
    *out = domain;
    return 0;
}

// The nodes of the homes, as open would choose them; returns how many.
static uint32_t nodes_wanted(const struct locus_domain_config *config, int nodes[LOCUS_HOMES_MAX])
{
    struct locus_topo *topo;
    uint32_t count = 0;
    for (; count < config->nodes_count && count < LOCUS_HOMES_MAX; count++)
        nodes[count] = config->nodes[count];
    if (config->nodes_count > 0 || locus_topo_open(&topo, NULL, NULL, 0))
        return count;
    const struct locus_topo_node *all = locus_topo_nodes(topo);
    for (unsigned i = 0; i < locus_topo_info(topo)->nodes_count && count < LOCUS_HOMES_MAX; i++)
        if (usable_by_default(&all[i]))
            nodes[count++] = all[i].os_index;
    locus_topo_close(topo);
    return count;
}

// The reason of the first home that has one. What the homes before it took is not free for it.
static bool home_cause(const struct locus_domain_config *config, int error, char *why, size_t why_bytes)
{
    int nodes[LOCUS_HOMES_MAX];
    uint32_t count = nodes_wanted(config, nodes);
    uint64_t beside_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool placed = config->policy != LOCUS_POLICY_FIRST_TOUCH;
        struct locus_pool_config pool = pool_config(config, i, placed ? nodes[i] : LOCUS_NODE_ANY);
        if (abs(error) == EINVAL && region_node_why(nodes[i], why, why_bytes))
            return true;
        if (pool_cause(&pool, beside_bytes, error, why, why_bytes))
            return true;
        beside_bytes += (uint64_t)pool.blocks * pool.block_bytes;
    }
    return false;
}

void locus_domain_why(const struct locus_domain_config *given, int error, char *why, size_t why_bytes)
{
    struct locus_domain_config config;
    int taken = config_take(&config, sizeof config, given);
    const char *fault = taken ? config_why(taken) : config_fault(&config);
    if (fault) {
        snprintf(why, why_bytes, "%s", fault);
    } else if (!home_cause(&config, error, why, why_bytes)) {
        int nodes[LOCUS_HOMES_MAX] = {LOCUS_NODE_ANY};
        nodes_wanted(&config, nodes);
        struct locus_pool_config pool = pool_config(&config, 0, nodes[0]);
        locus_pool_why(&pool, error, why, why_bytes);
    }
}

// If open failed, homes may lack an owner, and the last home may be missing.
int locus_domain_close(struct locus_domain *domain)
{
    if (!domain)
        return 0;
    for (uint32_t i = 0; i < domain->homes_count && domain->homes[i]; i++)
        if (domain->homes[i]->owner && owner_has_thread(domain->homes[i]->owner)) {
            RULE(false, "the thread spawned for home %u was not joined (locus_owner_join)", i);
            return -EBUSY;
        }
    for (uint32_t i = 0; i < domain->homes_count && domain->homes[i]; i++) {
        locus_owner_close(domain->homes[i]->owner);
        locus_pool_close(domain->homes[i]->pool);
        locus_region_close(domain->homes[i]->region); // the home itself
    }
    free(domain->routes);
    free(domain);
    return 0;
}

uint32_t locus_domain_homes(const struct locus_domain *domain)
{
    return domain->homes_count;
}

int locus_domain_node(const struct locus_domain *domain, uint32_t home)
{
    RULE(domain_home(domain, home), "there is no home %u", home);
    return home < domain->homes_count ? domain->nodes[home] : LOCUS_NODE_ANY;
}

struct locus_owner *locus_domain_owner(const struct locus_domain *domain, uint32_t home)
{
    RULE(domain_home(domain, home), "there is no home %u", home);
    return home < domain->homes_count ? domain->homes[home]->owner : NULL;
}

int locus_domain_home_of_node(const struct locus_domain *domain, int node, uint32_t *home)
{
    for (uint32_t i = 0; i < domain->homes_count; i++) {
        if (domain->nodes[i] != node)
            continue;
        *home = i;
        return 0;
    }
    return -ENODEV;
}

const struct locus_route *locus_domain_route(const struct locus_domain *domain, uint32_t lane)
{
    return lane < domain->config.lanes ? &domain->routes[lane] : NULL;
}

size_t locus_domain_table_bytes(const struct locus_domain *domain, uint32_t capacity)
{
    return locus_table_bytes(domain->homes_count, capacity);
}

int locus_domain_table_init(const struct locus_domain *domain, void *memory, uint32_t capacity, uint32_t tokens_per_block)
{
    return locus_table_init(memory, domain->homes_count, capacity, tokens_per_block);
}

void *locus_domain_address(const struct locus_domain *domain, locus_block block)
{
    RULE(domain_home(domain, locus_block_home(block)), "there is no home %u", locus_block_home(block));
    return locus_pool_address(domain->homes[locus_block_home(block)]->pool, block);
}

void locus_domain_stats(const struct locus_domain *domain, uint32_t home, struct locus_domain_stats *out)
{
    RULE(domain_home(domain, home), "there is no home %u", home);
    *out = (struct locus_domain_stats){0};
    if (home < domain->homes_count)
        counters_read(out, &domain->homes[home]->stats, sizeof *out);
}
