// SPDX-License-Identifier: Apache-2.0
//
// slot: a member of a struct of figures by its name, so that one table makes the struct, its line in a log, and the metrics of
// predictions. The tables: serving/served.h, engine/result.h. Header only, because measured processes use it, too.
#ifndef TB_SLOT_H
#define TB_SLOT_H

#include <stddef.h>
#include <stdint.h>

struct tb_slot {
    const char *name, *unit, *what;
    uint16_t offset;            // in its struct
    uint8_t whole;              // a uint64_t, else a double
};

// A list of these ends with TB_SLOT_END.
#define TB_SLOT(object, type, member, unit, what)                                                                                  \
    {                                                                                                                              \
#member, unit, what, offsetof(object, member), _Generic((type)0, uint64_t : 1, default : 0)                                \
    }
#define TB_SLOT_END                                                                                                                \
    {                                                                                                                              \
        NULL, NULL, NULL, 0, 0                                                                                                     \
    }

static inline double tb_slot_get(const void *object, const struct tb_slot *slot)
{
    const char *at = (const char *)object + slot->offset;
    return slot->whole ? (double)*(const uint64_t *)(const void *)at : *(const double *)(const void *)at;
}

static inline void tb_slot_set(void *object, const struct tb_slot *slot, double value)
{
    char *at = (char *)object + slot->offset;
    if (slot->whole)
        *(uint64_t *)(void *)at = (uint64_t)value;
    else
        *(double *)(void *)at = value;
}

#endif
