// SPDX-License-Identifier: Apache-2.0
//
// host (private to the record and the doctor): files of /proc and /sys as JSON values, with a word for each way of not being there.
//
// Every reader takes the folder that stands for "/" ("" on a real machine), so that tests can hand in hosts nobody here owns.
#ifndef TB_HOST_H
#define TB_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_host {
    const char *root;
    bool failed;                // there was no memory for some value; the result is worthless
};

#define TB_HOST_PATH 1024

// Sets a member; takes over `value`, which may be NULL (no memory: host->failed).
void tb_host_put(struct tb_host *host, json_t *object, const char *key, json_t *value);

// "ABSENT", "FORBIDDEN" or "UNREADABLE", for a negative errno.
const char *tb_host_word(int error);

// A whole file, malloc'd. 0 or -errno.
int tb_host_read(const struct tb_host *host, const char *path, char **text);

// Text as a JSON string: blanks around it taken off, and what is not printable ASCII replaced, because firmware writes anything.
json_t *tb_host_string(const char *text);

// A file as a string, or as a number where it holds one (an integer without blanks); otherwise the word.
enum tb_field { TB_FIELD_STRING, TB_FIELD_NUMBER };
json_t *tb_host_file(const struct tb_host *host, enum tb_field kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

// The value of `key` in a text of lines "KEY<separator> VALUE", as a number with its unit cut off (TB_FIELD_NUMBER) or a string;
// "ABSENT" when no line has it, and the word of `error` when there is one.
json_t *tb_host_field(const char *text, int error, const char *key, char separator, enum tb_field kind);

// Names in a folder: those that are `prefix` and a number, or, where it is "", all. In the order of their numbers. -ENOENT: none.
struct tb_names {
    char (*name)[64];
    size_t count;
};
int tb_host_list(const struct tb_host *host, const char *folder, const char *prefix, struct tb_names *out);
void tb_names_close(struct tb_names *names);

// What is at a path, as JSON. tb_host_value: a file as a string.
typedef json_t *tb_host_reader(struct tb_host *host, const char *path);
tb_host_reader tb_host_value;

// An object with a member for each name in a folder, less its first `skip` characters; or the word.
json_t *tb_host_each(struct tb_host *host, const char *folder, const char *prefix, size_t skip, tb_host_reader *read);

// environment_cgroup.c: `file` of this process's cgroup and of every one above it, by level ("0" is its own); read as `read`
// says. A word when there is no such controller.
json_t *tb_cgroup_levels(struct tb_host *host, const char *controller, const char *file, tb_host_reader *read);
bool tb_cgroup_unified(const struct tb_host *host); // version 2

// Parts of the environment, each a new reference or NULL.
json_t *tb_environment_cgroup(struct tb_host *host);
json_t *tb_environment_hwloc(struct tb_host *host);

// redact.c. The command line of a kernel without what may identify a machine, and a text whose paths do not tell where it was: the
// working folder's are relative to it, and home folders have no names.
// malloc'd, or NULL without memory.
char *tb_redact_command_line(const char *line);
char *tb_redact_paths(const char *text);

// Lists of CPUs and nodes, "0-3,8": how many one names, and how many are in both. The empty list names none. -EINVAL: it is no such
// list. -ENOMEM.
int tb_id_list_count(const char *list);
int tb_id_list_common(const char *one, const char *other);

#endif
