// SPDX-License-Identifier: Apache-2.0
//
// locus packet: the visit of a machine: a look at it, the matrix, one run after the other, and all of it in one archive to send.
//
// Matrix and runs are processes of this same program, so each is what a person would have called, an interrupt ends the one that is
// under way and not this, and one that fails does not take the others with it. What they log is safe in the record; this command
// holds nothing that a crash could lose but the minute that looking and the matrix take.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/base/words.h"
#include "testbed/host/head.h"
#include "testbed/measure/engines/plan.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/store.h"
#include "testbed/run/official.h"

#define STEPS_MAX 256u
#define MATRIX_SECONDS 60.0  // of one node, 51 on the machine where this was written; more nodes have more pairs
#define PROCESS_SECONDS 0.15 // of one process of a run on many nodes: a guess
#define SMOKE_SECONDS 10.0

struct step {
    struct tb_postulate *postulate;
    const char *why;            // why it is in: "flagship", "LOCUS-EVAL", "named", "rest"
    double seconds;             // about
    bool guessed;               // from the number of processes; otherwise as long as it took on some host of the record
    bool done;                  // this host's ledger has a whole run of it; it is not repeated
};

struct visit {
    struct tb_packet packet;
    bool full, smoke, again, no_run, list, quiet; // as the options say
    const char *ids[STEPS_MAX];
    size_t ids_count;
    struct step steps[STEPS_MAX];
    size_t steps_count;
    double seconds;             // of those that are not done, and of the matrix
    char self[PATH_MAX], output[PATH_MAX];
    size_t step, steps_all;
    unsigned failures;
};

enum { KEY_FULL = 0x100, KEY_LIST, KEY_NO_RUN, KEY_AGAIN, KEY_SIGN };

static const struct argp_option options[] = {
    {"list", KEY_LIST, NULL, 0, "Show what would be run, and about how long; run nothing", 1},
    {"full", KEY_FULL, NULL, 0, "All experiments without a successor, not only the flagship, LOCUS-EVAL and those of an engine", 1},
    {"smoke", 'S', NULL, 0, "As short as possible, to see that it works; proves nothing, and goes to build/logs", 1},
    {"again", KEY_AGAIN, NULL, 0, "Repeat what this host has on record already", 1},
    {"no-run", KEY_NO_RUN, NULL, 0, "Measure nothing: pack what this host has on record", 1},
    {"host", 'H', "NAME", 0, "This host's name in the record, for everybody to read (LOCUS_HOST, or the host name)", 2},
    {"output", 'o', "FILE", 0, "The archive (build/HOST-TIME.locus-packet.tar)", 2},
    {"sign", KEY_SIGN, "FILE", 0, "Sign the seal with this private key, by ssh-keygen", 2},
    {"quiet", 'q', NULL, 0, "No progress", 2},
    {"logs", 'l', "FOLDER", 0, "Folder of the logs (logs; with --smoke: build/logs)", 3},
    {0},
};

static const char documentation[] =
    "Measures this machine and leaves one sealed archive to send: what it is (topo), whether it is fit (doctor), what its memory "
    "costs (matrix), the runs of the flagship on several nodes, LOCUS-EVAL, and, after `make engine`, what is filed about a "
    "real engine on several nodes.\v"
    "It takes a quarter of an hour or so; --list says what, and how long. NNNN... runs only these. An interrupted call loses "
    "nothing that was sealed, and the next one goes on after it. A machine with one node is welcome, too: what it cannot measure "
    "is recorded as that.\n\n"
    "Runs are official, as with `locus run --official`: in a clone of the project with nothing changed, built by make. An idle "
    "machine gives the better figures: see `locus doctor`. Nothing is installed or changed, and root is not needed.\n\n"
    "What leaves the machine: its name as given by --host, times, CPU model, firmware's and mainboard's names and versions, kernel "
    "and its settings, topology, memory sizes, the doctor's findings, the versions and hashes of the compared libraries, every "
    "sample, and the records that were filed on it, as somebody wrote them. What does not: names of users, files, processes, disks "
    "and networks, addresses, serial numbers, UUIDs; of the kernel's command line, values that could name any of these are taken "
    "out. It is a plain tar, packed by GNU tar: look into it with tar tvf. Whoever has it says `locus packet import FILE`.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus packet --list\n"
    "  locus packet --host two-socket-epyc         then send the file that it names\n"
    "  locus packet --sign ~/.ssh/id_ed25519 0010 0011\n"
    "  locus guest --timeout 600 -- packet --smoke -o build/logs/p.tar 0009\n"
    "\nExit status: 0 done; 1 a step failed; 2 bad input.";

