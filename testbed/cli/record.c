// SPDX-License-Identifier: Apache-2.0
//
// locus record: drafts the record of a run, and files it.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/record/store.h"
#include "testbed/report/page/page.h"
#include "testbed/report/record/record.h"
#include "testbed/report/record/rejudge.h"

struct arguments {
    const char *words[3]; // draft NNNN RUN, file NNNN DRAFT, show RUN, rejudge [RUN]
    int count;
    const char *output;
    struct tb_forms forms; // of rejudge
    bool samples;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "where the draft goes (build/records/NNNN-slug-RUN.md)", 0},
    {"samples", 's', NULL, 0, "with show: the log's lines, each sample as a JSON object (for jq)", 0},
    {0},
};

static const struct argp_child children[] = {{&tb_forms_argp, 0, "Output of show (else Markdown) and rejudge:", 1}, {0}};

static const struct form {
    const char *action, *missing;
    int words, words_least;
} forms[] = {
    {"draft", "which experiment, and which run? (locus record draft 0002 a1b2c3)", 3, 3},
    {"file", "which experiment, and which draft? (locus record file 0002 FILE)", 3, 3},
    {"show", "which run? (locus record show a1b2c3)", 2, 2},
    {"rejudge", "", 2, 1},
};

static const struct form *form_of(const struct arguments *arguments)
{
    for (const struct form *form = forms; arguments->count > 0 && form < forms + sizeof forms / sizeof *forms; form++)
        if (strcmp(arguments->words[0], form->action) == 0)
            return form;
    return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    const struct form *form = form_of(arguments);
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case 'o': arguments->output = argument; return 0;
    case 's': arguments->samples = true; return 0;
    case ARGP_KEY_ARG:
        if (form && arguments->count == form->words)
            return tb_cli_bad(state, "unexpected argument '%s' (see: locus record --help)", argument);
        arguments->words[arguments->count++] = argument;
        if (!form_of(arguments))
            return tb_cli_bad(state, "locus record: '%s' is not draft, file, show or rejudge (see: locus record --help)", argument);
        return 0;
    case ARGP_KEY_END:
        if (!form || arguments->count < form->words_least)
            return tb_cli_bad(state, "locus record %s: %s", form ? form->action : forms[0].action, (form ? form : forms)->missing);
        if (form != forms && arguments->output)
            return tb_cli_bad(state, "--output is for draft: a record is filed as experiments/NNNN-slug.md, and shown here");
        if (arguments->samples && strcmp(form->action, "show"))
            return tb_cli_bad(state, "--samples is for show (locus record show --samples a1b2c3)");
        if (tb_forms_wanted(&arguments->forms) && (form < forms + 2 || arguments->samples))
            return tb_cli_bad(state, "%s is for show, without --samples, and for rejudge", tb_forms_wanted(&arguments->forms));
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const char documentation[] =
    "The record of a run: what a person makes of it, beside the log that it is of.\v"
    "`show` writes what follows from the log, as Markdown or in another form: question, prediction against observation, arms, "
    "gates, environment. Any run can be shown, a trial, too. With --samples it writes the log's lines for other programs, as "
    "testbed/record/log.h lists them: a JSON object a line, without hashes, whatever the log's version; as far as the log goes, if "
    "its run crashed.\n\n"
    "`draft` begins the record of an official run: verdict, log and last hash, and two empty sections, \"Interpretation\" and "
    "\"Next question\". Write them, then `file` the draft: it becomes experiments/NNNN-slug.md for good, a later one "
    "NNNN-slug.add1.md, and is entered in the ledger. What was changed in its head by hand is noticed, and refused.\n\n"
    "`rejudge` shows what the second rules of judgement would say of runs that were filed under the first, of one RUN or of all "
    "below logs/: predictions that were open, and those that get another word. The sealed verdicts stay.\n\n"
    "Filing works on a clone of the project's repository: call it at the top of one.\n\n"
    "RUN is a run's id, the last six digits of it, or its log.\n\n"
    "Examples:\n"
    "  locus record show a1b2c3\n"
    "  locus record rejudge --csv\n"
    "  locus record show --samples a1b2c3 | jq 'select(.t == \"s\") | .time_ns'\n"
    "  locus record draft 0002 a1b2c3\n"
    "  editor build/records/0002-glibc-churn-a1b2c3.md\n"
    "  locus record file 0002 build/records/0002-glibc-churn-a1b2c3.md\n"
    "  git add experiments logs && git commit\n\n"
    "Exit status: 0 written, 1 it could not be written, 2 bad input.";

// The run is one of this experiment: "2" and "0002" are the same.
static bool is_experiment(const char *wanted, const struct tb_log_view *view)
{
    const char *id = tb_member_text(view->header, "experiment.id");
    char shown[64];
    uint64_t number;
    if (tb_cli_u64(wanted, 0, 9999, &number) && number == strtoull(id, NULL, 10))
        return true;
    tb_error("%s: is a run of experiment %s, not of %s", view->path,
             tb_member_show(view->header, "experiment.id", shown, sizeof shown), wanted);
    return false;
}

static void default_output(const struct tb_log_view *view, char *path, size_t bytes)
{
    const char *run = tb_member_text(view->header, "run");
    size_t length = strlen(run);
    mkdir("build", 0755); // where they cannot be made, writing the file says so
    mkdir("build/records", 0755);
    snprintf(path, bytes, "build/records/%s-%s-%s.md", tb_member_text(view->header, "experiment.id"),
             tb_member_text(view->header, "experiment.slug"), length > 6 ? run + length - 6 : run);
}

static int show(const struct arguments *arguments)
{
    struct tb_store store = {0};
    struct tb_forms wanted = arguments->forms;
    char why[1024];
    int status = TB_EXIT_USAGE;
    wanted.markdown.wanted |= !tb_forms_take_output(&wanted);
    if (tb_store_add_run(&store, arguments->words[1], why, sizeof why))
        tb_error("%s", why);
    else
        status =
            tb_forms_write(&wanted, tb_run_doc(wanted.json.wanted ? tb_head("run") : NULL, &store.runs[0], wanted.plot.wanted));
    tb_store_close(&store);
    return status;
}

static int rejudge(const struct arguments *arguments)
{
    struct tb_store store = {0};
    char why[1024];
    int status = TB_EXIT_OK;
    if (arguments->count < 2)
        status = tb_logs_open(&store, NULL);
    else if (tb_store_add_run(&store, arguments->words[1], why, sizeof why))
        status = (tb_error("%s", why), TB_EXIT_USAGE);
    if (status == TB_EXIT_OK)
        status = tb_forms_write(&arguments->forms, tb_rejudge_doc(&store));
    tb_store_close(&store);
    return status;
}

// What only the log's own form needs is left out.
static bool is_of_the_run(const json_t *line)
{
    const char *type = tb_member_text(line, "t");
    return strcmp(type, "cols") && strcmp(type, "round");
}

static int show_samples(const char *name)
{
    struct tb_log_view view;
    char why[1024], path[4096];
    if (tb_store_find(name, path, sizeof path, why, sizeof why) || tb_log_load(path, &view, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    const struct tb_chain *chain = &view.chain;
    bool failed = false;
    for (size_t i = 0; i < chain->count && !failed; i++)
        if (is_of_the_run(chain->entries[i].object))
            failed = json_dumpf(chain->entries[i].object, stdout, JSON_COMPACT) || putchar('\n') == EOF;
    int status = tb_cli_flush();
    if (chain->broken_line && !chain->torn && !status) {
        tb_error("%s:%zu: %s", view.path, chain->broken_line, chain->broken);
        status = TB_EXIT_USAGE;
    }
    tb_log_view_close(&view);
    return status;
}

// What a person wrote into an earlier draft is not overwritten.
static int draft(const struct arguments *arguments, const struct tb_log_view *view)
{
    char why[1024], path[4096];
    if (!is_experiment(arguments->words[1], view))
        return TB_EXIT_USAGE;
    if (tb_record_official(view, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    default_output(view, path, sizeof path);
    const char *output = arguments->output ? arguments->output : path;
    if (tb_cli_outputs_check(&arguments->output, 1))
        return TB_EXIT_FAILED;
    char *text;
    if (tb_record_draft(view, &text, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    int rc = tb_file_create(output, text);
    free(text);
    if (rc) {
        tb_error("%s: %s", output,
                 rc == -EEXIST ? "is there already, and may hold what you wrote. Remove it, or choose another with -o"
                               : tb_output_why(rc == -ENOENT ? -ENOTDIR : rc));
        return rc == -EEXIST ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    printf("%s\nnext    write its last two sections, then: locus record file %s %s\n", output, arguments->words[1], output);
    return tb_cli_flush();
}

static int file(const struct arguments *arguments, const struct tb_log_view *view, const char *text)
{
    char why[1024], path[4096];
    if (!is_experiment(arguments->words[1], view))
        return TB_EXIT_USAGE;
    int rc = tb_record_check(view, text, why, sizeof why);
    if (rc < 0) {
        tb_error("%s:%s", arguments->words[2], why);
        return TB_EXIT_USAGE;
    }
    rc = tb_record_file(view, text, path, sizeof path, why, sizeof why);
    if (rc < 0) {
        tb_error("%s", why);
        return rc == -EINVAL || rc == -EEXIST ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    printf("filed   %s\nnext    git add experiments logs && git commit\n", path);
    return tb_cli_flush();
}

// The draft, and the run that it says it is of. false after a report.
static bool read_draft(const char *path, char **text, char run[TB_RUN_TEXT])
{
    size_t bytes = 0;
    int rc = tb_file_read(path, text, &bytes);
    if (rc || bytes == 0 || strlen(*text) != bytes)
        tb_error("%s: %s", path, rc ? strerror(-rc) : bytes == 0 ? "is empty" : "is not text");
    else if (tb_record_run(*text, run) < 0)
        tb_error("%s:1: is not a draft: its first line does not name a run (locus record draft writes one)", path);
    else
        return true;
    return false;
}

// draft, or file: of a run that has to be whole.
static int with_run(const struct arguments *arguments)
{
    struct tb_log_view view;
    const char *last = arguments->words[2];
    char why[1024], run[TB_RUN_TEXT], *text = NULL;
    bool filing = strcmp(arguments->words[0], "file") == 0;
    int status = TB_EXIT_USAGE;
    if (filing && !read_draft(last, &text, run)) {
        free(text);
        return status;
    }
    if (tb_store_load(filing ? run : last, &view, why, sizeof why) < 0) {
        tb_error("%s%s%s", filing ? last : "", filing ? ":1: " : "", why);
    } else {
        status = filing ? file(arguments, &view, text) : draft(arguments, &view);
        tb_log_view_close(&view);
    }
    free(text);
    return status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp argp = {options,       parse,    "draft NNNN RUN\nfile NNNN DRAFT\nshow [--samples] RUN\nrejudge [RUN]",
                              documentation, children, NULL,
                              NULL};
    int status = tb_cli_parse(&argp, "record", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (strcmp(arguments.words[0], "show") == 0)
        return arguments.samples ? show_samples(arguments.words[1]) : show(&arguments);
    if (strcmp(arguments.words[0], "rejudge") == 0)
        return rejudge(&arguments);
    status = strcmp(arguments.words[0], "file") == 0 ? tb_cli_clone("record file") : TB_EXIT_OK;
    return status ? status : with_run(&arguments);
}

TB_COMMAND(120, "record", "draft and file the record of a run *", command);
