// SPDX-License-Identifier: Apache-2.0
//
// packet_manifest: the list of a packet's files, and who made it on what.
//
// A manifest comes from a stranger. It is read whole and strictly before anything in it is used: names are such as an archive can
// have, so none leads out of the host's folder, and none comes twice.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/base/json.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/packet_tar.h"

#define BYTES_MAX (16 << 20)            // 10000 files take two megabytes

const json_t *tb_packet_manifest_find(const json_t *manifest, const char *name)
{
    size_t i;
    json_t *file;
    json_array_foreach (json_object_get(manifest, "files"), i, file)
        if (strcmp(tb_member_text(file, "name"), name) == 0)
            return file;
    return NULL;
}

int tb_packet_manifest_add(json_t *manifest, const char *folder, const char *name)
{
    char path[PATH_MAX], sha256[TB_HASH_TEXT];
    struct stat about;
    if (tb_packet_manifest_find(manifest, name))
        return 0;
    if (!tb_tar_name_valid(name))
        return -EINVAL;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (lstat(path, &about))
        return -errno;
    if (!S_ISREG(about.st_mode))
        return -EINVAL;
    int rc = tb_hash_file(path, sha256);
    return rc ? rc
           : json_array_append_new(json_object_get(manifest, "files"),
                                   json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)about.st_size, "sha256", sha256))
               ? -ENOMEM
               : 0;
}

static bool is_hash(const char *text)
{
    struct tb_hash hash;
    return tb_hash_parse(text, &hash) == 0;
}

static bool is_one_of(const char *text, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static int file_check(const json_t *manifest, const json_t *file, char *why, size_t why_bytes)
{
    const char *name = tb_member_text(file, "name");
    const json_t *bytes = json_object_get(file, "bytes");
    if (!tb_tar_name_valid(name))
        snprintf(why, why_bytes, "a file in its list has no name that a packet's file can have");
    else if (tb_packet_manifest_find(manifest, name) != file)
        snprintf(why, why_bytes, "its list has %s twice", name);
    else if (!json_is_integer(bytes) || json_integer_value(bytes) < 0 || !is_hash(tb_member_text(file, "sha256")))
        snprintf(why, why_bytes, "its list does not have bytes and sha256 of %s", name);
    else
        return 0;
    return -EINVAL;
}

static int check(const json_t *manifest, char *why, size_t why_bytes)
{
    static const char *const kinds[] = {"hardware", "virtual", "emulated", "unknown", NULL}, *const runs[] = {"official", "smoke",
                                                                                                              NULL};
    static const char *const texts[] = {"packet", "time", "host", "program.version", "program.commit", NULL};
    const json_t *format = json_object_get(manifest, "format"), *files = json_object_get(manifest, "files");
    size_t i;
    json_t *file;
    if (!json_is_integer(format))
        return snprintf(why, why_bytes, "it is no manifest of a packet"), -EINVAL;
    if (json_integer_value(format) < 1 || json_integer_value(format) > TB_PACKET_FORMAT)
        return snprintf(why, why_bytes, "it is of format %lld, and this program knows %d: build a newer one",
                        (long long)json_integer_value(format), TB_PACKET_FORMAT),
               -EINVAL;
    for (const char *const *text = texts; *text; text++)
        if (!*tb_member_text(manifest, *text))
            return snprintf(why, why_bytes, "it does not say its %s", *text), -EINVAL;
    if (!is_one_of(tb_member_text(manifest, "kind"), kinds) || !is_one_of(tb_member_text(manifest, "runs"), runs))
        return snprintf(why, why_bytes, "its kind or runs is none that there is"), -EINVAL;
    if (!json_is_array(files))
        return snprintf(why, why_bytes, "it has no list of files"), -EINVAL;
    json_array_foreach (files, i, file)
        if (file_check(manifest, file, why, why_bytes))
            return -EINVAL;
    return 0;
}

int tb_packet_manifest_load(const char *path, json_t **out, char *why, size_t why_bytes)
{
    json_error_t error;
    struct stat about;
    *out = NULL;
    if (stat(path, &about))
        return snprintf(why, why_bytes, "%s", strerror(errno)), -errno;
    if (!S_ISREG(about.st_mode) || about.st_size > BYTES_MAX)
        return snprintf(why, why_bytes, "it is no file, or far too large"), -EINVAL;
    json_t *manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!manifest) {
        snprintf(why, why_bytes, "line %d: %s", error.line, error.text);
        return -EINVAL;
    }
    int rc = check(manifest, why, why_bytes);
    if (rc)
        json_decref(manifest);
    else
        *out = manifest;
    return rc;
}
