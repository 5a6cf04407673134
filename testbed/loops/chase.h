// SPDX-License-Identifier: Apache-2.0
//
// chase: loads that cannot be guessed. Each line of a buffer says where the next one is, all of them are one cycle in random
// order, and the CPU must have a line before it can ask for the next: the time of a step is the latency of a load.
//
// Each line also knows its number in the cycle. So a walk proves that it was taken: it ends where its steps say.
//
// Threads: a built chain may be walked by any number at once.
#ifndef TB_CHASE_H
#define TB_CHASE_H

#include <stdint.h>

struct tb_chase_line;

// Makes one cycle of the `lines` > 0 lines at `base`, which is aligned to a line, and drops them from the caches, so that what is
// walked first is not met there. 0, or -ENOMEM for the order (4 bytes a line), -E2BIG for 2^32 lines and more.
int tb_chase_build(void *base, uint64_t lines, uint64_t seed);

// The line where `steps` steps from `at` lead.
const struct tb_chase_line *tb_chase_walk(const struct tb_chase_line *at, uint64_t steps);

uint64_t tb_chase_number(const struct tb_chase_line *at); // 0 .. lines - 1

#endif
