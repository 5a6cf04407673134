// SPDX-License-Identifier: Apache-2.0
//
// process: is there such a process, and what of it can be seen?
//
// Its threads anybody may see, unless /proc is mounted with hidepid; its memory only its user, and who may trace it
// (CAP_SYS_PTRACE). So the one is shown without the other. Numbers of processes are used again: at the end the process has to be
// the one that it was at the beginning.
#include "testbed/host/process/process.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/environment.h"
#include "testbed/host/probe.h"
#include "testbed/host/process/maps.h"
#include "testbed/host/process/threads.h"

#define KERNEL_THREAD 0x00200000u // PF_KTHREAD, of flags in stat

struct look {
    struct tb_host host;
    const struct locus_topo *topo;
    struct tb_process *out;
    struct tb_stat stat;
    char *why;
    size_t why_bytes;
};

static int stat_of(const struct look *look, struct tb_stat *out)
{
    char path[TB_HOST_PATH];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", look->out->pid);
    return tb_stat_read(&look->host, path, out);
}

static int missing(const struct look *look, int error)
{
    bool real = !*look->host.root;
    bool hidden = error == -EACCES || error == -EPERM || (real && kill((pid_t)look->out->pid, 0) && errno == EPERM);
    if (hidden) {
        snprintf(look->why, look->why_bytes,
                 "/proc hides process %" PRIu64 " from this user (hidepid): look as its user, or with sudo", look->out->pid);
        return -EACCES;
    }
    if (error == -ENOENT || error == -ESRCH) {
        snprintf(look->why, look->why_bytes, "there is no process %" PRIu64 ": ps -e lists those that there are", look->out->pid);
        return -ESRCH;
    }
    snprintf(look->why, look->why_bytes, "/proc/%" PRIu64 "/stat: %s", look->out->pid, strerror(-error));
    return error;
}

static json_t *field(const char *status, const char *key, enum tb_field kind)
{
    return tb_host_field(status, 0, key, ':', kind);
}

static void status_parse(const struct look *look, const char *status)
{
    struct tb_process *out = look->out;
    json_t *group = field(status, "Tgid", TB_FIELD_NUMBER), *mems = field(status, "Mems_allowed_list", TB_FIELD_STRING);
    json_t *rss = field(status, "VmRSS", TB_FIELD_NUMBER);
    if (json_integer_value(group) > 0)
        out->pid = (uint64_t)json_integer_value(group);
    out->rss_bytes = (uint64_t)json_integer_value(rss) * 1024;
    const char *list = json_string_value(mems);
    for (unsigned n = 0; n < out->nodes_count; n++) // a kernel without cpusets has no such list
        if (!list || strcmp(list, tb_host_word(-ENOENT)) == 0 || tb_list_has(list, (unsigned)out->node[n]))
            locus_nodes_add(&out->mems, out->node[n]);
    json_decref(group);
    json_decref(mems);
    json_decref(rss);
}

static int status_read(const struct look *look)
{
    char path[TB_HOST_PATH], *status = NULL;
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/status", look->out->pid);
    int error = tb_host_read(&look->host, path, &status);
    if (error)
        return missing(look, error);
    status_parse(look, tb_status_behind_name(status));
    free(status);
    return 0;
}

static int identify(struct look *look)
{
    struct tb_process *out = look->out;
    int error = stat_of(look, &look->stat);
    if (error)
        return missing(look, error);
    error = status_read(look);
    if (!error) // of the process, where that number is a thread's
        error = stat_of(look, &look->stat);
    if (error)
        return missing(look, error);
    snprintf(out->name, sizeof out->name, "%s", look->stat.name);
    if (look->stat.flags & KERNEL_THREAD)
        snprintf(look->why, look->why_bytes,
                 "%" PRIu64 " (%s) is a thread of the kernel, which has no memory of its own: name a program's process", out->pid,
                 out->name);
    else if (look->stat.state == 'Z' || look->stat.state == 'X')
        snprintf(look->why, look->why_bytes,
                 "process %" PRIu64 " (%s) has ended and waits only for its parent to notice (a zombie): it has no memory any more",
                 out->pid, out->name);
    else
        return 0;
    return -EINVAL;
}

