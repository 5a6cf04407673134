// SPDX-License-Identifier: Apache-2.0
//
// host_name: a folder of the record has this name, so it has only such characters as every file system takes.
#include "testbed/host/host_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool name_character(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("._-", c));
}

bool tb_host_name_valid(const char *name)
{
    bool something = false;
    for (const char *c = name; *c; c++) {
        if (!name_character(*c))
            return false;
        something |= isalnum((unsigned char)*c) != 0;
    }
    return something && name[0] != '.';
}

int tb_host_name(char *out, size_t bytes)
{
    const char *wanted = getenv("LOCUS_HOST");
    char own[256] = "";
    if (!wanted || !*wanted) {
        if (gethostname(own, sizeof own - 1))
            return -errno;
        wanted = own;
    }
    if ((size_t)snprintf(out, bytes, "%s", wanted) >= bytes)
        return -ENAMETOOLONG;
    for (char *c = out; *c; c++)
        if (!name_character(*c) || (c == out && *c == '.'))
            *c = '-';
    return tb_host_name_valid(out) ? 0 : -EINVAL;
}
