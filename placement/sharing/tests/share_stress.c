// SPDX-License-Identifier: Apache-2.0
//
// share_stress SECONDS SEED [CALLS]: random fork, write, cut, release, match and publish on a small pool, against a model that
// keeps every token's value for every sequence and knows nothing of blocks. After each call all sequences are compared, token by
// token. CALLS (10,000,000) end it, not SECONDS, which the other stress programs take there.
//
// A round is a pool of its own make: with tags or without, LIFO or FIFO, with few generations, with a prefix cache or without. Now
// and then, and at the end of each round, the books are compared as well: how many hold each block, by counting all tables; how
// many blocks are out, kept and free; and who holds them, by tag. At the end everything is home.
#include <errno.h>
#include <string.h>

#include "locus/prefix.h"
#include "locus/share.h"
#include "placement/blocks/tests/stress.h"

#define CALLS UINT64_C(10000000)
#define CALLS_OF_A_ROUND 20000u
#define SEQUENCES 8u
#define CAPACITY 6u // blocks of a sequence
#define BLOCK_TOKENS 4u
#define PLANES 2u
#define TOKENS (CAPACITY * BLOCK_TOKENS)
#define BLOCKS 28u
#define PROMPTS 16u // remembered, to be matched again

typedef uint32_t cell; // a token's part of one plane
#define TOKEN_BYTES (PLANES * sizeof(cell))

struct sequence {
    struct locus_table *table;
    uint32_t tokens; // of the model
    uint64_t value[TOKENS];
    uint32_t away; // retired and pushed
};

struct prompt {
    uint32_t blocks;
    uint64_t value[TOKENS];
};

struct round {
    uint64_t random, calls, tag, value, now;
    bool tags;
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_prefix *prefix;
    struct locus_route route;
    struct sequence sequence[SEQUENCES];
    struct prompt prompt[PROMPTS];
    uint64_t done[6], refused;
};

static uint32_t any(struct round *round, uint32_t below)
{
    return stress_random(&round->random, below);
}

// --- the tokens, where they lie ------------------------------------------------------------------------------------------------

static cell *cell_at(const struct round *round, const struct locus_table *table, uint32_t token, uint32_t plane)
{
    cell *block = locus_pool_address(round->pool, table->blocks[token / BLOCK_TOKENS]);
    return block + plane * BLOCK_TOKENS + token % BLOCK_TOKENS;
}

static void token_store(const struct round *round, const struct locus_table *table, uint32_t token, uint64_t value)
{
    *cell_at(round, table, token, 0) = (cell)value;
    *cell_at(round, table, token, 1) = (cell)(value >> 32);
}

static void compare(const struct round *round, const struct sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->tokens; i++) {
        STRESS_EXPECT(*cell_at(round, sequence->table, i, 0) == (cell)sequence->value[i]);
        STRESS_EXPECT(*cell_at(round, sequence->table, i, 1) == (cell)(sequence->value[i] >> 32));
    }
}

static const uint32_t *tokens_of(const uint64_t value[])
{
    return (const uint32_t *)(const void *)value;
}

static uint32_t ids_of(const struct round *round, const uint64_t value[], uint32_t tokens, struct locus_id ids[])
{
    const struct locus_id none = {{0}};
    return locus_prefix_ids(locus_prefix_key_of(round->prefix), none, tokens_of(value), 2 * tokens, 2 * BLOCK_TOKENS, 7, ids);
}

// --- the books -----------------------------------------------------------------------------------------------------------------

struct seen {
    uint32_t holders[BLOCKS], reported[BLOCKS];
    uint64_t tags[BLOCKS], tags_reported[BLOCKS]; // sums
};

static void on_out(void *context, locus_block block, uint64_t tag)
{
    struct seen *seen = context;
    seen->reported[locus_block_index(block)]++;
    seen->tags_reported[locus_block_index(block)] += tag;
}

static void books(const struct round *round)
{
    static struct seen seen;
    uint32_t out = 0, calls;
    uint64_t sharers = 0;
    struct locus_pool_stats stats;
    seen = (struct seen){0};
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        const struct locus_table *table = round->sequence[s].table;
        for (uint32_t i = 0; i < table->count; i++) {
            uint32_t index = locus_block_index(table->blocks[i]);
            out += seen.holders[index]++ == 0;
            sharers += seen.holders[index] > 1;
            seen.tags[index] += table->tag;
            STRESS_EXPECT(locus_pool_check(round->pool, table->blocks[i]) == 0);
        }
    }
    for (uint32_t s = 0; s < SEQUENCES; s++)
        for (uint32_t i = 0; i < round->sequence[s].table->count; i++) {
            locus_block block = round->sequence[s].table->blocks[i];
            STRESS_EXPECT(locus_pool_holders(round->pool, block) == seen.holders[locus_block_index(block)]);
        }
    locus_pool_stats(round->pool, &stats);
    STRESS_EXPECT(stats.outstanding == out && stats.sharers == sharers);
    STRESS_EXPECT(stats.outstanding + stats.blocks_free + stats.blocks_cached + stats.blocks_worn == stats.blocks);
    STRESS_EXPECT(locus_pool_each_out(round->pool, on_out, &seen, &calls) == 0 && calls == out + sharers);
    STRESS_EXPECT(memcmp(seen.holders, seen.reported, sizeof seen.holders) == 0);
    STRESS_EXPECT(!round->tags || memcmp(seen.tags, seen.tags_reported, sizeof seen.tags) == 0);
    for (unsigned i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        STRESS_EXPECT(stats.refused[i] == 0);
    if (round->prefix) {
        struct locus_prefix_stats cache;
        locus_prefix_stats(round->prefix, &cache);
        STRESS_EXPECT(cache.blocks_cached == stats.blocks_cached && cache.blocks_known >= cache.blocks_cached);
        STRESS_EXPECT(cache.blocks_known == cache.blocks_published - cache.blocks_evicted);
    }
}

