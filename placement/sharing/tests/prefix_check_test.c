// SPDX-License-Identifier: Apache-2.0
//
// prefix_check: whatever the ids are, nobody is served a block that holds other tokens. The ids here are an engine's own, and bad.
#include "locus/prefix.h"
#include "locus/reservation.h"

#include <errno.h>

#include "placement/sharing/tests/offloaded_test.h"

static struct locus_prefix_stats cache_of(const struct world *world)
{
    struct locus_prefix_stats stats;
    locus_prefix_stats(world->prefix, &stats);
    return stats;
}

// Which prompt holds a block, as the engine of the callback knows it.
static struct engine {
    uint32_t prompt_of[16], asks; // by block; the prompt that asks
    const struct locus_id *ids;
    const uint32_t *tokens;
    uint32_t questions;
} engine;

static bool engine_same(void *context, locus_block block, const struct locus_id ids[], const uint32_t tokens[], uint32_t position)
{
    struct engine *is = context;
    cr_assert(ids == is->ids && tokens == is->tokens && position < CAPACITY);
    is->questions++;
    return is->prompt_of[locus_block_index(block)] == is->asks;
}

static void checked_open(struct world *world, bool by_engine)
{
    struct locus_prefix_check check = {.size = sizeof check, .context = &engine, .same = engine_same};
    world_open(world, 16, false);
    struct locus_prefix_config config = {.size = sizeof config,
                                         .owner = world->owner,
                                         .evict = &locus_evict_lru,
                                         .tokens_per_block = by_engine ? 0 : TOKENS,
                                         .check = by_engine ? &check : NULL};
    engine = (struct engine){0};
    cr_assert_eq(locus_prefix_open(&world->prefix, &config), 0);
    memset(&check, 0xff, sizeof check); // it was copied
}

// The tokens of prompt 1, 2, ...: they differ in one token of block `from`.
static const uint32_t *tokens_of(uint32_t number, uint32_t from)
{
    static uint32_t tokens[8][CAPACITY * TOKENS];
    for (uint32_t i = 0; i < CAPACITY * TOKENS; i++)
        tokens[number][i] = 7 + i;
    tokens[number][from * TOKENS + TOKENS - 1] += number;
    return tokens[number];
}

static const struct locus_id *asks(uint32_t number, const uint32_t *tokens)
{
    engine.asks = number;
    engine.ids = prompt(10);
    engine.tokens = tokens;
    return engine.ids;
}

static int64_t published_as(struct world *world, unsigned table, uint32_t number, const uint32_t *tokens)
{
    struct locus_table *it = world->tables[table];
    int64_t published = locus_prefix_publish(world->prefix, asks(number, tokens), tokens, it->count, it);
    for (uint32_t i = 0; i < it->count; i++)
        if (published > 0)
            engine.prompt_of[locus_block_index(it->blocks[i])] = number;
    return published;
}

static int64_t matched_as(struct world *world, unsigned table, uint32_t number, const uint32_t *tokens, uint32_t count)
{
    uint32_t kept, look = locus_prefix_probe(world->prefix, asks(number, tokens), tokens, count, &kept);
    int64_t found = locus_prefix_match(world->prefix, number, asks(number, tokens), tokens, count, world->tables[table]);
    cr_assert_eq(look, found, "a look says what a match finds");
    return found;
}

Test(prefix_check, a_prompt_with_the_ids_of_another_is_served_nothing_of_it)
{
    for (int by_engine = 0; by_engine < 2; by_engine++) {
        struct world world;
        checked_open(&world, by_engine);
        const uint32_t *a = tokens_of(1, 0), *b = tokens_of(2, 0);
        written(&world, 0, 0, 12, 'a');
        cr_assert_eq(published_as(&world, 0, 1, a), 3);
        cr_assert_eq(cache_of(&world).blocks_refused, 0);
        cr_assert_eq(matched_as(&world, 1, 2, b, 3), 0);
        cr_assert_eq(cache_of(&world).blocks_refused, 1);
        cr_assert_eq(world.tables[1]->count, 0);
        released(&world, 0);
        cr_assert_eq(matched_as(&world, 1, 2, b, 3), 0, "nor when it is kept");
        cr_assert_eq(stats_of(&world).blocks_cached, 3);
        cr_assert_eq(matched_as(&world, 2, 1, a, 3), 3, "its own");
        holds(&world, 2, 0, 12, 'a');
        cr_assert_eq(cache_of(&world).blocks_refused, 2);
        cr_assert_eq(cache_of(&world).blocks_found, 3);
        cr_assert_eq(!engine.questions, !by_engine);
        released(&world, 2);
        world_close(&world);
    }
}

