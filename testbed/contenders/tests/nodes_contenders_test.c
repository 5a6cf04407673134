// SPDX-License-Identifier: Apache-2.0
//
// nodes_contenders: the contract of nodes/ops.h, for every contender of many nodes. Two stations, both on one node of this
// machine, with all roles played by this thread. The tests know mallocs, which place nothing, by kind, and by name the control
// that steers nothing home and the contender that borrows.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/locality/locality.h"
#include "testbed/measure/nodes/ops.h"
#include "topo/topo.h"

#define BLOCK_BYTES 4096u
#define POOL_BLOCKS 64u
#define STATIONS 2u
#define SLOTS 8u
#define SPINS_MAX 10u
#define CAPACITY (2 * POOL_BLOCKS + 1) // more than any station has

struct play {
    const char *name;
    const struct tb_nodes_ops *ops;
    void *context;
    struct tb_schedule *schedule;
    struct locus_nodes memory;
    struct locus_table *tables[STATIONS][SLOTS];
    uint64_t taken[STATIONS], retired[STATIONS];
};

static struct tb_schedule *small_schedule(void)
{
    struct tb_builder *builder;
    struct tb_schedule *schedule;
    cr_assert_eq(tb_builder_open(&builder), 0);
    int error = tb_builder_mark_lap(builder);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        error |= tb_builder_add(builder, TB_OP_TAKE, slot, POOL_BLOCKS / SLOTS / 2);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        error |= tb_builder_add(builder, TB_OP_RETIRE, slot, 0);
    error |= tb_builder_mark_epilogue(builder) | tb_builder_pack(builder, "small", POOL_BLOCKS, &schedule);
    cr_assert_eq(error, 0);
    tb_builder_close(builder);
    return schedule;
}

// False: this machine lacks what its policy needs.
static bool play_open(struct play *play, const struct tb_contender *contender)
{
    int nodes[STATIONS] = {0, 0};
    *play = (struct play){.name = contender->name, .ops = contender->nodes->ops, .schedule = small_schedule()};
    while (!locus_node_allowed(nodes[0]))
        nodes[0]++;
    nodes[1] = nodes[0];
    locus_nodes_add(&play->memory, nodes[0]);
    struct tb_nodes_setup setup = {.plan = contender->nodes->plan,
                                   .schedule = play->schedule,
                                   .block_bytes = BLOCK_BYTES,
                                   .nodes = nodes,
                                   .count = STATIONS,
                                   .memory = &play->memory,
                                   .lanes = STATIONS};
    int error = play->ops->open(&setup, &play->context);
    if (error) {
        cr_assert(error == -EPERM || error == -ENOSYS || error == -EINVAL, "%s: open: %s", play->name, strerror(-error));
        cr_assert_neq(contender->nodes->policy, LOCUS_POLICY_FIRST_TOUCH, "%s: it needs nothing", play->name);
        if (play->context)
            play->ops->close(play->context);
        free(play->schedule);
        return false;
    }
    for (uint32_t s = 0; s < STATIONS; s++) {
        cr_assert_eq(play->ops->enter ? play->ops->enter(play->context, s) : 0, 0, "%s: enter", play->name);
        for (uint32_t i = 0; i < SLOTS; i++) {
            play->tables[s][i] = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(STATIONS, CAPACITY));
            cr_assert_eq(locus_table_init(play->tables[s][i], STATIONS, CAPACITY, 1), 0);
        }
    }
    return true;
}

static void play_close(struct play *play)
{
    for (uint32_t s = 0; s < STATIONS; s++) {
        if (play->ops->leave)
            play->ops->leave(play->context, s);
        for (uint32_t i = 0; i < SLOTS; i++)
            free(play->tables[s][i]);
    }
    play->ops->close(play->context);
    free(play->schedule);
}

static void drain_all(struct play *play)
{
    for (unsigned i = 0; i < SPINS_MAX; i++)
        for (uint32_t s = 0; s < STATIONS; s++)
            play->ops->drain(play->context, s);
}

// Also of a home that borrows: the lender answers at its drain.
static int play_take(struct play *play, uint32_t station, uint32_t slot, uint32_t count)
{
    int error = -EAGAIN;
    for (unsigned i = 0; i < SPINS_MAX && error == -EAGAIN; i++) {
        error = play->ops->take(play->context, station, play->tables[station][slot], count);
        drain_all(play);
    }
    play->taken[station] += error ? 0 : count;
    return error;
}

