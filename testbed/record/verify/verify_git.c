// SPDX-License-Identifier: Apache-2.0
//
// verify_git: what the history of the current branch (verify_history.c) says of each change to the record:
//
//   logs, records,  added once; every later change or removal is one too many, and the file is the blob that was added
//   packets
//   postulates      the version that was filed (it is the file, the ledger holds its sha256) never changes; one of which other
//                   versions were committed before is listed, and counts as filed from its filing only
//   ledgers         every version is a beginning of the file: its blob id is that of one of the file's beginnings. A version
//                   that is shorter than its parent's was cut
//   official runs   the commit with the filed postulate is a strict ancestor of the commit with the log
//
// History that was rewritten as a whole is beyond this witness: keep a checkpoint. So are objects that are not what their names
// say, as long as they lie where they were forged: a clone checks each one.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/file.h"
#include "testbed/record/git.h"
#include "testbed/record/ledger.h"
#include "testbed/record/names.h"
#include "testbed/record/verify/verify_history.h"

// The line (from 1) where the file stops being that blob; for a message, so 1 when it does not or nobody can tell.
static size_t first_difference(const char *path, const char *blob)
{
    const char *const arguments[] = {"cat-file", "blob", blob, NULL};
    char *data, *text = NULL;
    size_t bytes, line = 1, i = 0;
    if (tb_file_read(path, &data, &bytes))
        return 1;
    bool known = tb_git(NULL, arguments, &text) == 0;
    for (; known && i < bytes && text[i] && data[i] == text[i]; i++)
        line += text[i] == '\n';
    bool differs = known && (i < bytes || text[i]);
    free(text);
    free(data);
    return differs ? line : 1;
}

static bool is_known(const struct history *history, const char *path)
{
    for (size_t i = 0; i < history->count; i++)
        if (tb_history_is_of(history, i, path))
            return true;
    return false;
}

// --- the rules -----------------------------------------------------------------------------------------------------------------

// A log or a record. The oldest change is its addition.
static void check_fixed(struct verify *verify, const struct history *history, const char *path)
{
    const struct change *came = NULL, *changed = NULL;
    char id[TB_HASH_TEXT];
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!tb_history_is_of(history, i, path))
            continue;
        if (!came)
            came = change;
        else if (!changed && change->status != 'A')
            changed = change;
    }
    if (changed && changed->status == 'D')
        tb_verify_finding(verify, WITNESS_GIT, path, 1, "deleted by commit %.12s, after commit %.12s had added it", changed->commit,
                          came->commit);
    else if (changed)
        tb_verify_finding(verify, WITNESS_GIT, path, first_difference(path, came->new),
                          "changed by commit %.12s, after commit %.12s had added it", changed->commit, came->commit);
    else if (tb_blob_of_file(path, came->new, id))
        tb_verify_finding(verify, WITNESS_GIT, path, 1, "gone, though commit %.12s added it", came->commit);
    else if (strcmp(id, came->new))
        tb_verify_finding(verify, WITNESS_GIT, path, first_difference(path, came->new), "not as commit %.12s added it",
                          came->commit);
}

// That the file is the filed version, the ledger has checked.
static int check_postulate(struct verify *verify, const struct history *history, const char *path)
{
    char id[TB_HASH_TEXT] = "";
    json_int_t drafts = 0;
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!tb_history_is_of(history, i, path) || (!id[0] && tb_blob_of_file(path, change->new, id)))
            continue;
        if (strcmp(change->old, id) == 0) {
            tb_verify_finding(verify, WITNESS_GIT, path, 1, "changed by commit %.12s, after it had been filed", change->commit);
            return 0;
        }
        drafts += change->status == 'M';
    }
    return drafts ? json_array_append_new(history->drafts, json_pack("{s:s, s:I}", "path", path, "changes", drafts)) : 0;
}

static void check_growth(struct verify *verify, const struct history *history, const char *path,
                         const struct beginnings *beginnings)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!tb_history_is_of(history, i, path))
            continue;
        size_t bytes = tb_beginning_bytes(beginnings, change->new);
        size_t bytes_before = change->status == 'M' ? tb_beginning_bytes(beginnings, change->old) : 0;
        if (change->status == 'D')
            tb_verify_finding(verify, WITNESS_GIT, path, 1, "deleted by commit %.12s", change->commit);
        else if (bytes == SIZE_MAX)
            tb_verify_finding(verify, WITNESS_GIT, path, first_difference(path, change->new),
                              "it does not begin any more as commit %.12s had it: a ledger may only grow", change->commit);
        else if (bytes < bytes_before)
            tb_verify_finding(verify, WITNESS_GIT, path, 1, "commit %.12s cut it from %zu to %zu bytes: a ledger may only grow",
                              change->commit, bytes_before, bytes);
        else
            continue;
        return;
    }
}

static void check_ledger(struct verify *verify, const struct history *history, const struct change *newest)
{
    struct beginnings beginnings;
    int rc = tb_beginnings_make(newest->path, strlen(newest->new), &beginnings);
    if (rc == -ENOMEM)
        tb_verify_impossible(verify, rc, "out of memory");
    else if (rc)
        tb_verify_finding(verify, WITNESS_GIT, newest->path, 1, "gone, though commit %.12s had it", newest->commit);
    else
        check_growth(verify, history, newest->path, &beginnings);
    free(beginnings.of);
}

