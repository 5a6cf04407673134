// SPDX-License-Identifier: Apache-2.0
//
// accesses: a QEMU TCG plugin, the independent witness of local and remote reads and writes in an emulated guest.
//
// It sees every load and store that the guest's user space executes, with its virtual and its physical address, its size and the
// virtual CPU, and counts those in windows of virtual addresses by (number of the window, node of the CPU, node of the page). It
// knows nothing of the program, its handles or its page map; they share only the windows. The program names them, and switches
// counting on and off for all of them (testbed/counters/window.h). Accesses by the kernel (clearing or copying a page, a system
// call that reads the program's memory) are not counted: the instruction's own address shows them. Caches are not emulated.
//
//   -plugin FILE.so,cpus=N:N:...,memory=BYTES[@AT]:BYTES[@AT]:...,out=PATH[,window=LO-HI[,section=BYTES]]   (LO, HI hexadecimal)
//
// cpus: the node of each virtual CPU in order. memory: the size of each node in order. Nodes follow one another in guest-physical
// memory from 0, which is true of the machines here as long as all of it is below the hole under 4 GiB (2 GiB is safe); AT is the
// address of a node elsewhere, a plugged module. boot.sh --accesses derives both from the machine's description. window: for a
// program that names none and lies where it is told to. Its sections are windows 0, 1, 2 ..., and counting is on from the start.
//
// When QEMU exits, `out` has a line for each triple of which something was counted, ascending:
//
//   WINDOW FROM TO LOADS LOAD_BYTES STORES STORE_BYTES
//
// FROM is the CPU's node, TO the page's; -1 is memory outside all nodes. If windows were not spelled as window.h does (two threads
// at once), there is no file, and QEMU's stderr says so.
//
// Bytes      Exact: those of the access that are inside the window, each at its own page's node, also where an access has one part
//            outside or lies on two pages. Instructions are counted, not objects: libc's memcpy reads some bytes twice.
// Operations As the emulator splits them: an integer is one, a vector one for each 8 or 16 bytes, depending on QEMU's version. One
//            that lies on two pages is on the first one's node. LOCK and XCHG load and store, an exchange also if it fails.
// Faults     An instruction that faults in the middle of a vector begins again, and what it did before counts twice. So let the
//            pages be there before counting.
//
// Lookup: every access of user space comes here, so those outside must cost little: none is looked up while counting is off, else
// a binary search among windows in order. Such a table is never changed; what is named makes a new one, at the next begin or, while
// counting is on, at once. Old tables are not freed, because another CPU may be searching.
//
// Threads: with thread=multi each virtual CPU calls from its own thread, so each has its own cells; they are added up at exit. What
// is spelled and named is guarded by `lock`.
//
// Debian does not package qemu-plugin.h, so the part of its interface that we use is declared here. Version 1 is that of QEMU 7.2,
// version 3, which 10.0 still takes, has another qemu_plugin_insn_data(). And 7.2 returns a wrong physical address: it adds the
// offset of the RAM block among all blocks, one for each node, in order.
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/window.h"

#ifndef ACCESSES_PLUGIN_VERSION
#define ACCESSES_PLUGIN_VERSION 3
#endif

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

typedef struct qemu_info_t {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;
} qemu_info_t;

enum { CB_NO_REGS = 0, MEM_READS_WRITES = 3 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#if ACCESSES_PLUGIN_VERSION < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *out, size_t out_bytes);
#endif
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*call)(unsigned, void *), int flags, void *user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*call)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *), int flags, int rw,
                                      void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *user);

EXPORT int qemu_plugin_version = ACCESSES_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

#define CPUS_MAX 64
#define NODES_MAX 16
#define NOWHERE NODES_MAX       // column of accesses outside every node's memory
#define USER_TOP (UINT64_C(1) << 47)
#define PAGE_BYTES UINT64_C(4096)
#define MARK_BYTES 7u

enum { LOADS, STORES, KINDS };

static struct {
    uint64_t low, high, section_bytes;
    unsigned cpus_count, nodes_count;
    int version;                // of the running QEMU's interface: 1 is QEMU 7.2
    int cpu_node[CPUS_MAX];
    uint64_t memory_bytes[NODES_MAX], memory_at[NODES_MAX];
    const char *out;
} setup;

// --- the counts ----------------------------------------------------------------------------------------------------------------

struct cell {
    uint64_t operations[KINDS], bytes[KINDS];
};

