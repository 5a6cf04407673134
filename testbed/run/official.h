// SPDX-License-Identifier: Apache-2.0
//
// official: may a run of this postulate, by this program, in this folder, be for the record?
#ifndef TB_OFFICIAL_H
#define TB_OFFICIAL_H

#include "testbed/postulate/postulate.h"

// What is measured must be what is committed: the postulate, the tree (logs and records are results, and do not count as changes),
// and the program. 0, or -errno after a report that names the remedy.
int tb_official_refuse(const struct tb_postulate *postulate);

#endif
