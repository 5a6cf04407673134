// SPDX-License-Identifier: Apache-2.0
//
// bits: a set of numbers, in which the next one from any number on is found in O(log64 limit) steps. Not installed.
//
// A bitmap, and over it bitmaps of which words are not empty, up to one word: at most four levels for 2^24 numbers. (The shape of
// van Emde Boas's trees with fixed words of 64; two bits of memory a number.)
#ifndef LOCUS_PAGES_BITS_H
#define LOCUS_PAGES_BITS_H

#include <stdint.h>

#define BITS_NONE UINT32_MAX
#define BITS_LEVELS 5u          // 64^5 > 2^24 + 1

struct bits {
    unsigned levels;
    uint32_t words[BITS_LEVELS];
    uint64_t *level[BITS_LEVELS]; // level[0] has the numbers
};

int bits_open(struct bits *bits, uint32_t limit); // for 0 .. limit - 1. 0 or -ENOMEM; close it in both cases
void bits_close(struct bits *bits);
void bits_set(struct bits *bits, uint32_t number);
void bits_clear(struct bits *bits, uint32_t number);
uint32_t bits_next(const struct bits *bits, uint32_t from); // the lowest number >= from, or BITS_NONE. pre: from < limit
uint32_t bits_last(const struct bits *bits);                // the highest, or BITS_NONE

#endif
