// SPDX-License-Identifier: Apache-2.0
//
// Counters on a host: whose CPU it is, where uncore events live, what is counted, and the reason for what cannot be.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/counters/parts.h"
#include "topo/tests/tree.h"

TestSuite(counters_host, .init = tree_open, .fini = tree_close);

static void resolve_here(struct tb_counter_set *set)
{
    struct tb_cpu_id id;
    cr_assert_eq(tb_cpu_id_host("", &id), 0);
    cr_assert_eq(tb_counters_resolve(set, &id), 0);
}

static struct tb_counter *named(struct tb_counter_set *set, const char *name)
{
    int at = tb_counters_find(set, name);
    cr_assert_geq(at, 0, "%s", name);
    return &set->counter[at];
}

Test(counters_host, has_nothing_to_say_where_a_file_is_missing)
{
    char path[512], text[8] = "before";
    snprintf(path, sizeof path, "%s/nowhere", tree_root);
    cr_expect_eq(tb_small_file(path, text, sizeof text), -ENOENT);
    cr_expect_str_eq(text, "", "'%s': what nobody wrote would be read as a PMU's type", text);
}

// --- whose CPU -----------------------------------------------------------------------------------------------------------------

static void expect_host(const char *cpuinfo, const char *vendor, unsigned family, unsigned model, unsigned stepping)
{
    struct tb_cpu_id id;
    tree_file("/proc/cpuinfo", cpuinfo);
    cr_assert_eq(tb_cpu_id_read(tree_root, &id), 0);
    cr_expect_str_eq(id.vendor, vendor);
    cr_expect_eq(id.family, family, "%u", id.family);
    cr_expect_eq(id.model, model, "%u", id.model);
    cr_expect_eq(id.stepping, stepping, "%u", id.stepping);
}

Test(counters_host, is_named_in_three_manners)
{
    unsetenv("LOCUS_CPU");
    expect_host(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon 9\nstepping\t: 8\n\n"
        "processor\t: 1\nvendor_id\t: Other\n",
        "GenuineIntel", 6, 143, 8);
    expect_host(
        "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n",
        "ARM", 0x41, 0xd0c, 0);
    expect_host("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800MHz\n", "IBM", 9, 0, 0);
}

Test(counters_host, may_be_told_to_be_another)
{
    struct tb_cpu_id id;
    setenv("LOCUS_CPU", "AuthenticAMD:0x1a:2", 1);
    cr_expect_eq(tb_cpu_id_read("/nowhere", &id), 0);
    cr_expect_eq(id.family, 26);
    setenv("LOCUS_CPU", "nonsense", 1);
    cr_expect_eq(tb_cpu_id_read("", &id), -EINVAL);
    unsetenv("LOCUS_CPU");
    cr_expect_eq(tb_cpu_id_read("/nowhere", &id), -ENOENT);
    tree_file("/proc/cpuinfo", "processor\t: 0\n\nhart\t: 0\n");
    cr_expect_eq(tb_cpu_id_read(tree_root, &id), -ENODATA);
}

// --- reasons -------------------------------------------------------------------------------------------------------------------

static const struct tb_counter task = {.name = "task_clock", .attr = {.type = PERF_TYPE_SOFTWARE}};
static const struct tb_counter cycles = {.name = "cycles", .kind = TB_COUNTER_HARDWARE};
static const struct tb_counter cha = {.name = "cha", .kind = TB_COUNTER_UNCORE, .device = "uncore_cha"};

