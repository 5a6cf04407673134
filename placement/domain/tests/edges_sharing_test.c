// SPDX-License-Identifier: Apache-2.0
//
// The edges of sharing/ and retention/ (edges.h).
#include "placement/domain/tests/edges.h"

static const struct locus_id ids[CAPACITY] = {{{1}}, {{2}}, {{3}}, {{4}}, {{5}}, {{6}}, {{7}}, {{8}}};

// What a write of these arguments must answer: the table has three blocks, room for eight, and the pool eight.
static int write_answer(uint64_t first, uint64_t count, uint32_t planes)
{
    unsigned __int128 end = ((unsigned __int128)first + count + TOKENS - 1) / TOKENS;
    bool divides = planes && (uint64_t)planes * TOKENS <= BLOCK_BYTES && BLOCK_BYTES % (planes * TOKENS) == 0;
    if (!divides || first > 3 * TOKENS)
        return -EINVAL;
    return count && end > CAPACITY ? -ENOSPC : 0;
}

Test(edges, a_write_finds_room_for_all_of_its_tokens_or_none)
{
    struct world world;
    world_open(&world);
    EACH(uint64_t, first, edges64)
    EACH(uint64_t, count, edges64)
    EACH(uint32_t, planes, edges32)
    {
        book(&world);
        int error = locus_owner_write(world.owner, world.table, first, count, planes);
        cr_assert_eq(error, write_answer(first, count, planes), "%llu + %llu, %u planes: %d", (unsigned long long)first,
                     (unsigned long long)count, planes, error);
        if (error || count == 0)
            unchanged(&world);
        else
            cr_assert_geq((uint64_t)world.table->count * TOKENS, first + count);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
    }
    cr_assert_eq(locus_owner_leave(world.owner), 0);
    cr_assert_eq(locus_owner_write(world.owner, world.table, 0, UINT64_MAX, 1), -EPERM);
    world_close(&world);
}

Test(edges, a_cut_keeps_any_number_of_tokens)
{
    struct world world;
    world_open(&world);
    EACH(uint64_t, tokens, edges64)
    {
        cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.table, tokens), 0);
        cr_assert_eq(world.table->count, tokens < 3 * TOKENS ? (tokens + TOKENS - 1) / TOKENS : 3);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 0), 0);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, 3), 0);
    }
    world_close(&world);
}

Test(edges, a_fork_is_not_led_astray_by_the_set_of_homes)
{
    struct world world;
    world_open(&world);
    EACH(uint64_t, given, edges64)
    {
        uint64_t homes = given;
        cr_assert_eq(locus_owner_unfork_at(world.owner, world.other, &homes), -EINVAL, "there is no fork");
        cr_assert_eq(locus_owner_fork_at(world.owner, world.table, world.other, &homes), 0);
        cr_assert(homes == 0 && world.other->count == 3);
        homes = given;
        int error = locus_owner_fork_at(world.owner, world.table, world.other, &homes);
        cr_assert_eq(error, given & ~UINT64_C(1) ? -EINVAL : 0);
        if (!error && given & 1)
            cr_assert_eq(locus_pool_free_bulk(world.pool, 3, world.other->blocks, 0), 3);
        homes = 0;
        cr_assert_eq(locus_owner_unfork_at(world.owner, world.other, &homes), 0);
        cr_assert(homes == 0 && world.other->count == 0);
    }
    cr_assert_eq(locus_owner_fork(world.owner, world.table, world.table), -EINVAL);
    world_close(&world);
}

static void reservations_open(struct world *world, struct locus_reservations **reservations)
{
    world_open(world);
    EACH(uint32_t, watermark, edges32)
    EACH(int, admission, edges_int)
    {
        struct locus_reservations_config config = {.size = sizeof config, .owner = world->owner, .watermark_blocks = watermark};
        config.admission = (enum locus_admission)admission;
        int error = locus_reservations_open(reservations, &config);
        cr_assert_eq(error, admission >= 0 && admission <= LOCUS_ADMIT_WATERMARK && watermark < BLOCKS ? 0 : -EINVAL);
        if (!error)
            locus_reservations_close(*reservations);
    }
    struct locus_reservations_config config = {.size = sizeof config, .owner = world->owner};
    cr_assert_eq(locus_reservations_open(reservations, &config), 0);
}

static void reserved_is(const struct locus_reservations *reservations, uint32_t reserved, uint32_t available)
{
    struct locus_reservations_stats stats;
    locus_reservations_stats(reservations, &stats);
    cr_assert_eq(stats.reserved, reserved);
    cr_assert_eq(stats.available, available);
}

