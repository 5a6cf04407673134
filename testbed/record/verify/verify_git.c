// SPDX-License-Identifier: Apache-2.0
//
// verify_git: what the history of the current branch says of the record. It is read once: its commits, and every change that any of
// them made, with the blobs before and after, so that no version has to be fetched. Git's plumbing is asked, whose answers no
// setting changes, and with NULs between the paths, since git writes a path with a quote or a newline in it otherwise: `git
// rev-list` for the commits, and `git diff-tree` for what each of them changed against every parent (-m): a merge can hide the
// branch that it did not take. These are the rules:
//
//   logs, records,  added once; every later change or removal is one too many, and the file is the blob that was added
//   packets
//   postulates      the version that was filed (it is the file, the ledger holds its sha256) never changes; one of which other
//                   versions were committed before is listed, and counts as filed from its filing only
//   ledgers         every version is a beginning of the file: its blob id is that of one of the file's beginnings. A version
//                   that is shorter than its parent's was cut
//   official runs   the commit with the filed postulate is a strict ancestor of the commit with the log
//
// Where commits came in a good order these are content, and whoever commits a record again chooses that order. What cannot be
// chosen afterwards is the name of a commit: a log that names one was begun when that commit was there. So four things are counted
// for each official run, and its order is proven by all of them together:
//
//   postulate_before_filing   the filed postulate came in a commit before the one in which the ledger has its filing
//   filing_before_log         that one came before the commit that added the log
//   postulate_commit          the commit of the postulate that the log names is in this history, and has the filed postulate
//   build_commit              so is the commit that the program was built from: the source that was measured
//
// A commit that is not here proves nothing and refutes nothing: it is counted, and the run is listed. A run of which the last three
// fail is witnessed by the ledger's chain alone. A commit that is here with another postulate refutes what the log says, and is a
// finding. One that has it, but did not bring it, is not what `locus run` writes in a whole clone: that is a remark, since in a
// shallow clone it is.
//
// History that was rewritten as a whole is beyond this witness: keep a checkpoint. So are objects that are not what their names
// say, as long as they lie where they were forged: a clone checks each one.
#include <errno.h>
#include <fnmatch.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/file.h"
#include "testbed/record/git.h"
#include "testbed/record/ledger.h"
#include "testbed/record/names.h"
#include "testbed/record/verify/verify_internal.h"

struct change {
    const char *commit, *path, *old, *new; // within history.changes_text
    char status;                           // 'A', 'M', 'D', 'T'
};

struct commit {
    const char *id, *parents; // within history.commits_text; parents: ids with blanks between
    bool reached;             // of the question that is asked just now
};

struct history {
    char *commits_text, *changes_text;
    struct commit *commits; // all of the branch, each before its parents
    size_t commits_count;
    struct change *changes; // newest first; a merge has those against each parent
    size_t count, touching; // `touching` commits made them
    json_t *report;         // the member "git"
};

// --- files as git names them ---------------------------------------------------------------------------------------------------

