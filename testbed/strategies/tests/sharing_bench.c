// SPDX-License-Identifier: Apache-2.0
//
// sharing_bench: what references and the prefix cache cost, in paired rounds. Started by `make bench-sharing`.
//
//   sharing_bench [ROUNDS [fork|write|ids|look|check]]        60 rounds of all
//
//   fork    tables of 8 to 512 blocks, against a memcpy of their handles; and their release
//   write   of a shared block that is 63/64 full, against a memcpy of the same bytes between the same two blocks. "in turn": 16
//           pairs of blocks one after the other, so that each is colder
//   ids     of prompts of 2,048 tokens that come from memory, all at once and one by one, against the hash without a key that ids
//           were up to version 0.5, against a memcpy of the same tokens, and of a KV block of 64 KiB. 64 bytes in 64 ns are 1 GB/s
//   look    10^6 kept blocks in batches of 32 and 128 random ids, against the same call for one id each, a plain probe, and the
//           tables of other libraries
//   check   matches of kept prompts: unchecked, with the tokens that the cache keeps, and with the engine's answer
//
// Ratios are the other way's time over ours, the median of the rounds' with the sign test's interval. Exit status: 0 all goals are
// met, 1 one is not shown, 2 cannot measure.

#include "testbed/stats/tests/contest.h"
#include "sharing_tables.h"

#include "locus/prefix.h"
#include "locus/share.h"
#include "testbed/stats/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rounds = 60;

// --- what all parts need --------------------------------------------------------------------------------------------------------

static struct {
    struct locus_pool *pool;
    struct locus_owner *owner;
} world;

static void world_open(uint32_t blocks, size_t block_bytes)
{
    struct locus_pool_config pool = {.size = sizeof pool,
                                     .blocks = blocks,
                                     .block_bytes = block_bytes,
                                     .node = LOCUS_NODE_ANY,
                                     .populate = true,
                                     .shared = true};
    CONTEST_NEED(locus_pool_open(&world.pool, &pool));
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world.pool, .lanes = 1};
    CONTEST_NEED(locus_owner_open(&world.owner, &owner));
    CONTEST_NEED(locus_owner_adopt(world.owner));
}

static void world_close(void)
{
    locus_owner_leave(world.owner);
    CONTEST_NEED(locus_owner_close(world.owner));
    locus_pool_close(world.pool);
}

static struct locus_table *table_new(uint32_t capacity, uint32_t tokens_per_block)
{
    struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, capacity));
    if (!table)
        contest_fail("table", ENOMEM);
    CONTEST_NEED(locus_table_init(table, 1, capacity, tokens_per_block));
    return table;
}

// --- fork -----------------------------------------------------------------------------------------------------------------------

#define FORK_TABLES 32u
#define FORK_REPEAT_BLOCKS (1u << 17) // forked in each measurement

static struct {
    struct locus_table *from, *to[FORK_TABLES];
    uint32_t blocks;
    double release_ns;
} forks;

static double fork_ours(void *context)
{
    (void)context;
    uint32_t repeats = FORK_REPEAT_BLOCKS / (FORK_TABLES * forks.blocks);
    double fork_ns = 0;
    forks.release_ns = 0;
    for (uint32_t r = 0; r < repeats; r++) {
        double begin = contest_now_ns();
        int error = 0;
        for (uint32_t i = 0; i < FORK_TABLES; i++)
            error |= locus_owner_fork(world.owner, forks.from, forks.to[i]);
        double middle = contest_now_ns();
        for (uint32_t i = 0; i < FORK_TABLES; i++)
            error |= locus_owner_truncate(world.owner, forks.to[i], 0);
        forks.release_ns += contest_now_ns() - middle;
        fork_ns += middle - begin;
        CONTEST_NEED(error);
    }
    double blocks = (double)repeats * FORK_TABLES * forks.blocks;
    forks.release_ns /= blocks;
    return fork_ns / blocks;
}

