// SPDX-License-Identifier: Apache-2.0
//
// value: the types that K and V are kept in. Sums are always of floats.
#ifndef TB_VALUE_H
#define TB_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tb_value {
    TB_VALUE_F32,
    TB_VALUE_F16,
    TB_VALUE_BF16,
    TB_VALUES_COUNT,
};

const char *tb_value_name(enum tb_value value); // "f32", "f16", "bf16"
bool tb_value_parse(const char *text, enum tb_value *out);

static inline size_t tb_value_bytes(enum tb_value value)
{
    return value == TB_VALUE_F32 ? 4 : 2;
}

// One value of memory as a float, and a float to the nearest value, ties to even. No NaN is stored.
float tb_value_load(enum tb_value value, const void *from);
void tb_value_store(enum tb_value value, void *to, float number);

#endif
