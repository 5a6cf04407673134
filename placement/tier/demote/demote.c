// SPDX-License-Identifier: Apache-2.0
//
// demote: the list of policies, and what they share. The linker gathers the pointers of one section and names its ends, so a new
// policy is one file.
#include "locus/demote.h"

#include <stddef.h>
#include <string.h>

extern const struct locus_demote_ops *const __start_locus_demotions[] __attribute__((weak));
extern const struct locus_demote_ops *const __stop_locus_demotions[] __attribute__((weak));

const struct locus_demote_ops *locus_demote_at(uint32_t i)
{
    return i < (size_t)(__stop_locus_demotions - __start_locus_demotions) ? __start_locus_demotions[i] : NULL;
}

const struct locus_demote_ops *locus_demote_find(const char *name)
{
    for (uint32_t i = 0; locus_demote_at(i); i++)
        if (strcmp(locus_demote_at(i)->name, name) == 0)
            return locus_demote_at(i);
    return NULL;
}

uint32_t locus_demote_next(const struct locus_demote_object *object, const struct locus_demote_tier tiers[], uint32_t count,
                           uint32_t from, bool now)
{
    uint32_t first = object->at == UINT32_MAX ? 0 : object->at + 1;
    for (uint32_t i = from > first ? from : first; i < count; i++)
        if ((now ? tiers[i].bytes_free : tiers[i].bytes) >= object->bytes && !(object->exact && tiers[i].lossy))
            return i;
    return LOCUS_DEMOTE_DROP;
}

uint64_t locus_demote_load_ns(const struct locus_demote_tier *tier, uint64_t bytes)
{
    double transfer_ns = (double)bytes * 1e9 / (double)tier->bytes_per_s; // of no speed: not a number, or infinite
    uint64_t most_ns = UINT64_MAX - tier->latency_ns;
    return transfer_ns < (double)most_ns ? tier->latency_ns + (uint64_t)transfer_ns : UINT64_MAX;
}
