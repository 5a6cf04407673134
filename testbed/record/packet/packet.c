// SPDX-License-Identifier: Apache-2.0
//
// packet: from a host and its record to the archive. It begins with what the packet says of the machine: topology, hwloc's XML, and
// the doctor's findings in their short form, as in the header of a log. What the doctor's commands say of devices and processes
// stays on the host.
//
// Then the order is that of the seal: the files, the ledger's line that has their hashes, the checkpoint. The ledger stays locked
// until the archive has its name, so nobody appends between. A crash leaves files that no ledger knows, or a packet that was sealed
// and not archived: both are harmless, and the next call makes another one.
#include "testbed/record/packet/packet.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "locus/version.h"
#include "testbed/base/child.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/base/words.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"
#include "testbed/host/host.h"
#include "testbed/host/topology/topo_view.h"
#include "testbed/record/names.h"
#include "testbed/record/verify/verify.h"
#include "topo/topo.h"

#define BLOCK 512u
#define RECORD (20 * BLOCK) // tar fills the last one with zeros
#define NAME_PARTS_MAX 3u
#define AS_MADE "is not as `locus packet` writes it: take the archive as it was made, not packed again"
#define PATH_ROOM (PATH_MAX + 400)

bool tb_tar_name_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t parts = 1;
    for (const char *part = name;; part++, parts++) {
        size_t length = strspn(part, allowed);
        if (length == 0 || *part == '.' || *part == '-' || parts > NAME_PARTS_MAX)
            return false;
        part += length;
        if (*part != '/')
            return *part == '\0' && (size_t)(part - name) < TB_TAR_NAME - TB_TAR_HOST;
    }
}

// --- the archive is written ----------------------------------------------------------------------------------------------------

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int list_write(const char *path, const char *host, const json_t *names)
{
    size_t i, count = json_array_size(names);
    const char **sorted = calloc(count + 1, sizeof *sorted);
    json_t *name;
    if (!sorted)
        return -ENOMEM;
    json_array_foreach (names, i, name)
        sorted[i] = json_string_value(name);
    qsort(sorted, count, sizeof *sorted, by_text);
    FILE *file = fopen(path, "we");
    int rc = file ? 0 : -errno;
    for (i = 0; i < count && !rc; i++)
        rc = fprintf(file, "%s/%s\n", host, sorted[i]) < 0 ? -EIO : 0;
    if (file && fclose(file) && !rc)
        rc = -errno;
    free(sorted);
    return rc;
}

static int tar_pack(const char *folder, const char *host, const json_t *names, const char *output, char *why, size_t why_bytes)
{
    char list[PATH_MAX], words[PATH_MAX], part[PATH_MAX + 8], copy[PATH_MAX];
    const char *const argv[] = {"tar",
                                "--create",
                                "--file",
                                part,
                                "--force-local",
                                "--format=ustar",
                                "--owner=0",
                                "--group=0",
                                "--numeric-owner",
                                "--mtime=@0",
                                "--mode=u=rw,go=r",
                                "--dereference",
                                "--no-recursion",
                                "--directory",
                                folder,
                                "--verbatim-files-from",
                                "--files-from",
                                list,
                                NULL};
    snprintf(list, sizeof list, "%.4000s/.list", folder);
    snprintf(words, sizeof words, "%.4000s/.words", folder);
    snprintf(part, sizeof part, "%s.part", output);
    snprintf(copy, sizeof copy, "%s", output);
    unsetenv("TAR_OPTIONS");
    int rc = list_write(list, host, names);
    if (rc)
        return snprintf(why, why_bytes, "%s: %s", list, strerror(-rc)), rc;
    rc = tb_child_tool(argv, words, dirname(copy), why, why_bytes);
    if (!rc)
        rc = tb_child_sync(dirname(copy));
    if (!rc && rename(part, output))
        rc = -errno;
    if (rc)
        unlink(part);
    return rc;
}

// --- the archive is read -------------------------------------------------------------------------------------------------------

// The listing is read before anything is unpacked, so that a link, a device or a name that leads elsewhere is refused by its name
// while nothing is there yet. Whatever else can be odd about an archive (modes, owners, extensions, bytes hidden in the padding)
// needs no rule: packed again it would be another one.
struct unpacking {
    const char *path, *folder;
    char *host;
    json_t *names;
    uint64_t bytes;             // that an archive of what was listed has, without its end
    char *why;
    size_t why_bytes;
};

