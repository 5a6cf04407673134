// SPDX-License-Identifier: Apache-2.0
//
// board_doc: a measurement as a document: what was asked, a table for each cell, the answer.
//
// A cell's table has the fastest first. A row that is noisy keeps its place, its time and its footprint, but has no ratio, as none
// would hold (noise.c). Below the ranking stand what is INVALID and the harness, which measures the testbed and no allocator; below
// the table the A/A controls, which malloc was the best, how small a difference that cell could have shown, and what the doctor has
// against this host.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/decode/act.h"
#include "testbed/judge/decoded.h"
#include "testbed/report/board/board.h"
#include "testbed/stats/stats.h"

// A ratio, or what keeps it from being said.
struct tb_value tb_told_value(enum tb_told told, const struct tb_ratio *ratio)
{
    return told == TB_TOLD_ABSENT  ? tb_none(NULL)
           : told == TB_TOLD_NOISY ? tb_toned(tb_none("noisy"), TB_TONE_FAINT)
                                   : tb_interval(ratio);
}

static struct tb_value pair_value(const struct tb_rounds *rounds, uint32_t cell, int over, int over_op, int under, int under_op)
{
    struct tb_ratio ratio;
    return tb_told_value(tb_pair_tell(rounds, cell, over, over_op, under, under_op, &ratio), &ratio);
}

// The estimate alone.
static struct tb_value number_of(struct tb_value value)
{
    return value.kind == TB_VALUE_INTERVAL ? tb_number(value.number) : value;
}

// What an arm does that leaves out a part of a step, or computes nothing: it is no rival. NULL: it does the work.
static const struct tb_act *no_rival(const struct tb_arm *arm)
{
    const struct tb_act *act = tb_arm_act(arm);
    return act && !act->attends ? act : NULL;
}

static void put_name(struct tb_table *table, const struct tb_board *board, uint32_t i)
{
    char name[128];
    bool ours = strcmp(board->row[i].arm->label, "locus") == 0;
    bool rival = board->place[i] == TB_PLACE_RANKED && !no_rival(board->row[i].arm);
    tb_table_row(table, ours ? TB_ROW_OURS : rival ? TB_ROW_PLAIN : TB_ROW_ASIDE);
    tb_text_arm(&board->row[i], name, sizeof name);
    tb_table_put(table, tb_toned(tb_text_value(name), ours ? TB_TONE_OURS : TB_TONE_PLAIN));
}

// --- laps ----------------------------------------------------------------------------------------------------------------------

static const struct tb_column lap_columns[] = {{NULL, "contender", TB_AS_IS, false},
                                               {NULL, "median\n", TB_AS_TIME, false},
                                               {NULL, "spread\n", TB_AS_SHARE, false},
                                               {NULL, "times faster than\nthe best malloc", TB_AS_RATIO, true},
                                               {NULL, "\nmimalloc", TB_AS_RATIO, false},
                                               {NULL, "over\nfloor", TB_AS_RATIO, false},
                                               {NULL, "held\n/peak", TB_AS_RATIO, false},
                                               {NULL, "a lap of each process", TB_AS_TIME, true},
                                               {NULL, NULL, TB_AS_IS, false}};

// Of a model's steps. No oracle knows how fast attention could be; an arm's own floors do (decoded.h). Names are long, as they tell
// what is left out, so there is no room for mimalloc's column.
static const struct tb_column decode_columns[] = {{NULL, "contender", TB_AS_IS, false},
                                                  {NULL, "median\n", TB_AS_TIME, false},
                                                  {NULL, "spread\n", TB_AS_SHARE, false},
                                                  {NULL, "tokens\na second", TB_AS_IS, false},
                                                  {NULL, "times faster than\nthe best malloc", TB_AS_RATIO, true},
                                                  {NULL, "of its\nfloor", TB_AS_RATIO, false},
                                                  {NULL, "held\n/peak", TB_AS_RATIO, false},
                                                  {NULL, "a lap of each process", TB_AS_TIME, true},
                                                  {NULL, NULL, TB_AS_IS, false}};

