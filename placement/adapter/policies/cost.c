// SPDX-License-Identifier: Apache-2.0
//
// cost: what would cost most to bring back ranks first: uses times price, above a floor that rises. GreedyDual (Young, 1994) with
// frequencies, as in GreedyDual-Size-Frequency (Cherkasova, 1998), for places of one size.
//
// Definition. A use sets an adapter's rank to floor + uses * cost, where `uses` counts its uses since it was COLD last, at most
// 65,536, and cost is cost_ns, at least 1 and at most 2^32 - 1; or 1 for all, if cost_ns is NULL. When a use pushes an adapter out
// of HOT, the floor becomes the pushed one's rank, if that is higher. So what was dear and popular long ago ranks below what was
// used since. Of equal ranks, who was used last ranks first. What was demoted ranks below all that was not, and keeps its rank
// among those that were. 8 bytes an adapter more.

#include <errno.h>
#include <stdlib.h>

#include "placement/adapter/ranks.h"

#define USES_MOST 65536u

struct cost {
    struct ranks ranks;
    uint64_t floor;
    uint32_t *uses, *price;
};

static void cost_close(void *state)
{
    struct cost *cost = state;
    if (!cost)
        return;
    ranks_close(&cost->ranks);
    free(cost->uses);
    free(cost->price);
    free(cost);
}

static int prices_take(struct cost *cost, const struct locus_adapter_policy_config *config)
{
    cost->uses = calloc(config->adapters, sizeof *cost->uses);
    cost->price = calloc(config->adapters, sizeof *cost->price);
    if (!cost->uses || !cost->price)
        return -ENOMEM;
    for (uint32_t adapter = 0; adapter < config->adapters; adapter++) {
        uint64_t ns = config->cost_ns ? config->cost_ns[adapter] : 1;
        cost->price[adapter] = ns == 0 ? 1 : ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    }
    return 0;
}

static int cost_open(void **state, const struct locus_adapter_policy_config *given)
{
    struct locus_adapter_policy_config config;
    struct cost *cost = calloc(1, sizeof *cost);
    *state = NULL;
    if (!cost)
        return -ENOMEM;
    int error = ranks_open(&cost->ranks, given, &config);
    if (!error)
        error = prices_take(cost, &config);
    if (error) {
        cost_close(cost);
        return error;
    }
    *state = cost;
    return 0;
}

static void cost_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct cost *cost = state;
    (void)now_ns;
    if (cost->ranks.place[adapter] == LOCUS_ADAPTER_COLD)
        cost->uses[adapter] = 0;
    cost->uses[adapter] += cost->uses[adapter] < USES_MOST;
    ranks_set(&cost->ranks, adapter, LOCUS_ADAPTER_HOT, cost->floor + (uint64_t)cost->uses[adapter] * cost->price[adapter]);
    if (cost->floor < cost->ranks.left_hot)
        cost->floor = cost->ranks.left_hot;
}

const struct locus_adapter_policy locus_adapter_policy_cost = {
    .name = "cost",
    .summary = "cost of bringing back: what was used often and is dear is hot, less so the longer ago that was",
    .open = cost_open,
    .close = cost_close,
    .use = cost_use,
    .place = ranks_place,
    .moved = ranks_moved,
    .due_ns = ranks_never,
    .victim = ranks_victim,
    .demote = ranks_demote,
    .forget = ranks_forget,
};
