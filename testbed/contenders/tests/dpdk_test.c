// SPDX-License-Identifier: Apache-2.0
//
// dpdk: properties of DPDK's pools beyond those that contenders_test.c checks for every contender.
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "testbed/contenders/tests/contenders_lap.h"

// DPDK's pools know no generations: a block that was freed twice is found when all are counted.
Test(dpdk, misses_the_block_that_another_was_freed_for)
{
    static const char *const names[] = {"dpdk-ring", "dpdk-stack"};
    if (!tb_contender_find(names[0]))
        cr_skip_test("DPDK is not in this build");
    for (int i = 0; i < 2; i++) {
        struct play play;
        struct tb_audit audit = {0};
        play_open(&play, tb_contender_find(names[i]), 64);
        cr_assert_eq(play_take(&play, 0, 5), 0);
        play_retire(&play, 0);
        play.tables[0]->blocks[1] = play.tables[0]->blocks[0];
        play.ops->finish(play.context, 1, play.tables[0]);
        play.ops->audit(play.context, &audit);
        cr_expect_eq(audit.not_home, 1, "%s: %lu", names[i], audit.not_home);
        play_close(&play);
    }
}

// The pool is larger by what the workers' caches may keep from the owner.
Test(dpdk, waits_for_what_is_on_its_way_and_for_nothing_else, .timeout = 60)
{
    static const char *const names[] = {"dpdk-ring", "dpdk-stack"};
    if (!tb_contender_find(names[0]))
        cr_skip_test("DPDK is not in this build");
    for (int i = 0; i < 2; i++) {
        struct play play;
        cpu_set_t before, after;
        const uint32_t blocks = 2048 + 2 * 768;
        cr_assert_eq(sched_getaffinity(0, sizeof before, &before), 0);
        play_open(&play, tb_contender_find(names[i]), 4096);
        cr_expect(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after), "%s pinned us", names[i]);
        play_close(&play);
        play_open(&play, tb_contender_find(names[i]), 2048);
        cr_assert_eq(play_take(&play, 0, 2048), 0);
        cr_assert_eq(play_take(&play, 1, blocks - 2048), 0, "%s", names[i]);
        cr_expect_eq(play_take(&play, 2, 1), -ENOMEM, "%s: nothing is on its way", names[i]);
        play_retire(&play, 0);
        pthread_t worker;
        cr_assert_eq(pthread_create(&worker, NULL, finish_late, &play), 0);
        cr_expect_eq(play_take(&play, 2, 2000), 0, "%s: it was on its way", names[i]);
        pthread_join(worker, NULL);
        play_retire(&play, 1);
        cr_expect_eq(play_take(&play, 3, 1000), -ETIMEDOUT, "%s: it does not come", names[i]);
        play.ops->finish(play.context, 0, play.tables[1]);
        play_retire(&play, 2);
        play.ops->finish(play.context, 1, play.tables[2]);
        struct tb_audit audit = {0};
        play.ops->audit(play.context, &audit);
        cr_expect_eq(audit.waits, 3, "%s: %lu waits", names[i], audit.waits);
        expect_home(&play, 0);
        play_close(&play);
    }
}
