// SPDX-License-Identifier: Apache-2.0
//
// resident_rule: the seed's rule (002, 9.2): ten uses in the last 60 seconds make an adapter hot, one makes it warm, none cold. It
// says nothing of who goes if more qualify than fit. Here those that find no hot place stay warm until a later use finds one, and
// of those that are warm the one whose last use is longest ago becomes cold.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

#define WINDOW_NS UINT64_C(60000000000)
#define HOT_USES 10u

struct rule {
    struct tb_places *places;
    struct tb_adapter_use *window; // the uses so far; those of the last 60 s are from `first` on
    uint32_t first, end;
    uint32_t *uses;             // of an adapter, in the window
    uint64_t *score;            // of an adapter: the number of its last use
};

static void rule_close(void *state)
{
    struct rule *rule = state;
    if (!rule)
        return;
    free(rule->window);
    free(rule->uses);
    free(rule->score);
    free(rule);
}

static int rule_open(void **state, const struct tb_resident_setup *setup)
{
    struct rule *rule = *state = calloc(1, sizeof *rule);
    if (!rule)
        return -ENOMEM;
    rule->places = setup->places;
    rule->window = malloc((setup->count + (size_t)1) * sizeof *rule->window);
    rule->uses = calloc(setup->adapters, sizeof *rule->uses);
    rule->score = calloc(setup->adapters, sizeof *rule->score);
    return rule->window && rule->uses && rule->score ? 0 : -ENOMEM;
}

// A use is in the window for 60 seconds, and not at their end.
static void rule_advance(void *state, uint64_t now_ns)
{
    struct rule *rule = state;
    for (; rule->first < rule->end && rule->window[rule->first].arrival_ns + WINDOW_NS <= now_ns; rule->first++) {
        uint32_t adapter = rule->window[rule->first].adapter, uses = --rule->uses[adapter];
        uint64_t then_ns = rule->window[rule->first].arrival_ns + WINDOW_NS;
        if (uses == 0)
            tb_places_move(rule->places, adapter, TB_TIER_COLD, then_ns);
        else if (uses < HOT_USES && rule->places->tier[adapter] == TB_TIER_HOT)
            tb_places_move(rule->places, adapter, TB_TIER_WARM, then_ns);
        tb_places_trim(rule->places, rule->score, then_ns);
    }
}

static void rule_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct rule *rule = state;
    struct tb_places *places = rule->places;
    rule->window[rule->end++] = (struct tb_adapter_use){now_ns, adapter};
    rule->score[adapter] = rule->end;
    bool hot = ++rule->uses[adapter] >= HOT_USES && places->count[TB_TIER_HOT] < places->most[TB_TIER_HOT];
    tb_places_bring(places, adapter, hot ? TB_TIER_HOT : TB_TIER_WARM, rule->score, now_ns);
}

const struct tb_resident tb_resident_rule = {
    .name = "rule",
    .summary = "the seed's: ten uses in 60 seconds are hot, one is warm",
    .open = rule_open,
    .close = rule_close,
    .advance = rule_advance,
    .use = rule_use,
};
