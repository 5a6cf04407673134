// SPDX-License-Identifier: Apache-2.0
#include "placement/sharing/promise.h"
#include "placement/sharing/tests/sharing_test.h"

#include <errno.h>

static struct locus_promises *promises_of(const struct world *world, enum locus_admission admission, uint32_t watermark)
{
    struct locus_promises *promises = NULL;
    struct locus_promises_config config = {.size = sizeof config,
                                           .owner = world->owner,
                                           .admission = admission,
                                           .watermark_blocks = watermark};
    cr_assert_eq(locus_promises_open(&promises, &config), 0);
    return promises;
}

static uint32_t available(const struct locus_promises *promises)
{
    struct locus_promises_stats stats;
    locus_promises_stats(promises, &stats);
    return stats.available;
}

Test(promise, what_is_promised_to_one_is_not_promised_to_another)
{
    struct world world;
    struct locus_promise a = {0}, b = {0};
    world_open(&world, 8, false);
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_promise_admit(promises, &a, 2, 5), 0);
    cr_assert_eq(available(promises), 3, "before anything was taken");
    cr_assert_eq(locus_promise_admit(promises, &b, 2, 4), -EAGAIN, "the check alone would have passed: 8 blocks are free");
    cr_assert_eq(locus_promise_admit(promises, &b, 1, 9), -ENOSPC);
    cr_assert_eq(locus_promise_admit(promises, &b, 2, 3), 0);
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 2), 0);
    cr_assert_eq(locus_promise_grow(promises, &b, world.tables[1], 4), -EAGAIN, "one of them is promised to the other");
    cr_assert_eq(locus_promise_grow(promises, &b, world.tables[1], 3), 0);
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 3), 0, "the promise is kept");
    cr_assert_eq(available(promises), 0);
    locus_promise_end(promises, &a);
    locus_promise_end(promises, &b);
    released(&world, 0);
    released(&world, 1);
    cr_assert_eq(available(promises), 8);
    locus_promises_close(promises);
    world_close(&world);
}

Test(promise, an_end_returns_what_was_not_taken)
{
    struct world world;
    struct locus_promise a = {0};
    world_open(&world, 8, false);
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_promise_admit(promises, &a, 2, 7), 0);
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 2), 0);
    locus_promise_end(promises, &a);
    cr_assert_eq(available(promises), 6);
    cr_assert_eq(locus_promise_admit(promises, &a, 1, 1), 0, "it can be used again");
    locus_promise_end(promises, &a);
    released(&world, 0);
    locus_promises_close(promises);
    world_close(&world);
}

Test(promise, the_watermark_binds_only_while_somebody_runs)
{
    struct world world;
    struct locus_promise a = {0}, b = {0};
    world_open(&world, 10, false);
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_WATERMARK, 3);
    cr_assert_eq(locus_promise_admit(promises, &a, 9, 10), 0, "alone it may have all");
    locus_promise_end(promises, &a);
    cr_assert_eq(locus_promise_admit(promises, &a, 5, 10), 0);
    cr_assert_eq(locus_promise_admit(promises, &b, 3, 3), -EAGAIN);
    cr_assert_eq(locus_promise_admit(promises, &b, 2, 9), 0, "exactly three stay");
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 7), 0, "they are for those who run");
    locus_promise_end(promises, &a);
    locus_promise_end(promises, &b);
    released(&world, 0);
    locus_promises_close(promises);
    world_close(&world);
}

Test(promise, a_cut_can_be_renewed_until_others_have_it)
{
    struct world world;
    struct locus_promise a = {0}, b = {0};
    world_open(&world, 4, false);
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_FULL, 0);
    cr_assert_eq(locus_promise_admit(promises, &a, 4, 4), 0);
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 4), 0);
    cr_assert_eq(locus_owner_cut(world.owner, world.tables[0], 2 * TOKENS), 0);
    cr_assert_eq(locus_promise_renew(promises, &a, 2), 0);
    cr_assert_eq(locus_promise_admit(promises, &b, 1, 1), -EAGAIN);
    cr_assert_eq(locus_promise_renew(promises, &a, 1), -EAGAIN);
    locus_promise_end(promises, &a);
    released(&world, 0);
    locus_promises_close(promises);
    world_close(&world);
}

Test(promise, kept_blocks_are_available_until_a_match_takes_them)
{
    struct world world;
    struct locus_promise a = {0}, b = {0};
    const struct locus_id ids[] = {{{1, 0}}, {{2, 0}}, {{2, 1}}};
    world_open(&world, 4, false);
    cache_open(&world, "lru");
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_PROMPT, 0);
    written(&world, 0, 0, 12, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, ids, NULL, 3, world.tables[0]), 3);
    released(&world, 0);
    cr_assert_eq(available(promises), 4);
    cr_assert_eq(locus_promise_admit(promises, &a, 2, 4), 0);
    cr_assert_eq(locus_promise_match(promises, &b, world.prefix, 1, ids, NULL, 3, world.tables[1]), -EAGAIN, "two are promised");
    cr_assert_eq(world.tables[1]->count, 0);
    cr_assert_eq(locus_promise_match(promises, &b, world.prefix, 1, ids, NULL, 2, world.tables[1]), 2);
    cr_assert_eq(available(promises), 0);
    cr_assert_eq(locus_promise_match(promises, &b, world.prefix, 2, ids, NULL, 2, world.tables[2]), 2, "in use: costs nothing");
    cr_assert_eq(locus_promise_write(promises, &b, world.tables[2], 7, 1, PLANES), -EAGAIN, "a copy would take a promised one");
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[3], 2), 0);
    locus_promise_end(promises, &a);
    released(&world, 3);
    cr_assert_eq(locus_promise_write(promises, &b, world.tables[2], 7, 3, PLANES), 0, "a copy, and one more");
    cr_assert_eq(available(promises), 0);
    released(&world, 1);
    released(&world, 2);
    cr_assert_eq(available(promises), 4);
    locus_promises_close(promises);
    world_close(&world);
}

Test(promise, wrong_calls_are_refused)
{
    struct world world;
    struct locus_promise a = {0};
    struct locus_promises *none;
    world_open(&world, 4, false);
    struct locus_promises_config config = {.size = sizeof config, .owner = world.owner, .watermark_blocks = 4};
    cr_assert_eq(locus_promises_open(&none, &config), -EINVAL);
    config = (struct locus_promises_config){.size = sizeof config};
    cr_assert_eq(locus_promises_open(&none, &config), -EINVAL);
    struct locus_promises *promises = promises_of(&world, LOCUS_ADMIT_PROMPT, 0);
    cr_assert_eq(locus_promise_admit(promises, &a, 3, 2), -EINVAL);
    cr_assert_eq(locus_promise_admit(promises, &a, 2, 2), 0);
    cr_assert_eq(locus_promise_admit(promises, &a, 1, 1), -EINVAL, "it has one");
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_promise_grow(promises, &a, world.tables[0], 1), -EPERM);
    locus_owner_adopt(world.owner);
    locus_promise_end(promises, &a);
    locus_promises_close(promises);
    world_close(&world);
}
