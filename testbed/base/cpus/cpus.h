// SPDX-License-Identifier: Apache-2.0
//
// cpus: the CPUs that are measured on, which may be others than those that this process was started on.
//
// The kernel starts every process on the CPUs that are not isolated (isolcpus=), and whatever honours that mask measures on the
// wrong ones. So the testbed asks for the isolated CPUs. It keeps a mask that somebody chose: by taskset, numactl or a batch
// system. Nobody chose a mask that is all CPUs that the cpuset has, or all but the isolated ones: that is how processes begin. A
// taskset to exactly these cannot be told from it, and needs --cpus or LOCUS_CPUS, which always decide. Only the cpuset limits
// what is granted.
#ifndef TB_CPUS_H
#define TB_CPUS_H

#include <hwloc/bitmap.h>
#include <stdbool.h>
#include <stddef.h>

#define TB_CPUS_VARIABLE "LOCUS_CPUS"
#define TB_CPUS_SUMMARY "Measure on these CPUs, such as 2-7 (LOCUS_CPUS; else the isolated ones)" // of the option --cpus

// Moves the calling thread, the only one, to the CPUs that are measured on: `list` (--cpus), or else LOCUS_CPUS, or else, with
// `isolated`, the isolated ones, or else those that it has. From then on they are what this process may use (topo/pin.h).
// LOCUS_CPUS tells them to processes that it starts, which ask the same way.
// pre: nothing has used topo/pin.h or topo/topo.h before.
// 0. Otherwise nothing has changed, and `why` has a line. -EINVAL: it is no list of CPUs. -EPERM: not all of them were granted.
// -EBUSY: the precondition. -ENOMEM.
int tb_cpus_ask(const char *list, bool isolated, char *why, size_t why_bytes);

// Moves the calling thread, and with it the threads and processes that it starts, away from these CPUs, to the others that it was
// started on, if there are any: for a thread that waits while others measure.
void tb_cpus_leave(void);

// The CPUs that were asked for and granted; NULL: this process runs where it was started.
const char *tb_cpus_asked(void);

// The CPUs that the rule above offers this process, and those that are measured on: others, if it was told so. 0 or -errno.
int tb_cpus_here(hwloc_bitmap_t offered, hwloc_bitmap_t measured);

// The rule above. given: the mask of the process; reach: all that its cpuset has.
void tb_cpus_choose(hwloc_const_bitmap_t given, hwloc_const_bitmap_t reach, hwloc_const_bitmap_t isolated, hwloc_bitmap_t out);

// Reads a list of CPUs or nodes, "0-3,8"; the empty list names none. 0, -EINVAL or -ENOMEM.
int tb_id_list(const char *text, hwloc_bitmap_t out);

#endif
