// SPDX-License-Identifier: Apache-2.0
#include "placement/sharing/tests/sharing_test.h"

#include <errno.h>

// A policy that names the head of a chain, which must not leave before what is below it: of cached blocks, the one whose contents
// came first.
static struct {
    uint64_t came[CAPACITY], arrivals; // 0: never
    bool cached[CAPACITY];
} heads;

static int heads_open(void **state, uint32_t blocks)
{
    memset(&heads, 0, sizeof heads);
    *state = &heads;
    return blocks <= CAPACITY ? 0 : -EINVAL;
}

static void heads_close(void *state)
{
    (void)state;
}

static void heads_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    (void)state, (void)id, (void)parent;
    if (fresh)
        heads.came[block] = ++heads.arrivals;
    heads.cached[block] = true;
}

static void heads_unlink(void *state, uint32_t block)
{
    (void)state;
    heads.cached[block] = false;
}

static uint32_t heads_victim(void *state)
{
    uint32_t victim = LOCUS_EVICT_NONE;
    (void)state;
    for (uint32_t i = 0; i < CAPACITY; i++)
        if (heads.cached[i] && (victim == LOCUS_EVICT_NONE || heads.came[i] < heads.came[victim]))
            victim = i;
    return victim;
}

static const struct locus_evict_ops heads_first = {.name = "heads-first",
                                                   .summary = "the head of a chain",
                                                   .open = heads_open,
                                                   .close = heads_close,
                                                   .hit = heads_unlink,
                                                   .insert = heads_insert,
                                                   .victim = heads_victim,
                                                   .remove = heads_unlink};
LOCUS_EVICT(heads_first);

// A table's full blocks under ids first, first + 1, ...
static void published(struct world *world, unsigned table, uint64_t first, int64_t expected)
{
    struct locus_id ids[CAPACITY];
    for (uint64_t i = 0; i < world->tables[table]->count; i++)
        ids[i] = id_of(first + i);
    cr_assert_eq(locus_prefix_publish(world->prefix, ids, NULL, world->tables[table]->count, world->tables[table]), expected);
}

static int64_t matched(struct world *world, unsigned table, uint64_t first, uint32_t count)
{
    static uint64_t now_ns;
    struct locus_id ids[CAPACITY];
    for (uint64_t i = 0; i < count; i++)
        ids[i] = id_of(first + i);
    return locus_prefix_match(world->prefix, ++now_ns, ids, NULL, count, world->tables[table]);
}

static struct locus_prefix_stats cache_of(const struct world *world)
{
    struct locus_prefix_stats stats;
    locus_prefix_stats(world->prefix, &stats);
    return stats;
}

Test(prefix, a_later_request_adopts_what_an_earlier_one_published)
{
    struct world world;
    world_open(&world, 16, true);
    cache_open(&world, "lru");
    written(&world, 0, 0, 12, 'a');
    published(&world, 0, 50, 3);
    cr_assert_eq(matched(&world, 1, 50, 5), 3, "while the first one runs");
    cr_assert_eq(stats_of(&world).sharers, 3);
    released(&world, 0);
    released(&world, 1);
    cr_assert_eq(stats_of(&world).blocks_cached, 3);
    cr_assert_eq(stats_of(&world).outstanding, 0);
    cr_assert_eq(matched(&world, 2, 50, 2), 2, "and after it has ended");
    holds(&world, 2, 0, 8, 'a');
    cr_assert_eq(stats_of(&world).blocks_cached, 1);
    cr_assert_eq(cache_of(&world).blocks_found, 5);
    cr_assert_eq(cache_of(&world).blocks_asked, 7);
    released(&world, 2);
    world_close(&world);
}

