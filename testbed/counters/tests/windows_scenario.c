// SPDX-License-Identifier: Apache-2.0
//
// windows_scenario: a program of which it is known what it loads and stores in its windows, to the byte, for windows_guest.sh to
// compare with what the emulator's plugin counts (guest/plugin/accesses.c). It prints what it knows, in the plugin's words:
//
//   WINDOW FROM TO LOADS LOAD_BYTES STORES STORE_BYTES      "-" is a number that it does not know
//
// Its memory has two parts, each bound to one of the first two nodes with CPUs. Both are cut into slices, and each kind of access
// has a slice of its own in each part: window 2 * kind + part. A thread on each node does all of them. The accesses are assembler,
// because a compiler may merge, split or leave out its own. How many operations a vector is depends on the emulator.
//
// windows_scenario garbled: at the end two threads seem to name a window at once.
//
// Exit status: 0; 1 a system call failed; 77 there are no two nodes, or no marks on this architecture.
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/counters/window.h"

#ifdef __x86_64__
#define SLICE_BYTES ((size_t)64 << 10)
#define SLICES 32u
#define PART_BYTES (SLICES * SLICE_BYTES)
#define WORDS (SLICE_BYTES / 8)
#define TOGETHER 20u            // times both nodes read the scalars' slices at once

enum kind {
    SCALARS,
    WRITES,
    SKEWED,
    VECTORS16,
    VECTORS32,
    VECTORS64,
    WRITES32,
    ENDS,
    VECTOR_ENDS,
    COPIED,
    COPY,
    ATOMICS,
    KERNEL,
    CLOSED,
    REPLACED,
    AGAIN,
    LIBC_COPIED,
    LIBC_COPY,
    KINDS
};

// After the kinds' own windows: two that meet where the parts do, one over both, small ones, and one of two ranges.
enum { LEFT = 2 * KINDS, RIGHT, OVER, MANY, MANY_END = MANY + 300, FAR = MANY_END, WINDOWS };
#define FAR_NUMBER UINT64_C(0x123456789abcdef)

enum { LOADS, STORES };

struct known {
    uint64_t operations[2], bytes[2];
    bool split, unknown;        // operations, or bytes too, are not known
};

static struct known known[WINDOWS][2][2]; // [window][from][to]
static char *memory;
static int nodes[2], cpus[2];

// The first slice of each part is for meeting().
static char *slice(enum kind kind, int part)
{
    return memory + part * PART_BYTES + (1 + kind) * SLICE_BYTES;
}

static void know(int window, int from, int to, int what, uint64_t operations, uint64_t bytes)
{
    struct known *cell = &known[window][from][to];
    cell->operations[what] += operations;
    cell->bytes[what] += bytes;
}

static void know_vectors(int window, int from, int to, int what, uint64_t bytes)
{
    know(window, from, to, what, 0, bytes);
    known[window][from][to].split = true;
}

// --- accesses ------------------------------------------------------------------------------------------------------------------

#define EACH(name, text, ...)                                                                                                      \
    static void name(char *at, size_t count, size_t step)                                                                          \
    {                                                                                                                              \
        for (; count > 0; count--, at += step)                                                                                     \
            __asm__ volatile(text ::"r"(at) : "memory", __VA_ARGS__);                                                              \
    }
EACH(load1, "movb (%0), %%al", "rax")
EACH(load8, "movq (%0), %%rax", "rax")
EACH(store8, "movq %%rax, (%0)", "memory")
EACH(load16, "movdqu (%0), %%xmm0", "xmm0")
EACH(load32, "vmovdqu (%0), %%ymm0\nvzeroupper", "xmm0")
EACH(store32, "vmovdqu %%ymm0, (%0)\nvzeroupper", "xmm0")
EACH(load64_by_32, "vmovdqu (%0), %%ymm0\nvmovdqu 32(%0), %%ymm1\nvzeroupper", "xmm0", "xmm1")
EACH(load64_at_once, "vmovdqu64 (%0), %%zmm0\nvzeroupper", "xmm0")
EACH(add8, "lock xaddq %%rax, (%0)", "rax", "cc")

static void copy_bytes(char *to, const char *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}

static void load64(char *at, size_t count, size_t step)
{
    if (__builtin_cpu_supports("avx512f"))
        load64_at_once(at, count, step);
    else
        load64_by_32(at, count, step);
}

// Scalars from every second byte on lie on two pages now and then; so do vectors.
static void scalars(int from, int to)
{
    load8(slice(SCALARS, to), WORDS, 8);
    know(2 * SCALARS + to, from, to, LOADS, WORDS, SLICE_BYTES);
    store8(slice(WRITES, to), 1024, 8);
    know(2 * WRITES + to, from, to, STORES, 1024, 8192);
    load8(slice(SKEWED, to) + 1, 5000, 8);
    know(2 * SKEWED + to, from, to, LOADS, 5000, 40000);
    add8(slice(ATOMICS, to), 10, 8);
    know(2 * ATOMICS + to, from, to, LOADS, 10, 80);
    know(2 * ATOMICS + to, from, to, STORES, 10, 80);
}

