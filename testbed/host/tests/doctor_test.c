// SPDX-License-Identifier: Apache-2.0
//
// The doctor on hosts that nobody here owns: each finding as it should be, as it should not be, missing, and unreadable.

#include "testbed/host/tests/doctor_fixture.h"

TestSuite(doctor, .init = fit_host, .fini = close_host);

// --- whole hosts ---------------------------------------------------------------------------------------------------------------

Test(doctor, a_fit_host_is_fit_in_each_finding)
{
    look_for("machine");
    for (unsigned i = 0; i < doctor.count; i++)
        cr_expect_eq(doctor.finding[i].state, TB_FINDING_FIT, "%s: %s", doctor.finding[i].id, doctor.finding[i].now);
    cr_expect(doctor.fit);
    cr_expect_eq(doctor.states[TB_FINDING_FIT], doctor.count);
    cr_expect_geq(doctor.count, 30);
}

Test(doctor, a_host_without_any_file_is_not_fit_in_any_finding)
{
    tree_without("");
    look_for("machine");
    for (unsigned i = 0; i < doctor.count; i++) {
        const struct tb_finding *finding = &doctor.finding[i];
        cr_expect_eq(finding->state, TB_FINDING_UNKNOWN, "%s: %s", finding->id, finding->now);
        cr_expect(!finding->change[0] && !finding->restore[0], "%s: %s", finding->id, finding->change);
    }
    cr_expect_not(doctor.fit);
}

// Folders without a file in them: a kernel that was built without all of it. Nothing there to spoil a figure, nor to praise.
Test(doctor, what_a_kernel_has_not_is_absent)
{
    static const char *const folders[] = {"/sys/kernel/mm/x", "/proc/sys/kernel/x", "/proc/sys/vm/x",
                                          CPU_FOLDER "/x",    "/proc/self/x",       "/sys/devices/system/clocksource/x"};
    static const char *const fit[] = {"thp-defrag",   "khugepaged", "numa-balancing", "zone-reclaim", "demotion",    "ksm",
                                      "nmi-watchdog", "swap",       "swappiness",     "cpu-quota",    "memory-limit"};
    static const char *const notes[] = {"thp",           "governor",    "boost",       "idle-states", "smt",
                                        "isolation",     "mitigations", "clocksource", "pressure",    "throttling",
                                        "perf-paranoid", "node-memory", "huge-pages"};
    tree_without("");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        tree_file(folders[i], "");
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        STATE(fit[i], "fit");
        NOW(fit[i], "ABSENT: ");
    }
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        STATE(notes[i], "note");
        NOW(notes[i], "ABSENT: ");
    }
    STATE("machine", "unknown");
    cr_expect_not(doctor.fit);
}

Test(doctor, findings_have_names_of_their_own_and_say_why)
{
    look_for("machine");
    for (unsigned i = 0; i < doctor.count; i++) {
        const struct tb_finding *finding = &doctor.finding[i];
        cr_expect_eq(tb_doctor_find(&doctor, finding->id), finding, "%s is there twice", finding->id);
        cr_expect(finding->now[0] && finding->why[0], "%s", finding->id);
        cr_expect_eq(finding->why[strlen(finding->why) - 1], '.', "%s is cut off: %s", finding->id, finding->why);
        cr_expect_eq(!finding->change[0], !finding->restore[0], "%s has one command of two", finding->id);
    }
}

// --- one file, one value -------------------------------------------------------------------------------------------------------

