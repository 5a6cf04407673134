// SPDX-License-Identifier: Apache-2.0
#include "placement/sharing/tests/sharing_test.h"

#include <errno.h>

Test(share, a_fork_holds_the_same_blocks_and_copies_nothing)
{
    struct world world;
    world_open(&world, 8, false);
    written(&world, 0, 0, 10, 'a');
    forked(&world, 0, 1);
    cr_assert_eq(world.tables[1]->count, 3);
    cr_assert_arr_eq(world.tables[0]->blocks, world.tables[1]->blocks, 3 * sizeof(locus_block));
    cr_assert_eq(stats_of(&world).outstanding, 3);
    cr_assert_eq(stats_of(&world).sharers, 3);
    cr_assert_eq(locus_pool_holders(world.pool, world.tables[0]->blocks[0]), 2);
    released(&world, 0);
    cr_assert_eq(stats_of(&world).outstanding, 3, "the other one still holds them");
    holds(&world, 1, 0, 10, 'a');
    released(&world, 1);
    cr_assert_eq(stats_of(&world).outstanding, 0);
    cr_assert_eq(stats_of(&world).sharers, 0);
    world_close(&world);
}

Test(share, who_writes_first_copies_what_is_in_use_and_the_last_takes_over)
{
    struct world world;
    world_open(&world, 8, false);
    written(&world, 0, 0, 6, 'a');
    forked(&world, 0, 1);
    locus_block partial = world.tables[0]->blocks[1];
    memset(token_at(&world, world.tables[0], 6, 0), 'z', TOKEN_BYTES / PLANES); // not in use: need not be copied
    written(&world, 1, 6, 1, 'b');
    cr_assert_neq(world.tables[1]->blocks[1], partial);
    cr_assert_eq(world.tables[1]->blocks[0], world.tables[0]->blocks[0], "the full block stays shared");
    holds(&world, 1, 0, 6, 'a');
    holds(&world, 1, 6, 1, 'b');
    cr_assert_eq(stats_of(&world).outstanding, 3);
    written(&world, 0, 6, 2, 'c');
    cr_assert_eq(world.tables[0]->blocks[1], partial, "nobody else holds it any more");
    holds(&world, 0, 0, 6, 'a');
    holds(&world, 1, 6, 1, 'b');
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(share, overwriting_from_the_middle_leaves_the_others_tokens)
{
    struct world world;
    world_open(&world, 16, false);
    written(&world, 0, 0, 12, 'a');
    forked(&world, 0, 1);
    written(&world, 1, 5, 7, 'b');
    holds(&world, 0, 0, 12, 'a');
    holds(&world, 1, 0, 5, 'a');
    holds(&world, 1, 5, 7, 'b');
    cr_assert_eq(stats_of(&world).outstanding, 5);
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(share, a_write_that_finds_no_block_leaves_the_first_tokens)
{
    struct world world;
    world_open(&world, 2, false);
    written(&world, 0, 0, 6, 'a');
    forked(&world, 0, 1);
    cr_assert_eq(locus_owner_write(world.owner, world.tables[1], 6, 1, PLANES), -ENOMEM);
    holds(&world, 1, 0, 6, 'a');
    cr_assert_eq(stats_of(&world).sharers, 2);
    released(&world, 0);
    released(&world, 1);
    cr_assert_eq(stats_of(&world).blocks_free, 2);
    world_close(&world);
}

// Then the copy takes the next block of the stack, without the owner's grow.
Test(share, a_copy_into_a_used_block_is_counted_like_any_other)
{
    struct world world;
    world_open(&world, 4, false);
    written(&world, 0, 0, 16, 'x');
    written(&world, 0, 0, 16, 'y'); // in place
    released(&world, 0);
    written(&world, 0, 0, 10, 'a');
    forked(&world, 0, 1);
    written(&world, 1, 10, 1, 'b');
    struct locus_pool_stats stats = stats_of(&world);
    cr_assert(stats.outstanding == 4 && stats.sharers == 2 && stats.blocks_free == 0);
    cr_assert_eq(locus_pool_holders(world.pool, world.tables[0]->blocks[2]), 1);
    cr_assert_eq(locus_pool_holders(world.pool, world.tables[1]->blocks[2]), 1);
    holds(&world, 0, 0, 10, 'a');
    holds(&world, 1, 0, 10, 'a');
    holds(&world, 1, 10, 1, 'b');
    cr_assert_eq(locus_owner_write(world.owner, world.tables[1], 4, 1, PLANES), -ENOMEM, "no block is left");
    holds(&world, 1, 0, 10, 'a');
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(share, a_cut_drops_one_holder_of_what_lies_behind)
{
    struct world world;
    world_open(&world, 8, false);
    written(&world, 0, 0, 12, 'a');
    forked(&world, 0, 1);
    cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.tables[0], 5), 0);
    cr_assert_eq(world.tables[0]->count, 2);
    cr_assert_eq(stats_of(&world).sharers, 2);
    holds(&world, 1, 0, 12, 'a');
    cr_assert_eq(locus_owner_truncate_tokens(world.owner, world.tables[0], 100), 0, "longer than it is: nothing");
    cr_assert_eq(world.tables[0]->count, 2);
    released(&world, 1);
    cr_assert_eq(stats_of(&world).outstanding, 2);
    released(&world, 0);
    world_close(&world);
}

Test(share, holders_leave_by_push_in_any_order)
{
    struct world world;
    world_open(&world, 4, false);
    written(&world, 0, 0, 16, 'a');
    for (unsigned i = 1; i < 4; i++)
        forked(&world, 0, i);
    for (unsigned i = 0; i < 4; i++) {
        unsigned table = (i + 2) % 4;
        cr_assert_eq(stats_of(&world).outstanding, 4);
        cr_assert_eq(locus_owner_retire(world.owner, world.tables[table]), 0);
        cr_assert_eq(locus_table_push(&world.route, world.tables[table]), 0);
        cr_assert_eq(locus_owner_drain(world.owner), 4, "handles that came home");
        cr_assert_eq(locus_owner_next_reclaimed(world.owner), world.tables[table]);
    }
    cr_assert_eq(stats_of(&world).blocks_free, 4);
    world_close(&world);
}

static unsigned refusals;
static enum locus_free_error refused_as;

static void on_error(void *context, enum locus_free_error error, locus_block block, uint64_t tag)
{
    (void)context;
    (void)block;
    (void)tag;
    refusals++;
    refused_as = error;
}

Test(share, by_its_tag_a_second_free_of_a_shared_block_is_refused)
{
    struct world world;
    world_open(&world, 4, true);
    locus_pool_on_error(world.pool, on_error, NULL);
    written(&world, 0, 0, 4, 'a');
    forked(&world, 0, 1);
    forked(&world, 0, 2);
    locus_block block = world.tables[0]->blocks[0];
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 101), 1);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 101), 0, "one reference too few would be left");
    cr_assert_eq(refused_as, LOCUS_FREE_NOT_HELD);
    cr_assert_eq(locus_pool_holders(world.pool, block), 2);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 100), 1);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 102), 1);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 102), 0);
    cr_assert_eq(refused_as, LOCUS_FREE_DOUBLE);
    cr_assert_eq(refusals, 2);
    world_close(&world);
}

