// SPDX-License-Identifier: Apache-2.0
//
// pin: where the calling thread runs.
//
// The first call of any function below remembers the affinity of the process's main thread: the CPUs that the process is allowed
// to use. So a thread that was pinned to one node can later be pinned to another, but a restriction by taskset, a cpuset or a
// batch system is never widened. If the program pins its main thread by other means, call locus_pin_allowed() before that.
//
// Side effects on the caller. locus_pin_cpu() and locus_pin_node() replace the calling thread's affinity for good: it is not
// restored, and threads and processes started from it afterwards inherit it. They do not change the memory policy: under the
// default policy, pages that the thread touches first from then on follow its CPUs, and pages touched before stay where they are.
// When the call returns, the thread may be on another CPU.
//
// Threads: any thread may call these functions at any time.
#ifndef LOCUS_PIN_H
#define LOCUS_PIN_H

#ifdef __cplusplus
extern "C" {
#endif

// Binds the calling thread to one CPU.
// -EINVAL  cpu is negative
// -ENODEV  this machine has no such CPU, or it is offline
// -EPERM   the process is not allowed to run there
int locus_pin_cpu(int cpu);

// Binds the calling thread to the CPUs of a node that the process is allowed to use. For a memory-only node: to the allowed CPUs
// of the nearest node by distance, or of all nearest ones if several are equally near.
// -EINVAL  node is negative
// -ENODEV  this machine has no such node
// -EPERM   the process may use none of the node's CPUs
int locus_pin_node(int node);

// Lists the CPUs that the process is allowed to use, in ascending OS index. The first `max` go into cpus (which may be NULL if
// max is 0); *count is the number of all, which may be more than max. 0, or -errno if the kernel does not say.
int locus_pin_allowed(unsigned *cpus, unsigned max, unsigned *count);

#ifdef __cplusplus
}
#endif

#endif
