// SPDX-License-Identifier: Apache-2.0
//
// runs: free blocks by where they lie, so that a request gets neighbours and finds room to grow beside them.
//
// Attention reads a request's blocks in the table's order, and hardware prefetches along ascending addresses only. A stack forgets
// the order after some minutes of interleaved decode: of the blocks that a recorded hour hands out 2 % follow their neighbour.
// Taking the lowest free block instead does not help a request that takes one block at a time beside 60 others (52 %).
//
// So this is no order of blocks, but a choice of where a request starts. The pool is cut into spans of 64 blocks, each with a word
// of free bits. A table goes on behind its last block as long as that is free, which costs about what a stack costs. Only when it
// is not, or the table is empty, it starts a run: in an extent of free blocks that has room for it and for some growth, and *not
// at the extent's beginning but in the middle of what is left over*, because the block before an extent is most likely the last
// one of a table that grows into it. So room is kept for growth without a record of who it is kept for, and nothing has to be
// given back: when the pool fills, extents are halved until single blocks are left, and the last block goes out like any.
//
// Which extent. The smallest that suffices, by powers of two: whole spans stay whole for prompts. If none does, a span that was
// never used; then the largest there is. A prompt of more than a span takes whole spans, neighbours if they are free.
//
// Footprint. Room is kept in memory that others could have used, so more blocks are used than the theoretical peak: on that hour
// 1.3 times as many where the pool has no end. A pool is as large as it is, and its room is used when it fills: one 10 % larger
// than the peak has 99 % neighbours, one 5 % larger and nine tenths full on average 98 %.
//
// Invariants, in owner context:
//   1. A bit is set in `free` or in `fresh`, and not in both, if and only if the block is free, so there are pool->hot.top of them,
//      and pool->fresh of the second kind.
//   2. A span with a free block is in a list, or lies at or behind `fresh`, where all blocks are free.
//   3. A span's class is no less than that of its longest extent. Taking blocks leaves it where it is, which makes it cheap;
//      whoever looks for an extent moves down what he finds in too high a list. A free moves up.
//
// Each span that is moved down was taken from since it was moved up, so the looking costs a constant time per run.

#include "placement/blocks/pools/runs.h"

// A run starts where it leaves so many blocks free, half of them behind itself. A break in the addresses costs attention what
// reading 0.45 blocks of 64 KiB costs, so runs of 15 blocks would cost it 3 %; prompts and neighbouring room make them longer.
// Twice as much room gained 0.1 % of neighbours on the recorded hour where there was space, and lost 0.4 % where there was little.
#define ROOM 16u

// --- lists of spans ------------------------------------------------------------------------------------------------------------

static inline uint64_t span_bits(const struct pool_span *span)
{
    return span->free | span->fresh;
}

// Bit i: so many blocks or more are free from block i on. pre: `half` says so of half as many.
static inline uint64_t extents(uint64_t half, uint32_t blocks)
{
    return half & half >> blocks / 2;
}

// The class of the longest extent of set bits, without a branch that could be mispredicted. pre: free != 0.
static inline uint32_t class_of(uint64_t free)
{
    uint64_t two = extents(free, 2), four = extents(two, 4), eight = extents(four, 8), sixteen = extents(eight, 16);
    uint64_t half_span = extents(sixteen, 32), span = extents(half_span, POOL_SPAN_BLOCKS);
    return (uint32_t)((two != 0) + (four != 0) + (eight != 0) + (sixteen != 0) + (half_span != 0) + (span != 0));
}

// Where the first extent of that class begins. pre: there is one.
static inline uint32_t extent_at(uint64_t free, uint32_t class)
{
    for (uint32_t blocks = 2; blocks <= 1u << class; blocks *= 2)
        free = extents(free, blocks);
    return (uint32_t)__builtin_ctzll(free);
}

static void list_remove(struct pool_runs *runs, uint32_t number)
{
    struct pool_span *span = &runs->span[number];
    if (span->prev == POOL_NOWHERE)
        runs->first[span->class] = span->next;
    else
        runs->span[span->prev].next = span->next;
    if (span->next != POOL_NOWHERE)
        runs->span[span->next].prev = span->prev;
    if (runs->first[span->class] == POOL_NOWHERE)
        runs->classes &= ~(1u << span->class);
    span->class = POOL_NOWHERE;
}

