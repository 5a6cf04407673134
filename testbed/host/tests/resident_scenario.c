// SPDX-License-Identifier: Apache-2.0
//
// resident_scenario MIB POLICY NODES PAGE [CPU...]
//
// A process that can be looked at: MIB of memory with a policy ("bind", "interleave", "first-touch") over NODES ("0", "0,1"; "-":
// none) in pages "4k" or "2m" (hugetlb), all present, and on each CPU a thread that does nothing but run. It prints "ready", and
// ends when its input does.
//
// Exit status: 0; 1 the kernel refuses; 2 bad use.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "locus/region.h"
#include "topo/pin.h"

#define THREADS_MAX 64

static int usage(void)
{
    fputs("usage: resident_scenario MIB bind|interleave|first-touch NODES|- 4k|2m [CPU...]\n", stderr);
    return 2;
}

static void *run(void *cpu)
{
    if (locus_pin_cpu(*(const int *)cpu))
        exit(1);
    for (volatile unsigned long turns = 0;; turns++)
        ;
}

static int policy_of(const char *name, enum locus_policy *out)
{
    for (int policy = 0; locus_policy_name((enum locus_policy)policy); policy++)
        if (strcmp(locus_policy_name((enum locus_policy)policy), name) == 0) {
            *out = (enum locus_policy)policy;
            return 0;
        }
    return -1;
}

static void nodes_of(const char *list, struct locus_nodes *out)
{
    for (char *end; *list >= '0' && *list <= '9'; list = *end ? end + 1 : end)
        locus_nodes_add(out, (int)strtol(list, &end, 10));
}

int main(int argc, char **argv)
{
    static int cpus[THREADS_MAX];
    struct locus_region_config config = {.size = sizeof config, .populate = true};
    struct locus_region *region = NULL;
    char why[512], input[64];
    pthread_t thread;
    if (argc < 5 || argc > 5 + THREADS_MAX || policy_of(argv[2], &config.policy))
        return usage();
    config.bytes = strtoul(argv[1], NULL, 10) << 20;
    config.page = strcmp(argv[4], "2m") ? LOCUS_PAGE_4K : LOCUS_PAGE_2M;
    nodes_of(argv[3], &config.nodes);
    int error = locus_region_open(&region, &config);
    if (error) {
        locus_region_why(&config, error, why, sizeof why);
        fprintf(stderr, "resident_scenario: %s\n", why);
        return 1;
    }
    for (int i = 5; i < argc; i++) {
        cpus[i - 5] = atoi(argv[i]);
        if (pthread_create(&thread, NULL, run, &cpus[i - 5]))
            return 1;
    }
    puts("ready");
    fflush(stdout);
    while (read(0, input, sizeof input) > 0)
        ;
    _exit(0);
}
