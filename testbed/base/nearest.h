// SPDX-License-Identifier: Apache-2.0
//
// nearest: which of the words that there are may somebody have meant?
#ifndef TB_NEAREST_H
#define TB_NEAREST_H

#include <stddef.h>

struct tb_nearest {
    const char *word;           // as it was typed
    const char *best;           // of those that were tried, or NULL: none is near enough
    unsigned distance;
};

void tb_nearest_try(struct tb_nearest *nearest, const char *name);

// ", did you mean 'NAME'?" with `prefix` before the name, or "". Returns `out`.
const char *tb_nearest_say(const struct tb_nearest *nearest, const char *prefix, char *out, size_t bytes);

#endif
