// SPDX-License-Identifier: Apache-2.0
//
// locus postulate list: the postulates, and how far each has come: filed, decided.

#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/postulate/postulate.h"
#include "testbed/record/store.h"
#include "testbed/report/page/page.h"

struct arguments {
    const char *logs;
    struct tb_forms forms;
};

static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};

static const struct argp_option options[] = {
    {"logs", 'l', "FOLDER", 0, "Whose ledgers are asked for verdicts (logs; trials are in build/logs)", 0},
    {0},
};

static const char documentation[] =
    "The postulates: number, when it was filed, how many predictions it claims, its last verdict, and its name.\v"
    "filed: when it was entered into a ledger; EDITED when it is not what was filed. The verdict is the latest of any host; where "
    "that was an emulated guest, a line says so. A postulate itself is a text to be read: postulates/NNNN-slug.md; "
    "its question and its predictions are in --json.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus postulate list\n"
    "  locus postulate list --logs build/logs      verdicts of trial runs\n"
    "  locus postulate list --json | jq -r '.experiments[] | select(.verdict == null).id'\n\n"
    "Exit status: 0 done, 1 a postulate cannot be read or a ledger is broken, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case 'l': arguments->logs = argument; return tb_cli_folder(state, "--logs", argument);
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus postulate list --help)", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static json_t *predictions_json(const struct tb_postulate *postulate)
{
    json_t *predictions = json_array();
    char text[160];
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        predictions =
            tb_json_appended(predictions, json_pack("{s:s, s:s?, s:s, s:s}", "id", prediction->id, "claim",
                                                    *prediction->claim ? prediction->claim : NULL, "cell", prediction->cell, "text",
                                                    tb_prediction_text(prediction, text, sizeof text)));
    }
    return predictions;
}

// One postulate and what the ledgers know about it: when it was filed, and the verdict of its latest run.
static json_t *experiment_json(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    const struct tb_store_host *host = NULL;
    char run[16];
    snprintf(run, sizeof run, "%s-*", postulate->id);
    const json_t *close = tb_store_last(filed, "close", "run", run, &host);
    const json_t *filing = tb_store_last(filed, "postulate", "id", postulate->id, NULL);
    const char *verdict = json_string_value(tb_member(close, "verdict"));
    bool edited = tb_store_otherwise(filed, postulate->id, postulate->sha256) != NULL;
    json_t *latest =
        !verdict ? json_null()
                 : json_pack("{s:s, s:O?, s:s?, s:O?, s:O?}", "verdict", verdict, "run", tb_member(close, "run"), "host",
                             host ? host->name : NULL, "time", tb_member(close, "time"), "emulated", tb_member(close, "emulated"));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O?, s:b, s:o, s:o}", "id", postulate->id, "slug", postulate->slug, "title",
                     postulate->title, "question", postulate->question, "path", postulate->path, "sha256", postulate->sha256,
                     "filed", tb_member(filing, "time"), "edited", edited, "verdict", latest, "predictions",
                     predictions_json(postulate));
}

static void add_row(struct tb_table *table, const json_t *experiment)
{
    const char *verdict = tb_member_text(experiment, "verdict.verdict"), *guest = tb_member_text(experiment, "verdict.emulated");
    const char *filed = tb_member_text(experiment, "filed");
    char day[16];
    snprintf(day, sizeof day, "%.10s", *filed ? filed : "no");
    tb_table_row(table, TB_ROW_PLAIN);
    tb_table_put(table, tb_text_value(tb_member_text(experiment, "id")));
    tb_table_put(table, tb_text_value(json_is_true(tb_member(experiment, "edited")) ? "EDITED" : day));
    tb_table_put(table, tb_count(json_array_size(tb_member(experiment, "predictions"))));
    tb_table_put(table, *verdict ? tb_verdict_value(verdict) : tb_text_value("none yet"));
    tb_table_put(table, tb_text_value(tb_member_text(experiment, "slug")));
    if (*guest)
        tb_table_note(table, "The verdict of %s is of an emulated guest (%s): counts, no times.", tb_member_text(experiment, "id"),
                      guest);
}

// NULL without memory.
static struct tb_doc *list_doc(json_t *head, json_t *experiments)
{
    static const struct tb_column columns[] = {{.title = "number"},       {.title = "filed"},      {.title = "claims"},
                                               {.title = "last verdict"}, {.title = "experiment"}, {0}};
    struct tb_doc *doc = tb_doc_open(head);
    const json_t *experiment;
    size_t i;
    if (!doc || !experiments) {
        tb_doc_close(doc);
        json_decref(experiments);
        return NULL;
    }
    if (json_array_size(experiments) == 0)
        tb_doc_say(doc, NULL, "No postulate yet: locus postulate new SLUG writes the first.");
    struct tb_table *table = tb_doc_table(doc, NULL, NULL, columns);
    json_array_foreach (experiments, i, experiment)
        add_row(table, experiment);
    tb_doc_json(doc, "experiments", experiments);
    return doc;
}

static int print_all(const struct tb_postulates *all, const struct tb_store *filed, const struct tb_forms *forms)
{
    json_t *experiments = json_array();
    int status = TB_EXIT_OK;
    for (size_t i = 0; i < all->count; i++) {
        if (all->files[i].postulate) {
            experiments = tb_json_appended(experiments, experiment_json(all->files[i].postulate, filed));
        } else {
            tb_error("%s", all->files[i].why.text);
            status = TB_EXIT_FAILED;
        }
    }
    return tb_forms_write(forms, list_doc(forms->json.wanted ? tb_head("list") : NULL, experiments)) ? TB_EXIT_FAILED : status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.logs = "logs"};
    const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};
    struct tb_store filed = {0};
    struct tb_postulates all = {0};
    int status = tb_cli_parse(&argp, "postulate list", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("postulate list");
    if (status)
        return status;
    int rc = tb_postulates_load(&all), ledgers = tb_store_add_ledgers(&filed, arguments.logs);
    if (rc || ledgers)
        tb_error("%s: %s", rc ? TB_POSTULATES : arguments.logs, strerror(rc ? -rc : -ledgers));
    status = rc || ledgers ? TB_EXIT_FAILED : print_all(&all, &filed, &arguments.forms);
    if (tb_ledgers_whole(&filed))
        status = TB_EXIT_FAILED;
    tb_store_close(&filed);
    tb_postulates_close(&all);
    return status;
}

TB_COMMAND(105, "postulate list", "the postulates and their verdicts *", command);