// SHA-1 (40 digits) or SHA-256 of "blob BYTES", a NUL, and the data.
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
    out[0] = '\0';
    for (unsigned int i = 0; i < length; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

static int blob_of_file(const char *path, const char *like, char out[TB_HASH_TEXT])
{
    char *data;
    size_t bytes;
    int rc = tb_file_read(path, &data, &bytes);
    if (rc)
        return rc;
    blob_id(data, bytes, strlen(like), out);
    free(data);
    return 0;
}

// {blob id: bytes} of a file's beginnings: of the first bytes up to each line's end, and of no bytes at all. 0 or -errno.
static int beginnings_make(const char *path, size_t digits, json_t **out)
{
    char *data, id[TB_HASH_TEXT];
    size_t bytes;
    int rc = tb_file_read(path, &data, &bytes);
    if (rc)
        return rc;
    *out = json_object();
    for (size_t i = 0; i <= bytes && !rc; i++) {
        if (i && data[i - 1] != '\n')
            continue;
        blob_id(data, i, digits, id);
        rc = json_object_set_new(*out, id, json_integer((json_int_t)i)) ? -ENOMEM : 0;
    }
    free(data);
    return rc;
}

// How many bytes a version of the file has. SIZE_MAX: it is none of its beginnings.
static size_t beginning_bytes(const json_t *beginnings, const char *id)
{
    const json_t *bytes = json_object_get(beginnings, id);
    return bytes ? (size_t)json_integer_value(bytes) : SIZE_MAX;
}

// --- commits -------------------------------------------------------------------------------------------------------------------

// "ID PARENT PARENT\n" and so on.
static int commits_parse(struct history *history)
{
    char *line, *rest = history->commits_text;
    size_t lines = 1;
    for (const char *c = rest; *c; c++)
        lines += *c == '\n';
    history->commits = calloc(lines, sizeof *history->commits);
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

// Parents come after their children, so one pass reaches all.
static bool is_before(const struct history *history, const char *commit, const char *later)
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

static int history_load(struct verify *verify, struct history *out)
{
    const struct tb_verify_config *config = verify->config;
    char logs[PATH_MAX];
    size_t bytes = 0;
    snprintf(logs, sizeof logs, "%s%s%s", config->root, config->host ? "/" : "", config->host ? config->host : "");
    const char *const list[] = {"rev-list", "--topo-order", "--parents", "HEAD", NULL};
    const char *const show[] = {
        "--literal-pathspecs", "diff-tree",    "--stdin",    "--root", "-m", "-r",         "-z",          "--raw",
        "--no-abbrev",         "--no-renames", "--relative", "--",     logs, "postulates", "experiments", NULL};
    out->report = json_pack("{s:i, s:[], s:[], s:[]}", "commits", 0, "uncommitted", "drafts", "order");
    if (tb_git(NULL, list, &out->commits_text))
        tb_verify_impossible(verify, -EINVAL, "--git: git lists no commits. Is anything committed here? (see: git log)");
    else if (tb_git_filter(show, out->commits_text, &out->changes_text, &bytes))
        tb_verify_impossible(verify, -EINVAL, "--git: git cannot show what the commits changed (see: git fsck)");
    else if (!out->report || commits_parse(out) || changes_parse(out, bytes))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    return verify->rc;
}

static bool is_of(const struct history *history, size_t i, const char *path)
{
    return strcmp(history->changes[i].path, path) == 0;
}

static bool came_before(const struct history *history, const char *path, const char *later)
{
    char id[TB_HASH_TEXT] = "";
    for (size_t i = 0; i < history->count; i++) {
        const struct change *change = &history->changes[i];
        if (is_of(history, i, path) && (id[0] || !blob_of_file(path, change->new, id)) && strcmp(change->new, id) == 0 &&
            (!later || is_before(history, change->commit, later)))
            return true;
    }
    return false;
}

// --- the rules -----------------------------------------------------------------------------------------------------------------

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
    else if (blob_of_file(path, came->new, id))
        tb_verify_finding(verify, WITNESS_GIT, path, 1, "gone, though commit %.12s added it", came->commit);
    else if (strcmp(id, came->new))
        tb_verify_finding(verify, WITNESS_GIT, path, first_difference(path, came->new), "not as commit %.12s added it",
                          came->commit);
}

// That the file is the filed version, the ledger has checked.
static void check_postulate(struct verify *verify, const struct history *history, const char *path)
{
    char id[TB_HASH_TEXT] = "";
    json_int_t drafts = 0;
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!is_of(history, i, path) || (!id[0] && blob_of_file(path, change->new, id)))
            continue;
        if (strcmp(change->old, id) == 0) {
            tb_verify_finding(verify, WITNESS_GIT, path, 1, "changed by commit %.12s, after it had been filed", change->commit);
            return;
        }
        drafts += change->status == 'M';
    }
    if (drafts)
        tb_verify_add(verify, json_object_get(history->report, "drafts"), json_pack("{s:s, s:I}", "path", path, "changes", drafts));
}

static void check_growth(struct verify *verify, const struct history *history, const char *path, const json_t *beginnings)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct change *change = &history->changes[i];
        if (!is_of(history, i, path))
            continue;
        size_t bytes = beginning_bytes(beginnings, change->new);
        size_t bytes_before = change->status == 'M' ? beginning_bytes(beginnings, change->old) : 0;
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
    json_t *beginnings = NULL;
    int rc = beginnings_make(newest->path, strlen(newest->new), &beginnings);
    if (rc == -ENOMEM)
        tb_verify_impossible(verify, rc, "out of memory");
    else if (rc)
        tb_verify_finding(verify, WITNESS_GIT, newest->path, 1, "gone, though commit %.12s had it", newest->commit);
    else
        check_growth(verify, history, newest->path, beginnings);
    json_decref(beginnings);
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

// --- is the order of official runs proven? -------------------------------------------------------------------------------------

