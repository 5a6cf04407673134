// SPDX-License-Identifier: Apache-2.0
//
// sample: what the laps of a job come to; the names of touch modes, dispatch and faults in flags, logs and reports.
#include "testbed/measure/sample.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void tb_job_laps_sum(struct tb_job *job)
{
    struct tb_sample *sample = &job->sample;
    uint32_t count = job->laps;
    double sorted_ns[TB_LAPS_MAX], sum_ns = 0;
    memcpy(sorted_ns, job->lap_ns, count * sizeof *sorted_ns);
    qsort(sorted_ns, count, sizeof *sorted_ns, by_value);
    for (uint32_t i = 0; i < count; i++)
        sum_ns += sorted_ns[i];
    sample->lap_ns = (sorted_ns[(count - 1) / 2] + sorted_ns[count / 2]) / 2;
    sample->lap_ns_min = sorted_ns[0];
    sample->lap_ns_mean = sum_ns / count;
    sample->lap_ns_p90 = sorted_ns[(count * 9 + 9) / 10 - 1];
}

const char *tb_touch_name(enum tb_touch touch)
{
    static const char *const names[] = {"none", "byte",     "full",      "line",  "decode", "serve",
                                        "keep", "adapters", "residency", "pages", "pins",   "engine"};
    return (size_t)touch < sizeof names / sizeof *names ? names[touch] : "?";
}

const char *tb_dispatch_name(enum tb_dispatch dispatch)
{
    static const char *const names[] = {"inline", "spin", "futex"};
    return (size_t)dispatch < sizeof names / sizeof *names ? names[dispatch] : "?";
}

const char *tb_fault_name(enum tb_fault fault)
{
    static const char *const names[] = {NULL, "skip-touch", "drop-chunk", "double-free", "delay", "misplace", "act"};
    return (size_t)fault < sizeof names / sizeof *names ? names[fault] : "?";
}

const char *tb_clocked_name(int what)
{
    static const char *const names[TB_CLOCKED_COUNT] = {"take", "push", "drain", "wait"};
    return names[what];
}

const char *tb_bench_name(int op)
{
    static const char *const names[TB_BENCH_COUNT] = {"alloc", "bulk", "push", "free"};
    return op >= 0 && op < TB_BENCH_COUNT ? names[op] : "lap";
}

uint32_t tb_workers_parse(const char *text)
{
    uint64_t workers;
    return text[0] != '0' && tb_number_word(text, "", "w", 1, TB_WORKERS_MAX, &workers) ? (uint32_t)workers : 0;
}
