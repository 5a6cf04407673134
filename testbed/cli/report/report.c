// SPDX-License-Identifier: Apache-2.0
//
// locus report: the record as a page, and a page for each run beside it.
#include "testbed/cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/cli/options.h"
#include "testbed/record/store.h"
#include "testbed/report/page/page.h"

#define DEFAULT_OUTPUT "build/report.html"
#define DEFAULT_MEASURED "build/run"
#define ROOTS_MAX 16

struct arguments {
    struct tb_options options;  // of a log that is no run's
    const char *output, *measured, *run;
    const char *roots[ROOTS_MAX];
    size_t roots_count;
};

static const char documentation[] =
    "The record as an HTML page: the finding, the scoreboard, what was predicted and what fell; and a page for each run, with "
    "every sample of it."
    "\v"
    "The page links to the runs' pages, which lie in a folder beside it that is called like it: build/report.html, and "
    "build/report/RUN.html. They load nothing and run no script, so they can be mailed, kept and printed.\n\n"
    "It shows the official runs below logs/. Where there are none, or with --logs build/logs, it shows trial runs and says so. "
    "Runs that crashed are counted. What `make run` left in build/run is shown as well, where it is. Whether anything was changed "
    "afterwards is not its business: see locus verify.\n\n"
    "RUN is the id of a run, the last six digits of it, or its log: then its page alone is written. A log that eval, replay, "
    "bench or advise kept (--log) is shown as they showed it, with -o as a page as well; --json, --csv, --markdown and --plot are "
    "for that.\n\n"
    "Examples:\n"
    "  locus report                               writes build/report.html and build/report/\n"
    "  locus report a1b2c3                        the page of one run\n"
    "  locus report build/run/eval.jsonl          what eval --log kept, once more\n"
    "  locus report --logs build/logs             the trial runs\n"
    "  locus report --logs logs --logs build/logs both\n"
    "  locus report -o - | ssh desk 'cat >report.html'   that page alone\n\n"
    "Exit status: 0 the page was written, 1 it could not be, 2 bad input.";

enum { KEY_MEASURED = 0x100 };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "where the page goes (" DEFAULT_OUTPUT "); - is standard output, without the runs' pages", 0},
    {"logs", 'l', "FOLDER", 0, "ledgers and logs are below this folder (logs, or else build/logs); may be given several times", 0},
    {"measured", KEY_MEASURED, "FOLDER", 0, "what `make run` left (" DEFAULT_MEASURED ", where it is)", 0},
    {0},
};

// Nothing can lie beside what is no file: standard output, a terminal.
static bool stands_alone(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 || (stat(path, &about) == 0 && !S_ISREG(about.st_mode));
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->options.forms; return 0;
    case 'o':
        arguments->output = argument;
        arguments->options.forms.page = tb_form_to(argument);
        return 0;
    case 'l':
        if (!is_folder(argument))
            return tb_cli_bad(state, "--logs %s: there is no such folder", argument);
        if (arguments->roots_count == ROOTS_MAX)
            return tb_cli_bad(state, "--logs: more than %d folders", ROOTS_MAX);
        arguments->roots[arguments->roots_count++] = argument;
        return 0;
    case KEY_MEASURED:
        if (!is_folder(argument))
            return tb_cli_bad(state, "--measured %s: there is no such folder", argument);
        arguments->measured = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->run)
            return tb_cli_bad(state, "unexpected argument '%s': one run has a page", argument);
        arguments->run = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int load(const struct arguments *arguments, struct tb_store *store)
{
    int rc = 0;
    for (size_t i = 0; i < arguments->roots_count && rc == 0; i++) {
        rc = tb_store_add(store, arguments->roots[i]);
        if (rc < 0)
            tb_error("%s: %s", arguments->roots[i], strerror(-rc));
    }
    if (arguments->roots_count == 0) {
        rc = tb_store_add(store, "logs");
        if (rc == 0 && store->runs_count == 0)
            rc = tb_store_add(store, "build/logs");
        if (rc < 0)
            tb_error("logs: %s", strerror(-rc));
    }
    return rc;
}

// --- writing -------------------------------------------------------------------------------------------------------------------

static int report_failure(const char *path, int rc)
{
    tb_error("%s: %s", path, tb_output_why(rc));
    return TB_EXIT_FAILED;
}

// "-" is standard output.
static int put(const char *path, tb_write_fn *write, const void *what)
{
    if (strcmp(path, "-") == 0) {
        int rc = write(stdout, what);
        return rc < 0 ? tb_cli_output_failed(rc) : tb_cli_flush();
    }
    int rc = tb_output_write(path, write, what);
    return rc < 0 ? report_failure(path, rc) : TB_EXIT_OK;
}

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && is_folder(path)))
        return TB_EXIT_OK;
    tb_error("%s: %s. Use -o FILE", path, strerror(errno));
    return TB_EXIT_FAILED;
}

