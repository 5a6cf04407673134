// SPDX-License-Identifier: Apache-2.0
//
// prefix_lanes: the tokens of several blocks, hashed side by side by one instruction. Not installed.
#ifndef LOCUS_PREFIX_LANES_H
#define LOCUS_PREFIX_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "prefix_id.h"

#define PREFIX_LANES 4u

struct prefix_lanes {
    const char *name;
    bool (*usable)(void);       // on this processor
    // SipHash's state after the first `pairs` pairs of tokens of each block, without what is behind them.
    void (*absorb)(const struct locus_prefix_key *key, const uint32_t *const blocks[PREFIX_LANES], uint32_t pairs,
                   uint64_t state[4][PREFIX_LANES]);
};

// The variants that this processor can run, the best one first; NULL: there are no more.
const struct prefix_lanes *prefix_lanes_at(size_t i);

// locus_prefix_ids() by one of them.
uint32_t prefix_ids_by(const struct prefix_lanes *lanes, const struct locus_prefix_key *key, struct locus_id parent,
                       const uint32_t tokens[], uint32_t tokens_count, uint32_t tokens_per_block, struct locus_id ids[]);

#endif
