// SPDX-License-Identifier: Apache-2.0
//
// sharing_tables: other tables from ids to handles, for sharing_bench. Peers that are not installed are left out. Their hash is the
// id's first word, which is random: none is cheaper.
#ifndef TESTS_SHARING_TABLES_H
#define TESTS_SHARING_TABLES_H

#include "locus/block.h"
#include "locus/id.h"

#include <stdbool.h>

struct sharing_table {
    const char *name;
    bool (*open)(uint32_t count);       // false: not installed
    void (*add)(struct locus_id id, locus_block block);
    uint32_t (*find)(const struct locus_id ids[], uint32_t count, locus_block blocks[]); // as locus_prefix_find()
};

extern const struct sharing_table sharing_tables[];
extern const uint32_t sharing_tables_count;

#endif
