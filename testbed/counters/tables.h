// SPDX-License-Identifier: Apache-2.0
//
// tables (private to the counters): the CPUs that are known, and what their makers call the events.
#ifndef TB_COUNTERS_TABLES_H
#define TB_COUNTERS_TABLES_H

#include "testbed/counters/counters.h"

// One event of a CPU. Its code is `config` (and `config1`: the condition of an OCR event) as the kernel's raw type takes them, or,
// of an uncore event, `code` in the words of `device`'s format files.
struct tb_cpu_event {
    const char *name;
    const char *event;          // the vendor's name
    uint64_t config, config1;
    unsigned group;             // 0: that of the event before it
    const char *pfm;            // in libpfm4, without the PMU; NULL: made of the vendor's name; "": it has none
    const char *device, *code;  // uncore only
    const char *minus[3];       // derived: from these counters of the same CPU, by our names
};

struct tb_cpu_events {
    const struct tb_cpu_event *event;
    unsigned count;
};

// A row holds for models model .. model_last and steppings stepping .. stepping_last. The first row that fits counts.
struct tb_cpu {
    const char *vendor;
    unsigned family, model, model_last, stepping, stepping_last;
    const char *name;
    const char *pmu;            // in libpfm4
    const struct tb_cpu_events *hardware; // instead of the generic cache events; NULL: those are right
    const struct tb_cpu_events *memory, *uncore; // NULL: none
};

// NULL: not known.
const struct tb_cpu *tb_cpu_find(const struct tb_cpu_id *id);

extern const struct tb_cpu_events tb_intel_skx, tb_intel_icx, tb_intel_spr, tb_intel_gnr, tb_intel_srf, tb_intel_cwf;
extern const struct tb_cpu_events tb_intel_uncore_skx, tb_intel_uncore_icx, tb_intel_uncore_spr, tb_intel_uncore_gnr;
extern const struct tb_cpu_events tb_amd_zen2, tb_amd_zen3, tb_amd_zen4, tb_amd_zen5;
extern const struct tb_cpu_events tb_amd_caches_zen2, tb_amd_caches_zen3, tb_amd_caches_zen4, tb_amd_uncore_zen4,
    tb_amd_uncore_zen5;
extern const struct tb_cpu_events tb_arm_remote, tb_arm_remote_reads, tb_arm_kunpeng, tb_power8, tb_power10;

#define TB_CPU_EVENTS(array)                                                                                                       \
    {                                                                                                                              \
        array, sizeof(array) / sizeof *(array)                                                                                     \
    }

#endif
