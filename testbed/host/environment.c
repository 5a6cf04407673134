// SPDX-License-Identifier: Apache-2.0
//
// environment: all that could explain why a figure differs between two hosts, or between today and next year on the same one.
//
// Most of it is a list of files, so it is a table: member, key, path, and whether it is a number. What needs more than a file is a
// function below. Nobody knows beforehand which of them will matter; a run costs minutes, and this a few milliseconds.

#include "testbed/host/environment.h"
#include "testbed/base/json.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/utsname.h>

#include "testbed/base/cpus/cpus.h"
#include "testbed/base/sha256.h"
#include "testbed/base/share.h"
#include "testbed/counters/counters.h"
#include "testbed/host/host.h"
#include "topo/topo.h"

#ifndef LOCUS_COMMIT // both are given to this file alone by the Makefile
#define LOCUS_COMMIT ""
#endif
#ifndef LOCUS_CFLAGS
#define LOCUS_CFLAGS "unknown"
#endif

#define CPU "/sys/devices/system/cpu"
#define POLICIES CPU "/cpufreq"
#define NODES "/sys/devices/system/node"
#define THP "/sys/kernel/mm/transparent_hugepage"

static const struct fact {
    const char *member, *key, *path;
    enum tb_field kind;
    const char *line;           // where it is one of the file's lines, what stands before the colon
} facts[] = {
    {"kernel", "release", "/proc/sys/kernel/osrelease", TB_FIELD_STRING, NULL},
    {"kernel", "version", "/proc/sys/kernel/version", TB_FIELD_STRING, NULL},
    {"kernel", "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", TB_FIELD_NUMBER, NULL},
    {"cpu", "online", CPU "/online", TB_FIELD_STRING, NULL},
    {"cpu", "isolated", CPU "/isolated", TB_FIELD_STRING, NULL},
    {"cpu", "nohz_full", CPU "/nohz_full", TB_FIELD_STRING, NULL},
    {"cpu", "smt_control", CPU "/smt/control", TB_FIELD_STRING, NULL},
    {"cpu", "smt_active", CPU "/smt/active", TB_FIELD_NUMBER, NULL},
    {"clock", "current", "/sys/devices/system/clocksource/clocksource0/current_clocksource", TB_FIELD_STRING, NULL},
    {"clock", "available", "/sys/devices/system/clocksource/clocksource0/available_clocksource", TB_FIELD_STRING, NULL},
    {"aslr", "randomize_va_space", "/proc/sys/kernel/randomize_va_space", TB_FIELD_NUMBER, NULL},
    {"frequency", "boost", POLICIES "/boost", TB_FIELD_NUMBER, NULL},
    {"frequency", "no_turbo", CPU "/intel_pstate/no_turbo", TB_FIELD_NUMBER, NULL},
    {"idle", "driver", CPU "/cpuidle/current_driver", TB_FIELD_STRING, NULL},
    {"idle", "governor", CPU "/cpuidle/current_governor_ro", TB_FIELD_STRING, NULL},
    {"thp", "enabled", THP "/enabled", TB_FIELD_STRING, NULL},
    {"thp", "defrag", THP "/defrag", TB_FIELD_STRING, NULL},
    {"thp", "shmem_enabled", THP "/shmem_enabled", TB_FIELD_STRING, NULL},
    {"thp", "khugepaged_defrag", THP "/khugepaged/defrag", TB_FIELD_NUMBER, NULL},
    {"numa", "balancing", "/proc/sys/kernel/numa_balancing", TB_FIELD_NUMBER, NULL},
    {"numa", "zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode", TB_FIELD_NUMBER, NULL},
    {"numa", "demotion", "/sys/kernel/mm/numa/demotion_enabled", TB_FIELD_STRING, NULL},
    {"memory", "swappiness", "/proc/sys/vm/swappiness", TB_FIELD_NUMBER, NULL},
    {"memory", "overcommit_memory", "/proc/sys/vm/overcommit_memory", TB_FIELD_NUMBER, NULL},
    {"cpu", "vendor", "/proc/cpuinfo", TB_FIELD_STRING, "vendor_id"},
    {"cpu", "model", "/proc/cpuinfo", TB_FIELD_STRING, "model name"},
    {"cpu", "family", "/proc/cpuinfo", TB_FIELD_NUMBER, "cpu family"},
    {"cpu", "model_number", "/proc/cpuinfo", TB_FIELD_NUMBER, "model"},
    {"cpu", "stepping", "/proc/cpuinfo", TB_FIELD_NUMBER, "stepping"},
    {"cpu", "microcode", "/proc/cpuinfo", TB_FIELD_STRING, "microcode"},
    {"cpu", "allowed", "/proc/self/status", TB_FIELD_STRING, "Cpus_allowed_list"},
    {"memory", "total_kib", "/proc/meminfo", TB_FIELD_NUMBER, "MemTotal"},
    {"memory", "free_kib", "/proc/meminfo", TB_FIELD_NUMBER, "MemFree"},
    {"memory", "available_kib", "/proc/meminfo", TB_FIELD_NUMBER, "MemAvailable"},
    {"memory", "swap_total_kib", "/proc/meminfo", TB_FIELD_NUMBER, "SwapTotal"},
};

