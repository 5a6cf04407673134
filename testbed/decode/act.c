// SPDX-License-Identifier: Apache-2.0
//
// act: the list of acts. See act.h.

#include "testbed/decode/act.h"

#include <math.h>

#include "testbed/decode/acts/acts.h"

static const struct tb_act *const acts[] = {
    &tb_act_attend,   &tb_act_no_attend, &tb_act_no_append,   &tb_act_nothing,   &tb_act_one_head_more,
    &tb_act_blocks,   &tb_act_stream,    &tb_act_cached,      &tb_act_gather,    &tb_act_cat,
    &tb_act_no_drain, &tb_act_no_free,   &tb_act_first_touch, &tb_act_torch_cat, &tb_act_torch_echo,
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

static bool head_close(double most, uint32_t head_dim, const float *ours, const float *theirs)
{
    double largest = 0, differs = 0;
    for (uint32_t i = 0; i < head_dim; i++) {
        double by = fabs((double)ours[i] - theirs[i]);
        largest = fmax(largest, fabs((double)ours[i]));
        differs = by <= differs ? differs : by; // also of no number
    }
    return differs <= most * largest;
}

bool tb_act_close(const struct tb_cache *cache, uint32_t roundoffs, uint32_t tokens, const float *ours, const float *theirs)
{
    static const double roundoff[] = {[TB_DTYPE_F32] = 0x1p-24, [TB_DTYPE_F16] = 0x1p-11, [TB_DTYPE_BF16] = 0x1p-8};
    double most = roundoffs * roundoff[cache->dtype] + tokens * roundoff[TB_DTYPE_F32];
    size_t head_dim = cache->shape.head_dim;
    for (size_t head = 0; head < cache->shape.heads; head++)
        if (!head_close(most, cache->shape.head_dim, ours + head * head_dim, theirs + head * head_dim))
            return false;
    return true;
}
