// SPDX-License-Identifier: Apache-2.0
//
// seeds: the listings of seeds 001 and 003 are found, each by the name of its fault; and by hand, what the fault costs.
#include <stdio.h>

#include "testbed/strategies/tests/bench.h"

static void expect_fault(const struct bench *bench, const char *fault)
{
    char begins[96];
    snprintf(begins, sizeof begins, "strategy %s: %s: ", bench->setup.strategy->name, fault);
    cr_expect(strncmp(bench->why, begins, strlen(begins)) == 0, "not \"%s\" but: %s", begins, bench->why);
}

// Each is found in random calls, whatever they are, and the first finding has its name. (Two need a full or an empty pool.)
Test(seeds, random_calls_find_each_fault_by_name)
{
    static const struct {
        const char *strategy, *fault;
    } seeds[] = {
        {"seed-refcount", NULL}, // who gets a page that is somebody else's gives it away in turn: all names occur
        {"seed-ensure-capacity", "kept by one that failed"},
        {"seed-free-page", "two owners"},
        {"seed-extend", "waste"},
        {"seed-copy-on-write", "two owners"},
        {"seed-caching-free", "two owners"},
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct bench bench;
            uint64_t random = seed;
            int error = 0;
            bench_open_bytes(&bench, tb_strategy_find(seeds[i].strategy), 16, 32 << 10);
            for (uint32_t call = 0; call < CALLS && !error; call++)
                error = bench_step(&bench, &random);
            cr_expect_eq(error, -EBADMSG, "%s", seeds[i].strategy);
            if (seeds[i].fault)
                expect_fault(&bench, seeds[i].fault);
            bench_close(&bench);
        }
}

Test(seeds, they_are_traps_and_nobody_else_is)
{
    uint32_t seeds = 0;
    for (size_t i = 0; tb_strategy_at(i); i++) {
        bool seed = strncmp(tb_strategy_at(i)->name, "seed-", 5) == 0;
        cr_expect_eq(tb_strategy_at(i)->trap, seed, "%s", tb_strategy_at(i)->name);
        seeds += seed;
    }
    cr_expect_eq(seeds, 8);
}

// --- by hand -------------------------------------------------------------------------------------------------------------------

static int extend(struct bench *bench, uint32_t at, uint32_t tokens)
{
    tb_check_ask(&bench->check, at, tokens);
    int error = bench->setup.strategy->ops->extend(bench->state, at, tokens);
    bench->tokens[at] += error ? 0 : tokens;
    return error ? tb_check_refused(&bench->check, at) : tb_check_extended(&bench->check, at, tokens);
}

static int fork_of(struct bench *bench, uint32_t from, uint32_t to)
{
    cr_assert_eq(bench->setup.strategy->ops->fork(bench->state, from, to, SEQUENCE_TOKENS), 0);
    bench->tokens[to] = bench->tokens[from];
    return tb_check_forked(&bench->check, from, to);
}

// The branch leaves, and the next request gets the pages that the owner still has.
Test(seeds, a_branch_that_leaves_frees_its_owners_pages)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("seed-refcount"), 16);
    cr_assert_eq(admit(&bench, 0, 32, 64), 0);
    cr_expect_eq(fork_of(&bench, 0, 1), 0);
    end(&bench, 1);
    cr_expect_eq(admit(&bench, 2, 16, 64), -EBADMSG);
    cr_expect_str_eq(
        bench.why, "strategy seed-refcount: a reference too few: token 0 of sequence 2 is written where token 0 of sequence 0 is");
    cr_expect_eq(tb_check_release(&bench.check, 0), -EBADMSG);
    cr_expect_str_eq(bench.why,
                     "strategy seed-refcount: a reference too few: token 0 of sequence 0 holds what token 0 of sequence 2 wrote");
    bench_close(&bench);
}

