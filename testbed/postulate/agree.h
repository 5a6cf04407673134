// SPDX-License-Identifier: Apache-2.0
//
// agree: does a postulate speak of what its experiment runs? What both say (experiment.h) has to be the same, in the same order.
#ifndef TB_AGREE_H
#define TB_AGREE_H

#include "testbed/postulate/experiment.h"
#include "testbed/postulate/postulate.h"

// 0, or -EINVAL: why says in one sentence what differs first.
int tb_postulate_agrees(const struct tb_postulate *postulate, const struct tb_experiment *experiment, char *why, size_t bytes);

#endif
