// SPDX-License-Identifier: Apache-2.0
//
// packet_check: is a packet what its host sealed, and does it fit this repository?
//
// It is unpacked into a folder of its own, and everything is asked there: the same `locus verify` that checks our own record reads
// its ledger, logs and manifest, with the seal as checkpoint. What verify does not ask is asked here: that there is nothing in it
// but what its manifest lists, that its postulates are ours, that its records are not other texts here, and that nobody calls an
// emulated machine hardware.
#include <errno.h>
#include <fts.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/record/store.h"
#include "testbed/record/log.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/packet_tar.h"
#include "testbed/record/verify/verify.h"

struct checking {
    struct tb_packet *packet;
    json_t *findings;
    char folder[PATH_MAX + TB_TAR_FOLDER]; // where HOST/ lies now
    bool failed;                // out of memory: the answer is worth nothing
};

static void found(struct checking *checking, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void found(struct checking *checking, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checking->failed |= json_array_append_new(checking->findings, json_string(text)) != 0;
}

static void path_make(const struct checking *checking, const char *name, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/%.200s", checking->folder, name);
}

// --- seal, ledger, manifest ----------------------------------------------------------------------------------------------------

// Without these three nothing else can be asked. 0 or -EINVAL.
static int seal_open(struct checking *checking)
{
    struct tb_packet *packet = checking->packet;
    char path[PATH_MAX + 400], text[256] = "";
    path_make(checking, TB_PACKET_SEAL, path, sizeof path);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, sizeof text, file);
    bool parsed = read && tb_checkpoint_parse(text, &packet->seal) == 0 && fgetc(file) == EOF;
    if (file)
        fclose(file);
    if (!parsed)
        found(checking, "%s has no seal: one line, HOST BYTES HASH", packet->host);
    else if (strcmp(packet->seal.host, packet->host))
        found(checking, "%s has the seal of another host, %s", packet->host, packet->seal.host);
    else
        return 0;
    return -EINVAL;
}

static int ledger_open(struct checking *checking)
{
    struct tb_packet *packet = checking->packet;
    char path[PATH_MAX + 400];
    path_make(checking, "ledger.jsonl", path, sizeof path);
    int rc = tb_chain_load(path, &packet->ledger);
    const struct tb_chain *ledger = &packet->ledger;
    if (rc)
        found(checking, "%s/ledger.jsonl: %s", packet->host, strerror(-rc));
    else if (ledger->broken_line || !ledger->count)
        found(checking, "%s/ledger.jsonl:%zu: %s", packet->host, ledger->broken_line, ledger->count ? ledger->broken : "empty");
    else if (packet->seal.bytes != ledger->bytes ||
             memcmp(&packet->seal.head, &ledger->entries[ledger->count - 1].head, sizeof packet->seal.head))
        found(checking, "%s/ledger.jsonl:%zu: it is not the ledger that was sealed: %zu bytes, and the seal is of %zu",
              packet->host, ledger->count, ledger->bytes, packet->seal.bytes);
    else if (strcmp(tb_member_text(ledger->entries[ledger->count - 1].object, "t"), "packet"))
        found(checking, "%s/ledger.jsonl:%zu: its last line is no packet's", packet->host, ledger->count);
    else
        return 0;
    return -EINVAL;
}

static int manifest_open(struct checking *checking)
{
    struct tb_packet *packet = checking->packet;
    const json_t *line = packet->ledger.entries[packet->ledger.count - 1].object;
    const char *name = tb_member_text(line, "manifest");
    char path[PATH_MAX + 400], sha256[TB_HASH_TEXT], why[300];
    if (!tb_tar_name_valid(name)) {
        found(checking, "%s/ledger.jsonl:%zu: no name of a manifest", packet->host, packet->ledger.count);
        return -EINVAL;
    }
    path_make(checking, name, path, sizeof path);
    int rc = tb_hash_file(path, sha256);
    if (rc)
        found(checking, "%s/%s: %s", packet->host, name, strerror(-rc));
    else if (strcmp(sha256, tb_member_text(line, "sha256")))
        found(checking, "%s/%s: changed after it was sealed: its sha256 is %.12s, and the ledger has %.12s", packet->host, name,
              sha256, tb_member_text(line, "sha256"));
    else if (tb_packet_manifest_load(path, &packet->manifest, why, sizeof why))
        found(checking, "%s/%s: %s", packet->host, name, why);
    else if (strcmp(tb_member_text(packet->manifest, "host"), packet->host) ||
             strcmp(tb_member_text(packet->manifest, "packet"), tb_member_text(line, "packet")))
        found(checking, "%s/%s: the manifest of another packet", packet->host, name);
    else
        return snprintf(packet->id, sizeof packet->id, "%s", tb_member_text(line, "packet")), 0;
    return -EINVAL;
}

