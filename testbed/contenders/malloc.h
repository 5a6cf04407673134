// SPDX-License-Identifier: Apache-2.0
//
// malloc: what the mallocs on one node (malloc.c) and on many (malloc_nodes.c) share.
#ifndef TB_CONTENDERS_MALLOC_H
#define TB_CONTENDERS_MALLOC_H

#include "testbed/measure/nodes/ops.h"

// Of the library that is loaded, in its own words; unchanged when none answers.
void tb_malloc_version(char *out, size_t bytes);
void tb_mimalloc_version(int number, char *out, size_t bytes); // as mi_version() has it

extern const struct tb_nodes_contender tb_malloc_nodes;

#endif
