// SPDX-License-Identifier: Apache-2.0
//
// check_process: what this process may do here: its cgroup's limits, seccomp, placement, counters, files, address space.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "testbed/base/cpus/cpus.h"
#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "testbed/host/probe.h"

#define OPEN_FILES_MIN 1024
#define UNLIMITED_BYTES (UINT64_MAX / 4) // version 1 writes the largest page-aligned number for "none"

// --- /proc/self/status ---------------------------------------------------------------------------------------------------------

// As text. 0 or -errno; -ENOENT: it has no such line.
static int status_member(struct tb_exam *exam, const char *key, char out[TB_VALUE_BYTES])
{
    char *text = NULL;
    int error = tb_host_read(&exam->host, "/proc/self/status", &text);
    json_t *value = error ? NULL : tb_host_field(text, 0, key, ':', TB_FIELD_STRING);
    snprintf(out, TB_VALUE_BYTES, "%s", value ? json_string_value(value) : "");
    json_decref(value);
    free(text);
    return error ? error : strcmp(out, "ABSENT") == 0 ? -ENOENT : 0;
}

static bool capable(struct tb_exam *exam, unsigned capability)
{
    char value[TB_VALUE_BYTES];
    return status_member(exam, "CapEff", value) == 0 && (strtoull(value, NULL, 16) >> capability & 1);
}

bool tb_exam_root_lacks(struct tb_exam *exam, unsigned capability)
{
    char ids[TB_VALUE_BYTES];
    unsigned real, effective;
    bool root = status_member(exam, "Uid", ids) == 0 && sscanf(ids, "%u %u", &real, &effective) == 2 && effective == 0;
    return root && !capable(exam, capability);
}

// Of a process that was told nothing.
static int cpus_elsewhere(struct tb_exam *exam, hwloc_bitmap_t offered, hwloc_bitmap_t measured)
{
    char given[TB_VALUE_BYTES], online[TB_VALUE_BYTES], isolated[TB_VALUE_BYTES];
    hwloc_bitmap_t sets[] = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc(), hwloc_bitmap_alloc()};
    const char *texts[] = {given, online, isolated};
    int error = status_member(exam, "Cpus_allowed_list", given);
    if (!error)
        error = tb_exam_read(exam, TB_CPU "/online", online);
    if (!error && tb_exam_read(exam, tb_fact_path("cpu.isolated"), isolated))
        isolated[0] = '\0';
    for (size_t i = 0; i < 3 && !error; i++)
        error = tb_id_list(texts[i], sets[i]);
    if (!error) {
        tb_cpus_choose(sets[0], sets[1], sets[2], offered);
        hwloc_bitmap_copy(measured, offered);
    }
    for (size_t i = 0; i < 3; i++)
        hwloc_bitmap_free(sets[i]);
    return error;
}

int tb_exam_cpus(struct tb_exam *exam, char offered[TB_VALUE_BYTES], char measured[TB_VALUE_BYTES])
{
    hwloc_bitmap_t sets[] = {hwloc_bitmap_alloc(), hwloc_bitmap_alloc()};
    int error = sets[0] && sets[1] ? 0 : -ENOMEM;
    if (!error)
        error = exam->here ? tb_cpus_here(sets[0], sets[1]) : cpus_elsewhere(exam, sets[0], sets[1]);
    if (!error) {
        hwloc_bitmap_list_snprintf(offered, TB_VALUE_BYTES, sets[0]);
        hwloc_bitmap_list_snprintf(measured, TB_VALUE_BYTES, sets[1]);
    }
    hwloc_bitmap_free(sets[0]);
    hwloc_bitmap_free(sets[1]);
    return error;
}

// --- cgroup --------------------------------------------------------------------------------------------------------------------

// A limit by level, as an object; or NULL after the finding was set: no cgroups are no limit, and unseen ones may be.
static json_t *limit_levels(struct tb_exam *exam, struct tb_finding *finding, const char *controller, const char *file)
{
    char group[TB_VALUE_BYTES];
    json_t *levels = tb_cgroup_levels(&exam->host, controller, file, tb_host_value);
    if (json_is_object(levels))
        return levels;
    int error = tb_exam_read(exam, "/proc/self/cgroup", group);
    json_decref(levels);
    if (tb_finding_missing(exam, finding, "/proc/self/cgroup", error, "/proc/self", TB_FINDING_FIT, "this kernel has no cgroups"))
        return NULL;
    tb_finding_set(finding, TB_FINDING_UNKNOWN, "no %s limits are to be seen in /sys/fs/cgroup", controller);
    tb_finding_remedy(finding, "Look where the cgroup file system is mounted.");
    return NULL;
}

