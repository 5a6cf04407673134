// SPDX-License-Identifier: Apache-2.0
//
// places: which CPUs and nodes of a topology take part. On this machine that is what this process may use; of a described one, all.
#ifndef TB_PLACES_H
#define TB_PLACES_H

#include <stdbool.h>

#include "topo/topo.h"

bool tb_places_live(const struct locus_topo *topo); // is it this machine?

unsigned tb_places_cpus_count(const struct locus_topo *topo, const struct locus_topo_node *node);
bool tb_places_has_memory(const struct locus_topo_node *node);

// The first `max` CPUs of a node into cpus[], one of each core first, the siblings of cores that are taken later. Returns how many.
unsigned tb_places_cpus(const struct locus_topo *topo, int node, int cpus[], unsigned max);

// The node with CPUs that is nearest to `node`, itself if it has some; and the one with memory. Of several equally near ones (or
// where distances are not known) the lowest. -1: there is none.
int tb_places_nearest_cpus(const struct locus_topo *topo, int node);
int tb_places_nearest_memory(const struct locus_topo *topo, int node);

#endif
