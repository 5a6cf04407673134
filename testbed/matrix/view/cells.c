// SPDX-License-Identifier: Apache-2.0
//
// cells: what kinds and states are called, finding cells, comparing them, and what follows from all of them: the verdict.
#include <math.h>
#include <stdlib.h>

#include "testbed/matrix/view/view.h"

static const struct {
    const char *name, *unit;
} kinds[TB_MATRIX_KINDS] = {
    [TB_MATRIX_LATENCY] = {"latency", "ns"},
    [TB_MATRIX_READ] = {"read", "bytes/s"},
    [TB_MATRIX_WRITE] = {"write", "bytes/s"},
    [TB_MATRIX_COPY] = {"copy", "bytes/s"},
    [TB_MATRIX_READ3_WRITE1] = {"3:1", "bytes/s"},
    [TB_MATRIX_READ2_WRITE1] = {"2:1", "bytes/s"},
    [TB_MATRIX_NT_WRITE] = {"nt-write", "bytes/s"},
    [TB_MATRIX_LOADED] = {"loaded", "ns"},
    [TB_MATRIX_WORKING_SET] = {"working-set", "ns"},
    [TB_MATRIX_MIGRATION] = {"migration", "bytes/s"},
    [TB_MATRIX_LINE] = {"line", "ns"},
    [TB_MATRIX_PUSH] = {"push", "ns"},
    [TB_MATRIX_DRAIN] = {"drain", "ns"},
};

const char *tb_matrix_kind_name(enum tb_matrix_kind kind)
{
    return kinds[kind].name;
}

const char *tb_matrix_kind_unit(enum tb_matrix_kind kind)
{
    return kinds[kind].unit;
}

const char *tb_matrix_state_name(enum tb_matrix_state state)
{
    static const char *const names[] = {[TB_MATRIX_PLANNED] = "planned",
                                        [TB_MATRIX_MEASURED] = "measured",
                                        [TB_MATRIX_UNMEASURABLE] = "unmeasurable",
                                        [TB_MATRIX_EMULATED] = "emulated",
                                        [TB_MATRIX_INVALID] = "invalid"};
    return names[state];
}

bool tb_matrix_told(const struct tb_matrix *matrix, const struct tb_matrix_cell *cell)
{
    return cell && !matrix->emulated && cell->state == TB_MATRIX_MEASURED && isfinite(cell->value.estimate) &&
           cell->value.estimate > 0;
}

bool tb_matrix_ran(const struct tb_matrix_cell *cell)
{
    return cell->state != TB_MATRIX_PLANNED && cell->state != TB_MATRIX_UNMEASURABLE;
}

bool tb_matrix_only_planned(const struct tb_matrix *matrix)
{
    for (size_t i = 0; i < matrix->cells_count; i++)
        if (tb_matrix_ran(&matrix->cells[i]))
            return false;
    return matrix->took_ns == 0;
}

bool tb_matrix_in_time(enum tb_matrix_kind kind)
{
    return tb_matrix_kind_unit(kind)[0] == 'n';
}

static void add(struct locus_nodes *set, int node)
{
    if (set && node >= 0 && (unsigned)node < LOCUS_NODES_MAX)
        locus_nodes_add(set, node);
}

void tb_matrix_nodes(const struct tb_matrix *matrix, struct locus_nodes *initiators, struct locus_nodes *memories,
                     struct locus_nodes *all)
{
    struct locus_nodes *sets[] = {initiators, memories, all};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i])
            *sets[i] = (struct locus_nodes){0};
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        add(initiators, cell->initiator);
        add(memories, cell->memory);
        add(all, cell->initiator);
        add(all, cell->memory);
        add(all, cell->target);
    }
}

const struct tb_matrix_cell *tb_matrix_at(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory)
{
    const struct tb_matrix_cell *best = NULL;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind == kind && cell->initiator == initiator && cell->memory == memory &&
            (!best || cell->threads > best->threads))
            best = cell;
    }
    return best;
}

// The true ratio of two medians lies between the quotients of their limits with at least the confidence that both together have.
static void ratio_of_intervals(const struct tb_ratio *over, const struct tb_ratio *under, struct tb_ratio *out)
{
    bool bounded = over->bounded && under->bounded && over->low > 0 && under->low > 0;
    *out = (struct tb_ratio){
        .estimate = over->estimate / under->estimate,
        .low = bounded ? over->low / under->high : 0,
        .high = bounded ? over->high / under->low : (double)INFINITY,
        .confidence = bounded ? fmax(0, over->confidence + under->confidence - 1) : 0,
        .n = over->n < under->n ? over->n : under->n,
        .bounded = bounded,
    };
}

bool tb_matrix_ratio(const struct tb_matrix *matrix, const struct tb_matrix_cell *over, const struct tb_matrix_cell *under,
                     struct tb_ratio *out)
{
    if (!tb_matrix_told(matrix, over) || !tb_matrix_told(matrix, under))
        return false;
    if (over->samples != under->samples || tb_ratio(under->sample, over->sample, over->samples, TB_CONFIDENCE, out))
        ratio_of_intervals(&over->value, &under->value, out);
    return true;
}

// What is walked over, or what the other CPUs read meanwhile.
static double place_of(const struct tb_matrix_cell *cell)
{
    return cell->kind == TB_MATRIX_LOADED ? cell->bandwidth : (double)cell->working_set_bytes;
}

