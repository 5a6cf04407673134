// SPDX-License-Identifier: Apache-2.0
//
// locus packet: what one machine found out, in one archive to send; and, with --check, the way of such an archive into the record.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/commands.h"
#include "testbed/cli/packet/packet.h"
#include "testbed/host/host_name.h"
#include "testbed/record/git.h"
#include "testbed/record/packet/packet.h"
#include "testbed/report/board/board.h"

enum { KEY_CHECK = 0x100, KEY_DRY, KEY_FULL, KEY_LIST, KEY_NO_RUN, KEY_AGAIN, KEY_SIGN, KEY_KEY };

static const struct argp_option options[] = {
    {"list", KEY_LIST, NULL, 0, "Show what would be run, and about how long; run nothing", 1},
    {"full", KEY_FULL, NULL, 0, "All experiments, not only the flagship and LOCUS-EVAL", 1},
    {"smoke", 'S', NULL, 0, "As short as possible, to see that it works; proves nothing, and goes to build/logs", 1},
    {"again", KEY_AGAIN, NULL, 0, "Repeat what this host has on record already", 1},
    {"no-run", KEY_NO_RUN, NULL, 0, "Measure nothing: pack what this host has on record", 1},
    {"host", 'H', "NAME", 0, "This host's name in the record, for everybody to read (LOCUS_HOST, or the host name)", 2},
    {"output", 'o', "FILE", 0, "The archive (build/HOST-TIME.locus-packet.tar)", 2},
    {"sign", KEY_SIGN, "FILE", 0, "Sign the seal with this private key, by ssh-keygen", 2},
    {"quiet", 'q', NULL, 0, "No progress", 2},
    {"check", KEY_CHECK, "FILE", 0, "Check a packet that came, and file it below logs/HOST/", 3},
    {"dry-run", KEY_DRY, NULL, 0, "With --check: file nothing", 3},
    {"key", KEY_KEY, "FILE", 0, "With --check: allowed signers; the seal must be signed by one of them", 3},
    {"root", 'R', "DIR", 0, "Folder of the logs (logs; with --smoke: build/logs)", 4},
    {0},
};

static const char documentation[] =
    "Measures this machine and leaves one sealed archive to send: what it is (topo), whether it is fit (doctor), what its memory "
    "costs (matrix), the runs of the flagship on several nodes, and LOCUS-EVAL.\v"
    "It takes a quarter of an hour or so; --list says what, and how long. NNNN... runs only these. An interrupted call loses "
    "nothing that was sealed, and the next one goes on behind it. A machine with one node is welcome, too: what it cannot measure "
    "is recorded as that.\n\n"
    "Runs are official, as with `locus run --official`: in a clone of the project with nothing changed, built by make. An idle "
    "machine gives the better figures: see `locus doctor`. Nothing is installed or changed, and root is not needed.\n\n"
    "What leaves the machine: its name as given by --host, times, CPU model, firmware's and mainboard's names and versions, kernel "
    "and its settings, topology, memory sizes, the doctor's findings, the versions and hashes of the compared libraries, every "
    "sample, and the records that were filed on it, as somebody wrote them. What does not: names of users, files, processes, disks "
    "and networks, addresses, serial numbers, UUIDs; of the kernel's command line, values that could name any of these are taken "
    "out. It is a plain tar: look into it with tar tvf.\n\n"
    "--check unpacks into a folder of its own and asks everything: names that lead elsewhere, links, what is missing, too much or "
    "there twice, every hash up to the seal, ledger and logs as `locus verify` does, that its postulates are the ones of this "
    "repository, and that nobody calls an emulated machine hardware. Then it comes to logs/HOST/, as a whole; where that host is "
    "on record, only if the packet's ledger goes on from there, and nothing that is there is changed. Records that the host filed "
    "come to experiments/; a packet with one that is here as another text is refused.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus packet --list\n"
    "  locus packet --host two-socket-epyc         then send the file that it names\n"
    "  locus packet --sign ~/.ssh/id_ed25519 0010 0011\n"
    "  locus guest --timeout 600 -- packet --smoke -o build/logs/p.tar 0009\n"
    "  locus packet --check two-socket-epyc-20261122T101500Z.locus-packet.tar --dry-run\n"
    "  locus packet --check p.tar --key allowed_signers && git add logs experiments && git commit\n\n"
    "Exit status: 0 done; 1 a step failed, or with --check something is wrong and nothing was filed; 2 bad input.";

