// SPDX-License-Identifier: Apache-2.0
//
// tiers: of cells of touch `keep` with tiers below the near cache: where blocks were found, what moved, and what it is worth.
#ifndef TB_REPORT_TIERS_H
#define TB_REPORT_TIERS_H

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

// Have the log's cells tiers?
bool tb_tiers_are(const struct tb_log_view *view);

// Tables `tiers` and `prices`, sentences `tier_prices`, and of one cell alone the curves `price_of_tokens` and the answer.
void tb_tiers_put(struct tb_doc *doc, const struct tb_log_view *view);

#endif
