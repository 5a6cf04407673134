// SPDX-License-Identifier: Apache-2.0
//
// prefix_id: SipHash-2-4-128, of one block or of several side by side.
//
// The parent is the end of what is hashed. So of a prompt's blocks the tokens are absorbed in lanes, some blocks at a time, and
// then a chain runs through their states: two words of the parent, one of the length, and the rounds at the end. The chain is one
// dependency after the other, at half the rate that a processor could keep up; it fills the gaps with the next blocks' tokens. So
// more lanes than PREFIX_LANES gain nothing: a processor looks no further ahead than that.
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
typedef uint64_t lanes __attribute__((vector_size(PREFIX_LANES * sizeof(uint64_t))));

static inline __attribute__((always_inline)) void absorb(const struct locus_prefix_key *key,
                                                         const uint32_t *const blocks[PREFIX_LANES], uint32_t pairs,
                                                         uint64_t state[4][PREFIX_LANES])
{
    const lanes none = {0};
    lanes v[4] = {none + (START0 ^ key->word[0]), none + (START1 ^ key->word[1]), none + (START2 ^ key->word[0]),
                  none + (START3 ^ key->word[1])};
    for (uint32_t i = 0; i < pairs; i++) {
        lanes word = {pair_at(blocks[0], i), pair_at(blocks[1], i), pair_at(blocks[2], i), pair_at(blocks[3], i)};
        ABSORB(v, word);
    }
    memcpy(state, v, sizeof v);
}

#define VARIANT(variant, instructions)                                                                                             \
    instructions static void absorb_##variant(const struct locus_prefix_key *key, const uint32_t *const blocks[PREFIX_LANES],      \
                                              uint32_t pairs, uint64_t state[4][PREFIX_LANES])                                     \
    {                                                                                                                              \
        absorb(key, blocks, pairs, state);                                                                                         \
    }                                                                                                                              \
    static const struct prefix_lanes variant = {#variant, variant##_usable, absorb_##variant}

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

// One after the other: vectors of two words, which cannot rotate, are slower.
static void absorb_portable(const struct locus_prefix_key *key, const uint32_t *const blocks[PREFIX_LANES], uint32_t pairs,
                            uint64_t state[4][PREFIX_LANES])
{
    uint64_t v[4];
    for (unsigned i = 0; i < PREFIX_LANES; i++) {
        absorb_one(key, blocks[i], pairs, v);
        for (unsigned w = 0; w < 4; w++)
            state[w][i] = v[w];
    }
}

static const struct prefix_lanes portable = {"portable", portable_usable, absorb_portable};

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

uint32_t prefix_ids_by(const struct prefix_lanes *by, const struct locus_prefix_key *key, struct locus_id parent,
                       const uint32_t tokens[], uint32_t tokens_count, uint32_t tokens_per_block, struct locus_id ids[])
{
    const uint32_t count = tokens_per_block ? tokens_count / tokens_per_block : 0;
    uint64_t state[4][PREFIX_LANES];
    const uint32_t *blocks[PREFIX_LANES];
    for (uint32_t first = 0; first < count; first += PREFIX_LANES) {
        const uint32_t some = count - first < PREFIX_LANES ? count - first : PREFIX_LANES;
        for (uint32_t i = 0; i < PREFIX_LANES; i++) // lanes that are left over repeat the last block
            blocks[i] = tokens + (first + (i < some ? i : some - 1)) * (size_t)tokens_per_block;
        by->absorb(key, blocks, tokens_per_block / 2, state);
        for (uint32_t i = 0; i < some; i++) {
            uint64_t v[4] = {state[0][i], state[1][i], state[2][i], state[3][i]};
            parent = ids[first + i] = finish(v, blocks[i], tokens_per_block, parent);
        }
    }
    return count;
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
    return prefix_ids_by(best(), key, above_first(parent, salt), tokens, tokens_count, tokens_per_block, ids);
}
