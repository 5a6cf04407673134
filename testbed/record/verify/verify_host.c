// SPDX-License-Identifier: Apache-2.0
//
// verify_host: a host's ledger, line by line, and all that it names. What a line names must exist and be as it says, and nothing
// may be used before it was filed: a line may refer only to those above it, and the chain holds their order.
//
// Then each log against itself, and against what the ledger says of its run. Here the order matters: a broken chain makes all that
// follows it worthless, and a log of another run would differ in everything. So the first disagreement is reported, and it is the
// cause. A log that agrees with its ledger is then read as its readers read it, each row once. At last what of it cannot all be
// true: packets that say hardware of a virtual machine.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "testbed/base/sha256.h"
#include "testbed/base/stamp.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/head.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/verify/verify_internal.h"

// --- lines of a ledger ---------------------------------------------------------------------------------------------------------

// The line of the nearest binding filing of this postulate below `line`. 0: none.
static size_t filed_below(const struct verify_host *host, const char *id, size_t line)
{
    size_t below = 0;
    for (size_t at = SIZE_MAX; (at = tb_ledger_filing(&host->chain, at, id)) > line;)
        below = at;
    return below;
}

static struct verify_run *find_run(const struct verify_host *host, const char *id)
{
    for (size_t i = 0; i < host->runs_count; i++)
        if (strcmp(host->runs[i].id, id) == 0)
            return &host->runs[i];
    return NULL;
}

// A file that has its hash in this line: `what` it is, in words.
static void check_file(struct verify *verify, const struct verify_host *host, size_t line, const char *what, const char *sha256,
                       const char *path)
{
    char own[TB_HASH_TEXT];
    int rc = tb_hash_file(path, own);
    if (rc == -ENOMEM)
        tb_verify_impossible(verify, rc, "%s: %s", path, strerror(-rc));
    else if (rc == -ENOENT || rc == -ENOTDIR)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "the %s here is missing: %s", what, path);
    else if (rc)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "the %s here cannot be read: %s: %s", what, path,
                          strerror(-rc));
    else if (strcmp(own, sha256))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "changed: not the %s at %s:%zu: its sha256 is %.12s, not %.12s", what,
                          host->ledger, line, own, sha256);
}

static void first_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    if (line != 1)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "a second beginning");
    else if (strcmp(tb_member_text(entry, "host"), host->name))
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, 1, "this is the ledger of host '%s'",
                          tb_member_text(entry, "host"));
    else if (json_integer_value(json_object_get(entry, "v")) != 1)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, 1, "a version that this program does not know");
}

static void postulate_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    if (!tb_ledger_binds(&host->chain, line))
        return;
    const char *id = tb_member_text(entry, "id");
    size_t above = tb_ledger_filing(&host->chain, line, id);
    char clean[8];
    host->postulates += !above;
    if (tb_postulate_id(id, clean) || strcmp(clean, id))
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "'%.60s' is no number of a postulate: four digits", id);
    if (!above) {
        check_file(verify, host, line, "postulate filed", tb_member_text(entry, "sha256"), tb_member_text(entry, "path"));
        tb_verify_link(verify, tb_member_text(entry, "path"), 0);
    } else if (strcmp(tb_member_text(host->chain.entries[above - 1].object, "sha256"), tb_member_text(entry, "sha256")))
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "postulate %s was filed at line %zu, with another content",
                          id, above);
}

static void check_filed(struct verify *verify, struct verify_host *host, struct verify_run *run)
{
    size_t above = tb_ledger_filing(&host->chain, run->line, run->postulate_id);
    const json_t *filed = above ? host->chain.entries[above - 1].object : NULL;
    size_t below = filed ? 0 : filed_below(host, run->postulate_id, run->line);
    run->filed = above;
    run->postulate_path = filed ? tb_member_text(filed, "path") : NULL;
    if (filed && strcmp(tb_member_text(filed, "sha256"), run->postulate_sha256))
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line,
                          "run %s was opened with another version of postulate %s than the one filed at line %zu", run->id,
                          run->postulate_id, above);
    else if (below)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line,
                          "run %s was opened before its postulate %s was filed at line %zu", run->id, run->postulate_id, below);
    else if (!filed && !host->chain.broken_line)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line,
                          "run %s was opened, but its postulate %s was never filed", run->id, run->postulate_id);
}

