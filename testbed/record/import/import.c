// SPDX-License-Identifier: Apache-2.0
//
// import: is what came as its host wrote it, and does it fit this repository?
//
// It lies in a folder of its own, and everything is asked there: the same `locus verify` that checks our own record reads its
// ledger, logs and packets. What verify does not ask is asked here: that a packet has its seal and nothing that the ledger does
// not know, that its postulates are ours, and that its records are not other texts here. A packet comes from a stranger: nothing in
// it is believed before it was asked.
//
// Whatever is at home must be the beginning of what came; then a folder is made of both, on the same file system, and takes the
// place of the one at home. The ledger stays locked from the first look on, so that no run goes on in the old one. Records go to
// experiments/ before that, because the new ledger names them: after a crash in between `locus verify` shows records that no ledger
// has, and to import once more finds them as they are.
#include "testbed/record/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/record/log.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/store.h"
#include "testbed/record/verify/verify.h"

static struct tb_import_path path_of(const char *folder, const char *name)
{
    struct tb_import_path path;
    snprintf(path.text, sizeof path.text, "%.4000s/%.300s", folder, name);
    return path;
}

static int refused(struct tb_import *import, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int refused(struct tb_import *import, int rc, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(import->why, sizeof import->why, format, arguments);
    va_end(arguments);
    return rc;
}

static int failed(struct tb_import *import, const char *path, int rc)
{
    return refused(import, rc, "%s: %s", path, strerror(-rc));
}

static void found(struct tb_import *import, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void found(struct tb_import *import, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    import->failed |= json_array_append_new(import->findings, json_string(text)) != 0;
}

typedef void each_file(struct tb_import *import, const FTSENT *file, const char *name);

// All that is no folder.
static void for_each(struct tb_import *import, const char *folder, each_file *act)
{
    FTS *walk = tb_file_walk(folder);
    import->failed |= !walk;
    for (FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
            act(import, entry, entry->fts_path + strlen(folder) + 1);
    if (walk)
        fts_close(walk);
}

// --- ledger and seal -----------------------------------------------------------------------------------------------------------

// Without these nothing else can be asked. false: a finding says why.
static bool ledger_open(struct tb_import *import)
{
    struct tb_chain *ledger = &import->ledger;
    int rc = tb_chain_load(path_of(import->folder, "ledger.jsonl").text, ledger);
    if (rc)
        found(import, "%s/ledger.jsonl: %s", import->host, strerror(-rc));
    else if (ledger->broken_line || !ledger->count)
        found(import, "%s/ledger.jsonl:%zu: %s", import->host, ledger->broken_line, ledger->count ? ledger->broken : "empty");
    else
        return true;
    return false;
}

// Seal and signature go to packet/ID/, where a later packet's do not meet them. There verify compares the seal with the ledger.
static bool packet_open(struct tb_import *import)
{
    static const char *const names[] = {TB_PACKET_SEAL, TB_PACKET_SIGNATURE};
    const struct tb_chain *ledger = &import->ledger;
    const json_t *last = ledger->entries[ledger->count - 1].object;
    char why[300] = "its last line is no packet's";
    if (strcmp(tb_member_text(last, "t"), "packet") || tb_packet_line_check(last, why, sizeof why))
        return found(import, "%s/ledger.jsonl:%zu: %s", import->host, ledger->count, why), false;
    if (access(path_of(import->folder, TB_PACKET_SEAL).text, F_OK))
        return found(import, "%s has no seal: one line, HOST BYTES HASH", import->host), false;
    import->packet = last;
    struct tb_import_path folder = path_of(import->folder, TB_PACKET_FOLDER);
    mkdir(folder.text, 0777);
    import->sealed = path_of(folder.text, tb_member_text(last, "packet"));
    mkdir(import->sealed.text, 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rename(path_of(import->folder, names[i]).text, path_of(import->sealed.text, names[i]).text) && errno != ENOENT)
            return found(import, "%s: %s", names[i], strerror(errno)), false;
    return true;
}

// --- what is in it -------------------------------------------------------------------------------------------------------------

static bool packet_knows(const json_t *line, const char *name)
{
    struct tb_import_path folder = path_of(TB_PACKET_FOLDER, tb_member_text(line, "packet"));
    return strcmp(name, path_of(folder.text, TB_PACKET_SEAL).text) == 0 ||
           strcmp(name, path_of(folder.text, TB_PACKET_SIGNATURE).text) == 0 ||
           json_object_get(json_object_get(line, "files"), name);
}

static bool is_known(const struct tb_import *import, const char *name)
{
    bool known = strcmp(name, "ledger.jsonl") == 0;
    for (size_t i = 0; i < import->ledger.count && !known; i++) {
        const json_t *entry = import->ledger.entries[i].object;
        const char *type = tb_member_text(entry, "t");
        known = (strcmp(type, "open") == 0 && strcmp(tb_member_text(entry, "log"), name) == 0) ||
                (strcmp(type, "record") == 0 && strcmp(tb_member_text(entry, "path"), name) == 0) ||
                (strcmp(type, "packet") == 0 && packet_knows(entry, name));
    }
    return known;
}

static void file_check(struct tb_import *import, const FTSENT *entry, const char *name)
{
    bool part = strncmp(name, TB_PACKET_FOLDER "/", sizeof TB_PACKET_FOLDER) == 0;
    if (entry->fts_info != FTS_F)
        found(import, "%s/%s: neither a file nor a folder: nobody but `locus run` writes there", import->host, name);
    else if ((import->packet || tb_record_below(name)) && !is_known(import, name))
        found(import, "%s/%s: its ledger does not know it, so it does not belong here", import->host, name);
    else if (part && strcmp(name + strlen(name) - 5, ".json") == 0) {
        json_t *object = json_load_file(entry->fts_path, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(object))
            found(import, "%s/%s: it is no JSON object", import->host, name);
        json_decref(object);
    }
}

// --- is it of this repository? -------------------------------------------------------------------------------------------------

static void postulate_check(struct tb_import *import, size_t line, const char *id, const char *sha256, const char *path)
{
    const char *host = import->host;
    char own[PATH_MAX], own_sha256[TB_HASH_TEXT], clean[8];
    if (tb_postulate_id(id, clean) || strcmp(clean, id) || tb_postulate_find("postulates", id, own, sizeof own))
        found(import, "%s/ledger.jsonl:%zu: postulate %.8s is not in postulates/ here: import it in a clone that has it", host,
              line, id);
    else if (*path && strcmp(path, own))
        found(import, "%s/ledger.jsonl:%zu: postulate %s is %s here, not %.100s", host, line, id, own, path);
    else if (tb_hash_file(own, own_sha256) || strcmp(own_sha256, sha256))
        found(import, "%s/ledger.jsonl:%zu: postulate %s is another one than %s here: its sha256 is %.12s, and here %.12s", host,
              line, id, own, sha256, own_sha256);
}

static void run_check(struct tb_import *import, size_t line, const json_t *open)
{
    const char *log = tb_member_text(open, "log");
    if (!tb_tar_name_valid(log))
        found(import, "%s/ledger.jsonl:%zu: no name of a log: %.100s", import->host, line, log);
    postulate_check(import, line, tb_member_text(open, "postulate_id"), tb_member_text(open, "postulate_sha256"), "");
}

// A run of this host, or of another one that is on record here: otherwise the record would be of a run that nobody knows. That a
// ledger here cannot be read, or not to its end, is another matter.
static void run_check_known(struct tb_import *import, size_t line, const char *record, const char *run)
{
    struct tb_store here = {0};
    if (tb_ledger_last(&import->ledger, SIZE_MAX, "open", "run", run))
        return;
    int rc = tb_store_add_ledgers(&here, "logs");
    bool known = !rc && tb_store_last(&here, "open", "run", run, NULL);
    const struct tb_store_host *broken = known ? NULL : tb_store_broken(&here);
    if (rc)
        found(import, "logs: %s: so nobody knows whether run %.60s is on record here", strerror(-rc), run);
    else if (broken)
        found(import, "%s:%zu: %s: so nobody knows whether run %.60s is on record here (see: locus verify)", broken->path,
              broken->ledger.broken_line, broken->ledger.broken, run);
    else if (!known)
        found(import, "%s/ledger.jsonl:%zu: %s is of run %.60s, and that is not on record here: import that run's host first",
              import->host, line, record, run);
    tb_store_close(&here);
}

// That what comes is what was filed, verify asks.
static void record_check(struct tb_import *import, size_t line, const json_t *entry)
{
    const char *path = tb_member_text(entry, "path"), *host = import->host;
    char here[TB_HASH_TEXT];
    if (!tb_record_below(path) || !tb_record_named(path + sizeof TB_RECORD_FOLDER) || !tb_tar_name_valid(path)) {
        found(import, "%s/ledger.jsonl:%zu: no name of a record: %.100s", host, line, path);
        return;
    }
    int rc = tb_hash_file(path, here);
    if (rc && rc != -ENOENT)
        found(import, "%s: %s", path, strerror(-rc));
    else if (!rc && strcmp(here, tb_member_text(entry, "sha256")))
        found(
            import,
            "%s is here with another text than at %s/ledger.jsonl:%zu, and no record may change: keep what came in a clone of its "
            "own",
            path, host, line);
    else if (rc && access(path_of(import->folder, path).text, F_OK))
        found(import, "%s/ledger.jsonl:%zu: %s is not here, and did not come along: let it, as %s/%s", host, line, path, host,
              path);
    else
        run_check_known(import, line, path, tb_member_text(entry, "run"));
}

static void entries_check(struct tb_import *import)
{
    const struct tb_chain *ledger = &import->ledger;
    for (size_t i = 0; i < ledger->count; i++) {
        const json_t *entry = ledger->entries[i].object;
        const char *type = tb_member_text(entry, "t");
        if (strcmp(type, "open") == 0)
            run_check(import, i + 1, entry);
        else if (strcmp(type, "postulate") == 0 && tb_ledger_binds(ledger, i + 1))
            postulate_check(import, i + 1, tb_member_text(entry, "id"), tb_member_text(entry, "sha256"),
                            tb_member_text(entry, "path"));
        else if (strcmp(type, "record") == 0)
            record_check(import, i + 1, entry);
    }
}

// --- the record's own witnesses ------------------------------------------------------------------------------------------------

// Its words are about files in a folder that nobody knows: that is taken off.
static void take_over(struct tb_import *import, const json_t *list, json_t *out)
{
    size_t i, below = strlen(import->below) + 1;
    json_t *finding;
    json_array_foreach (list, i, finding) {
        char whole[1400], text[1400];
        size_t used = 0;
        const char *witness = tb_member_text(finding, "witness");
        snprintf(whole, sizeof whole, "%s:%lld: %s%s%s%s", tb_member_text(finding, "file"),
                 (long long)tb_member_number(finding, "line"), tb_member_text(finding, "what"), *witness ? " (witness: " : "",
                 witness, *witness ? ")" : "");
        for (const char *c = whole; *c; c++) {
            if (strncmp(c, import->below, below - 1) == 0 && c[below - 1] == '/')
                c += below;
            text[used++] = *c;
        }
        text[used] = '\0';
        import->failed |= json_array_append_new(out, json_string(text)) != 0;
    }
}

// By the seal, where somebody must have signed it, or by the checkpoint that was kept the last time.
static int verify(struct tb_import *import)
{
    const struct tb_import_config *config = import->config;
    json_t *report = NULL;
    struct tb_import_path seal = path_of(import->sealed.text, TB_PACKET_SEAL);
    struct tb_import_path kept = path_of(config->checkpoints ? config->checkpoints : "", import->host);
    bool known = config->checkpoints && access(kept.text, F_OK) == 0;
    const struct tb_verify_config asked = {.root = import->below,
                                           .host = import->host,
                                           .checkpoint = config->key ? seal.text
                                                         : known     ? kept.text
                                                                     : NULL,
                                           .records = import->folder,
                                           .key = config->key};
    int rc = tb_verify(&asked, &report, import->why, sizeof import->why);
    if (rc)
        return rc;
    take_over(import, json_object_get(report, "findings"), import->findings);
    take_over(import, json_object_get(report, "remarks"), import->remarks);
    import->verified = json_incref(json_array_get(json_object_get(report, "hosts"), 0));
    snprintf(import->signer, sizeof import->signer, "%s", tb_member_text(report, "signed_by"));
    json_decref(report);
    return 0;
}

// --- does it go on? ------------------------------------------------------------------------------------------------------------

// Is the shorter file the beginning of the longer one? Their lengths, and 1 or 0, or -errno. Read in pieces: perf's data may be
// larger than memory.
static int common(const char *here, const char *there, size_t bytes[2])
{
    static char piece[2][1 << 16];
    FILE *ours = fopen(here, "re"), *theirs = fopen(there, "re");
    struct stat about[2];
    int rc = ours && theirs && !fstat(fileno(ours), &about[0]) && !fstat(fileno(theirs), &about[1]) ? 1 : -errno;
    for (int i = 0; i < 2 && rc == 1; i++)
        bytes[i] = (size_t)about[i].st_size;
    for (size_t left = rc == 1 ? bytes[bytes[1] < bytes[0]] : 0, part; left > 0 && rc == 1; left -= part) {
        part = left < sizeof piece[0] ? left : sizeof piece[0];
        bool read = fread(piece[0], 1, part, ours) == part && fread(piece[1], 1, part, theirs) == part;
        rc = !read ? -EIO : memcmp(piece[0], piece[1], part) == 0;
    }
    if (ours)
        fclose(ours);
    if (theirs)
        fclose(theirs);
    return rc;
}

// What only home has: seals, and perf's raw data of runs that were made here.
static bool is_of_home(const char *name)
{
    return fnmatch(TB_PACKET_FOLDER "/*/" TB_PACKET_SEAL, name, 0) == 0 ||
           fnmatch(TB_PACKET_FOLDER "/*/" TB_PACKET_SIGNATURE, name, 0) == 0 || fnmatch("*.perf/*.data", name, 0) == 0;
}

static void other_ledger(struct tb_import *import, const char *here)
{
    struct tb_chain ours;
    int rc = tb_chain_load(here, &ours);
    if (rc)
        found(import, "%s: %s", here, strerror(-rc));
    else if (ours.broken_line)
        found(import, "%s:%zu: %s: nothing comes to it (see: locus verify)", here, ours.broken_line, ours.broken);
    else
        found(import,
              "%s is here, and what came does not go on from it: there is another host called %s, which has to measure "
              "under another name (--host NAME), or one of the two ledgers was written anew",
              here, import->host);
    tb_chain_close(&ours);
}

static void compare(struct tb_import *import, const FTSENT *file, const char *name)
{
    const char *here = file->fts_path;
    struct tb_import_path there = path_of(import->folder, name);
    size_t bytes[2] = {0};
    if (file->fts_info != FTS_F)
        return;
    if (access(there.text, F_OK)) {
        if (!import->packet && !is_of_home(name))
            found(import, "%s/%s is here, and %s has it no more: somebody took it away there", import->host, name, import->host);
        return;
    }
    int rc = common(here, there.text, bytes);
    if (rc < 0)
        found(import, "%s: %s", here, strerror(-rc));
    else if (!rc && strcmp(name, "ledger.jsonl") == 0)
        other_ledger(import, here);
    else if (!rc)
        found(import, "%s is here, and what came under that name does not begin with it: one of them was changed", here);
    else if (bytes[1] < bytes[0] && !import->older)
        found(import, "%s has %zu bytes, and what came has %zu: what was written is never taken back", here, bytes[0], bytes[1]);
    import->files_longer += bytes[1] > bytes[0];
}

static void count_new(struct tb_import *import, const FTSENT *file, const char *name)
{
    import->files_new += file->fts_info == FTS_F && !tb_record_below(name) && access(path_of(import->to, name).text, F_OK) != 0;
}

// A packet may be older than what is here: it is of a moment. A folder is what its host has now.
static void compare_all(struct tb_import *import)
{
    struct tb_import_path here = path_of(import->to, "ledger.jsonl"), there = path_of(import->folder, "ledger.jsonl");
    size_t bytes[2] = {0};
    char twin[256];
    struct stat about;
    import->new_host = lstat(import->to, &about) != 0;
    if (import->new_host && errno != ENOENT && errno != ENOTDIR) {
        found(import, "%s: %s", import->to, strerror(errno));
        return;
    }
    if (import->new_host && tb_host_twin(import->config->root, import->host, twin, sizeof twin))
        found(import,
              "%s is here, and %s differs from it in case alone: one of them has to measure under another name (--host NAME)", twin,
              import->host);
    if (!import->new_host && !S_ISDIR(about.st_mode)) {
        found(import, "%s is here, and is no folder", import->to);
        return;
    }
    import->older = import->packet && common(here.text, there.text, bytes) == 1 && bytes[1] < bytes[0];
    if (!import->new_host)
        for_each(import, import->to, compare);
    for_each(import, import->folder, count_new);
}

// --- bringing it home ----------------------------------------------------------------------------------------------------------

// With renames that replace nothing where the file system has them.
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL || access(to, F_OK) == 0)
        return errno == EINVAL ? -EEXIST : -errno;
    return rename(from, to) ? -errno : 0;
}

static int copy(struct tb_import *import, const char *from, const char *to)
{
    const char *const argv[] = {"cp", "-RPf", "--", from, to, NULL};
    return tb_child_tool(argv, path_of(import->below, ".words").text, import->below, import->why, sizeof import->why);
}

// By a copy under another name, since experiments/ may lie on another file system. One that is here is the same, as record_check()
// saw to.
static int record_place(struct tb_import *import, const char *name)
{
    struct tb_import_path from = path_of(import->folder, name);
    char part[300];
    struct stat about;
    snprintf(part, sizeof part, "%.250s.part", name);
    if (lstat(name, &about) == 0 || access(from.text, F_OK))
        return 0;
    if (mkdir(TB_RECORD_FOLDER, 0777) && errno != EEXIST)
        return failed(import, TB_RECORD_FOLDER, -errno);
    unlink(part); // of an import that crashed
    int rc = copy(import, from.text, part);
    if (rc)
        return unlink(part), rc;
    rc = tb_child_sync(TB_RECORD_FOLDER);
    if (!rc)
        rc = rename_new(part, name);
    if (!rc)
        rc = tb_child_sync(TB_RECORD_FOLDER);
    return rc ? unlink(part), failed(import, name, rc) : 0;
}

static int records_place(struct tb_import *import)
{
    const struct tb_chain *ledger = &import->ledger;
    int rc = 0;
    for (size_t i = 0; i < ledger->count && !rc; i++)
        if (strcmp(tb_member_text(ledger->entries[i].object, "t"), "record") == 0)
            rc = record_place(import, tb_member_text(ledger->entries[i].object, "path"));
    if (!rc)
        tb_child_remove(path_of(import->folder, TB_RECORD_FOLDER).text);
    return rc;
}

// What is at home, and over it what came: the longer files and the new ones.
static int unite(struct tb_import *import, const char *new)
{
    struct tb_import_path ledger = path_of(import->folder, "ledger.jsonl");
    if (import->older && unlink(ledger.text))
        return failed(import, ledger.text, -errno);
    int rc = copy(import, import->to, new);
    return rc ? rc : copy(import, path_of(import->folder, ".").text, new);
}

// In one step, but on file systems that cannot exchange, as NFS.
static int exchange(struct tb_import *import, const char *new)
{
    struct tb_import_path old = path_of(import->below, ".old");
    int rc = renameat2(AT_FDCWD, new, AT_FDCWD, import->to, RENAME_EXCHANGE) ? -errno : 0;
    if (rc == -EINVAL || rc == -ENOSYS) {
        rc = rename(import->to, old.text) ? -errno : 0;
        if (!rc && rename(new, import->to)) {
            rc = -errno;
            rename(old.text, import->to);
        }
    }
    return rc;
}

static int place(struct tb_import *import)
{
    struct tb_import_path new = path_of(import->below, ".new");
    int rc = import->new_host ? 0 : unite(import, new.text);
    if (rc)
        return rc;
    rc = tb_child_sync(import->below);
    if (rc)
        return failed(import, import->below, rc);
    rc = import->new_host ? rename_new(import->folder, import->to) : exchange(import, new.text);
    if (!rc)
        rc = tb_child_sync(import->config->root);
    return rc ? failed(import, import->to, rc) : 0;
}

static int checkpoint_keep(struct tb_import *import)
{
    struct tb_import_path path = path_of(import->config->checkpoints, import->host);
    char new[sizeof path.text + 8], text[256];
    struct tb_journal *journal = NULL;
    snprintf(new, sizeof new, "%s.new", path.text);
    snprintf(text, sizeof text, "%s\n", tb_member_text(import->verified, "checkpoint"));
    unlink(new);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = new, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, text, strlen(text));
    tb_journal_close(journal);
    if (!rc && rename(new, path.text))
        rc = -errno;
    if (!rc)
        rc = tb_child_sync(import->config->checkpoints);
    return !rc ? 0
               : refused(import, rc, "%s is home, but its checkpoint is not kept: %s: %s. Import it again when that is put right",
                         import->host, path.text, strerror(-rc));
}