struct row {
    uint64_t number;
    struct {
        _Alignas(64) struct cell to[NODES_MAX + 1];
    } by_cpu[];
};

struct window {
    uint64_t low, high;
    struct row *row;
};

struct table {
    size_t count;               // above 0
    struct window windows[];    // ascending, none overlaps another
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Guarded by `lock`.
static struct {
    uint64_t spelled[3];        // the last 192 bits
    unsigned bits;              // since the last window was opened or closed
    bool garbled, counting;
    struct row **rows;          // in the order of their first use
    size_t rows_count;
    struct window *windows;     // the open ones, in no order
    size_t windows_count;
    const struct table *table;  // of these, NULL: none, or it must be made
} named;

// What counts at present, NULL: nothing. Published with release in publish(), taken with acquire in on_access().
static _Atomic(const struct table *) counted;

static void *or_abort(void *memory)
{
    if (!memory)
        abort(); // without memory nothing here would be true
    return memory;
}

static unsigned node_of(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
    const struct qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);
    if (!address || qemu_plugin_hwaddr_is_io(address))
        return NOWHERE;
    uint64_t physical = qemu_plugin_hwaddr_phys_addr(address), before = 0;
    for (unsigned node = 0; node < setup.nodes_count; before += setup.memory_bytes[node++]) {
        uint64_t begin = setup.memory_at[node] + (setup.version < 2 ? before : 0);
        if (physical >= begin && physical - begin < setup.memory_bytes[node])
            return node;
    }
    return NOWHERE;
}

