// SPDX-License-Identifier: Apache-2.0
//
// environment: everything about the host that could explain a figure, and the counters that move while one is taken.
//
// A thing that is absent on this host is written out as "ABSENT", one that may not be read as "FORBIDDEN": a missing member would
// be indistinguishable from a forgotten one. All values are strings, numbers or objects of these.
#ifndef TB_ENVIRONMENT_H
#define TB_ENVIRONMENT_H

#include <jansson.h>

#include "testbed/campaign.h"

// kernel (release, version, command line), microcode, mitigations, clock source, ASLR, perf_event_paranoid, load; governor,
// boost, SMT, isolcpus, C-state driver; THP enabled and defrag; numa_balancing, zone_reclaim_mode, demotion; per-node free
// memory and huge pages; distances; hwloc XML; DMI and BIOS; cgroup limits; compiler, flags, commit and dirty flag (as built:
// LOCUS_COMMIT), sha256 of the binary; name, version and sha256 of each arm's library. `root` is "" or a folder with another
// /proc and /sys (tests). New reference, or NULL without memory.
json_t *tb_environment(const char *root, const struct tb_arm arms[], uint32_t arms_count);

// Before and after: numastat, vmstat numa_*, throttle counters, context switches, PSI. New reference or NULL.
json_t *tb_environment_counters(const char *root);

// "cpus >= 2", "numa_nodes >= 2", "mbind_ok", "move_pages_ok", "workers_pinned", "libraries": is it met? 1 yes, 0 no (found
// says what was found, such as "1 node"), -EINVAL: no such need.
int tb_need_met(const char *need, const struct tb_arm arms[], uint32_t arms_count, char *found, size_t bytes);

#endif