static double fork_memcpy(void *context)
{
    (void)context;
    uint32_t repeats = FORK_REPEAT_BLOCKS / (FORK_TABLES * forks.blocks);
    double begin = contest_now_ns();
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t i = 0; i < FORK_TABLES; i++)
            memcpy(forks.to[i]->blocks, forks.from->blocks, forks.blocks * sizeof *forks.from->blocks);
    return (contest_now_ns() - begin) / ((double)repeats * FORK_TABLES * forks.blocks);
}

// In pairs: a fork is measured before it, and its release with it.
static double release_ours(void *context)
{
    fork_ours(context);
    return forks.release_ns;
}

static bool fork_run(uint32_t blocks)
{
    char title[128];
    snprintf(title, sizeof title, "fork, %u blocks, ns a block", blocks);
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "fork", .measure = fork_ours, .goal = CONTEST_NS_AT_MOST, .bound = 2},
                                       {.name = "memcpy of the handles", .measure = fork_memcpy},
                                       {.name = "release", .measure = release_ours}},
                              .arms_count = 3};
    world_open(blocks, 64);
    forks.blocks = blocks;
    forks.from = table_new(blocks, 1);
    CONTEST_NEED(locus_owner_grow(world.owner, forks.from, blocks));
    for (uint32_t i = 0; i < FORK_TABLES; i++)
        forks.to[i] = table_new(blocks, 1);
    bool met = contest_run(&contest);
    for (uint32_t i = 0; i < FORK_TABLES; i++)
        free(forks.to[i]);
    free(forks.from);
    world_close();
    return met;
}

static bool forks_run(void)
{
    bool met = true;
    for (uint32_t blocks = 8; blocks <= 512; blocks *= 8)
        met &= fork_run(blocks);
    return met;
}

// --- copy on write --------------------------------------------------------------------------------------------------------------

#define WRITE_TOKENS 64u        // a block; all but one of them are there
#define WRITE_PAIRS_MAX 16u
#define WRITE_BYTES (64u << 20) // copied in each measurement, at least

static struct {
    struct locus_table *from[WRITE_PAIRS_MAX], *to[WRITE_PAIRS_MAX];
    void *address[2][WRITE_PAIRS_MAX]; // of the shared block, and of the copy
    uint32_t pairs;
    size_t bytes;
} writes;

static void writes_fork(void)
{
    for (uint32_t i = 0; i < writes.pairs; i++)
        CONTEST_NEED(locus_owner_fork(world.owner, writes.from[i], writes.to[i]));
}

static double writes_once(void)
{
    int error = 0;
    double begin = contest_now_ns();
    for (uint32_t i = 0; i < writes.pairs; i++)
        error |= locus_owner_write(world.owner, writes.to[i], WRITE_TOKENS - 1, 1, 1);
    double ns = contest_now_ns() - begin;
    CONTEST_NEED(error);
    return ns;
}

// The last one first, so that the next round's copies lie where this one's do.
static void writes_release(void)
{
    for (uint32_t i = writes.pairs; i-- > 0;)
        CONTEST_NEED(locus_owner_truncate(world.owner, writes.to[i], 0));
}

static uint32_t writes_repeats(void)
{
    return 1 + (uint32_t)(WRITE_BYTES / (writes.pairs * writes.bytes));
}

static double write_ours(void *context)
{
    (void)context;
    double ns = 0;
    for (uint32_t r = 0; r < writes_repeats(); r++) {
        writes_fork();
        ns += writes_once();
        for (uint32_t i = 0; i < writes.pairs; i++)
            if (locus_pool_address(world.pool, writes.to[i]->blocks[0]) != writes.address[1][i])
                contest_fail("the copies lie elsewhere", EINVAL);
        writes_release();
    }
    return ns / (writes_repeats() * writes.pairs);
}