static error_t parse_end(struct argp_state *state, const struct visit *visit)
{
    if (visit->full && visit->ids_count)
        return tb_cli_bad(state, "--full is all experiments: no numbers with it");
    if (visit->list && (visit->packet.output || visit->packet.sign))
        return tb_cli_bad(state, "--%s: --list packs nothing", visit->packet.output ? "output" : "sign");
    if (visit->packet.output && strcmp(visit->packet.output, "-") == 0)
        return tb_cli_bad(state, "--output -: the archive goes to a file: name one");
    if (visit->no_run && (visit->ids_count || visit->full || visit->again || visit->list))
        return tb_cli_bad(state, "--no-run packs what there is: nothing that says what to run goes with it");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct visit *visit = state->input;
    switch (key) {
    case KEY_LIST: visit->list = true; return 0;
    case KEY_FULL: visit->full = true; return 0;
    case 'S': visit->smoke = true; return 0;
    case KEY_AGAIN: visit->again = true; return 0;
    case KEY_NO_RUN: visit->no_run = true; return 0;
    case 'H':
        if ((size_t)snprintf(visit->packet.host, sizeof visit->packet.host, "%s", argument) >= sizeof visit->packet.host ||
            !*argument)
            return tb_cli_bad(state, "--host: '%s' cannot name a host", argument);
        return 0;
    case 'o': visit->packet.output = argument; return 0;
    case KEY_SIGN: visit->packet.sign = argument; return 0;
    case 'q': visit->quiet = true; return 0;
    case 'l': visit->packet.root = argument; return 0;
    case ARGP_KEY_ARG:
        if (visit->ids_count + 1 == STEPS_MAX)
            return tb_cli_bad(state, "more than %u numbers", STEPS_MAX - 1);
        visit->ids[visit->ids_count++] = argument;
        return 0;
    case ARGP_KEY_END: return parse_end(state, visit);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// --- what would be run ---------------------------------------------------------------------------------------------------------

// The flagship comes first: it is what nobody has measured, and a visit that is cut short should have brought it.
static const struct {
    const char *id, *why;
} defaults[] = {
    {"0010", "flagship"}, {"0011", "flagship"}, {"0005", "flagship"}, {"0008", "flagship"},   {"0009", "flagship"},
    {"0007", "flagship"}, {"0012", "flagship"}, {"0006", "flagship"}, {"0001", "LOCUS-EVAL"}, {"0023", "LOCUS-EVAL"},
};

static int add(struct visit *visit, const char *id, const char *why)
{
    struct step *step = &visit->steps[visit->steps_count];
    struct tb_postulate_why reason;
    char number[8];
    for (size_t i = 0; i < visit->steps_count && tb_postulate_id(id, number) == 0; i++)
        if (strcmp(visit->steps[i].postulate->id, number) == 0)
            return 0;
    if (visit->steps_count + 1 == STEPS_MAX) {
        tb_error("more than %u experiments", STEPS_MAX - 1);
        return -EINVAL;
    }
    if (tb_postulate_open(id, &step->postulate, &reason)) {
        tb_error("%s", reason.text);
        return -EINVAL;
    }
    step->why = why;
    visit->steps_count++;
    return 0;
}

// Postulates about a real engine on several nodes: known by their needs, so that a new one needs no line here.
static bool is_of_engine(const struct tb_postulate *postulate)
{
    bool engine = false, nodes = false;
    for (uint32_t i = 0; i < postulate->needs_count; i++) {
        engine |= strcmp(postulate->needs[i], "engine") == 0;
        nodes |= strncmp(postulate->needs[i], "cpu_nodes", 9) == 0;
    }
    return engine && nodes;
}

// Its successor is run in its place: it may be here because this one cannot be.
static bool is_superseded(const struct tb_postulates *all, const char *id)
{
    bool superseded = false;
    for (size_t i = 0; i < all->count; i++)
        superseded |= all->files[i].postulate && strcmp(all->files[i].postulate->supersedes, id) == 0;
    return superseded;
}

static int choose(struct visit *visit)
{
    struct tb_postulates all = {0};
    char number[8], why[300];
    bool engine = tb_engines_here(why, sizeof why), left_out = false;
    int rc = 0;
    for (size_t i = 0; i < visit->ids_count && !rc; i++)
        rc = add(visit, visit->ids[i], "named");
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !visit->ids_count && !rc; i++)
        rc = add(visit, defaults[i].id, defaults[i].why);
    if (!rc && !visit->ids_count)
        rc = tb_postulates_load(&all);
    for (size_t i = 0; i < all.count && !rc; i++) {
        bool of_engine = all.files[i].postulate && is_of_engine(all.files[i].postulate);
        snprintf(number, sizeof number, "%.4s", strrchr(all.files[i].path, '/') + 1);
        if (is_superseded(&all, number))
            continue;
        if (visit->full || (of_engine && engine))
            rc = add(visit, number, of_engine ? "engine" : "rest");
        left_out |= of_engine && !engine;
    }
    if (left_out)
        tb_error("packet: a real engine is not measured: %s", why);
    tb_postulates_close(&all);
    return rc;
}

static double seconds_of(const json_t *entry)
{
    time_t at;
    return tb_time_read(tb_member_text(entry, "time"), &at) ? (double)at : NAN;
}

// What the record has of a step: the longest run on any host that really ran it, and whether this host has one.
static void look_up(const struct visit *visit, const struct tb_store_host *host, struct step *step)
{
    const char *kind = visit->smoke ? "smoke" : "official", *id = step->postulate->id;
    for (size_t i = 0; i < host->ledger.count; i++) {
        const json_t *close = host->ledger.entries[i].object;
        const char *run = tb_member_text(close, "run");
        size_t line = strcmp(tb_member_text(close, "t"), "close") ? 0 : tb_ledger_last(&host->ledger, i + 1, "open", "run", run);
        if (!line || strncmp(run, id, strlen(id)) || strcmp(tb_member_text(close, "status"), "complete"))
            continue;
        const json_t *open = host->ledger.entries[line - 1].object;
        bool measured = !*tb_member_text(close, "emulated") && strcmp(tb_member_text(close, "verdict"), "unmeasurable-on-host");
        step->seconds = fmax(step->seconds, measured ? seconds_of(close) - seconds_of(open) : 0);
        step->done |= !visit->again && strcmp(host->name, visit->packet.host) == 0 &&
                      strcmp(tb_member_text(open, "kind"), kind) == 0 &&
                      strcmp(tb_member_text(open, "postulate_sha256"), step->postulate->sha256) == 0;
    }
}

static double seconds_guessed(const struct tb_postulate *postulate)
{
    double traces = 0; // laps of these, and of an engine, are long
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        traces += strncmp(postulate->cells[i], "azure", 5) == 0 || strstr(postulate->cells[i], "/engine");
    return postulate->arms_count * (double)postulate->rounds * (postulate->cells_count + 20 * traces) * PROCESS_SECONDS;
}

static int steps_make(struct visit *visit)
{
    struct tb_store record = {0};
    int rc = choose(visit);
    if (rc)
        return rc;
    if (tb_store_add_ledgers(&record, visit->packet.root)) {
        tb_error("%s: the ledgers cannot be read (see: locus verify)", visit->packet.root);
        tb_store_close(&record);
        return -EINVAL;
    }
    visit->seconds = visit->smoke ? SMOKE_SECONDS : MATRIX_SECONDS;
    for (size_t i = 0; i < visit->steps_count; i++) {
        struct step *step = &visit->steps[i];
        for (size_t host = 0; host < record.hosts_count; host++)
            look_up(visit, record.hosts[host], step);
        step->guessed = step->seconds <= 0 && !visit->smoke;
        if (visit->smoke)
            step->seconds = SMOKE_SECONDS;
        else if (step->guessed)
            step->seconds = seconds_guessed(step->postulate);
        visit->seconds += step->done ? 0 : step->seconds;
    }
    tb_store_close(&record);
    return 0;
}

static const char *duration(double seconds, char out[24])
{
    if (seconds < 90)
        snprintf(out, 24, "%.0f s", seconds < 1 ? 1 : seconds);
    else
        snprintf(out, 24, "%.0f min", ceil(seconds / 60));
    return out;
}

static int print_list(const struct visit *visit)
{
    struct tb_doc *doc = tb_doc_open(NULL);
    struct tb_table *table = doc ? tb_doc_grid(doc, NULL, NULL, "=step|=about|=why") : NULL;
    char name[128], about[32], text[24];
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value("topo, doctor"), tb_text_value("1 s"));
    tb_table_add(table, TB_ROW_PLAIN, tb_text_value("matrix"), tb_text_value(visit->smoke ? "10 s" : "~ 60 s"),
                 tb_text_value("more on many nodes"));
    for (size_t i = 0; i < visit->steps_count; i++) {
        const struct step *step = &visit->steps[i];
        snprintf(name, sizeof name, "%s %s", step->postulate->id, step->postulate->slug);
        snprintf(about, sizeof about, "%s%s", step->guessed ? "~ " : "", duration(step->seconds, text));
        tb_table_add(table, TB_ROW_PLAIN, tb_text_value(name), tb_text_value(about),
                     tb_text_value(step->done ? "on record already" : step->why));
    }
    if (doc)
        tb_doc_say(doc, NULL,
                   "All that is not on record of %s yet: about %s. Durations are those of other hosts of the record; ~ is a guess.",
                   visit->packet.host, duration(visit->seconds, text));
    return tb_forms_write(&(struct tb_forms){.csv_table = NULL}, doc);
}

