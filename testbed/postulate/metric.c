// SPDX-License-Identifier: Apache-2.0
//
// metric: see metric.h.

#include "testbed/postulate/metric.h"

#include <stddef.h>
#include <string.h>

#include "testbed/engine/result.h"
#include "testbed/measure/pins/pinned.h"
#include "testbed/measure/sample.h"
#include "testbed/serving/adapters/batches.h"
#include "testbed/serving/adapters/residency.h"
#include "testbed/serving/arena/arena.h"
#include "testbed/serving/served.h"

#define PEAK(name, member, what)                                                                                                   \
    {                                                                                                                              \
        name, member, true, false, true, false, false, false, NULL, "ratio", what                                                  \
    }
#define NODES(name, what)                                                                                                          \
    {                                                                                                                              \
        name, name, false, true, false, false, false, false, NULL, "ratio", what                                                   \
    }
#define DECODE(name, what)                                                                                                         \
    {                                                                                                                              \
        name, "decode." name, false, true, false, false, false, false, NULL, "ratio", what                                         \
    }
#define HARDWARE(name, what)                                                                                                       \
    {                                                                                                                              \
        name, "counters." name ".value", false, false, true, true, false, false, name, "count", what " per lap"                    \
    }
#define SOFTWARE(name, what)                                                                                                       \
    {                                                                                                                              \
        name, "counters." name ".value", false, false, false, false, false, false, name, "count", what " per lap"                  \
    }

#define EMULATED(name, member, exact, what)                                                                                        \
    {                                                                                                                              \
        name, "emulated." member, false, false, exact, !(exact), exact, true, NULL, "count", what " per block, in an emulator"     \
    }

