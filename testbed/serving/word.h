// SPDX-License-Identifier: Apache-2.0
//
// word: a word of a cell that is a number with letters before or after it.
#ifndef TB_SERVING_WORD_H
#define TB_SERVING_WORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A whole number before or after letters: "1000b", "first6000". False: it is not, or *out has one already.
static inline bool tb_word_whole(const char *word, const char *before, const char *after, uint32_t most, uint32_t *out)
{
    size_t length = strlen(before);
    char *end;
    if (*out || strncmp(word, before, length) || word[length] < '1' || word[length] > '9')
        return false;
    unsigned long long number = strtoull(word + length, &end, 10);
    if (strcmp(end, after) || number > most)
        return false;
    *out = (uint32_t)number;
    return true;
}

#endif
