// SPDX-License-Identifier: Apache-2.0
//
// packet_pack: from a host's record to the archive. The order is that of the seal: the files, then the ledger's line that has their
// hashes, then the checkpoint. The ledger stays locked until the archive has its name, so nobody appends between. A crash leaves
// files that no ledger knows, or a packet that was sealed and not archived: both are harmless, and the next call makes another one.
#include <errno.h>
#include <limits.h>
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
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/tar.h"
#include "testbed/record/verify/verify.h"

#define PATH_ROOM (PATH_MAX + 400)

struct packing {
    struct tb_packet_making *making;
    struct tb_ledger *ledger;
    json_t *names, *files;      // all that goes into the archive; of these, what the packet's line has the hash of
    char id[TB_PACKET_ID];
    char host[PATH_MAX];        // root/HOST
    char scratch[PATH_MAX];     // with the seal, and links to all else: what tar packs; "" until it is there
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
    snprintf(packing->id, sizeof packing->id, "%s-%02x%02x%02x", stamp, random[0], random[1], random[2]);
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
                 "%s: the record is not whole, so it was not packed: %s (see: locus verify --logs %s --host %s)",
                 tb_member_text(first, "file"), tb_member_text(first, "what"), packing->making->root, packing->making->host);
        rc = -EUCLEAN;
    }
    json_decref(report);
    return rc;
}

// --- what goes into it ---------------------------------------------------------------------------------------------------------

// Records lie where ledgers name them, everything else below the host's folder.
static const char *folder_of(const struct packing *packing, const char *name)
{
    return tb_record_below(name) ? "." : packing->host;
}

static int part_write(struct packing *packing, const struct tb_packet_part *part, const char *name)
{
    char path[PATH_ROOM];
    struct tb_journal *journal = NULL;
    snprintf(path, sizeof path, "%s/%s", packing->host, name);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, part->text, strlen(part->text));
    tb_journal_close(journal);
    return rc ? failed(packing, path, rc) : 0;
}

