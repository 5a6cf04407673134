// SPDX-License-Identifier: Apache-2.0
//
// html_page (private to the record): the page that answers "What did this machine show?", in its parts.
//
//   html_load    ledgers and logs below the given folders, as a gallery of runs
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

#include "testbed/record/html.h"
#include "testbed/record/log.h"

// What is known of a run. Only of a whole one the verdict counts.
enum tb_run_state {
    TB_RUN_WHOLE,               // sealed, complete
    TB_RUN_STOPPED,             // sealed before its end
    TB_RUN_CRASHED,             // a log without a seal
    TB_RUN_BROKEN,              // its log is not what was written
    TB_RUN_MISSING,             // the ledger opened it, and there is no log
};

struct tb_gallery_run {
    char host[64], run[64], path[4096]; // the log's
    enum tb_run_state state;
    struct tb_log_view view;    // empty where no log could be read
    bool filed;                 // the ledger opened it
    char why[256];              // of a state that is not whole
};

struct tb_gallery_host {
    char name[64], path[4096];  // the ledger's
    struct tb_chain ledger;
    bool exists;                // there is a ledger
};

struct tb_gallery {
    struct tb_gallery_run *runs; // by experiment, then time
    size_t runs_count;
    struct tb_gallery_host *hosts;
    size_t hosts_count;
};

// Adds what lies below `root` ("logs"). A root that is not there adds nothing. 0 or -errno.
int tb_gallery_add(struct tb_gallery *gallery, const char *root);
void tb_gallery_sort(struct tb_gallery *gallery);
void tb_gallery_close(struct tb_gallery *gallery);

// The host whose ledger stands beside a run's log, or NULL; and that ledger's last entry of this type about a run, or NULL.
const struct tb_gallery_host *tb_gallery_host_of(const struct tb_gallery *gallery, const struct tb_gallery_run *run);
const json_t *tb_gallery_entry(const struct tb_gallery_host *host, const char *type, const char *run);

const char *tb_gallery_verdict(const struct tb_gallery_run *run);  // the summary's, or "crashed", "stopped", ...

const char *tb_emulated(const json_t *header);    // the emulated machine that a run was made in, or ""
const char *tb_prediction_verdict(const json_t *header, const json_t *prediction);
bool tb_prediction_measured(const json_t *header, const json_t *prediction); // else its figures mean nothing and are not shown

// A badge: name, CSS class and a sign, so that it is not told by colour alone.
struct tb_badge {
    const char *name, *css, *sign;
};
const struct tb_badge *tb_badge(const char *verdict);
const struct tb_badge *tb_badge_at(size_t i); // in the order of the glance; NULL behind the last

// Writes the whole page. 0 or -errno.
int tb_html_page(FILE *out, const struct tb_gallery *gallery);

// The page's answer, as plain text: a sentence about the predictions, and those about runs without a verdict and runs in emulated
// machines (or nothing).
void tb_gallery_answer(FILE *out, const struct tb_gallery *gallery);
void tb_gallery_rest(FILE *out, const struct tb_gallery *gallery);

void tb_html_style(FILE *out);

int tb_html_run(FILE *out, const struct tb_gallery_run *run); // 0 or -ENOMEM
void tb_html_badge(FILE *out, const char *verdict);

// --- html_table ---

void tb_html_arms_table(FILE *out, const struct tb_log_view *view, size_t cell);
void tb_html_gates(FILE *out, const struct tb_log_view *view);
void tb_html_json(FILE *out, const json_t *value);
void tb_html_cell_name(const json_t *header, size_t cell, char *out, size_t bytes); // "churn-touch/full"

#endif
