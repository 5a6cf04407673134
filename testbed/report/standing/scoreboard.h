// SPDX-License-Identifier: Apache-2.0
//
// scoreboard: the standing table of contenders, worked out from what the official runs' logs hold. Nothing is measured for it.
//
// A cell is workload, touch, dispatch, workers and block size. Of several runs of a cell on a host the newest counts, however it
// came out; but as ratios are made within a run, an older one stays beside it that has a rival which the newer one lacks. So a cell
// may have several tables; the one with the most rivals is its main one, which the answer speaks of. A run gives figures when it is
// official, sealed, complete and closed in its host's ledger, of real hardware, valid, and no noise gate failed; an invalid run
// gives its gates alone, where no other run has the cell. All others are left out, each by name and with its reason.
//
// Velocity is the baseline's time over the contender's, by the rounds' pairs (stats.h): the baseline is mimalloc, and
// where a cell has none, the first valid contender of the run. Places are for rivals alone (postulate.h) that are no twin, at the
// cell's number of workers, and in the order of their velocity; who is not told apart from the first of a place, because the 95 %
// interval of the two holds 1, shares it. The predicted place is that of the first `order` of time_ns in the run's sealed summary
// that covers the cell, counted among the rivals that it names.
#ifndef TB_SCOREBOARD_H
#define TB_SCOREBOARD_H

#include <jansson.h>
#include <stdio.h>

#include "testbed/report/board/board.h"
#include "testbed/judge/shown.h"

struct tb_scoreboard_wanted {
    const char *host;           // NULL: all
    const char *cell;           // a glob, for "steady-decode/full" or "steady-decode/full/spin/1w/4KiB"; NULL: all
};

// Everything that the views below show, as one object:
//   confidence, method
//   tables [{host, cell, workload, touch, dispatch, workers, block_bytes, many_nodes, run, time, log, verdict, why|null,
//     ledger {path, line, hash} (of the entry that closed the run), rounds, main, figures (false: gates alone), older [run],
//     baseline|null, ranked, contenders [{name, key, kind "ranked"|"harness"|"twin"|"fault"|"workers", version|null, invalid|null,
//     median_ns, low_ns, high_ns, mad_percent, interval_percent (width over median), n,
//     times_faster|null {estimate, low|null, high|null, confidence|null}, footprint {worst, mean}, predicted_rank|null,
//     predicted_of|null, rank|null, shared}]}]: contenders with a place first, by velocity
//   left_out [{run, host, what, why|null}]: what is "trial", "emulated", "noise", "invalid", ...
//   older: how many tables are not shown, because a newer run has all their rivals
//   not_measured {cells [{cell, command}], contenders [{name, command}]}: of this program, without a figure above
//   warnings [text]: ledgers that are broken
//   answer: sentences
// Text from logs is without control characters. 0, -ENOMEM, or -errno.
int tb_scoreboard(const struct tb_store *store, const struct tb_scoreboard_wanted *wanted, json_t **out);

struct tb_unit tb_scoreboard_unit(const json_t *table); // one for all medians of a table, in every view
size_t tb_scoreboard_tables(const json_t *board); // that have figures

void tb_scoreboard_text(const json_t *board, FILE *out);
void tb_scoreboard_markdown(const json_t *board, FILE *out);        // a page of its own
void tb_scoreboard_csv(const json_t *board, FILE *out);             // one line for each contender in each table
int tb_scoreboard_plot(const json_t *board, const char *svg_path);  // as tb_gnuplot(); -ENODATA: no velocity to draw

// --- its parts ---

// "4 KiB", "spin dispatch, 4 workers, 64 KiB blocks" of a table. Return out.
const char *tb_scoreboard_bytes(double bytes, const char *space, char *out, size_t size);
const char *tb_scoreboard_settings(const json_t *table, char *out, size_t size);

// "1=", "2", or "-"; "2 of 3".
const char *tb_scoreboard_rank(const json_t *row, char out[16]);
const char *tb_scoreboard_predicted(const json_t *row, char out[24]);

// baseline, rounds, ranked and contenders of a cell of a log, into `table`. 0 or -errno.
int tb_scoreboard_cell(const struct tb_log_view *view, size_t cell, bool figures, double workers, json_t *table);

// What has no figure in `tables`. New reference, or NULL without memory.
json_t *tb_scoreboard_missing(const json_t *tables, const char *cell);

// The sentences. New reference, or NULL.
json_t *tb_scoreboard_answer(const json_t *tables, const json_t *missing, const json_t *left_out);

// Can it have a place? bare: without what makes it no other contender ("#2", "+4w").
bool tb_scoreboard_rival(const char *name, char bare[96]);

// Is a cell meant by the glob (or NULL)? In its short form or the long one.
bool tb_scoreboard_meant(const char *glob, const char *brief, const char *whole);

#endif
