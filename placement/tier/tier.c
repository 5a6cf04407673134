// SPDX-License-Identifier: Apache-2.0
//
// tier: what all kinds do alike: checks, keys, the life of an object, counters.
#include "tier_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "locus/int8.h"

int tier_init(struct locus_tier *tier, const struct tier_kind *kind, uint64_t units, uint32_t unit_bytes)
{
    tier->kind = kind;
    tier->unit_bytes = unit_bytes;
    int error = objects_open(&tier->objects, units);
    counter_set(&tier->stats.units, units);
    counter_set(&tier->stats.unit_bytes, unit_bytes);
    counter_set(&tier->stats.units_free, tier->objects.units_free);
    return error;
}

void locus_tier_close(struct locus_tier *tier)
{
    if (tier)
        tier->kind->close(tier);
}

void tier_say(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    if (!why || !why_bytes)
        return;
    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
}

void tier_refuse(struct locus_tier *tier, int error, const char *format, ...)
{
    va_list arguments;
    if (tier->refuses)
        return;
    tier->refuses = error;
    va_start(arguments, format);
    vsnprintf(tier->why, sizeof tier->why, format, arguments);
    va_end(arguments);
}

const char *locus_tier_why(const struct locus_tier *tier)
{
    return tier->why;
}

// --- the life of an object -----------------------------------------------------------------------------------------------------

static void units_count(struct locus_tier *tier)
{
    counter_set(&tier->stats.units_free, tier->objects.units_free);
}

static int tier_coming(struct locus_tier *tier, struct locus_id key, uint64_t bytes, uint32_t *out)
{
    uint64_t held = bytes, units = tier->kind->units(tier, bytes, &held);
    uint32_t old = objects_find(&tier->objects, key);
    struct object *before = old == OBJECT_NONE ? NULL : &tier->objects.object[old];
    if (units == 0 || units > tier->objects.units)
        return -EFBIG;
    if (before && (before->state != OBJECT_HERE || before->replaced))
        return -EBUSY;
    uint32_t object = objects_new(&tier->objects, (uint32_t)units);
    if (object == OBJECT_NONE) {
        counter_add(&tier->stats.refused_room, 1);
        return -ENOSPC;
    }
    tier->objects.object[object].key = key;
    tier->objects.object[object].bytes = bytes;
    tier->objects.object[object].held = held;
    if (before)
        before->replaced = true;
    else
        objects_enter(&tier->objects, object);
    units_count(tier);
    *out = object;
    return 0;
}

void tier_came_not(struct locus_tier *tier, uint32_t object)
{
    uint32_t found = objects_find(&tier->objects, tier->objects.object[object].key);
    if (found == object)
        objects_leave(&tier->objects, object);
    else
        tier->objects.object[found].replaced = false;
    objects_free(&tier->objects, object);
    units_count(tier);
}

static void tier_left(struct locus_tier *tier, uint32_t number)
{
    struct object *object = &tier->objects.object[number];
    objects_leave(&tier->objects, number);
    counter_add(&tier->stats.objects, UINT64_MAX); // one less
    counter_add(&tier->stats.bytes, 0 - object->bytes);
    counter_add(&tier->stats.bytes_held, 0 - object->held);
    object->state = OBJECT_GONE;
    if (object->readers == 0)
        objects_free(&tier->objects, number);
    units_count(tier);
}

void tier_found(struct locus_tier *tier, uint32_t number)
{
    struct object *object = &tier->objects.object[number];
    uint32_t old = objects_find(&tier->objects, object->key);
    if (old != OBJECT_NONE && old != number)
        tier_left(tier, old);
    if (old != number)
        objects_enter(&tier->objects, number);
    object->state = OBJECT_HERE;
    counter_add(&tier->stats.objects, 1);
    counter_add(&tier->stats.bytes, object->bytes);
    counter_add(&tier->stats.bytes_held, object->held);
    units_count(tier);
}

static void reader_ends(struct locus_tier *tier, uint32_t number)
{
    struct object *object = &tier->objects.object[number];
    if (--object->readers == 0 && object->state == OBJECT_GONE)
        objects_free(&tier->objects, number);
    units_count(tier);
}

// --- completions ---------------------------------------------------------------------------------------------------------------

static void finish(struct locus_tier *tier, struct locus_tier_op *op, int result)
{
    if (result)
        counter_add(&tier->stats.failed, 1);
    op->done(op, result);
}

void tier_store_done(struct locus_tier *tier, struct locus_tier_op *op, int result)
{
    if (result) {
        tier_came_not(tier, op->object);
    } else {
        tier_found(tier, op->object);
        counter_add(&tier->stats.stores, 1);
        counter_add(&tier->stats.bytes_stored, op->bytes);
    }
    finish(tier, op, result);
}

void tier_load_done(struct locus_tier *tier, struct locus_tier_op *op, int result)
{
    if (result == -EBADMSG)
        counter_add(&tier->stats.refused_checksum, 1);
    if (!result) {
        counter_add(&tier->stats.loads, 1);
        counter_add(&tier->stats.bytes_loaded, tier_object(tier, op)->bytes);
    }
    reader_ends(tier, op->object);
    finish(tier, op, result);
}

void tier_drop_done(struct locus_tier *tier, struct locus_tier_op *op, int result)
{
    if (result)
        tier_object(tier, op)->state = OBJECT_HERE;
    else
        tier_left(tier, op->object);
    if (!result)
        counter_add(&tier->stats.drops, 1);
    finish(tier, op, result);
}

// --- calls ---------------------------------------------------------------------------------------------------------------------

