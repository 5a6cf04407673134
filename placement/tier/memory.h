// SPDX-License-Identifier: Apache-2.0
//
// memory: a tier in one region; what is copied differs. Not installed.
#ifndef LOCUS_TIER_MEMORY_H
#define LOCUS_TIER_MEMORY_H

#include "locus/tier.h"
#include "tier_internal.h"

struct memory {
    struct locus_tier tier;
    struct locus_region *region;
    char *base;
    int node;
    bool unchecked;
};

// Opens the region, and a tier of this kind in it.
int memory_open(struct locus_tier **out, const struct locus_tier_far_config *given, const struct tier_kind *kind);

// The parts of a kind that do not depend on what is copied.
int memory_drop(struct locus_tier *tier, struct locus_tier_op *op);
uint32_t memory_poll(struct locus_tier *tier, uint64_t wait_ns);
int memory_check(struct locus_tier *tier);
void memory_close(struct locus_tier *tier);

static inline char *memory_unit(const struct memory *memory, uint32_t unit)
{
    return memory->base + (uint64_t)unit * memory->tier.unit_bytes;
}

#endif
