// SPDX-License-Identifier: Apache-2.0
//
// size: what is large sinks deeper, because it pays a latency only once and takes the room of many.
//
// Definition. The deepest tier with room now whose latency is at most LATENCY_SHARE of what its load of the object takes in all; if
// there is none, as order.
#include "locus/demote.h"

#define LATENCY_SHARE 0.1 // arbitrary: a tenth more is what a reader of the whole object hardly notices

static uint32_t to(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count)
{
    uint32_t best = LOCUS_DEMOTE_DROP;
    for (uint32_t i = locus_demote_next(object, tiers, count, 0, true); i < count;
         i = locus_demote_next(object, tiers, count, i + 1, true))
        if ((double)tiers[i].latency_ns <= LATENCY_SHARE * (double)locus_demote_load_ns(&tiers[i], object->bytes))
            best = i;
    return best != LOCUS_DEMOTE_DROP ? best : locus_demote_order.to(object, tiers, count);
}

const struct locus_demote_ops locus_demote_size = {
    .name = "size",
    .summary = "the deepest tier whose latency is a tenth of the object's load",
    .to = to,
};
LOCUS_DEMOTE(locus_demote_size);
