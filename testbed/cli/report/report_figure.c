// SPDX-License-Identifier: Apache-2.0
//
// locus report figure: the figure at an address (judge/address.h), from its record's sealed log.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/judge/address.h"
#include "testbed/record/names.h"
#include "testbed/record/store.h"
#include "testbed/report/record/mallocs.h"
#include "testbed/report/record/record.h"

struct arguments {
    char **addresses;
    size_t count;
    bool mallocs;
    struct tb_forms forms;
};

static const char documentation[] =
    "The figure at an address: what is behind 1.34 [1.29, 1.37] (0013/P3) in a README.\v"
    "An ADDRESS is one argument. Of a record alone there is the verdict: 0013, or 0013.add1 for what the second run of 0013 added. "
    "0013/P3 is a prediction as it was sealed; where it is about several cells, 0018/P3 steady-decode/none names one. 0018 "
    "steady-decode/none D/A is the time of arm D over that of arm A in a cell, by rounds; 0024 churn-touch/full/futex/4w/4KiB "
    "max(locus) of outstanding_ratio is another statistic of another metric. An arm is a key or a name. - alone: one address a "
    "line, from standard input.\n\n"
    "With --mallocs an ADDRESS is a record and a pattern of cells: 0093 */full/futex/4w. The best malloc of a cell is the one over "
    "which the lead of locus is least.\n\n"
    "It works on a clone of the project's repository: the record is in experiments/, and its log in logs/.\n\n"
    "Examples:\n"
    "  locus report figure 0013/P3\n"
    "  locus report figure '0018.add1/P3 steady-decode/none' '0018 steady-decode/none D/A'\n"
    "  locus report figure --csv - <addresses\n"
    "  locus report figure --mallocs '0093 */full/futex/4w' --plot=FILE.svg\n\n"
    "Exit status: 0 shown, 1 it could not be shown, 2 one of them has no figure.";

enum { KEY_MALLOCS = 0x100 };

static const struct argp_option options[] = {
    {"mallocs", KEY_MALLOCS, NULL, 0, "Of each cell instead: how many times as fast as the best malloc is locus", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case KEY_MALLOCS: arguments->mallocs = true; return 0;
    case ARGP_KEY_ARGS:
        arguments->addresses = state->argv + state->next;
        arguments->count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        return tb_cli_bad(state, "locus report figure: of which address? (locus report figure '0018/P3 steady-decode/none')");
    default: (void)argument; return ARGP_ERR_UNKNOWN;
    }
}

// The log that was read last: addresses in a text come by record.
struct loaded {
    char record[16];
    struct tb_log_view view;
};

struct shown {
    struct loaded loaded;
    struct tb_doc *doc;
    struct tb_table *table;     // of figures
    bool mallocs;               // each address has a table of its own instead
    size_t added;               // so far
};

static int load(struct loaded *loaded, const char *record, char *why, size_t why_bytes)
{
    char path[4096], run[TB_RUN_TEXT], *text = NULL;
    size_t bytes;
    if (strcmp(loaded->record, record) == 0)
        return 0;
    if (loaded->record[0])
        tb_log_view_close(&loaded->view);
    loaded->record[0] = 0;
    int rc = tb_record_find(record, path, sizeof path);
    if (!rc)
        rc = tb_file_read(path, &text, &bytes);
    if (!rc)
        rc = tb_record_run(text, run);
    free(text);
    if (rc) {
        snprintf(why, why_bytes, "there is no record %s in " TB_RECORD_FOLDER, record);
        return rc;
    }
    rc = tb_store_load(run, &loaded->view, why, why_bytes);
    if (!rc)
        snprintf(loaded->record, sizeof loaded->record, "%s", record);
    return rc;
}

// For people the figure is one column, with its interval, as a README has it.
static const struct tb_column columns[] = {
    {"address", "address", TB_AS_IS, false},
    {NULL, "figure", TB_AS_IS, true},
    {"estimate", NULL, TB_AS_IS, false},
    {"low", NULL, TB_AS_IS, false},
    {"high", NULL, TB_AS_IS, false},
    {"verdict", "verdict", TB_AS_IS, false},
    {0},
};

