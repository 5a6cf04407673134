// SPDX-License-Identifier: Apache-2.0
//
// board: what the reports share: who stands where in a cell, ratios between any two arms, and what is said of them.
#ifndef TB_BOARD_H
#define TB_BOARD_H

#include <stdio.h>

#include "testbed/base/words.h"
#include "testbed/doc/doc.h"
#include "testbed/report/board/row.h"

// --- who stands where (row.c) ---

enum tb_place {
    TB_PLACE_RANKED,
    TB_PLACE_CONTROL, // "X#2", and an arm X is there: the A/A twin, shown but not ranked
    TB_PLACE_INVALID,
    TB_PLACE_HARNESS, // measures the testbed
};

struct tb_fastest {
    int arm;                    // the one with the least median of those that are valid and not noisy (no twin); -1: there is none
    int rival;                  // a noisy one that may be faster, so that no one is known to be the fastest; -1: there is none
};

// All arms of a cell in the order in which every report shows them: by place, then by median (of an allocation, in a bench).
struct tb_board {
    uint32_t count;
    enum tb_place place[TB_ARMS_MAX];
    uint32_t arm[TB_ARMS_MAX];
    struct tb_row row[TB_ARMS_MAX];
    struct tb_ratio vs_twin[TB_ARMS_MAX]; // where row.has_vs_aa: this arm's time over its twin's
    struct tb_fastest best;     // malloc (of an allocation, in a bench)
};

void tb_board(const struct tb_campaign *campaign, uint32_t cell, struct tb_board *out);

enum { TB_LAP = -1 }; // in place of a TB_BENCH_ operation: the lap's time

// Time of arm `over` divided by time of arm `under`, round by round. false: one of them (or -1 for it) has no valid times.
bool tb_pair_ratio(const struct tb_campaign *campaign, uint32_t cell, int over, int over_op, int under, int under_op,
                   struct tb_ratio *out);

// tb_campaign_row() without what is a ratio.
void tb_row_alone(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, struct tb_row *out);

// The times of all rounds, malloc'd; NULL without memory.
double *tb_times(const struct tb_campaign *campaign, uint32_t cell, uint32_t arm, int op);

// The operation of a malloc against which one of a bench is held; -1: there is none.
extern const int tb_bench_counterpart[TB_BENCH_COUNT];

// The arm that others are held against as the least there can be, or -1: the oracle, else another floor.
int tb_floor(const struct tb_campaign *campaign);

// The arm of which this one is the A/A twin, or -1.
int tb_twin(const struct tb_campaign *campaign, uint32_t arm);

// Label without "#2" and "@fault".
void tb_base_name(const struct tb_arm *arm, char *out, size_t size);

// True when every worker had a CPU of its own in every sample that ran.
bool tb_workers_pinned(const struct tb_campaign *campaign);

// --- what may be relied on (noise.c) ---

// Does a ratio differ from 1 visibly? +1 above, -1 below, 0 not: the interval holds 1, or the estimate is within the resolution.
int tb_visible(const struct tb_ratio *ratio, double resolution);

// tb_campaign_resolution() of one operation, or of laps.
double tb_resolution(const struct tb_campaign *campaign, uint32_t cell, int op);

enum tb_noise tb_noise_of(const struct tb_row *row, int op); // all but TB_NOISE_INTERVAL
bool tb_interval_wide(const struct tb_ratio *ratio);
bool tb_waited(const struct tb_sample *sample);
bool tb_rounds_few(const struct tb_campaign *campaign); // too few for any interval

enum tb_told {
    TB_TOLD_ABSENT,             // one of the two has no valid times
    TB_TOLD_FEW,                // too few rounds for an interval
    TB_TOLD_NOISY,              // one of the two is noisy, or the interval is wide
    TB_TOLD_BLIND,              // no difference, but a control is noisy: a large one might not have been seen either
    TB_TOLD_SAME,               // no difference that this run could see
    TB_TOLD_ABOVE,
    TB_TOLD_BELOW,
};

// tb_pair_ratio(), and what may be said of it. *out has the ratio unless it is ABSENT.
enum tb_told tb_pair_tell(const struct tb_campaign *campaign, uint32_t cell, int over, int over_op, int under, int under_op,
                          struct tb_ratio *out);

struct tb_fastest tb_fastest(const struct tb_campaign *campaign, uint32_t cell, int op, bool (*among)(const struct tb_arm *));
bool tb_is_malloc(const struct tb_arm *arm); // and without a fault
struct tb_fastest tb_best_malloc(const struct tb_campaign *campaign, uint32_t cell, int op); // settings untouched or tuned

// --- text (board_text.c) ---

// How an arm is called in a table: by its version where that begins with its label ("mimalloc 2.0.9"). ASCII.
void tb_text_arm(const struct tb_row *row, char *out, size_t size);

void tb_say_arm(struct tb_words *words, const struct tb_arm *arm); // its label, in ASCII

// How small a difference the cells from `first` to `last` - 1 could have shown, and by which A/A controls that is known.
void tb_say_resolution(struct tb_words *words, const struct tb_campaign *campaign, uint32_t first, uint32_t last);

// "spin dispatch, 1 worker pinned, 30 rounds (seed 41)"
void tb_text_settings(const struct tb_campaign *campaign, char *out, size_t size);

// --- documents ---

// A measurement as `locus eval` shows it (board_doc.c). Programs get `command`, `seed`, `rounds`, `dispatch`, `workers`,
// `workers_pinned`, `block_bytes` and `cells` with their `arms` (board_json.c). Takes over `head`. NULL without memory.
struct tb_doc *tb_board_doc(json_t *head, const struct tb_campaign *campaign, const char *command, const char *about);
struct tb_doc *tb_board_answer_doc(const struct tb_campaign *campaign);  // what stands below its tables
struct tb_doc *tb_board_samples_doc(const struct tb_campaign *campaign); // the table "samples", a row each (board_samples.c)

// The answer's first sentence, of the touch that means most. false: no cell was measured.
bool tb_board_finding(const struct tb_campaign *campaign, struct tb_words *out);

// Its parts: a table for each cell, the overview and the two that follow, who is ahead, and what a reader must know beside that.
void tb_board_put_cells(struct tb_doc *doc, const struct tb_campaign *campaign);
void tb_board_put_answer(struct tb_doc *doc, const struct tb_campaign *campaign);
void tb_board_say_answer(struct tb_doc *doc, const struct tb_campaign *campaign);
void tb_board_say_caveats(struct tb_doc *doc, const struct tb_campaign *campaign);
void tb_board_json(struct tb_doc *doc, const struct tb_campaign *campaign, const char *command);

#endif
