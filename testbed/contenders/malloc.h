// SPDX-License-Identifier: Apache-2.0
//
// malloc: shared by the mallocs on one node (malloc.c) and on many (malloc_nodes.c).
#ifndef TB_CONTENDERS_MALLOC_H
#define TB_CONTENDERS_MALLOC_H

#include "testbed/measure/nodes/ops.h"

// Version of the loaded library, in its own words; unchanged if none answers.
void tb_malloc_version(char *out, size_t bytes);
void tb_mimalloc_version(int number, char *out, size_t bytes); // the number of mi_version()

extern const struct tb_nodes_contender tb_malloc_nodes;

#endif
