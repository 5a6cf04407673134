// SPDX-License-Identifier: Apache-2.0
//
// share: the program's own folder is found by /proc/self/exe, so that what was installed can be moved, or unpacked into any root.

#include "testbed/base/share.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder that the program lies in, without a slash at its end; "" where the kernel does not say.
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
                 "there is no %s in %s, which LOCUS_SHARE names: unset it, or name the folder share/locus of an installation", name,
                 named);
        return look(named, "/", name, R_OK, path, path_bytes);
    }
    own_folder(own);
    snprintf(why, why_bytes,
             "there is no %s: it lies in share/locus where locus is installed, and in testbed/ of a clone. LOCUS_SHARE names the "
             "folder where it is elsewhere",
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
        snprintf(why, why_bytes, "there is no program %s, which LOCUS_LAP names: unset it, or name the locus-lap of this build",
                 named);
        return look(named, "", "", X_OK, path, PATH_MAX);
    }
    own_folder(own);
    snprintf(why, why_bytes,
             "there is no locus-lap, the program that is measured: it lies beside locus where that is built (run make), and in "
             "libexec/locus where it is installed. LOCUS_LAP names the file where it is elsewhere");
    bool found = look(own, "/", "locus-lap", X_OK, path, PATH_MAX) == 0 ||
                 look(own, "/../libexec/locus/", "locus-lap", X_OK, path, PATH_MAX) == 0;
    return found ? 0 : -ENOENT;
}
