// SPDX-License-Identifier: Apache-2.0
//
// The environment of hosts that lack things, built in a temporary folder, and of this one.

#include <errno.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/base/sha256.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "topo/tests/tree.h"

TestSuite(environment, .init = tree_open, .fini = tree_close);

#define ARRAY(...) ((const char *const[]){__VA_ARGS__, NULL})

// "member/key/..." as a borrowed value, NULL when there is none. Names with a slash in them are not asked for.
static const json_t *at(const json_t *object, const char *path)
{
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest))
        object = json_object_get(object, name);
    return object;
}

static const char *text_at(const json_t *object, const char *path)
{
    const char *text = json_string_value(at(object, path));
    return text ? text : "(no string)";
}

// Everything that environment.h names, as leaves or objects.
static const char *const members[] = {
    "kernel/release",
    "kernel/version",
    "kernel/machine",
    "kernel/command_line",
    "kernel/perf_event_paranoid",
    "cpu/vendor",
    "cpu/model",
    "cpu/family",
    "cpu/model_number",
    "cpu/stepping",
    "cpu/microcode",
    "cpu/online",
    "cpu/allowed",
    "cpu/isolated",
    "cpu/nohz_full",
    "cpu/smt_control",
    "cpu/smt_active",
    "mitigations",
    "clock/current",
    "clock/available",
    "aslr/randomize_va_space",
    "aslr/disabled_here",
    "load",
    "frequency/driver",
    "frequency/governor",
    "frequency/energy_preference",
    "frequency/khz_min",
    "frequency/khz_max",
    "frequency/boost",
    "frequency/no_turbo",
    "idle/driver",
    "idle/governor",
    "idle/states",
    "thp/enabled",
    "thp/defrag",
    "thp/shmem_enabled",
    "thp/khugepaged_defrag",
    "numa/balancing",
    "numa/zone_reclaim_mode",
    "numa/demotion",
    "memory/total_kib",
    "memory/free_kib",
    "memory/available_kib",
    "memory/swap_total_kib",
    "memory/swappiness",
    "memory/overcommit_memory",
    "nodes",
    "hwloc/version",
    "hwloc/xml",
    "dmi/sys_vendor",
    "dmi/product_name",
    "dmi/product_version",
    "dmi/board_vendor",
    "dmi/board_name",
    "dmi/board_version",
    "dmi/bios_vendor",
    "dmi/bios_version",
    "dmi/bios_date",
    "cgroup/version",
    "build/compiler",
    "build/flags",
    "build/commit",
    "build/dirty",
    "build/binary_sha256",
    "build/lap_sha256",
    "libc/version",
    "libc/file",
    "libc/sha256",
    "guest",
};

