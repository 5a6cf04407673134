// SPDX-License-Identifier: Apache-2.0
//
// bench: a strategy, a region and check.h, and random calls to it.
#ifndef TB_STRATEGIES_TESTS_BENCH_H
#define TB_STRATEGIES_TESTS_BENCH_H

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/stats/random.h"
#include "testbed/strategies/check.h"

#define SEQUENCES 24u
#define POOL_TOKENS 4096u
#define SEQUENCE_TOKENS 700u
#define CALLS 20000u // of a bench

struct bench {
    struct tb_kv kv;
    struct tb_strategy_setup setup;
    struct tb_check check;
    void *state;
    char why[256];
    uint32_t tokens[SEQUENCES], most[SEQUENCES]; // tokens 0: not live
    uint64_t admitted, refused, digest;
};

static inline void bench_open_bytes(struct bench *bench, const struct tb_strategy *strategy, uint32_t block_tokens,
                                    size_t token_bytes)
{
    *bench = (struct bench){0};
    cr_assert_eq(tb_kv_open(&bench->kv, POOL_TOKENS, token_bytes, true), 0);
    bench->setup = (struct tb_strategy_setup){.strategy = strategy,
                                              .kv = &bench->kv,
                                              .block_tokens = block_tokens,
                                              .sequences = SEQUENCES,
                                              .sequence_tokens = SEQUENCE_TOKENS,
                                              .watermark = 0.05};
    cr_assert_eq(strategy->ops->open(&bench->setup, &bench->state), 0, "%s", strategy->name);
    cr_assert_eq(tb_check_open(&bench->check, &bench->setup, bench->state, bench->why, sizeof bench->why), 0);
}

static inline void bench_open(struct bench *bench, const struct tb_strategy *strategy, uint32_t block_tokens)
{
    bench_open_bytes(bench, strategy, block_tokens, 64);
}

static inline void bench_close(struct bench *bench)
{
    tb_check_close(&bench->check);
    bench->setup.strategy->ops->close(bench->state);
    tb_kv_close(&bench->kv);
}

static inline void usage_adds_up(struct bench *bench)
{
    struct tb_usage usage;
    uint64_t live = 0;
    bench->setup.strategy->ops->usage(bench->state, 100, &usage);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        live += bench->tokens[i];
    const char *name = bench->setup.strategy->name;
    cr_assert_leq(usage.reserved + usage.free + usage.kept, POOL_TOKENS, "%s", name);
    cr_assert_leq(usage.largest, usage.free + usage.kept, "%s", name);
    cr_assert_leq(usage.holes, usage.free, "%s", name);
    if (!bench->setup.strategy->ops->fork)
        cr_assert_leq(live, usage.reserved, "%s: %lu live, %lu reserved", name, (unsigned long)live, (unsigned long)usage.reserved);
}

static inline int admit(struct bench *bench, uint32_t at, uint32_t tokens, uint32_t most)
{
    const struct tb_prompt prompt = {.tokens = tokens};
    uint32_t cached = 7;
    tb_check_ask(&bench->check, at, 0);
    int error = bench->setup.strategy->ops->admit(bench->state, at, &prompt, most, &cached);
    cr_assert(error == 0 || error == -EAGAIN || error == -ENOSPC, "%s: %d", bench->setup.strategy->name, error);
    bench->digest = bench->digest * 31 + (uint64_t)-error;
    if (error) {
        bench->refused++;
        int fault = error == -EAGAIN ? tb_check_refused(&bench->check, at) : 0;
        return fault ? fault : error;
    }
    cr_assert_eq(cached, 0);
    bench->tokens[at] = tokens;
    bench->most[at] = most;
    bench->admitted++;
    return tb_check_admitted(&bench->check, at, &prompt, cached);
}

static inline int bench_step(struct bench *bench, uint64_t *random)
{
    const struct tb_strategy_ops *ops = bench->setup.strategy->ops;
    uint32_t at = (uint32_t)(tb_random_next(random) % SEQUENCES), tokens = bench->tokens[at];
    uint32_t left = bench->most[at] - tokens, dice = (uint32_t)(tb_random_next(random) % 16);
    int error;
    if (tokens == 0) {
        uint32_t most = 1 + (uint32_t)(tb_random_next(random) % SEQUENCE_TOKENS);
        error = admit(bench, at, 1 + (uint32_t)(tb_random_next(random) % most), most);
        return error == -EBADMSG ? error : 0;
    }
    if (dice < 10 && left) {
        uint32_t more = 1 + (uint32_t)(tb_random_next(random) % (left < 9 ? left : 9));
        tb_check_ask(&bench->check, at, more);
        error = ops->extend(bench->state, at, more);
        cr_assert(error == 0 || error == -EAGAIN);
        bench->digest = bench->digest * 31 + (uint64_t)-error;
        if (error)
            return tb_check_refused(&bench->check, at);
        bench->tokens[at] += more;
        return tb_check_extended(&bench->check, at, more);
    }
    if (dice < 12 && tokens > 1) {
        uint32_t keep = 1 + (uint32_t)(tb_random_next(random) % (tokens - 1));
        error = tb_check_cut(&bench->check, at, keep);
        ops->cut(bench->state, at, keep);
        bench->tokens[at] = keep;
        return error;
    }
    if (dice < 14) {
        uint32_t to = (uint32_t)(tb_random_next(random) % SEQUENCES);
        if (bench->tokens[to] || !ops->fork)
            return 0;
        error = ops->fork(bench->state, at, to, bench->most[at]);
        cr_assert(error == 0 || error == -EAGAIN || error == -ENOTSUP);
        if (error)
            return 0;
        bench->tokens[to] = tokens;
        bench->most[to] = bench->most[at];
        return tb_check_forked(&bench->check, at, to);
    }
    error = tb_check_release(&bench->check, at);
    ops->release(bench->state, at, false);
    bench->tokens[at] = 0;
    return error;
}

static inline void expect_admits(struct bench *bench, uint32_t at, uint32_t most, int answer)
{
    cr_expect_eq(admit(bench, at, 1, most), answer, "%s: %u tokens", bench->setup.strategy->name, most);
}

static inline void end(struct bench *bench, uint32_t at)
{
    cr_expect_eq(tb_check_release(&bench->check, at), 0, "%s", bench->why);
    bench->setup.strategy->ops->release(bench->state, at, false);
    bench->tokens[at] = 0;
}

#endif
