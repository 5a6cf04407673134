// SPDX-License-Identifier: Apache-2.0
//
// decoded: see decoded.h. A floor is an arm's own: it reads the blocks where that arm put them, and appends as that arm does.
#include "testbed/judge/decoded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testbed/decode/act.h"

bool tb_decodes(const struct tb_rounds *rounds, uint32_t cell)
{
    return rounds->cells[cell].touch == TB_TOUCH_DECODE && rounds->cells[cell].schedule;
}

double tb_tokens_per_s(const struct tb_rounds *rounds, uint32_t cell, double ns)
{
    if (!tb_decodes(rounds, cell) || !(ns > 0) || rounds->cells[cell].schedule->decoded_tokens == 0)
        return NAN;
    return (double)rounds->cells[cell].schedule->decoded_tokens / ns * 1e9;
}

const struct tb_decode_sample *tb_decoded_by(const struct tb_rounds *rounds, uint32_t cell)
{
    for (uint32_t arm = 0; arm < rounds->arms_count && tb_decodes(rounds, cell); arm++)
        for (uint32_t round = 0; round < rounds->count; round++) {
            const struct tb_decode_sample *decode = &tb_rounds_sample(rounds, cell, arm, round)->decode;
            if (decode->kernel[0])
                return decode;
        }
    return NULL;
}

const struct tb_act *tb_arm_act(const struct tb_arm *arm)
{
    const struct tb_act *act = arm->fault == TB_FAULT_ACT ? tb_act_find(arm->act) : NULL;
    return act && act == tb_act_at(0) ? NULL : act;
}

int tb_own_floor(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    double least = INFINITY;
    int found = -1;
    for (uint32_t other = 0; other < rounds->arms_count && rounds->arms[arm].fault == TB_FAULT_NONE; other++) {
        const struct tb_act *act = tb_arm_act(&rounds->arms[other]);
        char label[sizeof rounds->arms[other].label + sizeof rounds->arms[other].act + 1];
        struct tb_row row;
        if (!act || !act->floor)
            continue;
        snprintf(label, sizeof label, "%s@%s", rounds->arms[arm].label, act->name);
        if (strcmp(label, rounds->arms[other].label) != 0)
            continue;
        tb_row_alone(rounds, cell, other, &row);
        if (!row.valid || !(row.ns_median < least))
            continue;
        least = row.ns_median;
        found = (int)other;
    }
    return found;
}
