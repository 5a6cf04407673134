// SPDX-License-Identifier: Apache-2.0
//
// number: see number.h.
#include "testbed/base/number.h"

#include <string.h>

bool tb_number_take(const char **at, uint64_t most, uint64_t *out)
{
    const char *digit = *at;
    uint64_t value = 0;
    if (most > INT64_MAX)
        most = INT64_MAX;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t more = (uint64_t)(*digit - '0');
        if (more > most || value > (most - more) / 10)
            return false;
        value = value * 10 + more;
    }
    if (digit == *at)
        return false;
    *at = digit;
    *out = value;
    return true;
}

bool tb_number_word(const char *text, const char *before, const char *after, uint64_t least, uint64_t most, uint64_t *out)
{
    size_t length = strlen(before);
    const char *at = text + length;
    uint64_t value;
    if (strncmp(text, before, length) || !tb_number_take(&at, most, &value) || strcmp(at, after) || value < least)
        return false;
    *out = value;
    return true;
}
