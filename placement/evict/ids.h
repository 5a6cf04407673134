// SPDX-License-Identifier: Apache-2.0
//
// ids: a table of at most `slots` ids, each in a numbered slot. 24 to 28 bytes a slot. Not installed.
#ifndef LOCUS_EVICT_IDS_H
#define LOCUS_EVICT_IDS_H

#include <stdint.h>

#include "locus/evict.h"

struct ids {
    uint32_t mask;              // buckets - 1
    uint32_t *bucket;           // its first slot
    uint32_t *next;             // of a slot in use: the next one of its bucket; of a free one: the next free one
    struct locus_id *id;        // of a slot
    uint32_t free;              // a free slot; LOCUS_EVICT_NONE: the table is full
};

int ids_open(struct ids *ids, uint32_t slots); // 0 or -ENOMEM; close it in both cases
void ids_close(struct ids *ids);
uint32_t ids_find(const struct ids *ids, struct locus_id id); // its slot, or LOCUS_EVICT_NONE
uint32_t ids_add(struct ids *ids, struct locus_id id);        // its slot. pre: it is not there, and the table is not full
void ids_drop(struct ids *ids, uint32_t slot);

#endif