// In front, so that what came home last leaves first; or behind span `behind`, if that is in the same list.
static void list_add(struct pool_runs *runs, uint32_t number, uint32_t class, uint32_t behind)
{
    struct pool_span *span = &runs->span[number];
    bool in_front = behind == POOL_NOWHERE || runs->span[behind].class != class;
    uint32_t *place = in_front ? &runs->first[class] : &runs->span[behind].next;
    span->class = class;
    span->prev = in_front ? POOL_NOWHERE : behind;
    span->next = *place;
    if (span->next != POOL_NOWHERE)
        runs->span[span->next].prev = number;
    *place = number;
    runs->classes |= 1u << class;
}

// --- taking --------------------------------------------------------------------------------------------------------------------

// A span from the first list of `classes` that has one which is really of that class; POOL_NOWHERE: there is none.
static uint32_t span_find(struct pool_runs *runs, uint32_t classes, bool highest)
{
    uint32_t left;
    while ((left = runs->classes & classes)) {
        uint32_t class = highest ? 31 - (uint32_t)__builtin_clz(left) : (uint32_t)__builtin_ctz(left);
        uint32_t number = runs->first[class];
        uint64_t free = span_bits(&runs->span[number]);
        uint32_t now = free ? class_of(free) : POOL_NOWHERE;
        if (now == class)
            return number;
        list_remove(runs, number);
        if (now != POOL_NOWHERE)
            list_add(runs, number, now, POOL_NOWHERE);
    }
    return POOL_NOWHERE;
}

static uint32_t span_fresh(struct pool_runs *runs)
{
    if (runs->fresh == runs->spans)
        return POOL_NOWHERE;
    list_add(runs, runs->fresh, class_of(span_bits(&runs->span[runs->fresh])), POOL_NOWHERE);
    return runs->fresh++;
}

// The block at which a run of `count` blocks, or their first 64, shall start.
static uint32_t run_start(struct pool_runs *runs, uint32_t count)
{
    uint32_t first = count < POOL_SPAN_BLOCKS ? count : POOL_SPAN_BLOCKS;
    uint32_t need = first + ROOM < POOL_SPAN_BLOCKS ? first + ROOM : POOL_SPAN_BLOCKS;
    uint32_t class = 32 - (uint32_t)__builtin_clz(need - 1); // 2^class is at least `need`
    uint32_t number = span_find(runs, ~0u << class, false);
    if (number == POOL_NOWHERE)
        number = span_fresh(runs);
    if (number == POOL_NOWHERE)
        number = span_find(runs, ~0u, true);
    uint64_t free = span_bits(&runs->span[number]);
    uint32_t at = extent_at(free, runs->span[number].class);
    uint64_t rest = ~(free >> at);
    uint32_t extent = rest ? (uint32_t)__builtin_ctzll(rest) : POOL_SPAN_BLOCKS;
    if (at > 0 && extent > first)
        at += (extent - first) / 2;
    return number * POOL_SPAN_BLOCKS + at;
}

// Takes free blocks that follow each other from block `at` on, in its span, and returns how many.
static uint32_t run_take(struct locus_pool *pool, uint32_t at, uint32_t count, locus_block out[])
{
    struct pool_span *span = &pool->runs->span[at / POOL_SPAN_BLOCKS];
    uint32_t shift = at % POOL_SPAN_BLOCKS;
    uint64_t rest = ~(span_bits(span) >> shift);
    uint32_t length = rest ? (uint32_t)__builtin_ctzll(rest) : POOL_SPAN_BLOCKS;
    if (length > count)
        length = count;
    if (length == 0)
        return 0;
    uint64_t taken = UINT64_MAX >> (POOL_SPAN_BLOCKS - length) << shift;
    span->free &= ~taken;
    if (taken & span->fresh) {
        pool->fresh -= (uint32_t)__builtin_popcountll(taken & span->fresh);
        span->fresh &= ~taken;
    }
    const uint32_t *generations = pool->generation + at;
    locus_block first = locus_block_make(pool->home, at, 0);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < length; i++)
        out[i] = first + ((uint64_t)i << 32) + generations[i];
    return length;
}

// Is the span of block `at` one that a run may go on into? A fresh one is used only when there is nothing else.
static inline bool run_goes_on(const struct locus_pool *pool, uint32_t at)
{
    return at < pool->blocks && at / POOL_SPAN_BLOCKS < pool->runs->fresh;
}

