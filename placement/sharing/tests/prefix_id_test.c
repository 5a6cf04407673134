// SPDX-License-Identifier: Apache-2.0
//
// prefix_id: ids are SipHash-2-4-128 of tokens and parent, in every variant; and nobody makes two equal ones by choosing tokens.
#include "placement/sharing/prefix_lanes.h"

#include "placement/sharing/tests/sharing_test.h"

static const struct locus_id none = {{0, 0}};
static const struct locus_prefix_key some_key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
static uint64_t seed = 1;

static uint64_t draw(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

// --- the function --------------------------------------------------------------------------------------------------------------

// Up to 60 bytes: vectors_sip128 of SipHash's authors. The longer ones: openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f
// -macopt size:16 SIPHASH. The key is 00 01 .. 0f, and the input 00 01 .. of so many bytes, the last 16 of which are the parent.
static const struct vector {
    uint32_t bytes;
    struct locus_id id;
} vectors[] = {
    {16, {{UINT64_C(0xbb54b067caa4e26e), UINT64_C(0x77052385bf1533fd)}}},
    {20, {{UINT64_C(0x7390223f83fc259e), UINT64_C(0xeb3938e8a544933e)}}},
    {24, {{UINT64_C(0xd850bd78ae79b42d), UINT64_C(0xad32618a178a2a88)}}},
    {28, {{UINT64_C(0x884b576816da6406), UINT64_C(0xf4ae587302f335b9)}}},
    {32, {{UINT64_C(0x3efcea5eca56397c), UINT64_C(0x68eb4665559d3e36)}}},
    {36, {{UINT64_C(0x4648c4291f7dc43d), UINT64_C(0x11674f90ed769e1e)}}},
    {40, {{UINT64_C(0xad5dc9951e306adf), UINT64_C(0xd83b91c6c80cae97)}}},
    {44, {{UINT64_C(0x785e9ced9d7d2389), UINT64_C(0x4273cc66b1c9b1d8)}}},
    {48, {{UINT64_C(0xcf82f749f5aee5f7), UINT64_C(0x169b2608a6559037)}}},
    {52, {{UINT64_C(0x6eb306bd5c32972c), UINT64_C(0x7c013a8bd03d13b2)}}},
    {56, {{UINT64_C(0xe94ed572cff23819), UINT64_C(0x362a1da96f16947e)}}},
    {60, {{UINT64_C(0x53f128eb000c04e3), UINT64_C(0x40e772d8cb73ca66)}}},
    {80, {{UINT64_C(0xf870437ae16ac7d2), UINT64_C(0x22f80d5a79a4fb58)}}},
    {84, {{UINT64_C(0x9077bb00bf0e6dd1), UINT64_C(0x656907245101717c)}}},
    {256, {{UINT64_C(0x464c83d30403a067), UINT64_C(0xcb9a575f7beeea12)}}},
    {260, {{UINT64_C(0x6ccaf86c1d2d3b08), UINT64_C(0x672acca00f531dbd)}}},
    {1040, {{UINT64_C(0x6e863e97d985f2e3), UINT64_C(0x701dbe7e59f1f13c)}}},
};

enum { VECTOR_BYTES_MAX = 1040 };

Test(prefix_id, is_siphash_by_the_published_vectors)
{
    uint32_t words[VECTOR_BYTES_MAX / 4];
    for (uint32_t i = 0; i < VECTOR_BYTES_MAX / 4; i++)
        words[i] = (4 * i & 0xff) * 0x01010101u + 0x03020100u; // four bytes that count
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        const uint32_t tokens = vectors[v].bytes / 4 - 4, *end = words + tokens;
        const struct locus_id parent = {{end[0] | (uint64_t)end[1] << 32, end[2] | (uint64_t)end[3] << 32}};
        struct locus_id id = locus_prefix_id(&some_key, parent, words, tokens, 77), ids[1];
        cr_expect(locus_id_equal(id, vectors[v].id), "%u bytes", vectors[v].bytes);
        for (size_t k = 0; tokens && prefix_lanes_at(k); k++) {
            prefix_lanes_at(k)->ids(&some_key, parent, words, 1, tokens, ids);
            cr_expect(locus_id_equal(ids[0], vectors[v].id), "%u bytes, %s", vectors[v].bytes, prefix_lanes_at(k)->name);
        }
    }
}

