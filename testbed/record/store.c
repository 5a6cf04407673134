// SPDX-License-Identifier: Apache-2.0
//
// store: the runs are those that a ledger opened and those that have a log. So one that crashed before its log was made is
// there, and so is a log that no ledger knows. Nothing is locked: a report may be made while a run goes on, whose log then has
// no seal yet.
//
// A run that a person names is found by the names of the files, which say all that is needed: no other log is opened.
#include "testbed/record/store.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/record/ledger.h"
#include "testbed/record/names.h"

// Room for one more element, zeroed.
static int grow(void **array, size_t count, size_t size)
{
    void *grown = realloc(*array, (count + 1) * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    memset((char *)grown + count * size, 0, size);
    return 0;
}

// --- what state a run is in ----------------------------------------------------------------------------------------------------

static bool is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

// Of a log with a seal. `locus verify` compares all that the ledger kept of it; here only what would make the figures worthless.
static enum tb_run_state judge_sealed(struct tb_store_run *run)
{
    const struct tb_chain *chain = &run->view.chain;
    const json_t *closed = run->closed ? run->host->ledger.entries[run->closed - 1].object : NULL;
    char head[TB_HASH_TEXT];
    tb_hash_text(&chain->entries[chain->count - 1].head, head);
    if (closed && strcmp(tb_member_text(closed, "log_head"), head)) {
        snprintf(run->why, sizeof run->why, "the ledger was given another hash for this log");
        return TB_RUN_BROKEN;
    }
    if (strcmp(tb_member_text(run->view.seal, "status"), "complete")) {
        snprintf(run->why, sizeof run->why, "stopped: %s", tb_member_text(run->view.seal, "why"));
        return TB_RUN_STOPPED;
    }
    if (!closed && run->host->ledger.broken_line) {
        snprintf(run->why, sizeof run->why, "its host's ledger is broken at line %zu, so nobody knows whether it closes this run",
                 run->host->ledger.broken_line);
        return TB_RUN_UNKNOWN;
    }
    if (!closed)
        snprintf(run->why, sizeof run->why, "no entry of its host's ledger closes this run");
    return closed ? TB_RUN_WHOLE : TB_RUN_UNCLOSED;
}

// `error` is what loading the log returned; run->why then says so already.
static enum tb_run_state judge(struct tb_store_run *run, int error)
{
    const struct tb_chain *chain = &run->view.chain;
    if (error == -ENOENT) {
        snprintf(run->why, sizeof run->why, "the ledger opened this run, and its log is not there");
        return TB_RUN_MISSING;
    }
    if (error && is_empty(run->path)) {
        snprintf(run->why, sizeof run->why, "the log is empty: the run crashed as it began");
        return TB_RUN_CRASHED;
    }
    if (error)
        return TB_RUN_BROKEN;
    if (chain->broken_line) {
        snprintf(run->why, sizeof run->why, "line %zu: %s", chain->broken_line, chain->broken);
        return TB_RUN_BROKEN;
    }
    if (run->view.seal)
        return judge_sealed(run);
    snprintf(run->why, sizeof run->why, "the log has no seal: the run crashed, or has not ended yet");
    return TB_RUN_CRASHED;
}

// --- runs ----------------------------------------------------------------------------------------------------------------------

static bool has_path(const struct tb_store *store, const char *path)
{
    for (size_t i = 0; i < store->runs_count; i++)
        if (strcmp(store->runs[i].path, path) == 0)
            return true;
    return false;
}

// `id` is the run's name where the log cannot say it.
static int add_run(struct tb_store *store, const struct tb_store_host *host, const char *path, const char *id)
{
    if (has_path(store, path))
        return 0;
    int rc = grow((void **)&store->runs, store->runs_count, sizeof *store->runs);
    if (rc < 0)
        return rc;
    struct tb_store_run *run = &store->runs[store->runs_count++];
    run->host = host;
    snprintf(run->path, sizeof run->path, "%s", path);
    rc = tb_log_load(path, &run->view, run->why, sizeof run->why);
    if (rc == -ENOMEM)
        return rc;
    const char *own = rc ? "" : tb_member_text(run->view.header, "run");
    snprintf(run->run, sizeof run->run, "%s", own[0] ? own : id);
    run->opened = tb_ledger_last(&host->ledger, SIZE_MAX, "open", "run", run->run);
    run->closed = tb_ledger_last(&host->ledger, SIZE_MAX, "close", "run", run->run);
    run->state = judge(run, rc);
    return 0;
}

static int add_opened(struct tb_store *store, const char *root, const struct tb_store_host *host)
{
    int rc = 0;
    for (size_t i = 0; i < host->ledger.count && rc == 0; i++) {
        const json_t *entry = host->ledger.entries[i].object;
        char path[4096];
        if (strcmp(tb_member_text(entry, "t"), "open"))
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", root, host->name, tb_member_text(entry, "log"));
        rc = add_run(store, host, path, tb_member_text(entry, "run"));
    }
    return rc;
}

static int add_logs(struct tb_store *store, const char *root, const struct tb_store_host *host)
{
    char folder[4096 + 64];
    snprintf(folder, sizeof folder, "%s/%s", root, host->name);
    FTS *walk = tb_file_walk(folder);
    int rc = walk ? 0 : -errno;
    for (FTSENT *entry; !rc && (entry = fts_read(walk));)
        if (entry->fts_level == 2 && entry->fts_info == FTS_F && fnmatch("*.jsonl", entry->fts_name, FNM_PERIOD) == 0)
            rc = add_run(store, host, entry->fts_path, entry->fts_name);
    if (walk)
        fts_close(walk);
    return rc;
}

// --- hosts ---------------------------------------------------------------------------------------------------------------------

static void host_close(struct tb_store_host *host)
{
    if (host->exists)
        tb_chain_close(&host->ledger);
    free(host);
}

static int add_host(struct tb_store *store, const char *root, const char *name)
{
    int rc = grow((void **)&store->hosts, store->hosts_count, sizeof(*store->hosts));
    struct tb_store_host *host = rc ? NULL : calloc(1, sizeof *host);
    if (!host)
        return -ENOMEM;
    store->hosts[store->hosts_count++] = host;
    snprintf(host->name, sizeof host->name, "%.63s", name);
    snprintf(host->path, sizeof host->path, "%s/%s/ledger.jsonl", root, host->name);
    rc = tb_chain_load(host->path, &host->ledger);
    host->exists = rc == 0;
    return rc == -ENOENT ? 0 : rc;
}

// The host that was added last, with its runs. A folder of something else is no host.
static int add_runs(struct tb_store *store, const char *root)
{
    struct tb_store_host *host = store->hosts[store->hosts_count - 1];
    size_t before = store->runs_count;
    int rc = add_opened(store, root, host);
    if (rc == 0)
        rc = add_logs(store, root, host);
    if (rc == 0 && !host->exists && store->runs_count == before) {
        store->hosts_count--;
        host_close(host);
    }
    return rc;
}

// A folder that can be called as a host.
static bool is_host(const char *root, const char *name)
{
    char path[4096 - sizeof "/ledger.jsonl"];
    struct stat status;
    return strlen(name) < sizeof((struct tb_store_host *)0)->name &&
           snprintf(path, sizeof path, "%s/%s", root, name) < (int)sizeof path && stat(path, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_experiment_then_time(const void *left, const void *right)
{
    const struct tb_store_run *a = left, *b = right;
    int order = strcmp(a->run, b->run); // NNNN-time-random
    return order ? order : strcmp(a->path, b->path);
}

static int by_path(const void *left, const void *right)
{
    const struct tb_store_host *const *a = left, *const *b = right;
    return strcmp((*a)->path, (*b)->path);
}

static int add(struct tb_store *store, const char *root, bool runs)
{
    struct dirent **names = NULL;
    if (strlen(root) >= 4096)
        return -ENAMETOOLONG;
    int rc = 0, found = scandir(root, &names, not_hidden, alphasort);
    if (found < 0)
        return errno == ENOENT ? 0 : -errno;
    for (int i = 0; i < found; i++) {
        if (!rc && is_host(root, names[i]->d_name)) {
            rc = add_host(store, root, names[i]->d_name);
            rc = !rc && runs ? add_runs(store, root) : rc;
        }
        free(names[i]);
    }
    free(names);
    if (store->runs_count > 0)
        qsort(store->runs, store->runs_count, sizeof *store->runs, by_experiment_then_time);
    if (store->hosts_count > 0)
        qsort(store->hosts, store->hosts_count, sizeof(*store->hosts), by_path);
    return rc;
}

int tb_store_add(struct tb_store *store, const char *root)
{
    return add(store, root, true);
}

int tb_store_add_ledgers(struct tb_store *store, const char *root)
{
    return add(store, root, false);
}

int tb_store_add_run(struct tb_store *store, const char *name, char *why, size_t why_bytes)
{
    char path[4096], folder[4096], root[4096];
    int rc = tb_store_find(name, path, sizeof path, why, why_bytes);
    if (rc)
        return rc;
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(root, sizeof root, "%s", dirname(dirname(folder)));
    snprintf(folder, sizeof folder, "%s", root);
    rc = add_host(store, dirname(root), basename(folder));
    if (!rc)
        rc = add_run(store, store->hosts[store->hosts_count - 1], path, name);
    if (rc) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-rc));
        return rc;
    }
    const struct tb_store_run *run = &store->runs[store->runs_count - 1];
    bool measured = json_is_object(json_object_get(run->view.header, "measured"));
    if (!measured && (run->view.header || run->opened))
        return 0;
    snprintf(why, why_bytes, "%s: is not the log of a run: %s", path,
             measured ? "it is of a command with --log (locus report shows it)"
                      : "its first line is no header, and no ledger has opened it");
    return -EINVAL;
}

