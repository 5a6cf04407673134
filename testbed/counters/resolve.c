// SPDX-License-Identifier: Apache-2.0
//
// resolve: a CPU's events become counters with codes.
//
// libpfm4 is asked by name first; where it lacks the PMU (older versions know no Emerald or Granite Rapids and no Zen 5, one built
// for x86 no Arm) the code of the table counts. Both are the same where both are there, which a test holds on to.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/counters/pfm.h"
#include "testbed/counters/tables.h"

const char *tb_counter_kind_name(enum tb_counter_kind kind)
{
    static const char *const names[] = {"software", "hardware", "memory", "uncore"};
    return names[kind];
}

// --- generic -------------------------------------------------------------------------------------------------------------------

#define CACHE(cache, op, result)                                                                                                   \
    PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16

static const struct generic {
    const char *name, *event;
    enum tb_counter_kind kind;
    unsigned type;
    uint64_t config;
    unsigned group;
} generic[] = {
    {"task_clock", "task-clock", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0},
    {"page_faults", "page-faults", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
    {"minor_faults", "minor-faults", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 0},
    {"major_faults", "major-faults", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0},
    {"cpu_migrations", "cpu-migrations", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 0},
    {"context_switches", "context-switches", TB_COUNTER_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0},
    {"cycles", "cpu-cycles", TB_COUNTER_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1},
    {"instructions", "instructions", TB_COUNTER_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1},
    {"llc_accesses", "LLC-loads", TB_COUNTER_HARDWARE, PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), 2},
    {"llc_misses", "LLC-load-misses", TB_COUNTER_HARDWARE, PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), 2},
    {"dtlb_misses", "dTLB-load-misses", TB_COUNTER_HARDWARE, PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), 2},
    {"dtlb_store_misses", "dTLB-store-misses", TB_COUNTER_HARDWARE, PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS), 2},
};

static struct tb_counter *append(struct tb_counter_set *set, const char *name, const char *event, const char *source)
{
    struct tb_counter *counter = &set->counter[set->count++];
    *counter = (struct tb_counter){.derived_from = {-1, -1, -1}};
    snprintf(counter->name, sizeof counter->name, "%s", name);
    snprintf(counter->event, sizeof counter->event, "%s", event);
    snprintf(counter->source, sizeof counter->source, "%s", source);
    counter->attr.size = sizeof counter->attr;
    return counter;
}

static void append_generic(struct tb_counter_set *set)
{
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++) {
        struct tb_counter *counter = append(set, generic[i].name, generic[i].event, "kernel");
        counter->kind = generic[i].kind;
        counter->group = generic[i].group;
        counter->attr.type = generic[i].type;
        counter->attr.config = generic[i].config;
    }
}

// --- of one CPU ----------------------------------------------------------------------------------------------------------------

// "OCR.READS_TO_CORE.LOCAL_DRAM" is "OCR:READS_TO_CORE_LOCAL_DRAM" there.
static void pfm_name(const struct tb_cpu *cpu, const struct tb_cpu_event *event, char *out, size_t bytes)
{
    int used = snprintf(out, bytes, "%s::%s", cpu->pmu, event->pfm ? event->pfm : event->event);
    char *dot = event->pfm ? NULL : strchr(out, '.');
    if (used < 0 || !dot)
        return;
    *dot = ':';
    while ((dot = strchr(dot, '.')))
        *dot = '_';
}

static bool from_pfm(const struct tb_cpu *cpu, const struct tb_cpu_event *event, struct perf_event_attr *attr)
{
    char name[192];
    unsigned type;
    uint64_t config, config1;
    if (event->pfm && !*event->pfm)
        return false;
    pfm_name(cpu, event, name, sizeof name);
    if (!tb_pfm_encode(name, &type, &config, &config1))
        return false;
    attr->type = type;
    attr->config = config;
    attr->config1 = config1;
    return true;
}

