// SPDX-License-Identifier: Apache-2.0
//
// attend, no-attend, no-append: the step as it is, and without one of its parts.

#include "testbed/decode/acts/acts.h"

static void attend(void *own, const struct tb_step_layer *layer)
{
    (void)own;
    tb_attend(layer->attention, layer->layer, layer->sequences, layer->count, layer->q, layer->out);
}

const struct tb_act tb_act_attend = {
    .name = "attend",
    .summary = "appends, and attends over all tokens",
    .appends = true,
    .attends = true,
    .read = attend,
};

const struct tb_act tb_act_no_attend = {
    .name = "no-attend",
    .summary = "appends, and reads nothing",
    .appends = true,
};

const struct tb_act tb_act_no_append = {
    .name = "no-append",
    .summary = "attends over whatever the blocks hold, and writes nothing",
    .read = attend,
};
