// SPDX-License-Identifier: Apache-2.0
//
// options: the flags that eval, replay and bench share, and the way from them through a campaign to its reports.
#ifndef TB_OPTIONS_H
#define TB_OPTIONS_H

#include "testbed/campaign.h"
#include "testbed/cli.h"

struct tb_options {
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t arms_count;        // 0: the command's defaults, as far as they are installed
    bool touch[3];              // by enum tb_touch; none given: full
    enum tb_dispatch dispatch;
    bool dispatch_given;
    uint64_t workers, rounds, seed, block_bytes, laps; // laps 0: by touch mode
    bool json, csv;
    const char *json_path, *csv_path; // NULL: standard output
    const char *plot_path, *summary_path; // NULL: no plot; the summary follows the table
    bool quiet;                 // no progress
};

void tb_options_init(struct tb_options *options);
extern const struct argp tb_options_argp; // a child parser; its input is the struct tb_options

// Fills in the command's default contenders (NULL-terminated names) when none were given; one that is not installed is left out
// with a word on stderr. 0 or an exit status.
int tb_options_arms(struct tb_options *options, const char *const defaults[]);

// Laps of one process: enough that a median of them is steady, few enough that a round takes seconds.
void tb_options_laps(const struct tb_options *options, struct tb_cell *cell);

// Runs and reports. `headline` (or NULL) is printed above the tables for people. The command's exit status.
int tb_options_run(const struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, bool bench,
                   const char *command, const char *headline);

#endif