static void open_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    struct verify_run run = {.id = tb_member_text(entry, "run"),
                             .nonce = tb_member_text(entry, "nonce"),
                             .kind = tb_member_text(entry, "kind"),
                             .postulate_id = tb_member_text(entry, "postulate_id"),
                             .postulate_sha256 = tb_member_text(entry, "postulate_sha256"),
                             .line = line};
    if (find_run(host, run.id)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "run %s is opened a second time", run.id);
        return;
    }
    const char *log = tb_member_text(entry, "log");
    if (!tb_run_named(run.id)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "'%.60s' is no id of a run", run.id);
        return;
    }
    int length = snprintf(run.log, sizeof run.log, "%s/%s/%s", verify->config->root, host->name, log);
    if (length >= (int)sizeof run.log || !tb_tar_name_valid(log)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "no name of a log: %.100s", log);
        return;
    }
    if (strcmp(run.kind, "official") == 0)
        check_filed(verify, host, &run);
    host->runs[host->runs_count++] = run;
}

static void close_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    struct verify_run *run = find_run(host, tb_member_text(entry, "run"));
    if (!run)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "closes run '%.60s', which was never opened",
                          tb_member_text(entry, "run"));
    else if (run->close)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "closes run %s a second time", run->id);
    else
        run->close = entry;
}

static void record_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    const char *path = tb_member_text(entry, "path"), *records = verify->config->records;
    char elsewhere[PATH_MAX];
    struct stat status;
    bool fits = records && snprintf(elsewhere, sizeof elsewhere, "%s/%s", records, path) < (int)sizeof elsewhere;
    host->records++;
    bool there = fits && stat(elsewhere, &status) == 0;
    check_file(verify, host, line, "record filed", tb_member_text(entry, "sha256"), there ? elsewhere : path);
    if (!there)
        tb_verify_link(verify, path, 0);
}

static void supersede_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    if (strcmp(tb_member_text(entry, "id"), tb_member_text(entry, "by")) == 0)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "postulate %s supersedes itself",
                          tb_member_text(entry, "id"));
}

// --- a packet's line (packet.h) ------------------------------------------------------------------------------------------------

// It has the hashes of what lies in packet/ID/ and of logs of runs that crashed; the seal, which only a packet that came home has,
// is the checkpoint of that line. All else has its hash in other lines.

static bool is_one_of(const char *text, const char *const words[])
{
    while (*words && strcmp(text, *words))
        words++;
    return *words != NULL;
}

static int bad(char *why, size_t why_bytes, const char *what, const char *name)
{
    snprintf(why, why_bytes, "%s%.100s", what, name);
    return -EINVAL;
}

int tb_packet_line_check(const json_t *line, char *why, size_t why_bytes)
{
    static const char *const kinds[] = {"hardware", "virtual", "emulated", "unknown", NULL};
    json_t *files = json_object_get(line, "files"), *sha256;
    const char *id = tb_member_text(line, "packet"), *name;
    json_int_t format = json_integer_value(json_object_get(line, "format"));
    struct tb_hash hash;
    if (format > TB_PACKET_FORMAT)
        return bad(why, why_bytes, "a packet of a format that is newer than this program: build a newer one", "");
    if (format != TB_PACKET_FORMAT)
        return bad(why, why_bytes, "a packet of no format that this program knows: make it again (locus packet --no-run)", "");
    if (!tb_tar_name_valid(id) || strchr(id, '/') || strlen(id) >= TB_PACKET_ID)
        return bad(why, why_bytes, "a packet without a name", "");
    if (!is_one_of(tb_member_text(line, "kind"), kinds))
        return bad(why, why_bytes, "the packet's kind is none that there is: ", tb_member_text(line, "kind"));
    if (!*tb_member_text(line, "program.version") || !*tb_member_text(line, "program.commit") || !json_is_object(files))
        return bad(why, why_bytes, "the packet does not say its program or its files", "");
    json_object_foreach (files, name, sha256)
        if (!tb_tar_name_valid(name))
            return bad(why, why_bytes, "no name that a packet's file can have: ", name);
        else if (!json_is_string(sha256) || tb_hash_parse(json_string_value(sha256), &hash))
            return bad(why, why_bytes, "the packet has no SHA-256 of ", name);
    return 0;
}