// "build/report" of "build/report.html", and "report" of that. The page itself must not be in its way.
static void folder_of(const char *output, char folder[4096], char name[256])
{
    size_t length = strlen(output);
    bool html = length > 5 && strcmp(output + length - 5, ".html") == 0;
    snprintf(folder, 4096, "%.*s%s", (int)(html ? length - 5 : length), output, html ? "" : ".runs");
    const char *slash = strrchr(folder, '/');
    snprintf(name, 256, "%.255s", slash ? slash + 1 : folder);
}

static int put_beside(const char *folder, const struct tb_page *page)
{
    char path[4400], name[80];
    int status = make_folder(folder);
    for (size_t i = 0; i < page->store->runs_count && status == TB_EXIT_OK; i++) {
        snprintf(path, sizeof path, "%s/%s.html", folder, tb_page_of(&page->store->runs[i], name));
        status = put(path, tb_page_run, &page->store->runs[i]);
    }
    if (status)
        return status;
    snprintf(path, sizeof path, "%s/scoreboard.html", folder);
    int rc = tb_output_write(path, tb_page_scoreboard, page);
    return rc == 0 || rc == -ENODATA ? TB_EXIT_OK : report_failure(path, rc);
}

static int make_pages(const struct arguments *arguments, const struct tb_store *store)
{
    const char *output = arguments->output ? arguments->output : DEFAULT_OUTPUT;
    char folder[4096], name[256];
    struct tb_words answer = {.used = 0};
    bool only = stands_alone(output);
    folder_of(only ? DEFAULT_OUTPUT : output, folder, name);
    const char *measured = arguments->measured ? arguments->measured : is_folder(DEFAULT_MEASURED) ? DEFAULT_MEASURED : NULL;
    const struct tb_page page = {.store = store, .measured = measured, .folder = name};
    if (!arguments->output && make_folder("build"))
        return TB_EXIT_FAILED;
    int status = only ? TB_EXIT_OK : put_beside(folder, &page); // before the page that leads to them
    if (status == TB_EXIT_OK)
        status = put(output, tb_page_index, &page);
    if (status || strcmp(output, "-") == 0)
        return status;
    tb_page_answer(&answer, store);
    printf("%s\n%s\n", answer.text, output);
    return tb_cli_flush();
}

// --- one run -------------------------------------------------------------------------------------------------------------------

// Of what was measured without a postulate. false: it is another log, or none.
static bool show_measured(const struct arguments *arguments, int *status)
{
    struct tb_log_view view;
    char why[512];
    struct stat about;
    if (stat(arguments->run, &about) || !S_ISREG(about.st_mode) || tb_log_load(arguments->run, &view, why, sizeof why))
        return false;
    bool measured = json_is_object(tb_member(view.header, "measured"));
    if (measured)
        *status = tb_options_show(&arguments->options, &view);
    tb_log_view_close(&view);
    return measured;
}

// The record and a run are pages here. Their figures have commands of their own.
static int refuse_forms(const struct arguments *arguments)
{
    struct tb_forms others = arguments->options.forms;
    others.page = (struct tb_form){false, NULL};
    if (!tb_forms_wanted(&others))
        return TB_EXIT_OK;
    tb_error("%s: of a log that eval, serve or another kept by --log; a run has `locus record show`, the record `locus report "
             "standings` and `locus report compare`",
             tb_forms_wanted(&others));
    return TB_EXIT_USAGE;
}

static int make_one(const struct arguments *arguments)
{
    char why[512], path[256], name[80];
    struct tb_store store = {0};
    const char *output = arguments->output ? arguments->output : path;
    int status = TB_EXIT_USAGE;
    if (show_measured(arguments, &status))
        return status;
    if (refuse_forms(arguments))
        return TB_EXIT_USAGE;
    if (tb_store_add_run(&store, arguments->run, why, sizeof why)) {
        tb_error("%s", why);
    } else {
        snprintf(path, sizeof path, "build/report/%s.html", tb_page_of(&store.runs[0], name));
        bool ready = arguments->output || (make_folder("build") == TB_EXIT_OK && make_folder("build/report") == TB_EXIT_OK);
        status = ready ? put(output, tb_page_run, &store.runs[0]) : TB_EXIT_FAILED;
        if (status == TB_EXIT_OK && strcmp(output, "-"))
            printf("%s\n", output);
    }
    tb_store_close(&store);
    return status;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, "[RUN]", documentation, children, NULL, NULL};
    struct tb_store store = {0};
    int status = tb_cli_parse(&argp, "report", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    if (arguments.run)
        return make_one(&arguments);
    if (refuse_forms(&arguments))
        return TB_EXIT_USAGE;
    status = TB_EXIT_FAILED;
    if (load(&arguments, &store) == 0) {
        if (store.runs_count > 0)
            status = make_pages(&arguments, &store);
        else
            tb_error("there is no run %s%s. Make one: locus run 0001",
                     arguments.roots_count ? "below " : "below logs or build/logs",
                     arguments.roots_count ? arguments.roots[0] : "");
    }
    tb_store_close(&store);
    return status;
}

TB_COMMAND(140, "report", "one HTML page: what did this machine show?", command);
