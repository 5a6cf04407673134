// SPDX-License-Identifier: Apache-2.0
#include "locus/reservation.h"
#include "placement/sharing/tests/sharing_test.h"

#include <errno.h>

static struct locus_reservations *reservations_of(const struct world *world, enum locus_admission admission, uint32_t watermark)
{
    struct locus_reservations *reservations = NULL;
    struct locus_reservations_config config = {.size = sizeof config,
                                               .owner = world->owner,
                                               .admission = admission,
                                               .watermark_blocks = watermark};
    cr_assert_eq(locus_reservations_open(&reservations, &config), 0);
    return reservations;
}

static uint32_t available(const struct locus_reservations *reservations)
{
    struct locus_reservations_stats stats;
    locus_reservations_stats(reservations, &stats);
    return stats.available;
}

Test(reservation, what_is_promised_to_one_is_not_promised_to_another)
{
    struct world world;
    struct locus_reservation a = {0}, b = {0};
    world_open(&world, 8, false);
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 2, 5), 0);
    cr_assert_eq(available(reservations), 3, "before anything was taken");
    cr_assert_eq(locus_reservation_admit(reservations, &b, 2, 4), -EAGAIN, "the check alone would have passed: 8 blocks are free");
    cr_assert_eq(locus_reservation_admit(reservations, &b, 1, 9), -ENOSPC);
    cr_assert_eq(locus_reservation_admit(reservations, &b, 2, 3), 0);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 2), 0);
    cr_assert_eq(locus_reservation_grow(reservations, &b, world.tables[1], 4), -EAGAIN, "one of them is reserved to the other");
    cr_assert_eq(locus_reservation_grow(reservations, &b, world.tables[1], 3), 0);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 3), 0, "the reservation is kept");
    cr_assert_eq(available(reservations), 0);
    locus_reservation_end(reservations, &a);
    locus_reservation_end(reservations, &b);
    released(&world, 0);
    released(&world, 1);
    cr_assert_eq(available(reservations), 8);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(reservation, an_end_returns_what_was_not_taken)
{
    struct world world;
    struct locus_reservation a = {0};
    world_open(&world, 8, false);
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 2, 7), 0);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 2), 0);
    locus_reservation_end(reservations, &a);
    cr_assert_eq(available(reservations), 6);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 1, 1), 0, "it can be used again");
    locus_reservation_end(reservations, &a);
    released(&world, 0);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(reservation, the_watermark_binds_only_while_somebody_runs)
{
    struct world world;
    struct locus_reservation a = {0}, b = {0};
    world_open(&world, 10, false);
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_WATERMARK, 3);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 9, 10), 0, "alone it may have all");
    locus_reservation_end(reservations, &a);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 5, 10), 0);
    cr_assert_eq(locus_reservation_admit(reservations, &b, 3, 3), -EAGAIN);
    cr_assert_eq(locus_reservation_admit(reservations, &b, 2, 9), 0, "exactly three stay");
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 7), 0, "they are for those who run");
    locus_reservation_end(reservations, &a);
    locus_reservation_end(reservations, &b);
    released(&world, 0);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(reservation, a_cut_can_be_renewed_until_others_have_it)
{
    struct world world;
    struct locus_reservation a = {0}, b = {0};
    world_open(&world, 4, false);
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 4, 4), 0);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 4), 0);
    cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.tables[0], 2 * TOKENS), 0);
    cr_assert_eq(locus_reservation_renew(reservations, &a, 2), 0);
    cr_assert_eq(locus_reservation_admit(reservations, &b, 1, 1), -EAGAIN);
    cr_assert_eq(locus_reservation_renew(reservations, &a, 1), -EAGAIN);
    locus_reservation_end(reservations, &a);
    released(&world, 0);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(reservation, kept_blocks_are_available_until_a_match_takes_them)
{
    struct world world;
    struct locus_reservation a = {0}, b = {0};
    const struct locus_id ids[] = {{{1, 0}}, {{2, 0}}, {{2, 1}}};
    world_open(&world, 4, false);
    cache_open(&world, "lru");
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_PROMPT, 0);
    written(&world, 0, 0, 12, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 3, world.tables[0]), 3);
    released(&world, 0);
    cr_assert_eq(available(reservations), 4);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 2, 4), 0);
    cr_assert_eq(locus_reservation_match(reservations, &b, world.prefix, 1, ids, NULL, 3, world.tables[1]), -EAGAIN,
                 "two are reserved");
    cr_assert_eq(world.tables[1]->count, 0);
    cr_assert_eq(locus_reservation_match(reservations, &b, world.prefix, 1, ids, NULL, 2, world.tables[1]), 2);
    cr_assert_eq(available(reservations), 0);
    cr_assert_eq(locus_reservation_match(reservations, &b, world.prefix, 2, ids, NULL, 2, world.tables[2]), 2,
                 "in use: costs nothing");
    cr_assert_eq(locus_reservation_write(reservations, &b, world.tables[2], 7, 1, PLANES), -EAGAIN,
                 "a copy would take a reserved one");
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[3], 2), 0);
    locus_reservation_end(reservations, &a);
    released(&world, 3);
    cr_assert_eq(locus_reservation_write(reservations, &b, world.tables[2], 7, 3, PLANES), 0, "a copy, and one more");
    cr_assert_eq(available(reservations), 0);
    released(&world, 1);
    released(&world, 2);
    cr_assert_eq(available(reservations), 4);
    locus_reservations_close(reservations);
    world_close(&world);
}

Test(reservation, wrong_calls_are_refused)
{
    struct world world;
    struct locus_reservation a = {0};
    struct locus_reservations *none;
    world_open(&world, 4, false);
    struct locus_reservations_config config = {.size = sizeof config, .owner = world.owner, .watermark_blocks = 4};
    cr_assert_eq(locus_reservations_open(&none, &config), -EINVAL);
    config = (struct locus_reservations_config){.size = sizeof config};
    cr_assert_eq(locus_reservations_open(&none, &config), -EINVAL);
    struct locus_reservations *reservations = reservations_of(&world, LOCUS_ADMIT_PROMPT, 0);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 3, 2), -EINVAL);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 2, 2), 0);
    cr_assert_eq(locus_reservation_admit(reservations, &a, 1, 1), -EINVAL, "it has one");
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_reservation_grow(reservations, &a, world.tables[0], 1), -EPERM);
    locus_owner_adopt(world.owner);
    locus_reservation_end(reservations, &a);
    locus_reservations_close(reservations);
    world_close(&world);
}
