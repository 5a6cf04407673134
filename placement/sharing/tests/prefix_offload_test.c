// SPDX-License-Identifier: Apache-2.0
//
// prefix_offload: blocks connector into a tier in memory and come back with every byte; and each way in which that can fail.
#include "locus/reservation.h"

#include <errno.h>

#include "placement/sharing/tests/offloaded_test.h"

enum { BYTES = TOKENS * TOKEN_BYTES, TIER = 64, PENDING = 8 };

// Exclusive. What sank first leaves first.
struct tier {
    struct held {
        struct locus_id id, parent;
        uint64_t since;
        char bytes[BYTES];
    } held[TIER];
    uint32_t room;              // of TIER
    uint64_t now, stored, refused, dropped;
    bool refuses;
    uint32_t loads;             // so many more; UINT32_MAX: all
    struct pending {
        struct held held;
        const void *block;
        locus_block handle;
    } pending[PENDING];
    uint32_t pending_count, pending_room;
};

static struct held *held_as(struct tier *tier, struct locus_id id)
{
    for (uint32_t i = 0; i < tier->room; i++)
        if (locus_id_equal(tier->held[i].id, id))
            return &tier->held[i];
    return NULL;
}

static struct held *oldest(struct tier *tier)
{
    struct held *least = tier->held;
    for (uint32_t i = 0; i < tier->room; i++)
        if (tier->held[i].since < least->since)
            least = &tier->held[i];
    return least;
}

static int tier_store(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    struct tier *tier = context;
    cr_assert_eq(bytes, BYTES);
    if (tier->refuses) {
        tier->refused++;
        return -ENOSPC;
    }
    struct held *held = held_as(tier, id) ? held_as(tier, id) : oldest(tier);
    *held = (struct held){.id = id, .parent = parent, .since = ++tier->now};
    memcpy(held->bytes, block, bytes);
    tier->stored++;
    return 0;
}

static int tier_start(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes,
                      locus_block handle)
{
    struct tier *tier = context;
    (void)bytes;
    if (tier->pending_count == tier->pending_room)
        return -EAGAIN;
    tier->pending[tier->pending_count++] = (struct pending){{.id = id, .parent = parent}, block, handle};
    return 0;
}

static uint32_t tier_look(void *context, const struct locus_id ids[], uint32_t count)
{
    uint32_t has = 0;
    while (has < count && held_as(context, ids[has]))
        has++;
    return has;
}

static uint32_t tier_load(void *context, const struct locus_id ids[], void *const blocks[], uint32_t count, size_t bytes)
{
    struct tier *tier = context;
    uint32_t done = 0;
    for (; done < count && held_as(tier, ids[done]) && tier->loads > 0; done++) {
        memcpy(blocks[done], held_as(tier, ids[done])->bytes, bytes);
        tier->loads -= tier->loads != UINT32_MAX;
    }
    for (uint32_t i = done; i < count; i++)
        memset(blocks[i], 0xee, bytes); // a load that failed in its middle
    return done;
}

static void tier_drop(void *context, struct locus_id id)
{
    struct tier *tier = context;
    struct held *held = held_as(tier, id);
    tier->dropped += held != NULL;
    if (held)
        *held = (struct held){0};
}

// The first store that was started is done: read from the block, as a device does.
static void tier_complete(struct world *world, struct tier *tier, int error)
{
    struct pending first = tier->pending[0];
    cr_assert_gt(tier->pending_count, 0);
    memmove(tier->pending, tier->pending + 1, --tier->pending_count * sizeof first);
    if (!error)
        cr_assert_eq(tier_store(tier, first.held.id, first.held.parent, first.block, BYTES), 0);
    cr_assert_eq(locus_prefix_offload_done(world->prefix, first.handle, error), 0);
    cr_assert_eq(locus_prefix_offload_done(world->prefix, first.handle, error), -ESTALE, "once");
}

