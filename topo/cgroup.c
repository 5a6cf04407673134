// SPDX-License-Identifier: Apache-2.0
//
// cgroup: how much memory, and how many bytes of huge pages, the kernel allows this process's group.
//
// A limit may sit on any level above the process, and a container sees only the part of the hierarchy that is mounted into it. So
// we walk from the process's own group up to the mount point, and the tightest level counts. If the group's path is outside the
// mounted part (another cgroup namespace, "/../.."), the mount point is the nearest visible level.
//
// A group at its limit is not out of memory: the kernel first drops the group's file pages. So room is limit - current + file
// pages, and the level with the least room need not have the lowest limit. memory.high is ignored: it slows a group down, but
// allocations beyond it succeed. Swap is no room either: what is pushed out to make room for more was in memory for a reason. But
// v1's limit of memory and swap together can be the tighter one, if much is swapped out.
//
// Huge pages are of another controller. They have two limits: one that mmap meets (rsvd), and one that the first touch meets, with
// SIGBUS.
//
// v1 and v2 differ only in file names. A hybrid host mounts both, but a controller is in one only; the other has none of its files
// and is skipped. v1's memory.stat also has the tightest limit of the levels that a container does not see.
#include "topo/cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/sysfs.h"

#define PATH_BYTES 4096u

#define COUNTERS_MAX 3u
#define FILE_KEYS 2u

struct counter {
    const char *limit, *current; // of a file's name, what follows "memory." or "hugetlb.2MB."
};

struct version {
    const char *mount_type;
    struct counter counters[COUNTERS_MAX]; // a controller without one of them has no such file
    const char *file_keys[FILE_KEYS], *tightest_key; // in memory.stat
};

static const struct version V2 = {
    "cgroup2",
    {{"max", "current"}, {"rsvd.max", "rsvd.current"}},
    {"active_file", "inactive_file"},
    NULL,
};
static const struct version V1 = {
    "cgroup",
    {{"limit_in_bytes", "usage_in_bytes"},
     {"memsw.limit_in_bytes", "memsw.usage_in_bytes"},
     {"rsvd.limit_in_bytes", "rsvd.usage_in_bytes"}},
    {"total_active_file", "total_inactive_file"},
    "hierarchical_memory_limit",
};

// What is asked about: a controller, and how its files' names begin.
struct subject {
    const char *controller;     // "memory" or "hugetlb"
    const char *prefix;         // "memory" or "hugetlb.2MB"
    bool has_stat;
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
    const char *controller;
    char *line;
    size_t line_bytes;
    char *group;                // this process's group
    char *top;                  // the group at the mount point
    char *point;                // where it is mounted
};

// One line of /proc/self/cgroup: "0::/path" for v2, "N:...CONTROLLER...:/path" for v1.
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
    return list_has(controllers, length, search->controller);
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
    if (search->version == &V1 && !list_has(options, strlen(options), search->controller))
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

// "max" and v1's large number are UINT64_MAX. -ENOENT: the level has no such file.
static int read_bytes(const char *root, const char *directory, const char *prefix, const char *name, uint64_t *out)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s.%s", directory, prefix, name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    int error = topo_sysfs_u64(root, path, out);
    if (!error && *out >= V1_UNLIMITED_BYTES)
        *out = UINT64_MAX;
    return error;
}

// The number behind a key at the start of a line.
static bool take_key(const char *line, const char *key, uint64_t *out)
{
    size_t length = key ? strlen(key) : 0;
    if (!key || strncmp(line, key, length) != 0 || line[length] != ' ')
        return false;
    const char *at = line + length + 1;
    return topo_number_take(&at, out) == 0 && *at == '\0';
}

// Adds up the file pages in memory.stat, and takes the tightest limit of all levels, if it says one. A file without the keys
// counts as none: the estimate errs on the safe side.
static uint64_t read_stat(const char *root, const char *directory, const struct version *version, uint64_t *limit)
{
    char path[PATH_BYTES];
    char text[16384];
    int length = snprintf(path, sizeof(path), "%s/memory.stat", directory);
    if (length < 0 || (size_t)length >= sizeof(path) || topo_sysfs_read(root, path, text, sizeof(text), NULL))
        return 0;
    uint64_t sum = 0, bytes;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        for (size_t key = 0; key < FILE_KEYS; key++)
            if (take_key(line, version->file_keys[key], &bytes))
                sum += bytes;
        if (take_key(line, version->tightest_key, &bytes) && bytes < V1_UNLIMITED_BYTES && bytes < *limit)
            *limit = bytes;
    }
    return sum;
}

static void apply_limit(uint64_t limit, uint64_t current, uint64_t file, struct topo_cgroup_memory *out)
{
    uint64_t held = current > file ? current - file : 0;
    uint64_t room = limit > held ? limit - held : 0;
    if (limit < out->limit_bytes)
        out->limit_bytes = limit;
    if (room < out->room_bytes)
        out->room_bytes = room;
}

