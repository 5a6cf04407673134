// SPDX-License-Identifier: Apache-2.0
//
// verify_ledger: a host's ledger, line by line. What a line names must exist and be as it says, and nothing may be used before it
// was filed: a line may refer only to those above it, and the chain holds their order.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "testbed/record/ledger.h"
#include "testbed/record/names.h"
#include "testbed/record/verify/verify_internal.h"

static bool is_filing(const json_t *entry, const char *id)
{
    return strcmp(tb_member_text(entry, "t"), "postulate") == 0 && strcmp(tb_member_text(entry, "id"), id) == 0;
}

static bool is_official(const json_t *open)
{
    return strcmp(tb_member_text(open, "kind"), "official") == 0;
}

// The line of the nearest binding filing of this postulate below `line`. 0: none.
static size_t filed_below(const struct verify_host *host, const char *id, size_t line)
{
    while (++line <= host->chain.count)
        if (is_filing(host->chain.entries[line - 1].object, id) && tb_ledger_binds(&host->chain, line))
            return line;
    return 0;
}

static struct verify_run *find_run(const struct verify_host *host, const char *id)
{
    for (size_t i = 0; i < host->runs_count; i++)
        if (strcmp(host->runs[i].id, id) == 0)
            return &host->runs[i];
    return NULL;
}

// A file that was filed with a hash: `what` it is, in words.
static void check_file(struct verify *verify, const struct verify_host *host, size_t line, const char *what, const json_t *entry,
                       const char *path)
{
    char sha256[TB_HASH_TEXT];
    int rc = tb_hash_file(path, sha256);
    if (rc == -ENOENT || rc == -ENOTDIR)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "the %s filed here is missing: %s", what, path);
    else if (rc)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "the %s filed here cannot be read: %s: %s", what, path,
                          strerror(-rc));
    else if (strcmp(sha256, tb_member_text(entry, "sha256")))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1,
                          "the %s was changed after it was filed at %s:%zu: its sha256 is %.12s, not %.12s", what, host->ledger,
                          line, sha256, tb_member_text(entry, "sha256"));
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
    host->postulates += !above;
    if (!above) {
        check_file(verify, host, line, "postulate", entry, tb_member_text(entry, "path"));
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
    int length = snprintf(run.log, sizeof run.log, "%s/%s/%s", verify->config->root, host->name, tb_member_text(entry, "log"));
    if (length >= (int)sizeof run.log) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "run %s has a log with too long a name", run.id);
        return;
    }
    if (is_official(entry))
        check_filed(verify, host, &run);
    host->runs[host->runs_count++] = run;
}

static void close_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    struct verify_run *run = find_run(host, tb_member_text(entry, "run"));
    if (!run)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "closes run '%s', which was never opened",
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
    check_file(verify, host, line, "record", entry, there ? elsewhere : path);
    if (!there)
        tb_verify_link(verify, path, 0);
}

static void supersede_line(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    if (strcmp(tb_member_text(entry, "id"), tb_member_text(entry, "by")) == 0)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "postulate %s supersedes itself",
                          tb_member_text(entry, "id"));
}

static const struct {
    const char *type;
    void (*check)(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line);
} lines[] = {
    {"ledger", first_line},  {"postulate", postulate_line}, {"open", open_line},          {"close", close_line},
    {"record", record_line}, {"supersede", supersede_line}, {"packet", tb_verify_packet},
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
    for (size_t i = 1; i < host->chain.count; i++) {
        const char *before = tb_member_text(host->chain.entries[i - 1].object, "time");
        const char *now = tb_member_text(host->chain.entries[i].object, "time");
        struct tm before_parts = {0}, now_parts = {0};
        if (!strptime(before, "%Y-%m-%dT%H:%M:%SZ", &before_parts) || !strptime(now, "%Y-%m-%dT%H:%M:%SZ", &now_parts))
            continue;
        long long back = (long long)timegm(&before_parts) - (long long)timegm(&now_parts);
        if (back > 0)
            tb_verify_remark(verify, host->ledger, i + 1, "its time, %s, is %lld s before that of line %zu, %s: a clock was wrong",
                             now, back, i, before);
    }
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
    check_times(verify, out);
    for (size_t i = 0; i < out->runs_count; i++)
        tb_verify_log(verify, out, &out->runs[i]);
    tb_verify_strays(verify, out);
}

void tb_verify_host_close(struct verify_host *host)
{
    tb_chain_close(&host->chain);
    free(host->runs);
    json_decref(host->crashed);
}

// --- records: their runs may be of another host --------------------------------------------------------------------------------

// Was this run opened, in this host's own ledger above the record? A ledger that is broken may have opened it behind the break, and
// so may one that was not asked for.
static bool may_be_opened(const struct verify *verify, const struct verify_host hosts[], size_t count,
                          const struct verify_host *host, const char *id, size_t line)
{
    const struct verify_run *own = find_run(host, id);
    bool found = own ? own->line < line : verify->config->host != NULL;
    for (size_t i = 0; i < count && !own && !found; i++)
        found = &hosts[i] != host && (hosts[i].chain.broken_line || find_run(&hosts[i], id));
    return found;
}

// Is every ledger here that can have entered a record of experiments/? Those are the whole ones below logs/.
static bool are_all(const struct verify *verify, const struct verify_host hosts[], size_t count)
{
    struct stat root, logs;
    bool all = !verify->config->host && stat(verify->config->root, &root) == 0 && stat("logs", &logs) == 0 &&
               root.st_dev == logs.st_dev && root.st_ino == logs.st_ino;
    for (size_t i = 0; i < count; i++)
        all &= !hosts[i].chain.broken_line;
    return all;
}

static int is_record(const struct dirent *entry)
{
    return tb_record_named(entry->d_name);
}

static void check_unfiled(struct verify *verify, const struct verify_host hosts[], size_t count)
{
    struct dirent **names = NULL;
    char path[PATH_MAX];
    int found = scandir(TB_RECORD_FOLDER, &names, is_record, alphasort);
    for (int i = 0; i < found; i++) {
        bool filed = false;
        snprintf(path, sizeof path, TB_RECORD_FOLDER "/%s", names[i]->d_name);
        for (size_t host = 0; host < count && !filed; host++)
            filed = tb_ledger_last(&hosts[host].chain, SIZE_MAX, "record", "path", path) > 0;
        if (!filed)
            tb_verify_finding(
                verify, WITNESS_LEDGER, path, 1,
                "a record that no ledger has entered: `locus record file` does that, and otherwise it does not belong "
                "here");
        free(names[i]);
    }
    free(names);
}

void tb_verify_records(struct verify *verify, const struct verify_host hosts[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t line = 1; line <= hosts[i].chain.count; line++) {
            const json_t *entry = hosts[i].chain.entries[line - 1].object;
            const char *id = tb_member_text(entry, "run");
            if (strcmp(tb_member_text(entry, "t"), "record") == 0 && !may_be_opened(verify, hosts, count, &hosts[i], id, line))
                tb_verify_finding(verify, WITNESS_LEDGER, hosts[i].ledger, line, "a record of run '%s', which was never opened",
                                  id);
        }
    }
    if (are_all(verify, hosts, count))
        check_unfiled(verify, hosts, count);
}