// --- steps ---------------------------------------------------------------------------------------------------------------------

static void show(struct visit *visit, const char *what, const char *slug, double seconds)
{
    char text[24];
    visit->step++;
    if (!visit->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "step %zu of %zu  %s%s%s, about %s\n", visit->step, visit->steps_all, what, *slug ? " " : "", slug,
                duration(seconds, text));
}

// -EINTR: somebody wants to stop. A matrix with an invalid cell is worth having.
static int matrix(struct visit *visit)
{
    struct tb_packet_part *part = &visit->packet.parts[TB_PACKET_MATRIX];
    const bool emulated = strcmp(visit->packet.kind, "emulated") == 0; // no time is kept there
    const char *argv[10] = {visit->self, "matrix", "--json"};
    char printed[32];
    size_t count = 3, bytes;
    int memory = memfd_create("matrix.json", MFD_CLOEXEC);
    snprintf(printed, sizeof printed, "/proc/self/fd/%d", memory);
    if (visit->smoke || emulated)
        argv[count++] = "--rounds=1";
    if (visit->smoke)
        argv[count++] = "--kinds=latency,push";
    if (visit->quiet)
        argv[count++] = "--quiet";
    show(visit, "matrix", "", visit->smoke ? 10 : 60);
    int rc = tb_child_run(".", argv, printed, false);
    part->name = "matrix.json";
    if (rc != -EINTR && tb_file_read(printed, &part->text, &bytes))
        part->text = NULL;
    close(memory);
    if (rc && rc != -EINTR) {
        tb_error("matrix: it failed, or a cell is invalid (see: locus matrix)");
        visit->failures++;
    }
    return rc == -EINTR ? rc : 0;
}

