// SPDX-License-Identifier: Apache-2.0
//
// verify: which hosts there are, what older checkpoints say of their ledgers, and the report. The witnesses that lie within the
// record itself are asked first (verify_host.c), those outside it afterwards: only they can see a record whose end
// was cut off or that was written anew as a whole.
//
// The folders are walked here and not by the store, which passes over what is no host: a link, a name that is too long, a folder of
// something else. Those are just what a verifier is asked about.
#include "testbed/record/verify/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/record/ledger.h"
#include "testbed/record/verify/verify_internal.h"

// --- what the parts say --------------------------------------------------------------------------------------------------------

void tb_verify_finding(struct verify *verify, enum verify_witness witness, const char *file, size_t line, const char *format, ...)
{
    static const char *const names[] = {
        [WITNESS_LOG] = "the log's own chain and seal",
        [WITNESS_LEDGER] = "the ledger",
        [WITNESS_LEDGER_CHAIN] = "the ledger's chain",
        [WITNESS_CHECKPOINT] = "an older checkpoint",
        [WITNESS_GIT] = "git history",
        [WITNESS_KEY] = "the key",
        [WITNESS_FILES] = "the file system",
    };
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    json_t *finding = json_pack("{s:s, s:I, s:s}", "file", file, "line", (json_int_t)line, "what", what);
    if (names[witness] && json_object_set_new(finding, "witness", json_string(names[witness])))
        tb_verify_impossible(verify, -ENOMEM, "%s:%zu: %s", file, line, what);
    tb_verify_add(verify, json_object_get(verify->report, names[witness] ? "findings" : "remarks"), finding);
}

void tb_verify_add(struct verify *verify, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
}

void tb_verify_impossible(struct verify *verify, int rc, const char *format, ...)
{
    va_list arguments;
    if (verify->rc)
        return;
    verify->rc = rc;
    va_start(arguments, format);
    vsnprintf(verify->why, sizeof verify->why, format, arguments);
    va_end(arguments);
}

static bool is_found(const struct verify *verify, const char *file, const char *what)
{
    size_t i;
    json_t *finding;
    json_array_foreach (json_object_get(verify->report, "findings"), i, finding)
        if (strcmp(tb_member_text(finding, "file"), file) == 0 && strcmp(tb_member_text(finding, "what"), what) == 0)
            return true;
    return false;
}

void tb_verify_link(struct verify *verify, const char *path, size_t from)
{
    static const char what[] = "a symbolic link: what it leads to may change, and is no part of the record";
    char part[PATH_MAX];
    struct stat status;
    for (const char *end = path + from; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (lstat(part, &status) || !S_ISLNK(status.st_mode))
            continue;
        if (!is_found(verify, part, what))
            tb_verify_finding(verify, WITNESS_FILES, part, 1, "%s", what);
        return;
    }
}

// --- checkpoints ---------------------------------------------------------------------------------------------------------------

// The ledger must have had a line that ended at these bytes, with this hash.
static void compare(struct verify *verify, const struct verify_host *host, const struct tb_checkpoint *checkpoint)
{
    const struct tb_chain *chain = &host->chain;
    size_t line = 0, end = 0;
    while (line < chain->count && end < checkpoint->bytes) {
        line++;
        end = line < chain->count ? chain->entries[line].offset : chain->bytes;
    }
    if (end < checkpoint->bytes) {
        if (!chain->broken_line) // otherwise that is the reason
            tb_verify_finding(verify, WITNESS_CHECKPOINT, host->ledger, line + 1,
                              "missing: the ledger ends with %zu bytes, and had %zu", end, checkpoint->bytes);
        return;
    }
    if (end != checkpoint->bytes || !line || memcmp(&chain->entries[line - 1].head, &checkpoint->head, sizeof checkpoint->head))
        tb_verify_finding(verify, WITNESS_CHECKPOINT, host->ledger, line, "written anew: the first %zu bytes had another hash",
                          checkpoint->bytes);
}

// "commit ID", as git writes it: the head of history when the checkpoint was made. History is asked later (verify_git.c).
static bool commit_line(struct verify *verify, const char *text, size_t line)
{
    static const char word[] = "commit ", digits[] = "0123456789abcdef";
    const char *id = text + strlen(word);
    if (strncmp(text, word, strlen(word)) || verify->witnessed[0])
        return false;
    size_t length = strspn(id, digits);
    if ((length != 40 && length != 64) || id[length + strspn(id + length, " \t\r")])
        return false;
    snprintf(verify->witnessed, sizeof verify->witnessed, "%.*s", (int)length, id);
    verify->witnessed_line = line;
    return true;
}

