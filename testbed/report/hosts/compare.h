// SPDX-License-Identifier: Apache-2.0
//
// compare: two runs side by side, of one host or of two: the arms that both have in the cells that both have, and what else
// differs.
//
// Between runs nothing is paired (tb_ratio_unpaired), so an interval here says how the samples scatter and not what else changed.
// An arm is the same in both when it is the same contender; of an A/A pair the first goes with the first.
#ifndef TB_COMPARE_H
#define TB_COMPARE_H

#include <jansson.h>

#include "testbed/doc/doc.h"
#include "testbed/record/log.h"

#define TB_COMPARE_METHOD "Hodges-Lehmann on logarithms, rank-sum interval, unpaired"

// {runs [{run, host, path, kind, verdict, emulated|null} x 2], method, confidence, cells [{cell, arms [{name, keys [2], medians_ns
// [2], n [2], ratio|null {estimate, low|null, high|null, confidence}, counts {remote_touch_ratio [2], wandered_ratio [2],
// abroad_free_ratio [2]}}]}], only [[names of cells and arms that one run alone has] x 2], predictions [{id, text, cell,
// over|null, figures [{estimate|null, low|null, high|null, verdict} x 2], agrees, how}], reproduced|null, differences [{what,
// values [2]}]}. The ratio is the second run's time over the first's; a run of an emulated guest has no times (n: 0). The counts
// are the worst round's, null for a run of one node. Predictions are there when both runs are of one experiment, and of the same
// arms and cells; else `reproduced` is null. 0 or -errno.
int tb_compare(const struct tb_log_view *first, const struct tb_log_view *second, json_t **out);

// Every predicted figure of the first run beside that of the second. One with an interval agrees when the intervals overlap (where
// one is unbounded: when its estimate lies inside the other); an exact one, or one that the first run does not have, when figure or
// verdict is the same. *reproduced: true when all agree; an invalid run reproduces only an invalid one. NULL without memory.
json_t *tb_compare_predictions(const struct tb_log_view *first, const struct tb_log_view *second, json_t **reproduced);

// The same for programs, and for people. Takes over `head`, borrows `comparison`. NULL without memory.
struct tb_doc *tb_compare_doc(json_t *head, json_t *comparison);

#endif