// 256 pages. Two requests of 150 are refused beside one that has 100 and one that has 60: they keep the 96, and what the others
// leave to the first that asks. Nobody is live then, all pages are held, and neither ever gets its 150.
Test(seeds, two_that_hold_half_each_never_go_on)
{
    struct bench bench;
    struct tb_usage usage;
    const struct tb_strategy_ops *ops = tb_strategy_find("seed-ensure-capacity")->ops;
    const struct tb_prompt wanted = {.tokens = 150 * 16};
    uint32_t cached;
    bench_open(&bench, tb_strategy_find("seed-ensure-capacity"), 16);
    cr_assert_eq(admit(&bench, 0, 100 * 16, 100 * 16), 0);
    cr_assert_eq(admit(&bench, 1, 60 * 16, 60 * 16), 0);
    cr_expect_eq(admit(&bench, 2, 150 * 16, 150 * 16), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-ensure-capacity: kept by one that failed: 1536 tokens are held for sequence 2, "
                                "which was refused");
    end(&bench, 0);
    cr_expect_eq(ops->admit(bench.state, 3, &wanted, 150 * 16, &cached), -EAGAIN); // gets 100
    end(&bench, 1);
    cr_expect_eq(ops->admit(bench.state, 4, &wanted, 150 * 16, &cached), -EAGAIN); // gets 60
    for (uint32_t i = 0; i < 10; i++)
        for (uint32_t at = 2; at < 5; at++)
            cr_expect_eq(ops->admit(bench.state, at, &wanted, 150 * 16, &cached), -EAGAIN);
    ops->usage(bench.state, 1, &usage);
    cr_expect_eq(usage.free, 0);
    bench_close(&bench);
}

// The page that 0 frees by a cut goes to 1. When 0 leaves, it is freed again, and 2 gets it as well.
Test(seeds, a_page_that_is_freed_twice_has_two_owners)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("seed-free-page"), 16);
    cr_assert_eq(admit(&bench, 0, 32, 64), 0);
    cr_expect_eq(tb_check_cut(&bench.check, 0, 16), 0);
    bench.setup.strategy->ops->cut(bench.state, 0, 16);
    cr_assert_eq(admit(&bench, 1, 16, 64), 0);
    end(&bench, 0);
    cr_expect_eq(admit(&bench, 2, 32, 64), -EBADMSG);
    expect_fault(&bench, "two owners");
    bench_close(&bench);
}

// 256 pages, of which two admissions see 150 each.
Test(seeds, two_are_admitted_on_the_same_pages)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("seed-can-admit"), 16);
    cr_assert_eq(admit(&bench, 0, 16, 150 * 16), 0);
    cr_assert_eq(admit(&bench, 1, 16, 150 * 16), 0);
    cr_expect_eq(extend(&bench, 0, 149 * 16), 0);
    cr_expect_eq(extend(&bench, 1, 105 * 16), 0);
    cr_expect_eq(extend(&bench, 1, 16), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-can-admit: a promise not kept: sequence 1 has 1696 tokens, is promised more, "
                                "and is refused");
    bench_close(&bench);
}

// 630 tokens have 40 blocks of 16. 200 more, one by one, take 200 blocks; 12 would do.
Test(seeds, every_extension_takes_a_block)
{
    struct bench bench;
    struct tb_usage usage;
    bench_open(&bench, tb_strategy_find("seed-extend"), 16);
    cr_assert_eq(admit(&bench, 0, 630, 830), 0);
    cr_expect_eq(extend(&bench, 0, 1), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-extend: waste: sequence 0 had room for 640 tokens, needs 631, and took room for "
                                "16 more");
    for (uint32_t i = 1; i < 200; i++)
        cr_expect_eq(extend(&bench, 0, 1), 0);
    bench.setup.strategy->ops->usage(bench.state, 1, &usage);
    cr_expect_eq(usage.reserved, 240 * 16);
    bench_close(&bench);
}