static void seal_check(struct verify *verify, const struct verify_host *host, size_t line, const char *id)
{
    char path[PATH_MAX], text[256] = "";
    struct tb_checkpoint seal = {.bytes = 0};
    size_t end = line < host->chain.count ? host->chain.entries[line].offset : host->chain.bytes;
    snprintf(path, sizeof path, "%.3000s/%s/" TB_PACKET_FOLDER "/%s/" TB_PACKET_SEAL, verify->config->root, host->name, id);
    FILE *file = fopen(path, "re");
    if (!file)
        return; // on the machine that made it
    bool whole = fgets(text, sizeof text, file) && tb_checkpoint_parse(text, &seal) == 0 && fgetc(file) == EOF;
    fclose(file);
    if (!whole || strcmp(seal.host, host->name) || seal.bytes != end ||
        memcmp(&seal.head, &host->chain.entries[line - 1].head, sizeof seal.head))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "not the seal of the packet at %s:%zu", host->ledger, line);
}

static void packet_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    char path[PATH_MAX], why[300];
    const char *name;
    json_t *sha256;
    host->packets++;
    if (tb_packet_line_check(entry, why, sizeof why)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "%s", why);
        return;
    }
    json_object_foreach (json_object_get(entry, "files"), name, sha256) {
        snprintf(path, sizeof path, "%.3000s/%s/%s", verify->config->root, host->name, name);
        check_file(verify, host, line, "packet's file sealed", json_string_value(sha256), path);
    }
    seal_check(verify, host, line, tb_member_text(entry, "packet"));
}

// --- logs ----------------------------------------------------------------------------------------------------------------------

// A run that crashed may have left half a line, which nobody was told of.
static bool chain_holds(struct verify *verify, const struct verify_run *run, const struct tb_chain *chain)
{
    if (!chain->broken_line || (chain->torn && !run->close))
        return true;
    tb_verify_finding(verify, WITNESS_LOG, run->log, chain->broken_line, "%s", chain->broken);
    return false;
}

// The run's identity. An empty log has none: the process died before it wrote the header.
static bool header_agrees(struct verify *verify, const struct verify_host *host, const struct verify_run *run,
                          const struct tb_chain *chain)
{
    if (!chain->count)
        return true;
    const json_t *header = chain->entries[0].object;
    const char *id = tb_member_text(header, "run"), *ledger = host->ledger;
    const char *sha256 = tb_member_text(json_object_get(header, "postulate"), "sha256");
    if (strcmp(tb_member_text(header, "t"), "hdr"))
        tb_verify_finding(verify, WITNESS_LOG, run->log, 1, "a log begins with its header, this does not");
    else if (strcmp(id, run->id))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1,
                          "this is the log of run '%s', but %s:%zu opened run %s under this name", id, ledger, run->line, run->id);
    else if (strcmp(tb_member_text(header, "nonce"), run->nonce))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1, "another log of run %s: its nonce is not the one of %s:%zu", id,
                          ledger, run->line);
    else if (strcmp(tb_member_text(header, "kind"), run->kind))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1, "run %s was opened as '%s' (%s:%zu), and its log says '%s'", id,
                          run->kind, ledger, run->line, tb_member_text(header, "kind"));
    else if (strcmp(sha256, run->postulate_sha256))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1,
                          "run %s used another postulate than the one it was opened with (%s:%zu)", id, ledger, run->line);
    else
        return true;
    return false;
}

