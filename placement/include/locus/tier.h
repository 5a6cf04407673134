// SPDX-License-Identifier: Apache-2.0
//
// tier: a place where bytes wait until they are wanted again: in another node's memory, as int8 in memory, or in a file.
//
// A tier holds objects: a key of the caller's (id.h) and a number of bytes, stored as a whole and loaded as a whole. Any key will
// do, zeros, too: a tier only compares them. There are two kinds in memory, opened here; tier_file.h opens the file. What goes
// where, and when, is the caller's policy: demote.h.
//
//     store     the object is new, or takes the place of the key's old one when it is complete. Until then, and if the store
//               fails, the old one stays. So a replacement needs room beside the old object.
//     load      copies the object to the caller's memory and checks it.
//     drop      removes it.
//
// Bytes may lie in pieces, as a block does whose layers lie apart: storev and loadv are store and load for these, as pwritev is
// pwrite. The object is the same, so what was stored in one piece may be loaded in several, and the other way round.
//
// An operation is a struct of the caller's, so none is allocated. A call that returns an error has not begun: done() is not
// called. After a 0 done() is called exactly once, and until then the struct and the bytes belong to the tier:
//
//     in memory     within the call itself, at its end. Poll has nothing to do.
//     in a file     within locus_tier_poll() or locus_tier_close(). Up to the configured depth are under way at a time, the others
//                   wait in their order.
//
// done() may start operations on the same tier, but must not poll or close it. Operations on the same key: loads may overlap. A
// load that was started before a store or a drop gets the old object. While a store or a drop is under way, another is -EBUSY.
//
// Space is handed out in units, and an object takes any free ones, so objects of all sizes share it and what is free can be used:
// -ENOSPC means that there are too few free units, never that they are scattered. The last unit of an object is partly empty.
//
// Each object has a checksum, CRC-32C (Castagnoli): of what is stored, made in the pass that stores and checked in the pass that
// loads. It finds every error of up to 32 successive bits, and all but one in 2^32 of any others. x86-64 and aarch64 compute it
// with their own instructions, else a table does.
//
// Tiers in memory. *far* holds bytes as they are in the memory of a node, for near nodes another one: a socket's, or CXL memory,
// which is a node without CPUs. *int8* holds f16 numbers as int8 (int8.h), in about half of the bytes. Both are one region
// (region.h), bound strictly to the node and populated by open, so that a node without room is an error there and not a SIGKILL
// later. Requested, granted and verified placement: locus_region_verify(locus_tier_region(tier), ...). A store is one copy, and so
// is a load. Free units are taken from the lowest up, and neighbours are copied by one memcpy. int8 is lossy: int8.h states the
// bound, and the caller decides whether an object may lose that much. locus_tier_store() takes whole f16 numbers at an aligned
// address, and a load gives f16 numbers again.
//
// Threads: none of the calls takes a lock. A tier has one owner at a time, whose thread makes all calls, except
// locus_tier_stats(): that one is for any thread. Another thread may take over if something orders it after the first. A node's
// threads use the node's tier, so that each has a ring of its own (tier_file.h).
// Memory: allocated by open: at most 80 bytes a unit.
#ifndef LOCUS_TIER_H
#define LOCUS_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "id.h"
#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_tier;

struct locus_piece {            // some of the bytes of an object, in the caller's memory
    void *memory;               // a store only reads it
    uint64_t bytes;
};

struct locus_tier_op {
    // 0; -EBADMSG: the checksum is not that of the bytes, which must not be used; -EIO or another error of the file. After a failed
    // load the object is still there. Never NULL.
    void (*done)(struct locus_tier_op *op, int result);
    struct locus_tier_op *next; // from here on the tier's
    const struct locus_piece *pieces;
    struct locus_piece piece;         // the only one, of store and load
    struct locus_id key;
    uint64_t bytes;
    uint32_t object, kind;
};

// NULL is allowed. Waits for what is under way, and calls done() for it. A tier in memory forgets its objects, a file keeps them.
void locus_tier_close(struct locus_tier *tier);

// 0, or:
// -EINVAL   no bytes; or as the kind says (locus_tier_int8_open)
// -EFBIG    more than this tier could ever hold
// -ENOSPC   more than it has room for now: drop something
// -EBUSY    another store or drop of this key is under way
// -ERANGE   int8 only: a number is infinite or NaN
// -EIO      a file that could not be written before (locus_tier_why): no more stores and drops, but loads
// -ENODEV   the memory is no longer where it was (locus_tier_check): likewise
int locus_tier_store(struct locus_tier *tier, struct locus_id key, const void *from, uint64_t bytes, struct locus_tier_op *op);