static int run_one(struct visit *visit, const struct step *step)
{
    const char *id = step->postulate->id, *how = visit->smoke ? "--smoke" : "--official";
    const char *const file[] = {visit->self, "postulate", "file", id, "--host", visit->packet.host, NULL};
    const char *const run[] = {
        visit->self, "run", id, how, "--logs", visit->packet.root, "--host", visit->packet.host, visit->quiet ? "--quiet" : NULL,
        NULL};
    show(visit, id, step->postulate->slug, step->seconds);
    int rc = visit->smoke ? 0 : tb_child_run(".", file, "/dev/null", false);
    if (!rc)
        rc = tb_child_run(".", run, "/dev/null", false);
    if (rc && rc != -EINTR) {
        tb_error("%s: this run failed, the others go on", id);
        visit->failures++;
        rc = 0;
    }
    return rc;
}

static int run_all(struct visit *visit)
{
    int rc = visit->no_run ? 0 : matrix(visit);
    for (size_t i = 0; i < visit->steps_count && !rc; i++)
        if (!visit->steps[i].done)
            rc = run_one(visit, &visit->steps[i]);
    if (rc)
        tb_error("interrupted in step %zu of %zu. What was sealed is safe in %s/%s: call this again, and it goes on there",
                 visit->step, visit->steps_all, visit->packet.root, visit->packet.host);
    return rc;
}

