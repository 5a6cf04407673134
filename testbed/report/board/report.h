// SPDX-License-Identifier: Apache-2.0
//
// report: a finished campaign as a table for people, as JSON and CSV for programs, as SVG for eyes.
//
// All functions write to a stream that the caller opened, and return 0 or -errno (a full disk is an error, not a short file).
#ifndef TB_REPORT_H
#define TB_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "testbed/base/terminal.h"
#include "testbed/measure/campaign.h"

int tb_report_table(FILE *stream, const struct tb_campaign *campaign, struct tb_report_style style);
int tb_report_json(FILE *stream, json_t *head, const struct tb_campaign *campaign, const char *command); // head.h or NULL; borrowed
int tb_report_csv(FILE *stream, const struct tb_campaign *campaign); // every sample, one line each

// By gnuplot. -ENOENT: it is not installed; -ENOTDIR: there is no such folder.
int tb_report_plot(const char *svg_path, const struct tb_campaign *campaign);

// The campaign's answer in plain words: who is ahead, by how much, at which touch, and what cannot be seen here.
int tb_report_summary(FILE *stream, const struct tb_campaign *campaign);

#endif
