// SPDX-License-Identifier: Apache-2.0
//
// locus verify: is the record what was written? Findings as a compiler prints its own, one line each; then what was looked at.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/cli.h"
#include "testbed/commands.h"
#include "testbed/record/verify.h"
#include "testbed/report_text.h"

struct arguments {
    struct tb_verify_config config;
    char root[4096];
    bool json;
};

enum { KEY_ROOT = 0x100, KEY_HOST, KEY_CHECKPOINT, KEY_GIT, KEY_KEY, KEY_JSON };

static const struct argp_option options[] = {
    {"host", KEY_HOST, "NAME", 0, "only this host's ledger (all)", 0},
    {"root", KEY_ROOT, "FOLDER", 0, "where the hosts' folders are (logs)", 0},
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0, "lines HOST BYTES HASH that were kept elsewhere", 0},
    {"git", KEY_GIT, NULL, 0, "prove it from the history of this clone, too", 0},
    {"key", KEY_KEY, "FILE", 0, "allowed signers: the checkpoint must be signed, in CHECKPOINT.sig", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON object", 0},
    {0},
};

static const char documentation[] =
    "Is the record what was written? Checks every ledger with its logs, postulates, records and packets."
    "\v"
    "Each finding is one line, \"file:line: what is wrong (witness: who says so)\". Logs and ledgers are chained by hashes, and "
    "each log's last hash is in the ledger. What these cannot see, a ledger whose end was cut off together with its logs or a "
    "record that was written anew as a whole, takes a witness from outside: a checkpoint that you kept, or the history of a "
    "clone.\n\n"
    "With --git: no log and no record changed after the commit that added it, no postulate after it was filed; ledgers only grew; "
    "each official run's postulate came in a commit before the one with its log.\n\n"
    "A run that was opened and never closed, and whose log has no seal, crashed or is still running: it is listed and counted, "
    "and is no finding.\n\n"
    "Examples:\n"
    "  locus verify\n"
    "  locus verify --git\n"
    "  locus verify --root build/logs          trial runs\n"
    "  locus verify | tail -n 1 >bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint\n"
    "  ssh-keygen -Y sign -n locus-checkpoint -f ~/.ssh/id_ed25519 bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint --key allowed_signers\n\n"
    "Exit status: 0 all is well, 1 something is wrong, 2 bad input, or the question cannot be answered here.";

