// SPDX-License-Identifier: Apache-2.0
//
// resident_cost: what would cost most to bring back ranks first: uses times price, above a floor that rises. GreedyDual (Young,
// 1994) with frequencies, as in GreedyDual-Size-Frequency (Cherkasova, 1998), for places of one size.
//
// Definition. A use sets an adapter's rank to floor + uses * cost, where `uses` counts its uses since it was COLD last, at most
// 65,536, and cost is cost_ns, at least 1 and at most 2^32 - 1; or 1 for all, if cost_ns is NULL. When a use pushes an adapter out
// of HOT, the floor becomes the pushed one's rank. So what was dear and popular long ago ranks below what was used since. Of
// equal ranks, who was used last ranks first.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

#define USES_MOST 65536u

struct cost {
    struct tb_places places;
    struct tb_rank *ranks;      // of an adapter
    uint32_t *uses, *price;
    uint64_t floor, turns;
};

static void cost_close(void *state)
{
    struct cost *cost = state;
    if (!cost)
        return;
    tb_places_close(&cost->places);
    free(cost->ranks);
    free(cost->uses);
    free(cost->price);
    free(cost);
}

static int cost_open(void **state, const struct locus_adapter_policy_config *config)
{
    struct cost *cost = calloc(1, sizeof *cost);
    *state = NULL;
    if (!cost)
        return -ENOMEM;
    int error = tb_places_open(&cost->places, config);
    cost->ranks = calloc(config->adapters, sizeof *cost->ranks);
    cost->uses = calloc(config->adapters, sizeof *cost->uses);
    cost->price = calloc(config->adapters, sizeof *cost->price);
    if (error || !cost->ranks || !cost->uses || !cost->price) {
        cost_close(cost);
        return -ENOMEM;
    }
    for (uint32_t adapter = 0; adapter < config->adapters; adapter++) {
        uint64_t ns = config->cost_ns ? config->cost_ns[adapter] : 1;
        cost->price[adapter] = ns == 0 ? 1 : ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    }
    *state = cost;
    return 0;
}

static void cost_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct cost *cost = state;
    (void)now_ns;
    if (cost->places.place[adapter] == LOCUS_ADAPTER_COLD)
        cost->uses[adapter] = 0;
    cost->uses[adapter] += cost->uses[adapter] < USES_MOST;
    cost->ranks[adapter] = (struct tb_rank){cost->floor + (uint64_t)cost->uses[adapter] * cost->price[adapter], cost->turns++};
    uint32_t left = tb_places_used(&cost->places, cost->ranks, adapter);
    if (left != LOCUS_ADAPTER_NONE) // it was the lowest, which no use lowers: the floor never falls
        cost->floor = cost->ranks[left].rank;
}

const struct locus_adapter_policy tb_resident_cost = {
    .name = "cost",
    .summary = "cost of bringing back: what was used often and is dear is hot, less so the longer ago that was",
    .open = cost_open,
    .close = cost_close,
    .use = cost_use,
    .place = tb_places_place,
    .moved = tb_places_moved,
    .due_ns = tb_places_never,
};
