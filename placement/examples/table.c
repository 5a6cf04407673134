// SPDX-License-Identifier: Apache-2.0
//
// A table of four blocks, and the block that holds a token.
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    size_t bytes = locus_table_bytes(1, 4); // one home
    void *memory = aligned_alloc(LOCUS_CACHE_LINE, bytes);
    struct locus_table *table = memory;
    if (!table || locus_table_init(table, 1, 4, 16))
        return 1;
    printf("40 tokens: %d blocks\n", (int)locus_table_blocks_for(table, 40));

    // An engine gets blocks by locus_owner_grow(), and makes none.
    for (unsigned i = 0; i < 3; i++)
        if (locus_table_append(table, locus_block_make(0, 5 + i, 1)))
            return 1;
    locus_block block = locus_table_at(table, 20);
    printf("token 20 is in block %u\n", locus_block_index(block));
    free(memory);
}
