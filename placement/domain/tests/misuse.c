// SPDX-License-Identifier: Apache-2.0
//
// misuse NAME: makes one mistake that an engine can make, with the installed library. liblocus returns an error, and "answered"
// is printed; liblocus-checked aborts with a line that names the call and the rule. Without a name it lists all mistakes, each
// with the call and a word of the rule. testbed/tests/install_test.sh runs it.
#include <locus/locus.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct locus_pool *pool;
static struct locus_owner *owner;
static struct locus_domain *domain;
static struct locus_table *table;
static struct locus_prefix *prefix;
static struct locus_reservations *promises;
static struct locus_reservation promise;

// A mistake, and what liblocus answers to it.
#define ANSWERS(name, right)                                                                                                       \
    static int name(void)                                                                                                          \
    {                                                                                                                              \
        return right;                                                                                                              \
    }

ANSWERS(grow, locus_owner_grow(owner, table, 1) == -EPERM)
ANSWERS(truncate, locus_owner_truncate(owner, table, 0) == -EPERM)
ANSWERS(retire, locus_owner_retire(owner, table) == -EPERM)
ANSWERS(drain, locus_owner_drain(owner) == 0)
ANSWERS(drain_some, locus_owner_drain_some(owner, 1) == 0)
ANSWERS(reclaimed, locus_owner_next_reclaimed(owner) == NULL)
ANSWERS(leave, locus_owner_leave(owner) == -EPERM)

static int push_twice(void)
{
    struct locus_route route = {0};
    return locus_route_add_exclusive(&route, owner, 0) == 0 && locus_owner_retire(owner, table) == 0 &&
           locus_table_push(&route, table) == 0 && locus_table_push(&route, table) == 0 && locus_owner_drain(owner) == 1;
}

static int push_astray(void)
{
    struct locus_route route = {0};
    return locus_route_add_exclusive(&route, owner, 0) == 0 && locus_table_append(table, locus_block_make(1, 0, 1)) == 0 &&
           locus_owner_retire(owner, table) == 0 && locus_table_push(&route, table) == 0 && locus_owner_drain(owner) == 0;
}

static int step(struct locus_owner *self, void *context)
{
    (void)self, (void)context;
    return 1;
}

static int close_spawned(void)
{
    return locus_owner_leave(owner) == 0 && locus_owner_spawn(owner, LOCUS_NODE_ANY, step, NULL) == 0 &&
           locus_owner_close(owner) == -EBUSY;
}

static int close_domain_spawned(void)
{
    struct locus_owner *first = locus_domain_owner(domain, 0);
    return locus_owner_leave(first) == 0 && locus_owner_spawn(first, LOCUS_NODE_ANY, step, NULL) == 0 &&
           locus_domain_close(domain) == -EBUSY;
}

static int close_pool(void) // what follows would be a use after free, so it is not tried
{
    locus_pool_close(pool);
    return 1;
}

ANSWERS(alloc, locus_pool_alloc(pool) != LOCUS_BLOCK_NONE) // a pool does not know who asks
ANSWERS(alloc_bulk, locus_pool_alloc_bulk(pool, 1, &(locus_block){0}) == 0)
ANSWERS(free_bulk, locus_pool_free_bulk(pool, 1, table->blocks, 0) == 1)

static int free_twice(void)
{
    locus_block block = locus_pool_alloc(pool);
    return locus_pool_free_bulk(pool, 1, &block, 7) == 1 && locus_pool_free_bulk(pool, 1, &block, 7) == 0;
}

static int address_of_free(void)
{
    locus_block block = locus_pool_alloc(pool);
    return locus_pool_free_bulk(pool, 1, &block, 0) == 1 && locus_pool_address(pool, block) != NULL;
}

ANSWERS(home_grow, locus_domain_grow(domain, 5, table, 1) == -EINVAL)
ANSWERS(home_drain, locus_domain_drain(domain, 5) == 0)
ANSWERS(home_reclaimed, locus_domain_next_reclaimed(domain, 5) == NULL)
ANSWERS(home_withdraw, locus_domain_cancel(domain, 5) == -EINVAL)
ANSWERS(home_owner, locus_domain_owner(domain, 5) == NULL)
ANSWERS(home_node, locus_domain_node(domain, 5) == LOCUS_NODE_ANY)
ANSWERS(role_domain_grow, locus_domain_grow(domain, 0, table, 1) == -EPERM)
ANSWERS(role_domain_drain, locus_domain_drain(domain, 0) == 0)
ANSWERS(role_domain_drain_some, locus_domain_drain_some(domain, 0, 1) == 0)

static const struct locus_id id = {{1, 0}};
ANSWERS(share_drop, locus_owner_drop_before(owner, table, 0) == -EPERM)
ANSWERS(share_fork, locus_owner_fork(owner, table, table) == -EPERM)
ANSWERS(share_write, locus_owner_write(owner, table, 0, 1, 1) == -EPERM)
ANSWERS(share_match, locus_prefix_match(prefix, 0, &id, NULL, 1, table) == -EPERM)
ANSWERS(share_publish, locus_prefix_publish(prefix, &id, NULL, 1, table) == -EPERM)
ANSWERS(share_shrink, locus_prefix_evict(prefix, 1) == 0)
ANSWERS(promise_grow, locus_reservation_grow(promises, &promise, table, 1) == -EPERM)
ANSWERS(home_drop, locus_domain_drop_before(domain, 5, table, 0, table) == -EINVAL)
ANSWERS(home_write, locus_domain_write(domain, 5, table, 0, 1, 1, table) == -EINVAL)

