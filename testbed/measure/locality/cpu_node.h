// SPDX-License-Identifier: Apache-2.0
//
// cpu_node: the node on which the calling thread runs, without a system call if the kernel offers that.
#ifndef TB_CPU_NODE_H
#define TB_CPU_NODE_H

#include <stdbool.h>

// Does the kernel keep the node in each thread's rseq area (Linux 6.3), and did the C library register it (glibc 2.35)?
bool tb_cpu_node_has_rseq(void);

// OS node of the calling thread by rseq, or -ENOSYS if this thread has no such area. Costs a few loads.
int tb_cpu_node_rseq(void);

#endif