// --- the calls -----------------------------------------------------------------------------------------------------------------

static struct sequence *pick(struct round *round, bool empty)
{
    struct sequence *sequence = &round->sequence[any(round, SEQUENCES)];
    return sequence->away || (sequence->tokens == 0) != empty ? NULL : sequence;
}

static void begin(struct round *round, struct sequence *sequence)
{
    locus_table_set_tag(sequence->table, ++round->tag);
}

// New tokens at the end, or from the middle on: what was there is gone.
static void do_write(struct round *round)
{
    struct sequence *sequence = &round->sequence[any(round, SEQUENCES)];
    if (sequence->away)
        return;
    if (sequence->tokens == 0)
        begin(round, sequence);
    uint32_t first = any(round, 3) ? sequence->tokens : any(round, sequence->tokens + 1), count = 1 + any(round, 6);
    if (first + count > TOKENS)
        return;
    int error = locus_owner_write(round->owner, sequence->table, first, count, PLANES);
    if (error) {
        STRESS_EXPECT(error == -ENOMEM || error == -EAGAIN);
        round->refused++;
        sequence->tokens = first; // what was to be overwritten may be lost, and nothing before it
        STRESS_EXPECT(locus_owner_truncate_tokens(round->owner, sequence->table, first) == 0);
        return;
    }
    for (uint32_t i = first; i < first + count; i++) {
        sequence->value[i] = any(round, 4) ? ++round->value : 1 + any(round, 3); // few values: prompts that are equal
        token_store(round, sequence->table, i, sequence->value[i]);
    }
    sequence->tokens = first + count;
    STRESS_EXPECT(locus_owner_truncate_tokens(round->owner, sequence->table, sequence->tokens) == 0);
    round->done[0]++;
}

static void do_fork(struct round *round)
{
    struct sequence *from = pick(round, false), *to = pick(round, true);
    if (!from || !to)
        return;
    begin(round, to);
    STRESS_EXPECT(locus_owner_fork(round->owner, from->table, to->table) == 0);
    to->tokens = from->tokens;
    memcpy(to->value, from->value, sizeof to->value);
    round->done[1]++;
}