Test(counters_host, says_what_is_in_the_way_and_what_helps)
{
    static const struct {
        const struct tb_counter *counter;
        int error;
        struct tb_counter_host host;
        const char *words[3];
    } cases[] = {
        {&cycles, EACCES, {.paranoid = 3}, {"perf_event_paranoid is 3", "kernel.perf_event_paranoid=1", "CAP_PERFMON"}},
        {&cha, EACCES, {.paranoid = 2}, {"perf_event_paranoid is 2", "kernel.perf_event_paranoid=0", ""}},
        {&cycles, EPERM, {0}, {"EPERM", "seccomp", "CAP_PERFMON"}},
        {&cycles, ENOSYS, {0}, {"ENOSYS", "CONFIG_PERF_EVENTS", ""}},
        {&cycles, EMFILE, {.files_max = 1024}, {"EMFILE", "ulimit -n is 1024", ""}},
        {&cycles, EBUSY, {0}, {"EBUSY", "nmi_watchdog", ""}},
        {&cycles, ENOENT, {.hypervisor = true}, {"virtual machine has no PMU", "ENOENT", "pmu=on"}},
        {&cycles, EOPNOTSUPP, {.hypervisor = true}, {"virtual machine has no PMU", "EOPNOTSUPP", ""}},
        {&cycles, ENOENT, {0}, {"this CPU or its kernel driver", "ENOENT", ""}},
        {&cycles, ENODEV, {0}, {"this CPU or its kernel driver", "ENODEV", ""}},
        {&cycles, EINVAL, {.hypervisor = true}, {"no such event", "EINVAL", ""}},
        {&task, ENOENT, {.hypervisor = true}, {"this kernel does not count it", "ENOENT", ""}},
        {&cha, ENOENT, {0}, {"uncore_cha", "/sys/bus/event_source/devices", "module"}},
        {&cha, ENOENT, {.hypervisor = true}, {"virtual machine", "package", ""}},
        {&cycles, ENOMEM, {0}, {"Cannot allocate memory", "", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[TB_COUNTER_WHY];
        tb_counter_say(cases[i].counter, cases[i].error, &cases[i].host, why, sizeof why);
        cr_expect(strncmp(why, "not supported: ", 15) == 0, "%s", why);
        cr_expect_lt(strlen(why), sizeof why - 1, "cut: %s", why);
        for (int w = 0; w < 3; w++)
            cr_expect(strstr(why, cases[i].words[w]), "'%s' is not in: %s", cases[i].words[w], why);
    }
}

Test(counters_host, is_read_from_the_kernels_files)
{
    struct tb_counter_host host;
    tb_counter_host_read(tree_root, &host);
    cr_expect_eq(host.paranoid, INT_MIN);
    cr_expect_not(host.hypervisor);
    tree_file("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    tree_file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lm\n");
    tb_counter_host_read(tree_root, &host);
    cr_expect_eq(host.paranoid, -1);
    cr_expect(host.hypervisor);
}

// --- counting ------------------------------------------------------------------------------------------------------------------

#define PAGES 300u

static void touch_fresh_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)memory)[i * page] = 1;
    munmap(memory, PAGES * page);
}

// The value of one counter of this process for what `work` does between start and stop, `spans` times, and nothing else.
static struct tb_counter_value counted(struct tb_counter_set *set, const char *name, void (*work)(void), unsigned spans)
{
    struct tb_counter_value values[TB_COUNTERS_MAX];
    struct tb_counters *counters;
    cr_assert_eq(tb_counters_open(&counters, set, tb_counters_on(set, 0, 0)), 0);
    for (unsigned span = 0; span < spans; span++) {
        touch_fresh_pages(); // before it counts
        tb_counters_start(counters);
        work();
        tb_counters_stop(counters);
        touch_fresh_pages(); // and after
    }
    tb_counters_read(counters, values);
    tb_counters_close(counters);
    return values[tb_counters_find(set, name)];
}

static void probe_or_skip(struct tb_counter_set *set)
{
    resolve_here(set);
    tb_counters_probe(set);
    if (named(set, "minor_faults")->error)
        cr_skip_test("%s", named(set, "minor_faults")->why);
}

Test(counters_host, counts_the_faults_between_start_and_stop)
{
    struct tb_counter_set set;
    probe_or_skip(&set);
    struct tb_counter_value value = counted(&set, "minor_faults", touch_fresh_pages, 1);
    cr_expect_eq(value.error, 0);
    cr_expect_geq(value.value, PAGES);
    cr_expect_lt(value.value, 2 * PAGES, "%llu: more than was between start and stop", (unsigned long long)value.value);
    cr_expect_gt(value.enabled_ns, 0);
    cr_expect_eq(value.running_ns, value.enabled_ns);
}

