// SPDX-License-Identifier: Apache-2.0
//
// threads: two looks at each thread, and where its CPU time between them was spent.
//
// A look says on which CPU a thread is or was last. If that is another node's at the second look, each node gets half of the time
// in between. The kernel counts CPU time in ticks of mostly 10 ms. Where no thread ran at all, as in an engine without requests,
// the CPU time since each thread began has to do.
#include "testbed/host/process/threads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/host/process/maps.h"

#define BUSY_SHARE 10u          // a tenth

struct thread {
    char tid[64];
    struct tb_stat look[2];
    char *cpus;                 // that it may use; NULL: it ended before that could be read
    struct locus_nodes may;     // their nodes
};

struct threads {
    struct thread *thread;
    size_t count;
};

// --- text ----------------------------------------------------------------------------------------------------------------------

bool tb_list_has(const char *list, unsigned id)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (id >= first && id <= last)
            return true;
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

// Behind the name: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime priority nice
// threads itrealvalue starttime vsize rss rsslim startcode endcode startstack kstkesp kstkeip signal blocked sigignore sigcatch
// wchan nswap cnswap exit_signal processor.
bool tb_stat_parse(const char *text, struct tb_stat *out)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t user = 0, system = 0;
    if (!open || !close || close < open)
        return false;
    *out = (struct tb_stat){.cpu = -1};
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    int read = sscanf(close + 1,
                      " %c %*d %*d %*d %*d %*d %" SCNu64 " %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64
                      " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
                      &out->state, &out->flags, &user, &system, &out->start_ticks, &out->cpu);
    out->ticks = user + system;
    return read == 6;
}

int tb_stat_read(const struct tb_host *host, const char *path, struct tb_stat *out)
{
    char *text = NULL;
    int error = tb_host_read(host, path, &text);
    if (!error && !tb_stat_parse(text, out))
        error = -EINVAL;
    free(text);
    return error;
}

// --- looks ---------------------------------------------------------------------------------------------------------------------

const char *tb_status_behind_name(const char *status)
{
    return status + strcspn(status, "\n");
}

static char *cpus_read(struct tb_host *host, const char *path)
{
    char *text = NULL;
    int error = tb_host_read(host, path, &text);
    json_t *list = error ? NULL : tb_host_field(tb_status_behind_name(text), 0, "Cpus_allowed_list", ':', TB_FIELD_STRING);
    char *cpus = list ? strdup(json_string_value(list)) : NULL;
    json_decref(list);
    free(text);
    return cpus;
}

static int threads_list(struct tb_host *host, uint64_t pid, struct threads *threads)
{
    char folder[TB_HOST_PATH], path[TB_HOST_PATH];
    struct tb_names names;
    snprintf(folder, sizeof folder, "/proc/%" PRIu64 "/task", pid);
    int error = tb_host_list(host, folder, "", &names);
    if (error)
        return error == -ENOENT ? -ECHILD : error;
    threads->thread = calloc(names.count, sizeof *threads->thread);
    for (size_t i = 0; threads->thread && i < names.count; i++) {
        struct thread *thread = &threads->thread[threads->count++];
        snprintf(thread->tid, sizeof thread->tid, "%s", names.name[i]);
        snprintf(path, sizeof path, "%.900s/%s/status", folder, names.name[i]);
        thread->cpus = cpus_read(host, path);
    }
    tb_names_close(&names);
    return threads->thread ? 0 : -ENOMEM;
}

// Those that have ended are forgotten.
static void look_first(const struct tb_host *host, uint64_t pid, struct threads *threads)
{
    size_t kept = 0;
    for (size_t i = 0; i < threads->count; i++) {
        struct thread thread = threads->thread[i];
        char path[TB_HOST_PATH];
        snprintf(path, sizeof path, "/proc/%" PRIu64 "/task/%s/stat", pid, thread.tid);
        if (tb_stat_read(host, path, &thread.look[0]))
            free(thread.cpus);
        else
            threads->thread[kept++] = thread;
    }
    threads->count = kept;
}

static void look_again(const struct tb_host *host, uint64_t pid, struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++) {
        struct thread *thread = &threads->thread[i];
        struct tb_stat again;
        char path[TB_HOST_PATH];
        snprintf(path, sizeof path, "/proc/%" PRIu64 "/task/%s/stat%s", pid, thread->tid, *host->root ? ".later" : "");
        bool same = tb_stat_read(host, path, &again) == 0 && again.start_ticks == thread->look[0].start_ticks &&
                    again.ticks >= thread->look[0].ticks;
        thread->look[1] = same ? again : thread->look[0];
    }
}

