// SPDX-License-Identifier: Apache-2.0
//
// acts: the list is in act.c (../act.h).
#ifndef TB_ACTS_H
#define TB_ACTS_H

#include "testbed/decode/act.h"

extern const struct tb_act tb_act_attend, tb_act_no_attend, tb_act_no_append, tb_act_nothing, tb_act_one_head_more, tb_act_blocks,
    tb_act_stream, tb_act_cached, tb_act_gather, tb_act_cat, tb_act_no_drain, tb_act_no_free, tb_act_first_touch, tb_act_torch_cat,
    tb_act_torch_echo;

extern unsigned tb_torch_seconds; // as long may PyTorch be silent. A test shortens it

#endif
