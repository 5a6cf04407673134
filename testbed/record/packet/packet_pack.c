// SPDX-License-Identifier: Apache-2.0
//
// packet_pack: from a host's record to the archive. The order is that of the seal: the files, then the manifest that has their
// hashes, then the ledger's line that has the manifest's, then the checkpoint. The ledger stays locked until the archive has its
// name, so nobody appends between. A crash leaves files that no ledger knows, or a packet that was sealed and not archived: both
// are harmless, and the next call makes another one.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "placement/base/version.h"
#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/host/environment.h"
#include "testbed/record/journal.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/packet_tar.h"
#include "testbed/record/verify/verify.h"

struct packing {
    struct tb_packet_making *making;
    struct tb_ledger *ledger;
    json_t *manifest;
    char id[TB_PACKET_ID], time[24];
    char host[PATH_MAX];        // root/HOST
    char folder[TB_TAR_NAME];   // packet/ID, below it
    char scratch[PATH_MAX];     // with the seal; "" until it is there
    char *why;
    size_t why_bytes;
};

static int failed(struct packing *packing, const char *what, int rc)
{
    snprintf(packing->why, packing->why_bytes, "%s: %s%s", what, strerror(-rc),
             rc == -ENOSPC || rc == -EDQUOT
                 ? ". Make room, or name another place with -o. The record has everything: `locus packet --no-run` packs it"
                 : "");
    return rc;
}

static int names_make(struct packing *packing)
{
    unsigned char random[3];
    char stamp[24];
    time_t now = time(NULL);
    struct tm utc;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random || !gmtime_r(&now, &utc))
        return failed(packing, "the packet's name", -EIO);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    strftime(packing->time, sizeof packing->time, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(packing->id, sizeof packing->id, "%s-%02x%02x%02x", stamp, random[0], random[1], random[2]);
    snprintf(packing->folder, sizeof packing->folder, TB_PACKET_FOLDER "/%s", packing->id);
    int length = snprintf(packing->host, sizeof packing->host, "%s/%s", packing->making->root, packing->making->host);
    return length < PATH_MAX - 256 ? 0 : failed(packing, packing->making->root, -ENAMETOOLONG);
}

// A record that is damaged here would be refused there.
static int record_check(struct packing *packing)
{
    const struct tb_verify_config config = {.root = packing->making->root, .host = packing->making->host};
    json_t *report = NULL;
    int rc = tb_verify(&config, &report, packing->why, packing->why_bytes);
    const json_t *first = rc ? NULL : json_array_get(json_object_get(report, "findings"), 0);
    if (first) {
        snprintf(packing->why, packing->why_bytes,
                 "%s: the record is not whole, so it was not packed: %s (see: locus verify --root %s --host %s)",
                 tb_member_text(first, "file"), tb_member_text(first, "what"), packing->making->root, packing->making->host);
        rc = -EUCLEAN;
    }
    json_decref(report);
    return rc;
}

// A file below root/HOST, durable.
static int file_write(struct packing *packing, const char *name, const char *text, size_t bytes)
{
    char path[PATH_MAX + 256];
    struct tb_journal *journal = NULL;
    snprintf(path, sizeof path, "%s/%s/%s", packing->host, packing->folder, name);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, text, bytes);
    tb_journal_close(journal);
    return rc ? failed(packing, path, rc) : 0;
}

// Records lie where ledgers name them, everything else below the host's folder.
static const char *folder_of(const struct packing *packing, const char *name)
{
    return tb_record_below(name) ? "." : packing->host;
}

static int list(struct packing *packing, const char *name)
{
    char path[PATH_MAX + 256];
    int rc = tb_packet_manifest_add(packing->manifest, folder_of(packing, name), name);
    snprintf(path, sizeof path, "%s/%.200s", folder_of(packing, name), name);
    return rc ? failed(packing, path, rc) : 0;
}

