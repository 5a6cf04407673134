// SPDX-License-Identifier: Apache-2.0
//
// The figures of seed 004 that are counts: 500 cycles of 16 sequences without a leak, and a second batch on the pages of the first.
// Its pages hold 16 tokens of 36,864 bytes (GPT-2: 12 layers, keys and values, 768 numbers of two bytes).
#include <criterion/criterion.h>
#include <string.h>

#include "testbed/strategies/strategy.h"

#define PAGE_TOKENS 16u
#define TOKEN_BYTES (12u * 2 * 768 * 2)
#define CYCLES 500u
#define OF_A_CYCLE 16u
#define BATCH 8u
#define PAGES_MAX 512u

struct engine {
    struct tb_kv kv;
    struct tb_strategy_setup setup;
    const struct tb_strategy_ops *ops;
    void *state;
};

static void engine_open(struct engine *engine, const char *name, uint32_t pages)
{
    const struct tb_strategy *strategy = tb_strategy_find(name);
    cr_assert_not_null(strategy, "%s", name);
    *engine = (struct engine){.ops = strategy->ops};
    cr_assert_eq(tb_kv_open(&engine->kv, (uint64_t)pages * PAGE_TOKENS, TOKEN_BYTES, false), 0);
    engine->setup = (struct tb_strategy_setup){
        .strategy = strategy, .kv = &engine->kv, .block_tokens = PAGE_TOKENS, .sequences = OF_A_CYCLE, .sequence_tokens = 512};
    cr_assert_eq(engine->ops->open(&engine->setup, &engine->state), 0);
}

static void engine_close(struct engine *engine)
{
    engine->ops->close(engine->state);
    tb_kv_close(&engine->kv);
}

static struct tb_usage usage_of(struct engine *engine)
{
    struct tb_usage usage;
    engine->ops->usage(engine->state, 0, &usage);
    return usage;
}

static void admitted(struct engine *engine, uint32_t sequence, uint32_t prompt_tokens, uint32_t most)
{
    uint32_t cached;
    struct tb_prompt prompt = {.tokens = prompt_tokens};
    cr_assert_eq(engine->ops->admit(engine->state, sequence, &prompt, most, &cached), 0);
}

// A page at a time. Returns how many pages the sequence took.
static uint32_t decoded(struct engine *engine, uint32_t sequence, uint32_t pages)
{
    uint64_t before = usage_of(engine).reserved;
    admitted(engine, sequence, PAGE_TOKENS, pages * PAGE_TOKENS);
    for (uint32_t page = 1; page < pages; page++)
        cr_assert_eq(engine->ops->extend(engine->state, sequence, PAGE_TOKENS), 0);
    return (uint32_t)((usage_of(engine).reserved - before) / PAGE_TOKENS);
}

// 60,000 operations on pages, as the seed's rate and time say: 3.75 pages a sequence, taken and given back.
static void no_page_is_lost(const char *name)
{
    struct engine engine;
    uint64_t taken = 0, given = 0;
    char why[256];
    engine_open(&engine, name, OF_A_CYCLE * 4);
    struct tb_usage empty = usage_of(&engine);
    for (uint32_t cycle = 0; cycle < CYCLES; cycle++) {
        for (uint32_t s = 0; s < OF_A_CYCLE; s++)
            taken += decoded(&engine, s, s % 4 == 0 ? 3 : 4);
        cr_assert_eq(engine.ops->audit(engine.state, why, sizeof why), 0, "%s", why);
        for (uint32_t s = 0; s < OF_A_CYCLE; s++) {
            uint64_t before = usage_of(&engine).reserved;
            engine.ops->release(engine.state, (s * 5) % OF_A_CYCLE, false);
            given += (before - usage_of(&engine).reserved) / PAGE_TOKENS;
        }
        struct tb_usage now = usage_of(&engine);
        cr_assert_eq(now.reserved, empty.reserved, "%s, cycle %u", name, cycle);
        cr_assert_eq(now.free, empty.free);
    }
    cr_assert_eq(taken, 30000);
    cr_assert_eq(taken + given, 60000);
    engine_close(&engine);
}

Test(pageforge, five_hundred_cycles_of_sixteen_sequences_lose_no_page)
{
    no_page_is_lost("pageforge");
    no_page_is_lost("paged-prompt");
    no_page_is_lost("paged-shared");
}

// 8 sequences of 10 tokens and 30 decoded ones; the pages that they lie on are marked. Returns how many there are.
static uint32_t batch(struct engine *engine, bool page[PAGES_MAX])
{
    uint32_t count = 0, run;
    memset(page, 0, PAGES_MAX);
    for (uint32_t s = 0; s < BATCH; s++)
        admitted(engine, s, 10, 40);
    for (uint32_t step = 0; step < 30; step++)
        for (uint32_t s = 0; s < BATCH; s++)
            cr_assert_eq(engine->ops->extend(engine->state, s, 1), 0);
    for (uint32_t s = 0; s < BATCH; s++)
        for (uint32_t token = 0; token < 40; token += PAGE_TOKENS) {
            const char *at = engine->ops->at(engine->state, s, token, &run);
            size_t number = (size_t)(at - engine->kv.base) / (PAGE_TOKENS * TOKEN_BYTES);
            cr_assert_lt(number, PAGES_MAX);
            count += !page[number];
            page[number] = true;
        }
    for (uint32_t s = 0; s < BATCH; s++)
        engine->ops->release(engine->state, s, false);
    return count;
}

static uint32_t pages_again(const char *name, uint32_t pages)
{
    struct engine engine;
    bool first[PAGES_MAX], second[PAGES_MAX];
    uint32_t again = 0;
    engine_open(&engine, name, pages);
    cr_assert_eq(batch(&engine, first), 24, "24 pages of 0.59 MB: 14.2 MB");
    cr_assert_eq(batch(&engine, second), 24);
    for (uint32_t i = 0; i < PAGES_MAX; i++)
        again += first[i] && second[i];
    engine_close(&engine);
    return again;
}

Test(pageforge, a_queue_uses_the_same_pages_again_only_if_there_are_no_others)
{
    cr_assert_eq(pages_again("pageforge", 24), 24);
    cr_assert_eq(pages_again("pageforge", PAGES_MAX), 0, "with 512 pages the second batch gets none of the first one's");
}

Test(pageforge, a_stack_uses_the_same_pages_again)
{
    cr_assert_eq(pages_again("slab", PAGES_MAX), 24);
    cr_assert_eq(pages_again("paged-prompt", PAGES_MAX), 24);
    cr_assert_eq(pages_again("paged", PAGES_MAX), 24);
    cr_assert_eq(pages_again("paged-shared", PAGES_MAX), 24);
}