Test(seeds, a_copy_is_tagged_with_the_old_owner)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("seed-copy-on-write"), 16);
    cr_assert_eq(admit(&bench, 0, 20, 64), 0);
    cr_expect_eq(fork_of(&bench, 0, 1), 0);
    cr_expect_eq(extend(&bench, 1, 1), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-copy-on-write: two owners: block 253 was taken for request 2 and is tagged as that "
                                "of request 1");
    bench_close(&bench);
}

// Three blocks of one segment are freed in order: the second joins the first, which is on the list already.
Test(seeds, a_joined_block_is_given_to_two)
{
    struct bench bench;
    bench_open_bytes(&bench, tb_strategy_find("seed-caching-free"), 16, 32 << 10);
    cr_assert_eq(admit(&bench, 0, 192, 192), 0);
    end(&bench, 0);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(admit(&bench, i, 64, 64), 0);
    end(&bench, 0);
    end(&bench, 1);
    cr_assert_eq(admit(&bench, 3, 128, 128), 0);
    cr_expect_eq(admit(&bench, 4, 64, 64), -EBADMSG);
    expect_fault(&bench, "two owners");
    bench_close(&bench);
}

// Four free segments of 1,024 tokens, all of the region. The collection takes the first and the third.
Test(seeds, a_collection_skips_every_other_segment)
{
    struct bench bench;
    bench_open_bytes(&bench, tb_strategy_find("seed-collection"), 16, 32 << 10);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(admit(&bench, i, 1024, 1024), 0);
    for (uint32_t i = 0; i < 4; i++)
        end(&bench, i);
    cr_expect_eq(admit(&bench, 0, 2048, 2048), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-collection: a place lost: an admission is refused although nobody is live: 4096 "
                                "tokens are free, 1024 for one sequence");
    bench_close(&bench);
}

// --- the same by honest ones ---------------------------------------------------------------------------------------------------

// Who forks, copies what it writes; who is told to copy nothing of it, is found.
Test(seeds, a_copy_that_is_forgotten_is_found)
{
    struct bench bench;
    uint32_t run;
    bench_open(&bench, tb_strategy_find("seed-refcount"), 16);
    cr_assert_eq(admit(&bench, 0, 20, 64), 0);
    cr_expect_eq(fork_of(&bench, 0, 1), 0);
    cr_assert_eq(bench.setup.strategy->ops->extend(bench.state, 1, 1), 0);
    *tb_kv_tag(&bench.kv, bench.setup.strategy->ops->at(bench.state, 1, 17, &run)) = 0; // the copy's second token
    cr_expect_eq(tb_check_extended(&bench.check, 1, 1), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy seed-refcount: a skipped copy: token 17 of sequence 1 does not hold what was written "
                                "(nobody ever wrote there)");
    bench_close(&bench);
}

// One that never gives back, and one that gives back more than it took.
static uint64_t held_more, free_more;

static void false_usage(void *state, uint64_t below, struct tb_usage *out)
{
    tb_strategy_find("first-fit")->ops->usage(state, below, out);
    out->reserved += held_more;
    out->free += free_more;
}

Test(seeds, what_is_held_at_the_end_is_found)
{
    struct bench bench;
    struct tb_strategy_ops ops = *tb_strategy_find("first-fit")->ops;
    struct tb_strategy strategy = *tb_strategy_find("first-fit");
    ops.usage = false_usage;
    strategy.ops = &ops;
    for (uint32_t i = 0; i < 3; i++) {
        held_more = free_more = 0;
        bench_open(&bench, &strategy, 16);
        expect_admits(&bench, 0, 100, 0);
        end(&bench, 0);
        held_more = i == 1 ? 16 : 0;
        free_more = i == 2 ? 16 : 0;
        cr_expect_eq(tb_check_end(&bench.check), i ? -EBADMSG : 0);
        if (i)
            expect_fault(&bench, i == 1 ? "a reference too many" : "a reference too few");
        bench_close(&bench);
    }
}