static void play_retire(struct play *play, uint32_t station, uint32_t slot)
{
    int error = play->ops->retire(play->context, station, play->tables[station][slot]);
    cr_assert_eq(error, 0, "%s: retire: %s", play->name, strerror(-error));
    play->retired[station]++;
}

static void play_finish(struct play *play, uint32_t station, uint32_t slot, uint32_t at)
{
    play_retire(play, station, slot);
    play->ops->finish(play->context, at, at, play->tables[station][slot]);
}

static struct tb_audit audit_of(struct play *play, uint32_t station)
{
    struct tb_audit audit = {0};
    play->ops->audit(play->context, station, &audit);
    return audit;
}

static void expect_home(struct play *play)
{
    drain_all(play);
    for (uint32_t s = 0; s < STATIONS; s++) {
        struct tb_audit audit = audit_of(play, s);
        cr_expect_eq(audit.allocated, play->taken[s], "%s: allocated %lu of %lu", play->name, audit.allocated, play->taken[s]);
        cr_expect_eq(audit.freed, play->taken[s], "%s: freed %lu of %lu", play->name, audit.freed, play->taken[s]);
        cr_expect_eq(audit.drained, play->retired[s], "%s: drained %lu of %lu", play->name, audit.drained, play->retired[s]);
        cr_expect_eq(audit.refused + audit.not_home, 0, "%s: something is not home", play->name);
        cr_expect(!play->ops->home || play->ops->home(play->context, s) == play->retired[s], "%s: home()", play->name);
        for (uint32_t i = 0; i < SLOTS; i++)
            cr_expect(play->tables[s][i]->count == 0 && play->tables[s][i]->state == LOCUS_TABLE_LIVE, "%s: a table is not back",
                      play->name);
    }
}

static bool has_block(const struct locus_region *region, const void *block)
{
    const char *base = locus_region_base(region), *byte = block;
    return byte >= base && byte + BLOCK_BYTES <= base + locus_region_bytes(region);
}

static bool is(const struct play *play, const char *name)
{
    return strcmp(play->name, name) == 0;
}

// Calls `test` for each contender of many nodes that is available here.
static void each(void (*test)(struct play *play), bool mallocs)
{
    unsigned played = 0;
    for (const struct tb_contender *const *entry = __start_tb_contenders; entry < __stop_tb_contenders; entry++) {
        struct play play;
        if (!(*entry)->nodes || (!mallocs && !(*entry)->nodes->ops->region) || !play_open(&play, *entry))
            continue;
        test(&play);
        play_close(&play);
        played++;
    }
    cr_assert_geq(played, 1, "not even first-touch was played");
}

static void cross(struct play *play)
{
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < SLOTS; i++)
            for (uint32_t s = 0; s < STATIONS; s++) {
                cr_assert_eq(play_take(play, s, i, 1 + i % 4), 0, "%s: take", play->name);
                cr_assert_eq(play->tables[s][i]->count, 1 + i % 4, "%s: another count", play->name);
                for (uint32_t b = 0; b < play->tables[s][i]->count; b++)
                    memset(play->ops->address(play->context, play->tables[s][i]->blocks[b]), (int)(s * SLOTS + i), BLOCK_BYTES);
            }
        for (uint32_t i = 0; i < SLOTS; i++)
            for (uint32_t s = 0; s < STATIONS; s++) {
                for (uint32_t b = 0; b < play->tables[s][i]->count; b++) {
                    const unsigned char *block = play->ops->address(play->context, play->tables[s][i]->blocks[b]);
                    cr_assert(block[0] == s * SLOTS + i && block[BLOCK_BYTES - 1] == s * SLOTS + i, "%s: shared block", play->name);
                }
                play_finish(play, s, i, (s + i + round) % STATIONS);
            }
        expect_home(play);
    }
}

Test(nodes_contenders, blocks_are_of_one_request_alone_and_all_come_home_wherever_it_finishes)
{
    each(cross, true);
}

static void lose(struct play *play)
{
    cr_assert_eq(play_take(play, 1, 0, 3), 0);
    cr_assert_eq(play_take(play, 1, 1, 2), 0);
    play_finish(play, 1, 0, 0);
    play_retire(play, 1, 1); // and nobody finishes it, for now
    drain_all(play);
    struct tb_audit first = audit_of(play, 0), second = audit_of(play, 1);
    cr_expect_eq(second.allocated, 5, "%s", play->name);
    cr_expect_eq(second.freed, 3, "%s: freed %lu", play->name, second.freed);
    cr_expect_eq(second.drained, 1, "%s: drained %lu", play->name, second.drained);
    cr_expect(first.allocated == 0 && first.freed == 0 && first.drained == 0, "%s: counted for another station", play->name);
    cr_expect(!play->ops->home || play->ops->home(play->context, 1) == 1, "%s: home()", play->name);
    cr_expect(!play->ops->region || first.not_home + second.not_home == 2, "%s: not home %lu", play->name,
              first.not_home + second.not_home);
    play->ops->finish(play->context, 0, 0, play->tables[1][1]);
    expect_home(play);
}