static struct tb_value figure_value(const struct tb_addressed *figure)
{
    bool ranges = !isnan(figure->low) && !isnan(figure->high) && figure->low < figure->high;
    return ranges ? tb_interval_of(figure->estimate, figure->low, figure->high, NAN) : tb_number(figure->estimate);
}

// "0093 */full/futex/4w"
static int add_mallocs(struct shown *shown, const char *text, char *why, size_t why_bytes)
{
    char record[16], pattern[128], more[2];
    if (sscanf(text, "%15s %127s %1s", record, pattern, more) != 2) {
        snprintf(why, why_bytes, "is not a record and a pattern of cells, as in 0093 */full/futex/4w");
        return -EINVAL;
    }
    int rc = load(&shown->loaded, record, why, why_bytes);
    return rc ? rc : tb_mallocs_put(shown->doc, &shown->loaded.view, record, pattern, why, why_bytes);
}

static int add_figure(struct shown *shown, const char *text, char *why, size_t why_bytes)
{
    struct tb_address address;
    struct tb_addressed figure;
    int rc = tb_address_parse(text, &address, why, why_bytes);
    if (!rc)
        rc = load(&shown->loaded, address.record, why, why_bytes);
    if (!rc)
        rc = tb_address_measure(&shown->loaded.view, &address, &figure, why, why_bytes);
    if (!rc)
        tb_table_add(shown->table, TB_ROW_PLAIN, tb_text_value(text), figure_value(&figure), tb_number(figure.estimate),
                     tb_number(figure.low), tb_number(figure.high), tb_text_value(figure.verdict));
    return rc;
}

// What is at one more address. 0, or an exit status after a report.
static int add(struct shown *shown, const char *text)
{
    char why[1024] = "out of memory";
    int rc = (shown->mallocs ? add_mallocs : add_figure)(shown, text, why, sizeof why);
    if (rc)
        tb_error("%s: %s", text, why);
    shown->added += rc == 0;
    return rc == -ENOMEM ? TB_EXIT_FAILED : rc ? TB_EXIT_USAGE : TB_EXIT_OK;
}

static int add_lines(struct shown *shown)
{
    char *line = NULL;
    size_t size = 0;
    int status = TB_EXIT_OK;
    for (ssize_t length; (length = getline(&line, &size, stdin)) >= 0;) {
        line[strcspn(line, "\n")] = 0;
        int failed = add(shown, line);
        status = failed ? failed : status;
    }
    free(line);
    return status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct argp_child children[] = {{&tb_forms_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {options, parse, "ADDRESS...", documentation, children, NULL, NULL};
    struct shown shown = {.loaded.record = ""};
    int status = tb_cli_parse(&argp, "report figure", argc, argv, &arguments);
    if (status == TB_CLI_RUN)
        status = tb_cli_clone("report figure");
    else
        return status;
    if (status)
        return status;
    shown.doc = tb_doc_open(arguments.forms.json.wanted ? tb_head("figure") : NULL);
    shown.mallocs = arguments.mallocs;
    if (!shown.mallocs)
        shown.table = tb_doc_table(shown.doc, "figures", "", columns);
    if (arguments.count == 1 && strcmp(arguments.addresses[0], "-") == 0)
        status = add_lines(&shown);
    else
        for (size_t i = 0; i < arguments.count; i++) {
            int failed = add(&shown, arguments.addresses[i]);
            status = failed ? failed : status;
        }
    int written = TB_EXIT_OK;
    if (!status || shown.added)
        written = tb_forms_write(&arguments.forms, shown.doc);
    else
        tb_doc_close(shown.doc);
    if (shown.loaded.record[0])
        tb_log_view_close(&shown.loaded.view);
    return written ? written : status;
}

TB_COMMAND(146, "report figure", "the figure at an address of the record *", command);