// How many times faster it is than the best malloc. A noisy row says why, one beside a noisy row that there is nothing to say.
static struct tb_value best_value(const struct tb_rounds *rounds, uint32_t cell, const struct tb_board *board, uint32_t i)
{
    static const char *const noises[] = {[TB_NOISE_WAITED] = "noisy: waited", [TB_NOISE_SPREAD] = "noisy: spread"};
    enum tb_noise noise = tb_noise_of(&board->row[i], TB_LAP);
    if (board->place[i] == TB_PLACE_INVALID)
        return tb_toned(tb_none("INVALID"), TB_TONE_POOR);
    if (board->place[i] == TB_PLACE_HARNESS)
        return tb_none("(harness only)");
    if (no_rival(board->row[i].arm))
        return tb_none(no_rival(board->row[i].arm)->floor ? noise ? "(a floor, noisy)" : "(a floor)"
                       : noise                            ? "(in part, noisy)"
                                                          : "(in part)");
    if (noise)
        return tb_toned(tb_none(noises[noise]), TB_TONE_FAINT);
    if (board->best.rival >= 0)
        return tb_none(NULL);
    if (board->best.arm == (int)board->arm[i])
        return tb_text_value("the best");
    return pair_value(rounds, cell, board->best.arm, TB_LAP, (int)board->arm[i], TB_LAP);
}

static void put_lap_row(struct tb_table *table, const struct tb_rounds *rounds, uint32_t cell, const struct tb_board *board,
                        uint32_t i)
{
    const struct tb_row *row = &board->row[i];
    int arm = (int)board->arm[i];
    bool valid = board->place[i] != TB_PLACE_INVALID, ranked = board->place[i] == TB_PLACE_RANKED;
    bool decodes = tb_decodes(rounds, cell), rival = ranked && !no_rival(row->arm);
    int floor = decodes ? tb_own_floor(rounds, cell, board->arm[i]) : tb_floor(rounds);
    double *ns = valid ? tb_times(rounds, cell, board->arm[i], TB_LAP) : NULL;
    put_name(table, board, i);
    tb_table_put(table, tb_number(valid ? row->ns_median : NAN));
    tb_table_put(table, tb_number(valid ? row->ns_mad / row->ns_median : NAN));
    if (decodes)
        tb_table_put(table, tb_number(rival ? tb_tokens_per_s(rounds, cell, row->ns_median) : NAN));
    tb_table_put(table, best_value(rounds, cell, board, i));
    if (!decodes)
        tb_table_put(table, ranked ? number_of(pair_value(rounds, cell, tb_rounds_arm(rounds, "mimalloc"), TB_LAP, arm, TB_LAP))
                                   : tb_none(NULL));
    tb_table_put(table, ranked ? number_of(pair_value(rounds, cell, decodes ? floor : arm, TB_LAP, decodes ? arm : floor, TB_LAP))
                               : tb_none(NULL));
    tb_table_put(table, tb_number(ranked ? row->outstanding_ratio : NAN));
    tb_table_put(table, ns ? tb_samples(ns, rounds->count) : tb_none(NULL));
    free(ns);
}

static struct tb_table *put_laps(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell, const char *title,
                                 const struct tb_board *board)
{
    struct tb_table *table = tb_doc_table(doc, NULL, title, tb_decodes(rounds, cell) ? decode_columns : lap_columns);
    for (uint32_t i = 0; i < board->count; i++)
        if (board->place[i] != TB_PLACE_CONTROL)
            put_lap_row(table, rounds, cell, board, i);
    return table;
}

// --- single operations -----------------------------------------------------------------------------------------------------------

static const struct tb_column faster_columns[] = {{NULL, "contender", TB_AS_IS, false},
                                                  {NULL, "alloc", TB_AS_RATIO, true},
                                                  {NULL, "bulk", TB_AS_RATIO, true},
                                                  {NULL, "free", TB_AS_RATIO, true},
                                                  {NULL, NULL, TB_AS_IS, false}};

// Pushes have no counterpart among the mallocs.
static const int bench_ratios[] = {TB_BENCH_ALLOC, TB_BENCH_BULK, TB_BENCH_FREE};
enum { BENCH_RATIOS = sizeof bench_ratios / sizeof *bench_ratios };

static struct tb_table *put_faster(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell, const struct tb_board *board,
                                   const char *title, const int than[])
{
    struct tb_table *table = tb_doc_table(doc, NULL, title, faster_columns);
    for (uint32_t i = 0; i < board->count; i++) {
        if (board->place[i] != TB_PLACE_RANKED)
            continue;
        put_name(table, board, i);
        for (size_t o = 0; o < BENCH_RATIOS; o++) {
            int op = bench_ratios[o], counterpart = tb_bench_counterpart[op], arm = (int)board->arm[i];
            tb_table_put(table, than[o] == arm && counterpart == op ? tb_number(1)
                                                                    : pair_value(rounds, cell, than[o], counterpart, arm, op));
        }
    }
    return table;
}