static struct locus_offload_ops connector_of(struct tier *tier)
{
    *tier = (struct tier){.room = TIER, .loads = UINT32_MAX, .pending_room = PENDING};
    return (struct locus_offload_ops){.size = sizeof(struct locus_offload_ops),
                                      .context = tier,
                                      .store = tier_store,
                                      .start = tier_start,
                                      .probe = tier_look,
                                      .load = tier_load,
                                      .drop = tier_drop,
                                      .tag = 77};
}

static void tiered_open(struct world *world, struct tier *tier, uint32_t blocks, bool tags, const char *policy)
{
    const struct locus_offload_ops connector = connector_of(tier);
    world_open(world, blocks, tags);
    const struct locus_prefix_config config = {.size = sizeof config,
                                               .owner = world->owner,
                                               .evict = locus_evict_find(policy),
                                               .offload = &connector};
    cr_assert_eq(locus_prefix_open(&world->prefix, &config), 0);
}

Test(prefix_offload, out_and_back_leaves_every_tag)
{
    for (uint32_t p = 0; locus_evict_at(p); p++) {
        struct world world;
        struct tier tier;
        tiered_open(&world, &tier, 8, p % 2, locus_evict_at(p)->name);
        kept(&world, 10, 6, 'a');
        written(&world, 0, 0, 8 * TOKENS, 'x'); // takes all blocks
        cr_assert_eq(offloaded_of(&world).blocks_offloaded, 6);
        cr_assert_eq(tier_look(&tier, prompt(10), CAPACITY), 6);
        for (uint64_t id = 11; id < 16; id++) {
            cr_assert(locus_id_equal(held_as(&tier, id_of(id))->parent, id_of(id - 1)));
            cr_assert_lt(held_as(&tier, id_of(id))->since, held_as(&tier, id_of(id - 1))->since, "%s: the end connectors first",
                         locus_evict_at(p)->name);
        }
        cr_assert(locus_id_is_none(held_as(&tier, id_of(10))->parent));
        released(&world, 0);
        cr_assert_eq(matched(&world, 1, 10, 7), 0);
        cr_assert_eq(loaded(&world, 1, 10, 7), 6);
        holds(&world, 1, 0, 6 * TOKENS, 'a');
        cr_assert_eq(tier_look(&tier, prompt(10), 7), 0, "it is in one place");
        cr_assert_eq(matched(&world, 2, 10, 7), 6, "and others find it");
        cr_assert_eq(offloaded_of(&world).blocks_loaded, 6);
        released(&world, 1);
        released(&world, 2);
        cr_assert_eq(stats_of(&world).blocks_cached, 6);
        world_close(&world);
    }
}

Test(prefix_offload, what_is_near_is_matched_and_what_follows_is_loaded)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 8, false, "lru");
    kept(&world, 10, 6, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 4), 4);
    cr_assert_eq(matched(&world, 0, 10, 8), 2);
    cr_assert_eq(loaded(&world, 0, 10, 5), 3, "no more than are asked for");
    cr_assert_eq(loaded(&world, 0, 10, 5), 0);
    cr_assert_eq(loaded(&world, 0, 10, 8), 1);
    holds(&world, 0, 0, 6 * TOKENS, 'a');
    written(&world, 0, 6 * TOKENS, 2 * TOKENS, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 8, world.tables[0]), 2);
    holds(&world, 0, 0, 8 * TOKENS, 'a');
    released(&world, 0);
    world_close(&world);
}

Test(prefix_offload, a_sink_that_refuses_loses_the_block_and_nothing_else)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 4, false, "lru");
    tier.refuses = true;
    kept(&world, 10, 4, 'a');
    written(&world, 0, 0, 4 * TOKENS, 'b');
    cr_assert_eq(offloaded_of(&world).blocks_lost, 4);
    cr_assert_eq(offloaded_of(&world).blocks_offloaded, 0);
    holds(&world, 0, 0, 4 * TOKENS, 'b');
    released(&world, 0);
    cr_assert_eq(loaded(&world, 1, 10, 4), 0);
    written(&world, 1, 0, 4 * TOKENS, 'a'); // computed again
    released(&world, 1);
    cr_assert_eq(stats_of(&world).blocks_free, 4);
    world_close(&world);
}