static void do_cut(struct round *round)
{
    struct sequence *sequence = pick(round, false);
    if (!sequence)
        return;
    sequence->tokens = 1 + any(round, sequence->tokens);
    STRESS_EXPECT(locus_owner_truncate_tokens(round->owner, sequence->table, sequence->tokens) == 0);
    STRESS_EXPECT(sequence->table->count == (sequence->tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS);
    round->done[2]++;
}

static void drain(struct round *round)
{
    struct locus_table *table;
    locus_owner_drain(round->owner);
    while ((table = locus_owner_next_reclaimed(round->owner)))
        for (uint32_t s = 0; s < SEQUENCES; s++)
            if (round->sequence[s].table == table)
                round->sequence[s].away = 0;
}

static void do_release(struct round *round)
{
    struct sequence *sequence = pick(round, false);
    if (any(round, 3) == 0)
        drain(round);
    if (!sequence)
        return;
    if (any(round, 2)) {
        STRESS_EXPECT(locus_owner_truncate(round->owner, sequence->table, 0) == 0);
    } else {
        STRESS_EXPECT(locus_owner_retire(round->owner, sequence->table) == 0);
        STRESS_EXPECT(locus_table_push(&round->route, sequence->table) == 0);
        sequence->away = 1;
    }
    sequence->tokens = 0;
    round->done[3]++;
}

static void do_publish(struct round *round)
{
    struct sequence *sequence = round->prefix ? pick(round, false) : NULL;
    struct locus_id ids[CAPACITY];
    if (!sequence)
        return;
    uint32_t count = ids_of(round, sequence->value, sequence->tokens, ids);
    STRESS_EXPECT(locus_prefix_publish(round->prefix, ids, tokens_of(sequence->value), count, sequence->table) >= 0);
    struct prompt *prompt = &round->prompt[any(round, PROMPTS)];
    prompt->blocks = count;
    memcpy(prompt->value, sequence->value, sizeof prompt->value);
    round->done[4]++;
}

static void do_match(struct round *round)
{
    struct sequence *to = NULL;
    for (uint32_t s = 0; round->prefix && s < SEQUENCES; s++)
        if (!round->sequence[s].away && round->sequence[s].tokens == 0)
            to = &round->sequence[s];
    const struct prompt *prompt = &round->prompt[any(round, PROMPTS)];
    struct locus_id ids[CAPACITY];
    uint32_t kept;
    if (!to)
        return;
    begin(round, to);
    uint32_t count = ids_of(round, prompt->value, prompt->blocks * BLOCK_TOKENS, ids);
    uint32_t look = locus_prefix_probe(round->prefix, ids, tokens_of(prompt->value), count, &kept);
    int64_t found = locus_prefix_match(round->prefix, ++round->now, ids, tokens_of(prompt->value), count, to->table);
    STRESS_EXPECT(found == look && kept <= look);
    to->tokens = (uint32_t)found * BLOCK_TOKENS;
    memcpy(to->value, prompt->value, sizeof to->value);
    round->done[5] += found > 0;
}

// --- rounds --------------------------------------------------------------------------------------------------------------------

static void round_open(struct round *round)
{
    struct locus_pool_config pool = {
        .size = sizeof pool,
        .home = any(round, 2),
        .blocks = 8 + any(round, BLOCKS - 8),
        .block_bytes = BLOCK_TOKENS * TOKEN_BYTES,
        .reuse = any(round, 4) ? (any(round, 2) ? LOCUS_REUSE_LIFO : LOCUS_REUSE_RUNS) : LOCUS_REUSE_FIFO,
        .node = LOCUS_NODE_ANY,
        .populate = true,
        .tags = any(round, 2),
        .generations = any(round, 4) ? 0 : 3000,
        .shared = true,
    };
    uint32_t policies = 0;
    round->tags = pool.tags;
    STRESS_EXPECT(locus_pool_open(&round->pool, &pool) == 0);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = round->pool, .lanes = 1};
    STRESS_EXPECT(locus_owner_open(&round->owner, &owner) == 0 && locus_owner_adopt(round->owner) == 0);
    round->route = (struct locus_route){0};
    STRESS_EXPECT(locus_route_add(&round->route, round->owner, 0) == 0);
    while (locus_evict_at(policies))
        policies++;
    struct locus_prefix_config prefix = {.size = sizeof prefix,
                                         .owner = round->owner,
                                         .evict = locus_evict_at(any(round, policies)),
                                         .tokens_per_block = any(round, 2) * 2 * BLOCK_TOKENS};
    round->prefix = NULL;
    if (any(round, 4))
        STRESS_EXPECT(locus_prefix_open(&round->prefix, &prefix) == 0);
    memset(round->prompt, 0, sizeof round->prompt);
    for (uint32_t s = 0; s < SEQUENCES; s++)
        round->sequence[s] = (struct sequence){.table = stress_table(2, CAPACITY)};
    for (uint32_t s = 0; s < SEQUENCES; s++)
        round->sequence[s].table->tokens_per_block = BLOCK_TOKENS;
}

static void round_close(struct round *round)
{
    for (uint32_t s = 0; s < SEQUENCES; s++)
        if (!round->sequence[s].away)
            STRESS_EXPECT(locus_owner_truncate(round->owner, round->sequence[s].table, 0) == 0);
    drain(round);
    books(round);
    STRESS_EXPECT(locus_prefix_close(round->prefix) == 0);
    stress_expect_idle(round->pool);
    STRESS_EXPECT(locus_owner_leave(round->owner) == 0 && locus_owner_close(round->owner) == 0);
    locus_pool_close(round->pool);
    for (uint32_t s = 0; s < SEQUENCES; s++)
        free(round->sequence[s].table);
}

static void call(struct round *round)
{
    switch (any(round, 12)) {
    case 0:
    case 1: do_fork(round); break;
    case 2: do_cut(round); break;
    case 3:
    case 4:
    case 5: do_release(round); break;
    case 6:
    case 7: do_publish(round); break;
    case 8: do_match(round); break;
    default: do_write(round);
    }
    for (uint32_t s = 0; s < SEQUENCES; s++)
        compare(round, &round->sequence[s]);
    if (++round->calls % 64 == 0)
        books(round);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argc, argv);
    uint64_t calls = argc > 3 ? strtoull(argv[3], NULL, 10) : CALLS;
    static struct round round;
    round.random = stress_fork(stress.seed, 0);
    while (round.calls < calls) {
        round_open(&round);
        for (uint32_t i = 0; i < CALLS_OF_A_ROUND && round.calls < calls; i++)
            call(&round);
        round_close(&round);
    }
    printf("%llu calls: %llu writes, %llu forks, %llu cuts, %llu releases, %llu published, %llu matched; %llu refused\n",
           (unsigned long long)round.calls, (unsigned long long)round.done[0], (unsigned long long)round.done[1],
           (unsigned long long)round.done[2], (unsigned long long)round.done[3], (unsigned long long)round.done[4],
           (unsigned long long)round.done[5], (unsigned long long)round.refused);
    for (unsigned i = 0; i < 6; i++)
        STRESS_EXPECT(calls < CALLS_OF_A_ROUND || round.done[i] > 0); // each kind of call was made
    return 0;
}