Test(prefix, what_comes_home_to_be_kept_while_a_grow_waits_is_given_up_for_it)
{
    struct world world;
    world_open(&world, 4, false);
    cache_open(&world, NULL);
    written(&world, 0, 0, 8, 'a');
    written(&world, 1, 0, 8, 'b');
    published(&world, 0, 50, 2);
    published(&world, 1, 60, 2);
    released(&world, 0);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[1]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 4), -EAGAIN, "two are kept and two on their way");
    cr_assert_eq(locus_table_push(&world.route, world.tables[1]), 0);
    cr_assert_eq(locus_owner_grow(world.owner, world.tables[2], 4), 0, "no grow fails for want of a block that is only kept");
    released(&world, 2);
    world_close(&world);
}

static unsigned not_held;

static void on_error(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    (void)context;
    (void)block;
    (void)tag;
    not_held += error == LOCUS_FREE_NOT_HELD;
}

// A kept block's handle is that of its last use, so whoever lets it go twice has the finder's.
Test(prefix, by_its_tag_a_block_that_another_request_found_is_not_freed_by_the_one_before)
{
    struct world world;
    world_open(&world, 8, true);
    cache_open(&world, NULL);
    locus_pool_on_error(world.pool, on_error, NULL);
    written(&world, 0, 0, 4, 'a');
    published(&world, 0, 50, 1);
    locus_block block = world.tables[0]->blocks[0];
    released(&world, 0);
    cr_assert_eq(matched(&world, 1, 50, 1), 1);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 100), 0);
    cr_assert_eq(not_held, 1);
    cr_assert_eq(stats_of(&world).outstanding, 1);
    holds(&world, 1, 0, 4, 'a');
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 101), 1);
    cr_assert_eq(stats_of(&world).blocks_cached, 1);
    world_close(&world);
}

// A cache hears of a block before it hears of those below it.
Test(prefix, a_budget_does_not_divide_a_table, .timeout = 60)
{
    struct world world;
    world_open(&world, 16, false);
    cache_open(&world, "chain");
    written(&world, 0, 0, 12, 'a');
    published(&world, 0, 50, 3);
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_drain_some(world.owner, 1), 3);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    cr_assert_eq(stats_of(&world).blocks_cached, 3);
    world_close(&world);
}

Test(prefix, a_published_block_is_never_written)
{
    struct world world;
    world_open(&world, 16, false);
    cache_open(&world, NULL);
    written(&world, 0, 0, 8, 'a');
    published(&world, 0, 1, 2);
    cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.tables[0], 6), 0);
    written(&world, 0, 6, 2, 'b');
    cr_assert_eq(matched(&world, 1, 1, 2), 2);
    holds(&world, 1, 0, 8, 'a');
    holds(&world, 0, 0, 6, 'a');
    holds(&world, 0, 6, 2, 'b');
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(prefix, a_grow_takes_kept_blocks_when_no_others_are_free)
{
    struct world world;
    world_open(&world, 6, false);
    cache_open(&world, "lru");
    written(&world, 0, 0, 16, 'a');
    published(&world, 0, 1, 4);
    released(&world, 0);
    written(&world, 1, 0, 12, 'b');
    cr_assert_eq(stats_of(&world).blocks_cached, 3);
    cr_assert_eq(cache_of(&world).blocks_evicted, 1);
    cr_assert_eq(matched(&world, 2, 1, 4), 3, "the end of the chain has left");
    released(&world, 2);
    cr_assert_eq(locus_owner_write(world.owner, world.tables[1], 12, 13, PLANES), -ENOMEM);
    cr_assert_eq(cache_of(&world).blocks_evicted, 1, "nothing is given up for what cannot succeed");
    locus_block block = LOCUS_BLOCK_NONE, more[2];
    cr_assert_eq(locus_pool_alloc_bulk(world.pool, 2, more), 0);
    cr_assert_neq(block = locus_pool_alloc(world.pool), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_pool_alloc(world.pool), LOCUS_BLOCK_NONE);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 2, more, 0), 2);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 0), 1);
    released(&world, 1);
    world_close(&world);
}