// --- what is in it -------------------------------------------------------------------------------------------------------------

static void listed_check(struct checking *checking)
{
    const char *host = checking->packet->host;
    char path[PATH_MAX + 400], sha256[TB_HASH_TEXT];
    size_t i;
    json_t *file;
    json_array_foreach (json_object_get(checking->packet->manifest, "files"), i, file) {
        const char *name = tb_member_text(file, "name");
        path_make(checking, name, path, sizeof path);
        int rc = tb_hash_file(path, sha256);
        if (rc == -ENOENT || rc == -ENOTDIR)
            found(checking, "%s/%s: its manifest lists it, and it is missing", host, name);
        else if (rc)
            found(checking, "%s/%s: %s", host, name, strerror(-rc));
        else if (strcmp(sha256, tb_member_text(file, "sha256")))
            found(checking, "%s/%s: changed after it was sealed: its sha256 is %.12s, and the manifest has %.12s", host, name,
                  sha256, tb_member_text(file, "sha256"));
        else if (strstr(name, ".json") && !strstr(name, ".jsonl")) {
            json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
            if (!json_is_object(object))
                found(checking, "%s/%s: it is no JSON object", host, name);
            json_decref(object);
        }
    }
}

static bool is_expected(const struct checking *checking, const char *name)
{
    const struct tb_packet *packet = checking->packet;
    const json_t *line = packet->ledger.entries[packet->ledger.count - 1].object;
    return strcmp(name, TB_PACKET_SEAL) == 0 || strcmp(name, TB_PACKET_SIGNATURE) == 0 || strcmp(name, "ledger.jsonl") == 0 ||
           strcmp(name, tb_member_text(line, "manifest")) == 0 || tb_packet_manifest_find(packet->manifest, name);
}