static double write_memcpy(void *context)
{
    (void)context;
    double ns = 0;
    for (uint32_t r = 0; r < writes_repeats(); r++) {
        writes_fork();
        double begin = contest_now_ns();
        for (uint32_t i = 0; i < writes.pairs; i++)
            memcpy(writes.address[1][i], writes.address[0][i], writes.bytes);
        ns += contest_now_ns() - begin;
        writes_release();
    }
    return ns / (writes_repeats() * writes.pairs);
}

static bool write_run(size_t block_bytes, uint32_t pairs)
{
    char title[128];
    snprintf(title, sizeof title, "copy on write, %zu KiB%s, ns a block", block_bytes >> 10, pairs > 1 ? " in turn" : "");
    struct contest contest = {.title = title,
                              .rounds = rounds,
                              .arms = {{.name = "write", .measure = write_ours},
                                       {.name = "memcpy", .measure = write_memcpy, .goal = CONTEST_RATIO_AT_LEAST, .bound = 0.95}},
                              .arms_count = 2};
    world_open(2 * pairs, block_bytes);
    writes.pairs = pairs;
    writes.bytes = block_bytes / WRITE_TOKENS * (WRITE_TOKENS - 1);
    for (uint32_t i = 0; i < pairs; i++) {
        writes.from[i] = table_new(1, WRITE_TOKENS);
        writes.to[i] = table_new(1, WRITE_TOKENS);
        CONTEST_NEED(locus_owner_grow(world.owner, writes.from[i], 1));
        writes.address[0][i] = locus_pool_address(world.pool, writes.from[i]->blocks[0]);
        memset(writes.address[0][i], 'a', block_bytes);
    }
    writes_fork();
    writes_once();
    for (uint32_t i = 0; i < pairs; i++)
        writes.address[1][i] = locus_pool_address(world.pool, writes.to[i]->blocks[0]);
    writes_release();
    bool met = contest_run(&contest);
    for (uint32_t i = 0; i < pairs; i++) {
        free(writes.from[i]);
        free(writes.to[i]);
    }
    world_close();
    return met;
}

static bool writes_run(void)
{
    bool met = true;
    for (uint32_t pairs = 1; pairs <= WRITE_PAIRS_MAX; pairs *= WRITE_PAIRS_MAX)
        for (size_t bytes = 64 << 10; bytes <= 512 << 10; bytes *= 8)
            met &= write_run(bytes, pairs);
    return met;
}

// --- ids ------------------------------------------------------------------------------------------------------------------------

#define IDS_TOKENS (1u << 26)   // 256 MiB: more than caches hold
#define IDS_PROMPT 2048u        // tokens
#define IDS_PROMPTS 256u        // in each measurement
#define IDS_KV_BYTES (64u << 10) // of a block
#define IDS_KV_BLOCKS 1024u
#define IDS_PER_BLOCK_MAX 64u

static const struct locus_prefix_key ids_key = {{1, 2}};

static struct {
    uint32_t *tokens;           // [IDS_TOKENS]
    char *kv;                   // IDS_KV_BLOCKS to copy from, and as many to copy to
    uint32_t at, kv_at, per_block;
    struct locus_id ids[IDS_PROMPT / 16];
    uint32_t copy[IDS_PROMPT];
    uint64_t sink;              // of all results, so that none is left out
} hashing;

static const uint32_t *ids_prompt(void)
{
    hashing.at = (hashing.at + IDS_PROMPT) % IDS_TOKENS;
    return hashing.tokens + hashing.at;
}

// ns a block, for a way to deal with a prompt.
static double ids_measure(void *context)
{
    void (*const *way)(const uint32_t tokens[]) = context;
    double begin = contest_now_ns();
    for (uint32_t p = 0; p < IDS_PROMPTS; p++)
        (*way)(ids_prompt());
    return (contest_now_ns() - begin) / (IDS_PROMPTS * (IDS_PROMPT / hashing.per_block));
}

static void ids_at_once(const uint32_t tokens[])
{
    const struct locus_id none = {{0}};
    locus_prefix_ids(&ids_key, none, tokens, IDS_PROMPT, hashing.per_block, 7, hashing.ids);
    hashing.sink += hashing.ids[IDS_PROMPT / hashing.per_block - 1].word[0];
}

