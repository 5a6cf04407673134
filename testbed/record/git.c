// SPDX-License-Identifier: Apache-2.0
//
// git: see git.h.

#include "testbed/record/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/file.h"

extern char **environ;

#define ARGUMENTS_MAX 32

// Of git's own variables only those that name no other repository.
static bool is_kept(const char *variable)
{
    static const char *const kept[] = {"GIT_CONFIG_", "GIT_COMMITTER_",
                                       "GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM=", "GIT_EXEC_PATH="};
    bool fits = strncmp(variable, "GIT_", 4) != 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        fits |= strncmp(variable, kept[i], strlen(kept[i])) == 0;
    return fits;
}

// Borrows its strings. free() it. NULL without memory.
static const char **environment_make(void)
{
    static const char *const added[] = {"GIT_GRAFT_FILE=/dev/null", "GIT_NO_REPLACE_OBJECTS=1"};
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    const char **out = calloc(count + sizeof added / sizeof *added + 1, sizeof *out);
    for (size_t i = 0; out && i < count; i++)
        if (is_kept(environ[i]))
            out[used++] = environ[i];
    for (size_t i = 0; out && i < sizeof added / sizeof *added; i++)
        out[used++] = added[i];
    return out;
}

static int ask(const char *folder, const char *const arguments[], int in, bool words, char **output, size_t *bytes)
{
    const char *argv[ARGUMENTS_MAX + 4] = {"git", "-c", "core.commitGraph=false"};
    for (size_t i = 0; arguments[i]; i++) {
        if (i == ARGUMENTS_MAX)
            return -E2BIG;
        argv[i + 3] = arguments[i];
    }
    const char **environment = environment_make();
    *output = NULL;
    if (!environment)
        return -ENOMEM;
    struct tb_child child = {argv, environment, folder, in, .errors = words ? TB_CHILD_ERRORS_PRINTED : TB_CHILD_ERRORS_DROPPED};
    int error = tb_child_ask(&child, output, bytes);
    free(environment);
    return error;
}

// --- questions -----------------------------------------------------------------------------------------------------------------

int tb_git(const char *folder, const char *const arguments[], char **output)
{
    size_t bytes;
    return ask(folder, arguments, -1, false, output, &bytes);
}

// By a file in memory: a pipe would have to be fed while the answer is read.
static int feed(const char *const arguments[], const char *input, bool words, char **output, size_t *bytes)
{
    int in = memfd_create("git-input", MFD_CLOEXEC);
    *output = NULL;
    if (in < 0)
        return -errno;
    int error = tb_file_write(in, input, strlen(input));
    if (!error && lseek(in, 0, SEEK_SET) < 0)
        error = -errno;
    if (!error)
        error = ask(NULL, arguments, in, words, output, bytes);
    close(in);
    return error;
}

int tb_git_filter(const char *const arguments[], const char *input, char **output, size_t *bytes)
{
    return feed(arguments, input, false, output, bytes);
}

int tb_git_tell(const char *const arguments[], const char *input, char **output)
{
    size_t bytes;
    return feed(arguments, input, true, output, &bytes);
}

int tb_git_line(const char *folder, const char *const arguments[], char *out, size_t bytes)
{
    char *text = NULL;
    int error = tb_git(folder, arguments, &text);
    if (!error) {
        text[strcspn(text, "\n")] = '\0';
        error = (size_t)snprintf(out, bytes, "%s", text) < bytes ? 0 : -ENOSPC;
    }
    free(text);
    return error;
}

bool tb_git_committed(const char *path)
{
    char name[8];
    const char *const known[] = {"ls-files", "--error-unmatch", "--", path, NULL};
    const char *const changed[] = {"diff", "--name-only", "HEAD", "--", path, NULL};
    char *text = NULL;
    bool committed = tb_git(NULL, known, &text) == 0 && tb_git_line(NULL, changed, name, sizeof name) == 0 && name[0] == '\0';
    free(text);
    return committed;
}

int tb_git_commit_of(const char *path, char *out, size_t bytes)
{
    const char *const arguments[] = {"rev-list", "-1", "HEAD", "--", path, NULL};
    int error = tb_git_line(NULL, arguments, out, bytes);
    return error ? error : out[0] ? 0 : -ENODATA;
}