Test(prefix_offload, what_cannot_be_loaded_is_computed_again)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 8, true, "lru");
    kept(&world, 10, 6, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, UINT32_MAX), 6);
    tier.loads = 0;
    cr_assert_eq(loaded(&world, 0, 10, 6), 0);
    cr_assert_eq(world.tables[0]->count, 0);
    cr_assert_eq(stats_of(&world).blocks_free, 8, "what was grown for them is free again");
    tier.loads = 2;
    cr_assert_eq(loaded(&world, 0, 10, 6), 2);
    cr_assert_eq(offloaded_of(&world).blocks_load_failed, 6 + 4);
    holds(&world, 0, 0, 2 * TOKENS, 'a');
    written(&world, 0, 2 * TOKENS, 4 * TOKENS, 'a');
    cr_assert_eq(tier_look(&tier, prompt(12), 4), 4);
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 6, world.tables[0]), 4);
    cr_assert_eq(tier_look(&tier, prompt(12), 1), 0, "what was computed again is dropped below");
    cr_assert_eq(tier.dropped, 6);
    released(&world, 0);
    world_close(&world);
}

// The tier has two places, and the blocks for what is loaded push the second one out.
Test(prefix_offload, room_for_what_is_raised_may_push_it_out)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 4, false, "lru");
    tier.room = 2;
    kept(&world, 10, 2, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    kept(&world, 20, 1, 'b');
    written(&world, 0, 0, 2 * TOKENS, 'x');
    cr_assert_eq(stats_of(&world).blocks_free, 1);
    cr_assert_eq(loaded(&world, 1, 10, 2), 1, "20 sank for the second, and 11 left the tier for it");
    holds(&world, 1, 0, TOKENS, 'a');
    cr_assert_not_null(held_as(&tier, id_of(20)));
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(prefix_offload, without_blocks_nothing_is_raised_and_nothing_changes)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 4, false, "lru");
    kept(&world, 10, 3, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 3), 3);
    written(&world, 0, 0, 2 * TOKENS, 'x');
    cr_assert_eq(loaded(&world, 1, 10, 3), -ENOMEM);
    cr_assert_eq(world.tables[1]->count, 0);
    cr_assert_eq(tier_look(&tier, prompt(10), 3), 3);
    cr_assert_eq(loaded(&world, 1, 10, 2), 2);
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(prefix_offload, a_block_that_a_store_reads_is_nobodys_until_it_is_done)
{
    for (int tags = 0; tags < 2; tags++) {
        struct world world;
        struct tier tier;
        tiered_open(&world, &tier, 4, tags, "lru");
        kept(&world, 10, 3, 'a');
        tier.pending_room = 2;
        cr_assert_eq(locus_prefix_offload_start(world.prefix, 9), 2, "the third is refused");
        cr_assert_eq(stats_of(&world).blocks_cached, 1);
        cr_assert_eq(stats_of(&world).outstanding, 2);
        cr_assert_eq(offloaded_of(&world).blocks_offloading, 2);
        cr_assert_eq(matched(&world, 1, 10, 3), 1);
        released(&world, 1);
        cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 0, 3 * TOKENS, PLANES), -ENOMEM);
        cr_assert_eq(locus_prefix_close(world.prefix), -EBUSY);
        written(&world, 0, 0, 2 * TOKENS, 'x'); // the block that is kept goes down at once
        cr_assert_eq(tier_look(&tier, prompt(10), 3), 1);
        tier_complete(&world, &tier, 0);
        tier_complete(&world, &tier, 0);
        cr_assert_eq(tier_look(&tier, prompt(10), 3), 3, "in time, though the pool was full");
        written(&world, 0, 2 * TOKENS, 2 * TOKENS, 'x');
        released(&world, 0);
        cr_assert_eq(loaded(&world, 1, 10, 3), 3);
        holds(&world, 1, 0, 3 * TOKENS, 'a');
        cr_assert_eq(offloaded_of(&world).blocks_offloaded, 3);
        released(&world, 1);
        world_close(&world);
    }
}