// For every policy: the head of a chain is often the one that it names.
Test(prefix, no_block_leaves_before_the_kept_ones_below_it)
{
    for (uint32_t p = 0; locus_evict_at(p); p++) {
        struct world world;
        world_open(&world, 16, false);
        cache_open(&world, locus_evict_at(p)->name);
        written(&world, 0, 0, 32, 'a');
        published(&world, 0, 1, 8);
        forked(&world, 0, 1);
        cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.tables[1], 12), 0);
        written(&world, 1, 12, 12, 'b');
        const uint64_t numbers[] = {1, 2, 3, 101, 102, 103}; // a branch
        cr_assert_eq(locus_prefix_publish(world.prefix, ids_of(numbers, 6), NULL, 6, world.tables[1]), 3);
        released(&world, 0);
        released(&world, 1);
        for (uint32_t left = 11; left > 0; left--) {
            const uint64_t all[] = {1, 2, 3, 4, 5, 6, 7, 8};
            uint32_t kept, chain = 0, branch = 0, known = cache_of(&world).blocks_cached;
            chain = locus_prefix_probe(world.prefix, ids_of(all, 8), NULL, 8, &kept);
            branch = locus_prefix_probe(world.prefix, ids_of(numbers, 6), NULL, 6, &kept);
            cr_assert_eq(known, chain + (branch > 3 ? branch - 3 : 0), "%s: all that is kept can be reached, with %u left",
                         locus_evict_at(p)->name, left);
            cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
        }
        cr_assert_eq(locus_prefix_evict(world.prefix, 1), 0);
        cr_assert_eq(stats_of(&world).blocks_free, 16);
        world_close(&world);
    }
}

Test(prefix, a_policy_names_the_first_block_and_the_last_one_leaves)
{
    struct world world;
    locus_block found[4];
    const uint64_t numbers[] = {1, 2, 3, 4};
    world_open(&world, 8, false);
    cache_open(&world, "heads-first");
    written(&world, 0, 0, 16, 'a');
    published(&world, 0, 1, 4);
    released(&world, 0);
    cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
    cr_assert_eq(locus_prefix_find(world.prefix, ids_of(numbers, 4), 4, found), 3);
    cr_assert(found[0] && found[1] && found[2] && !found[3]);
    world_close(&world);
}

Test(prefix, another_victim_begins_another_way_down)
{
    struct world world;
    uint32_t kept;
    const uint64_t a[] = {1, 2, 3}, b[] = {11, 12, 13};
    world_open(&world, 8, false);
    cache_open(&world, "lru");
    for (unsigned i = 0; i < 2; i++) {
        written(&world, i, 0, 12, 'a');
        published(&world, i, 1 + 10 * i, 3);
        released(&world, i);
    }
    cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
    cr_assert_eq(locus_prefix_probe(world.prefix, ids_of(a, 3), NULL, 3, &kept), 2, "the end of the older one");
    cr_assert_eq(matched(&world, 2, 1, 2), 2);
    released(&world, 2);
    cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
    cr_assert_eq(locus_prefix_probe(world.prefix, ids_of(a, 3), NULL, 3, &kept), 2, "it was used meanwhile");
    cr_assert_eq(locus_prefix_probe(world.prefix, ids_of(b, 3), NULL, 3, &kept), 2);
    world_close(&world);
}

Test(prefix, an_id_that_is_there_stays_with_its_block)
{
    struct world world;
    world_open(&world, 8, false);
    cache_open(&world, "lru");
    written(&world, 0, 0, 4, 'a');
    written(&world, 1, 0, 4, 'a');
    published(&world, 0, 9, 1);
    published(&world, 1, 9, 0);
    released(&world, 1);
    cr_assert_eq(stats_of(&world).blocks_cached, 0, "it went home");
    released(&world, 0);
    cr_assert_eq(stats_of(&world).blocks_cached, 1);
    world_close(&world);
}

