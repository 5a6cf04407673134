// SPDX-License-Identifier: Apache-2.0
//
// kernels: the loops that read and write memory as fast as one CPU can, and know what they did.
//
// Everything is counted in cache lines. A written line holds one number eight times, `first` in the first line and `step` more in
// each further one, so that the sum over a buffer is known without looking (tb_pattern_sum), and a line that was left out shows in
// it. A kernel's count of bytes comes from the pointer that its loop moved, not from the argument.
//
// Threads: any; memory is aligned to a line and the caller's. `from` and `to` do not overlap.
#ifndef TB_KERNELS_H
#define TB_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#define TB_LINE_BYTES 64u
#define TB_LINE_WORDS 8u
#define TB_MIX_SOURCES_MAX 3u

struct tb_moved {
    uint64_t bytes;             // read and written
    uint64_t sum;               // of all 64-bit words that were read, modulo 2^64; 0: the kernel does not add up
};

struct tb_kernels {
    const char *name;           // of the instructions: "avx512", "avx2", "base" (SSE2, or NEON)
    struct tb_moved (*read)(const void *from, uint64_t lines);
    struct tb_moved (*write)(void *to, uint64_t lines, uint64_t first, uint64_t step);
    struct tb_moved (*nt_write)(void *to, uint64_t lines, uint64_t first, uint64_t step);

    // A copy past the caches, without the fence: tb_nt_fence() after the last one. ahead: what is read next, of which as many lines
    // are fetched; or NULL.
    struct tb_moved (*nt_copy)(void *to, const void *from, uint64_t lines, const void *ahead);

    // mix[s - 1]: each line of `to` becomes the sum of the lines at the same place of s sources, plus `salt` in each word. The
    // sources lie one after the other, `lines` each. s = 1 is a copy.
    struct tb_moved (*mix[TB_MIX_SOURCES_MAX])(void *to, const void *from, uint64_t lines, uint64_t salt);

    // Reads with `delay` turns of an empty loop after each line.
    struct tb_moved (*read_slowly)(const void *from, uint64_t lines, unsigned delay);
};

// Those that this CPU has, widest first; NULL after the last. The best is the first.
const struct tb_kernels *tb_kernels_at(unsigned index);
const struct tb_kernels *tb_kernels_best(void);

void tb_nt_fence(void); // what nt_copy() stored is seen before anything that this thread stores from here on

// Sum of all words of `lines` lines of the pattern.
static inline uint64_t tb_pattern_sum(uint64_t lines, uint64_t first, uint64_t step)
{
    uint64_t pairs = lines % 2 ? (lines - 1) / 2 * lines : lines / 2 * (lines - 1);
    return TB_LINE_WORDS * (first * lines + step * pairs);
}

#endif