void tb_store_close(struct tb_store *store)
{
    for (size_t i = 0; i < store->runs_count; i++)
        tb_log_view_close(&store->runs[i].view);
    for (size_t i = 0; i < store->hosts_count; i++)
        host_close(store->hosts[i]);
    free(store->runs);
    free(store->hosts);
    *store = (struct tb_store){0};
}

// --- entries -------------------------------------------------------------------------------------------------------------------

// The host's last entry that fits; it was appended last.
static const json_t *host_last(const struct tb_store_host *host, const char *type, const char *key, const char *value)
{
    size_t line = strcmp(type, "postulate") ? tb_ledger_last(&host->ledger, SIZE_MAX, type, key, value)
                                            : tb_ledger_filing(&host->ledger, SIZE_MAX, value);
    return line ? host->ledger.entries[line - 1].object : NULL;
}

// Times are ISO 8601 in UTC, so the later text is the later time.
const json_t *tb_store_last(const struct tb_store *store, const char *type, const char *key, const char *value,
                            const struct tb_store_host **host)
{
    const json_t *last = NULL;
    for (size_t i = 0; i < store->hosts_count; i++) {
        const json_t *entry = host_last(store->hosts[i], type, key, value);
        if (!entry || (last && strcmp(tb_member_text(entry, "time"), tb_member_text(last, "time")) <= 0))
            continue;
        last = entry;
        if (host)
            *host = store->hosts[i];
    }
    return last;
}