// `name` is the entry's that is meant, or NULL.
static int bad(struct unpacking *unpacking, const char *name, const char *what)
{
    char clean[200];
    tb_text_clean(name ? name : "", true, clean, sizeof clean);
    if (name)
        snprintf(unpacking->why, unpacking->why_bytes, "%s: '%s' %s", unpacking->path, clean, what);
    else
        snprintf(unpacking->why, unpacking->why_bytes, "%s: %s", unpacking->path, what);
    return -EINVAL;
}

// tar would unpack what is compressed, too, and that may be larger than anything. A packet begins with the name of its host.
static int head_check(struct unpacking *unpacking)
{
    char head[BLOCK] = "", first[TB_TAR_HOST] = "";
    FILE *file = fopen(unpacking->path, "re");
    if (!file)
        return snprintf(unpacking->why, unpacking->why_bytes, "%s: %s", unpacking->path, strerror(errno)), -errno;
    bool whole = fread(head, sizeof head, 1, file) == 1;
    fclose(file);
    memccpy(first, head, '/', sizeof first - 1);
    first[strcspn(first, "/")] = '\0';
    if (whole && tb_tar_name_valid(first) && memcmp(head + 257, "ustar", 5) == 0)
        return 0;
    return bad(unpacking, NULL, "it is no archive of `locus packet`. If it was compressed, unpack it first (gunzip, zstd -d)");
}

// MODE OWNER BYTES DATE TIME HOST/NAME, as tar --list --verbose prints them.
static int entry_check(struct unpacking *unpacking, const char *line)
{
    unsigned long long bytes = 0;
    int at = 0;
    char first[TB_TAR_HOST] = "";
    bool plain = line[0] == '-' && sscanf(line, "%*s %*s %llu %*s %*s %n", &bytes, &at) == 1 && at;
    if (!plain)
        sscanf(line, "%*s %*s %*s %*s %*s %n", &at);
    if (strncmp(line, "tar: ", 5) == 0) // a warning
        return bad(unpacking, NULL, "it " AS_MADE);
    const char *whole = line + at, *slash = strchr(whole, '/');
    if (line[0] == 'l' || line[0] == 'h')
        return bad(unpacking, whole, "is a link, and a packet has only files");
    if (!plain)
        return bad(unpacking, whole, "is no plain file, and a packet has only such");
    size_t length = slash ? (size_t)(slash - whole) : 0;
    snprintf(first, sizeof first, "%.*s", (int)length, whole);
    if (!slash || length >= sizeof first || !tb_tar_name_valid(first) || !tb_tar_name_valid(slash + 1))
        return bad(unpacking, whole, "is no name of a packet's file, which is HOST/NAME and does not lead out of it");
    size_t count = json_array_size(unpacking->names);
    if (count && strcmp(unpacking->host, first))
        return bad(unpacking, whole, "is of another host than the first file, and a packet is of one");
    if (count && strcmp(json_string_value(json_array_get(unpacking->names, count - 1)), slash + 1) >= 0)
        return bad(unpacking, whole, "is in it twice, or not in its order");
    memcpy(unpacking->host, first, sizeof first);
    unpacking->bytes += BLOCK + (bytes + BLOCK - 1) / BLOCK * BLOCK;
    return json_array_append_new(unpacking->names, json_string(slash + 1)) ? -ENOMEM : 0;
}

static int entries_check(struct unpacking *unpacking)
{
    char listing[PATH_MAX], *line = NULL;
    size_t room = 0;
    ssize_t length;
    int rc = 0;
    const char *const argv[] = {"tar",
                                "--list",
                                "--verbose",
                                "--numeric-owner",
                                "--full-time",
                                "--warning=no-alone-zero-block", // the size says so, in plainer words
                                "--quoting-style=escape",
                                "--absolute-names",
                                "--force-local",
                                "--file",
                                unpacking->path,
                                NULL};
    snprintf(listing, sizeof listing, "%.4000s/.words", unpacking->folder);
    int listed = tb_child_tool(argv, listing, unpacking->folder, unpacking->why, unpacking->why_bytes);
    if (listed && listed != -ECHILD)
        return listed;
    FILE *file = fopen(listing, "re");
    while (!listed && file && !rc && (length = getline(&line, &room, file)) > 0) {
        line[length - 1] = '\0';
        rc = entry_check(unpacking, line);
    }
    free(line);
    if (file)
        fclose(file);
    return listed ? bad(unpacking, NULL, "it was cut off on its way, or is no archive: ask for it once more") : rc;
}