int tb_import_file(struct tb_import *import)
{
    int rc = records_place(import);
    if (!rc && (import->new_host || import->files_new || import->files_longer))
        rc = place(import);
    if (!rc && import->config->checkpoints && !import->older)
        rc = checkpoint_keep(import);
    return rc;
}

// --- open, close ---------------------------------------------------------------------------------------------------------------

static int stage_make(struct tb_import *import)
{
    const char *temporary = getenv("TMPDIR"), *parent = import->config->root;
    if (import->config->dry_run)
        parent = temporary && *temporary ? temporary : "/tmp";
    else if (mkdir(parent, 0777) == 0)
        import->made_root = true;
    else if (errno != EEXIST)
        return failed(import, parent, -errno);
    snprintf(import->below, sizeof import->below, "%.3000s/.import-XXXXXX", parent);
    if (mkdtemp(import->below))
        return 0;
    import->below[0] = '\0';
    return failed(import, parent, -errno);
}

static int folder_take(struct tb_import *import, const char *source)
{
    const char *const argv[] = {"cp", "-RP", "--", source, import->folder, NULL}, *name = strrchr(source, '/') + 1;
    if (access(path_of(source, "ledger.jsonl").text, F_OK))
        return refused(import, -EINVAL, "%s: no host's record, which is a folder HOST/ with a ledger.jsonl", source);
    if (!tb_tar_name_valid(name) || strchr(name, '/') || strlen(name) >= sizeof import->host)
        return refused(import, -EINVAL, "%s: '%s' cannot name a host", source, name);
    memcpy(import->host, name, strlen(name) + 1);
    snprintf(import->folder, sizeof import->folder, "%s/%s", import->below, import->host);
    return tb_child_tool(argv, path_of(import->below, ".words").text, import->below, import->why, sizeof import->why);
}

