// SPDX-License-Identifier: Apache-2.0
//
// policy: the arms of touch `keep`: the library's list, and after it the one that knows the future.

#include <string.h>

#include "testbed/serving/keep.h"

const struct locus_evict_ops *tb_policy_at(uint32_t i)
{
    if (locus_evict_at(i))
        return locus_evict_at(i);
    return i == 0 || locus_evict_at(i - 1) ? &tb_clairvoyant : NULL;
}

const struct locus_evict_ops *tb_policy_find(const char *name)
{
    uint32_t i = 0;
    while (tb_policy_at(i) && strcmp(tb_policy_at(i)->name, name))
        i++;
    return tb_policy_at(i);
}
