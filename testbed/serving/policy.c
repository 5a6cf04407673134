// SPDX-License-Identifier: Apache-2.0
//
// policy: the arms of touch `keep`: every policy that the linker has found, by name, and after them the one that knows the future.

#include <string.h>

#include "testbed/serving/keep.h"

// The one whose name is above so many others: the linker's order says nothing, and changes with where a file lies.
static const struct locus_evict_ops *by_name(uint32_t above)
{
    for (uint32_t i = 0; locus_evict_at(i); i++) {
        uint32_t count = 0;
        for (uint32_t j = 0; locus_evict_at(j); j++)
            count += strcmp(locus_evict_at(j)->name, locus_evict_at(i)->name) < 0;
        if (count == above)
            return locus_evict_at(i);
    }
    return NULL;
}

const struct locus_evict_ops *tb_policy_at(uint32_t i)
{
    const struct locus_evict_ops *policy = by_name(i);
    if (policy)
        return policy;
    return i == 0 || by_name(i - 1) ? &tb_clairvoyant : NULL;
}

const struct locus_evict_ops *tb_policy_find(const char *name)
{
    uint32_t i = 0;
    while (tb_policy_at(i) && strcmp(tb_policy_at(i)->name, name))
        i++;
    return tb_policy_at(i);
}