static bool is_numbers(const struct locus_piece *piece, bool last)
{
    uint64_t multiple = last ? sizeof(uint16_t) : LOCUS_INT8_GROUP * sizeof(uint16_t);
    return (uintptr_t)piece->memory % sizeof(uint16_t) == 0 && piece->bytes % multiple == 0;
}

// The bytes of all pieces, each of which has some (`some`): 0, -EINVAL, or -EFBIG.
static int pieces_take(const struct locus_tier *tier, const struct locus_piece pieces[], uint32_t count, bool some, uint64_t *bytes)
{
    *bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if ((some && pieces[i].bytes == 0) || (tier->kind->numbers && !is_numbers(&pieces[i], i + 1 == count)))
            return -EINVAL;
        if (__builtin_add_overflow(*bytes, pieces[i].bytes, bytes))
            return -EFBIG;
    }
    return count ? 0 : -EINVAL;
}

static void op_fill(struct locus_tier_op *op, uint32_t kind, struct locus_id key, const struct locus_piece *pieces, uint64_t bytes,
                    uint32_t object)
{
    op->next = NULL;
    op->kind = kind;
    op->key = key;
    op->pieces = pieces;
    op->bytes = bytes;
    op->object = object;
}

int locus_tier_storev(struct locus_tier *tier, struct locus_id key, const struct locus_piece pieces[], uint32_t count,
                      struct locus_tier_op *op)
{
    uint32_t object;
    uint64_t bytes;
    int error = pieces_take(tier, pieces, count, true, &bytes);
    if (!error)
        error = tier->refuses ? tier->refuses : tier_coming(tier, key, bytes, &object);
    if (error)
        return error;
    op_fill(op, TIER_STORE, key, pieces, bytes, object);
    error = tier->kind->store(tier, op);
    if (error)
        tier_came_not(tier, object);
    return error;
}

int locus_tier_store(struct locus_tier *tier, struct locus_id key, const void *from, uint64_t bytes, struct locus_tier_op *op)
{
    op->piece = (struct locus_piece){.memory = (void *)(uintptr_t)from, .bytes = bytes}; // a store reads only
    return locus_tier_storev(tier, key, &op->piece, 1, op);
}

// The object that a call may use, or OBJECT_NONE.
static uint32_t here(const struct locus_tier *tier, struct locus_id key)
{
    uint32_t object = objects_find(&tier->objects, key);
    return object != OBJECT_NONE && tier->objects.object[object].state == OBJECT_HERE ? object : OBJECT_NONE;
}

static int load(struct locus_tier *tier, struct locus_id key, const struct locus_piece pieces[], uint32_t count, bool some,
                struct locus_tier_op *op)
{
    uint32_t number = here(tier, key);
    uint64_t bytes;
    int error = pieces_take(tier, pieces, count, some, &bytes);
    if (error)
        return error;
    if (number == OBJECT_NONE)
        return -ENOENT;
    struct object *object = &tier->objects.object[number];
    if (object->bytes > bytes)
        return -EMSGSIZE;
    object->readers++;
    op_fill(op, TIER_LOAD, key, pieces, object->bytes, number);
    error = tier->kind->load(tier, op);
    if (error)
        reader_ends(tier, number);
    return error;
}

int locus_tier_loadv(struct locus_tier *tier, struct locus_id key, const struct locus_piece pieces[], uint32_t count,
                     struct locus_tier_op *op)
{
    return load(tier, key, pieces, count, true, op);
}

int locus_tier_load(struct locus_tier *tier, struct locus_id key, void *to, uint64_t bytes, struct locus_tier_op *op)
{
    op->piece = (struct locus_piece){.memory = to, .bytes = bytes};
    return load(tier, key, &op->piece, 1, false, op); // no room is too little, of whatever is there
}

int locus_tier_drop(struct locus_tier *tier, struct locus_id key, struct locus_tier_op *op)
{
    uint32_t number = objects_find(&tier->objects, key);
    if (number == OBJECT_NONE)
        return -ENOENT;
    struct object *object = &tier->objects.object[number];
    if (object->state != OBJECT_HERE || object->replaced)
        return -EBUSY;
    if (tier->refuses)
        return tier->refuses;
    object->state = OBJECT_DROPPING;
    op_fill(op, TIER_DROP, key, NULL, object->bytes, number);
    int error = tier->kind->drop(tier, op);
    if (error)
        object->state = OBJECT_HERE;
    return error;
}

uint32_t locus_tier_poll(struct locus_tier *tier, uint64_t wait_ns)
{
    return tier->kind->poll(tier, wait_ns);
}

int locus_tier_check(struct locus_tier *tier)
{
    return tier->kind->check(tier);
}

int locus_tier_find(const struct locus_tier *tier, struct locus_id key, uint64_t *bytes)
{
    uint32_t object = here(tier, key);
    if (object == OBJECT_NONE)
        return -ENOENT;
    if (bytes)
        *bytes = tier->objects.object[object].bytes;
    return 0;
}

int locus_tier_each(const struct locus_tier *tier, int (*each)(void *context, struct locus_id key, uint64_t bytes), void *context)
{
    int result = 0;
    for (uint32_t i = 0; i < tier->objects.units && !result; i++) {
        const struct object *object = &tier->objects.object[i];
        if (object->state == OBJECT_HERE)
            result = each(context, object->key, object->bytes);
    }
    return result;
}

void locus_tier_stats(const struct locus_tier *tier, struct locus_tier_stats *out)
{
    counters_read(out, &tier->stats, sizeof *out);
}
