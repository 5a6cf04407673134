// SPDX-License-Identifier: Apache-2.0
//
// age: what has waited long sinks deeper.
//
// Definition. An object may be as deep as its idle time allows: to tier i if it has been idle for WAIT_LOADS loads from that tier,
// for waiting less than that would be felt. The deepest such tier with room now; if there is none, as order. (The rule of five
// minutes, by Gray and Putzolu, weighs a tier's price against the time between uses; here there are no prices, only times.)
#include "locus/demote.h"

#define WAIT_LOADS 1000.0 // arbitrary: a load is then a thousandth of the time between uses

static uint32_t to(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count)
{
    uint32_t best = LOCUS_DEMOTE_DROP;
    for (uint32_t i = locus_demote_next(object, tiers, count, 0, true); i < count;
         i = locus_demote_next(object, tiers, count, i + 1, true))
        if (WAIT_LOADS * (double)locus_demote_load_ns(&tiers[i], object->bytes) <= (double)object->idle_ns)
            best = i;
    return best != LOCUS_DEMOTE_DROP ? best : locus_demote_order.to(object, tiers, count);
}

const struct locus_demote_ops locus_demote_age = {
    .name = "age",
    .summary = "the deepest tier whose load is a thousandth of the time that the object has waited",
    .to = to,
};
LOCUS_DEMOTE(locus_demote_age);
