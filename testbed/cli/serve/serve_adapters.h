// SPDX-License-Identifier: Apache-2.0
//
// serve_adapters: `locus serve --batchers`, `--residency` and `--pages`.
#ifndef TB_CLI_SERVE_ADAPTERS_H
#define TB_CLI_SERVE_ADAPTERS_H

#include "testbed/cli/options.h"

// One cell with these settings, or, without a cell, one for each load, rate or watermark of a usual list. pre: the options have
// arms. An exit status.
int tb_serve_adapters(struct tb_options *options, const struct tb_scenario *scenario, const struct tb_serving_settings *settings,
                      enum tb_touch touch, bool cell_given);

#endif
