// SPDX-License-Identifier: Apache-2.0
//
// locus witness: has somebody outside vouch for the record, and checks it later. Two actions of one command: what one of them makes
// the other one reads.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/base/sha256.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/record/git.h"
#include "testbed/record/verify/verify.h"
#include "testbed/record/witness/tsp.h"
#include "testbed/record/witness/witness.h"

struct arguments {
    const char *action, *file;  // make, or check FILE
    const char *host, *output, *tag, *ca;
    char root[4096];
    bool sign;
    struct tb_forms forms;
};

enum { KEY_HOST = 0x100, KEY_TAG, KEY_SIGN, KEY_CA };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "make: the checkpoint, and FILE.tsq, a request for its time stamp", 1},
    {"tag", KEY_TAG, "NAME", 0, "make: a tag of HEAD with the checkpoint as its message; check: that tag", 1},
    {"sign", KEY_SIGN, NULL, 0, "make: sign the tag, as git is configured", 1},
    {"ca", KEY_CA, "FILE", 0, "check: certificates of the time-stamping authority's root (PEM)", 1},
    {"host", KEY_HOST, "NAME", 0, "make: only this host's ledger (all)", 2},
    {"logs", 'l', "FOLDER", 0, "where the hosts' folders are (logs)", 2},
    {0},
};
static const struct argp_child children[] = {{&tb_forms_json_argp, 0, NULL, 0}, {0}};

static const char documentation[] =
    "Has somebody outside vouch for the record: a checkpoint in a tag, or in a file that gets a time stamp."
    "\v"
    "The chains of logs and ledgers hold an order, and who owns a machine could write all of them anew. A checkpoint pins them: "
    "the size and last hash of each ledger, and the head of history. It is worth as much as it is out of your reach.\n\n"
    "`make` verifies the record, and prints the checkpoint. With -o it goes to a file, and beside it goes FILE.tsq, a request of "
    "RFC 3161. With --tag it becomes the message of a tag. No network is needed. Then give it away: push the tag, or send the "
    "request to an authority and keep its answer as FILE.tsr. An unsigned tag proves no more than a commit does: anybody who can "
    "write here can make it, at any time; pushed to others it is as good as their memory. `ots stamp FILE` (OpenTimestamps) works "
    "on the same file, and `ots verify FILE.ots` checks it.\n\n"
    "`check` asks whether the record of today goes on from that checkpoint: each ledger begins with these bytes, the commit is in "
    "history, and all is as `locus verify --git` wants it. If FILE.tsr is there, --ca names the authority's root certificate, and "
    "the stamp must be of this file and by that authority; its time is printed. Of a signed tag, git checks the signature. This "
    "needs no network, either.\n\n"
    "When? After a postulate was filed and committed, before its run: then the prediction is older than the stamp. And once more "
    "after the run was committed: then the samples are. No stamp says that a run is younger than its filing: that say the ledger, "
    "and the commits that the log names.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus witness make -o ../filed-0046.witness\n"
    "  curl --data-binary @../filed-0046.witness.tsq \\\n"
    "      -H 'Content-Type: application/timestamp-query' URL >../filed-0046.witness.tsr\n"
    "  locus witness check ../filed-0046.witness --ca authority.pem\n"
    "  locus witness make --tag filed-0046 --sign && git push origin filed-0046\n"
    "  locus witness check --tag filed-0046\n\n"
    "Exit status: 0 made, or all of it holds; 1 the record is not what was written, a stamp or signature does not hold, or it "
    "could not be written; 2 bad input, or the question cannot be answered here.";

static bool is_making(const struct arguments *arguments)
{
    return arguments->action && strcmp(arguments->action, "make") == 0;
}

