// SPDX-License-Identifier: Apache-2.0
//
// domain: blocks of several homes with several holders: forks, and writes that copy to the writer's home.
#include "locus/prefix.h"
#include "placement/domain/tests/domain_test.h"

TestSuite(domain_share, .timeout = 60);

struct shared_world {
    struct locus_domain *domain;
    struct locus_table *from, *to, *leavers;
};

// `from` has two blocks of home 0, one of home 2 and one of home 1.
static struct shared_world world_open(bool tags)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_REFUSE);
    config.shared = true;
    config.tags = tags;
    struct shared_world world = {.domain = opened(&config)};
    world.from = table_new(world.domain);
    world.to = table_new(world.domain);
    world.leavers = table_new(world.domain);
    locus_table_set_tag(world.from, 7);
    locus_table_set_tag(world.to, 8);
    cr_assert_eq(locus_domain_grow(world.domain, 0, world.from, 2), 0);
    cr_assert_eq(locus_domain_grow(world.domain, 2, world.from, 1), 0);
    cr_assert_eq(locus_domain_grow(world.domain, 1, world.from, 1), 0);
    return world;
}

static void world_close(struct shared_world *world)
{
    closed(world->domain);
    free(world->from);
    free(world->to);
    free(world->leavers);
}

static struct locus_owner *owner(const struct shared_world *world, uint32_t home)
{
    return locus_domain_owner(world->domain, home);
}

static uint32_t holders(const struct shared_world *world, locus_block block)
{
    return locus_pool_holders(locus_owner_pool(owner(world, locus_block_home(block))), block);
}

Test(domain_share, a_fork_over_homes_takes_a_call_by_each_owner)
{
    struct shared_world world = world_open(true);
    uint64_t left;
    cr_assert_eq(locus_owner_fork(owner(&world, 0), world.from, world.to), -EXDEV);
    cr_assert_eq(locus_owner_fork_at(owner(&world, 1), world.from, world.to, &left), 0);
    cr_assert_eq(left, 1u << 0 | 1u << 2);
    cr_assert_eq(locus_owner_fork_at(owner(&world, 1), world.from, world.to, &left), 0, "twice is once");
    cr_assert_eq(locus_owner_fork_at(owner(&world, 0), world.from, world.to, &left), 0);
    cr_assert_eq(locus_owner_fork_at(owner(&world, 2), world.from, world.to, &left), 0);
    cr_assert_eq(left, 0);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(holders(&world, world.to->blocks[i]), 2);
    send(world.domain, 1, world.from);
    drain_all(world.domain);
    cr_assert_eq(locus_domain_next_reclaimed(world.domain, 1), world.from);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(holders(&world, world.to->blocks[i]), 1);
    send(world.domain, 0, world.to);
    drain_all(world.domain);
    world_close(&world);
}

Test(domain_share, a_fork_that_cannot_be_completed_is_undone)
{
    struct shared_world world = world_open(false);
    uint64_t left;
    cr_assert_eq(locus_owner_fork_at(owner(&world, 0), world.from, world.to, &left), 0);
    cr_assert_eq(locus_owner_fork_at(owner(&world, 2), world.from, world.to, &left), 0);
    cr_assert_eq(locus_owner_unfork_at(owner(&world, 1), world.to, &left), -EINVAL, "it has done nothing yet");
    cr_assert_eq(locus_owner_unfork_at(owner(&world, 2), world.to, &left), 0);
    cr_assert_eq(world.to->count, 4);
    cr_assert_eq(locus_owner_unfork_at(owner(&world, 0), world.to, &left), 0);
    cr_assert_eq(world.to->count, 0);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(holders(&world, world.from->blocks[i]), 1);
    send(world.domain, 0, world.from);
    drain_all(world.domain);
    world_close(&world);
}

