// SPDX-License-Identifier: Apache-2.0
//
// locus postulate file: enters a postulate into a host's ledger. From then on its hash is known, and it may not change.
//
// What is filed has to be in HEAD byte for byte, so that whoever clones the repository finds what the ledger speaks of. The blob
// itself is compared, not git's opinion about the working tree, which can be told to look away (assume-unchanged).

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/postulate/postulate.h"
#include "testbed/host/head.h"
#include "testbed/record/git.h"
#include "testbed/record/ledger.h"

static int committed(const struct tb_postulate *postulate)
{
    static const char *const inside[] = {"rev-parse", "--is-inside-work-tree", NULL};
    char object[4096 + 8], sha256[TB_HASH_TEXT], *blob = NULL, answer[16];
    snprintf(object, sizeof object, "HEAD:./%s", postulate->path);
    const char *const show[] = {"cat-file", "blob", object, NULL};
    int rc = tb_git_line(NULL, inside, answer, sizeof answer);
    if (rc == -ENOENT)
        tb_error("there is no git program here, and only git can show that a prediction came before its run: install git");
    else if (rc == -ECHILD)
        tb_error(
            "this folder is in no git repository (or git refuses it: see git status): a prediction counts only if it is committed");
    else if (rc)
        tb_error("git: %s", strerror(-rc));
    if (rc)
        return TB_EXIT_FAILED;
    rc = tb_git(NULL, show, &blob);
    if (!rc)
        rc = tb_hash_memory(blob, strlen(blob), sha256);
    if (rc)
        tb_error("postulate %s is not committed (git add %s && git commit). A prediction counts only if it came before the run",
                 postulate->id, postulate->path);
    else if (strcmp(sha256, postulate->sha256) != 0)
        tb_error("%s is not what is committed (see: git diff HEAD -- %s). Commit it first", postulate->path, postulate->path);
    free(blob);
    return rc || strcmp(sha256, postulate->sha256) != 0 ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// A file that came once, and never again, is what history can prove without the ledger's help.
static int committed_once(const struct tb_postulate *postulate)
{
    const char *const log[] = {"rev-list", "--full-history", "--abbrev-commit", "HEAD", "--", postulate->path, NULL};
    char *commits = NULL;
    int rc = tb_git(NULL, log, &commits);
    size_t count = 0;
    for (const char *c = commits; !rc && *c; c++)
        count += *c == '\n';
    free(commits);
    if (!rc && count == 1)
        return TB_EXIT_OK;
    tb_error("%s was committed %zu times, and a postulate comes once: give the text a number and a file of its own",
             postulate->path, count);
    return TB_EXIT_FAILED;
}

static int append(struct tb_ledger *ledger, json_t *entry)
{
    int rc = entry ? tb_ledger_append(ledger, entry) : -ENOMEM;
    json_decref(entry);
    return rc;
}

// Both entries where they are missing: a crash between them is put right by filing once more. -EEXIST: filed with another hash,
// by someone who was faster.
static int enter(struct tb_ledger *ledger, const struct tb_postulate *postulate, bool *new)
{
    const json_t *entry = tb_ledger_filed(ledger, postulate->id);
    const char *sha256 = json_string_value(json_object_get(entry, "sha256"));
    int rc = entry && (!sha256 || strcmp(sha256, postulate->sha256) != 0) ? -EEXIST : 0;
    *new = !entry;
    if (*new)
        rc = append(ledger, json_pack("{s:s, s:s, s:s, s:s}", "t", "postulate", "id", postulate->id, "path", postulate->path,
                                      "sha256", postulate->sha256));
    if (!rc && postulate->supersedes[0] && !tb_ledger_find(ledger, "supersede", "by", postulate->id))
        rc = append(ledger, json_pack("{s:s, s:s, s:s}", "t", "supersede", "id", postulate->supersedes, "by", postulate->id));
    return rc;
}

static int file_in(const char *host, const struct tb_postulate *postulate)
{
    struct tb_ledger *ledger = NULL;
    struct tb_checkpoint checkpoint;
    char why[4500], text[256];
    bool new = false;
    if (tb_ledger_open(&ledger, TB_LOGS, host, true, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    int rc = enter(ledger, postulate, &new);
    if (rc)
        tb_error("%s/%s/ledger.jsonl: %s", TB_LOGS, host, strerror(-rc));
    tb_ledger_checkpoint(ledger, &checkpoint);
    tb_ledger_close(ledger);
    if (rc)
        return TB_EXIT_FAILED;
    tb_checkpoint_text(&checkpoint, text, sizeof text);
    printf("%s %s in %s/%s/ledger.jsonl\nsha256      %s\ncheckpoint  %s\n", postulate->path,
           new ? "filed" : "was filed already, unchanged,", TB_LOGS, host, postulate->sha256, text);
    return TB_EXIT_OK;
}

int tb_postulate_file(const char *number, const char *host)
{
    struct tb_postulate *postulate = NULL;
    struct tb_store filed = {0};
    char own[64];
    if (!host && tb_host_name(own, sizeof own)) {
        tb_error("this host has no usable name: give one with --host NAME");
        return TB_EXIT_USAGE;
    }
    int status = tb_postulate_get(number, &postulate);
    if (!status)
        status = tb_postulate_filed(&filed);
    if (!status)
        status = tb_postulate_check(postulate, &filed);
    if (!status)
        status = committed(postulate);
    if (!status && !tb_store_last(&filed, "postulate", "id", postulate->id, NULL))
        status = committed_once(postulate);
    if (!status)
        status = file_in(host ? host : own, postulate);
    tb_store_close(&filed);
    tb_postulate_close(postulate);
    return status;
}