Test(prefix_offload, a_store_that_fails_loses_its_block)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 4, false, "lru");
    kept(&world, 10, 2, 'a');
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 1), 1);
    tier_complete(&world, &tier, -EIO);
    cr_assert_eq(offloaded_of(&world).blocks_lost, 1);
    cr_assert_eq(offloaded_of(&world).blocks_offloading, 0);
    cr_assert_eq(stats_of(&world).blocks_free, 3);
    cr_assert_eq(matched(&world, 0, 10, 2), 1);
    cr_assert_eq(loaded(&world, 0, 10, 2), 0);
    released(&world, 0);
    world_close(&world);
}

Test(prefix_offload, what_was_computed_again_during_its_store_is_dropped_when_that_is_done)
{
    struct world world;
    struct tier tier;
    tiered_open(&world, &tier, 4, false, "lru");
    kept(&world, 10, 1, 'a');
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 1), 1);
    written(&world, 0, 0, TOKENS, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, prompt(10), NULL, 1, world.tables[0]), 1);
    tier_complete(&world, &tier, 0);
    cr_assert_null(held_as(&tier, id_of(10)));
    cr_assert_eq(matched(&world, 1, 10, 1), 1);
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

static uint32_t available(const struct locus_reservations *reservations)
{
    struct locus_reservations_stats stats;
    locus_reservations_stats(reservations, &stats);
    return stats.available;
}

Test(prefix_offload, neither_way_takes_what_was_reserved)
{
    struct world world;
    struct tier tier;
    struct locus_reservations *reservations;
    struct locus_reservation a = {0}, b = {0};
    tiered_open(&world, &tier, 6, false, "lru");
    const struct locus_reservations_config config = {.size = sizeof config, .owner = world.owner, .admission = LOCUS_ADMIT_PROMPT};
    cr_assert_eq(locus_reservations_open(&reservations, &config), 0);
    kept(&world, 10, 4, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 5, 5), 0);
    cr_assert_eq(locus_reservation_offload_start(reservations, world.prefix, 2), 0, "one is reserved to nobody");
    cr_assert_eq(locus_reservation_offload_start(reservations, world.prefix, 1), 1);
    cr_assert_eq(available(reservations), 0);
    tier_complete(&world, &tier, 0);
    cr_assert_eq(available(reservations), 1);
    cr_assert_eq(locus_reservation_match(reservations, &b, world.prefix, 1, prompt(10), NULL, 5, world.tables[1]), 1);
    cr_assert_eq(locus_prefix_load_probe(world.prefix, prompt(10), 5, world.tables[1]), 3);
    cr_assert_eq(locus_reservation_load(reservations, &b, world.prefix, prompt(10), NULL, 5, world.tables[1]), -EAGAIN,
                 "all others are reserved");
    cr_assert_eq(world.tables[1]->count, 1);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 2), 0);
    tier.loads = 1;
    cr_assert_eq(locus_reservation_load(reservations, &a, world.prefix, prompt(10), NULL, 4, world.tables[1]), 1,
                 "by the other's reservation");
    cr_assert_eq(a.blocks, 2);
    cr_assert_eq(available(reservations), 0);
    tier.loads = UINT32_MAX;
    cr_assert_eq(locus_reservation_load(reservations, &a, world.prefix, prompt(10), NULL, 4, world.tables[1]), 2);
    cr_assert_eq(a.blocks, 0);
    holds(&world, 1, 0, 4 * TOKENS, 'a');
    locus_reservation_end(reservations, &a);
    released(&world, 0);
    released(&world, 1);
    cr_assert_eq(available(reservations), 6);
    locus_reservations_close(reservations);
    world_close(&world);
}