// Those that follow a group's leader, too.
Test(counters_host, adds_up_over_spans)
{
    static const char *const names[] = {"task_clock", "page_faults", "minor_faults"};
    struct tb_counter_set set;
    probe_or_skip(&set);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct tb_counter_value value = counted(&set, names[i], touch_fresh_pages, 3);
        cr_expect_eq(value.running_ns, value.enabled_ns, "%s ran for %llu of %llu ns", names[i],
                     (unsigned long long)value.running_ns, (unsigned long long)value.enabled_ns);
        if (i > 0) {
            cr_expect_geq(value.value, 3 * PAGES, "%s: %llu", names[i], (unsigned long long)value.value);
            cr_expect_lt(value.value, 4 * PAGES, "%s: %llu", names[i], (unsigned long long)value.value);
        }
    }
}

// Another thread, which knows nothing of being counted.
static _Atomic int state;

static void *other_thread(void *nothing)
{
    while (atomic_load(&state) == 0)
        usleep(100);
    touch_fresh_pages();
    atomic_store(&state, 2);
    while (atomic_load(&state) == 2)
        usleep(100);
    return nothing;
}

static void let_other_work(void)
{
    atomic_store(&state, 1);
    while (atomic_load(&state) == 1)
        usleep(100);
}

Test(counters_host, counts_every_thread_of_the_process)
{
    struct tb_counter_set set;
    pthread_t thread;
    probe_or_skip(&set);
    cr_assert_eq(pthread_create(&thread, NULL, other_thread, NULL), 0);
    struct tb_counter_value value = counted(&set, "minor_faults", let_other_work, 1);
    atomic_store(&state, 3);
    pthread_join(thread, NULL);
    cr_expect_geq(value.value, PAGES);
}

Test(counters_host, tells_what_was_not_its_turn_from_what_failed)
{
    struct tb_counter_set set;
    struct tb_counter_value values[TB_COUNTERS_MAX];
    struct tb_counters *counters;
    probe_or_skip(&set);
    int faults = tb_counters_find(&set, "minor_faults"), clock = tb_counters_find(&set, "task_clock");
    cr_assert_eq(tb_counters_open(&counters, &set, UINT64_C(1) << faults), 0);
    tb_counters_read(counters, values);
    cr_expect_eq(values[clock].error, ENODATA);
    cr_expect_eq(values[faults].error, 0);
    tb_counters_close(counters);
    tb_counters_start(NULL); // of a process that could open none
    tb_counters_stop(NULL);
    tb_counters_close(NULL);
}

Test(counters_host, ends_with_the_limit_of_files_and_goes_on)
{
    struct tb_counter_set set;
    struct tb_counter_value values[TB_COUNTERS_MAX];
    struct tb_counters *counters;
    struct rlimit files = {3, 3}, before;
    probe_or_skip(&set);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    cr_assert_geq(next, 0);
    files = (struct rlimit){(rlim_t)next + 2, before.rlim_max}; // two: the folder of the threads, and one counter
    close(next);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    cr_expect_eq(tb_counters_open(&counters, &set, tb_counters_on(&set, 0, 0)), 0);
    tb_counters_start(counters);
    tb_counters_stop(counters);
    tb_counters_read(counters, values);
    tb_counters_close(counters);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned i = 1; i < 6; i++)
        cr_expect_eq(values[i].error, EMFILE, "%s: %d", set.counter[i].name, values[i].error);
}

Test(counters_host, has_not_the_events_of_another_cpu)
{
    struct tb_counter_set set;
    struct tb_cpu_id id, here;
    cr_assert_eq(tb_cpu_id_host("", &here), 0);
    tb_cpu_id_parse(strcmp(here.vendor, "ARM") ? "ARM:0x41:0xd0c" : "AuthenticAMD:26:2", &id);
    tb_counters_resolve(&set, &id);
    tb_counters_probe(&set);
    for (unsigned i = 0; i < set.count; i++)
        if (set.counter[i].kind == TB_COUNTER_MEMORY)
            cr_expect(set.counter[i].error && strncmp(set.counter[i].why, "not supported: ", 15) == 0, "%s", set.counter[i].name);
}

// --- without privileges --------------------------------------------------------------------------------------------------------

