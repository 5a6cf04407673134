// SPDX-License-Identifier: Apache-2.0
//
// tar: see tar.h. The listing is read before anything is unpacked, so that a link, a device or a name that leads elsewhere is
// refused by its name while nothing is there yet. Whatever else can be odd about an archive (modes, owners, extensions, bytes
// hidden in the padding) needs no rule: packed again it would be another one.
#include "testbed/record/packet/tar.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/words.h"
#include "testbed/record/chain.h"

#define BLOCK 512u
#define RECORD (20 * BLOCK) // tar fills the last one with zeros
#define NAME_PARTS_MAX 3u
#define AS_MADE "is not as `locus packet` writes it: take the archive as it was made, not packed again"

bool tb_tar_name_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t parts = 1;
    for (const char *part = name;; part++, parts++) {
        size_t length = strspn(part, allowed);
        if (length == 0 || *part == '.' || parts > NAME_PARTS_MAX)
            return false;
        part += length;
        if (*part != '/')
            return *part == '\0' && (size_t)(part - name) < TB_TAR_NAME - TB_TAR_HOST;
    }
}

// --- writing -------------------------------------------------------------------------------------------------------------------

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

int tb_tar_pack(const char *folder, const char *host, const json_t *names, const char *output, char *why, size_t why_bytes)
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

// --- reading -------------------------------------------------------------------------------------------------------------------

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
    return (uint64_t)about.st_size > wanted ? bad(unpacking, NULL, "there is something behind its end") : 0;
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
    int rc = tb_tar_pack(unpacking->folder, unpacking->host, unpacking->names, again, unpacking->why, unpacking->why_bytes);
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
