// SPDX-License-Identifier: Apache-2.0
//
// cost: no object sinks to where bringing it back costs more than computing it again.
//
// Definition. As order, but only among the tiers whose load of the object takes less time than compute_ns; if there is none, the
// object is dropped. Without a known price every tier will do.
#include "locus/demote.h"

static bool pays(const struct locus_demote_object *object, const struct locus_demote_tier *tier)
{
    return object->compute_ns == 0 || locus_demote_load_ns(tier, object->bytes) < object->compute_ns;
}

static uint32_t to(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count)
{
    for (int now = 1; now >= 0; now--)
        for (uint32_t i = locus_demote_next(object, tiers, count, 0, now); i < count;
             i = locus_demote_next(object, tiers, count, i + 1, now))
            if (pays(object, &tiers[i]))
                return i;
    return LOCUS_DEMOTE_DROP;
}

const struct locus_demote_ops locus_demote_cost = {
    .name = "cost",
    .summary = "as order, but nowhere from where it costs more to load the object than to compute it again",
    .to = to,
};
LOCUS_DEMOTE(locus_demote_cost);