Test(nodes_contenders, a_lost_request_is_missed_at_the_station_where_it_began)
{
    each(lose, true);
}

static void free_twice(struct play *play)
{
    cr_assert_eq(play_take(play, 0, 0, 4), 0);
    play->tables[0][0]->blocks[2] = play->tables[0][0]->blocks[1];
    play_finish(play, 0, 0, 1);
    drain_all(play);
    struct tb_audit first = audit_of(play, 0), second = audit_of(play, 1);
    cr_expect_geq(first.refused + second.refused + first.not_home + second.not_home, 1, "%s: nobody noticed", play->name);
}

Test(nodes_contenders, a_block_that_is_freed_twice_is_noticed)
{
    each(free_twice, false);
}

static void take_all(struct play *play)
{
    if (is(play, "home-borrow"))
        return; // has the other's, too
    const struct locus_region *region = play->ops->region(play->context, 1);
    uint32_t all = (uint32_t)(locus_region_bytes(region) / BLOCK_BYTES);
    cr_assert(all >= POOL_BLOCKS && all < CAPACITY, "%s: a pool of %u blocks", play->name, all);
    int error = play_take(play, 1, 0, all + 1);
    cr_expect(error == -EAGAIN || error == -ENOMEM, "%s: took more than there is: %s", play->name, strerror(-error));
    cr_expect_eq(play->tables[1][0]->count, 0, "%s: took some", play->name);
    cr_expect_eq(play_take(play, 1, 0, all), 0, "%s: it was not full", play->name);
    for (uint32_t b = 0; b < all; b++)
        cr_expect(has_block(region, play->ops->address(play->context, play->tables[1][0]->blocks[b])), "%s: another's", play->name);
    play_finish(play, 1, 0, 0);
    expect_home(play);
}

Test(nodes_contenders, a_station_has_at_least_the_schedules_blocks_all_in_its_own_region)
{
    each(take_all, false);
}

// Everything of station 1 finishes at station 0; then both take all again.
static uint32_t strangers_after_cross_frees(struct play *play, uint32_t station)
{
    uint32_t strangers = 0;
    cr_assert_eq(play_take(play, 1, 0, POOL_BLOCKS / 2), 0);
    int kept = play->ops->kept_on(play->context, 0, play->tables[1][0]->blocks[0]);
    cr_expect(kept == TB_LOCALITY_HERE || locus_nodes_has(&play->memory, kept), "%s: kept on %d", play->name, kept);
    play_finish(play, 1, 0, 0);
    drain_all(play);
    cr_assert_eq(play_take(play, station, 1, POOL_BLOCKS / 2), 0);
    for (uint32_t b = 0; b < POOL_BLOCKS / 2; b++)
        strangers += !has_block(play->ops->region(play->context, station),
                                play->ops->address(play->context, play->tables[station][1]->blocks[b]));
    play_finish(play, station, 1, station);
    expect_home(play);
    return strangers;
}

static void steer(struct play *play)
{
    if (is(play, "home-borrow"))
        return; // its first home is too small for this
    cr_expect_eq(strangers_after_cross_frees(play, 0), is(play, "unsteered") ? POOL_BLOCKS / 2 : 0, "%s", play->name);
}

Test(nodes_contenders, a_block_goes_to_its_home_or_unsteered_to_where_it_was_freed)
{
    each(steer, false);
}

static void borrow(struct play *play)
{
    if (!is(play, "home-borrow"))
        return;
    uint32_t peak = play->schedule->blocks_peak, own = peak - peak / 4;
    cr_assert_eq(play_take(play, 0, 0, peak), 0);
    const struct locus_table *table = play->tables[0][0];
    for (uint32_t b = 0; b < peak; b++)
        cr_expect_eq(has_block(play->ops->region(play->context, 0), play->ops->address(play->context, table->blocks[b])), b < own);
    play_finish(play, 0, 0, 0);
    expect_home(play);
}

Test(nodes_contenders, a_first_home_that_is_too_small_borrows_the_last_quarter)
{
    each(borrow, false);
}
