// SPDX-License-Identifier: Apache-2.0
//
// locus-generations, locus-bare: what the library's generations cost, and what its books cost. Each leaves out one more thing than
// the contender before it, and all else is equal: region, stack of handles, order of reuse, mailbox, and calls into the pool.
//
//     locus-treiber       the library's pool
//     locus-generations   without its books: high-water marks, counts by kind of error, the error function, counters'
//                         own cache line, and the branches for what else a pool can be (FIFO, heap, tags, shared)
//     locus-bare          without generations as well: a take copies handles from the stack, a free copies them back
//
// Order. It is the library's (pool.c), block for block: the last chunk that came home leaves first and in its own order, and the
// used part of the stack is put in ascending order when all is home and enough was freed. For that one has to know which blocks
// were ever used. The library notes that when a take reaches a new depth. Here it is one comparison in a free, since the stack is
// at its lowest just before one.
//
// What is counted: blocks freed and refused, one addition per table. The audit marks the blocks that are on the stack, at rest.
//
// locus-generations refuses what the library refuses. locus-bare refuses only more blocks than are out, and accepts a handle of
// another pool or of an older use. After a double free one block is on the stack twice and another is lost, as in a mempool of
// DPDK. The gates notice that if a probe lap finds the block written by both holders, or if something is still out when the blocks
// are counted. When all is home, putting the stack in order mends it, so locus-bare@double-free passes on the suite.
//
// Threads: as in carrier.h; each pool belongs to the owner thread.

#include <stdlib.h>
#include <string.h>

#include "locus/region.h"
#include "testbed/contenders/mailboxes.h"

// A call costs what a call into another file does: not inlined, not cloned, and nothing known of the registers it leaves alone.
#ifdef __clang__
#define CALLED __attribute__((noinline))
#else
#define CALLED __attribute__((noipa))
#endif

struct bare {
    // Never changes after open.
    _Alignas(LOCUS_CACHE_LINE) char *base;
    size_t block_bytes;
    locus_block *free;          // [blocks]
    uint32_t *generation;       // [blocks]; only locus-generations uses it
    uint32_t blocks;
    // Owner thread.
    _Alignas(LOCUS_CACHE_LINE) uint32_t top; // free blocks: the stack is free[blocks - top .. blocks)
    uint32_t low;               // the least `top` before a free: the pool's last `low` blocks were never handed out
    uint64_t freed, refused;
    uint64_t freed_straightened; // `freed` when the stack was last put in order
    struct locus_region *region, *metadata;
};

// --- timed ---------------------------------------------------------------------------------------------------------------------

static CALLED locus_block bare_alloc(struct bare *bare)
{
    uint32_t top = bare->top;
    if (__builtin_expect(top == 0, 0))
        return LOCUS_BLOCK_NONE;
    bare->top = top - 1;
    return bare->free[bare->blocks - top];
}

static CALLED int bare_alloc_bulk(struct bare *bare, uint32_t count, locus_block out[])
{
    uint32_t top = bare->top;
    if (__builtin_expect(top < count, 0))
        return -ENOMEM;
    memcpy(out, bare->free + bare->blocks - top, count * sizeof *out);
    bare->top = top - count;
    return 0;
}

static CALLED void *bare_address(const struct bare *bare, locus_block block)
{
    return bare->base + locus_block_index(block) * bare->block_bytes;
}

static bool out_of_order(const struct bare *bare)
{
    return bare->freed - bare->freed_straightened >= bare->blocks - bare->low;
}

static CALLED void generations_straighten(struct bare *bare)
{
    const uint32_t *generations = bare->generation, used = bare->blocks - bare->low;
    locus_block first = locus_block_make(0, 0, 0), *stack = bare->free;
    if (!out_of_order(bare))
        return;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < used; i++)
        stack[i] = first + ((uint64_t)i << 32) + generations[i];
    bare->freed_straightened = bare->freed;
}

static CALLED void bare_straighten(struct bare *bare)
{
    const uint32_t used = bare->blocks - bare->low;
    locus_block first = locus_block_make(0, 0, LOCUS_GENERATION_MIN), *stack = bare->free;
    if (!out_of_order(bare))
        return;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < used; i++)
        stack[i] = first + ((uint64_t)i << 32);
    bare->freed_straightened = bare->freed;
}

static inline void note_low(struct bare *bare)
{
    if (bare->top < bare->low)
        bare->low = bare->top;
}

// free_usual() of pool.c, except that a block with the last generation is refused: no run comes that far.
static inline uint32_t free_checked(struct bare *bare, uint32_t count, const locus_block blocks[])
{
    uint32_t *generations = bare->generation, limit = bare->blocks, i = 0;
    locus_block *stack = bare->free + bare->blocks - bare->top - count;
#pragma GCC unroll 4
    for (; i < count; i++) {
        locus_block block = blocks[i];
        uint32_t index = (uint32_t)(block >> 32); // with the home, which is 0
        uint32_t next = locus_block_generation(block) + 1;
        if (__builtin_expect(index >= limit || generations[index] != locus_block_generation(block) || next <= 1, 0))
            break;
        generations[index] = next;
        stack[i] = block + 1;
    }
    if (__builtin_expect(i < count, 0))
        memmove(stack + count - i, stack, i * sizeof *stack);
    bare->top += i;
    return i;
}

static inline uint32_t room_for(const struct bare *bare, uint32_t count)
{
    uint32_t room = bare->blocks - bare->top;
    return count < room ? count : room;
}

// From the first handle on that is refused.
static __attribute__((cold, noinline)) uint32_t free_rest(struct bare *bare, uint32_t count, const locus_block blocks[])
{
    uint32_t accepted = 0;
    for (uint32_t done = 0; done < count;) {
        bare->refused++;
        done++;
        uint32_t usual = free_checked(bare, room_for(bare, count - done), blocks + done);
        accepted += usual;
        done += usual;
    }
    return accepted;
}

