// SPDX-License-Identifier: Apache-2.0
//
// verify_log: one log against itself, and against what the ledger says of its run; and the logs of which no ledger knows.
//
// The order matters: a broken chain makes all that follows it worthless, and a log of another run would differ in everything.
// So the first disagreement is reported, and it is the cause.
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/file.h"
#include "testbed/record/verify/verify_internal.h"

// A run that crashed may have left half a line, which nobody was told of.
static bool chain_holds(struct verify *verify, const struct verify_run *run, const struct tb_chain *chain)
{
    if (!chain->broken_line || (chain->torn && !run->close))
        return true;
    tb_verify_finding(verify, WITNESS_LOG, run->log, chain->broken_line, "%s", chain->broken);
    return false;
}

// The run's identity. An empty log has none: the process died before it wrote the header.
static bool header_agrees(struct verify *verify, const struct verify_host *host, const struct verify_run *run,
                          const struct tb_chain *chain)
{
    if (!chain->count)
        return true;
    const json_t *header = chain->entries[0].object;
    const char *id = tb_member_text(header, "run"), *ledger = host->ledger;
    const char *sha256 = tb_member_text(json_object_get(header, "postulate"), "sha256");
    if (strcmp(tb_member_text(header, "t"), "hdr"))
        tb_verify_finding(verify, WITNESS_LOG, run->log, 1, "a log begins with its header, this does not");
    else if (strcmp(id, run->id))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1,
                          "this is the log of run '%s', but %s:%zu opened run %s under this name", id, ledger, run->line, run->id);
    else if (strcmp(tb_member_text(header, "nonce"), run->nonce))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1, "another log of run %s: its nonce is not the one of %s:%zu", id,
                          ledger, run->line);
    else if (strcmp(tb_member_text(header, "kind"), run->kind))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1, "run %s was opened as '%s' (%s:%zu), and its log says '%s'", id,
                          run->kind, ledger, run->line, tb_member_text(header, "kind"));
    else if (strcmp(sha256, run->postulate_sha256))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1,
                          "run %s used another postulate than the one it was opened with (%s:%zu)", id, ledger, run->line);
    else
        return true;
    return false;
}

// *sealed: there is a seal, and it is the last line.
static bool seal_holds(struct verify *verify, const struct verify_run *run, const struct tb_chain *chain, bool *sealed)
{
    for (size_t i = 0; i < chain->count; i++) {
        const json_t *object = chain->entries[i].object;
        if (strcmp(tb_member_text(object, "t"), "seal"))
            continue;
        json_int_t lines = json_integer_value(json_object_get(object, "lines"));
        *sealed = i + 1 == chain->count && !chain->broken_line;
        if (!*sealed)
            tb_verify_finding(verify, WITNESS_LOG, run->log, i + 2, "the log goes on behind its seal");
        else if (lines != (json_int_t)chain->count)
            tb_verify_finding(verify, WITNESS_LOG, run->log, i + 1, "the seal counts %lld lines, there are %zu", (long long)lines,
                              chain->count);
        else
            return true;
        return false;
    }
    return true;
}

static const char *log_verdict(const struct tb_chain *chain)
{
    for (size_t i = chain->count; i-- > 0;)
        if (strcmp(tb_member_text(chain->entries[i].object, "t"), "sum") == 0)
            return tb_member_text(chain->entries[i].object, "verdict");
    return "";
}

static void close_agrees(struct verify *verify, const struct verify_host *host, const struct verify_run *run,
                         const struct tb_chain *chain, bool sealed)
{
    char head[TB_HASH_TEXT] = "";
    if (chain->count)
        tb_hash_text(&chain->entries[chain->count - 1].head, head);
    json_int_t lines = json_integer_value(json_object_get(run->close, "log_lines"));
    const char *verdict = log_verdict(chain);
    bool complete = strcmp(tb_member_text(run->close, "status"), "complete") == 0;
    if (!sealed)
        tb_verify_finding(verify, WITNESS_LOG, run->log, chain->count + 1,
                          "the log ends without its seal, though run %s was closed with %lld lines: its tail was cut off", run->id,
                          (long long)lines);
    else if (lines != (json_int_t)chain->count)
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count, "run %s was closed with %lld lines, there are %zu (%s)",
                          run->id, (long long)lines, chain->count, host->ledger);
    else if (strcmp(head, tb_member_text(run->close, "log_head")))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count,
                          "written anew: its last hash is not the one that %s has for run %s", host->ledger, run->id);
    else if (*verdict && complete && strcmp(verdict, tb_member_text(run->close, "verdict")))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count, "the log's verdict is '%s', and %s has '%s' for run %s",
                          verdict, host->ledger, tb_member_text(run->close, "verdict"), run->id);
}