// Another thread's store comes between a look and the next.
static uint32_t look_that_grows(void *context, const struct locus_id ids[], uint32_t count)
{
    struct tier *tier = context;
    uint32_t has = tier_look(tier, ids, count);
    if (has == 0)
        return 0;
    const struct held found = *held_as(tier, ids[0]);
    const uint64_t next = ids[0].word[1] * 4 + ids[0].word[0] + has;
    tier_store(tier, id_of(next), id_of(next - 1), found.bytes, BYTES);
    return has;
}

Test(prefix_offload, what_the_connector_gets_meanwhile_breaks_no_reservation)
{
    struct world world;
    struct tier tier;
    struct locus_reservations *reservations;
    struct locus_reservation a = {0}, b = {0};
    struct locus_reservations_stats stats;
    struct locus_offload_ops connector = connector_of(&tier);
    connector.probe = look_that_grows;
    world_open(&world, 6, false);
    const struct locus_prefix_config prefix = {.size = sizeof prefix, .owner = world.owner, .offload = &connector};
    const struct locus_reservations_config config = {.size = sizeof config, .owner = world.owner, .admission = LOCUS_ADMIT_PROMPT};
    cr_assert_eq(locus_prefix_open(&world.prefix, &prefix), 0);
    cr_assert_eq(locus_reservations_open(&reservations, &config), 0);
    kept(&world, 10, 2, 'a');
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 4, 4), 0);
    cr_assert_eq(locus_reservation_load(reservations, &b, world.prefix, prompt(10), NULL, 6, world.tables[1]), 2,
                 "as the look said");
    cr_assert_eq(tier_look(&tier, prompt(12), 6), 1, "there is one more now");
    cr_assert_eq(b.blocks, 0);
    locus_reservations_stats(reservations, &stats);
    cr_assert_eq(stats.reserved, 4);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 4), 0, "the other's reservation is kept");
    locus_reservation_end(reservations, &a);
    released(&world, 0);
    released(&world, 1);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(prefix_offload, wrong_calls_are_refused)
{
    struct world world;
    struct tier tier;
    struct locus_offload_ops connector = connector_of(&tier);
    struct locus_prefix_config config = {.size = sizeof config, .offload = &connector};
    const struct locus_id none[] = {{{10, 0}}, {{0, 0}}};
    world_open(&world, 4, false);
    config.owner = world.owner;
    connector.load = NULL;
    cr_assert_eq(locus_prefix_open(&world.prefix, &config), -EINVAL);
    connector = connector_of(&tier);
    connector.size = 3;
    cr_assert_eq(locus_prefix_open(&world.prefix, &config), -EINVAL);
    connector = connector_of(&tier);
    connector.start = NULL;
    connector.drop = NULL;
    cr_assert_eq(locus_prefix_open(&world.prefix, &config), 0);
    memset(&connector, 0xff, sizeof connector); // it was copied
    kept(&world, 10, 2, 'a');
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 1), 0, "there is no such way");
    cr_assert_eq(locus_prefix_evict(world.prefix, 2), 2);
    cr_assert_eq(locus_prefix_load(world.prefix, none, NULL, 2, world.tables[0]), -EINVAL);
    cr_assert_eq(locus_prefix_offload_done(world.prefix, LOCUS_BLOCK_NONE, 0), -ESTALE);
    locus_owner_leave(world.owner);
    cr_assert_eq(loaded(&world, 0, 10, 2), -EPERM);
    cr_assert_eq(locus_prefix_offload_start(world.prefix, 1), 0);
    cr_assert_eq(locus_prefix_offload_done(world.prefix, LOCUS_BLOCK_NONE, 0), -EPERM);
    locus_owner_adopt(world.owner);
    cr_assert_eq(loaded(&world, 0, 10, 2), 2);
    cr_assert_eq(tier_look(&tier, prompt(10), 2), 2, "an inclusive one keeps its copy");
    cr_assert_eq(locus_prefix_offload_done(world.prefix, world.tables[0]->blocks[0], 0), -ESTALE, "no store reads it");
    cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
    cr_assert_eq(loaded(&world, 0, 10, 2), -EINVAL);
    cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
    cr_assert_eq(locus_owner_drain(world.owner), 2);
    cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[0]);
    tier.stored = 0;
    cr_assert_eq(locus_prefix_close(world.prefix), 0);
    cr_assert_eq(tier.stored, 0, "close gives it nothing");
    cache_open(&world, "lru");
    cr_assert_eq(loaded(&world, 0, 10, 2), 0, "there is no connector");
    world_close(&world);
}