// Table 0's block, in the hands of tables 0 to n - 1.
static locus_block held_by(struct world *world, unsigned n)
{
    world_open(world, 4, true);
    locus_pool_on_error(world->pool, on_error, NULL);
    refusals = 0;
    written(world, 0, 0, 4, 'a');
    for (unsigned i = 1; i < n; i++)
        forked(world, 0, i);
    return world->tables[0]->blocks[0];
}

static void refused_but_live(const struct world *world, locus_block block, unsigned holders)
{
    cr_assert_eq(refusals, 1);
    cr_assert_eq(refused_as, LOCUS_FREE_NOT_HELD);
    cr_assert_eq(locus_pool_check(world->pool, block), 0);
    cr_assert_eq(locus_pool_holders(world->pool, block), holders);
    cr_assert_eq(stats_of(world).outstanding, 1);
    cr_assert_eq(stats_of(world).sharers, holders - 1);
}

Test(share, by_its_tag_a_second_free_is_refused_however_many_hold_the_block)
{
    struct world world;
    for (unsigned n = 2; n <= TABLES; n++)
        for (unsigned twice = 0; twice < n; twice++) {
            locus_block block = held_by(&world, n);
            cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 100 + twice), 1);
            cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 100 + twice), 0, "%u holders, tag %u", n, 100 + twice);
            refused_but_live(&world, block, n - 1);
            for (unsigned i = 0; i < n; i++)
                cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 100 + i), i != twice);
            cr_assert_eq(stats_of(&world).blocks_free, 4);
            world_close(&world);
        }
}

