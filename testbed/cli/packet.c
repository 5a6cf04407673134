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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/cli/commands.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/host.h"
#include "testbed/host/host_name.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/store.h"
#include "testbed/run/official.h"
#include "topo/topo.h"

#define STEPS_MAX 256u
#define MATRIX_SECONDS 60.0  // of one node, 51 on the machine where this was written; more nodes have more pairs
#define PROCESS_SECONDS 0.15 // of one process of a run on many nodes: a guess
#define SMOKE_SECONDS 10.0

struct arguments {
    const char *root, *output, *sign;
    char host[64];
    bool full, smoke, again, no_run, list, quiet;
    const char *ids[STEPS_MAX];
    size_t ids_count;
};

enum { KEY_FULL = 0x100, KEY_LIST, KEY_NO_RUN, KEY_AGAIN, KEY_SIGN };

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
    {"root", 'R', "DIR", 0, "Folder of the logs (logs; with --smoke: build/logs)", 3},
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
    "out. It is a plain tar, packed by GNU tar: look into it with tar tvf. Whoever has it says `locus import FILE`.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus packet --list\n"
    "  locus packet --host two-socket-epyc         then send the file that it names\n"
    "  locus packet --sign ~/.ssh/id_ed25519 0010 0011\n"
    "  locus guest --timeout 600 -- packet --smoke -o build/logs/p.tar 0009\n"
    "\nExit status: 0 done; 1 a step failed; 2 bad input.";

static error_t parse_end(struct argp_state *state, struct arguments *arguments)
{
    if (arguments->full && arguments->ids_count)
        return tb_cli_bad(state, "--full is all experiments: no numbers with it");
    if (arguments->no_run && (arguments->ids_count || arguments->full || arguments->again || arguments->list))
        return tb_cli_bad(state, "--no-run packs what there is: nothing that says what to run goes with it");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
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
    case 'R': arguments->root = argument; return 0;
    case ARGP_KEY_ARG:
        if (arguments->ids_count + 1 == STEPS_MAX)
            return tb_cli_bad(state, "more than %u numbers", STEPS_MAX - 1);
        arguments->ids[arguments->ids_count++] = argument;
        return 0;
    case ARGP_KEY_END: return parse_end(state, arguments);
    default: return ARGP_ERR_UNKNOWN;
    }
}

enum { PART_TOPO, PART_XML, PART_DOCTOR, PART_MATRIX, PARTS };

struct step {
    struct tb_postulate *postulate;
    const char *why;            // why it is in: "flagship", "LOCUS-EVAL", "named", "rest"
    double seconds;             // about
    bool guessed;               // from the number of processes; otherwise as long as it took on some host of the record
    bool done;                  // this host's ledger has a whole run of it; it is not repeated
};

struct visit {
    const struct arguments *arguments;
    struct step steps[STEPS_MAX];
    size_t steps_count;
    double seconds;             // of those that are not done, and of the matrix
    char self[PATH_MAX], scratch[PATH_MAX], output[PATH_MAX];
    char kind[16];
    struct tb_packet_part parts[PARTS];
    size_t parts_count, step, steps_all;
    unsigned failures;
};

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

static int choose(struct visit *visit)
{
    const struct arguments *arguments = visit->arguments;
    struct tb_postulates all = {0};
    char number[8];
    int rc = 0;
    for (size_t i = 0; i < arguments->ids_count && !rc; i++)
        rc = add(visit, arguments->ids[i], "named");
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !arguments->ids_count && !rc; i++)
        rc = add(visit, defaults[i].id, defaults[i].why);
    if (!rc && arguments->full)
        rc = tb_postulates_load(&all);
    for (size_t i = 0; i < all.count && !rc; i++) {
        snprintf(number, sizeof number, "%.4s", strrchr(all.files[i].path, '/') + 1);
        rc = add(visit, number, "rest");
    }
    tb_postulates_close(&all);
    return rc;
}