const struct tb_store_host *tb_store_broken(const struct tb_store *store)
{
    for (size_t i = 0; i < store->hosts_count; i++)
        if (store->hosts[i]->ledger.broken_line)
            return store->hosts[i];
    return NULL;
}

const struct tb_store_host *tb_store_otherwise(const struct tb_store *store, const char *id, const char *sha256)
{
    for (size_t i = 0; i < store->hosts_count; i++) {
        const json_t *entry = host_last(store->hosts[i], "postulate", "id", id);
        if (entry && strcmp(tb_member_text(entry, "sha256"), sha256) != 0)
            return store->hosts[i];
    }
    return NULL;
}

// --- one run, by what a person calls it ----------------------------------------------------------------------------------------

#define TAIL_CHARACTERS 6

static bool is_tail(const char *name)
{
    return strlen(name) == TAIL_CHARACTERS && strspn(name, "0123456789abcdef") == TAIL_CHARACTERS;
}

// Paths below the current folder lose what every machine has differently.
static int relative(const char *path, char *out, size_t bytes)
{
    char *whole = realpath(path, NULL), *here = realpath(".", NULL);
    int rc = whole && here ? 0 : -errno;
    if (!rc) {
        size_t prefix = strlen(here);
        bool below = strncmp(whole, here, prefix) == 0 && whole[prefix] == '/';
        rc = snprintf(out, bytes, "%s", below ? whole + prefix + 1 : whole) < (int)bytes ? 0 : -ENAMETOOLONG;
    }
    free(whole);
    free(here);
    return rc;
}