const char *tb_fact_path(const char *name)
{
    size_t member = strcspn(name, "."), i = 0;
    while (strncmp(facts[i].member, name, member) || strcmp(facts[i].key, name + member + 1))
        i++;
    return facts[i].path;
}

// The object that is a member of `parent`, made if need be; NULL without memory.
static json_t *member(struct tb_host *host, json_t *parent, const char *name)
{
    if (!json_object_get(parent, name))
        tb_host_put(host, parent, name, json_object());
    return json_object_get(parent, name);
}

// The main thread waits on other CPUs than those that are measured on.
static void put_cpus(struct tb_host *host, json_t *object)
{
    if (!host->root[0] && tb_cpus_asked())
        tb_host_put(host, member(host, object, "cpu"), "allowed", json_string(tb_cpus_asked()));
}

static void put_facts(struct tb_host *host, json_t *object)
{
    for (const struct fact *fact = facts; fact < facts + sizeof facts / sizeof *facts; fact++) {
        char *text = NULL;
        int error = fact->line ? tb_host_read(host, fact->path, &text) : 0;
        tb_host_put(host, member(host, object, fact->member), fact->key,
                    fact->line ? tb_host_field(text, error, fact->line, ':', fact->kind)
                               : tb_host_file(host, fact->kind, "%s", fact->path));
        free(text);
    }
}

// A string that one of the redact functions made.
static json_t *redacted(char *text)
{
    json_t *string = text ? tb_host_string(text) : NULL;
    free(text);
    return string;
}

static void put_kernel(struct tb_host *host, json_t *object)
{
    struct utsname names;
    char *text = NULL, *averages_end;
    int error = tb_host_read(host, "/proc/cmdline", &text);
    tb_host_put(host, member(host, object, "kernel"), "command_line",
                error ? json_string(tb_host_word(error)) : redacted(tb_redact_command_line(text)));
    free(text);
    tb_host_put(host, member(host, object, "kernel"), "machine", json_string(uname(&names) ? "UNREADABLE" : names.machine));
    error = tb_host_read(host, "/proc/loadavg", &text);
    if (!error && (averages_end = strchr(text, '/'))) { // "0.10 0.20 0.30 1/234 5678": the last two are of the moment
        while (averages_end > text && *averages_end != ' ')
            averages_end--;
        *averages_end = '\0';
    }
    tb_host_put(host, object, "load", error ? json_string(tb_host_word(error)) : tb_host_string(text));
    free(text);
    int here = personality(0xffffffff); // asks, and changes nothing
    tb_host_put(host, member(host, object, "aslr"), "disabled_here",
                json_string(here < 0                   ? "UNREADABLE"
                            : here & ADDR_NO_RANDOMIZE ? "yes"
                                                       : "no"));
}

