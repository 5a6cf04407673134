// SPDX-License-Identifier: Apache-2.0
//
// attend, no-attend, no-append, nothing: the step as it is, without one of its parts, and without both. one-head-more: a fault, to
// see that it is noticed.

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

const struct tb_act tb_act_nothing = {
    .name = "nothing",
    .summary = "neither appends nor reads: blocks are taken, retired and drained",
};

// As a kernel would that goes one KV head too far: the first tile of the first sequence is read once more.
static void attend_and_more(void *own, const struct tb_step_layer *layer)
{
    attend(own, layer);
    tb_attend_head_again(layer->attention, layer->layer, &layer->sequences[0]);
}

const struct tb_act tb_act_one_head_more = {
    .name = "one-head-more",
    .summary = "a fault: attends, and reads one tile of a head twice",
    .appends = true,
    .attends = true,
    .read = attend_and_more,
};
