// SPDX-License-Identifier: Apache-2.0
//
// adapter_policy: the list of policies. See adapter_policy.h.

#include "locus/adapter_policy.h"

#include <string.h>

static const struct locus_adapter_policy *const policies[] = {&locus_adapter_policy_seed, &locus_adapter_policy_lru};

const struct locus_adapter_policy *locus_adapter_policy_at(uint32_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const struct locus_adapter_policy *locus_adapter_policy_find(const char *name)
{
    for (uint32_t i = 0; locus_adapter_policy_at(i); i++)
        if (strcmp(locus_adapter_policy_at(i)->name, name) == 0)
            return locus_adapter_policy_at(i);
    return NULL;
}

const char *locus_adapter_place_name(enum locus_adapter_place place)
{
    return place == LOCUS_ADAPTER_HOT ? "hot" : place == LOCUS_ADAPTER_WARM ? "warm" : "cold";
}