static void ids_one_by_one(const uint32_t tokens[])
{
    struct locus_id above = {{0}};
    for (uint32_t i = 0; i < IDS_PROMPT / hashing.per_block; i++)
        above = hashing.ids[i] = locus_prefix_id(&ids_key, above, tokens + i * hashing.per_block, hashing.per_block, 7);
    hashing.sink += above.word[0];
}

static inline uint64_t unkeyed_mix(uint64_t hash, uint64_t value)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ UINT64_C(0x243f6a8885a308d3)) * (value ^ UINT64_C(0x13198a2e03707345));
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ hash << 1;
}

static void ids_unkeyed(const uint32_t tokens[])
{
    uint64_t above = 0;
    for (uint32_t i = 0; i < IDS_PROMPT; i += hashing.per_block) {
        uint64_t hash = unkeyed_mix(unkeyed_mix(UINT64_C(0xa4093822299f31d1) + hashing.per_block, above), above ? 0 : 7);
        for (uint32_t k = 0; k < hashing.per_block; k += 2)
            hash = unkeyed_mix(hash, (uint64_t)tokens[i + k] << 32 | tokens[i + k + 1]);
        above = unkeyed_mix(hash, UINT64_C(0x082efa98ec4e6c89));
        hashing.ids[i / hashing.per_block].word[0] = above;
    }
    hashing.sink += above;
}

static void ids_memcpy(const uint32_t tokens[])
{
    memcpy(hashing.copy, tokens, sizeof hashing.copy);
    hashing.sink += hashing.copy[tokens[0] % IDS_PROMPT];
}

// One KV block for each block of tokens.
static void ids_kv(const uint32_t tokens[])
{
    for (uint32_t i = 0; i < IDS_PROMPT; i += hashing.per_block) {
        hashing.kv_at = (hashing.kv_at + 1) % IDS_KV_BLOCKS;
        char *from = hashing.kv + hashing.kv_at * (size_t)IDS_KV_BYTES;
        memcpy(from + IDS_KV_BLOCKS * (size_t)IDS_KV_BYTES, from, IDS_KV_BYTES);
    }
    hashing.sink += tokens[0];
}

static void (*ids_ways[])(const uint32_t tokens[]) = {ids_at_once, ids_one_by_one, ids_unkeyed, ids_memcpy, ids_kv};

static bool ids_run(uint32_t per_block)
{
    static const char *const names[] = {"locus_prefix_ids", "one by one", "64 bits, no key", "memcpy of the tokens",
                                        "memcpy of 64 KiB"};
    char title[128];
    struct contest contest = {.title = title, .rounds = rounds, .arms_count = sizeof names / sizeof *names};
    snprintf(title, sizeof title, "ids of blocks of %u tokens, from memory, ns a block (of %zu bytes)", per_block,
             per_block * sizeof *hashing.tokens);
    for (uint32_t i = 0; i < contest.arms_count; i++)
        contest.arms[i] = (struct contest_arm){.name = names[i], .measure = ids_measure, .context = &ids_ways[i]};
    contest.arms[1].goal = CONTEST_RATIO_AT_LEAST; // why there is a call for all
    contest.arms[1].bound = 1;
    contest.arms[4].goal = CONTEST_RATIO_AT_LEAST; // beside what an id saves: KV is at least written once
    contest.arms[4].bound = 10;
    hashing.per_block = per_block;
    return contest_run(&contest);
}