// One value where all frequency policies agree, otherwise one for each.
static json_t *policies_value(struct tb_host *host, const char *file, enum tb_field kind)
{
    struct tb_names policies;
    int error = tb_host_list(host, POLICIES, "policy", &policies);
    if (error)
        return json_string(tb_host_word(error));
    json_t *each = json_object(), *first = NULL;
    bool same = true;
    for (size_t i = 0; i < policies.count; i++) {
        const char *name = policies.name[i];
        tb_host_put(host, each, name, tb_host_file(host, kind, POLICIES "/%s/%s", name, file));
        json_t *value = json_object_get(each, name);
        first = first ? first : value;
        same = same && json_equal(first, value);
    }
    tb_names_close(&policies);
    if (!same)
        return each;
    json_incref(first);
    json_decref(each);
    return first;
}

static void put_frequency(struct tb_host *host, json_t *object)
{
    json_t *frequency = member(host, object, "frequency");
    tb_host_put(host, frequency, "driver", policies_value(host, "scaling_driver", TB_FIELD_STRING));
    tb_host_put(host, frequency, "governor", policies_value(host, "scaling_governor", TB_FIELD_STRING));
    tb_host_put(host, frequency, "energy_preference", policies_value(host, "energy_performance_preference", TB_FIELD_STRING));
    tb_host_put(host, frequency, "khz_min", policies_value(host, "scaling_min_freq", TB_FIELD_NUMBER));
    tb_host_put(host, frequency, "khz_max", policies_value(host, "scaling_max_freq", TB_FIELD_NUMBER));
}

static json_t *idle_state(struct tb_host *host, const char *path)
{
    json_t *state = json_object();
    tb_host_put(host, state, "name", tb_host_file(host, TB_FIELD_STRING, "%s/name", path));
    tb_host_put(host, state, "disable", tb_host_file(host, TB_FIELD_NUMBER, "%s/disable", path));
    return state;
}

// --- the machine below the kernel ----------------------------------------------------------------------------------------------

// Nodes are read from the files rather than through topo.h, because a node whose file is missing or forbidden has to be written
// down as such, where topo.h rightly refuses the whole machine.
static json_t *huge_pages(struct tb_host *host, const char *path)
{
    json_t *size = json_object();
    tb_host_put(host, size, "total", tb_host_file(host, TB_FIELD_NUMBER, "%s/nr_hugepages", path));
    tb_host_put(host, size, "free", tb_host_file(host, TB_FIELD_NUMBER, "%s/free_hugepages", path));
    return size;
}

static json_t *node_describe(struct tb_host *host, const char *node)
{
    static const char *const kib[][2] = {{"total_kib", "MemTotal"},
                                         {"free_kib", "MemFree"},
                                         {"file_kib", "FilePages"},
                                         {"slab_reclaimable_kib", "SReclaimable"}};
    char path[TB_HOST_PATH], *text = NULL;
    json_t *object = json_object();
    tb_host_put(host, object, "cpus", tb_host_file(host, TB_FIELD_STRING, "%s/cpulist", node));
    tb_host_put(host, object, "distance", tb_host_file(host, TB_FIELD_STRING, "%s/distance", node));
    snprintf(path, sizeof path, "%s/meminfo", node);
    int error = tb_host_read(host, path, &text);
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++)
        tb_host_put(host, object, kib[i][0], tb_host_field(text, error, kib[i][1], ':', TB_FIELD_NUMBER));
    snprintf(path, sizeof path, "%s/hugepages", node);
    tb_host_put(host, object, "huge_pages", tb_host_each(host, path, "", 0, huge_pages));
    free(text);
    return object;
}

