// SPDX-License-Identifier: Apache-2.0
//
// evict: the list of policies. The linker gathers the pointers of one section and names its ends, so a new policy is one file.
#include "locus/evict.h"

#include <stddef.h>
#include <string.h>

extern const struct locus_evict_ops *const __start_locus_evicts[] __attribute__((weak));
extern const struct locus_evict_ops *const __stop_locus_evicts[] __attribute__((weak));

const struct locus_evict_ops *locus_evict_at(uint32_t i)
{
    return i < (size_t)(__stop_locus_evicts - __start_locus_evicts) ? __start_locus_evicts[i] : NULL;
}

const struct locus_evict_ops *locus_evict_find(const char *name)
{
    for (uint32_t i = 0; locus_evict_at(i); i++)
        if (strcmp(locus_evict_at(i)->name, name) == 0)
            return locus_evict_at(i);
    return NULL;
}
