// SPDX-License-Identifier: Apache-2.0
//
// cmd_packet_make: the visit of a machine: a look at it, the matrix, one run after the other, the archive.
//
// Matrix and runs are processes of this same program, so each is what a person would have called, an interrupt ends the one that is
// under way and not this, and one that fails does not take the others with it. What they log is safe in the record; this command
// holds nothing that a crash could lose but the minute that looking and the matrix take.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/cli/packet/packet.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/host.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"
#include "testbed/record/packet/packet.h"
#include "testbed/run/official.h"
#include "topo/topo.h"

enum { PART_TOPO, PART_XML, PART_DOCTOR, PART_MATRIX, PARTS };

struct visit {
    const struct tb_packet_arguments *arguments;
    struct tb_packet_steps steps;
    char self[PATH_MAX], scratch[PATH_MAX], output[PATH_MAX];
    char kind[16];
    struct tb_packet_part parts[PARTS];
    size_t parts_count, step, steps_all;
    unsigned failures;
};

// --- what would be run ---------------------------------------------------------------------------------------------------------

static const char *about(const struct tb_packet_step *step, char out[32])
{
    char text[24];
    snprintf(out, 32, "%s%s", step->guessed ? "~ " : "", tb_packet_duration(step->seconds, text, sizeof text));
    return out;
}

static int print_list(const struct visit *visit)
{
    const struct tb_packet_arguments *arguments = visit->arguments;
    char text[32], all[24];
    printf("topo, doctor                                 1 s\n");
    printf("matrix                                %10s   more on many nodes\n", arguments->smoke ? "10 s" : "~ 60 s");
    for (size_t i = 0; i < visit->steps.count; i++) {
        const struct tb_packet_step *step = &visit->steps.step[i];
        printf("%s %-32s %10s   %s%s\n", step->postulate->id, step->postulate->slug, about(step, text), step->why,
               step->done ? ", on record already" : "");
    }
    printf("All that is not on record of %s yet: about %s. Durations are those of other hosts of the record; ~ is a guess.\n",
           arguments->host, tb_packet_duration(visit->steps.seconds, all, sizeof all));
    return tb_cli_flush();
}

// --- steps ---------------------------------------------------------------------------------------------------------------------

static void show(struct visit *visit, const char *what, const char *slug, double seconds)
{
    char text[24];
    visit->step++;
    if (!visit->arguments->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "step %zu of %zu  %s%s%s, about %s\n", visit->step, visit->steps_all, what, *slug ? " " : "", slug,
                tb_packet_duration(seconds, text, sizeof text));
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

static int run_one(struct visit *visit, const struct tb_packet_step *step)
{
    const struct tb_packet_arguments *arguments = visit->arguments;
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
    for (size_t i = 0; i < visit->steps.count && !rc; i++)
        if (!visit->steps.step[i].done)
            rc = run_one(visit, &visit->steps.step[i]);
    if (rc)
        tb_error("interrupted in step %zu of %zu. What was sealed is safe in %s/%s: call this again, and it goes on there",
                 visit->step, visit->steps_all, visit->arguments->root, visit->arguments->host);
    return rc;
}

// --- before and after ----------------------------------------------------------------------------------------------------------

static int official_check(const struct visit *visit)
{
    for (size_t i = 0; i < visit->steps.count && !visit->arguments->smoke; i++)
        if (!visit->steps.step[i].done && tb_official_refuse(visit->steps.step[i].postulate))
            return -EPERM;
    return 0;
}

// Asked before anything is measured: a visit of an hour must not end at a folder that is not there.
static int output_choose(struct visit *visit)
{
    const struct tb_packet_arguments *arguments = visit->arguments;
    char stamp[24], part[PATH_MAX + 8];
    time_t now = time(NULL);
    struct tm utc;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    if (!arguments->output)
        mkdir("build", 0777);
    int length = arguments->output
                     ? snprintf(visit->output, sizeof visit->output, "%s", arguments->output)
                     : snprintf(visit->output, sizeof visit->output, "build/%s-%s.locus-packet.tar", arguments->host, stamp);
    snprintf(part, sizeof part, "%s.part", visit->output);
    int fd = length < (int)sizeof visit->output ? open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644) : -1;
    if (fd < 0) {
        tb_error("%s: %s. Name another place with -o", visit->output, strerror(errno));
        return -EINVAL;
    }
    close(fd);
    unlink(part);
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
static void print_verdict(const struct visit *visit, const struct tb_chain *ledger, const struct tb_packet_step *step)
{
    const struct tb_packet_arguments *arguments = visit->arguments;
    const json_t *closed = NULL;
    char path[PATH_MAX], run[16], why[300];
    struct tb_log_view view;
    snprintf(run, sizeof run, "%s-", step->postulate->id);
    for (size_t i = ledger->count; i-- > 0 && !closed;) {
        const json_t *entry = ledger->entries[i].object;
        if (strcmp(tb_member_text(entry, "t"), "close") == 0 && strncmp(tb_member_text(entry, "run"), run, strlen(run)) == 0)
            closed = entry;
    }
    snprintf(path, sizeof path, "%.1000s/%s/%s-%s/%.64s.jsonl", arguments->root, arguments->host, step->postulate->id,
             step->postulate->slug, closed ? tb_member_text(closed, "run") + strlen(run) : "");
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
        for (size_t i = 0; i < visit->steps.count; i++)
            print_verdict(visit, &ledger, &visit->steps.step[i]);
        for (size_t i = 0; i < ledger.count; i++)
            if (strcmp(tb_member_text(ledger.entries[i].object, "t"), "record") == 0)
                printf("record      %s goes along\n", tb_member_text(ledger.entries[i].object, "path"));
        tb_chain_close(&ledger);
    }
    tb_checkpoint_text(&making->checkpoint, checkpoint, sizeof checkpoint);
    printf("host        %s, %s%s\n", making->host, making->kind, strcmp(making->kind, "emulated") ? "" : ": counts, no times");
    printf("checkpoint  %s\n", checkpoint);
    printf("packet      %s, %.1f MiB%s\n", making->output, (double)making->bytes / (1 << 20),
           making->official ? "" : ", of smoke runs: they prove nothing");
    if (making->official)
        printf("next        send it; whoever has it says: locus packet --check %s\n",
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
        .official = !visit->arguments->smoke,
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
    for (size_t i = 0; i < visit->steps.count; i++)
        visit->steps_all += !visit->steps.step[i].done;
    visit->steps_all += visit->arguments->no_run ? 1 : 2;
    look(visit);
    return run_all(visit) ? TB_EXIT_FAILED : pack(visit);
}

int tb_packet_make(const struct tb_packet_arguments *arguments)
{
    struct visit visit = {.arguments = arguments, .kind = "unknown"};
    char why[600];
    setenv("LOCUS_HOST", arguments->host, 1); // what is called here names this host as the record does, and not otherwise
    const struct tb_packet_wish wish = {.full = arguments->full,
                                        .smoke = arguments->smoke,
                                        .again = arguments->again,
                                        .ids = arguments->ids,
                                        .root = arguments->root,
                                        .host = arguments->host};
    if (!arguments->no_run && tb_packet_steps_open(&visit.steps, &wish, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_USAGE;
    }
    int status = arguments->list ? print_list(&visit) : go(&visit);
    for (size_t i = 0; i < visit.parts_count; i++)
        free(visit.parts[i].text);
    if (visit.scratch[0])
        tb_child_remove(visit.scratch);
    tb_packet_steps_close(&visit.steps);
    return status;
}
