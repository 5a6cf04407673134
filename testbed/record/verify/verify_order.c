// SPDX-License-Identifier: Apache-2.0
//
// verify_order: of how many official runs history proves that the prediction came first.
//
// Where commits came in a good order the rules of verify_git.c are content, and whoever commits a record anew chooses that order.
// What cannot be chosen afterwards is the name of a commit: a log that names one was begun when that commit was there. So four
// things are counted for each run, and its order is proven by all of them together:
//
//   postulate_before_filing   the filed postulate came in a commit before the one in which the ledger has its filing
//   filing_before_log         that one came before the commit that added the log
//   postulate_commit          the commit of the postulate that the log names is in this history, and has the filed postulate
//   build_commit              so is the commit that the program was built from: the source that was measured
//
// A commit that is not here proves nothing and refutes nothing: it is counted. One that is here with another postulate refutes what
// the log says, and is a finding.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/record/git.h"
#include "testbed/record/verify/verify_history.h"

enum proof { POSTULATE_BEFORE_FILING, FILING_BEFORE_LOG, POSTULATE_COMMIT, BUILD_COMMIT, PROOFS };
static const char *const names[PROOFS] = {"postulate_before_filing", "filing_before_log", "postulate_commit", "build_commit"};

struct order {
    struct verify *verify;
    const struct history *history;
    const struct verify_host *host;
    size_t runs, proven, proofs[PROOFS];
    json_t *lost[PROOFS];       // commits that logs name and that are not here; of the last two
    struct beginnings ledger;   // of the host's ledger
    const struct verify_run *refuted; // the last one that names a commit with another postulate
    char *blobs, *blob;         // what git found, a line for each question of questions_write(); the line that comes next
};

static const char *named(const struct verify_run *run, enum proof which)
{
    return which == POSTULATE_COMMIT ? run->postulate_commit : run->build_commit;
}

static bool counts(const struct verify_run *run)
{
    return strcmp(run->kind, "official") == 0 && run->postulate_path;
}

// --- the commits that a log names ----------------------------------------------------------------------------------------------

static int one_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

// One process for all of them: the blob of the postulate in each commit.
static int questions_write(const struct verify_host *host, char **out)
{
    size_t bytes;
    FILE *stream = open_memstream(out, &bytes);
    if (!stream)
        return -ENOMEM;
    for (size_t i = 0; i < host->runs_count; i++)
        for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT && counts(&host->runs[i]); which++)
            fprintf(stream, "%.*s:%.*s\n", one_line(named(&host->runs[i], which)), named(&host->runs[i], which),
                    one_line(host->runs[i].postulate_path), host->runs[i].postulate_path);
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
                          named(run, which), which == POSTULATE_COMMIT ? "for its postulate" : "as its source",
                          run->postulate_path);
    order->refuted = run;
    return false;
}

static bool commit_proves(struct order *order, const struct verify_run *run, enum proof which, const char *filed)
{
    const char *commit = named(run, which), *blob = strsep(&order->blob, "\n");
    if (tb_history_has(order->history, commit))
        return has_postulate(order, run, which, blob ? blob : "", filed);
    json_t *known;
    size_t i;
    json_array_foreach (order->lost[which], i, known)
        if (strcmp(json_string_value(known), commit) == 0)
            return false;
    if (*commit && json_array_append_new(order->lost[which], json_string(commit)))
        tb_verify_impossible(order->verify, -ENOMEM, "out of memory");
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
        size_t bytes =
            tb_history_is_of(order->history, i, order->host->ledger) ? tb_beginning_bytes(&order->ledger, change->new) : 0;
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
        if (!tb_history_is_of(history, i, path) || history->changes[i].status != 'A')
            continue;
        added = true;
        if (!tb_history_before(history, commit, history->changes[i].commit))
            return false;
    }
    return added;
}

// The blob of the postulate as it was filed; "" where the file is no longer that: then verify_ledger.c has said so.
static void filed_blob(const struct order *order, const struct verify_run *run, char out[TB_HASH_TEXT])
{
    char sha256[TB_HASH_TEXT];
    bool as_filed = tb_hash_file(run->postulate_path, sha256) == 0 && strcmp(sha256, run->postulate_sha256) == 0;
    if (!as_filed || !order->history->count || tb_blob_of_file(run->postulate_path, order->history->changes[0].new, out))
        out[0] = '\0';
}

static void run_count(struct order *order, const struct verify_run *run)
{
    char filed[TB_HASH_TEXT];
    bool proofs[PROOFS], all = true;
    const char *filing = filing_commit(order, run->filed);
    filed_blob(order, run, filed);
    proofs[POSTULATE_BEFORE_FILING] = filing && tb_history_came_before(order->history, run->postulate_path, filing);
    proofs[FILING_BEFORE_LOG] = filing && added_after(order->history, run->log, filing);
    for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT; which++)
        proofs[which] = commit_proves(order, run, which, filed);
    for (enum proof which = 0; which < PROOFS; which++) {
        order->proofs[which] += proofs[which];
        all &= proofs[which];
    }
    order->runs++;
    order->proven += all;
}

// --- a host --------------------------------------------------------------------------------------------------------------------

static json_t *order_report(const struct order *order)
{
    json_t *report = json_pack("{s:s, s:I, s:I, s:O, s:O}", "host", order->host->name, "runs", (json_int_t)order->runs, "proven",
                               (json_int_t)order->proven, "postulate_commits_lost", order->lost[POSTULATE_COMMIT],
                               "build_commits_lost", order->lost[BUILD_COMMIT]);
    for (enum proof which = 0; which < PROOFS; which++)
        json_object_set_new(report, names[which], json_integer((json_int_t)order->proofs[which]));
    return report;
}

void tb_verify_order(struct verify *verify, const struct history *history, const struct verify_host *host, json_t *out)
{
    struct order order = {.verify = verify, .history = history, .host = host};
    for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT; which++)
        order.lost[which] = json_array();
    int rc = tb_beginnings_make(host->ledger, history->count ? strlen(history->changes[0].new) : 40, &order.ledger);
    if (!rc)
        rc = blobs_load(&order);
    for (size_t i = 0; i < host->runs_count && !rc; i++)
        if (counts(&host->runs[i]))
            run_count(&order, &host->runs[i]);
    if (rc)
        tb_verify_impossible(verify, rc, "--git: %s: %s", host->ledger, strerror(-rc));
    else if (order.runs && json_array_append_new(out, order_report(&order)))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    for (enum proof which = POSTULATE_COMMIT; which <= BUILD_COMMIT; which++)
        json_decref(order.lost[which]);
    free(order.ledger.of);
    free(order.blobs);
}
