// SPDX-License-Identifier: Apache-2.0
//
// mark: two instructions that do nothing, between which a plugin of an emulator counts: instructions
// (testbed/guest/plugin/counts.c), or accesses to memory that the program names (window.h).
//
// Both are a 7-byte NOP, `nopl DISPLACEMENT(%rax)`, which the processor ignores whatever is in rax; the displacement says which of
// the two it is. No compiler emits these displacements. On other architectures the marks are empty, and nothing is counted.
// A mark orders nothing but the compiler: what comes before it in the program stays before it.
#ifndef TB_MARK_H
#define TB_MARK_H

// The instruction's bytes, arbitrary from the fourth on.
#define TB_MARK_BEGIN_BYTES 0x0f, 0x1f, 0x80, 0x5b, 0x6b, 0x6f, 0x4c
#define TB_MARK_END_BYTES 0x0f, 0x1f, 0x80, 0x5d, 0x6b, 0x6f, 0x4c

#ifdef __x86_64__
#define TB_MARK_TEXT(...) #__VA_ARGS__
#define TB_MARK(...) __asm__ volatile(".byte " TB_MARK_TEXT(__VA_ARGS__)::: "memory")
#define TB_MARKS true
#else
#define TB_MARK(...) (void)0
#define TB_MARKS false
#endif

static inline __attribute__((always_inline)) void tb_mark_begin(void)
{
    TB_MARK(TB_MARK_BEGIN_BYTES);
}

static inline __attribute__((always_inline)) void tb_mark_end(void)
{
    TB_MARK(TB_MARK_END_BYTES);
}

#endif
