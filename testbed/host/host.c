// SPDX-License-Identifier: Apache-2.0
//
// host: reads files of /proc and /sys.
//
// The kernel answers in several ways that there is no such thing: no file, no device behind it, an operation that is not supported
// (pressure that is switched off at boot). All of these are ABSENT. What permissions, seccomp or a security module keep back is
// FORBIDDEN, and it matters to whoever compares two hosts that this is not the same.

#include "testbed/host/host.h"
#include "testbed/base/cpus/cpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tb_host_put(struct tb_host *host, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        host->failed = true;
}

const char *tb_host_word(int error)
{
    switch (-error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ENODATA:
    case EOPNOTSUPP: return "ABSENT";
    case EACCES:
    case EPERM: return "FORBIDDEN";
    default: return "UNREADABLE";
    }
}

int tb_host_read(const struct tb_host *host, const char *path, char **text)
{
    char full[TB_HOST_PATH];
    size_t room = 0;
    *text = NULL;
    if (snprintf(full, sizeof full, "%s%s", host->root, path) >= (int)sizeof full)
        return -ENAMETOOLONG;
    FILE *file = fopen(full, "re");
    if (!file)
        return -errno;
    errno = 0;
    int error = 0;
    if (getdelim(text, &room, '\0', file) < 0) { // none of these files has a NUL: this is all of it
        error = -errno;
        free(*text);
        *text = error ? NULL : strdup("");
        error = error || *text ? error : -ENOMEM;
    }
    fclose(file);
    return error;
}

json_t *tb_host_string(const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    for (; length > 0 && isspace((unsigned char)*text); length--)
        text++;
    char *copy = strndup(text, length);
    for (char *c = copy; c && *c; c++)
        if (!isprint((unsigned char)*c))
            *c = isspace((unsigned char)*c) ? ' ' : '?';
    json_t *string = copy ? json_string(copy) : NULL;
    free(copy);
    return string;
}

static json_t *number_or_string(const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool whole = end != text && errno == 0 && end[strspn(end, " \t\n")] == '\0';
    return whole ? json_integer(number) : tb_host_string(text);
}

json_t *tb_host_file(const struct tb_host *host, enum tb_field kind, const char *format, ...)
{
    char path[TB_HOST_PATH], *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    int error = length < (int)sizeof path ? tb_host_read(host, path, &text) : -ENAMETOOLONG;
    json_t *value = error                     ? json_string(tb_host_word(error))
                    : kind == TB_FIELD_NUMBER ? number_or_string(text)
                                              : tb_host_string(text);
    free(text);
    return value;
}

json_t *tb_host_value(struct tb_host *host, const char *path)
{
    return tb_host_file(host, TB_FIELD_STRING, "%s", path);
}

// Where the value of `key` begins, or NULL. The line begins with the key, or a blank stands before it ("Node 0 MemFree:").
static const char *field_find(const char *text, const char *key, char separator)
{
    size_t length = strlen(key);
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        const char *after = at + length + strspn(at + length, separator == ' ' ? "" : " \t");
        bool begins = at == text || isspace((unsigned char)at[-1]);
        if (begins && *after == separator)
            return after + 1;
    }
    return NULL;
}

json_t *tb_host_field(const char *text, int error, const char *key, char separator, enum tb_field kind)
{
    const char *value = error ? NULL : field_find(text, key, separator);
    if (!value)
        return json_string(tb_host_word(error ? error : -ENOENT));
    char *end;
    long long number = strtoll(value, &end, 10);
    if (kind == TB_FIELD_NUMBER && end != value)
        return json_integer(number);
    char *line = strndup(value, strcspn(value, "\n"));
    json_t *string = line ? tb_host_string(line) : NULL;
    free(line);
    return string;
}

static bool name_fits(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    if (length == 0)
        return name[0] != '.';
    const char *number = name + length;
    return strncmp(name, prefix, length) == 0 && *number && number[strspn(number, "0123456789")] == '\0';
}

int tb_host_list(const struct tb_host *host, const char *folder, const char *prefix, struct tb_names *out)
{
    char full[TB_HOST_PATH];
    struct dirent **entries = NULL;
    *out = (struct tb_names){0};
    if (snprintf(full, sizeof full, "%s%s", host->root, folder) >= (int)sizeof full)
        return -ENAMETOOLONG;
    int count = scandir(full, &entries, NULL, versionsort);
    if (count < 0)
        return -errno;
    out->name = calloc((size_t)count + 1, sizeof *out->name);
    for (int i = 0; i < count; i++) {
        if (out->name && name_fits(entries[i]->d_name, prefix) && strlen(entries[i]->d_name) < sizeof *out->name)
            strcpy(out->name[out->count++], entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (out->count > 0)
        return 0;
    int error = out->name ? -ENOENT : -ENOMEM;
    tb_names_close(out);
    return error;
}

void tb_names_close(struct tb_names *names)
{
    free(names->name);
    *names = (struct tb_names){0};
}

json_t *tb_host_each(struct tb_host *host, const char *folder, const char *prefix, size_t skip, tb_host_reader *read)
{
    char path[TB_HOST_PATH];
    struct tb_names names;
    int error = tb_host_list(host, folder, prefix, &names);
    json_t *object = error ? json_string(tb_host_word(error)) : json_object();
    for (size_t i = 0; i < names.count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names.name[i]);
        tb_host_put(host, object, names.name[i] + skip, read(host, path));
    }
    tb_names_close(&names);
    return object;
}

static hwloc_bitmap_t parse(const char *text, int *error)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    *error = tb_id_list(text, set);
    return set;
}

int tb_id_list_count(const char *list)
{
    return tb_id_list_common(list, list);
}

int tb_id_list_common(const char *one, const char *other)
{
    int errors[2];
    hwloc_bitmap_t a = parse(one, &errors[0]), b = parse(other, &errors[1]);
    int result = errors[0] ? errors[0] : errors[1];
    if (!result) {
        hwloc_bitmap_and(a, a, b);
        result = hwloc_bitmap_weight(a);
    }
    hwloc_bitmap_free(a);
    hwloc_bitmap_free(b);
    return result;
}
