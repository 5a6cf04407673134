// SPDX-License-Identifier: Apache-2.0
//
// html_page (private to the record): the page that answers "What did this machine show?", in its parts.
//
//   html_page    the head, the answer, the ledgers at a glance
//   html_run     one run: predictions, samples, tables, gates, environment
//   html_chart   intervals as SVG; html_strips: samples
//   html_table   tables, and any JSON as nested lists
//   html_scoreboard  the standing table (scoreboard.h)
//   html_fleet   all hosts side by side (fleet.h)
//   html_nodes   what runs of many nodes counted; html_drift: its curves; html_pairs: its tables
//   html_style   the style sheet
//
// The page runs no script and loads nothing; its own policy forbids both. Drawings have a fixed height, and their width is the
// reader's: across they are placed in percent, so that dots stay round and letters keep their size on a phone. Figures carry
// data-attributes with the exact value, by which a test compares the page with the log.
//
// An emulated machine counts as a real one does, and its times mean nothing. Of a run that was made in one no time is shown, and
// no prediction about time has a verdict, whatever its log says.
#ifndef TB_HTML_PAGE_H
#define TB_HTML_PAGE_H

#include <stdbool.h>

#include "testbed/judge/shown.h"
#include "testbed/record/store.h"
#include "testbed/report/page/html.h"

// A badge: name, CSS class and a sign, so that it is not told by colour alone.
struct tb_badge {
    const char *name, *css, *sign;
};
const struct tb_badge *tb_badge(const char *verdict);
const struct tb_badge *tb_badge_at(size_t i); // in the order of the glance; NULL behind the last

// Writes the whole page. 0 or -errno.
int tb_html_page(FILE *out, const struct tb_store *store);

// The page's answer, as plain text: a sentence about the predictions, and those about runs without a verdict and runs in emulated
// machines (or nothing).
void tb_html_answer(FILE *out, const struct tb_store *store);
void tb_html_rest(FILE *out, const struct tb_store *store);

void tb_html_style(FILE *out);

int tb_html_run(FILE *out, const struct tb_store_run *run); // 0 or -ENOMEM
void tb_html_badge(FILE *out, const char *verdict);

// --- html_table ---

void tb_html_arms_table(FILE *out, const struct tb_log_view *view, size_t cell);
void tb_html_gates(FILE *out, const struct tb_log_view *view);
void tb_html_json(FILE *out, const json_t *value);
void tb_html_cell_name(const json_t *header, size_t cell, char *out, size_t bytes); // "churn-touch/full"

#endif
