// SPDX-License-Identifier: Apache-2.0
//
// probe: opens each counter once on this host, and puts in words what came of it.
//
// Where the kernel may not be counted (perf_event_paranoid 2, the usual default, without CAP_PERFMON) user mode alone is, and the
// counter says so. What happens in the kernel only is then not to be had: in user mode there are 0 context switches, always.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testbed/counters/parts.h"

// --- reasons -------------------------------------------------------------------------------------------------------------------

static bool has_hypervisor(const char *root)
{
    char path[512], line[8192];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
    if (file)
        fclose(file);
    return found;
}

void tb_counter_host_read(const char *root, struct tb_counter_host *out)
{
    char path[512], text[32];
    struct rlimit files = {.rlim_cur = 0};
    snprintf(path, sizeof path, "%s/proc/sys/kernel/perf_event_paranoid", root);
    getrlimit(RLIMIT_NOFILE, &files);
    *out = (struct tb_counter_host){.paranoid = INT_MIN, .hypervisor = has_hypervisor(root), .files_max = files.rlim_cur};
    if (tb_small_file(path, text, sizeof text) == 0)
        out->paranoid = (int)strtol(text, NULL, 10);
}

static bool kernel_only(const struct tb_counter *counter)
{
    return counter->attr.type == PERF_TYPE_SOFTWARE &&
           (counter->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES || counter->attr.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static void say_paranoid(const struct tb_counter *counter, const struct tb_counter_host *host, char *out, size_t bytes)
{
    bool package = counter->kind == TB_COUNTER_UNCORE;
    char now[32] = "not readable";
    if (host->paranoid != INT_MIN)
        snprintf(now, sizeof now, "%d", host->paranoid);
    snprintf(
        out, bytes,
        "not supported: kernel.perf_event_paranoid is %s (EACCES): sysctl kernel.perf_event_paranoid=%d allows it, or CAP_PERFMON",
        now, package ? 0 : 1);
}

// The kernel says it in four ways that there is no hardware for it.
static void say_no_hardware(const struct tb_counter *counter, int error, const struct tb_counter_host *host, char *out,
                            size_t bytes)
{
    const char *word = strerrorname_np(error);
    if (counter->kind == TB_COUNTER_SOFTWARE)
        snprintf(out, bytes, "not supported: this kernel does not count it (%s)", word);
    else if (counter->kind == TB_COUNTER_UNCORE && host->hypervisor)
        snprintf(out, bytes, "not supported: a virtual machine is not shown the counters of its package (%s)", word);
    else if (counter->kind == TB_COUNTER_UNCORE && error == ENOENT)
        snprintf(out, bytes, "not supported: no PMU %s in /sys/bus/event_source/devices (ENOENT): load its kernel module",
                 counter->device);
    else if (host->hypervisor && error != EINVAL)
        snprintf(out, bytes,
                 "not supported: this virtual machine has no PMU (%s); its host can pass one on (QEMU: -cpu host,pmu=on)", word);
    else
        snprintf(out, bytes, "not supported: this CPU or its kernel driver has no such event (%s)", word);
}

void tb_counter_say(const struct tb_counter *counter, int error, const struct tb_counter_host *host, char *out, size_t bytes)
{
    switch (error) {
    case 0: out[0] = '\0'; break;
    case EACCES: say_paranoid(counter, host, out, bytes); break;
    case EPERM:
        snprintf(out, bytes,
                 "not supported: perf_event_open is forbidden (EPERM), by seccomp as in a container or by a security "
                 "module: give it CAP_PERFMON");
        break;
    case ENOSYS:
        snprintf(out, bytes,
                 "not supported: the kernel has no perf_event_open (ENOSYS, CONFIG_PERF_EVENTS), or a sandbox hides it");
        break;
    case EMFILE:
        snprintf(out, bytes, "not supported: too many open files (EMFILE), ulimit -n is %lu: raise it", host->files_max);
        break;
    case EBUSY:
        snprintf(out, bytes,
                 "not supported: the hardware's counters are taken (EBUSY), by another profiler or the NMI watchdog "
                 "(kernel.nmi_watchdog=0 frees one)");
        break;
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
    case EINVAL: say_no_hardware(counter, error, host, out, bytes); break;
    default: snprintf(out, bytes, "not supported: %s", strerror(error)); break;
    }
}

// --- probing -------------------------------------------------------------------------------------------------------------------

static int try_open(const struct perf_event_attr *attr, pid_t thread, int cpu)
{
    int fd = tb_perf_open(attr, thread, cpu, -1);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -fd : 0;
}

static int try_uncore(void *context, const struct perf_event_attr *attr, int cpu)
{
    *(int *)context = try_open(attr, -1, cpu);
    return 1; // one is enough
}

static int probe_uncore(const struct tb_counter *counter)
{
    int error = ENODEV, rc = tb_uncore_each("", counter, try_uncore, &error);
    return rc < 0 ? -rc : error;
}

static int probe_thread(struct tb_counter *counter)
{
    counter->attr.disabled = 1;
    int error = try_open(&counter->attr, 0, -1);
    if (error != EACCES || kernel_only(counter))
        return error;
    counter->attr.exclude_kernel = 1;
    return try_open(&counter->attr, 0, -1);
}

static void derive(struct tb_counter_set *set, struct tb_counter *counter)
{
    for (int i = 0; i < 3 && counter->derived_from[i] >= 0 && !counter->error; i++) {
        const struct tb_counter *part = &set->counter[counter->derived_from[i]];
        counter->error = part->error;
        memcpy(counter->why, part->why, sizeof counter->why);
    }
}

static bool same_cpu(const struct tb_cpu_id *a, const struct tb_cpu_id *b)
{
    return strcmp(a->vendor, b->vendor) == 0 && a->family == b->family && a->model == b->model;
}

void tb_counters_probe(struct tb_counter_set *set)
{
    struct tb_cpu_id here = {.vendor = "unknown"};
    struct tb_counter_host host;
    bool ours = tb_cpu_id_host("", &here) == 0 && same_cpu(&here, &set->cpu);
    tb_counter_host_read("", &host);
    for (unsigned i = 0; i < set->count; i++) {
        struct tb_counter *counter = &set->counter[i];
        bool generic = strcmp(counter->source, "kernel") == 0;
        if (counter->error)
            continue;
        if (!generic && !ours) {
            counter->error = ENOTSUP;
            snprintf(counter->why, sizeof counter->why, "not supported: an event of %s, and this host has %s:%u:%u", set->cpu_name,
                     here.vendor, here.family, here.model);
        } else if (counter->derived_from[0] >= 0) {
            derive(set, counter);
        } else {
            counter->error = counter->kind == TB_COUNTER_UNCORE ? probe_uncore(counter) : probe_thread(counter);
            tb_counter_say(counter, counter->error, &host, counter->why, sizeof counter->why);
        }
    }
}

int tb_counters_here(struct tb_counter_set *out)
{
    struct tb_cpu_id cpu = {.vendor = "unknown"};
    tb_cpu_id_read("", &cpu);
    int error = tb_counters_resolve(out, &cpu);
    if (!error)
        tb_counters_probe(out);
    return error;
}
