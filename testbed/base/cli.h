// SPDX-License-Identifier: Apache-2.0
//
// cli: how all commands speak with people. Each error is one line that names the thing and the remedy; exit status 2 for bad
// input, 1 for a run that failed, 0 otherwise.
#ifndef TB_CLI_H
#define TB_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TB_EXIT_OK = 0, TB_EXIT_FAILED = 1, TB_EXIT_USAGE = 2, TB_CLI_RUN = -1 };

// Parses argv by `argp`. `command` is a command's name, or "-NAME" in a program of its own, locus-NAME. TB_CLI_RUN: go on;
// otherwise the exit status of the command (help was printed: 0; a bad option or argument was reported in one line: 2). A parser
// function that finds a bad value calls tb_cli_bad() and returns its result.
int tb_cli_parse(const struct argp *argp, const char *command, int argc, char **argv, void *input);

// Reports `locus: <message>` and makes tb_cli_parse() return TB_EXIT_USAGE. For use in parser functions.
error_t tb_cli_bad(struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A line of a list in a help text: "  NAME      SUMMARY REMARK", wrapped below the summary. For a help filter, because argp would
// break a line that is too long and begin the next one at the margin.
void tb_cli_listed(FILE *out, const char *name, const char *summary, const char *remark);

int tb_cli_version(void); // prints it; an exit status

// Is the current folder the top of a clone of the project? For commands that work on its postulates. TB_EXIT_OK, or TB_EXIT_USAGE
// after a report.
int tb_cli_clone(const char *command);

// One line on stderr: `locus: <message>`.
void tb_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Flushes standard output: TB_EXIT_OK, or TB_EXIT_FAILED after a report (a full disk).
int tb_cli_flush(void);

// Reports once that standard output could not be written: a negative errno (0: the reason is lost). Everything printed afterwards
// fails as well. TB_EXIT_FAILED.
int tb_cli_output_failed(int error);

// Can all these files be written, and does none of them overwrite another, or what another word of the command line names? Called
// before a measurement; NULL is no file. TB_EXIT_OK, or TB_EXIT_FAILED after a report.
int tb_cli_outputs_check(const char *const paths[], size_t count);

// The same in a parser function, which returns its result: tb_cli_parse() then returns TB_EXIT_FAILED.
error_t tb_cli_outputs(const char *const paths[], size_t count);

// --- whole numbers and sizes ---
//
// The one reader of those that people write: in options, words of a cell, postulates and checkpoints. A number is plain digits: no
// sign, no blank before it. One of 2^63 or more is refused, since JSON has no larger whole number, and so is whatever is larger
// than the caller allows: nothing wraps and nothing is cut to what fits. After false nothing is changed.

// The digits at *at, up to `most`; *at moves behind them. false: there are none, or the number is larger.
bool tb_number_take(const char **at, uint64_t most, uint64_t *out);

// `text` is a number between `before` and `after`, and no more: "16t", "first6000". false: it is not, or outside [least, most].
bool tb_number_word(const char *text, const char *before, const char *after, uint64_t least, uint64_t most, uint64_t *out);

// The same of an option's argument: "64"; "4KiB", "2M". false: not a number, or outside [min, max].
bool tb_cli_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
bool tb_cli_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
