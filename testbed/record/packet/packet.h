// SPDX-License-Identifier: Apache-2.0
//
// packet: what one host found out, in one archive to send, and the way of such an archive into the record.
//
//     HOST/seal                       the ledger's checkpoint: HOST BYTES HASH
//     HOST/seal.sig                   somebody's signature of it, as of any checkpoint (ssh-keygen, namespace locus-checkpoint)
//     HOST/ledger.jsonl               its last line: {t "packet", packet ID, manifest "packet/ID/manifest.json", sha256}
//     HOST/packet/ID/manifest.json    format, packet, time, host, kind, program, runs "official" | "smoke", files [{name, bytes,
//                                     sha256}]: all that follow
//     HOST/packet/ID/NAME             topo.json, topo.xml, doctor.json, matrix.json
//     HOST/NNNN-slug/RUN.jsonl        the log of every run in the ledger
//     HOST/experiments/NNNN-slug.md   every record in the ledger, which has its hash (since format 2)
//
// So one hash seals it all: that of the seal is the ledger's, the ledger has the manifest's, and that has every file's. Filed under
// logs/, the same files lie below the same names, and `locus verify` checks the packet's line like any other of the ledger; only
// the seal and its signature go to packet/ID/, and the records to experiments/ of the current folder, where ledgers name them.
#ifndef TB_PACKET_H
#define TB_PACKET_H

#include <limits.h>
#include <stdint.h>

#include "testbed/record/ledger.h"

#define TB_PACKET_FORMAT 2      // 1 had no records
#define TB_PACKET_ID 48         // YYYYMMDDTHHMMSSZ-RRRRRR with room
#define TB_PACKET_FOLDER "packet"
#define TB_PACKET_MANIFEST "manifest.json"
#define TB_PACKET_SEAL "seal"
#define TB_PACKET_SIGNATURE "seal.sig"

// --- packet_manifest.c ---

// Adds a file below `folder`, unless it has that name already. 0 or -errno.
int tb_packet_manifest_add(json_t *manifest, const char *folder, const char *name);

// The entry of that name in "files", or NULL. Borrowed.
const json_t *tb_packet_manifest_find(const json_t *manifest, const char *name);

// Reads one and checks that it says all that it must, in a known format. 0, -EINVAL, -errno: why is one sentence without the path.
int tb_packet_manifest_load(const char *path, json_t **out, char *why, size_t why_bytes);

// --- packet_pack.c ---

struct tb_packet_part {         // a file of the packet that is in no ledger
    const char *name;           // "topo.json"
    char *text;
};

struct tb_packet_making {
    const char *root, *host, *output;
    const char *kind;           // "hardware", "virtual", "emulated", "unknown"
    const char *sign;           // a private key, or NULL
    bool official;
    const struct tb_packet_part *parts;
    size_t parts_count;
    struct tb_checkpoint checkpoint; // what sealed it
    uint64_t bytes;             // of the archive
};

// Enters the packet into the ledger of root/host and writes the archive. 0 or -errno, with one sentence in `why`.
int tb_packet_pack(struct tb_packet_making *making, char *why, size_t why_bytes);

// --- packet_check.c ---

struct tb_packet {
    char below[PATH_MAX];       // where HOST/ was unpacked; it goes with tb_packet_close()
    char host[64];
    char id[TB_PACKET_ID];
    json_t *manifest;
    struct tb_chain ledger;
    struct tb_checkpoint seal;
    json_t *remarks;            // strings: what is no reason to refuse it, and should be known
    char signer[256];           // "" without a key to check by
};

// Unpacks the archive below `parent` (which must exist) and checks everything that can be known without filing it: each thing that
// is wrong is a line of `findings`, an array of strings. 0: it was looked at; -EINVAL (no packet at all), -errno: why.
int tb_packet_check(const char *path, const char *parent, const char *key, struct tb_packet *out, json_t *findings, char *why,
                    size_t why_bytes);
void tb_packet_close(struct tb_packet *packet);

// --- packet_file.c ---

struct tb_packet_filed {
    bool new_host;
    size_t files, ledger_before, ledger_after; // new files below the host's folder; bytes
};

// Moves a checked packet to root/HOST: as a whole where there is none, otherwise only what is new, if the packet's ledger goes on
// from the one here; its records go to experiments/. Nothing that is here is changed. 0; -EEXIST: it does not (why); -errno.
int tb_packet_file(const struct tb_packet *packet, const char *root, struct tb_packet_filed *out, char *why, size_t why_bytes);

#endif
