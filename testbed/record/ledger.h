// SPDX-License-Identifier: Apache-2.0
//
// ledger: one append-only chain per host of what was promised and what was run: logs/HOST/ledger.jsonl.
//
//   ledger     v 1, host, nonce, time                                     the first line
//   postulate  id, path, sha256, time                                     filed: from here on it may not change
//   open       run, nonce, log (path below logs/HOST/), postulate_id, postulate_sha256, kind, time      before the first sample
//   close      run, log_head (last hash of the log), log_lines, verdict, status, emulated|null (the guest's name), time
//   record     id, run, path, sha256, time                                a record or an addendum, filed
//   packet     packet, format, kind, program, files, time                 all of it was sealed into a packet (packet.h)
//   supersede  id, by, time                                               postulate `id` is corrected by `by`
//
// The checkpoint is the ledger's size in bytes and its last hash. Kept elsewhere, it witnesses that nothing at the end was taken
// away and nothing before it written anew. A process that appends holds the file's lock, and appends to what it has just read.
#ifndef TB_LEDGER_H
#define TB_LEDGER_H

#include <stdbool.h>

#include "testbed/record/chain.h"

struct tb_ledger;

// Opens HOST's ledger below `root` ("logs" or "build/logs"), creating it with its first line where `create`. 0, -ENOENT,
// -EWOULDBLOCK (another run is writing), -EINVAL (its chain is broken: `why` names file and line; or the name is none, or differs
// from another host's in case alone), -errno.
int tb_ledger_open(struct tb_ledger **out, const char *root, const char *host, bool create, char *why, size_t why_bytes);
void tb_ledger_close(struct tb_ledger *ledger);

// Appends one entry durably; "time" is added. The ledger keeps a reference: do not change the entry afterwards. 0 or -errno.
int tb_ledger_append(struct tb_ledger *ledger, json_t *entry);

// All entries, read when it was opened and appended since. Borrowed.
const struct tb_chain *tb_ledger_chain(const struct tb_ledger *ledger);

// The last entry of type `type` whose member `key` is `value`, or NULL.
const json_t *tb_ledger_find(const struct tb_ledger *ledger, const char *type, const char *key, const char *value);

// The same in any chain, of the lines above line `above` (SIZE_MAX: of all); "0002-*" is whatever begins with "0002-". The line,
// from 1; 0: there is none.
size_t tb_ledger_last(const struct tb_chain *chain, size_t above, const char *type, const char *key, const char *value);

// Is the filing of a postulate at this line (from 1) a promise? A trial files its postulate by itself, as it is at that moment and
// right before it is opened: that binds nobody.
bool tb_ledger_binds(const struct tb_chain *chain, size_t line);

// The last filing of this postulate that binds, or NULL; and its line above another one, or 0.
const json_t *tb_ledger_filed(const struct tb_ledger *ledger, const char *id);
size_t tb_ledger_filing(const struct tb_chain *chain, size_t above, const char *id);

// Did the run that these two entries opened and closed (NULL: never) seek a verdict on this postulate for the record? And has it
// one, so that a later run replicates it? One that was stopped, is invalid or cannot be measured on the host answered nothing.
bool tb_ledger_sought(const json_t *open, const json_t *close, const char *postulate);
bool tb_ledger_answered(const json_t *close);

// What an official run that is opened at line `above` (SIZE_MAX: now) replicates: the runs that sought a verdict on this postulate
// and had one by then, oldest first. *runs is an array of their ids, a new reference, or NULL: there is none. 0 or -ENOMEM.
int tb_ledger_replicated(const struct tb_chain *chain, size_t above, const char *postulate, json_t **runs);

struct tb_checkpoint {
    char host[64];
    size_t bytes;
    struct tb_hash head;
};
void tb_ledger_checkpoint(const struct tb_ledger *ledger, struct tb_checkpoint *out);

// "HOST BYTES HASH": what is printed, and what `locus verify --checkpoint FILE` reads back, one per line. 0 or -EINVAL.
void tb_checkpoint_text(const struct tb_checkpoint *checkpoint, char *out, size_t bytes);
int tb_checkpoint_parse(const char *line, struct tb_checkpoint *out);

#endif
