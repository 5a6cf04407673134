// SPDX-License-Identifier: Apache-2.0
//
// child: see child.h.

#include "testbed/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *folder, const char *const argv[], const char *output, bool errors, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return -error;
    error = posix_spawnattr_init(&attributes);
    if (error)
        goto out;
    error = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!error)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error && errors)
        error = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
out:
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, quit;
    int status = 0;
    pid_t pid;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    int rc = start(folder, argv, output, errors, &pid);
    while (rc == 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            rc = -errno;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (rc)
        return rc;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
        return -EINTR;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static void last_line(const char *path, char *out, size_t bytes)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0)
        snprintf(out, bytes, "%.*s", (int)strcspn(line, "\n"), line);
    free(line);
    if (file)
        fclose(file);
}

int tb_child_tool(const char *const argv[], const char *words, const char *where, char *why, size_t why_bytes)
{
    struct statvfs room;
    int rc = tb_child_run(".", argv, words, true);
    if (rc == -ECHILD && statvfs(where, &room) == 0 && room.f_bavail == 0)
        rc = -ENOSPC;
    else if (rc == -ENOENT)
        rc = -ENOPKG;
    snprintf(why, why_bytes, "%s: %s", argv[0], rc == -ECHILD ? "it failed" : strerror(-rc));
    if (rc == -ENOPKG)
        snprintf(why, why_bytes, "%s is not installed here, and this cannot be done without it", argv[0]);
    else if (rc == -ENOSPC)
        snprintf(why, why_bytes, "%s: %s. Make room, or name another folder by TMPDIR", where, strerror(-rc));
    else if (rc == -ECHILD)
        last_line(words, why, why_bytes);
    return rc;
}

int tb_child_sync(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || syncfs(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path) ? -errno : 0;
}

int tb_child_remove(const char *folder)
{
    int rc = nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return rc == -1 ? -errno : rc;
}
