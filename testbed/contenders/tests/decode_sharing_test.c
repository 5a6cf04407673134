// SPDX-License-Identifier: Apache-2.0
//
// decode_sharing: attention over tables of the library's pool gives the bits of contiguous memory, also after fork, copy-on-write,
// cut, swap and preemption.
//
// A sequence is a list of numbers, one for each position, from which its K and V come. After each step the same list is appended
// to fresh contiguous memory and attended there. So a token that another sequence has written, an old one, or none is seen, and
// what nobody wrote is NaN. A layout with a block for each layer has a table for each layer: what is shared is whole tables.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "locus/locus.h"
#include "testbed/decode/attend.h"

#define SHAPE "2x4x2x32"
#define LAYERS 2u
#define ROW_VALUES (2u * 32u)   // of K, and of V: all KV heads
#define HEADS_VALUES (4u * 32u)
#define TOKENS_MAX 512u
#define CAPACITY (TOKENS_MAX / TB_TILE_TOKENS)
#define BLOCKS 256u
#define SEQUENCES 4u

struct sequence {
    struct locus_table *table[LAYERS]; // one if a block has all layers
    uint32_t tokens;
    uint32_t said[TOKENS_MAX];
};

struct world {
    struct tb_cache cache, whole;
    uint32_t parts;             // tables of a sequence
    struct locus_pool *pool;
    struct locus_owner *owner;
    struct locus_route route;
    struct tb_team *team;
    struct sequence sequence[SEQUENCES];
};

// --- K and V ---------------------------------------------------------------------------------------------------------------------

static float number_of(uint32_t kind, uint32_t said, uint32_t layer, uint32_t i)
{
    uint64_t x = (((uint64_t)kind * 1048583 + said) * LAYERS + layer) * 4099 + i;
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (float)((double)(x >> 40) / (1 << 23) - 1);
}

static void row_write(const struct tb_cache *cache, char *const blocks[], uint32_t position, uint32_t said)
{
    char k[ROW_VALUES * 4], v[sizeof k];
    size_t bytes = tb_dtype_bytes(cache->dtype);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t i = 0; i < ROW_VALUES; i++) {
            tb_dtype_store(cache->dtype, k + i * bytes, number_of(0, said, layer, i));
            tb_dtype_store(cache->dtype, v + i * bytes, number_of(1, said, layer, i));
        }
        tb_cache_append(cache, blocks, layer, position, k, v);
    }
}

// --- the world -------------------------------------------------------------------------------------------------------------------

