// SPDX-License-Identifier: Apache-2.0
//
// terminal: a stream's colour and width, and a line with the time left. In a pipe there is neither colour nor progress.
#ifndef TB_TERMINAL_H
#define TB_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tb_report_style {
    bool colour;                // a terminal, and NO_COLOR unset
    int columns;                // width; 80 if unknown
};

// Style for a stream: colour only on a terminal.
struct tb_report_style tb_report_style(FILE *stream);

struct tb_progress;
int tb_progress_open(struct tb_progress **out, FILE *stream); // 0 or -ENOMEM
void tb_progress_show(struct tb_progress *progress, const char *where, uint64_t done, uint64_t total);
void tb_progress_close(struct tb_progress *progress); // erases the line

#endif
