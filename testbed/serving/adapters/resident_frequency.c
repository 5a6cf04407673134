// SPDX-License-Identifier: Apache-2.0
//
// resident_frequency: who was used most often ranks first: the "top 100" of seed 002.
//
// Definition. Rank is the number of use() calls since open(); of equal ones, who was used last ranks first. There is no aging:
// what was popular once stays. The seed sorts from time to time; here each use has its effect at once.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

struct frequency {
    struct tb_places places;
    struct tb_rank *ranks;      // of an adapter: its uses, and which use of all was the last one
    uint64_t uses;              // of all
};

static void frequency_close(void *state)
{
    struct frequency *frequency = state;
    if (!frequency)
        return;
    tb_places_close(&frequency->places);
    free(frequency->ranks);
    free(frequency);
}

static int frequency_open(void **state, const struct locus_adapter_policy_config *config)
{
    struct frequency *frequency = calloc(1, sizeof *frequency);
    *state = NULL;
    if (!frequency)
        return -ENOMEM;
    int error = tb_places_open(&frequency->places, config);
    frequency->ranks = calloc(config->adapters, sizeof *frequency->ranks);
    if (error || !frequency->ranks) {
        frequency_close(frequency);
        return -ENOMEM;
    }
    *state = frequency;
    return 0;
}

static void frequency_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    struct frequency *frequency = state;
    (void)now_ns;
    frequency->ranks[adapter].rank++;
    frequency->ranks[adapter].turn = frequency->uses++;
    tb_places_used(&frequency->places, frequency->ranks, adapter);
}

const struct locus_adapter_policy tb_resident_frequency = {
    .name = "frequency",
    .summary = "rank of frequency: what was used most often is hot",
    .open = frequency_open,
    .close = frequency_close,
    .use = frequency_use,
    .place = tb_places_place,
    .moved = tb_places_moved,
    .due_ns = tb_places_never,
};