static double seconds_of(const json_t *entry)
{
    struct tm utc = {0};
    const char *end = strptime(tb_member_text(entry, "time"), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return end ? (double)timegm(&utc) : NAN;
}

// How a run was opened that is whole now, however it ended, by its closing; or NULL.
static const json_t *whole_run(const struct tb_chain *chain, const json_t *close, const char *id)
{
    const char *run = tb_member_text(close, "run");
    bool fits = strcmp(tb_member_text(close, "t"), "close") == 0 && strncmp(run, id, strlen(id)) == 0 && run[strlen(id)] == '-' &&
                strcmp(tb_member_text(close, "status"), "complete") == 0;
    size_t open = fits ? tb_ledger_last(chain, SIZE_MAX, "open", "run", run) : 0;
    return open ? chain->entries[open - 1].object : NULL;
}

// What the record has of a step: the longest run on any host that really ran it, and whether this host has one.
static void look_up(const struct arguments *arguments, const struct tb_store_host *host, struct step *step)
{
    const char *kind = arguments->smoke ? "smoke" : "official";
    for (size_t i = 0; i < host->ledger.count; i++) {
        const json_t *close = host->ledger.entries[i].object, *open = whole_run(&host->ledger, close, step->postulate->id);
        if (!open)
            continue;
        bool measured = !*tb_member_text(close, "emulated") && strcmp(tb_member_text(close, "verdict"), "unmeasurable-on-host");
        double took = measured ? seconds_of(close) - seconds_of(open) : 0;
        step->seconds = took > step->seconds ? took : step->seconds;
        step->done |= !arguments->again && strcmp(host->name, arguments->host) == 0 &&
                      strcmp(tb_member_text(open, "kind"), kind) == 0 &&
                      strcmp(tb_member_text(open, "postulate_sha256"), step->postulate->sha256) == 0;
    }
}

static double seconds_guessed(const struct tb_postulate *postulate)
{
    double traces = 0; // their laps are long
    for (uint32_t i = 0; i < postulate->cells_count; i++)
        traces += strncmp(postulate->cells[i], "azure", 5) == 0;
    return postulate->arms_count * (double)postulate->rounds * (postulate->cells_count + 20 * traces) * PROCESS_SECONDS;
}

static int steps_make(struct visit *visit)
{
    const struct arguments *arguments = visit->arguments;
    struct tb_store record = {0};
    int rc = choose(visit);
    if (rc)
        return rc;
    if (tb_store_add_ledgers(&record, arguments->root)) {
        tb_error("%s: the ledgers cannot be read (see: locus verify)", arguments->root);
        tb_store_close(&record);
        return -EINVAL;
    }
    visit->seconds = arguments->smoke ? SMOKE_SECONDS : MATRIX_SECONDS;
    for (size_t i = 0; i < visit->steps_count; i++) {
        struct step *step = &visit->steps[i];
        for (size_t host = 0; host < record.hosts_count; host++)
            look_up(arguments, record.hosts[host], step);
        step->guessed = step->seconds <= 0 && !arguments->smoke;
        if (arguments->smoke)
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
    const struct arguments *arguments = visit->arguments;
    char text[24], all[32];
    printf("topo, doctor                                 1 s\n");
    printf("matrix                                %10s   more on many nodes\n", arguments->smoke ? "10 s" : "~ 60 s");
    for (size_t i = 0; i < visit->steps_count; i++) {
        const struct step *step = &visit->steps[i];
        snprintf(all, sizeof all, "%s%s", step->guessed ? "~ " : "", duration(step->seconds, text));
        printf("%s %-32s %10s   %s%s\n", step->postulate->id, step->postulate->slug, all, step->why,
               step->done ? ", on record already" : "");
    }
    printf("All that is not on record of %s yet: about %s. Durations are those of other hosts of the record; ~ is a guess.\n",
           arguments->host, duration(visit->seconds, text));
    return tb_cli_flush();
}

// --- steps ---------------------------------------------------------------------------------------------------------------------

static void show(struct visit *visit, const char *what, const char *slug, double seconds)
{
    char text[24];
    visit->step++;
    if (!visit->arguments->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "step %zu of %zu  %s%s%s, about %s\n", visit->step, visit->steps_all, what, *slug ? " " : "", slug,
                duration(seconds, text));
}

static void part_add(struct visit *visit, const char *name, char *text)
{
    if (text)
        visit->parts[visit->parts_count++] = (struct tb_packet_part){.name = name, .text = text};
    else
        tb_error("%s: there is none of this host", name);
    visit->failures += !text;
}

static char *dumped(json_t *object)
{
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    json_decref(object);
    return text;
}

static char *topo_text(void)
{
    struct locus_topo *topo = NULL;
    struct tb_topo_host host = {.numa_balancing = -1};
    if (locus_topo_open(&topo, NULL, NULL, 0))
        return NULL;
    tb_topo_host_probe(topo, &host);
    char *text = dumped(tb_topo_json(topo, NULL, &host));
    locus_topo_close(topo);
    return text;
}

static char *xml_text(void)
{
    struct tb_host host = {.root = ""};
    json_t *hwloc = tb_environment_hwloc(&host);
    const char *xml = tb_member_text(hwloc, "xml");
    char *text = strncmp(xml, "<?xml", 5) == 0 ? strdup(xml) : NULL;
    json_decref(hwloc);
    return text;
}

// The short form, as in the header of a log: what the doctor's commands say of devices and processes stays on the host.
static char *doctor_text(struct visit *visit)
{
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    char *text = NULL;
    if (doctor && tb_doctor_look("", doctor) == 0) {
        const struct tb_finding *machine = tb_doctor_find(doctor, "machine");
        const char *now = machine ? machine->now : "";
        snprintf(visit->kind, sizeof visit->kind, "%s",
                 strncmp(now, "emulated", 8) == 0      ? "emulated"
                 : strncmp(now, "virtual", 7) == 0     ? "virtual"
                 : strncmp(now, "bare metal", 10) == 0 ? "hardware"
                                                       : "unknown");
        text = dumped(tb_doctor_header(doctor));
        tb_doctor_close(doctor);
    }
    free(doctor);
    return text;
}

static void look(struct visit *visit)
{
    show(visit, "topo, doctor", "", 1);
    part_add(visit, "topo.json", topo_text());
    part_add(visit, "topo.xml", xml_text());
    part_add(visit, "doctor.json", doctor_text(visit));
}

static char *file_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = fopen(path, "re");
    if (in && getdelim(&text, &size, '\0', in) < 0) {
        free(text);
        text = NULL;
    }
    if (in)
        fclose(in);
    return text;
}

// -EINTR: somebody wants to stop. A matrix with an invalid cell is worth having.
static int matrix(struct visit *visit)
{
    char json[PATH_MAX + 32];
    snprintf(json, sizeof json, "--json=%s/matrix.json", visit->scratch);
    const bool smoke = visit->arguments->smoke, emulated = strcmp(visit->kind, "emulated") == 0; // no time is kept there
    const char *argv[10] = {visit->self, "matrix", json};
    size_t count = 3;
    if (smoke || emulated)
        argv[count++] = "--rounds=1";
    if (smoke)
        argv[count++] = "--kinds=latency,push";
    if (visit->arguments->quiet)
        argv[count++] = "--quiet";
    show(visit, "matrix", "", smoke ? 10 : 60);
    int rc = tb_child_run(".", argv, "/dev/null", false);
    if (rc == -EINTR)
        return rc;
    if (rc) {
        tb_error("matrix: it failed, or a cell is invalid (see: locus matrix)");
        visit->failures++;
    }
    part_add(visit, "matrix.json", file_text(json + strlen("--json=")));
    return 0;
}

static int run_one(struct visit *visit, const struct step *step)
{
    const struct arguments *arguments = visit->arguments;
    const char *id = step->postulate->id, *how = arguments->smoke ? "--smoke" : "--official";
    const char *const file[] = {visit->self, "postulate", "file", id, "--host", arguments->host, NULL};
    const char *const run[] = {visit->self, "run",           id,
                               how,         "--root",        arguments->root,
                               "--host",    arguments->host, arguments->quiet ? "--quiet" : NULL,
                               NULL};
    show(visit, id, step->postulate->slug, step->seconds);
    int rc = arguments->smoke ? 0 : tb_child_run(".", file, "/dev/null", false);
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
    int rc = visit->arguments->no_run ? 0 : matrix(visit);
    for (size_t i = 0; i < visit->steps_count && !rc; i++)
        if (!visit->steps[i].done)
            rc = run_one(visit, &visit->steps[i]);
    if (rc)
        tb_error("interrupted in step %zu of %zu. What was sealed is safe in %s/%s: call this again, and it goes on there",
                 visit->step, visit->steps_all, visit->arguments->root, visit->arguments->host);
    return rc;
}

// --- before and after ----------------------------------------------------------------------------------------------------------

static int official_check(const struct visit *visit)
{
    for (size_t i = 0; i < visit->steps_count && !visit->arguments->smoke; i++)
        if (!visit->steps[i].done && tb_official_refuse(visit->steps[i].postulate))
            return -EPERM;
    return 0;
}

// Asked before anything is measured: a visit of an hour must not end at a folder that is not there.
static int output_choose(struct visit *visit)
{
    const struct arguments *arguments = visit->arguments;
    char stamp[24];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    if (!arguments->output)
        mkdir("build", 0777);
    int length = arguments->output
                     ? snprintf(visit->output, sizeof visit->output, "%s", arguments->output)
                     : snprintf(visit->output, sizeof visit->output, "build/%s-%s.locus-packet.tar", arguments->host, stamp);
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

static int scratch_make(struct visit *visit)
{
    const char *folder = getenv("TMPDIR");
    ssize_t length = readlink("/proc/self/exe", visit->self, sizeof visit->self - 1);
    snprintf(visit->scratch, sizeof visit->scratch, "%.3000s/locus-visit-XXXXXX", folder && *folder ? folder : "/tmp");
    if (length < 0 || !mkdtemp(visit->scratch)) {
        tb_error("%s: %s", length < 0 ? "/proc/self/exe" : visit->scratch, strerror(errno));
        visit->scratch[0] = '\0';
        return -EIO;
    }
    visit->self[length] = '\0';
    return 0;
}

// The last run of an experiment, by its log.
static void print_verdict(const struct visit *visit, const struct tb_chain *ledger, const struct step *step)
{
    const struct arguments *arguments = visit->arguments;
    char path[PATH_MAX], runs[16], why[300];
    struct tb_log_view view;
    snprintf(runs, sizeof runs, "%s-*", step->postulate->id);
    size_t line = tb_ledger_last(ledger, SIZE_MAX, "close", "run", runs);
    const json_t *closed = line ? ledger->entries[line - 1].object : NULL;
    snprintf(path, sizeof path, "%.1000s/%s/%s-%s/%.64s.jsonl", arguments->root, arguments->host, step->postulate->id,
             step->postulate->slug, closed ? tb_member_text(closed, "run") + strlen(step->postulate->id) + 1 : "");
    if (!closed || tb_log_load(path, &view, why, sizeof why)) {
        printf("%s  %-32s %s\n", step->postulate->id, step->postulate->slug, "no whole run");
        return;
    }
    const char *reason = tb_member_text(view.summary, "why");
    printf("%s  %-32s %s%s%s%s\n", step->postulate->id, step->postulate->slug, tb_member_text(closed, "verdict"),
           *reason ? ": " : "", reason, step->done ? " (from before)" : "");
    tb_log_view_close(&view);
}

static void print_result(const struct visit *visit, const struct tb_packet_making *making)
{
    char path[PATH_MAX], checkpoint[256];
    struct tb_chain ledger;
    snprintf(path, sizeof path, "%.1000s/%s/ledger.jsonl", making->root, making->host);
    if (tb_chain_load(path, &ledger) == 0) {
        for (size_t i = 0; i < visit->steps_count; i++)
            print_verdict(visit, &ledger, &visit->steps[i]);
        for (size_t i = 0; i < ledger.count; i++)
            if (strcmp(tb_member_text(ledger.entries[i].object, "t"), "record") == 0)
                printf("record      %s goes along\n", tb_member_text(ledger.entries[i].object, "path"));
        tb_chain_close(&ledger);
    }
    tb_checkpoint_text(&making->checkpoint, checkpoint, sizeof checkpoint);
    printf("host        %s, %s%s\n", making->host, making->kind, strcmp(making->kind, "emulated") ? "" : ": counts, no times");
    printf("checkpoint  %s\n", checkpoint);
    printf("packet      %s, %.1f MiB%s\n", making->output, (double)making->bytes / (1 << 20),
           !visit->arguments->smoke ? "" : ", of smoke runs: they prove nothing");
    if (!visit->arguments->smoke)
        printf("next        send it; whoever has it says: locus import %s\n",
               strrchr(making->output, '/') ? strrchr(making->output, '/') + 1 : making->output);
}

static int pack(const struct visit *visit)
{
    char why[1024];
    struct tb_packet_making making = {
        .root = visit->arguments->root,
        .host = visit->arguments->host,
        .output = visit->output,
        .kind = visit->kind,
        .sign = visit->arguments->sign,
        .parts = visit->parts,
        .parts_count = visit->parts_count,
    };
    int rc = tb_packet_pack(&making, why, sizeof why);
    if (rc) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    print_result(visit, &making);
    int flushed = tb_cli_flush();
    return visit->failures ? TB_EXIT_FAILED : flushed;
}

static int go(struct visit *visit)
{
    if (output_choose(visit))
        return TB_EXIT_USAGE;
    if (official_check(visit) || scratch_make(visit))
        return TB_EXIT_FAILED;
    for (size_t i = 0; i < visit->steps_count; i++)
        visit->steps_all += !visit->steps[i].done;
    visit->steps_all += visit->arguments->no_run ? 1 : 2;
    look(visit);
    return run_all(visit) ? TB_EXIT_FAILED : pack(visit);
}

static int visit_make(const struct arguments *arguments)
{
    static struct visit visit;
    visit = (struct visit){.arguments = arguments, .kind = "unknown"};
    setenv("LOCUS_HOST", arguments->host, 1); // what is called here names this host as the record does, and not otherwise
    int status = !arguments->no_run && steps_make(&visit) ? TB_EXIT_USAGE : arguments->list ? print_list(&visit) : go(&visit);
    for (size_t i = 0; i < visit.parts_count; i++)
        free(visit.parts[i].text);
    if (visit.scratch[0])
        tb_child_remove(visit.scratch);
    for (size_t i = 0; i < visit.steps_count; i++)
        tb_postulate_close(visit.steps[i].postulate);
    return status;
}

int tb_cmd_packet(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, "[NNNN...]", documentation, NULL, NULL, NULL};
    arguments = (struct arguments){.root = NULL};
    int status = tb_cli_parse(&argp, "packet", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("packet");
    if (status)
        return status;
    if (!arguments.root)
        arguments.root = arguments.smoke ? "build/logs" : "logs";
    if (!*arguments.host && tb_host_name(arguments.host, sizeof arguments.host)) {
        tb_error("this host has no usable name: give it one by --host or LOCUS_HOST");
        return TB_EXIT_USAGE;
    }
    return visit_make(&arguments);
}