static bool ids_runs(void)
{
    hashing.tokens = malloc(IDS_TOKENS * sizeof *hashing.tokens);
    hashing.kv = malloc(2 * IDS_KV_BLOCKS * (size_t)IDS_KV_BYTES);
    if (!hashing.tokens || !hashing.kv)
        contest_fail("tokens", ENOMEM);
    for (uint32_t i = 0; i < IDS_TOKENS; i++)
        hashing.tokens[i] = i * 2654435761u >> 15; // of 17 bits, as real ones
    memset(hashing.kv, 1, 2 * IDS_KV_BLOCKS * (size_t)IDS_KV_BYTES);
    bool met = ids_run(16) & ids_run(IDS_PER_BLOCK_MAX);
    if (hashing.sink == 1)
        puts("a result nobody expects");
    free(hashing.tokens);
    free(hashing.kv);
    return met;
}

// --- look-ups -------------------------------------------------------------------------------------------------------------------

#define LOOK_BLOCKS 1000000u
#define LOOK_CHAIN 1000u        // blocks published at once
#define LOOK_BATCH_MAX 128u
#define LOOK_IDS (LOOK_BATCH_MAX * 500u)

static struct {
    struct locus_prefix *prefix;
    struct locus_id *known;     // [LOOK_BLOCKS]
    struct locus_id ids[LOOK_IDS]; // of this arm in this round
    uint64_t random;
    uint32_t batch;
    uint32_t absent_of_2;
    uint32_t found;             // of ids[]
} looks = {.random = 7};

static uint32_t look_ours(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    return locus_prefix_find(looks.prefix, ids, count, blocks);
}

static uint32_t look_singly(const struct locus_id ids[], uint32_t count, locus_block blocks[])
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += locus_prefix_find(looks.prefix, &ids[i], 1, &blocks[i]);
    return found;
}

static const struct sharing_table ours = {.name = "locus_prefix_find", .find = look_ours};
static const struct sharing_table singly = {.name = "the same, one a call", .find = look_singly};

static double look_measure(void *context)
{
    const struct sharing_table *table = context;
    locus_block blocks[LOOK_BATCH_MAX];
    uint32_t found = 0;
    double begin = contest_now_ns();
    for (uint32_t i = 0; i < LOOK_IDS; i += looks.batch)
        found += table->find(looks.ids + i, looks.batch, blocks);
    double ns = contest_now_ns() - begin;
    if (found != looks.found)
        contest_fail(table->name, EINVAL);
    return ns / LOOK_IDS;
}

static struct locus_id look_random(void)
{
    const uint64_t first = tb_random_next(&looks.random);
    return (struct locus_id){{first, tb_random_next(&looks.random) | 1}};
}

// New ids for each arm of a round: none is warm from the last round, or from an arm that reads the same table.
static void look_prepare(void)
{
    looks.found = 0;
    for (uint32_t i = 0; i < LOOK_IDS; i++) {
        uint64_t random = tb_random_next(&looks.random);
        bool absent = looks.absent_of_2 && random >> 63;
        looks.ids[i] = absent ? look_random() : looks.known[random % LOOK_BLOCKS];
        looks.found += !absent;
    }
}

static void look_keep(void)
{
    struct locus_prefix_config config = {.size = sizeof config, .owner = world.owner};
    struct locus_table *table = table_new(LOOK_CHAIN, 1);
    CONTEST_NEED(locus_prefix_open(&looks.prefix, &config));
    looks.known = malloc(LOOK_BLOCKS * sizeof *looks.known);
    if (!looks.known)
        contest_fail("ids", ENOMEM);
    for (uint32_t i = 0; i < LOOK_BLOCKS; i++)
        looks.known[i] = look_random();
    for (uint32_t i = 0; i < LOOK_BLOCKS; i += LOOK_CHAIN) {
        CONTEST_NEED(locus_owner_write(world.owner, table, 0, LOOK_CHAIN, 1));
        if (locus_prefix_publish(looks.prefix, looks.known + i, NULL, LOOK_CHAIN, table) != LOOK_CHAIN)
            contest_fail("publish", EINVAL);
        CONTEST_NEED(locus_owner_truncate(world.owner, table, 0));
    }
    free(table);
}

