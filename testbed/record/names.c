// SPDX-License-Identifier: Apache-2.0
//
// names: see names.h.
#include "testbed/record/names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool tb_record_named(const char *name)
{
    size_t length = strlen(name);
    return strspn(name, "0123456789") == 4 && name[4] == '-' && strcmp(name + length - 3, ".md") == 0;
}

bool tb_record_below(const char *path)
{
    static const char below[] = TB_RECORD_FOLDER "/";
    return strncmp(path, below, sizeof below - 1) == 0 && !strchr(path + sizeof below - 1, '/');
}

int tb_record_find(const char *record, char *path, size_t bytes)
{
    const char *added = strchr(record, '.');
    int rc = -ENOENT;
    DIR *dir = opendir(TB_RECORD_FOLDER);
    if (!dir)
        return -errno;
    for (const struct dirent *entry; rc == -ENOENT && (entry = readdir(dir));) {
        const char *dot = strchr(entry->d_name, '.');
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%s.md", added ? added : "");
        if (tb_record_named(entry->d_name) && strncmp(entry->d_name, record, 4) == 0 && strcmp(dot, wanted) == 0)
            rc = (size_t)snprintf(path, bytes, "%s/%s", TB_RECORD_FOLDER, entry->d_name) < bytes ? 0 : -ENAMETOOLONG;
    }
    closedir(dir);
    return rc;
}

bool tb_postulate_name(const char *name, char id[8], char slug[64])
{
    size_t digits = strspn(name, "0123456789");
    size_t length = digits == 4 && name[4] == '-' ? strspn(name + 5, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
    if (length == 0 || length >= 64 || name[5] == '-' || strcmp(name + 5 + length, ".md") != 0 || strncmp(name, "0000", 4) == 0)
        return false;
    snprintf(id, 8, "%.4s", name);
    snprintf(slug, 64, "%.*s", (int)length, name + 5);
    return true;
}

bool tb_host_twin(const char *root, const char *host, char *twin, size_t bytes)
{
    bool found = false;
    DIR *dir = opendir(root);
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = strcasecmp(entry->d_name, host) == 0 && strcmp(entry->d_name, host) &&
                (size_t)snprintf(twin, bytes, "%s", entry->d_name) < bytes;
    if (dir)
        closedir(dir);
    return found;
}

bool tb_run_named(const char *id)
{
    static const char form[] = "0000-00000000T000000Z-xxxxxx", digits[] = "0123456789abcdef"; // 0: one of ten digits, x: of all
    size_t i = 0;
    for (; form[i] && id[i]; i++) {
        const char *digit = strchr(digits, id[i]);
        if (form[i] == '0' ? !digit || digit - digits >= 10 : form[i] == 'x' ? !digit : form[i] != id[i])
            return false;
    }
    return form[i] == id[i];
}

int tb_postulate_id(const char *text, char out[8])
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 4 || text[digits] || strtoul(text, NULL, 10) == 0)
        return -EINVAL;
    snprintf(out, 8, "%04lu", strtoul(text, NULL, 10));
    return 0;
}

int tb_postulate_find(const char *folder, const char *id, char *path, size_t bytes)
{
    char wanted[8], number[8], slug[64];
    unsigned found = 0;
    if (tb_postulate_id(id, wanted))
        return -ENOENT;
    DIR *dir = opendir(folder);
    if (!dir)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (!tb_postulate_name(entry->d_name, number, slug) || strcmp(number, wanted) != 0)
            continue;
        found++;
        if ((size_t)snprintf(path, bytes, "%s/%s", folder, entry->d_name) >= bytes) {
            closedir(dir);
            return -ENAMETOOLONG;
        }
    }
    closedir(dir);
    return found == 0 ? -ENOENT : found == 1 ? 0 : -ENOTUNIQ;
}
