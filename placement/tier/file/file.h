// SPDX-License-Identifier: Apache-2.0
//
// file: what is in a tier's file, and the tier that has it open. Not installed.
//
//     block 0               struct file_first
//     blocks 1 .. units     struct file_header of the object whose first unit this is, or zeros
//     units                 from a multiple of unit_bytes on
//
// All numbers are in the machine's byte order: a file from a host with the other one has another magic number.
#ifndef LOCUS_TIER_FILE_INTERNAL_H
#define LOCUS_TIER_FILE_INTERNAL_H

#include "locus/tier_file.h"

#include "placement/tier/tier_internal.h"

#include <zstd.h>

#include "io.h"

#define FILE_BLOCK 4096u
#define FILE_VERSION 2u
#define FILE_MAGIC UINT64_C(0x31454c4946434f4c)   // "LOCFILE1", read on a little-endian host
#define HEADER_MAGIC UINT64_C(0x31544a424f434f4c) // "LOCOBJT1"
#define FILE_RUNS_MAX 448u
#define FILE_PACK_BYTES_MAX (64u << 20) // of an object that zstd is tried on
#define FILE_PARTS_MAX 4u // transfers of an operation under way at a time; more did not help an operation, and each needs a place

struct file_first {
    uint64_t magic;
    uint32_t version, checksum; // of the block, with 0 here
    uint64_t id;                // random; in each header, so that none of a former file counts
    uint64_t units;
    uint64_t secret[2];         // random, and of no meaning here: locus_tier_file_secret()
    uint32_t unit_bytes;
    uint32_t making;            // 1: zeros are being written behind this block, to get space for it: no object is there yet
    char rest[FILE_BLOCK - 56];
};

struct file_header {
    uint64_t magic;
    uint32_t version, checksum; // of the block, with 0 here
    uint64_t id;
    struct locus_id key;
    uint64_t sequence;
    uint64_t acknowledged;      // all stores up to this number were, when the header was written
    uint64_t bytes, held;
    uint32_t content;           // checksum of the held bytes
    uint32_t packed;            // 1: by zstd
    uint32_t runs_count;
    uint32_t runs[FILE_RUNS_MAX][2]; // {first unit, count}
    char rest[FILE_BLOCK - 84 - 8 * FILE_RUNS_MAX];
};

_Static_assert(sizeof(struct file_first) == FILE_BLOCK && sizeof(struct file_header) == FILE_BLOCK, "a block each");

// One transfer. The last block of an object goes through the slot's `tail`.
struct file_part {
    char *memory;
    uint64_t offset;            // in the file
    uint32_t bytes;             // 0: not under way
    uint32_t last;              // of them, bytes of the object to copy from `memory` to its place after a load
    bool placed;                // `memory` is not the place, but
    struct tier_cursor place;   // this is
    uint32_t tries;             // that the kernel put off, one after the other
};

enum file_phase { PHASE_BYTES, PHASE_HEADER };

struct file_slot {              // an operation under way
    struct locus_tier_op *op;   // NULL: none is
    char *stage, *tail;
    struct file_header *header;
    struct file_part part[FILE_PARTS_MAX];
    uint64_t at;                // so many of the padded bytes are done or under way,
    struct tier_cursor next;    // and from here on the caller's memory is wanted next
    uint64_t sequence;
    uint32_t unit;              // where `at` is: a run of units begins here,
    uint64_t run_at;            // at this byte
    uint32_t under_way;         // transfers
    uint32_t old;               // the object that is replaced, or OBJECT_NONE
    uint32_t chain[3];          // tags of the header's chain, in their order
    uint32_t chain_count;
    uint32_t again;             // number of the element that the kernel put off, or chain_count
    uint32_t cancelled;         // number of the first one that the kernel cancelled, or chain_count
    uint32_t tries;             // of the chain
    uint64_t erases;            // of the file, when the chain was queued: its syncs cover these
    int error;
    enum file_phase phase;
    bool staged;                // the bytes go through `stage`, part by part
};

struct file {
    struct locus_tier tier;
    struct io io;
    int fd;
    bool fresh;                 // the file: this open has made it
    uint64_t id, secret[2], units_offset;
    uint64_t sequence;          // the last one used
    uint64_t erases;            // headers of replaced objects that zeros were written over,
    uint64_t erases_synced;     // and how many of these a sync has covered
    uint32_t depth, slots_used;
    uint32_t stage_bytes;
    struct file_slot slot[LOCUS_TIER_DEPTH_MAX];
    char *buffers, *zeros;      // one allocation: a block of zeros, then each slot's header, tail and stage
    size_t buffers_bytes;
    struct locus_tier_op *waiting, **waiting_end;
    ZSTD_CCtx *packer;          // NULL: off
    ZSTD_DCtx *unpacker;
    int level;
    uint32_t pack_bytes_max;
    uint64_t packed_most;       // held bytes of the largest packed object that open found
    struct locus_tier_file_granted granted;
};

static inline uint64_t file_padded(uint64_t bytes)
{
    return (bytes + FILE_BLOCK - 1) / FILE_BLOCK * FILE_BLOCK;
}

static inline uint64_t file_units_offset(uint64_t units, uint32_t unit_bytes)
{
    uint64_t headers = (1 + units) * FILE_BLOCK;
    return (headers + unit_bytes - 1) / unit_bytes * unit_bytes;
}

static inline uint64_t file_header_offset(uint32_t unit)
{
    return (1 + (uint64_t)unit) * FILE_BLOCK;
}

static inline uint64_t file_unit_offset(const struct file *file, uint32_t unit)
{
    return file->units_offset + (uint64_t)unit * file->tier.unit_bytes;
}

// Of a block whose field at `checksum` counts as 0.
uint32_t file_block_checksum(const void *block, const uint32_t *checksum);

#define SAY(config, ...) tier_say((config)->why, (config)->why_bytes, __VA_ARGS__)

// name.c: opens what the config's path names, or makes it, and locks it. 0 or -errno, with a sentence or without.
int file_name_open(struct file *file, const struct locus_tier_file_config *config);

// The open has failed: a file that it has made does not stay.
void file_name_undo(const struct file *file, const char *path);

// scan.c: finds the objects. 0 or -errno, with a sentence.
int file_scan(struct file *file, char *why, size_t why_bytes);

// operations.c
uint64_t file_units(const struct locus_tier *tier, uint64_t bytes, uint64_t *held);
int file_begin(struct locus_tier *tier, struct locus_tier_op *op);
uint32_t file_poll(struct locus_tier *tier, uint64_t wait_ns);

#endif
