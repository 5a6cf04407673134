// SPDX-License-Identifier: Apache-2.0
//
// act: the list of acts. See act.h.

#include "testbed/decode/act.h"

#include "testbed/decode/acts/acts.h"

static const struct tb_act *const acts[] = {
    &tb_act_attend,   &tb_act_no_attend, &tb_act_no_append,   &tb_act_nothing, &tb_act_one_head_more,
    &tb_act_blocks,   &tb_act_stream,    &tb_act_cached,      &tb_act_gather,  &tb_act_cat,
    &tb_act_no_drain, &tb_act_no_free,   &tb_act_first_touch,
};

const struct tb_act *tb_act_at(size_t i)
{
    return i < sizeof acts / sizeof *acts ? acts[i] : NULL;
}

const struct tb_act *tb_act_find(const char *name)
{
    for (size_t i = 0; tb_act_at(i); i++)
        if (strcmp(acts[i]->name, name) == 0)
            return acts[i];
    return NULL;
}