// A level whose file may not be read makes the whole unknown; one that has no such file (the root) has no limit.
static bool level_unreadable(struct tb_finding *finding, const json_t *levels, const char *file)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)levels, key, value) {
        const char *text = json_string_value(value);
        if (text && (strcmp(text, "FORBIDDEN") == 0 || strcmp(text, "UNREADABLE") == 0)) {
            tb_finding_set(finding, TB_FINDING_UNKNOWN, "%s is %s in a cgroup above this process", file, text);
            return true;
        }
    }
    return false;
}

// The fewest CPUs that a quota leaves, or 0: none does. Version 2 has "MAX PERIOD" in one file, version 1 in two.
static double quota_cpus(const json_t *quotas, const json_t *periods)
{
    double fewest = 0;
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)quotas, key, value) {
        double quota = 0, period = 100000;
        const char *beside = json_string_value(json_object_get(periods, key));
        if (!json_is_string(value) || sscanf(json_string_value(value), "%lf %lf", &quota, &period) < 1 || quota <= 0)
            continue;
        if (beside && strtod(beside, NULL) > 0)
            period = strtod(beside, NULL);
        double cpus = period > 0 ? quota / period : 0;
        fewest = fewest > 0 && fewest < cpus ? fewest : cpus;
    }
    return fewest;
}

static void check_quota(struct tb_exam *exam, struct tb_finding *finding)
{
    bool unified = tb_cgroup_unified(&exam->host);
    const char *file = unified ? "cpu.max" : "cpu.cfs_quota_us";
    json_t *quotas = limit_levels(exam, finding, "cpu", file);
    if (!quotas)
        return;
    json_t *periods = unified ? NULL : tb_cgroup_levels(&exam->host, "cpu", "cpu.cfs_period_us", tb_host_value);
    double cpus = quota_cpus(quotas, periods);
    if (!level_unreadable(finding, quotas, file) && cpus > 0) {
        tb_finding_set(finding, TB_FINDING_UNFIT, "time of %.3g CPUs", cpus);
        tb_finding_remedy(finding, "Start it without: no CPUQuota= in systemd, no --cpus for docker, no cpu limit in Kubernetes.");
    } else if (finding->state == TB_FINDING_FIT)
        tb_finding_set(finding, TB_FINDING_FIT, "none");
    json_decref(quotas);
    json_decref(periods);
}

static uint64_t limit_bytes(const json_t *levels)
{
    uint64_t lowest = UINT64_MAX;
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)levels, key, value) {
        const char *text = json_string_value(value);
        if (!text || *text < '0' || *text > '9') // "max", "ABSENT"
            continue;
        uint64_t bytes = strtoull(text, NULL, 10);
        lowest = bytes < lowest ? bytes : lowest;
    }
    return lowest < UNLIMITED_BYTES ? lowest : UINT64_MAX;
}

static void check_memory_limit(struct tb_exam *exam, struct tb_finding *finding)
{
    bool unified = tb_cgroup_unified(&exam->host);
    const char *file = unified ? "memory.max" : "memory.limit_in_bytes";
    json_t *levels = limit_levels(exam, finding, "memory", file);
    if (!levels)
        return;
    json_t *high = unified ? tb_cgroup_levels(&exam->host, "memory", "memory.high", tb_host_value) : NULL;
    uint64_t limit = limit_bytes(levels), throttle = json_is_object(high) ? limit_bytes(high) : UINT64_MAX;
    bool unknown =
        level_unreadable(finding, levels, file) || (json_is_object(high) && level_unreadable(finding, high, "memory.high"));
    if (!unknown && throttle != UINT64_MAX)
        tb_finding_set(finding, TB_FINDING_UNFIT, "memory.high %" PRIu64 " MiB", throttle >> 20);
    else if (!unknown && limit != UINT64_MAX)
        tb_finding_set(finding, TB_FINDING_NOTE, "%" PRIu64 " MiB", limit >> 20);
    else if (!unknown)
        tb_finding_set(finding, TB_FINDING_FIT, "none");
    if (!unknown && finding->state != TB_FINDING_FIT)
        tb_finding_remedy(finding, "Start it without: no MemoryHigh= or MemoryMax= in systemd, no --memory for docker.");
    json_decref(levels);
    json_decref(high);
}