static void checkpoint_line(struct verify *verify, const char *text, size_t line)
{
    const struct tb_verify_config *config = verify->config;
    struct tb_checkpoint checkpoint;
    if (tb_checkpoint_parse(text, &checkpoint)) {
        tb_verify_impossible(verify, -EINVAL, "%s:%zu: not a checkpoint: a line is HOST BYTES HASH, as `locus verify` prints it",
                             config->checkpoint, line);
        return;
    }
    const struct verify_host *host = NULL;
    for (size_t i = 0; i < verify->hosts_count && !host; i++)
        host = strcmp(verify->hosts[i].name, checkpoint.host) ? NULL : &verify->hosts[i];
    if (host)
        compare(verify, host, &checkpoint);
    else if (!config->host)
        tb_verify_finding(verify, WITNESS_CHECKPOINT, config->checkpoint, line,
                          "host %s had a ledger of %zu bytes, and has none below %s", checkpoint.host, checkpoint.bytes,
                          config->root);
}

static void verify_checkpoint(struct verify *verify)
{
    const char *path = verify->config->checkpoint, *kept = verify->config->checkpoint_text;
    FILE *file = kept ? fmemopen((void *)(uintptr_t)kept, strlen(kept), "r") : fopen(path, "re");
    char *text = NULL;
    size_t room = 0, line = 0, used = 0;
    if (!file) {
        tb_verify_impossible(verify, -EINVAL, "--checkpoint: %s: %s", path, strerror(errno));
        return;
    }
    while (!verify->rc && getline(&text, &room, file) >= 0) {
        line++;
        text[strcspn(text, "\n")] = '\0';
        if (!text[strspn(text, " \t\r")] || commit_line(verify, text, line))
            continue;
        checkpoint_line(verify, text, line);
        used++;
    }
    if (ferror(file))
        tb_verify_impossible(verify, -EINVAL, "--checkpoint: %s: %s", path, strerror(errno));
    else if (!used)
        tb_verify_impossible(verify, -EINVAL, "--checkpoint: %s: no checkpoint in it: a line is HOST BYTES HASH", path);
    free(text);
    fclose(file);
}

// --- the key -------------------------------------------------------------------------------------------------------------------
//
// Was the checkpoint signed by one of the allowed signers? Asked of ssh-keygen, which people have and know:
//
//     ssh-keygen -Y sign -n locus-checkpoint -f ~/.ssh/id_ed25519 CHECKPOINT        makes CHECKPOINT.sig
//
// Two questions: to whom the signature's key belongs (find-principals), and whether it is that person's signature of this file
// (verify).

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

