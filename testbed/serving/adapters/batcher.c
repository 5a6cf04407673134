// SPDX-License-Identifier: Apache-2.0
//
// batcher: the list of all; see batcher.h.

#include "testbed/serving/adapters/batcher.h"

#include <stddef.h>
#include <string.h>

static const struct tb_batcher *const batchers[] = {&tb_batcher_seed, &tb_batcher_fifo, &tb_batcher_robin, &tb_batcher_oldest};

const struct tb_batcher *tb_batcher_at(uint32_t i)
{
    return i < sizeof batchers / sizeof *batchers ? batchers[i] : NULL;
}

const struct tb_batcher *tb_batcher_find(const char *name)
{
    uint32_t i = 0;
    while (tb_batcher_at(i) && strcmp(tb_batcher_at(i)->name, name))
        i++;
    return tb_batcher_at(i);
}
