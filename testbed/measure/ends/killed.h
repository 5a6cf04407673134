// SPDX-License-Identifier: Apache-2.0
//
// killed: which signal ended a child process, and why, as far as its parent can find out.
#ifndef TB_KILLED_H
#define TB_KILLED_H

#include <stddef.h>
#include <stdint.h>

// Before the child starts: how many processes the kernel has killed for want of memory so far. UINT64_MAX: it does not count.
uint64_t tb_killed_before(void);

// After its end: "killed by the kernel for want of memory (...)", "crashed: Segmentation fault".
void tb_killed_why(int signal_number, uint64_t before, char *out, size_t bytes);

#endif