// Logs older than this member lack it, and so do runs that replicate nothing.
static bool replicates_agree(struct verify *verify, const struct verify_host *host, const struct verify_run *run,
                             const struct tb_chain *chain)
{
    const json_t *said = chain->count ? json_object_get(chain->entries[0].object, "replicates") : NULL;
    json_t *before = NULL;
    if (!said)
        return true;
    if (tb_ledger_replicated(&host->chain, run->line, run->postulate_id, &before))
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
    bool agrees = before && json_equal(said, before);
    if (!agrees)
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, 1,
                          "run %s says that it replicates other runs than %s:%zu has above it with a verdict on postulate %s",
                          run->id, host->ledger, run->line, run->postulate_id);
    json_decref(before);
    return agrees;
}

// *sealed: there is a seal, and it is the last line.
static bool seal_holds(struct verify *verify, const struct verify_run *run, const struct tb_chain *chain, bool *sealed)
{
    for (size_t i = 0; i < chain->count; i++) {
        const json_t *object = chain->entries[i].object;
        if (strcmp(tb_member_text(object, "t"), "seal"))
            continue;
        json_int_t lines = json_integer_value(json_object_get(object, "lines"));
        *sealed = i + 1 == chain->count && !chain->broken_line;
        if (!*sealed)
            tb_verify_finding(verify, WITNESS_LOG, run->log, i + 2, "the log goes on after its seal");
        else if (lines != (json_int_t)chain->count)
            tb_verify_finding(verify, WITNESS_LOG, run->log, i + 1, "the seal counts %lld lines, there are %zu", (long long)lines,
                              chain->count);
        else
            return true;
        return false;
    }
    return true;
}

static const char *log_verdict(const struct tb_chain *chain)
{
    for (size_t i = chain->count; i-- > 0;)
        if (strcmp(tb_member_text(chain->entries[i].object, "t"), "sum") == 0)
            return tb_member_text(chain->entries[i].object, "verdict");
    return "";
}

static bool close_agrees(struct verify *verify, const struct verify_host *host, const struct verify_run *run,
                         const struct tb_chain *chain, bool sealed)
{
    char head[TB_HASH_TEXT] = "";
    if (chain->count)
        tb_hash_text(&chain->entries[chain->count - 1].head, head);
    json_int_t lines = json_integer_value(json_object_get(run->close, "log_lines"));
    const char *verdict = log_verdict(chain);
    bool complete = strcmp(tb_member_text(run->close, "status"), "complete") == 0;
    if (!sealed)
        tb_verify_finding(verify, WITNESS_LOG, run->log, chain->count + 1,
                          "the log ends without its seal, though run %s was closed with %lld lines: its tail was cut off", run->id,
                          (long long)lines);
    else if (lines != (json_int_t)chain->count)
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count, "run %s was closed with %lld lines, there are %zu (%s)",
                          run->id, (long long)lines, chain->count, host->ledger);
    else if (strcmp(head, tb_member_text(run->close, "log_head")))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count,
                          "written anew: its last hash is not the one that %s has for run %s", host->ledger, run->id);
    else if (*verdict && complete && strcmp(verdict, tb_member_text(run->close, "verdict")))
        tb_verify_finding(verify, WITNESS_LEDGER, run->log, chain->count, "the log's verdict is '%s', and %s has '%s' for run %s",
                          verdict, host->ledger, tb_member_text(run->close, "verdict"), run->id);
    else
        return true;
    return false;
}

