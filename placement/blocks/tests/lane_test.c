// SPDX-License-Identifier: Apache-2.0
//
// lane: what comes out of a ring and its mailbox, and in which order, with one thread. What two threads may rely on is in
// lane_order_litmus.c.
#include "locus/lane.h"

#include <criterion/criterion.h>
#include <string.h>

#define PARCELS (4 * LOCUS_LANE_SLOTS)

struct parcel {
    struct locus_link link; // first: a taken link is its parcel
    _Alignas(LOCUS_CACHE_LINE) unsigned number;
};

struct world {
    struct locus_lane lane;
    struct locus_lane_end end;
    struct parcel parcels[PARCELS];
    struct locus_link *chain;
    unsigned sent, received, detours;
};

TestSuite(lane, .timeout = 60);

static struct world *world_open(uint32_t turn)
{
    struct world *world = aligned_alloc(LOCUS_CACHE_LINE, sizeof *world);
    cr_assert_not_null(world);
    memset(world, 0, sizeof *world);
    world->lane.sent = world->lane.taken = world->lane.limit = world->end.taken = turn;
    return world;
}

static void send(struct world *world)
{
    struct parcel *parcel = &world->parcels[world->sent % PARCELS];
    parcel->number = world->sent++;
    if (locus_lane_send(&world->lane, parcel))
        return;
    locus_mailbox_push(&world->lane.mailbox, &parcel->link);
    world->detours++;
}

// As an owner's drain does it.
static bool receive(struct world *world)
{
    bool alone = false;
    struct parcel *parcel = world->chain ? NULL : locus_lane_next(&world->lane, &world->end, &world->chain, &alone);
    if (!parcel && world->chain) {
        parcel = (struct parcel *)world->chain;
        world->chain = alone ? NULL : world->chain->next;
    }
    if (!parcel)
        return false;
    cr_assert_eq(parcel->number, world->received, "number %u came as number %u", parcel->number, world->received);
    world->received++;
    return true;
}

static void receive_all(struct world *world)
{
    while (receive(world))
        ;
    cr_assert_eq(world->received, world->sent);
    cr_assert(locus_lane_empty(&world->lane, &world->end));
}

Test(lane, zeroed_memory_is_an_empty_lane)
{
    struct world *world = world_open(0);
    cr_assert(locus_lane_empty(&world->lane, &world->end));
    cr_assert_null(locus_lane_take(&world->lane, &world->end));
    free(world);
}

Test(lane, a_message_is_not_empty_and_arrives_once)
{
    struct world *world = world_open(0);
    for (unsigned i = 0; i < 3 * LOCUS_LANE_SLOTS; i++) {
        send(world);
        cr_assert_not(locus_lane_empty(&world->lane, &world->end));
        receive_all(world);
    }
    cr_assert_eq(world->detours, 0);
    free(world);
}

Test(lane, a_full_ring_sends_its_pusher_to_the_mailbox_and_the_order_stays)
{
    struct world *world = world_open(0);
    for (unsigned i = 0; i < LOCUS_LANE_SLOTS; i++)
        send(world);
    cr_assert_eq(world->detours, 0, "the ring has room for all its slots");
    send(world);
    send(world);
    cr_assert_eq(world->detours, 2);
    receive_all(world);
    send(world);
    cr_assert_eq(world->detours, 2, "the ring is open again");
    receive_all(world);
    free(world);
}

Test(lane, who_made_a_detour_stays_there_until_the_mailbox_was_taken)
{
    struct world *world = world_open(0);
    for (unsigned i = 0; i < LOCUS_LANE_SLOTS + 1; i++)
        send(world);
    for (unsigned i = 0; i < LOCUS_LANE_SLOTS; i++)
        cr_assert(receive(world));
    send(world); // the ring is empty, but a message before this one is in the mailbox
    cr_assert_eq(world->detours, 2);
    receive_all(world);
    free(world);
}

Test(lane, an_owner_that_looked_into_the_mailbox_looks_at_the_ring_again)
{
    struct world *world = world_open(0);
    for (unsigned round = 0; round < 3; round++) {
        unsigned before = world->detours;
        for (unsigned i = 0; i < LOCUS_LANE_SLOTS + 1; i++)
            send(world);
        receive_all(world);
        cr_assert_gt(world->detours, before);
        send(world);
        cr_assert_not(locus_lane_empty(&world->lane, &world->end));
        receive_all(world);
        cr_assert_eq(world->end.source, LOCUS_LANE_FROM_RING, "one look less in each poll");
    }
    free(world);
}

Test(lane, a_lane_of_many_pushers_has_no_ring_to_look_at)
{
    struct world *world = world_open(0);
    locus_mailbox_push(&world->lane.mailbox, &world->parcels[0].link);
    cr_assert_not(locus_lane_empty(&world->lane, &world->end));
    world->end.source = LOCUS_LANE_FROM_MAILBOX;
    cr_assert_not(locus_lane_empty(&world->lane, &world->end));
    cr_assert_eq(locus_mailbox_take(&world->lane.mailbox), &world->parcels[0].link);
    cr_assert(locus_lane_empty(&world->lane, &world->end));
    free(world);
}

Test(lane, any_mixture_of_sending_and_receiving_keeps_the_order)
{
    struct world *world = world_open(0);
    unsigned random = 1;
    for (unsigned i = 0; i < 200000; i++) {
        random = random * 1664525 + 1013904223;
        bool more = random >> 30 == 0 || i % 4096 < 256; // bursts that fill the ring
        if (more && world->sent - world->received < PARCELS - 1)
            send(world);
        else
            receive(world);
    }
    receive_all(world);
    cr_assert_gt(world->detours, 100, "the mixture had detours");
    cr_assert_lt(world->detours, world->sent / 2, "and messages in the ring");
    free(world);
}

Test(lane, counts_may_wrap)
{
    struct world *world = world_open(UINT32_MAX - LOCUS_LANE_SLOTS - LOCUS_LANE_SLOTS + 1);
    for (unsigned i = 0; i < 8 * LOCUS_LANE_SLOTS; i++) {
        send(world);
        if (i % 3 == 2)
            receive_all(world);
    }
    receive_all(world);
    cr_assert_lt(world->lane.sent, 8 * LOCUS_LANE_SLOTS, "it did");
    cr_assert_eq(world->detours, 0);
    free(world);
}

Test(lane, what_each_side_writes_shares_no_cache_line_with_the_other)
{
    size_t owner = offsetof(struct locus_lane, taken) / LOCUS_CACHE_LINE;
    size_t pusher = offsetof(struct locus_lane, sent) / LOCUS_CACHE_LINE;
    cr_assert_neq(owner, pusher);
    cr_assert_gt(owner, 0, "the mailbox has a line of its own");
    cr_assert_gt(offsetof(struct locus_lane, slots) / LOCUS_CACHE_LINE, pusher);
    cr_assert_eq(sizeof(struct locus_lane) % LOCUS_CACHE_LINE, 0);
    cr_assert_eq(offsetof(struct locus_lane, slots) % LOCUS_CACHE_LINE, 0);
}