// How many of `all` the process may use (`mine`, or why that is not known). 0, or a negative errno after the finding was made
// UNKNOWN.
static int share_of(struct tb_exam *exam, struct tb_finding *finding, int error, const char *mine, const char *all_path,
                    unsigned out[2])
{
    char all[TB_VALUE_BYTES];
    int count = error ? error : tb_id_list_count(mine);
    if (count < 0) {
        tb_finding_unknown(finding, "/proc/self/status", count);
        return count;
    }
    error = tb_exam_read(exam, all_path, all);
    count = error ? error : tb_id_list_count(all);
    if (count < 0) {
        tb_finding_unknown(finding, all_path, count);
        return count;
    }
    out[0] = (unsigned)tb_id_list_common(mine, all); // Mems_allowed_list names nodes that might be plugged in
    out[1] = (unsigned)count;
    return 0;
}

static void check_cpuset(struct tb_exam *exam, struct tb_finding *finding)
{
    unsigned cpus[2], nodes[2] = {1, 1};
    char offered[TB_VALUE_BYTES], mine[TB_VALUE_BYTES], mems[TB_VALUE_BYTES], isolated[TB_VALUE_BYTES];
    int error = tb_exam_cpus(exam, offered, mine);
    bool some = !error && tb_exam_read(exam, tb_fact_path("cpu.isolated"), isolated) == 0 && tb_id_list_common(mine, isolated) > 0;
    if (share_of(exam, finding, error, mine, some ? tb_fact_path("cpu.isolated") : TB_CPU "/online", cpus))
        return;
    error = status_member(exam, "Mems_allowed_list", mems);
    if (tb_exam_has_folder(exam, "/sys/devices/system/node") &&
        share_of(exam, finding, error, mems, "/sys/devices/system/node/has_memory", nodes))
        return;
    bool all = cpus[0] == cpus[1] && nodes[0] == nodes[1];
    tb_finding_set(finding, all ? TB_FINDING_FIT : TB_FINDING_NOTE, "%u of %u %sCPUs, %u of %u nodes", cpus[0], cpus[1],
                   some ? "isolated " : "", nodes[0], nodes[1]);
    if (!all)
        tb_finding_remedy(finding,
                          "Start it in the root cpuset, without taskset and numactl; a batch system: all CPUs of the node.");
}

// --- rights --------------------------------------------------------------------------------------------------------------------

static void check_seccomp(struct tb_exam *exam, struct tb_finding *finding)
{
    char mode[TB_VALUE_BYTES];
    int error = status_member(exam, "Seccomp", mode);
    if (tb_finding_missing(exam, finding, "/proc/self/status", error, "/proc/self", TB_FINDING_FIT, "this kernel has no seccomp"))
        return;
    bool filtered = strcmp(mode, "0") != 0;
    tb_finding_set(finding, filtered ? TB_FINDING_NOTE : TB_FINDING_FIT, "%.8s (%s)%s", mode, filtered ? "filtered" : "none",
                   !filtered                        ? ""
                   : capable(exam, TB_CAP_SYS_NICE) ? ", with CAP_SYS_NICE"
                                                    : ", without CAP_SYS_NICE");
    if (filtered)
        tb_finding_remedy(finding, "docker run --security-opt seccomp=unconfined --cap-add SYS_NICE, or outside of a container.");
}

static void probe_judge(struct tb_finding *finding, int error)
{
    tb_finding_set(finding, error ? TB_FINDING_UNFIT : TB_FINDING_FIT, "%s", error ? tb_probe_why(error) : "allowed");
    if (error)
        tb_finding_remedy(finding, "docker run --cap-add SYS_NICE, or outside of a container.");
}

static void check_probes(struct tb_exam *exam, struct tb_finding *finding)
{
    char why[256] = "";
    struct locus_topo *topo = NULL;
    (void)exam;
    if (locus_topo_open(&topo, NULL, why, sizeof why))
        tb_finding_set(finding, TB_FINDING_UNKNOWN, "%.180s", why);
    else
        probe_judge(finding, tb_probe_mbind(topo));
    locus_topo_close(topo);
    probe_judge(finding + 1, tb_probe_move_pages());
}