// A run whose log is not committed yet will come after everything that is.
static void check_order(struct verify *verify, const struct history *history, const struct verify_run *run)
{
    if (!run->postulate_path)
        return;
    if (!tb_history_came_before(history, run->postulate_path, NULL)) {
        tb_verify_finding(verify, WITNESS_GIT, run->postulate_path, 1, "not committed as it was filed, and run %s was made of it",
                          run->id);
        return;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct change *change = &history->changes[i];
        if (!tb_history_is_of(history, i, run->log) || change->status != 'A' ||
            tb_history_came_before(history, run->postulate_path, change->commit))
            continue;
        tb_verify_finding(verify, WITNESS_GIT, run->log, 1,
                          "commit %.12s added it, and its postulate %s did not come in a commit before", change->commit,
                          run->postulate_path);
        return;
    }
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

static bool is_record(const char *path)
{
    static const char folder[] = TB_RECORD_FOLDER "/";
    return strncmp(path, folder, sizeof folder - 1) == 0 && tb_record_named(path + sizeof folder - 1);
}

// Below the logs' folder: HOST/ledger.jsonl is the ledger, every other *.jsonl a log, and below HOST/packet/ nothing changes.
static void check_path(struct verify *verify, const struct history *history, const struct change *newest)
{
    const char *path = newest->path, *root = verify->config->root;
    size_t length = strlen(path), root_length = strlen(root);
    bool below = strncmp(path, root, root_length) == 0 && path[root_length] == '/';
    const char *slash = below ? strchr(path + root_length + 1, '/') : NULL;
    if (slash && strcmp(slash, "/ledger.jsonl") == 0)
        check_ledger(verify, history, newest);
    else if (is_record(path) || (slash && (strcmp(path + length - 6, ".jsonl") == 0 || strncmp(slash, "/packet/", 8) == 0)))
        check_fixed(verify, history, path);
}

static void note_path(struct verify *verify, struct history *history, const char *path)
{
    if (!is_known(history, path) && json_array_append_new(history->uncommitted, json_string(path)))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
}

static void check_host(struct verify *verify, struct history *history, const struct verify_host *host)
{
    for (size_t i = 0; i < host->chain.count; i++) {
        const json_t *entry = host->chain.entries[i].object;
        bool postulate = strcmp(tb_member_text(entry, "t"), "postulate") == 0 && tb_ledger_binds(&host->chain, i + 1);
        if (postulate && check_postulate(verify, history, tb_member_text(entry, "path")))
            tb_verify_impossible(verify, -ENOMEM, "out of memory");
        if (postulate || strcmp(tb_member_text(entry, "t"), "record") == 0)
            note_path(verify, history, tb_member_text(entry, "path"));
    }
    for (size_t i = 0; i < host->runs_count; i++) {
        check_order(verify, history, &host->runs[i]);
        note_path(verify, history, host->runs[i].log);
    }
    for (size_t i = 0; i < host->chain.count; i++) {
        const json_t *entry = host->chain.entries[i].object;
        bool packet = strcmp(tb_member_text(entry, "t"), "packet") == 0;
        const char *name;
        json_t *sha256;
        json_object_foreach (packet ? json_object_get(entry, "files") : NULL, name, sha256) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, "%.3000s/%s/%.200s", verify->config->root, host->name, name);
            if (strncmp(name, "packet/", 7) == 0)
                note_path(verify, history, path);
        }
    }
    if (host->chain.count)
        note_path(verify, history, host->ledger);
}

// 0 when there is a whole history to look into.
static int usable(struct verify *verify)
{
    const char *const inside[] = {"rev-parse", "--is-inside-work-tree", NULL};
    const char *const shallow[] = {"rev-parse", "--is-shallow-repository", NULL};
    char answer[16] = "";
    struct stat root;
    int rc = tb_git_line(NULL, inside, answer, sizeof answer);
    if (rc == -ENOENT)
        tb_verify_impossible(verify, -EINVAL, "--git: git is not installed. Install it, or leave --git out");
    else if (rc || strcmp(answer, "true"))
        tb_verify_impossible(verify, -EINVAL,
                             "--git: git finds no repository here (see: git status). Run this in a clone of the record");
    else if (strcspn(verify->config->root, "/.") == 0)
        tb_verify_impossible(verify, -EINVAL, "--git: %s is not below this folder. Run this in the clone that has it",
                             verify->config->root);
    else if (lstat(verify->config->root, &root) == 0 && S_ISLNK(root.st_mode))
        tb_verify_impossible(verify, -EINVAL, "--git: %s is a symbolic link, and git keeps nothing behind it. Name the folder",
                             verify->config->root);
    else if (tb_git_line(NULL, shallow, answer, sizeof answer) || strcmp(answer, "false"))
        tb_verify_impossible(verify, -EINVAL,
                             "--git: this is a shallow clone, its history was cut off. Run `git fetch --unshallow` first");
    return verify->rc;
}

void tb_verify_git(struct verify *verify, const struct verify_host hosts[], size_t hosts_count, json_t **report)
{
    struct history history = {.count = 0};
    if (usable(verify) == 0 && tb_history_load(verify, &history) == 0) {
        for (size_t i = 0; i < history.count; i++) {
            bool again = false;
            for (size_t newer = 0; newer < i && !again; newer++)
                again = tb_history_is_of(&history, newer, history.changes[i].path);
            if (!again)
                check_path(verify, &history, &history.changes[i]);
        }
        for (size_t i = 0; i < hosts_count; i++) {
            check_host(verify, &history, &hosts[i]);
            tb_verify_order(verify, &history, &hosts[i], history.order);
        }
        *report = json_pack("{s:I, s:O, s:O, s:O}", "commits", (json_int_t)history.touching, "uncommitted", history.uncommitted,
                            "drafts", history.drafts, "order", history.order);
    }
    tb_history_close(&history);
}