static void nodes_list(const struct locus_topo *topo, struct tb_process *out)
{
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count && n < TB_PROCESS_NODES_MAX; n++)
        if ((unsigned)locus_topo_nodes(topo)[n].os_index < LOCUS_NODES_MAX)
            out->node[out->nodes_count++] = locus_topo_nodes(topo)[n].os_index;
}

static void machine_look(const struct look *look)
{
    struct tb_process *out = look->out;
    json_t *balancing = tb_host_file(&look->host, TB_FIELD_NUMBER, "%s", tb_fact_path("numa.balancing"));
    json_t *thp = tb_host_file(&look->host, TB_FIELD_STRING, "%s", tb_fact_path("thp.enabled"));
    const char *choice = json_is_string(thp) ? strchr(json_string_value(thp), '[') : NULL;
    out->balancing = json_is_integer(balancing) ? (int)json_integer_value(balancing) : -1;
    if (choice)
        snprintf(out->thp, sizeof out->thp, "%.*s", (int)strcspn(choice + 1, "]"), choice + 1);
    json_decref(balancing);
    json_decref(thp);
}

// Is a file mapped whose name begins so?
static bool is_mapped(const struct tb_maps *maps, const char *begins)
{
    for (size_t m = 0; m < maps->count; m++) {
        const char *base = maps->mapping[m].name ? strrchr(maps->mapping[m].name, '/') : NULL;
        if (base && strncmp(base + 1, begins, strlen(begins)) == 0)
            return true;
    }
    return false;
}

static int memory_look(struct look *look)
{
    struct tb_process *out = look->out;
    struct tb_maps maps;
    int error = tb_maps_read(&look->host, out->pid, out, &maps);
    out->placed_errno = maps.numa_errno;
    out->maps_errno = maps.numa_errno && maps.smaps_errno ? maps.smaps_errno : 0;
    out->lines_bad = maps.lines_bad;
    out->llama = is_mapped(&maps, "libllama") || is_mapped(&maps, "libggml");
    out->devices = is_mapped(&maps, "libggml-locus.so");
    if (!error)
        error = tb_regions_make(&maps, out);
    if (!error && !out->maps_errno && !*look->host.root) {
        out->witness_errno = -tb_witness(&maps, out, tb_witness_move_pages);
        out->witness_barred = out->witness_errno && tb_probe_move_pages() == out->witness_errno;
    }
    tb_maps_close(&maps);
    return error;
}

static bool is_the_same(const struct look *look)
{
    struct tb_stat now;
    return stat_of(look, &now) == 0 && now.start_ticks == look->stat.start_ticks && now.state != 'Z' && now.state != 'X';
}

int tb_process_look(const char *root, uint64_t pid, const struct locus_topo *topo, struct tb_process *out, char *why,
                    size_t why_bytes)
{
    struct look look = {.host = {.root = root}, .topo = topo, .out = out, .why = why, .why_bytes = why_bytes};
    *out = (struct tb_process){.pid = pid};
    nodes_list(topo, out);
    machine_look(&look);
    int error = identify(&look);
    if (error)
        return error;
    error = tb_threads_look(&look.host, topo, out);
    if (!error)
        error = memory_look(&look);
    if (!is_the_same(&look))
        error = -ECHILD;
    if (error == -ECHILD)
        snprintf(why, why_bytes, "process %" PRIu64 " (%s) ended while it was looked at", out->pid, out->name);
    else if (error)
        snprintf(why, why_bytes, "process %" PRIu64 " (%s): %s", out->pid, out->name, strerror(-error));
    return error;
}
