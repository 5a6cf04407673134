// SPDX-License-Identifier: Apache-2.0
//
// buddy: the smallest power of two of 16 tokens that holds the whole sequence (K. C. Knowlton, CACM 1965). A piece that is too
// large is halved until it fits; a piece that comes home joins its other half if that is free, too.
//
// Open in the literature, chosen here: of several free pieces of an order the one that became free last is taken. A region that is
// no power of two begins as the largest powers that it consists of.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/strategies/strategy.h"

#define UNIT_TOKENS 16u
#define ORDERS 32u
#define NO_ORDER UINT8_MAX
#define NO_UNIT UINT32_MAX

// A unit that begins a free piece has that piece's order in `free_order`; all others have NO_ORDER.
struct buddy {
    const struct tb_strategy_setup *setup;
    uint32_t units;
    uint32_t free_units;
    uint32_t free_count[ORDERS];
    uint32_t last[ORDERS];      // the free piece that is taken next
    uint8_t *free_order;        // [units]
    struct neighbours {
        uint32_t older, newer;  // free pieces of the same order
    } * list;                  // [units]
    struct held {
        uint32_t unit;
        uint8_t order;          // NO_ORDER: not live
    } held[];                   // [sequences]
};

static void buddy_close(void *state)
{
    struct buddy *buddy = state;
    if (buddy) {
        free(buddy->free_order);
        free(buddy->list);
    }
    free(buddy);
}

static void put(struct buddy *buddy, uint32_t unit, uint8_t order)
{
    uint32_t older = buddy->last[order];
    buddy->free_order[unit] = order;
    buddy->free_count[order]++;
    buddy->list[unit] = (struct neighbours){older, NO_UNIT};
    if (older != NO_UNIT)
        buddy->list[older].newer = unit;
    buddy->last[order] = unit;
}

static void take_off(struct buddy *buddy, uint32_t unit)
{
    uint8_t order = buddy->free_order[unit];
    uint32_t older = buddy->list[unit].older, newer = buddy->list[unit].newer;
    if (older != NO_UNIT)
        buddy->list[older].newer = newer;
    if (newer != NO_UNIT)
        buddy->list[newer].older = older;
    else
        buddy->last[order] = older;
    buddy->free_order[unit] = NO_ORDER;
    buddy->free_count[order]--;
}

static int buddy_open(const struct tb_strategy_setup *setup, void **state)
{
    struct buddy *buddy = calloc(1, sizeof *buddy + setup->sequences * sizeof *buddy->held);
    if (!buddy)
        return -ENOMEM;
    buddy->setup = setup;
    buddy->units = buddy->free_units = (uint32_t)(setup->kv->tokens / UNIT_TOKENS);
    buddy->free_order = malloc(buddy->units + 1);
    buddy->list = calloc(buddy->units + 1, sizeof *buddy->list);
    if (!buddy->free_order || !buddy->list) {
        buddy_close(buddy);
        return -ENOMEM;
    }
    memset(buddy->free_order, NO_ORDER, buddy->units + 1);
    memset(buddy->last, 0xff, sizeof buddy->last);
    for (uint32_t i = 0; i < setup->sequences; i++)
        buddy->held[i].order = NO_ORDER;
    for (uint32_t unit = 0; unit < buddy->units;) {
        uint8_t order = (uint8_t)(31 - __builtin_clz(buddy->units - unit));
        put(buddy, unit, order);
        unit += 1u << order;
    }
    *state = buddy;
    return 0;
}

static uint8_t order_of(uint32_t tokens)
{
    uint32_t units = (tokens + UNIT_TOKENS - 1) / UNIT_TOKENS;
    return (uint8_t)(units > 1 ? 32 - __builtin_clz(units - 1) : 0);
}

static int buddy_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct buddy *buddy = state;
    uint8_t wanted = order_of(most), order = wanted;
    (void)prompt;
    *cached = 0;
    if (buddy->units == 0 || wanted > 31 - __builtin_clz(buddy->units))
        return -ENOSPC;
    while (order < ORDERS && buddy->free_count[order] == 0)
        order++;
    if (order == ORDERS)
        return -EAGAIN;
    uint32_t unit = buddy->last[order];
    take_off(buddy, unit);
    while (order > wanted) {
        order--;
        put(buddy, unit + (1u << order), order);
    }
    buddy->held[sequence] = (struct held){unit, wanted};
    buddy->free_units -= 1u << wanted;
    return 0;
}

static int buddy_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
    return 0;
}

static void buddy_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
}

static void buddy_release(void *state, uint32_t sequence, bool keep)
{
    struct buddy *buddy = state;
    uint32_t unit = buddy->held[sequence].unit;
    uint8_t order = buddy->held[sequence].order;
    (void)keep;
    buddy->free_units += 1u << order;
    buddy->held[sequence].order = NO_ORDER;
    for (uint32_t other = unit ^ 1u << order; other + (1u << order) <= buddy->units && buddy->free_order[other] == order;
         other = unit ^ 1u << order) {
        take_off(buddy, other);
        unit &= ~(1u << order);
        order++;
    }
    put(buddy, unit, order);
}

static void *buddy_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct buddy *buddy = state;
    *run = (UNIT_TOKENS << buddy->held[sequence].order) - position;
    return tb_kv_at(buddy->setup->kv, (uint64_t)buddy->held[sequence].unit * UNIT_TOKENS + position);
}

static void buddy_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct buddy *buddy = state;
    *out = (struct tb_usage){
        .reserved = (uint64_t)(buddy->units - buddy->free_units) * UNIT_TOKENS,
        .free = (uint64_t)buddy->free_units * UNIT_TOKENS,
    };
    for (uint32_t order = 0; order < ORDERS; order++) {
        uint64_t tokens = (uint64_t)UNIT_TOKENS << order;
        if (buddy->free_count[order])
            out->largest = tokens;
        if (tokens < below)
            out->holes += tokens * buddy->free_count[order];
    }
}

static int buddy_audit(void *state, char *why, size_t why_bytes)
{
    const struct buddy *buddy = state;
    uint64_t held = 0, unused = 0;
    for (uint32_t i = 0; i < buddy->setup->sequences; i++)
        held += buddy->held[i].order == NO_ORDER ? 0 : 1u << buddy->held[i].order;
    for (uint32_t unit = 0; unit < buddy->units; unit++)
        unused += buddy->free_order[unit] == NO_ORDER ? 0 : 1u << buddy->free_order[unit];
    if (held + unused == buddy->units && unused == buddy->free_units)
        return 0;
    snprintf(why, why_bytes, "strategy buddy: %llu units are held and %llu are free, of %u", (unsigned long long)held,
             (unsigned long long)unused, buddy->units);
    return -EBADMSG;
}

static const struct tb_strategy_ops ops = {
    .open = buddy_open,
    .close = buddy_close,
    .admit = buddy_admit,
    .extend = buddy_extend,
    .cut = buddy_cut,
    .release = buddy_release,
    .at = buddy_at,
    .usage = buddy_usage,
    .audit = buddy_audit,
};

static const struct tb_strategy buddies = {.name = "buddy",
                                           .summary = "a power of two of 16 tokens",
                                           .ops = &ops,
                                           .promises = true};
TB_STRATEGY(buddies);
