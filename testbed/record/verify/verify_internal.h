// SPDX-License-Identifier: Apache-2.0
//
// verify_internal: what the parts of verify share. Each part adds findings and goes on; what keeps it from working at all is
// remembered in verify.rc, the first time, and ends the whole.
#ifndef TB_VERIFY_INTERNAL_H
#define TB_VERIFY_INTERNAL_H

#include <limits.h>

#include "testbed/base/json.h"
#include "testbed/record/chain.h"
#include "testbed/record/verify/verify.h"

enum verify_witness {
    WITNESS_NONE, // it is a remark
    WITNESS_LOG,
    WITNESS_LEDGER,
    WITNESS_LEDGER_CHAIN,
    WITNESS_CHECKPOINT,
    WITNESS_GIT,
    WITNESS_KEY,
    WITNESS_FILES,
};

// A run as the ledger tells it. Text is borrowed from the ledger's chain.
struct verify_run {
    const char *id, *nonce, *kind, *postulate_id, *postulate_sha256;
    const char *postulate_path; // as it was filed; NULL: it was not, or only afterwards
    size_t filed;               // the line of that filing; 0: none
    char commits[2][TB_HASH_TEXT]; // of its postulate and of its source, as its log names them; ""
    const char *machine;        // "hardware", "virtual", "emulated" or "unknown", as its log says; NULL: that could not be read
    const json_t *close;        // NULL: never closed
    size_t line;                // of its opening
    char log[PATH_MAX];
};

struct verify_host {
    char name[64];
    char ledger[PATH_MAX];
    struct tb_chain chain;
    struct verify_run *runs;
    size_t runs_count;
    size_t sealed, postulates, records, packets;
    json_t *crashed;
};

struct verify {
    const struct tb_verify_config *config;
    json_t *report;             // what tb_verify() returns
    struct verify_host *hosts;
    size_t hosts_count;
    char witnessed[TB_HASH_TEXT]; // the commit that the checkpoint names, in its line witnessed_line; ""
    size_t witnessed_line;
    int rc;
    char why[512];
};

void tb_verify_finding(struct verify *verify, enum verify_witness witness, const char *file, size_t line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// Nothing is damaged, but whoever reads the record should know.
#define tb_verify_remark(verify, ...) tb_verify_finding(verify, WITNESS_NONE, __VA_ARGS__)

// Adds a value that was made just now, and takes it over.
void tb_verify_add(struct verify *verify, json_t *array, json_t *value);

// The question cannot be answered.
void tb_verify_impossible(struct verify *verify, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));

// A finding, once, if a part of the path after its first `from` bytes is a symbolic link.
void tb_verify_link(struct verify *verify, const char *path, size_t from);

// Reads the ledger of root/name and checks it with all that it names. tb_verify_host_close() in any case.
void tb_verify_host(struct verify *verify, const char *name, struct verify_host *out);
void tb_verify_host_close(struct verify_host *host);

// Findings about files that nothing of the record names: below the host's folder, and below those of records and postulates. What
// a packet left that was not sealed is a remark, since it may have crashed.
void tb_verify_host_strays(struct verify *verify, const struct verify_host *host);
void tb_verify_record_strays(struct verify *verify);

// Are the runs of all records known? They may be other hosts': records are often written on one machine. And is every record filed?
void tb_verify_records(struct verify *verify);

// Fills in the report's member "git".
void tb_verify_git(struct verify *verify);

#endif