// A list of what is harmless, not of what is not: the next release of hwloc may well know something new about a machine.
static bool property_harmless(const char *name)
{
    static const char *const known[] = {"Architecture",   "Backend",           "OSName",         "OSRelease",    "OSVersion",
                                        "hwlocVersion",   "MemoryMode",        "Inclusive",      "ClusterMode",  "MemoryTier",
                                        "DMIProductName", "DMIProductVersion", "DMIBoardVendor", "DMIBoardName", "DMIBIOSVendor",
                                        "DMIBIOSVersion", "DMIBIOSDate",       "DMISysVendor"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return strncmp(name, "CPU", 3) == 0;
}

static void properties_empty(hwloc_obj_t object)
{
    for (unsigned i = 0; i < object->infos_count; i++)
        if (!property_harmless(object->infos[i].name))
            object->infos[i].value[0] = '\0';
    hwloc_obj_t heads[] = {object->first_child, object->memory_first_child, object->io_first_child, object->misc_first_child};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (hwloc_obj_t child = heads[i]; child; child = child->next_sibling)
            properties_empty(child);
}

void tb_hwloc_clean(hwloc_topology_t topology)
{
    properties_empty(hwloc_get_root_obj(topology));
}

static json_t *hwloc_xml(void)
{
    hwloc_topology_t topology = NULL;
    json_t *xml = NULL;
    char *text = NULL;
    int length = 0;
    bool initialised = hwloc_topology_init(&topology) == 0;
    if (initialised && hwloc_topology_load(topology) == 0 && hwloc_topology_is_thissystem(topology)) {
        tb_hwloc_clean(topology);
        if (hwloc_topology_export_xmlbuffer(topology, &text, &length, 0) == 0)
            xml = json_string(text);
    }
    if (text)
        hwloc_free_xmlbuffer(topology, text);
    if (initialised)
        hwloc_topology_destroy(topology);
    return xml ? xml : json_string("UNREADABLE");
}

// hwloc looks at this machine and at no other, so another root has no XML. Where a sandbox hides nodes or cores, hwloc is not
// asked: it would end the process (topo/live.c).
json_t *tb_environment_hwloc(struct tb_host *host)
{
    struct locus_topo *topo = NULL;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    bool whole = !error && !locus_topo_info(topo)->nodes_hidden && locus_topo_info(topo)->cores_count > 0;
    json_t *object = json_object();
    tb_host_put(host, object, "version", json_string(error ? "UNREADABLE" : locus_topo_info(topo)->hwloc_version));
    locus_topo_close(topo);
    tb_host_put(host, object, "xml", host->root[0] ? json_string("ABSENT") : whole ? hwloc_xml() : json_string("UNREADABLE"));
    return object;
}

static json_t *dmi(struct tb_host *host)
{
    static const char *const ids[] = {"sys_vendor",    "product_name", "product_version", "board_vendor", "board_name",
                                      "board_version", "bios_vendor",  "bios_version",    "bios_date"};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        tb_host_put(host, object, ids[i], tb_host_file(host, TB_FIELD_STRING, "/sys/class/dmi/id/%s", ids[i]));
    return object;
}

// --- this program --------------------------------------------------------------------------------------------------------------

static json_t *file_hash(const char *path)
{
    char hash[TB_HASH_TEXT];
    int error = tb_hash_file(path, hash);
    return json_string(error ? tb_host_word(error) : hash);
}

static json_t *build(struct tb_host *host)
{
    static const char commit[] = LOCUS_COMMIT, mark[] = "-dirty";
    size_t length = strlen(commit), tail = strlen(mark);
    bool dirty = length >= tail && strcmp(commit + length - tail, mark) == 0;
    size_t hash = dirty ? length - tail : length;
    json_t *object = json_object();
    char lap[PATH_MAX], why[400];
#ifdef __clang__
    tb_host_put(host, object, "compiler", json_string(__VERSION__)); // begins with "Clang"
#else
    tb_host_put(host, object, "compiler", json_string("gcc " __VERSION__));
#endif
    tb_host_put(host, object, "flags", redacted(tb_redact_paths(LOCUS_CFLAGS)));
    tb_host_put(host, object, "commit", hash ? json_stringn(commit, hash) : json_string("unknown"));
    tb_host_put(host, object, "dirty", json_string(hash == 0 ? "unknown" : dirty ? "yes" : "no"));
    tb_host_put(host, object, "binary_sha256", file_hash("/proc/self/exe"));
    tb_host_put(host, object, "lap_sha256", file_hash(tb_share_lap(lap, why, sizeof why) ? "" : lap));
    return object;
}

// The file's own name, without links: it has the version, and knowing it does not need loading it.
static json_t *resolved_name(const char *path)
{
    char *resolved = realpath(path, NULL);
    json_t *name = json_string(resolved ? strrchr(resolved, '/') + 1 : tb_host_word(-errno));
    free(resolved);
    return name;
}

static json_t *c_library(struct tb_host *host)
{
    Dl_info info = {0};
    void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const char *path = symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
    json_t *object = json_object();
    tb_host_put(host, object, "version", json_string(gnu_get_libc_version()));
    tb_host_put(host, object, "file", resolved_name(path));
    tb_host_put(host, object, "sha256", file_hash(path));
    return object;
}

json_t *tb_environment_library(const char *path)
{
    const struct tb_json_member members[] = {
        {"library", redacted(tb_redact_paths(path))},
        {"file", resolved_name(path)},
        {"sha256", file_hash(path)},
    };
    return TB_JSON_OBJECT(members);
}

const char *tb_environment_commit(void)
{
    return LOCUS_COMMIT[0] ? LOCUS_COMMIT : "unknown";
}

json_t *tb_environment_cpu(const char *root)
{
    struct tb_host host = {.root = root};
    struct tb_cpu_id id;
    char *text = NULL;
    int error = tb_host_read(&host, "/proc/cpuinfo", &text);
    json_t *name = error || !strstr(text, "model name") ? NULL : tb_host_field(text, 0, "model name", ':', TB_FIELD_STRING);
    free(text);
    if (name)
        return name;
    return tb_cpu_id_host(root, &id) ? json_null() : json_sprintf("%s:%u:%u", id.vendor, id.family, id.model);
}

const char *tb_environment_guest(void)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *name = getenv("LOCUS_GUEST");
    if (!name || !*name)
        return NULL;
    return name[strspn(name, allowed)] == '\0' && strlen(name) < 32 ? name : "unknown";
}

