// SPDX-License-Identifier: Apache-2.0
//
// cost: no object sinks to where bringing it back costs more than computing it again.
//
// Definition. As order, but only among the tiers whose load of the object takes less time than compute_ns; if there is none, the
// object is dropped. Without a known price every tier will do.
#include "sink.h"

static bool pays(const struct locus_sink_object *object, const struct locus_sink_tier *tier)
{
    return object->compute_ns == 0 || locus_sink_load_ns(tier, object->bytes) < object->compute_ns;
}

static uint32_t to(const struct locus_sink_object *object, const struct locus_sink_tier tiers[], uint32_t count)
{
    for (int now = 1; now >= 0; now--)
        for (uint32_t i = locus_sink_next(object, tiers, count, 0, now); i < count;
             i = locus_sink_next(object, tiers, count, i + 1, now))
            if (pays(object, &tiers[i]))
                return i;
    return LOCUS_SINK_DROP;
}

const struct locus_sink_ops locus_sink_cost = {
    .name = "cost",
    .summary = "as order, but nowhere from where it costs more to load the object than to compute it again",
    .to = to,
};
LOCUS_SINK(locus_sink_cost);