static int take(struct tb_import *import, bool *packet)
{
    char source[PATH_MAX];
    struct stat about;
    if (!realpath(import->config->source, source) || stat(source, &about))
        return failed(import, import->config->source, -errno);
    *packet = S_ISREG(about.st_mode);
    if (!*packet && !S_ISDIR(about.st_mode))
        return refused(import, -EINVAL, "%s: neither a packet nor a folder", source);
    int rc = stage_make(import);
    if (!rc)
        rc = *packet ? tb_tar_unpack(source, import->below, import->host, import->why, sizeof import->why)
                     : folder_take(import, source);
    snprintf(import->folder, sizeof import->folder, "%s/%s", import->below, import->host);
    snprintf(import->to, sizeof import->to, "%.3000s/%s", import->config->root, import->host);
    return rc;
}

static int lock(struct tb_import *import)
{
    struct tb_import_path ledger = path_of(import->to, "ledger.jsonl");
    const struct tb_journal_config config = {.path = ledger.text, .lock = true};
    int rc = import->config->dry_run ? 0 : tb_journal_open(&import->lock, &config);
    if (rc == -EWOULDBLOCK)
        return refused(import, -EWOULDBLOCK, "%s: a run is writing to it: try again later", ledger.text);
    return rc && rc != -ENOENT && rc != -ENOTDIR ? failed(import, ledger.text, rc) : 0;
}

int tb_import_open(struct tb_import *out, const struct tb_import_config *config)
{
    bool packet = false;
    *out = (struct tb_import){.config = config, .findings = json_array(), .remarks = json_array()};
    int rc = out->findings && out->remarks ? take(out, &packet) : -ENOMEM;
    if (!rc && config->key && !packet)
        return refused(out, -EINVAL, "--key: %s is a folder, and only a packet is signed", config->source);
    if (!rc)
        rc = lock(out);
    if (rc || !ledger_open(out) || (packet && !packet_open(out)))
        return rc;
    for_each(out, out->folder, file_check);
    entries_check(out);
    if (json_array_size(out->findings) == 0) {
        rc = verify(out);
        compare_all(out);
    }
    if (!rc && out->failed)
        return failed(out, config->source, -ENOMEM);
    return rc;
}

void tb_import_close(struct tb_import *import)
{
    if (import->below[0])
        tb_child_remove(import->below);
    if (import->made_root)
        rmdir(import->config->root); // where nothing came home
    tb_journal_close(import->lock);
    json_decref(import->findings);
    json_decref(import->remarks);
    json_decref(import->verified);
    tb_chain_close(&import->ledger);
}