Test(share, by_its_tag_a_block_that_a_batch_names_twice_is_let_go_once)
{
    struct world world;
    for (unsigned n = 2; n <= TABLES; n++) {
        locus_block block = held_by(&world, n), batch[2] = {block, block};
        cr_assert_eq(locus_pool_free_bulk(world.pool, 2, batch, 100), 1, "%u holders", n);
        refused_but_live(&world, block, n - 1);
        world_close(&world);
    }
}

Test(share, by_its_tag_a_table_that_comes_home_with_a_block_twice_lets_it_go_once)
{
    struct world world;
    for (unsigned n = 2; n <= TABLES; n++) {
        locus_block block = held_by(&world, n);
        cr_assert_eq(locus_table_append(world.tables[0], block), 0, "it claims the block twice and holds it once");
        cr_assert_eq(locus_owner_retire(world.owner, world.tables[0]), 0);
        cr_assert_eq(locus_table_push(&world.route, world.tables[0]), 0);
        cr_assert_eq(locus_owner_drain(world.owner), 1);
        refused_but_live(&world, block, n - 1);
        world_close(&world);
    }
}

Test(share, the_last_of_several_is_let_go_only_by_its_tag_and_writes_in_place)
{
    struct world world;
    for (unsigned last = 0; last < 3; last++) {
        locus_block block = held_by(&world, 3);
        for (unsigned i = 0; i < 3; i++)
            if (i != last)
                released(&world, i);
        cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 999), 0);
        refused_but_live(&world, block, 1);
        cr_assert_eq(locus_owner_write(world.owner, world.tables[last], 2, 1, PLANES), 0);
        cr_assert_eq(world.tables[last]->blocks[0], block);
        released(&world, last);
        cr_assert_eq(stats_of(&world).blocks_free, 4);
        world_close(&world);
    }
}

Test(share, the_tag_of_a_block_that_was_never_shared_is_not_compared)
{
    struct world world;
    locus_block block = held_by(&world, 2);
    released(&world, 0);
    released(&world, 1);
    block = locus_pool_alloc(world.pool);
    cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 7), 1, "also if an earlier use of the block was shared");
    cr_assert_eq(refusals, 0);
    world_close(&world);
}

struct found {
    uint64_t tags;
    unsigned calls;
};

static void on_out(void *context, locus_block block, uint64_t tag)
{
    struct found *found = context;
    (void)block;
    found->tags += tag;
    found->calls++;
}

Test(share, each_holder_is_reported_by_its_tag)
{
    struct world world;
    struct found found = {0};
    uint32_t count;
    world_open(&world, 4, true);
    written(&world, 0, 0, 4, 'a');
    forked(&world, 0, 3);
    forked(&world, 3, 5);
    released(&world, 0);
    cr_assert_eq(locus_pool_each_out(world.pool, on_out, &found, &count), 0);
    cr_assert_eq(count, 2);
    cr_assert_eq(found.calls, 2);
    cr_assert_eq(found.tags, 103 + 105, "a reference too many would be somebody's: this says whose");
    released(&world, 3);
    released(&world, 5);
    world_close(&world);
}

Test(share, many_holders_of_one_block)
{
    struct world world;
    world_open(&world, 2, true);
    written(&world, 0, 0, 4, 'a');
    locus_block block = world.tables[0]->blocks[0];
    for (unsigned i = 0; i < 300; i++) {
        locus_table_set_tag(world.tables[1], 1000 + i);
        forked(&world, 0, 1);
        world.tables[1]->count = 0; // held by hand
        world.tables[1]->homes = 0;
    }
    cr_assert_eq(locus_pool_holders(world.pool, block), 301);
    for (unsigned i = 0; i < 300; i++)
        cr_assert_eq(locus_pool_free_bulk(world.pool, 1, &block, 1000 + (i * 7) % 300), 1);
    cr_assert_eq(locus_pool_holders(world.pool, block), 1);
    released(&world, 0);
    world_close(&world);
}