// An earlier packet's files are known by its manifest; that it is as it was sealed has been verified.
static int earlier_list(struct packing *packing, const char *name)
{
    char path[PATH_MAX + 256], why[200];
    json_t *manifest = NULL, *file;
    size_t i;
    snprintf(path, sizeof path, "%s/%.200s", packing->host, name);
    int rc = tb_packet_manifest_load(path, &manifest, why, sizeof why);
    if (rc) {
        snprintf(packing->why, packing->why_bytes, "%s: %s", path, why);
        return rc;
    }
    rc = list(packing, name);
    json_array_foreach (json_object_get(manifest, "files"), i, file)
        if (!rc)
            rc = list(packing, tb_member_text(file, "name"));
    json_decref(manifest);
    return rc;
}

static int files_list(struct packing *packing)
{
    const struct tb_chain *chain = tb_ledger_chain(packing->ledger);
    char name[TB_TAR_NAME];
    int rc = 0;
    for (size_t i = 0; i < packing->making->parts_count && !rc; i++) {
        const struct tb_packet_part *part = &packing->making->parts[i];
        snprintf(name, sizeof name, "%.60s/%.30s", packing->folder, part->name);
        rc = file_write(packing, part->name, part->text, strlen(part->text));
        if (!rc)
            rc = list(packing, name);
    }
    for (size_t i = 0; i < chain->count && !rc; i++) {
        const json_t *entry = chain->entries[i].object;
        const char *type = tb_member_text(entry, "t");
        if (strcmp(type, "open") == 0)
            rc = list(packing, tb_member_text(entry, "log"));
        else if (strcmp(type, "record") == 0)
            rc = list(packing, tb_member_text(entry, "path"));
        else if (strcmp(type, "packet") == 0)
            rc = earlier_list(packing, tb_member_text(entry, "manifest"));
    }
    return rc;
}

static int manifest_begin(struct packing *packing)
{
    json_t *environment = tb_environment("");
    const json_t *build = json_object_get(environment, "build");
    packing->manifest = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:[]}", "format", TB_PACKET_FORMAT,
                                  "packet", packing->id, "time", packing->time, "host", packing->making->host, "kind",
                                  packing->making->kind, "runs", packing->making->official ? "official" : "smoke", "program",
                                  "version", LOCUS_VERSION, "commit", tb_member_text(build, "commit"), "dirty",
                                  tb_member_text(build, "dirty"), "binary_sha256", tb_member_text(build, "binary_sha256"), "files");
    json_decref(environment);
    return packing->manifest ? 0 : failed(packing, "the manifest", -ENOMEM);
}

// From here on the record knows of the packet.
static int seal(struct packing *packing)
{
    char sha256[TB_HASH_TEXT], name[TB_TAR_NAME], *text = json_dumps(packing->manifest, JSON_INDENT(1));
    size_t bytes = text ? strlen(text) : 0;
    snprintf(name, sizeof name, "%.60s/%s", packing->folder, TB_PACKET_MANIFEST);
    int rc = text ? tb_hash_memory(text, bytes, sha256) : -ENOMEM;
    rc = rc ? failed(packing, "the manifest", rc) : file_write(packing, TB_PACKET_MANIFEST, text, bytes);
    free(text);
    if (rc)
        return rc;
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s}", "t", "packet", "packet", packing->id, "manifest", name, "sha256", sha256);
    rc = entry ? tb_ledger_append(packing->ledger, entry) : -ENOMEM;
    json_decref(entry);
    return rc ? failed(packing, packing->host, rc) : 0;
}

static int sign(struct packing *packing, const char *path)
{
    const char *const argv[] = {"ssh-keygen", "-Y", "sign", "-n", "locus-checkpoint", "-f", packing->making->sign, path, NULL};
    int rc = tb_child_run(".", argv, "/dev/null", true);
    if (rc)
        snprintf(packing->why, packing->why_bytes, "--sign %s: ssh-keygen %s", packing->making->sign,
                 rc == -ENOENT
                     ? "is not installed: install OpenSSH's client, or leave --sign out"
                     : "did not sign, so nothing was packed (try: ssh-keygen -Y sign -n locus-checkpoint -f KEY ANY-FILE)");
    return rc;
}

