// SPDX-License-Identifier: Apache-2.0
//
// score: the list of scores, gathered by the linker as that of the policies is (placement/evict/evict.c).
#include <string.h>

#include "locus/pages_evict.h"

extern const struct locus_score_ops *const __start_locus_scores[] __attribute__((weak));
extern const struct locus_score_ops *const __stop_locus_scores[] __attribute__((weak));

const struct locus_score_ops *locus_score_at(uint32_t i)
{
    return i < (size_t)(__stop_locus_scores - __start_locus_scores) ? __start_locus_scores[i] : NULL;
}

const struct locus_score_ops *locus_score_find(const char *name)
{
    for (uint32_t i = 0; locus_score_at(i); i++)
        if (strcmp(locus_score_at(i)->name, name) == 0)
            return locus_score_at(i);
    return NULL;
}
