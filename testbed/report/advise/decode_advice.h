// SPDX-License-Identifier: Apache-2.0
//
// decode_advice: which blocks, layout, pages, order of blocks and allocator the KV cache of a model should have on a machine of
// one node, in tokens per second, from a finished measurement in touch `decode`.
//
// A *choice* is an arm in a cell. All cells decode the same tokens in the same rounds, so the times of two choices have a ratio
// within each round, whatever their cells. Block sizes are compared in the first cell's layout, layouts at the first cell's block
// size; pages, order and allocator in the cell to use. Of the choices of a question the one to use is the first that no other is
// visibly faster than: the smallest block, the first cell's layout, the first arm.
#ifndef TB_DECODE_ADVICE_H
#define TB_DECODE_ADVICE_H

#include "testbed/report/advise/advise.h"

enum tb_decode_question {
    TB_DECODE_BLOCK,
    TB_DECODE_LAYOUT,
    TB_DECODE_PAGE,
    TB_DECODE_ORDER,
    TB_DECODE_ALLOCATOR,
    TB_DECODE_QUESTIONS
};

struct tb_decode_choice {
    uint32_t cell, arm;
    struct tb_row row;              // without ratios
    struct tb_ratio tokens_per_s;   // median of the rounds; n is 0 if it is not valid
    enum tb_advise_cost cost;
    struct tb_ratio speed;          // its tokens per second over those of the one to use; n is 0: there is none
};

struct tb_decode_choices {
    uint32_t count;                 // with less than 2 there is no question
    int use;                        // -1: nothing valid, or only what is noisy
    struct tb_decode_choice choices[TB_ARMS_MAX];
};

struct tb_decode_advice {
    const struct tb_rounds *rounds; // borrowed
    const char *workload;           // what was run, in a line; borrowed
    bool few;                       // too few rounds for an interval: `use` goes by medians
    bool alike;                     // all cells decode the same tokens; otherwise nothing is compared, and nothing to use
    int base;                       // the arm that stands for a cell: the first that may be chosen; -1: there is none
    struct tb_decode_choices questions[TB_DECODE_QUESTIONS];
    struct tb_decode_choice use;    // of all
    bool any;                       // there is one
    int floor;                      // the arm that is its own floor, or -1
    struct tb_ratio of_floor;       // the floor's time over its own
};

// pre: all cells are of touch `decode`. Deterministic.
void tb_decode_advice(const struct tb_rounds *rounds, const char *workload, struct tb_decode_advice *out);

// Can this arm be chosen: no floor, no fault, no twin? And what it is about, where it differs from the base.
bool tb_decode_choosable(const struct tb_rounds *rounds, uint32_t arm);
enum tb_decode_question tb_decode_question_of(const struct tb_arm *arm);

// Do these cells decode the same tokens, in as many steps?
bool tb_decode_alike(const struct tb_schedule *one, const struct tb_schedule *other);

// "4 KiB pages": what an arm is, of whichever of the three questions on arms; NULL: it has no words but its name.
const char *tb_decode_words(const struct tb_arm *arm, enum tb_decode_question question);

// The answer first. `head` is tb_head()'s, or NULL. (decode_advice_doc.c)
struct tb_doc *tb_decode_advice_doc(json_t *head, const struct tb_decode_advice *advice);

#endif
