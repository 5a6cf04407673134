// SPDX-License-Identifier: Apache-2.0
//
// prefix_id: SipHash-2-4-128, of one block or of several side by side.
//
// The parent is the end of what is hashed. So the tokens of some blocks are absorbed side by side, and then a chain runs through
// their states: two words of the parent, one of the length, and the rounds at the end. The chain is one dependency after the other,
// at less than half the rate that a processor could keep up, so the next blocks' tokens are absorbed in its gaps: of blocks of 16
// tokens the chain is three quarters of what is left. A processor finds such gaps by itself only as far ahead as it looks, which is
// not as far as a block's chain is long; so both are in one loop, piece by piece.
//
// An odd number of tokens ends in the middle of a word, and the parent's halves move up by one.

#include "prefix_lanes.h"

#include <stdatomic.h>
#include <string.h>

#define ROTATED(x, bits) ((x) << (bits) | (x) >> (64 - (bits)))

// SipRound. Of words, and of vectors of them.
#define ROUND(v)                                                                                                                   \
    do {                                                                                                                           \
        (v)[0] += (v)[1];                                                                                                          \
        (v)[2] += (v)[3];                                                                                                          \
        (v)[1] = ROTATED((v)[1], 13) ^ (v)[0];                                                                                     \
        (v)[3] = ROTATED((v)[3], 16) ^ (v)[2];                                                                                     \
        (v)[0] = ROTATED((v)[0], 32);                                                                                              \
        (v)[2] += (v)[1];                                                                                                          \
        (v)[0] += (v)[3];                                                                                                          \
        (v)[1] = ROTATED((v)[1], 17) ^ (v)[2];                                                                                     \
        (v)[3] = ROTATED((v)[3], 21) ^ (v)[0];                                                                                     \
        (v)[2] = ROTATED((v)[2], 32);                                                                                              \
    } while (0)

#define ABSORB(v, word)                                                                                                            \
    do {                                                                                                                           \
        (v)[3] ^= (word);                                                                                                          \
        ROUND(v);                                                                                                                  \
        ROUND(v);                                                                                                                  \
        (v)[0] ^= (word);                                                                                                          \
    } while (0)

// "somepseudorandomlygeneratedbytes", and what marks an output of 128 bits.
#define START0 UINT64_C(0x736f6d6570736575)
#define START1 (UINT64_C(0x646f72616e646f6d) ^ 0xee)
#define START2 UINT64_C(0x6c7967656e657261)
#define START3 UINT64_C(0x7465646279746573)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tokens are hashed as the bytes that they are in memory");

static inline uint64_t pair_at(const uint32_t tokens[], uint32_t pair)
{
    uint64_t word;
    memcpy(&word, tokens + 2 * (size_t)pair, sizeof word);
    return word;
}

static inline void rounds4(uint64_t v[4])
{
    for (int i = 0; i < 4; i++)
        ROUND(v);
}

// What is behind the pairs of tokens.
static inline struct locus_id finish(uint64_t v[4], const uint32_t tokens[], uint32_t count, struct locus_id parent)
{
    struct locus_id id;
    uint64_t first = parent.word[0], second = parent.word[1];
    uint64_t last = (4 * (uint64_t)count + sizeof parent) << 56; // the length, modulo 256
    if (count % 2) {
        last |= second >> 32;
        second = first >> 32 | second << 32;
        first = tokens[count - 1] | first << 32;
    }
    ABSORB(v, first);
    ABSORB(v, second);
    ABSORB(v, last);
    v[2] ^= 0xee;
    rounds4(v);
    id.word[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    rounds4(v);
    id.word[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
    id.word[1] |= id.word[1] == 0;
    return id;
}

static inline struct locus_id above_first(struct locus_id parent, uint64_t salt)
{
    return locus_id_is_none(parent) ? locus_id_of(salt) : parent;
}

static inline void absorb_one(const struct locus_prefix_key *key, const uint32_t tokens[], uint32_t pairs, uint64_t v[4])
{
    v[0] = START0 ^ key->word[0];
    v[1] = START1 ^ key->word[1];
    v[2] = START2 ^ key->word[0];
    v[3] = START3 ^ key->word[1];
    for (uint32_t i = 0; i < pairs; i++) {
        uint64_t pair = pair_at(tokens, i);
        ABSORB(v, pair);
    }
}

struct locus_id locus_prefix_id(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[], uint32_t count,
                                uint64_t salt)
{
    uint64_t v[4];
    absorb_one(key, tokens, count / 2, v);
    return finish(v, tokens, count, above_first(parent, salt));
}

// --- in lanes ------------------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
#define LANES 4u
#define INLINED static inline __attribute__((always_inline))

typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));