// Each operation has a best malloc of its own.
static struct tb_table *put_bench(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell, const char *title,
                                  const struct tb_board *board)
{
    struct tb_table *table = tb_doc_grid(doc, NULL, title, "=contender|=alloc ns|=bulk ns|=push ns|=free ns");
    int base[BENCH_RATIOS], best[BENCH_RATIOS];
    for (uint32_t i = 0; i < board->count; i++) {
        if (board->place[i] == TB_PLACE_CONTROL)
            continue;
        put_name(table, board, i);
        for (int op = 0; op < TB_BENCH_COUNT; op++) {
            double ns = board->row[i].bench_ns[op];
            tb_table_put(table, board->place[i] == TB_PLACE_INVALID ? tb_none("INVALID") : tb_number(ns > 0 ? ns : NAN));
        }
    }
    for (size_t o = 0; o < BENCH_RATIOS; o++) {
        struct tb_fastest fastest = tb_best_malloc(rounds, cell, tb_bench_counterpart[bench_ratios[o]]);
        best[o] = fastest.rival < 0 ? fastest.arm : -1;
        base[o] = tb_rounds_arm(rounds, "mimalloc");
    }
    put_faster(doc, rounds, cell, board, "Times faster than the best malloc (bulk: than its alloc)", best);
    return put_faster(doc, rounds, cell, board, "Times faster than mimalloc (bulk: than its alloc)", base);
}

// --- tails ----------------------------------------------------------------------------------------------------------------------

static double tail_member(const struct tb_tail *tail, int column)
{
    return column == 0 ? tail->p50_ns : column == 1 ? tail->p99_ns : column == 2 ? tail->p999_ns : tail->max_ns;
}

// The median over the rounds, less the clock's own cost. NAN: this arm has no such calls.
static double tail_ns(const struct tb_rounds *rounds, uint32_t cell, uint32_t arm, int what, int column)
{
    double *ns = calloc(rounds->count + (size_t)1, sizeof *ns), median;
    uint32_t count = 0;
    if (!ns)
        return NAN;
    for (uint32_t round = 0; round < rounds->count; round++) {
        const struct tb_sample *sample = tb_rounds_sample(rounds, cell, arm, round);
        if (sample->valid && sample->tails[what].calls)
            ns[count++] = fmax(tail_member(&sample->tails[what], column) - sample->clock_ns, 0);
    }
    median = count ? tb_median(ns, count) : NAN;
    free(ns);
    return median;
}

static void put_tails(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell, const char *title,
                      const struct tb_board *board)
{
    static const char *const names[TB_CLOCKED_COUNT] = {"one take", "one push (of a malloc: the frees of a request)",
                                                        "one drain at a step", "one take that waited"};
    for (int what = 0; what < TB_CLOCKED_COUNT; what++) {
        struct tb_table *table = NULL;
        char full[192];
        snprintf(full, sizeof full, "%s: %s", title, names[what]);
        for (uint32_t i = 0; i < board->count; i++) {
            uint32_t arm = (uint32_t)board->arm[i];
            if (board->place[i] == TB_PLACE_INVALID || isnan(tail_ns(rounds, cell, arm, what, 0)))
                continue;
            table = table ? table : tb_doc_grid(doc, NULL, full, "=contender|=p50 ns|=p99 ns|=p99.9 ns|=slowest ns");
            put_name(table, board, i);
            for (int column = 0; column < 4; column++)
                tb_table_put(table, tb_number(tail_ns(rounds, cell, arm, what, column)));
        }
        if (table && what == 0)
            tb_table_note(table, "Medians over the rounds, less a reading of the clock.");
    }
}

// --- below a table -------------------------------------------------------------------------------------------------------------

static void note_invalid(struct tb_table *table, const struct tb_board *board)
{
    for (uint32_t i = 0; i < board->count; i++) {
        char name[128];
        tb_text_arm(&board->row[i], name, sizeof name);
        if (board->place[i] == TB_PLACE_INVALID)
            tb_table_note(table, "%s is INVALID: %s", name, board->row[i].invalid);
    }
}

static void note_controls(struct tb_table *table, const struct tb_rounds *rounds, const struct tb_board *board)
{
    struct tb_words words = {0};
    for (uint32_t i = 0; i < board->count && !rounds->bench; i++) {
        const struct tb_ratio *twin = &board->vs_twin[i];
        if (!board->row[i].has_vs_aa || !twin->bounded)
            continue;
        tb_say(&words, "%s", words.used ? ", " : "A/A control: ");
        tb_say_arm(&words, board->row[i].arm);
        tb_say(&words, " %.3f [%.3f, %.3f]", twin->estimate, twin->low, twin->high);
    }
    if (words.used)
        tb_table_note(table, "%s.", words.text);
}

