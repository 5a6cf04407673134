// SPDX-License-Identifier: Apache-2.0
//
// record: a run as Markdown, for people and for good: experiments/NNNN-slug.md.
//
// All of it is written by the machine from the log alone, except the two sections at its end, "Interpretation" and "Next question",
// which a person fills in. So whether a record is true to its log can be decided: write it anew, and compare.
#ifndef TB_RECORD_H
#define TB_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include "testbed/record/log.h"
#include "testbed/record/names.h"

// The record of a log that has a summary and a seal, its two sections empty. 0 or -errno.
int tb_record_write(const struct tb_log_view *view, FILE *out);

// The run that a draft says it is of. 0, or -EINVAL when it does not say.
int tb_record_run(const char *draft, char run[TB_RUN_TEXT]);

// Is `draft` what tb_record_write() writes (`fresh`), with its two sections filled in? 0, or -EINVAL: why says what is altered or
// missing, beginning with the line's number ("12: ...").
int tb_record_check(const char *draft, const char *fresh, char *why, size_t why_bytes);

// Puts a checked draft at experiments/NNNN-slug.md, or .addN.md where that is taken, and enters it in the ledger of this host below
// logs/. `view` is its log. Nothing is overwritten; a file that a crash left without its entry gets it now. 0, -EINVAL (not an
// official run, not in its ledger as it is), -EEXIST (the run has a record), -errno; why is one sentence.
int tb_record_file(const struct tb_log_view *view, const char *draft, char *path, size_t path_bytes, char *why, size_t why_bytes);

#endif
