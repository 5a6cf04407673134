// SPDX-License-Identifier: Apache-2.0
//
// git: see git.h. The answer comes through a pipe; it is read to its end before the process is waited for.

#include "testbed/record/git.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGUMENTS_MAX 32

// --- a process -----------------------------------------------------------------------------------------------------------------

// Of git's own variables only those that name no other repository.
static bool is_kept(const char *variable)
{
    static const char *const kept[] = {"GIT_CONFIG_",
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

static int spawn(const char *const argv[], int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    const char **environment = environment_make();
    if (!environment)
        return -ENOMEM;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        free(environment);
        return -error;
    }
    error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error && in >= 0)
        error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    else if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawnp(pid, "git", &actions, NULL, (char *const *)argv, (char *const *)environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return -error;
}

static int start(const char *folder, const char *const arguments[], int in, int out, pid_t *pid)
{
    const char *argv[ARGUMENTS_MAX + 6] = {"git", "-c", "core.commitGraph=false"};
    size_t count = 3;
    if (folder) {
        argv[count++] = "-C";
        argv[count++] = folder;
    }
    for (size_t i = 0; arguments[i]; i++) {
        if (count == ARGUMENTS_MAX + 5)
            return -E2BIG;
        argv[count++] = arguments[i];
    }
    return spawn(argv, in, out, pid);
}

static int read_all(int fd, char **out, size_t *bytes)
{
    size_t size = 0, count = 0;
    ssize_t n = 1;
    *out = NULL;
    while (n > 0) {
        if (count + 1 >= size) {
            char *larger = realloc(*out, size += 4096 + size / 2);
            if (!larger)
                return -ENOMEM;
            *out = larger;
        }
        do {
            n = read(fd, *out + count, size - count - 1);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
            return -errno;
        count += (size_t)n;
    }
    (*out)[count] = '\0';
    *bytes = count;
    return 0;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static int ask(const char *folder, const char *const arguments[], int in, char **output, size_t *bytes)
{
    int ends[2];
    pid_t pid = -1;
    *output = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    int error = start(folder, arguments, in, ends[1], &pid);
    close(ends[1]);
    if (!error)
        error = read_all(ends[0], output, bytes);
    close(ends[0]);
    if (pid > 0) {
        int ended = wait_for(pid);
        error = error ? error : ended;
    }
    if (error && error != -ECHILD) {
        free(*output);
        *output = NULL;
    }
    return error;
}

// --- questions -----------------------------------------------------------------------------------------------------------------

int tb_git(const char *folder, const char *const arguments[], char **output)
{
    size_t bytes;
    return ask(folder, arguments, -1, output, &bytes);
}

// By a file in memory: a pipe would have to be fed while the answer is read.
int tb_git_filter(const char *const arguments[], const char *input, char **output, size_t *bytes)
{
    size_t length = strlen(input), done = 0;
    int error = 0, in = memfd_create("git-input", MFD_CLOEXEC);
    *output = NULL;
    if (in < 0)
        return -errno;
    while (!error && done < length) {
        ssize_t n = pwrite(in, input + done, length - done, (off_t)done);
        error = n < 0 && errno != EINTR ? -errno : 0;
        done += n > 0 ? (size_t)n : 0;
    }
    if (!error)
        error = ask(NULL, arguments, in, output, bytes);
    close(in);
    return error;
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
