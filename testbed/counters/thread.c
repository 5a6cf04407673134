// SPDX-License-Identifier: Apache-2.0
//
// thread: the counters of this process's threads, from opening to closing.
//
// One thread opens, starts and stops them for all: the kernel lets a process count its own threads. So those that are measured are
// not asked to do anything, and nothing is inherited, which would count the threads of the testbed's own making later on.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/counters/parts.h"

// Arbitrary, and more than a process may have open by default: 64 workers with twelve counters are 780, of a package with 60 home
// agents 240 more. 8 bytes each, of which only those in use become memory.
#define SLOTS_MAX 65536u

struct slot {
    int fd;
    unsigned short counter;
    bool leader;
};

struct tb_counters {
    struct tb_counter_set set;
    uint64_t on;
    int error[TB_COUNTERS_MAX]; // the first
    uint32_t count;
    struct slot slot[SLOTS_MAX];
};

struct opening {
    struct tb_counters *counters;
    unsigned counter;           // uncore: of which the devices are walked
};

static bool is_on(const struct tb_counters *counters, unsigned counter)
{
    return counters->on >> counter & 1;
}

// The file, or -errno, which the counter keeps.
static int open_one(struct tb_counters *counters, unsigned counter, const struct perf_event_attr *like, pid_t thread, int cpu,
                    int group)
{
    struct perf_event_attr attr = *like;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.disabled = group < 0; // a group starts and stops with its leader
    int fd = counters->count < SLOTS_MAX ? tb_perf_open(&attr, thread, cpu, group) : -EMFILE;
    if (fd >= 0)
        counters->slot[counters->count++] = (struct slot){.fd = fd, .counter = (unsigned short)counter, .leader = group < 0};
    return fd;
}

// A group that cannot be scheduled as a whole is refused at its last member. That one stands alone then, and shares.
static void open_in_group(struct tb_counters *counters, unsigned at, pid_t thread, int *leader)
{
    const struct tb_counter *counter = &counters->set.counter[at];
    int fd = open_one(counters, at, &counter->attr, thread, -1, counter->attr.pinned ? -1 : *leader);
    if (fd == -EINVAL && *leader >= 0)
        fd = open_one(counters, at, &counter->attr, thread, -1, -1);
    else if (fd >= 0 && *leader < 0 && !counter->attr.pinned)
        *leader = fd;
    if (fd < 0 && !counters->error[at])
        counters->error[at] = -fd;
}

static int open_thread(void *context, const char *name)
{
    struct tb_counters *counters = ((struct opening *)context)->counters;
    pid_t thread = (pid_t)strtol(name, NULL, 10);
    int leader = -1;
    for (unsigned i = 0; i < counters->set.count; i++) {
        const struct tb_counter *counter = &counters->set.counter[i];
        if (i > 0 && counter->group != counters->set.counter[i - 1].group)
            leader = -1;
        if (is_on(counters, i) && counter->kind != TB_COUNTER_UNCORE && counter->derived_from[0] < 0)
            open_in_group(counters, i, thread, &leader);
    }
    return 0;
}

static int open_device(void *context, const struct perf_event_attr *attr, int cpu)
{
    struct opening *opening = context;
    int fd = open_one(opening->counters, opening->counter, attr, -1, cpu, -1);
    return fd < 0 ? fd : 0;
}

static void open_uncore(struct tb_counters *counters)
{
    for (unsigned i = 0; i < counters->set.count; i++) {
        struct opening opening = {.counters = counters, .counter = i};
        if (is_on(counters, i) && counters->set.counter[i].kind == TB_COUNTER_UNCORE)
            counters->error[i] = -tb_uncore_each("", &counters->set.counter[i], open_device, &opening);
    }
}

int tb_counters_open(struct tb_counters **out, const struct tb_counter_set *set, uint64_t on)
{
    struct tb_counters *counters =
        mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct opening opening = {.counters = counters};
    *out = NULL;
    if (counters == MAP_FAILED)
        return -ENOMEM;
    counters->set = *set;
    counters->on = on;
    if (tb_folder_each("/proc/self/task", open_thread, &opening) < 0)
        open_thread(&opening, "0"); // without /proc the caller alone is known
    open_uncore(counters);
    *out = counters;
    return 0;
}

