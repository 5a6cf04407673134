// SPDX-License-Identifier: Apache-2.0
//
// window: names memory of which a plugin of an emulator counts the loads and stores (testbed/guest/plugin/accesses.c).
//
//     tb_window_open(7, memory, bytes);      // as many windows as you like
//     tb_mark_begin();                       // mark.h: from here on accesses to all open windows count, by any thread,
//     ...
//     tb_mark_end();                         // up to here
//     tb_window_close(7);                    // before the memory is unmapped: the next mapping may lie there
//
// How the plugin learns the numbers: it sees which instructions are executed, but QEMU 7.2 shows it no registers and no memory. So
// they are spelled, by a NOP for each bit, the highest first: number, address and end, and then a NOP which says what they are for
// (mark.h has the instruction). Nothing is read or written: the window may be memory that is reserved only, and stays as it is.
// Naming takes 200 instructions. They count as such between marks (guest/plugin/counts.c): open windows before.
//
// A window is a range of virtual addresses, exact to the byte. Windows of the same number are counted together, and closed
// together. One that overlaps others closes these: their process has ended without closing them. Processes are not told apart:
// while counting is on, another process with memory at the same addresses would count too, so let it wait.
//
// Threads: the plugin has one place to spell in, so in the whole guest only one thread at a time may open or close; else the plugin
// gives no counts. The same for the marks: a later tb_mark_begin() changes nothing, and the first tb_mark_end() ends the counting.
//
// On other architectures all of this is empty, and TB_MARKS is false.
#ifndef TB_WINDOW_H
#define TB_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "testbed/counters/mark.h"

#define TB_WINDOW_ZERO_BYTES 0x0f, 0x1f, 0x80, 0x30, 0x6b, 0x6f, 0x4c
#define TB_WINDOW_ONE_BYTES 0x0f, 0x1f, 0x80, 0x31, 0x6b, 0x6f, 0x4c
#define TB_WINDOW_OPEN_BYTES 0x0f, 0x1f, 0x80, 0x28, 0x6b, 0x6f, 0x4c
#define TB_WINDOW_CLOSE_BYTES 0x0f, 0x1f, 0x80, 0x29, 0x6b, 0x6f, 0x4c

static inline void tb_window_spell(uint64_t word)
{
    for (int bit = 63; bit >= 0; bit--)
        if (word >> bit & 1)
            TB_MARK(TB_WINDOW_ONE_BYTES);
        else
            TB_MARK(TB_WINDOW_ZERO_BYTES);
}

// `bytes` above 0.
static inline void tb_window_open(uint64_t number, const void *memory, size_t bytes)
{
    tb_window_spell(number);
    tb_window_spell((uintptr_t)memory);
    tb_window_spell((uintptr_t)memory + bytes);
    TB_MARK(TB_WINDOW_OPEN_BYTES);
}

// Without a window of that number it does nothing.
static inline void tb_window_close(uint64_t number)
{
    tb_window_spell(number);
    TB_MARK(TB_WINDOW_CLOSE_BYTES);
}

#endif
