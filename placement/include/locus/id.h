// SPDX-License-Identifier: Apache-2.0
//
// id: 128 bits that name contents: a block behind all tokens before it (prefix.h), an object in a tier (tier.h).
//
// The library compares ids and never interprets them. Two ids that are equal are the same contents, so whoever makes them must
// make them such that nobody can bring about two equal ones: locus_prefix_id() does. A program that has numbers of its own, unique
// by its own doing, turns them into ids with locus_id_of().
//
// Ids of a prompt's blocks. Two prompts with one id would get one another's KV, so nobody who chooses tokens may be able to make
// two such prompts. An id is
//
//     SipHash-2-4 with 128 bits of output, under a secret key of 128 bits, of
//     the block's tokens, 32 bits each, little-endian || the parent's id, 16 bytes; or {salt, 0}: a chain's first block
//
// (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012). Without the key the ids are as good as drawn by lot: two of n are
// equal with a chance of n^2 / 2^129, whatever the tokens are and whoever chooses them, and salts share nothing. 0 in word[1]
// becomes 1, so an id is never none and never {salt, 0}.
//
// The key is a cache's (prefix.h): drawn at its open, or given by the engine. Caches that several processes share, or that find in
// a file what an earlier run stored there, need the same one. Who knows it can make two prompts with one id, so it stays where the
// ids are made: it is in no log and goes to no client. Ids themselves may be seen.
//
// Own ids. An engine that has ids of its own need not call these functions. Its ids must name the block's tokens, everything before
// them and whatever else the KV depends on, and nobody who chooses tokens may be able to make two equal ones: SHA-256 of all of it,
// cut to 128 bits, is such an id. A hash without a key and of 64 bits is not: two blocks with one id are found in minutes, and no
// salt changes that. Numbers that the engine itself gives each different block once are ids, too: locus_id_of().
//
// Cost. The parent comes last, so locus_prefix_ids() hashes the tokens of several blocks side by side, and only 14 rounds of each
// block, whatever its tokens, wait for the block before it: some 35 ns a block of 16 tokens on a server's core, 26 of which are
// those 14 rounds. `make bench-sharing` shows it beside memcpy, of the tokens and of the KV that a block found by its id saves.
//
// Threads: any. The functions have no state.
#ifndef LOCUS_ID_H
#define LOCUS_ID_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct locus_id {
    uint64_t word[2];           // both 0: no id. A prefix cache takes none such
};

static inline struct locus_id locus_id_of(uint64_t number)
{
    struct locus_id id = {{number, 0}};
    return id;
}

static inline bool locus_id_equal(struct locus_id a, struct locus_id b)
{
    return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1])) == 0;
}

static inline bool locus_id_is_none(struct locus_id id)
{
    return (id.word[0] | id.word[1]) == 0;
}

struct locus_prefix_key {
    uint64_t word[2];           // as SipHash reads its 16 bytes: little-endian
};

// The id of a block with these tokens behind the block `parent`. A parent of none: it is a chain's first block, and `salt` tells
// apart what must not be shared: models, adapters, tenants. With a parent the salt is that of its chain, and not looked at.
struct locus_id locus_prefix_id(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[], uint32_t count,
                                uint64_t salt);

// The ids of all full blocks of `tokens`, the first of which is behind `parent`: what locus_prefix_id() says of each, in less time.
// Returns how many: tokens_count / tokens_per_block, and 0 for blocks of no tokens.
uint32_t locus_prefix_ids(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[],
                          uint32_t tokens_count, uint32_t tokens_per_block, uint64_t salt, struct locus_id ids[]);

#ifdef __cplusplus
}
#endif

#endif