// In a folder of its own, as the signature is written beside it.
static int seal_write(struct packing *packing, char path[PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    char text[256];
    snprintf(packing->scratch, sizeof packing->scratch, "%.3000s/locus-packet-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(packing->scratch)) {
        int rc = failed(packing, packing->scratch, -errno);
        packing->scratch[0] = '\0';
        return rc;
    }
    snprintf(path, PATH_MAX, "%.4000s/%s", packing->scratch, TB_PACKET_SEAL);
    tb_ledger_checkpoint(packing->ledger, &packing->making->checkpoint);
    tb_checkpoint_text(&packing->making->checkpoint, text, sizeof text);
    FILE *file = fopen(path, "we");
    bool written = file && fprintf(file, "%s\n", text) > 0;
    int rc = written ? 0 : -errno;
    if (file && fclose(file) && !rc)
        rc = -errno;
    return rc ? failed(packing, path, rc) : packing->making->sign ? sign(packing, path) : 0;
}

static int add_below(struct packing *packing, struct tb_tar *tar, const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof path, "%s/%.200s", folder_of(packing, name), name);
    return tb_tar_add(tar, packing->making->host, name, path);
}

static int archive_fill(struct packing *packing, struct tb_tar *tar, const char *seal_path)
{
    char signature[PATH_MAX + 8], manifest[TB_TAR_NAME];
    size_t i;
    json_t *file;
    snprintf(signature, sizeof signature, "%s.sig", seal_path);
    snprintf(manifest, sizeof manifest, "%.60s/%s", packing->folder, TB_PACKET_MANIFEST);
    int rc = tb_tar_add(tar, packing->making->host, TB_PACKET_SEAL, seal_path);
    if (!rc && packing->making->sign)
        rc = tb_tar_add(tar, packing->making->host, TB_PACKET_SIGNATURE, signature);
    if (!rc)
        rc = add_below(packing, tar, "ledger.jsonl");
    if (!rc)
        rc = add_below(packing, tar, manifest);
    json_array_foreach (json_object_get(packing->manifest, "files"), i, file)
        if (!rc)
            rc = add_below(packing, tar, tb_member_text(file, "name"));
    return rc;
}

static int archive_write(struct packing *packing)
{
    char seal_path[PATH_MAX];
    struct tb_tar *tar = NULL;
    struct stat about;
    const char *output = packing->making->output;
    int rc = seal_write(packing, seal_path);
    if (rc)
        return rc;
    rc = tb_tar_create(&tar, output);
    if (!rc) {
        int filled = archive_fill(packing, tar, seal_path);
        rc = tb_tar_close(tar, !filled);
        rc = filled ? filled : rc;
    }
    if (!rc && stat(output, &about))
        rc = -errno;
    if (!rc)
        packing->making->bytes = (uint64_t)about.st_size;
    return rc ? failed(packing, output, rc) : 0;
}

int tb_packet_pack(struct tb_packet_making *making, char *why, size_t why_bytes)
{
    struct packing packing = {.making = making, .why = why, .why_bytes = why_bytes};
    int rc = names_make(&packing);
    if (!rc)
        rc = tb_ledger_open(&packing.ledger, making->root, making->host, false, why, why_bytes);
    if (!rc)
        rc = record_check(&packing);
    if (!rc)
        rc = manifest_begin(&packing);
    if (!rc)
        rc = files_list(&packing);
    if (!rc)
        rc = seal(&packing);
    if (!rc)
        rc = archive_write(&packing);
    if (packing.scratch[0])
        tb_child_remove(packing.scratch);
    json_decref(packing.manifest);
    tb_ledger_close(packing.ledger);
    return rc;
}
