// SPDX-License-Identifier: Apache-2.0
//
// scoreboard: the standing table of contenders, worked out from what the official runs' logs hold. Nothing is measured for it.
//
// A cell is workload, touch, dispatch, workers and block size. Of several runs of a cell on a host the newest counts, however it
// came out; but as ratios are made within a run, an older one stays beside it that has a rival which the newer one lacks. So a cell
// may have several tables; the one with the most rivals is its main one, and the standing is made of main tables alone. A run gives
// figures when it is official, sealed, complete and closed in its host's ledger, of real hardware, valid, and no noise gate failed;
// an invalid run gives its gates alone, where no other run has the cell. All others are left out, each by name and with its reason.
// Cells of touch serve and keep have no place here: their arms are strategies and policies, and no lap of theirs is a time.
//
// Times faster is the baseline's time over the contender's, by the rounds' pairs (stats.h): the baseline is mimalloc, and where a
// cell has none, the first valid contender of the run. Places are for rivals alone (postulate.h) that are no twin, at the cell's
// number of workers, by times faster; who is not told apart from the first of a place, because the 95 % interval of the two holds
// 1, shares it. The predicted place is that of the first `order` of time_ns in the run's sealed summary that covers the cell,
// counted among the rivals that it names.
#ifndef TB_SCOREBOARD_H
#define TB_SCOREBOARD_H

#include "testbed/base/words.h"
#include "testbed/doc/doc.h"
#include "testbed/judge/shown.h"

#define TB_SCOREBOARD_BASELINE "mimalloc"
#define TB_SCOREBOARD_FOCUS "locus" // whose board this is
#define TB_SCOREBOARD_NOTHING "Nothing to show: no official run has a figure here."

struct tb_scoreboard_wanted {
    const char *host;           // NULL: all
    const char *cell;           // a glob, for "steady-decode/full" or "steady-decode/full/spin/1w/4KiB"; NULL: all
};

// Everything that the views below show, as one object:
//   confidence, method
//   standing [{host, touch, cells, sentence, contenders [{name, cells (shared with mimalloc), mean_times_faster|null (their
//     geometric mean), least|null, most|null (of these cells), locus_mean|null (of locus on the same cells), ranked (cells on which
//     it has a place), first (of these), shared (of the firsts)}]}]: a host's full touch first; contenders by their means
//   tables [{host, cell, workload, touch, dispatch, workers, block_bytes, many_nodes, run, time, log, verdict, why|null,
//     ledger {path, line, hash} (of the entry that closed the run), rounds, main, figures (false: gates alone), older [run],
//     baseline|null, ranked, contenders [{name, key, kind "ranked"|"harness"|"twin"|"fault"|"workers", version|null, invalid|null,
//     median_ns, low_ns, high_ns, mad_percent, interval_percent (width over median), n,
//     times_faster|null {estimate, low|null, high|null, confidence|null}, footprint {worst, mean}, predicted_rank|null,
//     predicted_of|null, rank|null, shared}]}]: contenders with a place first, by times faster
//   left_out [{run, host, what, why|null}]: what is "trial", "emulated", "noise", "invalid", ...
//   older: how many tables are not shown, because a newer run has all their rivals
//   not_measured {cells [{cell, command}], contenders [{name, command}]}: of this program, without a figure above
//   warnings [text]: ledgers that are broken
//   answer: a sentence for each host and touch
// Text from logs is without control characters. 0, -ENOMEM, or -errno.
int tb_scoreboard(const struct tb_store *store, const struct tb_scoreboard_wanted *wanted, json_t **out);

// --- views (scoreboard_doc.c) ---

// Takes over `head`. For programs all of the above; for people the standing of each host, each cell in full, or both.
struct tb_doc *tb_scoreboard_doc(json_t *head, json_t *board, bool standing, bool cells);

struct tb_doc *tb_scoreboard_rows_doc(const json_t *board); // the table "rows": one for each contender in each cell

// Of each host the best few, locus and the baseline, without contenders on a quarter of its cells or fewer, and without hosts where
// nobody was measured beside the baseline; or `all` of them.
void tb_scoreboard_put_standing(struct tb_doc *doc, const json_t *board, bool all);
void tb_scoreboard_put_table(struct tb_doc *doc, const json_t *table, const char *title, const char *link); // link: to its run
void tb_scoreboard_put_missing(struct tb_doc *doc, const json_t *board);

const json_t *tb_scoreboard_find(const json_t *contenders, const char *name); // the first of that name, or NULL
const char *tb_scoreboard_title(const json_t *table, char out[256]);

// --- its parts ---

// baseline, rounds, ranked and contenders of a cell of a log, and the measurement that it is of, into `table`. 0 or -errno.
struct tb_rounds;
int tb_scoreboard_cell(const struct tb_rounds *rounds, const struct tb_log_view *view, size_t cell, bool figures, json_t *table);

// Can it have a place? bare: without what makes it no other contender ("#2", "+4w").
bool tb_scoreboard_rival(const char *name, char bare[96]);

#endif
