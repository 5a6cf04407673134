// SPDX-License-Identifier: Apache-2.0
//
// rejudge: what the second rules of judgement would say of runs that were filed under the first. A view: nothing is filed, and the
// verdict that a log was sealed with stays.
#ifndef TB_REJUDGE_H
#define TB_REJUDGE_H

#include "testbed/doc/doc.h"
#include "testbed/record/store.h"

// Every prediction of whole official runs, and of a single run of any kind, whose verdict is open by the first rules or another by
// the second. A run whose postulate is not at hand, as the log has its hash, is passed over, and said. NULL without memory.
struct tb_doc *tb_rejudge_doc(const struct tb_store *store);

#endif