// A ledger whose chain is broken may well have closed the run behind the break.
static void never_closed(struct verify *verify, struct verify_host *host, const struct verify_run *run,
                         const struct tb_chain *chain, bool sealed)
{
    if (host->chain.broken_line)
        return;
    if (sealed) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "run %s was never closed, though its log is sealed: %s",
                          run->id, run->log);
        return;
    }
    json_t *crashed = json_pack("{s:s, s:s, s:I, s:b}", "run", run->id, "log", run->log, "lines", (json_int_t)chain->count, "cut",
                                (int)chain->torn);
    if (json_array_append_new(host->crashed, crashed))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
}

static void unreadable(struct verify *verify, const struct verify_host *host, const struct verify_run *run, int rc)
{
    if (rc != -ENOENT && rc != -ENOTDIR)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "the log of run %s cannot be read: %s: %s", run->id,
                          run->log, strerror(-rc));
    else if (run->close)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "the log of run %s is missing: %s", run->id, run->log);
    else
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line,
                          "run %s was opened and dropped: it has neither an end nor a log (%s)", run->id, run->log);
}

// That there are such commits only history can say (verify_order.c).
static void commits_take(struct verify_run *run, const struct tb_chain *chain)
{
    const json_t *header = chain->count ? chain->entries[0].object : NULL;
    snprintf(run->postulate_commit, sizeof run->postulate_commit, "%s", tb_member_text(header, "postulate.commit"));
    snprintf(run->build_commit, sizeof run->build_commit, "%s", tb_member_text(header, "env.build.commit"));
}

void tb_verify_log(struct verify *verify, struct verify_host *host, struct verify_run *run)
{
    struct tb_chain chain;
    int rc = tb_chain_load(run->log, &chain);
    if (rc) {
        unreadable(verify, host, run, rc);
        return;
    }
    bool sealed = false;
    commits_take(run, &chain);
    if (chain_holds(verify, run, &chain) && header_agrees(verify, host, run, &chain) && seal_holds(verify, run, &chain, &sealed)) {
        if (run->close)
            close_agrees(verify, host, run, &chain, sealed);
        else
            never_closed(verify, host, run, &chain, sealed);
    }
    host->sealed += sealed;
    tb_chain_close(&chain);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_known(const struct verify_host *host, const char *path)
{
    for (size_t i = 0; i < host->runs_count; i++)
        if (strcmp(host->runs[i].log, path) == 0)
            return true;
    return strcmp(host->ledger, path) == 0;
}

void tb_verify_strays(struct verify *verify, const struct verify_host *host)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%s", verify->config->root, host->name);
    FTS *walk = tb_file_walk(folder);
    if (!walk) {
        tb_verify_impossible(verify, -errno, "%s: %s", folder, strerror(errno));
        return;
    }
    for (FTSENT *entry; (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
            tb_verify_impossible(verify, -entry->fts_errno, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
        else if (entry->fts_info == FTS_SL)
            tb_verify_link(verify, entry->fts_path, strlen(verify->config->root));
        else if (host->chain.broken_line || (entry->fts_info == FTS_F && entry->fts_statp->st_size == 0))
            continue; // opened behind the break, perhaps; or of a process that died before it opened its run
        else if (entry->fts_info != FTS_DP && ends_with(entry->fts_path, ".jsonl") && !is_known(host, entry->fts_path))
            tb_verify_finding(verify, WITNESS_LEDGER, entry->fts_path, 1, "a stray log: no run of %s wrote it", host->ledger);
    }
    fts_close(walk);
}
