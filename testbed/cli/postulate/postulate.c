// SPDX-License-Identifier: Apache-2.0
//
// locus postulate: predictions, written, checked and filed before the run.

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/commands.h"
#include "testbed/cli/postulate/postulate.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/agree.h"

enum { KEY_TITLE = 1000, KEY_HOST, KEY_JSON, WORDS_MAX = 256 };

struct arguments {
    const char *words[WORDS_MAX]; // the action, then its arguments
    int count;
    const char *title, *host;
    bool json;
};

static const struct argp_option options[] = {
    {"title", KEY_TITLE, "TEXT", 0, "new: the title", 0},
    {"json", KEY_JSON, NULL, 0, "list: one JSON object", 0},
    {"host", KEY_HOST, "NAME", 0, "file: whose ledger (LOCUS_HOST, or this host's name)", 0},
    {0},
};

static const char documentation[] =
    "Predictions in postulates/NNNN-slug.md, filed before the run that tests them.\v"
    "  new SLUG          writes the next number's file, with every key explained\n"
    "  list              all of them: predictions, and whether they are filed\n"
    "  show NNNN         one of them, as it was understood\n"
    "  check [NNNN...]   reads all or these, and compares them with their experiments\n"
    "  file NNNN         enters one into this host's ledger, logs/HOST/ledger.jsonl\n\n"
    "A prediction counts only if it came before its run, so what is filed has to be committed, and is never edited "
    "afterwards: an official run and `locus verify` compare its hash. Whoever knows better writes a new one with "
    "`supersedes: \"NNNN\"`.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus postulate new glibc-on-churn --title 'glibc pays for churn'\n"
    "  locus postulate check 0005\n"
    "  git add postulates && git commit -m 'Postulate 0005'\n"
    "  locus postulate file 0005\n\n"
    "Exit status: 0 done, 1 something is wrong with a postulate or its ledger, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_TITLE: arguments->title = argument; return 0;
    case KEY_HOST: arguments->host = argument; return 0;
    case KEY_JSON: arguments->json = true; return 0;
    case ARGP_KEY_ARG:
        if (arguments->count == WORDS_MAX)
            return tb_cli_bad(state, "more than %d arguments", WORDS_MAX);
        arguments->words[arguments->count++] = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- shared ---

int tb_postulate_open(const char *number, struct tb_postulate **out)
{
    struct tb_postulate_why why;
    char path[4096], id[8];
    if (tb_postulate_id(number, id)) {
        tb_error("'%s' is not the number of a postulate, such as 0002 (see: locus postulate list)", number);
        return TB_EXIT_USAGE;
    }
    int rc = tb_postulate_find(TB_POSTULATES, id, path, sizeof path);
    if (rc == -ENOENT)
        tb_error("%s/%s-*.md: there is no such postulate here (see: locus postulate list, at the root of the repository)",
                 TB_POSTULATES, id);
    else if (rc)
        tb_error("%s/%s-*.md: %s", TB_POSTULATES, id, rc == -ENOTUNIQ ? "two files have this number" : strerror(-rc));
    if (rc)
        return rc == -ENOENT ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    rc = tb_postulate_load(path, out, &why);
    if (rc)
        tb_error("%s", why.text);
    return rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

int tb_postulate_filed(struct tb_store *out)
{
    int rc = tb_store_add_ledgers(out, TB_LOGS);
    if (!rc)
        return tb_ledgers_whole(out);
    tb_error("%s: %s", TB_LOGS, strerror(-rc));
    return TB_EXIT_FAILED;
}

static int is_postulate(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 3 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 3, ".md") == 0 &&
           strcmp(entry->d_name, "README.md") != 0;
}

