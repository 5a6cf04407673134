// SPDX-License-Identifier: Apache-2.0
//
// group: a forked child in a cgroup of its own, for tests of limits.
#ifndef LOCUS_TESTS_GROUP_H
#define LOCUS_TESTS_GROUP_H

#include "placement/memory/tests/policy_test.h"

#include <sys/stat.h>

// A group of its own below the root of the controller's hierarchy (cgroup v1) or of the only one (v2).
static inline void group_path(const char *controller, pid_t owner, char *path, size_t bytes)
{
    char first[64];
    snprintf(first, sizeof(first), "/sys/fs/cgroup/%s", controller);
    if (access(first, F_OK) != 0)
        snprintf(first, sizeof(first), "/sys/fs/cgroup");
    snprintf(path, bytes, "%s/locus_policy_test_%d", first, (int)owner);
}

static inline bool enter_group(const char *controller, const char *setting, const char *setting_v1, const char *value)
{
    char path[120], enable[40];
    group_path(controller, getppid(), path, sizeof(path));
    snprintf(enable, sizeof(enable), "+%s", controller);
    put("/sys/fs/cgroup", "cgroup.subtree_control", enable); // v2; there is no such file in v1
    if (mkdir(path, 0755) != 0)
        return false;
    if (strcmp(controller, "cpuset") == 0 && !put(path, "cpuset.cpus", "0"))
        return false;
    return (put(path, setting, value) || put(path, setting_v1, value)) && put(path, "cgroup.procs", "0");
}

static inline int in_group(int (*body)(void *), void *argument, const char *controller)
{
    char path[120];
    int status = in_child(body, argument);
    group_path(controller, getpid(), path, sizeof(path));
    rmdir(path);
    return status;
}

#endif