Test(edges, reservations_of_any_number_are_kept_or_refused)
{
    struct world world;
    struct locus_reservations *reservations;
    reservations_open(&world, &reservations);
    EACH(uint32_t, now, edges32)
    EACH(uint32_t, most, edges32)
    {
        struct locus_reservation mine = {0};
        int error = locus_reservation_admit(reservations, &mine, now, most);
        cr_assert_eq(error, now > most ? -EINVAL : most > BLOCKS ? -ENOSPC : most > BLOCKS - 3 ? -EAGAIN : 0);
        cr_assert_eq(mine.blocks, error ? 0 : most);
        reserved_is(reservations, mine.blocks, BLOCKS - 3 - mine.blocks);
        locus_reservation_end(reservations, &mine);
    }
    EACH(uint32_t, count, edges32)
    {
        struct locus_reservation mine = {0};
        cr_assert_eq(locus_reservation_renew(reservations, &mine, count), count > BLOCKS - 3 ? -EAGAIN : 0);
        locus_reservation_end(reservations, &mine);
        int error = locus_reservation_grow(reservations, &mine, world.table, count);
        cr_assert_eq(error, count > CAPACITY - 3 ? -ENOSPC : 0);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
        reserved_is(reservations, 0, BLOCKS - 3);
    }
    EACH(uint64_t, first, edges64)
    EACH(uint64_t, count, edges64)
    EACH(uint32_t, planes, edges32)
    {
        struct locus_reservation mine = {0};
        int error = locus_reservation_write(reservations, &mine, world.table, first, count, planes);
        cr_assert_eq(error, write_answer(first, count, planes));
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 3), 0);
        reserved_is(reservations, 0, BLOCKS - 3);
    }
    locus_reservations_close(reservations);
    world_close(&world);
}

static int refuses(void *context, struct locus_id id, struct locus_id parent, const void *block, size_t bytes)
{
    (void)context, (void)id, (void)parent, (void)block, (void)bytes;
    return -ENOSPC;
}

static uint32_t has_many(void *context, const struct locus_id asked[], uint32_t count) // and lies
{
    (void)context, (void)asked, (void)count;
    return UINT32_MAX;
}

static uint32_t loads_many(void *context, const struct locus_id asked[], void *const blocks[], uint32_t count, size_t bytes)
{
    (void)context, (void)asked, (void)blocks, (void)count, (void)bytes;
    return UINT32_MAX;
}

static struct locus_prefix *prefix_open(struct world *world)
{
    static const struct locus_offload_ops connector = {
        .size = sizeof connector, .store = refuses, .probe = has_many, .load = loads_many, .tag = UINT64_MAX};
    struct locus_prefix_config config = {.size = sizeof config, .owner = world->owner, .offload = &connector};
    struct locus_prefix *prefix;
    cr_assert_eq(locus_prefix_open(&prefix, &config), 0);
    cr_assert_not_null(locus_prefix_key_of(prefix));
    return prefix;
}

Test(edges, a_prefix_cache_answers_for_any_id_and_clock)
{
    struct world world;
    locus_block found;
    uint32_t kept;
    world_open(&world);
    struct locus_prefix *prefix = prefix_open(&world);
    struct locus_prefix_stats stats;
    struct locus_prefix_offload_stats offloaded;
    EACH(uint64_t, number, edges64)
    EACH(uint64_t, beside, edges64)
    {
        const struct locus_id id = {{number, beside}};
        const bool some = !locus_id_is_none(id);
        locus_table_set_tag(world.other, number);
        cr_assert_eq(locus_prefix_probe(prefix, &id, NULL, 1, &kept), 0);
        cr_assert_eq(locus_prefix_find(prefix, &id, 1, &found), 0);
        cr_assert_eq(locus_prefix_match(prefix, number, &id, NULL, 1, world.other), 0);
        cr_assert_eq(locus_prefix_publish(prefix, &id, NULL, 1, world.table), some ? 1 : -EINVAL);
        cr_assert_eq(locus_prefix_match(prefix, UINT64_MAX, &id, NULL, 1, world.other), some);
        cr_assert_eq(locus_owner_truncate(world.owner, world.other, 0), 0);
        cr_assert_eq(locus_owner_truncate(world.owner, world.table, 0), 0);
        cr_assert_eq(locus_prefix_offload_start(prefix, UINT32_MAX), 0, "it has no start()");
        cr_assert_eq(locus_prefix_offload_done(prefix, number, 0), -ESTALE);
        cr_assert_eq(locus_prefix_evict(prefix, (uint32_t)number), (uint32_t)number && some);
        locus_prefix_evict(prefix, UINT32_MAX);
        cr_assert_eq(locus_owner_grow(world.owner, world.table, 3), 0);
    }
    EACH(uint32_t, count, edges32)
    {
        if (count <= 3)
            continue;
        book(&world);
        cr_assert_eq(locus_prefix_publish(prefix, ids, NULL, count, world.table), -EINVAL, "the table has three");
        unchanged(&world);
    }
    locus_prefix_stats(prefix, &stats);
    locus_prefix_offload_stats(prefix, &offloaded);
    cr_assert(stats.blocks_known == 0 && offloaded.blocks_offloading == 0);
    cr_assert_eq(locus_prefix_close(prefix), 0);
    world_close(&world);
}

