// SPDX-License-Identifier: Apache-2.0
//
// golden: compares a text for people with a file, byte by byte. GOLDEN=write in the environment rewrites the file; read the
// changes before you commit them.
#ifndef TB_GOLDEN_H
#define TB_GOLDEN_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// `path` is relative to the project's folder, in which the tests run.
static inline void golden(const char *path, const char *text)
{
    static char wanted[1 << 16];
    const char *mode = getenv("GOLDEN");
    bool write = mode && strcmp(mode, "write") == 0;
    FILE *file = fopen(path, write ? "w" : "r");
    cr_assert(file, "%s: %s (GOLDEN=write makes it)", path, strerror(errno));
    size_t bytes = write ? fwrite(text, 1, strlen(text), file) : fread(wanted, 1, sizeof wanted - 1, file);
    fclose(file);
    if (write)
        return;
    wanted[bytes] = '\0';
    cr_assert(strcmp(text, wanted) == 0, "not as in %s (GOLDEN=write takes this):\n%s", path, text);
}

#endif
