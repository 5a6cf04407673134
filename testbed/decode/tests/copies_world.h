// SPDX-License-Identifier: Apache-2.0
//
// copies_world: pages with something in them, for the benches of copies.
#ifndef TB_COPIES_WORLD_H
#define TB_COPIES_WORLD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "testbed/decode/copies/copies.h"
#include "testbed/stats/tests/contest.h"

#define WORLD_SEQUENCES_MAX 8u
#define WORLD_ALIGN (2u << 20)

struct pages {
    struct tb_cache cache;
    uint32_t sequences_count, tokens; // as many of each
    size_t bytes;
    char *memory, **blocks;
    struct tb_sequence sequences[WORLD_SEQUENCES_MAX];
};

// As pools have it: in huge pages, where the system gives them. Every value is a number.
static inline char *memory_new(size_t bytes)
{
    size_t rounded = (bytes + WORLD_ALIGN - 1) / WORLD_ALIGN * WORLD_ALIGN;
    char *memory = aligned_alloc(WORLD_ALIGN, rounded);
    if (!memory)
        contest_fail("memory", ENOMEM);
    madvise(memory, rounded, MADV_HUGEPAGE);
    memset(memory, 0x3c, rounded);
    return memory;
}

// The order in which a used pool hands blocks out.
static inline void blocks_shuffle(char **blocks, uint32_t count)
{
    uint64_t random = 1;
    for (uint32_t i = count; i-- > 1;) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t other = (uint32_t)((random >> 33) % (i + 1));
        char *block = blocks[i];
        blocks[i] = blocks[other];
        blocks[other] = block;
    }
}

static inline void pages_open(struct pages *pages, const char *shape_name, enum tb_dtype value, const char *layout,
                              uint32_t block_tokens, uint32_t sequences, uint32_t tokens)
{
    char why[160];
    struct tb_shape shape;
    if (tb_shape_parse(shape_name, &shape, why, sizeof why) ||
        tb_cache_open(&pages->cache, &shape, value, tb_layout_find(layout), block_tokens, why, sizeof why))
        contest_fail(why, EINVAL);
    uint32_t each = tb_cache_blocks(&pages->cache, tokens), count = sequences * each;
    pages->sequences_count = sequences;
    pages->tokens = tokens;
    pages->bytes = count * pages->cache.block_bytes;
    pages->memory = memory_new(pages->bytes);
    pages->blocks = calloc(count, sizeof *pages->blocks);
    if (!pages->blocks)
        contest_fail("blocks", ENOMEM);
    for (uint32_t i = 0; i < count; i++)
        pages->blocks[i] = pages->memory + i * pages->cache.block_bytes;
    blocks_shuffle(pages->blocks, count);
    for (uint32_t i = 0; i < sequences; i++)
        pages->sequences[i] = (struct tb_sequence){pages->blocks + i * each, tokens};
}

static inline void pages_close(struct pages *pages)
{
    free(pages->memory);
    free(pages->blocks);
}

static inline int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts them. The smallest that `percent` of them do not exceed, as in torch_cat.py.
static inline double percentile(double values[], uint32_t count, uint32_t percent)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(percent * count + 99) / 100 - 1];
}

// The CPU time of this thread: other processes may share the CPU.
static inline double thread_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

// copies_steps.c. True: every goal is met.
bool growths_run(uint32_t rounds);
bool steps_run(uint32_t rounds);

#endif