Test(edges, ids_are_made_of_any_number_of_tokens_and_any_salt)
{
    static const uint32_t tokens[64] = {UINT32_MAX};
    static const struct locus_prefix_key key = {{UINT64_MAX, 0}};
    struct locus_id made[64];
    EACH(uint64_t, salt, edges64)
    EACH(uint64_t, above, edges64)
    EACH(uint32_t, per_block, edges32)
    {
        const struct locus_id parent = {{above, salt}};
        const uint32_t blocks = per_block ? 64 / per_block : 0;
        cr_assert_eq(locus_prefix_ids(&key, parent, tokens, 64, per_block, salt, made), blocks);
        if (blocks == 0)
            continue;
        const struct locus_id first = locus_prefix_id(&key, parent, tokens, per_block, salt);
        cr_assert(!locus_id_is_none(first) && locus_id_equal(first, made[0]));
    }
    cr_assert(!locus_id_is_none(locus_prefix_id(&key, locus_id_of(0), tokens, 0, 0)));
}

Test(edges, what_a_sink_says_is_not_believed_beyond_what_was_asked)
{
    struct world world;
    struct locus_reservations *reservations;
    reservations_open(&world, &reservations);
    struct locus_prefix *prefix = prefix_open(&world);
    struct locus_reservation mine = {0};
    cr_assert_eq(locus_prefix_load_probe(prefix, ids, 5, world.other), 5);
    cr_assert_eq(locus_prefix_load(prefix, ids, NULL, 5, world.other), 5);
    cr_assert_eq(locus_owner_truncate(world.owner, world.other, 0), 0);
    cr_assert_eq(locus_reservation_match(reservations, &mine, prefix, UINT64_MAX, ids, NULL, 8, world.other), 5);
    cr_assert_eq(locus_reservation_load(reservations, &mine, prefix, ids, NULL, 8, world.other), -EAGAIN, "no block is free");
    cr_assert_eq(locus_owner_truncate(world.owner, world.other, 0), 0);
    EACH(uint32_t, count, edges32)
    {
        cr_assert_eq(locus_reservation_offload_start(reservations, prefix, count), 0);
    }
    reserved_is(reservations, 0, BLOCKS - 3);
    cr_assert_eq(locus_prefix_close(prefix), 0);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(edges, lists_end)
{
    EACH(uint32_t, i, edges32)
    {
        cr_assert(i < 16 || (!locus_evict_at(i) && !locus_demote_at(i) && !locus_score_at(i) && !locus_adapter_policy_at(i)));
    }
    cr_assert_null(locus_evict_find(""));
    cr_assert_null(locus_demote_find(""));
    cr_assert_null(locus_score_find(""));
    cr_assert_null(locus_adapter_policy_find(""));
    EACH(int, place, edges_int)
    {
        cr_assert(locus_adapter_place_name((enum locus_adapter_place)place) || place < 0 || place > LOCUS_ADAPTER_HOT);
    }
}

Test(edges, a_policy_has_room_for_any_number_of_blocks_or_says_that_it_has_not)
{
    for (uint32_t i = 0; locus_evict_at(i); i++)
        EACH(uint32_t, blocks, edges32)
        {
            if (blocks > 64 && blocks < LOCUS_EVICT_NONE / 8)
                continue; // it would take gigabytes
            void *state = NULL;
            int error = locus_evict_at(i)->open(&state, blocks);
            cr_assert_eq(error, blocks && blocks < LOCUS_EVICT_NONE / 8 ? 0 : -EINVAL);
            locus_evict_at(i)->close(error ? NULL : state);
        }
}
