// SPDX-License-Identifier: Apache-2.0
//
// verify_git: what the history of the current branch says. One `git log --raw` lists every change that any commit made to the
// record, with the blobs before and after, so that no version has to be fetched:
//
//   logs, records,  added once; every later change or removal is one too many, and the file is the blob that was added
//   packets
//   postulates      the version that was filed (it is the file, the ledger holds its sha256) never changes; one of which other
//                   versions were committed before is listed, and counts as filed from its filing only
//   ledgers         every version is a beginning of the file: its blob id is that of one of the file's beginnings. A version
//                   that is shorter than its parent's was cut
//   official runs   the commit with the filed postulate is a strict ancestor of the commit with the log
//
// -m and --full-history, since a merge can hide the branch that it did not take: with -m that is a change against that parent.
// --no-replace-objects, since refs/replace can hide anything. History that was rewritten as a whole is beyond this witness: keep a
// checkpoint.
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/record/git.h"
#include "testbed/record/ledger.h"
#include "testbed/record/verify_internal.h"

struct change {
    const char *commit, *path, *old, *new; // within history.text
    char status;                           // 'A', 'M', 'D', 'T'
};

// Newest first, as git prints them.
struct history {
    char *text;
    struct change *changes;
    size_t count, commits;
    json_t *uncommitted, *drafts;
};

// --- files as git names them ---------------------------------------------------------------------------------------------------

struct file {
    const char *data;
    size_t bytes;
};

static int file_map(const char *path, struct file *out)
{
    struct stat status;
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *out = (struct file){.data = ""};
    if (fd < 0 || fstat(fd, &status))
        rc = -errno;
    else if (!S_ISREG(status.st_mode))
        rc = -EINVAL;
    else if (status.st_size) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        rc = data == MAP_FAILED ? -errno : 0;
        if (!rc)
            *out = (struct file){.data = data, .bytes = (size_t)status.st_size};
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

static void file_unmap(struct file *file)
{
    if (file->bytes)
        munmap((void *)file->data, file->bytes);
}

// The id that git gives a blob: SHA-1 (40 digits) or SHA-256 of "blob BYTES", a NUL, and the data.
static void blob_id(const void *data, size_t bytes, size_t digits, char out[TB_HASH_TEXT])
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
    out[0] = '\0'; // of no blob
    for (unsigned int i = 0; i < length; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

// 0 or -errno. `like` is another id of the same repository.
static int file_id(const char *path, const char *like, char out[TB_HASH_TEXT])
{
    struct file file;
    int rc = file_map(path, &file);
    if (rc)
        return rc;
    blob_id(file.data, file.bytes, strlen(like), out);
    file_unmap(&file);
    return 0;
}

// The line (from 1) where the file stops being that blob; for a message, so 1 when it does not or nobody can tell.
static size_t first_difference(const char *path, const char *blob)
{
    const char *const arguments[] = {"--no-replace-objects", "cat-file", "blob", blob, NULL};
    struct file file;
    char *text = NULL;
    size_t line = 1, i = 0;
    if (file_map(path, &file))
        return 1;
    bool known = tb_git(NULL, arguments, &text) == 0;
    for (; known && i < file.bytes && text[i] && file.data[i] == text[i]; i++)
        line += text[i] == '\n';
    bool differs = known && (i < file.bytes || text[i]);
    free(text);
    file_unmap(&file);
    return differs ? line : 1;
}

// --- history -------------------------------------------------------------------------------------------------------------------

// ":100644 100644 OLD NEW STATUS\tPATH"
static bool change_parse(char *line, const char *commit, struct change *out)
{
    char *rest = line;
    strsep(&rest, " ");
    strsep(&rest, " ");
    out->old = strsep(&rest, " ");
    out->new = strsep(&rest, " ");
    const char *status = strsep(&rest, "\t");
    out->commit = commit;
    out->path = rest;
    out->status = status ? status[0] : '\0';
    return rest && strcmp(out->old, out->new); // the same blob: only its mode changed
}

static void history_parse(struct history *history)
{
    char *rest = history->text, *line;
    const char *commit = "";
    while ((line = strsep(&rest, "\n"))) {
        if (strncmp(line, "commit ", 7) == 0 && strcmp(commit, line + 7)) { // a merge has one for each parent
            commit = line + 7;
            history->commits++;
        } else if (line[0] == ':' && change_parse(line, commit, &history->changes[history->count])) {
            history->count++;
        }
    }
}

static int history_load(struct verify *verify, struct history *out)
{
    const struct tb_verify_config *config = verify->config;
    char logs[PATH_MAX];
    snprintf(logs, sizeof logs, "%s%s%s", config->root, config->host ? "/" : "", config->host ? config->host : "");
    const char *const arguments[] = {"--no-replace-objects",
                                     "--literal-pathspecs",
                                     "-c",
                                     "core.quotePath=false",
                                     "-c",
                                     "log.showRoot=true",
                                     "log",
                                     "-m",
                                     "--full-history",
                                     "--topo-order",
                                     "--raw",
                                     "--no-abbrev",
                                     "--no-renames",
                                     "--no-color",
                                     "--relative",
                                     "--format=commit %H",
                                     "--",
                                     logs,
                                     "postulates",
                                     "experiments",
                                     NULL};
    int rc = tb_git(NULL, arguments, &out->text);
    if (rc) {
        tb_verify_impossible(verify, -EINVAL, "--git: git log failed. Is anything committed here? (see: git log)");
        return rc;
    }
    size_t lines = 1;
    for (const char *c = out->text; (c = strchr(c, '\n')); c++)
        lines++;
    out->changes = calloc(lines, sizeof *out->changes);
    out->uncommitted = json_array();
    out->drafts = json_array();
    if (!out->changes || !out->uncommitted || !out->drafts) {
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
        return -ENOMEM;
    }
    history_parse(out);
    return 0;
}

static bool is_of(const struct history *history, size_t i, const char *path)
{
    return strcmp(history->changes[i].path, path) == 0;
}

static bool is_known(const struct history *history, const char *path)
{
    for (size_t i = 0; i < history->count; i++)
        if (is_of(history, i, path))
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
        if (!is_of(history, i, path))
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
    else if (file_id(path, came->new, id))
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
        if (!is_of(history, i, path) || (!id[0] && file_id(path, change->new, id)))
            continue;
        if (strcmp(change->old, id) == 0) {
            tb_verify_finding(verify, WITNESS_GIT, path, 1, "changed by commit %.12s, after it had been filed", change->commit);
            return 0;
        }
        drafts += change->status == 'M';
    }
    return drafts ? json_array_append_new(history->drafts, json_pack("{s:s, s:I}", "path", path, "changes", drafts)) : 0;
}

// How many bytes a version of the ledger has, given the blob ids of the file's beginnings. SIZE_MAX: it is none of them.
struct beginning {
    char id[TB_HASH_TEXT];
    size_t bytes;
};

static size_t beginning_bytes(const struct beginning beginnings[], size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(beginnings[i].id, id) == 0)
            return beginnings[i].bytes;
    return SIZE_MAX;
}