// Of any length, by every variant. What is behind the last full block is not looked at, and nothing behind the last id is written.
Test(prefix_id, all_at_once_is_one_by_one)
{
    enum { TOKENS_MAX = 2000, ROUNDS = 400 };
    static uint32_t tokens[TOKENS_MAX];
    static struct locus_id ids[TOKENS_MAX + 1];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct locus_prefix_key key = {{draw(), draw()}};
        const uint32_t per_block = 1 + (uint32_t)(draw() % (round % 2 ? 70 : 5)), count = (uint32_t)(draw() % TOKENS_MAX);
        const struct locus_id parent = round % 3 ? (struct locus_id){{draw(), draw()}} : none;
        const uint64_t salt = draw();
        for (uint32_t i = 0; i < count; i++)
            tokens[i] = (uint32_t)draw();
        for (size_t k = 0; k == 0 || prefix_lanes_at(k - 1); k++) {
            const struct prefix_lanes *lanes = k ? prefix_lanes_at(k - 1) : NULL;
            const struct locus_id above = locus_id_is_none(parent) ? locus_id_of(salt) : parent;
            memset(ids, 0, sizeof ids);
            const uint32_t made = count / per_block;
            if (lanes && made)
                lanes->ids(&key, above, tokens, made, per_block, ids);
            else if (!lanes)
                cr_assert_eq(locus_prefix_ids(&key, parent, tokens, count, per_block, salt, ids), made);
            struct locus_id before = parent;
            for (uint32_t i = 0; i < made; i++) {
                before = locus_prefix_id(&key, before, tokens + i * per_block, per_block, salt);
                cr_assert(locus_id_equal(ids[i], before), "%s: block %u of %u tokens", lanes ? lanes->name : "-", i, per_block);
            }
            cr_assert(locus_id_is_none(ids[made]));
        }
    }
    cr_assert_eq(locus_prefix_ids(&some_key, none, tokens, TOKENS_MAX, 0, 0, ids), 0, "blocks of nothing");
}

Test(prefix_id, depends_on_all_tokens_their_order_what_is_before_the_salt_and_the_key)
{
    uint32_t tokens[16], changed[16];
    for (uint32_t i = 0; i < 16; i++)
        tokens[i] = 1000 + i;
    struct locus_id id = locus_prefix_id(&some_key, none, tokens, 16, 5);
    cr_assert(locus_id_equal(id, locus_prefix_id(&some_key, none, tokens, 16, 5)));
    cr_assert_neq(id.word[1], 0);
    for (uint32_t i = 0; i < 16; i++) {
        memcpy(changed, tokens, sizeof changed);
        changed[i] ^= 1;
        cr_assert(!locus_id_equal(id, locus_prefix_id(&some_key, none, changed, 16, 5)), "token %u", i);
        cr_assert(!locus_id_equal(id, locus_prefix_id(&some_key, none, tokens, i, 5)), "the first %u", i);
    }
    memcpy(changed, tokens, sizeof changed);
    changed[0] = tokens[1];
    changed[1] = tokens[0];
    cr_assert(!locus_id_equal(id, locus_prefix_id(&some_key, none, changed, 16, 5)));
    cr_assert(!locus_id_equal(id, locus_prefix_id(&some_key, none, tokens, 16, 6)));
    for (unsigned word = 0; word < 2; word++) {
        struct locus_prefix_key key = some_key;
        struct locus_id parent = {{5, 1}};
        struct locus_id below = locus_prefix_id(&some_key, parent, tokens, 16, 5);
        cr_assert(locus_id_equal(below, locus_prefix_id(&some_key, parent, tokens, 16, 6)), "the salt is that of its chain");
        parent.word[word] ^= UINT64_C(1) << 63;
        cr_assert(!locus_id_equal(below, locus_prefix_id(&some_key, parent, tokens, 16, 5)), "word %u of the parent", word);
        key.word[word] ^= 1;
        cr_assert(!locus_id_equal(id, locus_prefix_id(&key, none, tokens, 16, 5)), "word %u of the key", word);
    }
}

