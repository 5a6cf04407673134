// SPDX-License-Identifier: Apache-2.0
//
// verify_packet: a packet's line in the ledger (packet.h). The ledger has its manifest's hash, the manifest has those of what lies
// beside it, and the seal, which only a packet that was filed has, is the checkpoint of that line. The logs in its list have their
// hashes in the ledger, and are checked by these.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/record/ledger.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/packet/packet_tar.h"
#include "testbed/record/verify/verify_internal.h"

// One sentence for each way of not being what was sealed. True when it is.
static bool same(struct verify *verify, const struct verify_host *host, size_t line, const char *path, const char *sha256)
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
    else
        return true;
    return false;
}

static void files_check(struct verify *verify, const struct verify_host *host, size_t line, const char *folder,
                        const json_t *manifest)
{
    char path[PATH_MAX];
    size_t i;
    json_t *file;
    json_array_foreach (json_object_get(manifest, "files"), i, file) {
        const char *name = tb_member_text(file, "name");
        if (strncmp(name, folder, strlen(folder)) == 0 && name[strlen(folder)] == '/' &&
            snprintf(path, sizeof path, "%s/%s/%s", verify->config->root, host->name, name) < (int)sizeof path)
            same(verify, host, line, path, tb_member_text(file, "sha256"));
    }
}

static void seal_check(struct verify *verify, const struct verify_host *host, size_t line, const char *folder)
{
    char path[PATH_MAX], text[256] = "";
    struct tb_checkpoint seal = {.bytes = 0};
    size_t end = line < host->chain.count ? host->chain.entries[line].offset : host->chain.bytes;
    snprintf(path, sizeof path, "%.3000s/%s/%.100s/%s", verify->config->root, host->name, folder, TB_PACKET_SEAL);
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
    const char *name = tb_member_text(entry, "manifest"), *id = tb_member_text(entry, "packet");
    char path[PATH_MAX], wanted[TB_TAR_NAME], folder[TB_TAR_NAME], why[300];
    json_t *manifest = NULL;
    host->packets++;
    bool fits = snprintf(folder, sizeof folder, TB_PACKET_FOLDER "/%s", id) < (int)sizeof folder &&
                snprintf(wanted, sizeof wanted, "%.60s/%s", folder, TB_PACKET_MANIFEST) < (int)sizeof wanted;
    if (!fits || !tb_tar_name_valid(wanted) || strcmp(name, wanted)) {
        tb_verify_finding(verify, WITNESS_LEDGER, host->ledger, line, "a packet whose manifest is not packet/ID/manifest.json");
        return;
    }
    snprintf(path, sizeof path, "%.3000s/%s/%s", verify->config->root, host->name, name);
    if (!same(verify, host, line, path, tb_member_text(entry, "sha256")))
        return;
    if (tb_packet_manifest_load(path, &manifest, why, sizeof why)) {
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "%s", why);
        return;
    }
    files_check(verify, host, line, folder, manifest);
    seal_check(verify, host, line, folder);
    json_decref(manifest);
}
