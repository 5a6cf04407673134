// SPDX-License-Identifier: Apache-2.0
//
// bill: see bill.h. Each line is a sum of arms' times or counts with signs, so all lines are worked out alike: what counts for it
// less what counts against it, round by round.
#include "testbed/judge/bill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/counters.h"
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

const char *tb_bill_counter(enum tb_bill_count count)
{
    static const char *const names[] = {
        [TB_BILL_CYCLES] = "cycles", [TB_BILL_TLB_MISSES] = "dtlb_misses", [TB_BILL_PAGE_FAULTS] = "page_faults"};
    return names[count];
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

// What a line is made of: of each arm a number for each round, of `steps` steps, or NULL; and room for sums of them.
struct sums {
    uint32_t count; // of rounds
    double *of[ARMS];
    double steps;
    double *less, *more;
};

// Of one line, of a step, into less and more. false: it has an arm without numbers.
static bool line_sum(struct sums *sums, const int sign[ARMS])
{
    for (int i = 0; i < ARMS; i++)
        if (sign[i] && !sums->of[i])
            return false;
    for (uint32_t round = 0; round < sums->count; round++) {
        double *less = &sums->less[round], *more = &sums->more[round];
        *less = *more = 0;
        for (int i = 0; i < ARMS; i++)
            if (sign[i])
                *(sign[i] > 0 ? more : less) += abs(sign[i]) * sums->of[i][round] / sums->steps;
    }
    return true;
}

static void line_make(struct sums *times, const int sign[ARMS], struct tb_bill_figure *out)
{
    double *less = times->less, *more = times->more, steps = times->steps;
    uint32_t count = times->count;
    if (!line_sum(times, sign))
        return;
    int error = tb_difference(less, more, count, TB_CONFIDENCE, &out->ns);
    for (uint32_t round = 0; round < count; round++) {
        less[round] /= times->of[NAMED][round] / steps;
        more[round] /= times->of[NAMED][round] / steps;
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

// What was counted in the metered laps of each round; NULL: not in every one, or the hardware was shared.
static double *counts_of(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, const char *name)
{
    int at = rounds->counters ? tb_counters_find(rounds->counters, name) : -1;
    double *counts = at < 0 ? NULL : malloc((rounds->count + (size_t)1) * sizeof *counts);
    for (uint32_t round = 0; counts && round < rounds->count; round++) {
        const struct tb_counter_value *value = &tb_rounds_sample(rounds, cell, arm, round)->counters[at];
        if (value->error || value->enabled_ns == 0 || value->running_ns < value->enabled_ns) {
            free(counts);
            return NULL;
        }
        counts[round] = (double)value->value;
    }
    return counts;
}

static const int *signs_of(int line, bool drains)
{
    return line == TB_BILL_FREE && !drains ? free_and_drain : signs[line];
}

static void sums_close(struct sums *sums)
{
    for (size_t i = 0; i < ARMS; i++)
        free(sums->of[i]);
    free(sums->less);
    free(sums->more);
}

// Of the times of laps (name: NULL), or of a counter. false: out of memory.
static bool sums_open(const struct tb_rounds *rounds, uint32_t cell, const int found[ARMS], const char *name, struct sums *out)
{
    double steps = (double)rounds->cells[cell].schedule->steps_per_lap;
    *out = (struct sums){.count = rounds->count, .steps = name ? steps * rounds->cells[cell].laps_metered : steps};
    out->less = calloc(rounds->count + (size_t)1, sizeof *out->less);
    out->more = calloc(rounds->count + (size_t)1, sizeof *out->more);
    for (size_t i = 0; i < ARMS; i++)
        if (found[i] >= 0)
            out->of[i] =
                name ? counts_of(rounds, cell, (uint32_t)found[i], name) : tb_times(rounds, cell, (uint32_t)found[i], TB_LAP);
    return out->less && out->more;
}

static void cycles_tell(const struct tb_rounds *rounds, uint32_t cell, struct tb_bill *bill)
{
    int at = rounds->counters ? tb_counters_find(rounds->counters, tb_bill_counter(TB_BILL_CYCLES)) : -1;
    if (at < 0 || rounds->cells[cell].laps_metered == 0)
        return;
    const struct tb_counter *cycles = &rounds->counters->counter[at];
    bool counted = bill->line[TB_BILL_WHOLE].counted[TB_BILL_CYCLES];
    bill->user_only = counted && cycles->attr.exclude_kernel;
    bill->uncounted = counted ? NULL : cycles->why[0] ? cycles->why : "not in every round, or by hardware that was shared";
}

bool tb_bill(const struct tb_rounds *rounds, uint32_t cell, uint32_t name, struct tb_bill *out)
{
    struct sums sums;
    int found[ARMS];
    *out = (struct tb_bill){.noisy = -1, .invalid = -1};
    if (!tb_decodes(rounds, cell) || rounds->cells[cell].schedule->steps_per_lap == 0 || !arms_find(rounds, name, found))
        return false;
    bool drains = found[NO_DRAIN] >= 0;
    arms_judge(rounds, cell, found, out);
    if (out->invalid >= 0)
        return true;
    if (sums_open(rounds, cell, found, NULL, &sums))
        for (int line = 0; line < TB_BILL_LINES; line++)
            line_make(&sums, signs_of(line, drains), &out->line[line]);
    sums_close(&sums);
    for (int c = 0; c < TB_BILL_COUNTS; c++) {
        if (sums_open(rounds, cell, found, tb_bill_counter((enum tb_bill_count)c), &sums))
            for (int line = 0; line < TB_BILL_LINES; line++)
                out->line[line].counted[c] =
                    line_sum(&sums, signs_of(line, drains)) &&
                    tb_difference(sums.less, sums.more, sums.count, TB_CONFIDENCE, &out->line[line].count[c]) == 0;
        sums_close(&sums);
    }
    cycles_tell(rounds, cell, out);
    return true;
}
