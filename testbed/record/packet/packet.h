// SPDX-License-Identifier: Apache-2.0
//
// packet: what one host found out, in one archive to send. `locus packet import` takes it home (import.h).
//
//     HOST/seal                       the ledger's checkpoint: HOST BYTES HASH
//     HOST/seal.sig                   somebody's signature of it, as of any checkpoint (ssh-keygen, namespace locus-checkpoint)
//     HOST/ledger.jsonl               its last line is the packet's: {t "packet", packet ID, format, kind, program {version,
//                                     commit, dirty, binary_sha256}, files {NAME: SHA-256}}
//     HOST/packet/ID/NAME             topo.json, topo.xml, doctor.json, matrix.json; of earlier packets, too
//     HOST/NNNN-slug/RUN.jsonl        the log of every run in the ledger
//     HOST/experiments/NNNN-slug.md   every record in the ledger
//
// So one hash seals it all: that of the seal is the ledger's, and the ledger has the last hash of each log that was closed, the
// hash of each record, and in the packet's line those of the rest: what lies in packet/ID/, and logs of runs that crashed. At home
// the same files lie below the same names, and `locus verify` checks the packet's line like any other of the ledger; only the
// seal and its signature go to packet/ID/, and the records to experiments/ of the current folder, where ledgers name them.
#ifndef TB_PACKET_H
#define TB_PACKET_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "testbed/record/ledger.h"

#define TB_PACKET_FORMAT 3      // 1 and 2 had a manifest
#define TB_PACKET_ID 48         // YYYYMMDDTHHMMSSZ-RRRRRR with room
#define TB_PACKET_FOLDER "packet"
#define TB_PACKET_SEAL "seal"
#define TB_PACKET_SIGNATURE "seal.sig"

struct tb_packet_part {         // a file of the packet that is in no ledger
    const char *name;           // "topo.json"
    char *text;                 // malloc'd; NULL: there is none, and no such file
};
enum { TB_PACKET_MATRIX = 3, TB_PACKET_PARTS };

struct tb_packet {
    const char *root, *output;
    char host[64];
    const char *sign;           // a private key, or NULL
    char kind[16];              // "hardware", "virtual", "emulated", "unknown"
    struct tb_packet_part parts[TB_PACKET_PARTS]; // the last one is the matrix
    struct tb_checkpoint checkpoint; // what sealed it
    uint64_t bytes;             // of the archive
    char why[1024];             // after an error: one sentence
    // of tb_packet_pack()
    struct tb_ledger *ledger;
    json_t *names, *files;      // all that goes into the archive; of these, what the packet's line has the hash of
    char id[TB_PACKET_ID];
    char folder[PATH_MAX];      // root/HOST
    char scratch[PATH_MAX];     // with the seal, and links to all else: what tar packs; "" until it is there
};

// Fills in the kind, and the parts that say what machine this is.
void tb_packet_look(struct tb_packet *packet);

// Enters the packet into the ledger of root/host and writes the archive. 0 or -errno.
int tb_packet_pack(struct tb_packet *packet);

void tb_packet_close(struct tb_packet *packet);

// Does a packet's line say all that it must, in a known format, with names that lead nowhere? 0 or -EINVAL: why. verify_host.c
int tb_packet_line_check(const json_t *line, char *why, size_t why_bytes);

// --- the archive ---
//
// Written and read by tar(1) in a process of its own. It is the one ustar that `tar` makes of its files by the options in packet.c:
// plain files of mode 0644 of nobody, of no date, in the order of their names, each HOST/NAME. What is read is listed first, then
// unpacked, then packed again, and refused unless both archives are the same to the byte. It is not compressed: no file can become
// larger than the archive that it came in.
//
// Why not a library: what a stranger sent is unpacked in a process of its own.

#define TB_TAR_HOST 64 // with the NUL
#define TB_TAR_NAME 256

// Up to three parts between slashes, each of letters, digits, '.', '_' and '-', and none begins with a '.' or a '-'.
bool tb_tar_name_valid(const char *name);

// Unpacks an archive as folder/HOST, which must not be there, in an empty folder. All files have the same HOST, whose name is
// returned. 0; -EINVAL: it is no such archive, or not to the byte; -errno: `why` is one sentence in either case.
int tb_tar_unpack(const char *path, const char *folder, char host[TB_TAR_HOST], char *why, size_t why_bytes);

#endif
