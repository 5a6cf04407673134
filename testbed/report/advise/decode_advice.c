// SPDX-License-Identifier: Apache-2.0
//
// decode_advice: see decode_advice.h. A ratio of two cells is one within rounds, like all ratios (stats.h): in a round each arm
// runs in every cell. How small a difference two cells can show is what the A/A controls of the worse of them say.
//
// What is noisy is neither chosen nor compared, and what is not valid has no times.
#include "testbed/report/advise/decode_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/judge/decoded.h"
#include "testbed/measure/contender.h"

// Arms that are the library with one thing changed, and what that is; and what it is in the library itself.
static const struct {
    const char *arm;
    enum tb_decode_question question;
    const char *words;
} variants[] = {
    {"locus-4k", TB_DECODE_PAGE, "4 KiB pages"},     {"locus-2m", TB_DECODE_PAGE, "2 MiB pages, reserved"},
    {"locus-runs", TB_DECODE_ORDER, "in runs"},      {"locus-fifo", TB_DECODE_ORDER, "first in first out"},
    {"locus-shuffled", TB_DECODE_ORDER, "shuffled"},
};
static const char *const usual[TB_DECODE_QUESTIONS] = {[TB_DECODE_PAGE] = "2 MiB pages", [TB_DECODE_ORDER] = "last in first out"};

enum tb_decode_question tb_decode_question_of(const struct tb_arm *arm)
{
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
        if (strcmp(variants[v].arm, arm->label) == 0)
            return variants[v].question;
    return TB_DECODE_ALLOCATOR;
}

const char *tb_decode_words(const struct tb_arm *arm, enum tb_decode_question question)
{
    bool library = strcmp(arm->label, "locus") == 0;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        if (strcmp(variants[v].arm, arm->label) != 0)
            continue;
        library = true;
        if (variants[v].question == question)
            return variants[v].words;
    }
    return library ? usual[question] : NULL;
}

bool tb_decode_choosable(const struct tb_rounds *rounds, uint32_t arm)
{
    const struct tb_arm *of = &rounds->arms[arm];
    return of->fault == TB_FAULT_NONE && !of->contender->floor && !of->contender->harness && tb_twin(rounds, arm) < 0;
}

bool tb_decode_alike(const struct tb_schedule *one, const struct tb_schedule *other)
{
    return one->decoded_tokens == other->decoded_tokens && one->steps_per_lap == other->steps_per_lap &&
           one->tokens_per_lap == other->tokens_per_lap && one->attended_per_lap == other->attended_per_lap;
}

// --- choices -------------------------------------------------------------------------------------------------------------------

static struct tb_ratio tokens_of(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm)
{
    struct tb_ratio tokens = {0};
    double *ns = tb_times(rounds, cell, arm, TB_LAP);
    for (uint32_t round = 0; ns && round < rounds->count; round++)
        ns[round] = tb_tokens_per_s(rounds, cell, ns[round]);
    if (!ns || tb_median_sign(ns, rounds->count, TB_CONFIDENCE, &tokens))
        tokens = (struct tb_ratio){0};
    free(ns);
    return tokens;
}

static void add(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, struct tb_decode_choices *out)
{
    if (out->count == TB_ARMS_MAX)
        return;
    struct tb_decode_choice *choice = &out->choices[out->count++];
    *choice = (struct tb_decode_choice){.cell = cell, .arm = arm};
    tb_row_alone(rounds, cell, arm, &choice->row);
    if (choice->row.valid)
        choice->tokens_per_s = tokens_of(rounds, cell, arm);
}

static uint32_t tokens_in(const struct tb_rounds *rounds, uint32_t cell)
{
    return rounds->cells[cell].schedule->block_tokens;
}

static bool layout_is(const struct tb_rounds *rounds, uint32_t cell, uint32_t as)
{
    return strcmp(rounds->cells[cell].decode.layout, rounds->cells[as].decode.layout) == 0;
}