size_t tb_matrix_curve(const struct tb_matrix *matrix, enum tb_matrix_kind kind, int initiator, int memory,
                       const struct tb_matrix_cell *out[], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < matrix->cells_count && count < max; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind != kind || cell->initiator != initiator || cell->memory != memory)
            continue;
        size_t at = count++;
        for (; at > 0 && place_of(out[at - 1]) > place_of(cell); at--)
            out[at] = out[at - 1];
        out[at] = cell;
    }
    return count;
}

size_t tb_matrix_pairs(const struct tb_matrix *matrix, enum tb_matrix_kind kind, struct tb_matrix_pair out[], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < matrix->cells_count; i++) {
        const struct tb_matrix_cell *cell = &matrix->cells[i];
        if (cell->kind != kind || !tb_matrix_told(matrix, cell))
            continue;
        size_t at = 0;
        while (at < count && (out[at].initiator != cell->initiator || out[at].memory != cell->memory))
            at++;
        if (at == count && count < max)
            out[count++] = (struct tb_matrix_pair){cell->initiator, cell->memory};
    }
    return count;
}

// --- the verdict ---------------------------------------------------------------------------------------------------------------
//
// Are the nodes alike, and if not, which is far and how much does it cost? By the idle latencies; the bandwidth is said
// along with them.
//
// "Flat" is a statement about what a program would notice, so it needs medians within FLAT_RATIO and not that no difference can
// be proven: a machine of a thousand rounds proves any. Medians that lie further apart while the interval of their ratio holds 1
// are neither. A ratio without interval (too few rounds) is taken as it is, and said to have none.

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

// "1.74 [1.73, 1.75] times"
static void say_times(struct tb_words *words, const struct tb_ratio *ratio)
{
    char number[16], low[16], high[16];
    tb_say(words, "%s ", tb_text_ratio(number, ratio->estimate));
    if (ratio->bounded)
        tb_say(words, "[%s, %s] times", tb_text_ratio(low, ratio->low), tb_text_ratio(high, ratio->high));
    else
        tb_say(words, "times (too few rounds for an interval)");
}

static void say_far(const struct tb_matrix *matrix, const struct spread *spread, struct tb_words *words)
{
    const struct tb_matrix_cell *own = spread->own, *far = spread->far;
    char number[16];
    struct tb_ratio reading;
    tb_say(words, "node %d is ", far->memory);
    say_times(words, &spread->far_ratio);
    tb_say(words, " as far from node %d as ", far->initiator);
    if (own->memory == own->initiator)
        tb_say(words, "its own memory");
    else
        tb_say(words, "the nearest memory, node %d", own->memory);
    if (tb_matrix_ratio(matrix, tb_matrix_at(matrix, TB_MATRIX_READ, own->initiator, own->memory),
                        tb_matrix_at(matrix, TB_MATRIX_READ, far->initiator, far->memory), &reading))
        tb_say(words, "; reading from it takes %s times as long", tb_text_ratio(number, reading.estimate));
    if (spread->remote > 2)
        tb_say(words, "; the nearest of %u others: %s", spread->remote - 1, tb_text_ratio(number, spread->near_ratio));
}

// Every initiator may find all memory equally far, and yet one initiator be slower than another.
static void judge_latencies(const struct tb_matrix *matrix, const struct spread *spread, struct tb_matrix_verdict *out)
{
    struct tb_ratio *ratio = &out->ratio;
    struct tb_words *words = &out->sentence;
    tb_matrix_ratio(matrix, spread->slowest, spread->fastest, ratio);
    out->has_ratio = true;
    out->answer = ratio->estimate <= TB_MATRIX_FLAT_RATIO ? TB_MATRIX_FLAT
                  : ratio->bounded && ratio->low <= 1     ? TB_MATRIX_UNCLEAR
                                                          : TB_MATRIX_DIFFERS;
    if (out->answer == TB_MATRIX_DIFFERS && spread->far && spread->far_ratio.estimate > TB_MATRIX_FLAT_RATIO) {
        say_far(matrix, spread, words);
        return;
    }
    if (out->answer == TB_MATRIX_DIFFERS) {
        tb_say(words, "no node is far, but loads take node %d ", spread->slowest->initiator);
        say_times(words, ratio);
        tb_say(words, " as long as node %d", spread->fastest->initiator);
        return;
    }
    tb_say(words, out->answer == TB_MATRIX_FLAT ? "flat: of %u pairs of nodes" : "cannot be told: of %u pairs of nodes",
           spread->pairs_told);
    if (spread->pairs_told < spread->pairs)
        tb_say(words, " that were measured, of %u,", spread->pairs);
    tb_say(words, " the slowest takes ");
    say_times(words, ratio);
    tb_say(words, " as long as the fastest%s",
           out->answer == TB_MATRIX_FLAT ? "" : ", which may be noise: more rounds would tell (--rounds)");
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
        judge_latencies(matrix, &spread, out);
        return;
    }
    out->answer = TB_MATRIX_NO_LATENCY;
    tb_say(&out->sentence, "not known: %s idle latency was measured, so whether the nodes differ cannot be said",
           spread.pairs_told ? "only one" : "no");
}

const char *tb_matrix_answer_name(enum tb_matrix_answer answer)
{
    static const char *const names[] = {[TB_MATRIX_FLAT] = "flat",
                                        [TB_MATRIX_DIFFERS] = "differs",
                                        [TB_MATRIX_UNCLEAR] = "cannot be told",
                                        [TB_MATRIX_NO_LATENCY] = "not known",
                                        [TB_MATRIX_NO_TIMING] = "emulated: no timing"};
    return names[answer];
}
