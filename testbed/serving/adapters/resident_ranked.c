// SPDX-License-Identifier: Apache-2.0
//
// resident_ranked: every 60 seconds the adapters are ranked by their uses so far; the first ones become hot, the next ones warm,
// all others cold (the seed's rebalance, 002, 9.2, which says neither how often nor over which uses). In between nobody moves.
//
// The order is kept at each use: `above[n]` is how many adapters have more than n uses, which is where those with n begin. One more
// use exchanges an adapter with the first of its equals, and the border moves behind it: constant time. At first the order is that
// of the numbers from the last one on: a number says nothing in its favour.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

#define PERIOD_NS UINT64_C(60000000000)

struct ranked {
    struct tb_places places;
    uint32_t *order, *at, *uses; // most uses first; where an adapter stands; its uses
    uint32_t *above;            // [room]
    uint32_t room;
    uint64_t next_ns;           // the next ranking
    bool used;                  // since the last one
};

static void ranked_close(void *state)
{
    struct ranked *ranked = state;
    if (!ranked)
        return;
    tb_places_close(&ranked->places);
    free(ranked->order);
    free(ranked->at);
    free(ranked->uses);
    free(ranked->above);
    free(ranked);
}

static int ranked_open(void **state, const struct locus_adapter_policy_config *config)
{
    struct ranked *ranked = calloc(1, sizeof *ranked);
    *state = NULL;
    if (!ranked)
        return -ENOMEM;
    int error = tb_places_open(&ranked->places, config);
    ranked->next_ns = PERIOD_NS;
    ranked->room = 1024;
    ranked->order = malloc(config->adapters * sizeof *ranked->order);
    ranked->at = malloc(config->adapters * sizeof *ranked->at);
    ranked->uses = calloc(config->adapters, sizeof *ranked->uses);
    ranked->above = calloc(ranked->room, sizeof *ranked->above);
    if (error || !ranked->order || !ranked->at || !ranked->uses || !ranked->above) {
        ranked_close(ranked);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < config->adapters; i++)
        ranked->order[i] = ranked->at[i] = config->adapters - 1 - i;
    *state = ranked;
    return 0;
}

static enum locus_adapter_place place_of(const struct ranked *ranked, uint32_t adapter)
{
    uint32_t hot = ranked->places.most[LOCUS_ADAPTER_HOT], warm = ranked->places.most[LOCUS_ADAPTER_WARM];
    if (ranked->uses[adapter] == 0 || ranked->at[adapter] >= hot + warm)
        return LOCUS_ADAPTER_COLD;
    return ranked->at[adapter] < hot ? LOCUS_ADAPTER_HOT : LOCUS_ADAPTER_WARM;
}

// First those that go down, so that there is room.
static void rank(struct ranked *ranked)
{
    struct tb_places *places = &ranked->places;
    for (int place = LOCUS_ADAPTER_WARM; place <= LOCUS_ADAPTER_HOT; place++)
        for (uint32_t i = places->count[place]; i > 0; i--) {
            uint32_t adapter = places->list[place][i - 1];
            if (place_of(ranked, adapter) < (enum locus_adapter_place)place)
                tb_places_move(places, adapter, place_of(ranked, adapter));
        }
    uint32_t first = places->most[LOCUS_ADAPTER_HOT] + places->most[LOCUS_ADAPTER_WARM];
    for (uint32_t i = 0; i < first && i < places->adapters; i++)
        tb_places_move(places, ranked->order[i], place_of(ranked, ranked->order[i]));
}

static void advance(struct ranked *ranked, uint64_t now_ns)
{
    if (now_ns < ranked->next_ns)
        return;
    if (ranked->used)
        rank(ranked);
    ranked->used = false;
    ranked->next_ns += (now_ns - ranked->next_ns) / PERIOD_NS * PERIOD_NS + PERIOD_NS;
}

// Without memory for one more the use is not counted: then it ranks as if it had not been.
static bool room_for(struct ranked *ranked, uint32_t uses)
{
    if (uses < ranked->room)
        return true;
    uint32_t *above = reallocarray(ranked->above, 2 * (size_t)ranked->room, sizeof *above);
    if (!above)
        return false;
    for (uint32_t i = ranked->room; i < 2 * ranked->room; i++)
        above[i] = 0;
    ranked->above = above;
    ranked->room *= 2;
    return true;
}

static void ranked_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct ranked *ranked = state;
    advance(ranked, now_ns);
    if (!room_for(ranked, ranked->uses[adapter]))
        return;
    uint32_t uses = ranked->uses[adapter]++, to = ranked->above[uses]++, from = ranked->at[adapter], other = ranked->order[to];
    ranked->order[to] = adapter;
    ranked->at[adapter] = to;
    ranked->order[from] = other;
    ranked->at[other] = from;
    ranked->used = true;
}

static enum locus_adapter_place ranked_place(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct ranked *ranked = state;
    advance(ranked, now_ns);
    return tb_places_place(ranked, now_ns, adapter);
}

static bool ranked_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out)
{
    struct ranked *ranked = state;
    advance(ranked, now_ns);
    return tb_places_moved(ranked, now_ns, out);
}

static uint64_t ranked_due_ns(void *state)
{
    const struct ranked *ranked = state;
    return ranked->used ? ranked->next_ns : UINT64_MAX;
}

const struct locus_adapter_policy tb_resident_ranked = {
    .name = "ranked",
    .summary = "what was used most often is hot, ranked every 60 seconds",
    .open = ranked_open,
    .close = ranked_close,
    .use = ranked_use,
    .place = ranked_place,
    .moved = ranked_moved,
    .due_ns = ranked_due_ns,
};
