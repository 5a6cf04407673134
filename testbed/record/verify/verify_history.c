// SPDX-License-Identifier: Apache-2.0
//
// verify_history: see verify_history.h. Git's plumbing is asked, whose answers no setting changes, and with NULs between the paths,
// since git writes a path with a quote or a newline in it otherwise: `git rev-list` for the commits, and `git diff-tree` for what
// each of them changed against every parent (-m): a merge can hide the branch that it did not take.
#include "testbed/record/verify/verify_history.h"

#include <errno.h>
#include <stdint.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/record/git.h"

// --- files as git names them ---------------------------------------------------------------------------------------------------

// SHA-1 (40 digits) or SHA-256 of "blob BYTES", a NUL, and the data.
void tb_blob_id(const void *data, size_t bytes, size_t digits, char out[TB_HASH_TEXT])
{
    char head[32];
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    int head_bytes = snprintf(head, sizeof head, "blob %zu", bytes) + 1;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || !EVP_DigestInit_ex(context, digits == 40 ? EVP_sha1() : EVP_sha256(), NULL) ||
        !EVP_DigestUpdate(context, head, (size_t)head_bytes) || !EVP_DigestUpdate(context, data, bytes) ||
        !EVP_DigestFinal_ex(context, hash, &length))
        length = 0;
    EVP_MD_CTX_free(context);
    out[0] = '\0';
    for (unsigned int i = 0; i < length; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

int tb_blob_of_file(const char *path, const char *like, char out[TB_HASH_TEXT])
{
    char *data;
    size_t bytes;
    int rc = tb_file_read(path, &data, &bytes);
    if (rc)
        return rc;
    tb_blob_id(data, bytes, strlen(like), out);
    free(data);
    return 0;
}

int tb_beginnings_make(const char *path, size_t digits, struct beginnings *out)
{
    char *data;
    size_t bytes, lines = 1;
    *out = (struct beginnings){0};
    int rc = tb_file_read(path, &data, &bytes);
    if (rc)
        return rc;
    for (size_t i = 0; i < bytes; i++)
        lines += data[i] == '\n';
    out->of = calloc(lines, sizeof *out->of);
    for (size_t i = 0; i <= bytes && out->of; i++) {
        if (i && data[i - 1] != '\n')
            continue;
        tb_blob_id(data, i, digits, out->of[out->count].id);
        out->of[out->count++].bytes = i;
    }
    free(data);
    return out->of ? 0 : -ENOMEM;
}

size_t tb_beginning_bytes(const struct beginnings *beginnings, const char *id)
{
    for (size_t i = 0; i < beginnings->count; i++)
        if (strcmp(beginnings->of[i].id, id) == 0)
            return beginnings->of[i].bytes;
    return SIZE_MAX;
}

// --- commits -------------------------------------------------------------------------------------------------------------------

static size_t lines_of(const char *text)
{
    size_t lines = 1;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

// "ID PARENT PARENT\n" and so on.
static int commits_parse(struct history *history)
{
    char *line, *rest = history->commits_text;
    history->commits = calloc(lines_of(rest), sizeof *history->commits);
    if (!history->commits)
        return -ENOMEM;
    while ((line = strsep(&rest, "\n"))) {
        char *parents = line;
        const char *id = strsep(&parents, " ");
        if (*id)
            history->commits[history->commits_count++] = (struct commit){.id = id, .parents = parents ? parents : ""};
    }
    return 0;
}

static struct commit *find(const struct history *history, const char *id, size_t from)
{
    for (size_t i = from; i < history->commits_count; i++)
        if (strcmp(history->commits[i].id, id) == 0)
            return &history->commits[i];
    return NULL;
}

bool tb_history_has(const struct history *history, const char *commit)
{
    return find(history, commit, 0) != NULL;
}

static void reach_parents(const struct history *history, const struct commit *commit)
{
    char id[TB_HASH_TEXT];
    for (const char *parent = commit->parents; *parent; parent += strspn(parent, " ")) {
        size_t length = strcspn(parent, " ");
        snprintf(id, sizeof id, "%.*s", (int)length, parent);
        struct commit *reached = find(history, id, (size_t)(commit - history->commits) + 1);
        if (reached)
            reached->reached = true;
        parent += length;
    }
}

// Parents come behind their children, so one pass reaches all.
bool tb_history_before(const struct history *history, const char *commit, const char *later)
{
    const struct commit *first = find(history, later, 0), *wanted = find(history, commit, 0);
    if (!first || !wanted || wanted <= first)
        return false;
    for (size_t i = 0; i < history->commits_count; i++)
        history->commits[i].reached = false;
    for (const struct commit *each = first; each < wanted; each++)
        if (each == first || each->reached)
            reach_parents(history, each);
    return wanted->reached;
}

// --- changes -------------------------------------------------------------------------------------------------------------------

// ":100644 100644 OLD NEW STATUS". False: the same blob, only its mode changed.
static bool change_parse(char *text, const char *commit, const char *path, struct change *out)
{
    strsep(&text, " ");
    strsep(&text, " ");
    out->old = strsep(&text, " ");
    out->new = strsep(&text, " ");
    out->status = text ? text[0] : '\0';
    out->commit = commit;
    out->path = path;
    return text && strcmp(out->old, out->new);
}

// Every text ends with a NUL: "COMMIT", then its changes, each ":..." and "PATH".
static int changes_parse(struct history *history, size_t bytes)
{
    char *end = history->changes_text + bytes;
    const char *commit = "";
    size_t texts = 0;
    for (size_t i = 0; i < bytes; i++)
        texts += history->changes_text[i] == '\0';
    history->changes = calloc(texts + 1, sizeof *history->changes);
    if (!history->changes)
        return -ENOMEM;
    for (char *text = history->changes_text, *next; text < end; text = next) {
        next = text + strlen(text) + 1;
        if (text[0] == ':' && next < end) {
            char *path = next;
            next = path + strlen(path) + 1;
            history->count += change_parse(text, commit, path, &history->changes[history->count]);
        } else if (strcmp(commit, text)) { // a merge comes once for each parent
            commit = text;
            history->touching++;
        }
    }
    return 0;
}

int tb_history_load(struct verify *verify, struct history *out)
{
    const struct tb_verify_config *config = verify->config;
    char logs[PATH_MAX];
    size_t bytes = 0;
    snprintf(logs, sizeof logs, "%s%s%s", config->root, config->host ? "/" : "", config->host ? config->host : "");
    const char *const list[] = {"rev-list", "--topo-order", "--parents", "HEAD", NULL};
    const char *const show[] = {
        "--literal-pathspecs", "diff-tree",    "--stdin",    "--root", "-m", "-r",         "-z",          "--raw",
        "--no-abbrev",         "--no-renames", "--relative", "--",     logs, "postulates", "experiments", NULL};
    *out = (struct history){.uncommitted = json_array(), .drafts = json_array(), .order = json_array()};
    if (tb_git(NULL, list, &out->commits_text))
        tb_verify_impossible(verify, -EINVAL, "--git: git lists no commits. Is anything committed here? (see: git log)");
    else if (tb_git_filter(show, out->commits_text, &out->changes_text, &bytes))
        tb_verify_impossible(verify, -EINVAL, "--git: git cannot show what the commits changed (see: git fsck)");
    else if (!out->uncommitted || !out->drafts || !out->order || commits_parse(out) || changes_parse(out, bytes))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    return verify->rc;
}

void tb_history_close(struct history *history)
{
    json_decref(history->uncommitted);
    json_decref(history->drafts);
    json_decref(history->order);
    free(history->changes);
    free(history->commits);
    free(history->changes_text);
    free(history->commits_text);
}

bool tb_history_is_of(const struct history *history, size_t i, const char *path)
{
    return strcmp(history->changes[i].path, path) == 0;
}

bool tb_history_came_before(const struct history *history, const char *path, const char *later)
{
    char id[TB_HASH_TEXT] = "";
    for (size_t i = 0; i < history->count; i++) {
        const struct change *change = &history->changes[i];
        if (tb_history_is_of(history, i, path) && (id[0] || !tb_blob_of_file(path, change->new, id)) &&
            strcmp(change->new, id) == 0 && (!later || tb_history_before(history, change->commit, later)))
            return true;
    }
    return false;
}