static error_t check_arguments(struct argp_state *state, const struct arguments *arguments)
{
    bool making = is_making(arguments);
    if (!arguments->action)
        return tb_cli_bad(state, "locus witness: make or check? (see: locus witness --help)");
    if (making && (arguments->ca || arguments->forms.json.wanted))
        return tb_cli_bad(state, "--ca and --json are for check");
    if (!making && (arguments->output || arguments->sign || arguments->host))
        return tb_cli_bad(state, "--output, --sign and --host are for make");
    if (arguments->sign && !arguments->tag)
        return tb_cli_bad(state, "--sign: it is a tag that is signed: name it with --tag");
    if (!making && !arguments->file == !arguments->tag)
        return tb_cli_bad(state, "locus witness check: which checkpoint? A FILE, or --tag NAME");
    if (arguments->ca && arguments->tag)
        return tb_cli_bad(state, "--ca: it is a FILE that has a time stamp, not a tag");
    if (arguments->host && (!*arguments->host || *arguments->host == '.' || strchr(arguments->host, '/')))
        return tb_cli_bad(state, "--host: '%s' cannot name a host", arguments->host);
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'o': arguments->output = argument; return 0;
    case 'l': tb_cli_root(argument, arguments->root, sizeof arguments->root); return 0;
    case KEY_TAG: arguments->tag = argument; return 0;
    case KEY_SIGN: arguments->sign = true; return 0;
    case KEY_CA: arguments->ca = argument; return 0;
    case KEY_HOST: arguments->host = argument; return 0;
    case ARGP_KEY_INIT: state->child_inputs[0] = &arguments->forms; return 0;
    case ARGP_KEY_ARG:
        if (!arguments->action && strcmp(argument, "make") && strcmp(argument, "check"))
            return tb_cli_bad(state, "locus witness: '%s' is not make or check (see: locus witness --help)", argument);
        if (arguments->action && (is_making(arguments) || arguments->file))
            return tb_cli_bad(state, "unexpected argument '%s' (see: locus witness --help)", argument);
        *(arguments->action ? &arguments->file : &arguments->action) = argument;
        return 0;
    case ARGP_KEY_END: return check_arguments(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- make ----------------------------------------------------------------------------------------------------------------------

static int write_new(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wxe");
    if (!file)
        return -errno;
    bool written = fwrite(bytes, 1, count, file) == count && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int rc = written ? 0 : -errno;
    if (fclose(file) && !rc)
        rc = -errno;
    if (rc)
        unlink(path);
    return rc;
}

static int cannot_write(const char *path, int rc)
{
    tb_error("%s: %s", path,
             rc == -EEXIST ? "is there already, and may be what somebody vouched for. Choose another name" : tb_output_why(rc));
    return rc == -EEXIST ? TB_EXIT_USAGE : TB_EXIT_FAILED;
}

static int make_file(const char *path, const char *text)
{
    char request_path[4096], sha256[TB_HASH_TEXT];
    unsigned char *request = NULL;
    size_t bytes = 0;
    if (snprintf(request_path, sizeof request_path, "%s.tsq", path) >= (int)sizeof request_path)
        return cannot_write(path, -ENAMETOOLONG);
    int rc = tb_tsp_request(text, strlen(text), &request, &bytes), wrote = 0;
    if (!rc)
        rc = tb_hash_memory(text, strlen(text), sha256);
    if (!rc && !(rc = wrote = write_new(request_path, request, bytes)) && (rc = write_new(path, text, strlen(text))))
        unlink(request_path);
    free(request);
    if (rc)
        return cannot_write(wrote ? request_path : path, rc);
    printf("checkpoint  %s\nrequest     %s, of its SHA-256 %s\n"
           "next        keep it elsewhere. An authority's URL makes of the request a stamp:\n"
           "                curl --data-binary @%s -H 'Content-Type: application/timestamp-query' URL >%s.tsr\n"
           "            then: locus witness check %s --ca FILE\n",
           path, request_path, sha256, request_path, path, path);
    return TB_EXIT_OK;
}

// A tag is of a commit, and the ledger may have gone on since.
static void say_uncommitted(const json_t *hosts)
{
    const json_t *host;
    size_t i;
    json_array_foreach (hosts, i, host)
        if (!tb_git_committed(tb_member_text(host, "ledger")))
            printf("note        %s is not committed as it is: the tag's commit has it otherwise\n", tb_member_text(host, "ledger"));
}

static int make_tag(const struct arguments *arguments, const char *commit, const char *text, const json_t *hosts)
{
    char why[256];
    if (!*commit) {
        tb_error("--tag: there is no commit here to tag (see: git log)");
        return TB_EXIT_USAGE;
    }
    if (tb_witness_tag_make(arguments->tag, commit, text, arguments->sign, why, sizeof why)) {
        tb_error("--tag %s: %s", arguments->tag, why);
        return TB_EXIT_FAILED;
    }
    printf("tag         %s, of commit %.12s\nsigned      %s\nnext        git push origin %s\n", arguments->tag, commit,
           arguments->sign ? "yes" : "no: anybody who can write here can make it, at any time. --sign signs it", arguments->tag);
    say_uncommitted(hosts);
    return TB_EXIT_OK;
}

// Nothing is witnessed that is not whole: a checkpoint of a damaged record would vouch for the damage.
static int make(const struct arguments *arguments)
{
    const struct tb_verify_config config = {.root = arguments->root, .host = arguments->host};
    const char *const head[] = {"rev-parse", "--verify", "-q", "HEAD", NULL};
    char why[1024], commit[TB_HASH_TEXT] = "";
    json_t *report = NULL;
    int rc = tb_verify(&config, &report, why, sizeof why), status = TB_EXIT_OK;
    if (rc) {
        tb_error("%s", why);
        return rc == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    if (tb_git_line(NULL, head, commit, sizeof commit))
        commit[0] = '\0';
    const json_t *hosts = tb_member(report, "hosts");
    char *text = tb_witness_text(hosts, commit);
    if (json_array_size(tb_member(report, "findings"))) {
        tb_error("the record is not what was written, and is not witnessed (see: locus verify)");
        status = TB_EXIT_FAILED;
    } else if (!json_array_size(hosts)) {
        tb_error("%s: there is no ledger to witness", arguments->root);
        status = TB_EXIT_USAGE;
    } else if (!text) {
        tb_error("out of memory");
        status = TB_EXIT_FAILED;
    } else {
        if (arguments->output)
            status = tb_cli_outputs_check(&arguments->output, 1);
        if (arguments->output && !status)
            status = make_file(arguments->output, text);
        if (arguments->tag && !status)
            status = make_tag(arguments, commit, text, hosts);
        if (!arguments->output && !arguments->tag)
            fputs(text, stdout);
    }
    free(text);
    json_decref(report);
    return status ? status : tb_cli_flush();
}

// --- check ---------------------------------------------------------------------------------------------------------------------

struct check {
    const char *name;           // of the file, or "tag NAME"
    char *text;
    json_t *findings, *said;    // as tb_verify() has findings; said: stamp and signature, for the document
};

static int bad_input(const char *what, const char *why)
{
    tb_error("%s: %s", what, why);
    return TB_EXIT_USAGE;
}

static void find(struct check *check, const char *file, const char *witness, const char *what)
{
    json_array_append_new(check->findings,
                          json_pack("{s:s, s:i, s:s, s:s}", "file", file, "line", 1, "what", what, "witness", witness));
}

static int read_file(const struct arguments *arguments, struct check *check)
{
    char response[4096], why[512];
    struct tb_tsp_stamp stamp;
    size_t bytes;
    int rc = tb_file_read(arguments->file, &check->text, &bytes);
    if (rc)
        return bad_input(arguments->file, strerror(-rc));
    if (strlen(check->text) != bytes)
        return bad_input(arguments->file, "is not text");
    snprintf(response, sizeof response, "%s.tsr", arguments->file);
    bool stamped = access(response, F_OK) == 0;
    if (!stamped && arguments->ca)
        return bad_input(response, "there is no such time stamp. An authority makes it of the request (see: locus witness --help)");
    if (!stamped)
        return TB_EXIT_OK;
    if (!arguments->ca)
        return bad_input(response, "who may have stamped it? Name the root certificate of the authority with --ca");
    rc = tb_tsp_check(response, arguments->ca, check->text, bytes, &stamp, why, sizeof why);
    if (rc && rc != -EKEYREJECTED) {
        tb_error("%s", rc == -ENOMEM ? "out of memory" : why);
        return rc == -ENOMEM ? TB_EXIT_FAILED : TB_EXIT_USAGE;
    }
    if (rc)
        find(check, response, "the time stamp", why);
    else
        json_object_set_new(check->said, "stamp", json_pack("{s:s, s:s}", "time", stamp.time, "authority", stamp.authority));
    return TB_EXIT_OK;
}

static int read_tag(const struct arguments *arguments, struct check *check)
{
    struct tb_witness_tag tag;
    char line[96], what[400];
    int rc = tb_witness_tag_read(arguments->tag, &tag);
    if (rc) {
        tb_witness_tag_close(&tag);
        return bad_input(check->name, rc == -ENOENT ? "there is no annotated tag of a commit that has this name" : strerror(-rc));
    }
    snprintf(line, sizeof line, "commit %s\n", tag.commit);
    if (strncmp(tag.text, line, strlen(line)))
        find(check, check->name, "the tag", "its message does not name the commit that it tags");
    snprintf(what, sizeof what, "git does not vouch for its signature: %s", tag.words);
    if (tag.is_signed && !tag.holds)
        find(check, check->name, "the key", what);
    else
        json_object_set_new(check->said, "signature", tag.is_signed ? json_string(tag.words) : json_null());
    check->text = tag.text;
    tag.text = NULL;
    tb_witness_tag_close(&tag);
    return TB_EXIT_OK;
}

// A history is asked for the commit of the checkpoint, too. Folders that are not below this one have none here.
static int ask_record(const struct arguments *arguments, struct check *check)
{
    const char *const inside[] = {"rev-parse", "-q", "--verify", "HEAD", NULL};
    char answer[TB_HASH_TEXT], why[1024];
    json_t *report = NULL;
    struct tb_verify_config config = {.root = arguments->root, .checkpoint = check->name, .checkpoint_text = check->text};
    config.git = strcspn(arguments->root, "/.") > 0 && tb_git_line(NULL, inside, answer, sizeof answer) == 0;
    int rc = tb_verify(&config, &report, why, sizeof why);
    if (rc) {
        tb_error("%s", why);
        return rc == -EINVAL ? TB_EXIT_USAGE : TB_EXIT_FAILED;
    }
    json_array_extend(check->findings, (json_t *)(uintptr_t)tb_member(report, "findings"));
    json_object_set_new(check->said, "history", json_boolean(config.git));
    json_decref(report);
    return TB_EXIT_OK;
}

static void add_witnesses(struct tb_doc *doc, const struct check *check, bool tag)
{
    const json_t *stamp = tb_member(check->said, "stamp");
    const char *signature = tb_member_text(check->said, "signature");
    if (stamp)
        tb_doc_line(doc, NULL, "stamp: %s, by %s: what it holds is older", tb_member_text(stamp, "time"),
                    tb_member_text(stamp, "authority"));
    else if (*signature)
        tb_doc_line(doc, NULL, "signed: %s", signature);
    else
        tb_doc_line(doc, NULL, "%s",
                    tag ? "signed: no, it says as much as those whom it was pushed to"
                        : "stamp: none, it says as much as the place where it was kept");
    if (!json_is_true(tb_member(check->said, "history")))
        tb_doc_line(doc, NULL, "history: none here, so it was not asked for the checkpoint's commit");
}

static struct tb_doc *check_doc(json_t *head, const struct check *check, bool tag)
{
    struct tb_doc *doc = tb_doc_open(head);
    const json_t *finding;
    size_t i, wrong = json_array_size(check->findings);
    if (!doc)
        return NULL;
    tb_doc_json(doc, "checkpoint", json_string(check->name));
    tb_doc_json(doc, "findings", json_incref(check->findings));
    tb_doc_members(doc, check->said);
    json_array_foreach (check->findings, i, finding)
        tb_doc_line(doc, NULL, "%s:%lld: %s (witness: %s)", tb_member_text(finding, "file"),
                    (long long)json_integer_value(tb_member(finding, "line")), tb_member_text(finding, "what"),
                    tb_member_text(finding, "witness"));
    if (wrong) {
        tb_doc_line(doc, NULL, "%s: %zu thing%s wrong", check->name, wrong, wrong == 1 ? " is" : "s are");
        return doc;
    }
    tb_doc_line(doc, NULL, "%s: the record goes on from it", check->name);
    add_witnesses(doc, check, tag);
    return doc;
}

static int check_witness(struct arguments *arguments)
{
    char name[512];
    struct check check = {.name = name, .findings = json_array(), .said = json_object()};
    snprintf(name, sizeof name, "%s%s", arguments->tag ? "tag " : "", arguments->tag ? arguments->tag : arguments->file);
    int status = arguments->tag ? read_tag(arguments, &check) : read_file(arguments, &check);
    if (!status)
        status = ask_record(arguments, &check);
    if (!status) {
        status = tb_forms_write(&arguments->forms, check_doc(arguments->forms.json.wanted ? tb_head("witness") : NULL, &check,
                                                             arguments->tag != NULL));
        if (!status && json_array_size(check.findings))
            status = TB_EXIT_FAILED;
    }
    free(check.text);
    json_decref(check.findings);
    json_decref(check.said);
    return status;
}

static int command(int argc, char **argv)
{
    struct arguments arguments = {.root = "logs"};
    const struct argp argp = {options, parse, "make\ncheck CHECKPOINT\ncheck --tag=NAME", documentation, children, NULL, NULL};
    int status = tb_cli_parse(&argp, "witness", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("witness");
    if (status)
        return status;
    return is_making(&arguments) ? make(&arguments) : check_witness(&arguments);
}

TB_COMMAND(135, "witness", "a checkpoint of the record that others vouch for *", command);
