// SPDX-License-Identifier: Apache-2.0
//
// page: the record as a page that people open first, and a page for each run. Each is a document (doc/doc.h) that the
// HTML emitter writes into the frame page.html with style.css.
//
//   page     the index: the finding, the scoreboard, what fell, all hosts, the ledgers
//   standing its parts that are views of the scoreboard's and the hosts' models
//   measured its part that is what `make run` left
//   run      one run: predictions in words, samples, arms, gates, environment; nodes: what runs of many nodes counted
//
// An emulated machine counts as a real one does, and its times mean nothing. Of a run that was made in one no time is shown, and
// no prediction about time has a verdict, whatever its log says.
#ifndef TB_PAGE_H
#define TB_PAGE_H

#include <stdbool.h>

#include "testbed/base/file.h"
#include "testbed/base/words.h"
#include "testbed/doc/emit.h"
#include "testbed/judge/shown.h"
#include "testbed/record/store.h"

// --- pages: 0 or -errno --------------------------------------------------------------------------------------------------------

// `measured`: a folder with what `make run` left, or NULL. Runs are linked as FOLDER/NAME.html, and all tables of the scoreboard
// as FOLDER/scoreboard.html.
struct tb_page {
    const struct tb_store *store;
    const char *measured, *folder;
};
tb_write_fn tb_page_index;
tb_write_fn tb_page_scoreboard; // lies in the folder; -ENODATA: there is no figure
tb_write_fn tb_page_run; // of a struct tb_store_run

// What such a page shows, as a document; without `samples` the figures alone. `head`: as tb_doc_open() takes it. NULL without
// memory.
struct tb_doc *tb_run_doc(json_t *head, const struct tb_store_run *run, bool samples);

// A run's page in the folder: its id, without what a path must not have. Where the log itself is at hand its file is asked, as a
// copy of it names the same run.
const char *tb_page_name(const char *run, char out[80]);
const char *tb_page_of(const struct tb_store_run *run, char out[80]);

// The record in a few sentences: its predictions, the runs without a verdict, those made in emulated machines.
void tb_page_answer(struct tb_words *out, const struct tb_store *store);

// --- their parts ---------------------------------------------------------------------------------------------------------------

extern const char tb_page_frame[], tb_page_style[];

struct tb_verdict_look {
    const char *verdict, *means;
    enum tb_tone tone;
};
const struct tb_verdict_look *tb_verdict_look(const char *verdict);
const struct tb_verdict_look *tb_verdict_look_at(size_t i); // NULL after the last
struct tb_value tb_verdict_value(const char *verdict);

// "mimalloc takes at least 1.75 times as long as locus, in churn-touch/full", or its own `claim`, where it has one. Returns out.
const char *tb_claim_words(const json_t *header, const json_t *prediction, struct tb_words *out);
struct tb_value tb_observed(const json_t *header, const json_t *prediction); // the figure, or why there is none

// "B locus (A/A control)". Returns out.
const char *tb_arm_words(const json_t *header, const char *key, char out[160]);

void tb_page_nodes(struct tb_doc *doc, const struct tb_log_view *view);
void tb_page_measured(struct tb_doc *doc, const char *folder);
// What `make run` found, in a sentence. false: it left nothing.
bool tb_measured_finding(const char *folder, char *out, size_t bytes);

void tb_page_standing(struct tb_doc *doc, const json_t *board, const char *folder);  // a row for each contender
void tb_page_tables(struct tb_doc *doc, const json_t *board);                        // all of them, in full
bool tb_standing_finding(const json_t *board, const json_t *fleet, char *out, size_t bytes); // false: there is no figure
void tb_page_fleet(struct tb_doc *doc, const json_t *fleet, const char *folder);

#endif
