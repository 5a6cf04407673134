// SPDX-License-Identifier: Apache-2.0
//
// postulate_parts: the parts of the reader of postulates, which are files of their own.
#ifndef TB_POSTULATE_PARTS_H
#define TB_POSTULATE_PARTS_H

#include "testbed/base/yaml/yaml.h"
#include "testbed/postulate/postulate.h"

// Reads one entry of `predictions` and adds it; there is room for it, and the postulate's arms and cells are there. 0, -EINVAL (why
// says it), -ENOMEM.
int tb_prediction_read(struct tb_yaml *yaml, yaml_node_t *entry, struct tb_postulate *postulate);

// Fills in question, suite and laps_counted of one that was filed before they were keys, by its number and slug.
void tb_postulate_early(struct tb_postulate *postulate);

#endif
