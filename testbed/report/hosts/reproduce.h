// SPDX-License-Identifier: Apache-2.0
//
// reproduce: a run once more from its log alone: the commit that it names, built anew, with its arms, seed and rounds.
#ifndef TB_REPRODUCE_H
#define TB_REPRODUCE_H

#include <jansson.h>
#include <stdint.h>

#include "testbed/record/log.h"

// Can it be done here? The log names a commit, without changes that were not committed; the repository around the current folder
// has it; every arm's library is installed; a run of an emulated guest is not repeated outside of it. 0, or -EINVAL: why says what
// is missing. note: a library that is another file than the log's, or "".
int tb_reproduce_check(const struct tb_log_view *view, char *why, size_t why_bytes, char *note, size_t note_bytes);

// Clones the repository into a new folder (*folder; remove it with tb_child_remove), checks out the commit, builds it and runs the
// experiment as a trial. rounds: 0 for as many as the log's. *log: the new log, below the folder. 0 or -errno with why; the folder
// is there whenever `folder` is not "".
int tb_reproduce_run(const struct tb_log_view *view, uint64_t rounds, char *folder, size_t folder_bytes, char *log,
                     size_t log_bytes, char *why, size_t why_bytes);

// Every predicted figure of the log beside that of the new run: [{id, text, cell, over|null, log, again {estimate|null, low|null,
// high|null, verdict}, agrees, how}]. A figure with an interval agrees when the intervals overlap (where one is unbounded: when its
// estimate lies inside the other); an exact one, or one that the log does not have, when the figure or the verdict is the same.
// *agreed: how many. 0, -EINVAL (the new run is not of the same arms and cells), -ENOMEM.
int tb_reproduce_compare(const struct tb_log_view *log, const struct tb_log_view *again, json_t **out, size_t *agreed);

#endif
