// SPDX-License-Identifier: Apache-2.0
//
// options: the flags that eval, replay, bench and advise share, and the way from them through a measurement to its reports.
#ifndef TB_OPTIONS_H
#define TB_OPTIONS_H

#include <stdio.h>

#include "testbed/base/cli.h"
#include "testbed/base/cpus/cpus.h"
#include "testbed/base/file.h"
#include "testbed/cli/forms.h"
#include "testbed/measure/rounds.h"
#include "testbed/record/log.h"
#include "testbed/workload/trace.h"

struct tb_options {
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t arms_count;        // 0: the command's defaults, as far as they are installed
    bool tails;                 // single calls are timed as well
    bool bill;                  // some of them are those of a bill (judge/bill.h)
    bool touch[3];              // by enum tb_touch; none given, and no `decode`: full
    const char *decode;         // touch `decode` with its settings, as in a cell: "decode/128t"; NULL: not given
    enum tb_dispatch dispatch;
    bool dispatch_given;
    uint64_t workers, rounds, seed, block_bytes, laps; // laps 0: by touch mode
    struct tb_forms forms;
    const char *cpus;           // to measure on; NULL: see testbed/base/cpus/cpus.h
    const char *summary_path;   // NULL: the summary follows the tables
    const char *log_path;       // NULL: the log is not kept
    bool quiet;                 // no progress
    bool bench, many_nodes;     // of the command, not of a flag: as in struct tb_rounds
    bool unpinned;              // the same: what is measured leaves its threads to the scheduler, which isolated CPUs do not have
    json_t *advise, *here;      // the same: of its log's header (run/measured.h), or NULL; borrowed
};

void tb_options_init(struct tb_options *options);
extern const struct argp tb_options_argp; // a child parser; its input is the struct tb_options

// For a command that has only some of the flags, or other defaults: its own table of them under these keys, and this parser. At
// the end of the command line it moves the process to the CPUs to measure on, so until then nothing may use topo/.
enum {
    TB_KEY_CONTENDERS = 'c',
    TB_KEY_TOUCH = 't',
    TB_KEY_DISPATCH = 'd',
    TB_KEY_WORKERS = 'w',
    TB_KEY_ROUNDS = 'r',
    TB_KEY_SEED = 's',
    TB_KEY_QUIET = 'q',
    TB_KEY_BLOCK_BYTES = 1100,
    TB_KEY_LAPS,
    TB_KEY_TAILS,
    TB_KEY_SUMMARY,
    TB_KEY_LOG,
    TB_KEY_CPUS,
};
error_t tb_options_parse(int key, char *argument, struct argp_state *state, struct tb_options *options);

// Fills in what was not given: full touch, and the command's default contenders (NULL-terminated names), of which one that is not
// installed is left out with a word on stderr. 0 or an exit status.
int tb_options_arms(struct tb_options *options, const char *const defaults[]);

// Laps of one process: enough that a median of them is steady, few enough that a round takes seconds. Where laps are long (touch
// `decode`, recorded traces) one, after one that warms up. Of a bill some more, with counters on.
void tb_options_laps(const struct tb_options *options, struct tb_cell *cell);

// Measures into a log (run/measured.h), reads it back and shows it. `about` (or NULL): what is measured, in words, for people. The
// command's exit status.
int tb_options_run(struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, const char *command,
                   const char *about);

// Can everything be written that it is to write? 0, or -errno after a report. Measuring begins with this.
int tb_options_outputs(const struct tb_options *options);

// The first half of it: 0 and a view of the log, or -errno after a report (-E2BIG: this host has not the memory).
int tb_options_measure(struct tb_options *options, const struct tb_cell cells[], uint32_t cells_count, const char *command,
                       const char *about, struct tb_log_view *out);

// Shows a log that was written so: an exit status.
int tb_options_show(const struct tb_options *options, const struct tb_log_view *view);

// The flags by which a recorded trace becomes a schedule, of replay and advise.
struct tb_options_trace {
    struct tb_replay_config replay; // begin with tb_replay_defaults
    struct tb_trace_map map;    // of --map
    const struct tb_trace_format *format; // its format, or NULL: as the trace has it
    struct tb_trace *trace;     // what was read: a pipe cannot be read again; close it
    bool given;                 // one of the flags was
    bool pool_given;
};

// The option --map, of which a command that has not all of these flags has a row of its own, and its parser.
#define TB_MAP_HELP                                                                                                                \
    "Which columns or keys of a trace have what: time=NAME,prompt=NAME,output=NAME (time=NAME:ms: a number of s, ms, us or ns; "   \
    "ids=NAME: prefix ids)"
error_t tb_options_map(struct argp_state *state, const char *argument, struct tb_trace_map *map,
                       const struct tb_trace_format **format);

extern const struct argp tb_options_trace_argp; // a child parser; its input is the struct tb_options_trace

// Loads the trace, once, and works out its schedule (free it). `headline`: three lines on what it is. 0, or an exit status after a
// report.
int tb_options_trace_load(struct tb_options_trace *options, const char *path, struct tb_schedule **out, char *headline,
                          size_t headline_bytes);

// Another one of it, in a layout's blocks, for touch `decode` with these settings, "decode/128t" (free it). Fills in a cell, but
// for laps and name. The same results.
int tb_options_trace_decode(struct tb_options_trace *trace, const char *path, const char *decode, struct tb_cell *cell,
                            struct tb_schedule **out);

// The same of a batch by name, which a flag has named. pre: the cell has its settings, as tb_decoding_open() wants it.
int tb_options_batch_decode(const char *flag, const char *workload, struct tb_cell *cell, struct tb_schedule **out);

#endif
