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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/record/verify/verify_internal.h"

#define NAMESPACE "locus-checkpoint"

// The first line of the program's answer. 0, or -ECHILD when it said no.
static int ask(const char *const argv[], const char *input, char *answer, size_t bytes)
{
    char *text = NULL;
    size_t size;
    int in = open(input, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return -errno;
    int error = tb_child_ask(&(struct tb_child){.argv = argv, .in = in}, &text, &size);
    snprintf(answer, bytes, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    free(text);
    close(in);
    return error;
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
    else if (error && error != -ECHILD)
        tb_verify_impossible(verify, error, "--key: ssh-keygen: %s", strerror(-error));
    else if (!known)
        tb_verify_finding(verify, WITNESS_KEY, checkpoint, 1, "%s is of nobody who may sign by %s", signature, key);
    else if (error)
        tb_verify_finding(verify, WITNESS_KEY, checkpoint, 1, "%s is not %s's signature of this file for " NAMESPACE, signature,
                          principal);
    else
        *signer = json_string(principal);
}
