// SPDX-License-Identifier: Apache-2.0
//
// word: a word of a cell that is a number with letters before or after it.
#ifndef TB_SERVING_WORD_H
#define TB_SERVING_WORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "testbed/base/cli.h"

// A whole number before or after letters, without zeros before it: "1000b", "first6000". False: it is not, or *out has one already.
static inline bool tb_word_whole(const char *word, const char *before, const char *after, uint32_t most, uint32_t *out)
{
    uint64_t number;
    if (*out || !tb_number_word(word, before, after, 1, most, &number) || word[strlen(before)] == '0')
        return false;
    *out = (uint32_t)number;
    return true;
}

#endif
