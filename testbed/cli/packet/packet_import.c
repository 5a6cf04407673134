// SPDX-License-Identifier: Apache-2.0
//
// locus packet import: the way of another host's record into this one.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/record/git.h"
#include "testbed/record/import/import.h"

enum { KEY_DRY = 0x100, KEY_KEY, KEY_CHECKPOINTS };

static const struct argp_option options[] = {
    {"dry-run", KEY_DRY, NULL, 0, "Check it and bring nothing home", 1},
    {"key", KEY_KEY, "FILE", 0, "Allowed signers: the packet's seal must be signed by one of them", 1},
    {"checkpoints", KEY_CHECKPOINTS, "DIR", 0, "Keep each host's checkpoint here, and let its ledger go on from it the next time",
     1},
    {"logs", 'l', "FOLDER", 0, "Folder of the logs (logs)", 2},
    {0},
};

static const char documentation[] =
    "Brings a host's record home to logs/HOST: a packet, as `locus packet` leaves it, or a folder HOST/ with ledger and logs.\v"
    "What is there may grow, and nothing else: each file must be the beginning of the one that comes. Where anything is wrong, "
    "nothing is brought home. All of it is looked at in a folder of its own: ledger and logs as `locus verify` does, that the "
    "postulates are the ones of this repository, and of a packet that its archive is to the byte as it was made, that nothing is "
    "missing, too much or there twice, and every hash up to the seal. Then it "
    "takes the place of what is there, in one step.\n\n"
    "Records that the host filed lie in HOST/experiments/ and come to experiments/; another text of that name is refused.\n\n"
    "A checkpoint says what a ledger was. With --checkpoints not even a host of which this record was lost can rewrite its past: "
    "back that folder up, and not together with the record. perf's raw data (*.perf/*.data) may stay behind.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one. It needs GNU tar for "
    "packets.\n\n"
    "Examples:\n"
    "  locus packet import two-socket-epyc-20261122T101500Z.locus-packet.tar --dry-run\n"
    "  locus packet import p.tar --key allowed_signers && git add logs experiments && git commit\n"
    "  locus packet import /mnt/bm1/locus/logs/bm1 --checkpoints ~/.local/state/locus/checkpoints\n\n"
    "Exit status: 0 done; 1 something is wrong and nothing came home; 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_import_config *config = state->input;
    switch (key) {
    case KEY_DRY: config->dry_run = true; return 0;
    case KEY_KEY: config->key = argument; return 0;
    case KEY_CHECKPOINTS: config->checkpoints = argument; return tb_cli_folder_to_be(state, "--checkpoints", argument);
    case 'l': config->root = argument; return tb_cli_folder_to_be(state, "--logs", argument);
    case ARGP_KEY_ARG:
        if (config->source)
            return tb_cli_bad(state, "'%s': one packet or folder at a time", argument);
        config->source = argument;
        return 0;
    case ARGP_KEY_END:
        if (config->key && config->checkpoints)
            return tb_cli_bad(state, "--key or --checkpoints: the ledger is compared with one of them");
        return config->source ? 0 : tb_cli_bad(state, "which packet, or which folder HOST/? (see: locus packet import --help)");
    default: return ARGP_ERR_UNKNOWN;
    }
}

