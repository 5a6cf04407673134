// SPDX-License-Identifier: Apache-2.0
//
// verdict: are the nodes alike, and if not, which is far and how much does it cost? By the idle latencies; the bandwidth is said
// along with them.
//
// "Flat" is a statement about what a program would notice, so it needs medians within FLAT_RATIO and not that no difference can
// be proven: a machine of a thousand rounds proves any. Medians that lie further apart while the interval of their ratio holds 1
// are neither. A ratio without interval (too few rounds) is taken as it is, and said to have none.
#include <math.h>

#include "testbed/matrix/view/view.h"

// The told latencies: lowest and highest, and the pair of nodes that is the furthest for its initiator.
struct spread {
    const struct tb_matrix_cell *fastest, *slowest;
    const struct tb_matrix_cell *own, *far; // own: the initiator's own memory, or its nearest where it has none
    struct tb_ratio far_ratio;
    double near_ratio;          // least of the remote pairs
    unsigned pairs, pairs_told, remote;
};

static const struct tb_matrix_cell *own_memory(const struct tb_matrix *matrix, int initiator)
{
    const struct tb_matrix_cell *own = tb_matrix_at(matrix, TB_MATRIX_LATENCY, initiator, initiator), *nearest = NULL;
    if (tb_matrix_told(matrix, own))
        return own;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind == TB_MATRIX_LATENCY && cell->initiator == initiator && tb_matrix_told(matrix, cell) &&
            (!nearest || cell->value.estimate < nearest->value.estimate))
            nearest = cell;
    }
    return nearest;
}

static void spread_remote(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell, struct spread *spread)
{
    const struct tb_matrix_cell *own = own_memory(matrix, cell->initiator);
    struct tb_ratio ratio;
    if (own == cell || !tb_matrix_ratio(matrix, cell, own, &ratio))
        return;
    spread->near_ratio = spread->remote ? fmin(spread->near_ratio, ratio.estimate) : ratio.estimate;
    spread->remote++;
    if (spread->far && ratio.estimate <= spread->far_ratio.estimate)
        return;
    spread->own = own;
    spread->far = cell;
    spread->far_ratio = ratio;
}

static void spread_of(const struct tb_matrix *matrix, struct spread *out)
{
    *out = (struct spread){0};
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind != TB_MATRIX_LATENCY)
            continue;
        out->pairs++;
        if (!tb_matrix_told(matrix, cell))
            continue;
        out->pairs_told++;
        if (!out->fastest || cell->value.estimate < out->fastest->value.estimate)
            out->fastest = cell;
        if (!out->slowest || cell->value.estimate > out->slowest->value.estimate)
            out->slowest = cell;
        spread_remote(matrix, cell, out);
    }
}

static void say_interval(struct tb_words *words, const struct tb_ratio *ratio)
{
    char low[16], high[16];
    if (ratio->bounded)
        tb_say(words, " [%s, %s]", tb_text_ratio(low, ratio->low), tb_text_ratio(high, ratio->high));
    else
        tb_say(words, " (too few rounds for an interval)");
}

static void say_reading(const struct tb_matrix *matrix, const struct spread *spread, struct tb_words *words)
{
    char number[16];
    struct tb_ratio ratio;
    const struct tb_matrix_cell *own = tb_matrix_at(matrix, TB_MATRIX_READ, spread->own->initiator, spread->own->memory);
    const struct tb_matrix_cell *far = tb_matrix_at(matrix, TB_MATRIX_READ, spread->far->initiator, spread->far->memory);
    if (!tb_matrix_ratio(matrix, own, far, &ratio))
        return;
    if (ratio.estimate > TB_MATRIX_FLAT_RATIO)
        tb_say(words, "; reading from it is %s times as slow", tb_text_number(number, ratio.estimate));
    else if (ratio.estimate * TB_MATRIX_FLAT_RATIO < 1)
        tb_say(words, "; reading from it is %s times as fast", tb_text_number(number, 1 / ratio.estimate));
    else
        tb_say(words, "; reading from it is as fast");
}

static void say_far(const struct tb_matrix *matrix, const struct spread *spread, struct tb_words *words)
{
    const struct tb_matrix_cell *own = spread->own, *far = spread->far;
    char number[16];
    tb_say(words, "node %d is %s times as far from node %d as its ", far->memory,
           tb_text_number(number, spread->far_ratio.estimate), far->initiator);
    if (own->memory == own->initiator)
        tb_say(words, "own memory");
    else
        tb_say(words, "nearest memory, node %d", own->memory);
    say_interval(words, &spread->far_ratio);
    say_reading(matrix, spread, words);
    if (spread->remote > 2)
        tb_say(words, "; it is the furthest of %u, and the nearest of them is %s times as far", spread->remote,
               tb_text_ratio(number, spread->near_ratio));
}

