// SPDX-License-Identifier: Apache-2.0
//
// strategy: the list that the linker keeps, by name.

#include "testbed/strategies/strategy.h"

#include <string.h>

extern const struct tb_strategy *const __start_tb_strategies[] __attribute__((weak));
extern const struct tb_strategy *const __stop_tb_strategies[] __attribute__((weak));

// The smallest name greater than `after`: the linker's order is that of the files on its command line.
static const struct tb_strategy *next(const char *after)
{
    const struct tb_strategy *found = NULL;
    for (const struct tb_strategy *const *entry = __start_tb_strategies; entry < __stop_tb_strategies; entry++)
        if (strcmp((*entry)->name, after) > 0 && (!found || strcmp((*entry)->name, found->name) < 0))
            found = *entry;
    return found;
}

const struct tb_strategy *tb_strategy_at(size_t i)
{
    const struct tb_strategy *strategy = next("");
    for (; strategy && i > 0; i--)
        strategy = next(strategy->name);
    return strategy;
}

const struct tb_strategy *tb_strategy_find(const char *name)
{
    for (const struct tb_strategy *const *entry = __start_tb_strategies; entry < __stop_tb_strategies; entry++)
        if (strcmp((*entry)->name, name) == 0)
            return *entry;
    return NULL;
}
