// SPDX-License-Identifier: Apache-2.0
//
// official: see official.h. Git is asked, and the commit that the program was built from.
#include "testbed/run/official.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/host/environment.h"
#include "testbed/judge/figure.h"
#include "testbed/record/git.h"

// The commit that this program was built from; false when it had changes besides.
static bool build_commit(char *out, size_t bytes)
{
    json_t *environment = tb_environment("");
    const json_t *build = json_object_get(environment, "build");
    const char *commit = json_string_value(json_object_get(build, "commit"));
    const char *dirty = json_string_value(json_object_get(build, "dirty"));
    bool clean = commit && dirty && strcmp(dirty, "no") == 0;
    snprintf(out, bytes, "%s", commit ? commit : "");
    json_decref(environment);
    return clean;
}

static bool built_from_head(void)
{
    char commit[64], *nothing = NULL;
    const char *const same[] = {"diff", "--quiet", commit, "HEAD", "--", ".", ":!logs", ":!experiments/*.md", NULL};
    bool clean = build_commit(commit, sizeof commit) && tb_git(NULL, same, &nothing) == 0;
    free(nothing);
    return clean;
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
    const char *const status[] = {"status", "--porcelain", "--", ".", ":!logs", NULL};
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
    } else if (!built_from_head()) {
        tb_error("--official: this program was not built from what is committed. Run make, then try again");
        error = -EPERM;
    }
    free(changes);
    return error;
}
