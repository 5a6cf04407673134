// SPDX-License-Identifier: Apache-2.0
//
// room: what the largest process takes, by cell, arm and node, and which of node, nodes and cgroup has too little for it.
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/measure/contender.h"
#include "testbed/measure/nodes/ops.h"
#include "testbed/run/room/room.h"

#define GIB (UINT64_C(1) << 30)

static const struct tb_driver *const some_driver = (const struct tb_driver *)(const void *)"driver"; // never called
static const struct tb_nodes_contender bound = {.policy = LOCUS_POLICY_BIND}, untouched = {.policy = LOCUS_POLICY_FIRST_TOUCH};
static struct tb_contender pool = {.name = "pool"}, mallocs = {.name = "mallocs", .is_malloc = true},
                           lazy = {.name = "lazy", .on_demand = true}, harness = {.name = "harness", .harness = true},
                           home = {.name = "home", .nodes = &bound}, first = {.name = "first", .nodes = &untouched};

static struct tb_arm arms[3];
static struct tb_schedule schedule;
static struct tb_cell cell;
static struct tb_room_host host;
static struct tb_rounds rounds;
static char why[512];

// 16384 blocks of 2 MiB, of which 4096 are out at the peak, on a machine of one node.
static void setup(void)
{
    pool.driver = mallocs.driver = lazy.driver = harness.driver = some_driver;
    schedule = (struct tb_schedule){.pool_blocks = 16384, .blocks_peak = 4096, .blocks_per_lap = 1000};
    cell = (struct tb_cell){.schedule = &schedule, .name = "churn/full", .touch = TB_TOUCH_FULL, .laps = 90, .laps_warmup = 10};
    arms[0] = (struct tb_arm){.contender = &pool, .label = "pool"};
    rounds = (struct tb_rounds){
        .arms = arms, .arms_count = 1, .cells = &cell, .cells_count = 1, .count = 20, .workers = 1, .block_bytes = 2 << 20};
    host = (struct tb_room_host){.cgroup_bytes = UINT64_MAX};
    locus_nodes_add(&host.nodes, 0);
    locus_nodes_add(&host.homes, 0);
    host.free_bytes[0] = 23 * GIB;
}
TestSuite(room, .init = setup);

static void second_node(uint64_t free_bytes)
{
    locus_nodes_add(&host.nodes, 1);
    locus_nodes_add(&host.homes, 1);
    host.free_bytes[1] = free_bytes;
}

static int check(void)
{
    memset(why, '#', sizeof why);
    return tb_room_check(&rounds, &host, why, sizeof why);
}

Test(room, a_pool_that_is_larger_than_the_node_is_refused)
{
    cr_expect_eq(check(), -E2BIG);
    cr_expect_str_eq(why, "needs 32 GiB (churn/full, arm pool), node 0 has 23 GiB");
    host.free_bytes[0] = 32 * GIB;
    cr_expect_eq(check(), -E2BIG, "nothing is left for its page tables");
    host.free_bytes[0] = 33 * GIB;
    cr_expect_eq(check(), 0);
    cr_expect_str_eq(why, "needs 32 GiB (churn/full, arm pool), node 0 has 33 GiB");
}

Test(room, a_malloc_takes_what_is_out_at_the_peak)
{
    arms[0] = (struct tb_arm){.contender = &mallocs, .label = "mallocs"};
    cr_expect_eq(check(), 0);
    cr_expect_str_eq(why, "needs 8 GiB (churn/full, arm mallocs), node 0 has 23 GiB");
    arms[0].contender = &lazy;
    cr_expect_eq(check(), 0);
    cell.touch = TB_TOUCH_BYTE;
    cr_expect_eq(check(), 0);
    cr_expect_str_eq(why, "needs 16 MiB (churn/full, arm mallocs), node 0 has 23 GiB");
    arms[0].contender = &harness;
    check();
    cr_expect_str_eq(why, "needs 2 MiB (churn/full, arm mallocs), node 0 has 23 GiB");
}

Test(room, the_limit_of_a_cgroup_is_said_where_it_is_tighter)
{
    schedule.pool_blocks = 4096;
    cr_expect_eq(check(), 0);
    host.cgroup_bytes = 6 * GIB;
    cr_expect_eq(check(), -E2BIG);
    cr_expect_str_eq(why, "needs 8 GiB (churn/full, arm pool), its cgroup leaves 6 GiB");
}

Test(room, processes_follow_each_other_and_arms_of_one_add_up)
{
    schedule.pool_blocks = 4096;
    arms[1] = arms[2] = arms[0];
    rounds.arms_count = 3;
    cr_expect_eq(check(), 0, "%s", why);
    rounds.pair_laps = true;
    cr_expect_eq(check(), -E2BIG);
    cr_expect_str_eq(why, "needs 24 GiB (churn/full, arm pool and 2 more in one process), node 0 has 23 GiB");
}

Test(room, a_process_may_lie_on_several_nodes)
{
    second_node(23 * GIB);
    cr_expect_eq(check(), 0);
    cr_expect_str_eq(why, "needs 32 GiB (churn/full, arm pool), 2 nodes together have 46 GiB");
    host.free_bytes[1] = UINT64_MAX;
    cr_expect_eq(check(), 0, "what nobody can tell refuses nothing");
}

Test(room, of_many_nodes_each_has_a_pool)
{
    second_node(7 * GIB);
    schedule.pool_blocks = 4096;
    rounds.many_nodes = true;
    arms[0] = (struct tb_arm){.contender = &home, .label = "home"};
    cr_expect_eq(check(), -E2BIG);
    cr_expect_str_eq(why, "needs 16 GiB (churn/full, arm home), 8 GiB of it on each node, node 1 has 7 GiB");
    arms[0] = (struct tb_arm){.contender = &first, .label = "first"};
    cr_expect_eq(check(), 0, "what is bound to no node may lie on another");
}

// Two arms of 16 GiB and a little less, one after the other: the smaller one is bound, and node 1 is too small for its part.
Test(room, a_process_that_does_not_fit_is_found_beside_a_larger_one_that_does)
{
    second_node(7 * GIB);
    schedule.pool_blocks = 4000;
    schedule.blocks_peak = 4096;
    rounds.many_nodes = true;
    rounds.arms_count = 2;
    arms[0] = (struct tb_arm){.contender = &first, .label = "first"};
    arms[1] = (struct tb_arm){.contender = &home, .label = "home"};
    cr_expect_eq(check(), -E2BIG);
    cr_expect_str_eq(why, "needs 15.6 GiB (churn/full, arm home), 7.8 GiB of it on each node, node 1 has 7 GiB");
}

Test(room, a_trace_that_is_missing_and_a_model_in_virtual_time_take_none)
{
    cell.schedule = NULL;
    cr_expect_eq(check(), 0);
    cr_expect_str_empty(why);
    cell.schedule = &schedule;
    cell.touch = TB_TOUCH_SERVE;
    cr_expect_eq(check(), 0);
    cr_expect_str_empty(why);
}

Test(room, time_is_that_of_the_bytes)
{
    char text[64];
    double seconds = tb_room_seconds(&rounds);
    cr_expect_float_eq(seconds, 100.0 * 20 * 1000 * (2 << 20) / 1e10, 1e-6);
    cr_expect_str_eq(tb_room_time(seconds, text, sizeof text), "about 7 min (4.2 TB at 10 GB/s)");
    cr_expect_str_empty(tb_room_time(59, text, sizeof text));
}
