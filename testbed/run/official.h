// SPDX-License-Identifier: Apache-2.0
//
// official: may a run of this postulate, by this program, in this folder, be for the record?
#ifndef TB_OFFICIAL_H
#define TB_OFFICIAL_H

#include "testbed/postulate/postulate.h"

// Of estimates fewer rounds cannot tell small differences, and tempt to try again. Counts are exact.
#define TB_ROUNDS_OFFICIAL_MIN 20u

// Too few rounds for an official run: whoever files this postulate can never run it. tb_official_refuse_short() reports that and
// returns -EPERM, else 0.
bool tb_official_too_short(const struct tb_postulate *postulate);
int tb_official_refuse_short(const struct tb_postulate *postulate);

// What is measured must be what is committed: the postulate, the tree (logs and records are results, and do not count as changes),
// and the program. 0, or -errno after a report that names the remedy.
int tb_official_refuse(const struct tb_postulate *postulate);

#endif
