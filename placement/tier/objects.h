// SPDX-License-Identifier: Apache-2.0
//
// objects: which objects a tier has, and in which of its equal units each lies. Not installed.
//
// An object's units are a chain, in the order of its bytes. Units are taken from the lowest free one up, so in a tier with holes
// the chain has jumps, and every free unit can be used; neighbours in the chain that are neighbours in the tier are one run. Each
// object has at least one unit, so there are never more objects than units, and the first unit's number is a name that no other
// object has.
//
// A key leads to an object by a table of numbers with linear probing, at most half full. A removal moves later numbers up instead
// of leaving a mark, so look-ups do not get slower with time (Knuth, TAOCP 3, 6.4, algorithm R).
//
// Cost: O(1) for a key, O(units / 64) at worst for the first free unit, O(1) for each after it in a run. Memory: 68 to 76 bytes a
// unit, the table's share between 8 and 16 of these.
#ifndef LOCUS_OBJECTS_H
#define LOCUS_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "locus/id.h"

#define OBJECT_NONE UINT32_MAX // no object, no unit
#define OBJECTS_UNITS_MAX (1u << 30)

enum object_state {
    OBJECT_FREE,
    OBJECT_COMING,              // its store is under way
    OBJECT_HERE,
    OBJECT_DROPPING,            // its drop is under way
    OBJECT_GONE,                // no key leads to it, but somebody reads it
};

struct object {
    struct locus_id key;
    uint64_t bytes, held;       // as given, and as stored
    uint64_t sequence;          // in a file: a later one of the same key is newer
    uint32_t first;             // unit; of a free object: the next free one
    uint32_t checksum;
    uint32_t readers;
    uint8_t state;              // enum object_state
    bool replaced;              // HERE, but a store of the key is under way
    bool packed;                // by zstd
};

struct objects {
    struct object *object;
    uint32_t *next;             // of each unit in its chain
    uint64_t *taken;            // a bit for each unit
    uint32_t *table;
    uint32_t mask, units, units_free;
    uint32_t lowest;            // no word of `taken` below this one has a free unit
    uint32_t free;              // first free object
};

// 0, -EINVAL (no units, or too many) or -ENOMEM.
int objects_open(struct objects *objects, uint64_t units);
void objects_close(struct objects *objects);

// An object with `units` units that no key leads to; OBJECT_NONE: there are not as many. pre: units > 0.
uint32_t objects_new(struct objects *objects, uint32_t units);

// The same with these units, in runs: {first, count} each. OBJECT_NONE: one of them is taken, or there is none such.
uint32_t objects_new_at(struct objects *objects, const uint32_t (*runs)[2], uint32_t count);

// Gives the units behind the first `units` of the object back.
void objects_shorten(struct objects *objects, uint32_t object, uint32_t units);

// pre: no key leads to it.
void objects_free(struct objects *objects, uint32_t object);

uint32_t objects_find(const struct objects *objects, struct locus_id key);
void objects_enter(struct objects *objects, uint32_t object); // pre: nothing is under its key
void objects_leave(struct objects *objects, uint32_t object); // pre: it was entered

// The run of units that begins with `unit`, which is in a chain: how many, and where the chain goes on, or OBJECT_NONE.
uint32_t objects_run(const struct objects *objects, uint32_t unit, uint32_t *next);

#endif
