// SPDX-License-Identifier: Apache-2.0
//
// objects: see objects.h.
#include "objects.h"

#include "placement/base/id_hash.h"

#include <errno.h>
#include <stdlib.h>

#define WORD_BITS 64u

int objects_open(struct objects *objects, uint64_t units)
{
    *objects = (struct objects){.free = OBJECT_NONE};
    if (units == 0 || units > OBJECTS_UNITS_MAX)
        return -EINVAL;
    uint32_t count = (uint32_t)units, words = (count + WORD_BITS - 1) / WORD_BITS, places = 2;
    while (places < 2 * count)
        places *= 2;
    objects->object = calloc(count, sizeof *objects->object);
    objects->next = malloc(count * sizeof *objects->next);
    objects->taken = calloc(words, sizeof *objects->taken);
    objects->table = malloc(places * sizeof *objects->table);
    if (!objects->object || !objects->next || !objects->taken || !objects->table) {
        objects_close(objects);
        return -ENOMEM;
    }
    objects->mask = places - 1;
    objects->units = objects->units_free = count;
    for (uint32_t i = 0; i < places; i++)
        objects->table[i] = OBJECT_NONE;
    for (uint32_t i = count; i-- > 0; objects->free = i)
        objects->object[i].first = objects->free;
    if (count % WORD_BITS) // there are no units behind the last
        objects->taken[words - 1] = ~UINT64_C(0) << (count % WORD_BITS);
    return 0;
}

void objects_close(struct objects *objects)
{
    free(objects->object);
    free(objects->next);
    free(objects->taken);
    free(objects->table);
    *objects = (struct objects){.free = OBJECT_NONE};
}

// --- units ---------------------------------------------------------------------------------------------------------------------

static uint64_t bit_of(uint32_t unit)
{
    return UINT64_C(1) << (unit % WORD_BITS);
}

static void unit_take(struct objects *objects, uint32_t unit)
{
    objects->taken[unit / WORD_BITS] |= bit_of(unit);
    objects->units_free--;
}

static uint32_t lowest_free(struct objects *objects) // pre: there is one
{
    while (objects->taken[objects->lowest] == ~UINT64_C(0))
        objects->lowest++;
    return objects->lowest * WORD_BITS + (uint32_t)__builtin_ctzll(~objects->taken[objects->lowest]);
}

static void chain_free(struct objects *objects, uint32_t unit)
{
    for (; unit != OBJECT_NONE; unit = objects->next[unit]) {
        objects->taken[unit / WORD_BITS] &= ~bit_of(unit);
        objects->units_free++;
        if (unit / WORD_BITS < objects->lowest)
            objects->lowest = unit / WORD_BITS;
    }
}

static uint32_t object_take(struct objects *objects, uint32_t first)
{
    uint32_t object = objects->free; // there is one, because there are as many as units
    objects->free = objects->object[object].first;
    objects->object[object] = (struct object){.first = first, .state = OBJECT_COMING};
    return object;
}

uint32_t objects_new(struct objects *objects, uint32_t units)
{
    if (units > objects->units_free)
        return OBJECT_NONE;
    uint32_t first = OBJECT_NONE, *link = &first;
    for (uint32_t i = 0; i < units; i++) {
        *link = lowest_free(objects);
        unit_take(objects, *link);
        link = &objects->next[*link];
    }
    *link = OBJECT_NONE;
    return object_take(objects, first);
}

uint32_t objects_new_at(struct objects *objects, const uint32_t (*runs)[2], uint32_t count)
{
    uint32_t first = OBJECT_NONE, *link = &first;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < runs[i][1]; k++) {
            uint64_t unit = (uint64_t)runs[i][0] + k;
            if (unit >= objects->units || objects->taken[unit / WORD_BITS] & bit_of((uint32_t)unit)) {
                *link = OBJECT_NONE;
                chain_free(objects, first);
                return OBJECT_NONE;
            }
            *link = (uint32_t)unit;
            unit_take(objects, *link);
            link = &objects->next[*link];
        }
    *link = OBJECT_NONE;
    return first == OBJECT_NONE ? OBJECT_NONE : object_take(objects, first);
}

void objects_shorten(struct objects *objects, uint32_t object, uint32_t units)
{
    uint32_t last = objects->object[object].first;
    while (--units > 0)
        last = objects->next[last];
    chain_free(objects, objects->next[last]);
    objects->next[last] = OBJECT_NONE;
}

void objects_free(struct objects *objects, uint32_t object)
{
    chain_free(objects, objects->object[object].first);
    objects->object[object] = (struct object){.first = objects->free, .state = OBJECT_FREE};
    objects->free = object;
}

uint32_t objects_run(const struct objects *objects, uint32_t unit, uint32_t *next)
{
    uint32_t count = 1;
    for (; objects->next[unit] == unit + 1; unit++) // OBJECT_NONE is no unit's successor: there are fewer
        count++;
    *next = objects->next[unit];
    return count;
}

// --- keys ----------------------------------------------------------------------------------------------------------------------

static uint32_t place_of(const struct objects *objects, struct locus_id key)
{
    return (uint32_t)id_place(key, objects->mask + UINT64_C(1));
}

static uint32_t place_find(const struct objects *objects, struct locus_id key) // its place, or the free one where it would be
{
    uint32_t place = place_of(objects, key), object;
    while ((object = objects->table[place]) != OBJECT_NONE && !locus_id_equal(objects->object[object].key, key))
        place = (place + 1) & objects->mask;
    return place;
}

uint32_t objects_find(const struct objects *objects, struct locus_id key)
{
    return objects->table[place_find(objects, key)];
}

void objects_enter(struct objects *objects, uint32_t object)
{
    objects->table[place_find(objects, objects->object[object].key)] = object;
}

void objects_leave(struct objects *objects, uint32_t object)
{
    uint32_t hole = place_find(objects, objects->object[object].key), mask = objects->mask;
    for (uint32_t place = (hole + 1) & mask; objects->table[place] != OBJECT_NONE; place = (place + 1) & mask) {
        uint32_t home = place_of(objects, objects->object[objects->table[place]].key);
        if (((place - home) & mask) >= ((place - hole) & mask)) { // its search passes the hole
            objects->table[hole] = objects->table[place];
            hole = place;
        }
    }
    objects->table[hole] = OBJECT_NONE;
}