static void verify_key(struct verify *verify)
{
    const char *checkpoint = verify->config->checkpoint, *key = verify->config->key;
    char signature[PATH_MAX], principal[256], answer[256];
    snprintf(signature, sizeof signature, "%s.sig", checkpoint);
    const char *unread = access(key, R_OK) ? key : access(checkpoint, R_OK) ? checkpoint : NULL;
    if (unread) {
        tb_verify_impossible(verify, -EINVAL, "%s %s: %s", unread == key ? "--key" : "--checkpoint", unread, strerror(errno));
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
        json_object_set_new(verify->report, "signed_by", json_string(principal));
}

// --- hosts ---------------------------------------------------------------------------------------------------------------------

static bool is_folder(struct verify *verify, const char *name)
{
    const char *root = verify->config->root;
    char path[PATH_MAX];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/%s", root, name) >= (int)sizeof path)
        return false;
    tb_verify_link(verify, path, strlen(root));
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// By name.
static void hosts_load(struct verify *verify)
{
    const struct tb_verify_config *config = verify->config;
    struct dirent **names = NULL;
    int count = scandir(config->root, &names, visible, alphasort);
    if (count < 0)
        tb_verify_impossible(verify, -EINVAL, "%s: %s. Run this where the record is, or name its folder with --logs", config->root,
                             strerror(errno));
    verify->hosts = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *verify->hosts);
    if (!verify->hosts || !verify->report)
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    for (int i = 0; i < count; i++) {
        bool wanted = !config->host || strcmp(config->host, names[i]->d_name) == 0;
        if (wanted && is_folder(verify, names[i]->d_name) && !verify->rc)
            tb_verify_host(verify, names[i]->d_name, &verify->hosts[verify->hosts_count++]);
        free(names[i]);
    }
    free(names);
    if (!verify->hosts_count && config->host)
        tb_verify_impossible(verify, -EINVAL, "--host: there is no %s/%s", config->root, config->host);
}

// --- how often a verdict was sought --------------------------------------------------------------------------------------------
//
// Whoever runs until the verdict pleases has every run in the ledger, but a reader of the last one does not see that.

static bool is_sought(const struct verify_host *host, size_t run, const char *postulate)
{
    return tb_ledger_sought(host->chain.entries[host->runs[run].line - 1].object, host->runs[run].close, postulate);
}

// All closed official runs of the postulate whose first is runs[first].
static void sought_add(struct verify *verify, const struct verify_host *host, size_t first)
{
    const char *postulate = host->runs[first].postulate_id;
    json_t *verdicts = json_array();
    size_t line = 0;
    for (size_t i = first; i < host->runs_count; i++) {
        const struct verify_run *run = &host->runs[i];
        if (!is_sought(host, i, postulate))
            continue;
        const char *verdict = tb_member_text(run->close, "verdict"), *status = tb_member_text(run->close, "status");
        tb_verify_add(verify, verdicts, json_string(*verdict ? verdict : status));
        line = run->line;
    }
    size_t count = json_array_size(verdicts);
    if (count > 1)
        tb_verify_add(verify, json_object_get(verify->report, "sought"),
                      json_pack("{s:s, s:s, s:s, s:I, s:I, s:O}", "host", host->name, "postulate", postulate, "file", host->ledger,
                                "line", (json_int_t)line, "runs", (json_int_t)count, "verdicts", verdicts));
    json_decref(verdicts);
}

static void sought_count(struct verify *verify, const struct verify_host *host)
{
    for (size_t i = 0; i < host->runs_count; i++) {
        bool first = is_sought(host, i, host->runs[i].postulate_id);
        for (size_t before = 0; before < i && first; before++)
            first = !is_sought(host, before, host->runs[i].postulate_id);
        if (first)
            sought_add(verify, host, i);
    }
}

// --- the report ----------------------------------------------------------------------------------------------------------------

static json_t *host_report(const struct verify_host *host)
{
    struct tb_checkpoint checkpoint = {.bytes = host->chain.bytes};
    char text[256];
    memcpy(checkpoint.host, host->name, sizeof checkpoint.host);
    if (host->chain.count)
        checkpoint.head = host->chain.entries[host->chain.count - 1].head;
    tb_checkpoint_text(&checkpoint, text, sizeof text);
    return json_pack("{s:s, s:s, s:I, s:I, s:O, s:I, s:I, s:I, s:s}", "host", host->name, "ledger", host->ledger, "runs",
                     (json_int_t)host->runs_count, "sealed", (json_int_t)host->sealed, "crashed", host->crashed, "postulates",
                     (json_int_t)host->postulates, "records", (json_int_t)host->records, "packets", (json_int_t)host->packets,
                     "checkpoint", text);
}

int tb_verify(const struct tb_verify_config *config, json_t **report, char *why, size_t why_bytes)
{
    struct verify verify = {.config = config};
    verify.report = json_pack("{s:[], s:[], s:[], s:[], s:n, s:n}", "findings", "remarks", "sought", "hosts", "git", "signed_by");
    hosts_load(&verify);
    if (!verify.rc)
        tb_verify_records(&verify);
    if (!verify.rc && config->key)
        verify_key(&verify);
    if (!verify.rc && config->checkpoint)
        verify_checkpoint(&verify);
    if (!verify.rc && config->git)
        tb_verify_git(&verify);
    for (size_t i = 0; i < verify.hosts_count; i++) {
        sought_count(&verify, &verify.hosts[i]);
        if (verify.hosts[i].chain.count)
            tb_verify_add(&verify, json_object_get(verify.report, "hosts"), host_report(&verify.hosts[i]));
        tb_verify_host_close(&verify.hosts[i]);
    }
    free(verify.hosts);
    if (verify.rc) {
        snprintf(why, why_bytes, "%s", verify.why);
        json_decref(verify.report);
    }
    *report = verify.rc ? NULL : verify.report;
    return verify.rc;
}
