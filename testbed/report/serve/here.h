// SPDX-License-Identifier: Apache-2.0
//
// here: strategies under a clock that was measured, from a log of `locus serve --here`: how many tokens a second each decodes on
// that machine, with an interval, and how many if attention were as fast as its floor.
//
// In the log's header `measured.here` has
//   cell, kernel, threads, rounds, step_bytes   what was measured
//   arm, floor                                  of whom: labels
//   read_ps, floor_ps                           for each byte of KV: estimate, low, high
//   confidence                                  of both intervals together
//   noisy                                       the label of an arm, or null
//   unfit                                       what the doctor had against the host before that, or null
// and the cells of the log are those of enum tb_here_cell, in this order. The clock of each is in its words.
#ifndef TB_REPORT_HERE_H
#define TB_REPORT_HERE_H

#include <jansson.h>
#include <stdbool.h>

#include "testbed/doc/doc.h"
#include "testbed/judge/decoded.h"
#include "testbed/record/log.h"

enum tb_here_cell {
    TB_HERE_ESTIMATE,
    TB_HERE_FAST,               // both intervals' lower ends
    TB_HERE_SLOW,               // both intervals' upper ends
    TB_HERE_FLOOR,              // a byte of KV is read as fast as by the floor
    TB_HERE_CELLS,
};

// The member `measured.here`. NULL without memory.
json_t *tb_here_json(const struct tb_rounds *rounds, uint32_t cell, const char *name, const struct tb_pace *pace);

bool tb_here_is(const struct tb_log_view *view);

// Programs get `clock` (the member), `tokens` and `cells`. Takes over `head`. NULL without memory.
struct tb_doc *tb_here_doc(json_t *head, const struct tb_log_view *view);

#endif
