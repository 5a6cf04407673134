// SPDX-License-Identifier: Apache-2.0
//
// import: is what came as its host wrote it, and does it fit this repository?
//
// It lies in a folder of its own, and everything is asked there: the same `locus verify` that checks our own record reads its
// ledger, logs and packets. What verify does not ask is asked here: that a packet has its seal and nothing that the ledger does
// not know, that its postulates are ours, that its records are not other texts here, and that nobody calls an emulated machine
// hardware. A packet comes from a stranger: nothing in it is believed before it was asked.
#include "testbed/record/import/import.h"

#include <errno.h>
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

#define PATH_ROOM (PATH_MAX + 400)

void tb_import_found(struct tb_import *import, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    import->failed |= json_array_append_new(import->findings, json_string(text)) != 0;
}

static void path_make(const struct tb_import *import, const char *name, char out[PATH_ROOM])
{
    snprintf(out, PATH_ROOM, "%s/%.300s", import->folder, name);
}

static const char *id_of(const struct tb_import *import)
{
    return tb_member_text(import->packet, "packet");
}

// --- ledger and seal -----------------------------------------------------------------------------------------------------------

// Without these nothing else can be asked. false: a finding says why.
static bool ledger_open(struct tb_import *import)
{
    char path[PATH_ROOM];
    struct tb_chain *ledger = &import->ledger;
    path_make(import, "ledger.jsonl", path);
    int rc = tb_chain_load(path, ledger);
    if (rc)
        tb_import_found(import, "%s/ledger.jsonl: %s", import->host, strerror(-rc));
    else if (ledger->broken_line || !ledger->count)
        tb_import_found(import, "%s/ledger.jsonl:%zu: %s", import->host, ledger->broken_line,
                        ledger->count ? ledger->broken : "empty");
    else
        return true;
    return false;
}

static bool seal_read(struct tb_import *import, struct tb_checkpoint *seal)
{
    char path[PATH_ROOM], text[256] = "";
    path_make(import, TB_PACKET_SEAL, path);
    FILE *file = fopen(path, "re");
    bool parsed = file && fgets(text, sizeof text, file) && tb_checkpoint_parse(text, seal) == 0 && fgetc(file) == EOF;
    if (file)
        fclose(file);
    if (!parsed)
        tb_import_found(import, "%s has no seal: one line, HOST BYTES HASH", import->host);
    return parsed;
}

// Seal and signature go to packet/ID/, where a later packet's do not meet them.
static bool seal_place(struct tb_import *import)
{
    static const char *const names[] = {TB_PACKET_SEAL, TB_PACKET_SIGNATURE};
    char from[PATH_ROOM], to[PATH_ROOM];
    snprintf(to, sizeof to, "%s/" TB_PACKET_FOLDER, import->folder);
    mkdir(to, 0777);
    snprintf(to, sizeof to, "%s/" TB_PACKET_FOLDER "/%s", import->folder, id_of(import));
    mkdir(to, 0777);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_make(import, names[i], from);
        snprintf(to, sizeof to, "%s/" TB_PACKET_FOLDER "/%s/%s", import->folder, id_of(import), names[i]);
        if (access(from, F_OK) == 0 && rename(from, to)) {
            tb_import_found(import, "%s: %s", to, strerror(errno));
            return false;
        }
    }
    return true;
}

static bool packet_open(struct tb_import *import)
{
    const struct tb_chain *ledger = &import->ledger;
    const struct tb_chain_entry *last = &ledger->entries[ledger->count - 1];
    struct tb_checkpoint seal;
    char why[300];
    if (!seal_read(import, &seal))
        return false;
    if (strcmp(seal.host, import->host))
        tb_import_found(import, "%s has the seal of another host, %s", import->host, seal.host);
    else if (seal.bytes != ledger->bytes || memcmp(&seal.head, &last->head, sizeof seal.head))
        tb_import_found(import, "%s/ledger.jsonl:%zu: it is not the ledger that was sealed: %zu bytes, and the seal is of %zu",
                        import->host, ledger->count, ledger->bytes, seal.bytes);
    else if (strcmp(tb_member_text(last->object, "t"), "packet"))
        tb_import_found(import, "%s/ledger.jsonl:%zu: its last line is no packet's", import->host, ledger->count);
    else if (tb_packet_line_check(last->object, why, sizeof why))
        tb_import_found(import, "%s/ledger.jsonl:%zu: %s", import->host, ledger->count, why);
    else {
        import->packet = last->object;
        return seal_place(import);
    }
    return false;
}