// `bytes`: the room at `to`. The object has locus_tier_find() bytes, and no others are written. 0, -ENOENT, -EMSGSIZE: less room
// than that, or -EINVAL: as the kind says (locus_tier_int8_open).
int locus_tier_load(struct locus_tier *tier, struct locus_id key, void *to, uint64_t bytes, struct locus_tier_op *op);

// The same, for memory in `count` pieces, in their order. The array belongs to the tier until done(), as the bytes do. -EINVAL as
// above, and: no piece, or one without bytes; of int8 a piece, other than the last, that is not whole groups of LOCUS_INT8_GROUP
// numbers. A file moves pieces without a copy if all begin at a multiple of 4 KiB, and all but the last have one as length.
int locus_tier_storev(struct locus_tier *tier, struct locus_id key, const struct locus_piece pieces[], uint32_t count,
                      struct locus_tier_op *op);
int locus_tier_loadv(struct locus_tier *tier, struct locus_id key, const struct locus_piece pieces[], uint32_t count,
                     struct locus_tier_op *op);

// After done() with 0 the object does not come back, whatever happens. 0, -ENOENT, -EBUSY, -EIO or -ENODEV.
int locus_tier_drop(struct locus_tier *tier, struct locus_id key, struct locus_tier_op *op);

// Starts what waits, and delivers what is complete. If nothing is, waits up to `wait_ns` until something is, or until nothing is
// under way. Returns how many were delivered.
uint32_t locus_tier_poll(struct locus_tier *tier, uint64_t wait_ns);

// Is the key's object here, and how long was it when it was stored? An object is here from its store's done() to the call of
// drop. bytes may be NULL. 0 or -ENOENT.
int locus_tier_find(const struct locus_tier *tier, struct locus_id key, uint64_t *bytes);

// Calls each() for every object, in no order, until it returns something other than 0, and returns that. each() must not call the
// tier. This is how a restart learns what is in a file.
int locus_tier_each(const struct locus_tier *tier, int (*each)(void *context, struct locus_id key, uint64_t bytes), void *context);

// Is the memory under the tier still where it was? 0, or -ENODEV: a node went offline, or pages were moved away from it. The kernel
// moves the pages first, so the objects are still there and can be loaded, but nothing new is taken. (Memory that fails without
// warning answers a load with SIGBUS; the library does not catch it.) Asks the kernel about every page, so call it seldom. Another
// error: the node could not be looked at, and the tier goes on. Of a file: 0, or the -EIO of its stores.
int locus_tier_check(struct locus_tier *tier);

// One sentence (no newline, no full stop) on why the tier takes no stores; "" if it does. It lives as long as the tier.
const char *locus_tier_why(const struct locus_tier *tier);

struct locus_tier_stats {
    uint64_t objects, units_free, units, unit_bytes; // now
    uint64_t bytes, bytes_held; // of the objects now: as they were given, and as they are stored
    uint64_t stores, loads, drops; // completed without an error
    uint64_t bytes_stored, bytes_loaded; // by these, as given
    uint64_t failed;            // done() with an error
    uint64_t refused_checksum;  // of these: loads that a checksum refused
    uint64_t refused_room;      // stores that returned -ENOSPC
};

// Any thread. Each number is as of some moment.
void locus_tier_stats(const struct locus_tier *tier, struct locus_tier_stats *out);

struct locus_tier_far_config {
    size_t size;                // sizeof this struct (version.h)
    uint64_t bytes;             // of the region, > 0; rounded up to whole units
    uint32_t unit_bytes;        // a power of two from 4 KiB to 2 MiB; 0: 64 KiB
    int node;                   // OS node; LOCUS_NODE_ANY: first touch, that is the node of the opening thread
    enum locus_page page;       // of the region
    bool unchecked;             // no checksums. By default there are some in memory, too: they find stray writes, and faults of
                          // memory behind a link. They cost a pass over bytes that are in the first cache
    char *why;                  // NULL, or room for a sentence on why open failed; not used if `size` is not possible
    size_t why_bytes;
};

// 0, -EINVAL (a field is out of range), -E2BIG (version.h), -ENOMEM, or as locus_region_open().
int locus_tier_far_open(struct locus_tier **out, const struct locus_tier_far_config *config);

// The same memory, for f16 numbers. So an object has an even number of bytes: locus_tier_store() and locus_tier_load() return
// -EINVAL for an odd number of them (of a load, the room at `to`) or an odd address, and a store -ERANGE if a number is infinite
// or NaN: keep such an object as it is, elsewhere. bytes_held of the stats is what int8 takes. After -EBADMSG the memory at `to`
// has no meaning.
int locus_tier_int8_open(struct locus_tier **out, const struct locus_tier_far_config *config);

// The memory; NULL for a file.
const struct locus_region *locus_tier_region(const struct locus_tier *tier);

#ifdef __cplusplus
}
#endif

#endif
