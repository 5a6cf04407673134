// SPDX-License-Identifier: Apache-2.0
//
// resident_scored: every use makes the adapter hot, and who has the least score makes room: LRU, LFU, and by the cost of bringing
// back. A score is a number of 38 bits, and below it the number of the last use, so that equals leave in the order of LRU.
//
// cost is Greedy-Dual with frequency (Cherkasova, 1998): priority = L + uses x cost / size, where L is the priority of the last one
// that left. Adapters of one rank have one size and one cost by tier, so that is L + uses: LFU that forgets. Each tier has its L.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

#define USE_BITS 26 // TB_ADAPTER_USES_MAX

struct scored {
    struct tb_places *places;
    uint64_t *score;            // of an adapter
    uint32_t *uses;             // so far
    uint64_t now;               // the number of uses of all
    uint64_t left[TB_TIERS];    // the priority of the last one that left, of cost
};

static void scored_close(void *state)
{
    struct scored *scored = state;
    if (!scored)
        return;
    free(scored->score);
    free(scored->uses);
    free(scored);
}

static int scored_open(void **state, const struct tb_resident_setup *setup)
{
    struct scored *scored = *state = calloc(1, sizeof *scored);
    if (!scored)
        return -ENOMEM;
    scored->places = setup->places;
    scored->score = calloc(setup->adapters, sizeof *scored->score);
    scored->uses = calloc(setup->adapters, sizeof *scored->uses);
    return scored->score && scored->uses ? 0 : -ENOMEM;
}

static void lru_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct scored *scored = state;
    scored->score[adapter] = ++scored->now;
    tb_places_bring(scored->places, adapter, TB_TIER_HOT, scored->score, now_ns);
}

static void lfu_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct scored *scored = state;
    scored->score[adapter] = (uint64_t)++scored->uses[adapter] << USE_BITS | ++scored->now;
    tb_places_bring(scored->places, adapter, TB_TIER_HOT, scored->score, now_ns);
}

// Whoever will be sent down is known before: he has the least score, and with it a new one for the tier below.
static void cost_use(void *state, uint32_t adapter, uint64_t now_ns)
{
    struct scored *scored = state;
    struct tb_places *places = scored->places;
    scored->now++;
    scored->uses[adapter]++;
    if (places->tier[adapter] != TB_TIER_HOT && places->count[TB_TIER_HOT] == places->most[TB_TIER_HOT]) {
        uint32_t down = tb_places_least(places, TB_TIER_HOT, scored->score);
        bool full = places->tier[adapter] == TB_TIER_COLD && places->count[TB_TIER_WARM] == places->most[TB_TIER_WARM];
        uint32_t out = full ? tb_places_least(places, TB_TIER_WARM, scored->score) : 0;
        scored->left[TB_TIER_HOT] = scored->score[down] >> USE_BITS;
        tb_places_move(places, adapter, TB_TIER_HOT, now_ns);
        if (full) {
            scored->left[TB_TIER_WARM] = scored->score[out] >> USE_BITS;
            tb_places_move(places, out, TB_TIER_COLD, now_ns);
        }
        uint64_t last = scored->score[down] & ((UINT64_C(1) << USE_BITS) - 1);
        scored->score[down] = (scored->left[TB_TIER_WARM] + scored->uses[down]) << USE_BITS | last;
        tb_places_move(places, down, TB_TIER_WARM, now_ns);
    }
    tb_places_move(places, adapter, TB_TIER_HOT, now_ns);
    scored->score[adapter] = (scored->left[TB_TIER_HOT] + scored->uses[adapter]) << USE_BITS | scored->now;
}

const struct tb_resident tb_resident_lru = {
    .name = "lru",
    .summary = "the last ones that were used",
    .open = scored_open,
    .close = scored_close,
    .use = lru_use,
};

const struct tb_resident tb_resident_lfu = {
    .name = "lfu",
    .summary = "who is used is hot; who was used least often makes room",
    .open = scored_open,
    .close = scored_close,
    .use = lfu_use,
};

const struct tb_resident tb_resident_cost = {
    .name = "cost",
    .summary = "the same by uses times the cost of bringing back, and old uses fade",
    .open = scored_open,
    .close = scored_close,
    .use = cost_use,
};
