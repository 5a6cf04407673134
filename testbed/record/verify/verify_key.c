// SPDX-License-Identifier: Apache-2.0
//
// verify_key: was the checkpoint signed by one of the allowed signers? Asked of ssh-keygen, which people have and know:
//
//     ssh-keygen -Y sign -n locus-checkpoint -f ~/.ssh/id_ed25519 CHECKPOINT        makes CHECKPOINT.sig
//
// Two questions: to whom the signature's key belongs (find-principals), and whether it is that person's signature of this file
// (verify).
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testbed/record/verify/verify_internal.h"

extern char **environ;

#define NAMESPACE "locus-checkpoint"

static int start(const char *const argv[], const char *input, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return -error;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

// The first line of the program's answer; all of it is read, so that the program can end. 0, or -EACCES when it said no.
static int ask(const char *const argv[], const char *input, char *answer, size_t bytes)
{
    int ends[2], status = 0;
    pid_t pid;
    char *line = NULL;
    size_t room = 0;
    answer[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    int error = start(argv, input, ends[1], &pid);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "re");
    if (!lines)
        close(ends[0]);
    while (!error && lines && getline(&line, &room, lines) > 0)
        if (!answer[0])
            snprintf(answer, bytes, "%.*s", (int)strcspn(line, "\n"), line);
    free(line);
    if (lines)
        fclose(lines);
    if (error)
        return error;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EACCES;
}

void tb_verify_key(struct verify *verify, json_t **signer)
{
    const char *checkpoint = verify->config->checkpoint, *key = verify->config->key;
    char signature[PATH_MAX], principal[256], answer[256];
    snprintf(signature, sizeof signature, "%s.sig", checkpoint);
    if (access(key, R_OK) || access(checkpoint, R_OK)) {
        tb_verify_impossible(verify, -EINVAL, "--key %s, --checkpoint %s: %s", key, checkpoint, strerror(errno));
        return;
    }
    if (access(signature, F_OK) && errno == ENOENT) {
        tb_verify_finding(verify, WITNESS_KEY, checkpoint, 1, "not signed: there is no %s", signature);
        return;
    }
    const char *const find[] = {"ssh-keygen", "-Y", "find-principals", "-s", signature, "-f", key, NULL};
    const char *const check[] = {"ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-s", signature, "-f", key, "-I", principal, NULL};
    int error = ask(find, "/dev/null", principal, sizeof principal);
    bool known = !error;
    if (!error)
        error = ask(check, checkpoint, answer, sizeof answer);
    if (error == -ENOENT)
        tb_verify_impossible(verify, -EINVAL, "--key: ssh-keygen is not installed. Install OpenSSH's client, or leave --key out");
    else if (error && error != -EACCES)
        tb_verify_impossible(verify, error, "--key: ssh-keygen: %s", strerror(-error));
    else if (!known)
        tb_verify_finding(verify, WITNESS_KEY, checkpoint, 1, "%s is of nobody who may sign by %s", signature, key);
    else if (error)
        tb_verify_finding(verify, WITNESS_KEY, checkpoint, 1, "%s is not %s's signature of this file for " NAMESPACE, signature,
                          principal);
    else
        *signer = json_string(principal);
}
