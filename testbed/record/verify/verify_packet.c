// SPDX-License-Identifier: Apache-2.0
//
// verify_packet: a packet's line in the ledger (packet.h). It has the hashes of what lies in packet/ID/ and of logs of runs that
// crashed; the seal, which only a packet that came home has, is the checkpoint of that line. All else has its hash in other lines.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/record/ledger.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/tar.h"
#include "testbed/record/verify/verify_internal.h"

static bool is_one_of(const char *text, const char *const words[])
{
    while (*words && strcmp(text, *words))
        words++;
    return *words != NULL;
}

static int bad(char *why, size_t why_bytes, const char *what, const char *name)
{
    snprintf(why, why_bytes, "%s%.100s", what, name);
    return -EINVAL;
}

int tb_packet_line_check(const json_t *line, char *why, size_t why_bytes)
{
    static const char *const kinds[] = {"hardware", "virtual", "emulated", "unknown", NULL};
    json_t *files = json_object_get(line, "files"), *sha256;
    const char *id = tb_member_text(line, "packet"), *name;
    json_int_t format = json_integer_value(json_object_get(line, "format"));
    struct tb_hash hash;
    if (format > TB_PACKET_FORMAT)
        return bad(why, why_bytes, "a packet of a format that is newer than this program: build a newer one", "");
    if (format != TB_PACKET_FORMAT)
        return bad(why, why_bytes, "a packet of no format that this program knows: make it again (locus packet --no-run)", "");
    if (!tb_tar_name_valid(id) || strchr(id, '/') || strlen(id) >= TB_PACKET_ID)
        return bad(why, why_bytes, "a packet without a name", "");
    if (!is_one_of(tb_member_text(line, "kind"), kinds))
        return bad(why, why_bytes, "the packet's kind is none that there is: ", tb_member_text(line, "kind"));
    if (!*tb_member_text(line, "program.version") || !*tb_member_text(line, "program.commit") || !json_is_object(files))
        return bad(why, why_bytes, "the packet does not say its program or its files", "");
    json_object_foreach (files, name, sha256)
        if (!tb_tar_name_valid(name))
            return bad(why, why_bytes, "no name that a packet's file can have: ", name);
        else if (!json_is_string(sha256) || tb_hash_parse(json_string_value(sha256), &hash))
            return bad(why, why_bytes, "the packet has no SHA-256 of ", name);
    return 0;
}

// One sentence for each way of not being what was sealed.
static void same(struct verify *verify, const struct verify_host *host, size_t line, const char *path, const char *sha256)
{
    char own[TB_HASH_TEXT];
    int rc = tb_hash_file(path, own);
    if (rc == -ENOENT || rc == -ENOTDIR)
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "a file of the packet sealed here is missing: %s", path);
    else if (rc)
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "cannot be read: %s", strerror(-rc));
    else if (strcmp(own, sha256))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1,
                          "changed after its packet was sealed at %s:%zu: its sha256 is %.12s, not %.12s", host->ledger, line, own,
                          sha256);
}

static void seal_check(struct verify *verify, const struct verify_host *host, size_t line, const char *id)
{
    char path[PATH_MAX], text[256] = "";
    struct tb_checkpoint seal = {.bytes = 0};
    size_t end = line < host->chain.count ? host->chain.entries[line].offset : host->chain.bytes;
    snprintf(path, sizeof path, "%.3000s/%s/" TB_PACKET_FOLDER "/%s/" TB_PACKET_SEAL, verify->config->root, host->name, id);
    FILE *file = fopen(path, "re");
    if (!file)
        return; // on the machine that made it
    bool whole = fgets(text, sizeof text, file) && tb_checkpoint_parse(text, &seal) == 0;
    fclose(file);
    if (!whole || strcmp(seal.host, host->name) || seal.bytes != end ||
        memcmp(&seal.head, &host->chain.entries[line - 1].head, sizeof seal.head))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "not the seal of the packet at %s:%zu", host->ledger, line);
}

void tb_verify_packet(struct verify *verify, struct verify_host *host, const json_t *entry, size_t line)
{
    char path[PATH_MAX], why[300];
    const char *name;
    json_t *sha256;
    host->packets++;
    if (tb_packet_line_check(entry, why, sizeof why)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "%s", why);
        return;
    }
    json_object_foreach (json_object_get(entry, "files"), name, sha256) {
        snprintf(path, sizeof path, "%.3000s/%s/%s", verify->config->root, host->name, name);
        same(verify, host, line, path, json_string_value(sha256));
    }
    seal_check(verify, host, line, tb_member_text(entry, "packet"));
}