enum proof { POSTULATE_BEFORE_FILING, FILING_BEFORE_LOG, POSTULATE_COMMIT, BUILD_COMMIT, PROOFS };
static const struct {
    const char *name, *lost; // lost: the list of commits that logs name and that are not here
} proof_keys[PROOFS] = {{"postulate_before_filing", NULL},
                        {"filing_before_log", NULL},
                        {"postulate_commit", "postulate_commits_lost"},
                        {"build_commit", "build_commits_lost"}};

struct order {
    struct verify *verify;
    const struct history *history;
    const struct verify_host *host;
    json_t *report;             // the host's member of "order"
    json_t *ledger;             // its beginnings
    const struct verify_run *refuted; // the last one that names a commit with another postulate
    char *blobs, *blob;         // what git found, a line for each question of questions_write(); the line that comes next
};

static bool counts(const struct verify_run *run)
{
    return strcmp(run->kind, "official") == 0 && run->postulate_path;
}

// --- the commits that a log names ----------------------------------------------------------------------------------------------

// One process for all of them: the blob of the postulate in each commit.
static int questions_write(const struct verify_host *host, char **out)
{
    size_t bytes;
    FILE *stream = open_memstream(out, &bytes);
    if (!stream)
        return -ENOMEM;
    for (size_t i = 0; i < host->runs_count; i++)
        for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT && counts(&host->runs[i]); which++)
            fprintf(stream, "%s:%.*s\n", host->runs[i].commits[which - POSTULATE_COMMIT],
                    (int)strcspn(host->runs[i].postulate_path, "\n"), host->runs[i].postulate_path);
    return fclose(stream) ? -ENOMEM : 0;
}

static int blobs_load(struct order *order)
{
    const char *const arguments[] = {"cat-file", "--batch-check=%(objectname)", NULL};
    char *questions = NULL;
    size_t bytes;
    int rc = questions_write(order->host, &questions);
    if (!rc)
        rc = tb_git_filter(arguments, questions, &order->blobs, &bytes);
    order->blob = order->blobs;
    free(questions);
    return rc;
}

// A commit that is here. Has it the filed postulate? One finding for each run will do.
static bool has_postulate(struct order *order, const struct verify_run *run, enum proof which, const char *blob, const char *filed)
{
    if (*filed && strcmp(blob, filed) == 0)
        return true;
    if (*filed && order->refuted != run)
        tb_verify_finding(order->verify, WITNESS_GIT, run->log, 1, "it names commit %.12s %s, and there %s is not as it was filed",
                          run->commits[which - POSTULATE_COMMIT], which == POSTULATE_COMMIT ? "for its postulate" : "as its source",
                          run->postulate_path);
    order->refuted = run;
    return false;
}

// Did the commit that the log names bring the postulate? Asked as `locus run` asks (tb_git_commit_of()), which also names a commit
// that changed the file's mode alone.
static bool brought(const struct history *history, const struct verify_run *run, const char *filed)
{
    const char *commit = run->commits[0];
    const char *const arguments[] = {"rev-list", "-1", commit, "--", run->postulate_path, NULL};
    char last[TB_HASH_TEXT];
    for (size_t i = 0; i < history->count; i++)
        if (is_of(history, i, run->postulate_path) && strcmp(history->changes[i].commit, commit) == 0 &&
            strcmp(history->changes[i].new, filed) == 0)
            return true;
    return tb_git_line(NULL, arguments, last, sizeof last) == 0 && strcmp(last, commit) == 0;
}

static bool commit_proves(struct order *order, const struct verify_run *run, enum proof which, const char *filed)
{
    const char *commit = run->commits[which - POSTULATE_COMMIT], *blob = strsep(&order->blob, "\n");
    if (find(order->history, commit, 0)) {
        bool proves = has_postulate(order, run, which, blob ? blob : "", filed);
        if (proves && which == POSTULATE_COMMIT && !brought(order->history, run, filed))
            tb_verify_remark(order->verify, run->log, 1, "it names commit %.12s for its postulate, and %s came in another one",
                             commit, run->postulate_path);
        return proves;
    }
    json_t *lost = json_object_get(order->report, proof_keys[which].lost), *known;
    size_t i;
    json_array_foreach (lost, i, known)
        if (strcmp(json_string_value(known), commit) == 0)
            return false;
    if (*commit)
        tb_verify_add(order->verify, lost, json_string(commit));
    return false;
}

// --- the commits in which things came ------------------------------------------------------------------------------------------