Test(domain_share, a_write_copies_a_foreign_block_to_the_writers_home)
{
    struct shared_world world = world_open(true);
    locus_block foreign = world.from->blocks[2], own = world.from->blocks[3];
    char *before = locus_domain_address(world.domain, foreign);
    memset(before, 'x', 64);
    cr_assert_eq(locus_owner_write(owner(&world, 1), world.from, 2 * 16 + 8, 8, 1), -EXDEV, "where should the old handle go?");
    cr_assert_eq(locus_domain_write(world.domain, 1, world.from, 2 * 16 + 8, 16, 1, world.leavers), 0);
    cr_assert_eq(locus_block_home(world.from->blocks[2]), 1);
    char *after = locus_domain_address(world.domain, world.from->blocks[2]);
    cr_assert_arr_eq(after, before, 32, "8 of 16 tokens were in use");
    cr_assert_neq(after[32], 'x');
    cr_assert_eq(world.from->blocks[3], own, "nobody else holds it");
    cr_assert_eq(world.from->homes, 1u << 0 | 1u << 1);
    cr_assert_eq(world.leavers->count, 1);
    cr_assert_eq(world.leavers->blocks[0], foreign);
    cr_assert_eq(world.leavers->tag, 7);
    cr_assert_eq(holders(&world, foreign), 1);
    send(world.domain, 1, world.leavers);
    drain_all(world.domain);
    cr_assert_eq(holders(&world, foreign), 0);
    locus_table_set_tag(world.leavers, 9);
    cr_assert_eq(locus_table_append(world.leavers, world.from->blocks[0]), 0);
    cr_assert_eq(locus_domain_write(world.domain, 1, world.from, 0, 1, 1, world.leavers), -EINVAL, "another request's");
    cr_assert_eq(locus_domain_write(world.domain, HOMES, world.from, 0, 1, 1, world.leavers), -EINVAL);
    world.leavers->count = 0;
    send(world.domain, 0, world.from);
    drain_all(world.domain);
    world_close(&world);
}

Test(domain_share, a_window_lets_foreign_blocks_go_in_a_table_of_their_own)
{
    struct shared_world world = world_open(true);
    locus_block foreign = world.from->blocks[2], last = world.from->blocks[3];
    cr_assert_eq(locus_owner_drop_before(owner(&world, 0), world.from, 3 * 16), -EXDEV);
    cr_assert_eq(world.from->dropped, 0);
    world.leavers->capacity = 0;
    cr_assert_eq(locus_domain_drop_before(world.domain, 0, world.from, 3 * 16, world.leavers), -ENOSPC);
    cr_assert(world.from->dropped == 0 && pool_of(world.domain, 0).outstanding == 2);
    world.leavers->capacity = 1;
    cr_assert_eq(locus_domain_drop_before(world.domain, HOMES, world.from, 3 * 16, world.leavers), -EINVAL);
    cr_assert_eq(locus_domain_drop_before(world.domain, 0, world.from, 3 * 16, world.leavers), 0);
    cr_assert(world.from->dropped == 3 && world.from->count == 4 && world.from->homes == 1u << 1);
    cr_assert(locus_table_at(world.from, 0) == LOCUS_BLOCK_NONE && locus_table_at(world.from, 3 * 16) == last);
    cr_assert_eq(pool_of(world.domain, 0).outstanding, 0);
    cr_assert(world.leavers->count == 1 && world.leavers->blocks[0] == foreign && world.leavers->tag == 7);
    uint64_t left;
    cr_assert_eq(locus_owner_fork_at(owner(&world, 1), world.from, world.to, &left), 0, "a fork has the same window");
    cr_assert(left == 0 && world.to->dropped == 3 && holders(&world, last) == 2);
    send(world.domain, 0, world.leavers);
    drain_all(world.domain);
    cr_assert_eq(holders(&world, foreign), 0);
    send(world.domain, 1, world.from);
    send(world.domain, 1, world.to);
    drain_all(world.domain);
    cr_assert_eq(holders(&world, last), 0);
    world_close(&world);
}

Test(domain_share, a_home_lends_kept_blocks_too)
{
    struct locus_domain_config config = usual(LOCUS_EXHAUSTED_BORROW);
    config.shared = true;
    struct locus_domain *domain = opened(&config);
    struct locus_prefix_config prefix_config = {.size = sizeof prefix_config, .owner = locus_domain_owner(domain, 1)};
    struct locus_prefix *prefix;
    struct locus_table *table = table_new(domain), *borrower = table_new(domain);
    struct locus_id ids[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
        ids[i] = locus_id_of(40 + i);
    cr_assert_eq(locus_prefix_open(&prefix, &prefix_config), 0);
    cr_assert_eq(locus_domain_grow(domain, 1, table, BLOCKS), 0);
    cr_assert_eq(locus_prefix_publish(prefix, ids, NULL, BLOCKS, table), BLOCKS);
    cr_assert_eq(locus_owner_truncate(locus_domain_owner(domain, 1), table, 0), 0);
    cr_assert_eq(pool_of(domain, 1).blocks_cached, BLOCKS);
    int error = -EAGAIN;
    for (int i = 0; i < 10 && error == -EAGAIN; i++) {
        error = locus_domain_grow(domain, 0, borrower, BLOCKS + BLOCKS + 2);
        drain_all(domain);
    }
    cr_assert_eq(error, 0, "18 blocks of 24, and 8 of them were kept");
    cr_assert_leq(pool_of(domain, 1).blocks_cached, BLOCKS - 2);
    send(domain, 0, borrower);
    drain_all(domain);
    cr_assert_eq(locus_prefix_close(prefix), 0);
    closed(domain);
    free(table);
    free(borrower);
}
