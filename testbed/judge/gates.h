// SPDX-License-Identifier: Apache-2.0
//
// gates: may the samples of a run be judged at all?
//
// Proof gates: "allocated == freed", "pushed == drained", "touched == expected", "handles home". All are checked in every
// sample by the measured process, whatever the postulate lists; one sample that fails makes the run invalid.
//
// Noise gates, those that the postulate lists:
//
//   aa_ratio_ci contains 1    the 99 % interval of each A/A pair is inside 1 +/- max(1 %, a quarter of the smallest effect
//                             claimed), or contains 1. That effect is the least |T - 1| of all predicted ratios with
//                             intervals (of `within`, of its nearer end). Without a pair it fails
//   aa_ratio_ci inside band   inside, and no other way
//   aa_equivalent             an equivalence test: the 95 % interval of each A/A pair is inside [1 / (1 + b), 1 + b], b being
//                             the postulate's aa_band. A wide interval fails it: noise earns nothing
//   paired_spread             of time_ns, for each part of each prediction of a ratio of times: sd of the log ratios < 0.1,
//                             and none is 1.5 times their median or more, or the reverse
//   throttle == 0             from the counters
//   host_fit                  the header's "doctor": nothing can spoil a figure, or cannot be seen
//
// By rules 1 a noise gate that fails leaves all predictions "inconclusive (noise)". By rules 2 it holds back times alone, and
// the gates that look at A/A pairs only those of the cells in which they failed: a count is not made wrong by a slow host. In
// an emulated machine those of time, all but "throttle == 0", are not asked and fail nothing; their reason says so.
#ifndef TB_GATES_H
#define TB_GATES_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/log.h"

#define TB_GATE_WHY_BYTES 256

struct tb_gates {
    json_t *list;               // the summary's "gates": [{gate, kind "proof" | "noise", passed, reason|null}]; the caller's
    char failed_proof[TB_GATE_WHY_BYTES], failed_noise[TB_GATE_WHY_BYTES]; // the first that failed; ""
    char held[TB_LIST_MAX][TB_GATE_WHY_BYTES]; // by rules 2, for each cell of the postulate: why none of its times is judged; ""
};

// 0 or -ENOMEM; the list is there in the first case only.
int tb_gates_judge(const struct tb_log_view *view, const struct tb_postulate *postulate, struct tb_gates *out);

#endif