// A ledger whose chain is broken may well have closed the run after the break.
static bool never_closed(struct verify *verify, struct verify_host *host, const struct verify_run *run,
                         const struct tb_chain *chain, bool sealed)
{
    if (host->chain.broken_line)
        return true;
    if (sealed) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "run %s was never closed, though its log is sealed: %s",
                          run->id, run->log);
        return false;
    }
    tb_verify_add(verify, host->crashed,
                  json_pack("{s:s, s:s, s:I, s:b}", "run", run->id, "log", run->log, "lines", (json_int_t)chain->count, "cut",
                            (int)chain->torn));
    return true;
}

static void unreadable(struct verify *verify, const struct verify_host *host, const struct verify_run *run, int rc)
{
    if (rc == -ENOMEM)
        tb_verify_impossible(verify, rc, "%s: %s", run->log, strerror(-rc));
    else if (rc != -ENOENT && rc != -ENOTDIR)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "the log of run %s cannot be read: %s: %s", run->id,
                          run->log, strerror(-rc));
    else if (run->close)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line, "the log of run %s is missing: %s", run->id, run->log);
    else
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, run->line,
                          "run %s was opened and dropped: it has neither an end nor a log (%s)", run->id, run->log);
}

// That there are such commits only history can say (verify_git.c).
static void commits_take(struct verify_run *run, const struct tb_chain *chain)
{
    const json_t *header = chain->count ? chain->entries[0].object : NULL;
    static const char *const names[] = {"postulate.commit", "env.build.commit"};
    for (size_t i = 0; i < 2; i++)
        snprintf(run->commits[i], sizeof run->commits[i], "%.*s", (int)strcspn(tb_member_text(header, names[i]), "\n"),
                 tb_member_text(header, names[i]));
}

// As the log says: by the program's own mark, the CPU's name, the doctor, or the firmware.
static const char *machine_of(const json_t *header)
{
    const char *kind = tb_machine_kind(tb_member_text(header, "doctor.findings.machine.now"));
    if (*tb_member_text(header, "emulated") || strstr(tb_member_text(header, "env.cpu.model"), "QEMU TCG"))
        return "emulated";
    return strcmp(kind, "virtual") && tb_machine_virtual(tb_member_text(header, "env.dmi.product_name")) ? "virtual" : kind;
}

// As every reader of it takes it: each line in its place, each row of its shape, of a cell and an arm that there are.
static void lines_hold(struct verify *verify, const struct verify_run *run, struct tb_log_view *view)
{
    char why[256];
    const char *fault = why;
    size_t line = 0;
    int rc = view->chain.count ? tb_log_take(view, &line, why, sizeof why) : 0;
    if (!rc)
        line = tb_log_check(view, &fault);
    if (rc == -ENOMEM)
        tb_verify_impossible(verify, rc, "%s: %s", run->log, strerror(-rc));
    else if (line)
        tb_verify_finding(verify, WITNESS_LOG, run->log, line, "%s", fault);
}

static void log_check(struct verify *verify, struct verify_host *host, struct verify_run *run)
{
    struct tb_log_view view = {.header = NULL};
    struct tb_chain *chain = &view.chain;
    int rc = tb_chain_load_groups(run->log, chain);
    if (rc) {
        unreadable(verify, host, run, rc);
        return;
    }
    bool sealed = false;
    commits_take(run, chain);
    run->machine = chain->count ? machine_of(chain->entries[0].object) : NULL;
    if (chain_holds(verify, run, chain) && header_agrees(verify, host, run, chain) && replicates_agree(verify, host, run, chain) &&
        seal_holds(verify, run, chain, &sealed) &&
        (run->close ? close_agrees(verify, host, run, chain, sealed) : never_closed(verify, host, run, chain, sealed)))
        lines_hold(verify, run, &view);
    host->sealed += sealed;
    tb_log_view_close(&view);
}

// --- what kind of machine a packet says it is of -------------------------------------------------------------------------------

