// SPDX-License-Identifier: Apache-2.0
//
// strategies: every member of the list keeps its contract through thousands of random calls, under the eyes of check.h; and a
// member that does not is found, by the names of the tokens.
#include "testbed/strategies/extents.h"
#include "testbed/strategies/tests/bench.h"

static uint64_t random_calls(const struct tb_strategy *strategy, uint32_t block_tokens, size_t token_bytes, uint64_t seed)
{
    struct bench bench;
    uint64_t random = seed;
    bench_open_bytes(&bench, strategy, block_tokens, token_bytes);
    for (uint32_t i = 0; i < CALLS; i++) {
        cr_assert_eq(bench_step(&bench, &random), 0, "%s, call %u: %s", strategy->name, i, bench.why);
        usage_adds_up(&bench);
    }
    cr_assert_eq(strategy->ops->audit(bench.state, bench.why, sizeof bench.why), 0, "%s", bench.why);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        if (!bench.tokens[i])
            continue;
        cr_assert_eq(tb_check_release(&bench.check, i), 0, "%s", bench.why);
        strategy->ops->release(bench.state, i, false);
    }
    cr_assert_eq(tb_check_end(&bench.check), 0, "%s", bench.why);
    bool narrow = !strncmp(strategy->name, "static-", 7) || !strncmp(strategy->name, "multi-slab", 10); // few or no seats of a size
    narrow |= !strncmp(strategy->name, "caching", 7) && token_bytes * POOL_TOKENS < 20 << 20; // no segment
    cr_expect(narrow || bench.admitted > 100, "%s admitted %lu", strategy->name, (unsigned long)bench.admitted);
    bench_close(&bench);
    return bench.digest;
}

Test(strategies, every_member_keeps_every_token)
{
    size_t members = 0;
    for (; tb_strategy_at(members); members++)
        for (uint32_t block_tokens = 1; block_tokens <= 64 && !tb_strategy_at(members)->trap; block_tokens *= 8) {
            random_calls(tb_strategy_at(members), block_tokens, 64, 5);
            random_calls(tb_strategy_at(members), block_tokens, 36000, 6); // no multiple of anything in a strategy
        }
    cr_expect_geq(members, 20);
}

Test(strategies, equal_calls_have_equal_answers)
{
    for (size_t i = 0; tb_strategy_at(i); i++)
        if (!tb_strategy_at(i)->trap)
            cr_expect_eq(random_calls(tb_strategy_at(i), 16, 32768, 9), random_calls(tb_strategy_at(i), 16, 32768, 9), "%s",
                         tb_strategy_at(i)->name);
}

// Of a state that random calls made: the longest that is said to fit is admitted, and one token more is not.
Test(strategies, the_largest_is_admitted_and_no_more)
{
    static const char *const names[] = {"first-fit", "best-fit", "caching", "caching-max-split"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t seed = 1; seed <= 300; seed++) {
            struct bench bench;
            struct tb_usage usage;
            uint64_t random = seed;
            uint32_t at = 0;
            bench_open_bytes(&bench, tb_strategy_find(names[i]), 16, 36000);
            for (uint32_t call = 0; call < 20 + seed; call++)
                cr_assert_eq(bench_step(&bench, &random), 0, "%s", bench.why);
            while (at < SEQUENCES && bench.tokens[at])
                at++;
            bench.setup.strategy->ops->usage(bench.state, 1, &usage);
            if (at < SEQUENCES) {
                cr_expect_neq(admit(&bench, at, 1, (uint32_t)usage.largest + 1), 0, "%s", names[i]);
                if (usage.largest > 0)
                    cr_expect_eq(admit(&bench, at, 1, (uint32_t)usage.largest), 0, "%s: %lu", names[i],
                                 (unsigned long)usage.largest);
            }
            bench_close(&bench);
        }
}

