// SPDX-License-Identifier: Apache-2.0
//
// sysfs: what the kernel's files say about the nodes.
//
// hwloc has most of this as well. There are two reasons to read it here. hwloc drops nodes without memory, and such nodes have
// CPUs that a thread can run on. And placement needs a node's free memory before every strict bind: a full hwloc discovery (tens
// of milliseconds) would be too slow, and a cached one wrong.
//
// /sys/devices/system/node is absent from kernels without CONFIG_NUMA, and sandboxes hide it: masked, empty or unreadable. There
// the whole machine is node 0; its memory is in /proc/meminfo, whose lines have the same keys as nodeN/meminfo without the "Node N"
// in front, so one reader serves both.
//
// lxcfs shows a container's CPUs under other numbers than the kernel runs them on. So a CPU that the process may run on exists, and
// where there is one node only, it is there.
#include "topo/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "topo/cpulist.h"

// A sysfs file is at most one page, and /proc/meminfo and /proc/self/status are smaller: 16 KiB leaves room to grow.
#define TEXT_BYTES 16384u

static int open_under(const char *root, const char *path)
{
    char full[4096];
    int length = snprintf(full, sizeof(full), "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof(full))
        return -ENAMETOOLONG;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int topo_sysfs_read(const char *root, const char *path, char *text, size_t bytes, size_t *length)
{
    int fd = open_under(root, path);
    if (fd < 0)
        return fd;
    int error = 0;
    size_t filled = 0;
    for (;;) {
        ssize_t got = read(fd, text + filled, bytes - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            error = -errno;
        if (got <= 0)
            break;
        size_t text_bytes = strnlen(text + filled, (size_t)got);
        filled += text_bytes;
        if (text_bytes < (size_t)got)   // the padding of a copy
            break;
        if (filled == bytes) {
            error = -EFBIG;
            break;
        }
    }
    close(fd);
    if (error)
        return error;
    text[filled] = '\0';
    if (length)
        *length = filled;
    return 0;
}

static int read_set(const char *root, const char *path, int (*parse)(const char *, size_t, struct topo_idset *),
                    struct topo_idset *out)
{
    char text[TEXT_BYTES];
    size_t length = 0;
    int error = topo_sysfs_read(root, path, text, sizeof(text), &length);
    return error ? error : parse(text, length, out);
}

int topo_sysfs_idset(const char *root, const char *path, struct topo_idset *out)
{
    return read_set(root, path, topo_cpulist_parse, out);
}

int topo_sysfs_list_or_map(const char *root, const char *list, const char *map, struct topo_idset *out)
{
    int error = topo_sysfs_idset(root, list, out);
    return error == -ENOENT ? read_set(root, map, topo_cpumap_parse, out) : error;
}

// strtoull alone would take signs and leading blanks.
int topo_number_take(const char **at, uint64_t *out)
{
    if (**at < '0' || **at > '9')
        return -EINVAL;
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(*at, &end, 10);
    if (errno || value > INT64_MAX)
        return -EINVAL;
    *at = end;
    *out = value;
    return 0;
}

int topo_sysfs_u64(const char *root, const char *path, uint64_t *out)
{
    char text[64];
    int error = topo_sysfs_read(root, path, text, sizeof(text), NULL);
    if (error)
        return error == -EFBIG ? -EINVAL : error;
    if (strcmp(text, "max\n") == 0 || strcmp(text, "max") == 0) {
        *out = UINT64_MAX;
        return 0;
    }
    const char *at = text;
    error = topo_number_take(&at, out);
    if (error)
        return error;
    return strcmp(at, "\n") == 0 || *at == '\0' ? 0 : -EINVAL;
}

// Not there, or kept from us: to a reader of a sandbox's files this is the same.
static bool is_hidden(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EPERM;
}

// The folders `name`0, `name`1 ... in a folder. -ENOENT: there is none.
static int numbered_folders(const char *root, const char *path, const char *name, struct topo_idset *out)
{
    char full[4096];
    struct dirent *entry = NULL;
    memset(out, 0, sizeof(*out));
    snprintf(full, sizeof(full), "%s%s", root, path);
    DIR *directory = opendir(full);
    if (!directory)
        return -errno;
    while ((entry = readdir(directory)) != NULL) {
        const char *number = entry->d_name + strlen(name);
        char *end = NULL;
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || !isdigit((unsigned char)*number))
            continue;
        unsigned long id = strtoul(number, &end, 10);
        if (*end == '\0' && id < TOPO_ID_MAX)
            topo_idset_add(out, (unsigned)id);
    }
    closedir(directory);
    return topo_idset_count(out) > 0 ? 0 : -ENOENT;
}

int topo_sysfs_cpus_online(const char *root, struct topo_idset *out)
{
    struct topo_idset present;
    int error = topo_sysfs_idset(root, "/sys/devices/system/cpu/online", out);
    if (error != -ENOENT)
        return error;
    memset(out, 0, sizeof(*out));
    error = numbered_folders(root, "/sys/devices/system/cpu", "cpu", &present);
    for (unsigned id = 0; !error && id < TOPO_ID_MAX; id++) {
        char path[64];
        uint64_t online = 1;
        if (!topo_idset_has(&present, id))
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", id);
        if (topo_sysfs_u64(root, path, &online) || online)      // the first CPU often has no such file
            topo_idset_add(out, id);
    }
    return error;
}

static int nodes_online(const char *root, struct topo_idset *out)
{
    int error = topo_sysfs_idset(root, "/sys/devices/system/node/online", out);
    return error == -ENOENT ? numbered_folders(root, "/sys/devices/system/node", "node", out) : error;
}

bool topo_sysfs_nodes_hidden(const char *root)
{
    struct topo_idset online;
    return is_hidden(nodes_online(root, &online));
}

int topo_sysfs_nodes(const char *root, struct topo_idset *out)
{
    int error = nodes_online(root, out);
    if (!is_hidden(error))
        return error;
    memset(out, 0, sizeof(*out));
    topo_idset_add(out, 0);
    return 0;
}

int topo_sysfs_nodes_with_memory(const char *root, struct topo_idset *out)
{
    int error = topo_sysfs_idset(root, "/sys/devices/system/node/has_memory", out);
    return is_hidden(error) ? topo_sysfs_nodes(root, out) : error;
}

static int listed_cpus(const char *root, unsigned node, struct topo_idset *out)
{
    char list[64];
    char map[64];
    if (topo_sysfs_nodes_hidden(root))
        return topo_sysfs_cpus_online(root, out);
    snprintf(list, sizeof(list), "/sys/devices/system/node/node%u/cpulist", node);
    snprintf(map, sizeof(map), "/sys/devices/system/node/node%u/cpumap", node);
    return topo_sysfs_list_or_map(root, list, map, out);
}

// Of the only node. A list that contradicts `allowed` is another machine's, or a container's own numbers.
static int all_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out)
{
    struct topo_idset both = *allowed;
    int error = listed_cpus(root, node, out);
    if (error && (!is_hidden(error) || topo_idset_count(allowed) == 0))
        return error == -ENOENT ? -ENODEV : error;
    if (!error)
        topo_idset_intersect(&both, out);
    if (error || memcmp(&both, allowed, sizeof(both)) != 0)
        *out = *allowed;
    return 0;
}

int topo_sysfs_node_cpus(const char *root, unsigned node, const struct topo_idset *allowed, struct topo_idset *out)
{
    struct topo_idset online;
    int error = topo_sysfs_nodes(root, &online);
    if (error)
        return error;
    if (!topo_idset_has(&online, node))
        return -ENODEV;
    if (topo_idset_count(&online) == 1)
        return all_cpus(root, node, allowed, out);
    error = listed_cpus(root, node, out);
    return error == -ENOENT ? -ENODEV : error;
}

// Finds "key:  N kB" at the start of a line, or after "Node N ". -ENOENT: no such key.
static int meminfo_bytes(const char *text, const char *key, uint64_t *out)
{
    size_t key_length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *at = line;
        if (strncmp(at, "Node ", 5) == 0) {
            at += 5;
            at += strspn(at, "0123456789");
            at += strspn(at, " ");
        }
        if (strncmp(at, key, key_length) != 0 || at[key_length] != ':')
            continue;
        at += key_length + 1;
        at += strspn(at, " \t");
        uint64_t kib = 0;
        if (topo_number_take(&at, &kib) || strncmp(at, " kB", 3) != 0 || kib > INT64_MAX / 1024u)
            return -EINVAL;
        *out = kib * 1024u;
        return 0;
    }
    return -ENOENT;
}

