// SPDX-License-Identifier: Apache-2.0
//
// report: a finished campaign as a table for people, as JSON and CSV for programs, as SVG for eyes; and its progress while it
// runs.
//
// All functions write to a stream that the caller opened, and return 0 or -errno (a full disk is an error, not a short file).
#ifndef TB_REPORT_H
#define TB_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "testbed/campaign.h"

struct tb_report_style {
    bool colour;                // a terminal, and NO_COLOR unset
    int columns;                // width to stay within; 80 when unknown
};

// Style for a stream: colour only on a terminal.
struct tb_report_style tb_report_style(FILE *stream);

int tb_report_table(FILE *stream, const struct tb_campaign *campaign, struct tb_report_style style);
int tb_report_json(FILE *stream, json_t *head, const struct tb_campaign *campaign, const char *command); // head.h or NULL; borrowed
int tb_report_csv(FILE *stream, const struct tb_campaign *campaign); // every sample, one line each

// By gnuplot. -ENOENT: it is not installed; -ENOTDIR: there is no such folder.
int tb_report_plot(const char *svg_path, const struct tb_campaign *campaign);

// The campaign's answer in plain words: who is ahead, by how much, at which touch, and what cannot be seen here.
int tb_report_summary(FILE *stream, const struct tb_campaign *campaign);

// A progress line with time left, on a terminal only; nothing at all in a pipe. For tb_campaign_run().
struct tb_progress;
int tb_progress_open(struct tb_progress **out, FILE *stream);
void tb_progress_step(void *progress, const struct tb_campaign *campaign, uint32_t cell, uint64_t done, uint64_t total);
void tb_progress_show(struct tb_progress *progress, const char *where, uint64_t done, uint64_t total); // for anything else
void tb_progress_close(struct tb_progress *progress); // wipes the line

#endif