static error_t parse_end(struct argp_state *state, struct tb_packet_arguments *arguments)
{
    bool making = arguments->list || arguments->full || arguments->smoke || arguments->again || arguments->no_run ||
                  arguments->sign || arguments->output || arguments->ids_count;
    if (arguments->check && making)
        return tb_cli_bad(state, "--check is for a packet that came: only --dry-run, --key and --root go with it");
    if (!arguments->check && (arguments->dry_run || arguments->key))
        return tb_cli_bad(state, "%s: it goes with --check FILE", arguments->dry_run ? "--dry-run" : "--key");
    if (arguments->full && arguments->ids_count)
        return tb_cli_bad(state, "--full is all experiments: no numbers with it");
    if (arguments->no_run && (arguments->ids_count || arguments->full || arguments->again || arguments->list))
        return tb_cli_bad(state, "--no-run packs what there is: nothing that says what to run goes with it");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tb_packet_arguments *arguments = state->input;
    switch (key) {
    case KEY_LIST: arguments->list = true; return 0;
    case KEY_FULL: arguments->full = true; return 0;
    case 'S': arguments->smoke = true; return 0;
    case KEY_AGAIN: arguments->again = true; return 0;
    case KEY_NO_RUN: arguments->no_run = true; return 0;
    case 'H':
        if ((size_t)snprintf(arguments->host, sizeof arguments->host, "%s", argument) >= sizeof arguments->host || !*argument)
            return tb_cli_bad(state, "--host: '%s' cannot name a host", argument);
        return 0;
    case 'o': arguments->output = argument; return 0;
    case KEY_SIGN: arguments->sign = argument; return 0;
    case 'q': arguments->quiet = true; return 0;
    case KEY_CHECK: arguments->check = argument; return 0;
    case KEY_DRY: arguments->dry_run = true; return 0;
    case KEY_KEY: arguments->key = argument; return 0;
    case 'R': arguments->root = argument; return 0;
    case ARGP_KEY_ARG:
        if (arguments->ids_count + 1 == TB_PACKET_STEPS_MAX)
            return tb_cli_bad(state, "more than %u numbers", TB_PACKET_STEPS_MAX - 1);
        arguments->ids[arguments->ids_count++] = argument;
        return 0;
    case ARGP_KEY_END: return parse_end(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- a packet that came --------------------------------------------------------------------------------------------------------

// What it is told by strangers may hold anything.
static void print_line(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print_line(const char *name, const char *format, ...)
{
    char text[1024], clean[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tb_text_clean(text, false, clean, sizeof clean);
    printf("%-11s %s\n", name, clean);
}

static void print_runs(const struct tb_chain *ledger)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const json_t *entry = ledger->entries[i].object;
        if (strcmp(tb_member_text(entry, "t"), "close") == 0)
            print_line("run", "%s  %s%s", tb_member_text(entry, "run"), tb_member_text(entry, "verdict"),
                       *tb_member_text(entry, "emulated") ? " (emulated: counts, no times)" : "");
    }
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

// Asked before anything is filed. True when it brings one that is not here.
static bool print_records(const struct tb_packet *packet)
{
    bool new = false;
    for (size_t i = 0; i < packet->ledger.count; i++) {
        const json_t *entry = packet->ledger.entries[i].object;
        bool here = access(tb_member_text(entry, "path"), F_OK) == 0;
        if (strcmp(tb_member_text(entry, "t"), "record"))
            continue;
        print_line("record", "%s, %s", tb_member_text(entry, "path"), here ? "here already" : "new here");
        new |= !here;
    }
    return new;
}

static void print_packet(const struct tb_packet *packet)
{
    const char *kind = tb_member_text(packet->manifest, "kind"), *commit = tb_member_text(packet->manifest, "program.commit");
    const char *runs = tb_member_text(packet->manifest, "runs");
    size_t i;
    json_t *remark;
    print_line("host", "%s, %s%s", packet->host, kind, strcmp(kind, "emulated") ? "" : ": counts, no times");
    print_line("made", "%s by locus %s of commit %.12s%s", tb_member_text(packet->manifest, "time"),
               tb_member_text(packet->manifest, "program.version"), commit,
               commit_known(commit) ? "" : ", which this clone does not have");
    print_line("files", "%zu%s", json_array_size(json_object_get(packet->manifest, "files")),
               strcmp(runs, "smoke") ? "" : ", of smoke runs: they prove nothing");
    print_runs(&packet->ledger);
    json_array_foreach (packet->remarks, i, remark)
        print_line("remark", "%s", json_string_value(remark));
    if (*packet->signer)
        print_line("signed by", "%s", packet->signer);
}

static int file(const struct tb_packet_arguments *arguments, const struct tb_packet *packet, bool new_records)
{
    struct tb_packet_filed filed;
    char why[1024], checkpoint[256];
    if (strcmp(tb_member_text(packet->manifest, "runs"), "smoke") == 0 && strcmp(arguments->root, "logs") == 0) {
        tb_error("%s: whole, but smoke runs do not go to logs/. For a look at them: --root build/logs", arguments->check);
        return TB_EXIT_FAILED;
    }
    if (new_records && strcmp(arguments->root, "logs")) {
        tb_error("%s: whole, but its records go to experiments/, beside logs/. For a look at them: --dry-run", arguments->check);
        return TB_EXIT_FAILED;
    }
    if (tb_packet_file(packet, arguments->root, &filed, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    if (filed.new_host)
        print_line("filed", "%s/%s, new", arguments->root, packet->host);
    else if (filed.ledger_after > filed.ledger_before)
        print_line("filed", "%s/%s, %zu new files", arguments->root, packet->host, filed.files);
    else
        print_line("filed", "%s/%s has all of it already", arguments->root, packet->host);
    tb_checkpoint_text(&packet->seal, checkpoint, sizeof checkpoint);
    print_line("checkpoint", "%s", checkpoint);
    if (strcmp(arguments->root, "logs"))
        print_line("next", "locus report --root %s", arguments->root);
    else
        print_line("next", "git add logs%s && git commit; locus report", new_records ? " experiments" : "");
    return tb_cli_flush();
}

static int answer(const struct tb_packet_arguments *arguments, const struct tb_packet *packet, const json_t *findings)
{
    size_t i, count = json_array_size(findings);
    json_t *finding;
    json_array_foreach (findings, i, finding)
        print_line("wrong", "%s", json_string_value(finding));
    if (count) {
        fflush(stdout);
        tb_error("%s: %zu thing%s wrong: it was not filed", arguments->check, count, count == 1 ? " is" : "s are");
        return TB_EXIT_FAILED;
    }
    print_packet(packet);
    bool new_records = print_records(packet);
    if (!arguments->dry_run)
        return file(arguments, packet, new_records);
    print_line("checked", "all is well, and nothing was filed (--dry-run)");
    return tb_cli_flush();
}

// Unpacked beside where it will lie, because a rename stays within a file system.
int tb_packet_receive(const struct tb_packet_arguments *arguments)
{
    const char *folder = getenv("TMPDIR");
    const char *parent = !arguments->dry_run ? arguments->root : folder && *folder ? folder : "/tmp";
    struct tb_packet packet = {.host = ""};
    json_t *findings = json_array();
    char why[1024];
    int status = TB_EXIT_USAGE;
    if (!arguments->dry_run && mkdir(parent, 0777) && errno != EEXIST) {
        tb_error("%s: %s", parent, strerror(errno));
    } else {
        int rc = tb_packet_check(arguments->check, parent, arguments->key, &packet, findings, why, sizeof why);
        if (rc)
            tb_error("%s", why);
        status = rc == -ENOENT ? TB_EXIT_USAGE : rc ? TB_EXIT_FAILED : answer(arguments, &packet, findings);
        tb_packet_close(&packet);
    }
    json_decref(findings);
    return status;
}

int tb_cmd_packet(int argc, char **argv)
{
    static struct tb_packet_arguments arguments;
    const struct argp argp = {options, parse, "[NNNN...]\n--check FILE", documentation, NULL, NULL, NULL};
    arguments = (struct tb_packet_arguments){.check = NULL};
    int status = tb_cli_parse(&argp, "packet", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("packet");
    if (status)
        return status;
    if (!arguments.root)
        arguments.root = arguments.smoke ? "build/logs" : "logs";
    if (arguments.check)
        return tb_packet_receive(&arguments);
    if (!*arguments.host && tb_host_name(arguments.host, sizeof arguments.host)) {
        tb_error("this host has no usable name: give it one by --host or LOCUS_HOST");
        return TB_EXIT_USAGE;
    }
    return tb_packet_make(&arguments);
}
