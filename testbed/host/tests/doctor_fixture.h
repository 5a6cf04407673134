// SPDX-License-Identifier: Apache-2.0
//
// doctor_fixture: a host that is fit to measure, as files: bare metal, two nodes, four CPUs, everything as it should be. A test
// spoils what it is about.
#ifndef TB_DOCTOR_FIXTURE_H
#define TB_DOCTOR_FIXTURE_H

#include "testbed/host/doctor/doctor.h"
#include "topo/tests/tree.h"

#define CPU_FOLDER "/sys/devices/system/cpu"
#define THP_FOLDER "/sys/kernel/mm/transparent_hugepage"

static const char *const fit_files[][2] = {
    {"/proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\nmicrocode\t: 0x2b\nflags\t\t: fpu tsc sse\n"},
    {"/proc/self/mounts", "proc /proc proc rw,relatime 0 0\nsysfs /sys sysfs rw,nosuid 0 0\ntmpfs /run tmpfs ro 0 0\n"},
    {"/proc/self/cgroup", "0::/user.slice/a\n"},
    {"/proc/self/status", "Name:\tlocus\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t0\nSeccomp:\t0\n"
                          "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-63\n"},
    {"/proc/2/comm", "kthreadd\n"},
    {"/proc/stat", "cpu  100 0 100 9800 0 0 0 0 0 0\ncpu0 25 0 25 2450 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0\ncpu3 0\n"},
    {"/proc/stat.later", "cpu  101 0 100 9899 0 0 0 0 0 0\ncpu0 25 0 25 0 0\ncpu1 0\ncpu2 0\ncpu3 0\n"},
    {"/proc/loadavg", "0.10 0.20 0.30 1/234 5678\n"},
    {"/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"},
    {"/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
    {"/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
    {"/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
    {"/proc/sys/kernel/numa_balancing", "0\n"},
    {"/proc/sys/kernel/nmi_watchdog", "0\n"},
    {"/proc/sys/kernel/perf_event_paranoid", "0\n"},
    {"/proc/sys/kernel/randomize_va_space", "2\n"},
    {"/proc/sys/vm/zone_reclaim_mode", "0\n"},
    {"/proc/sys/vm/swappiness", "60\n"},
    {"/sys/class/dmi/id/product_name", "PowerBox R1\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"},
    {CPU_FOLDER "/online", "0-3\n"},
    {CPU_FOLDER "/isolated", "2-3\n"},
    {CPU_FOLDER "/nohz_full", "2-3\n"},
    {CPU_FOLDER "/vulnerabilities/meltdown", "Not affected\n"},
    {CPU_FOLDER "/cpufreq/boost", "0\n"},
    {CPU_FOLDER "/smt/control", "off\n"},
    {CPU_FOLDER "/smt/active", "0\n"},
    {THP_FOLDER "/enabled", "always [madvise] never\n"},
    {THP_FOLDER "/defrag", "always defer defer+madvise [madvise] never\n"},
    {THP_FOLDER "/khugepaged/defrag", "0\n"},
    {"/sys/kernel/mm/ksm/run", "0\n"},
    {"/sys/kernel/mm/numa/demotion_enabled", "false\n"},
    {"/sys/devices/system/node/has_memory", "0-1\n"},
    {"/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"},
    {"/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"},
    {"/sys/fs/cgroup/user.slice/memory.max", "max\n"},
    {"/sys/fs/cgroup/user.slice/memory.high", "max\n"},
    {"/sys/fs/cgroup/user.slice/a/cpu.max", "max 100000\n"},
    {"/sys/fs/cgroup/user.slice/a/memory.max", "max\n"},
    {"/sys/fs/cgroup/user.slice/a/memory.high", "max\n"},
};

// A file of one CPU, policy or node: `format` has one %d.
__attribute__((format(printf, 1, 0))) static inline void file_of(const char *format, int number, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, format, number);
    tree_file(path, text);
}

static inline void fit_cpu(int cpu)
{
    static const char *const states[3][3] = {{"POLL", "0", "0"}, {"C1", "2", "0"}, {"C6", "133", "1"}};
    char path[128];
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", cpu, "performance\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_available_governors", cpu, "performance powersave userspace \n");
    file_of(CPU_FOLDER "/cpu%d/thermal_throttle/core_throttle_count", cpu, "0\n");
    for (int state = 0; state < 3; state++)
        for (int file = 0; file < 3; file++) {
            static const char *const names[] = {"name", "latency", "disable"};
            snprintf(path, sizeof path, CPU_FOLDER "/cpu%d/cpuidle/state%d/%s", cpu, state, names[file]);
            tree_file(path, states[state][file]);
        }
}

static inline void fit_node(int node)
{
    tree_node(node, node ? "2-3\n" : "0-1\n", node ? "21 10\n" : "10 21\n", 1000000, 900000);
    file_of(NODE_DIRECTORY "/node%d/hugepages/hugepages-2048kB/nr_hugepages", node, "16\n");
    file_of(NODE_DIRECTORY "/node%d/hugepages/hugepages-1048576kB/nr_hugepages", node, "0\n");
}

static inline void fit_host(void)
{
    tree_open();
    for (size_t i = 0; i < sizeof fit_files / sizeof *fit_files; i++)
        tree_file(fit_files[i][0], fit_files[i][1]);
    for (int cpu = 0; cpu < 4; cpu++)
        fit_cpu(cpu);
    for (int node = 0; node < 2; node++)
        fit_node(node);
}

// Takes a file or a whole folder away.
static inline void tree_without(const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", tree_root, path);
    nftw(full, tree_remove, 16, FTW_DEPTH | FTW_PHYS);
    mkdir(tree_root, 0755);
}

// What cannot be read, not even by root: a folder where a file should be.
static inline void tree_unreadable(const char *path)
{
    char full[512];
    tree_without(path);
    snprintf(full, sizeof full, "%s%s", tree_root, path);
    cr_assert_eq(mkdir(full, 0755), 0, "%s", full);
}

static struct tb_doctor doctor; // too large for a stack; each test is a process of its own

static inline const struct tb_finding *look_for(const char *id)
{
    tb_doctor_close(&doctor);
    cr_assert_eq(tb_doctor_look(tree_root, &doctor), 0);
    const struct tb_finding *finding = tb_doctor_find(&doctor, id);
    cr_assert_not_null(finding, "there is no finding %s", id);
    return finding;
}

static inline void close_host(void)
{
    tb_doctor_close(&doctor);
    tree_close();
}

#define STATE(id, expected)                                                                                                        \
    cr_expect_str_eq(tb_finding_state_name(look_for(id)->state), expected, "%s is %s: %s", id,                                     \
                     tb_finding_state_name(look_for(id)->state), look_for(id)->now)
#define NOW(id, part) cr_expect(strstr(look_for(id)->now, part), "%s: now '%s'", id, look_for(id)->now)
#define COMMANDS(id, to, back)                                                                                                     \
    do {                                                                                                                           \
        cr_expect_str_eq(look_for(id)->change, to);                                                                                \
        cr_expect_str_eq(look_for(id)->restore, back);                                                                             \
    } while (0)

#endif
