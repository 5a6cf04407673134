// SPDX-License-Identifier: Apache-2.0
//
// ranks: see ranks.h. A key of the order is what an adapter is admitted to, then when it was used last.

#include "placement/adapter/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "placement/base/config.h"

#define ADAPTERS_MAX (UINT32_C(1) << 28)
#define USES_MAX 1000u

static int config_fill(const struct locus_adapter_policy_config *given, struct locus_adapter_policy_config *config)
{
    int error = config_take(config, sizeof *config, given);
    if (error)
        return error;
    config->window_ns = config->window_ns ? config->window_ns : UINT64_C(60000000000);
    config->uses = config->uses ? config->uses : 10;
    return config->adapters == 0 || config->adapters > ADAPTERS_MAX || config->uses > USES_MAX ? -EINVAL : 0;
}

int ranks_open(struct ranks *ranks, const struct locus_adapter_policy_config *given, struct locus_adapter_policy_config *config)
{
    *ranks = (struct ranks){.hot_last = ORDER_NONE, .warm_last = ORDER_NONE};
    int error = config_fill(given, config);
    if (error)
        return error;
    ranks->adapters = config->adapters;
    ranks->hot = config->hot;
    ranks->warm = config->warm;
    ranks->place = calloc(config->adapters, sizeof *ranks->place);
    ranks->told = calloc(config->adapters, sizeof *ranks->told);
    ranks->queued = calloc(config->adapters, sizeof *ranks->queued);
    ranks->queue = calloc(config->adapters, sizeof *ranks->queue);
    error = order_open(&ranks->order, config->adapters);
    return ranks->place && ranks->told && ranks->queued && ranks->queue ? error : -ENOMEM;
}

void ranks_close(struct ranks *ranks)
{
    order_close(&ranks->order);
    free(ranks->place);
    free(ranks->told);
    free(ranks->queued);
    free(ranks->queue);
}

static void place_set(struct ranks *ranks, uint32_t adapter, enum locus_adapter_place place)
{
    ranks->place[adapter] = (unsigned char)place;
    if (ranks->queued[adapter])
        return;
    ranks->queued[adapter] = true;
    ranks->queue[(ranks->queue_head + ranks->queue_count++) % ranks->adapters] = adapter;
}

// The next one down in rank; below nobody is the first of all.
static uint32_t below(const struct ranks *ranks, uint32_t adapter)
{
    return adapter == ORDER_NONE ? ranks->order.end[1] : ranks->order.nodes[adapter].beside[0];
}

static uint32_t above(const struct ranks *ranks, uint32_t adapter)
{
    return ranks->order.nodes[adapter].beside[1];
}

enum locus_adapter_place ranks_admitted(const struct ranks *ranks, uint32_t adapter)
{
    return ranks->order.in[adapter] ? (enum locus_adapter_place)ranks->order.nodes[adapter].key.major : LOCUS_ADAPTER_COLD;
}

// The last of HOT becomes the first of WARM, and the other way round.
static void push_out_of_hot(struct ranks *ranks)
{
    uint32_t last = ranks->hot_last;
    ranks->hot_last = --ranks->hot_count ? above(ranks, last) : ORDER_NONE;
    ranks->warm_last = ranks->warm_count++ ? ranks->warm_last : last;
    place_set(ranks, last, LOCUS_ADAPTER_WARM);
}

static void raise_to_hot(struct ranks *ranks, uint32_t adapter)
{
    if (ranks->place[adapter] == LOCUS_ADAPTER_WARM)
        ranks->warm_last = --ranks->warm_count ? ranks->warm_last : ORDER_NONE;
    ranks->hot_last = adapter;
    ranks->hot_count++;
    place_set(ranks, adapter, LOCUS_ADAPTER_HOT);
}

static uint32_t below_warm(const struct ranks *ranks)
{
    return below(ranks, ranks->warm_count ? ranks->warm_last : ranks->hot_last);
}

static void settle(struct ranks *ranks)
{
    uint32_t next;
    while (ranks->hot_count > ranks->hot)
        push_out_of_hot(ranks);
    while (ranks->hot_count < ranks->hot && (next = below(ranks, ranks->hot_last)) != ORDER_NONE &&
           ranks_admitted(ranks, next) == LOCUS_ADAPTER_HOT)
        raise_to_hot(ranks, next);
    while (ranks->warm_count > ranks->warm) {
        uint32_t last = ranks->warm_last;
        ranks->warm_last = --ranks->warm_count ? above(ranks, last) : ORDER_NONE;
        place_set(ranks, last, LOCUS_ADAPTER_COLD);
    }
    while (ranks->warm_count < ranks->warm && (next = below_warm(ranks)) != ORDER_NONE) {
        ranks->warm_last = next;
        ranks->warm_count++;
        place_set(ranks, next, LOCUS_ADAPTER_WARM);
    }
}

