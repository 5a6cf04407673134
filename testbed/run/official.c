// SPDX-License-Identifier: Apache-2.0
//
// official: see official.h. Git is asked, and the commit that the program was built from.
#include "testbed/run/official.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/host/environment.h"
#include "testbed/judge/figure.h"
#include "testbed/record/git.h"

// Without what is no part of the program: results.
#define CODE ".", ":!logs", ":!experiments/*.md"

// The program's commit, and what HEAD is. Both are shortened in the message as git does.
static void built_say(const char *commit, bool dirty, const char *head)
{
    if (strcmp(commit, "unknown") == 0)
        tb_error("--official: this program does not know from which commit it was built: run make in a clone of the repository");
    else if (dirty)
        tb_error("--official: this program was built from commit %.12s with changes that are in no commit. The tree is clean now: "
                 "run make, then try again",
                 commit);
    else
        tb_error("--official: this program was built from commit %.12s, and not from what is committed: HEAD is %.12s. Run make, "
                 "then try again",
                 commit, head);
}

// 0, or -EPERM after a report that names the commits.
static int built_refuse(void)
{
    json_t *environment = tb_environment("");
    const json_t *build = tb_member(environment, "build");
    char commit[64], head[64] = "not there", *nothing = NULL;
    const char *const same[] = {"diff", "--quiet", commit, "HEAD", "--", CODE, NULL};
    const char *const at[] = {"rev-parse", "--verify", "HEAD", NULL};
    snprintf(commit, sizeof commit, "%s", tb_member_text(build, "commit"));
    bool clean = strcmp(tb_member_text(build, "dirty"), "no") == 0;
    bool built = clean && tb_git(NULL, same, &nothing) == 0;
    if (!built) {
        tb_git_line(NULL, at, head, sizeof head);
        built_say(commit, !clean, head);
    }
    free(nothing);
    json_decref(environment);
    return built ? 0 : -EPERM;
}

static bool all_exact(const struct tb_postulate *postulate)
{
    bool exact = true;
    for (uint32_t i = 0; i < postulate->predictions_count; i++)
        exact &= tb_prediction_exact(&postulate->predictions[i]);
    return exact;
}

bool tb_official_too_short(const struct tb_postulate *postulate)
{
    return postulate->rounds < TB_ROUNDS_OFFICIAL_MIN && !all_exact(postulate);
}

int tb_official_refuse_short(const struct tb_postulate *postulate)
{
    if (!tb_official_too_short(postulate))
        return 0;
    tb_error("%s: an official run of estimates needs at least %u rounds, and this has %llu", postulate->path,
             TB_ROUNDS_OFFICIAL_MIN, (unsigned long long)postulate->rounds);
    return -EPERM;
}

int tb_official_refuse(const struct tb_postulate *postulate)
{
    const char *const status[] = {"status", "--porcelain", "--", CODE, NULL};
    char *changes = NULL;
    int error = tb_git(NULL, status, &changes);
    if (error) {
        tb_error("--official: git cannot tell whether the tree is clean%s",
                 error == -ENOENT ? ": install git" : ": run it in the project's repository");
    } else if (tb_official_refuse_short(postulate)) {
        error = -EPERM;
    } else if (!tb_git_committed(postulate->path)) {
        tb_error("postulate %s is not committed (git status shows %s). Commit it first: a prediction counts only if it came before "
                 "the run.",
                 postulate->id, postulate->path);
        error = -EPERM;
    } else if (changes[0]) {
        tb_error("--official: the tree is not clean (%.*s). Commit or stash it: a log names the commit that it measured",
                 (int)strcspn(changes, "\n"), changes);
        error = -EPERM;
    } else {
        error = built_refuse();
    }
    free(changes);
    return error;
}