// What it is told by strangers may hold anything.
static void print_line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print_line(const char *name, const char *format, ...)
{
    char text[1400], clean[1400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tb_text_clean(text, false, clean, sizeof clean);
    printf("%-11s %s\n", name, clean);
}

static bool is_type(const json_t *entry, const char *type)
{
    return strcmp(tb_member_text(entry, "t"), type) == 0;
}

static void print_runs(const struct tb_import *import)
{
    size_t i;
    json_t *crashed;
    for (i = 0; i < import->ledger.count; i++) {
        const json_t *entry = import->ledger.entries[i].object;
        if (is_type(entry, "close"))
            print_line("run", "%s  %s%s", tb_member_text(entry, "run"), tb_member_text(entry, "verdict"),
                       *tb_member_text(entry, "emulated") ? " (emulated: counts, no times)" : "");
    }
    json_array_foreach (json_object_get(import->verified, "crashed"), i, crashed)
        print_line("run", "%s  has no seal: it crashed or is still running (%s)", tb_member_text(crashed, "run"),
                   tb_member_text(crashed, "log") + strlen(import->below) + 1);
    print_line("runs", "%.0f, %.0f sealed, %zu crashed", tb_member_number(import->verified, "runs"),
               tb_member_number(import->verified, "sealed"), json_array_size(json_object_get(import->verified, "crashed")));
}

static bool commit_known(const char *commit)
{
    char object[80], *nothing = NULL;
    const char *const arguments[] = {"cat-file", "-e", object, NULL};
    bool hexadecimal = *commit && commit[strspn(commit, "0123456789abcdef")] == '\0';
    snprintf(object, sizeof object, "%.64s^{commit}", commit);
    bool known = hexadecimal && tb_git(NULL, arguments, &nothing) == 0;
    free(nothing);
    return known;
}

// Asked before anything comes home. True when it brings one that is not here.
static bool print_records(const struct tb_import *import)
{
    bool new = false;
    for (size_t i = 0; i < import->ledger.count; i++) {
        const json_t *entry = import->ledger.entries[i].object;
        bool here = access(tb_member_text(entry, "path"), F_OK) == 0;
        if (!is_type(entry, "record"))
            continue;
        print_line("record", "%s, %s", tb_member_text(entry, "path"), here ? "here already" : "new here");
        new |= !here;
    }
    return new;
}

// Of a packet: whether one of its runs is not official.
static bool print_import(const struct tb_import *import)
{
    const json_t *packet = import->packet;
    const char *kind = tb_member_text(packet, "kind"), *commit = tb_member_text(packet, "program.commit");
    bool proves = true;
    size_t i;
    json_t *remark;
    for (i = 0; i < import->ledger.count && packet; i++)
        if (is_type(import->ledger.entries[i].object, "open"))
            proves &= strcmp(tb_member_text(import->ledger.entries[i].object, "kind"), "official") == 0;
    if (packet) {
        print_line("host", "%s, %s%s", import->host, kind, strcmp(kind, "emulated") ? "" : ": counts, no times");
        print_line("made", "%s by locus %s of commit %.12s%s", tb_member_text(packet, "time"),
                   tb_member_text(packet, "program.version"), commit,
                   commit_known(commit) ? "" : ", which this clone does not have");
    } else
        print_line("host", "%s", import->host);
    if (!proves)
        print_line("not all", "of its runs are official: smoke runs and trials prove nothing");
    print_runs(import);
    json_array_foreach (import->remarks, i, remark)
        print_line("remark", "%s", json_string_value(remark));
    if (*import->signer)
        print_line("signed by", "%s", import->signer);
    return !proves;
}

static void print_filed(const struct tb_import *import, bool new_records)
{
    const struct tb_import_config *config = import->config;
    const char *what = config->dry_run ? "would come" : "filed";
    if (config->dry_run)
        print_line("checked", "all is well, and nothing was brought home (--dry-run)");
    if (import->new_host)
        print_line(what, "%s/%s, new", config->root, import->host);
    else if (import->files_new || import->files_longer)
        print_line(what, "%s/%s, %zu new file%s, %zu that grew", config->root, import->host, import->files_new,
                   import->files_new == 1 ? "" : "s", import->files_longer);
    else
        print_line("here", "%s/%s has all of it already", config->root, import->host);
    print_line("checkpoint", "%s", tb_member_text(import->verified, "checkpoint"));
    if (config->dry_run)
        return;
    if (strcmp(config->root, "logs"))
        print_line("next", "locus report --logs %s", config->root);
    else
        print_line("next", "git add logs%s && git commit; locus report", new_records ? " experiments" : "");
}

static int refuse(const struct tb_import *import)
{
    size_t i, count = json_array_size(import->findings);
    json_t *finding;
    json_array_foreach (import->findings, i, finding)
        print_line("wrong", "%s", json_string_value(finding));
    fflush(stdout);
    tb_error("%s: %zu thing%s wrong: nothing was brought home", import->config->source, count, count == 1 ? " is" : "s are");
    return TB_EXIT_FAILED;
}

static int answer(struct tb_import *import)
{
    const struct tb_import_config *config = import->config;
    if (json_array_size(import->findings))
        return refuse(import);
    bool proves_nothing = print_import(import), new_records = print_records(import), home = strcmp(config->root, "logs") == 0;
    if (!config->dry_run && home && proves_nothing)
        tb_error("%s: whole, but smoke runs and trials do not go to logs/. For a look at them: --logs build/logs", config->source);
    else if (!config->dry_run && !home && new_records)
        tb_error("%s: whole, but its records go to experiments/, beside logs/. For a look at them: --dry-run", config->source);
    else if (!config->dry_run && tb_import_file(import))
        tb_error("%s", import->why);
    else {
        print_filed(import, new_records);
        return tb_cli_flush();
    }
    return TB_EXIT_FAILED;
}

static int command(int argc, char **argv)
{
    const struct argp argp = {options, parse, "PACKET|FOLDER", documentation, NULL, NULL, NULL};
    struct tb_import_config config = {.root = "logs"};
    struct tb_import import;
    int status = tb_cli_parse(&argp, "packet import", argc, argv, &config);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("packet import");
    if (status)
        return status;
    int rc = tb_import_open(&import, &config);
    if (rc)
        tb_error("%s", import.why);
    status = rc == -ENOENT ? TB_EXIT_USAGE : rc ? TB_EXIT_FAILED : answer(&import);
    tb_import_close(&import);
    return status;
}

TB_COMMAND(180, "packet import", "add another host's record, a packet or a folder, to this one *", command);