Test(prefix, a_second_free_of_a_kept_block_is_refused)
{
    struct world world;
    world_open(&world, 4, false);
    cache_open(&world, "lru");
    written(&world, 0, 0, 4, 'a');
    published(&world, 0, 9, 1);
    locus_block block = world.tables[0]->blocks[0], twice[2] = {block, block};
    cr_assert_eq(locus_pool_free_bulk(world.pool, 2, twice, 0), 1);
    cr_assert_eq(stats_of(&world).refused[LOCUS_FREE_DOUBLE], 1);
    cr_assert_eq(locus_pool_check(world.pool, block), -ESTALE);
    cr_assert_eq(locus_pool_holders(world.pool, block), 0);
    cr_assert_eq(matched(&world, 1, 9, 1), 1);
    cr_assert_eq(world.tables[1]->blocks[0], block, "its handle is the old one");
    released(&world, 1);
    world.tables[0]->count = 0;
    world_close(&world);
}

Test(prefix, close_sets_everything_free)
{
    struct world world;
    world_open(&world, 8, false);
    cache_open(&world, NULL);
    written(&world, 0, 0, 8, 'a');
    written(&world, 1, 0, 4, 'b');
    published(&world, 0, 1, 2);
    published(&world, 1, 7, 1);
    released(&world, 0);
    cr_assert_eq(locus_prefix_close(world.prefix), 0);
    world.prefix = NULL;
    cr_assert_eq(stats_of(&world).blocks_cached, 0);
    released(&world, 1);
    cr_assert_eq(stats_of(&world).blocks_free, 8);
    cache_open(&world, "lru");
    cr_assert_eq(matched(&world, 2, 1, 2), 0);
    world_close(&world);
}

// Ids of all kinds: random ones fill some lines, those that count lie evenly; they count in one word, in the other, or in both.
static struct locus_id id_of_kind(uint64_t kind, uint64_t i)
{
    static const struct locus_prefix_key key = {{1, 2}};
    switch (kind) {
    case 0: return (struct locus_id){{1 + i, 0}};
    case 1: return (struct locus_id){{0, 1 + i}};
    case 2: return (struct locus_id){{1 + i, 1 + i}};
    case 3: return (struct locus_id){{i << 40, 1}};
    default: return locus_prefix_id(&key, locus_id_of(1 + i), NULL, 0, 0);
    }
}

Test(prefix, the_index_is_right_at_any_load)
{
    enum { BLOCKS = 3000, KINDS = 5 };
    struct world world;
    static locus_block was[4 * BLOCKS], one_by_one[1], all[4 * BLOCKS + 1];
    static struct locus_id ids[4 * BLOCKS + 1]; // and none, which is nobody's
    for (uint64_t kind = 0; kind <= KINDS; kind++) { // the last one: of all kinds
        world_open(&world, BLOCKS, false);
        cache_open(&world, "lru");
        struct locus_table *one = world.tables[0];
        for (uint64_t i = 0; i < 4 * BLOCKS; i++) { // many of them leave again
            ids[i] = kind < KINDS ? id_of_kind(kind, i) : id_of_kind(i % KINDS, i);
            written(&world, 0, 0, 4, 'a');
            was[i] = one->blocks[0];
            cr_assert_eq(locus_prefix_publish(world.prefix, &ids[i], NULL, 1, one), 1);
            released(&world, 0);
        }
        cr_assert_eq(cache_of(&world).blocks_known, BLOCKS);
        cr_assert_eq(locus_prefix_find(world.prefix, ids, 4 * BLOCKS + 1, all), BLOCKS);
        cr_assert_eq(all[4 * BLOCKS], LOCUS_BLOCK_NONE);
        for (uint64_t i = 0; i < 4 * BLOCKS; i++) {
            locus_block expected = i >= 3 * BLOCKS ? was[i] : LOCUS_BLOCK_NONE;
            cr_assert_eq(locus_prefix_find(world.prefix, &ids[i], 1, one_by_one), expected != LOCUS_BLOCK_NONE);
            cr_assert(*one_by_one == expected && all[i] == expected, "kind %u, id %u", (unsigned)kind, (unsigned)i);
        }
        world_close(&world);
    }
}