static int size_check(struct unpacking *unpacking)
{
    struct stat about;
    uint64_t wanted = (unpacking->bytes + 2 * BLOCK + RECORD - 1) / RECORD * RECORD;
    if (stat(unpacking->path, &about))
        return snprintf(unpacking->why, unpacking->why_bytes, "%s: %s", unpacking->path, strerror(errno)), -errno;
    if ((uint64_t)about.st_size < wanted)
        return bad(unpacking, NULL, "it was cut off on its way: ask for it once more");
    return (uint64_t)about.st_size > wanted ? bad(unpacking, NULL, "there is something after its end") : 0;
}

// It has been listed: plain files with names that lead nowhere. What tar cannot unpack nevertheless is a file in place of a folder.
static int extract(struct unpacking *unpacking)
{
    char words[PATH_MAX];
    const char *const argv[] = {"tar",
                                "--extract",
                                "--no-same-owner",
                                "--no-same-permissions",
                                "--keep-old-files",
                                "--force-local",
                                "--directory",
                                unpacking->folder,
                                "--file",
                                unpacking->path,
                                NULL};
    snprintf(words, sizeof words, "%.4000s/.words", unpacking->folder);
    return tb_child_tool(argv, words, unpacking->folder, unpacking->why, unpacking->why_bytes);
}

static int same_check(struct unpacking *unpacking)
{
    char again[PATH_MAX], theirs[TB_HASH_TEXT], ours[TB_HASH_TEXT];
    snprintf(again, sizeof again, "%.4000s/.again", unpacking->folder);
    int rc = tar_pack(unpacking->folder, unpacking->host, unpacking->names, again, unpacking->why, unpacking->why_bytes);
    if (rc)
        return rc;
    rc = tb_hash_file(unpacking->path, theirs);
    if (!rc)
        rc = tb_hash_file(again, ours);
    unlink(again);
    if (rc)
        return snprintf(unpacking->why, unpacking->why_bytes, "%s: %s", unpacking->path, strerror(-rc)), rc;
    return strcmp(theirs, ours) ? bad(unpacking, NULL, "it " AS_MADE) : 0;
}

int tb_tar_unpack(const char *path, const char *folder, char host[TB_TAR_HOST], char *why, size_t why_bytes)
{
    struct unpacking unpacking = {
        .path = path, .folder = folder, .host = host, .names = json_array(), .why = why, .why_bytes = why_bytes};
    unsetenv("TAR_OPTIONS");
    int rc = unpacking.names ? head_check(&unpacking) : -ENOMEM;
    if (!rc)
        rc = entries_check(&unpacking);
    if (!rc)
        rc = size_check(&unpacking);
    if (!rc)
        rc = extract(&unpacking);
    if (!rc)
        rc = same_check(&unpacking);
    json_decref(unpacking.names);
    return rc;
}

// --- the machine ---------------------------------------------------------------------------------------------------------------

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

static char *doctor_text(char kind[16])
{
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    char *text = NULL;
    if (doctor && tb_doctor_look("", doctor) == 0) {
        const struct tb_finding *machine = tb_doctor_find(doctor, "machine");
        snprintf(kind, 16, "%s", tb_machine_kind(machine ? machine->now : ""));
        text = dumped(tb_doctor_header(doctor));
        tb_doctor_close(doctor);
    }
    free(doctor);
    return text;
}

void tb_packet_look(struct tb_packet *packet)
{
    snprintf(packet->kind, sizeof packet->kind, "unknown");
    packet->parts[0] = (struct tb_packet_part){"topo.json", topo_text()};
    packet->parts[1] = (struct tb_packet_part){"topo.xml", xml_text()};
    packet->parts[2] = (struct tb_packet_part){"doctor.json", doctor_text(packet->kind)};
}

// --- the record ----------------------------------------------------------------------------------------------------------------

static int failed(struct tb_packet *packet, const char *what, int rc)
{
    snprintf(packet->why, sizeof packet->why, "%.800s: %s%s", what, strerror(-rc),
             rc == -ENOSPC || rc == -EDQUOT
                 ? ". Make room, or name another place with -o. The record has everything: `locus packet --no-run` packs it"
                 : "");
    return rc;
}

static int names_make(struct tb_packet *packet)
{
    char stamp[TB_STAMP_BYTES], random[7];
    if (tb_random_digits(random, 6))
        return failed(packet, "the packet's name", -EIO);
    snprintf(packet->id, sizeof packet->id, "%s-%s", tb_time_stamp(time(NULL), stamp), random);
    int length = snprintf(packet->folder, sizeof packet->folder, "%s/%s", packet->root, packet->host);
    return length < PATH_MAX - 256 ? 0 : failed(packet, packet->root, -ENAMETOOLONG);
}

