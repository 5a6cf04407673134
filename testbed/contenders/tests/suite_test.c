// SPDX-License-Identifier: Apache-2.0
//
// suite: a published version stays as it was published, and nothing else can claim to be it. Also the names of cells.
#include "testbed/workload/suite.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/workload/workload.h"

// If this fails, a workload was changed: restore it, and give the changed one another name, or the suite another version.
Test(suite, every_version_is_what_was_published)
{
    for (unsigned version = 1; version <= TB_SUITE_LATEST; version++) {
        char sha256[TB_SUITE_HASH];
        bool frozen = false;
        cr_assert_eq(tb_suite_hash(tb_suite(version), sha256), 0);
        cr_expect_str_eq(sha256, tb_suite(version)->sha256, "v%u is now %s", version, sha256);
        cr_expect_eq(tb_suite_check(tb_suite(version), &frozen), 0);
        cr_expect(frozen);
    }
    cr_expect_null(tb_suite(0));
    cr_expect_null(tb_suite(TB_SUITE_LATEST + 1));
}

Test(suite, another_order_or_another_workload_is_another_suite)
{
    const struct tb_suite *v1 = tb_suite(1);
    const struct tb_suite others[] = {
        {1, (const char *const[]){"burst-storm", "steady-decode", "long-tail", "churn-touch", NULL}, v1->sha256},
        {1, (const char *const[]){"steady-decode", "burst-storm", "long-tail", NULL}, v1->sha256},
        {1, (const char *const[]){"steady-decode", "burst-queued", "long-tail", "churn-touch", NULL}, v1->sha256},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool frozen = true;
        cr_assert_eq(tb_suite_check(&others[i], &frozen), 0);
        cr_expect_not(frozen, "suite %zu", i);
    }
    const struct tb_suite unknown = {1, (const char *const[]){"steady", NULL}, v1->sha256};
    bool frozen = true;
    cr_expect_eq(tb_suite_check(&unknown, &frozen), -ENOENT);
    cr_expect_not(frozen);
}

Test(suite, what_is_new_in_v2_has_these_totals)
{
    static const struct {
        const char *name;
        uint64_t blocks, requests;
        uint32_t peak, pool;
    } expected[] = {
        {"long-tail-cancels", 4992, 64, 2355, 8192},
        {"burst-queued", 2688, 64, 390, 512},
        {"cycle-256", 256, 8, 256, 1024},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct tb_schedule *schedule = NULL;
        cr_assert_eq(tb_workload_schedule(expected[i].name, &schedule), 0);
        cr_expect_eq(schedule->blocks_per_lap, expected[i].blocks, "%s: %lu", expected[i].name, schedule->blocks_per_lap);
        cr_expect_eq(schedule->requests_per_lap, expected[i].requests);
        cr_expect_eq(schedule->pool_blocks, expected[i].pool);
        cr_expect_eq(schedule->blocks_peak, expected[i].peak, "%s: %u", expected[i].name, schedule->blocks_peak);
        free(schedule);
    }
}

static uint32_t endless(uint32_t request)
{
    (void)request;
    return 600;
}

Test(suite, a_request_that_never_fits_is_refused)
{
    const struct tb_requests requests = {.count = 2, .prefill_blocks = 16, .arrivals = 2, .reserve_blocks = 512, .steps = endless};
    struct tb_builder *builder = NULL;
    uint64_t ticks = 0;
    cr_assert_eq(tb_builder_open(&builder), 0);
    cr_expect_eq(tb_build_requests(builder, &requests, &ticks), -EINVAL);
    tb_builder_close(builder);
}

// --- cells ---

Test(cell, a_plain_one_has_no_settings_of_its_own)
{
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    cr_assert_eq(tb_cell_parse("churn-touch/full", workload, &cell), 0);
    cr_expect_str_eq(workload, "churn-touch");
    cr_expect_eq(cell.touch, TB_TOUCH_FULL);
    cr_expect(cell.workers == 0 && cell.block_bytes == 0 && cell.pool_blocks == 0 && !cell.dispatch_given);
}

Test(cell, settings_come_in_any_order)
{
    static const char *const texts[] = {"a/byte/4w/64KiB/futex", "a/byte/futex/4w/64KiB", "a/byte/65536/futex/4w"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char workload[TB_WORKLOAD_NAME];
        struct tb_cell cell;
        cr_assert_eq(tb_cell_parse(texts[i], workload, &cell), 0, "%s", texts[i]);
        cr_expect_eq(cell.workers, 4);
        cr_expect_eq(cell.block_bytes, 65536);
        cr_expect(cell.dispatch_given);
        cr_expect_eq(cell.dispatch, TB_DISPATCH_FUTEX);
    }
}

Test(cell, what_is_not_one_is_refused)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "a/",
                                        "/full",
                                        "a/half",
                                        "a/full/",
                                        "a//full",
                                        "a/full/0w",
                                        "a/full/65w",
                                        "a/full/4",
                                        "a/full/4ws",
                                        "a/full/4w/2w",
                                        "a/full/spin/futex",
                                        "a/full/64KiB/4KiB",
                                        "a/full/9T",
                                        "a/full/quick",
                                        "full/a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char workload[TB_WORKLOAD_NAME];
        struct tb_cell cell;
        cr_expect_eq(tb_cell_parse(texts[i], workload, &cell), -EINVAL, "'%s'", texts[i]);
    }
}

// An arm's own workers come before its cell's, and those before the measurement's.
Test(cell, settings_of_arm_cell_and_rounds_come_in_this_order)
{
    struct tb_arm arms[2] = {0};
    struct tb_cell cells[2] = {{0}, {.workers = 3, .block_bytes = 65536, .dispatch_given = true, .dispatch = TB_DISPATCH_INLINE}};
    const struct tb_rounds rounds = {
        .arms = arms, .cells = cells, .workers = 2, .block_bytes = 4096, .dispatch = TB_DISPATCH_FUTEX};
    char why[256];
    cr_assert_eq(tb_arm_parse("locus+4w", &arms[1], why, sizeof why), 0, "%s", why);
    cr_expect_str_eq(arms[1].contender->name, "locus");
    cr_expect_str_eq(arms[1].label, "locus+4w");
    cr_expect_eq(tb_rounds_workers(&rounds, 0, 0), 2);
    cr_expect_eq(tb_rounds_workers(&rounds, 1, 0), 3);
    cr_expect_eq(tb_rounds_workers(&rounds, 0, 1), 4);
    cr_expect_eq(tb_rounds_workers(&rounds, 1, 1), 4);
    cr_expect_eq(tb_rounds_block_bytes(&rounds, 0), 4096);
    cr_expect_eq(tb_rounds_block_bytes(&rounds, 1), 65536);
    cr_expect_eq(tb_rounds_dispatch(&rounds, 0), TB_DISPATCH_FUTEX);
    cr_expect_eq(tb_rounds_dispatch(&rounds, 1), TB_DISPATCH_INLINE);
    cr_expect_eq(tb_arm_parse("locus+0w", &arms[1], why, sizeof why), -EINVAL);
    cr_expect(strstr(why, "from 1 to 64"), "%s", why);
    cr_expect_eq(tb_arm_parse("locus+4", &arms[1], why, sizeof why), -EINVAL);
}
