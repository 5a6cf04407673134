// SPDX-License-Identifier: Apache-2.0
//
// share: finds the program's own folder by /proc/self/exe, so that an installation can be moved, or unpacked into any root.

#include "testbed/base/share.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The program's folder, without a trailing slash; "" if the kernel does not say.
static void own_folder(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

// The file FOLDER BELOW NAME, if there is one: 0 or -ENOENT.
static int look(const char *folder, const char *below, const char *name, int mode, char *path, size_t path_bytes)
{
    char wanted[2 * PATH_MAX], resolved[PATH_MAX];
    snprintf(wanted, sizeof wanted, "%s%s%s", folder, below, name);
    if (!*folder || !realpath(wanted, resolved) || access(resolved, mode))
        return -ENOENT;
    return (size_t)snprintf(path, path_bytes, "%s", resolved) < path_bytes ? 0 : -ENOENT;
}

int tb_share(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    const char *named = getenv("LOCUS_SHARE");
    char own[PATH_MAX];
    if (named && *named) {
        snprintf(why, why_bytes,
                 "%s is not in %s, the value of LOCUS_SHARE: unset it, or set it to the folder share/locus of an "
                 "installation",
                 name, named);
        return look(named, "/", name, R_OK, path, path_bytes);
    }
    own_folder(own);
    snprintf(why, why_bytes,
             "%s is missing: an installed locus has it in share/locus, a clone in testbed/. "
             "If it is elsewhere, set LOCUS_SHARE to its folder",
             name);
    bool found = look(own, "/../share/locus/", name, R_OK, path, path_bytes) == 0 ||
                 look(own, "/../../testbed/", name, R_OK, path, path_bytes) == 0 || // build/gcc/locus
                 look("testbed", "/", name, R_OK, path, path_bytes) == 0;
    return found ? 0 : -ENOENT;
}

int tb_share_lap(char *path, char *why, size_t why_bytes)
{
    const char *named = getenv("LOCUS_LAP");
    char own[PATH_MAX];
    if (named && *named) {
        snprintf(why, why_bytes, "LOCUS_LAP is %s, which is not a program: unset it, or set it to the locus-lap of this build",
                 named);
        return look(named, "", "", X_OK, path, PATH_MAX);
    }
    own_folder(own);
    snprintf(why, why_bytes,
             "locus-lap, the program that is measured, is missing: a build has it beside locus (run make), an installation in "
             "libexec/locus. If it is elsewhere, set LOCUS_LAP to the file");
    bool found = look(own, "/", "locus-lap", X_OK, path, PATH_MAX) == 0 ||
                 look(own, "/../libexec/locus/", "locus-lap", X_OK, path, PATH_MAX) == 0;
    return found ? 0 : -ENOENT;
}
