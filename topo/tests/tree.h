// SPDX-License-Identifier: Apache-2.0
//
// tree: a small file tree in a temporary directory that stands for "/" of a machine nobody here owns. Each test writes its files
// beside its assertions, so that both can be read together.
#ifndef TOPO_TESTS_TREE_H
#define TOPO_TESTS_TREE_H

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE_DIRECTORY "/sys/devices/system/node"

static char tree_root[64];

static inline void tree_open(void)
{
    snprintf(tree_root, sizeof(tree_root), "/tmp/topo-test-XXXXXX");
    cr_assert_not_null(mkdtemp(tree_root));
}

static inline int tree_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline void tree_close(void)
{
    nftw(tree_root, tree_remove, 16, FTW_DEPTH | FTW_PHYS);
}

// Writes a file and the directories above it; `bytes` of text, which may contain NULs.
static inline void tree_bytes(const char *path, const char *text, size_t bytes)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", tree_root, path);
    for (char *slash = strchr(full + strlen(tree_root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert_not_null(file, "cannot write %s", full);
    fwrite(text, 1, bytes, file);
    fclose(file);
}

static inline void tree_file(const char *path, const char *text)
{
    tree_bytes(path, text, strlen(text));
}

// One node in sysfs: its CPUs, its row of distances, its memory in KiB.
static inline void tree_node(int node, const char *cpus, const char *distances, unsigned long total_kib, unsigned long free_kib)
{
    char path[256];
    char text[512];
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/cpulist", node);
    tree_file(path, cpus);
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/distance", node);
    tree_file(path, distances);
    snprintf(path, sizeof(path), NODE_DIRECTORY "/node%d/meminfo", node);
    snprintf(text, sizeof(text),
             "Node %d MemTotal:       %lu kB\nNode %d MemFree:        %lu kB\nNode %d Active(anon):     999 kB\n"
             "Node %d Active(file):     100 kB\nNode %d Inactive(file):    20 kB\nNode %d SReclaimable:       3 kB\n",
             node, total_kib, node, free_kib, node, node, node, node);
    tree_file(path, text);
}

#endif