// Applies the limits of one level. A level without the files (the root group, a controller that is off) has none.
static int apply_level(const char *root, const char *directory, const struct version *version, const struct subject *subject,
                       struct topo_cgroup_memory *out)
{
    uint64_t tightest = UINT64_MAX;
    uint64_t file = subject->has_stat ? read_stat(root, directory, version, &tightest) : 0;
    for (unsigned i = 0; i < COUNTERS_MAX && version->counters[i].limit; i++) {
        uint64_t limit = 0;
        uint64_t current = 0;
        int error = read_bytes(root, directory, subject->prefix, version->counters[i].limit, &limit);
        if (error == -ENOENT)
            continue;
        if (!error && i == 0 && tightest < limit)
            limit = tightest;
        if (!error && limit < UINT64_MAX)
            error = read_bytes(root, directory, subject->prefix, version->counters[i].current, &current);
        if (error)
            return error;
        if (limit < UINT64_MAX)
            apply_limit(limit, current, file, out);
    }
    return 0;
}

// Applies every level from `directory` up to the mount point, whose name has top_length characters.
static int climb(const char *root, char *directory, size_t top_length, const struct version *version, const struct subject *subject,
                 struct topo_cgroup_memory *out)
{
    for (;;) {
        int error = apply_level(root, directory, version, subject, out);
        if (error || strlen(directory) <= top_length)
            return error;
        *strrchr(directory, '/') = '\0';
    }
}

// Leaves this process's group in `directory`, and the length of the mount point, at which a climb ends. 1; 0: this version is not
// mounted here, or has not this controller; or -errno.
static int own_directory(const char *root, const struct version *version, const char *controller, char directory[PATH_BYTES],
                         size_t *top_length)
{
    struct search group = {.version = version, .controller = controller};
    struct search mount = group;
    int found = find_line(root, "/proc/self/cgroup", &group, match_group);
    if (found > 0)
        found = find_line(root, "/proc/self/mountinfo", &mount, match_mount);
    if (found > 0) {
        int length = snprintf(directory, PATH_BYTES, "%s%s", mount.point, below(group.group, mount.top));
        *top_length = strlen(mount.point);
        found = length < 0 || (size_t)length >= PATH_BYTES ? -ENAMETOOLONG : 1;
    }
    free(group.line);
    free(mount.line);
    return found;
}

static int apply_version(const char *root, const struct version *version, const struct subject *subject,
                         struct topo_cgroup_memory *out)
{
    char directory[PATH_BYTES];
    size_t top_length = 0;
    int found = own_directory(root, version, subject->controller, directory, &top_length);
    return found > 0 ? climb(root, directory, top_length, version, subject, out) : found;
}

static int apply(const char *root, const struct subject *subject, struct topo_cgroup_memory *out)
{
    *out = (struct topo_cgroup_memory){UINT64_MAX, UINT64_MAX};
    int error = apply_version(root, &V2, subject, out);
    return error ? error : apply_version(root, &V1, subject, out);
}

int topo_cgroup_memory(const char *root, struct topo_cgroup_memory *out)
{
    static const struct subject memory = {"memory", "memory", true};
    return apply(root, &memory, out);
}

void topo_cgroup_hugetlb_name(uint64_t page_bytes, char *name, size_t name_bytes)
{
    unsigned shift = page_bytes >= UINT64_C(1) << 30 ? 30 : page_bytes >= UINT64_C(1) << 20 ? 20 : 10;
    snprintf(name, name_bytes, "hugetlb.%llu%cB", (unsigned long long)(page_bytes >> shift), "KMG"[shift / 10 - 1]);
}

int topo_cgroup_hugetlb(const char *root, uint64_t page_bytes, struct topo_cgroup_memory *out)
{
    char prefix[TOPO_CGROUP_NAME_BYTES];
    topo_cgroup_hugetlb_name(page_bytes, prefix, sizeof prefix);
    const struct subject hugetlb = {"hugetlb", prefix, false};
    return apply(root, &hugetlb, out);
}

// "oom_kill 3" among the lines of a file. False: no such file or line.
static bool read_kills(const char *root, const char *path, uint64_t *out)
{
    char text[16384];
    char *rest = NULL;
    bool found = false;
    if (topo_sysfs_read(root, path, text, sizeof(text), NULL))
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest))
        found = take_key(line, "oom_kill", out);
    return found;
}

int topo_cgroup_oom_kills(const char *root, uint64_t *out)
{
    static const struct {
        const struct version *version;
        const char *file;
    } counted[] = {{&V2, "memory.events"}, {&V1, "memory.oom_control"}};
    char directory[PATH_BYTES], path[PATH_BYTES + 32];
    size_t top_length = 0;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        if (own_directory(root, counted[i].version, "memory", directory, &top_length) <= 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, counted[i].file);
        if (read_kills(root, path, out))
            return 0;
    }
    return read_kills(root, "/proc/vmstat", out) ? 0 : -ENOENT;
}
