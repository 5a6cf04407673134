// SPDX-License-Identifier: Apache-2.0
//
// verify: is the record what was written? Every host's ledger below a folder, with its logs, postulates and records.
//
// Each kind of damage has a witness that its author would have had to change as well:
//
//   a log's own chain and seal     a changed, missing or moved line, a cut tail; a line that no reader could use (tb_log_check())
//   the ledger                     a log that is missing, swapped, stray or of another run; a postulate that was edited, or filed
//                                  after its run was opened; a run that was opened and dropped; a record that was never filed; a
//                                  run that says it replicates other runs than came before it; an entry whose time or id is none;
//                                  a packet that calls a virtual machine hardware; a file that nothing names
//   the ledger's chain             the same done to the ledger itself
//   an older checkpoint            the ledger's end cut off together with its logs; everything written anew, consistently
//   git history                    the same, as far as it had been committed; a postulate that did not come before its log
//   the key                        a checkpoint that was not signed by whom it should be
//   the file system                a symbolic link in place of a file or a folder of the record: it may lead elsewhere tomorrow; a
//                                  host whose name is none, or differs from another's in case alone
//
// That history cannot prove something is no damage. So it is no finding either, and does not change an exit status: it is said, by
// host and run (git.order below).
//
// A run that was opened and never closed, and whose log has no seal, crashed (or is still running): counted, and no finding.
// Paths in a ledger are taken from the current folder, those of logs from the host's.
#ifndef TB_VERIFY_H
#define TB_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tb_verify_config {
    const char *root;           // "logs"
    const char *host;           // or NULL: all below root
    const char *checkpoint;     // a file of lines "HOST BYTES HASH" and at most one "commit ID", or NULL
    const char *checkpoint_text; // what it says, so that `checkpoint` is no more than its name; NULL: read it
    const char *key;            // allowed signers: the checkpoint must have a valid signature beside it, CHECKPOINT.sig; or NULL
    const char *records;        // the folder whose experiments/ is asked for a record before that of the current one; or NULL
    bool git;                   // look into the history of the current folder, too
};

// 0: the question was answered, see `findings`. -EINVAL: it cannot be answered (no such folder or host, an unreadable checkpoint,
// no history, a program that is not installed): `why` says what to do. -errno. *report is a new reference:
//
//   findings    [{file, line, what, witness}]              empty: nothing is wrong
//   remarks     [{file, line, what}]                       what is no damage and should be known: times of a ledger that go back,
//               files of a packet that was not sealed
//   sought      [{host, postulate, file, line, runs, verdicts [text]}]   postulates with several official runs that were closed on
//               one host, so that each verdict stands beside those that came before; file and line: where the last was opened
//   hosts       [{host, ledger, runs, sealed, crashed [{run, log, lines, cut}], postulates, records, packets, checkpoint}]
//   git         {commits, uncommitted [path], drafts [{path, changes}], order [...]}   or null; drafts: postulates of which other
//               versions were committed before they were filed; order (verify_git.c), by host: {host, runs, proven,
//               postulate_before_filing, filing_before_log, postulate_commit, build_commit: of how many official runs each is
//               proven, postulate_commits_lost [commit], build_commits_lost [commit], unproven [{run, postulate, of (so many
//               official runs of it on this host), chain_alone (no commit says that the filing came first), lacks [which of the
//               four]}]}
//   signed_by   principal                                  or null
int tb_verify(const struct tb_verify_config *config, json_t **report, char *why, size_t why_bytes);

#endif