Test(strategies, the_list_is_in_order_and_every_name_is_found)
{
    for (size_t i = 0; tb_strategy_at(i); i++) {
        cr_expect_eq(tb_strategy_find(tb_strategy_at(i)->name), tb_strategy_at(i));
        cr_expect(i == 0 || strcmp(tb_strategy_at(i - 1)->name, tb_strategy_at(i)->name) < 0);
    }
    cr_expect_null(tb_strategy_find("no-such-strategy"));
}

// --- what a broken one does ------------------------------------------------------------------------------------------------------

// Everybody gets the same place.
static int broken_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    (void)state, (void)sequence, (void)prompt, (void)most;
    *cached = 0;
    return 0;
}

static void *broken_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    struct tb_kv *kv = *(struct tb_kv **)state;
    (void)sequence;
    *run = 1;
    return tb_kv_at(kv, position);
}

static void broken_open(struct bench *bench, struct tb_strategy *broken, struct tb_strategy_ops *ops, struct tb_kv **kv)
{
    bench_open(bench, tb_strategy_find("first-fit"), 16);
    *ops = *bench->setup.strategy->ops;
    *broken = (struct tb_strategy){.name = "broken", .ops = ops};
    ops->admit = broken_admit;
    ops->at = broken_at;
    *kv = &bench->kv;
    bench->setup.strategy = broken;
    bench->check.state = kv;
}

static void broken_close(struct bench *bench)
{
    bench->setup.strategy = tb_strategy_find("first-fit");
    bench_close(bench);
}

Test(strategies, a_place_that_two_have_is_found_by_name)
{
    struct bench bench;
    struct tb_strategy broken;
    struct tb_strategy_ops ops;
    struct tb_kv *kv;
    const struct tb_prompt prompt = {.tokens = 20};
    broken_open(&bench, &broken, &ops, &kv);
    cr_expect_eq(tb_check_admitted(&bench.check, 1, &prompt, 0), 0);
    cr_expect_eq(tb_check_admitted(&bench.check, 2, &prompt, 0), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy broken: two owners: token 0 of sequence 2 is written where token 0 of sequence 1 is");
    cr_expect_eq(tb_check_release(&bench.check, 1), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy broken: two owners: token 0 of sequence 1 holds what token 0 of sequence 2 wrote");
    broken_close(&bench);
}

// One place for both is right as long as they only read.
Test(strategies, a_fork_that_writes_where_the_other_reads_is_found)
{
    struct bench bench;
    struct tb_strategy broken;
    struct tb_strategy_ops ops;
    struct tb_kv *kv;
    const struct tb_prompt prompt = {.tokens = 20};
    broken_open(&bench, &broken, &ops, &kv);
    cr_expect_eq(tb_check_admitted(&bench.check, 1, &prompt, 0), 0);
    cr_expect_eq(tb_check_forked(&bench.check, 1, 2), 0);
    bench.check.audits = UINT32_MAX; // first-fit's books know nothing of this
    cr_expect_eq(tb_check_extended(&bench.check, 1, 1), 0, "%s", bench.why);
    cr_expect_eq(tb_check_extended(&bench.check, 2, 1), -EBADMSG);
    cr_expect_str_eq(bench.why,
                     "strategy broken: a skipped copy: token 20 of sequence 2 is written where token 20 of sequence 1 is");
    cr_expect_eq(tb_check_release(&bench.check, 1), -EBADMSG);
    cr_expect_str_eq(bench.why, "strategy broken: a skipped copy: token 20 of sequence 1 holds what token 20 of sequence 2 wrote");
    broken_close(&bench);
}

Test(strategies, what_a_copy_lost_is_found)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("first-fit"), 16);
    cr_assert_eq(admit(&bench, 0, 30, 40), 0);
    uint32_t run;
    *tb_kv_tag(&bench.kv, bench.setup.strategy->ops->at(bench.state, 0, 7, &run)) = 0;
    cr_expect_eq(tb_check_release(&bench.check, 0), -EBADMSG);
    cr_expect_str_eq(
        bench.why,
        "strategy first-fit: a place lost: token 7 of sequence 0 does not hold what was written (nobody ever wrote there)");
    bench_close(&bench);
}

