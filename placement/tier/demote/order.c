// SPDX-License-Identifier: Apache-2.0
//
// order: from near to far, from far to the file.
//
// Definition. The first tier below that has room now; if none has, the first that could hold the object, in which the caller makes
// room. So every object passes every tier while there is room, whatever it is.
#include "locus/demote.h"

static uint32_t to(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count)
{
    uint32_t with_room = locus_demote_next(object, tiers, count, 0, true);
    return with_room != LOCUS_DEMOTE_DROP ? with_room : locus_demote_next(object, tiers, count, 0, false);
}

const struct locus_demote_ops locus_demote_order = {
    .name = "order",
    .summary = "the next tier below that has room",
    .to = to,
};
LOCUS_DEMOTE(locus_demote_order);
