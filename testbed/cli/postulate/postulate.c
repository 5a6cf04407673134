// SPDX-License-Identifier: Apache-2.0
//
// locus postulate: predictions, written, checked and filed before the run.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/cli/postulate/postulate.h"
#include "testbed/measure/contender.h"

enum { KEY_TITLE = 1000, KEY_HOST, WORDS_MAX = 256 };

struct arguments {
    const char *words[WORDS_MAX]; // the action, then its arguments
    int count;
    const char *title, *host;
};

static const struct argp_option options[] = {
    {"title", KEY_TITLE, "TEXT", 0, "new: the title", 0},
    {"host", KEY_HOST, "NAME", 0, "file: whose ledger (LOCUS_HOST, or this host's name)", 0},
    {0},
};

static const char documentation[] =
    "Predictions in postulates/NNNN-slug.md, filed before the run that tests them.\v"
    "  new SLUG          writes the next number's file, with every key explained\n"
    "  check [NNNN...]   reads all or these, and says what is wrong\n"
    "  file NNNN         enters one into this host's ledger, logs/HOST/ledger.jsonl\n\n"
    "A postulate is the whole experiment: `locus run NNNN` runs its design. `locus postulate list` shows them all.\n\n"
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
    case ARGP_KEY_ARG:
        if (arguments->count == WORDS_MAX)
            return tb_cli_bad(state, "more than %d arguments", WORDS_MAX);
        arguments->words[arguments->count++] = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- shared ---

int tb_postulate_get(const char *number, struct tb_postulate **out)
{
    struct tb_postulate_why why;
    int rc = tb_postulate_open(number, out, &why);
    if (rc)
        tb_error("%s", why.text);
    return rc == -ENOENT ? TB_EXIT_USAGE : rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

int tb_postulate_filed(struct tb_store *out)
{
    int rc = tb_store_add_ledgers(out, TB_LOGS);
    if (rc)
        tb_error("%s: %s", TB_LOGS, strerror(-rc));
    return rc ? TB_EXIT_FAILED : tb_ledgers_whole(out);
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
    const struct tb_store_host *other = tb_store_otherwise(filed, postulate->id, postulate->sha256);
    char path[4096];
    int status = contenders_check(postulate);
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
    printf("%s: ok, %u prediction%s\n", postulate->path, postulate->predictions_count,
           postulate->predictions_count == 1 ? "" : "s");
    return TB_EXIT_OK;
}

static int check_all(const struct tb_store *filed)
{
    struct tb_postulates all;
    int rc = tb_postulates_load(&all), status = rc ? TB_EXIT_FAILED : TB_EXIT_OK;
    if (rc)
        tb_error(TB_POSTULATES ": %s", strerror(-rc));
    for (size_t i = 0; i < all.count; i++) {
        const struct tb_postulate_file *file = &all.files[i];
        if (!file->postulate)
            tb_error("%s", file->why.text);
        if (!file->postulate || check_one(file->postulate, filed))
            status = TB_EXIT_FAILED;
        if (i > 0 && strncmp(file[-1].path, file->path, strlen(TB_POSTULATES "/NNNN-")) == 0) {
            tb_error("%s: another file has this number, too", file->path);
            status = TB_EXIT_FAILED;
        }
    }
    tb_postulates_close(&all);
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
        int one = tb_postulate_get(numbers[i], &postulate);
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
    bool new = strcmp(action, "new") == 0, file = strcmp(action, "file") == 0;
    if ((arguments->title && !new) || (arguments->host && !file)) {
        tb_error("--title is for new, --host for file (see: locus postulate --help)");
        return TB_EXIT_USAGE;
    }
    if (new)
        return count == 1 ? tb_postulate_new(words[0], arguments->title) : usage("new", "new SLUG [--title TEXT]");
    if (strcmp(action, "check") == 0)
        return check(words, count);
    if (file)
        return count == 1 ? tb_postulate_file(words[0], arguments->host) : usage("file", "file NNNN [--host NAME]");
    if (action[0])
        tb_error("postulate: '%s' is not new, check or file (see: locus postulate --help)", action);
    else
        tb_error("postulate: which of new, check and file? (see: locus postulate --help)");
    return TB_EXIT_USAGE;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, "new|check|file [ARGUMENT...]", documentation, NULL, NULL, NULL};
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

TB_COMMAND(100, "postulate", "new, check, file: predictions before the run *", command);
