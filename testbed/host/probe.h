// SPDX-License-Identifier: Apache-2.0
//
// probe: may this process place pages? Found out by calling, because a container's seccomp filter shows in no file. Each probe
// works on one page of its own and changes nothing that outlives it.
#ifndef TB_PROBE_H
#define TB_PROBE_H

#include "topo/topo.h"

// 0: it works; otherwise the errno of the call. `topo` is this machine.
int tb_probe_mbind(const struct locus_topo *topo);
int tb_probe_move_pages(void);

// What such an errno means and what helps, without the call's name: "EPERM, forbidden by seccomp ...". NULL for 0.
const char *tb_probe_why(int error);

// kernel.numa_balancing, or: the kernel has no such thing; or nobody can tell, because /proc/sys is hidden (ProcSubset=pid).
enum { TB_BALANCING_NONE = -1, TB_BALANCING_UNKNOWN = -2 };
int tb_numa_balancing(void);

#endif