static CALLED uint32_t generations_free_bulk(struct bare *bare, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    (void)tag;
    note_low(bare);
    uint32_t accepted = free_checked(bare, room_for(bare, count), blocks);
    if (__builtin_expect(accepted < count, 0))
        accepted += free_rest(bare, count - accepted, blocks + accepted);
    bare->freed += accepted;
    if (__builtin_expect(bare->top == bare->blocks, 0))
        generations_straighten(bare);
    return accepted;
}

static CALLED uint32_t bare_free_bulk(struct bare *bare, uint32_t count, const locus_block blocks[], uint64_t tag)
{
    (void)tag;
    note_low(bare);
    uint32_t accepted = room_for(bare, count);
    memcpy(bare->free + bare->blocks - bare->top - accepted, blocks, accepted * sizeof *blocks);
    bare->top += accepted;
    if (__builtin_expect(accepted < count, 0))
        bare->refused += count - accepted;
    bare->freed += accepted;
    if (__builtin_expect(bare->top == bare->blocks, 0))
        bare_straighten(bare);
    return accepted;
}

// Both take and find blocks alike.
#define generations_alloc bare_alloc
#define generations_alloc_bulk bare_alloc_bulk
#define generations_address bare_address
TB_CARRIER_FRAME(generations_frame, generations);
TB_CARRIER_FRAME(bare_frame, bare);

// --- untimed -------------------------------------------------------------------------------------------------------------------

// As in pool.c, the arrays are beside each other on base pages.
static int metadata_open(struct bare *bare, const struct locus_pool_config *pool)
{
    size_t stack_bytes = pool->blocks * sizeof(locus_block), generations_bytes = pool->blocks * sizeof(uint32_t);
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = stack_bytes + generations_bytes,
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = pool->policy,
        .node = pool->node,
        .populate = true,
    };
    int error = locus_region_open(&bare->metadata, &region);
    if (error)
        return error;
    char *base = locus_region_base(bare->metadata);
    bare->free = (locus_block *)(void *)base;
    bare->generation = (uint32_t *)(void *)(base + stack_bytes);
    for (uint32_t i = 0; i < bare->blocks; i++) {
        bare->free[i] = locus_block_make(0, i, LOCUS_GENERATION_MIN);
        bare->generation[i] = LOCUS_GENERATION_MIN;
    }
    return 0;
}

static int blocks_open(struct bare *bare, const struct locus_pool_config *pool)
{
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = pool->block_bytes * pool->blocks,
        .memory_class = LOCUS_CLASS_KV_CACHE,
        .page = pool->page,
        .policy = pool->policy,
        .node = pool->node,
        .populate = pool->populate,
    };
    int error = locus_region_open(&bare->region, &region);
    bare->base = error ? NULL : locus_region_base(bare->region);
    return error;
}

static int pool_open(const struct tb_setup *setup, void **out)
{
    struct locus_pool_config pool = tb_library_pool(setup);
    struct bare *bare = aligned_alloc(LOCUS_CACHE_LINE, sizeof *bare);
    if (!bare)
        return -ENOMEM;
    *out = bare;
    *bare = (struct bare){.block_bytes = pool.block_bytes, .blocks = pool.blocks, .top = pool.blocks, .low = pool.blocks};
    int error = blocks_open(bare, &pool);
    return error ? error : metadata_open(bare, &pool);
}

static void pool_close(void *pool)
{
    struct bare *bare = pool;
    if (!bare)
        return;
    locus_region_close(bare->metadata);
    locus_region_close(bare->region);
    free(bare);
}

static void pool_stats(const void *pool, struct locus_pool_stats *out)
{
    const struct bare *bare = pool;
    *out = (struct locus_pool_stats){.blocks = bare->blocks, .blocks_free = bare->top, .freed = bare->freed};
}

// Without memory to count with, no block counts as home.
static void pool_audit(const void *pool, struct tb_audit *out)
{
    const struct bare *bare = pool;
    bool *home = calloc(bare->blocks, sizeof *home);
    out->allocated = bare->freed + (bare->blocks - bare->top);
    out->freed = bare->freed;
    out->refused = bare->refused;
    out->not_home = bare->blocks;
    for (uint32_t i = bare->blocks - bare->top; home && i < bare->blocks; i++) {
        uint32_t index = locus_block_index(bare->free[i]); // of a damaged handle it may be any
        if (index >= bare->blocks || home[index])
            continue;
        home[index] = true;
        out->not_home--;
    }
    free(home);
}

static const struct tb_carrier_pool pool_calls = {pool_open, pool_close, pool_stats, pool_audit};

static int generations_open(const struct tb_setup *setup, void **out)
{
    return tb_mailboxes_open(&pool_calls, setup, out);
}

static int bare_open(const struct tb_setup *setup, void **out)
{
    return tb_mailboxes_open(&pool_calls, setup, out);
}

TB_MAILBOXES(generations, generations_frame);
TB_CARRIER_OPS_OF(generations, generations_frame);
TB_MAILBOXES(bare, bare_frame);
TB_CARRIER_OPS_OF(bare, bare_frame);

static const struct tb_contender generations = {
    .name = "locus-generations",
    .summary = "locus-treiber without the pool's books: only generations are checked",
    .driver = &generations_ops_driver,
};
TB_CONTENDER(generations);

static const struct tb_contender bare = {
    .name = "locus-bare",
    .summary = "locus-treiber with neither books nor generations: refuses no double free",
    .driver = &bare_ops_driver,
};
TB_CONTENDER(bare);
