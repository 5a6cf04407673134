// SPDX-License-Identifier: Apache-2.0
//
// chase: the cycle is the lines in shuffled order, each linked to the next. That gives every cycle with the same chance,
// as Sattolo's algorithm does, and besides the number of each line for nothing; the stores do not wait for each other, as a walk
// that numbers them would.
//
// The order is over all lines, not within pages: with huge pages the page tables of a buffer fit into the TLB, and with base pages
// their cost belongs to what a program would see. One step a line: a second word in the same line would be a hit.
#include "testbed/loops/chase.h"

#include <errno.h>
#include <stdlib.h>

#include "testbed/loops/kernels.h"
#include "testbed/stats/random.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct tb_chase_line {
    const struct tb_chase_line *next;
    uint64_t number;
    uint64_t unused[6];
};

_Static_assert(sizeof(struct tb_chase_line) == TB_LINE_BYTES, "one step a line");

static void drop(const struct tb_chase_line *line)
{
#if defined(__x86_64__)
    _mm_clflush(line);
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
}

static void settle(void)
{
#if defined(__x86_64__)
    _mm_mfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb ish" ::: "memory");
#endif
}

int tb_chase_build(void *base, uint64_t lines, uint64_t seed)
{
    struct tb_chase_line *line = base;
    if (lines > UINT32_MAX)
        return -E2BIG;
    uint32_t *order = malloc(lines * sizeof *order);
    if (!order)
        return -ENOMEM;
    tb_random_order(order, (uint32_t)lines, &seed);
    for (uint64_t i = 0; i < lines; i++) {
        line[order[i]].next = &line[order[i + 1 < lines ? i + 1 : 0]];
        line[order[i]].number = i;
    }
    free(order);
    for (uint64_t i = 0; i < lines; i++)
        drop(&line[i]);
    settle();
    return 0;
}

#define STEPS4 at = at->next->next->next->next

// The assembler line makes the result one that is needed, and each batch one that cannot be merged with the next.
const struct tb_chase_line *tb_chase_walk(const struct tb_chase_line *at, uint64_t steps)
{
    for (; steps >= 16; steps -= 16) {
        STEPS4;
        STEPS4;
        STEPS4;
        STEPS4;
        __asm__ volatile("" : "+r"(at) : : "memory");
    }
    for (; steps > 0; steps--)
        at = at->next;
    __asm__ volatile("" : "+r"(at) : : "memory");
    return at;
}

uint64_t tb_chase_number(const struct tb_chase_line *at)
{
    return at->number;
}