static int search(const char *name, glob_t *found)
{
    static const char *const roots[] = {"logs", "build/logs"};
    char pattern[128];
    *found = (glob_t){0};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (tb_run_named(name)) // "NNNN-" begins the folder's name, and the rest is the file's
            snprintf(pattern, sizeof pattern, "%s/*/%.5s*/%s.jsonl", roots[i], name, name + 5);
        else
            snprintf(pattern, sizeof pattern, "%s/*/*/*-%s.jsonl", roots[i], name);
        int rc = glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, found);
        if (rc && rc != GLOB_NOMATCH)
            return rc == GLOB_NOSPACE ? -ENOMEM : -EIO;
    }
    return 0;
}

static int find_by_name(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    glob_t found;
    int rc = search(name, &found);
    if (rc < 0) {
        snprintf(why, why_bytes, "logs: %s", strerror(-rc));
    } else if (found.gl_pathc == 0) {
        snprintf(why, why_bytes, "no run %s below logs/ or build/logs/ (`locus verify` lists the runs; or name the log's file)",
                 name);
        rc = -ENOENT;
    } else if (found.gl_pathc > 1) {
        snprintf(why, why_bytes, "run %s: %zu logs have this name, such as %.200s and %.200s; name the file", name, found.gl_pathc,
                 found.gl_pathv[0], found.gl_pathv[1]);
        rc = -EEXIST;
    } else {
        rc = relative(found.gl_pathv[0], path, path_bytes);
    }
    globfree(&found);
    return rc;
}

int tb_store_find(const char *name, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    struct stat status;
    if (is_tail(name) || tb_run_named(name))
        return find_by_name(name, path, path_bytes, why, why_bytes);
    int rc = stat(name, &status) ? -errno : S_ISREG(status.st_mode) ? relative(name, path, path_bytes) : -EINVAL;
    if (rc == -ENOENT && !strchr(name, '/'))
        snprintf(why, why_bytes, "'%s' is neither a run (its id, or the last six hexadecimal digits of it) nor a log's file", name);
    else if (rc == -EINVAL)
        snprintf(why, why_bytes, "%s: not a file; a run is named by its id, the last six digits of it, or its log", name);
    else if (rc < 0)
        snprintf(why, why_bytes, "%s: %s", name, strerror(-rc));
    return rc;
}

static int check(const struct tb_log_view *view, char *why, size_t why_bytes)
{
    if (view->chain.broken_line)
        snprintf(why, why_bytes, "%s:%zu: %s (see `locus verify`)", view->path, view->chain.broken_line, view->chain.broken);
    else if (!view->seal)
        snprintf(why, why_bytes, "%s: has no seal, so the run did not come to its end; nothing can be said about it", view->path);
    else if (!view->header || !view->summary)
        snprintf(why, why_bytes, "%s: has no summary, so the run was stopped before its verdict", view->path);
    else
        return 0;
    return -EINVAL;
}

int tb_store_load(const char *name, struct tb_log_view *out, char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    int rc = tb_store_find(name, path, sizeof path, why, why_bytes);
    if (rc < 0)
        return rc;
    rc = tb_log_load(path, out, why, why_bytes);
    if (rc < 0)
        return rc;
    rc = check(out, why, why_bytes);
    if (rc < 0)
        tb_log_view_close(out);
    return rc;
}

void tb_store_host_of(const char *path, char *out, size_t bytes)
{
    const char *slash[3] = {NULL}, *end = path + strlen(path); // from the end
    for (size_t i = 0; i < 3 && end; i++)
        end = slash[i] = memrchr(path, '/', (size_t)(end - path));
    // .../logs/HOST/NNNN-slug/FILE: HOST lies between the third slash from the end and the second
    if (slash[2] && slash[2] - path >= 4 && strncmp(slash[2] - 4, "logs", 4) == 0)
        snprintf(out, bytes, "%.*s", (int)(slash[1] - slash[2] - 1), slash[2] + 1);
    else
        snprintf(out, bytes, "unknown");
}
