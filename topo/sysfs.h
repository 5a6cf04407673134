// SPDX-License-Identifier: Apache-2.0
//
// sysfs (private): the files under /sys and /proc that describe nodes and this process.
//
// Every reader takes the directory that stands for "/" ("" on a real machine), so that tests can supply machines that nobody here
// owns.
#ifndef TOPO_SYSFS_H
#define TOPO_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "idset.h"
#include "topo.h"

// Reads a whole small file as text, which ends at the first NUL: a copy of /sys may be padded with them. *length may be NULL.
// -ENOENT ..., -EFBIG: it does not fit into bytes - 1.
int topo_sysfs_read(const char *root, const char *path, char *text, size_t bytes, size_t *length);

// Reads a number in plain digits at *at and moves *at past it. -EINVAL: there is none, or it is 2^63 or more: no figure of a
// machine is, and sums and products of larger ones would wrap.
int topo_number_take(const char **at, uint64_t *out);

// Reads a file with one cpulist; or, where there is none, the mask in another file.
int topo_sysfs_idset(const char *root, const char *path, struct topo_idset *out);
int topo_sysfs_list_or_map(const char *root, const char *list, const char *map, struct topo_idset *out);

// Reads a file with one unsigned number; "max" is UINT64_MAX. -EINVAL: anything else.
int topo_sysfs_u64(const char *root, const char *path, uint64_t *out);

// A figure in a file of lines such as "VmSize:  4 kB" (/proc/meminfo, /proc/self/status), in bytes. -ENOENT: no such key.
int topo_sysfs_bytes(const char *root, const char *path, const char *key, uint64_t *out);

// CPUs that are online; without that list, all that have a folder and do not say in it that they are offline.
int topo_sysfs_cpus_online(const char *root, struct topo_idset *out);

// Nodes that are online; without that list, all that have a folder. Where /sys/devices/system/node is missing or hidden there is
// node 0 only.
int topo_sysfs_nodes(const char *root, struct topo_idset *out);
bool topo_sysfs_nodes_hidden(const char *root);

// Nodes that have memory, and the online CPUs of one node (hidden: node 0, all online CPUs). -ENODEV: no such node. `allowed` are
// the CPUs that this process may use ({0} for another machine): a single node has them, whatever its file says.
int topo_sysfs_nodes_with_memory(const char *root, struct topo_idset *out);
int topo_sysfs_node_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out);
int topo_sysfs_node_memory(const char *root, int node, struct locus_node_memory *out);
int topo_sysfs_node_total_bytes(const char *root, int node, uint64_t *out); // all that a copy need have of a node's memory

// distances[i] is the distance from `node` to the i-th online node: the file has one number per online node. -ENOENT: the kernel
// does not say; -EINVAL: malformed, or not exactly `count` numbers.
int topo_sysfs_distances(const char *root, unsigned node, unsigned *distances, unsigned count);

// A list in /proc/self/status, by key ("Mems_allowed_list"). -ENOENT: no such key.
int topo_sysfs_status_list(const char *root, const char *key, struct topo_idset *out);

// Nodes with memory where this process may allocate: by get_mempolicy(MPOL_F_MEMS_ALLOWED) or, where seccomp forbids it,
// /proc/self/status.
int topo_sysfs_mems_allowed(const char *root, struct topo_idset *out);

#endif