INLINED void begin(lanes v[4], const struct locus_prefix_key *key)
{
    const lanes none = {0};
    v[0] = none + (START0 ^ key->word[0]);
    v[1] = none + (START1 ^ key->word[1]);
    v[2] = none + (START2 ^ key->word[0]);
    v[3] = none + (START3 ^ key->word[1]);
}

// Pairs [from, to) of the blocks' tokens.
INLINED void go_on(lanes v[4], const uint32_t *const blocks[LANES], uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        lanes word = {pair_at(blocks[0], i), pair_at(blocks[1], i), pair_at(blocks[2], i), pair_at(blocks[3], i)};
        ABSORB(v, word);
    }
}

// Lanes that are left over repeat the last block.
INLINED void blocks_from(const uint32_t *blocks[LANES], const uint32_t tokens[], uint32_t per_block, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < LANES; i++)
        blocks[i] = tokens + (first + i < count ? first + i : count - 1) * (size_t)per_block;
}

INLINED uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// The chain through LANES blocks; between its links the tokens of the next LANES blocks, a part at each.
INLINED void in_lanes(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[], uint32_t count,
                      uint32_t per_block, struct locus_id ids[])
{
    const uint32_t pairs = per_block / 2, part = (pairs + LANES - 1) / LANES;
    const uint32_t *blocks[LANES], *next[LANES];
    lanes v[4];
    begin(v, key);
    blocks_from(next, tokens, per_block, 0, count);
    go_on(v, next, 0, pairs);
    for (uint32_t first = 0; first < count; first += LANES) {
        uint64_t state[4][LANES];
        const uint32_t more = count - first > LANES ? pairs : 0;
        memcpy(state, v, sizeof v);
        memcpy(blocks, next, sizeof next);
        begin(v, key);
        blocks_from(next, tokens, per_block, first + LANES, count);
        for (uint32_t i = 0; i < least(LANES, count - first); i++) {
            uint64_t one[4] = {state[0][i], state[1][i], state[2][i], state[3][i]};
            go_on(v, next, least(i * part, more), least((i + 1) * part, more));
            parent = ids[first + i] = finish(one, blocks[i], per_block, parent);
        }
    }
}

#define VARIANT(variant, instructions)                                                                                             \
    instructions static void ids_##variant(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[],    \
                                           uint32_t count, uint32_t per_block, struct locus_id ids[])                              \
    {                                                                                                                              \
        in_lanes(key, parent, tokens, count, per_block, ids);                                                                      \
    }                                                                                                                              \
    static const struct prefix_lanes variant = {#variant, variant##_usable, ids_##variant}

static bool avx512_usable(void) // it can rotate
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}
VARIANT(avx512, __attribute__((target("avx512f,avx512vl"))));

static bool avx2_usable(void)
{
    return __builtin_cpu_supports("avx2");
}
VARIANT(avx2, __attribute__((target("avx2"))));
#endif

static bool portable_usable(void)
{
    return true;
}

// Without lanes: vectors of two words, which cannot rotate, are slower.
static void ids_portable(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[], uint32_t count,
                         uint32_t per_block, struct locus_id ids[])
{
    for (uint32_t i = 0; i < count; i++)
        parent = ids[i] = locus_prefix_id(key, parent, tokens + i * (size_t)per_block, per_block, 0);
}

static const struct prefix_lanes portable = {"portable", portable_usable, ids_portable};

const struct prefix_lanes *prefix_lanes_at(size_t i)
{
    static const struct prefix_lanes *const best_first[] = {
#if defined(__x86_64__)
        &avx512,
        &avx2,
#endif
        &portable,
    };
    for (size_t k = 0; k < sizeof best_first / sizeof *best_first; k++)
        if (best_first[k]->usable() && i-- == 0)
            return best_first[k];
    return NULL;
}

// The answer is kept, for the processor's is slow on a virtual machine.
static const struct prefix_lanes *best(void)
{
    static _Atomic(const struct prefix_lanes *) kept;
    // I1: relaxed, partner itself: threads that ask at once all find the same constant table, and nothing else is published by it.
    const struct prefix_lanes *found = atomic_load_explicit(&kept, memory_order_relaxed);
    if (!found)
        atomic_store_explicit(&kept, found = prefix_lanes_at(0), memory_order_relaxed);
    return found;
}

uint32_t locus_prefix_ids(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[],
                          uint32_t tokens_count, uint32_t tokens_per_block, uint64_t salt, struct locus_id ids[])
{
    const uint32_t count = tokens_per_block ? tokens_count / tokens_per_block : 0;
    if (count)
        best()->ids(key, above_first(parent, salt), tokens, count, tokens_per_block, ids);
    return count;
}
