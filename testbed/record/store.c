// SPDX-License-Identifier: Apache-2.0
//
// store: the runs are those that a ledger opened and those that have a log. So one that crashed before its log was made is
// there, and so is a log that no ledger knows. Nothing is locked: a report may be made while a run goes on, whose log then has
// no seal yet.
#include "testbed/record/store.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/json.h"

static int grow(void **array, size_t count, size_t size)
{
    void *grown = realloc(*array, (count + 1) * size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    memset((char *)grown + count * size, 0, size);
    return 0;
}

const json_t *tb_gallery_entry(const struct tb_gallery_host *host, const char *type, const char *run)
{
    for (size_t i = host->ledger.count; i-- > 0;) {
        const json_t *entry = host->ledger.entries[i].object;
        if (strcmp(tb_member_text(entry, "t"), type) == 0 && strcmp(tb_member_text(entry, "run"), run) == 0)
            return entry;
    }
    return NULL;
}

const struct tb_gallery_host *tb_gallery_host_of(const struct tb_gallery *gallery, const struct tb_gallery_run *run)
{
    for (size_t i = 0; i < gallery->hosts_count; i++) {
        const char *path = gallery->hosts[i].path, *slash = strrchr(path, '/');
        if (slash && strncmp(path, run->path, (size_t)(slash - path) + 1) == 0)
            return &gallery->hosts[i];
    }
    return NULL;
}

// Compares with what the ledger kept of it. `locus verify` does it all; here only what would make the figures worthless.
static void judge_seal(struct tb_gallery_run *run, const struct tb_gallery_host *host)
{
    const struct tb_chain *chain = &run->view.chain;
    const json_t *closed = tb_gallery_entry(host, "close", run->run);
    char head[TB_HASH_TEXT];
    tb_hash_text(&chain->entries[chain->count - 1].head, head);
    run->state = TB_RUN_WHOLE;
    if (strcmp(tb_member_text(run->view.seal, "status"), "complete")) {
        run->state = TB_RUN_STOPPED;
        snprintf(run->why, sizeof run->why, "stopped: %s", tb_member_text(run->view.seal, "why"));
    }
    if (closed && strcmp(tb_member_text(closed, "log_head"), head)) {
        run->state = TB_RUN_BROKEN;
        snprintf(run->why, sizeof run->why, "the ledger was given another hash for this log");
    }
}

static bool is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_size == 0;
}

static void judge(struct tb_gallery_run *run, const struct tb_gallery_host *host, int error)
{
    const struct tb_chain *chain = &run->view.chain;
    if (error == -ENOENT) {
        run->state = TB_RUN_MISSING;
        snprintf(run->why, sizeof run->why, "the ledger opened this run, and its log is not there");
    } else if (error && is_empty(run->path)) {
        run->state = TB_RUN_CRASHED;
        snprintf(run->why, sizeof run->why, "the log is empty: the run crashed as it began");
    } else if (error) {
        run->state = TB_RUN_BROKEN;
    } else if (chain->broken_line) {
        run->state = TB_RUN_BROKEN;
        snprintf(run->why, sizeof run->why, "line %zu: %s", chain->broken_line, chain->broken);
    } else if (!run->view.seal) {
        run->state = TB_RUN_CRASHED;
        snprintf(run->why, sizeof run->why, "the log has no seal: the run crashed, or has not ended yet");
    } else {
        judge_seal(run, host);
    }
}

static bool has_path(const struct tb_gallery *gallery, const char *path)
{
    for (size_t i = 0; i < gallery->runs_count; i++)
        if (strcmp(gallery->runs[i].path, path) == 0)
            return true;
    return false;
}

// `id` is the run's name where the log cannot say it.
static int add_run(struct tb_gallery *gallery, const struct tb_gallery_host *host, const char *path, const char *id)
{
    if (has_path(gallery, path))
        return 0;
    int rc = grow((void **)&gallery->runs, gallery->runs_count, sizeof *gallery->runs);
    if (rc < 0)
        return rc;
    struct tb_gallery_run *run = &gallery->runs[gallery->runs_count++];
    snprintf(run->host, sizeof run->host, "%s", host->name);
    snprintf(run->path, sizeof run->path, "%s", path);
    rc = tb_log_load(path, &run->view, run->why, sizeof run->why);
    if (rc == -ENOMEM)
        return rc;
    const char *own = rc ? "" : tb_member_text(run->view.header, "run");
    snprintf(run->run, sizeof run->run, "%s", own[0] ? own : id);
    run->filed = tb_gallery_entry(host, "open", run->run) != NULL;
    judge(run, host, rc);
    return 0;
}

