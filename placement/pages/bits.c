// SPDX-License-Identifier: Apache-2.0
//
// bits: see bits.h.
#include "bits.h"

#include <errno.h>
#include <stdlib.h>

int bits_open(struct bits *bits, uint32_t limit)
{
    *bits = (struct bits){0};
    uint64_t words = limit;
    do {
        words = (words + 63) / 64;
        bits->words[bits->levels] = (uint32_t)words;
        bits->level[bits->levels] = calloc(words, sizeof(uint64_t));
        if (!bits->level[bits->levels])
            return -ENOMEM;
        bits->levels++;
    } while (words > 1);
    return 0;
}

void bits_close(struct bits *bits)
{
    for (unsigned i = 0; i < BITS_LEVELS; i++)
        free(bits->level[i]);
    *bits = (struct bits){0};
}

void bits_set(struct bits *bits, uint32_t number)
{
    for (unsigned i = 0; i < bits->levels; i++, number /= 64)
        bits->level[i][number / 64] |= UINT64_C(1) << number % 64;
}

void bits_clear(struct bits *bits, uint32_t number)
{
    for (unsigned i = 0; i < bits->levels; i++, number /= 64)
        if (bits->level[i][number / 64] &= ~(UINT64_C(1) << number % 64))
            return;
}

// The lowest number below `number` of level `level`, which is not empty.
static uint32_t first_below(const struct bits *bits, unsigned level, uint32_t number)
{
    while (level-- > 0)
        number = number * 64 + (uint32_t)__builtin_ctzll(bits->level[level][number]);
    return number;
}

uint32_t bits_next(const struct bits *bits, uint32_t from)
{
    for (unsigned i = 0; i < bits->levels; i++) {
        uint64_t rest = bits->level[i][from / 64] >> from % 64;
        if (rest)
            return first_below(bits, i, from + (uint32_t)__builtin_ctzll(rest));
        from = from / 64 + 1;
        if (from >= bits->words[i])
            break;
    }
    return BITS_NONE;
}

uint32_t bits_last(const struct bits *bits)
{
    uint32_t number = 0;
    for (unsigned level = bits->levels; level-- > 0;) {
        uint64_t word = bits->level[level][number];
        if (!word)
            return BITS_NONE;
        number = number * 64 + 63 - (uint32_t)__builtin_clzll(word);
    }
    return number;
}
