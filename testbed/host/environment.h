// SPDX-License-Identifier: Apache-2.0
//
// environment: everything about the host that could explain a figure, and the counters that move while one is taken.
//
// A thing that is absent on this host is written out as "ABSENT", one that may not be read as "FORBIDDEN", one whose reading fails
// in another way as "UNREADABLE": a missing member would be indistinguishable from a forgotten one. All values are strings,
// numbers or objects of these. Nothing personal: no names of hosts or users, addresses, serial numbers or UUIDs.
#ifndef TB_ENVIRONMENT_H
#define TB_ENVIRONMENT_H

#include <jansson.h>
#include <stdbool.h>

// Members, each an object unless it says otherwise:
//   kernel       release, version, machine, command_line (values that may identify are REDACTED), perf_event_paranoid
//   cpu          vendor, model, family, model_number, stepping, microcode, online, allowed, isolated, nohz_full, smt_control,
//                smt_active
//   mitigations  by vulnerability
//   clock        current, available
//   aslr         randomize_va_space, disabled_here ("yes": by personality, as setarch -R does)
//   load         (string) the three averages
//   frequency    driver, governor, energy_preference, khz_min, khz_max (one value, or one by policy where they differ), boost,
//                no_turbo
//   idle         driver, governor, states (of the first CPU: name, disable)
//   thp          enabled, defrag, shmem_enabled, khugepaged_defrag
//   numa         balancing, zone_reclaim_mode, demotion
//   memory       total_kib, free_kib, available_kib, swap_total_kib, swappiness, overcommit_memory
//   nodes        by number: cpus, distance, total_kib, free_kib, file_kib, slab_reclaimable_kib, huge_pages {by size: total, free}
//   hwloc        version, xml (without names and serial numbers)
//   dmi          sys_vendor, product_name, product_version, board_vendor, board_name, board_version, bios_vendor, bios_version,
//                bios_date
//   cgroup       version, then each limit by level: "0" is this process's group, the last one the mount point
//   build        compiler, flags, commit, dirty ("yes", "no", "unknown"), binary_sha256 (locus), lap_sha256 (locus-lap, which is
//                what is measured; logs from before it was a program of its own lack it)
//   libc         version, file, sha256
//   guest        (string) the emulated machine's name (LOCUS_GUEST), or "none"
//
// `root` is "" or a folder with another /proc and /sys (tests). New reference, or NULL without memory.
json_t *tb_environment(const char *root);

// The file of a member that is one file with one value, by its place above: "numa.balancing", "thp.enabled". pre: there is one.
const char *tb_fact_path(const char *name);

// A library of this host: library (its path, without the name of a home folder), file (what its name resolves to), sha256. New
// reference, or NULL without memory.
json_t *tb_environment_library(const char *path);

// Empties all properties of hwloc's objects but those that are known to be harmless: its XML names the host and, for root, the
// serial numbers of boards.
struct hwloc_topology;
void tb_hwloc_clean(struct hwloc_topology *topology);

// Before and after: nodes (numastat), vmstat (numa_*, pgmigrate_*), throttle {thermal {by CPU}, cgroup}, context_switches (of the
// host, of this process, of the measured processes so far), steal_ticks, pressure. New reference or NULL.
json_t *tb_environment_counters(const char *root);

// The numbers that differ, after - before, in objects as they were. {} when none does. New reference or NULL without memory.
json_t *tb_environment_delta(const json_t *before, const json_t *after);

// True when a throttle counter moved: the CPU grew too hot, or the cgroup's CPU quota ran out. A host without such counters
// cannot tell, and then it is false.
bool tb_environment_throttled(const json_t *before, const json_t *after);

// The commit of this build, with "-dirty" at its end where that had changes; "unknown": it was built without git.
const char *tb_environment_commit(void);

// What the CPU is called: the model's name, or vendor:family:model where the kernel has none; null: neither. NULL without memory.
json_t *tb_environment_cpu(const char *root);

// The name of the emulated machine that this is ("n2", of LOCUS_GUEST; "unknown" if that is no name), or NULL: it is none.
const char *tb_environment_guest(void);

// The same, or "QEMU TCG" where only the CPU's name gives the emulator away.
const char *tb_emulated_as(const char *root);

#endif
