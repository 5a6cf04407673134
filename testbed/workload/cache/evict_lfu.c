// SPDX-License-Identifier: Apache-2.0
//
// evict_lfu: the block that was used least often leaves first.
//
// Definition. insert(fresh) sets a block's count to 1; hit() adds one. The victim is the kept block of the lowest count; among
// equals, the one that was kept longest ago (fresh or again). A count is forgotten when the block leaves. There is no aging: what
// was popular once stays.
//
// O(log blocks); 32 bytes a block.
#include "locus/evict.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/heap.h"

struct lfu {
    struct tb_heap heap;        // key: count, then when it was kept
    uint32_t *count;            // of each block; saturates
    uint64_t keeps;
};

static void lfu_close(void *state)
{
    struct lfu *lfu = state;
    if (!lfu)
        return;
    tb_heap_close(&lfu->heap);
    free(lfu->count);
    free(lfu);
}

static int lfu_open(void **state, uint32_t blocks)
{
    *state = NULL;
    if (blocks == 0 || blocks >= LOCUS_EVICT_NONE / 8)
        return -EINVAL;
    struct lfu *lfu = calloc(1, sizeof *lfu);
    if (!lfu)
        return -ENOMEM;
    int error = tb_heap_open(&lfu->heap, blocks);
    lfu->count = calloc(blocks, sizeof *lfu->count);
    if (error || !lfu->count) {
        lfu_close(lfu);
        return -ENOMEM;
    }
    *state = lfu;
    return 0;
}

static void lfu_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct lfu *lfu = state;
    (void)id;
    (void)parent;
    if (fresh)
        lfu->count[block] = 1;
    tb_heap_push(&lfu->heap, block, (struct tb_heap_key){lfu->count[block], lfu->keeps++});
}

static void lfu_remove(void *state, uint32_t block)
{
    tb_heap_remove(&((struct lfu *)state)->heap, block);
}

static void lfu_hit(void *state, uint32_t block)
{
    struct lfu *lfu = state;
    lfu->count[block] += lfu->count[block] < UINT32_MAX;
    lfu_remove(state, block);
}

static uint32_t lfu_victim(void *state)
{
    return tb_heap_top(&((struct lfu *)state)->heap);
}

static const struct locus_evict_ops tb_evict_lfu = {
    .name = "lfu",
    .summary = "least frequently used: what was used least often leaves first, then what was kept longest ago",
    .open = lfu_open,
    .close = lfu_close,
    .hit = lfu_hit,
    .insert = lfu_insert,
    .victim = lfu_victim,
    .remove = lfu_remove,
};
LOCUS_EVICT(tb_evict_lfu);
