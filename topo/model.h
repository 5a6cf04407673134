// SPDX-License-Identifier: Apache-2.0
//
// model (private): how a struct locus_topo is built. Order: a description's CPUs and nodes, or this machine's; then finish.
#ifndef TOPO_MODEL_H
#define TOPO_MODEL_H

#include <hwloc.h>

#include "describe.h"
#include "idset.h"
#include "topo.h"

#define TOPO_PAGE_SIZES_MAX 8u         // aarch64 has the most: the base page and four hugetlb sizes
#define TOPO_NODES_MAX 1024u           // CONFIG_NODES_SHIFT is 10 at most; memory for distances grows with its square

struct locus_topo {
    struct locus_topo_info info;
    struct locus_topo_node *nodes;
    struct locus_topo_cpu *cpus;
    unsigned *node_cpus;        // the CPU lists of all nodes, one after the other
    size_t node_cpus_count;
    unsigned *distances;        // nodes_count rows of nodes_count
    struct locus_page_size pages[TOPO_PAGE_SIZES_MAX];
    char hwloc_version[16];
};

// All CPUs that hwloc lists, ascending, not assigned to nodes yet.
int topo_model_described_cpus(struct locus_topo *topo, hwloc_topology_t topology, const struct topo_why *why);

// Room for `count` CPUs, all zero.
int topo_model_cpus_alloc(struct locus_topo *topo, unsigned count, const struct topo_why *why);

// Room for `count` nodes, all zero, and their distances, all unknown.
int topo_model_nodes_alloc(struct locus_topo *topo, unsigned count, const struct topo_why *why);

// The node lists these CPUs. Nodes come in ascending order, each once; a CPU may be on several.
int topo_model_node_cpus(struct locus_topo *topo, struct locus_topo_node *node, const struct topo_idset *cpus,
                         const struct topo_why *why);

// Nodes, their memory and distances, from a description.
int topo_model_described_nodes(struct locus_topo *topo, hwloc_topology_t topology, const struct topo_why *why);

// CPUs and nodes of the machine whose files are under `root`. `allowed` are the CPUs that the process may use. In a copy of another
// machine's files (LOCUS_TOPO_ROOT) there are none, and what was true at that moment only is left out.
int topo_model_live(struct locus_topo *topo, const char *root, const struct topo_idset *allowed, const struct topo_why *why);

// Page sizes and the hugetlb pools under `root`.
void topo_model_pages(struct locus_topo *topo, const char *root);

// Derives the rest: each node's kind, the place of its list of CPUs, and the sums. -ERANGE: the nodes' memory is 2^63 bytes or
// more.
int topo_model_finish(struct locus_topo *topo, const struct topo_why *why);

#endif