// More blocks were in use one after the other than at once: only then does a copy into a used block set a new mark.
Test(prefix, a_copy_into_a_block_that_was_kept_is_counted)
{
    struct world world;
    world_open(&world, 4, false);
    cache_open(&world, "lru");
    for (uint64_t i = 0; i < 2; i++) {
        written(&world, 0, 0, 4, 'a');
        published(&world, 0, 1 + i, 1);
        released(&world, 0);
    }
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    written(&world, 0, 0, 2, 'b');
    forked(&world, 0, 1);
    cr_assert_eq(stats_of(&world).outstanding_high, 1);
    written(&world, 1, 2, 1, 'c');
    cr_assert_eq(stats_of(&world).outstanding_high, 2);
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(prefix, wrong_calls_are_refused)
{
    struct world world;
    struct locus_prefix *second;
    world_open(&world, 8, false);
    cache_open(&world, "lru");
    struct locus_prefix_config config = {.size = sizeof config, .owner = world.owner};
    cr_assert_eq(locus_prefix_open(&second, &config), -EBUSY);
    config.owner = NULL;
    cr_assert_eq(locus_prefix_open(&second, &config), -EINVAL);
    written(&world, 0, 0, 8, 'a');
    const struct locus_id ids[] = {{{1, 0}}, {{0, 0}}}, good[] = {{{1, 0}}, {{0, 1}}, {{1, 1}}};
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 2, world.tables[0]), -EINVAL, "none is no id");
    cr_assert_eq(locus_prefix_publish(world.prefix, good, NULL, 3, world.tables[0]), -EINVAL, "it has two blocks");
    cr_assert_eq(cache_of(&world).blocks_known, 0);
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_prefix_publish(world.prefix, good, NULL, 2, world.tables[0]), -EPERM);
    cr_assert_eq(locus_prefix_match(world.prefix, 1, good, NULL, 2, world.tables[1]), -EPERM);
    cr_assert_eq(locus_prefix_close(world.prefix), -EPERM);
    locus_owner_adopt(world.owner);
    released(&world, 0);
    world_close(&world);
    struct locus_pool_config unshared = shared_config(4, false);
    unshared.shared = false;
    world_open_with(&world, &unshared);
    config.owner = world.owner;
    cr_assert_eq(locus_prefix_open(&second, &config), -EINVAL);
    world_close(&world);
}

Test(prefix, of_a_window_only_what_is_left_is_published)
{
    struct world world;
    world_open(&world, 16, true);
    cache_open(&world, NULL);
    const struct locus_id *ids = ids_of((uint64_t[]){10, 11, 12, 13}, 4);
    struct locus_table *table = world.tables[0], *other = world.tables[1];
    cr_assert_eq(locus_owner_grow(world.owner, table, 4), 0);
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 1, table), 1);
    cr_assert_eq(locus_owner_drop_before(world.owner, table, 2 * TOKENS), 0);
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 4, table), 2, "the second one was dropped before");
    cr_assert_eq(locus_prefix_match(world.prefix, 1, ids, NULL, 4, other), 1, "the first one is cached, the second is not there");
    cr_assert_eq(locus_owner_truncate(world.owner, other, 0), 0);
    locus_block blocks[4];
    cr_assert_eq(locus_prefix_find(world.prefix, ids, 4, blocks), 3);
    cr_assert(blocks[1] == LOCUS_BLOCK_NONE && blocks[2] == table->blocks[2] && blocks[3] == table->blocks[3]);
    cr_assert_eq(locus_owner_truncate(world.owner, table, 0), 0);
    cr_assert_eq(locus_owner_grow(world.owner, table, 16), 0, "all of them can be had again");
    cr_assert_eq(locus_owner_drop_before(world.owner, table, 15 * TOKENS), 0, "the first block is free, and was not published");
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 4, table), 0);
    world_close(&world);
}
