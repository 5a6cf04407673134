// SPDX-License-Identifier: Apache-2.0
//
// counters: what the kernel counts about a thread while it is timed, by perf_event_open, and why the rest is not to be had.
//
// A *set* is a list of counters resolved for one CPU: software events everywhere, cycles and cache events by the kernel's generic
// numbers, local and remote memory by the vendor's own events, which libpfm4 knows by name, with raw codes where it does not.
// Resolving asks nothing of the host, so that it can be done for a CPU that is not here. Probing opens each counter once on this
// host; what fails keeps its reason in words. Opening gives one thread its counters, in groups that the kernel schedules
// together.
//
// A value is what the kernel counted. When it had to share the hardware it counted for a part of the time only (running_ns <
// enabled_ns): that is reported beside the value, and the value is never scaled.
#ifndef TB_COUNTERS_H
#define TB_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_COUNTERS_MAX 48u
#define TB_COUNTER_WHY 200

enum tb_counter_kind {
    TB_COUNTER_SOFTWARE,        // the kernel's own
    TB_COUNTER_HARDWARE,        // cycles, instructions, caches, TLB: generic
    TB_COUNTER_MEMORY,          // by where the data came from: the vendor's
    TB_COUNTER_UNCORE,          // of a whole package, not of a thread; opened on one CPU of it
};

struct tb_counter {
    char name[48];              // ours: "cycles", "dram_local" ... the member in a log
    enum tb_counter_kind kind;
    char event[96];             // the vendor's name for it, "" where it is the kernel's
    char source[16];            // who gave the code: "kernel", "libpfm4", "raw"
    struct perf_event_attr attr; // type, config, config1, config2
    int derived_from[3];        // it is no event but counter[0] - counter[1] - counter[2], of this set; all -1: an event
    int error;                  // after probing: 0, or the errno
    char why[TB_COUNTER_WHY];   // "not supported: <reason>", "" when it works
};

struct tb_cpu_id {
    char vendor[16];            // "GenuineIntel", "AuthenticAMD", "ARM"
    unsigned family, model;     // Arm: implementer and part
    unsigned stepping;
};

struct tb_counter_set {
    struct tb_cpu_id cpu;
    char cpu_name[48];          // "Sapphire Rapids", "Zen 5", "Neoverse N1", or "unknown"
    struct tb_counter counter[TB_COUNTERS_MAX];
    unsigned count;
};

// The first CPU of /proc/cpuinfo under `root`, or, where LOCUS_CPU is set ("GenuineIntel:6:143"), that one. 0 or -errno.
int tb_cpu_id_read(const char *root, struct tb_cpu_id *out);
int tb_cpu_id_parse(const char *text, struct tb_cpu_id *out); // "vendor:family:model", decimal or 0x; -EINVAL

// Fills in the set of such a CPU. 0; an unknown CPU has what is generic, and its memory counters say why not.
int tb_counters_resolve(struct tb_counter_set *out, const struct tb_cpu_id *cpu);

// Opens and closes each on this thread. Of a set that was resolved for another CPU than this host has, only what is generic can
// work.
void tb_counters_probe(struct tb_counter_set *set);

struct tb_counter_value {
    uint64_t value, enabled_ns, running_ns;
    int error;                  // 0, or why there is none
};

// One thread's counters of a probed set; it counts the calling thread, from start to stop, and adds up over several such spans. A
// counter that cannot be opened here (EMFILE, ...) has its errno in its value. start and stop are a few system calls each, and
// allocate nothing. 0, -ENOMEM.
struct tb_counters;
int tb_counters_open(struct tb_counters **out, const struct tb_counter_set *set);
void tb_counters_start(struct tb_counters *counters);
void tb_counters_stop(struct tb_counters *counters);
void tb_counters_read(const struct tb_counters *counters, struct tb_counter_value values[]); // set->count of them
void tb_counters_close(struct tb_counters *counters);

#endif