// --- who chooses tokens --------------------------------------------------------------------------------------------------------

// Two blocks of 16 tokens below 65,536 that are equal to a hash which multiplies and folds 64 bits without a key.
static const uint32_t pair[2][16] = {
    {1000, 1037, 1074, 1111, 1148, 1185, 1222, 1259, 1296, 1333, 1370, 1407, 61302, 44134, 38788, 19311},
    {1000, 1037, 1074, 1111, 1148, 1185, 1222, 1259, 1296, 1333, 1370, 1407, 22298, 1576, 22917, 29498},
};

Test(prefix_id, a_prompt_that_was_made_to_collide_is_given_no_block_of_another)
{
    struct world world;
    struct locus_id ids[2];
    world_open(&world, 8, false);
    cache_open(&world, NULL);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(locus_prefix_ids(locus_prefix_key_of(world.prefix), none, pair[i], 16, 16, 0, &ids[i]), 1);
    written(&world, 0, 0, 4, 'a');
    cr_assert_eq(locus_prefix_publish(world.prefix, &ids[0], NULL, 1, world.tables[0]), 1);
    cr_assert_eq(locus_prefix_match(world.prefix, 1, &ids[1], NULL, 1, world.tables[1]), 0);
    cr_assert_eq(locus_prefix_match(world.prefix, 1, &ids[0], NULL, 1, world.tables[1]), 1);
    released(&world, 0);
    released(&world, 1);
    world_close(&world);
}