Test(share, wrong_calls_are_refused_and_change_nothing)
{
    struct world world;
    world_open(&world, 8, false);
    written(&world, 0, 0, 8, 'a');
    written(&world, 1, 0, 4, 'b');
    struct locus_table *small = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, 1));
    cr_assert_eq(locus_table_init(small, 1, 1, TOKENS), 0);
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], world.tables[1]), -EINVAL, "not empty");
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], world.tables[0]), -EINVAL);
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], small), -ENOSPC);
    small->tokens_per_block = TOKENS + 1;
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[1], small), -EINVAL, "other blocks");
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 9, 1, PLANES), -EINVAL, "it has no token 8");
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 8, 1, 0), -EINVAL);
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 8, 1, 5), -EINVAL, "planes that do not divide a block");
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 8, CAPACITY * TOKENS, PLANES), -ENOSPC);
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 8, 0, PLANES), 0, "nothing");
    cr_assert_eq(world.tables[0]->count, 2);
    cr_assert_eq(stats_of(&world).sharers, 0);
    locus_block damaged = world.tables[0]->blocks[1];
    world.tables[0]->blocks[1] = damaged + 1;
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], world.tables[2]), -ESTALE);
    cr_assert_eq(stats_of(&world).sharers, 0);
    cr_assert_eq(locus_pool_holders(world.pool, world.tables[0]->blocks[0]), 1, "the block before it was let go again");
    world.tables[0]->blocks[1] = damaged;
    locus_owner_leave(world.owner);
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], world.tables[2]), -EPERM);
    cr_assert_eq(locus_owner_write(world.owner, world.tables[0], 8, 1, PLANES), -EPERM);
    locus_owner_adopt(world.owner);
    released(&world, 0);
    released(&world, 1);
    free(small);
    world_close(&world);
}

Test(share, a_pool_that_is_not_shared_cannot_be_forked)
{
    struct world world;
    struct locus_pool_config config = shared_config(4, false);
    config.shared = false;
    world_open_with(&world, &config);
    written(&world, 0, 0, 4, 'a');
    cr_assert_eq(locus_owner_fork(world.owner, world.tables[0], world.tables[1]), -EINVAL);
    cr_assert_eq(locus_pool_holders(world.pool, world.tables[0]->blocks[0]), 1);
    released(&world, 0);
    world_close(&world);
}

Test(share, blocks_of_a_chunk_leave_again_in_the_order_in_which_they_were_in_use)
{
    struct world world;
    world_open(&world, 8, false);
    written(&world, 0, 0, 12, 'a');
    written(&world, 1, 0, 4, 'b'); // so that not everything comes home
    locus_block before[3];
    memcpy(before, world.tables[0]->blocks, sizeof before);
    released(&world, 0);
    written(&world, 0, 0, 12, 'c');
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(locus_block_index(world.tables[0]->blocks[i]), locus_block_index(before[i]));
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

Test(share, a_fork_has_the_window_of_its_origin_and_writes_behind_it)
{
    struct world world;
    world_open(&world, 16, true);
    struct locus_table *from = world.tables[0], *to = world.tables[1];
    cr_assert_eq(locus_owner_grow(world.owner, from, 4), 0);
    locus_block second = from->blocks[1];
    cr_assert_eq(locus_owner_drop_before(world.owner, from, TOKENS), 0);
    cr_assert_eq(locus_owner_fork(world.owner, from, to), 0);
    cr_assert(to->count == 4 && to->dropped == 1 && to->blocks[0] == LOCUS_BLOCK_NONE && to->blocks[1] == second);
    cr_assert_eq(locus_pool_holders(world.pool, second), 2);
    cr_assert_eq(locus_owner_write(world.owner, to, TOKENS - 1, 1, PLANES), -EINVAL, "its block was dropped");
    cr_assert_eq(locus_owner_write(world.owner, to, TOKENS, 1, PLANES), 0);
    cr_assert_neq(to->blocks[1], second);
    cr_assert_eq(locus_owner_drop_before(world.owner, from, 3 * TOKENS), 0, "the other one still holds the third");
    cr_assert_eq(locus_pool_holders(world.pool, second), 0);
    cr_assert_eq(locus_pool_holders(world.pool, to->blocks[2]), 1);
    for (unsigned i = 0; i < 2; i++)
        cr_assert(locus_owner_retire(world.owner, world.tables[i]) == 0 && locus_table_push(&world.route, world.tables[i]) == 0);
    cr_assert_eq(locus_owner_drain(world.owner), 4, "the fork's copy, what both held, and what one held");
    world_close(&world);
}
