// SPDX-License-Identifier: Apache-2.0
//
// verdict: what a run says about each prediction. Computed from a finished log's samples and its postulate, never typed.
//
// For `>= T` on an interval [low, high]: low >= T survived, high < T falsified, else inconclusive; `<=` mirrored, `within [a,
// b]` by inclusion or disjointness. max, min, counts, ratios of what was decided in virtual time, and sums are exact: every
// round is compared, and low and high are the figure itself. Rounds that differ in what was decided in virtual time leave it
// inconclusive, without a figure: that is a fault of the testbed's. So does a round without a value (its sample is invalid, or
// the counter had not the hardware). A conjunction (a `*`) is falsified when one part is (even one without a difference, unless
// all are), survives when all do; its parts keep full confidence. With m predictions that need intervals each has confidence 1
// - (1 - c) / m. An interval that n rounds cannot reach is unbounded, and the verdict inconclusive. Where a margin m is stated
// and a ratio's interval lies inside [1 / (1 + m), 1 + m], and the claim is not of sameness (`within [a, b]` with 1 in it), the
// verdict is no-difference.
//
// Over all predictions, the first that holds: a need was not met (the header's "unmet"; no sample was taken) -
// unmeasurable-on-host. A proof gate failed - invalid. A smoke run - none (smoke). A noise gate failed - inconclusive (noise)
// (gates.h), but for those that cannot be measured. Of the rest, each for itself: a prediction of a time, of a run that was
// made in an emulated machine (the header's "emulated"), is unmeasurable-on-host and has no figure: that clock says nothing
// about hardware. So is one of a counter that the host lacks (the header has the reason), and of a hardware counter in an
// emulated machine; where a counter had the hardware for a part of its time only, the prediction is inconclusive,
// "multiplexed". A prediction of whose ratios the blocks of rounds disagree, the last one's being more than five percent from
// that of every block before it, the larger over the smaller (so a third block decides between two that disagreed), is
// inconclusive (unstable). The run as a whole is falsified when one prediction is, and survives when all do; when all do but
// those that cannot be measured there, it is unmeasurable-on-host, and why says which these are and that the rest survived;
// when all are unstable, noise or without a difference, it is that, and else inconclusive.
//
// That is version 1 of the rules. A postulate that says `rules: 2` is judged otherwise in these points:
//
//   stability     The two halves of the rounds (the first floor(n / 2), and the rest) are compared by a rank-sum test of their
//                 log ratios, or of the logarithms of one arm's values, at 95 %. Where they differ and their estimates lie on
//                 different sides of the claim, the part is inconclusive (unstable); where they lie on one side, its interval
//                 is widened to hold those of both halves, at the same confidence. Blocks of rounds do not matter.
//   looks         With `rounds: [first, last]` the run is judged after first, 2 first, 4 first ... rounds (stats/looks.h), ends
//                 at the first look at which more rounds would change nothing (tb_verdict_open), and each look has its share of
//                 what may go wrong: look k of a prediction has the confidence of tb_look_confidence(1 - (1 - c) / m).
//   zones         `>= T` with zone Z, Z < T: falsified is only high < Z; an interval that is neither above T nor below Z, and
//                 does not hold both Z and T, is in-between: more than T is not shown, and less than Z excluded, or the other
//                 way round. in-between is decided. Mirrored for `<=`.
//   noise gates   They hold back times alone, some of them by cell (gates.h): those parts are inconclusive (noise).
//   conjunctions  The prediction has no figures; its parts have them, and why counts them by verdict. Open parts give, in this
//                 order, unstable, noise, inconclusive.
//   sign          An hl_ratio's part has the median with the sign interval beside it where one of the two intervals excludes
//                 the other's estimate; where one survives and the other is refuted, it is inconclusive.
//   gates         A prediction with `gate: true` is not counted in the run's verdict, unless all have it; falsified, it makes
//                 the run invalid.
//   A/A           The summary's table has 95 %.
//
// By either rules a ratio of time_ns of two arms that took turns in one process (the same `process` and a time_rel in both, in
// every round) is that of their time_rel; where only one of them had company, or they were of two shared processes, in any
// round, there is no figure. And of samples that were taken again only the last attempt counts, but for the proof gates.
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
    TB_VERDICT_IN_BETWEEN,      // "in-between": in the zone of indifference (rules 2)
    TB_VERDICT_INVALID,
    TB_VERDICT_UNMEASURABLE,    // "unmeasurable-on-host"
    TB_VERDICT_SMOKE,           // "none (smoke)": too short to say anything
    TB_VERDICT_COUNT,
};
const char *tb_verdict_name(enum tb_verdict verdict);

#define TB_WHY_BYTES 1024       // of the reason for a verdict

// The "sum" line of a log, worked out from its header and samples (view may lack summary and seal) and its postulate. New
// reference. Members of each prediction: id, claim (in words; only where one was filed), text, cell, over|null, under|null,
// arm|null, stat, op, value (number or [a, b]), unit, confidence (asked for, after Bonferroni), achieved, estimate, low|null,
// high|null (null: unbounded), n, verdict, why|null, parts [{cell, over, estimate, low, high, achieved, verdict}] (empty unless
// a conjunction). Of an exact one low and high are the estimate, confidence and achieved 1. A conjunction shows the figures of
// the part that stands worst: a refuted one, then an inconclusive one, then the one whose interval lies least far within the
// claim (by rules 1). 0 or -errno.
//
// Besides the members that log.h names: arms [{cell, arm, n, median, low, high, mad, min, outliers_mild, outliers_severe}] (of
// time_ns, with the 95 % bootstrap interval of the median, from seed 1), and positive_control, null unless arms X and X@delay:P
// are there: {percent, arms "Y/X", cell, estimate, low, high, found} (95 %, of the cell where it shows least; found: low > 1 in
// every cell). aa's arms are "Y/X" as well, for each pair of one contender the later over the earlier, its confidence 99 %
// (null where too few rounds leave it unbounded). All three are of time: [], [] and null for an emulated machine. By rules 2
// there are also rules 2, gate true of such a prediction, and, of a prediction or a part, halves [first, second] where they
// differ and sign {estimate, low, high, achieved} where it excludes.
int tb_verdict_summary(const struct tb_log_view *view, const struct tb_postulate *postulate, json_t **out);

// By rules 2: is a prediction undecided that more rounds might decide?
bool tb_verdict_open(const json_t *summary);

// By rules 1: true when the blocks of rounds disagree about a predicted ratio, so that a third is wanted.
bool tb_verdict_unstable(const struct tb_log_view *view, const struct tb_postulate *postulate);

#endif
