// SPDX-License-Identifier: Apache-2.0
//
// no-drain, no-free, first-touch: a step without a part of what the allocator does, or with more of it. The blocks are not read.
// What these leave out of a lap is done after it, so that each lap begins as that of `nothing` does.

#include "testbed/decode/acts/acts.h"

const struct tb_act tb_act_no_drain = {
    .name = "no-drain",
    .summary = "as nothing, but what comes home in a lap is drained after it",
    .drains_late = true,
};

// What was not sent home cannot be drained.
const struct tb_act tb_act_no_free = {
    .name = "no-free",
    .summary = "as nothing, but what ends in a lap is retired and drained after it",
    .drains_late = true,
    .frees_late = true,
};

const struct tb_act tb_act_first_touch = {
    .name = "first-touch",
    .summary = "as no-attend, on a pool that has no pages when a lap begins",
    .appends = true,
    .touches_first = true,
};
