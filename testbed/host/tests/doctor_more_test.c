// SPDX-License-Identifier: Apache-2.0
//
// The doctor on neighbours, memory, limits and machines; what it tells people, programs and logs; and its scripts, run on a tree.

#include "testbed/base/tests/golden.h"
#include "testbed/base/tests/json_says.h"
#include "testbed/host/tests/doctor_fixture.h"
#include "testbed/doc/emit.h"

TestSuite(doctor_more, .init = fit_host, .fini = close_host);

// --- machines ------------------------------------------------------------------------------------------------------------------

Test(doctor_more, machines_are_metal_virtual_or_emulated)
{
    NOW("machine", "bare metal (PowerBox R1)");
    tree_file("/proc/cpuinfo", "model name\t: Example\nflags\t\t: fpu hypervisor tsc\n");
    STATE("machine", "note");
    NOW("machine", "virtual (PowerBox R1)");
    tree_file("/proc/cpuinfo", "model name\t: QEMU TCG CPU version 2.5+\nflags\t\t: fpu\n");
    STATE("machine", "unfit");
    NOW("machine", "emulated (QEMU TCG)");
    tree_file("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n"); // no flags, as on Arm: only the firmware can tell
    STATE("machine", "fit");
    tree_file("/sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
    STATE("machine", "note");
    tree_without("/sys/class/dmi");
    STATE("machine", "note");
    NOW("machine", "neither");
}

Test(doctor_more, a_clock_without_tsc_has_a_remedy)
{
    tree_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    tree_file("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm\n");
    STATE("clocksource", "unfit");
    COMMANDS("clocksource", "", "");
    cr_expect(strstr(look_for("clocksource")->remedy, "dmesg"));
}

Test(doctor_more, mitigations_and_aslr_are_noted_and_never_changed)
{
    tree_file(CPU_FOLDER "/vulnerabilities/meltdown", "Mitigation: PTI\n");
    tree_file(CPU_FOLDER "/vulnerabilities/mds", "Vulnerable; SMT vulnerable\n");
    STATE("mitigations", "note");
    NOW("mitigations", "1 mitigated, 1 open, of 2; microcode 0x2b");
    tree_file("/proc/sys/kernel/randomize_va_space", "0\n");
    STATE("aslr", "note");
    COMMANDS("aslr", "", "");
    COMMANDS("mitigations", "", "");
    cr_expect(doctor.fit);
}

// --- neighbours ----------------------------------------------------------------------------------------------------------------

Test(doctor_more, others_at_work_are_seen)
{
    tree_file("/proc/stat.later", "cpu  115 0 100 9885 0 0 0 0 0 0\ncpu0\ncpu1\ncpu2\ncpu3\n"); // 15 of 100 ticks
    STATE("load", "unfit");
    NOW("load", "others keep 0.6 of 4 CPUs busy; load 0.10 0.20 0.30");
    tree_file("/proc/stat.later", "cpu  109 0 100 9891 0 0 0 0 0 0\ncpu0\ncpu1\ncpu2\ncpu3\n");
    STATE("load", "fit");
    tree_file("/proc/stat.later", "cpu  100 0 100 9899 0 0 0 1 0 0\ncpu0\n"); // a hundredth, and no more
    STATE("steal", "fit");
    tree_file("/proc/stat.later", "cpu  100 0 100 9898 0 0 0 2 0 0\ncpu0\n");
    STATE("steal", "unfit");
    tree_file("/proc/stat", "cpu  100 0 100 9800 0 0 0 50 0 0\ncpu0\n");
    tree_file("/proc/stat.later", "cpu  100 0 100 9900 0 0 0 50 0 0\ncpu0\n");
    STATE("steal", "note");
    tree_without("/proc/stat.later");
    STATE("load", "unknown");
    STATE("steal", "unknown");
}

Test(doctor_more, a_whole_busy_cpu_is_one_too_many_on_a_large_host)
{
    char text[4096] = "cpu  500 0 100 31300 0 0 0 0 0 0\n"; // 400 of 25600 ticks since the first reading: 1.5 of 96 CPUs
    tree_file("/proc/stat", "cpu  100 0 100 6100 0 0 0 0 0 0\ncpu0\n");
    for (int cpu = 0; cpu < 96; cpu++)
        sprintf(text + strlen(text), "cpu%d\n", cpu);
    tree_file("/proc/stat.later", text);
    STATE("load", "unfit");
    NOW("load", "1.5 of 96");
}

Test(doctor_more, pressure_is_read_of_each_resource)
{
    tree_file("/proc/pressure/cpu", "some avg10=5.00 avg60=0.00 avg300=0.00 total=0\n");
    STATE("pressure", "fit");
    tree_file("/proc/pressure/cpu", "some avg10=5.01 avg60=0.00 avg300=0.00 total=0\n");
    STATE("pressure", "unfit");
    tree_file("/proc/pressure/cpu", "some avg10=0.00 avg60=9.00 avg300=9.00 total=0\n");
    tree_file("/proc/pressure/memory", "some avg10=1.10 avg60=0.00 avg300=0.00 total=0\n");
    STATE("pressure", "unfit");
    tree_file("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    tree_file("/proc/pressure/io", "some avg10=30.00 avg60=0.00 avg300=0.00 total=0\n");
    STATE("pressure", "note");
}

Test(doctor_more, heat_is_remembered)
{
    file_of(CPU_FOLDER "/cpu%d/thermal_throttle/core_throttle_count", 1, "3\n");
    file_of(CPU_FOLDER "/cpu%d/thermal_throttle/package_throttle_count", 2, "4\n");
    STATE("throttling", "note");
    NOW("throttling", "7 thermal events");
}

static void daemon_runs(const char *name, const char *command, size_t bytes)
{
    char path[512];
    tree_file("/proc/77/comm", name);
    snprintf(path, sizeof path, "%s/proc/77/cmdline", tree_root);
    FILE *file = fopen(path, "w");
    cr_assert(file && fwrite(command, 1, bytes, file) == bytes);
    fclose(file);
}

Test(doctor_more, a_daemon_is_stopped_and_started_as_it_was)
{
    static const char command[] = "/usr/sbin/irqbalance\0--foreground\0--banmod=a b";
    daemon_runs("irqbalance\n", command, sizeof command);
    STATE("irqbalance", "note");
    COMMANDS("irqbalance", "kill 77", "/usr/sbin/irqbalance --foreground '--banmod=a b' >/dev/null 2>&1 &");
    tree_file("/run/systemd/system/x", "");
    COMMANDS("irqbalance", "systemctl stop irqbalance.service", "systemctl start irqbalance.service");
    daemon_runs("numad\n", "numad", sizeof "numad");
    STATE("numad", "unfit");
    STATE("irqbalance", "fit");
    tree_without("/run");
    COMMANDS("numad", "kill 77", "numad");
    tree_without("/proc/77/cmdline");
    COMMANDS("numad", "", "");
    cr_expect(look_for("numad")->remedy[0]);
}

// --- memory and limits ---------------------------------------------------------------------------------------------------------

Test(doctor_more, each_node_needs_memory_that_can_be_had)
{
    tree_node(1, "2-3\n", "21 10\n", 1000000, 99000); // and 123 KiB of file pages and slabs (tree.h)
    STATE("node-memory", "unfit");
    NOW("node-memory", "least on node1: 96 of 976 MiB to be had (9 %)");
    tree_node(1, "2-3\n", "21 10\n", 1000000, 99900);
    STATE("node-memory", "note"); // file pages make up for it
    tree_node(1, "2-3\n", "21 10\n", 0, 0); // has CPUs only
    STATE("node-memory", "fit");
    tree_file(NODE_DIRECTORY "/node1/meminfo", "Node 1 MemTotal: 1000 kB\n");
    STATE("node-memory", "unknown");
}

Test(doctor_more, huge_pages_are_even_or_none)
{
    NOW("huge-pages", "2048kB: 16 16");
    file_of(NODE_DIRECTORY "/node%d/hugepages/hugepages-2048kB/nr_hugepages", 1, "0\n");
    STATE("huge-pages", "note");
    NOW("huge-pages", "2048kB: 16 0");
    file_of(NODE_DIRECTORY "/node%d/hugepages/hugepages-2048kB/nr_hugepages", 0, "0\n");
    STATE("huge-pages", "fit");
    NOW("huge-pages", "none reserved");
}

Test(doctor_more, the_tightest_level_of_a_cgroup_counts)
{
    tree_file("/sys/fs/cgroup/user.slice/a/cpu.max", "800000 100000\n");
    tree_file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    STATE("cpu-quota", "unfit");
    NOW("cpu-quota", "time of 1.5 CPUs");
    tree_file("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    STATE("memory-limit", "note");
    NOW("memory-limit", "1024 MiB");
    tree_file("/sys/fs/cgroup/user.slice/a/memory.max", "536870912\n");
    NOW("memory-limit", "512 MiB");
    tree_file("/sys/fs/cgroup/user.slice/a/memory.high", "536870912\n");
    STATE("memory-limit", "unfit");
    NOW("memory-limit", "memory.high 512 MiB");
}

Test(doctor_more, cgroups_of_version_1_have_limits_as_well)
{
    tree_without("/sys/fs/cgroup");
    tree_file("/proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n");
    tree_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    tree_file("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    tree_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    STATE("cpu-quota", "fit");
    STATE("memory-limit", "fit");
    tree_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
    NOW("cpu-quota", "time of 2 CPUs");
    tree_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2147483648\n");
    NOW("memory-limit", "2048 MiB");
    tree_without("/sys/fs/cgroup");
    STATE("cpu-quota", "unknown"); // there are cgroups, and they are not to be seen
}

// --- what is told --------------------------------------------------------------------------------------------------------------

static void spoil_all(void)
{
    for (int cpu = 0; cpu < 4; cpu++) {
        file_of(CPU_FOLDER "/cpufreq/policy%d/scaling_governor", cpu, cpu % 2 ? "powersave\n" : "schedutil\n");
        file_of(CPU_FOLDER "/cpufreq/policy%d/energy_performance_preference", cpu, cpu % 2 ? "power\n" : "balance_power\n");
        file_of(CPU_FOLDER "/cpu%d/cpuidle/state2/disable", cpu, cpu == 3 ? "1\n" : "0\n");
    }
    tree_file(CPU_FOLDER "/cpufreq/boost", "1\n");
    tree_file(CPU_FOLDER "/smt/control", "on\n");
    tree_file(CPU_FOLDER "/smt/active", "1\n");
    tree_file(THP_FOLDER "/enabled", "always\n"); // a plain file holds what was written, without brackets
    tree_file(THP_FOLDER "/defrag", "defer+madvise\n");
    tree_file(THP_FOLDER "/khugepaged/defrag", "1\n");
    tree_file("/sys/kernel/mm/ksm/run", "1\n");
    tree_file("/sys/kernel/mm/numa/demotion_enabled", "true\n");
    tree_file("/proc/sys/kernel/numa_balancing", "1\n");
    tree_file("/proc/sys/kernel/nmi_watchdog", "1\n");
    tree_file("/proc/sys/kernel/perf_event_paranoid", "4\n");
    tree_file("/proc/sys/vm/zone_reclaim_mode", "1\n");
    tree_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
}

enum { SPOILT = 14, SPOILING = 9 }; // all of the above; without smt, khugepaged, thp-defrag, nmi-watchdog, perf-paranoid

static void page_is(const char *path, bool full)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct tb_doc *doc = tb_doctor_doc(NULL, &doctor, full);
    cr_assert_eq(tb_emit_text(out, doc, (struct tb_report_style){.columns = 80}), 0);
    fclose(out);
    golden(path, text);
    tb_doc_close(doc);
    free(text);
}

static void answer_is(const char *wanted)
{
    char answer[TB_DOCTOR_ANSWER];
    tb_doctor_answer(&doctor, answer, sizeof answer);
    cr_expect_str_eq(answer, wanted);
}

Test(doctor_more, the_answer_names_what_decides)
{
    look_for("thp");
    answer_is("Fit to measure.");
    page_is("testbed/host/tests/golden/doctor_fit.txt", false);
    tree_file(THP_FOLDER "/enabled", "[always] madvise never\n");
    tree_unreadable("/proc/swaps");
    tree_unreadable(CPU_FOLDER "/smt/control"); // unknown, but it decides nothing
    look_for("thp");
    answer_is("1 thing can spoil a figure: thp; 1 cannot be seen: swap.");
    page_is("testbed/host/tests/golden/doctor_unfit.txt", false);
    tree_file(THP_FOLDER "/enabled", "always [madvise] never\n");
    look_for("thp");
    answer_is("Not known to be fit; 1 cannot be seen: swap.");
}

Test(doctor_more, a_page_in_80_columns_with_whole_commands)
{
    spoil_all();
    look_for("thp");
    page_is("testbed/host/tests/golden/doctor_spoilt.txt", false);
    page_is("testbed/host/tests/golden/doctor_full.txt", true);
}

Test(doctor_more, programs_get_all_of_it)
{
    spoil_all();
    look_for("thp");
    struct tb_doc *doc = tb_doctor_doc(NULL, &doctor, false);
    json_t *object = tb_doc_as_json(doc), *finding;
    cr_assert_not_null(object);
    tb_doc_close(doc);
    cr_expect(json_is_false(json_object_get(object, "fit")));
    cr_expect_eq(json_integer_value(json_object_get(object, "unfit")), SPOILING);
    size_t i, knobs = 0;
    json_array_foreach (json_object_get(object, "findings"), i, finding) {
        static const char *const members[] = {"id",  "state",  "decides", "now",    "wanted",
                                              "why", "change", "restore", "remedy", "knobs"};
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            cr_expect_not_null(json_object_get(finding, members[m]), "%s", members[m]);
        knobs += json_array_size(json_object_get(finding, "knobs"));
        if (strcmp(text_at(finding, "id"), "governor"))
            continue;
        const json_t *knob = json_array_get(json_object_get(finding, "knobs"), 1);
        cr_expect_eq(json_array_size(json_object_get(finding, "knobs")), 8);
        cr_expect_str_eq(text_at(knob, "path"), CPU_FOLDER "/cpufreq/policy1/scaling_governor");
        cr_expect_str_eq(text_at(knob, "now"), "powersave");
        cr_expect_str_eq(text_at(knob, "wanted"), "performance");
        knob = json_array_get(json_object_get(finding, "knobs"), 5);
        cr_expect_str_eq(text_at(knob, "path"), CPU_FOLDER "/cpufreq/policy1/energy_performance_preference");
        cr_expect(json_is_null(json_object_get(knob, "wanted")));
    }
    cr_expect_eq(knobs, 8 + 3 + (SPOILT - 2)); // governors with preferences, idle states, and one file each
    json_decref(object);
}

Test(doctor_more, a_log_gets_the_short_form)
{
    char said[200];
    look_for("thp");
    json_t *header = json_pack("{s:o}", "doctor", tb_doctor_header(&doctor));
    cr_expect(tb_doctor_header_says(header, said, sizeof said));
    cr_expect_str_eq(said, "fit");
    json_decref(header);
    tree_file(THP_FOLDER "/enabled", "[always] madvise never\n");
    tree_file("/proc/sys/kernel/nmi_watchdog", "1\n"); // a note, and not named
    tree_unreadable("/proc/swaps");
    tree_unreadable(CPU_FOLDER "/smt/control"); // unknown, but it decides nothing
    look_for("thp");
    header = json_pack("{s:o}", "doctor", tb_doctor_header(&doctor));
    cr_expect_not(tb_doctor_header_says(header, said, sizeof said));
    cr_expect_str_eq(said, "1 finding: thp; not to be seen: swap");
    const json_t *thp = json_object_get(json_object_get(json_object_get(header, "doctor"), "findings"), "thp");
    cr_expect_str_eq(text_at(thp, "state"), "unfit");
    cr_expect_str_eq(text_at(thp, "now"), "always");
    json_decref(header);
    tree_file(THP_FOLDER "/enabled", "always [madvise] never\n");
    look_for("thp");
    header = json_pack("{s:o}", "doctor", tb_doctor_header(&doctor));
    cr_expect_not(tb_doctor_header_says(header, said, sizeof said));
    cr_expect_str_eq(said, "not known to be fit: swap");
    json_decref(header);
    header = json_object(); // a log of before
    cr_expect_not(tb_doctor_header_says(header, said, sizeof said));
    cr_expect_str_eq(said, "");
    json_decref(header);
}

// --- the scripts, on the tree --------------------------------------------------------------------------------------------------

// Writes the script into the tree's neighbourhood, with the tree's folder before each path of the host. Returns the shell's status.
static int script_run(bool restore, const char *shell)
{
    char path[96], command[1024];
    snprintf(path, sizeof path, "%s.script", tree_root);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(tb_doctor_script(file, &doctor, restore), 0);
    fclose(file);
    snprintf(command, sizeof command, "sed -E 's,([ >])(/sys/|/proc/),\\1%s\\2,g' %s >%s.here && %s %s.here 2>%s.err", tree_root,
             path, path, shell, path, path);
    return system(command);
}

static void tree_sums(const char *out)
{
    char command[512];
    snprintf(command, sizeof command, "cd %s && find . -type f | sort | xargs cat >%s", tree_root, out);
    cr_assert_eq(system(command), 0);
}

static bool same_bytes(const char *first, const char *second)
{
    char command[256];
    snprintf(command, sizeof command, "cmp -s %s %s", first, second);
    return system(command) == 0;
}

Test(doctor_more, change_makes_it_fit_and_restore_brings_back_each_byte)
{
    static const char *const shells[] = {"sh", "bash", "busybox sh"};
    char before[96], changed[96], after[96];
    snprintf(before, sizeof before, "%s.before", tree_root);
    snprintf(changed, sizeof changed, "%s.changed", tree_root);
    snprintf(after, sizeof after, "%s.after", tree_root);
    spoil_all();
    tree_sums(before);
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        char there[64];
        snprintf(there, sizeof there, "%s -c true 2>/dev/null", shells[i]);
        if (system(there))
            continue;
        static struct tb_doctor spoilt;
        look_for("thp");
        cr_expect_eq(doctor.states[TB_FINDING_UNFIT], SPOILING);
        spoilt = doctor;
        doctor = (struct tb_doctor){0};
        look_for("thp");
        cr_expect_eq(script_run(false, shells[i]), 0, "%s", shells[i]);
        tree_sums(changed);
        cr_expect_not(same_bytes(before, changed));
        look_for("thp");
        cr_expect(doctor.fit, "%s", shells[i]);
        cr_expect_eq(doctor.states[TB_FINDING_NOTE], 0);
        tb_doctor_close(&doctor);
        doctor = spoilt;
        cr_expect_eq(script_run(true, shells[i]), 0, "%s", shells[i]);
        tree_sums(after);
        cr_expect(same_bytes(before, after), "%s: something is not as it was", shells[i]);
        cr_expect_eq(script_run(true, shells[i]), 0, "%s, again", shells[i]);
        tree_sums(after);
        cr_expect(same_bytes(before, after), "%s, again", shells[i]);
    }
    char clean[128];
    snprintf(clean, sizeof clean, "rm -f %s.*", tree_root);
    cr_expect_eq(system(clean), 0);
}

// A sibling that is offline has no files: it has to be back before they are restored, and to go last.
Test(doctor_more, siblings_go_last_and_come_back_first)
{
    char *text = NULL;
    size_t bytes = 0;
    spoil_all();
    look_for("thp");
    for (int restore = 0; restore < 2; restore++) {
        FILE *out = open_memstream(&text, &bytes);
        cr_assert_eq(tb_doctor_script(out, &doctor, restore), 0);
        fclose(out);
        const char *smt = strstr(text, "# smt: "), *governor = strstr(text, "# governor: "),
                   *idle = strstr(text, "# idle-states: ");
        cr_assert(smt && governor && idle);
        cr_expect_eq(smt > governor && smt > idle, !restore);
        free(text);
    }
}

Test(doctor_more, a_script_goes_on_where_a_line_fails_and_names_it)
{
    char said[128] = "", path[96];
    spoil_all();
    look_for("thp");
    tree_unreadable("/proc/sys/kernel/numa_balancing"); // since it looked: a folder cannot be written
    cr_expect_neq(script_run(false, "sh"), 0);
    snprintf(path, sizeof path, "%s.script.err", tree_root);
    FILE *file = fopen(path, "r");
    while (file && fgets(said, sizeof said, file) && strncmp(said, "failed:", 7)) {}
    if (file)
        fclose(file);
    cr_expect_str_eq(said, "failed: numa-balancing\n");
    STATE("ksm", "fit"); // which came later
    char clean[128];
    snprintf(clean, sizeof clean, "rm -f %s.*", tree_root);
    cr_expect_eq(system(clean), 0);
}
