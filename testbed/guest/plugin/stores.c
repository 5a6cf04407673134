// SPDX-License-Identifier: Apache-2.0
//
// stores: a QEMU TCG plugin, the independent witness of local and remote stores in an emulated guest.
//
// It sees every store that the guest's user space executes, with its virtual and its physical address and the virtual CPU, and
// counts those in one window of virtual addresses by (section of the window, node of the CPU, node of the physical address). It
// knows nothing of the program, its handles or its page map; they share only the window, which the program maps at a fixed
// address (MAP_FIXED_NOREPLACE). Stores by the kernel (clearing or copying a page) are not counted: the instruction's own address
// shows them. Caches are not emulated: one store instruction of up to 8 bytes is one count.
//
//   -plugin FILE.so,window=LO-HI,section=BYTES,cpus=N:N:...,memory=BYTES[@AT]:BYTES[@AT]:...,out=PATH   (LO, HI hexadecimal)
//
// cpus: the node of each virtual CPU in order. memory: the size of each node in order. Nodes follow one another in guest-physical
// memory from 0, which is true of the machines here as long as all of it is below the hole under 4 GiB (2 GiB is safe); AT is the
// address of a node elsewhere, a plugged module. A store outside all nodes counts for node -1. When QEMU exits, `out` has a line
// "SECTION FROM TO STORES" for each count above 0, ascending. boot.sh --stores derives cpus and memory from the machine's
// description.
//
// Threads: with thread=multi each virtual CPU calls from its own thread, so each has its own row; they are added up at exit.
//
// Debian does not package qemu-plugin.h, so the part of its interface that we use is declared here. It is the same in QEMU 7.2
// and 10.0, but QEMU refuses a plugin of an unknown version: 10.0 takes 2 to 4, 7.2 takes 0 and 1. And 7.2 returns a wrong
// physical address: it adds the offset of the RAM block among all blocks, one for each node, in order.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef STORES_PLUGIN_VERSION
#define STORES_PLUGIN_VERSION 2
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

enum { CB_NO_REGS = 0, MEM_WRITES = 2 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*call)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *), int flags, int rw,
                                      void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *user);

EXPORT int qemu_plugin_version = STORES_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

#define CPUS_MAX 64
#define NODES_MAX 16
#define SECTIONS_MAX 64
#define NOWHERE NODES_MAX       // column of stores outside every node's memory
#define USER_TOP (UINT64_C(1) << 47)

static struct {
    uint64_t low, high, section_bytes;
    unsigned cpus_count, nodes_count;
    bool adds_offset;           // true for QEMU 7.2
    int cpu_node[CPUS_MAX];
    uint64_t memory_bytes[NODES_MAX], memory_at[NODES_MAX];
    const char *out;
} setup;

static struct {
    _Alignas(64) uint64_t stores[SECTIONS_MAX][NODES_MAX + 1];
} by_cpu[CPUS_MAX];

static unsigned node_of(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
    const struct qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);
    if (!address || qemu_plugin_hwaddr_is_io(address))
        return NOWHERE;
    uint64_t physical = qemu_plugin_hwaddr_phys_addr(address), before = 0;
    for (unsigned node = 0; node < setup.nodes_count; before += setup.memory_bytes[node++]) {
        uint64_t begin = setup.memory_at[node] + (setup.adds_offset ? before : 0);
        if (physical >= begin && physical - begin < setup.memory_bytes[node])
            return node;
    }
    return NOWHERE;
}

static void on_store(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *user)
{
    (void)user;
    if (vaddr >= setup.low && vaddr < setup.high && cpu < setup.cpus_count)
        by_cpu[cpu].stores[(vaddr - setup.low) / setup.section_bytes][node_of(info, vaddr)]++;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_vaddr(insn) < USER_TOP)
            qemu_plugin_register_vcpu_mem_cb(insn, on_store, CB_NO_REGS, MEM_WRITES, NULL);
    }
}

static uint64_t stores_between(unsigned section, int from, unsigned to)
{
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < setup.cpus_count; cpu++)
        if (setup.cpu_node[cpu] == from)
            sum += by_cpu[cpu].stores[section][to];
    return sum;
}

static void on_exit_write(qemu_plugin_id_t id, void *user)
{
    (void)id;
    (void)user;
    FILE *file = fopen(setup.out, "w");
    if (!file) {
        perror(setup.out);
        return;
    }
    for (unsigned section = 0; section < SECTIONS_MAX; section++)
        for (int from = 0; from < NODES_MAX; from++)
            for (unsigned column = 0; column <= NODES_MAX; column++) {
                unsigned to = column == 0 ? NOWHERE : column - 1; // -1 comes first
                uint64_t stores = stores_between(section, from, to);
                if (stores)
                    fprintf(file, "%u %d %d %" PRIu64 "\n", section, from, to == NOWHERE ? -1 : (int)to, stores);
            }
    if (fclose(file) != 0)
        perror(setup.out);
}

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

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!read_argument(argv[i])) {
            fprintf(stderr, "stores: '%s' is not an argument of this plugin\n", argv[i]);
            return 1;
        }
    if (!setup.section_bytes)
        setup.section_bytes = setup.high - setup.low;
    if (setup.high <= setup.low || (setup.high - setup.low - 1) / setup.section_bytes >= SECTIONS_MAX || !setup.out ||
        !setup.nodes_count || !setup.cpus_count) {
        fprintf(stderr, "stores: needs window=LO-HI of at most %d sections, cpus=, memory= and out=\n", SECTIONS_MAX);
        return 1;
    }
    if (info->system_emulation && (unsigned)info->system.max_vcpus > setup.cpus_count) {
        fprintf(stderr, "stores: %d virtual CPUs, but cpus= names the node of %u\n", info->system.max_vcpus, setup.cpus_count);
        return 1;
    }
    setup.adds_offset = info->version.cur < 2;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_write, NULL);
    return 0;
}
