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

static int connect(posix_spawn_file_actions_t *actions, int from, int to)
{
    if (from >= 0)
        return posix_spawn_file_actions_adddup2(actions, from, to);
    return posix_spawn_file_actions_addopen(actions, to, "/dev/null", to == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
}

static int start(const struct tb_child *child, pid_t *pid)
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
        error = connect(&actions, child->in, STDIN_FILENO);
    if (!error)
        error = connect(&actions, child->out, STDOUT_FILENO);
    if (!error && child->errors != TB_CHILD_ERRORS_SHOWN)
        error = connect(&actions, child->errors == TB_CHILD_ERRORS_PRINTED ? STDOUT_FILENO : -1, STDERR_FILENO);
    if (!error && child->folder)
        error = posix_spawn_file_actions_addchdir_np(&actions, child->folder);
    if (!error)
        error = posix_spawnp(pid, child->argv[0], &actions, &attributes, (char *const *)child->argv,
                             child->environment ? (char *const *)child->environment : environ);
    posix_spawnattr_destroy(&attributes);
out:
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

static int finish(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
        return -EINTR;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

int tb_child(const struct tb_child *child)
{
    pid_t pid;
    int rc = start(child, &pid);
    return rc ? rc : finish(pid);
}

static int read_all(int fd, char **out, size_t *bytes)
{
    size_t size = 0, count = 0;
    ssize_t n = 1;
    while (n > 0) {
        if (count + 1 >= size) {
            char *larger = realloc(*out, size += 4096 + size / 2);
            if (!larger)
                return -ENOMEM;
            *out = larger;
        }
        do
            n = read(fd, *out + count, size - count - 1);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return -errno;
        count += (size_t)n;
    }
    (*out)[count] = '\0';
    *bytes = count;
    return 0;
}

// Reads all output before it waits for the process, which might block on a full pipe otherwise.
int tb_child_ask(const struct tb_child *child, char **output, size_t *bytes)
{
    struct tb_child asked = *child;
    int ends[2];
    pid_t pid;
    *output = NULL;
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    asked.out = ends[1];
    int rc = start(&asked, &pid), ended = 0;
    close(ends[1]);
    if (!rc) {
        rc = read_all(ends[0], output, bytes);
        close(ends[0]);
        ended = finish(pid);
    } else {
        close(ends[0]);
    }
    rc = rc ? rc : ended;
    if (rc && rc != -ECHILD) {
        free(*output);
        *output = NULL;
    }
    return rc;
}

int tb_child_run(const char *folder, const char *const argv[], const char *output, bool errors)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction interrupt, quit;
    int out = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0)
        return -errno;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    int rc = tb_child(&(struct tb_child){
        .argv = argv, .folder = folder, .in = -1, .out = out, .errors = errors ? TB_CHILD_ERRORS_PRINTED : TB_CHILD_ERRORS_SHOWN});
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    close(out);
    return rc;
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
        snprintf(why, why_bytes, "%s is needed for this, and it is not installed here", argv[0]);
    else if (rc == -ENOSPC)
        snprintf(why, why_bytes, "%s: %s. Make room, or set TMPDIR to another folder", where, strerror(-rc));
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
