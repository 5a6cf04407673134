// SPDX-License-Identifier: Apache-2.0
//
// import: a host's record comes home to ROOT/HOST, from a packet (packet.h) or from a folder HOST/ with its ledger and logs, and
// what is there may only grow. A copy beside it is looked at as a whole; then it and the folder that was there change places in
// one step, so whoever reads the record sees either of them, and a full disk or a crash leaves the old one.
#ifndef TB_IMPORT_H
#define TB_IMPORT_H

#include <limits.h>

#include "testbed/record/packet/packet.h"

struct tb_import_config {
    const char *source;         // a packet, or a folder HOST/
    const char *root;           // "logs"
    const char *key;            // allowed signers of a packet's seal; or NULL, as with `checkpoints`
    const char *checkpoints;    // a folder with a file for each host: what its ledger was when it last came home; or NULL
    bool dry_run;               // look at it in TMPDIR, and bring nothing home
};

struct tb_import_path {
    char text[PATH_MAX + 400];
};

struct tb_import {
    const struct tb_import_config *config;
    char below[PATH_MAX];       // where HOST/ lies meanwhile; it goes with tb_import_close()
    char folder[PATH_MAX + TB_TAR_HOST], to[PATH_MAX]; // the host's folder, as it came and at home
    char host[TB_TAR_HOST];
    const json_t *packet;       // the packet's line in the ledger, its last; NULL: a folder came
    struct tb_import_path sealed; // its folder in `folder`, with the seal
    struct tb_chain ledger;
    struct tb_journal *lock;    // of the ledger at home
    json_t *findings, *remarks; // strings: each thing that is wrong; what is no reason to refuse it and should be known
    json_t *verified;           // this host's member of what tb_verify() says: runs, sealed, crashed, checkpoint
    char signer[256];           // "" without a key to check by
    bool made_root, new_host, older; // older: the ledger at home has all of this one, and more
    size_t files_new, files_longer;
    bool failed;                // out of memory: the findings are worth nothing
    char why[1024];             // after an error: one sentence
};

// Looks at everything that can be known without bringing it home. 0: see `findings`; -ENOENT: there is no such source; -EINVAL: it
// is neither packet nor record; -errno. `config` is the caller's until tb_import_close(), due in any case.
int tb_import_open(struct tb_import *out, const struct tb_import_config *config);

// Brings it home; there are no findings. Its records go to experiments/, and the host's checkpoint is kept. 0 or -errno.
int tb_import_file(struct tb_import *import);

void tb_import_close(struct tb_import *import);

#endif
