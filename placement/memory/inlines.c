// SPDX-License-Identifier: Apache-2.0
//
// inlines: see blocks/inlines.c.
#include "locus/policy.h"

extern inline void locus_nodes_add(struct locus_nodes *set, int node);
extern inline bool locus_nodes_has(const struct locus_nodes *set, int node);
extern inline int locus_nodes_next(const struct locus_nodes *set, int node);
extern inline unsigned locus_nodes_count(const struct locus_nodes *set);