// --- members -----------------------------------------------------------------------------------------------------------------

// A hole of 100 tokens between two sequences, and 96 behind: 150 fit in total, but in no piece.
Test(strategies, only_compact_gets_past_a_hole)
{
    static const char *const names[] = {"first-fit", "best-fit", "compact"};
    for (size_t i = 0; i < 3; i++) {
        struct bench bench;
        bench_open(&bench, tb_strategy_find(names[i]), 16);
        expect_admits(&bench, 0, 100, 0);
        expect_admits(&bench, 1, 3900, 0);
        end(&bench, 0);
        expect_admits(&bench, 2, 150, i == 2 ? 0 : -EAGAIN);
        cr_expect_eq(bench.kv.moved, i == 2 ? 1 : 0); // of the 3,900 tokens one is in use
        bench_close(&bench);
    }
}

Test(strategies, best_fit_takes_the_shortest_hole)
{
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        uint32_t run;
        bench_open(&bench, tb_strategy_find(i ? "best-fit" : "first-fit"), 16);
        expect_admits(&bench, 0, 200, 0);
        expect_admits(&bench, 1, 10, 0);
        expect_admits(&bench, 2, 50, 0);
        expect_admits(&bench, 3, 10, 0);
        end(&bench, 0);
        end(&bench, 2);
        expect_admits(&bench, 4, 40, 0);
        cr_expect_eq(bench.setup.strategy->ops->at(bench.state, 4, 0, &run), tb_kv_at(&bench.kv, i ? 210 : 0));
        bench_close(&bench);
    }
}

// 17 tokens are two units, so 32 tokens; halves join again when both are free.
Test(strategies, buddies_split_and_join)
{
    struct bench bench;
    struct tb_usage usage;
    bench_open(&bench, tb_strategy_find("buddy"), 16);
    expect_admits(&bench, 0, 17, 0);
    expect_admits(&bench, 1, 16, 0);
    bench.setup.strategy->ops->usage(bench.state, 64, &usage);
    cr_expect_eq(usage.reserved, 48);
    cr_expect_eq(usage.largest, 2048);
    cr_expect_eq(usage.holes, 16);
    end(&bench, 0);
    end(&bench, 1);
    bench.setup.strategy->ops->usage(bench.state, 64, &usage);
    cr_expect_eq(usage.largest, POOL_TOKENS);
    cr_expect_eq(usage.holes, 0);
    bench_close(&bench);
}

// Blocks of 2, 16, 256 and 2,048 tokens have 10, 70, 15 and 5 % of 4,096: the last part is too small for a single block.
Test(strategies, a_full_class_falls_through)
{
    struct bench bench;
    bench_open(&bench, tb_strategy_find("multi-slab"), 16);
    expect_admits(&bench, 0, 17, 0);   // 256
    expect_admits(&bench, 1, 256, 0);  // the other 256
    expect_admits(&bench, 2, 100, -EAGAIN);
    expect_admits(&bench, 2, 257, -ENOSPC);
    expect_admits(&bench, 2, 16, 0);
    bench_close(&bench);
    bench_open(&bench, tb_strategy_find("multi-slab-blocks"), 16);
    expect_admits(&bench, 0, 600, 0);
    expect_admits(&bench, 1, 600, 0);
    bench_close(&bench);
}

