// SPDX-License-Identifier: Apache-2.0
//
// ids: a hash table with chained buckets in arrays, so that a slot's number stays the same as long as the id is there. The number
// of buckets is a power of two and not below the number of slots.
#include "ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "placement/base/id_hash.h"

int ids_open(struct ids *ids, uint32_t slots)
{
    uint32_t buckets = 1;
    while (buckets < slots)
        buckets *= 2;
    ids->mask = buckets - 1;
    ids->bucket = malloc(buckets * sizeof *ids->bucket);
    ids->next = malloc(slots * sizeof *ids->next);
    ids->id = malloc(slots * sizeof *ids->id);
    if (!ids->bucket || !ids->next || !ids->id)
        return -ENOMEM;
    memset(ids->bucket, 0xff, buckets * sizeof *ids->bucket); // LOCUS_EVICT_NONE
    for (uint32_t i = 0; i < slots; i++)
        ids->next[i] = i + 1 < slots ? i + 1 : LOCUS_EVICT_NONE;
    ids->free = 0;
    return 0;
}

void ids_close(struct ids *ids)
{
    free(ids->bucket);
    free(ids->next);
    free(ids->id);
}

static uint32_t *bucket_of(const struct ids *ids, struct locus_id id)
{
    return &ids->bucket[id_place(id, ids->mask + UINT64_C(1))];
}

uint32_t ids_find(const struct ids *ids, struct locus_id id)
{
    uint32_t slot = *bucket_of(ids, id);
    while (slot != LOCUS_EVICT_NONE && !locus_id_equal(ids->id[slot], id))
        slot = ids->next[slot];
    return slot;
}

uint32_t ids_add(struct ids *ids, struct locus_id id)
{
    uint32_t *bucket = bucket_of(ids, id), slot = ids->free;
    ids->free = ids->next[slot];
    ids->id[slot] = id;
    ids->next[slot] = *bucket;
    *bucket = slot;
    return slot;
}

void ids_drop(struct ids *ids, uint32_t slot)
{
    uint32_t *at = bucket_of(ids, ids->id[slot]);
    while (*at != slot)
        at = &ids->next[*at];
    *at = ids->next[slot];
    ids->next[slot] = ids->free;
    ids->free = slot;
}