static int add_ledger_runs(struct tb_gallery *gallery, const char *root, const struct tb_gallery_host *host)
{
    int rc = 0;
    for (size_t i = 0; i < host->ledger.count && rc == 0; i++) {
        const json_t *entry = host->ledger.entries[i].object;
        char path[4096];
        if (strcmp(tb_member_text(entry, "t"), "open"))
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", root, host->name, tb_member_text(entry, "log"));
        rc = add_run(gallery, host, path, tb_member_text(entry, "run"));
    }
    return rc;
}

// As glob(), of `pattern` below a folder whose own name is taken as it is.
static int glob_below(const char *folder, const char *pattern, glob_t *found)
{
    char whole[2 * 4096 + 32];
    size_t used = 0;
    for (; *folder && used < 2 * 4096; folder++) {
        if (strchr("\\*?[", *folder))
            whole[used++] = '\\';
        whole[used++] = *folder;
    }
    snprintf(whole + used, sizeof whole - used, "%s", pattern);
    return glob(whole, 0, NULL, found);
}

static int add_log_runs(struct tb_gallery *gallery, const char *root, const struct tb_gallery_host *host)
{
    char folder[4200];
    glob_t found;
    snprintf(folder, sizeof folder, "%s/%s", root, host->name);
    int rc = glob_below(folder, "/*/*.jsonl", &found);
    if (rc)
        return rc == GLOB_NOSPACE ? -ENOMEM : 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        rc = add_run(gallery, host, found.gl_pathv[i], name);
    }
    globfree(&found);
    return rc;
}

static int add_host(struct tb_gallery *gallery, const char *root, const char *name)
{
    int rc = grow((void **)&gallery->hosts, gallery->hosts_count, sizeof *gallery->hosts);
    if (rc < 0)
        return rc;
    struct tb_gallery_host *host = &gallery->hosts[gallery->hosts_count++];
    snprintf(host->name, sizeof host->name, "%s", name);
    snprintf(host->path, sizeof host->path, "%s/%s/ledger.jsonl", root, name);
    rc = tb_chain_load(host->path, &host->ledger);
    host->exists = rc == 0;
    if (rc && rc != -ENOENT)
        return rc;
    size_t runs = gallery->runs_count;
    rc = add_ledger_runs(gallery, root, host);
    if (rc == 0)
        rc = add_log_runs(gallery, root, host);
    if (rc == 0 && !host->exists && gallery->runs_count == runs)
        gallery->hosts_count--; // a folder of something else
    return rc;
}

int tb_gallery_add(struct tb_gallery *gallery, const char *root)
{
    glob_t found;
    if (strlen(root) >= 4096)
        return -ENAMETOOLONG;
    int rc = glob_below(root, "/*/", &found);
    if (rc)
        return rc == GLOB_NOSPACE ? -ENOMEM : 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
        char *path = found.gl_pathv[i];
        path[strlen(path) - 1] = '\0'; // the '/' by which only folders were asked for
        rc = add_host(gallery, root, strrchr(path, '/') + 1);
    }
    globfree(&found);
    return rc;
}

static int by_experiment_then_time(const void *left, const void *right)
{
    const struct tb_gallery_run *a = left, *b = right;
    int order = strcmp(a->run, b->run); // NNNN-time-random
    return order ? order : strcmp(a->path, b->path);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct tb_gallery_host *)left)->path, ((const struct tb_gallery_host *)right)->path);
}

void tb_gallery_sort(struct tb_gallery *gallery)
{
    if (gallery->runs_count > 0)
        qsort(gallery->runs, gallery->runs_count, sizeof *gallery->runs, by_experiment_then_time);
    if (gallery->hosts_count > 0)
        qsort(gallery->hosts, gallery->hosts_count, sizeof *gallery->hosts, by_name);
}

void tb_gallery_close(struct tb_gallery *gallery)
{
    for (size_t i = 0; i < gallery->runs_count; i++)
        tb_log_view_close(&gallery->runs[i].view);
    for (size_t i = 0; i < gallery->hosts_count; i++)
        if (gallery->hosts[i].exists)
            tb_chain_close(&gallery->hosts[i].ledger);
    free(gallery->runs);
    free(gallery->hosts);
    *gallery = (struct tb_gallery){0};
}