// --- before and after ----------------------------------------------------------------------------------------------------------

static int official_check(const struct visit *visit)
{
    for (size_t i = 0; i < visit->steps_count && !visit->smoke; i++)
        if (!visit->steps[i].done && tb_official_refuse(visit->steps[i].postulate))
            return -EPERM;
    return 0;
}

// Is it a key at all? Asked before the record knows of the packet. Of a key that an agent holds, the public half is named.
static bool key_is_one(const char *path)
{
    static const char *const begins[] = {"-----BEGIN ", "ssh-", "ecdsa-", "sk-"};
    char *text = NULL;
    size_t bytes;
    int rc = tb_file_read(path, &text, &bytes);
    bool is_key = false;
    for (size_t i = 0; !rc && i < sizeof begins / sizeof *begins; i++)
        is_key |= strncmp(text, begins[i], strlen(begins[i])) == 0;
    free(text);
    if (!is_key)
        tb_error("--sign %s: %s", path, rc ? strerror(-rc) : "that is no key (ssh-keygen -t ed25519 makes one)");
    return is_key;
}

// Asked before anything is measured: a visit of an hour must not end at a folder that is not there.
static int output_choose(struct visit *visit)
{
    char stamp[TB_STAMP_BYTES];
    tb_time_stamp(time(NULL), stamp);
    if (!visit->packet.output)
        mkdir("build", 0777);
    int length = visit->packet.output
                     ? snprintf(visit->output, sizeof visit->output, "%s", visit->packet.output)
                     : snprintf(visit->output, sizeof visit->output, "build/%s-%s.locus-packet.tar", visit->packet.host, stamp);
    int rc = length < (int)sizeof visit->output ? tb_output_check(visit->output) : -ENAMETOOLONG;
    if (rc) {
        tb_error("%s: %s. Name another place with -o", visit->output, tb_output_why(rc));
        return -EINVAL;
    }
    if (access(visit->output, F_OK) == 0) {
        tb_error("%s: is there already. Remove it, or name another with -o", visit->output);
        return -EINVAL;
    }
    return 0;
}

// The last run of an experiment, by its log.
static void print_verdict(const struct visit *visit, const struct tb_chain *ledger, const struct step *step)
{
    const struct tb_postulate *postulate = step->postulate;
    char path[PATH_MAX], run[16], why[300], said[512] = "no whole run";
    struct tb_log_view view;
    snprintf(run, sizeof run, "%s-*", postulate->id);
    size_t line = tb_ledger_last(ledger, SIZE_MAX, "close", "run", run);
    const json_t *closed = line ? ledger->entries[line - 1].object : NULL;
    snprintf(path, sizeof path, "%.1000s/%s/%s-%s/%.64s.jsonl", visit->packet.root, visit->packet.host, postulate->id,
             postulate->slug, closed ? tb_member_text(closed, "run") + strlen(run) - 1 : "");
    if (closed && tb_log_load(path, &view, why, sizeof why) == 0) {
        const char *reason = tb_member_text(view.summary, "why");
        snprintf(why, sizeof why, "%s%s%s%s", tb_member_text(closed, "verdict"), *reason ? ": " : "", reason,
                 step->done ? " (from before)" : "");
        tb_text_clean(why, false, said, sizeof said);
        tb_log_view_close(&view);
    }
    printf("%s  %-32s %s\n", postulate->id, postulate->slug, said);
}

