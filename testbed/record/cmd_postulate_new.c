// SPDX-License-Identifier: Apache-2.0
//
// locus postulate new: a file that teaches. Every key is there and explained, and what only the author can know is left empty,
// so that `check` refuses it until it is filled in.

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/cli.h"
#include "testbed/record/cmd_postulate.h"

// Number, title as a quoted text, or nothing.
static const char template[] =
    "---\n"
    "id: \"%04u\"              # the number in the file's name\n"
    "title: %s\n"
    "# reproduces: \"0360\"    # the LOCUS paper's number, where this repeats one of its experiments\n"
    "# supersedes: \"0001\"    # an earlier postulate that this one corrects\n"
    "\n"
    "# What a host must have; where it is missing, no sample is taken and the verdict is unmeasurable-on-host: cpus >= N,\n"
    "# numa_nodes >= N (with memory), cpu_nodes >= N (with CPUs, too), hardware (no emulated guest), mbind_ok, move_pages_ok,\n"
    "# policies (the kernel has those of all arms), workers_pinned, libraries (all arms' libraries are installed), traces (the\n"
    "# recorded ones that are cells are here). May be [].\n"
    "requires: [cpus >= 2, workers_pinned]\n"
    "\n"
    "# A letter for each contender, named as `locus eval -c` takes it. The same contender twice is the A/A control.\n"
    "arms: {A: locus, B: glibc, C: locus}\n"
    "\n"
    "# WORKLOAD/TOUCH: steady-decode, burst-storm, long-tail, churn-touch, or a recorded trace: sample, azure-conv, azure-code,\n"
    "# mooncake; then none, byte or full; on many nodes line (a word in each cache line) or full.\n"
    "cells: [churn-touch/full]\n"
    "\n"
    "# A round runs each arm once per cell, in random order, each in a fresh process. Fewer than 20 seldom decide anything.\n"
    "design: {unit: process, rounds: 20, order: random, dispatch: spin, workers: 1, block_bytes: 4096, laps: 20, seed: 7}\n"
    "\n"
    "# Each with a number that can turn out wrong.\n"
    "#   metric  time_ns, outstanding_ratio (most blocks out at once over the theoretical peak), distinct_ratio; on many nodes\n"
    "#           remote_touch_ratio, wandered_ratio (handed out on another node), abroad_free_ratio (kept there): no ratios;\n"
    "#           of the kernel's counters, per lap and over all threads (`locus counters` says which this host has): cycles,\n"
    "#           instructions, llc_misses, dtlb_misses, dram_local, dram_remote; page_faults, cpu_migrations, context_switches:\n"
    "#           no ratios\n"
    "#   cell    one of the cells, \"*\" for all of them, \"*/full\" for all with that touch: it must hold in each\n"
    "#   stat    hl_ratio(B/A), median_ratio(B/A): B's figure over A's, round by round; hl_ratio(*/A): every other contender\n"
    "#           over A; order(A<D<E): hl_ratio(D/A) and hl_ratio(E/D), the predicted rank (op > or >=, value 1.0 or more);\n"
    "#           max, min, median: of one arm, which `arm: A` names\n"
    "#   op      \">=\", \"<=\", \">\", \"<\", within (then value: [low, high]), and \"==\" for max and min\n"
    "#   unit    x for ratios of arms, otherwise ns, ratio or count\n"
    "#   confidence  of the interval, 0.95 when left out;   margin  such as 0.02: closer than that to 1 is \"no difference\"\n"
    "predictions:\n"
    "  - {id: P1, metric: time_ns, cell: churn-touch/full, stat: hl_ratio(B/A), op: \">=\", value: 1.25, unit: x}\n"
    "\n"
    "# What makes a run invalid or noise: allocated == freed, pushed == drained, touched == expected, handles home,\n"
    "# aa_ratio_ci contains 1, paired_spread, throttle == 0, host_fit (see locus doctor).\n"
    "gates: [allocated == freed, pushed == drained, aa_ratio_ci contains 1]\n"
    "\n"
    "# What was known when this was written: a pilot, a paper, and their figures. Or: nothing.\n"
    "prior:\n"
    "---\n"
    "\n"
    "## Why\n"
    "\n"
    "\n"
    "## How it could be wrong\n"
    "\n";

static bool slug_good(const char *slug)
{
    size_t length = strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length < 64 && slug[length] == '\0' && slug[0] != '-';
}

// One more than the highest number there is.
static int number_next(unsigned *out)
{
    char **names = NULL;
    int count = tb_postulate_names(&names);
    *out = 1;
    for (int i = 0; i < count; i++) {
        unsigned long number = strtoul(names[i] + strlen(TB_POSTULATES "/"), NULL, 10);
        if (number < 9999 && number >= *out)
            *out = (unsigned)number + 1;
    }
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    return count < 0 ? TB_EXIT_FAILED : TB_EXIT_OK;
}

static int write_new(const char *path, unsigned number, const char *title)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        tb_error("%s: %s", path, strerror(errno));
        return TB_EXIT_FAILED;
    }
    bool failed = fprintf(file, template, number, title) < 0;
    failed |= fclose(file) != 0;
    if (!failed)
        return TB_EXIT_OK;
    tb_error("%s: %s", path, strerror(errno));
    unlink(path);
    return TB_EXIT_FAILED;
}

int tb_postulate_new(const char *slug, const char *title)
{
    char path[256];
    unsigned number;
    if (!slug_good(slug)) {
        tb_error("'%s': a slug is small letters, digits and '-', at most 63, such as glibc-on-churn", slug);
        return TB_EXIT_USAGE;
    }
    json_t *text = json_string(title ? title : "");
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL; // a JSON string is a quoted one of YAML
    int status = quoted ? number_next(&number) : TB_EXIT_USAGE;
    if (!quoted)
        tb_error("--title: it is not UTF-8");
    if (!status) {
        snprintf(path, sizeof path, TB_POSTULATES "/%04u-%s.md", number, slug);
        status = write_new(path, number, title ? quoted : "");
    }
    if (!status)
        printf("%s\nfill it in, then: locus postulate check %04u\n", path, number);
    free(quoted);
    json_decref(text);
    return status;
}
