// SPDX-License-Identifier: Apache-2.0
//
// owner_internal: what domain.c and share.c need of an owner and its tables besides the public functions. Not installed.
#ifndef LOCUS_OWNER_INTERNAL_H
#define LOCUS_OWNER_INTERNAL_H

#include "owner.h"

// The homes of a table's handles, counted anew.
static inline uint64_t table_homes(const struct locus_table *table)
{
    uint64_t homes = 0;
    for (uint32_t i = 0; i < table->count; i++)
        homes |= UINT64_C(1) << locus_block_home(table->blocks[i]);
    return homes;
}

// True: a spawned thread was not joined, so the owner cannot be closed. Any thread.
bool owner_has_thread(const struct locus_owner *owner);

#endif