const char *tb_emulated_as(const char *root)
{
    const char *guest = *root ? NULL : tb_environment_guest();
    json_t *cpu = guest ? NULL : tb_environment_cpu(root);
    bool emulator = cpu && json_is_string(cpu) && strstr(json_string_value(cpu), "QEMU TCG");
    json_decref(cpu);
    return guest ? guest : emulator ? "QEMU TCG" : NULL;
}

json_t *tb_environment(const char *root)
{
    struct tb_host host = {.root = root};
    json_t *object = json_object();
    put_facts(&host, object);
    put_cpus(&host, object);
    put_kernel(&host, object);
    put_frequency(&host, object);
    tb_host_put(&host, object, "mitigations", tb_host_each(&host, CPU "/vulnerabilities", "", 0, tb_host_value));
    tb_host_put(&host, member(&host, object, "idle"), "states", tb_host_each(&host, CPU "/cpu0/cpuidle", "state", 0, idle_state));
    tb_host_put(&host, object, "nodes", tb_host_each(&host, NODES, "node", strlen("node"), node_describe));
    tb_host_put(&host, object, "hwloc", tb_environment_hwloc(&host));
    tb_host_put(&host, object, "dmi", dmi(&host));
    tb_host_put(&host, object, "cgroup", tb_environment_cgroup(&host));
    tb_host_put(&host, object, "build", build(&host));
    tb_host_put(&host, object, "libc", c_library(&host));
    tb_host_put(&host, object, "guest", json_string(tb_environment_guest() ? tb_environment_guest() : "none"));
    if (!host.failed)
        return object;
    json_decref(object);
    return NULL;
}