// Of the first bytes up to each line's end, and of no bytes at all. *out is malloc'd.
static int beginnings_make(const struct file *file, size_t digits, struct beginning **out, size_t *count)
{
    size_t lines = 1;
    *count = 0;
    for (size_t i = 0; i < file->bytes; i++)
        lines += file->data[i] == '\n';
    *out = calloc(lines, sizeof **out);
    if (!*out)
        return -ENOMEM;
    for (size_t i = 0; i <= file->bytes; i++) {
        if (i && file->data[i - 1] != '\n')
            continue;
        blob_id(file->data, i, digits, (*out)[*count].id);
        (*out)[(*count)++].bytes = i;
    }
    return 0;
}

static void check_growth(struct verify *verify, const struct history *history, const char *path,
                         const struct beginning beginnings[], size_t count)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!is_of(history, i, path))
            continue;
        size_t bytes = beginning_bytes(beginnings, count, change->new);
        size_t bytes_before = change->status == 'M' ? beginning_bytes(beginnings, count, change->old) : 0;
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
    struct beginning *beginnings;
    struct file file;
    size_t count;
    if (file_map(newest->path, &file)) {
        tb_verify_finding(verify, WITNESS_GIT, newest->path, 1, "gone, though commit %.12s had it", newest->commit);
        return;
    }
    if (beginnings_make(&file, strlen(newest->new), &beginnings, &count))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    else
        check_growth(verify, history, newest->path, beginnings, count);
    free(beginnings);
    file_unmap(&file);
}

