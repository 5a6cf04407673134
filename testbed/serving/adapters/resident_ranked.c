// SPDX-License-Identifier: Apache-2.0
//
// resident_ranked: every 60 seconds the adapters are ranked by their uses so far; the first ones become hot, the next ones warm, all
// others cold (the seed's rebalance, 002, 9.2, which says neither how often nor over which uses). In between nobody moves.
//
// The order is kept at each use: `above[n]` is how many adapters have more than n uses, which is where those with n begin. One more
// use exchanges an adapter with the first of its equals, and the border moves behind it: constant time.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

#define PERIOD_NS UINT64_C(60000000000)

struct ranked {
    struct tb_places *places;
    uint32_t adapters;
    uint32_t *order, *at, *uses; // most uses first; where an adapter stands; its uses
    uint32_t *above;            // [uses + 1]
    uint64_t next_ns;           // the next ranking
    bool used;                  // since the last one
};

static void ranked_close(void *state)
{
    struct ranked *ranked = state;
    if (!ranked)
        return;
    free(ranked->order);
    free(ranked->at);
    free(ranked->uses);
    free(ranked->above);
    free(ranked);
}

static int ranked_open(void **state, const struct tb_resident_setup *setup)
{
    struct ranked *ranked = *state = calloc(1, sizeof *ranked);
    if (!ranked)
        return -ENOMEM;
    ranked->places = setup->places;
    ranked->adapters = setup->adapters;
    ranked->next_ns = PERIOD_NS;
    ranked->order = malloc(setup->adapters * sizeof *ranked->order);
    ranked->at = malloc(setup->adapters * sizeof *ranked->at);
    ranked->uses = calloc(setup->adapters, sizeof *ranked->uses);
    ranked->above = calloc(setup->count + (size_t)1, sizeof *ranked->above);
    if (!ranked->order || !ranked->at || !ranked->uses || !ranked->above)
        return -ENOMEM;
    for (uint32_t i = 0; i < setup->adapters; i++)
        ranked->order[i] = ranked->at[i] = i;
    return 0;
}

static enum tb_tier tier_of(const struct ranked *ranked, uint32_t adapter)
{
    uint32_t hot = ranked->places->most[TB_TIER_HOT], warm = ranked->places->most[TB_TIER_WARM];
    if (ranked->uses[adapter] == 0 || ranked->at[adapter] >= hot + warm)
        return TB_TIER_COLD;
    return ranked->at[adapter] < hot ? TB_TIER_HOT : TB_TIER_WARM;
}

// First those that go down, so that there is room.
static void rank(struct ranked *ranked, uint64_t now_ns)
{
    struct tb_places *places = ranked->places;
    for (int tier = TB_TIER_WARM; tier <= TB_TIER_HOT; tier++)
        for (uint32_t i = places->count[tier]; i > 0; i--) {
            uint32_t adapter = places->list[tier][i - 1];
            if (tier_of(ranked, adapter) < (enum tb_tier)tier)
                tb_places_move(places, adapter, tier_of(ranked, adapter), now_ns);
        }
    uint32_t first = places->most[TB_TIER_HOT] + places->most[TB_TIER_WARM];
    for (uint32_t i = 0; i < first && i < ranked->adapters; i++)
        tb_places_move(places, ranked->order[i], tier_of(ranked, ranked->order[i]), now_ns);
}

static void ranked_advance(void *state, uint64_t now_ns)
{
    struct ranked *ranked = state;
    if (now_ns < ranked->next_ns)
        return;
    if (ranked->used)
        rank(ranked, ranked->next_ns);
    ranked->used = false;
    ranked->next_ns += (now_ns - ranked->next_ns) / PERIOD_NS * PERIOD_NS + PERIOD_NS;
}

static void ranked_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct ranked *ranked = state;
    uint32_t uses = ranked->uses[adapter]++, to = ranked->above[uses]++, from = ranked->at[adapter], other = ranked->order[to];
    (void)now_ns;
    ranked->order[to] = adapter;
    ranked->at[adapter] = to;
    ranked->order[from] = other;
    ranked->at[other] = from;
    ranked->used = true;
}

const struct tb_resident tb_resident_ranked = {
    .name = "ranked",
    .summary = "the first ones by uses so far, ranked every 60 seconds",
    .open = ranked_open,
    .close = ranked_close,
    .advance = ranked_advance,
    .use = ranked_use,
};
