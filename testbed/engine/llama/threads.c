// SPDX-License-Identifier: Apache-2.0
//
// threads: see threads.h.

#include "testbed/engine/llama/threads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int node_of_cpu(int cpu)
{
    static signed char known[8192]; // node + 1; 0: not looked up
    if (cpu < 0 || cpu >= (int)sizeof(known))
        return 0;
    for (int node = 0; !known[cpu] && node < TB_LLAMA_NODES_MAX; node++) {
        char path[96];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", cpu, node);
        FILE *there = fopen(path, "re");
        if (there) {
            known[cpu] = (signed char)(node + 1);
            fclose(there);
        }
    }
    return known[cpu] ? known[cpu] - 1 : 0;
}

static int read_line(const char *tid, const char *file, char *out, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%.16s/%s", tid, file);
    FILE *from = fopen(path, "re");
    size_t read = from ? fread(out, 1, bytes - 1, from) : 0;
    out[read] = '\0';
    if (from)
        fclose(from);
    return read ? 0 : -1;
}

// The 39th field of stat, counted from behind the name, which may contain anything.
static int cpu_of(const char *stat)
{
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at ? atoi(at + 1) : -1;
}

static unsigned place_of(struct tb_llama_threads *threads, int tid)
{
    unsigned i = 0;
    while (i < TB_LLAMA_THREADS_MAX && threads->seen[i].tid && threads->seen[i].tid != tid)
        i++;
    return i;
}

static void look_at(struct tb_llama_threads *threads, const char *tid, int first)
{
    char schedstat[96], stat[1024];
    uint64_t ran_ns, waited_ns;
    unsigned at = place_of(threads, atoi(tid));
    if (at == TB_LLAMA_THREADS_MAX || read_line(tid, "schedstat", schedstat, sizeof(schedstat)) != 0 ||
        read_line(tid, "stat", stat, sizeof(stat)) != 0 || sscanf(schedstat, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) != 2)
        return;
    if (!first && ran_ns > threads->seen[at].ran_ns) {
        threads->ran_ns[node_of_cpu(cpu_of(stat))] += ran_ns - threads->seen[at].ran_ns;
        threads->waited_ns += waited_ns - threads->seen[at].waited_ns;
    }
    threads->seen[at].tid = atoi(tid);
    threads->seen[at].ran_ns = ran_ns;
    threads->seen[at].waited_ns = waited_ns;
    if (at >= threads->count)
        threads->count = at + 1;
}

void tb_llama_threads_look(struct tb_llama_threads *threads, int first)
{
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));)
        if (task->d_name[0] != '.')
            look_at(threads, task->d_name, first);
    if (tasks)
        closedir(tasks);
}
