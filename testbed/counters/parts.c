// SPDX-License-Identifier: Apache-2.0
//
// parts: see parts.h. Folders are read by getdents64 into the stack: opendir would ask malloc.

#include "testbed/counters/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int tb_small_file(const char *path, char *out, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    out[0] = '\0';
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, out, bytes - 1);
    int error = n < 0 ? -errno : 0;
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    if (n > 0 && out[n - 1] == '\n')
        out[n - 1] = '\0';
    return error;
}

// What getdents64 writes (the kernel's linux_dirent64, which no header has): inode, offset, length of the entry, type, name.
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

int tb_folder_each(const char *path, tb_folder_fn *each, void *context)
{
    _Alignas(struct entry) char buffer[8192];
    long n = 0;
    int rc = 0, fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while (rc == 0 && (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        const struct entry *entry;
        for (long at = 0; at < n && rc == 0; at += entry->bytes) {
            entry = (const struct entry *)(const void *)(buffer + at);
            rc = entry->name[0] == '.' ? 0 : each(context, entry->name);
        }
    }
    if (n < 0)
        rc = -errno;
    close(fd);
    return rc;
}

int tb_perf_open(const struct perf_event_attr *attr, pid_t thread, int cpu, int group)
{
    int fd = (int)syscall(SYS_perf_event_open, attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
