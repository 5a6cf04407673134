// SPDX-License-Identifier: Apache-2.0
//
// locus verify: is the record what was written? Findings as a compiler prints its own, one line each; then what was looked at.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/record/verify/verify.h"

struct arguments {
    struct tb_verify_config config;
    char root[4096];
    struct tb_forms forms;
};

enum { KEY_LOGS = 'l', KEY_HOST = 0x100, KEY_CHECKPOINT, KEY_GIT, KEY_KEY };

static const struct argp_option options[] = {
    {"host", KEY_HOST, "NAME", 0, "only this host's ledger (all)", 0},
    {"logs", KEY_LOGS, "FOLDER", 0, "where the hosts' folders are (logs)", 0},
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0, "lines HOST BYTES HASH that were kept elsewhere", 0},
    {"git", KEY_GIT, NULL, 0, "prove it from the history of this clone, too", 0},
    {"key", KEY_KEY, "FILE", 0, "allowed signers: the checkpoint must be signed, in CHECKPOINT.sig", 0},
    {0},
};
static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};

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
    "commit is not tampering, but it leaves the order unproven: the runs are named, by host; those of which no commit says that "
    "the filing came first are witnessed by the ledger's chain alone. The summary does not call that well, but as nothing is known "
    "to be wrong, the exit status stays 0; --json has the runs in git.order[].unproven.\n\n"
    "Each log is read as its readers read it: a row of no shape, a sample of a cell or an arm that the header lacks, a summary "
    "without predictions or a time that is none is wrong, even where every hash is right. So is a packet that calls a virtual "
    "machine hardware, and so are names that are no host's or run's, or hosts' that differ in case alone.\n\n"
    "A file that nothing names is wrong, too: below a host's folder, in a folder below experiments/ or postulates/, a record that "
    "no ledger has entered; and so is a symbolic link in place of a file or folder of the record.\n\n"
    "A run that was opened and never closed, and whose log has no seal, crashed or is still running: it is listed and counted, "
    "and is no finding. Neither is a remark: that a ledger's times go back, so that a clock was wrong; that a packet was not "
    "sealed to its end; that something is not committed yet, or was committed as a draft. A note lists the verdicts of a postulate "
    "that has several official runs on one host, so that nobody runs until the verdict pleases and shows the last one only.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus verify\n"
    "  locus verify --git\n"
    "  locus verify --logs build/logs          trial runs\n"
    "  locus verify | tail -n 1 >bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint\n"
    "  ssh-keygen -Y sign -n locus-checkpoint -f ~/.ssh/id_ed25519 bm1.checkpoint\n"
    "  locus verify --checkpoint bm1.checkpoint --key allowed_signers\n\n"
    "`locus witness` makes a checkpoint that a tag or a time stamp vouches for.\n\n"
    "Exit status: 0 nothing is wrong, though history may not prove the order of each run; 1 something is; 2 bad input, or the "
    "question cannot be answered here.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct tb_verify_config *config = &arguments->config;
    switch (key) {
    case KEY_LOGS: tb_cli_root(argument, arguments->root, sizeof arguments->root); return 0;
    case KEY_HOST: config->host = argument; return 0;
    case KEY_CHECKPOINT: config->checkpoint = argument; return 0;
    case KEY_GIT: config->git = true; return 0;
    case KEY_KEY: config->key = argument; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
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

// --- what it shows -------------------------------------------------------------------------------------------------------------

static size_t number(const json_t *object, const char *path)
{
    return (size_t)json_integer_value(tb_member(object, path));
}

// Over all hosts; of a list its length.
static size_t total(const json_t *hosts, const char *key)
{
    const json_t *host;
    size_t i, sum = 0;
    json_array_foreach (hosts, i, host)
        sum += number(host, key) + json_array_size(tb_member(host, key));
    return sum;
}

// A postulate with several runs on one host.
static void add_sought(struct tb_doc *doc, const json_t *entry)
{
    const json_t *verdict;
    struct tb_words words = {0};
    size_t i;
    json_array_foreach (tb_member(entry, "verdicts"), i, verdict)
        tb_say(&words, "%s%s", i ? ", " : "", json_string_value(verdict));
    tb_doc_line(doc, NULL, "%s:%zu: note: postulate %s has %zu official runs on %s, with these verdicts in their order: %s",
                tb_member_text(entry, "file"), number(entry, "line"), tb_member_text(entry, "postulate"), number(entry, "runs"),
                tb_member_text(entry, "host"), words.text);
}

static void add_findings(struct tb_doc *doc, const json_t *report)
{
    const json_t *entry, *host;
    size_t i, k;
    json_array_foreach (tb_member(report, "findings"), i, entry)
        tb_doc_line(doc, NULL, "%s:%zu: %s (witness: %s)", tb_member_text(entry, "file"), number(entry, "line"),
                    tb_member_text(entry, "what"), tb_member_text(entry, "witness"));
    json_array_foreach (tb_member(report, "hosts"), i, host)
        json_array_foreach (tb_member(host, "crashed"), k, entry)
            tb_doc_line(doc, NULL, "%s:%zu: run %s crashed or is still running: no seal%s", tb_member_text(entry, "log"),
                        number(entry, "lines"), tb_member_text(entry, "run"),
                        json_is_true(tb_member(entry, "cut")) ? ", and half a line after this one" : "");
    json_array_foreach (tb_member(report, "remarks"), i, entry)
        tb_doc_line(doc, NULL, "%s:%zu: remark: %s", tb_member_text(entry, "file"), number(entry, "line"),
                    tb_member_text(entry, "what"));
    json_array_foreach (tb_member(report, "sought"), i, entry)
        add_sought(doc, entry);
    json_array_foreach (tb_member(report, "git.uncommitted"), i, entry)
        tb_doc_line(doc, NULL, "%s:1: remark: not committed yet, so history says nothing of it", json_string_value(entry));
    json_array_foreach (tb_member(report, "git.drafts"), i, entry)
        tb_doc_line(doc, NULL, "%s:1: remark: committed as a draft, and changed %zu time(s) before it was filed",
                    tb_member_text(entry, "path"), number(entry, "changes"));
}

// --- what history proves of the order ---

static const struct {
    const char *key, *lost, *lacking;
} proofs[] = {
    {"postulate_before_filing", "", "have a postulate that did not come in a commit before the one with its filing"},
    {"filing_before_log", "",
     "did not come in a commit after the one with their filing: that the filing was first, only the ledger's chain says"},
    {"postulate_commit", "postulate_commits_lost", "name no commit of their postulate that is in this history"},
    {"build_commit", "build_commits_lost", "name no build commit that is in this history"},
};
enum { PROOFS = sizeof proofs / sizeof *proofs };

// --- which runs ---

// The run's last six digits, by which every command finds it.
static const char *digits(const json_t *run)
{
    const char *id = tb_member_text(run, "run");
    return strlen(id) > 6 ? id + strlen(id) - 6 : id;
}

// Of several runs of one postulate each is named by its digits; an only one goes by the postulate's number.
static bool is_only(const json_t *run)
{
    return number(run, "of") == 1;
}

static unsigned long postulate(const json_t *run)
{
    return run ? strtoul(tb_member_text(run, "postulate"), NULL, 10) : 0;
}

// "0013 to 0015, 0016 (b8eca2, c706f7), 0017": the runs, in their order.
static void say_runs(struct tb_words *words, const json_t *runs)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i), *before = i ? json_array_get(runs, i - 1) : NULL;
        const json_t *next = json_array_get(runs, i + 1);
        bool same = postulate(before) == postulate(run), same_next = postulate(next) == postulate(run);
        bool follows = before && is_only(before) && is_only(run) && postulate(before) + 1 == postulate(run);
        bool leads = next && is_only(run) && is_only(next) && postulate(run) + 1 == postulate(next);
        if (follows && !leads)
            tb_say(words, " to ");
        else if (before && !follows)
            tb_say(words, ", ");
        if (!same && !(follows && leads))
            tb_say(words, "%s", tb_member_text(run, "postulate"));
        if (!is_only(run))
            tb_say(words, "%s%s%s", same ? "" : " (", digits(run), same_next ? "" : ")");
    }
}