// `made` is the machine of a log or of the packet's own doctor.json. What does not say, contradicts nothing.
static void machine_agrees(struct verify *verify, const struct verify_host *host, size_t line, const char *file, const char *made)
{
    const char *said = tb_member_text(host->chain.entries[line - 1].object, "kind");
    bool emulated = strcmp(made, "emulated") == 0;
    if (emulated != (strcmp(said, "emulated") == 0))
        tb_verify_finding(verify, WITNESS_LEDGER, file, 1, "made in %s emulated machine, and the packet says '%s' (%s:%zu)",
                          emulated ? "an" : "no", said, host->ledger, line);
    else if (strcmp(made, "virtual") == 0 && strcmp(said, "hardware") == 0)
        tb_verify_finding(verify, WITNESS_LEDGER, file, 1, "made in a virtual machine, and the packet says 'hardware' (%s:%zu)",
                          host->ledger, line);
}

static void doctor_agrees(struct verify *verify, const struct verify_host *host, size_t line)
{
    char path[PATH_MAX];
    const char *id = tb_member_text(host->chain.entries[line - 1].object, "packet");
    snprintf(path, sizeof path, "%.3000s/%s/" TB_PACKET_FOLDER "/%.60s/doctor.json", verify->config->root, host->name, id);
    json_t *doctor = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    const char *now = tb_member_text(doctor, "findings.machine.now");
    if (*now)
        machine_agrees(verify, host, line, path, tb_machine_kind(now));
    json_decref(doctor);
}

static void machines_agree(struct verify *verify, const struct verify_host *host)
{
    for (size_t line = 1; line <= host->chain.count; line++) {
        if (strcmp(tb_member_text(host->chain.entries[line - 1].object, "t"), "packet"))
            continue;
        doctor_agrees(verify, host, line);
        for (size_t i = 0; i < host->runs_count && host->runs[i].line < line; i++)
            if (host->runs[i].machine)
                machine_agrees(verify, host, line, host->runs[i].log, host->runs[i].machine);
    }
}

// --- a host --------------------------------------------------------------------------------------------------------------------

static const struct {
    const char *type;
    void (*check)(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line);
} lines[] = {
    {"ledger", first_line},  {"postulate", postulate_line}, {"open", open_line},     {"close", close_line},
    {"record", record_line}, {"supersede", supersede_line}, {"packet", packet_line},
};

static void check_line(struct verify *verify, struct verify_host *host, size_t line)
{
    const json_t *entry = host->chain.entries[line - 1].object;
    const char *type = tb_member_text(entry, "t");
    if (line == 1 && strcmp(type, "ledger"))
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, 1, "this is not the beginning of a ledger");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(type, lines[i].type) == 0) {
            lines[i].check(verify, host, entry, line);
            return;
        }
    tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "an entry '%s' that this program does not know", type);
}

// Their order is the chain's, and time only what a clock said; but one that goes back was wrong, before or now.
static void check_times(struct verify *verify, const struct verify_host *host)
{
    const char *before = NULL;
    time_t then = 0;
    size_t above = 0;
    for (size_t line = 1; line <= host->chain.count; line++) {
        const char *now = tb_member_text(host->chain.entries[line - 1].object, "time");
        time_t time;
        if (!tb_time_read(now, &time)) {
            tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "its time, '%.40s', is none", now);
            continue;
        }
        if (before && time < then)
            tb_verify_remark(verify, host->ledger, line, "its time, %s, is %lld s before that of line %zu, %s: a clock was wrong",
                             now, (long long)(then - time), above, before);
        before = now;
        then = time;
        above = line;
    }
}

