// SPDX-License-Identifier: Apache-2.0
//
// postulate_prediction: for the reader of postulates alone.
#ifndef TB_POSTULATE_PREDICTION_H
#define TB_POSTULATE_PREDICTION_H

#include "testbed/postulate/postulate_yaml.h"

// Reads one entry of `predictions` and adds it; there is room for it, and the postulate's arms and cells are there. 0, -EINVAL (why
// says it), -ENOMEM.
int tb_prediction_read(struct tb_yaml *yaml, yaml_node_t *entry, struct tb_postulate *postulate);

#endif