static void pool_open(struct world *world)
{
    struct locus_pool_config config = {.size = sizeof config,
                                       .blocks = BLOCKS,
                                       .block_bytes = world->cache.block_bytes,
                                       .backing = LOCUS_BACKING_HEAP,
                                       .node = LOCUS_NODE_ANY,
                                       .shared = true};
    locus_block all[BLOCKS];
    cr_assert_eq(locus_pool_open(&world->pool, &config), 0);
    struct locus_owner_config owner = {.size = sizeof owner, .pool = world->pool, .lanes = 1};
    cr_assert_eq(locus_owner_open(&world->owner, &owner), 0);
    cr_assert_eq(locus_owner_adopt(world->owner), 0);
    cr_assert_eq(locus_route_add(&world->route, world->owner, 0), 0);
    cr_assert_eq(locus_pool_alloc_bulk(world->pool, BLOCKS, all), 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        memset(locus_pool_address(world->pool, all[i]), 0xff, config.block_bytes); // NaN in every type
    cr_assert_eq(locus_pool_free_bulk(world->pool, BLOCKS, all, 0), BLOCKS);
}

static void world_open(struct world *world, const char *layout, enum tb_dtype dtype, uint32_t block_tokens)
{
    char why[160];
    struct tb_shape shape;
    const struct tb_layout *whole = tb_layout_find(strcmp(layout, "columns") == 0 ? "columns" : "contiguous");
    *world = (struct world){0};
    cr_assert_eq(tb_shape_parse(SHAPE, &shape, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_cache_open(&world->cache, &shape, dtype, tb_layout_find(layout), block_tokens, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_cache_open(&world->whole, &shape, dtype, whole, TOKENS_MAX, why, sizeof why), 0, "%s", why);
    world->parts = LAYERS / world->cache.block_layers;
    pool_open(world);
    cr_assert_eq(tb_team_open(&world->team, 1, NULL), 0);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        for (uint32_t part = 0; part < world->parts; part++) {
            struct locus_table *table = aligned_alloc(LOCUS_CACHE_LINE, locus_table_bytes(1, CAPACITY));
            cr_assert(table && locus_table_init(table, 1, CAPACITY, block_tokens) == 0);
            world->sequence[i].table[part] = table;
        }
}

static struct locus_pool_stats stats_of(const struct world *world)
{
    struct locus_pool_stats stats;
    locus_pool_stats(world->pool, &stats);
    return stats;
}

static void world_close(struct world *world)
{
    struct locus_pool_stats stats = stats_of(world);
    cr_expect(stats.outstanding == 0 && stats.sharers == 0, "%u blocks are out", stats.outstanding);
    for (size_t i = 0; i < LOCUS_FREE_ERRORS_COUNT; i++)
        cr_expect_eq(stats.refused[i], 0);
    tb_team_close(world->team);
    locus_owner_leave(world->owner);
    locus_owner_close(world->owner);
    locus_pool_close(world->pool);
    for (uint32_t i = 0; i < SEQUENCES; i++)
        for (uint32_t part = 0; part < world->parts; part++)
            free(world->sequence[i].table[part]);
}

// --- what an engine does with a sequence -----------------------------------------------------------------------------------------

// The addresses of its blocks, in the order of tb_cache_block(). Returns how many.
static uint32_t addresses(const struct world *world, uint32_t which, char *out[])
{
    const struct sequence *sequence = &world->sequence[which];
    uint32_t count = 0;
    for (uint32_t number = 0; number < sequence->table[0]->count; number++)
        for (uint32_t part = 0; part < world->parts; part++)
            out[count++] = locus_pool_address(world->pool, sequence->table[part]->blocks[number]);
    return count;
}

// The planes of locus_owner_write(); 0: the layout keeps a block's tokens in parts of different sizes, or in more than one run.
static uint32_t planes_of(const struct tb_cache *cache)
{
    if (cache->k_value_bytes != tb_dtype_bytes(cache->dtype) || cache->run_tokens != cache->block_tokens)
        return 0;
    return cache->k_token_bytes == cache->row_bytes ? 2 * cache->shape.kv_heads * cache->block_layers : 1;
}

// Copy on write without planes: a block that others hold is replaced as if no token in it was in use, and then copied as a whole.
// The old one stays where it is as long as the caller has the owner's role, for another table holds it.
static void room_without_planes(const struct world *world, struct locus_table *table, uint32_t first, uint32_t count)
{
    uint32_t used = first % world->cache.block_tokens, at = first / world->cache.block_tokens;
    locus_block old = locus_table_at(table, first);
    bool shared = used && locus_pool_holders(world->pool, old) > 1;
    uint32_t from = shared ? first - used : first;
    cr_assert_eq(locus_owner_write(world->owner, table, from, first + count - from, 1), 0);
    if (shared)
        memcpy(locus_pool_address(world->pool, table->blocks[at]), locus_pool_address(world->pool, old), world->cache.block_bytes);
}

static void room_made(const struct world *world, uint32_t which, uint32_t count)
{
    const struct sequence *sequence = &world->sequence[which];
    uint32_t planes = planes_of(&world->cache);
    for (uint32_t part = 0; part < world->parts; part++)
        if (planes)
            cr_assert_eq(locus_owner_write(world->owner, sequence->table[part], sequence->tokens, count, planes), 0);
        else
            room_without_planes(world, sequence->table[part], sequence->tokens, count);
}

// K and V of tokens [first, tokens), again or for the first time.
static void rows_written(const struct world *world, uint32_t which, uint32_t first)
{
    const struct sequence *sequence = &world->sequence[which];
    char *blocks[LAYERS * CAPACITY];
    addresses(world, which, blocks);
    for (uint32_t position = first; position < sequence->tokens; position++)
        row_write(&world->cache, blocks, position, sequence->said[position]);
}

static void appended(struct world *world, uint32_t which, uint32_t count, uint32_t voice)
{
    struct sequence *sequence = &world->sequence[which];
    uint32_t first = sequence->tokens;
    cr_assert_leq(first + count, TOKENS_MAX);
    room_made(world, which, count);
    for (; sequence->tokens < first + count; sequence->tokens++)
        sequence->said[sequence->tokens] = voice * TOKENS_MAX + sequence->tokens;
    rows_written(world, which, first);
}

static void forked(struct world *world, uint32_t from, uint32_t to)
{
    uint32_t out = stats_of(world).outstanding;
    for (uint32_t part = 0; part < world->parts; part++)
        cr_assert_eq(locus_owner_fork(world->owner, world->sequence[from].table[part], world->sequence[to].table[part]), 0);
    cr_expect_eq(stats_of(world).outstanding, out, "a fork takes no blocks");
    world->sequence[to].tokens = world->sequence[from].tokens;
    memcpy(world->sequence[to].said, world->sequence[from].said, sizeof world->sequence[to].said);
}

static void cut(struct world *world, uint32_t which, uint32_t tokens)
{
    for (uint32_t part = 0; part < world->parts; part++)
        cr_assert_eq(locus_owner_truncate_tokens(world->owner, world->sequence[which].table[part], tokens), 0);
    world->sequence[which].tokens = tokens;
}

// By mailbox. `said` stays, as an engine keeps a request's text.
static void sent_home(const struct world *world, uint32_t which)
{
    for (uint32_t part = 0; part < world->parts; part++) {
        struct locus_table *table = world->sequence[which].table[part];
        cr_assert_eq(locus_owner_retire(world->owner, table), 0);
        cr_assert_eq(locus_table_push(&world->route, table), 0);
    }
    locus_owner_drain(world->owner);
    for (uint32_t part = 0; part < world->parts; part++)
        cr_assert_not_null(locus_owner_next_reclaimed(world->owner));
    cr_assert_eq(world->sequence[which].table[0]->count, 0);
}

static void gone(struct world *world, uint32_t which, bool at_once)
{
    if (at_once)
        cut(world, which, 0);
    else
        sent_home(world, which);
    world->sequence[which].tokens = 0;
}

// --- the comparison --------------------------------------------------------------------------------------------------------------

struct side {                   // the same sequences in pages and in contiguous memory
    struct tb_sequence sequence[SEQUENCES];
    char *blocks[SEQUENCES][LAYERS * CAPACITY];
    float out[SEQUENCES * HEADS_VALUES];
};

static void attended(const struct world *world, const struct tb_cache *cache, const struct tb_kernel *kernel, uint32_t layer,
                     struct side *side, uint32_t count)
{
    float q[SEQUENCES * HEADS_VALUES];
    struct tb_attention *attention;
    for (uint32_t i = 0; i < count * HEADS_VALUES; i++)
        q[i] = 4 * number_of(2, 0, layer, i);
    cr_assert_eq(tb_attention_open(&attention, cache, kernel, world->team, SEQUENCES), 0);
    tb_attend(attention, layer, side->sequence, count, q, side->out);
    tb_attention_close(attention);
}

// Every sequence that has tokens.
static uint32_t sides_filled(const struct world *world, struct side *paged, struct side *whole, char *memory)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        const struct sequence *sequence = &world->sequence[i];
        if (sequence->tokens == 0)
            continue;
        addresses(world, i, paged->blocks[count]);
        for (uint32_t layer = 0; layer < LAYERS; layer++)
            whole->blocks[count][layer] = memory + (LAYERS * i + layer) * world->whole.block_bytes;
        for (uint32_t position = 0; position < sequence->tokens; position++)
            row_write(&world->whole, whole->blocks[count], position, sequence->said[position]);
        paged->sequence[count] = (struct tb_sequence){paged->blocks[count], sequence->tokens};
        whole->sequence[count] = (struct tb_sequence){whole->blocks[count], sequence->tokens};
        count++;
    }
    return count;
}

static void same_bits(const struct world *world, uint32_t sequences, const char *when)
{
    struct side *paged = calloc(1, sizeof *paged), *whole = calloc(1, sizeof *whole);
    char *memory = aligned_alloc(64, SEQUENCES * LAYERS * world->whole.block_bytes);
    cr_assert(paged && whole && memory);
    memset(memory, 0xff, SEQUENCES * LAYERS * world->whole.block_bytes);
    uint32_t count = sides_filled(world, paged, whole, memory);
    cr_expect_eq(count, sequences, "%s: %u sequences have tokens", when, count);
    for (size_t k = 0; tb_kernel_at(k); k++)
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            attended(world, &world->cache, tb_kernel_at(k), layer, paged, count);
            attended(world, &world->whole, tb_kernel_at(k), layer, whole, count);
            for (uint32_t i = 0; i < count; i++) {
                const float *a = paged->out + i * HEADS_VALUES, *b = whole->out + i * HEADS_VALUES;
                cr_assert(isfinite(b[0]) && memcmp(a, b, HEADS_VALUES * sizeof *a) == 0, "%s: %s %s %s, blocks of %u: sequence %u",
                          when, tb_kernel_at(k)->name, tb_dtype_name(world->cache.dtype), world->cache.layout->name,
                          world->cache.block_tokens, i);
            }
        }
    free(memory);
    free(paged);
    free(whole);
}

