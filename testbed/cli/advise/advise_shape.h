// SPDX-License-Identifier: Apache-2.0
//
// advise_shape: `locus advise --shape`: a model's KV cache, in tokens per second.
#ifndef TB_ADVISE_SHAPE_H
#define TB_ADVISE_SHAPE_H

#include "testbed/base/words.h"
#include "testbed/cli/options.h"
#include "testbed/report/advise/advise.h"

struct tb_advise_shape {
    const char *shape;          // NULL: it was not asked for
    const char *blocks, *layouts, *type;
    uint64_t cpus;              // 0: not given
    const char *setting;        // the last of its flags but --shape, or NULL
};

extern const struct argp tb_advise_shape_argp; // a child parser; its input is the struct tb_advise_shape

// On a machine of one node: block sizes, layouts, pages, order and allocators side by side, in the tokens of a trace (`path`) or of
// a batch (`workload`); both NULL: a batch is chosen. An exit status.
int tb_advise_shape(const struct tb_advise_shape *given, struct tb_options *options, const struct tb_options_trace *trace,
                    const char *path, const char *workload);

// On several nodes: the cell in which placements are compared, whose name the next call overwrites; its schedule (free it), and
// what it is, in a line. 0, or an exit status after a report.
int tb_advise_shape_nodes(const struct tb_advise_shape *given, struct tb_options *options, const struct tb_options_trace *trace,
                          const char *path, const char *workload, bool emulated, struct tb_cell *out, struct tb_schedule **schedule,
                          struct tb_words *about);

#endif
