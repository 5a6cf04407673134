// SPDX-License-Identifier: Apache-2.0
//
// resident: the list of all, and the places of the two that are the testbed's own; see resident.h.

#include "testbed/serving/adapters/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct locus_adapter_policy *tb_resident_at(uint32_t i)
{
    uint32_t library = 0;
    while (locus_adapter_policy_at(library))
        library++;
    return i < library        ? locus_adapter_policy_at(i)
           : i == library     ? &tb_resident_ranked
           : i == library + 1 ? &tb_resident_clairvoyant
                              : NULL;
}

const struct locus_adapter_policy *tb_resident_find(const char *name)
{
    uint32_t i = 0;
    while (tb_resident_at(i) && strcmp(tb_resident_at(i)->name, name))
        i++;
    return tb_resident_at(i);
}

int tb_places_open(struct tb_places *places, const struct locus_adapter_policy_config *config)
{
    uint32_t adapters = config->adapters;
    *places = (struct tb_places){
        .adapters = adapters,
        .place = calloc(adapters, sizeof *places->place),
        .at = calloc(adapters, sizeof *places->at),
        .count = {[LOCUS_ADAPTER_COLD] = adapters},
        .most = {adapters, config->warm, config->hot},
        .moves = malloc(2 * (size_t)adapters * sizeof *places->moves),
    };
    for (int place = LOCUS_ADAPTER_WARM; place <= LOCUS_ADAPTER_HOT; place++)
        places->list[place] = malloc(adapters * sizeof *places->list[place]);
    return places->place && places->at && places->moves && places->list[LOCUS_ADAPTER_WARM] && places->list[LOCUS_ADAPTER_HOT]
               ? 0
               : -ENOMEM;
}

void tb_places_close(struct tb_places *places)
{
    free(places->place);
    free(places->at);
    free(places->moves);
    free(places->list[LOCUS_ADAPTER_WARM]);
    free(places->list[LOCUS_ADAPTER_HOT]);
}

void tb_places_move(struct tb_places *places, uint32_t adapter, enum locus_adapter_place to)
{
    enum locus_adapter_place from = (enum locus_adapter_place)places->place[adapter];
    if (from == to)
        return;
    places->count[from]--;
    if (from != LOCUS_ADAPTER_COLD) {
        uint32_t last = places->list[from][places->count[from]];
        places->list[from][places->at[adapter]] = last;
        places->at[last] = places->at[adapter];
    }
    if (to != LOCUS_ADAPTER_COLD) {
        places->at[adapter] = places->count[to];
        places->list[to][places->count[to]] = adapter;
    }
    places->count[to]++;
    places->place[adapter] = (uint8_t)to;
    places->moves[places->moves_end++] = (struct locus_adapter_policy_move){adapter, from, to};
}

bool tb_places_moved(struct tb_places *places, struct locus_adapter_policy_move *out)
{
    if (places->moves_first == places->moves_end) {
        places->moves_first = places->moves_end = 0;
        return false;
    }
    *out = places->moves[places->moves_first++];
    return true;
}
