// SPDX-License-Identifier: Apache-2.0
//
// environment_cgroup: the limits that this process runs under, on every level from its own group to the mount point.
//
// The tightest level counts, and it is often not the process's own: a container's quota sits above it. So every level is written
// down; which one is which is told by its number, because the names of groups often hold users and services. Groups are looked
// for where every distribution mounts them, /sys/fs/cgroup; inside a container the path may lie outside of what is mounted, and
// then the mount point is the nearest to be seen.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/host.h"

#define MOUNT "/sys/fs/cgroup"

struct limit {
    const char *controller, *file;
};

static const struct limit unified_limits[] = {
    {"cpu", "cpu.max"},
    {"cpu", "cpu.weight"},
    {"cpuset", "cpuset.cpus.effective"},
    {"cpuset", "cpuset.mems.effective"},
    {"memory", "memory.max"},
    {"memory", "memory.high"},
    {"memory", "memory.swap.max"},
    {"pids", "pids.max"},
    {NULL, NULL},
};
static const struct limit split_limits[] = {
    {"cpu", "cpu.cfs_quota_us"}, {"cpu", "cpu.cfs_period_us"},        {"cpu", "cpu.shares"}, {"cpuset", "cpuset.cpus"},
    {"cpuset", "cpuset.mems"},   {"memory", "memory.limit_in_bytes"}, {"pids", "pids.max"},  {NULL, NULL},
};

bool tb_cgroup_unified(const struct tb_host *host)
{
    char *text = NULL;
    int error = tb_host_read(host, MOUNT "/cgroup.controllers", &text);
    free(text);
    return error == 0;
}

// True if `word` is one of the words in a comma-separated list.
static bool list_has(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (const char *at = list; at + word_length <= list + length; at += strcspn(at, ",") + 1)
        if (memcmp(at, word, word_length) == 0 && (at + word_length == list + length || at[word_length] == ','))
            return true;
    return false;
}

// This process's group from the text of /proc/self/cgroup, whose lines are NUMBER:CONTROLLERS:GROUP; version 2 has number 0 and
// no controllers. "" for the mount point.
static int group_find(const char *text, const char *controller, char *group, size_t bytes)
{
    for (const char *line = text; *line; line += line[strcspn(line, "\n")] ? strcspn(line, "\n") + 1 : strcspn(line, "\n")) {
        const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || (controller ? !list_has(list + 1, (size_t)(path - list - 1), controller) : path != list + 1))
            continue;
        int length = (int)strcspn(path + 1, "\n");
        if (snprintf(group, bytes, "%.*s", length, path + 1) >= (int)bytes)
            return -ENAMETOOLONG;
        if (strcmp(group, "/") == 0 || strstr(group, "/.."))
            group[0] = '\0';
        return 0;
    }
    return -ENOENT;
}

json_t *tb_cgroup_levels(struct tb_host *host, const char *controller, const char *file, tb_host_reader *read)
{
    char group[TB_HOST_PATH / 2] = "", folder[TB_HOST_PATH / 2] = MOUNT, path[2 * TB_HOST_PATH], *text = NULL, *slash;
    bool unified = tb_cgroup_unified(host);
    struct tb_names names = {0};
    int error = tb_host_read(host, "/proc/self/cgroup", &text);
    if (!error)
        error = group_find(text, unified ? NULL : controller, group, sizeof group);
    if (!error && !unified)
        snprintf(folder, sizeof folder, MOUNT "/%s", controller);
    snprintf(path, sizeof path, "%s%s", folder, group);
    if (!error && tb_host_list(host, path, "", &names))
        group[0] = '\0'; // not in what is mounted here
    if (!error && !group[0] && !names.count)
        error = tb_host_list(host, folder, "", &names);
    json_t *levels = error ? json_string(tb_host_word(error)) : json_object();
    for (unsigned level = 0; !error; level++) {
        char key[16];
        snprintf(key, sizeof key, "%u", level);
        snprintf(path, sizeof path, "%s%s/%s", folder, group, file);
        tb_host_put(host, levels, key, read(host, path));
        if (!(slash = strrchr(group, '/')))
            break;
        *slash = '\0';
    }
    tb_names_close(&names);
    free(text);
    return levels;
}

json_t *tb_environment_cgroup(struct tb_host *host)
{
    bool unified = tb_cgroup_unified(host);
    struct tb_names names;
    int error = tb_host_list(host, MOUNT, "", &names);
    tb_names_close(&names);
    json_t *object = json_object();
    tb_host_put(host, object, "version", json_string(error ? tb_host_word(error) : unified ? "v2" : "v1"));
    for (const struct limit *limit = unified ? unified_limits : split_limits; limit->file; limit++)
        tb_host_put(host, object, limit->file, tb_cgroup_levels(host, limit->controller, limit->file, tb_host_value));
    return object;
}
