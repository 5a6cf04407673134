// SPDX-License-Identifier: Apache-2.0
//
// result: see result.h.

#include "testbed/engine/result.h"

#include <stddef.h>

#define FIELD(type, member, unit, ratio, what)                                                                                     \
    {#member, unit, what, offsetof(struct tb_engined, member), _Generic((type)0, uint64_t : 1, default : 0)},
const struct tb_engined_field tb_engined_fields[] = {TB_ENGINED_FIELDS(FIELD){NULL, NULL, NULL, 0, 0}};
#undef FIELD

double tb_engined_get(const struct tb_engined *engined, const struct tb_engined_field *field)
{
    const char *at = (const char *)engined + field->offset;
    return field->whole ? (double)*(const uint64_t *)(const void *)at : *(const double *)(const void *)at;
}

void tb_engined_set(struct tb_engined *engined, const struct tb_engined_field *field, double value)
{
    char *at = (char *)engined + field->offset;
    if (field->whole)
        *(uint64_t *)(void *)at = (uint64_t)value;
    else
        *(double *)(void *)at = value;
}
