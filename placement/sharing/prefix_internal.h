// SPDX-License-Identifier: Apache-2.0
//
// prefix_internal: a load of so many blocks and no more, for reservations. Not installed.
#ifndef LOCUS_PREFIX_INTERNAL_H
#define LOCUS_PREFIX_INTERNAL_H

#include "locus/offload.h"

// locus_prefix_load(), after locus_prefix_load_probe() has returned `has`. It takes no more blocks than that, even if the connector
// has got more since.
int64_t prefix_load(struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                    struct locus_table *table, uint32_t has);

#endif