// The cells of the first one's layout, small blocks first.
static void add_blocks(const struct tb_decode_advice *advice, struct tb_decode_choices *out)
{
    const struct tb_rounds *rounds = advice->rounds;
    for (uint32_t least = 0, next; least < UINT32_MAX; least = next) {
        next = UINT32_MAX;
        for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
            if (layout_is(rounds, cell, 0) && tokens_in(rounds, cell) > least && tokens_in(rounds, cell) < next)
                next = tokens_in(rounds, cell);
        for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
            if (layout_is(rounds, cell, 0) && tokens_in(rounds, cell) == next)
                add(rounds, cell, (uint32_t)advice->base, out);
    }
}

// Of a layout that is whole there is one cell, and no block size to have it at.
static void add_layouts(const struct tb_decode_advice *advice, struct tb_decode_choices *out)
{
    add(advice->rounds, 0, (uint32_t)advice->base, out);
    for (uint32_t cell = 1; cell < advice->rounds->cells_count; cell++)
        if (!layout_is(advice->rounds, cell, 0))
            add(advice->rounds, cell, (uint32_t)advice->base, out);
}

// The base and the arms of a question; TB_DECODE_QUESTIONS: all.
static void add_arms(const struct tb_decode_advice *advice, enum tb_decode_question question, uint32_t cell,
                     struct tb_decode_choices *out)
{
    for (uint32_t arm = 0; arm < advice->rounds->arms_count; arm++) {
        bool asked = question == TB_DECODE_QUESTIONS || tb_decode_question_of(&advice->rounds->arms[arm]) == question;
        if (tb_decode_choosable(advice->rounds, arm) && (asked || (int)arm == advice->base))
            add(advice->rounds, cell, arm, out);
    }
}

// --- comparisons ---------------------------------------------------------------------------------------------------------------

static bool time_ratio(const struct tb_rounds *rounds, const struct tb_decode_choice *over, const struct tb_decode_choice *under,
                       struct tb_ratio *out)
{
    if (!over->row.valid || !under->row.valid)
        return false;
    double *numerator = tb_times(rounds, over->cell, over->arm, TB_LAP);
    double *denominator = tb_times(rounds, under->cell, under->arm, TB_LAP);
    bool known = numerator && denominator && tb_ratio(denominator, numerator, rounds->count, TB_CONFIDENCE, out) == 0;
    free(numerator);
    free(denominator);
    return known;
}

static double resolution(const struct tb_rounds *rounds, uint32_t cell, uint32_t other)
{
    double one = tb_rounds_resolution(rounds, cell), two = tb_rounds_resolution(rounds, other);
    return one < 0 || two < 0 ? -1 : fmax(one, two);
}

static bool eligible(const struct tb_decode_advice *advice, const struct tb_decode_choice *choice)
{
    return choice->row.valid && (advice->few || !choice->row.noise);
}

static bool beaten(const struct tb_decode_advice *advice, const struct tb_decode_choices *all,
                   const struct tb_decode_choice *choice)
{
    for (const struct tb_decode_choice *other = all->choices; other < all->choices + all->count; other++) {
        struct tb_ratio ratio;
        if (other != choice && eligible(advice, other) && time_ratio(advice->rounds, other, choice, &ratio) &&
            !tb_interval_wide(&ratio) && tb_visible(&ratio, resolution(advice->rounds, other->cell, choice->cell)) < 0)
            return true;
    }
    return false;
}

static int fastest(const struct tb_decode_advice *advice, const struct tb_decode_choices *all)
{
    int least = -1;
    for (int i = 0; i < (int)all->count; i++)
        if (eligible(advice, &all->choices[i]) && (least < 0 || all->choices[i].row.ns_median < all->choices[least].row.ns_median))
            least = i;
    return least;
}

// Where each beats another in a circle, or nothing can be told, the median decides.
static int to_use(const struct tb_decode_advice *advice, const struct tb_decode_choices *all)
{
    for (int i = 0; i < (int)all->count && !advice->few; i++)
        if (eligible(advice, &all->choices[i]) && !beaten(advice, all, &all->choices[i]))
            return i;
    return fastest(advice, all);
}

