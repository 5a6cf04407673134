// SPDX-License-Identifier: Apache-2.0
//
// share_internal: a write whose blocks may be of other homes, for the domain. Not installed.
#ifndef LOCUS_SHARE_INTERNAL_H
#define LOCUS_SHARE_INTERNAL_H

#include "locus/share.h"

struct share_write {
    struct locus_owner *owner;
    struct locus_table *table;
    uint64_t first, count;
    uint32_t planes;
    // Of other homes; both are NULL if they must not be written.
    struct locus_table *leavers; // where the replaced handles go
    const void *(*address)(void *context, locus_block block);
    void *context;
};

// How many new blocks it would take. 0, or what it would be refused for before it changes anything, and *needs is 0.
int share_write_needs(const struct share_write *write, uint32_t *needs);

int share_write(const struct share_write *write);

#endif
