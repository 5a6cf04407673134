// SPDX-License-Identifier: Apache-2.0
//
// filed: what the ledgers of all hosts say about postulates and their runs, for those who only look: no lock is taken.
#ifndef TB_FILED_H
#define TB_FILED_H

#include "testbed/record/chain.h"

struct tb_filed_host {
    char host[64];
    char path[4096];            // of its ledger
    struct tb_chain chain;      // as far as it holds
};

struct tb_filed {
    struct tb_filed_host *hosts; // by name
    size_t count;
};

// The ledgers below `root` ("logs"); none at all is no error. 0 or -errno.
int tb_filed_load(const char *root, struct tb_filed *out);
void tb_filed_close(struct tb_filed *filed);

// The latest entry of this type, over all hosts, whose member `key` begins with `value`: {"postulate", "id", "0002"}, {"close",
// "run", "0002-"}. NULL: there is none. *host (may be NULL) is whose ledger it stands in. Borrowed.
const json_t *tb_filed_last(const struct tb_filed *filed, const char *type, const char *key, const char *value,
                            const struct tb_filed_host **host);

// A ledger in which postulate `id` stands with another hash than `sha256`, by its last word on it; NULL: none.
const struct tb_filed_host *tb_filed_otherwise(const struct tb_filed *filed, const char *id, const char *sha256);

#endif