void pool_runs_take(struct locus_pool *pool, uint32_t count, locus_block out[], uint32_t after)
{
    struct pool_runs *runs = pool->runs;
    uint32_t done = 0, at = after + 1; // POOL_NOWHERE + 1 is 0
    bool goes_on = after != POOL_NOWHERE && run_goes_on(pool, at);
    while (done < count) {
        uint32_t taken = goes_on ? run_take(pool, at, count - done, out + done) : 0;
        at = taken ? at + taken : run_start(runs, count - done);
        goes_on = run_goes_on(pool, at);
        done += taken;
    }
    pool_top_set(pool, pool->hot.top - count);
    if (pool->hot.top < runs->low && runs->low != POOL_NEVER)
        runs->low = pool->hot.top;
}

// --- freeing -------------------------------------------------------------------------------------------------------------------

// Behind the span that came home before it in the same chunk: so a prompt of several spans finds them in ascending order. A block
// may be free already, if another pool's handle has its generation (pool.h): then there is no bit more, and none for `top`.
static inline void span_free(struct locus_pool *pool, uint32_t number, uint64_t blocks, uint32_t behind)
{
    struct pool_runs *runs = pool->runs;
    struct pool_span *span = &runs->span[number];
    if (__builtin_expect((span_bits(span) & blocks) != 0, 0)) {
        pool_top_set(pool, pool->hot.top - (uint32_t)__builtin_popcountll(span_bits(span) & blocks));
        blocks &= ~span->fresh;
    }
    span->free |= blocks;
    uint32_t class = class_of(span_bits(span));
    if (span->class != POOL_NOWHERE && span->class >= class)
        return;
    if (span->class != POOL_NOWHERE)
        list_remove(runs, number);
    list_add(runs, number, class, behind);
}

void pool_runs_put(struct locus_pool *pool, uint32_t index)
{
    span_free(pool, index / POOL_SPAN_BLOCKS, UINT64_C(1) << index % POOL_SPAN_BLOCKS, POOL_NOWHERE);
    pool_top_set(pool, pool->hot.top + 1);
}

// Blocks of a span that follow each other in the chunk go home together.
uint32_t pool_runs_free(struct locus_pool *pool, uint32_t count, const locus_block blocks[])
{
    uint32_t *generations = pool->generation, home_bits = pool->home << 26, limit = pool->blocks, i = 0;
    uint32_t number = POOL_NOWHERE, behind = POOL_NOWHERE; // the span, and the one before it in the chunk
    uint64_t home = 0;                                     // its blocks
    for (; i < count; i++) {
        locus_block block = blocks[i];
        uint32_t index = (uint32_t)(block >> 32) ^ home_bits;
        uint32_t next = locus_block_generation(block) + 1;
        if (__builtin_expect(index >= limit || generations[index] != locus_block_generation(block) || next <= 1, 0))
            break;
        generations[index] = next;
        if (__builtin_expect(index / POOL_SPAN_BLOCKS != number, 0)) {
            if (home)
                span_free(pool, number, home, behind);
            behind = number;
            number = index / POOL_SPAN_BLOCKS;
            home = 0;
        }
        home |= UINT64_C(1) << index % POOL_SPAN_BLOCKS;
    }
    if (home)
        span_free(pool, number, home, behind);
    pool_top_set(pool, pool->hot.top + i);
    return i;
}

// --- open ----------------------------------------------------------------------------------------------------------------------

static uint32_t spans_of(uint32_t blocks)
{
    return (blocks + POOL_SPAN_BLOCKS - 1) / POOL_SPAN_BLOCKS;
}

size_t pool_runs_bytes(uint32_t blocks)
{
    return sizeof(struct pool_runs) + spans_of(blocks) * sizeof(struct pool_span);
}

void pool_runs_fill(struct locus_pool *pool)
{
    struct pool_runs *runs = pool->runs;
    uint32_t behind = pool->blocks % POOL_SPAN_BLOCKS; // blocks of the last span, if it is not whole
    *runs = (struct pool_runs){.spans = spans_of(pool->blocks), .low = pool->tags || pool->sharing ? POOL_NEVER : pool->blocks};
    runs->last = POOL_NOWHERE;
    for (uint32_t class = 0; class < POOL_SPAN_CLASSES; class ++)
        runs->first[class] = POOL_NOWHERE;
    for (uint32_t i = 0; i < runs->spans; i++)
        runs->span[i] = (struct pool_span){.fresh = UINT64_MAX, .class = POOL_NOWHERE};
    if (behind)
        runs->span[runs->spans - 1].fresh = (UINT64_C(1) << behind) - 1;
}
