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
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGUMENTS_MAX 32

static int start(const char *folder, const char *const arguments[], int out, pid_t *pid)
{
    const char *argv[ARGUMENTS_MAX + 4] = {"git"};
    size_t count = 1;
    posix_spawn_file_actions_t actions;
    if (folder) {
        argv[count++] = "-C";
        argv[count++] = folder;
    }
    for (size_t i = 0; arguments[i]; i++) {
        if (count == ARGUMENTS_MAX + 3)
            return -E2BIG;
        argv[count++] = arguments[i];
    }
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return -error;
    error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawnp(pid, "git", &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

static int read_all(int fd, char **out)
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

int tb_git(const char *folder, const char *const arguments[], char **output)
{
    int ends[2];
    pid_t pid = -1;
    *output = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    int error = start(folder, arguments, ends[1], &pid);
    close(ends[1]);
    if (!error)
        error = read_all(ends[0], output);
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
    const char *const arguments[] = {"log", "-1", "--format=%H", "--", path, NULL};
    int error = tb_git_line(NULL, arguments, out, bytes);
    return error ? error : out[0] ? 0 : -ENODATA;
}