// PageForge: 8 sequences of 44 tokens have 24 pages, and the second batch has the pages of the first.
Test(strategies, the_second_batch_has_the_pages_of_the_first)
{
    struct bench bench;
    void *pages[2][24];
    bench_open(&bench, tb_strategy_find("slab"), 16);
    for (uint32_t batch = 0; batch < 2; batch++) {
        uint32_t run, count = 0;
        for (uint32_t i = 0; i < 8; i++)
            cr_assert_eq(admit(&bench, i, 10, 44), 0);
        for (uint32_t token = 0; token < 30; token++)
            for (uint32_t i = 0; i < 8; i++)
                cr_assert_eq(bench.setup.strategy->ops->extend(bench.state, i, 1), 0);
        for (uint32_t i = 0; i < 8; i++)
            for (uint32_t page = 0; page < 3; page++)
                pages[batch][count++] = bench.setup.strategy->ops->at(bench.state, i, page * 16, &run);
        for (uint32_t i = 0; i < 8; i++)
            end(&bench, i);
    }
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < 24; j++)
            same += pages[0][i] == pages[1][j];
        cr_expect_eq(same, 1);
    }
    bench_close(&bench);
}

// --- caching: tokens of 32 KiB, so 32 of them are 1 MiB and a segment of 20 MiB has 640 -----------------------------------------

static void caching_open(struct bench *bench, const char *name)
{
    bench_open_bytes(bench, tb_strategy_find(name), 16, 32 << 10);
}

static uint64_t token_at(struct bench *bench, uint32_t at)
{
    uint32_t run;
    char *address = bench->setup.strategy->ops->at(bench->state, at, 0, &run);
    return (uint64_t)(address - bench->kv.base) / bench->kv.token_bytes;
}

// The first small one gets a segment of 64 tokens, the first large one of 640; the second ones lie in what is left of these.
Test(caching, small_and_large_requests_have_segments_of_their_own)
{
    struct bench bench;
    caching_open(&bench, "caching");
    expect_admits(&bench, 0, 32, 0);
    expect_admits(&bench, 1, 33, 0);
    expect_admits(&bench, 2, 20, 0);
    expect_admits(&bench, 3, 319, 0);
    cr_expect_eq(token_at(&bench, 1), 64);
    cr_expect_eq(token_at(&bench, 2), 32);
    cr_expect_eq(token_at(&bench, 3), 64 + 33);
    expect_admits(&bench, 4, 320, 0); // 10 MiB: a segment of its own
    cr_expect_eq(token_at(&bench, 4), 64 + 640);
    expect_admits(&bench, 5, 321, 0); // rounded up to 2 MiB, and what is left, 63 tokens, is split off
    expect_admits(&bench, 6, 50, 0);
    cr_expect_eq(token_at(&bench, 5), 64 + 640 + 320);
    cr_expect_eq(token_at(&bench, 6), 64 + 640 + 320 + 321);
    bench_close(&bench);
}

// Of 640 tokens 610 are wanted. The other 30 are less than 1 MiB and stay with it; 33 and more do not.
Test(caching, a_remainder_of_less_than_a_mebibyte_is_not_split_off)
{
    struct bench bench;
    struct tb_usage usage;
    for (uint32_t i = 0; i < 2; i++) {
        caching_open(&bench, "caching");
        expect_admits(&bench, 0, 640, 0);
        end(&bench, 0);
        expect_admits(&bench, 1, i ? 607 : 610, 0);
        bench.setup.strategy->ops->usage(bench.state, 1, &usage);
        cr_expect_eq(usage.reserved, i ? 607 : 640);
        bench_close(&bench);
    }
}

// Two segments of 2,048 tokens are free. Neither is enough for 3,000: both go back to the region and are one piece again. While one
// of them has a sequence in it, it stays.
Test(caching, a_collection_makes_room_from_whole_segments)
{
    struct bench bench;
    struct tb_usage usage;
    caching_open(&bench, "caching");
    expect_admits(&bench, 0, 2048, 0);
    expect_admits(&bench, 1, 2048, 0);
    end(&bench, 0);
    expect_admits(&bench, 2, 40, 0);
    end(&bench, 1);
    bench.setup.strategy->ops->usage(bench.state, 1, &usage);
    cr_expect_eq(usage.largest, 2048);
    expect_admits(&bench, 0, 3000, -EAGAIN);
    end(&bench, 2);
    bench.setup.strategy->ops->usage(bench.state, 1, &usage);
    cr_expect_eq(usage.largest, POOL_TOKENS);
    expect_admits(&bench, 0, 3000, 0);
    cr_expect_eq(token_at(&bench, 0), 0);
    bench_close(&bench);
}