// An instruction that loads and stores at once: 10.0 calls twice, 7.2 once, and says both in two bits of its own.
static bool is_both(qemu_plugin_meminfo_t info)
{
    return setup.version < 2 && (info >> 16 & 3) == MEM_READS_WRITES;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// No access lies on more than two pages.
static void count(struct cell to[], int kind, qemu_plugin_meminfo_t info, uint64_t begin, uint64_t end)
{
    uint64_t middle = least(end, (begin | (PAGE_BYTES - 1)) + 1);
    struct cell *cell = &to[node_of(info, begin)];
    cell->operations[kind]++;
    cell->bytes[kind] += middle - begin;
    if (middle < end)
        to[node_of(info, middle)].bytes[kind] += end - middle;
}

// The first window that ends after `vaddr`, or the table's count.
static size_t first_after(const struct table *table, uint64_t vaddr)
{
    size_t begin = 0, end = table->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (table->windows[middle].high > vaddr)
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t begin, void *user)
{
    (void)user;
    const struct table *table = atomic_load_explicit(&counted, memory_order_acquire); // publish()
    if (!table || cpu >= setup.cpus_count)
        return;
    uint64_t end = begin + (UINT64_C(1) << qemu_plugin_mem_size_shift(info));
    if (end <= table->windows[0].low || begin >= table->windows[table->count - 1].high)
        return;
    for (size_t i = first_after(table, begin); i < table->count && table->windows[i].low < end; i++) {
        const struct window *window = &table->windows[i];
        uint64_t inside_begin = begin < window->low ? window->low : begin, inside_end = least(end, window->high);
        if (!qemu_plugin_mem_is_store(info) || is_both(info))
            count(window->row->by_cpu[cpu].to, LOADS, info, inside_begin, inside_end);
        if (qemu_plugin_mem_is_store(info))
            count(window->row->by_cpu[cpu].to, STORES, info, inside_begin, inside_end);
    }
}

// --- the windows, all with `lock` held -----------------------------------------------------------------------------------------

static int by_address(const void *a, const void *b)
{
    const struct window *left = a, *right = b;
    return (left->low > right->low) - (left->low < right->low);
}

static void publish(void)
{
    size_t bytes = named.windows_count * sizeof(struct window);
    if (named.counting && !named.table && named.windows_count > 0) {
        struct table *table = or_abort(malloc(sizeof *table + bytes));
        table->count = named.windows_count;
        memcpy(table->windows, named.windows, bytes);
        qsort(table->windows, table->count, sizeof(struct window), by_address);
        named.table = table;
    }
    atomic_store_explicit(&counted, named.counting ? named.table : NULL, memory_order_release); // on_access()
}

static struct row *row_of(uint64_t number)
{
    for (size_t i = 0; i < named.rows_count; i++)
        if (named.rows[i]->number == number)
            return named.rows[i];
    size_t bytes = sizeof(struct row) + setup.cpus_count * sizeof((struct row){0}.by_cpu[0]);
    struct row *row = memset(or_abort(aligned_alloc(_Alignof(struct row), bytes)), 0, bytes);
    row->number = number;
    named.rows = or_abort(realloc(named.rows, (named.rows_count + 1) * sizeof *named.rows));
    named.rows[named.rows_count++] = row;
    return row;
}

static void forget(size_t index)
{
    named.windows[index] = named.windows[--named.windows_count];
    named.table = NULL;
}

static void window_open(uint64_t number, uint64_t low, uint64_t high)
{
    for (size_t i = named.windows_count; i-- > 0;)
        if (named.windows[i].low < high && named.windows[i].high > low)
            forget(i);
    named.windows = or_abort(realloc(named.windows, (named.windows_count + 1) * sizeof *named.windows));
    named.windows[named.windows_count++] = (struct window){low, high, row_of(number)};
    named.table = NULL;
}

static void window_close(uint64_t number)
{
    for (size_t i = named.windows_count; i-- > 0;)
        if (named.windows[i].row->number == number)
            forget(i);
}

// --- what the program says -----------------------------------------------------------------------------------------------------

static void say_bit(unsigned bit)
{
    named.spelled[0] = named.spelled[0] << 1 | named.spelled[1] >> 63;
    named.spelled[1] = named.spelled[1] << 1 | named.spelled[2] >> 63;
    named.spelled[2] = named.spelled[2] << 1 | bit;
    named.bits++;
}

static void say_open(unsigned unused)
{
    (void)unused;
    if (named.bits != 192 || named.spelled[1] >= named.spelled[2])
        named.garbled = true;
    else
        window_open(named.spelled[0], named.spelled[1], named.spelled[2]);
    named.bits = 0;
    publish();
}

static void say_close(unsigned unused)
{
    (void)unused;
    if (named.bits != 64)
        named.garbled = true;
    else
        window_close(named.spelled[2]);
    named.bits = 0;
    publish();
}

static void say_counting(unsigned on)
{
    named.counting = on;
    publish();
}

static const struct word {
    uint8_t mark[MARK_BYTES];
    void (*say)(unsigned argument);
    unsigned argument;
} words[] = {{{TB_WINDOW_ZERO_BYTES}, say_bit, 0},     {{TB_WINDOW_ONE_BYTES}, say_bit, 1},
             {{TB_WINDOW_OPEN_BYTES}, say_open, 0},    {{TB_WINDOW_CLOSE_BYTES}, say_close, 0},
             {{TB_MARK_BEGIN_BYTES}, say_counting, 1}, {{TB_MARK_END_BYTES}, say_counting, 0}};

static void on_word(unsigned cpu, void *user)
{
    (void)cpu;
    const struct word *word = &words[(uintptr_t)user];
    pthread_mutex_lock(&lock);
    word->say(word->argument);
    pthread_mutex_unlock(&lock);
}

static void find_word(struct qemu_plugin_insn *insn)
{
    uint8_t bytes[MARK_BYTES];
    if (qemu_plugin_insn_size(insn) != sizeof bytes)
        return;
#if ACCESSES_PLUGIN_VERSION < 3
    memcpy(bytes, qemu_plugin_insn_data(insn), sizeof bytes);
#else
    if (qemu_plugin_insn_data(insn, bytes, sizeof bytes) != sizeof bytes)
        return;
#endif
    for (uintptr_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memcmp(bytes, words[i].mark, sizeof bytes) == 0)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_word, CB_NO_REGS, (void *)i);
}

// One call for both kinds: if only stores are asked for, 7.2 also calls for loads.
static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_vaddr(insn) >= USER_TOP)
            continue;
        find_word(insn);
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS, MEM_READS_WRITES, NULL);
    }
}

// --- the file ------------------------------------------------------------------------------------------------------------------

static struct cell cell_between(const struct row *row, int from, unsigned to)
{
    struct cell sum = {0};
    for (unsigned cpu = 0; cpu < setup.cpus_count; cpu++)
        for (int kind = 0; kind < KINDS && setup.cpu_node[cpu] == from; kind++) {
            sum.operations[kind] += row->by_cpu[cpu].to[to].operations[kind];
            sum.bytes[kind] += row->by_cpu[cpu].to[to].bytes[kind];
        }
    return sum;
}