// Once, and a plain file.
static int list(struct packing *packing, const char *name, bool hash)
{
    char path[PATH_ROOM], sha256[TB_HASH_TEXT];
    struct stat about;
    size_t i;
    json_t *known;
    json_array_foreach (packing->names, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return 0;
    snprintf(path, sizeof path, "%s/%.300s", folder_of(packing, name), name);
    int rc = !tb_tar_name_valid(name) ? -EINVAL : lstat(path, &about) ? -errno : S_ISREG(about.st_mode) ? 0 : -EINVAL;
    if (!rc && hash)
        rc = tb_hash_file(path, sha256);
    if (!rc && hash && json_object_set_new(packing->files, name, json_string(sha256)))
        rc = -ENOMEM;
    if (!rc && json_array_append_new(packing->names, json_string(name)))
        rc = -ENOMEM;
    return rc ? failed(packing, path, rc) : 0;
}

static int parts_list(struct packing *packing)
{
    char name[TB_TAR_NAME];
    int rc = 0;
    for (size_t i = 0; i < packing->making->parts_count && !rc; i++) {
        const struct tb_packet_part *part = &packing->making->parts[i];
        if (!part->text)
            continue;
        snprintf(name, sizeof name, TB_PACKET_FOLDER "/%s/%.30s", packing->id, part->name);
        rc = part_write(packing, part, name);
        if (!rc)
            rc = list(packing, name, true);
    }
    return rc;
}

// A log that was closed has its last hash in the ledger. That earlier packets are as they were sealed has been verified.
static int entry_list(struct packing *packing, const json_t *entry)
{
    const char *type = tb_member_text(entry, "t"), *name;
    json_t *sha256;
    int rc = 0;
    if (strcmp(type, "open") == 0)
        return list(packing, tb_member_text(entry, "log"),
                    !tb_ledger_find(packing->ledger, "close", "run", tb_member_text(entry, "run")));
    if (strcmp(type, "record") == 0)
        return list(packing, tb_member_text(entry, "path"), false);
    json_object_foreach (strcmp(type, "packet") ? NULL : json_object_get(entry, "files"), name, sha256)
        if (!rc)
            rc = list(packing, name, false);
    return rc;
}

static int files_list(struct packing *packing)
{
    const struct tb_chain *chain = tb_ledger_chain(packing->ledger);
    packing->names = json_pack("[s]", "ledger.jsonl");
    packing->files = json_object();
    int rc = packing->names && packing->files ? parts_list(packing) : failed(packing, "the list of files", -ENOMEM);
    for (size_t i = 0; i < chain->count && !rc; i++)
        rc = entry_list(packing, chain->entries[i].object);
    return rc;
}

// --- ledger and seal -----------------------------------------------------------------------------------------------------------

// From here on the record knows of the packet.
static int seal(struct packing *packing)
{
    json_t *environment = tb_environment("");
    const json_t *build = json_object_get(environment, "build");
    json_t *entry = json_pack("{s:s, s:s, s:i, s:s, s:{s:s, s:s, s:s, s:s}, s:O}", "t", "packet", "packet", packing->id, "format",
                              TB_PACKET_FORMAT, "kind", packing->making->kind, "program", "version", LOCUS_VERSION, "commit",
                              tb_member_text(build, "commit"), "dirty", tb_member_text(build, "dirty"), "binary_sha256",
                              tb_member_text(build, "binary_sha256"), "files", packing->files);
    int rc = entry ? tb_ledger_append(packing->ledger, entry) : -ENOMEM;
    json_decref(entry);
    json_decref(environment);
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

static int seal_write(struct packing *packing)
{
    char path[PATH_ROOM], text[256];
    snprintf(path, sizeof path, "%s/%s/" TB_PACKET_SEAL, packing->scratch, packing->making->host);
    tb_ledger_checkpoint(packing->ledger, &packing->making->checkpoint);
    tb_checkpoint_text(&packing->making->checkpoint, text, sizeof text);
    FILE *file = fopen(path, "we");
    bool written = file && fprintf(file, "%s\n", text) > 0;
    int rc = written ? 0 : -errno;
    if (file && fclose(file) && !rc)
        rc = -errno;
    if (!rc)
        rc = packing->making->sign ? sign(packing, path) : 0;
    else
        failed(packing, path, rc);
    if (!rc && (json_array_append_new(packing->names, json_string(TB_PACKET_SEAL)) ||
                (packing->making->sign && json_array_append_new(packing->names, json_string(TB_PACKET_SIGNATURE)))))
        rc = failed(packing, path, -ENOMEM);
    return rc;
}

// --- the archive ---------------------------------------------------------------------------------------------------------------

static int scratch_make(struct packing *packing)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_ROOM];
    snprintf(packing->scratch, sizeof packing->scratch, "%.3000s/locus-packet-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(packing->scratch)) {
        int rc = failed(packing, packing->scratch, -errno);
        packing->scratch[0] = '\0';
        return rc;
    }
    snprintf(path, sizeof path, "%s/%s", packing->scratch, packing->making->host);
    return mkdir(path, 0777) ? failed(packing, path, -errno) : 0;
}

// The first part of a file's name, as a link to where it lies.
static int link_make(struct packing *packing, const char *name)
{
    char first[TB_TAR_NAME], from[PATH_ROOM], to[PATH_ROOM + TB_TAR_NAME], whole[PATH_MAX];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "/"), name);
    snprintf(from, sizeof from, "%s/%s", folder_of(packing, name), first);
    snprintf(to, sizeof to, "%s/%s/%s", packing->scratch, packing->making->host, first);
    if (!realpath(from, whole) || (symlink(whole, to) && errno != EEXIST))
        return failed(packing, from, -errno);
    return 0;
}

static int archive_write(struct packing *packing)
{
    struct tb_packet_making *making = packing->making;
    char why[600];
    struct stat about;
    size_t i;
    json_t *name;
    int rc = scratch_make(packing);
    json_array_foreach (packing->names, i, name)
        if (!rc)
            rc = link_make(packing, json_string_value(name));
    if (!rc)
        rc = seal_write(packing);
    if (rc)
        return rc;
    rc = tb_tar_pack(packing->scratch, making->host, packing->names, making->output, why, sizeof why);
    if (rc == -ECHILD || rc == -ENOPKG)
        return snprintf(packing->why, packing->why_bytes, "%s: %s", making->output, why), rc;
    if (!rc && stat(making->output, &about))
        rc = -errno;
    making->bytes = rc ? 0 : (uint64_t)about.st_size;
    return rc ? failed(packing, making->output, rc) : 0;
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
        rc = files_list(&packing);
    if (!rc)
        rc = seal(&packing);
    if (!rc)
        rc = archive_write(&packing);
    if (packing.scratch[0])
        tb_child_remove(packing.scratch);
    json_decref(packing.names);
    json_decref(packing.files);
    tb_ledger_close(packing.ledger);
    return rc;
}