int topo_sysfs_bytes(const char *root, const char *path, const char *key, uint64_t *out)
{
    char text[TEXT_BYTES];
    int error = topo_sysfs_read(root, path, text, sizeof(text), NULL);
    return error ? error : meminfo_bytes(text, key, out);
}

static int parse_meminfo(const char *text, struct locus_node_memory *out)
{
    static const char *const reclaimable[] = {"Active(file)", "Inactive(file)", "SReclaimable"};
    memset(out, 0, sizeof(*out));
    if (meminfo_bytes(text, "MemTotal", &out->total_bytes) || meminfo_bytes(text, "MemFree", &out->free_bytes))
        return -EINVAL;
    for (size_t i = 0; i < sizeof(reclaimable) / sizeof(reclaimable[0]); i++) {
        uint64_t bytes = 0;
        int error = meminfo_bytes(text, reclaimable[i], &bytes);
        if (error && error != -ENOENT)
            return error;
        out->reclaimable_bytes += bytes;
    }
    return 0;
}

// Without /proc/meminfo (ProcSubset=pid): what is reclaimable is unknown then, and counts as nothing.
static int ask_sysinfo(struct locus_node_memory *out)
{
    struct sysinfo host;
    if (sysinfo(&host))
        return -errno;
    *out = (struct locus_node_memory){.total_bytes = (uint64_t)host.totalram * host.mem_unit,
                                      .free_bytes = (uint64_t)host.freeram * host.mem_unit};
    return 0;
}

