// SPDX-License-Identifier: Apache-2.0
//
// address: where a figure is from, as it stands behind the figure in a text: "1.34 [1.29, 1.37] (0013/P3)". Whoever reads the
// text can ask for the figure again, and so can a test.
//
//     0013                                            a record; its figure is the verdict alone
//     0013/P3                                         a prediction (or a sum, S1), as its log was sealed
//     0018.add1/P3 steady-decode/none                 the part of it in one of several cells
//     0018.add1 steady-decode/none D/A                times of two arms in a cell: Hodges-Lehmann, 95 % interval
//     0024 churn-touch/full/futex/4w/4KiB max(locus) of outstanding_ratio     another statistic, of another metric
//
// A record is NNNN, or NNNN.addN for what a later run added. A cell is named as in the log's header or in the long form of the
// standing table (an inline cell's has no workers); max and min take a pattern of fnmatch(3) as well. An arm is a key or a
// contender's name without its "%N"; a ratio takes the first one of that name, max and min take all.
#ifndef TB_ADDRESS_H
#define TB_ADDRESS_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/log.h"

struct tb_address {
    char record[16];            // "0018.add1"
    char prediction[8];         // "P3", or ""
    char cell[128];             // or ""
    enum tb_stat stat;          // of arms: hl_ratio, max or min
    char over[64], under[64];   // "": no arm, or one alone
    char metric[32];
};

struct tb_addressed {
    double estimate, low, high; // NAN: none. Exact: low and high are the estimate; unbounded: they are not finite
    const char *verdict;        // the log's on the prediction, or on the run. Borrowed from the view
};

// 0, or -EINVAL: why says what is wrong with it.
int tb_address_parse(const char *text, struct tb_address *out, char *why, size_t why_bytes);

// Works it out from the log of the address's record. 0, -ENOMEM, or -ENODATA: there is no such prediction, cell or arm in the log,
// or no figure; why says which.
int tb_address_measure(const struct tb_log_view *view, const struct tb_address *address, struct tb_addressed *out, char *why,
                       size_t why_bytes);

#endif