// How long they were watched, in seconds.
static double look_twice(const struct tb_host *host, uint64_t pid, struct threads *threads)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    look_first(host, pid, threads);
    if (!*host->root)
        nanosleep(&(struct timespec){.tv_nsec = TB_PROCESS_WATCH_NS}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    look_again(host, pid, threads);
    return *host->root ? TB_PROCESS_WATCH_NS / 1e9
                       : (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

// --- sums ----------------------------------------------------------------------------------------------------------------------

static int node_at(const struct locus_topo *topo, const struct tb_process *process, int cpu)
{
    const struct locus_topo_cpu *of = cpu < 0 ? NULL : locus_topo_cpu(topo, (unsigned)cpu);
    return of ? tb_process_node_at(process, of->node) : -1;
}

static struct locus_nodes may_use(const struct locus_topo *topo, const struct thread *thread)
{
    struct locus_nodes may = {0};
    for (unsigned n = 0; thread->cpus && n < locus_topo_info(topo)->nodes_count; n++) {
        const struct locus_topo_node *node = &locus_topo_nodes(topo)[n];
        for (unsigned c = 0; c < node->cpus_count && (unsigned)node->os_index < LOCUS_NODES_MAX; c++)
            if (tb_list_has(thread->cpus, node->cpus[c]))
                locus_nodes_add(&may, node->os_index);
    }
    return may;
}

// With more sets of nodes than groups, the last group takes what remains.
static struct tb_thread_group *group_of(struct tb_process *process, const struct locus_nodes *may)
{
    struct tb_thread_group *group = process->groups;
    for (; group < process->groups + process->groups_count; group++)
        if (memcmp(&group->may, may, sizeof *may) == 0)
            return group;
    if (process->groups_count == TB_PROCESS_GROUPS_MAX)
        return &process->groups[TB_PROCESS_GROUPS_MAX - 1];
    process->groups_count++;
    *group = (struct tb_thread_group){.may = *may};
    return group;
}

static void time_add(const struct locus_topo *topo, const struct thread *thread, double seconds, const struct tb_process *process,
                     double on[], double *unknown)
{
    for (int look = 0; look < 2; look++) {
        int at = node_at(topo, process, thread->look[look].cpu);
        *(at < 0 ? unknown : &on[at]) += seconds / 2;
    }
}

static void thread_add(const struct locus_topo *topo, const struct thread *thread, struct tb_process *process)
{
    bool watched = process->watched_s > 0;
    uint64_t ticks = thread->look[1].ticks - (watched ? thread->look[0].ticks : 0);
    double seconds = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    bool busy = watched && seconds * BUSY_SHARE >= process->watched_s;
    struct tb_thread_group *group = group_of(process, &thread->may);
    group->threads++;
    group->busy += busy;
    process->threads++;
    process->busy += busy;
    time_add(topo, thread, seconds, process, group->ran_on, &group->ran_unknown);
    time_add(topo, thread, seconds, process, process->ran_on, &process->ran_unknown);
}

// All CPUs that the threads of a group may use.
static void cpus_say(const struct locus_topo *topo, const struct threads *threads, struct tb_process *process,
                     struct tb_thread_group *group)
{
    unsigned count = locus_topo_info(topo)->cpus_count;
    bool *may = calloc(count + 1, sizeof *may);
    size_t used = 0;
    for (size_t t = 0; may && t < threads->count; t++) {
        const struct thread *thread = &threads->thread[t];
        for (unsigned c = 0; c < count && thread->cpus && group_of(process, &thread->may) == group; c++)
            may[c] |= tb_list_has(thread->cpus, locus_topo_cpus(topo)[c].os_index);
    }
    for (unsigned first = 0, last; may && first < count && used < sizeof group->cpus; first = last + 1) {
        const struct locus_topo_cpu *cpus = locus_topo_cpus(topo);
        for (last = first; may[first] && may[last + 1] && cpus[last + 1].os_index == cpus[last].os_index + 1;)
            last++;
        if (may[first])
            used += (size_t)snprintf(group->cpus + used, sizeof group->cpus - used, last > first ? "%s%u-%u" : "%s%u",
                                     used ? "," : "", cpus[first].os_index, cpus[last].os_index);
    }
    free(may);
}

static bool any_ran(const struct threads *threads)
{
    for (size_t t = 0; t < threads->count; t++)
        if (threads->thread[t].look[1].ticks > threads->thread[t].look[0].ticks)
            return true;
    return false;
}

int tb_threads_look(struct tb_host *host, const struct locus_topo *topo, struct tb_process *process)
{
    struct threads threads = {0};
    int error = threads_list(host, process->pid, &threads);
    if (!error) {
        double watched_s = look_twice(host, process->pid, &threads);
        process->watched_s = any_ran(&threads) ? watched_s : 0;
        error = threads.count ? 0 : -ECHILD;
    }
    for (size_t t = 0; t < threads.count; t++) {
        threads.thread[t].may = may_use(topo, &threads.thread[t]);
        thread_add(topo, &threads.thread[t], process);
    }
    for (unsigned g = 0; g < process->groups_count; g++)
        cpus_say(topo, &threads, process, &process->groups[g]);
    for (size_t t = 0; t < threads.count; t++)
        free(threads.thread[t].cpus);
    free(threads.thread);
    return error;
}
