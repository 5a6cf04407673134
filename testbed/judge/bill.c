// SPDX-License-Identifier: Apache-2.0
//
// bill: see bill.h. Each line is a sum of arms' times with signs, so all lines are worked out alike: what counts for it less what
// counts against it, round by round.
#include "testbed/judge/bill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/decode/act.h"
#include "testbed/judge/decoded.h"
#include "testbed/measure/contender.h"

enum { NAMED, NO_ATTEND, NO_APPEND, NOTHING, ORACLE, NEEDED, NO_DRAIN = NEEDED, NO_FREE, FIRST_TOUCH, SMALL_PAGES, ARMS };

static const int signs[TB_BILL_LINES][ARMS] = {
    [TB_BILL_ATTENTION] = {[NAMED] = 1, [NO_ATTEND] = -1},
    [TB_BILL_APPEND] = {[NAMED] = 1, [NO_APPEND] = -1},
    [TB_BILL_ALLOCATOR] = {[NOTHING] = 1, [ORACLE] = -1},
    [TB_BILL_ALLOCATE] = {[NO_FREE] = 1, [ORACLE] = -1},
    [TB_BILL_FREE] = {[NO_DRAIN] = 1, [NO_FREE] = -1},
    [TB_BILL_DRAIN] = {[NOTHING] = 1, [NO_DRAIN] = -1},
    [TB_BILL_HARNESS] = {[ORACLE] = 1},
    [TB_BILL_SUM] = {[NAMED] = 2, [NO_ATTEND] = -1, [NO_APPEND] = -1, [NOTHING] = 1},
    [TB_BILL_WHOLE] = {[NAMED] = 1},
    [TB_BILL_SMALL_PAGES] = {[SMALL_PAGES] = 1, [NAMED] = -1},
    [TB_BILL_FIRST_TOUCH] = {[FIRST_TOUCH] = 1, [NO_ATTEND] = -1},
};
static const int free_and_drain[ARMS] = {[NOTHING] = 1, [NO_FREE] = -1};

static const char *const acts[ARMS] = {
    [NO_ATTEND] = "no-attend", [NO_APPEND] = "no-append", [NOTHING] = "nothing",
    [NO_DRAIN] = "no-drain",   [NO_FREE] = "no-free",     [FIRST_TOUCH] = "first-touch",
};

static void label_make(const char *name, size_t which, char *out, size_t bytes)
{
    if (which == ORACLE || which == SMALL_PAGES)
        snprintf(out, bytes, "%s", which == ORACLE ? "oracle@nothing" : "locus-4k");
    else
        snprintf(out, bytes, acts[which] ? "%s@%s" : "%s", name, acts[which]);
}

static bool arm_possible(const struct tb_arm *named, size_t which)
{
    char why[200];
    if (which == SMALL_PAGES)
        return strcmp(named->label, "locus") == 0;
    return !acts[which] || tb_act_possible(named->contender, tb_act_find(acts[which]), why, sizeof why);
}

bool tb_bill_arm(const struct tb_arm *named, size_t i, char *out, size_t bytes)
{
    for (size_t which = 0; which < ARMS; which++)
        if (arm_possible(named, which) && i-- == 0) {
            label_make(named->label, which, out, bytes);
            return true;
        }
    return false;
}

const char *tb_bill_word(enum tb_bill_line line)
{
    static const char *const words[] = {
        [TB_BILL_ATTENTION] = "attention",
        [TB_BILL_APPEND] = "append",
        [TB_BILL_ALLOCATOR] = "allocator",
        [TB_BILL_ALLOCATE] = "allocate",
        [TB_BILL_FREE] = "free",
        [TB_BILL_DRAIN] = "drain",
        [TB_BILL_HARNESS] = "harness",
        [TB_BILL_SUM] = "sum",
        [TB_BILL_WHOLE] = "step",
        [TB_BILL_SMALL_PAGES] = "small_pages",
        [TB_BILL_FIRST_TOUCH] = "first_touch",
    };
    return words[line];
}

bool tb_bill_told(const struct tb_bill_figure *figure)
{
    const struct tb_ratio *ns = &figure->ns, *share = &figure->share;
    return ns->bounded && ((ns->low > 0 && share->low > 0) || (ns->high < 0 && share->high < 0));
}