static void look_fill(const struct sharing_table *table)
{
    for (uint32_t i = 0; i < LOOK_BLOCKS; i++) {
        locus_block ours_says, it_says;
        look_ours(&looks.known[i], 1, &ours_says);
        table->add(looks.known[i], ours_says);
        if (table->find(&looks.known[i], 1, &it_says) != 1 || it_says != ours_says)
            contest_fail(table->name, EINVAL);
    }
}

static void look_arm(struct contest *contest, const struct sharing_table *table, double at_least)
{
    contest->arms[contest->arms_count++] = (struct contest_arm){.name = table->name,
                                                                .measure = look_measure,
                                                                .context = (void *)(uintptr_t)table,
                                                                .goal = at_least > 0 ? CONTEST_RATIO_AT_LEAST : CONTEST_NONE,
                                                                .bound = at_least};
}

static bool looks_run(void)
{
    char title[128];
    struct contest contest = {.title = title, .prepare = look_prepare, .rounds = rounds};
    world_open(LOOK_BLOCKS, 64);
    look_keep();
    look_arm(&contest, &ours, 0);
    look_arm(&contest, &singly, 1.4);
    for (uint32_t i = 0; i < sharing_tables_count; i++) {
        const struct sharing_table *table = &sharing_tables[i];
        if (table->open && table->open(LOOK_BLOCKS)) {
            look_fill(table);
            look_arm(&contest, table, i ? 1 : 1.4);
        } else {
            printf("%s is not installed, and left out\n", table->name);
        }
    }
    bool met = true;
    for (looks.batch = 32; looks.batch <= LOOK_BATCH_MAX; looks.batch *= 4)
        for (looks.absent_of_2 = 0; looks.absent_of_2 < 2; looks.absent_of_2++) {
            snprintf(title, sizeof title, "look-up in 10^6 kept blocks, batches of %u, %s, ns an id", looks.batch,
                     looks.absent_of_2 ? "half absent" : "all present");
            met &= contest_run(&contest);
        }
    CONTEST_NEED(locus_prefix_close(looks.prefix));
    free(looks.known);
    world_close();
    return met;
}

// --- checks ---------------------------------------------------------------------------------------------------------------------

#define CHECK_PROMPTS 800u
#define CHECK_BLOCKS 125u       // of a prompt: 2,000 tokens
#define CHECK_TOKENS 16u        // of a block
#define CHECK_REPEATS 200u      // prompts in each measurement

enum { UNCHECKED, KEPT_TOKENS, ASKED, CHECKS };

static struct {
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_prefix *prefix;
    struct locus_table *table;
} checks[CHECKS];

static struct {
    uint32_t *tokens;           // of all prompts
    struct locus_id *ids;
    uint64_t random, now;
} prompts = {.random = 11};

static struct locus_id *check_ids(uint32_t prompt)
{
    return prompts.ids + prompt * CHECK_BLOCKS;
}

static const uint32_t *check_tokens(uint32_t prompt)
{
    return prompts.tokens + prompt * CHECK_BLOCKS * CHECK_TOKENS;
}

static bool check_says_yes(void *context, locus_block block, const struct locus_id ids_asked[], const uint32_t tokens[],
                           uint32_t position)
{
    (void)context;
    (void)ids_asked;
    (void)tokens;
    (void)position;
    return block != LOCUS_BLOCK_NONE;
}

static void check_open(unsigned kind)
{
    const struct locus_prefix_check check = {.size = sizeof check, .same = check_says_yes};
    world_open(CHECK_PROMPTS * CHECK_BLOCKS, 64);
    struct locus_prefix_config config = {.size = sizeof config,
                                         .owner = world.owner,
                                         .key = &ids_key,
                                         .tokens_per_block = kind == KEPT_TOKENS ? CHECK_TOKENS : 0,
                                         .check = kind == ASKED ? &check : NULL};
    checks[kind].pool = world.pool;
    checks[kind].owner = world.owner;
    checks[kind].table = table_new(CHECK_BLOCKS, CHECK_TOKENS);
    CONTEST_NEED(locus_prefix_open(&checks[kind].prefix, &config));
    for (uint32_t p = 0; p < CHECK_PROMPTS; p++) {
        CONTEST_NEED(locus_owner_grow(world.owner, checks[kind].table, CHECK_BLOCKS));
        if (locus_prefix_publish(checks[kind].prefix, check_ids(p), check_tokens(p), CHECK_BLOCKS, checks[kind].table) !=
            CHECK_BLOCKS)
            contest_fail("publish", EINVAL);
        CONTEST_NEED(locus_owner_truncate(world.owner, checks[kind].table, 0));
    }
}

