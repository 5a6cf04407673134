// SPDX-License-Identifier: Apache-2.0
//
// decoded: see decoded.h. A floor is an arm's own: it reads the blocks where that arm put them, and appends as that arm does.
#include "testbed/judge/decoded.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static const struct tb_decode_sample *decoded_by(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_decode_sample *decode = &tb_rounds_sample(rounds, cell, arm, round)->decode;
        if (decode->kernel[0])
            return decode;
    }
    return NULL;
}

const struct tb_decode_sample *tb_decoded_by_itself(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    const struct tb_act *act = tb_decodes(rounds, cell) ? tb_arm_act(&rounds->arms[arm]) : NULL;
    return act && act->kernel ? decoded_by(rounds, cell, arm) : NULL;
}

const struct tb_decode_sample *tb_decoded_by(const struct tb_rounds *rounds, uint32_t cell)
{
    for (uint32_t arm = 0; arm < rounds->arms_count && tb_decodes(rounds, cell); arm++) {
        const struct tb_decode_sample *decode = tb_decoded_by_itself(rounds, cell, arm) ? NULL : decoded_by(rounds, cell, arm);
        if (decode)
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
    double most = 0;
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
        if (!row.valid || !(row.ns_median > most))
            continue;
        most = row.ns_median;
        found = (int)other;
    }
    return found;
}

// --- pace ----------------------------------------------------------------------------------------------------------------------

enum { ATTENDS, STREAMS, APPENDS, ARMS };

const char *tb_pace_arm(const char *name, size_t i, char *out, size_t bytes)
{
    static const char *const acts[ARMS] = {[ATTENDS] = "", [STREAMS] = "@stream", [APPENDS] = "@no-attend"};
    if (i >= ARMS)
        return NULL;
    snprintf(out, bytes, "%s%s", name, acts[i]);
    return out;
}

static int arms_find(const struct tb_rounds *rounds, uint32_t cell, const char *name, int found[ARMS], struct tb_pace *out)
{
    char label[sizeof rounds->arms->label];
    for (size_t i = 0; i < ARMS; i++) {
        struct tb_row row;
        found[i] = tb_rounds_arm(rounds, tb_pace_arm(name, i, label, sizeof label));
        if (found[i] < 0)
            return -EINVAL;
        tb_row_alone(rounds, cell, (uint32_t)found[i], &row);
        if (!row.valid && out->invalid < 0)
            out->invalid = found[i];
        if (row.valid && row.noise && i != APPENDS && out->noisy < 0) // that one is short beside the others
            out->noisy = found[i];
    }
    return out->invalid < 0 ? 0 : -EINVAL;
}

// K and V of a token: blocks hold nothing else.
static uint64_t bytes_per_lap(const struct tb_rounds *rounds, uint32_t cell)
{
    const struct tb_schedule *schedule = rounds->cells[cell].schedule;
    return schedule->block_tokens ? schedule->attended_per_lap * schedule->blocks_per_group *
                                        (tb_rounds_block_bytes(rounds, cell) / schedule->block_tokens)
                                  : 0;
}

// The median of `with` less `without`, in picoseconds for each byte.
static int pace_of(const double with[], const double without[], uint32_t count, uint64_t bytes, struct tb_ratio *out)
{
    double *ps = calloc(count + (size_t)1, sizeof *ps);
    if (!ps)
        return -ENOMEM;
    for (uint32_t round = 0; round < count; round++)
        ps[round] = (with[round] - without[round]) * 1000 / (double)bytes;
    int error = tb_median_sign(ps, count, TB_PACE_CONFIDENCE, out);
    free(ps);
    return error == -EINVAL || (!error && !(out->bounded && out->low > 0)) ? -ERANGE : error;
}

int tb_pace(const struct tb_rounds *rounds, uint32_t cell, const char *name, struct tb_pace *out)
{
    double *times[ARMS] = {NULL};
    int found[ARMS];
    *out = (struct tb_pace){.invalid = -1, .noisy = -1};
    if (!tb_decodes(rounds, cell) || rounds->cells[cell].schedule->steps_per_lap == 0 || bytes_per_lap(rounds, cell) == 0)
        return -EINVAL;
    out->step_bytes = bytes_per_lap(rounds, cell) / rounds->cells[cell].schedule->steps_per_lap;
    int error = arms_find(rounds, cell, name, found, out);
    for (size_t i = 0; i < ARMS && !error; i++) {
        times[i] = tb_times(rounds, cell, (uint32_t)found[i], TB_LAP);
        error = times[i] ? 0 : -ENOMEM;
    }
    if (!error)
        error = pace_of(times[ATTENDS], times[APPENDS], rounds->count, bytes_per_lap(rounds, cell), &out->read_ps);
    if (!error)
        error = pace_of(times[STREAMS], times[APPENDS], rounds->count, bytes_per_lap(rounds, cell), &out->floor_ps);
    for (size_t i = 0; i < ARMS; i++)
        free(times[i]);
    return error;
}