// Root has every right, so the question is asked by somebody who has none, on a kernel at its usual level.
Test(counters_host, counts_user_mode_only_where_the_kernel_may_not_be_counted)
{
    struct tb_counter_set set;
    struct tb_counter_host host;
    tb_counter_host_read("", &host);
    resolve_here(&set);
    if (host.paranoid != 2 || geteuid() != 0)
        cr_skip_test("needs root, and kernel.perf_event_paranoid 2");
    cr_assert_eq(setresuid(65534, 65534, 65534), 0);
    tb_counters_probe(&set);
    cr_expect_eq(named(&set, "minor_faults")->error, 0, "%s", named(&set, "minor_faults")->why);
    cr_expect(named(&set, "minor_faults")->attr.exclude_kernel);
    cr_expect_eq(named(&set, "context_switches")->error, EACCES, "0 would be no answer");
    cr_expect(strstr(named(&set, "context_switches")->why, "perf_event_paranoid is 2"));
    cr_expect_geq(counted(&set, "minor_faults", touch_fresh_pages, 1).value, PAGES);
}

// --- uncore --------------------------------------------------------------------------------------------------------------------

#define DEVICES "/sys/bus/event_source/devices/"

struct seen {
    unsigned count;
    struct perf_event_attr attr[8];
    int cpu[8];
};

static int note(void *context, const struct perf_event_attr *attr, int cpu)
{
    struct seen *seen = context;
    cr_assert_lt(seen->count, 8);
    seen->attr[seen->count] = *attr;
    seen->cpu[seen->count++] = cpu;
    return 0;
}

static void put_cha(const char *name, const char *type)
{
    char path[256];
    const char *const files[][2] = {{"type", type},
                                    {"cpumask", "0,18\n"},
                                    {"format/event", "config:0-7\n"},
                                    {"format/umask", "config:8-15,32-33\n"},
                                    {"format/rdwrmask", "config1:4-5\n"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, DEVICES "%s/%s", name, files[i][0]);
        tree_file(path, files[i][1]);
    }
}

static void has_code(struct tb_counter *counter, const char *code)
{
    snprintf(counter->code, sizeof counter->code, "%s", code);
}

Test(counters_host, opens_uncore_events_on_each_device_and_package)
{
    struct seen seen = {0};
    struct tb_counter counter = cha;
    put_cha("uncore_cha_0", "42\n");
    put_cha("uncore_cha_1", "43\n");
    put_cha("uncore_cha_free_running_0", "44\n");
    put_cha("uncore_chamber", "45\n");
    has_code(&counter, "event=0x50,umask=0x301,rdwrmask=2");
    cr_assert_eq(tb_uncore_each(tree_root, &counter, note, &seen), 0);
    cr_assert_eq(seen.count, 4, "%u", seen.count);
    cr_expect_eq(seen.attr[0].type + seen.attr[2].type, 85);
    cr_expect_eq(seen.attr[0].config, UINT64_C(0x300000150));
    cr_expect_eq(seen.attr[0].config1, 0x20);
    cr_expect_eq(seen.cpu[0], 0);
    cr_expect_eq(seen.cpu[1], 18);
}

Test(counters_host, refuses_uncore_events_that_the_device_has_no_field_for)
{
    struct seen seen = {0};
    struct tb_counter counter = cha;
    has_code(&counter, "event=0x50");
    cr_expect_eq(tb_uncore_each(tree_root, &counter, note, &seen), -ENOENT);
    put_cha("uncore_cha", "42\n");
    cr_expect_eq(tb_uncore_each(tree_root, &counter, note, &seen), 0, "a device without a number is one, too");
    has_code(&counter, "event=0x50,slice=1");
    cr_expect_eq(tb_uncore_each(tree_root, &counter, note, &seen), -EINVAL);
    has_code(&counter, "event=0x150");
    cr_expect_eq(tb_uncore_each(tree_root, &counter, note, &seen), -EINVAL, "too large for its bits");
    has_code(&counter, "event");
    cr_expect_eq(tb_uncore_each(tree_root, &counter, note, &seen), -EINVAL);
    cr_expect_eq(seen.count, 2);
}