static void take_out(struct ranks *ranks, uint32_t adapter)
{
    if (adapter == ranks->hot_last)
        ranks->hot_last = ranks->hot_count > 1 ? above(ranks, adapter) : ORDER_NONE;
    if (adapter == ranks->warm_last)
        ranks->warm_last = ranks->warm_count > 1 ? above(ranks, adapter) : ORDER_NONE;
    ranks->hot_count -= ranks->place[adapter] == LOCUS_ADAPTER_HOT;
    ranks->warm_count -= ranks->place[adapter] == LOCUS_ADAPTER_WARM;
    order_drop(&ranks->order, adapter);
}

// At first its place is that of the next one down, so it is the last of none, and no border moves.
static void put_in(struct ranks *ranks, uint32_t adapter, struct order_key key)
{
    order_add(&ranks->order, adapter, key);
    uint32_t next = below(ranks, adapter);
    enum locus_adapter_place place = next == ORDER_NONE ? LOCUS_ADAPTER_COLD : (enum locus_adapter_place)ranks->place[next];
    ranks->hot_count += place == LOCUS_ADAPTER_HOT;
    ranks->warm_count += place == LOCUS_ADAPTER_WARM;
    place_set(ranks, adapter, place);
}

static void change(struct ranks *ranks, uint32_t adapter, enum locus_adapter_place admitted, uint64_t turn)
{
    if (ranks->order.in[adapter])
        take_out(ranks, adapter);
    if (admitted == LOCUS_ADAPTER_COLD)
        place_set(ranks, adapter, LOCUS_ADAPTER_COLD);
    else
        put_in(ranks, adapter, (struct order_key){admitted, turn});
    settle(ranks);
}

void ranks_set(struct ranks *ranks, uint32_t adapter, enum locus_adapter_place admitted)
{
    change(ranks, adapter, admitted, ranks->turns++);
}

void ranks_admit(struct ranks *ranks, uint32_t adapter, enum locus_adapter_place admitted)
{
    change(ranks, adapter, admitted, ranks->order.nodes[adapter].key.minor);
}

enum locus_adapter_place ranks_place(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)now_ns;
    return (enum locus_adapter_place)((struct ranks *)state)->place[adapter];
}

bool ranks_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out)
{
    struct ranks *ranks = state;
    (void)now_ns;
    while (ranks->queue_count > 0) {
        uint32_t adapter = ranks->queue[ranks->queue_head];
        ranks->queue_head = (ranks->queue_head + 1) % ranks->adapters;
        ranks->queue_count--;
        ranks->queued[adapter] = false;
        if (ranks->place[adapter] == ranks->told[adapter])
            continue;
        *out = (struct locus_adapter_policy_move){adapter, (enum locus_adapter_place)ranks->told[adapter],
                                                  (enum locus_adapter_place)ranks->place[adapter]};
        ranks->told[adapter] = ranks->place[adapter];
        return true;
    }
    return false;
}

uint64_t ranks_never(void *state)
{
    (void)state;
    return UINT64_MAX;
}

uint32_t ranks_victim(void *state, uint64_t now_ns, enum locus_adapter_place place, uint32_t after)
{
    const struct ranks *ranks = state;
    (void)now_ns;
    if (place == LOCUS_ADAPTER_COLD)
        return LOCUS_ADAPTER_NONE;
    if (after == LOCUS_ADAPTER_NONE)
        return place == LOCUS_ADAPTER_HOT ? ranks->hot_last : ranks->warm_last;
    uint32_t next = ranks->order.in[after] ? above(ranks, after) : ORDER_NONE;
    return next != ORDER_NONE && ranks->place[next] == place ? next : LOCUS_ADAPTER_NONE;
}

void ranks_demote(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct ranks *ranks = state;
    (void)now_ns;
    if (ranks->place[adapter] != LOCUS_ADAPTER_COLD)
        ranks_admit(ranks, adapter, (enum locus_adapter_place)(ranks->place[adapter] - 1));
}

void ranks_forget(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)now_ns;
    ranks_set(state, adapter, LOCUS_ADAPTER_COLD);
}
