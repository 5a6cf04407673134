// SPDX-License-Identifier: Apache-2.0
//
// can_admit: seed 001's admission asks whether the pages of the whole sequence are free, and reserves none of them: only those of
// the prompt are taken. Two admissions pass on the same pages, and later one of them is refused what it was admitted with.

#include <errno.h>

#include "testbed/strategies/seeds/pages.h"

static int can_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct seed_pages *all = state;
    *cached = 0;
    if (seed_pages_for(all, most) > all->free_count)
        return seed_pages_for(all, most) > all->pages ? -ENOSPC : -EAGAIN;
    return seed_admit(all, sequence, prompt, most, cached);
}

static const struct tb_strategy_ops ops = {
    .open = seed_open,
    .close = seed_close,
    .admit = can_admit,
    .extend = seed_extend,
    .cut = seed_cut,
    .release = seed_release,
    .at = seed_at,
    .usage = seed_usage,
    .audit = seed_audit,
};

static const struct tb_strategy admits = {.name = "seed-can-admit",
                                          .summary = "seed 001: admits on pages that it does not reserve",
                                          .ops = &ops,
                                          .promises = true,
                                          .trap = true};
TB_STRATEGY(admits);
