// SPDX-License-Identifier: Apache-2.0
//
// view: a set as a document: what works and what is missing, equal reasons together.
#ifndef TB_COUNTERS_VIEW_H
#define TB_COUNTERS_VIEW_H

#include "testbed/counters/counters.h"
#include "testbed/doc/doc.h"

// For programs: cpu "Zen 5", id "AuthenticAMD:26:2", probed, counters [{name, kind, event|null, source|null, type|null,
// config|null ("0x843"), config1|null, device|null, code|null, derived_from [names], group, user_only, why|null}].
// `probed` false: of a CPU that is not here. `head` as for tb_doc_open(). NULL without memory.
struct tb_doc *tb_counters_doc(json_t *head, const struct tb_counter_set *set, bool probed);
json_t *tb_counters_json(const struct tb_counter_set *set); // the same of a probed set, for a log

#endif
