// SPDX-License-Identifier: Apache-2.0
//
// store_find: a run by what a person calls it. The files' names say everything that is needed, so no log is opened in order to find
// one.
#include "testbed/record/store.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STEM_CHARACTERS 23 // YYYYMMDDTHHMMSSZ-RRRRRR
#define TAIL_CHARACTERS 6

static bool is_tail(const char *name)
{
    return strlen(name) == TAIL_CHARACTERS && strspn(name, "0123456789abcdef") == TAIL_CHARACTERS;
}

static bool is_id(const char *name)
{
    return strlen(name) == 5 + STEM_CHARACTERS && strspn(name, "0123456789") == 4 && name[4] == '-' &&
           strspn(name + 5, "0123456789TZ-abcdef") == STEM_CHARACTERS;
}

// Paths below the current folder lose what every machine has differently.
static int relative(const char *path, char *out, size_t bytes)
{
    char *whole = realpath(path, NULL), *here = realpath(".", NULL);
    int rc = whole && here ? 0 : -errno;
    if (!rc) {
        size_t prefix = strlen(here);
        bool below = strncmp(whole, here, prefix) == 0 && whole[prefix] == '/';
        rc = snprintf(out, bytes, "%s", below ? whole + prefix + 1 : whole) < (int)bytes ? 0 : -ENAMETOOLONG;
    }
    free(whole);
    free(here);
    return rc;
}

static int search(const char *name, glob_t *found)
{
    static const char *const roots[] = {"logs", "build/logs"};
    char pattern[128];
    *found = (glob_t){0};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (is_id(name)) // "NNNN-" begins the folder's name, and the rest is the file's
            snprintf(pattern, sizeof pattern, "%s/*/%.5s*/%s.jsonl", roots[i], name, name + 5);
        else
            snprintf(pattern, sizeof pattern, "%s/*/*/*-%s.jsonl", roots[i], name);
        int rc = glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, found);
        if (rc && rc != GLOB_NOMATCH)
            return rc == GLOB_NOSPACE ? -ENOMEM : -EIO;
    }
    return 0;
}

static int find_by_name(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    glob_t found;
    int rc = search(name, &found);
    if (rc < 0) {
        snprintf(why, why_bytes, "logs: %s", strerror(-rc));
    } else if (found.gl_pathc == 0) {
        snprintf(why, why_bytes, "no run %s below logs/ or build/logs/ (`locus verify` lists the runs; or name the log's file)",
                 name);
        rc = -ENOENT;
    } else if (found.gl_pathc > 1) {
        snprintf(why, why_bytes, "run %s: %zu logs have this name, such as %.200s and %.200s; name the file", name, found.gl_pathc,
                 found.gl_pathv[0], found.gl_pathv[1]);
        rc = -EEXIST;
    } else {
        rc = relative(found.gl_pathv[0], path, path_bytes);
    }
    globfree(&found);
    return rc;
}

int tb_store_find(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    struct stat status;
    if (is_tail(name) || is_id(name))
        return find_by_name(name, path, path_bytes, why, why_bytes);
    int rc = stat(name, &status) ? -errno : S_ISREG(status.st_mode) ? relative(name, path, path_bytes) : -EINVAL;
    if (rc == -ENOENT && !strchr(name, '/'))
        snprintf(why, why_bytes, "'%s' is neither a run (its id, or the last six hexadecimal digits of it) nor a log's file", name);
    else if (rc == -EINVAL)
        snprintf(why, why_bytes, "%s: not a file; a run is named by its id, the last six digits of it, or its log", name);
    else if (rc < 0)
        snprintf(why, why_bytes, "%s: %s", name, strerror(-rc));
    return rc;
}

static int check(const struct tb_log_view *view, char *why, size_t why_bytes)
{
    if (view->chain.broken_line)
        snprintf(why, why_bytes, "%s:%zu: %s (see `locus verify`)", view->path, view->chain.broken_line, view->chain.broken);
    else if (!view->seal)
        snprintf(why, why_bytes, "%s: has no seal, so the run did not come to its end; nothing can be said about it", view->path);
    else if (!view->header || !view->summary)
        snprintf(why, why_bytes, "%s: has no summary, so the run was stopped before its verdict", view->path);
    else
        return 0;
    return -EINVAL;
}

int tb_store_load(const char *name, struct tb_log_view *out, char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    int rc = tb_store_find(name, path, sizeof path, why, why_bytes);
    if (rc < 0)
        return rc;
    why[0] = '\0';
    rc = tb_log_load(path, out, why, why_bytes);
    if (rc < 0) {
        if (!why[0])
            snprintf(why, why_bytes, "%s: %s", path, strerror(-rc));
        return rc;
    }
    rc = check(out, why, why_bytes);
    if (rc < 0)
        tb_log_view_close(out);
    return rc;
}

void tb_store_host_of(const char *path, char *out, size_t bytes)
{
    const char *slash[3] = {NULL}, *end = path + strlen(path); // from the end
    for (size_t i = 0; i < 3 && end; i++)
        end = slash[i] = memrchr(path, '/', (size_t)(end - path));
    // .../logs/HOST/NNNN-slug/FILE: HOST lies between the third slash from the end and the second
    if (slash[2] && slash[2] - path >= 4 && strncmp(slash[2] - 4, "logs", 4) == 0)
        snprintf(out, bytes, "%.*s", (int)(slash[1] - slash[2] - 1), slash[2] + 1);
    else
        snprintf(out, bytes, "unknown");
}