// Who may administer may count in any case; but the doctor's root is often not the user that will measure.
static void check_counters(struct tb_exam *exam, struct tb_finding *finding)
{
    const char *path = tb_fact_path("kernel.perf_event_paranoid");
    char value[TB_VALUE_BYTES];
    if (!tb_exam_value(exam, finding, path, "/proc/sys/kernel", TB_FINDING_NOTE, "this kernel has no performance counters", value))
        return;
    bool may = capable(exam, TB_CAP_PERFMON) || capable(exam, TB_CAP_SYS_ADMIN), fit = atoi(value) <= 0;
    tb_finding_set(finding, fit ? TB_FINDING_FIT : TB_FINDING_NOTE, "%.16s%s", value,
                   !fit && may ? " (this process may count all the same)" : "");
    tb_knob_alone(exam, finding, path, value, "0");
}

static void check_open_files(struct tb_exam *exam, struct tb_finding *finding)
{
    (void)exam;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) {
        tb_finding_unknown(finding, "RLIMIT_NOFILE", -errno);
        return;
    }
    bool fit = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= OPEN_FILES_MIN;
    tb_finding_set(finding, fit ? TB_FINDING_FIT : TB_FINDING_NOTE, "%llu", (unsigned long long)limit.rlim_cur);
    if (!fit)
        tb_finding_remedy(finding, "ulimit -n %d in the shell that starts it.", OPEN_FILES_MIN);
}

// Recorded, never forced: pyperf leaves it on, LLVM's guide turns it off, and both have their reasons.
static void check_aslr(struct tb_exam *exam, struct tb_finding *finding)
{
    const char *path = tb_fact_path("aslr.randomize_va_space");
    char value[TB_VALUE_BYTES];
    if (!tb_exam_value(exam, finding, path, "/proc/sys/kernel", TB_FINDING_NOTE, "this kernel has no such thing", value))
        return;
    int persona = exam->here ? personality(0xffffffff) : 0; // asks, and changes nothing
    bool off = persona > 0 && (persona & ADDR_NO_RANDOMIZE);
    bool full = strcmp(value, "2") == 0 && !off;
    tb_finding_set(finding, full ? TB_FINDING_FIT : TB_FINDING_NOTE, "%.8s%s%s", value, full ? " (full)" : "",
                   off ? " (off for this process)" : "");
    if (!full)
        tb_finding_remedy(finding, "Nothing, if it is meant. It is recorded, and not changed.");
}

void tb_check_process(struct tb_exam *exam)
{
    static const struct tb_check checks[] = {
        {"cpu-quota", true, "none",
         "A quota that is used up stops the process in mid-lap until its next period, up to a tenth of a second later.",
         check_quota},
        {"memory-limit", true, "none, above all no memory.high",
         "At memory.high the kernel reclaims in the middle of an allocation; at the limit it kills. A large pool gets there "
         "first.",
         check_memory_limit},
        {"cpuset", false, "all CPUs, all nodes",
         "Nodes and CPUs outside of it cannot be measured, and are whose who is inside: neighbours that are not seen.",
         check_cpuset},
        {"seccomp", false, "0 (none)",
         "A filter makes each system call dearer, and that of a container refuses mbind, move_pages and perf_event_open "
         "without CAP_SYS_NICE.",
         check_seccomp},
        {"perf-paranoid", false, "0",
         "Above 2 nobody but root counts anything, above 1 nobody counts in the kernel, above 0 nobody counts whole CPUs or "
         "memory controllers.",
         check_counters},
        {"aslr", false, "2 (full)",
         "With it each process has another layout, and rounds in fresh processes average over layouts; without it all rounds "
         "share one, and its luck.",
         check_aslr},
    };
    static const struct tb_check of_this_process[] = {
        {"mbind", true, "allowed", "Without it memory lies where it is touched first, and no policy can be compared with another.",
         check_probes},
        {"move-pages", true, "allowed", "Without it nobody can tell where a page is, so no placement is verified.", NULL},
        {"open-files", false, TB_TEXT(OPEN_FILES_MIN) " or more",
         "Counters need a file for each event of each thread: where too few may be open, some are missing.", check_open_files},
    };
    tb_exam_run(exam, checks, sizeof checks / sizeof *checks);
    if (exam->here)
        tb_exam_run(exam, of_this_process, sizeof of_this_process / sizeof *of_this_process);
}