// --- what is in it -------------------------------------------------------------------------------------------------------------

static bool packet_knows(const json_t *line, const char *name)
{
    char seal[2][TB_TAR_NAME];
    const char *id = tb_member_text(line, "packet");
    snprintf(seal[0], sizeof seal[0], TB_PACKET_FOLDER "/%s/" TB_PACKET_SEAL, id);
    snprintf(seal[1], sizeof seal[1], TB_PACKET_FOLDER "/%s/" TB_PACKET_SIGNATURE, id);
    return strcmp(name, seal[0]) == 0 || strcmp(name, seal[1]) == 0 || json_object_get(json_object_get(line, "files"), name);
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

static void file_check(struct tb_import *import, const FTSENT *entry)
{
    const char *name = entry->fts_path + strlen(import->folder) + 1;
    bool part = strncmp(name, TB_PACKET_FOLDER "/", sizeof TB_PACKET_FOLDER) == 0;
    if (entry->fts_info != FTS_F)
        tb_import_found(import, "%s/%s: neither a file nor a folder: nobody but `locus run` writes there", import->host, name);
    else if ((import->packet || tb_record_below(name)) && !is_known(import, name))
        tb_import_found(import, "%s/%s: its ledger does not know it, so it does not belong here", import->host, name);
    else if (part && strcmp(name + strlen(name) - 5, ".json") == 0) {
        json_t *object = json_load_file(entry->fts_path, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(object))
            tb_import_found(import, "%s/%s: it is no JSON object", import->host, name);
        json_decref(object);
    }
}

static void files_check(struct tb_import *import)
{
    FTS *walk = tb_file_walk(import->folder);
    import->failed |= !walk;
    for (FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
            file_check(import, entry);
    if (walk)
        fts_close(walk);
}

// --- is it of this repository? -------------------------------------------------------------------------------------------------

static void postulate_check(struct tb_import *import, size_t line, const char *id, const char *sha256, const char *path)
{
    const char *host = import->host;
    char own[PATH_MAX], own_sha256[TB_HASH_TEXT], clean[8];
    if (tb_postulate_id(id, clean) || strcmp(clean, id) || tb_postulate_find("postulates", id, own, sizeof own))
        tb_import_found(import, "%s/ledger.jsonl:%zu: postulate %.8s is not in postulates/ here: import it in a clone that has it",
                        host, line, id);
    else if (*path && strcmp(path, own))
        tb_import_found(import, "%s/ledger.jsonl:%zu: postulate %s is %s here, not %.100s", host, line, id, own, path);
    else if (tb_hash_file(own, own_sha256) || strcmp(own_sha256, sha256))
        tb_import_found(import,
                        "%s/ledger.jsonl:%zu: postulate %s is another one than %s here: its sha256 is %.12s, and here %.12s", host,
                        line, id, own, sha256, own_sha256);
}

static void emulation_check(struct tb_import *import, const char *name)
{
    char path[PATH_ROOM], why[300];
    struct tb_log_view view;
    const char *kind = tb_member_text(import->packet, "kind");
    path_make(import, name, path);
    if (tb_log_load(path, &view, why, sizeof why))
        return; // empty, or verify says what is the matter
    bool emulated = tb_log_emulated(&view) || strstr(tb_member_text(view.header, "env.cpu.model"), "QEMU TCG");
    if (emulated != (strcmp(kind, "emulated") == 0))
        tb_import_found(import, "%s/%s: made %s emulated machine, and the packet says '%s'", import->host, name,
                        emulated ? "in an" : "in no", kind);
    tb_log_view_close(&view);
}

static void run_check(struct tb_import *import, size_t line, const json_t *open)
{
    const char *log = tb_member_text(open, "log");
    if (!tb_tar_name_valid(log))
        tb_import_found(import, "%s/ledger.jsonl:%zu: no name of a log: %.100s", import->host, line, log);
    else if (import->packet)
        emulation_check(import, log);
    postulate_check(import, line, tb_member_text(open, "postulate_id"), tb_member_text(open, "postulate_sha256"), "");
}

// A run of this host, or of another one that is on record here: otherwise the record would be of a run that nobody knows.
static bool run_known(const struct tb_import *import, const char *run)
{
    if (tb_ledger_last(&import->ledger, SIZE_MAX, "open", "run", run))
        return true;
    struct tb_store here = {0};
    bool known = tb_store_add_ledgers(&here, "logs") == 0 && tb_store_last(&here, "open", "run", run, NULL);
    tb_store_close(&here);
    return known;
}

static void record_check(struct tb_import *import, size_t line, const json_t *entry)
{
    const char *path = tb_member_text(entry, "path"), *sha256 = tb_member_text(entry, "sha256"), *host = import->host;
    char carried[PATH_ROOM], theirs[TB_HASH_TEXT], here[TB_HASH_TEXT];
    if (!tb_record_below(path) || !tb_record_named(path + sizeof TB_RECORD_FOLDER) || !tb_tar_name_valid(path)) {
        tb_import_found(import, "%s/ledger.jsonl:%zu: no name of a record: %.100s", host, line, path);
        return;
    }
    path_make(import, path, carried);
    bool comes = tb_hash_file(carried, theirs) == 0;
    int rc = tb_hash_file(path, here);
    if (comes && strcmp(theirs, sha256))
        tb_import_found(import, "%s/%s: not the record that was filed: its sha256 is %.12s, and ledger.jsonl:%zu has %.12s", host,
                        path, theirs, line, sha256);
    else if (rc && rc != -ENOENT)
        tb_import_found(import, "%s: %s", path, strerror(-rc));
    else if (!rc && strcmp(here, sha256))
        tb_import_found(import,
                        "%s is here with another text than at %s/ledger.jsonl:%zu, and no record may change: keep what came in a "
                        "clone of its own",
                        path, host, line);
    else if (rc && !comes)
        tb_import_found(import, "%s/ledger.jsonl:%zu: %s is not here, and did not come along: let it, as %s/%s", host, line, path,
                        host, path);
    else if (!run_known(import, tb_member_text(entry, "run")))
        tb_import_found(import,
                        "%s/ledger.jsonl:%zu: %s is of run %.60s, and that is not on record here: import that run's host first",
                        host, line, path, tb_member_text(entry, "run"));
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
static void said(struct tb_import *import, const json_t *list, json_t *out)
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
static int verify(struct tb_import *import, char *why, size_t why_bytes)
{
    const struct tb_import_config *config = import->config;
    char seal[PATH_ROOM], kept[PATH_MAX];
    json_t *report = NULL;
    snprintf(seal, sizeof seal, "%s/" TB_PACKET_FOLDER "/%s/" TB_PACKET_SEAL, import->folder, id_of(import));
    snprintf(kept, sizeof kept, "%.3000s/%s", config->checkpoints ? config->checkpoints : "", import->host);
    bool known = config->checkpoints && access(kept, F_OK) == 0;
    const struct tb_verify_config asked = {.root = import->below,
                                           .host = import->host,
                                           .checkpoint = config->key ? seal
                                                         : known     ? kept
                                                                     : NULL,
                                           .records = import->folder,
                                           .key = config->key};
    int rc = tb_verify(&asked, &report, why, why_bytes);
    if (rc)
        return rc;
    said(import, json_object_get(report, "findings"), import->findings);
    said(import, json_object_get(report, "remarks"), import->remarks);
    import->verified = json_incref(json_array_get(json_object_get(report, "hosts"), 0));
    snprintf(import->signer, sizeof import->signer, "%s", tb_member_text(report, "signed_by"));
    json_decref(report);
    return 0;
}

// --- open, close ---------------------------------------------------------------------------------------------------------------

static int stage_make(struct tb_import *import, char *why, size_t why_bytes)
{
    const char *temporary = getenv("TMPDIR"), *parent = import->config->root;
    if (import->config->dry_run)
        parent = temporary && *temporary ? temporary : "/tmp";
    else if (mkdir(parent, 0777) == 0)
        import->made_root = true;
    else if (errno != EEXIST)
        return snprintf(why, why_bytes, "%s: %s", parent, strerror(errno)), -errno;
    snprintf(import->below, sizeof import->below, "%.3000s/.import-XXXXXX", parent);
    if (mkdtemp(import->below))
        return 0;
    int rc = -errno;
    snprintf(why, why_bytes, "%s: cannot unpack here: %s", parent, strerror(-rc));
    import->below[0] = '\0';
    return rc;
}

static int folder_take(struct tb_import *import, const char *source, char *why, size_t why_bytes)
{
    char words[PATH_MAX], ledger[PATH_MAX + 16];
    const char *const argv[] = {"cp", "-RP", "--", source, import->folder, NULL}, *name = strrchr(source, '/') + 1;
    snprintf(ledger, sizeof ledger, "%s/ledger.jsonl", source);
    if (access(ledger, F_OK))
        return snprintf(why, why_bytes, "%s: no host's record, which is a folder HOST/ with a ledger.jsonl", source), -EINVAL;
    if (!tb_tar_name_valid(name) || strchr(name, '/') || strlen(name) >= sizeof import->host)
        return snprintf(why, why_bytes, "%s: '%s' cannot name a host", source, name), -EINVAL;
    memcpy(import->host, name, strlen(name) + 1);
    snprintf(import->folder, sizeof import->folder, "%s/%s", import->below, import->host);
    snprintf(words, sizeof words, "%.4000s/.words", import->below);
    return tb_child_tool(argv, words, import->below, why, why_bytes);
}

static int take(struct tb_import *import, bool *packet, char *why, size_t why_bytes)
{
    char source[PATH_MAX];
    struct stat about;
    if (!realpath(import->config->source, source) || stat(source, &about))
        return snprintf(why, why_bytes, "%s: %s", import->config->source, strerror(errno)), -errno;
    *packet = S_ISREG(about.st_mode);
    if (!*packet && !S_ISDIR(about.st_mode))
        return snprintf(why, why_bytes, "%s: neither a packet nor a folder", source), -EINVAL;
    int rc = stage_make(import, why, why_bytes);
    if (!rc)
        rc = *packet ? tb_tar_unpack(source, import->below, import->host, why, why_bytes)
                     : folder_take(import, source, why, why_bytes);
    snprintf(import->folder, sizeof import->folder, "%s/%s", import->below, import->host);
    snprintf(import->to, sizeof import->to, "%.3000s/%s", import->config->root, import->host);
    return rc;
}

static int lock(struct tb_import *import, char *why, size_t why_bytes)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/ledger.jsonl", import->to);
    int rc = import->config->dry_run ? 0 : tb_journal_open(&import->lock, &(struct tb_journal_config){.path = path, .lock = true});
    if (rc && rc != -ENOENT && rc != -ENOTDIR)
        return snprintf(why, why_bytes, "%s: %s", path,
                        rc == -EWOULDBLOCK ? "a run is writing to it: try again later" : strerror(-rc)),
               rc;
    return 0;
}

int tb_import_open(struct tb_import *out, const struct tb_import_config *config, char *why, size_t why_bytes)
{
    bool packet = false;
    *out = (struct tb_import){.config = config, .findings = json_array(), .remarks = json_array()};
    int rc = out->findings && out->remarks ? take(out, &packet, why, why_bytes) : -ENOMEM;
    if (!rc && config->key && !packet)
        return snprintf(why, why_bytes, "--key: %s is a folder, and only a packet is signed", config->source), -EINVAL;
    if (!rc)
        rc = lock(out, why, why_bytes);
    if (rc || !ledger_open(out) || (packet && !packet_open(out)))
        return rc;
    files_check(out);
    entries_check(out);
    if (json_array_size(out->findings) == 0) {
        rc = verify(out, why, why_bytes);
        tb_import_compare(out);
    }
    if (!rc && out->failed)
        return snprintf(why, why_bytes, "out of memory"), -ENOMEM;
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