static void vectors(int from, int to)
{
    load16(slice(VECTORS16, to), 1000, 16);
    load16(slice(VECTORS16, to) + 5, 1000, 16);
    know_vectors(2 * VECTORS16 + to, from, to, LOADS, 2 * 1000 * 16);
    load32(slice(VECTORS32, to), 1000, 32);
    load32(slice(VECTORS32, to) + 5, 1000, 32);
    know_vectors(2 * VECTORS32 + to, from, to, LOADS, 2 * 1000 * 32);
    load64(slice(VECTORS64, to), 500, 64);
    load64(slice(VECTORS64, to) + 5, 500, 64);
    know_vectors(2 * VECTORS64 + to, from, to, LOADS, 2 * 500 * 64);
    store32(slice(WRITES32, to) + 3, 1000, 32);
    know_vectors(2 * WRITES32 + to, from, to, STORES, 1000 * 32);
}

// These windows are the bytes 101 to 1100 of their slices. Words 12 to 137 are partly or wholly inside.
#define END_LOW 101u
#define END_BYTES 1000u

static void ends(int from, int to)
{
    char *low = slice(ENDS, to) + END_LOW, *high = low + END_BYTES;
    load8(slice(ENDS, to), 200, 8);
    know(2 * ENDS + to, from, to, LOADS, 126, END_BYTES);
    load1(low - 1, 2, 1);
    load1(high - 1, 2, 1);
    know(2 * ENDS + to, from, to, LOADS, 2, 2);
    load32(slice(VECTOR_ENDS, to), 100, 32);
    load64(slice(VECTOR_ENDS, to) + 7, 50, 64);
    know_vectors(2 * VECTOR_ENDS + to, from, to, LOADS, END_BYTES + END_BYTES);
}

static void copies(int from, int to)
{
    copy_bytes(slice(COPY, to), slice(COPIED, !to) + 11, 1003);
    know(2 * COPIED + !to, from, !to, LOADS, 1003, 1003);
    know(2 * COPY + to, from, to, STORES, 1003, 1003);
    memcpy(slice(LIBC_COPY, to), slice(LIBC_COPIED, !to) + 11, 1003);
    known[2 * LIBC_COPIED + !to][from][!to].unknown = known[2 * LIBC_COPY + to][from][to].unknown = true;
}

// Where the parts meet an access is at two nodes.
static void meeting(int from)
{
    char *border = memory + PART_BYTES;
    tb_window_open(LEFT, border - 4096, 4096);
    tb_window_open(RIGHT, border, 4096);
    load8(border - 3, 1, 8);
    know(LEFT, from, 0, LOADS, 1, 3);
    know(RIGHT, from, 1, LOADS, 1, 5);
    tb_window_open(OVER, border - 4096, 8192); // closes both
    load8(border - 3, 1, 8);
    know(OVER, from, 0, LOADS, 1, 3);
    know(OVER, from, 1, LOADS, 0, 5);
    load32(border - 7, 1, 32);
    know_vectors(OVER, from, 0, LOADS, 7);
    know_vectors(OVER, from, 1, LOADS, 25);
    tb_window_close(OVER);
}

static int by_kernel(int to)
{
    int pipes[2], result = 1;
    if (pipe(pipes))
        return 1;
    if (write(pipes[1], slice(KERNEL, to), 4000) == 4000 && read(pipes[0], slice(KERNEL, to) + 4096, 4000) == 4000)
        result = 0;
    close(pipes[0]);
    close(pipes[1]);
    return result;
}

// A window that is closed, one that another replaces, and one that is open again under its old number.
static void changes(int from, int to)
{
    tb_window_open(2 * CLOSED + (unsigned)to, slice(CLOSED, to), SLICE_BYTES);
    tb_window_open(2 * REPLACED + (unsigned)to, slice(REPLACED, to), SLICE_BYTES);
    load8(slice(CLOSED, to), 3, 8);
    load8(slice(REPLACED, to), 5, 8);
    tb_window_close(2 * CLOSED + (unsigned)to);
    tb_window_open(2 * AGAIN + (unsigned)to, slice(REPLACED, to) + 4096, 4096);
    load8(slice(CLOSED, to), 100, 8);
    load8(slice(REPLACED, to), 100, 8);
    load8(slice(REPLACED, to) + 4096, 7, 8);
    know(2 * CLOSED + to, from, to, LOADS, 3, 24);
    know(2 * REPLACED + to, from, to, LOADS, 5, 40);
    know(2 * AGAIN + to, from, to, LOADS, 7, 56);
    tb_window_close(2 * AGAIN + (unsigned)to);
}

