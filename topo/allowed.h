// SPDX-License-Identifier: Apache-2.0
//
// allowed (private): the CPUs that this process may use, and where a node's threads may run.
#ifndef TOPO_ALLOWED_H
#define TOPO_ALLOWED_H

#include "idset.h"

// The affinity of the process's main thread when this was first called; see pin.h.
int topo_allowed_cpus(struct topo_idset *out);

// The CPUs in `allowed` for a thread that works for `node`: the node's own or, if it has none, those of the nearest nodes with
// any in `allowed`. -ENODEV: no such node; -EPERM: none is left. `root` as in sysfs.h.
int topo_allowed_node_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out);

#endif
