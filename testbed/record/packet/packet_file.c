// SPDX-License-Identifier: Apache-2.0
//
// packet_file: a checked packet's way into the record. A host that is new comes as a whole, by one rename. Of one that is known
// only what is new comes: its files first, each by a rename that replaces nothing, and then the end of the ledger that names them,
// in one durable append under the ledger's lock. Records go to experiments/, before the ledger that names them. A crash in between
// leaves files that no ledger knows, which `locus verify` shows. Filing the packet once more finds them as they are, and goes on.
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/record/journal.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/packet_tar.h"

struct filing {
    const struct tb_packet *packet;
    struct tb_packet_filed *out;
    char from[PATH_MAX + TB_TAR_FOLDER], to[PATH_MAX]; // the host's folder, there and here
    char *why;
    size_t why_bytes;
};

static int failed(struct filing *filing, const char *path, int rc)
{
    snprintf(filing->why, filing->why_bytes, "%s: %s", path, strerror(-rc));
    return rc;
}

static int folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int move(const char *from, const char *to)
{
    char copy[PATH_MAX + 400];
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) {
        if (errno != EINVAL || access(to, F_OK) == 0) // a file system that has no such rename
            return -errno == -EINVAL ? -EEXIST : -errno;
        if (rename(from, to))
            return -errno;
    }
    snprintf(copy, sizeof copy, "%s", to);
    return folder_sync(dirname(copy));
}

// The seal and its signature go beside the manifest, where a later packet's do not meet them.
static int seal_place(struct filing *filing)
{
    static const char *const names[] = {TB_PACKET_SEAL, TB_PACKET_SIGNATURE};
    char from[PATH_MAX + 400], to[PATH_MAX + 400];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(from, sizeof from, "%s/%s", filing->from, names[i]);
        snprintf(to, sizeof to, "%s/%s/%s/%s", filing->from, TB_PACKET_FOLDER, filing->packet->id, names[i]);
        int rc = access(from, F_OK) ? 0 : move(from, to);
        if (rc)
            return failed(filing, to, rc);
    }
    return 0;
}