static int by_name(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

static void extras_check(struct checking *checking)
{
    char *const roots[] = {checking->folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    checking->failed |= !walk;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        const char *name = entry->fts_path + strlen(checking->folder);
        if (entry->fts_info == FTS_F && !is_expected(checking, name + 1))
            found(checking, "%s%s: it is in no list, so it does not belong here", checking->packet->host, name);
    }
    if (walk)
        fts_close(walk);
}

// --- is it of this repository? -------------------------------------------------------------------------------------------------

static void postulate_check(struct checking *checking, size_t line, const char *id, const char *sha256, const char *path)
{
    const char *host = checking->packet->host;
    char own[PATH_MAX], own_sha256[TB_HASH_TEXT], clean[8];
    if (tb_postulate_id(id, clean) || strcmp(clean, id) || tb_postulate_find("postulates", id, own, sizeof own))
        found(checking, "%s/ledger.jsonl:%zu: postulate %.8s is not in postulates/ here: check it in a clone that has it", host,
              line, id);
    else if (*path && strcmp(path, own))
        found(checking, "%s/ledger.jsonl:%zu: postulate %s is %s here, not %.100s", host, line, id, own, path);
    else if (tb_hash_file(own, own_sha256) || strcmp(own_sha256, sha256))
        found(checking, "%s/ledger.jsonl:%zu: postulate %s is another one than %s here: its sha256 is %.12s, and here %.12s", host,
              line, id, own, sha256, own_sha256);
}

static void emulation_check(struct checking *checking, const char *name)
{
    char path[PATH_MAX + 400], why[300];
    struct tb_log_view view;
    bool said = strcmp(tb_member_text(checking->packet->manifest, "kind"), "emulated") == 0;
    path_make(checking, name, path, sizeof path);
    if (tb_log_load(path, &view, why, sizeof why))
        return; // empty, or verify says what is the matter
    bool emulated = tb_log_emulated(&view) || strstr(tb_member_text(view.header, "env.cpu.model"), "QEMU TCG");
    if (emulated != said)
        found(checking, "%s/%s: made %s emulated machine, and the manifest says '%s'", checking->packet->host, name,
              emulated ? "in an" : "in no", tb_member_text(checking->packet->manifest, "kind"));
    tb_log_view_close(&view);
}

static void run_check(struct checking *checking, size_t line, const json_t *open)
{
    const struct tb_packet *packet = checking->packet;
    const char *log = tb_member_text(open, "log"), *kind = tb_member_text(open, "kind");
    bool official = strcmp(tb_member_text(packet->manifest, "runs"), "official") == 0;
    if (!tb_packet_manifest_find(packet->manifest, log))
        found(checking, "%s/ledger.jsonl:%zu: the log of this run is not in the packet", packet->host, line);
    else
        emulation_check(checking, log);
    if (official && strcmp(kind, "official"))
        found(checking, "%s/ledger.jsonl:%zu: a run of kind '%.20s' among official ones", packet->host, line, kind);
    postulate_check(checking, line, tb_member_text(open, "postulate_id"), tb_member_text(open, "postulate_sha256"), "");
}

// A run of this host, or of another one that is on record here: otherwise the record would be of a run that nobody knows.
static bool run_known(const struct checking *checking, const char *run)
{
    const struct tb_chain *ledger = &checking->packet->ledger;
    struct tb_store here = {0};
    bool known = false;
    for (size_t i = 0; i < ledger->count; i++)
        known |= strcmp(tb_member_text(ledger->entries[i].object, "t"), "open") == 0 &&
                 strcmp(tb_member_text(ledger->entries[i].object, "run"), run) == 0;
    if (known)
        return true;
    known = tb_store_add_ledgers(&here, "logs") == 0 && tb_store_last(&here, "open", "run", run, NULL) != NULL;
    tb_store_close(&here);
    return known;
}

static void record_check(struct checking *checking, size_t line, const json_t *entry)
{
    const char *path = tb_member_text(entry, "path"), *sha256 = tb_member_text(entry, "sha256"), *host = checking->packet->host;
    const json_t *carried = tb_packet_manifest_find(checking->packet->manifest, path);
    char here[TB_HASH_TEXT];
    int rc = tb_hash_file(path, here);
    if (!tb_record_below(path) || !tb_record_named(path + sizeof TB_RECORD_FOLDER) || !tb_tar_name_valid(path))
        found(checking, "%s/ledger.jsonl:%zu: no name of a record: %.100s", host, line, path);
    else if (carried && strcmp(tb_member_text(carried, "sha256"), sha256))
        found(checking, "%s/%s: not the record that was filed: its sha256 is %.12s, and ledger.jsonl:%zu has %.12s", host, path,
              tb_member_text(carried, "sha256"), line, sha256);
    else if (rc && rc != -ENOENT)
        found(checking, "%s: %s", path, strerror(-rc));
    else if (!rc && strcmp(here, sha256))
        found(checking,
              "%s is here with another text than at %s/ledger.jsonl:%zu, and no record may change: keep this packet in a "
              "clone of its own",
              path, host, line);
    else if (rc && !carried)
        found(checking,
              "%s/ledger.jsonl:%zu: %s is not here, and the packet does not bring it: its host makes another one with a "
              "newer program (locus packet --no-run)",
              host, line, path);
    else if (!run_known(checking, tb_member_text(entry, "run")))
        found(checking,
              "%s/ledger.jsonl:%zu: %s is of run %.60s, and that is not on record here: file the packet of its host first", host,
              line, path, tb_member_text(entry, "run"));
}

static void unfiled_check(struct checking *checking)
{
    const struct tb_chain *ledger = &checking->packet->ledger;
    size_t i;
    json_t *file;
    json_array_foreach (json_object_get(checking->packet->manifest, "files"), i, file) {
        const char *name = tb_member_text(file, "name");
        bool filed = !tb_record_below(name);
        for (size_t line = 0; line < ledger->count && !filed; line++)
            filed = strcmp(tb_member_text(ledger->entries[line].object, "t"), "record") == 0 &&
                    strcmp(tb_member_text(ledger->entries[line].object, "path"), name) == 0;
        if (!filed)
            found(checking, "%s/%s: it is no record of the ledger, so it does not belong here", checking->packet->host, name);
    }
}

static void entries_check(struct checking *checking)
{
    const struct tb_chain *ledger = &checking->packet->ledger;
    for (size_t i = 0; i < ledger->count; i++) {
        const json_t *entry = ledger->entries[i].object;
        const char *type = tb_member_text(entry, "t");
        if (strcmp(type, "open") == 0)
            run_check(checking, i + 1, entry);
        else if (strcmp(type, "postulate") == 0 && tb_ledger_binds(ledger, i + 1))
            postulate_check(checking, i + 1, tb_member_text(entry, "id"), tb_member_text(entry, "sha256"),
                            tb_member_text(entry, "path"));
        else if (strcmp(type, "record") == 0)
            record_check(checking, i + 1, entry);
    }
    unfiled_check(checking);
}

// --- the record's own witnesses ------------------------------------------------------------------------------------------------

// Its words are about files in a folder that nobody knows: that is taken off.
static void said(struct checking *checking, const json_t *list, json_t *out)
{
    size_t i, below = strlen(checking->packet->below) + 1;
    json_t *finding;
    json_array_foreach (list, i, finding) {
        const char *file = tb_member_text(finding, "file"), *what = tb_member_text(finding, "what");
        char text[1024];
        size_t used = 0;
        bool inside = strncmp(file, checking->packet->below, below - 1) == 0;
        for (const char *c = what; *c && used + 1 < sizeof text; c++) {
            if (strncmp(c, checking->packet->below, below - 1) == 0)
                c += below;
            text[used++] = *c;
        }
        text[used] = '\0';
        json_t *line =
            json_sprintf("%s:%lld: %s", inside ? file + below : file, (long long)tb_member_number(finding, "line"), text);
        checking->failed |= json_array_append_new(out, line) != 0;
    }
}

static void verified(struct checking *checking, const json_t *report)
{
    said(checking, json_object_get(report, "findings"), checking->findings);
    said(checking, json_object_get(report, "remarks"), checking->packet->remarks);
    const char *signer = json_string_value(json_object_get(report, "signed_by"));
    snprintf(checking->packet->signer, sizeof checking->packet->signer, "%s", signer ? signer : "");
}

static int verify(struct checking *checking, const char *key, char *why, size_t why_bytes)
{
    char seal[PATH_MAX + 400];
    json_t *report = NULL;
    path_make(checking, TB_PACKET_SEAL, seal, sizeof seal);
    const struct tb_verify_config config = {.root = checking->packet->below,
                                            .host = checking->packet->host,
                                            .checkpoint = seal,
                                            .records = checking->folder,
                                            .key = key};
    int rc = tb_verify(&config, &report, why, why_bytes);
    if (!rc)
        verified(checking, report);
    json_decref(report);
    return rc;
}

int tb_packet_check(const char *path, const char *parent, const char *key, struct tb_packet *out, json_t *findings, char *why,
                    size_t why_bytes)
{
    struct checking checking = {.packet = out, .findings = findings};
    *out = (struct tb_packet){.remarks = json_array()};
    snprintf(out->below, sizeof out->below, "%.4000s/.packet-XXXXXX", parent);
    if (!mkdtemp(out->below)) {
        snprintf(why, why_bytes, "%s: cannot unpack here: %s", parent, strerror(errno));
        out->below[0] = '\0';
        return -errno;
    }
    int rc = tb_tar_unpack(path, out->below, out->host, why, why_bytes);
    snprintf(checking.folder, sizeof checking.folder, "%s/%s", out->below, out->host);
    if (rc || seal_open(&checking) || ledger_open(&checking) || manifest_open(&checking))
        return rc;
    listed_check(&checking);
    extras_check(&checking);
    entries_check(&checking);
    if (json_array_size(findings) == 0 || key)
        rc = verify(&checking, key, why, why_bytes);
    if (!rc && checking.failed) {
        snprintf(why, why_bytes, "out of memory");
        rc = -ENOMEM;
    }
    return rc;
}

void tb_packet_close(struct tb_packet *packet)
{
    if (packet->below[0])
        tb_child_remove(packet->below);
    json_decref(packet->manifest);
    json_decref(packet->remarks);
    tb_chain_close(&packet->ledger);
    *packet = (struct tb_packet){.host = ""};
}
