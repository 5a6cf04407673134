// SPDX-License-Identifier: Apache-2.0
//
// cell: one, as postulates and experiments write it: WORKLOAD/TOUCH, and behind it in any order what it has otherwise than the
// rest of its campaign:
//
//     steady-decode/full              as the campaign
//     steady-decode/full/futex        dispatch: inline, spin or futex
//     steady-decode/full/4w           4 workers
//     steady-decode/full/64KiB        blocks of 64 KiB, in a pool of twice the theoretical peak: the workload's own pool is
//                                     for 4 KiB, and thousands of larger blocks need more memory than hosts have
#ifndef TB_CELL_H
#define TB_CELL_H

#include "testbed/measure/campaign.h"

#define TB_WORKLOAD_NAME 48

// 0 with the name, and of *out touch and settings; all else is 0. -EINVAL: it is not of that form, or has a part twice. Whether
// there is such a workload is not asked.
int tb_cell_parse(const char *text, char workload[TB_WORKLOAD_NAME], struct tb_cell *out);

#endif