// Prompts of a small tree: each block's contents are its id's. Whatever fails below, no prompt ever sees another's.
static void walk(uint32_t room, bool fails, uint64_t *found, uint64_t *asked)
{
    struct world world;
    struct tier tier;
    bool seen[TIER] = {false};
    tiered_open(&world, &tier, 12, false, room % 2 ? "lru" : "chain");
    tier.room = room;
    srand(room);
    *found = *asked = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t numbers[6];
        uint32_t length = 1 + (uint32_t)rand() % 6, node = 0, old = 0;
        for (uint32_t k = 0; k < length; k++, node = 2 * node + 1 + (uint32_t)(rand() % 3 == 0))
            numbers[k] = 1 + node;
        while (old < length && seen[numbers[old]])
            old++;
        tier.refuses = fails && rand() % 5 == 0;
        tier.loads = fails && rand() % 3 == 0 ? (uint32_t)rand() % 3 : UINT32_MAX;
        struct locus_table *table = world.tables[0];
        cr_assert_geq(locus_prefix_match(world.prefix, (uint64_t)i + 1, ids_of(numbers, length), NULL, length, table), 0);
        cr_assert_geq(locus_prefix_load(world.prefix, ids_of(numbers, length), NULL, length, table), 0);
        uint32_t there = table->count;
        cr_assert_leq(there, old);
        if (room == TIER && !fails)
            cr_assert_eq(there, old, "nothing is lost");
        for (uint32_t k = 0; k < there; k++)
            cr_assert_eq(*token_at(&world, table, k * TOKENS, 0), (char)numbers[k]);
        cr_assert_eq(locus_owner_write(world.owner, table, there * TOKENS, (length - there) * TOKENS, PLANES), 0);
        for (uint32_t k = there; k < length; k++)
            memset(token_at(&world, table, k * TOKENS, 0), (char)numbers[k], BYTES);
        cr_assert_geq(locus_prefix_publish(world.prefix, ids_of(numbers, length), NULL, length, table), 0);
        for (uint32_t k = 0; k < length; k++) {
            seen[numbers[k]] = true;
            cr_assert_null(held_as(&tier, id_of(numbers[k])), "what is near is not below");
        }
        released(&world, 0);
        if (rand() % 2)
            locus_prefix_offload_start(world.prefix, (uint32_t)rand() % 3);
        tier.refuses = false;
        while (tier.pending_count)
            tier_complete(&world, &tier, fails && rand() % 4 == 0 ? -EIO : 0);
        *found += there;
        *asked += length;
    }
    cr_assert_eq(stats_of(&world).outstanding, 0);
    world_close(&world);
}

Test(prefix_offload, no_prompt_ever_finds_what_is_not_its_own)
{
    uint64_t found[3], asked;
    walk(TIER, false, &found[0], &asked);
    walk(20, false, &found[1], &asked);
    walk(5, true, &found[2], &asked);
    cr_expect_gt(found[0], found[1]);
    cr_expect_gt(found[1], found[2]);
    walk(21, true, &found[2], &asked);
    walk(64, true, &found[2], &asked);
}
