// SPDX-License-Identifier: Apache-2.0
//
// number: the one reader of whole numbers and sizes that people write: in options, words of a cell, postulates and checkpoints.
//
// A number is plain digits: no sign, no blank before it. One of 2^63 or more is refused, since JSON has no larger whole number,
// and so is whatever is larger than the caller allows: nothing wraps and nothing is cut to what fits.
#ifndef TB_NUMBER_H
#define TB_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

// The digits at *at, up to `most`; *at moves behind them. false: there are none, or the number is larger; nothing is changed.
bool tb_number_take(const char **at, uint64_t most, uint64_t *out);

// `text` is such a number between `before` and `after`, and no more: "16t", "first6000". false: it is not, or outside of
// [least, most].
bool tb_number_word(const char *text, const char *before, const char *after, uint64_t least, uint64_t most, uint64_t *out);

#endif