typedef void story_fn(struct world *world, uint32_t block_tokens);

// In every layout with pages, of every type, and in blocks of two sizes.
static void told(story_fn *story)
{
    static const uint32_t sizes[] = {16, 64};
    struct world *world = malloc(sizeof *world);
    uint32_t all_layers = 0, each_layer = 0;
    for (size_t l = 0; tb_layout_at(l); l++)
        for (int dtype = 0; dtype < TB_DTYPES_COUNT && !tb_layout_at(l)->whole; dtype++)
            for (size_t s = 0; s < 2; s++) {
                world_open(world, tb_layout_at(l)->name, (enum tb_dtype)dtype, sizes[s]);
                *(world->parts == 1 ? &all_layers : &each_layer) += 1;
                story(world, sizes[s]);
                world_close(world);
            }
    cr_expect(all_layers && each_layer);
    free(world);
}

// --- stories ---------------------------------------------------------------------------------------------------------------------

// After each of them has written: what was full is held by all, and the prompt's last block by one each.
static void holders_are(const struct world *world, uint32_t beams, uint32_t prompt)
{
    for (uint32_t beam = 0; beam < beams; beam++)
        for (uint32_t part = 0; part < world->parts; part++)
            for (uint32_t at = 0; at * world->cache.block_tokens < prompt; at++)
                cr_expect_eq(locus_pool_holders(world->pool, world->sequence[beam].table[part]->blocks[at]),
                             (at + 1) * world->cache.block_tokens <= prompt ? beams : 1);
}

