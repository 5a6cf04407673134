// SPDX-License-Identifier: Apache-2.0
//
// record: what is kept of a run for people and for good: experiments/NNNN-slug.md.
//
// A record is what a person makes of a run (interpretation, next question) below a head that says which run that was, by the last
// hash of its log. What the run found is in the log, and is shown from it whenever it is asked for. Records from before this one's
// form have these tables in them; they stay as they were filed.
#ifndef TB_RECORD_H
#define TB_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "testbed/record/log.h"
#include "testbed/record/names.h"

// The record of that log, its two sections empty; *text is malloc'd. 0, or -errno with why: no memory, or the ledger that knows the
// verdicts of the runs that this one replicates cannot be read.
int tb_record_draft(const struct tb_log_view *view, char **text, char *why, size_t why_bytes);

// The run that a draft says it is of. 0, or -EINVAL when it does not say.
int tb_record_run(const char *draft, char run[TB_RUN_TEXT]);

// Is `draft` what tb_record_draft() writes, with its two sections filled in? 0, -ENOMEM, or -EINVAL: why says what is altered or
// missing, beginning with the line's number ("12: ...").
int tb_record_check(const struct tb_log_view *view, const char *draft, char *why, size_t why_bytes);

// Is it the log of an official run that a ledger below logs/ closed with this last hash? 0, or -EINVAL or -errno with why.
int tb_record_official(const struct tb_log_view *view, char *why, size_t why_bytes);

// Puts a checked draft of an official run at experiments/NNNN-slug.md, or .addN.md where that is taken, and enters it in the ledger
// of this host below logs/. `view` is its log. Nothing is overwritten; a file that a crash left without its entry gets it now. 0,
// -EINVAL (not an official run), -EEXIST (the run has a record), -errno; why is one sentence.
int tb_record_file(const struct tb_log_view *view, const char *draft, char *path, size_t path_bytes, char *why, size_t why_bytes);

#endif