// The bytes of a file from `at` on. malloc'd.
static int read_tail(const char *path, size_t at, size_t bytes, char **out)
{
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = malloc(bytes + 1);
    if (!*out)
        rc = -ENOMEM;
    else if (fd < 0)
        rc = -errno;
    for (size_t done = 0; !rc && done < bytes;) {
        ssize_t n = pread(fd, *out + done, bytes - done, (off_t)(at + done));
        if (n == 0 || (n < 0 && errno != EINTR))
            rc = n ? -errno : -EIO;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

// --- records -------------------------------------------------------------------------------------------------------------------

// By a copy, since experiments/ may lie on another file system, and under another name until all of it is there. One that is here
// is the same (packet_check.c).
static int record_place(struct filing *filing, const char *name)
{
    char from[PATH_MAX + 400], part[256], *text = NULL;
    struct tb_journal *journal = NULL;
    struct stat about;
    if (lstat(name, &about) == 0)
        return 0;
    snprintf(from, sizeof from, "%s/%.200s", filing->from, name);
    snprintf(part, sizeof part, "%.200s.part", name);
    unlink(part); // of a filing that crashed
    int rc = stat(from, &about) ? -errno : read_tail(from, 0, (size_t)about.st_size, &text);
    if (!rc)
        rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = part, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, text, (size_t)about.st_size);
    tb_journal_close(journal);
    if (!rc)
        rc = move(part, name);
    if (rc)
        unlink(part);
    free(text);
    return rc ? failed(filing, name, rc) : 0;
}

static int records_place(struct filing *filing)
{
    char folder[PATH_MAX + 400];
    size_t i;
    json_t *file;
    int rc = 0;
    json_array_foreach (json_object_get(filing->packet->manifest, "files"), i, file)
        if (!rc && tb_record_below(tb_member_text(file, "name")))
            rc = record_place(filing, tb_member_text(file, "name"));
    snprintf(folder, sizeof folder, "%s/" TB_RECORD_FOLDER, filing->from);
    if (!rc)
        tb_child_remove(folder);
    return rc;
}

// --- a host that is known ------------------------------------------------------------------------------------------------------

typedef int each_file(struct filing *filing, const char *name);

static int for_each(struct filing *filing, each_file *act)
{
    const json_t *line = filing->packet->ledger.entries[filing->packet->ledger.count - 1].object;
    char name[TB_TAR_NAME], path[PATH_MAX + 400];
    size_t i;
    json_t *file;
    int rc = act(filing, tb_member_text(line, "manifest"));
    json_array_foreach (json_object_get(filing->packet->manifest, "files"), i, file)
        if (!rc && !tb_record_below(tb_member_text(file, "name")))
            rc = act(filing, tb_member_text(file, "name"));
    for (int part = 0; part < 2 && !rc; part++) {
        snprintf(name, sizeof name, "%s/%s/%s", TB_PACKET_FOLDER, filing->packet->id, part ? TB_PACKET_SIGNATURE : TB_PACKET_SEAL);
        snprintf(path, sizeof path, "%s/%s", filing->from, name);
        if (access(path, F_OK) == 0)
            rc = act(filing, name);
    }
    return rc;
}

static void paths(const struct filing *filing, const char *name, char from[PATH_MAX + 400], char to[PATH_MAX + 400])
{
    snprintf(from, PATH_MAX + 400, "%s/%.200s", filing->from, name);
    snprintf(to, PATH_MAX + 400, "%s/%.200s", filing->to, name);
}

// What is there already must be the same.
static int compare(struct filing *filing, const char *name)
{
    char from[PATH_MAX + 400], to[PATH_MAX + 400], theirs[TB_HASH_TEXT], ours[TB_HASH_TEXT];
    paths(filing, name, from, to);
    int rc = tb_hash_file(to, ours);
    if (rc == -ENOENT || rc == -ENOTDIR)
        return 0;
    if (!rc)
        rc = tb_hash_file(from, theirs);
    if (rc)
        return failed(filing, to, rc);
    if (strcmp(ours, theirs) == 0)
        return 0;
    snprintf(filing->why, filing->why_bytes, "%s is there, and the packet has another one of that name: nothing was filed", to);
    return -EEXIST;
}

static int bring(struct filing *filing, const char *name)
{
    char from[PATH_MAX + 400], to[PATH_MAX + 400];
    paths(filing, name, from, to);
    if (access(to, F_OK) == 0)
        return 0;
    for (char *slash = to + strlen(filing->to); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        int rc = mkdir(to, 0777) && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (rc)
            return failed(filing, to, rc);
    }
    int rc = move(from, to);
    filing->out->files += !rc;
    return rc ? failed(filing, to, rc) : 0;
}

// Does the packet's ledger begin with all of ours? -EEXIST: no. Chains: it does if the hash at our end is the same.
static int ledger_compare(struct filing *filing, const char *path)
{
    const struct tb_chain *theirs = &filing->packet->ledger;
    struct tb_chain ours;
    int rc = tb_chain_load(path, &ours);
    if (rc)
        return failed(filing, path, rc);
    size_t common = ours.count < theirs->count ? ours.count : theirs->count;
    bool same = common && memcmp(&ours.entries[common - 1].head, &theirs->entries[common - 1].head, sizeof ours.entries->head) == 0;
    filing->out->ledger_before = ours.bytes;
    filing->out->ledger_after = ours.count < theirs->count ? theirs->bytes : ours.bytes;
    rc = -EEXIST;
    if (ours.broken_line)
        snprintf(filing->why, filing->why_bytes, "%s:%zu: %s: nothing was filed (see: locus verify)", path, ours.broken_line,
                 ours.broken);
    else if (!same)
        snprintf(
            filing->why, filing->why_bytes,
            "there is another host called %s: the packet's ledger does not go on from %s. Whoever made the packet names the host "
            "otherwise (--host NAME) and measures under that name; if it is the same host, one of the two was written anew",
            filing->packet->host, path);
    else
        rc = 0;
    tb_chain_close(&ours);
    return rc;
}

static int extend(struct filing *filing)
{
    char from[PATH_MAX + 400], to[PATH_MAX + 400], *tail = NULL;
    struct tb_journal *journal = NULL;
    paths(filing, "ledger.jsonl", from, to);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = to, .lock = true});
    if (rc)
        return rc == -EWOULDBLOCK ? snprintf(filing->why, filing->why_bytes, "%s: a run is writing to it: try again later", to),
               rc                 : failed(filing, to, rc);
    rc = ledger_compare(filing, to);
    if (!rc)
        rc = for_each(filing, compare);
    if (!rc)
        rc = records_place(filing);
    if (!rc)
        rc = for_each(filing, bring);
    size_t before = filing->out->ledger_before, bytes = filing->out->ledger_after - before;
    if (!rc && bytes) {
        rc = read_tail(from, before, bytes, &tail);
        if (!rc)
            rc = tb_journal_append(journal, tail, bytes);
        if (rc)
            rc = failed(filing, to, rc);
    }
    free(tail);
    tb_journal_close(journal);
    return rc;
}

int tb_packet_file(const struct tb_packet *packet, const char *root, struct tb_packet_filed *out, char *why, size_t why_bytes)
{
    struct filing filing = {.packet = packet, .out = out, .why = why, .why_bytes = why_bytes};
    struct stat about;
    *out = (struct tb_packet_filed){.files = 0};
    snprintf(filing.from, sizeof filing.from, "%s/%s", packet->below, packet->host);
    if (snprintf(filing.to, sizeof filing.to, "%s/%s", root, packet->host) >= (int)sizeof filing.to)
        return failed(&filing, root, -ENAMETOOLONG);
    int rc = seal_place(&filing);
    if (rc)
        return rc;
    if (lstat(filing.to, &about) == 0)
        return extend(&filing);
    rc = records_place(&filing);
    if (rc)
        return rc;
    rc = move(filing.from, filing.to);
    out->new_host = !rc;
    out->files = json_array_size(json_object_get(packet->manifest, "files")) + 1;
    out->ledger_after = packet->ledger.bytes;
    return rc ? failed(&filing, filing.to, rc) : 0;
}
