// SPDX-License-Identifier: Apache-2.0
//
// forms: one child parser and one writer, so that a command knows nothing of emitters.
#include "testbed/cli/forms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/doc/emit.h"
#include "testbed/record/store.h"
#include "testbed/report/page/page.h"

enum { GROUP = 9 }; // below the command's own options

enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_MARKDOWN, FORM_PLOT, FORM_PAGE, FORMS };

static const char *const names[FORMS] = {NULL, "--json", "--csv", "--markdown", "--plot", "--output"};

static const struct tb_form *form_at(const struct tb_forms *forms, enum form form)
{
    const struct tb_form *all[FORMS] = {NULL, &forms->json, &forms->csv, &forms->markdown, &forms->plot, &forms->page};
    return all[form];
}

struct tb_form tb_form_to(const char *path)
{
    return (struct tb_form){true, path && strcmp(path, "-") ? path : NULL};
}

const char *tb_forms_wanted(const struct tb_forms *forms)
{
    for (enum form form = FORM_JSON; form < FORMS; form++)
        if (form_at(forms, form)->wanted)
            return names[form];
    return NULL;
}

// How many go to standard output.
static int printed(const struct tb_forms *forms)
{
    int count = 0;
    for (enum form form = FORM_JSON; form < FORMS; form++)
        count += form_at(forms, form)->wanted && !form_at(forms, form)->path;
    return count;
}

bool tb_forms_take_output(const struct tb_forms *forms)
{
    return printed(forms) > 0;
}

static error_t check(const struct tb_forms *forms, struct argp_state *state)
{
    const char *paths[FORMS] = {NULL};
    for (enum form form = FORM_JSON; form < FORMS; form++)
        paths[form] = form_at(forms, form)->path;
    if (printed(forms) > 1)
        return tb_cli_bad(state, "only one of --json, --csv and --markdown can go to standard output: give the others a file, as "
                                 "in --csv=FILE");
    return tb_cli_outputs(paths, FORMS);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_forms *forms = state->input;
    switch (key) {
    case TB_KEY_JSON: forms->json = tb_form_to(argument); return 0;
    case TB_KEY_CSV: forms->csv = tb_form_to(argument); return 0;
    case TB_KEY_MARKDOWN: forms->markdown = tb_form_to(argument); return 0;
    case TB_KEY_PLOT: forms->plot = tb_form_to(argument); return 0;
    case ARGP_KEY_END: return check(forms, state);
    default: return ARGP_ERR_UNKNOWN;
    }
}

#define JSON                                                                                                                       \
    {                                                                                                                              \
        "json", TB_KEY_JSON, "FILE", OPTION_ARG_OPTIONAL, "Everything as one JSON object, to FILE or instead of the text", GROUP   \
    }
#define TABLES                                                                                                                     \
    JSON, {"csv", TB_KEY_CSV, "FILE", OPTION_ARG_OPTIONAL, "The figures as CSV, to FILE or instead of the text", GROUP},           \
    {                                                                                                                              \
        "markdown", TB_KEY_MARKDOWN, "FILE", OPTION_ARG_OPTIONAL, "Markdown, to FILE or instead of the text", GROUP                \
    }

static const struct argp_option json_option[] = {JSON, {0}}, tables_options[] = {TABLES, {0}};
static const struct argp_option options[] = {TABLES, {"plot", TB_KEY_PLOT, "FILE.svg", 0, "Draw the figures", GROUP}, {0}};

const struct argp tb_forms_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};
const struct argp tb_forms_tables_argp = {tables_options, parse, NULL, NULL, NULL, NULL, NULL};
const struct argp tb_forms_json_argp = {json_option, parse, NULL, NULL, NULL, NULL, NULL};

// --- writing -------------------------------------------------------------------------------------------------------------------

struct shown {
    const struct tb_forms *forms;
    const struct tb_doc *doc;
    enum form form;
};

static int write_form(FILE *out, const void *what)
{
    const struct shown *shown = what;
    switch (shown->form) {
    case FORM_JSON: return tb_emit_json(out, shown->doc);
    case FORM_CSV: return tb_emit_csv(out, shown->doc, shown->forms->csv_table);
    case FORM_MARKDOWN: return tb_emit_markdown(out, shown->doc);
    case FORM_PLOT: return tb_emit_svg(out, shown->doc);
    case FORM_PAGE: return tb_emit_html(out, shown->doc, tb_page_frame, tb_page_style);
    default: return tb_emit_text(out, shown->doc, tb_report_style(out));
    }
}

// Without a path to standard output.
static int put(struct shown shown, enum form form, const char *path)
{
    shown.form = form;
    int error = path ? tb_output_write(path, write_form, &shown) : write_form(stdout, &shown);
    if (!error)
        return path ? TB_EXIT_OK : tb_cli_flush();
    bool lacking = error == -ENODATA || error == -ENOENT;
    if (!path && !lacking)
        return tb_cli_output_failed(error);
    tb_error("%s: %s", path ? path : names[form],
             error == -ENODATA  ? "there is nothing to draw"
             : error == -ENOENT ? "there is no table to write"
                                : tb_output_why(error));
    return TB_EXIT_FAILED;
}

static int write_forms(const struct tb_forms *forms, struct tb_doc *doc, bool with_text)
{
    const struct shown shown = {forms, doc, FORM_TEXT};
    int failed = TB_EXIT_OK;
    if (!doc) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    for (enum form form = FORM_JSON; form < FORMS; form++)
        if (form_at(forms, form)->wanted)
            failed |= put(shown, form, form_at(forms, form)->path);
    if (with_text && !tb_forms_take_output(forms))
        failed |= put(shown, FORM_TEXT, NULL);
    tb_doc_close(doc);
    return failed;
}

int tb_forms_write(const struct tb_forms *forms, struct tb_doc *doc)
{
    return write_forms(forms, doc, true);
}

int tb_forms_write_files(const struct tb_forms *forms, struct tb_doc *doc)
{
    return write_forms(forms, doc, false);
}

// --- the record ----------------------------------------------------------------------------------------------------------------

error_t tb_cli_folder(struct argp_state *state, const char *option, const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? 0
                                                             : tb_cli_bad(state, "%s %s: there is no such folder", option, path);
}

error_t tb_cli_folder_to_be(struct argp_state *state, const char *option, const char *path)
{
    struct stat about;
    return stat(path, &about) || S_ISDIR(about.st_mode) ? 0 : tb_cli_bad(state, "%s %s: that is no folder", option, path);
}

void tb_cli_root(const char *root, char *out, size_t bytes)
{
    while (strncmp(root, "./", 2) == 0)
        root += 2 + strspn(root + 2, "/");
    snprintf(out, bytes, "%s", *root ? root : ".");
    for (size_t length = strlen(out); length > 1 && out[length - 1] == '/'; length--)
        out[length - 1] = '\0';
}

int tb_logs_open(struct tb_store *store, const char *logs)
{
    int rc = tb_store_add(store, logs ? logs : "logs");
    if (rc < 0)
        tb_error("%s: %s", logs ? logs : "logs", strerror(-rc));
    return rc < 0 ? TB_EXIT_FAILED : TB_EXIT_OK;
}

int tb_ledgers_whole(const struct tb_store *store)
{
    int status = TB_EXIT_OK;
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_chain *ledger = &store->hosts[i]->ledger;
        if (!ledger->broken_line)
            continue;
        tb_error("%s:%zu: %s (see: locus verify)", store->hosts[i]->path, ledger->broken_line, ledger->broken);
        status = TB_EXIT_FAILED;
    }
    return status;
}