static bool is_before(const char *commit, const char *later)
{
    const char *const arguments[] = {"--no-replace-objects", "merge-base", "--is-ancestor", commit, later, NULL};
    char *text = NULL;
    bool before = strcmp(commit, later) && tb_git(NULL, arguments, &text) == 0;
    free(text);
    return before;
}

// Did the filed postulate come in a commit before this one (NULL: at all)?
static bool came_before(const struct history *history, const char *path, const char *later)
{
    char id[TB_HASH_TEXT] = "";
    for (size_t i = 0; i < history->count; i++) {
        const struct change *change = &history->changes[i];
        if (is_of(history, i, path) && (id[0] || !file_id(path, change->new, id)) && strcmp(change->new, id) == 0 &&
            (!later || is_before(change->commit, later)))
            return true;
    }
    return false;
}

// A run whose log is not committed yet will come after everything that is.
static void check_order(struct verify *verify, const struct history *history, const struct verify_run *run)
{
    if (!run->postulate_path)
        return;
    if (!came_before(history, run->postulate_path, NULL)) {
        tb_verify_finding(verify, WITNESS_GIT, run->postulate_path, 1, "not committed as it was filed, and run %s was made of it",
                          run->id);
        return;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct change *change = &history->changes[i];
        if (!is_of(history, i, run->log) || change->status != 'A' || came_before(history, run->postulate_path, change->commit))
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
    static const char folder[] = "experiments/";
    const char *name = path + sizeof folder - 1;
    size_t length = strlen(path);
    return strncmp(path, folder, sizeof folder - 1) == 0 && strspn(name, "0123456789") == 4 && name[4] == '-' &&
           strcmp(path + length - 3, ".md") == 0;
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
        bool postulate = strcmp(tb_verify_text(entry, "t"), "postulate") == 0 && tb_ledger_binds(&host->chain, i + 1);
        if (postulate && check_postulate(verify, history, tb_verify_text(entry, "path")))
            tb_verify_impossible(verify, -ENOMEM, "out of memory");
        if (postulate || strcmp(tb_verify_text(entry, "t"), "record") == 0)
            note_path(verify, history, tb_verify_text(entry, "path"));
    }
    for (size_t i = 0; i < host->runs_count; i++) {
        check_order(verify, history, &host->runs[i]);
        note_path(verify, history, host->runs[i].log);
    }
    for (size_t i = 0; i < host->chain.count; i++) {
        const json_t *entry = host->chain.entries[i].object;
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.3000s/%s/%.200s", verify->config->root, host->name, tb_verify_text(entry, "manifest"));
        if (strcmp(tb_verify_text(entry, "t"), "packet") == 0)
            note_path(verify, history, path);
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
    int rc = tb_git_line(NULL, inside, answer, sizeof answer);
    if (rc == -ENOENT)
        tb_verify_impossible(verify, -EINVAL, "--git: git is not installed. Install it, or leave --git out");
    else if (rc || strcmp(answer, "true"))
        tb_verify_impossible(verify, -EINVAL,
                             "--git: git finds no repository here (see: git status). Run this in a clone of the record");
    else if (strcspn(verify->config->root, "/.") == 0)
        tb_verify_impossible(verify, -EINVAL, "--git: %s is not below this folder. Run this in the clone that has it",
                             verify->config->root);
    else if (tb_git_line(NULL, shallow, answer, sizeof answer) || strcmp(answer, "false"))
        tb_verify_impossible(verify, -EINVAL,
                             "--git: this is a shallow clone, its history was cut off. Run `git fetch --unshallow` first");
    return verify->rc;
}

void tb_verify_git(struct verify *verify, const struct verify_host hosts[], size_t hosts_count, json_t **report)
{
    struct history history = {.count = 0};
    if (usable(verify) == 0 && history_load(verify, &history) == 0) {
        for (size_t i = 0; i < history.count; i++) {
            bool again = false;
            for (size_t newer = 0; newer < i && !again; newer++)
                again = is_of(&history, newer, history.changes[i].path);
            if (!again)
                check_path(verify, &history, &history.changes[i]);
        }
        for (size_t i = 0; i < hosts_count; i++)
            check_host(verify, &history, &hosts[i]);
        *report = json_pack("{s:I, s:O, s:O}", "commits", (json_int_t)history.commits, "uncommitted", history.uncommitted, "drafts",
                            history.drafts);
    }
    json_decref(history.uncommitted);
    json_decref(history.drafts);
    free(history.changes);
    free(history.text);
}
