// SPDX-License-Identifier: Apache-2.0
//
// store: the one way to what was recorded. Below each root ("logs", "build/logs") every host has a folder with its ledger and its
// logs; the store has them as hosts and runs, and knows what state each run is in. Whoever lists, compares or reports
// reads from here, so that all of them speak of the same runs; `locus verify` looks for itself (verify/verify.c).
//
//     struct tb_store store = {0};
//     int rc = tb_store_add(&store, "logs");           // or tb_store_add_ledgers(), which opens no log
//     ... store.hosts[i]->ledger, store.runs[i].view ...
//     tb_store_close(&store);
//
// A run that a person names ("a1b2c3") is found without reading the other logs: tb_store_find(), tb_store_load(). No lock is taken.
#ifndef TB_STORE_H
#define TB_STORE_H

#include <stdbool.h>

#include "testbed/record/log.h"

// What is known of a run. Only of a whole one the verdict counts.
enum tb_run_state {
    TB_RUN_WHOLE,               // sealed, complete, closed in the ledger with this hash
    TB_RUN_UNCLOSED,            // the same, but no entry of the ledger closes it
    TB_RUN_UNKNOWN,             // the same, but its ledger is broken before that entry, if there is one
    TB_RUN_STOPPED,             // sealed before its end
    TB_RUN_CRASHED,             // a log without a seal
    TB_RUN_BROKEN,              // its log is not what was written
    TB_RUN_MISSING,             // the ledger opened it, and there is no log
};

struct tb_store_host {
    char name[64], path[4096];  // the ledger's
    struct tb_chain ledger;     // as far as it holds
    bool exists;                // there is a ledger
};

struct tb_store_run {
    const struct tb_store_host *host;
    char run[64], path[4096];   // the log's
    enum tb_run_state state;
    char why[256];              // of a state that is not whole
    struct tb_log_view view;    // empty where no log could be read
    size_t opened, closed;      // lines of the host's ledger, from 1; 0: there is none
};

struct tb_store {
    struct tb_store_run *runs;  // by experiment, then time
    size_t runs_count;
    struct tb_store_host **hosts; // by path
    size_t hosts_count;
};

// Adds what lies below `root`; a root that is not there adds nothing. tb_store_add(): hosts that have a ledger or a log, with their
// runs. tb_store_add_ledgers(): every folder as a host, and no runs. 0 or -errno; what was added until then stays.
int tb_store_add(struct tb_store *store, const char *root);
int tb_store_add_ledgers(struct tb_store *store, const char *root);
void tb_store_close(struct tb_store *store);

// Adds one run by what a person calls it (see below), with its host, and reads no other log. 0 or -errno with why.
int tb_store_add_run(struct tb_store *store, const char *name, char *why, size_t why_bytes);

// The latest entry of this type, over all hosts, whose member `key` is `value` ("0002-*": begins with it), or NULL. Of postulates
// only filings that bind (ledger.h). *host (may be NULL) is whose ledger it stands in. Borrowed.
const json_t *tb_store_last(const struct tb_store *store, const char *type, const char *key, const char *value,
                            const struct tb_store_host **host);

// A host whose ledger is broken, so that it may have more entries than could be read; NULL: none.
const struct tb_store_host *tb_store_broken(const struct tb_store *store);

// A host in whose ledger postulate `id` stands with another hash than `sha256`, by its last word on it; NULL: none.
const struct tb_store_host *tb_store_otherwise(const struct tb_store *store, const char *id, const char *sha256);

// --- one run, by what a person calls it ---

// Its full id ("0002-20261121T101500Z-a1b2c3"), the last six digits of it, both looked up below logs/ and build/logs/ of the
// current folder, or its file. `path` is the log's, relative to the current folder where it lies below it. 0, -ENOENT (no such
// run), -EEXIST (several), -EINVAL (not a name of a run), -errno; why is one sentence that names the remedy.
int tb_store_find(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes);

// Finds, loads and checks it: the chain holds to its end, and there is a summary and a seal. 0, or -errno with why.
int tb_store_load(const char *name, struct tb_log_view *out, char *why, size_t why_bytes);

// The host of a log by its folder, logs/HOST/NNNN-slug/FILE, or "unknown".
void tb_store_host_of(const char *path, char *out, size_t bytes);

#endif
