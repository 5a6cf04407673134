// SPDX-License-Identifier: Apache-2.0
//
// cgroup: how much memory the kernel allows this process's group.
//
// A limit may sit on any level above the process, and a container sees only the part of the hierarchy that is mounted into it. So
// we walk from the process's own group up to the mount point, and the tightest level counts. If the group's path is outside the
// mounted part (another cgroup namespace, "/../.."), the mount point is the nearest visible level.
//
// A group at its limit is not out of memory: the kernel first drops the group's file pages. So room is limit - current + file
// pages, and the level with the least room need not have the lowest limit. memory.high is ignored: it slows a group down, but
// allocations beyond it succeed.
//
// v1 and v2 differ only in file names. A hybrid host mounts both, but only one has the memory controller; the other has none of
// the files and is skipped.
#include "topo/cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/sysfs.h"

#define PATH_BYTES 4096u

struct version {
    const char *mount_type;
    const char *limit, *current, *stat;
    const char *file_keys[2];
};

static const struct version V2 = {
    "cgroup2", "memory.max", "memory.current", "memory.stat", {"active_file", "inactive_file"},
};
static const struct version V1 = {
    "cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", {"total_active_file", "total_inactive_file"},
};

// v1 writes "no limit" as the largest multiple of the page size below 2^63; no real machine has half of that.
#define V1_UNLIMITED_BYTES (UINT64_C(1) << 62)

// True if `word` is one of the words of a comma-separated list.
static bool list_has(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    while (length > 0) {
        const char *comma = memchr(list, ',', length);
        size_t item = comma ? (size_t)(comma - list) : length;
        if (item == word_length && memcmp(list, word, item) == 0)
            return true;
        size_t step = comma ? item + 1 : item;
        list += step;
        length -= step;
    }
    return false;
}

// What we look for in the two files of procfs, and the line that has it. The pointers point into the line.
struct search {
    const struct version *version;
    char *line;
    size_t line_bytes;
    char *group;                // this process's group
    char *top;                  // the group at the mount point
    char *point;                // where it is mounted
};