static void row_write(FILE *file, const struct row *row)
{
    for (int from = 0; from < NODES_MAX; from++)
        for (unsigned column = 0; column <= NODES_MAX; column++) {
            unsigned to = column == 0 ? NOWHERE : column - 1; // -1 comes first
            struct cell sum = cell_between(row, from, to);
            if (sum.bytes[LOADS] || sum.bytes[STORES])
                fprintf(file, "%" PRIu64 " %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", row->number, from,
                        to == NOWHERE ? -1 : (int)to, sum.operations[LOADS], sum.bytes[LOADS], sum.operations[STORES],
                        sum.bytes[STORES]);
        }
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = (*(struct row *const *)a)->number, right = (*(struct row *const *)b)->number;
    return (left > right) - (left < right);
}

static void on_exit_write(qemu_plugin_id_t id, void *user)
{
    (void)id;
    (void)user;
    if (named.garbled) {
        fprintf(stderr, "accesses: a window was not spelled as testbed/counters/window.h does; two threads at once?\n");
        return;
    }
    FILE *file = fopen(setup.out, "w");
    if (!file) {
        perror(setup.out);
        return;
    }
    if (named.rows_count > 0)
        qsort(named.rows, named.rows_count, sizeof *named.rows, by_number);
    for (size_t i = 0; i < named.rows_count; i++)
        row_write(file, named.rows[i]);
    if (fclose(file) != 0)
        perror(setup.out);
}

// --- arguments -----------------------------------------------------------------------------------------------------------------

// Calls `take` for each number between colons, with its @NUMBER or UINT64_MAX. False: malformed, or more than `max`.
static bool numbers(const char *text, unsigned max, unsigned *count, void (*take)(unsigned index, uint64_t number, uint64_t at))
{
    for (*count = 0; *count < max; text++) {
        char *end, *begin;
        uint64_t number = strtoull(text, &end, 10), at = UINT64_MAX;
        if (end == text)
            return false;
        if (*end == '@') {
            begin = end + 1;
            at = strtoull(begin, &end, 10);
            if (end == begin)
                return false;
        }
        take((*count)++, number, at);
        if (*end != ':')
            return *end == '\0';
        text = end;
    }
    return false;
}

static void take_cpu(unsigned index, uint64_t node, uint64_t at)
{
    (void)at;
    setup.cpu_node[index] = node < NODES_MAX ? (int)node : NODES_MAX;
}

static void take_memory(unsigned index, uint64_t bytes, uint64_t at)
{
    uint64_t next = index ? setup.memory_at[index - 1] + setup.memory_bytes[index - 1] : 0;
    setup.memory_bytes[index] = bytes;
    setup.memory_at[index] = at == UINT64_MAX ? next : at;
}

static bool read_argument(const char *text)
{
    if (strncmp(text, "window=", 7) == 0)
        return sscanf(text + 7, "%" SCNx64 "-%" SCNx64, &setup.low, &setup.high) == 2;
    if (strncmp(text, "section=", 8) == 0)
        return sscanf(text + 8, "%" SCNu64, &setup.section_bytes) == 1;
    if (strncmp(text, "cpus=", 5) == 0)
        return numbers(text + 5, CPUS_MAX, &setup.cpus_count, take_cpu);
    if (strncmp(text, "memory=", 7) == 0)
        return numbers(text + 7, NODES_MAX, &setup.nodes_count, take_memory);
    if (strncmp(text, "out=", 4) == 0)
        return (setup.out = strdup(text + 4)) != NULL;
    return false;
}

static void open_sections(void)
{
    uint64_t number = 0, bytes = setup.section_bytes ? setup.section_bytes : setup.high - setup.low;
    for (uint64_t low = setup.low; low < setup.high; low += bytes)
        window_open(number++, low, least(low + bytes, setup.high));
    named.counting = named.windows_count > 0;
    publish();
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!read_argument(argv[i])) {
            fprintf(stderr, "accesses: '%s' is not an argument of this plugin\n", argv[i]);
            return 1;
        }
    if (setup.high < setup.low || !setup.out || !setup.nodes_count || !setup.cpus_count) {
        fprintf(stderr, "accesses: needs cpus=, memory= and out=, and of a window=LO-HI that LO is below HI\n");
        return 1;
    }
    if (info->system_emulation && (unsigned)info->system.max_vcpus > setup.cpus_count) {
        fprintf(stderr, "accesses: %d virtual CPUs, but cpus= names the node of %u\n", info->system.max_vcpus, setup.cpus_count);
        return 1;
    }
    setup.version = info->version.cur;
    open_sections();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
    return 0;
}
