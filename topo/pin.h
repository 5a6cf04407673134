// SPDX-License-Identifier: Apache-2.0
//
// pin: where the calling thread runs.
//
// What the process was allowed is remembered: the affinity of its main thread when any function below is first called. So a thread
// that was pinned to one node can later be pinned to another, while a restriction by taskset, a cpuset or a batch system
// is never widened. Call locus_pin_allowed() once early if the program pins its main thread by other means.
//
// Side effects on the caller. locus_pin_cpu() and locus_pin_node() replace the calling thread's affinity for good: it is not
// restored, and threads and processes started from it afterwards inherit it. They do not touch memory policy: under the default
// policy the pages that the thread touches first follow its CPUs, and pages touched before stay where they are. The thread may
// have moved to another CPU when the call returns.
//
// Threads: all may be called from any thread at any time.
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

// Binds the calling thread to the CPUs of a node, as far as the process is allowed to use them. For a memory-only node these are
// the allowed CPUs of the nearest node by distance (of all nearest ones, when several are equally far).
// -EINVAL  node is negative
// -ENODEV  this machine has no such node
// -EPERM   the process may use none of the node's CPUs
int locus_pin_node(int node);

// Lists the CPUs that the process is allowed to use, ascending OS index: the first `max` of them into cpus (which may be NULL if
// max is 0), and into *count how many there are, which may be more than max. 0, or -errno when the kernel does not tell.
int locus_pin_allowed(unsigned *cpus, unsigned max, unsigned *count);

#ifdef __cplusplus
}
#endif

#endif