// Every initiator finds all memory equally far, but one initiator is slower than another.
static void say_initiators(const struct spread *spread, const struct tb_ratio *ratio, struct tb_words *words)
{
    char number[16];
    tb_say(words, "no node is far, but loads take node %d %s times as long as node %d", spread->slowest->initiator,
           tb_text_number(number, ratio->estimate), spread->fastest->initiator);
    say_interval(words, ratio);
}

static void say_flat(const struct spread *spread, unsigned nodes, const struct tb_ratio *ratio, struct tb_words *words)
{
    char number[16];
    if (spread->pairs_told < spread->pairs)
        tb_say(words, "flat: the %u pairs of nodes that were measured, of %u, are within 5 %%", spread->pairs_told, spread->pairs);
    else
        tb_say(words, "flat: all %u nodes within 5 %%", nodes);
    tb_say(words, "; the slowest pair is %s times the fastest", tb_text_number(number, ratio->estimate));
    say_interval(words, ratio);
}

static void judge_latencies(const struct tb_matrix *matrix, const struct spread *spread, unsigned nodes,
                            struct tb_matrix_verdict *out)
{
    struct tb_ratio *ratio = &out->ratio;
    char number[16];
    tb_matrix_ratio(matrix, spread->slowest, spread->fastest, ratio);
    out->has_ratio = true;
    if (ratio->estimate <= TB_MATRIX_FLAT_RATIO) {
        out->answer = TB_MATRIX_FLAT;
        say_flat(spread, nodes, ratio, &out->sentence);
    } else if (ratio->bounded && ratio->low <= 1) {
        out->answer = TB_MATRIX_UNCLEAR;
        tb_say(&out->sentence, "cannot be told: the slowest pair of nodes is %s times the fastest",
               tb_text_number(number, ratio->estimate));
        say_interval(&out->sentence, ratio);
        tb_say(&out->sentence, ", which may be noise: more rounds would tell (--rounds)");
    } else {
        out->answer = TB_MATRIX_DIFFERS;
        if (spread->far && spread->far_ratio.estimate > TB_MATRIX_FLAT_RATIO)
            say_far(matrix, spread, &out->sentence);
        else
            say_initiators(spread, ratio, &out->sentence);
    }
}

void tb_matrix_verdict(const struct tb_matrix *matrix, struct tb_matrix_verdict *out)
{
    struct locus_nodes all;
    struct spread spread;
    *out = (struct tb_matrix_verdict){.answer = TB_MATRIX_NO_TIMING};
    if (matrix->emulated) {
        tb_say(&out->sentence, "emulated: no timing");
        return;
    }
    tb_matrix_nodes(matrix, NULL, NULL, &all);
    spread_of(matrix, &spread);
    if (locus_nodes_count(&all) == 1) {
        out->answer = TB_MATRIX_FLAT;
        out->has_ratio = spread.pairs_told > 0;
        out->ratio = (struct tb_ratio){.estimate = 1, .low = 1, .high = 1, .confidence = 1, .bounded = true};
        tb_say(&out->sentence, "flat: one node");
        return;
    }
    if (spread.pairs_told > 1) {
        judge_latencies(matrix, &spread, locus_nodes_count(&all), out);
        return;
    }
    out->answer = TB_MATRIX_NO_LATENCY;
    tb_say(&out->sentence, "not known: %s idle latency was measured, so whether the nodes differ cannot be said",
           spread.pairs_told ? "only one" : "no");
}

const char *tb_matrix_answer_name(enum tb_matrix_answer answer)
{
    switch (answer) {
    case TB_MATRIX_FLAT: return "flat";
    case TB_MATRIX_DIFFERS: return "differs";
    case TB_MATRIX_UNCLEAR: return "cannot be told";
    case TB_MATRIX_NO_LATENCY: return "not known";
    case TB_MATRIX_NO_TIMING: return "emulated: no timing";
    }
    return "unknown";
}

int tb_matrix_flat(const struct tb_matrix *matrix, double *ratio)
{
    struct tb_matrix_verdict verdict;
    tb_matrix_verdict(matrix, &verdict);
    if (ratio)
        *ratio = verdict.has_ratio ? verdict.ratio.estimate : (double)NAN;
    return verdict.answer == TB_MATRIX_FLAT ? 1 : verdict.answer == TB_MATRIX_DIFFERS ? 0 : -1;
}