// A step of all beams; each time another is the first to write. Steps differ in length, and cross the ends of blocks.
static void beams_step(struct world *world, uint32_t beams, uint32_t step)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < SEQUENCES; i++)
        alive += world->sequence[i].tokens > 0;
    for (uint32_t i = 0; i < beams; i++) {
        uint32_t beam = (i + step + 1) % beams;
        if (world->sequence[beam].tokens == 0)
            continue;
        appended(world, beam, 1 + (step + beam) % 3 * world->cache.block_tokens / 4, 1 + beam + SEQUENCES * step);
        if (step == 0)
            same_bits(world, alive, "while the others have not written");
    }
    same_bits(world, alive, "after a step");
}

static void beams_live(struct world *world, uint32_t beams, uint32_t prompt)
{
    appended(world, 0, prompt, 0);
    for (uint32_t beam = 1; beam < beams; beam++)
        forked(world, beam - 1, beam);
    beams_step(world, beams, 0);
    holders_are(world, beams, prompt);
    beams_step(world, beams, 1);
    gone(world, beams - 1, true); // the worst beam; the best goes on twice
    forked(world, 0, beams - 1);
    beams_step(world, beams, 2);
    for (uint32_t i = 0; i < beams; i++) {
        gone(world, (i + prompt) % beams, i % 2);
        if (i + 1 < beams)
            beams_step(world, beams, 3 + i);
    }
}

static void beams(struct world *world, uint32_t block_tokens)
{
    beams_live(world, 2, 3);
    beams_live(world, 3, block_tokens + 5);
    beams_live(world, 4, 2 * block_tokens); // no block is partly filled
    beams_live(world, 4, 3 * block_tokens - 1);
}

Test(decode_sharing, beams_that_fork_copy_on_write_and_leave, .timeout = 300)
{
    told(beams);
}

// Speculative decoding: of five drafted tokens two are taken over, beside a second sequence with the same prompt. Later one and
// then the other goes back into the prompt, which both hold.
static void drafts(struct world *world, uint32_t block_tokens)
{
    uint32_t prompt = 2 * block_tokens - 3;
    appended(world, 0, prompt, 0);
    forked(world, 0, 1);
    for (uint32_t round = 0; round < 4; round++) {
        appended(world, 0, 5, 10 + round);
        same_bits(world, 2, "with a draft");
        cut(world, 0, world->sequence[0].tokens - 3);
        same_bits(world, 2, "without its end");
        appended(world, 0, 1, 20 + round);
        same_bits(world, 2, "with another end");
    }
    cut(world, 0, prompt - 2);
    forked(world, 0, 2);
    appended(world, 0, 4, 30);
    cut(world, 1, block_tokens - 7);
    appended(world, 1, block_tokens, 31);
    same_bits(world, 3, "after a cut into what is shared");
    cut(world, 2, block_tokens);
    appended(world, 2, 1, 32);
    same_bits(world, 3, "after a cut at the end of a block");
    for (uint32_t i = 0; i < 3; i++)
        gone(world, i, i != 1);
}