// The leader alone: its group follows. Members that are told as well stay off after the second start (Linux 6.18).
static void tell_leaders(struct tb_counters *counters, unsigned long request)
{
    for (uint32_t i = 0; counters && i < counters->count; i++)
        if (counters->slot[i].leader)
            ioctl(counters->slot[i].fd, request, 0);
}

void tb_counters_start(struct tb_counters *counters)
{
    tell_leaders(counters, PERF_EVENT_IOC_ENABLE);
}

void tb_counters_stop(struct tb_counters *counters)
{
    tell_leaders(counters, PERF_EVENT_IOC_DISABLE);
}

// Nothing to read is how the kernel says that what was pinned got no hardware.
static void read_slot(const struct slot *slot, struct tb_counter_value *value)
{
    uint64_t got[3] = {0};
    ssize_t n = read(slot->fd, got, sizeof got);
    if (n != sizeof got) {
        value->error = n < 0 ? errno : EBUSY;
        return;
    }
    value->value += got[0];
    value->enabled_ns += got[1];
    value->running_ns += got[2];
}

// The difference of its parts, and as little running as the one that ran least.
static void derive(const struct tb_counters *counters, unsigned at, struct tb_counter_value values[])
{
    const int *from = counters->set.counter[at].derived_from;
    struct tb_counter_value *out = &values[at];
    *out = values[from[0]];
    for (int i = 1; i < 3 && from[i] >= 0 && !out->error; i++) {
        const struct tb_counter_value *part = &values[from[i]];
        out->error = part->error;
        out->value = part->value < out->value ? out->value - part->value : 0;
        if (part->running_ns < out->running_ns)
            out->running_ns = part->running_ns;
    }
}

void tb_counters_read(const struct tb_counters *counters, struct tb_counter_value values[])
{
    if (!counters)
        return;
    for (unsigned i = 0; i < counters->set.count; i++)
        values[i] = (struct tb_counter_value){.error = is_on(counters, i) ? counters->error[i] : ENODATA};
    for (uint32_t i = 0; i < counters->count; i++)
        read_slot(&counters->slot[i], &values[counters->slot[i].counter]);
    for (unsigned i = 0; i < counters->set.count; i++)
        if (counters->set.counter[i].derived_from[0] >= 0)
            derive(counters, i, values);
}

void tb_counters_close(struct tb_counters *counters)
{
    for (uint32_t i = 0; counters && i < counters->count; i++)
        close(counters->slot[i].fd);
    if (counters)
        munmap(counters, sizeof *counters);
}

// --- whose turn it is ----------------------------------------------------------------------------------------------------------

int tb_counters_find(const struct tb_counter_set *set, const char *name)
{
    for (unsigned i = 0; i < set->count; i++)
        if (strcmp(set->counter[i].name, name) == 0)
            return (int)i;
    return -1;
}

uint64_t tb_counters_want(struct tb_counter_set *set, const char *name)
{
    int at = tb_counters_find(set, name);
    uint64_t wanted = at < 0 ? 0 : UINT64_C(1) << at;
    if (at < 0)
        return 0;
    struct tb_counter *counter = &set->counter[at];
    for (int i = 0; i < 3 && counter->derived_from[i] >= 0; i++)
        wanted |= UINT64_C(1) << counter->derived_from[i];
    bool hardware = counter->kind == TB_COUNTER_HARDWARE || counter->kind == TB_COUNTER_MEMORY;
    counter->attr.pinned = hardware && counter->derived_from[0] < 0;
    return wanted;
}

// The number of groups that take turns before counter `end`; the set has each group in one piece.
static uint32_t turns_before(const struct tb_counter_set *set, unsigned end)
{
    uint32_t turns = 0;
    unsigned last = 0;
    for (unsigned i = 0; i < end; i++) {
        const struct tb_counter *counter = &set->counter[i];
        if (counter->error || counter->group < TB_COUNTERS_TURNS || counter->group == last)
            continue;
        last = counter->group;
        turns++;
    }
    return turns;
}

uint64_t tb_counters_on(const struct tb_counter_set *set, uint64_t wanted, uint32_t round)
{
    uint32_t turns = turns_before(set, set->count);
    uint64_t on = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const struct tb_counter *counter = &set->counter[i];
        bool always = counter->group < TB_COUNTERS_TURNS || (wanted >> i & 1);
        bool turn = turns > 0 && !always && turns_before(set, i + 1) == round % turns + 1;
        if (!counter->error && (always || turn))
            on |= UINT64_C(1) << i;
    }
    return on;
}
