// SPDX-License-Identifier: Apache-2.0
//
// id_hash: where a table of ids begins to look for one. Not installed.
//
// Ids that locus_prefix_id() makes are random. An engine's own may count in either word, or in both: each word has a multiplier of
// its own, and the high bits of the sum depend on all bits of both. Who chooses ids can make them all begin at one place; nobody
// can who only chooses tokens, as the key is not known to him.
#ifndef LOCUS_ID_HASH_H
#define LOCUS_ID_HASH_H

#include "locus/id.h"

// Only the high bits are good. The multipliers: 2^64 divided by the golden ratio, and by the square root of 2, made odd.
static inline uint64_t id_hash(struct locus_id id)
{
    return id.word[0] * UINT64_C(0x9e3779b97f4a7c15) + id.word[1] * UINT64_C(0xb504f333f9de6485);
}

// A number below `places`, by the hash's high bits.
static inline uint64_t id_place(struct locus_id id, uint64_t places)
{
    return (uint64_t)((unsigned __int128)id_hash(id) * places >> 64);
}

#endif