// Of these, what is not read from files below the root.
static bool lives_elsewhere(const char *member)
{
    const char *const names[] = {"kernel/machine", "aslr/disabled_here", "hwloc/version", "build/", "libc/", "guest"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(member, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void expect_members(const json_t *environment)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        cr_expect_not_null(at(environment, members[i]), "%s is missing", members[i]);
}

// Strings, numbers, and objects of these.
static void expect_plain(const json_t *value, const char *name)
{
    const char *key;
    json_t *child;
    cr_expect(json_is_string(value) || json_is_number(value) || json_is_object(value), "%s is something else", name);
    json_object_foreach ((json_t *)(uintptr_t)value, key, child)
        expect_plain(child, key);
}

Test(environment, writes_absent_for_everything_a_host_lacks)
{
    json_t *environment = tb_environment(tree_root);
    cr_assert_not_null(environment);
    expect_members(environment);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!lives_elsewhere(members[i]))
            cr_expect_str_eq(text_at(environment, members[i]), "ABSENT", "%s", members[i]);
    json_decref(environment);
}

Test(environment, writes_absent_for_counters_that_a_host_lacks)
{
    json_t *counters = tb_environment_counters(tree_root);
    for (const char *const *path = ARRAY("nodes", "vmstat", "throttle/thermal", "throttle/cgroup", "context_switches/host",
                                         "steal_ticks", "pressure/cpu", "pressure/memory", "pressure/io");
         *path; path++)
        cr_expect_str_eq(text_at(counters, *path), "ABSENT", "%s", *path);
    json_decref(counters);
}

// As nobody, for whom permissions count; root reads everything. The status of the child is that of its asserts.
static int as_nobody(int (*check)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(geteuid() == 0 && (setgid(65534) || setuid(65534)) ? 9 : check());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int check_forbidden(void)
{
    json_t *environment = tb_environment(tree_root), *counters = tb_environment_counters(tree_root);
    int wrong = 0;
    for (const char *const *path = ARRAY("kernel/command_line", "cpu/model", "dmi/board_name", "nodes", "mitigations", "load");
         *path; path++)
        wrong += strcmp(text_at(environment, *path), "FORBIDDEN") != 0;
    wrong += strcmp(text_at(counters, "vmstat"), "FORBIDDEN") != 0;
    wrong += strcmp(text_at(environment, "dmi/board_vendor"), "Maker") != 0;
    wrong += strcmp(text_at(environment, "cpu/online"), "ABSENT") != 0;
    json_decref(environment);
    json_decref(counters);
    return wrong;
}

Test(environment, writes_forbidden_for_what_may_not_be_read)
{
    tree_file("/proc/cmdline", "quiet\n");
    tree_file("/proc/cpuinfo", "model name : X\n");
    tree_file("/proc/loadavg", "0 0 0 1/2 3\n");
    tree_file("/proc/vmstat", "numa_hit 1\n");
    tree_file("/sys/class/dmi/id/board_name", "Board\n");
    tree_file("/sys/class/dmi/id/board_vendor", "Maker\n");
    tree_file("/sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n");
    tree_node(0, "0-1", "10", 1000, 500);
    for (const char *const *path =
             ARRAY("/proc/cmdline", "/proc/cpuinfo", "/proc/loadavg", "/proc/vmstat", "/sys/class/dmi/id/board_name",
                   "/sys/devices/system/node", "/sys/devices/system/cpu/vulnerabilities");
         *path; path++) {
        char full[512];
        snprintf(full, sizeof full, "%s%s", tree_root, *path);
        cr_assert_eq(chmod(full, 0), 0);
    }
    cr_assert_eq(chmod(tree_root, 0755), 0);
    cr_expect_eq(as_nobody(check_forbidden), 0);
    char nodes[512];
    snprintf(nodes, sizeof nodes, "%s/sys/devices/system/node", tree_root);
    chmod(nodes, 0755); // so that whoever runs this can take the tree away
    snprintf(nodes, sizeof nodes, "%s/sys/devices/system/cpu/vulnerabilities", tree_root);
    chmod(nodes, 0755);
}

Test(environment, reads_what_is_there)
{
    tree_file("/proc/sys/kernel/numa_balancing", "1\n");
    tree_file("/proc/cpuinfo",
              "submodel : 9\nmodel\t\t: 2\nmodel name\t: Some CPU @ 2 GHz\nmicrocode\t: 0xb3\n\nmodel name\t: Other\n");
    tree_file("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
    tree_file("/proc/loadavg", "0.50 1.25 2.00 3/456 7890\n");
    tree_file("/sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n");
    tree_file("/sys/class/dmi/id/bios_vendor", " F\xc3\xbcrm\n");
    tree_file("/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
    tree_file("/sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "1\n");
    json_t *environment = tb_environment(tree_root);
    cr_expect_eq(json_integer_value(at(environment, "numa/balancing")), 1);
    cr_expect_eq(json_integer_value(at(environment, "cpu/model_number")), 2);
    cr_expect_str_eq(text_at(environment, "cpu/model"), "Some CPU @ 2 GHz");
    cr_expect_str_eq(text_at(environment, "cpu/microcode"), "0xb3");
    cr_expect_str_eq(text_at(environment, "cpu/stepping"), "ABSENT");
    cr_expect_str_eq(text_at(environment, "cpu/allowed"), "0-3");
    cr_expect_str_eq(text_at(environment, "load"), "0.50 1.25 2.00");
    cr_expect_eq(json_object_size(at(environment, "mitigations")), 1);
    cr_expect_str_eq(text_at(environment, "dmi/bios_vendor"), "F??rm");
    cr_expect_str_eq(text_at(environment, "idle/states/state0/name"), "POLL");
    cr_expect_eq(json_integer_value(at(environment, "idle/states/state0/disable")), 1);
    json_decref(environment);
}

Test(environment, describes_each_node_by_its_number)
{
    tree_node(0, "0-1", "10 21", 1000, 600);
    tree_node(10, "", "21 10", 4000, 3000);
    tree_file(NODE_DIRECTORY "/node10/hugepages/hugepages-2048kB/nr_hugepages", "7\n");
    tree_file(NODE_DIRECTORY "/node10/hugepages/hugepages-2048kB/free_hugepages", "5\n");
    tree_file(NODE_DIRECTORY "/node_list", "0-63\n");
    json_t *environment = tb_environment(tree_root);
    cr_expect_eq(json_object_size(at(environment, "nodes")), 2);
    cr_expect_str_eq(text_at(environment, "nodes/0/distance"), "10 21");
    cr_expect_str_eq(text_at(environment, "nodes/0/huge_pages"), "ABSENT");
    cr_expect_eq(json_integer_value(at(environment, "nodes/10/free_kib")), 3000);
    cr_expect_str_eq(text_at(environment, "nodes/10/cpus"), "");
    cr_expect_eq(json_integer_value(at(environment, "nodes/10/huge_pages/hugepages-2048kB/free")), 5);
    json_decref(environment);
}

Test(environment, writes_one_frequency_governor_or_all)
{
    const char *const policies = "/sys/devices/system/cpu/cpufreq/";
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%spolicy%d/scaling_governor", policies, i);
        tree_file(path, i == 2 ? "powersave\n" : "performance\n");
        snprintf(path, sizeof path, "%spolicy%d/scaling_max_freq", policies, i);
        tree_file(path, "3000000\n");
    }
    json_t *environment = tb_environment(tree_root);
    cr_expect_str_eq(text_at(environment, "frequency/governor/policy1"), "performance");
    cr_expect_str_eq(text_at(environment, "frequency/governor/policy2"), "powersave");
    cr_expect_eq(json_integer_value(at(environment, "frequency/khz_max")), 3000000);
    cr_expect_str_eq(text_at(environment, "frequency/driver"), "ABSENT");
    json_decref(environment);
}

Test(environment, writes_the_limits_of_every_group_above_without_their_names)
{
    tree_file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    tree_file("/proc/self/cgroup", "1:name=systemd:/other\n0::/user.slice/somebody\n");
    tree_file("/sys/fs/cgroup/user.slice/somebody/cpu.max", "max 100000\n");
    tree_file("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
    tree_file("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    json_t *environment = tb_environment(tree_root);
    char *dump = json_dumps(at(environment, "cgroup"), 0);
    cr_expect_str_eq(text_at(environment, "cgroup/version"), "v2");
    cr_expect_str_eq(text_at(environment, "cgroup/cpu.max/0"), "max 100000");
    cr_expect_str_eq(text_at(environment, "cgroup/cpu.max/1"), "50000 100000");
    cr_expect_str_eq(text_at(environment, "cgroup/cpu.max/2"), "ABSENT");
    cr_expect_eq(json_object_size(at(environment, "cgroup/cpu.max")), 3);
    cr_expect_str_eq(text_at(environment, "cgroup/memory.max/1"), "max");
    cr_expect_null(strstr(dump, "somebody"));
    free(dump);
    json_decref(environment);
}

Test(environment, reads_the_split_groups_of_version_1)
{
    tree_file("/proc/self/cgroup", "4:memory:/outside/of/the/mount\n2:cpuacct,cpu:/job\n");
    tree_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    tree_file("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
    json_t *environment = tb_environment(tree_root);
    cr_expect_str_eq(text_at(environment, "cgroup/version"), "v1");
    cr_expect_str_eq(text_at(environment, "cgroup/memory.limit_in_bytes/0"), "4096");
    cr_expect_str_eq(text_at(environment, "cgroup/cpu.cfs_quota_us/0"), "200000");
    cr_expect_str_eq(text_at(environment, "cgroup/cpu.cfs_quota_us/1"), "ABSENT");
    cr_expect_str_eq(text_at(environment, "cgroup/cpuset.cpus"), "ABSENT");
    json_decref(environment);
}

Test(environment, redacts_what_identifies_in_the_command_line)
{
    static const struct {
        const char *line, *redacted;
    } cases[] = {
        {"quiet isolcpus=1-7,9-15 nohz_full=1-7 mitigations=off\n", "quiet isolcpus=1-7,9-15 nohz_full=1-7 mitigations=off"},
        {"root=UUID=0a1b-22 ro", "root=REDACTED ro"},
        {"BOOT_IMAGE=vmlinuz root=/dev/sda1", "BOOT_IMAGE=REDACTED root=REDACTED"},
        {"ip=10.0.0.7::10.0.0.1 x=y", "ip=REDACTED x=y"},
        {"gateway=192.168.1.254", "gateway=REDACTED"},
        {"inst.ks=http://a/b", "inst.ks=REDACTED"},
        {"v=52:54:00:12:34:56", "v=REDACTED"},
        {"v=525400123456", "v=REDACTED"},
        {"id=f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "id=REDACTED"},
        {"systemd.hostname=box systemd.setenv=A=b", "systemd.hostname=REDACTED systemd.setenv=REDACTED"},
        {"dyndbg=\"file a +p\" hugepages=512", "dyndbg=\"file a +p\" hugepages=512"},
        {"note=\"see http://a\" tsc=reliable", "note=REDACTED tsc=reliable"},
        {"pci=0000:00:1f.0 crashkernel=256M@16M", "pci=0000:00:1f.0 crashkernel=256M@16M"},
        {"rcu_nocbs=1 -- --addr 1.2.3.4 user=me", "rcu_nocbs=1 -- REDACTED"},
        {"  a   b  ", "a b"},
        {"/a", "REDACTED"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree_file("/proc/cmdline", cases[i].line);
        json_t *environment = tb_environment(tree_root);
        cr_expect_str_eq(text_at(environment, "kernel/command_line"), cases[i].redacted);
        json_decref(environment);
    }
}

Test(environment, names_a_library_by_its_file_and_hash_and_never_a_home)
{
    char hash[TB_HASH_TEXT], link[512], target[512];
    tree_file("/home/somebody/libx.so.2.0", "not a library, but a file");
    snprintf(target, sizeof target, "%s/home/somebody/libx.so.2.0", tree_root);
    snprintf(link, sizeof link, "%s/home/somebody/libx.so", tree_root);
    cr_assert_eq(symlink(target, link), 0);
    json_t *library = tb_environment_library(link);
    cr_assert_eq(tb_hash_file(target, hash), 0);
    cr_expect_str_eq(text_at(library, "file"), "libx.so.2.0");
    cr_expect_str_eq(text_at(library, "sha256"), hash);
    cr_expect_null(strstr(text_at(library, "library"), "somebody"));
    cr_expect_not_null(strstr(text_at(library, "library"), "~/libx.so"));
    json_decref(library);
}

Test(environment, paths_are_redacted_to_the_working_folder_and_without_homes)
{
    char folder[] = "/tmp/locus-redact-XXXXXX", text[4096], *redacted; // in nobody's home, wherever the checkout is
    cr_assert(mkdtemp(folder) && chdir(folder) == 0);
    snprintf(text, sizeof text, "-I%s/a/b.h %s %s/c /home/somebody/d /mnt%s/e f/g:%s/h", folder, folder, folder, folder, folder);
    redacted = tb_redact_paths(text);
    snprintf(text, sizeof text, "-Ia/b.h %s c ~/d /mnt%s/e f/g:h", folder, folder);
    cr_expect_str_eq(redacted, text, "the folder itself stays, and a longer path that ends as it does");
    free(redacted);
    cr_assert(chdir("/") == 0 && rmdir(folder) == 0);
    redacted = tb_redact_paths("/lib/x.so");
    cr_expect_str_eq(redacted, "/lib/x.so");
    free(redacted);
}

Test(environment, of_this_host_has_every_member_and_survives_json)
{
    char hash[TB_HASH_TEXT], hostname[256] = "", quoted[300];
    setenv("LOCUS_LAP", "/proc/self/exe", 1);
    json_t *environment = tb_environment(""), *counters = tb_environment_counters("");
    cr_assert_not_null(environment);
    cr_assert_not_null(counters);
    expect_members(environment);
    expect_plain(environment, "environment");
    expect_plain(counters, "counters");
    cr_expect_eq(json_object_size(environment), 18);
    cr_assert_eq(tb_hash_file("/proc/self/exe", hash), 0);
    cr_expect_str_eq(text_at(environment, "build/binary_sha256"), hash);
    cr_expect_str_eq(text_at(environment, "build/lap_sha256"), hash);
    cr_expect_not_null(strstr(text_at(environment, "hwloc/xml"), "<topology"));
    cr_expect_eq(strlen(text_at(environment, "libc/sha256")), TB_HASH_TEXT - 1);
    char *dump = json_dumps(environment, JSON_COMPACT);
    json_t *again = json_loads(dump, 0, NULL);
    cr_expect(json_equal(environment, again));
    gethostname(hostname, sizeof hostname - 1);
    snprintf(quoted, sizeof quoted, "\"%s\\\"", hostname); // as a property of the XML
    cr_expect_null(strstr(dump, quoted));
    free(dump);
    json_decref(again);
    json_decref(environment);
    json_decref(counters);
}

Test(environment, calls_the_cpu_by_its_name_or_by_its_numbers)
{
    static const struct {
        const char *cpuinfo, *name; // NULL: there is none
    } cases[] = {
        {"processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon  8592+ \nmodel : 207\n\n", "Xeon  8592+"},
        {"processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n\n", "ARM:65:3340"},
        {"processor : 0\ncpu : POWER10 (architected), altivec supported\n", "IBM:10:0"},
        {"nothing that anybody knows\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tree_file("/proc/cpuinfo", cases[i].cpuinfo);
        json_t *cpu = tb_environment_cpu(tree_root);
        cr_assert_not_null(cpu);
        cr_expect_eq(json_is_null(cpu), cases[i].name == NULL);
        if (cases[i].name)
            cr_expect_str_eq(json_string_value(cpu), cases[i].name);
        json_decref(cpu);
    }
}

Test(environment, tells_an_emulated_guest_from_a_machine)
{
    static const char *const given[] = {"n2", "", "n2\n", "\xff", "a-name-that-is-longer-than-31-bytes"};
    static const char *const said[] = {"n2", "none", "unknown", "unknown", "unknown"};
    unsetenv("LOCUS_GUEST");
    cr_expect_null(tb_environment_guest());
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        setenv("LOCUS_GUEST", given[i], 1);
        json_t *environment = tb_environment("");
        cr_expect_str_eq(text_at(environment, "guest"), said[i]);
        cr_expect_eq(tb_environment_guest() == NULL, strcmp(said[i], "none") == 0, "'%s'", given[i]);
        json_decref(environment);
    }
}

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    cr_assert_not_null(json, "%s", error.text);
    return json;
}

Test(environment, the_delta_has_the_numbers_that_moved_and_nothing_else)
{
    json_t *before = parse("{\"a\":{\"x\":1,\"y\":2.5,\"z\":9},\"b\":{\"x\":4},\"c\":\"ABSENT\",\"d\":7}");
    json_t *after = parse("{\"a\":{\"x\":3,\"y\":2.0,\"z\":9},\"b\":{\"x\":4},\"c\":5,\"d\":2,\"e\":1}");
    json_t *expected = parse("{\"a\":{\"x\":2,\"y\":-0.5},\"d\":-5}");
    json_t *delta = tb_environment_delta(before, after), *none = tb_environment_delta(before, before);
    cr_expect(json_equal(delta, expected));
    cr_expect_eq(json_object_size(none), 0);
    json_decref(before);
    json_decref(after);
    json_decref(expected);
    json_decref(delta);
    json_decref(none);
}

static bool throttled(const char *before, const char *after)
{
    json_t *first = parse(before), *last = parse(after);
    bool result = tb_environment_throttled(first, last);
    json_decref(first);
    json_decref(last);
    return result;
}

Test(environment, throttled_means_that_a_throttle_counter_moved)
{
#define HEAT(n) "{\"throttle\":{\"thermal\":{\"cpu1\":{\"core_throttle_count\":" #n "}}}}"
#define QUOTA(periods, throttled)                                                                                                  \
    "{\"throttle\":{\"cgroup\":{\"0\":{\"nr_periods\":" #periods ",\"nr_throttled\":" #throttled "}}}}"
    cr_expect(throttled(HEAT(4), HEAT(5)));
    cr_expect_not(throttled(HEAT(4), HEAT(4)));
    cr_expect(throttled(QUOTA(1, 0), QUOTA(9, 2)));
    cr_expect_not(throttled(QUOTA(1, 2), QUOTA(9, 2)));
    cr_expect_not(throttled("{\"throttle\":{\"thermal\":\"ABSENT\"}}", "{\"throttle\":{\"thermal\":\"ABSENT\"}}"));
    cr_expect_not(throttled("{\"steal_ticks\":1}", "{\"steal_ticks\":2}"));
    cr_expect_not(tb_environment_throttled(NULL, NULL));
}

Test(environment, counts_what_the_files_count)
{
    tree_file("/proc/stat", "cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 1 1 1\nintr 5 6 7\nctxt 1234\n");
    tree_file("/proc/vmstat", "nr_free_pages 5\nnuma_hit 11\nnuma_miss 12\npgfault 3\npgmigrate_success 4\npgmigrate_fail 5\n");
    tree_file(NODE_DIRECTORY "/node1/numastat", "numa_hit 21\nother_node 22\n");
    tree_file("/sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "6\n");
    tree_file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    tree_file("/proc/pressure/io",
              "some avg10=1.50 avg60=0.00 avg300=0.25 total=99\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    json_t *counters = tb_environment_counters(tree_root);
    cr_expect_eq(json_integer_value(at(counters, "steal_ticks")), 88);
    cr_expect_eq(json_integer_value(at(counters, "context_switches/host")), 1234);
    cr_expect_eq(json_object_size(at(counters, "vmstat")), 4);
    cr_expect_eq(json_integer_value(at(counters, "vmstat/pgmigrate_fail")), 5);
    cr_expect_eq(json_integer_value(at(counters, "vmstat/numa_miss")), 12);
    cr_expect_eq(json_integer_value(at(counters, "nodes/1/other_node")), 22);
    cr_expect_eq(json_integer_value(at(counters, "throttle/thermal/cpu3/core_throttle_count")), 6);
    cr_expect_str_eq(text_at(counters, "throttle/thermal/cpu3/package_throttle_count"), "ABSENT");
    cr_expect_eq(json_integer_value(at(counters, "pressure/io/some/total_us")), 99);
    cr_expect_float_eq(json_real_value(at(counters, "pressure/io/some/avg10")), 1.5, 1e-9);
    json_decref(counters);
}
