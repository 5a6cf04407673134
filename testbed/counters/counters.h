// SPDX-License-Identifier: Apache-2.0
//
// counters: what the kernel counts about a process while it works, by perf_event_open, and why the rest is not to be had.
//
// A *set* is a list of counters resolved for one CPU: software events everywhere, cycles and cache events by the kernel's generic
// numbers, local and remote memory by the vendor's own events, which libpfm4 knows by name, with raw codes where it does not.
// Resolving asks nothing of the host, so that it can be done for a CPU that is not here. Probing opens each counter once on this
// host; what fails keeps its reason in words. Opening gives every thread of this process its counters, in groups that the kernel
// schedules together.
//
// A value is what the kernel counted, the sum over the threads. Where the hardware had to be shared it counted for a part of the
// time only (running_ns < enabled_ns): that is reported beside the value, and the value is never scaled.
//
// So that sharing is the exception, not everything is counted at once. A group has as many events as every CPU of its kind counts
// side by side: four, and of Intel's OCR events two, because a core has two registers for their conditions. Groups below
// TB_COUNTERS_TURNS are always on; the others take turns, one in each round, and what a prediction is about is always on and
// pinned: it has the hardware all the time, or the kernel refuses it.
#ifndef TB_COUNTERS_H
#define TB_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_COUNTERS_MAX 48u
#define TB_COUNTER_WHY 200
#define TB_COUNTERS_TURNS 2u    // groups below: software; cycles and instructions

enum tb_counter_kind {
    TB_COUNTER_SOFTWARE,        // "software": the kernel's own
    TB_COUNTER_HARDWARE,        // "hardware": cycles, instructions, caches, TLB
    TB_COUNTER_MEMORY,          // "memory": by where the data came from, the vendor's
    TB_COUNTER_UNCORE,          // "uncore": of a whole package and all that runs there, not of a process
};
const char *tb_counter_kind_name(enum tb_counter_kind kind);

struct tb_counter {
    char name[32];              // ours: "cycles", "dram_local" ... the member in a log
    enum tb_counter_kind kind;
    char event[96];             // the vendor's name for it, or the kernel's
    char source[16];            // who gave the code: "kernel", "libpfm4", "raw", "sysfs"; "derived"
    struct perf_event_attr attr; // type, config, config1; exclude_kernel once probing found that only user mode may be counted
    char device[16], code[64];  // uncore: the PMU's name in sysfs without its number, and the event in its words ("event=0x50,...")
    unsigned group;
    int derived_from[3];        // counter [0] - [1] - [2] of this set, -1: none; [0] is -1: it is an event
    int error;                  // 0 or an errno: it cannot be had
    char why[TB_COUNTER_WHY];   // "not supported: <reason>", "" when it works
};

struct tb_cpu_id {
    char vendor[16];            // "GenuineIntel", "AuthenticAMD", "ARM", "IBM"
    unsigned family, model;     // Arm: implementer and part; Power: 10 of POWER10
    unsigned stepping;
};

struct tb_counter_set {
    struct tb_cpu_id cpu;
    char cpu_name[48];          // "Sapphire Rapids", "Zen 5", "Neoverse N1", or "unknown"
    struct tb_counter counter[TB_COUNTERS_MAX];
    unsigned count;
};

// The first CPU of /proc/cpuinfo under `root`, or, where LOCUS_CPU is set ("GenuineIntel:6:143"), that one. 0 or -errno; -ENODATA:
// the file does not say.
int tb_cpu_id_read(const char *root, struct tb_cpu_id *out);
int tb_cpu_id_host(const char *root, struct tb_cpu_id *out);  // whatever LOCUS_CPU says
int tb_cpu_id_parse(const char *text, struct tb_cpu_id *out); // "vendor:family:model[:stepping]", decimal or 0x; -EINVAL

// Fills in the set of such a CPU. 0; an unknown CPU has what is generic, and its memory counters say why not.
int tb_counters_resolve(struct tb_counter_set *out, const struct tb_cpu_id *cpu);

// Opens and closes each on this thread. Of a set that was resolved for another CPU than this host has, only what is generic can
// work.
void tb_counters_probe(struct tb_counter_set *set);

// The set of this host's CPU (or of LOCUS_CPU's), probed; one that cannot be told is an unknown CPU. 0 or -errno.
int tb_counters_here(struct tb_counter_set *out);

// The index of a counter by its name, or -1.
int tb_counters_find(const struct tb_counter_set *set, const char *name);

// It cannot be had without an always-on place: pins it, or what it is derived from is turned on. Returns a mask of counters.
uint64_t tb_counters_want(struct tb_counter_set *set, const char *name);

// Which are counted in this round (or repetition): those that work and are always on, those wanted, and the turn's group.
uint64_t tb_counters_on(const struct tb_counter_set *set, uint64_t wanted, uint32_t round);

struct tb_counter_value {
    uint64_t value, enabled_ns, running_ns;
    int error;                  // 0; ENODATA: it was not its turn; or why there is none
};

// Counters of a probed set for every thread that this process has now. A counter that cannot be opened here (EMFILE, ...) has its
// errno in its value; so has one that was pinned and got no hardware (EBUSY). start and stop are a few system calls for each
// thread and allocate nothing; counts add up over several such spans. The memory is mapped, not malloc'd: the process's malloc may
// be what is measured. 0; -ENOMEM, and then everything below takes the NULL that *out is.
struct tb_counters;
int tb_counters_open(struct tb_counters **out, const struct tb_counter_set *set, uint64_t on);
void tb_counters_start(struct tb_counters *counters);
void tb_counters_stop(struct tb_counters *counters);
void tb_counters_read(const struct tb_counters *counters, struct tb_counter_value values[]); // set->count of them
void tb_counters_close(struct tb_counters *counters);

#endif
