// SPDX-License-Identifier: Apache-2.0
//
// looks: rounds until decided. A run may be judged several times, after fixed counts of rounds, and end at the first look at
// which all is decided, without a larger chance of an error than one look has.
//
// The looks are at first, 2 first, 4 first ... and last rounds. What may go wrong at confidence c, alpha = 1 - c, is spent by
// the function of Lan and DeMets for Pocock's bounds, alpha ln(1 + (e - 1) t), t being the share of the last count that has
// been run (Biometrika 70, 1983). Look k gets what is spent between t(k - 1) and t(k), and its interval has the confidence 1
// less that. So all intervals of all looks hold together with confidence c at least, whatever their joint distribution is:
// these are repeated confidence intervals (Jennison and Turnbull, J. R. Stat. Soc. B 51, 1989), by Bonferroni's inequality.
// O'Brien and Fleming's bounds, which spend next to nothing early, would make the first look useless: it is where most claims
// are decided. Pure functions, any thread.
#ifndef TB_LOOKS_H
#define TB_LOOKS_H

#include <stddef.h>
#include <stdint.h>

#define TB_LOOKS_MAX 16u

// The counts of rounds at which is looked, ascending; their number is the result: 1 where first is last. pre: 0 < first <=
// last. No more than TB_LOOKS_MAX: then the last look comes after a longer leap.
size_t tb_looks(uint64_t first, uint64_t last, uint64_t out[TB_LOOKS_MAX]);

// Of an interval at look `look` (from 0).
double tb_look_confidence(double confidence, const uint64_t looks[], size_t count, size_t look);

#endif