static int read_meminfo(const char *root, int node, bool hidden, char *text)
{
    char path[64] = "/proc/meminfo";
    if (node < 0 || (hidden && node != 0))
        return -ENODEV;
    if (!hidden)
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
    return topo_sysfs_read(root, path, text, TEXT_BYTES, NULL);
}

int topo_sysfs_node_memory(const char *root, int node, struct locus_node_memory *out)
{
    char text[TEXT_BYTES];
    bool hidden = topo_sysfs_nodes_hidden(root);
    int error = read_meminfo(root, node, hidden, text);
    if (hidden && is_hidden(error) && !*root)
        return ask_sysinfo(out);
    if (error)
        return error == -ENOENT ? -ENODEV : error;
    return parse_meminfo(text, out);
}

int topo_sysfs_node_total_bytes(const char *root, int node, uint64_t *out)
{
    char text[TEXT_BYTES];
    int error = read_meminfo(root, node, topo_sysfs_nodes_hidden(root), text);
    if (error)
        return error == -ENOENT ? -ENODEV : error;
    return meminfo_bytes(text, "MemTotal", out);
}

int topo_sysfs_distances(const char *root, unsigned node, unsigned *distances, unsigned count)
{
    char path[64];
    char text[TEXT_BYTES];
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/distance", node);
    int error = topo_sysfs_read(root, path, text, sizeof(text), NULL);
    if (error)
        return error;
    const char *at = text;
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = 0;
        at += strspn(at, " ");
        if (topo_number_take(&at, &value) || value > 255u)      // the ACPI SLIT has one byte per entry, 255 means unreachable
            return -EINVAL;
        distances[i] = (unsigned)value;
    }
    at += strspn(at, " \n");
    return *at == '\0' ? 0 : -EINVAL;
}

int topo_sysfs_status_list(const char *root, const char *key, struct topo_idset *out)
{
    char text[TEXT_BYTES];
    int error = topo_sysfs_read(root, "/proc/self/status", text, sizeof(text), NULL);
    if (error)
        return error;
    size_t key_length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, key_length) != 0 || line[key_length] != ':')
            continue;
        const char *list = line + key_length + 1;
        list += strspn(list, "\t ");
        return topo_cpulist_parse(list, strcspn(list, "\n"), out);
    }
    return -ENOENT;
}

// The kernel wants a mask for at least its own number of possible nodes and clears the bits beyond; TOPO_ID_MAX bits always
// suffice. It counts maxnode one too far, hence the + 1.
static int kernel_mems_allowed(struct topo_idset *out)
{
    memset(out, 0, sizeof(*out));
    long result = syscall(SYS_get_mempolicy, NULL, out->words, (unsigned long)TOPO_ID_MAX + 1u, NULL, MPOL_F_MEMS_ALLOWED);
    return result ? -errno : 0;
}

int topo_sysfs_mems_allowed(const char *root, struct topo_idset *out)
{
    struct topo_idset with_memory;
    int error = topo_sysfs_nodes_with_memory(root, &with_memory);
    if (error)
        return error;
    error = *root ? -ENOSYS : kernel_mems_allowed(out);     // the running kernel knows nothing of another root
    if (error)
        error = topo_sysfs_status_list(root, "Mems_allowed_list", out);
    if (is_hidden(error)) {                                 // no cpusets in the kernel: nothing is forbidden
        *out = with_memory;
        return 0;
    }
    if (!error)
        topo_idset_intersect(out, &with_memory);
    return error;
}
