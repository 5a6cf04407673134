// SPDX-License-Identifier: Apache-2.0
//
// nearest: the optimal string alignment distance, which counts letters that are missing, extra, wrong or swapped with a
// neighbour. A name is near if at most every third letter would have to change, or if the word is a prefix of it.

#include "testbed/base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LETTERS_MAX = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

// Fills the table over both words row by row; a swap looks back two rows.
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][LETTERS_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > LETTERS_MAX || b_length > LETTERS_MAX)
        return LETTERS_MAX;
    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_length];
}

void tb_nearest_try(struct tb_nearest *nearest, const char *name)
{
    size_t length = strlen(nearest->word);
    bool begins = length > 2 && strncmp(name, nearest->word, length) == 0;
    unsigned letters = begins ? 1 : distance(nearest->word, name);
    if (letters > (length + 1) / 3 || (nearest->best && letters >= nearest->distance))
        return;
    nearest->best = name;
    nearest->distance = letters;
}

const char *tb_nearest_say(const struct tb_nearest *nearest, const char *prefix, char *out, size_t bytes)
{
    out[0] = '\0';
    if (nearest->best)
        snprintf(out, bytes, ", did you mean '%s%s'?", prefix, nearest->best);
    return out;
}
