// SPDX-License-Identifier: Apache-2.0
//
// int8: f16 numbers as int8, in memory.
//
// A unit holds whole groups, so each is an array of its own (quant.h) and needs no neighbour: 64 numbers in 66 bytes. The bytes
// behind a unit's last group are not used.
#include "memory.h"

#include <errno.h>

#include "crc.h"
#include "locus/int8.h"

#define NUMBER sizeof(uint16_t)

static uint64_t numbers_in(const struct locus_tier *tier) // a unit
{
    return tier->unit_bytes / LOCUS_INT8_GROUP_BYTES * LOCUS_INT8_GROUP;
}

static uint64_t int8_units(const struct locus_tier *tier, uint64_t bytes, uint64_t *held)
{
    uint64_t numbers = bytes / sizeof(uint16_t);
    *held = locus_int8_bytes(numbers);
    return numbers / numbers_in(tier) + (numbers % numbers_in(tier) != 0);
}

// The next unit's share of the numbers that are left, and what it takes as int8.
static uint64_t share(const struct locus_tier *tier, uint64_t left, uint64_t *held)
{
    uint64_t numbers = left < numbers_in(tier) ? left : numbers_in(tier);
    *held = locus_int8_bytes(numbers);
    return numbers;
}

// The numbers of one unit, to int8 or back, piece by piece: all of them but the object's last are whole groups.
static int unit_convert(char *unit, struct tier_cursor *cursor, uint64_t numbers, bool in)
{
    int error = 0;
    for (uint64_t left = numbers * NUMBER, bytes; left > 0 && !error; left -= bytes) {
        void *here = tier_run(cursor, left, &bytes);
        error = in ? locus_int8_from_f16(unit, here, bytes / NUMBER) : locus_int8_to_f16(here, unit, bytes / NUMBER);
        unit += locus_int8_bytes(bytes / NUMBER);
    }
    return error;
}

static int int8_store(struct locus_tier *tier, struct locus_tier_op *op)
{
    struct memory *memory = (struct memory *)tier;
    struct object *object = tier_object(tier, op);
    struct tier_cursor cursor = tier_cursor(op);
    uint32_t unit = object->first;
    for (uint64_t left = op->bytes / NUMBER, numbers, held; left > 0; left -= numbers, unit = tier->objects.next[unit]) {
        numbers = share(tier, left, &held);
        int error = unit_convert(memory_unit(memory, unit), &cursor, numbers, true);
        if (error)
            return error;
        if (!memory->unchecked)
            object->checksum = crc32c(object->checksum, memory_unit(memory, unit), held);
    }
    tier_store_done(tier, op, 0);
    return 0;
}

static int int8_load(struct locus_tier *tier, struct locus_tier_op *op)
{
    const struct memory *memory = (struct memory *)tier;
    const struct object *object = tier_object(tier, op);
    struct tier_cursor cursor = tier_cursor(op);
    uint32_t unit = object->first, checksum = 0;
    int error = 0;
    for (uint64_t left = op->bytes / NUMBER, numbers, held; left > 0; left -= numbers, unit = tier->objects.next[unit]) {
        numbers = share(tier, left, &held);
        if (!memory->unchecked)
            checksum = crc32c(checksum, memory_unit(memory, unit), held);
        error = error ? error : unit_convert(memory_unit(memory, unit), &cursor, numbers, false);
    }
    tier_load_done(tier, op, checksum != object->checksum ? -EBADMSG : error);
    return 0;
}

static const struct tier_kind int8_kind = {
    .units = int8_units,
    .store = int8_store,
    .load = int8_load,
    .drop = memory_drop,
    .poll = memory_poll,
    .check = memory_check,
    .close = memory_close,
    .numbers = true,
};

int locus_tier_int8_open(struct locus_tier **out, const struct locus_tier_far_config *config)
{
    return memory_open(out, config, &int8_kind);
}
