// SPDX-License-Identifier: Apache-2.0
//
// residency: the list of policies. See residency.h.

#include "residency.h"

#include <string.h>

static const struct locus_residency_ops *const policies[] = {
    &locus_residency_seed, &locus_residency_frequency, &locus_residency_lru, &locus_residency_cost, &locus_residency_fixed,
};

const struct locus_residency_ops *locus_residency_at(uint32_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const struct locus_residency_ops *locus_residency_find(const char *name)
{
    for (uint32_t i = 0; locus_residency_at(i); i++)
        if (strcmp(locus_residency_at(i)->name, name) == 0)
            return locus_residency_at(i);
    return NULL;
}

const char *locus_residence_name(enum locus_residence place)
{
    return place == LOCUS_RESIDENCE_HOT ? "hot" : place == LOCUS_RESIDENCE_WARM ? "warm" : "cold";
}