Test(decode_sharing, drafted_tokens_are_cut_and_others_appended, .timeout = 300)
{
    told(drafts);
}

// How many of these addresses a sequence has.
static uint32_t held(const struct world *world, uint32_t which, char *const old[], uint32_t count)
{
    char *now[LAYERS * CAPACITY];
    uint32_t found = 0, blocks = addresses(world, which, now);
    for (uint32_t i = 0; i < blocks; i++)
        for (uint32_t j = 0; j < count; j++)
            found += now[i] == old[j];
    return found;
}

// Copies a sequence's blocks to plain memory, or back.
static void copied(const struct world *world, uint32_t which, char *plain, bool out)
{
    char *blocks[LAYERS * CAPACITY];
    size_t bytes = world->cache.block_bytes;
    uint32_t count = addresses(world, which, blocks);
    for (uint32_t i = 0; i < count; i++)
        memcpy(out ? plain + i * bytes : blocks[i], out ? blocks[i] : plain + i * bytes, bytes);
}

// One of two beams is swapped out while the other goes on. It leaves what both hold to the other, and comes back with blocks of its
// own.
static void swap(struct world *world, uint32_t block_tokens)
{
    char *old[LAYERS * CAPACITY];
    appended(world, 0, 2 * block_tokens + 5, 0);
    forked(world, 0, 1);
    appended(world, 0, block_tokens, 1);
    appended(world, 1, 2 * block_tokens - 2, 2);
    uint32_t count = addresses(world, 1, old), tokens = world->sequence[1].tokens;
    char *plain = malloc(count * world->cache.block_bytes);
    copied(world, 1, plain, true);
    gone(world, 1, false);
    appended(world, 2, 4 * block_tokens, 3);
    appended(world, 0, block_tokens, 4);
    same_bits(world, 2, "while one is swapped out");
    cr_expect_gt(held(world, 2, old, count), 0, "its blocks are used by others");
    room_made(world, 1, tokens);
    cr_assert_eq(world->sequence[1].table[0]->count * world->parts, count);
    cr_expect_lt(held(world, 1, old, count), count, "it has other blocks");
    copied(world, 1, plain, false);
    world->sequence[1].tokens = tokens;
    same_bits(world, 3, "after a swap");
    cr_expect_eq(stats_of(world).sharers, 0);
    appended(world, 1, 3, 5);
    same_bits(world, 3, "after a swap, and three tokens more");
    for (uint32_t i = 0; i < 3; i++)
        gone(world, i, i != 1);
    free(plain);
}

Test(decode_sharing, a_sequence_that_was_swapped_out_and_in, .timeout = 300)
{
    told(swap);
}

// Two are thrown out, one after the other, and computed again: the first into blocks that were the second's.
static void preempted(struct world *world, uint32_t block_tokens)
{
    char *old[2][LAYERS * CAPACITY];
    uint32_t count[2], tokens[2];
    appended(world, 0, 2 * block_tokens + 1, 1);
    appended(world, 1, 3 * block_tokens - 1, 2);
    for (uint32_t i = 0; i < 2; i++) {
        count[i] = addresses(world, i, old[i]);
        tokens[i] = world->sequence[i].tokens;
        gone(world, i, false);
        appended(world, 2, block_tokens * (i + 1), 3 + i);
        same_bits(world, 2 - i, "while one is out");
    }
    cr_expect_gt(held(world, 2, old[0], count[0]), 0, "its blocks are used by others");
    for (uint32_t i = 0; i < 2; i++) {
        room_made(world, i, tokens[i]);
        world->sequence[i].tokens = tokens[i];
        rows_written(world, i, 0);
        cr_expect_lt(held(world, i, old[i], count[i]), count[i], "it has other blocks");
        same_bits(world, 2 + i, "computed again");
    }
    appended(world, 0, block_tokens, 5);
    same_bits(world, 3, "computed again, and a block more");
    for (uint32_t i = 0; i < 3; i++)
        gone(world, i, i == 1);
}

Test(decode_sharing, a_sequence_that_was_thrown_out_and_computed_again, .timeout = 300)
{
    told(preempted);
}