static void check_close(unsigned kind)
{
    CONTEST_NEED(locus_prefix_close(checks[kind].prefix));
    world.pool = checks[kind].pool;
    world.owner = checks[kind].owner;
    free(checks[kind].table);
    world_close();
}

static double check_measure(void *context)
{
    const unsigned kind = (unsigned)(uintptr_t)context;
    double begin = contest_now_ns();
    for (uint32_t i = 0; i < CHECK_REPEATS; i++) {
        const uint32_t p = (uint32_t)(tb_random_next(&prompts.random) % CHECK_PROMPTS);
        if (locus_prefix_match(checks[kind].prefix, ++prompts.now, check_ids(p), check_tokens(p), CHECK_BLOCKS,
                               checks[kind].table) != CHECK_BLOCKS)
            contest_fail("match", EINVAL);
        CONTEST_NEED(locus_owner_truncate(checks[kind].owner, checks[kind].table, 0));
    }
    return (contest_now_ns() - begin) / (CHECK_REPEATS * CHECK_BLOCKS);
}

static bool checks_run(void)
{
    const struct locus_id none = {{0}};
    const uint32_t tokens = CHECK_PROMPTS * CHECK_BLOCKS * CHECK_TOKENS;
    struct contest contest = {.title = "match and release of 125 kept blocks of 10^5, ns a block",
                              .rounds = rounds,
                              .arms = {{.name = "unchecked", .measure = check_measure, .context = (void *)UNCHECKED},
                                       {.name = "tokens kept", .measure = check_measure, .context = (void *)KEPT_TOKENS},
                                       {.name = "the engine asked", .measure = check_measure, .context = (void *)ASKED}},
                              .arms_count = CHECKS};
    prompts.tokens = malloc(tokens * sizeof *prompts.tokens);
    prompts.ids = malloc(CHECK_PROMPTS * CHECK_BLOCKS * sizeof *prompts.ids);
    if (!prompts.tokens || !prompts.ids)
        contest_fail("prompts", ENOMEM);
    for (uint32_t i = 0; i < tokens; i++)
        prompts.tokens[i] = (uint32_t)(tb_random_next(&prompts.random) >> 47);
    for (uint32_t p = 0; p < CHECK_PROMPTS; p++)
        locus_prefix_ids(&ids_key, none, check_tokens(p), CHECK_BLOCKS * CHECK_TOKENS, CHECK_TOKENS, 0, check_ids(p));
    for (unsigned kind = 0; kind < CHECKS; kind++)
        check_open(kind);
    bool met = contest_run(&contest);
    for (unsigned kind = 0; kind < CHECKS; kind++)
        check_close(kind);
    free(prompts.tokens);
    free(prompts.ids);
    return met;
}

int main(int argc, char **argv)
{
    const char *part = argc > 2 ? argv[2] : "";
    bool met = true;
    rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : rounds;
    if (rounds < 30 || rounds > CONTEST_ROUNDS_MAX)
        contest_fail("ROUNDS: 30 to 2000", EINVAL);
    if (!*part || !strcmp(part, "fork"))
        met &= forks_run();
    if (!*part || !strcmp(part, "write"))
        met &= writes_run();
    if (!*part || !strcmp(part, "ids"))
        met &= ids_runs();
    if (!*part || !strcmp(part, "look"))
        met &= looks_run();
    if (!*part || !strcmp(part, "check"))
        met &= checks_run();
    return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
