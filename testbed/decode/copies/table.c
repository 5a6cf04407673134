// SPDX-License-Identifier: Apache-2.0
//
// table: the addresses of a sequence's blocks. See copies.h.
//
// Invariant: a block does not move while it is in a table, so an address that was resolved once stays right. An engine that
// patches relies on that; one that rebuilds pays for each block in each step, and need not know what has changed.

#include "testbed/decode/copies/copies.h"

static void resolve(struct tb_block_table *table, uint32_t begin)
{
    for (uint32_t i = begin; i < table->count; i++)
        table->addresses[i] = table->region + table->numbers[i] * table->block_bytes;
    table->resolved = table->count;
}

void tb_block_table_patch(struct tb_block_table *table)
{
    resolve(table, table->resolved);
}

void tb_block_table_rebuild(struct tb_block_table *table)
{
    resolve(table, 0);
}