static void compare(const struct tb_decode_advice *advice, const struct tb_decode_choice *use, struct tb_decode_choice *choice)
{
    struct tb_ratio time;
    if (!time_ratio(advice->rounds, choice, use, &time))
        return;
    choice->speed = (struct tb_ratio){.estimate = 1 / time.estimate,
                                      .low = time.bounded ? 1 / time.high : 0,
                                      .high = time.bounded ? 1 / time.low : INFINITY,
                                      .confidence = time.confidence,
                                      .n = time.n,
                                      .bounded = time.bounded};
    choice->cost = tb_advise_cost_of(&time, resolution(advice->rounds, choice->cell, use->cell));
    if (time.bounded && (choice->row.noise || use->row.noise || tb_interval_wide(&time)))
        choice->cost = TB_ADVISE_UNTOLD;
}

// What is to be used of all is so in each question that it is a choice of.
static void settle(const struct tb_decode_advice *advice, struct tb_decode_choices *all)
{
    all->use = to_use(advice, all);
    for (int i = 0; i < (int)all->count; i++)
        if (advice->any && all->choices[i].cell == advice->use.cell && all->choices[i].arm == advice->use.arm)
            all->use = i;
    for (int i = 0; i < (int)all->count; i++)
        if (all->use < 0)
            all->choices[i].cost = all->choices[i].row.valid ? TB_ADVISE_UNTOLD : TB_ADVISE_UNKNOWN;
        else if (i == all->use)
            all->choices[i].cost = TB_ADVISE_USED;
        else
            compare(advice, &all->choices[all->use], &all->choices[i]);
}

// --- the whole -----------------------------------------------------------------------------------------------------------------

// The best cell as the base has it, then the best arm there.
static void use_find(struct tb_decode_advice *advice, struct tb_decode_choices *room)
{
    *room = (struct tb_decode_choices){0};
    add_blocks(advice, room);
    for (uint32_t cell = 0; cell < advice->rounds->cells_count; cell++)
        if (!layout_is(advice->rounds, cell, 0))
            add(advice->rounds, cell, (uint32_t)advice->base, room);
    int at = to_use(advice, room);
    uint32_t cell = at < 0 ? 0 : room->choices[at].cell;
    *room = (struct tb_decode_choices){0};
    add_arms(advice, TB_DECODE_QUESTIONS, cell, room);
    at = to_use(advice, room);
    advice->any = at >= 0;
    if (at >= 0)
        advice->use = room->choices[at];
}

static bool all_alike(const struct tb_rounds *rounds)
{
    for (uint32_t cell = 1; cell < rounds->cells_count; cell++)
        if (!tb_decode_alike(rounds->cells[0].schedule, rounds->cells[cell].schedule))
            return false;
    return true;
}

static int base_of(const struct tb_rounds *rounds)
{
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++)
        if (tb_decode_choosable(rounds, arm))
            return (int)arm;
    return -1;
}

void tb_decode_advice(const struct tb_rounds *rounds, const char *workload, struct tb_decode_advice *out)
{
    *out = (struct tb_decode_advice){.rounds = rounds,
                                     .workload = workload,
                                     .few = tb_rounds_few(rounds),
                                     .alike = all_alike(rounds),
                                     .base = base_of(rounds),
                                     .floor = -1};
    if (out->base < 0 || !out->alike)
        return;
    use_find(out, &out->questions[0]);
    out->questions[0] = (struct tb_decode_choices){0};
    add_blocks(out, &out->questions[TB_DECODE_BLOCK]);
    add_layouts(out, &out->questions[TB_DECODE_LAYOUT]);
    for (int question = TB_DECODE_PAGE; question < TB_DECODE_QUESTIONS; question++)
        add_arms(out, (enum tb_decode_question)question, out->use.cell, &out->questions[question]);
    for (int question = 0; question < TB_DECODE_QUESTIONS; question++)
        settle(out, &out->questions[question]);
    if (!out->any)
        return;
    out->floor = tb_own_floor(rounds, out->use.cell, out->use.arm);
    if (!tb_pair_ratio(rounds, out->use.cell, out->floor, TB_LAP, (int)out->use.arm, TB_LAP, &out->of_floor))
        out->floor = -1;
}
