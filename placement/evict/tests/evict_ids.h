// SPDX-License-Identifier: Apache-2.0
//
// evict_ids: the ids of numbers, for twins that reckon with numbers. Four have the same second word, and many the same first one:
// a policy that compares only one word takes different ids for the same.
#ifndef LOCUS_TESTS_EVICT_IDS_H
#define LOCUS_TESTS_EVICT_IDS_H

#include <stdlib.h>

#include "locus/evict.h"

enum { EVICT_IDS_MAX = 1000 };

static inline struct locus_id as_id(uint64_t number)
{
    return (struct locus_id){{number % 4, number / 4}};
}

// Until the next call.
static inline const struct locus_id *as_ids(const uint64_t numbers[], unsigned count)
{
    static struct locus_id ids[EVICT_IDS_MAX];
    if (count > EVICT_IDS_MAX)
        abort();
    for (unsigned i = 0; i < count; i++)
        ids[i] = as_id(numbers[i]);
    return ids;
}

#endif