Test(prefix_check, a_match_ends_where_the_tokens_do)
{
    struct world world;
    checked_open(&world, false);
    written(&world, 0, 0, 20, 'a');
    cr_assert_eq(published_as(&world, 0, 1, tokens_of(1, 2)), 5);
    cr_assert_eq(matched_as(&world, 1, 2, tokens_of(2, 2), 5), 2, "the third block has another token");
    holds(&world, 1, 0, 8, 'a');
    cr_assert_eq(matched_as(&world, 2, 3, tokens_of(3, 4), 5), 2);
    cr_assert_eq(cache_of(&world).blocks_refused, 2);
    for (unsigned i = 0; i < 3; i++)
        released(&world, i);
    world_close(&world);
}

// The second prompt computes its own blocks. Published behind the first one's, they would be found by who has its tokens there.
Test(prefix_check, what_is_behind_another_ones_block_is_not_published)
{
    for (int by_engine = 0; by_engine < 2; by_engine++) {
        struct world world;
        checked_open(&world, by_engine);
        const uint32_t *a = tokens_of(1, 0), *b = tokens_of(2, 0);
        written(&world, 0, 0, 4, 'a');
        written(&world, 1, 0, 12, 'b');
        cr_assert_eq(published_as(&world, 0, 1, a), 1);
        cr_assert_eq(published_as(&world, 1, 2, b), 0);
        cr_assert_eq(cache_of(&world).blocks_refused, 1);
        cr_assert_eq(cache_of(&world).blocks_known, 1);
        cr_assert_eq(matched_as(&world, 2, 1, a, 3), 1);
        holds(&world, 2, 0, 4, 'a');
        cr_assert_eq(published_as(&world, 2, 1, a), 0, "it is there already");
        cr_assert_eq(cache_of(&world).blocks_refused, 1);
        for (unsigned i = 0; i < 3; i++)
            released(&world, i);
        world_close(&world);
    }
}

Test(prefix_check, a_block_that_is_used_again_has_its_new_tokens)
{
    struct world world;
    checked_open(&world, false);
    for (uint32_t number = 1; number < 8; number++) {
        written(&world, 0, 0, 64, (char)('a' + number)); // all blocks, each time
        cr_assert_eq(published_as(&world, 0, number, tokens_of(number, 3)), 16);
        released(&world, 0);
        cr_assert_eq(matched_as(&world, 1, number, tokens_of(number, 3), 16), 16);
        cr_assert_eq(matched_as(&world, 2, number ^ 1, tokens_of(number ^ 1, 3), 16), 3);
        released(&world, 1);
        released(&world, 2);
    }
    world_close(&world);
}

Test(prefix_check, a_reservation_loses_nothing_by_a_block_that_is_refused)
{
    struct world world;
    struct locus_reservations *reservations;
    struct locus_reservations_stats stats;
    struct locus_reservation reservation = {0};
    checked_open(&world, false);
    struct locus_reservations_config config = {.size = sizeof config, .owner = world.owner, .admission = LOCUS_ADMIT_PROMPT};
    cr_assert_eq(locus_reservations_open(&reservations, &config), 0);
    written(&world, 0, 0, 12, 'a');
    cr_assert_eq(published_as(&world, 0, 1, tokens_of(1, 1)), 3);
    released(&world, 0);
    cr_assert_eq(locus_reservation_admit(reservations, &reservation, 3, 3), 0);
    const uint32_t *b = tokens_of(2, 1);
    cr_assert_eq(locus_reservation_match(reservations, &reservation, world.prefix, 1, prompt(10), b, 3, world.tables[1]), 1);
    cr_assert_eq(reservation.blocks, 2);
    locus_reservations_stats(reservations, &stats);
    cr_assert(stats.reserved == 2 && stats.available == 13);
    cr_assert_eq(locus_reservation_grow(reservations, &reservation, world.tables[1], 2), 0);
    locus_reservation_end(reservations, &reservation);
    released(&world, 1);
    locus_reservations_close(reservations);
    world_close(&world);
}

