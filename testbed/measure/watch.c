// SPDX-License-Identifier: Apache-2.0
//
// watch: see watch.h.
//
// A process that shares its CPU takes several times as long, and does so in every round: with an endless loop on each of two CPUs
// all rounds of a malloc took two time slices to the microsecond. So the times have no spread and a narrow interval, and do not
// show it. The scheduler does: /proc/PID/task/TID/schedstat has the nanoseconds for which a thread was ready to run but did not.
// It does not include interrupts or a shared cache or memory bus, nor a hypervisor that runs another machine: that is in
// /proc/stat, for all CPUs of the host, because the CPU of a thread that is not pinned cannot be told from the others.
#include "testbed/measure/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "testbed/measure/engine.h"

// Adds how long a thread waited, and how often it ran. false: this kernel has no such file.
static bool thread_waited(int tasks, const char *thread, uint64_t *sum, uint64_t *turns)
{
    char path[64], text[96], *field = text;
    snprintf(path, sizeof path, "%.40s/schedstat", thread);
    int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    strtoull(field, &field, 10); // nanoseconds on a CPU
    *sum += strtoull(field, &field, 10);
    *turns += strtoull(field, &field, 10);
    return true;
}

// Adds the threads of the process whose folder of these it is.
static bool tasks_waited(const char *folder, uint64_t *sum, uint64_t *turns)
{
    _Alignas(struct dirent64) char list[4096];
    int tasks = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool known = tasks >= 0;
    ssize_t bytes = 0;
    while (known && (bytes = getdents64(tasks, list, sizeof list)) > 0) {
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const struct dirent64 *)(void *)(list + at);
            if (entry->d_name[0] != '.')
                known &= thread_waited(tasks, entry->d_name, sum, turns);
            at += entry->d_reclen;
        }
    }
    if (tasks >= 0)
        close(tasks);
    return known && bytes == 0;
}

// An act may leave its work to a process that this thread started. A kernel that does not list children hides their waits.
static bool children_waited(uint64_t *sum, uint64_t *turns)
{
    char text[256], folder[64], *field = text, *end;
    int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    bool known = true;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    for (long pid; known && (pid = strtol(field, &end, 10)) > 0; field = end) {
        snprintf(folder, sizeof folder, "/proc/%ld/task", pid);
        known = tasks_waited(folder, sum, turns);
    }
    return known;
}

// A kernel that does not count shows zeros, but so does a thread that has not run yet.
static bool threads_waited(uint64_t *sum)
{
    uint64_t turns = 0;
    *sum = 0;
    return tasks_waited("/proc/self/task", sum, &turns) && children_waited(sum, &turns) && turns > 0;
}

bool tb_watch_steal(const char *line, uint64_t *ns)
{
    static const char begin[] = "cpu ";
    enum { BEFORE = 7 }; // user, nice, system, idle, iowait, irq, softirq
    const char *field = line + sizeof begin - 1;
    char *end;
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    uint64_t ticks = 0;
    if (strncmp(line, begin, sizeof begin - 1) != 0 || ticks_per_s <= 0)
        return false;
    for (int i = 0; i <= BEFORE; i++, field = end) {
        ticks = strtoull(field, &end, 10);
        if (end == field || (*end != ' ' && *end != '\n'))
            return false;
    }
    *ns = ticks * (UINT64_C(1000000000) / (uint64_t)ticks_per_s);
    return true;
}

static bool host_steal(uint64_t *ns)
{
    char text[512];
    int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    char *end = strchr(text, '\n');
    if (!end)
        return false;
    end[1] = '\0'; // not the lines of single CPUs
    return tb_watch_steal(text, ns);
}

uint64_t tb_watch_resident_bytes(void)
{
    static const char name[] = "\nRss:";
    char text[2048];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *line = strstr(text, name);
    return line ? strtoull(line + sizeof name - 1, NULL, 10) * 1024 : 0; // in kB
}

static uint64_t switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_nivcsw : 0;
}

void tb_watch_start(struct tb_watch *watch)
{
    watch->steal_known = host_steal(&watch->steal_ns);
    watch->switches = switches();
    watch->known = threads_waited(&watch->waited_ns);
    watch->begun_ns = tb_now_ns();
}

void tb_watch_stop(const struct tb_watch *watch, struct tb_sample *out)
{
    uint64_t now_ns = tb_now_ns(), lost = switches(), waited_ns, steal_ns = 0;
    if (!watch->known || !threads_waited(&waited_ns) || waited_ns < watch->waited_ns) // a thread ended, and its waits with it
        return;
    out->watched_ns = now_ns - watch->begun_ns;
    out->waited_ns = waited_ns - watch->waited_ns;
    out->switches = lost - watch->switches;
    out->steal_known = watch->steal_known && host_steal(&steal_ns) && steal_ns >= watch->steal_ns;
    out->steal_ns = out->steal_known ? steal_ns - watch->steal_ns : 0;
}
