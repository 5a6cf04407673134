// SPDX-License-Identifier: Apache-2.0
//
// locus verify: is the record what was written? Findings as a compiler prints its own, one line each; then what was looked at.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/commands.h"
#include "testbed/host/head.h"
#include "testbed/record/verify/verify.h"
#include "testbed/report/board/board.h"

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
    "each official run's postulate came in a commit before the one with its log. Then a table of how many official runs of each "
    "host have an order that history proves: the postulate was committed before its filing, and the filing before the log; and the "
    "two commits that the log names, its postulate's and its source's, are in this history and contain that postulate. A lost "
    "commit is not tampering, but it leaves the order unproven, and the summary says so.\n\n"
    "A record in experiments/ that no ledger has entered is wrong, too, and so is a symbolic link in place of a file or folder of "
    "the record.\n\n"
    "A run that was opened and never closed, and whose log has no seal, crashed or is still running: it is listed and counted, "
    "and is no finding. Neither is a remark: that a ledger's times go back, so that a clock was wrong; that something is not "
    "committed yet, or was committed as a draft.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus verify\n"
    "  locus verify --git\n"
    "  locus verify --root build/logs          trial runs\n"
    "  locus verify | tail -n 1 >bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint\n"
    "  ssh-keygen -Y sign -n locus-checkpoint -f ~/.ssh/id_ed25519 bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint --key allowed_signers\n\n"
    "Exit status: 0 nothing is wrong, 1 something is, 2 bad input, or the question cannot be answered here.";

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

static void print_remarks(FILE *out, const json_t *remarks)
{
    size_t index;
    json_t *remark;
    json_array_foreach (remarks, index, remark) {
        char line[8192];
        snprintf(line, sizeof line, "%s:%zu: remark: %s", text(remark, "file"), number(remark, "line"), text(remark, "what"));
        print_clean(out, line);
    }
}

static void print_uncommitted(FILE *out, const json_t *git)
{
    size_t index;
    json_t *path;
    json_array_foreach (json_object_get(git, "uncommitted"), index, path) {
        char line[8192];
        snprintf(line, sizeof line, "%s:1: remark: not committed yet, so history says nothing of it", json_string_value(path));
        print_clean(out, line);
    }
}

static void print_drafts(FILE *out, const json_t *git)
{
    size_t index;
    json_t *draft;
    json_array_foreach (json_object_get(git, "drafts"), index, draft) {
        char line[8192];
        snprintf(line, sizeof line, "%s:1: remark: committed as a draft, and changed %zu time(s) before it was filed",
                 text(draft, "path"), number(draft, "changes"));
        print_clean(out, line);
    }
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

// --- what history proves of the order ------------------------------------------------------------------------------------------

static void print_rows(FILE *out, const json_t *order)
{
    size_t i, width = strlen("host");
    json_t *host;
    json_array_foreach (order, i, host)
        width = strlen(text(host, "host")) > width ? strlen(text(host, "host")) : width;
    if (!json_array_size(order))
        return;
    fprintf(out, "%*s  official        postulate      filing   postulate's       source's\n", (int)width, "");
    fprintf(out, "%-*s      runs   before filing  before log   commit here    commit here\n", (int)width, "host");
    json_array_foreach (order, i, host) {
        char line[512];
        snprintf(line, sizeof line, "%-*s %9zu %15zu %11zu %13zu %14zu", (int)width, text(host, "host"), number(host, "runs"),
                 number(host, "postulate_before_filing"), number(host, "filing_before_log"), number(host, "postulate_commit"),
                 number(host, "build_commit"));
        print_clean(out, line);
    }
}

// " (49b1c6141b92)", " (25 commits)" or "".
static const char *lost_text(const json_t *lost, char *out, size_t bytes)
{
    size_t count = json_array_size(lost);
    if (count == 1)
        snprintf(out, bytes, " (%.12s)", json_string_value(json_array_get(lost, 0)));
    else if (count)
        snprintf(out, bytes, " (%zu commits)", count);
    else
        out[0] = '\0';
    return out;
}

static void print_unproven(FILE *out, const json_t *host)
{
    static const struct {
        const char *proven, *lost, *what, *so;
    } lacks[] = {
        {"postulate_before_filing", "", "have a postulate that did not come in a commit before the one with its filing", ""},
        {"filing_before_log", "", "did not come in a commit after the one with their filing",
         ": that the filing was first, only the ledger's chain says"},
        {"postulate_commit", "postulate_commits_lost", "name no commit of their postulate that is in this history", ""},
        {"build_commit", "build_commits_lost", "name no build commit that is in this history",
         ": what was measured cannot be looked up"},
    };
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        char line[1024], lost[64];
        size_t runs = number(host, "runs"), proven = number(host, lacks[i].proven);
        if (proven == runs)
            continue;
        snprintf(line, sizeof line, "%s: %zu of %zu logs %s%s%s", text(host, "host"), runs - proven, runs, lacks[i].what,
                 lost_text(json_object_get(host, lacks[i].lost), lost, sizeof lost), lacks[i].so);
        print_clean(out, line);
    }
}

