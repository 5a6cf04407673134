// SPDX-License-Identifier: Apache-2.0
//
// resident_static: the most popular adapters are hot, the next ones warm, all others cold, by a popularity that is known beforehand
// and never changes. The first use brings each to its place. Of uses that are independent of each other nobody who cannot see the
// future can find more hot; of uses that come in bursts it sees none of them.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

static int static_open(void **state, const struct tb_resident_setup *setup)
{
    struct tb_resident_setup *kept = *state = malloc(sizeof *kept);
    if (!kept)
        return -ENOMEM;
    *kept = *setup;
    return 0;
}

static void static_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    const struct tb_resident_setup *setup = state;
    uint32_t rank = setup->rank[adapter], hot = setup->places->most[TB_TIER_HOT], warm = setup->places->most[TB_TIER_WARM];
    if (rank < hot + warm)
        tb_places_move(setup->places, adapter, rank < hot ? TB_TIER_HOT : TB_TIER_WARM, now_ns);
}

const struct tb_resident tb_resident_static = {
    .name = "static",
    .summary = "the most popular ones, which are known beforehand",
    .open = static_open,
    .close = free,
    .use = static_use,
};