// Pairs of tokens that a multiplication by a known constant takes to 0: behind enough of them such a hash has forgotten what came
// before, under every salt.
Test(prefix_id, no_tokens_make_an_id_forget_what_came_before_them)
{
    enum { PAIRS = 70, COUNT = 2 * (PAIRS + 1) };
    static const uint32_t zeroing[2] = {0x13198a2e, 0x03707345};
    uint32_t tokens[2][COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        tokens[0][i] = tokens[1][i] = zeroing[i % 2];
    tokens[0][0] = 1;
    tokens[1][0] = 2;
    for (uint64_t salt = 0; salt < 100; salt++) {
        struct locus_id a = locus_prefix_id(&some_key, none, tokens[0], COUNT, salt);
        struct locus_id b = locus_prefix_id(&some_key, none, tokens[1], COUNT, salt);
        struct locus_id c = locus_prefix_id(&some_key, none, tokens[1], COUNT, salt + 1);
        cr_assert(!locus_id_equal(a, b) && !locus_id_equal(b, c));
        cr_assert(!locus_id_equal(locus_prefix_id(&some_key, a, zeroing, 2, 0), locus_prefix_id(&some_key, b, zeroing, 2, 0)));
    }
}

static struct locus_id id_in(const struct world *world)
{
    return locus_prefix_id(locus_prefix_key_of(world->prefix), none, pair[0], 16, 0);
}

Test(prefix_id, two_caches_have_different_ids_for_the_same_tokens_unless_they_are_given_one_key)
{
    struct world world[2];
    struct locus_prefix_key given = {{3, 4}};
    for (unsigned i = 0; i < 2; i++) {
        world_open(&world[i], 4, false);
        cache_open(&world[i], NULL);
    }
    cr_assert(!locus_id_equal(id_in(&world[0]), id_in(&world[1])));
    for (unsigned i = 0; i < 2; i++) {
        struct locus_prefix_config config = {.size = sizeof config, .owner = world[i].owner, .key = &given};
        cr_assert_eq(locus_prefix_close(world[i].prefix), 0);
        given = (struct locus_prefix_key){{3, 4}};
        cr_assert_eq(locus_prefix_open(&world[i].prefix, &config), 0);
        memset(&given, 0, sizeof given); // it was copied
    }
    cr_assert(locus_id_equal(id_in(&world[0]), id_in(&world[1])));
    cr_assert(locus_prefix_key_of(world[0].prefix)->word[0] == 3 && locus_prefix_key_of(world[0].prefix)->word[1] == 4);
    for (unsigned i = 0; i < 2; i++)
        world_close(&world[i]);
}

// --- as if drawn by lot --------------------------------------------------------------------------------------------------------

enum { MANY = 1 << 20 };

static int by_word(const void *a, const void *b)
{
    const struct locus_id *left = a, *right = b;
    int first = (left->word[0] > right->word[0]) - (left->word[0] < right->word[0]);
    return first ? first : (left->word[1] > right->word[1]) - (left->word[1] < right->word[1]);
}

// Tokens that count, that have one bit each, that are all alike, and whose chains differ only far above.
static struct locus_id structured(uint32_t i, struct locus_id last)
{
    uint32_t tokens[16] = {0};
    switch (i % 4) {
    case 0: tokens[15] = i; break;
    case 1: tokens[i / 4 % 16] = 1 + i / 64; break;
    case 2: memset(tokens, (int)(i & 0xff), sizeof tokens), tokens[0] = i >> 8; break;
    default: return locus_prefix_id(&some_key, last, tokens, 16, 0);
    }
    return locus_prefix_id(&some_key, none, tokens, 16, i % 4 + UINT64_C(100));
}

static bool fair(double heads, double coins) // within six standard deviations, each of which is half the root of `coins`
{
    const double off = heads - coins / 2;
    return off * off <= 9 * coins;
}

Test(prefix_id, a_million_structured_blocks_have_different_ids_without_a_bias)
{
    struct locus_id *ids = malloc(MANY * sizeof *ids);
    cr_assert_not_null(ids);
    for (uint32_t i = 0; i < MANY; i++)
        ids[i] = structured(i, i ? ids[i - 1] : none);
    for (unsigned bit = 0; bit < 128; bit++) {
        uint32_t ones = 0;
        for (uint32_t i = 0; i < MANY; i++)
            ones += ids[i].word[bit / 64] >> bit % 64 & 1;
        cr_expect(fair(ones, MANY), "bit %u: %u of %d", bit, ones, MANY);
    }
    qsort(ids, MANY, sizeof *ids, by_word);
    uint32_t near = 0; // of the 2^39 pairs one in 2^32 has the same 32 first bits: 128, and six standard deviations of that are 68
    for (uint32_t i = 1; i < MANY; i++) {
        cr_assert(!locus_id_equal(ids[i - 1], ids[i]));
        near += ids[i - 1].word[0] >> 32 == ids[i].word[0] >> 32;
    }
    cr_expect(near >= 60 && near <= 196, "%u neighbours", near);
    free(ids);
}

Test(prefix_id, each_bit_of_the_tokens_and_of_the_parent_turns_half_of_the_id)
{
    enum { TRIES = 200, BITS = 512 + 128 };
    uint64_t turned[128] = {0};
    for (unsigned bit = 0; bit < BITS; bit++) {
        uint32_t flips = 0;
        for (unsigned try = 0; try < TRIES; try++) {
            uint32_t tokens[16];
            struct locus_id parent = {{draw(), draw()}}, before, after;
            for (unsigned i = 0; i < 16; i++)
                tokens[i] = (uint32_t)draw();
            before = locus_prefix_id(&some_key, parent, tokens, 16, 0);
            if (bit < 512)
                tokens[bit / 32] ^= UINT32_C(1) << bit % 32;
            else
                parent.word[(bit - 512) / 64] ^= UINT64_C(1) << bit % 64;
            after = locus_prefix_id(&some_key, parent, tokens, 16, 0);
            for (unsigned out = 0; out < 128; out++) {
                bool flip = (before.word[out / 64] ^ after.word[out / 64]) >> out % 64 & 1;
                flips += flip;
                turned[out] += flip;
            }
        }
        cr_expect(fair(flips, TRIES * 128), "bit %u turns %u of %u", bit, flips, TRIES * 128);
    }
    for (unsigned out = 0; out < 128; out++)
        cr_expect(fair((double)turned[out], TRIES * BITS), "bit %u of the id", out);
}