static void print_order(FILE *out, const json_t *git)
{
    const json_t *order = json_object_get(git, "order");
    size_t i;
    json_t *host;
    print_rows(out, order);
    json_array_foreach (order, i, host)
        print_unproven(out, host);
}

// ": all is well", or what keeps it from that.
static void print_verdict(FILE *out, const json_t *report)
{
    const json_t *order = json_object_get(json_object_get(report, "git"), "order");
    size_t wrong = json_array_size(json_object_get(report, "findings"));
    size_t remarks = json_array_size(json_object_get(report, "remarks")), hosts = json_array_size(order), proven = 0, i;
    char line[4096] = "";
    json_t *host;
    json_array_foreach (order, i, host) {
        bool all = number(host, "proven") == number(host, "runs");
        proven += all;
        if (!all)
            snprintf(line + strlen(line), sizeof line - strlen(line), "%s %s (%zu of %zu runs)", *line ? "," : ", not for",
                     text(host, "host"), number(host, "proven"), number(host, "runs"));
    }
    if (wrong)
        fprintf(out, ": %zu thing%s wrong", wrong, wrong == 1 ? " is" : "s are");
    else
        fprintf(out, remarks || proven < hosts ? ": verified" : ": all is well");
    if (!wrong && remarks)
        fprintf(out, ", with %zu remark%s", remarks, plural(remarks));
    if (!wrong && proven < hosts)
        fprintf(out, "; history proves the order for %zu of %zu hosts", proven, hosts);
    print_clean(out, wrong ? "" : line);
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
    print_verdict(out, report);
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
    print_remarks(out, json_object_get(report, "remarks"));
    print_uncommitted(out, json_object_get(report, "git"));
    print_drafts(out, json_object_get(report, "git"));
    print_order(out, json_object_get(report, "git"));
    print_summary(out, report);
    if (!json_array_size(findings))
        json_array_foreach (hosts, index, host)
            print_clean(out, text(host, "checkpoint"));
    return 0;
}

// A failure is one of what is composed: there was no memory for it.
static int print_json(FILE *out, json_t *report)
{
    json_t *whole = tb_headed(tb_head("verify"), json_incref(report));
    int failed = !whole || json_dumpf(whole, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;
    json_decref(whole);
    return failed;
}

static int print(json_t *report, bool json)
{
    struct tb_text composed;
    int rc = tb_text_open(&composed);
    if (!rc) {
        rc = json ? print_json(composed.stream, report) : print_text(composed.stream, report);
        rc = tb_text_close(&composed, stdout, rc ? -ENOMEM : 0);
    }
    if (rc)
        tb_cli_output_failed(rc);
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
    status = tb_cli_clone("verify");
    if (status)
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
