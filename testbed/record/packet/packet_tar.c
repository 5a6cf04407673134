// SPDX-License-Identifier: Apache-2.0
//
// packet_tar: see packet_tar.h. header_make() is the only place that knows the format: the reader takes folder, name and size out
// of a header, makes the header that belongs to them, and compares.
#include "testbed/record/packet/packet_tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/words.h"

#define BLOCK 512u
#define NAME_PARTS_MAX 3u
#define FILES_MAX 10000u // a host that ran every experiment three hundred times
#define CUT_OFF "it was cut off on its way: ask for it once more"
#define NO_PACKET "it is no archive of `locus packet`"

// As POSIX has it (pax, "ustar Interchange Format"). 512 bytes, no padding.
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6], version[2];
    char uname[32], gname[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

struct tb_tar {
    int fd;
    char path[PATH_MAX], part[PATH_MAX];
};

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
            return *part == '\0' && (size_t)(part - name) < TB_TAR_NAME;
    }
}

static bool folder_valid(const char *folder)
{
    return tb_tar_name_valid(folder) && !strchr(folder, '/') && strlen(folder) < TB_TAR_FOLDER;
}

static void header_make(const char *folder, const char *name, uint64_t bytes, struct header *out)
{
    char number[24];
    *out = (struct header){.type = '0'};
    memcpy(out->name, name, strlen(name)); // may fill it: then there is no NUL
    memcpy(out->prefix, folder, strlen(folder));
    memcpy(out->mode, "0000644", 8);
    memcpy(out->uid, "0000000", 8);
    memcpy(out->gid, "0000000", 8);
    memcpy(out->mtime, "00000000000", 12);
    memcpy(out->magic, "ustar", 6);
    memcpy(out->version, "00", 2);
    snprintf(number, sizeof number, "%011" PRIo64, bytes);
    memcpy(out->size, number, sizeof out->size);
    memset(out->sum, ' ', sizeof out->sum); // that is how it counts in the sum
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const unsigned char *)out)[i];
    snprintf(number, sizeof number, "%06o", sum);
    memcpy(out->sum, number, 7);
}

static uint64_t padding(uint64_t bytes)
{
    return (BLOCK - bytes % BLOCK) % BLOCK;
}

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno != EINTR)
            return -errno;
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