// The oldest commit whose version of the ledger has this line. NULL: none.
static const char *filing_commit(const struct order *order, size_t line)
{
    const struct tb_chain *chain = &order->host->chain;
    size_t end = line < chain->count ? chain->entries[line].offset : chain->bytes;
    for (size_t i = order->history->count; i-- > 0;) {
        const struct change *change = &order->history->changes[i];
        size_t bytes = is_of(order->history, i, order->host->ledger) ? beginning_bytes(order->ledger, change->new) : 0;
        if (bytes >= end && bytes != SIZE_MAX)
            return change->commit;
    }
    return NULL;
}

// A merge adds the file once more, against the branch that lacks it.
static bool added_after(const struct history *history, const char *path, const char *commit)
{
    bool added = false;
    for (size_t i = 0; i < history->count; i++) {
        if (!is_of(history, i, path) || history->changes[i].status != 'A')
            continue;
        added = true;
        if (!is_before(history, commit, history->changes[i].commit))
            return false;
    }
    return added;
}

// The blob of the postulate as it was filed; "" where the file is no longer that: then verify_host.c has said so.
static void filed_blob(const struct order *order, const struct verify_run *run, char out[TB_HASH_TEXT])
{
    char sha256[TB_HASH_TEXT];
    bool as_filed = tb_hash_file(run->postulate_path, sha256) == 0 && strcmp(sha256, run->postulate_sha256) == 0;
    if (!as_filed || !order->history->count || blob_of_file(run->postulate_path, order->history->changes[0].new, out))
        out[0] = '\0';
}

static void count(json_t *report, const char *key, bool more)
{
    json_object_set_new(report, key, json_integer(json_integer_value(json_object_get(report, key)) + more));
}

// By run, so by postulate and time. `of`: so many official runs of the postulate there are on this host.
static void unproven_add(const struct order *order, const struct verify_run *run, const bool proofs[PROOFS])
{
    json_t *lacks = json_array();
    json_int_t of = 0;
    for (size_t i = 0; i < order->host->runs_count; i++)
        of += counts(&order->host->runs[i]) && strcmp(order->host->runs[i].postulate_id, run->postulate_id) == 0;
    for (enum proof which = 0; which < PROOFS; which++)
        if (!proofs[which])
            tb_verify_add(order->verify, lacks, json_string(proof_keys[which].name));
    bool alone = !proofs[FILING_BEFORE_LOG] && !proofs[POSTULATE_COMMIT] && !proofs[BUILD_COMMIT];
    json_t *unproven = json_object_get(order->report, "unproven");
    size_t at = json_array_size(unproven);
    while (at && strcmp(tb_member_text(json_array_get(unproven, at - 1), "run"), run->id) > 0)
        at--;
    if (json_array_insert_new(unproven, at,
                              json_pack("{s:s, s:s, s:I, s:b, s:o}", "run", run->id, "postulate", run->postulate_id, "of", of,
                                        "chain_alone", (int)alone, "lacks", lacks)))
        tb_verify_impossible(order->verify, -ENOMEM, "out of memory");
}

static void run_count(struct order *order, const struct verify_run *run)
{
    char filed[TB_HASH_TEXT];
    bool proofs[PROOFS], all = true;
    const char *filing = filing_commit(order, run->filed);
    filed_blob(order, run, filed);
    proofs[POSTULATE_BEFORE_FILING] = filing && came_before(order->history, run->postulate_path, filing);
    proofs[FILING_BEFORE_LOG] = filing && added_after(order->history, run->log, filing);
    for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT; which++)
        proofs[which] = commit_proves(order, run, which, filed);
    for (enum proof which = 0; which < PROOFS; which++) {
        count(order->report, proof_keys[which].name, proofs[which]);
        all &= proofs[which];
    }
    count(order->report, "runs", true);
    count(order->report, "proven", all);
    if (!all)
        unproven_add(order, run, proofs);
}

static void order_check(struct verify *verify, const struct history *history, const struct verify_host *host)
{
    struct order order = {.verify = verify, .history = history, .host = host};
    order.report = json_pack("{s:s, s:i, s:i, s:[], s:[], s:[]}", "host", host->name, "runs", 0, "proven", 0,
                             proof_keys[POSTULATE_COMMIT].lost, proof_keys[BUILD_COMMIT].lost, "unproven");
    int rc = beginnings_make(host->ledger, history->count ? strlen(history->changes[0].new) : 40, &order.ledger);
    if (!rc)
        rc = blobs_load(&order);
    for (size_t i = 0; i < host->runs_count && !rc; i++)
        if (counts(&host->runs[i]))
            run_count(&order, &host->runs[i]);
    if (rc)
        tb_verify_impossible(verify, rc, "--git: %s: %s", host->ledger, strerror(-rc));
    else if (json_integer_value(json_object_get(order.report, "runs")))
        tb_verify_add(verify, json_object_get(history->report, "order"), json_incref(order.report));
    json_decref(order.report);
    json_decref(order.ledger);
    free(order.blobs);
}