// A record that is damaged here would be refused there.
static int record_check(struct tb_packet *packet)
{
    const struct tb_verify_config config = {.root = packet->root, .host = packet->host};
    json_t *report = NULL;
    int rc = tb_verify(&config, &report, packet->why, sizeof packet->why);
    const json_t *first = rc ? NULL : json_array_get(json_object_get(report, "findings"), 0);
    if (first) {
        snprintf(packet->why, sizeof packet->why,
                 "%s: the record is not whole, so it was not packed: %s (see: locus verify --logs %s --host %s)",
                 tb_member_text(first, "file"), tb_member_text(first, "what"), packet->root, packet->host);
        rc = -EUCLEAN;
    }
    json_decref(report);
    return rc;
}

// --- what goes into it ---------------------------------------------------------------------------------------------------------

// Records lie where ledgers name them, everything else below the host's folder.
static const char *folder_of(const struct tb_packet *packet, const char *name)
{
    return tb_record_below(name) ? "." : packet->folder;
}

static int part_write(struct tb_packet *packet, const struct tb_packet_part *part, const char *name)
{
    char path[PATH_ROOM];
    struct tb_journal *journal = NULL;
    snprintf(path, sizeof path, "%s/%s", packet->folder, name);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, part->text, strlen(part->text));
    tb_journal_close(journal);
    return rc ? failed(packet, path, rc) : 0;
}

// Once, and a plain file.
static int list(struct tb_packet *packet, const char *name, bool hash)
{
    char path[PATH_ROOM], sha256[TB_HASH_TEXT];
    struct stat about;
    size_t i;
    json_t *known;
    json_array_foreach (packet->names, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return 0;
    snprintf(path, sizeof path, "%s/%.300s", folder_of(packet, name), name);
    int rc = !tb_tar_name_valid(name) ? -EINVAL : lstat(path, &about) ? -errno : S_ISREG(about.st_mode) ? 0 : -EINVAL;
    if (!rc && hash)
        rc = tb_hash_file(path, sha256);
    if (!rc && hash && json_object_set_new(packet->files, name, json_string(sha256)))
        rc = -ENOMEM;
    if (!rc && json_array_append_new(packet->names, json_string(name)))
        rc = -ENOMEM;
    return rc ? failed(packet, path, rc) : 0;
}

static int parts_list(struct tb_packet *packet)
{
    char name[TB_TAR_NAME];
    int rc = 0;
    for (size_t i = 0; i < TB_PACKET_PARTS && !rc; i++) {
        const struct tb_packet_part *part = &packet->parts[i];
        if (!part->text)
            continue;
        snprintf(name, sizeof name, TB_PACKET_FOLDER "/%s/%.30s", packet->id, part->name);
        rc = part_write(packet, part, name);
        if (!rc)
            rc = list(packet, name, true);
    }
    return rc;
}

// A log that was closed has its last hash in the ledger. That earlier packets are as they were sealed has been verified.
static int entry_list(struct tb_packet *packet, const json_t *entry)
{
    const char *type = tb_member_text(entry, "t"), *name;
    json_t *sha256;
    int rc = 0;
    if (strcmp(type, "open") == 0)
        return list(packet, tb_member_text(entry, "log"),
                    !tb_ledger_find(packet->ledger, "close", "run", tb_member_text(entry, "run")));
    if (strcmp(type, "record") == 0)
        return list(packet, tb_member_text(entry, "path"), false);
    json_object_foreach (strcmp(type, "packet") ? NULL : json_object_get(entry, "files"), name, sha256)
        if (!rc)
            rc = list(packet, name, false);
    return rc;
}

static int files_list(struct tb_packet *packet)
{
    const struct tb_chain *chain = tb_ledger_chain(packet->ledger);
    packet->names = json_pack("[s]", "ledger.jsonl");
    packet->files = json_object();
    int rc = packet->names && packet->files ? parts_list(packet) : failed(packet, "the list of files", -ENOMEM);
    for (size_t i = 0; i < chain->count && !rc; i++)
        rc = entry_list(packet, chain->entries[i].object);
    return rc;
}

// --- ledger and seal -----------------------------------------------------------------------------------------------------------

// From here on the record knows of the packet.
static int seal(struct tb_packet *packet)
{
    json_t *environment = tb_environment("");
    const json_t *build = json_object_get(environment, "build");
    json_t *entry = json_pack("{s:s, s:s, s:i, s:s, s:{s:s, s:s, s:s, s:s}, s:O}", "t", "packet", "packet", packet->id, "format",
                              TB_PACKET_FORMAT, "kind", packet->kind, "program", "version", LOCUS_VERSION, "commit",
                              tb_member_text(build, "commit"), "dirty", tb_member_text(build, "dirty"), "binary_sha256",
                              tb_member_text(build, "binary_sha256"), "files", packet->files);
    int rc = entry ? tb_ledger_append(packet->ledger, entry) : -ENOMEM;
    json_decref(entry);
    json_decref(environment);
    return rc ? failed(packet, packet->folder, rc) : 0;
}

static int sign(struct tb_packet *packet, const char *path)
{
    const char *const argv[] = {"ssh-keygen", "-Y", "sign", "-n", "locus-checkpoint", "-f", packet->sign, path, NULL};
    int rc = tb_child_run(".", argv, "/dev/null", true);
    if (rc)
        snprintf(packet->why, sizeof packet->why, "--sign %s: ssh-keygen %s", packet->sign,
                 rc == -ENOENT
                     ? "is not installed: install OpenSSH's client, or leave --sign out"
                     : "did not sign, so nothing was packed (try: ssh-keygen -Y sign -n locus-checkpoint -f KEY ANY-FILE)");
    return rc;
}

static int seal_write(struct tb_packet *packet)
{
    char path[PATH_ROOM], text[256];
    snprintf(path, sizeof path, "%s/%s/" TB_PACKET_SEAL, packet->scratch, packet->host);
    tb_ledger_checkpoint(packet->ledger, &packet->checkpoint);
    tb_checkpoint_text(&packet->checkpoint, text, sizeof text - 1);
    strcat(text, "\n");
    int rc = tb_file_create(path, text);
    if (!rc)
        rc = packet->sign ? sign(packet, path) : 0;
    else
        failed(packet, path, rc);
    if (!rc && (json_array_append_new(packet->names, json_string(TB_PACKET_SEAL)) ||
                (packet->sign && json_array_append_new(packet->names, json_string(TB_PACKET_SIGNATURE)))))
        rc = failed(packet, path, -ENOMEM);
    return rc;
}

// --- the archive ---------------------------------------------------------------------------------------------------------------

static int scratch_make(struct tb_packet *packet)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_ROOM];
    snprintf(packet->scratch, sizeof packet->scratch, "%.3000s/locus-packet-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(packet->scratch)) {
        int rc = failed(packet, packet->scratch, -errno);
        packet->scratch[0] = '\0';
        return rc;
    }
    snprintf(path, sizeof path, "%s/%s", packet->scratch, packet->host);
    return mkdir(path, 0777) ? failed(packet, path, -errno) : 0;
}