static void print_result(const struct visit *visit)
{
    const struct tb_packet *packet = &visit->packet;
    const char *slash = strrchr(packet->output, '/');
    const struct tb_chain *ledger = tb_ledger_chain(packet->ledger);
    char checkpoint[256];
    for (size_t i = 0; i < visit->steps_count; i++)
        print_verdict(visit, ledger, &visit->steps[i]);
    for (size_t i = 0; i < ledger->count; i++)
        if (strcmp(tb_member_text(ledger->entries[i].object, "t"), "record") == 0)
            printf("record      %s goes along\n", tb_member_text(ledger->entries[i].object, "path"));
    tb_checkpoint_text(&packet->checkpoint, checkpoint, sizeof checkpoint);
    printf("host        %s, %s%s\n", packet->host, packet->kind, strcmp(packet->kind, "emulated") ? "" : ": counts, no times");
    printf("checkpoint  %s\n", checkpoint);
    printf("packet      %s, %.1f MiB%s\n", packet->output, (double)packet->bytes / (1 << 20),
           !visit->smoke ? "" : ", of smoke runs: they prove nothing");
    if (!visit->smoke)
        printf("next        send it; whoever has it says: locus packet import %s\n", slash ? slash + 1 : packet->output);
}

static int pack(struct visit *visit)
{
    struct tb_packet *packet = &visit->packet;
    packet->output = visit->output;
    for (size_t i = 0; i < TB_PACKET_PARTS; i++)
        if (packet->parts[i].name && !packet->parts[i].text) {
            tb_error("%s: there is none of this host", packet->parts[i].name);
            visit->failures++;
        }
    if (tb_packet_pack(packet)) {
        tb_error("%s", packet->why);
        return TB_EXIT_FAILED;
    }
    print_result(visit);
    int flushed = tb_cli_flush();
    return visit->failures ? TB_EXIT_FAILED : flushed;
}

static int go(struct visit *visit)
{
    if (output_choose(visit) || (visit->packet.sign && !key_is_one(visit->packet.sign)))
        return TB_EXIT_USAGE;
    if (readlink("/proc/self/exe", visit->self, sizeof visit->self - 1) < 0) {
        tb_error("/proc/self/exe: %s", strerror(errno));
        return TB_EXIT_FAILED;
    }
    if (official_check(visit))
        return TB_EXIT_FAILED;
    for (size_t i = 0; i < visit->steps_count; i++)
        visit->steps_all += !visit->steps[i].done;
    visit->steps_all += visit->no_run ? 1 : 2;
    show(visit, "topo, doctor", "", 1);
    tb_packet_look(&visit->packet);
    return run_all(visit) ? TB_EXIT_FAILED : pack(visit);
}

static int command(int argc, char **argv)
{
    static struct visit visit;
    struct tb_packet *packet = &visit.packet;
    const struct argp argp = {options, parse, "[NNNN...]", documentation, NULL, NULL, NULL};
    int status = tb_cli_parse(&argp, "packet", argc, argv, &visit);
    if (status != TB_CLI_RUN || (status = tb_cli_clone("packet")))
        return status;
    if (!packet->root)
        packet->root = visit.smoke ? "build/logs" : "logs";
    if (!*packet->host && tb_host_name(packet->host, sizeof packet->host)) {
        tb_error("this host has no usable name: give it one by --host or LOCUS_HOST");
        return TB_EXIT_USAGE;
    }
    setenv("LOCUS_HOST", packet->host, 1); // what is called here names this host as the record does, and not otherwise
    status = !visit.no_run && steps_make(&visit) ? TB_EXIT_USAGE : visit.list ? print_list(&visit) : go(&visit);
    tb_packet_close(packet);
    for (size_t i = 0; i < visit.steps_count; i++)
        tb_postulate_close(visit.steps[i].postulate);
    return status;
}

TB_COMMAND(170, "packet", "one sealed archive of this machine, to send *", command);
