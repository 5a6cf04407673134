// SPDX-License-Identifier: Apache-2.0
//
// kernel_counts: what moves while a figure is taken. Read before the first sample and after the last, their difference says whether
// the host interfered: pages that went to another node, a CPU that grew too hot, a quota that ran out, others who wanted the CPU.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "testbed/host/environment.h"
#include "testbed/host/host.h"

#define CPU "/sys/devices/system/cpu"
#define NODES "/sys/devices/system/node"

// Lines "NAME NUMBER" of a file whose names begin with one of two prefixes.
static json_t *named_numbers(struct tb_host *host, const char *path, const char *prefix, const char *other)
{
    char *text = NULL, name[64];
    long long number;
    int error = tb_host_read(host, path, &text);
    json_t *object = error ? json_string(tb_host_word(error)) : json_object();
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if ((strncmp(line, prefix, strlen(prefix)) == 0 || strncmp(line, other, strlen(other)) == 0) &&
            sscanf(line, "%63s %lld", name, &number) == 2)
            tb_host_put(host, object, name, json_integer(number));
    free(text);
    return object;
}

static json_t *all_numbers(struct tb_host *host, const char *path)
{
    return named_numbers(host, path, "", "");
}

static json_t *node_numbers(struct tb_host *host, const char *node)
{
    char path[TB_HOST_PATH];
    snprintf(path, sizeof path, "%s/numastat", node);
    return all_numbers(host, path);
}

// One CPU's counters, or NULL: none of them is there.
static json_t *thermal_cpu(struct tb_host *host, const char *cpu)
{
    static const char *const counts[] = {"core_throttle_count", "package_throttle_count"};
    char folder[TB_HOST_PATH / 2];
    struct tb_names names;
    snprintf(folder, sizeof folder, CPU "/%s/thermal_throttle", cpu);
    if (tb_host_list(host, folder, "", &names))
        return NULL;
    tb_names_close(&names);
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tb_host_put(host, object, counts[i], tb_host_file(host, TB_FIELD_NUMBER, "%s/%s", folder, counts[i]));
    return object;
}

static json_t *thermal(struct tb_host *host)
{
    struct tb_names cpus;
    int error = tb_host_list(host, CPU, "cpu", &cpus);
    if (error)
        return json_string(tb_host_word(error));
    json_t *object = json_object();
    for (size_t i = 0; i < cpus.count; i++) {
        json_t *counts = thermal_cpu(host, cpus.name[i]);
        if (counts)
            tb_host_put(host, object, cpus.name[i], counts);
    }
    tb_names_close(&cpus);
    if (json_object_size(object) > 0)
        return object;
    json_decref(object);
    return json_string("ABSENT"); // virtual machines, and CPUs that do not count it
}

static json_t *throttle(struct tb_host *host)
{
    json_t *object = json_object();
    tb_host_put(host, object, "thermal", thermal(host));
    tb_host_put(host, object, "cgroup", tb_cgroup_levels(host, "cpu", "cpu.stat", all_numbers));
    return object;
}

// The measured processes are children; getrusage counts them when they have ended.
static json_t *context_switches(struct tb_host *host, const char *stat, int error)
{
    struct rusage self = {0}, children = {0};
    json_t *object = json_object();
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    tb_host_put(host, object, "host", tb_host_field(stat, error, "ctxt", ' ', TB_FIELD_NUMBER));
    tb_host_put(host, object, "self_voluntary", json_integer(self.ru_nvcsw));
    tb_host_put(host, object, "self_involuntary", json_integer(self.ru_nivcsw));
    tb_host_put(host, object, "measured_voluntary", json_integer(children.ru_nvcsw));
    tb_host_put(host, object, "measured_involuntary", json_integer(children.ru_nivcsw));
    return object;
}