static void add_runs(struct tb_doc *doc, const json_t *host, bool chain_alone)
{
    json_t *run, *runs = json_array();
    struct tb_words words = {0};
    size_t i;
    json_array_foreach (tb_member(host, "unproven"), i, run)
        if (json_is_true(tb_member(run, "chain_alone")) == chain_alone)
            json_array_append(runs, run);
    size_t count = json_array_size(runs);
    say_runs(&words, runs);
    json_decref(runs);
    if (count)
        tb_doc_line(doc, NULL, "%s: %zu run%s %s: %s", tb_member_text(host, "host"), count, count == 1 ? " is" : "s are",
                    chain_alone ? "witnessed by the ledger's chain alone" : "proven in part", words.text);
}

// "25 of 25 logs name no ..., what was measured cannot be looked up".
static void add_unproven(struct tb_doc *doc, const json_t *host)
{
    size_t runs = number(host, "runs");
    for (size_t i = 0; i < PROOFS; i++) {
        const json_t *lost = tb_member(host, proofs[i].lost);
        char commits[64] = "";
        if (json_array_size(lost) == 1)
            snprintf(commits, sizeof commits, " (%.12s)", json_string_value(json_array_get(lost, 0)));
        else if (json_array_size(lost) > 1)
            snprintf(commits, sizeof commits, " (%zu commits)", json_array_size(lost));
        if (number(host, proofs[i].key) < runs)
            tb_doc_line(doc, NULL, "%s: %zu of %zu logs %s%s%s", tb_member_text(host, "host"), runs - number(host, proofs[i].key),
                        runs, proofs[i].lacking, commits, i == PROOFS - 1 ? ": what was measured cannot be looked up" : "");
    }
}