static const struct misuse {
    const char *name, *call, *rule;
    int (*make)(void); // answers whether the library's answer was the right one
    int elsewhere;     // by a thread without the role
} misuses[] = {
    {"grow-without-the-role", "locus_owner_grow", "role", grow, 1},
    {"truncate-without-the-role", "locus_owner_truncate", "role", truncate, 1},
    {"retire-without-the-role", "locus_owner_retire", "role", retire, 1},
    {"drain-without-the-role", "locus_owner_drain", "role", drain, 1},
    {"drain-some-without-the-role", "locus_owner_drain_some", "role", drain_some, 1},
    {"push-twice", "locus_owner_drain", "pushed twice", push_twice, 0},
    {"push-astray", "locus_owner_drain", "not have all its homes", push_astray, 0},
    {"reclaimed-without-the-role", "locus_owner_next_reclaimed", "role", reclaimed, 1},
    {"leave-without-the-role", "locus_owner_leave", "role", leave, 1},
    {"alloc-without-the-role", "locus_pool_alloc", "role", alloc, 1},
    {"alloc-bulk-without-the-role", "locus_pool_alloc_bulk", "role", alloc_bulk, 1},
    {"free-without-the-role", "locus_pool_free_bulk", "role", free_bulk, 1},
    {"domain-grow-without-the-role", "locus_domain_grow", "role", role_domain_grow, 1},
    {"domain-drain-without-the-role", "locus_domain_drain", "role", role_domain_drain, 1},
    {"domain-drain-some-without-the-role", "locus_domain_drain_some", "role", role_domain_drain_some, 1},
    {"close-a-spawned-owner", "locus_owner_close", "joined", close_spawned, 0},
    {"close-a-domain-with-a-spawned-owner", "locus_domain_close", "joined", close_domain_spawned, 0},
    {"close-a-pool-under-its-owner", "locus_pool_close", "owner", close_pool, 0},
    {"free-twice-and-tell-nobody", "locus_pool_free_bulk", "freed twice", free_twice, 0},
    {"address-of-a-free-block", "locus_pool_address", "not live", address_of_free, 0},
    {"drop-without-the-role", "locus_owner_drop_before", "role", share_drop, 1},
    {"fork-without-the-role", "locus_owner_fork", "role", share_fork, 1},
    {"write-without-the-role", "locus_owner_write", "role", share_write, 1},
    {"match-without-the-role", "locus_prefix_match", "role", share_match, 1},
    {"publish-without-the-role", "locus_prefix_publish", "role", share_publish, 1},
    {"shrink-without-the-role", "locus_prefix_evict", "role", share_shrink, 1},
    {"promised-grow-without-the-role", "locus_reservation_grow", "role", promise_grow, 1},
    {"write-in-no-home", "locus_domain_write", "no home 5", home_write, 0},
    {"drop-in-no-home", "locus_domain_drop_before", "no home 5", home_drop, 0},
    {"grow-in-no-home", "locus_domain_grow", "no home 5", home_grow, 0},
    {"drain-in-no-home", "locus_domain_drain", "no home 5", home_drain, 0},
    {"reclaimed-in-no-home", "locus_domain_next_reclaimed", "no home 5", home_reclaimed, 0},
    {"withdraw-in-no-home", "locus_domain_cancel", "no home 5", home_withdraw, 0},
    {"owner-of-no-home", "locus_domain_owner", "no home 5", home_owner, 0},
    {"node-of-no-home", "locus_domain_node", "no home 5", home_node, 0},
};

static void *elsewhere_main(void *misuse)
{
    return ((const struct misuse *)misuse)->make() ? misuse : NULL;
}

static int make(const struct misuse *misuse)
{
    pthread_t thread;
    void *right = NULL;
    if (!misuse->elsewhere)
        return misuse->make();
    return pthread_create(&thread, NULL, elsewhere_main, (void *)(uintptr_t)misuse) == 0 && pthread_join(thread, &right) == 0 &&
           right;
}

static int set_up_sharing(void)
{
    struct locus_prefix_config cache = {.size = sizeof cache, .owner = owner};
    struct locus_reservations_config admission = {.size = sizeof admission, .owner = owner};
    int error = locus_prefix_open(&prefix, &cache);
    return error ? error : locus_reservations_open(&promises, &admission);
}

// One pool with an owner, one domain of two homes; this thread holds all roles.
static int set_up(void)
{
    struct locus_pool_config memory = {
        .size = sizeof memory, .blocks = 8, .block_bytes = 64, .node = LOCUS_NODE_ANY, .shared = true};
    if (locus_pool_open(&pool, &memory))
        return 0;
    struct locus_owner_config role = {.size = sizeof role, .pool = pool, .lanes = 1};
    int nodes[2] = {0, 0};
    while (!locus_node_allowed(nodes[0]))
        nodes[1] = ++nodes[0];
    struct locus_domain_config homes = {.size = sizeof homes,
                                        .nodes = nodes,
                                        .nodes_count = 2,
                                        .lanes = 1,
                                        .blocks = 8,
                                        .block_bytes = 64,
                                        .policy = LOCUS_POLICY_FIRST_TOUCH};
    table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(2, 4));
    return table && locus_table_init(table, 2, 4, 16) == 0 && locus_owner_open(&owner, &role) == 0 &&
           locus_owner_adopt(owner) == 0 && locus_owner_grow(owner, table, 1) == 0 && locus_domain_open(&domain, &homes) == 0 &&
           locus_owner_adopt(locus_domain_owner(domain, 0)) == 0 && set_up_sharing() == 0;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        if (argc < 2)
            printf("%s\t%s\t%s\n", misuses[i].name, misuses[i].call, misuses[i].rule);
        else if (strcmp(argv[1], misuses[i].name) == 0)
            return set_up() && make(&misuses[i]) && puts("answered") > 0 ? 0 : 1;
    }
    return argc < 2 ? 0 : 2;
}
