// SPDX-License-Identifier: Apache-2.0
//
// needs: what an experiment may require of the host. They are asked before the first sample: a host that lacks one says so, and
// that is no verdict on the prediction.
//
//   cpus >= N         CPUs that this process may run on
//   numa_nodes >= N   nodes with memory that this process may use
//   cpu_nodes >= N    of these, such as have CPUs that it may run on, too
//   hardware          this is no emulated guest, so times mean something
//   mbind_ok, move_pages_ok   the kernel lets this process place pages, and tells where they are
//   policies          the kernel has the memory policy of every arm that uses one
//   workers_pinned    a CPU for each worker and one for the owner; in a run of many nodes, on every node with CPUs
//   libraries         each arm's is installed
//   emulator          QEMU's user-mode emulation, with the plugin that counts (emulate.h)
//   engine            llama.cpp, fetched and built (make engine)
//   pytorch           a Python that can import PyTorch, for the act torch-cat (LOCUS_PYTHON, python3 or /usr/bin/python3)
//   traces            each recorded trace that is a cell is here (known_trace.h)
#ifndef TB_NEEDS_H
#define TB_NEEDS_H

#include "testbed/measure/rounds.h"

#define TB_FOUND_BYTES 512

// What is to be run. Members that a need does not look at may be 0.
struct tb_needing {
    const struct tb_arm *arms;
    uint32_t arms_count;
    uint32_t workers;
    bool many_nodes;
    const char (*cells)[64];    // "azure-conv/line"
    uint32_t cells_count;
};

// Is it met? 1 yes; 0 no: `found` says what there is instead, as a clause: "here is 1 node"; -EINVAL no such need; -errno: the host
// does not tell.
int tb_need_met(const char *need, const struct tb_needing *run, char *found, size_t bytes);

#endif
