// SPDX-License-Identifier: Apache-2.0
//
// reproduce: see reproduce.h.
//
// The clone shares the repository's objects and writes nothing into it, not even the entry of a worktree. What is taken from the
// log reaches git and make as single words that were checked before: a log is data from elsewhere.

#include "testbed/report/hosts/reproduce.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/host/environment.h"
#include "testbed/measure/contender.h"
#include "testbed/record/git.h"

// --- what is needed ------------------------------------------------------------------------------------------------------------

static bool is_commit(const char *text)
{
    size_t length = strlen(text);
    return (length == 40 || length == 64) && strspn(text, "0123456789abcdef") == length;
}

static int check_commit(const struct tb_log_view *view, char *why, size_t why_bytes)
{
    const char *commit = tb_member_text(view->header, "env.build.commit");
    char object[80], found[80];
    if (!is_commit(commit)) {
        snprintf(why, why_bytes, "%s: the log names no commit (it says '%s'), so what it measured is not known", view->path,
                 tb_member_show(view->header, "env.build.commit", found, sizeof found));
        return -EINVAL;
    }
    if (strcmp(tb_member_text(view->header, "env.build.dirty"), "no")) {
        snprintf(why, why_bytes,
                 "%s: it was built from commit %.12s with changes that are in no commit, so what it measured is gone", view->path,
                 commit);
        return -EINVAL;
    }
    snprintf(object, sizeof object, "%s^{commit}", commit);
    const char *const top[] = {"rev-parse", "--git-dir", NULL}, *const verify[] = {"rev-parse", "--verify", "--quiet", object,
                                                                                   NULL};
    char ignored[PATH_MAX];
    int rc = tb_git_line(NULL, top, ignored, sizeof ignored);
    if (rc)
        snprintf(why, why_bytes, "%s",
                 rc == -ENOENT ? "git is not installed (apt-get install git)"
                               : "this folder is in no git repository: run it in the project's");
    else if ((rc = tb_git_line(NULL, verify, found, sizeof found)) != 0)
        snprintf(why, why_bytes, "%s: commit %.12s is not in this repository. Fetch it (git fetch --all), then try again",
                 view->path, commit);
    return rc ? -EINVAL : 0;
}

// On hardware the counts might even come out the same, but it would not be the machine of the log.
static int check_guest(const struct tb_log_view *view, char *why, size_t why_bytes)
{
    const char *guest = tb_log_emulated(view), *here = tb_environment_guest();
    char shown[64], id[16];
    if (!guest || (here && strcmp(guest, here) == 0))
        return 0;
    snprintf(why, why_bytes,
             "%s: it was made in an emulated guest (%s). In its commit, built: locus guest -m %s -- run %s --seed %" PRIu64
             " --rounds %" PRIu64,
             view->path, tb_member_show(view->header, "emulated", shown, sizeof shown), shown,
             tb_member_show(view->header, "experiment.id", id, sizeof id),
             (uint64_t)json_integer_value(tb_member(view->header, "design.seed")),
             (uint64_t)json_integer_value(tb_member(view->header, "design.rounds")));
    return -EINVAL;
}

static int check_arm(const json_t *entry, char *why, size_t why_bytes, char *note, size_t note_bytes)
{
    struct tb_arm arm;
    char reason[512], sha256[TB_HASH_TEXT];
    const char *wanted = tb_member_text(entry, "library_sha256");
    if (!json_is_string(tb_member(entry, "library")))
        return 0;
    if (tb_arm_parse(tb_member_text(entry, "name"), &arm, reason, sizeof reason) == -ENODEV) {
        snprintf(why, why_bytes, "%s", reason);
        return -EINVAL;
    }
    if (*wanted && tb_hash_file(arm.library, sha256) == 0 && strcmp(wanted, sha256) && !note[0])
        snprintf(note, note_bytes, "%s is another file here than in the log (%s)", tb_member_text(entry, "name"), arm.library);
    return 0;
}

int tb_reproduce_check(const struct tb_log_view *view, char *why, size_t why_bytes, char *note, size_t note_bytes)
{
    const json_t *entry;
    size_t i;
    note[0] = '\0';
    int rc = check_guest(view, why, why_bytes);
    if (!rc)
        rc = check_commit(view, why, why_bytes);
    json_array_foreach (tb_member(view->header, "arms"), i, entry)
        if (!rc)
            rc = check_arm(entry, why, why_bytes, note, note_bytes);
    return rc;
}

// --- running -------------------------------------------------------------------------------------------------------------------