static void note_best(struct tb_table *table, const struct tb_rounds *rounds, uint32_t cell, int op)
{
    struct tb_fastest best = tb_best_malloc(rounds, cell, op);
    int arm = best.rival >= 0 ? best.rival : best.arm;
    const char *at = op == TB_LAP ? "" : " at ", *operation = op == TB_LAP ? "" : tb_bench_name(op);
    struct tb_row row;
    char name[128];
    if (arm < 0)
        return;
    tb_row_alone(rounds, cell, (uint32_t)arm, &row);
    tb_text_arm(&row, name, sizeof name);
    if (best.rival >= 0)
        tb_table_note(table, "Which malloc is the best%s%s cannot be told: %s is noisy.", at, operation, name);
    else
        tb_table_note(table, "The best malloc%s%s: %s.", at, operation, name);
}

// Which instructions computed, and an arm's floor, by name.
static void note_decoded(struct tb_table *table, const struct tb_rounds *rounds, uint32_t cell)
{
    const struct tb_decode_sample *by = tb_decoded_by(rounds, cell);
    if (!by)
        return;
    tb_table_note(table, "Attention: %s, %" PRIu32 " thread%s. Tokens are those decoded; those of prompts are not counted.",
                  by->kernel, by->threads, by->threads == 1 ? "" : "s");
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        const struct tb_decode_sample *itself = tb_decoded_by_itself(rounds, cell, arm);
        if (itself)
            tb_table_note(table, "Attention of %s: %s.", rounds->arms[arm].label, itself->kernel);
    }
    if (strcmp(by->kernel, "scalar") == 0)
        tb_table_note(table,
                      "Scalar code computed, as this CPU has no instructions for which there is a kernel (AVX-512, AVX2 with FMA "
                      "and F16C, NEON): attention weighs more here than elsewhere, and memory less.");
    for (uint32_t arm = 0; arm < rounds->arms_count; arm++) {
        int floor = tb_own_floor(rounds, cell, arm);
        struct tb_words words = {0};
        if (floor < 0)
            continue;
        tb_say(&words, "The floor of ");
        tb_say_arm(&words, &rounds->arms[arm]);
        tb_say(&words, " is ");
        tb_say_arm(&words, &rounds->arms[floor]);
        tb_table_note(table, "%s.", words.text);
    }
}

static void put_cell(struct tb_doc *doc, const struct tb_rounds *rounds, uint32_t cell)
{
    struct tb_board board;
    char title[128];
    struct tb_words seen = {0};
    tb_board(rounds, cell, &board);
    tb_text_cell(rounds, cell, title, sizeof title);
    struct tb_table *table =
        rounds->bench ? put_bench(doc, rounds, cell, title, &board) : put_laps(doc, rounds, cell, title, &board);
    note_invalid(table, &board);
    note_controls(table, rounds, &board);
    note_decoded(table, rounds, cell);
    note_best(table, rounds, cell, rounds->bench ? TB_BENCH_ALLOC : TB_LAP);
    if (rounds->bench)
        note_best(table, rounds, cell, TB_BENCH_FREE);
    tb_say_resolution(&seen, rounds, cell, cell + 1);
    tb_table_note(table, "%s", seen.text);
    if (rounds->unfit)
        tb_table_note(table, "%s", rounds->unfit);
    tb_board_put_bills(doc, rounds, cell);
    put_tails(doc, rounds, cell, title, &board);
}

// --- the whole -----------------------------------------------------------------------------------------------------------------

#define NOISY "Noisy: its processes waited for a CPU, or its rounds lie so far apart that no ratio of it would hold. "

void tb_board_put_cells(struct tb_doc *doc, const struct tb_rounds *rounds)
{
    for (uint32_t cell = 0; cell < rounds->cells_count; cell++)
        put_cell(doc, rounds, cell);
}

struct tb_doc *tb_board_doc(json_t *head, const struct tb_rounds *rounds, const char *command, const char *about)
{
    static const char laps[] = "A lap's time: median over the rounds, each a fresh process. Spread: median absolute deviation. "
                               "Held: most blocks out at once, over the theoretical peak. " NOISY "What failed a gate is INVALID.";
    static const char bench[] = "Nanoseconds per block (push: per request): median over the rounds, each a fresh process. " NOISY;
    struct tb_doc *doc = tb_doc_open(head);
    char how[192];
    tb_board_json(doc, rounds, command);
    if (*about)
        tb_doc_code(doc, "about", about);
    tb_text_settings(rounds, how, sizeof how);
    tb_doc_say(doc, NULL, "%s", how);
    tb_doc_say(doc, NULL, "%s", rounds->bench ? bench : laps);
    tb_board_put_cells(doc, rounds);
    tb_board_put_answer(doc, rounds);
    return doc;
}

struct tb_doc *tb_board_answer_doc(const struct tb_rounds *rounds)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    tb_board_put_answer(doc, rounds);
    return doc;
}