// Many small windows in the slices above those of the kinds, with gaps, named from the last to the first.
static void many(int from)
{
    char *at = slice(KINDS, 0);
    for (unsigned i = MANY_END - MANY; i-- > 0;)
        tb_window_open(MANY + i, at + 1024 * i, 1000);
    for (int i = 0; i < MANY_END - MANY; i++) {
        size_t count = 1 + (size_t)i % 7;
        load8(at + 1024 * i + 1000 - 8 * count, count + 3, 8);
        know(MANY + i, from, 0, LOADS, count, 8 * count);
    }
    for (unsigned i = 0; i < MANY_END - MANY; i++)
        tb_window_close(MANY + i);
    tb_window_open(FAR_NUMBER, at, 1000);
    tb_window_open(FAR_NUMBER, at + PART_BYTES, 1000);
    load8(at, 10, 8);
    load8(at + PART_BYTES, 11, 8);
    know(FAR, from, 0, LOADS, 10, 80);
    know(FAR, from, 1, LOADS, 11, 88);
    tb_window_close(FAR_NUMBER);
}

// --- the threads ---------------------------------------------------------------------------------------------------------------

static bool pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static void *alone(void *argument)
{
    int from = *(const int *)argument;
    if (!pin(cpus[from]))
        return argument;
    tb_mark_begin();
    for (int to = 0; to < 2; to++) {
        scalars(from, to);
        vectors(from, to);
        ends(from, to);
        copies(from, to);
        changes(from, to);
        if (by_kernel(to))
            return argument;
    }
    meeting(from);
    many(from);
    tb_mark_end();
    load8(slice(SCALARS, 0), WORDS, 8);
    store8(slice(WRITES, 0), WORDS, 8);
    return NULL;
}

static void *together(void *argument)
{
    if (!pin(cpus[*(const int *)argument]))
        return argument;
    for (unsigned i = 0; i < TOGETHER; i++)
        for (int to = 0; to < 2; to++)
            load8(slice(SCALARS, to), WORDS, 8);
    return NULL;
}

static bool run(void *(*function)(void *), int first, int last)
{
    static int numbers[] = {0, 1};
    pthread_t threads[2];
    void *failed[2] = {NULL, NULL};
    for (int i = first; i <= last; i++)
        if (pthread_create(&threads[i], NULL, function, &numbers[i]))
            return false;
    for (int i = first; i <= last; i++)
        pthread_join(threads[i], &failed[i]);
    return !failed[0] && !failed[1];
}

static void name_windows(void)
{
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int part = 0; part < 2; part++) {
            char *at = slice(kind, part);
            if (kind == ENDS || kind == VECTOR_ENDS)
                tb_window_open(2 * kind + (unsigned)part, at + END_LOW, END_BYTES);
            else if (kind != CLOSED && kind != REPLACED && kind != AGAIN)
                tb_window_open(2 * kind + (unsigned)part, at, SLICE_BYTES);
        }
}

static int bind_part(int part)
{
    unsigned long mask = 1ul << nodes[part];
    char *at = memory + part * PART_BYTES;
    if (syscall(SYS_mbind, at, PART_BYTES, MPOL_BIND, &mask, 8 * sizeof mask + 1, 0))
        return 1;
    memset(at, 1, PART_BYTES);
    return 0;
}

static bool find_nodes(void)
{
    int found = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        unsigned node;
        if (pin(cpu) && syscall(SYS_getcpu, NULL, &node, NULL) == 0 && (found == 0 || nodes[0] != (int)node)) {
            nodes[found] = (int)node;
            cpus[found++] = cpu;
        }
    }
    return found == 2;
}

static void number_print(uint64_t number, bool unknown)
{
    if (unknown)
        printf(" -");
    else
        printf(" %" PRIu64, number);
}

static void print(void)
{
    for (int window = 0; window < WINDOWS; window++)
        for (int from = 0; from < 2; from++)
            for (int to = 0; to < 2; to++) {
                const struct known *cell = &known[window][from][to];
                if (cell->bytes[LOADS] + cell->bytes[STORES] == 0 && !cell->unknown)
                    continue;
                printf("%" PRIu64 " %d %d", window == FAR ? FAR_NUMBER : (uint64_t)window, nodes[from], nodes[to]);
                for (int what = 0; what < 2; what++) {
                    number_print(cell->operations[what], cell->split || cell->unknown);
                    number_print(cell->bytes[what], cell->unknown);
                }
                puts("");
            }
}

int main(int argc, char **argv)
{
    if (!find_nodes()) {
        puts("SKIP windows_scenario: needs two nodes with CPUs; run it in the two-node guest");
        return 77;
    }
    memory = mmap(NULL, 2 * PART_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, 2 * PART_BYTES, MADV_NOHUGEPAGE))
        return 1;
    name_windows(); // not yet counted: the memory is filled
    if (bind_part(0) || bind_part(1) || !run(alone, 0, 0) || !run(alone, 1, 1))
        return 1;
    tb_mark_begin();
    if (!run(together, 0, 1))
        return 1;
    tb_mark_end();
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++)
            know(2 * SCALARS + to, from, to, LOADS, TOGETHER * WORDS, TOGETHER * SLICE_BYTES);
    print();
    if (argc == 2 && strcmp(argv[1], "garbled") == 0) {
        tb_window_spell(FAR_NUMBER);
        tb_window_open(FAR_NUMBER, memory, PART_BYTES);
    }
    return 0;
}
#else
int main(void)
{
    return 77; // there are no marks on this architecture
}
#endif