static int checkout(const char *commit, const char *tree, char *why, size_t why_bytes)
{
    char top[PATH_MAX], *ignored = NULL;
    const char *const show[] = {"rev-parse", "--show-toplevel", NULL};
    const char *const clone[] = {"clone", "--quiet", "--shared", "--no-checkout", "--", top, tree, NULL};
    const char *const check[] = {"checkout", "--quiet", "--detach", commit, NULL};
    int rc = tb_git_line(NULL, show, top, sizeof top);
    if (!rc)
        rc = tb_git(NULL, clone, &ignored);
    free(ignored);
    ignored = NULL;
    if (!rc)
        rc = tb_git(tree, check, &ignored);
    free(ignored);
    if (rc)
        snprintf(why, why_bytes, "commit %.12s could not be checked out into %s", commit, tree);
    return rc;
}

// The compiler by which the log's program was built, if it is one of the two that we know.
static const char *compiler(const struct tb_log_view *view)
{
    return strncmp(tb_member_text(view->header, "env.build.flags"), "clang ", 6) == 0 ? "CC=clang" : "CC=gcc";
}

// A fresh clone has one variant only: *program is it, relative to the tree.
static int build(const struct tb_log_view *view, const char *folder, const char *tree, char *program, size_t bytes, char *why,
                 size_t why_bytes)
{
    const char *const make[] = {"make", compiler(view), NULL};
    char output[PATH_MAX], pattern[PATH_MAX];
    glob_t found = {0};
    snprintf(output, sizeof output, "%.4000s/make.txt", folder);
    snprintf(pattern, sizeof pattern, "%.4000s/build/*/locus", tree);
    int rc = tb_child_run(tree, make, output, true);
    if (rc) {
        snprintf(why, why_bytes, "make failed in %s; its words are in %s", tree, output);
    } else if (glob(pattern, 0, NULL, &found) || found.gl_pathc != 1) {
        snprintf(why, why_bytes, "%s: make built no program", tree);
        rc = -ENOENT;
    } else {
        snprintf(program, bytes, "%s", found.gl_pathv[0]);
    }
    globfree(&found);
    return rc;
}

// The run says where its log is.
static int find_log(const char *output, const char *tree, char *log, size_t bytes)
{
    char *line = NULL;
    size_t size = 0;
    int rc = -ENOENT;
    FILE *in = fopen(output, "re");
    if (!in)
        return -errno;
    while (rc && getline(&line, &size, in) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "log ", 4) == 0)
            rc = (size_t)snprintf(log, bytes, "%s/%s", tree, line + 4) < bytes ? 0 : -ENAMETOOLONG;
    }
    free(line);
    fclose(in);
    return rc;
}

static int measure(const struct tb_log_view *view, uint64_t rounds, const char *folder, const char *tree, const char *program,
                   char *log, size_t log_bytes, char *why, size_t why_bytes)
{
    char seed[24], count[24], output[PATH_MAX];
    const char *const argv[] = {program, "run", tb_member_text(view->header, "experiment.id"), "--seed", seed, "--rounds",
                                count,   NULL};
    json_int_t own = json_integer_value(tb_member(view->header, "design.rounds"));
    snprintf(seed, sizeof seed, "%" PRIu64, (uint64_t)json_integer_value(tb_member(view->header, "design.seed")));
    snprintf(count, sizeof count, "%" PRIu64, rounds ? rounds : (uint64_t)own);
    snprintf(output, sizeof output, "%.4000s/run.txt", folder);
    int rc = tb_child_run(tree, argv, output, false);
    if (rc) {
        snprintf(why, why_bytes, "the run failed: locus run %s --seed %s --rounds %s in %s", argv[2], seed, count, tree);
        return rc;
    }
    rc = find_log(output, tree, log, log_bytes);
    if (rc)
        snprintf(why, why_bytes, "%s: the run does not say where its log is", output);
    return rc;
}

int tb_reproduce_run(const struct tb_log_view *view, uint64_t rounds, char *folder, size_t folder_bytes, char *log,
                     size_t log_bytes, char *why, size_t why_bytes)
{
    const char *parent = getenv("TMPDIR");
    char tree[PATH_MAX], program[PATH_MAX];
    int length = snprintf(folder, folder_bytes, "%s/locus-XXXXXX", parent && *parent ? parent : "/tmp");
    if (length >= (int)folder_bytes || !mkdtemp(folder)) {
        int error = length >= (int)folder_bytes ? ENAMETOOLONG : errno;
        snprintf(why, why_bytes, "%.200s: %s", folder, strerror(error));
        folder[0] = '\0';
        return -error;
    }
    snprintf(tree, sizeof tree, "%.4000s/tree", folder);
    int rc = checkout(tb_member_text(view->header, "env.build.commit"), tree, why, why_bytes);
    if (!rc)
        rc = build(view, folder, tree, program, sizeof program, why, why_bytes);
    if (!rc)
        rc = measure(view, rounds, folder, tree, program, log, log_bytes, why, why_bytes);
    return rc;
}