// --- all of it -----------------------------------------------------------------------------------------------------------------

// Below the logs' folder: HOST/ledger.jsonl is the ledger, every other *.jsonl a log, and below HOST/packet/ nothing changes.
static void check_path(struct verify *verify, const struct history *history, const struct change *newest)
{
    const char *path = newest->path, *root = verify->config->root;
    size_t root_length = strlen(root);
    bool below = strncmp(path, root, root_length) == 0 && path[root_length] == '/';
    const char *slash = below ? strchr(path + root_length + 1, '/') : NULL;
    if (slash && strcmp(slash, "/ledger.jsonl") == 0)
        check_ledger(verify, history, newest);
    else if ((tb_record_below(path) && tb_record_named(path + sizeof TB_RECORD_FOLDER)) ||
             (slash && (fnmatch("*.jsonl", path, 0) == 0 || strncmp(slash, "/packet/", 8) == 0)))
        check_fixed(verify, history, path);
}

static void note_path(struct verify *verify, struct history *history, const char *path)
{
    for (size_t i = 0; i < history->count; i++)
        if (is_of(history, i, path))
            return;
    tb_verify_add(verify, json_object_get(history->report, "uncommitted"), json_string(path));
}

static void check_host(struct verify *verify, struct history *history, const struct verify_host *host)
{
    for (size_t i = 0; i < host->chain.count; i++) {
        const json_t *entry = host->chain.entries[i].object;
        const char *type = tb_member_text(entry, "t"), *path = tb_member_text(entry, "path"), *name;
        bool postulate = strcmp(type, "postulate") == 0 && tb_ledger_binds(&host->chain, i + 1);
        json_t *sha256;
        if (postulate)
            check_postulate(verify, history, path);
        if (postulate || strcmp(type, "record") == 0)
            note_path(verify, history, path);
        json_object_foreach (strcmp(type, "packet") ? NULL : json_object_get(entry, "files"), name, sha256) {
            char part[PATH_MAX];
            snprintf(part, sizeof part, "%.3000s/%s/%.200s", verify->config->root, host->name, name);
            if (strncmp(name, "packet/", 7) == 0)
                note_path(verify, history, part);
        }
    }
    for (size_t i = 0; i < host->runs_count; i++) {
        check_order(verify, history, &host->runs[i]);
        note_path(verify, history, host->runs[i].log);
    }
    if (host->chain.count)
        note_path(verify, history, host->ledger);
}

// The head of history when a checkpoint was made must be in it.
static void check_witnessed(struct verify *verify, const struct history *history)
{
    if (verify->witnessed[0] && !find(history, verify->witnessed, 0))
        tb_verify_finding(verify, WITNESS_CHECKPOINT, verify->config->checkpoint, verify->witnessed_line,
                          "commit %.12s is not in this history: it was written anew since, or this is another branch",
                          verify->witnessed);
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
        tb_verify_impossible(verify, -EINVAL, "--git: %s is a symbolic link, which git does not follow. Name the folder",
                             verify->config->root);
    else if (tb_git_line(NULL, shallow, answer, sizeof answer) || strcmp(answer, "false"))
        tb_verify_impossible(verify, -EINVAL,
                             "--git: this is a shallow clone, its history was cut off. Run `git fetch --unshallow` first");
    return verify->rc;
}

void tb_verify_git(struct verify *verify)
{
    struct history history = {.report = NULL};
    if (usable(verify) == 0 && history_load(verify, &history) == 0) {
        for (size_t i = 0; i < history.count; i++) {
            bool again = false;
            for (size_t newer = 0; newer < i && !again; newer++)
                again = is_of(&history, newer, history.changes[i].path);
            if (!again)
                check_path(verify, &history, &history.changes[i]);
        }
        for (size_t i = 0; i < verify->hosts_count; i++) {
            check_host(verify, &history, &verify->hosts[i]);
            order_check(verify, &history, &verify->hosts[i]);
        }
        check_witnessed(verify, &history);
        json_object_set_new(history.report, "commits", json_integer((json_int_t)history.touching));
        json_object_set(verify->report, "git", history.report);
    }
    json_decref(history.report);
    free(history.changes);
    free(history.commits);
    free(history.changes_text);
    free(history.commits_text);
}