// All of it; -ENODATA when it ends before.
static int read_all(int fd, char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = read(fd, data, bytes);
        if (n == 0)
            return -ENODATA;
        if (n < 0 && errno != EINTR)
            return -errno;
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int copy(int from, int to, uint64_t bytes)
{
    static char room[1 << 16];
    int rc = 0;
    while (!rc && bytes > 0) {
        size_t part = bytes < sizeof room ? (size_t)bytes : sizeof room;
        rc = read_all(from, room, part);
        if (!rc)
            rc = write_all(to, room, part);
        bytes -= part;
    }
    return rc;
}

// --- writing -------------------------------------------------------------------------------------------------------------------

int tb_tar_create(struct tb_tar **out, const char *path)
{
    struct tb_tar *tar = calloc(1, sizeof *tar);
    if (!tar)
        return -ENOMEM;
    int rc = (size_t)snprintf(tar->path, sizeof tar->path, "%s", path) < sizeof tar->path &&
                     (size_t)snprintf(tar->part, sizeof tar->part, "%s.part", path) < sizeof tar->part
                 ? 0
                 : -ENAMETOOLONG;
    tar->fd = rc ? -1 : open(tar->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (!rc && tar->fd < 0)
        rc = -errno;
    if (rc)
        free(tar);
    else
        *out = tar;
    return rc;
}

int tb_tar_add(struct tb_tar *tar, const char *folder, const char *name, const char *source)
{
    static const char zeros[BLOCK];
    struct header header;
    struct stat about;
    if (!folder_valid(folder) || !tb_tar_name_valid(name))
        return -EINVAL;
    int fd = open(source, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 || fstat(fd, &about) ? -errno : !S_ISREG(about.st_mode) ? -EINVAL : 0;
    if (!rc) {
        header_make(folder, name, (uint64_t)about.st_size, &header);
        rc = write_all(tar->fd, (const char *)&header, sizeof header);
    }
    if (!rc)
        rc = copy(fd, tar->fd, (uint64_t)about.st_size);
    if (!rc)
        rc = write_all(tar->fd, zeros, padding((uint64_t)about.st_size));
    if (fd >= 0)
        close(fd);
    return rc;
}

static int folder_sync(const char *path)
{
    char copy_of[PATH_MAX];
    snprintf(copy_of, sizeof copy_of, "%s", path);
    int fd = open(dirname(copy_of), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

int tb_tar_close(struct tb_tar *tar, bool keep)
{
    static const char end[2 * BLOCK];
    int rc = keep ? write_all(tar->fd, end, sizeof end) : 0;
    if (!rc && keep && fsync(tar->fd))
        rc = -errno;
    if (close(tar->fd) && !rc)
        rc = -errno;
    if (!rc && keep && rename(tar->part, tar->path))
        rc = -errno;
    if (rc || !keep)
        unlink(tar->part);
    else
        rc = folder_sync(tar->path);
    free(tar);
    return rc;
}

// --- reading -------------------------------------------------------------------------------------------------------------------

struct unpacking {
    const char *path, *below;
    int fd;
    uint64_t left;              // bytes of the archive that were not read yet
    unsigned files;
    char folder[TB_TAR_FOLDER];
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

static int failed(struct unpacking *unpacking, const char *what, int rc)
{
    snprintf(unpacking->why, unpacking->why_bytes, "%s: %s%s", what, strerror(-rc),
             rc == -ENOSPC ? ". Make room, or name another folder by TMPDIR" : "");
    return rc;
}

static int take(struct unpacking *unpacking, void *out, uint64_t bytes)
{
    if (bytes > unpacking->left)
        return bad(unpacking, NULL, unpacking->files ? CUT_OFF : NO_PACKET);
    int rc = read_all(unpacking->fd, out, (size_t)bytes);
    unpacking->left -= bytes;
    return rc ? failed(unpacking, unpacking->path, rc) : 0;
}

static bool all_zero(const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i])
            return false;
    return true;
}

static int end_check(struct unpacking *unpacking)
{
    char block[BLOCK];
    int rc = take(unpacking, block, sizeof block);
    if (!rc && (!all_zero(block, sizeof block) || unpacking->left))
        rc = bad(unpacking, NULL, "there is something behind its end");
    return rc ? rc : unpacking->files ? 0 : bad(unpacking, NULL, "it is empty");
}

// What it is instead, so that whoever sent it learns what happened.
static int refuse(struct unpacking *unpacking, const struct header *header, const char *name)
{
    if (memcmp(header->magic, "ustar", 5))
        return bad(unpacking, NULL, NO_PACKET);
    if (header->type == '1' || header->type == '2')
        return bad(unpacking, name, "is a link, and a packet has only files");
    if (header->type != '0')
        return bad(unpacking, name, "is no plain file, and a packet has only such");
    return bad(unpacking, name, "is not as `locus packet` writes it: take the archive as it was made, not packed anew");
}

// The header's three facts, and then whether it is the one that belongs to them.
static int header_read(struct unpacking *unpacking, const struct header *header, char name[TB_TAR_NAME], uint64_t *bytes)
{
    struct header wanted;
    char folder[sizeof header->prefix + 1] = "", whole[sizeof folder + TB_TAR_NAME + 1];
    memset(name, 0, TB_TAR_NAME);
    memcpy(name, header->name, strnlen(header->name, sizeof header->name));
    memcpy(folder, header->prefix, strnlen(header->prefix, sizeof header->prefix));
    snprintf(whole, sizeof whole, "%s%s%s", folder, *folder ? "/" : "", name);
    if (memcmp(header->magic, "ustar", 5))
        return refuse(unpacking, header, whole);
    if (!folder_valid(folder) || !tb_tar_name_valid(name))
        return bad(unpacking, whole, "is no name of a packet's file, which is HOST/NAME and does not lead out of it");
    *bytes = 0;
    for (size_t i = 0; i < sizeof header->size - 1 && header->size[i] >= '0' && header->size[i] <= '7'; i++)
        *bytes = *bytes * 8 + (uint64_t)(header->size[i] - '0');
    header_make(folder, name, *bytes, &wanted);
    if (memcmp(header, &wanted, sizeof wanted))
        return refuse(unpacking, header, whole);
    if (unpacking->files++ == 0)
        memcpy(unpacking->folder, folder, strlen(folder) + 1);
    if (strcmp(unpacking->folder, folder))
        return bad(unpacking, whole, "is of another host than the first file, and a packet is of one");
    if (unpacking->files > FILES_MAX)
        return bad(unpacking, whole, "is one file too many for a packet");
    if (*bytes + padding(*bytes) > unpacking->left)
        return bad(unpacking, whole, "has fewer bytes than it says: " CUT_OFF);
    return 0;
}

static int folders_make(char *path, size_t below)
{
    for (char *slash = path + below; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        int rc = mkdir(path, 0777) && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (rc)
            return rc;
    }
    return 0;
}

static int file_read(struct unpacking *unpacking, const char *name, uint64_t bytes)
{
    char path[PATH_MAX], rest[BLOCK];
    int length = snprintf(path, sizeof path, "%s/%s/%s", unpacking->below, unpacking->folder, name);
    int rc = length < (int)sizeof path ? folders_make(path, strlen(unpacking->below)) : -ENAMETOOLONG;
    int fd = rc ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (!rc && fd < 0)
        rc = -errno;
    if (rc == -EEXIST || rc == -ENOTDIR || rc == -EISDIR)
        return bad(unpacking, name, "is in it twice");
    if (!rc)
        rc = copy(unpacking->fd, fd, bytes);
    if (!rc && fsync(fd))
        rc = -errno;
    if (fd >= 0 && close(fd) && !rc)
        rc = -errno;
    if (rc)
        return failed(unpacking, path, rc);
    unpacking->left -= bytes;
    rc = take(unpacking, rest, padding(bytes));
    return rc || all_zero(rest, padding(bytes)) ? rc : bad(unpacking, name, "has something hidden behind it");
}

static int unpack(struct unpacking *unpacking)
{
    static const struct {
        const char *magic, *remedy;
    } compressed[] = {{"\x28\xb5\x2f\xfd", "it was compressed: zstd -d"},
                      {"\x1f\x8b", "it was compressed: gunzip"},
                      {"\xfd"
                       "7zXZ",
                       "it was compressed: unxz"},
                      {"BZh", "it was compressed: bunzip2"}};
    struct header header;
    char name[TB_TAR_NAME];
    uint64_t bytes = 0;
    for (;;) {
        int rc = take(unpacking, &header, sizeof header);
        for (size_t i = 0; !rc && !unpacking->files && i < sizeof compressed / sizeof *compressed; i++)
            if (memcmp(&header, compressed[i].magic, strlen(compressed[i].magic)) == 0)
                return bad(unpacking, NULL, compressed[i].remedy);
        if (!rc && all_zero((const char *)&header, sizeof header))
            return end_check(unpacking);
        if (!rc)
            rc = header_read(unpacking, &header, name, &bytes);
        if (!rc)
            rc = file_read(unpacking, name, bytes);
        if (rc)
            return rc;
    }
}

int tb_tar_unpack(const char *path, const char *below, char folder[TB_TAR_FOLDER], char *why, size_t why_bytes)
{
    struct unpacking unpacking = {.path = path, .below = below, .why = why, .why_bytes = why_bytes};
    struct stat about;
    unpacking.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = unpacking.fd < 0 || fstat(unpacking.fd, &about) ? failed(&unpacking, path, -errno) : 0;
    if (!rc && !S_ISREG(about.st_mode))
        rc = bad(&unpacking, NULL, "it is no file");
    if (!rc) {
        unpacking.left = (uint64_t)about.st_size;
        rc = unpack(&unpacking);
    }
    if (unpacking.fd >= 0)
        close(unpacking.fd);
    memcpy(folder, unpacking.folder, TB_TAR_FOLDER);
    return rc;
}
