// SPDX-License-Identifier: Apache-2.0
//
// prefix_lanes: the ids of a prompt by each way that this processor has. Not installed.
#ifndef LOCUS_PREFIX_LANES_H
#define LOCUS_PREFIX_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "locus/id.h"

struct prefix_lanes {
    const char *name;
    bool (*usable)(void);       // on this processor
    // Of `count` blocks, at least one, the first of which is behind `parent`, or behind {salt, 0}.
    void (*ids)(const struct locus_prefix_key *key, struct locus_id parent, const uint32_t tokens[], uint32_t count,
                uint32_t per_block, struct locus_id ids[]);
};

// Those that this processor can run, the best one first; NULL: there are no more.
const struct prefix_lanes *prefix_lanes_at(size_t i);

#endif