// One line of /proc/self/cgroup: "0::/path" for v2, "N:...memory...:/path" for v1.
static bool match_group(struct search *search)
{
    char *controllers = strchr(search->line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    controllers++;
    size_t length = (size_t)(path - controllers);
    search->group = path + 1;
    if (search->version == &V2)
        return length == 0 && strncmp(search->line, "0:", 2) == 0;
    return list_has(controllers, length, "memory");
}

// mountinfo writes blank, tab, newline and backslash as three octal digits.
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

// One line of mountinfo: "36 35 98:0 TOP POINT OPTIONS [TAGS ...] - TYPE SOURCE SUPER_OPTIONS". Cuts the line up.
static bool match_mount(struct search *search)
{
    char *separator = strstr(search->line, " - ");
    if (!separator)
        return false;
    *separator = '\0';
    char *rest = NULL;
    char *type = strtok_r(separator + 3, " ", &rest);
    char *source = strtok_r(NULL, " ", &rest);
    char *options = strtok_r(NULL, " ", &rest);
    if (!type || !source || !options || strcmp(type, search->version->mount_type) != 0)
        return false;
    if (search->version == &V1 && !list_has(options, strlen(options), "memory"))
        return false;
    char *field = strtok_r(search->line, " ", &rest);
    for (int i = 0; field && i < 3; i++)
        field = strtok_r(NULL, " ", &rest);
    search->top = field;
    search->point = field ? strtok_r(NULL, " ", &rest) : NULL;
    if (!search->point)
        return false;
    unescape(search->top);
    unescape(search->point);
    return true;
}

// Leaves the first line that matches in search->line. 1: found, 0: no such line or no such file, or -errno.
static int find_line(const char *root, const char *path, struct search *search, bool (*match)(struct search *))
{
    char full[PATH_BYTES];
    int length = snprintf(full, sizeof(full), "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof(full))
        return -ENAMETOOLONG;
    FILE *file = fopen(full, "re");
    if (!file)
        return errno == ENOENT ? 0 : -errno;
    int found = 0;
    while (!found && getline(&search->line, &search->line_bytes, file) >= 0) {
        search->line[strcspn(search->line, "\n")] = '\0';
        found = match(search);
    }
    if (!found && !feof(file)) // a failed read is not "no such line"; if memory runs out, getline fails and ferror stays 0
        found = errno == ENOMEM ? -ENOMEM : -EIO;
    fclose(file);
    return found;
}

// The part of `group` below the mounted top; "" if it is the top itself or elsewhere.
static const char *below(const char *group, const char *top)
{
    if (*group != '/')
        return "";
    if (strcmp(top, "/") == 0)
        return strncmp(group, "/..", 3) == 0 || strcmp(group, "/") == 0 ? "" : group;
    size_t length = strlen(top);
    if (strncmp(group, top, length) == 0 && group[length] == '/')
        return group + length;
    return "";
}

static int read_u64(const char *root, const char *directory, const char *name, uint64_t *out)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    return topo_sysfs_u64(root, path, out);
}

// Adds up the file pages in memory.stat. A file without the keys counts as none: the estimate errs on the safe side.
static uint64_t file_bytes(const char *root, const char *directory, const struct version *version)
{
    char path[PATH_BYTES];
    char text[16384];
    int length = snprintf(path, sizeof(path), "%s/%s", directory, version->stat);
    if (length < 0 || (size_t)length >= sizeof(path) || topo_sysfs_read(root, path, text, sizeof(text), NULL))
        return 0;
    uint64_t sum = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        for (size_t key = 0; key < 2; key++) {
            size_t key_length = strlen(version->file_keys[key]);
            if (strncmp(line, version->file_keys[key], key_length) == 0 && line[key_length] == ' ')
                sum += strtoull(line + key_length, NULL, 10);
        }
    return sum;
}

// Applies the limits of one level. A level without the files (the root group, a controller that is off) has none.
static int apply_level(const char *root, const char *directory, const struct version *version, struct topo_cgroup_memory *out)
{
    uint64_t limit = 0;
    uint64_t current = 0;
    int error = read_u64(root, directory, version->limit, &limit);
    if (error)
        return error == -ENOENT ? 0 : error;
    if (limit >= V1_UNLIMITED_BYTES)
        return 0;
    error = read_u64(root, directory, version->current, &current);
    if (error)
        return error;
    uint64_t file = file_bytes(root, directory, version);
    uint64_t held = current > file ? current - file : 0;
    uint64_t room = limit > held ? limit - held : 0;
    if (limit < out->limit_bytes)
        out->limit_bytes = limit;
    if (room < out->room_bytes)
        out->room_bytes = room;
    return 0;
}

// Applies every level from `directory` up to the mount point, whose name has top_length characters.
static int climb(const char *root, char *directory, size_t top_length, const struct version *version,
                 struct topo_cgroup_memory *out)
{
    for (;;) {
        int error = apply_level(root, directory, version, out);
        if (error || strlen(directory) <= top_length)
            return error;
        *strrchr(directory, '/') = '\0';
    }
}

static int apply_version(const char *root, const struct version *version, struct topo_cgroup_memory *out)
{
    struct search group = {.version = version};
    struct search mount = {.version = version};
    int found = find_line(root, "/proc/self/cgroup", &group, match_group);
    if (found > 0)
        found = find_line(root, "/proc/self/mountinfo", &mount, match_mount);
    if (found > 0) {
        char directory[PATH_BYTES];
        int length = snprintf(directory, sizeof(directory), "%s%s", mount.point, below(group.group, mount.top));
        found = length < 0 || (size_t)length >= sizeof(directory) ? -ENAMETOOLONG
                                                                  : climb(root, directory, strlen(mount.point), version, out);
    }
    free(group.line);
    free(mount.line);
    return found;
}

int topo_cgroup_memory(const char *root, struct topo_cgroup_memory *out)
{
    *out = (struct topo_cgroup_memory){UINT64_MAX, UINT64_MAX};
    int error = apply_version(root, &V2, out);
    return error ? error : apply_version(root, &V1, out);
}