// A folder of this name could not be made by a run, and is no word that a command could be given.
static void check_name(struct verify *verify, const struct verify_host *host)
{
    char twin[sizeof host->name];
    if (host->chain.count && !tb_host_name_valid(host->name))
        tb_verify_finding(verify, WITNESS_FILES, host->ledger, 1,
                          "'%s' cannot name a host: letters, digits, '.', '_' and '-', of which the first is neither '.' nor '-'",
                          host->name);
    if (host->chain.count && tb_host_twin(verify->config->root, host->name, twin, sizeof twin) && strcmp(twin, host->name) < 0)
        tb_verify_finding(
            verify, WITNESS_FILES, host->ledger, 1,
            "host %s differs from host %s in case alone: where the file system does not tell them apart, one hides the "
            "other",
            host->name, twin);
}

void tb_verify_host(struct verify *verify, const char *name, struct verify_host *out)
{
    *out = (struct verify_host){.crashed = json_array()};
    int name_length = snprintf(out->name, sizeof out->name, "%s", name);
    int length = snprintf(out->ledger, sizeof out->ledger, "%s/%s/ledger.jsonl", verify->config->root, name);
    if (name_length >= (int)sizeof out->name || length >= (int)sizeof out->ledger) {
        tb_verify_impossible(verify, -EINVAL, "%s/%s: too long a name for a host", verify->config->root, name);
        return;
    }
    int rc = tb_chain_load(out->ledger, &out->chain);
    if (rc && rc != -ENOENT) {
        tb_verify_impossible(verify, rc, "%s: %s", out->ledger, strerror(-rc));
        return;
    }
    out->runs = calloc(out->chain.count + 1, sizeof *out->runs);
    if (!out->runs || !out->crashed) {
        tb_verify_impossible(verify, -ENOMEM, "out of memory");
        return;
    }
    if (out->chain.broken_line)
        tb_verify_finding(verify, WITNESS_LEDGER_CHAIN, out->ledger, out->chain.broken_line, "%s", out->chain.broken);
    for (size_t line = 1; line <= out->chain.count; line++)
        check_line(verify, out, line);
    check_name(verify, out);
    check_times(verify, out);
    for (size_t i = 0; i < out->runs_count; i++)
        log_check(verify, out, &out->runs[i]);
    machines_agree(verify, out);
    tb_verify_host_strays(verify, out);
}

void tb_verify_host_close(struct verify_host *host)
{
    tb_chain_close(&host->chain);
    free(host->runs);
    json_decref(host->crashed);
}

// --- records: their runs may be of another host --------------------------------------------------------------------------------

// Was this run opened, in this host's own ledger above the record? A ledger that is broken may have opened it after the break, and
// so may one that was not asked for.
static bool may_be_opened(const struct verify *verify, const struct verify_host *host, const char *id, size_t line)
{
    const struct verify_run *own = find_run(host, id);
    bool found = own ? own->line < line : verify->config->host != NULL;
    for (const struct verify_host *other = verify->hosts; other < verify->hosts + verify->hosts_count && !own && !found; other++)
        found = other != host && (other->chain.broken_line || find_run(other, id));
    return found;
}

// Is every ledger here that can have entered a record of experiments/? Those are the whole ones below logs/.
static bool are_all(const struct verify *verify)
{
    struct stat root, logs;
    bool all = !verify->config->host && stat(verify->config->root, &root) == 0 && stat("logs", &logs) == 0 &&
               root.st_dev == logs.st_dev && root.st_ino == logs.st_ino;
    for (size_t i = 0; i < verify->hosts_count; i++)
        all &= !verify->hosts[i].chain.broken_line;
    return all;
}

void tb_verify_records(struct verify *verify)
{
    for (const struct verify_host *host = verify->hosts; host < verify->hosts + verify->hosts_count; host++)
        for (size_t line = 1; line <= host->chain.count; line++) {
            const json_t *entry = host->chain.entries[line - 1].object;
            const char *id = tb_member_text(entry, "run");
            if (strcmp(tb_member_text(entry, "t"), "record") == 0 && !may_be_opened(verify, host, id, line))
                tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "a record of run '%s', which was never opened", id);
        }
    if (are_all(verify))
        tb_verify_record_strays(verify);
}