// What is counted in virtual time is exact; real time, of which the unit is ns, is not.
#define IS_TIME(unit) (sizeof(unit) == sizeof("ns"))
#define SERVED(type, member, unit, ratio, what)                                                                                    \
    {#member, "serving." #member, false, false, ratio, IS_TIME(unit), !IS_TIME(unit), false, NULL, unit, what},

#define KIND_MEASURED true, false
#define KIND_FIXED false, true
#define KIND_COUNTED false, false
#define ENGINED(type, member, unit, kind, ratio, what)                                                                             \
    {#member, "engine." #member, false, false, ratio, KIND_##kind, false, NULL, unit, what},

// Its times of single calls are the arena's, and have their names.
#define PINNED(type, member, unit, kind, ratio, what)                                                                              \
    {#member, "serving." #member, false, false, ratio, KIND_##kind, false, NULL, unit, what},

#define CLOCKED(call, calls)                                                                                                       \
    TAIL(call, "p50", "half of all " calls " are done in this"), TAIL(call, "p99", "of 100 " calls " the slowest begin here"),     \
        TAIL(call, "p999", "of 1000 " calls " the slowest begin here"),                                                            \
        TAIL(call, "max", "the slowest of a process's " calls)
#define TAIL(call, which, what)                                                                                                    \
    {                                                                                                                              \
        call "_ns_" which, call "." which "_ns", false, false, true, true, false, false, NULL, "ns", what ", clock included"       \
    }

#define STEP(name, member, what)                                                                                                   \
    {                                                                                                                              \
        name, "decode.step_" member, false, false, true, true, false, false, NULL, "ns", what                                      \
    }

static const struct tb_metric metrics[] = {
    {"time_ns", "time_ns", false, false, true, true, false, false, NULL, "ns", "time per lap, left is faster"},
    {"time_ns_mean", "time_ns_mean", false, false, true, true, false, false, NULL, "ns",
     "mean time per lap in a process, left is faster"},
    {"time_ns_p90", "time_ns_p90", false, false, true, true, false, false, NULL, "ns",
     "slowest tenth of the laps begins here, left is faster"},
    PEAK("outstanding_ratio", "outstanding_high", "blocks out at once, over the theoretical peak"),
    PEAK("distinct_ratio", "distinct", "distinct blocks touched, over the theoretical peak"),
    {"adjacency", "adjacency", false, false, false, false, false, false, NULL, "ratio",
     "blocks whose successor in their table is their neighbour in memory, right is better"},
    {"waits", "waits", false, false, false, false, false, false, NULL, "count", "takes that waited for blocks on their way home"},
    {"wait_ns", "wait_ns", false, false, true, true, false, false, NULL, "ns", "mean time of such a wait"},
    CLOCKED("take", "takes"),
    CLOCKED("push", "pushes (of a malloc: frees of a request)"),
    CLOCKED("drain", "drains at a step"),
    CLOCKED("wait", "takes that waited"),
    STEP("step_ns_p50", "p50_ns", "half of all decode steps are done in this"),
    STEP("step_ns_p99", "p99_ns", "of 100 decode steps the slowest begin here"),
    {"resident_ratio", "resident_blocks", true, false, true, true, false, false, NULL, "ratio",
     "memory resident after the timed laps, over that of the blocks at the theoretical peak"},
    NODES("remote_touch_ratio", "touches of pages on another node than the CPU"),
    NODES("wandered_ratio", "blocks on another node than their scheduler"),
    NODES("abroad_free_ratio", "freed blocks kept on another node than their own"),
    DECODE("remote_read_ratio", "bytes of K and V that were read on another node than the CPU"),
    DECODE("remote_write_ratio", "bytes of K and V that were written on another node than the CPU"),
    HARDWARE("cycles", "cycles of all threads"),
    HARDWARE("instructions", "instructions of all threads"),
    HARDWARE("llc_misses", "misses of the last-level cache"),
    HARDWARE("dtlb_misses", "misses of the data TLB"),
    HARDWARE("dram_local", "demand reads from the own node's memory"),
    HARDWARE("dram_remote", "demand reads from another node's memory"),
    SOFTWARE("page_faults", "page faults"),
    SOFTWARE("cpu_migrations", "moves of a thread to another CPU"),
    SOFTWARE("context_switches", "context switches"),
    EMULATED("instructions_per_block", "instructions", true, "instructions"),
    EMULATED("locked_per_block", "locked", true, "instructions that lock memory"),
    EMULATED("failed_per_block", "failed", false, "exchanges that failed"),
    TB_SERVED_FIELDS(SERVED)  // of touch `serve`
    TB_TIERED_FIELDS(SERVED)  // of touch `keep`
    TB_BATCHED_FIELDS(SERVED) // of touch `adapters`
    TB_RESIDED_FIELDS(SERVED) // of touch `residency`
    TB_ARENA_FIELDS(SERVED)   // of touch `pages`
    TB_PINNED_FIELDS(PINNED)  // of touch `pins`
    TB_ENGINED_FIELDS(ENGINED) // of touch `engine`
};

#define COUNT (sizeof metrics / sizeof *metrics)
_Static_assert(COUNT <= TB_METRICS_MAX, "lists of metrics have room for fewer");

const struct tb_metric *tb_metric_at(unsigned i)
{
    return i < COUNT ? &metrics[i] : NULL;
}

const struct tb_metric *tb_metric_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

double tb_metric_divisor(const struct tb_metric *metric, const json_t *cell)
{
    if (metric->of_peak)
        return json_number_value(json_object_get(cell, "blocks_peak"));
    double laps = metric->counter || metric->emulated ? json_number_value(json_object_get(cell, "laps_metered")) : 1;
    return metric->emulated ? laps * json_number_value(json_object_get(cell, "blocks_per_lap")) : laps;
}

bool tb_metric_is_clocked(const struct tb_metric *metric)
{
    for (int what = 0; what < TB_CLOCKED_COUNT; what++) {
        size_t length = strlen(tb_clocked_name(what));
        if (strncmp(metric->member, tb_clocked_name(what), length) == 0 && metric->member[length] == '.')
            return true;
    }
    return strncmp(metric->member, "decode.step_", 12) == 0;
}

bool tb_metric_is_time(const char *name)
{
    const struct tb_metric *metric = tb_metric_find(name);
    return metric && (strcmp(metric->unit, "ns") == 0 || strcmp(metric->unit, "1/s") == 0 ||
                      strncmp(metric->member, "engine.step_", 12) == 0); // a share of a billed step
}
