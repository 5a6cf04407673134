// SPDX-License-Identifier: Apache-2.0
//
// parts: see parts.h. Folders are read by getdents64 into the stack: opendir would ask malloc.
//
// Where a field of an uncore event has its bits differs from kernel to kernel and device to device, so its code is kept in words
// ("event=0x50,umask=0x01") and put together from the device's own format files ("config:8-15,32-35").

#include "testbed/counters/parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"
#define PATH_BYTES 512

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

// --- uncore events -------------------------------------------------------------------------------------------------------------

static unsigned long after(const char **text)
{
    char *end;
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    return value;
}

// The lowest bits of `value` into the first range, the next into the second. -EINVAL: no such format.
static int put_bits(const char *format, uint64_t value, struct perf_event_attr *attr)
{
    __u64 *word = strncmp(format, "config:", 7) == 0    ? &attr->config
                  : strncmp(format, "config1:", 8) == 0 ? &attr->config1
                  : strncmp(format, "config2:", 8) == 0 ? &attr->config2
                                                        : NULL;
    if (!word)
        return -EINVAL;
    format = strchr(format, ':');
    while (*format == ':' || *format == ',') {
        format++;
        unsigned long first = after(&format), last = first;
        if (*format == '-') {
            format++;
            last = after(&format);
        }
        for (unsigned long bit = first; bit <= last && bit < 64; bit++, value >>= 1)
            *word |= (value & 1) << bit;
    }
    return *format || value ? -EINVAL : 0;
}

static int put_field(const char *device, const char *field, uint64_t value, struct perf_event_attr *attr)
{
    char path[PATH_BYTES], format[128];
    snprintf(path, sizeof path, "%s/format/%s", device, field);
    int error = tb_small_file(path, format, sizeof format);
    return error == -ENOENT ? -EINVAL : error ? error : put_bits(format, value, attr);
}

static int encode(const char *device, const char *code, struct perf_event_attr *attr)
{
    char path[PATH_BYTES], text[32], field[32];
    unsigned long long value;
    int used, error;
    snprintf(path, sizeof path, "%s/type", device);
    error = tb_small_file(path, text, sizeof text);
    attr->type = (unsigned)strtoul(text, NULL, 10);
    for (; !error && sscanf(code, "%31[a-z0-9]=%lli%n", field, (long long *)&value, &used) == 2; code += used + (code[used] == ','))
        error = put_field(device, field, value, attr);
    return error ? error : *code ? -EINVAL : 0;
}

struct walk {
    const char *root;
    const struct tb_counter *counter;
    tb_uncore_fn *each;
    void *context;
    bool found;
};

// A list like "0,18" or "0-3".
static int each_cpu(struct walk *walk, const struct perf_event_attr *attr, const char *list)
{
    int rc = 0;
    while (rc == 0 && isdigit((unsigned char)*list)) {
        unsigned long first = after(&list), last = first;
        if (*list == '-') {
            list++;
            last = after(&list);
        }
        for (unsigned long cpu = first; cpu <= last && rc == 0; cpu++)
            rc = walk->each(walk->context, attr, (int)cpu);
        list += *list == ',';
    }
    return rc;
}

static int each_device(void *context, const char *name)
{
    struct walk *walk = context;
    char device[PATH_BYTES - 64], path[PATH_BYTES], cpus[256];
    size_t length = strlen(walk->counter->device);
    struct perf_event_attr attr = walk->counter->attr;
    if (strncmp(name, walk->counter->device, length) ||
        (name[length] && (name[length] != '_' || !isdigit((unsigned char)name[length + 1]))))
        return 0; // uncore_imc_free_running_0 is none of uncore_imc_0's kind
    walk->found = true;
    snprintf(device, sizeof device, "%s" DEVICES "/%s", walk->root, name);
    int error = encode(device, walk->counter->code, &attr);
    snprintf(path, sizeof path, "%s/cpumask", device);
    if (!error)
        error = tb_small_file(path, cpus, sizeof cpus);
    return error ? error : each_cpu(walk, &attr, cpus);
}

int tb_uncore_each(const char *root, const struct tb_counter *counter, tb_uncore_fn *each, void *context)
{
    char path[PATH_BYTES];
    struct walk walk = {.root = root, .counter = counter, .each = each, .context = context};
    snprintf(path, sizeof path, "%s" DEVICES, root);
    int rc = tb_folder_each(path, each_device, &walk);
    return rc == 0 && !walk.found ? -ENOENT : rc;
}
