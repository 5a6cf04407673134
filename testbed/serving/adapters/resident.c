// SPDX-License-Identifier: Apache-2.0
//
// resident: the list of all, and the places; see resident.h.

#include "testbed/serving/adapters/resident.h"

#include <string.h>

static const struct tb_resident *const residents[] = {
    &tb_resident_rule, &tb_resident_ranked, &tb_resident_static,      &tb_resident_lru,
    &tb_resident_lfu,  &tb_resident_cost,   &tb_resident_clairvoyant,
};

const struct tb_resident *tb_resident_at(uint32_t i)
{
    return i < sizeof residents / sizeof *residents ? residents[i] : NULL;
}

const struct tb_resident *tb_resident_find(const char *name)
{
    uint32_t i = 0;
    while (tb_resident_at(i) && strcmp(tb_resident_at(i)->name, name))
        i++;
    return tb_resident_at(i);
}

void tb_places_move(struct tb_places *places, uint32_t adapter, enum tb_tier to, uint64_t now_ns)
{
    enum tb_tier from = (enum tb_tier)places->tier[adapter];
    if (from == to)
        return;
    places->count[from]--;
    if (from != TB_TIER_COLD) {
        uint32_t last = places->list[from][places->count[from]];
        places->list[from][places->place[adapter]] = last;
        places->place[last] = places->place[adapter];
    }
    if (to != TB_TIER_COLD) {
        places->place[adapter] = places->count[to];
        places->list[to][places->count[to]] = adapter;
    }
    places->count[to]++;
    places->tier[adapter] = (uint8_t)to;
    places->moved(places->context, adapter, from, to, now_ns);
}

uint32_t tb_places_least(const struct tb_places *places, enum tb_tier tier, const uint64_t score[])
{
    uint32_t least = places->list[tier][0];
    for (uint32_t i = 1; i < places->count[tier]; i++)
        if (score[places->list[tier][i]] < score[least])
            least = places->list[tier][i];
    return least;
}

void tb_places_trim(struct tb_places *places, const uint64_t score[], uint64_t now_ns)
{
    if (places->count[TB_TIER_WARM] > places->most[TB_TIER_WARM])
        tb_places_move(places, tb_places_least(places, TB_TIER_WARM, score), TB_TIER_COLD, now_ns);
}

void tb_places_bring(struct tb_places *places, uint32_t adapter, enum tb_tier to, const uint64_t score[], uint64_t now_ns)
{
    if (places->tier[adapter] >= (uint8_t)to)
        return;
    if (to == TB_TIER_HOT && places->count[TB_TIER_HOT] == places->most[TB_TIER_HOT]) {
        uint32_t least = tb_places_least(places, TB_TIER_HOT, score);
        tb_places_move(places, adapter, TB_TIER_HOT, now_ns);
        tb_places_move(places, least, TB_TIER_WARM, now_ns);
    }
    tb_places_move(places, adapter, to, now_ns);
    tb_places_trim(places, score, now_ns);
}
