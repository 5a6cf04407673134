// SPDX-License-Identifier: Apache-2.0
//
// prefix_internal: a raise of so many blocks and no more, for promises. Not installed.
#ifndef LOCUS_PREFIX_INTERNAL_H
#define LOCUS_PREFIX_INTERNAL_H

#include "prefix_sink.h"

// locus_prefix_raise(), after locus_prefix_raise_look() has returned `has`. It takes no more blocks than that, even if the sink has
// got more since.
int64_t prefix_raise(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                     struct locus_table *table, uint32_t has);

#endif