// The first part of a file's name, as a link to where it lies.
static int link_make(struct tb_packet *packet, const char *name)
{
    char first[TB_TAR_NAME], from[PATH_ROOM], to[PATH_ROOM + TB_TAR_NAME], whole[PATH_MAX];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "/"), name);
    snprintf(from, sizeof from, "%s/%s", folder_of(packet, name), first);
    snprintf(to, sizeof to, "%s/%s/%s", packet->scratch, packet->host, first);
    if (!realpath(from, whole) || (symlink(whole, to) && errno != EEXIST))
        return failed(packet, from, -errno);
    return 0;
}

static int archive_write(struct tb_packet *packet)
{
    char why[600];
    struct stat about;
    size_t i;
    json_t *name;
    int rc = scratch_make(packet);
    json_array_foreach (packet->names, i, name)
        if (!rc)
            rc = link_make(packet, json_string_value(name));
    if (!rc)
        rc = seal_write(packet);
    if (rc)
        return rc;
    rc = tar_pack(packet->scratch, packet->host, packet->names, packet->output, why, sizeof why);
    if (rc == -ECHILD || rc == -ENOPKG)
        return snprintf(packet->why, sizeof packet->why, "%.400s: %s", packet->output, why), rc;
    if (!rc && stat(packet->output, &about))
        rc = -errno;
    packet->bytes = rc ? 0 : (uint64_t)about.st_size;
    return rc ? failed(packet, packet->output, rc) : 0;
}

int tb_packet_pack(struct tb_packet *packet)
{
    int rc = names_make(packet);
    if (!rc)
        rc = tb_ledger_open(&packet->ledger, packet->root, packet->host, false, packet->why, sizeof packet->why);
    if (!rc)
        rc = record_check(packet);
    if (!rc)
        rc = files_list(packet);
    if (!rc)
        rc = seal(packet);
    return rc ? rc : archive_write(packet);
}

void tb_packet_close(struct tb_packet *packet)
{
    if (packet->scratch[0])
        tb_child_remove(packet->scratch);
    json_decref(packet->names);
    json_decref(packet->files);
    tb_ledger_close(packet->ledger);
    for (size_t i = 0; i < TB_PACKET_PARTS; i++)
        free(packet->parts[i].text);
}
