// SPDX-License-Identifier: Apache-2.0
//
// process_fixture: a process in a tree that stands for another machine's /proc: two nodes, CPUs 0-7 and 8-15.
#ifndef TB_PROCESS_FIXTURE_H
#define TB_PROCESS_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "testbed/host/process/process.h"
#include "topo/tests/tree.h"

#define FIXTURE_PID 4711
#define FIXTURE_MACHINE "pack:2 [numa(memory=64GB)] core:8 pu:1"

static struct tb_process process;
static char process_why[512];

static inline struct locus_topo *process_machine(const char *description)
{
    struct locus_topo *topo = NULL;
    char why[512];
    cr_assert_eq(locus_topo_open(&topo, description, why, sizeof why), 0, "%s", why);
    return topo;
}

__attribute__((format(printf, 2, 3))) static inline void process_file(const char *name, const char *format, ...)
{
    char path[256], text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(path, sizeof path, "/proc/%d/%s", FIXTURE_PID, name);
    tree_file(path, text);
}

// A line of stat. `name` may be anything.
static inline void process_stat(const char *file, const char *name, char state, unsigned flags, unsigned ticks, int cpu)
{
    process_file(
        file,
        "4711 (%s) %c 1 4711 4711 0 -1 %u 500 0 3 0 %u 0 0 0 20 0 3 0 9000 1000000 2000 18446744073709551615 1 1 0 0 0 0 0 "
        "0 0 0 0 0 17 %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        name, state, flags, ticks, cpu);
}

// A thread that ran for `ticks` (of 20) while it was watched, on `cpu` at first and on `later` then.
static inline void process_thread(int tid, const char *cpus, unsigned ticks, int cpu, int later)
{
    char file[64];
    snprintf(file, sizeof file, "task/%d/stat", tid);
    process_stat(file, "engine", 'R', 0, 1000, cpu);
    snprintf(file, sizeof file, "task/%d/stat.later", tid);
    process_stat(file, "engine", 'R', 0, 1000 + ticks, later);
    snprintf(file, sizeof file, "task/%d/status", tid);
    process_file(file, "Name:\tengine\nTgid:\t4711\nCpus_allowed:\tffff\nCpus_allowed_list:\t%s\nMems_allowed_list:\t0-1\n", cpus);
}

// The process itself, with one idle thread.
static inline void process_open(void)
{
    tree_open();
    process_stat("stat", "engine", 'S', 0, 1000, 0);
    process_file("status", "Name:\tengine\nState:\tS (sleeping)\nTgid:\t4711\nVmRSS:\t  2048 kB\nMems_allowed:\t3\n"
                           "Mems_allowed_list:\t0-1\n");
    process_thread(FIXTURE_PID, "0-15", 0, 0, 0);
    tree_file("/proc/sys/kernel/numa_balancing", "0\n");
    tree_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
}

static inline int process_look(void)
{
    struct locus_topo *topo = process_machine(FIXTURE_MACHINE);
    int error = tb_process_look(tree_root, FIXTURE_PID, topo, &process, process_why, sizeof process_why);
    locus_topo_close(topo);
    return error;
}

#endif
