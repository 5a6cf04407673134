// SPDX-License-Identifier: Apache-2.0
//
// locus doctor: is this host fit to measure? It looks and says; changing is left to whoever reads the commands.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/cpus/cpus.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/head.h"

enum { KEY_ALL = 'a', KEY_CHANGE = 'c', KEY_RESTORE = 'r', KEY_CHECK = 'k', KEY_ROOT = 'R' };

struct arguments {
    struct tb_forms forms;
    int answer;                 // one of the keys, or 0
    bool check;
    const char *root;
    const char *ids[TB_FINDINGS_MAX];
    unsigned ids_count;
};

static const char doc[] =
    "Is this host fit to measure? What it finds, why that matters, and the commands that change it and bring it back."
    "\v"
    "UNFIT is what can make figures wrong or unstable. A note is worth knowing, and the same for all arms of a round. Unknown is "
    "what could not be read here, with the reason; it never counts as fit. What is missing from the kernel is ABSENT. With names "
    "of findings only these are looked up, in full.\n"
    "\n"
    "The doctor changes nothing. --change prints a script of all changes, --restore one that brings back what is there now: save "
    "that first. Both are for a root shell, also busybox's. Where a file cannot be written (a container), no command is given and "
    "the remedy says why.\n"
    "\n"
    "Each `locus run` writes the findings into its log, and the gate host_fit, listed in a postulate, makes the run of an unfit "
    "host inconclusive (noise).\n"
    "\n"
    "--json: {head, fit, unfit, unknown, notes, fits, findings: [{id, state, decides, now, wanted, why, change, restore, remedy, "
    "knobs: [{path, now, wanted}]}]}. knobs are the files that `change` writes, one value each; wanted null is only restored.\n"
    "\n"
    "--root: a folder with a copy of another host's /proc and /sys. The limits of this process are left out then, and time passes "
    "only from /proc/stat to /proc/stat.later in it.\n"
    "\n"
    "Examples:\n"
    "  locus doctor\n"
    "  locus doctor numa-balancing thp\n"
    "  locus doctor --restore >back.sh; locus doctor --change | sudo sh; make run; sudo sh back.sh\n"
    "  locus doctor --change governor boost\n"
    "  locus doctor --json | jq -r '.findings[] | select(.state == \"unfit\") | .id'\n"
    "  locus doctor --check >/dev/null || exit 1      # as the prolog of a batch job\n"
    "\n"
    "Exit status: 0 it looked; with --check 1 unless the host is fit; 1 it could not look; 2 bad input.";

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0, "each finding in full, the fit ones too", 0},
    {"change", KEY_CHANGE, NULL, 0, "print a script that changes what is not as wanted", 0},
    {"restore", KEY_RESTORE, NULL, 0, "print a script that brings back what is there now", 0},
    {"check", KEY_CHECK, NULL, 0, "exit with 1 unless the host is fit", 0},
    {"root", KEY_ROOT, "FOLDER", 0, "look at a copy of /proc and /sys instead", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case KEY_ALL:
    case KEY_CHANGE:
    case KEY_RESTORE:
    case ARGP_KEY_END:
        if (arguments->answer && (arguments->forms.json.wanted || (key != ARGP_KEY_END && arguments->answer != key)))
            return tb_cli_bad(state, "doctor: --all, --json, --change and --restore are four answers: ask for one");
        arguments->answer = key == ARGP_KEY_END ? arguments->answer : key;
        return 0;
    case KEY_CHECK: arguments->check = true; return 0;
    case KEY_ROOT: arguments->root = value; return 0;
    case ARGP_KEY_ARG:
        if (arguments->ids_count == TB_FINDINGS_MAX)
            return tb_cli_bad(state, "doctor: more than %u findings", TB_FINDINGS_MAX);
        arguments->ids[arguments->ids_count++] = value;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse_option, "[ID...]", doc, children, NULL, NULL};

static bool is_asked_for(const struct arguments *arguments, const char *id)
{
    for (unsigned i = 0; i < arguments->ids_count; i++)
        if (strcmp(arguments->ids[i], id) == 0)
            return true;
    return arguments->ids_count == 0;
}

// Sets those aside that nobody asked for. false: one was asked for that there is not.
static bool select_findings(struct tb_doctor *doctor, const struct arguments *arguments)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < arguments->ids_count; i++)
        if (!tb_doctor_find(doctor, arguments->ids[i])) {
            tb_error("doctor: there is no finding '%s' here (locus doctor --all shows their names)", arguments->ids[i]);
            return false;
        }
    for (unsigned i = 0; i < doctor->count; i++)
        if (is_asked_for(arguments, doctor->finding[i].id)) {
            struct tb_finding other = doctor->finding[kept];
            doctor->finding[kept++] = doctor->finding[i];
            doctor->finding[i] = other; // after the others, to be closed with them
        }
    tb_doctor_keep(doctor, kept);
    return true;
}

static int print(const struct tb_doctor *doctor, const struct arguments *arguments)
{
    if (arguments->answer == KEY_CHANGE || arguments->answer == KEY_RESTORE) {
        int error = tb_doctor_script(stdout, doctor, arguments->answer == KEY_RESTORE);
        return error ? tb_cli_output_failed(error) : TB_EXIT_OK;
    }
    json_t *head = arguments->forms.json.wanted ? tb_head("doctor") : NULL;
    bool full = arguments->answer == KEY_ALL || arguments->ids_count > 0;
    return tb_forms_write(&arguments->forms, tb_doctor_doc(head, doctor, full));
}

static int look(struct tb_doctor *doctor, const struct arguments *arguments)
{
    struct stat status;
    if (arguments->root && (stat(arguments->root, &status) || !S_ISDIR(status.st_mode))) {
        tb_error("doctor: --root: there is no folder '%s'", arguments->root);
        return TB_EXIT_USAGE;
    }
    int error = tb_doctor_look(arguments->root ? arguments->root : "", doctor);
    if (error) {
        tb_error("doctor: cannot look: %s", strerror(-error));
        return TB_EXIT_FAILED;
    }
    return select_findings(doctor, arguments) ? TB_EXIT_OK : TB_EXIT_USAGE;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {0};
    char why[300];
    int status = tb_cli_parse(&argp, "doctor", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    if (!doctor) {
        tb_error("out of memory");
        return TB_EXIT_FAILED;
    }
    status = TB_EXIT_OK;
    if (!arguments.root && tb_cpus_ask(NULL, true, why, sizeof why)) {
        tb_error("doctor: %s", why);
        status = TB_EXIT_USAGE;
    }
    if (status == TB_EXIT_OK)
        status = look(doctor, &arguments);
    if (status == TB_EXIT_OK)
        status = print(doctor, &arguments);
    if (status == TB_EXIT_OK && arguments.check && !doctor->fit)
        status = TB_EXIT_FAILED;
    tb_doctor_close(doctor);
    free(doctor);
    return status;
}

TB_COMMAND(30, "doctor", "is this host fit to measure, and what would make it so?", command);
