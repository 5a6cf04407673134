// SPDX-License-Identifier: Apache-2.0
//
// id: 128 bits that name contents: a block behind all tokens before it (prefix.h), an object in a tier (tier.h).
//
// The library compares ids and never interprets them. Two ids that are equal are the same contents, so whoever makes them must
// make them such that nobody can bring about two equal ones: locus_prefix_id() does. A program that has numbers of its own, unique
// by its own doing, turns them into ids with locus_id_of().
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

#ifdef __cplusplus
}
#endif

#endif
