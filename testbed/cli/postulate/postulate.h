// SPDX-License-Identifier: Apache-2.0
//
// postulate: what the parts of `locus postulate` share. Each returns an exit status and reports by itself.
#ifndef TB_CMD_POSTULATE_H
#define TB_CMD_POSTULATE_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/store.h"

#define TB_LOGS "logs"

int tb_postulate_new(const char *slug, const char *title);
int tb_postulate_file(const char *number, const char *host);

// Reads one by its number.
int tb_postulate_get(const char *number, struct tb_postulate **out);

// All ledgers below logs/; one whose chain is broken is reported, and counts as far as it holds.
int tb_postulate_filed(struct tb_store *out);

// Everything that can be known without running anything: what the parts say about each other was read already; here, that the
// contenders exist, that what it supersedes is there, that it is as it was filed.
int tb_postulate_check(const struct tb_postulate *postulate, const struct tb_store *filed);

#endif
