// SPDX-License-Identifier: Apache-2.0
//
// figure: what the samples say about one comparison, and what that says about a claim. The parts of which verdict.c makes
// verdicts.
#ifndef TB_FIGURE_H
#define TB_FIGURE_H

#include "testbed/base/json.h"
#include "testbed/judge/verdict.h"

// Two arms in one cell, round by round (or one arm: `under` is NULL). Owned.
struct tb_pair {
    double *over, *under;
    double *block;              // of rounds, to which each belongs
    size_t n;
};

// `metric`: by its name (metric.h). Times of two arms that took turns in one process in every round are those relative to the
// process's first arm (time_rel): their ratios are those of turns. 0, -ENOMEM, or -ENODATA (why is a sentence): the cell or an
// arm was not run, or the rounds of the two do not match.
int tb_pair_load(const struct tb_log_view *view, const char *metric, const char *cell, const char *over, const char *under,
                 struct tb_pair *out, char *why, size_t why_bytes);

// The same of two cells, which no process shares: the lower arm as it was in `cell_under`.
int tb_pair_load_across(const struct tb_log_view *view, const char *metric, const char *cell, const char *over,
                        const char *cell_under, const char *under, struct tb_pair *out, char *why, size_t why_bytes);
void tb_pair_close(struct tb_pair *pair);

struct tb_figure {
    struct tb_ratio seen;       // or a median, or a count; low and high: -INFINITY or 0, and INFINITY, when unbounded
    double confidence;          // asked for
    bool known;                 // otherwise only `why` is
    char why[200];              // that it is unknown or unbounded; "" otherwise
    // By rules 2, of an estimate:
    bool drifted;               // the first and the second half of the rounds differ; seen is widened to hold both
    struct tb_ratio halves[2];
    struct tb_ratio sign;       // of an hl_ratio: median and sign interval; n is 0 otherwise
};

bool tb_prediction_exact(const struct tb_prediction *prediction); // every round is compared; the figure is no estimate

// Is it about something that the machine of this run cannot measure: time, in an emulated one? why: one clause.
bool tb_unmeasurable(const struct tb_log_view *view, const struct tb_prediction *prediction, char *why, size_t why_bytes);

// One part of a prediction: a cell, and two arms or one.
struct tb_part {
    const char *cell, *over, *under; // under: NULL but for a ratio
    const char *cell_under;     // NULL: of both arms the same cell
    const char *held;           // the gate that keeps its times from being judged (gates.h); NULL or "": none
    struct tb_figure figure;
    enum tb_verdict verdict;
    bool refuted;               // the figure contradicts the claim, whatever the verdict is called
    double slack;               // how far inside the claim the figure's worse end is; negative: outside
};

// The rounds of a part, as tb_pair_load() or tb_pair_load_across().
int tb_part_load(const struct tb_log_view *view, const char *metric, const struct tb_part *part, struct tb_pair *out, char *why,
                 size_t why_bytes);

// Works out part->figure at `confidence`, by these rules (verdict.h). 0 or -ENOMEM.
int tb_part_measure(const struct tb_log_view *view, const struct tb_prediction *prediction, unsigned rules, double confidence,
                    struct tb_part *part);

// The estimate of a pair of arms, or of one, and by rules 2 what is said beside it. 0, -ENOMEM, or -EINVAL: a round has no
// value.
int tb_figure_estimate(enum tb_stat stat, unsigned rules, const struct tb_pair *pair, double confidence, struct tb_figure *figure);

// By rules 2: do the halves of the rounds differ, as a rank-sum test at 95 % says? Then halves[] are their estimates with
// intervals of `confidence`. `stat` is a ratio's or a median's. 0 or -errno.
int tb_drift(enum tb_stat stat, const struct tb_pair *pair, double confidence, bool *drifted, struct tb_ratio halves[2]);

// Fills verdict, refuted and slack from the figure.
void tb_part_judge(const struct tb_prediction *prediction, struct tb_part *part);

// All parts of a prediction, not measured: one, unless a `*` makes it a conjunction. *parts is malloc'd. 0 or -ENOMEM.
int tb_parts(const struct tb_postulate *postulate, const struct tb_prediction *prediction, struct tb_part **parts, size_t *count);

// By rules 1: do the blocks of rounds disagree about a ratio of this prediction? why: which, and how far.
bool tb_blocks_disagree(const struct tb_log_view *view, const struct tb_postulate *postulate,
                        const struct tb_prediction *prediction, char *why, size_t why_bytes);

// The summary's "aa", "arms" and "positive_control". New references, or NULL without memory.
#define TB_AA_CONFIDENCE 0.99 // by rules 1
json_t *tb_table_aa(const struct tb_log_view *view, const struct tb_postulate *postulate, double confidence);
json_t *tb_table_arms(const struct tb_log_view *view, const struct tb_postulate *postulate);
json_t *tb_table_positive_control(const struct tb_log_view *view, const struct tb_postulate *postulate);

#endif
