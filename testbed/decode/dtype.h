// SPDX-License-Identifier: Apache-2.0
//
// dtype: the types that K and V are kept in. Sums are always of floats.
#ifndef TB_DTYPE_H
#define TB_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tb_dtype {
    TB_DTYPE_F32,
    TB_DTYPE_F16,
    TB_DTYPE_BF16,
    TB_DTYPES_COUNT,
};

const char *tb_dtype_name(enum tb_dtype dtype); // "f32", "f16", "bf16"
bool tb_dtype_parse(const char *text, enum tb_dtype *out);

static inline size_t tb_dtype_bytes(enum tb_dtype dtype)
{
    return dtype == TB_DTYPE_F32 ? 4 : 2;
}

// One value of memory as a float, and a float to the nearest value, ties to even. No NaN is stored.
float tb_dtype_load(enum tb_dtype dtype, const void *from);
void tb_dtype_store(enum tb_dtype dtype, void *to, float number);

#endif
