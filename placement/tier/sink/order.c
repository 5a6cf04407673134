// SPDX-License-Identifier: Apache-2.0
//
// order: from near to far, from far to the file.
//
// Definition. The first tier below that has room now; if none has, the first that could hold the object, in which the caller makes
// room. So every object passes every tier while there is room, whatever it is.
#include "sink.h"

static uint32_t to(const struct locus_sink_object *object, const struct locus_sink_tier tiers[], uint32_t count)
{
    uint32_t with_room = locus_sink_next(object, tiers, count, 0, true);
    return with_room != LOCUS_SINK_DROP ? with_room : locus_sink_next(object, tiers, count, 0, false);
}

const struct locus_sink_ops locus_sink_order = {
    .name = "order",
    .summary = "the next tier below that has room",
    .to = to,
};
LOCUS_SINK(locus_sink_order);
