// SPDX-License-Identifier: Apache-2.0
//
// resident: the list of all, and the places of those that are the testbed's own; see resident.h.

#include "testbed/serving/adapters/resident.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct locus_adapter_policy *const own[] = {
    &tb_resident_frequency, &tb_resident_cost, &tb_resident_fixed, &tb_resident_ranked, &tb_resident_clairvoyant,
};

const struct locus_adapter_policy *tb_resident_at(uint32_t i)
{
    uint32_t library = 0;
    while (locus_adapter_policy_at(library))
        library++;
    return i < library ? locus_adapter_policy_at(i) : i - library < sizeof own / sizeof *own ? own[i - library] : NULL;
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

// --- by rank --------------------------------------------------------------------------------------------------------------------

static bool below(struct tb_rank a, struct tb_rank b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.turn < b.turn;
}

// pre: somebody is there.
static uint32_t lowest(const struct tb_places *places, const struct tb_rank ranks[], enum locus_adapter_place place)
{
    uint32_t least = places->list[place][0];
    for (uint32_t i = 1; i < places->count[place]; i++)
        if (below(ranks[places->list[place][i]], ranks[least]))
            least = places->list[place][i];
    return least;
}

// Is there room, or somebody who ranks lower?
static bool worth(const struct tb_places *places, const struct tb_rank ranks[], uint32_t adapter, enum locus_adapter_place place)
{
    if (places->place[adapter] >= (uint8_t)place || places->most[place] == 0)
        return false;
    return places->count[place] < places->most[place] || below(ranks[lowest(places, ranks, place)], ranks[adapter]);
}

uint32_t tb_places_used(struct tb_places *places, const struct tb_rank ranks[], uint32_t adapter)
{
    enum locus_adapter_place to = worth(places, ranks, adapter, LOCUS_ADAPTER_HOT)    ? LOCUS_ADAPTER_HOT
                                  : worth(places, ranks, adapter, LOCUS_ADAPTER_WARM) ? LOCUS_ADAPTER_WARM
                                                                                      : LOCUS_ADAPTER_COLD;
    if (to == LOCUS_ADAPTER_COLD)
        return LOCUS_ADAPTER_NONE;
    bool full = to == LOCUS_ADAPTER_HOT && places->count[to] == places->most[to];
    uint32_t down = full ? lowest(places, ranks, to) : LOCUS_ADAPTER_NONE;
    tb_places_move(places, adapter, to);
    if (full)
        tb_places_move(places, down, LOCUS_ADAPTER_WARM);
    if (places->count[LOCUS_ADAPTER_WARM] > places->most[LOCUS_ADAPTER_WARM])
        tb_places_move(places, lowest(places, ranks, LOCUS_ADAPTER_WARM), LOCUS_ADAPTER_COLD);
    return down;
}

// --- members of a table --------------------------------------------------------------------------------------------------------

enum locus_adapter_place tb_places_place(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)now_ns;
    return (enum locus_adapter_place)((struct tb_places *)state)->place[adapter];
}

bool tb_places_moved(void *state, uint64_t now_ns, struct locus_adapter_policy_move *out)
{
    struct tb_places *places = state;
    (void)now_ns;
    if (places->moves_first == places->moves_end) {
        places->moves_first = places->moves_end = 0;
        return false;
    }
    *out = places->moves[places->moves_first++];
    return true;
}

uint64_t tb_places_never(void *state)
{
    (void)state;
    return UINT64_MAX;
}