// --- a connector, which knows ids alone ----------------------------------------------------------------------------------------

static struct {
    struct locus_id id;
    char bytes[TOKENS * TOKEN_BYTES];
    bool full;
} below;

static int below_store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    (void)context;
    (void)parent;
    below.id = id;
    below.full = true;
    memcpy(below.bytes, block, bytes);
    return 0;
}

static uint32_t below_look(void *context, const struct locus_id ids[], uint32_t count)
{
    (void)context;
    return count && below.full && locus_id_equal(ids[0], below.id);
}

static uint32_t below_load(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes)
{
    memcpy(blocks[0], below.bytes, bytes);
    return below_look(context, ids, count);
}

Test(prefix_check, what_is_raised_has_the_tokens_of_who_asked)
{
    struct world world;
    const struct locus_offload_ops connector = {.size = sizeof connector,
                                                .store = below_store,
                                                .probe = below_look,
                                                .load = below_load};
    world_open(&world, 16, false);
    struct locus_prefix_config config = {.size = sizeof config,
                                         .owner = world.owner,
                                         .offload = &connector,
                                         .tokens_per_block = TOKENS};
    cr_assert_eq(locus_prefix_open(&world.prefix, &config), 0);
    const uint32_t *a = tokens_of(1, 0);
    written(&world, 0, 0, 4, 'a');
    cr_assert_eq(published_as(&world, 0, 1, a), 1);
    released(&world, 0);
    cr_assert_eq(locus_prefix_evict(world.prefix, 1), 1);
    cr_assert_eq(locus_prefix_load(world.prefix, prompt(10), NULL, 2, world.tables[1]), -EINVAL, "its tokens are missing");
    cr_assert_eq(locus_prefix_load(world.prefix, prompt(10), a, 2, world.tables[1]), 1);
    holds(&world, 1, 0, 4, 'a');
    cr_assert_eq(matched_as(&world, 2, 1, a, 2), 1);
    cr_assert_eq(matched_as(&world, 3, 2, tokens_of(2, 0), 2), 0);
    for (unsigned i = 1; i < 4; i++)
        released(&world, i);
    world_close(&world);
}

Test(prefix_check, wrong_calls_are_refused)
{
    struct world world;
    struct locus_prefix *second;
    uint32_t kept;
    struct locus_prefix_check check = {.size = sizeof check};
    world_open(&world, 4, false);
    struct locus_prefix_config config = {.size = sizeof config, .owner = world.owner, .check = &check};
    cr_assert_eq(locus_prefix_open(&second, &config), -EINVAL, "there is no function");
    check.same = engine_same;
    config.tokens_per_block = TOKENS;
    cr_assert_eq(locus_prefix_open(&second, &config), -EINVAL, "two ways");
    config.check = NULL;
    cr_assert_eq(locus_prefix_open(&world.prefix, &config), 0);
    written(&world, 0, 0, 4, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 1, world.tables[0]), -EINVAL);
    cr_assert_eq(locus_prefix_match(world.prefix, 1, prompt(10), NULL, 1, world.tables[1]), -EINVAL);
    cr_assert_eq(locus_prefix_probe(world.prefix, prompt(10), NULL, 1, &kept), 0);
    cr_assert_eq(locus_prefix_match(world.prefix, 1, prompt(10), NULL, 0, world.tables[1]), 0, "nothing is asked for");
    cr_assert_eq(cache_of(&world).blocks_known, 0);
    released(&world, 0);
    world_close(&world);
}