static void add_order(struct tb_doc *doc, const json_t *order)
{
    const json_t *host;
    size_t i;
    if (json_array_size(order) == 0)
        return;
    struct tb_table *table = tb_doc_grid(doc, NULL, NULL,
                                         "=host|=official\nruns|=postulate\nbefore filing|=filing\nbefore log|"
                                         "=postulate's\ncommit here|=source's\ncommit here");
    json_array_foreach (order, i, host) {
        tb_table_add(table, TB_ROW_PLAIN, tb_member_value(host, "host"), tb_count(number(host, "runs")));
        for (size_t k = 0; k < PROOFS; k++)
            tb_table_put(table, tb_count(number(host, proofs[k].key)));
    }
    json_array_foreach (order, i, host) {
        add_runs(doc, host, true);
        add_runs(doc, host, false);
        add_unproven(doc, host);
    }
}

// --- the last lines ---

static void say_count(struct tb_words *words, const char *before, size_t count, const char *what)
{
    tb_say(words, "%s%zu %s%s", before, count, what, count == 1 ? "" : "s");
}

// " all is well", or what keeps it from that.
static void say_verdict(struct tb_words *words, const json_t *report)
{
    const json_t *order = tb_member(report, "git.order"), *host;
    size_t wrong = json_array_size(tb_member(report, "findings")), remarks = json_array_size(tb_member(report, "remarks"));
    size_t hosts = json_array_size(order), proven = 0, i;
    json_array_foreach (order, i, host)
        proven += number(host, "proven") == number(host, "runs");
    if (wrong) {
        tb_say(words, " %zu thing%s wrong", wrong, wrong == 1 ? " is" : "s are");
        return;
    }
    tb_say(words, remarks || proven < hosts ? " verified" : " all is well");
    if (remarks)
        say_count(words, ", with ", remarks, "remark");
    if (proven == hosts)
        return;
    tb_say(words, "; history proves the order for %zu of %zu hosts", proven, hosts);
    const char *before = ", not for";
    json_array_foreach (order, i, host)
        if (number(host, "proven") < number(host, "runs")) {
            tb_say(words, "%s %s (%zu of %zu runs)", before, tb_member_text(host, "host"), number(host, "proven"),
                   number(host, "runs"));
            before = ",";
        }
}

static void add_summary(struct tb_doc *doc, const json_t *report)
{
    const json_t *hosts = tb_member(report, "hosts");
    struct tb_words words = {0};
    say_count(&words, "", json_array_size(hosts), "host");
    say_count(&words, ", ", total(hosts, "runs"), "run");
    tb_say(&words, " (%zu sealed, %zu crashed)", total(hosts, "sealed"), total(hosts, "crashed"));
    say_count(&words, ", ", total(hosts, "postulates"), "postulate");
    say_count(&words, ", ", total(hosts, "records"), "record");
    if (total(hosts, "packets"))
        say_count(&words, ", ", total(hosts, "packets"), "packet");
    if (tb_member(report, "git.commits"))
        say_count(&words, "; ", number(report, "git.commits"), "commit");
    if (*tb_member_text(report, "signed_by"))
        tb_say(&words, "; checkpoint signed by %s", tb_member_text(report, "signed_by"));
    tb_say(&words, ":");
    say_verdict(&words, report);
    tb_doc_line(doc, NULL, "%s", words.text);
}

// The checkpoints come last: they are what one wants to keep, and of a damaged record nobody does.
static struct tb_doc *verify_doc(json_t *head, const json_t *report)
{
    struct tb_doc *doc = tb_doc_open(head);
    const json_t *host;
    size_t i;
    if (!doc)
        return NULL;
    tb_doc_members(doc, report);
    add_findings(doc, report);
    add_order(doc, tb_member(report, "git.order"));
    add_summary(doc, report);
    json_array_foreach (tb_member(report, "hosts"), i, host)
        if (json_array_size(tb_member(report, "findings")) == 0)
            tb_doc_line(doc, NULL, "%s", tb_member_text(host, "checkpoint"));
    return doc;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, NULL, documentation, children, NULL, NULL};
    char why[1024];
    json_t *report = NULL;
    arguments = (struct arguments){.root = "logs"};
    arguments.config.root = arguments.root;
    int status = tb_cli_parse(&argp, "verify", argc, argv, &arguments);
    if (status == TB_CLI_RUN && (status = tb_cli_clone("verify")) == TB_EXIT_OK)
        status = TB_CLI_RUN;
    if (status != TB_CLI_RUN)
        return status;
    int rc = tb_verify(&arguments.config, &report, why, sizeof why);
    if (rc) {
        tb_error("%s", why);
        return rc == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    bool wrong = json_array_size(tb_member(report, "findings")) > 0;
    status = tb_forms_write(&arguments.forms, verify_doc(arguments.forms.json.wanted ? tb_head("verify") : NULL, report));
    json_decref(report);
    return status ? status : wrong ? TB_EXIT_FAILED : TB_EXIT_OK;
}

TB_COMMAND(130, "verify", "is the record complete and unchanged? *", command);
