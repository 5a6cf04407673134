// SPDX-License-Identifier: Apache-2.0
//
// tier_file: a tier in one file, written and read past the page cache (O_DIRECT) through io_uring.
//
// Acknowledged is durable. done() with 0 says that bytes and header are on the device: the header is written when all bytes have
// been, and a data sync that is linked to it (IOSQE_IO_LINK) ends the store. So a store costs a flush of the device's cache;
// several that are under way share it as the file system can. A restart, after a kill or a loss of power, finds each object whole
// or absent, the newest of each key, and all that were acknowledged; a drop that was acknowledged stays. A drop costs a flush, too,
// and one more before it if a store has replaced an object since the last one: else the replaced version could come back.
//
// How. The file has a first block, a header of 4 KiB for each unit, and the units. An object's header lies at the number of its
// first unit and has key, length, units, checksum and a sequence number, which only grows. It also says up to which number all
// stores had been acknowledged by then. So open reads the headers alone; only what is newer than the largest such number may be
// torn, and of these few the bytes are read, too. If they cannot be, the object is kept, and its load says why; but where an older
// version of the key is still there and whole, that one is found, as if the newer one were torn. Torn and outdated headers are
// erased before the tier is opened. The bytes of an object that was dropped remain in the file until their units are used again.
//
// After a header or a sync has failed, nobody knows what is on the device, and a later sync would say nothing about it. So the tier
// takes no more stores and drops (-EIO, locus_tier_why()); what it has can be loaded. If only bytes could not be written, that
// store fails, with the error of the write, and the tier goes on.
//
// Where io_uring is not to be had (an old kernel, a sysctl, a seccomp filter, be it one that is installed later), each operation is
// done by pwrite, fdatasync and pread within the call, and is delivered by poll as usual: the same file, one operation at a time.
// Where the file system does not know O_DIRECT (tmpfs), the page cache is used. Both are no error but facts to look at:
// locus_tier_file_granted().
//
// Bytes that begin at a multiple of 4 KiB are transferred from and to the caller's memory, others through a buffer of the tier. The
// last block of an object always goes through one. `memory` is registered with the kernel, which then need not pin its pages for
// each operation. Take huge pages for it: a device takes a limited number of segments in a request (some hundred), and a base page
// is one, unless its neighbour lies beside it in memory.
//
// The file is the user's alone: what is in it is believed, and others' requests are in it. It is a regular file of the effective
// user, without rights for group and others, and with one name; a new one gets mode 0600. The last component of the path is no
// link. Its folders may be links, and others may write to them (as to /tmp): such a one can take the file away, but not pass off
// another. What is not so is refused and left as it is. A new file of an open that fails is removed.
//
// A ring per tier, a tier per node: open it on a thread of the node, so that ring and buffers are near, and give each node a file.
// The file has one owner: a second open of it, from this process or another, is -EBUSY. A killed owner's ring may hold the file
// for a moment longer than the process is there.
#ifndef LOCUS_TIER_FILE_H
#define LOCUS_TIER_FILE_H

#include <stdbool.h>

#include "tier.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_TIER_DEPTH_MAX 64u

struct locus_tier_file_config {
    size_t size;                // sizeof this struct (version.h)
    const char *path;           // made if it is not there, or empty
    uint64_t bytes;             // of a new file, which all are allocated at once, or written, where the file system allocates none
                         // (NFS, ZFS). 0: the file must be there. For a file that is there: 0, or as it was made
    uint32_t unit_bytes;        // a power of two from 4 KiB to 64 MiB; 0: 256 KiB, or the file's. An object has at most 448 units
    uint32_t depth;             // operations under way at a time, 1 .. LOCUS_TIER_DEPTH_MAX; 0: 16
    void *memory;               // NULL, or memory of which most objects are stored and loaded: registered, must outlive the tier
    size_t memory_bytes;
    int zstd_level;             // 0: off; else 1 .. 19. An object in one piece is compressed, within the call, or within poll if it
    uint32_t zstd_bytes_max;    // had to wait, if that saves at least a block of 4 KiB and a tenth of it; larger ones than this are
                             // not tried. 0: 1 MiB. For each of `depth` a buffer of this size is allocated. What is compressed
                             // is loaded into one piece: else done() gets -EINVAL
    bool no_io_uring;           // as if the kernel had none
    char *why;                  // NULL, or room for a sentence on why open failed; not used if `size` is not possible
    size_t why_bytes;
};

// 0, or:
// -EINVAL   a field is out of range; or the file was made with other bytes or unit_bytes; or is no tier's at all, and not empty;
//           or is no regular file
// -EISDIR, -ELOOP   a directory, a symbolic link
// -EPERM    the file is another user's, or has rights for group or others, or a second name (a hard link)
// -EPROTO   the file is of another version of the format. Version 1 had keys of 64 bits
// -ENOENT   bytes is 0, and there is no such file, or it is empty, or its making was cut off; with bytes it is made, or made anew
// -EBUSY    another tier has it open
// -ENOSPC   the file system has no room for `bytes`
// -EFBIG    RLIMIT_FSIZE, which would end the process with SIGXFSZ, or the file system allows no such size
// -EIO, ... an error of the file system
// -ENOMEM, -E2BIG (version.h)
int locus_tier_file_open(struct locus_tier **out, const struct locus_tier_file_config *config);

struct locus_tier_file_granted {
    bool direct;                // O_DIRECT
    bool io_uring;
    bool registered_buffers;    // the tier's own (RLIMIT_MEMLOCK may forbid it)
    bool registered_memory;     // the caller's, too
    int direct_errno, io_uring_errno, registered_errno; // positive: why not; 0: granted, or not asked for
    bool made;                  // the file is new
    uint64_t torn;              // stores that open found incomplete, or unreadable beside an older version, and removed
    uint64_t outdated;          // headers of objects that had been replaced
    uint64_t read_whole;        // objects whose bytes open had to read
};

// As of now: io_uring may be denied later than open. -EINVAL: not a tier in a file.
int locus_tier_file_granted(const struct locus_tier *tier, struct locus_tier_file_granted *out);

// 128 random bits, drawn by getrandom(2) when the file is made and kept in it: each open of the file gives the same. For a caller
// whose keys depend on a secret and have to be the same after a restart, as the ids of a prefix cache are. The tier makes no use of
// them. They are as secret as the file is. -EINVAL: not a tier in a file.
int locus_tier_file_secret(const struct locus_tier *tier, uint64_t out[2]);

#ifdef __cplusplus
}
#endif

#endif