// The eighth number of "cpu ...": time that a hypervisor gave to others.
static json_t *steal(const char *stat, int error)
{
    long long ticks;
    if (error)
        return json_string(tb_host_word(error));
    bool found = sscanf(stat, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) == 1;
    return found ? json_integer(ticks) : json_string("ABSENT");
}

// Lines "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", and the same with "full".
static json_t *pressure_of(struct tb_host *host, const char *path)
{
    char *text = NULL, kind[16];
    double seconds[3];
    long long total;
    int error = tb_host_read(host, path, &text);
    json_t *object = error ? json_string(tb_host_word(error)) : json_object();
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, "%15s avg10=%lf avg60=%lf avg300=%lf total=%lld", kind, seconds, seconds + 1, seconds + 2, &total) == 5)
            tb_host_put(host, object, kind,
                        json_pack("{s:f s:f s:f s:I}", "avg10", seconds[0], "avg60", seconds[1], "avg300", seconds[2], "total_us",
                                  (json_int_t)total));
    free(text);
    return object;
}

static json_t *pressure(struct tb_host *host)
{
    json_t *object = json_object();
    tb_host_put(host, object, "cpu", pressure_of(host, "/proc/pressure/cpu"));
    tb_host_put(host, object, "memory", pressure_of(host, "/proc/pressure/memory"));
    tb_host_put(host, object, "io", pressure_of(host, "/proc/pressure/io"));
    return object;
}

json_t *tb_environment_counters(const char *root)
{
    struct tb_host host = {.root = root};
    char *stat = NULL;
    int error = tb_host_read(&host, "/proc/stat", &stat);
    json_t *object = json_object();
    tb_host_put(&host, object, "nodes", tb_host_each(&host, NODES, "node", strlen("node"), node_numbers));
    tb_host_put(&host, object, "vmstat", named_numbers(&host, "/proc/vmstat", "numa_", "pgmigrate_"));
    tb_host_put(&host, object, "throttle", throttle(&host));
    tb_host_put(&host, object, "context_switches", context_switches(&host, stat, error));
    tb_host_put(&host, object, "steal_ticks", steal(stat, error));
    tb_host_put(&host, object, "pressure", pressure(&host));
    free(stat);
    if (!host.failed)
        return object;
    json_decref(object);
    return NULL;
}

// What moved between two values, or NULL: nothing, or they are no numbers.
static json_t *value_delta(struct tb_host *host, const json_t *before, const json_t *after)
{
    if (json_is_integer(before) && json_is_integer(after)) {
        json_int_t moved = json_integer_value(after) - json_integer_value(before);
        return moved ? json_integer(moved) : NULL;
    }
    if (json_is_number(before) && json_is_number(after)) {
        double moved = json_number_value(after) - json_number_value(before);
        return moved < 0 || moved > 0 ? json_real(moved) : NULL;
    }
    if (!json_is_object(before) || !json_is_object(after))
        return NULL;
    json_t *object = json_object(), *value;
    const char *key;
    json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
        json_t *moved = value_delta(host, json_object_get(before, key), value);
        if (moved)
            tb_host_put(host, object, key, moved);
    }
    if (json_object_size(object) > 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *tb_environment_delta(const json_t *before, const json_t *after)
{
    struct tb_host host = {0};
    json_t *object = value_delta(&host, before, after);
    if (!host.failed)
        return object ? object : json_object();
    json_decref(object);
    return NULL;
}

// "core_throttle_count", "nr_throttled": the names of throttle counters, and of nothing else among them ("nr_periods").
static bool throttle_in(json_t *delta)
{
    const char *key;
    json_t *value;
    json_object_foreach (delta, key, value)
        if (throttle_in(value) || (json_integer_value(value) > 0 && strstr(key, "throttle")))
            return true;
    return false;
}

bool tb_environment_throttled(const json_t *before, const json_t *after)
{
    json_t *delta = tb_environment_delta(json_object_get(before, "throttle"), json_object_get(after, "throttle"));
    bool throttled = throttle_in(delta);
    json_decref(delta);
    return throttled;
}
