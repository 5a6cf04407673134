// SPDX-License-Identifier: Apache-2.0
//
// board: a measurement as a document. What stands in it is worked out in judge/board.h.
#ifndef TB_BOARD_H
#define TB_BOARD_H

#include <jansson.h>

#include "testbed/base/words.h"
#include "testbed/doc/doc.h"
#include "testbed/judge/board.h"

// --- text (board_answer.c) ---

// How an arm is called in a table: by its version where that begins with its label ("mimalloc 2.0.9"). ASCII.
void tb_text_arm(const struct tb_row *row, char *out, size_t size);

void tb_say_arm(struct tb_words *words, const struct tb_arm *arm); // its label, in ASCII

// How small a difference the cells from `first` to `last` - 1 could have shown, and by which A/A controls that is known.
void tb_say_resolution(struct tb_words *words, const struct tb_rounds *rounds, uint32_t first, uint32_t last);

// "spin dispatch, 1 worker pinned, 30 rounds (seed 41)"
void tb_text_settings(const struct tb_rounds *rounds, char *out, size_t size);

// --- documents ---

// A measurement as `locus eval` shows it (board_doc.c). Programs get `command`, `seed`, `rounds`, `dispatch`, `workers`,
// `workers_pinned`, `block_bytes` and `cells` with their `arms` (board_json.c). Takes over `head`. NULL without memory.
struct tb_doc *tb_board_doc(json_t *head, const struct tb_rounds *rounds, const char *command, const char *about);
struct tb_doc *tb_board_answer_doc(const struct tb_rounds *rounds);  // what stands below its tables
struct tb_doc *tb_board_samples_doc(const struct tb_rounds *rounds); // the table "samples", a row each (board_json.c)

// The answer's first sentence, of the touch that means most. false: no cell was measured.
bool tb_board_finding(const struct tb_rounds *rounds, struct tb_words *out);

// Its parts: a table for each cell; the overview, who is ahead, and what a reader must know beside that.
void tb_board_put_cells(struct tb_doc *doc, const struct tb_rounds *rounds);
void tb_board_put_bills(struct tb_doc *doc, const struct tb_rounds *rounds,
                        uint32_t cell); // of each arm that has one (board_bill.c)
json_t *tb_board_bills_json(const struct tb_rounds *rounds, uint32_t cell);
void tb_board_put_answer(struct tb_doc *doc, const struct tb_rounds *rounds);
// Its end: who is noisy, waited or INVALID, and how small a difference could be seen.
void tb_board_put_caveats(struct tb_doc *doc, const struct tb_rounds *rounds);
struct tb_value tb_told_value(enum tb_told told, const struct tb_ratio *ratio); // a ratio, or what keeps it from being said
void tb_board_json(struct tb_doc *doc, const struct tb_rounds *rounds, const char *command);

#endif
