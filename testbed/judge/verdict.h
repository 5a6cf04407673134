// SPDX-License-Identifier: Apache-2.0
//
// verdict: what a run says about each prediction. Computed from a finished log's samples and its postulate, never typed.
//
// For `>= T` on an interval [low, high]: low >= T survived, high < T falsified, else inconclusive; `<=` mirrored, `within [a, b]`
// by inclusion or disjointness. max, min, counts, ratios of what was decided in virtual time, and sums are exact: every round is
// compared, and low and high are the figure itself. Rounds that differ in what was decided in virtual time leave it inconclusive:
// that is a fault of the testbed's. A conjunction (a `*`) is falsified when one part is, survives when
// all do; its parts keep full confidence. With m predictions that need intervals each has confidence 1 - (1 - c) / m. An interval
// that n rounds cannot reach is unbounded, and the verdict inconclusive. Where a margin m is stated and a ratio's interval lies
// inside [1 / (1 + m), 1 + m], and the claim is not of sameness (`within [a, b]` with 1 in it), the verdict is no-difference.
//
// Over all predictions, the first that holds: a need was not met (the header's "unmet"; no sample was taken) -
// unmeasurable-on-host. A proof gate failed - invalid. A smoke run - none (smoke). A noise gate failed - inconclusive (noise).
// Of the rest, each for itself: a prediction of a time, of a run that was made in an emulated machine (the header's "emulated"), is
// unmeasurable-on-host and has no figure: that clock says nothing about hardware. So is one of a counter that the host lacks (the
// header has the reason), and of a hardware counter in an emulated machine; where a counter had the hardware for a part of its time
// only, the prediction is inconclusive, "multiplexed". A prediction of whose ratios the blocks of rounds
// disagree, the last one's being more than five percent from that of every block before it (so a third block decides between two
// that disagreed), is inconclusive (unstable). The run as a whole is falsified when one prediction is, and survives when all do;
// when all do but those that cannot be measured there, it is unmeasurable-on-host, and why says which these are and that the rest
// survived.
//
// Proof gates: "allocated == freed", "pushed == drained", "touched == expected", "handles home" - all are checked in every
// sample by the measured process, whatever the list says. Noise gates: "aa_ratio_ci contains 1" (99 % interval of the A/A pair
// inside 1 +/- max(1 %, a quarter of the smallest effect claimed), or containing 1), "aa_ratio_ci inside band" (inside, and no
// other way: the strict one), "paired_spread" (sd of the paired log-ratios < 10 %, none 50 % off or more), "throttle == 0" (from
// the counters), "host_fit" (the header's "doctor": nothing can spoil a figure, or cannot be seen). In an emulated machine those of
// time, all but "throttle == 0", are not asked and fail nothing; their reason says so.
#ifndef TB_VERDICT_H
#define TB_VERDICT_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/log.h"

enum tb_verdict {
    TB_VERDICT_SURVIVED,
    TB_VERDICT_FALSIFIED,
    TB_VERDICT_INCONCLUSIVE,
    TB_VERDICT_NOISE,           // "inconclusive (noise)"
    TB_VERDICT_UNSTABLE,        // "inconclusive (unstable)"
    TB_VERDICT_NO_DIFFERENCE,
    TB_VERDICT_INVALID,
    TB_VERDICT_UNMEASURABLE,    // "unmeasurable-on-host"
    TB_VERDICT_SMOKE,           // "none (smoke)": too short to say anything
    TB_VERDICT_COUNT,
};
const char *tb_verdict_name(enum tb_verdict verdict);

#define TB_WHY_BYTES 1024       // of the reason for a verdict

// The "sum" line of a log, worked out from its header and samples (view may lack summary and seal) and its postulate. New
// reference. Members of each prediction: id, claim (in words; only where one was filed), text, cell, over|null, under|null,
// arm|null, stat, op, value (number or [a, b]),
// unit, confidence (asked for, after Bonferroni), achieved, estimate, low|null, high|null (null: unbounded), n, verdict,
// why|null, parts [{cell, over, estimate, low, high, achieved, verdict}] (empty unless a conjunction). Of an exact one low and
// high are the estimate, confidence and achieved 1. A conjunction shows the figures of the part that stands worst. 0 or -errno.
//
// Besides the members that log.h names: arms [{cell, arm, n, median, low, high, mad, min, outliers_mild, outliers_severe}] (of
// time_ns, with the 95 % bootstrap interval of the median), and positive_control, null unless arms X and X@delay:P are there:
// {percent, arms "Y/X", cell, estimate, low, high, found} (95 %, of the cell where it shows least; found: low > 1 in every cell).
// aa's arms are "Y/X" as well, its confidence 99 %. All three are of time: [], [] and null for an emulated machine.
int tb_verdict_summary(const struct tb_log_view *view, const struct tb_postulate *postulate, json_t **out);

// True when the blocks of rounds disagree about a predicted ratio, so that a third is wanted.
bool tb_verdict_unstable(const struct tb_log_view *view, const struct tb_postulate *postulate);

#endif