// The region is full but for a free segment of 128 MiB or 4,096 tokens, here all of it: 40 tokens are cut from it, or, when it
// stays whole, it has to go back first, and the 40 get a segment of 640.
Test(caching, a_block_of_128_mebibytes_stays_whole)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct bench bench;
        caching_open(&bench, i ? "caching-max-split" : "caching");
        expect_admits(&bench, 0, 4096, 0);
        end(&bench, 0);
        expect_admits(&bench, 1, 40, 0);
        expect_admits(&bench, 2, 2000, 0); // from the region, or from the rest of the segment
        end(&bench, 1);
        expect_admits(&bench, 3, 640, 0); // the segment of 640, or the beginning of the old one: 40 and no more
        cr_expect_eq(token_at(&bench, 3), i ? 0 : 2040);
        bench_close(&bench);
    }
}

// Free are 50 tokens between two sequences, and 40 at the end of the last piece, where the range goes on: these could become a long
// one, so 35 tokens go where nothing else fits.
Test(caching, what_can_grow_is_taken_last)
{
    struct bench bench;
    caching_open(&bench, "caching-expandable");
    expect_admits(&bench, 0, 50, 0);
    expect_admits(&bench, 1, 550, 0);
    end(&bench, 0);
    expect_admits(&bench, 2, 35, 0);
    cr_expect_eq(token_at(&bench, 2), 0);
    bench_close(&bench);
}

// Six pieces of 640 tokens. Every other one is freed: first-fit and segments have no room for 1,500 in one piece; addresses have.
Test(caching, mapped_pieces_need_not_lie_together)
{
    static const char *const names[] = {"first-fit", "caching", "caching-expandable"};
    for (uint32_t i = 0; i < 3; i++) {
        struct bench bench;
        caching_open(&bench, names[i]);
        for (uint32_t s = 0; s < 6; s++)
            expect_admits(&bench, s, 640, 0);
        for (uint32_t s = 0; s < 6; s += 2)
            end(&bench, s);
        expect_admits(&bench, 0, 1900, i == 2 ? 0 : -EAGAIN);
        if (i == 2)
            cr_expect_eq(bench.setup.strategy->ops->extend(bench.state, 0, 1800), 0);
        cr_expect_eq(i == 2 ? tb_check_extended(&bench.check, 0, 1800) : 0, 0);
        for (uint32_t s = i == 2 ? 0 : 1; s < 6; s += s ? 2 : 1)
            end(&bench, s);
        bench_close(&bench);
    }
}

// --- extents ---------------------------------------------------------------------------------------------------------------------

Test(extents, what_is_free_already_cannot_come_back)
{
    struct tb_extents extents;
    cr_assert_eq(tb_extents_open(&extents, 100), 0);
    cr_expect_eq(tb_extents_take_first(&extents, 40), 0);
    cr_expect_eq(tb_extents_give(&extents, 30, 20), -EEXIST);
    cr_expect_eq(tb_extents_give(&extents, 10, 10), 0);
    cr_expect_eq(tb_extents_give(&extents, 15, 10), -EEXIST);
    cr_expect_eq(tb_extents_give(&extents, 0, 10), 0);
    cr_expect_eq(tb_extents_give(&extents, 20, 20), 0);
    cr_expect_eq(extents.count, 1);
    cr_expect_eq(extents.total, 100);
    cr_expect_eq(tb_extents_take_first(&extents, 101), TB_EXTENT_NONE);
    tb_extents_close(&extents);
}