// Paths are compared as text, with git's, so "./logs/" becomes "logs".
static void root_set(struct arguments *arguments, const char *root)
{
    while (strncmp(root, "./", 2) == 0)
        root += 2 + strspn(root + 2, "/");
    snprintf(arguments->root, sizeof arguments->root, "%s", *root ? root : ".");
    for (size_t length = strlen(arguments->root); length > 1 && arguments->root[length - 1] == '/'; length--)
        arguments->root[length - 1] = '\0';
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct tb_verify_config *config = &arguments->config;
    switch (key) {
    case KEY_ROOT: root_set(arguments, argument); return 0;
    case KEY_HOST: config->host = argument; return 0;
    case KEY_CHECKPOINT: config->checkpoint = argument; return 0;
    case KEY_GIT: config->git = true; return 0;
    case KEY_KEY: config->key = argument; return 0;
    case KEY_JSON: arguments->json = true; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus verify --help)", argument);
    case ARGP_KEY_END:
        if (config->key && !config->checkpoint)
            return tb_cli_bad(state, "--key: it is a checkpoint that is signed: name it with --checkpoint");
        if (config->host && (!*config->host || *config->host == '.' || strchr(config->host, '/')))
            return tb_cli_bad(state, "--host: '%s' cannot name a host", config->host);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- text ----------------------------------------------------------------------------------------------------------------------

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static size_t number(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

// What stands in a record may hold anything.
static void print_clean(FILE *out, const char *line)
{
    char clean[8192];
    tb_text_clean(line, false, clean, sizeof clean);
    fprintf(out, "%s\n", clean);
}

static void print_findings(FILE *out, const json_t *findings)
{
    size_t index;
    json_t *finding;
    json_array_foreach (findings, index, finding) {
        char line[8192];
        snprintf(line, sizeof line, "%s:%zu: %s (witness: %s)", text(finding, "file"), number(finding, "line"),
                 text(finding, "what"), text(finding, "witness"));
        print_clean(out, line);
    }
}

static void print_crashed(FILE *out, const json_t *host)
{
    size_t index;
    json_t *crashed;
    json_array_foreach (json_object_get(host, "crashed"), index, crashed) {
        char line[8192];
        snprintf(line, sizeof line, "%s:%zu: run %s crashed or is still running: no seal%s", text(crashed, "log"),
                 number(crashed, "lines"), text(crashed, "run"),
                 json_is_true(json_object_get(crashed, "cut")) ? ", and half a line behind this one" : "");
        print_clean(out, line);
    }
}

static void print_uncommitted(FILE *out, const json_t *git)
{
    size_t index;
    json_t *path;
    json_array_foreach (json_object_get(git, "uncommitted"), index, path) {
        char line[8192];
        snprintf(line, sizeof line, "%s:1: not committed yet, so history says nothing of it", json_string_value(path));
        print_clean(out, line);
    }
}

static void print_drafts(FILE *out, const json_t *git)
{
    size_t index;
    json_t *draft;
    json_array_foreach (json_object_get(git, "drafts"), index, draft) {
        char line[8192];
        snprintf(line, sizeof line, "%s:1: committed as a draft, and changed %zu time(s) before it was filed", text(draft, "path"),
                 number(draft, "changes"));
        print_clean(out, line);
    }
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_summary(FILE *out, const json_t *report)
{
    const json_t *hosts = json_object_get(report, "hosts"), *git = json_object_get(report, "git");
    size_t runs = 0, sealed = 0, crashed = 0, postulates = 0, records = 0, packets = 0, index;
    json_t *host;
    json_array_foreach (hosts, index, host) {
        runs += number(host, "runs");
        sealed += number(host, "sealed");
        crashed += json_array_size(json_object_get(host, "crashed"));
        postulates += number(host, "postulates");
        records += number(host, "records");
        packets += number(host, "packets");
    }
    fprintf(out, "%zu host%s, %zu run%s (%zu sealed, %zu crashed), %zu postulate%s, %zu record%s", json_array_size(hosts),
            plural(json_array_size(hosts)), runs, plural(runs), sealed, crashed, postulates, plural(postulates), records,
            plural(records));
    if (packets)
        fprintf(out, ", %zu packet%s", packets, plural(packets));
    if (json_is_object(git))
        fprintf(out, "; %zu commit%s", number(git, "commits"), plural(number(git, "commits")));
    if (json_is_string(json_object_get(report, "signed_by"))) {
        char signer[256];
        tb_text_clean(text(report, "signed_by"), false, signer, sizeof signer);
        fprintf(out, "; checkpoint signed by %s", signer);
    }
    size_t wrong = json_array_size(json_object_get(report, "findings"));
    if (wrong)
        fprintf(out, ": %zu thing%s wrong\n", wrong, wrong == 1 ? " is" : "s are");
    else
        fprintf(out, ": all is well\n");
}

// The checkpoints come last: they are what one wants to keep, and of a damaged record nobody does.
static int print_text(FILE *out, const json_t *report)
{
    const json_t *hosts = json_object_get(report, "hosts"), *findings = json_object_get(report, "findings");
    size_t index;
    json_t *host;
    print_findings(out, findings);
    json_array_foreach (hosts, index, host)
        print_crashed(out, host);
    print_uncommitted(out, json_object_get(report, "git"));
    print_drafts(out, json_object_get(report, "git"));
    print_summary(out, report);
    if (!json_array_size(findings))
        json_array_foreach (hosts, index, host)
            print_clean(out, text(host, "checkpoint"));
    return 0;
}

static int print(const json_t *report, bool json)
{
    struct tb_text composed;
    int rc = tb_text_open(&composed);
    if (!rc) {
        rc = json ? json_dumpf(report, composed.stream, JSON_INDENT(2)) : print_text(composed.stream, report);
        if (json && !rc)
            fputc('\n', composed.stream);
        rc = tb_text_close(&composed, stdout, rc ? -EIO : 0);
    }
    if (rc)
        tb_error("cannot write to standard output: %s", strerror(-rc));
    return rc;
}

int tb_cmd_verify(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};
    char why[1024];
    json_t *report = NULL;
    arguments = (struct arguments){.root = "logs"};
    arguments.config.root = arguments.root;
    int status = tb_cli_parse(&argp, "verify", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    int rc = tb_verify(&arguments.config, &report, why, sizeof why);
    if (rc) {
        tb_error("%s", why);
        return rc == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    bool wrong = json_array_size(json_object_get(report, "findings")) > 0;
    rc = print(report, arguments.json);
    json_decref(report);
    return rc || wrong ? TB_EXIT_FAILED : TB_EXIT_OK;
}
