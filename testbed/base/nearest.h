// SPDX-License-Identifier: Apache-2.0
//
// nearest: which known word did the user mean?
#ifndef TB_NEAREST_H
#define TB_NEAREST_H

#include <stddef.h>

struct tb_nearest {
    const char *word;           // as it was typed
    const char *best;           // of the words tried so far; NULL: none is near enough
    unsigned distance;
};

void tb_nearest_try(struct tb_nearest *nearest, const char *name);

// ", did you mean 'NAME'?" with `prefix` before the name, or "". Returns `out`.
const char *tb_nearest_say(const struct tb_nearest *nearest, const char *prefix, char *out, size_t bytes);

#endif