int tb_postulate_names(char ***names)
{
    struct dirent **entries = NULL;
    int count = scandir(TB_POSTULATES, &entries, is_postulate, alphasort), rc = count < 0 ? -errno : count;
    if (rc < 0)
        tb_error("%s: %s (this wants to be run at the root of the repository)", TB_POSTULATES, strerror(errno));
    *names = calloc(count > 0 ? (size_t)count : 1, sizeof **names);
    for (int i = 0; i < count; i++) {
        if (*names && asprintf(&(*names)[i], TB_POSTULATES "/%s", entries[i]->d_name) < 0)
            (*names)[i] = NULL;
        if (rc >= 0 && (!*names || !(*names)[i]))
            rc = -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    if (rc == -ENOMEM)
        tb_error("out of memory");
    return rc;
}

// --- check ---

// A library that is not installed here is a need of the run, not a mistake in the prediction.
static int contenders_check(const struct tb_postulate *postulate)
{
    char why[4500];
    int status = TB_EXIT_OK;
    for (uint32_t i = 0; i < postulate->arms_count; i++) {
        struct tb_arm arm;
        int rc = tb_arm_parse(postulate->arms[i].name, &arm, why, sizeof why);
        if (!rc || rc == -ENODEV)
            continue;
        tb_error("%s: arm %s: %s", postulate->path, postulate->arms[i].key, why);
        status = TB_EXIT_FAILED;
    }
    return status;
}

int tb_postulate_check(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    const struct tb_experiment *experiment = tb_experiment_find(postulate->id);
    const struct tb_store_host *other = tb_store_otherwise(filed, postulate->id, postulate->sha256);
    char why[1024], path[4096];
    int status = contenders_check(postulate);
    if (experiment && tb_postulate_agrees(postulate, experiment, why, sizeof why)) {
        tb_error("%s", why);
        status = TB_EXIT_FAILED;
    }
    if (postulate->supersedes[0] && tb_postulate_find(TB_POSTULATES, postulate->supersedes, path, sizeof path)) {
        tb_error("%s: it supersedes %s, which is not here", postulate->path, postulate->supersedes);
        status = TB_EXIT_FAILED;
    }
    if (other) {
        tb_error("%s: it is not what was filed (%s has another hash). Take the change back, and write a new one that supersedes it",
                 postulate->path, other->path);
        status = TB_EXIT_FAILED;
    }
    return status;
}

static int check_one(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    if (tb_postulate_check(postulate, filed))
        return TB_EXIT_FAILED;
    printf("%s: ok, %u prediction%s%s\n", postulate->path, postulate->predictions_count,
           postulate->predictions_count == 1 ? "" : "s", tb_experiment_find(postulate->id) ? "" : "; it has no experiment yet");
    return TB_EXIT_OK;
}

static int check_all(const struct tb_store *filed)
{
    char **names = NULL;
    int count = tb_postulate_names(&names), status = count < 0 ? TB_EXIT_FAILED : TB_EXIT_OK;
    const char *before = "";
    for (int i = 0; i < count; i++) {
        struct tb_postulate *postulate = NULL;
        struct tb_postulate_why why;
        bool twice = strncmp(before, names[i], strlen(TB_POSTULATES "/NNNN-")) == 0;
        before = names[i];
        if (tb_postulate_load(names[i], &postulate, &why)) {
            tb_error("%s", why.text);
            status = TB_EXIT_FAILED;
        } else if (check_one(postulate, filed)) {
            status = TB_EXIT_FAILED;
        }
        if (twice) {
            tb_error("%s: another file has this number, too", names[i]);
            status = TB_EXIT_FAILED;
        }
        tb_postulate_close(postulate);
    }
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

static int check(const char *const numbers[], int count)
{
    struct tb_store filed = {0};
    int status = tb_postulate_filed(&filed);
    if (count == 0) {
        int all = check_all(&filed);
        status = all ? all : status;
    }
    for (int i = 0; i < count; i++) {
        struct tb_postulate *postulate = NULL;
        int one = tb_postulate_open(numbers[i], &postulate);
        if (!one)
            one = check_one(postulate, &filed);
        status = one ? one : status;
        tb_postulate_close(postulate);
    }
    tb_store_close(&filed);
    return status;
}

// --- the command ---

static int usage(const char *action, const char *form)
{
    tb_error("locus postulate %s: it is `locus postulate %s` (see: locus postulate --help)", action, form);
    return TB_EXIT_USAGE;
}

static int act(const struct arguments *arguments)
{
    const char *action = arguments->count ? arguments->words[0] : "", *const *words = arguments->words + 1;
    int count = arguments->count - 1;
    bool new = strcmp(action, "new") == 0, list = strcmp(action, "list") == 0, file = strcmp(action, "file") == 0;
    if ((arguments->title && !new) || (arguments->json && !list) || (arguments->host && !file)) {
        tb_error("--title is for new, --json for list, --host for file (see: locus postulate --help)");
        return TB_EXIT_USAGE;
    }
    if (new)
        return count == 1 ? tb_postulate_new(words[0], arguments->title) : usage("new", "new SLUG [--title TEXT]");
    if (list)
        return count == 0 ? tb_postulate_list(arguments->json) : usage("list", "list [--json]");
    if (strcmp(action, "show") == 0)
        return count == 1 ? tb_postulate_show(words[0]) : usage("show", "show NNNN");
    if (strcmp(action, "check") == 0)
        return check(words, count);
    if (file)
        return count == 1 ? tb_postulate_file(words[0], arguments->host) : usage("file", "file NNNN [--host NAME]");
    if (action[0])
        tb_error("postulate: '%s' is not new, list, show, check or file (see: locus postulate --help)", action);
    else
        tb_error("postulate: which of new, list, show, check and file? (see: locus postulate --help)");
    return TB_EXIT_USAGE;
}

int tb_cmd_postulate(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, "new|list|show|check|file [ARGUMENT...]", documentation, NULL, NULL, NULL};
    int status = tb_cli_parse(&argp, "postulate", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("postulate");
    if (status)
        return status;
    status = act(&arguments);
    int flushed = tb_cli_flush();
    return status ? status : flushed;
}
