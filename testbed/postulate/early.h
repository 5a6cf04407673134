// SPDX-License-Identifier: Apache-2.0
//
// early: what the first 31 postulates do not say themselves. They were filed when `question`, `suite` and `laps_counted` were not
// yet keys of the front matter, and what is filed is never edited. No later postulate belongs here.
#ifndef TB_EARLY_H
#define TB_EARLY_H

#include "testbed/postulate/postulate.h"

// Fills these three members in, if it is one of those, by its number and slug.
void tb_postulate_early(struct tb_postulate *postulate);

#endif