static const struct {
    const char *id, *path, *text, *state, *now, *change, *restore;
} settings[] = {
    {"thp", THP_FOLDER "/enabled", "[always] madvise never\n", "unfit", "always", "madvise", "always"},
    {"thp", THP_FOLDER "/enabled", "always madvise [never]\n", "note", "never", "madvise", "never"},
    {"thp-defrag", THP_FOLDER "/defrag", "[always] defer defer+madvise madvise never\n", "unfit", "always", "madvise", "always"},
    {"thp-defrag", THP_FOLDER "/defrag", "always defer [defer+madvise] madvise never\n", "note", "defer+madvise", "madvise",
     "defer+madvise"},
    {"thp-defrag", THP_FOLDER "/defrag", "always defer defer+madvise madvise [never]\n", "fit", "never", "never", "never"},
    {"khugepaged", THP_FOLDER "/khugepaged/defrag", "1\n", "note", "1 (on)", "0", "1"},
    {"numa-balancing", "/proc/sys/kernel/numa_balancing", "1\n", "unfit", "1 (on)", "0", "1"},
    {"numa-balancing", "/proc/sys/kernel/numa_balancing", "2\n", "unfit", "2 (memory-tiering)", "0", "2"},
    {"zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "1\n", "unfit", "1 (on)", "0", "1"},
    {"zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "5\n", "unfit", "5", "0", "5"},
    {"demotion", "/sys/kernel/mm/numa/demotion_enabled", "true\n", "unfit", "true (on)", "false", "true"},
    {"ksm", "/sys/kernel/mm/ksm/run", "1\n", "unfit", "1 (on)", "0", "1"},
    {"ksm", "/sys/kernel/mm/ksm/run", "2\n", "fit", "2", "2", "2"},
    {"nmi-watchdog", "/proc/sys/kernel/nmi_watchdog", "1\n", "note", "1 (on)", "0", "1"},
    {"perf-paranoid", "/proc/sys/kernel/perf_event_paranoid", "3\n", "note", "3 (this process may", "0", "3"},
    {"perf-paranoid", "/proc/sys/kernel/perf_event_paranoid", "-1\n", "fit", "-1", "-1", "-1"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", "unfit", "hpet", "tsc", "hpet"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n", "note", "kvm-clock", "tsc",
     "kvm-clock"},
    {"boost", CPU_FOLDER "/cpufreq/boost", "1\n", "unfit", "on (boost 1)", "0", "1"},
    {"boost", CPU_FOLDER "/intel_pstate/no_turbo", "0\n", "unfit", "on (no_turbo 0)", "1", "0"},
};

Test(doctor, a_setting_is_judged_and_its_commands_carry_its_value)
{
    char change[256], restore[256];
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        tree_file(settings[i].path, settings[i].text);
        STATE(settings[i].id, settings[i].state);
        NOW(settings[i].id, settings[i].now);
        snprintf(change, sizeof change, "echo %s >%s", settings[i].change, settings[i].path);
        snprintf(restore, sizeof restore, "echo %s >%s", settings[i].restore, settings[i].path);
        COMMANDS(settings[i].id, change, restore);
        bool unfit = strcmp(settings[i].state, "unfit") == 0;
        cr_expect_eq(doctor.fit, !unfit, "%s = %s", settings[i].id, settings[i].text);
        tree_close();
        fit_host();
    }
}

Test(doctor, a_value_that_nobody_foresaw_is_not_fit)
{
    tree_file("/proc/sys/kernel/numa_balancing", "yes please\n");
    STATE("numa-balancing", "unfit");
    COMMANDS("numa-balancing", "echo 0 >/proc/sys/kernel/numa_balancing", "echo 'yes please' >/proc/sys/kernel/numa_balancing");
    tree_file("/proc/sys/kernel/numa_balancing", "");
    STATE("numa-balancing", "unknown");
}

// --- files that cannot be read -------------------------------------------------------------------------------------------------

static const char *const unreadable[][2] = {
    {"machine", "/proc/cpuinfo"},
    {"clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"isolation", CPU_FOLDER "/isolated"},
    {"mitigations", CPU_FOLDER "/vulnerabilities/meltdown"},
    {"thp", THP_FOLDER "/enabled"},
    {"thp-defrag", THP_FOLDER "/defrag"},
    {"khugepaged", THP_FOLDER "/khugepaged/defrag"},
    {"numa-balancing", "/proc/sys/kernel/numa_balancing"},
    {"zone-reclaim", "/proc/sys/vm/zone_reclaim_mode"},
    {"demotion", "/sys/kernel/mm/numa/demotion_enabled"},
    {"ksm", "/sys/kernel/mm/ksm/run"},
    {"nmi-watchdog", "/proc/sys/kernel/nmi_watchdog"},
    {"swap", "/proc/swaps"},
    {"swappiness", "/proc/sys/vm/swappiness"},
    {"node-memory", NODE_DIRECTORY "/node1/meminfo"},
    {"huge-pages", NODE_DIRECTORY "/node1/hugepages/hugepages-2048kB/nr_hugepages"},
    {"load", "/proc/stat"},
    {"steal", "/proc/stat"},
    {"load", "/proc/stat.later"},
    {"pressure", "/proc/pressure/memory"},
    {"throttling", CPU_FOLDER "/cpu1/thermal_throttle/core_throttle_count"},
    {"irqbalance", "/proc/2/comm"},
    {"numad", "/proc/2/comm"},
    {"cpu-quota", "/sys/fs/cgroup/user.slice/cpu.max"},
    {"cpu-quota", "/proc/self/cgroup"},
    {"memory-limit", "/sys/fs/cgroup/user.slice/memory.max"},
    {"memory-limit", "/sys/fs/cgroup/user.slice/a/memory.high"},
    {"cpuset", "/proc/self/status"},
    {"seccomp", "/proc/self/status"},
    {"perf-paranoid", "/proc/sys/kernel/perf_event_paranoid"},
    {"aslr", "/proc/sys/kernel/randomize_va_space"},
    {"governor", CPU_FOLDER "/cpufreq/policy2/scaling_governor"},
    {"boost", CPU_FOLDER "/cpufreq/boost"},
    {"idle-states", CPU_FOLDER "/cpu3/cpuidle/state1/latency"},
    {"smt", CPU_FOLDER "/smt/control"},
};

Test(doctor, what_cannot_be_read_is_unknown_and_never_fit)
{
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        tree_unreadable(unreadable[i][1]);
        STATE(unreadable[i][0], "unknown");
        const struct tb_finding *finding = look_for(unreadable[i][0]);
        cr_expect(!finding->change[0] && !finding->restore[0], "%s: %s", finding->id, finding->change);
        cr_expect_not(doctor.fit && finding->decides, "%s", finding->id);
        tree_close();
        fit_host();
    }
}

// --- commands ------------------------------------------------------------------------------------------------------------------

Test(doctor, governors_that_differ_come_back_each_as_it_was)
{
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", 1, "powersave\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", 3, "powersave\n");
    STATE("governor", "unfit");
    NOW("governor", "performance on 2 and powersave on 2 (4 policies)");
    COMMANDS("governor", "for f in " CPU_FOLDER "/cpufreq/policy[0-9]*/scaling_governor; do\n  echo performance >$f; done",
             "for n in 0 2; do\n  echo performance \\\n    >" CPU_FOLDER "/cpufreq/policy$n/scaling_governor; done\n"
             "for n in 1 3; do\n  echo powersave \\\n    >" CPU_FOLDER "/cpufreq/policy$n/scaling_governor; done");
}

Test(doctor, what_follows_the_governor_is_restored_after_it)
{
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", 1, "userspace\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_setspeed", 1, "2000000\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_setspeed", 0, "<unsupported>\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/energy_performance_preference", 1, "balance_power\n");
    const struct tb_finding *finding = look_for("governor");
    const char *governor = strstr(finding->restore, "scaling_governor"), *speed = strstr(finding->restore, "echo 2000000");
    cr_assert(governor && speed && strstr(finding->restore, "echo balance_power"), "%s", finding->restore);
    cr_expect(governor < speed);
    cr_expect_null(strstr(finding->restore, "unsupported"));
    cr_expect_null(strstr(finding->change, "balance_power"));
}

Test(doctor, a_governor_that_is_not_offered_is_not_commanded)
{
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", 1, "powersave\n");
    file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_available_governors", 1, "powersave schedutil\n");
    STATE("governor", "unfit");
    COMMANDS("governor", "", "");
    cr_expect(strstr(look_for("governor")->remedy, "no governor"));
}

Test(doctor, deep_idle_states_are_closed_on_the_cpus_that_have_them)
{
    file_of(CPU_FOLDER "/cpu%d/cpuidle/state2/disable", 0, "0\n");
    file_of(CPU_FOLDER "/cpu%d/cpuidle/state2/disable", 2, "0\n");
    STATE("idle-states", "unfit");
    NOW("idle-states", "C6, up to 133 us to leave, on 2 of 4 CPUs");
    COMMANDS("idle-states", "for f in " CPU_FOLDER "/cpu[0-9]*/cpuidle/state2/disable; do\n  echo 1 >$f; done",
             "for n in 0 2; do\n  echo 0 \\\n    >" CPU_FOLDER "/cpu$n/cpuidle/state2/disable; done\n"
             "for n in 1 3; do\n  echo 1 \\\n    >" CPU_FOLDER "/cpu$n/cpuidle/state2/disable; done");
}

// Sparse CPUs of two kinds: what is deep on one kind is shallow on the other, and stays open there.
Test(doctor, a_state_that_is_deep_on_some_cpus_only_is_closed_there)
{
    tree_without(CPU_FOLDER "/cpu1");
    file_of(CPU_FOLDER "/cpu%d/cpuidle/state1/latency", 2, "50\n");
    const struct tb_finding *finding = look_for("idle-states");
    cr_expect(strstr(finding->change, "for n in 2; do\n  echo 1 \\\n    >" CPU_FOLDER "/cpu$n/cpuidle/state1/disable; done"), "%s",
              finding->change);
    cr_expect(strstr(finding->restore, "for f in " CPU_FOLDER "/cpu[0-9]*/cpuidle/state1/disable; do\n  echo 0 >$f; done"), "%s",
              finding->restore);
    cr_expect_null(strstr(finding->change, "state2"), "%s", finding->change);
}

Test(doctor, smt_is_a_choice)
{
    tree_file(CPU_FOLDER "/smt/control", "on\n");
    tree_file(CPU_FOLDER "/smt/active", "1\n");
    STATE("smt", "note");
    COMMANDS("smt", "echo off >" CPU_FOLDER "/smt/control", "echo on >" CPU_FOLDER "/smt/control");
    tree_file(CPU_FOLDER "/smt/active", "0\n");
    STATE("smt", "fit");
    tree_file(CPU_FOLDER "/smt/control", "forceoff\n");
    STATE("smt", "fit");
    COMMANDS("smt", "", ""); // could not be written again
}

static const char swaps[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
                            "/dev/sda2                               partition\t1048572\t0\t-2\n"
                            "/my\\040swap\\134file                     file\t\t2097148\t0\t5\n";

Test(doctor, swap_is_taken_away_and_comes_back_device_by_device)
{
    tree_file("/proc/swaps", swaps);
    STATE("swap", "note");
    NOW("swap", "2 devices on, 0 MiB of 3071 MiB used");
    COMMANDS("swap", "swapoff /dev/sda2\nswapoff '/my swap\\file'", "swapon /dev/sda2\nswapon -p 5 '/my swap\\file'");
    STATE("swappiness", "note");
    COMMANDS("swappiness", "echo 10 >/proc/sys/vm/swappiness", "echo 60 >/proc/sys/vm/swappiness");
    tree_file("/proc/sys/vm/swappiness", "10\n");
    STATE("swappiness", "fit");
}

Test(doctor, swap_in_use_is_unfit)
{
    tree_file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1048572 2048 -2\n");
    STATE("swap", "unfit");
    NOW("swap", "2 MiB of 1023 MiB used");
    tree_file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1048572 4 -2\n");
    STATE("swap", "unfit");
    NOW("swap", "1 MiB of 1023 MiB used");
}

// --- what cannot be changed here -----------------------------------------------------------------------------------------------

Test(doctor, in_a_container_a_remedy_takes_the_place_of_commands)
{
    tree_file("/proc/self/mounts",
              "proc /proc/sys proc ro,nosuid 0 0\nproc /proc proc rw 0 0\n"
              "sysfs /sys sysfs ro,nosuid 0 0\ncgroup /sys/fs/cgroup cgroup2 ro 0 0\noverlay / overlay rw 0 0\n");
    tree_file("/proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\nCpus_allowed_list:\t0\n"
                                   "Mems_allowed_list:\t0-1\n");
    tree_file("/proc/2/comm", "sh\n");
    tree_file("/proc/sys/kernel/numa_balancing", "1\n");
    tree_file(THP_FOLDER "/enabled", "[always] madvise never\n");
    tree_file("/proc/swaps", swaps);
    STATE("numa-balancing", "unfit");
    STATE("thp", "unfit");
    static const char *const ids[] = {"numa-balancing", "thp", "swap"};
    for (size_t i = 0; i < 3; i++) {
        COMMANDS(ids[i], "", "");
        cr_expect(strstr(look_for(ids[i])->remedy, "container"), "%s: %s", ids[i], look_for(ids[i])->remedy);
    }
    COMMANDS("ksm", "", ""); // nor is there anything to restore
    cr_expect_str_eq(look_for("ksm")->remedy, "");
    STATE("irqbalance", "unknown");
    STATE("seccomp", "note");
    NOW("seccomp", "without CAP_SYS_NICE");
    STATE("cpuset", "note");
    NOW("cpuset", "1 of 4 CPUs, 2 of 2 nodes");
}

Test(doctor, a_file_that_nobody_may_write_is_not_commanded)
{
    char path[512];
    tree_file("/proc/sys/kernel/nmi_watchdog", "1\n");
    snprintf(path, sizeof path, "%s/proc/sys/kernel/nmi_watchdog", tree_root);
    cr_assert_eq(chmod(path, 0444), 0);
    STATE("nmi-watchdog", "note");
    COMMANDS("nmi-watchdog", "", "");
    cr_expect(strstr(look_for("nmi-watchdog")->remedy, "can only be read"));
}

static const struct {
    const char *mask, *isolated, *state, *now, *cpuset;
} masks[] = {
    {"0-1", "2-3", "fit", "isolcpus 2-3, nohz_full 2-3", "2 of 2 isolated CPUs"}, // as the kernel starts a process
    {"0-3", "2-3", "fit", "isolcpus 2-3, nohz_full 2-3", "2 of 2 isolated CPUs"},
    {"3", "2-3", "fit", "isolcpus 2-3, nohz_full 2-3", "1 of 2 isolated CPUs"},   // taskset
    {"0", "2-3", "unfit", "isolcpus 2-3, but this process is kept to 0", "1 of 4 CPUs"},
    {"1-2", "2-3", "note", "isolcpus 2-3, but measured on 1-2", "1 of 2 isolated CPUs"},
    {"0", "", "note", "isolcpus none, nohz_full 2-3", "1 of 4 CPUs"},
};

Test(doctor, isolation_is_worth_something_where_it_is_measured_on)
{
    char text[256];
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        snprintf(text, sizeof text, "Uid:\t0\t0\t0\t0\nSeccomp:\t0\nCpus_allowed_list:\t%s\nMems_allowed_list:\t0-1\n",
                 masks[i].mask);
        tree_file("/proc/self/status", text);
        tree_file(CPU_FOLDER "/isolated", masks[i].isolated);
        STATE("isolation", masks[i].state);
        NOW("isolation", masks[i].now);
        NOW("cpuset", masks[i].cpuset);
        cr_expect_eq(doctor.fit, strcmp(masks[i].state, "unfit") != 0, "%s of %s", masks[i].mask, masks[i].isolated);
    }
    tree_file("/proc/self/status", "Cpus_allowed_list:\t0\n");
    tree_file(CPU_FOLDER "/isolated", "2-3\n");
    cr_expect(strstr(look_for("isolation")->remedy, "--cpus 2-3"));
}

Test(doctor, isolation_needs_a_boot)
{
    tree_file(CPU_FOLDER "/nohz_full", "(null)\n");
    STATE("isolation", "note");
    NOW("isolation", "isolcpus 2-3, nohz_full none");
    COMMANDS("isolation", "", "");
    cr_expect(strstr(look_for("isolation")->remedy, "nohz_full="));
}