enum tb_bill_closing tb_bill_closing(const struct tb_bill *bill)
{
    const struct tb_bill_figure *sum = &bill->line[TB_BILL_SUM];
    const double least = 1 - TB_BILL_GAP_MAX, most = 1 + TB_BILL_GAP_MAX;
    if (!sum->known || !sum->share.bounded)
        return TB_BILL_OPEN;
    if (sum->share.high < least || sum->share.low > most)
        return TB_BILL_MISSES;
    return sum->share.low >= least && sum->share.high <= most ? TB_BILL_CLOSES : TB_BILL_OPEN;
}

// Of one line in one round, in ns of a lap.
static void round_sum(double *const times[ARMS], const int sign[ARMS], uint32_t round, double *against, double *for_it)
{
    *against = *for_it = 0;
    for (int i = 0; i < ARMS; i++)
        if (sign[i])
            *(sign[i] > 0 ? for_it : against) += abs(sign[i]) * times[i][round];
}

static bool line_known(double *const times[ARMS], const int sign[ARMS])
{
    for (int i = 0; i < ARMS; i++)
        if (sign[i] && !times[i])
            return false;
    return true;
}

// less, more: room for a number of each round.
static void line_make(double *const times[ARMS], const int sign[ARMS], uint32_t count, double steps, double *less, double *more,
                      struct tb_bill_figure *out)
{
    if (!line_known(times, sign))
        return;
    for (uint32_t round = 0; round < count; round++) {
        round_sum(times, sign, round, &less[round], &more[round]);
        less[round] /= steps;
        more[round] /= steps;
    }
    int error = tb_difference(less, more, count, TB_CONFIDENCE, &out->ns);
    for (uint32_t round = 0; round < count; round++) {
        less[round] /= times[NAMED][round] / steps;
        more[round] /= times[NAMED][round] / steps;
    }
    out->known = !error && tb_difference(less, more, count, TB_CONFIDENCE, &out->share) == 0;
}

static bool arms_find(const struct tb_rounds *rounds, uint32_t name, int found[ARMS])
{
    const struct tb_arm *arm = &rounds->arms[name];
    char label[sizeof arm->label + 16];
    if (arm->fault != TB_FAULT_NONE || tb_twin(rounds, name) >= 0)
        return false;
    for (size_t i = 0; i < ARMS; i++) {
        label_make(arm->label, i, label, sizeof label);
        found[i] = i != SMALL_PAGES || strcmp(arm->label, "locus") == 0 ? tb_rounds_arm(rounds, label) : -1;
    }
    for (size_t i = 0; i < NEEDED; i++)
        if (found[i] < 0)
            return false;
    return true;
}

// The row of one that may be missing need not be valid: then its line is not known.
static void arms_judge(const struct tb_rounds *rounds, uint32_t cell, int found[ARMS], struct tb_bill *out)
{
    for (size_t i = 0; i < ARMS; i++) {
        struct tb_row row;
        if (found[i] < 0)
            continue;
        tb_row_alone(rounds, cell, (uint32_t)found[i], &row);
        if (!row.valid && i < NEEDED && out->invalid < 0)
            out->invalid = found[i];
        if (row.valid && row.noise && out->noisy < 0)
            out->noisy = found[i];
        found[i] = row.valid ? found[i] : -1;
    }
}

bool tb_bill(const struct tb_rounds *rounds, uint32_t cell, uint32_t name, struct tb_bill *out)
{
    double *times[ARMS] = {NULL}, *less = NULL, *more = NULL;
    int found[ARMS];
    *out = (struct tb_bill){.noisy = -1, .invalid = -1};
    if (!tb_decodes(rounds, cell) || rounds->cells[cell].schedule->steps_per_lap == 0 || !arms_find(rounds, name, found))
        return false;
    bool drains = found[NO_DRAIN] >= 0;
    arms_judge(rounds, cell, found, out);
    if (out->invalid >= 0)
        return true;
    less = calloc(rounds->count + (size_t)1, sizeof *less);
    more = calloc(rounds->count + (size_t)1, sizeof *more);
    for (size_t i = 0; i < ARMS; i++)
        times[i] = found[i] >= 0 ? tb_times(rounds, cell, (uint32_t)found[i], TB_LAP) : NULL;
    for (int line = 0; line < TB_BILL_LINES && less && more; line++)
        line_make(times, line == TB_BILL_FREE && !drains ? free_and_drain : signs[line], rounds->count,
                  (double)rounds->cells[cell].schedule->steps_per_lap, less, more, &out->line[line]);
    for (size_t i = 0; i < ARMS; i++)
        free(times[i]);
    free(less);
    free(more);
    return true;
}
