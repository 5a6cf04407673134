// SPDX-License-Identifier: Apache-2.0
//
// io: transfers to and from one file by io_uring; or by pwrite, pread and fdatasync with the same calls. Not installed.
//
// Queued transfers may begin at io_submit() at the latest. `link`: the next one begins after this one has succeeded in full, else
// it ends with -ECANCELED. A chain is queued after io_room(): a ring cuts a chain where it is submitted. If the kernel takes only
// the first part of a chain, the next element ends with -EAGAIN, and the others as after an error.
//
// A kernel that has given a ring may deny its use, at once or later: a filter of system calls may know io_uring_setup alone, or be
// installed by a library of the caller's. Then the plain calls do what is queued and all that follows. Every transfer ends once.
#ifndef LOCUS_TIER_IO_H
#define LOCUS_TIER_IO_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#define IO_UNDER_WAY_MAX 256u

struct io_result {
    uint64_t tag;
    int result;                 // bytes, or -errno
};

struct io {
    int fd;
    bool ring_open;
    bool ring_ends;             // it takes no more, and is closed when what the kernel has of it has been reaped
    int denied;                 // positive: the error for which it ends
    struct io_uring ring;
    char *registered;           // first of the buffers: the tier's own
    size_t registered_bytes;
    char *memory;               // the caller's, registered in parts of IO_PART_BYTES
    size_t memory_bytes;
    bool broken;                // without a ring: an element of the chain failed
    bool linked;                // without a ring: the next transfer is in a chain
    bool chain_failed;          // without a ring: a chain has failed, whose results may not have been reaped
    uint32_t results_first, results_count;
    struct io_result results[IO_UNDER_WAY_MAX]; // that are in no ring, and not reaped
};

// 0; or the error for which there is no ring, and then the plain calls are used.
int io_open(struct io *io, int fd, uint32_t under_way_max, bool plain);
void io_close(struct io *io);

// 0 or -errno. io_register() may be called again after it has failed.
int io_register(struct io *io, void *own, size_t own_bytes, void *memory, size_t memory_bytes);

void io_room(struct io *io, uint32_t transfers);
void io_transfer(struct io *io, bool write, void *memory, uint32_t bytes, uint64_t offset, uint64_t tag, bool link);
void io_sync(struct io *io, uint64_t tag, bool link);
void io_submit(struct io *io);

// At most `max`. Waits up to wait_ns if there are none.
uint32_t io_reap(struct io *io, struct io_result *out, uint32_t max, uint64_t wait_ns);

#endif
