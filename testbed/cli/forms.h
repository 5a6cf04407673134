// SPDX-License-Identifier: Apache-2.0
//
// forms: where a document goes: --json, --csv, --markdown and --plot mean the same in every command that shows something. `-` is
// standard output.
#ifndef TB_FORMS_H
#define TB_FORMS_H

#include <argp.h>
#include <stdbool.h>

#include "testbed/doc/doc.h"

enum { TB_KEY_JSON = 'j', TB_KEY_PLOT = 'p', TB_KEY_CSV = 1000, TB_KEY_MARKDOWN };

struct tb_form {
    bool wanted;
    const char *path;           // NULL: standard output, in place of the text
};

struct tb_forms {
    struct tb_form json, csv, markdown, plot;
    struct tb_form page;        // HTML; of the command, which has an option for it
    const char *csv_table;      // of the command, not of a flag: the key of the table that --csv writes; NULL: the first
};

// Child parsers; their input is the struct tb_forms. The second is for commands that draw nothing, the third for those that have
// nothing but text and JSON. What cannot be written is refused here, before anything is measured.
extern const struct argp tb_forms_argp, tb_forms_tables_argp, tb_forms_json_argp;

// The form of an option's argument.
struct tb_form tb_form_to(const char *path);

// The option of the first form that is wanted, or NULL.
const char *tb_forms_wanted(const struct tb_forms *forms);

// Is standard output taken by one of the forms?
bool tb_forms_take_output(const struct tb_forms *forms);

// Writes the forms that are wanted, and text unless one of them goes to standard output. Closes `doc`; NULL: there was not memory
// enough for it. TB_EXIT_OK, or TB_EXIT_FAILED after a report.
int tb_forms_write(const struct tb_forms *forms, struct tb_doc *doc);
int tb_forms_write_files(const struct tb_forms *forms, struct tb_doc *doc); // the same without the text

// --- the record, for the commands that show it ---

struct tb_store;
// 0, or what tb_cli_bad() returns. The second also takes one that is not there yet.
error_t tb_cli_folder(struct argp_state *state, const char *option, const char *path);
error_t tb_cli_folder_to_be(struct argp_state *state, const char *option, const char *path);
// The folder as git writes it, with whose paths it is compared as text: "./logs/" becomes "logs".
void tb_cli_root(const char *root, char *out, size_t bytes);
int tb_logs_open(struct tb_store *store, const char *logs); // NULL: logs. TB_EXIT_OK, or TB_EXIT_FAILED after a report
int tb_ledgers_whole(const struct tb_store *store); // complains of each ledger that is broken. TB_EXIT_OK, or TB_EXIT_FAILED

#endif