static void take_derived(struct tb_counter_set *set, struct tb_counter *counter, const struct tb_cpu_event *event)
{
    snprintf(counter->source, sizeof counter->source, "derived");
    for (int i = 0; i < 3 && event->minus[i]; i++)
        counter->derived_from[i] = tb_counters_find(set, event->minus[i]);
}

static void take_event(struct tb_counter_set *set, struct tb_counter *counter, const struct tb_cpu *cpu,
                       const struct tb_cpu_event *event)
{
    counter->attr.type = PERF_TYPE_RAW;
    counter->attr.config = event->config;
    counter->attr.config1 = event->config1;
    if (event->minus[0]) {
        take_derived(set, counter, event);
    } else if (event->device) {
        counter->attr.type = 0; // the host's sysfs has it
        snprintf(counter->source, sizeof counter->source, "sysfs");
        snprintf(counter->device, sizeof counter->device, "%s", event->device);
        snprintf(counter->code, sizeof counter->code, "%s", event->code);
    } else if (from_pfm(cpu, event, &counter->attr)) {
        snprintf(counter->source, sizeof counter->source, "libpfm4");
    }
}

// An event of a name that is there already takes its place: the vendor's for the generic one.
static void append_events(struct tb_counter_set *set, const struct tb_cpu *cpu, const struct tb_cpu_events *events,
                          enum tb_counter_kind kind)
{
    unsigned group = 0;
    for (unsigned i = 0; events && i < events->count; i++) {
        const struct tb_cpu_event *event = &events->event[i];
        int at = tb_counters_find(set, event->name);
        unsigned count = set->count;
        if (at >= 0)
            set->count = (unsigned)at;
        else if (set->count == TB_COUNTERS_MAX)
            return;
        struct tb_counter *counter = append(set, event->name, event->event, "raw");
        set->count = at >= 0 ? count : set->count;
        group = event->group ? event->group : group;
        counter->group = group;
        counter->kind = kind;
        take_event(set, counter, cpu, event);
    }
}

static void append_missing(struct tb_counter_set *set, enum tb_counter_kind kind, const char *name, const char *why)
{
    if (tb_counters_find(set, name) >= 0 || set->count == TB_COUNTERS_MAX)
        return;
    struct tb_counter *counter = append(set, name, "", "");
    counter->kind = kind;
    counter->error = ENOTSUP;
    snprintf(counter->why, sizeof counter->why, "not supported: %s", why);
}

// What everybody asks for has its answer, if only why there is none.
static void say_what_is_missing(struct tb_counter_set *set, const struct tb_cpu *cpu)
{
    char why[128];
    const struct tb_cpu_id *id = &set->cpu;
    if (!cpu)
        snprintf(why, sizeof why, "unknown CPU %s:%u:%u, none of its events is known here", id->vendor, id->family, id->model);
    else
        snprintf(why, sizeof why, "%s has no such event for one process", cpu->name);
    append_missing(set, TB_COUNTER_MEMORY, "dram_local", why);
    append_missing(set, TB_COUNTER_MEMORY, "dram_remote", why);
}

int tb_counters_resolve(struct tb_counter_set *out, const struct tb_cpu_id *cpu)
{
    const struct tb_cpu *known = tb_cpu_find(cpu);
    memset(out, 0, sizeof *out);
    out->cpu = *cpu;
    snprintf(out->cpu_name, sizeof out->cpu_name, "%s", known ? known->name : "unknown");
    append_generic(out);
    if (known) {
        bool started = tb_pfm_start(); // if it does not, it knows no name, and the table's codes count
        append_events(out, known, known->hardware, TB_COUNTER_HARDWARE);
        append_events(out, known, known->memory, TB_COUNTER_MEMORY);
        append_events(out, known, known->uncore, TB_COUNTER_UNCORE);
        if (started)
            tb_pfm_stop();
    }
    say_what_is_missing(out, known);
    return 0;
}
