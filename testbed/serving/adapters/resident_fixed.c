// SPDX-License-Identifier: Apache-2.0
//
// resident_fixed: the first numbers are hot, and stay. Where numbers go by popularity, it is a static top `hot`: the arm that knows
// the popularities and learns nothing.
//
// Definition. The lower number ranks first, from the beginning, and no use changes that.

#include <errno.h>
#include <stdlib.h>

#include "testbed/serving/adapters/resident.h"

static void fixed_close(void *state)
{
    if (state)
        tb_places_close(state);
    free(state);
}

static int fixed_open(void **state, const struct locus_adapter_policy_config *config)
{
    struct tb_places *places = calloc(1, sizeof *places);
    *state = NULL;
    if (!places)
        return -ENOMEM;
    if (tb_places_open(places, config)) {
        fixed_close(places);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < config->adapters && i < (uint64_t)config->hot + config->warm; i++)
        tb_places_move(places, i, i < config->hot ? LOCUS_ADAPTER_HOT : LOCUS_ADAPTER_WARM);
    *state = places;
    return 0;
}

static void fixed_use(void *state, uint64_t now_ns, uint32_t adapter)
{
    (void)state, (void)now_ns, (void)adapter;
}

const struct locus_adapter_policy tb_resident_fixed = {
    .name = "fixed",
    .summary = "the adapters of the first numbers are hot, whoever is used",
    .open = fixed_open,
    .close = fixed_close,
    .use = fixed_use,
    .place = tb_places_place,
    .moved = tb_places_moved,
    .due_ns = tb_places_never,
};
