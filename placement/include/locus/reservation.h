// SPDX-License-Identifier: Apache-2.0
//
// reservation: admission that reserves. What one scheduler has reserved for a request, another cannot reserve again.
//
// A check like "are there enough free blocks?" reserves nothing: two schedulers can both pass it, and one sequence that outgrows
// its prompt takes what another was told it could have. Here admit() reserves blocks in the same step in which it finds them, and
// grow() takes reserved blocks first and others only if nobody has reserved them.
//
//     admit(reservation, now, most)      0: the blocks are reserved;  -EAGAIN: not now;  -ENOSPC: never
//     grow(reservation, table, n)        takes them, and more if nobody has reserved those
//     end(reservation)                   what was reserved and not taken
//
// How much is reserved for a request is the engine's choice:
//
//     LOCUS_ADMIT_FULL        all that it may ever need: no admitted request ever lacks a block, and much is reserved in vain
//     LOCUS_ADMIT_PROMPT      its prompt: the pool is full, and requests that outgrow it must be preempted
//     LOCUS_ADMIT_WATERMARK   its prompt, if the watermark stays free while others run: room for those to grow
//
// Everybody who takes blocks of this pool must do it through its reservations: grow, write, match, load and offload_start here do
// what the functions of the same names do, under a reservation. A match takes cached blocks; one that is in use costs nothing.
// Available is what is free or cached (prefix.h) and not reserved; blocks on their way count when they are home.
//
// Threads: admit and end may be called by any thread, grow is owner context. A reservation belongs to one thread at a time.
#ifndef LOCUS_RESERVATION_H
#define LOCUS_RESERVATION_H

#include "offload.h"
#include "owner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum locus_admission { LOCUS_ADMIT_FULL, LOCUS_ADMIT_PROMPT, LOCUS_ADMIT_WATERMARK };

struct locus_reservations;

struct locus_reservations_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_owner *owner;  // borrowed, must outlive this
    enum locus_admission admission;
    uint32_t watermark_blocks;  // for LOCUS_ADMIT_WATERMARK, less than the pool has
};

// One request's; {0} before it is admitted.
struct locus_reservation {
    uint32_t blocks;            // reserved and not taken
};

// 0, -EINVAL, -E2BIG (version.h) or -ENOMEM. One for a pool; nobody checks that.
int locus_reservations_open(struct locus_reservations **out, const struct locus_reservations_config *config);
void locus_reservations_close(struct locus_reservations *reservations); // NULL is allowed

// `now` blocks are needed to begin, `most` is what the request may need in the end, both without blocks that it has adopted from a
// prefix cache. 0, -EAGAIN, -ENOSPC: the pool is too small for `most`, -EINVAL: now > most, or the reservation is not {0}.
int locus_reservation_admit(struct locus_reservations *reservations, struct locus_reservation *reservation, uint32_t now,
                            uint32_t most);

// locus_owner_grow(), but -EAGAIN if the blocks beyond the reservation are reserved by others.
int locus_reservation_grow(struct locus_reservations *reservations, struct locus_reservation *reservation,
                           struct locus_table *table, uint32_t count);

// locus_owner_write() and locus_prefix_match(), but -EAGAIN if blocks that they would take are reserved by others. Then nothing
// has changed.
int locus_reservation_write(struct locus_reservations *reservations, struct locus_reservation *reservation,
                            struct locus_table *table, uint64_t first, uint64_t count, uint32_t planes);
int64_t locus_reservation_match(struct locus_reservations *reservations, struct locus_reservation *reservation,
                                struct locus_prefix *prefix, uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[],
                                uint32_t count, struct locus_table *table);

// locus_prefix_load(), in the same way; and locus_prefix_offload_start(), if `count` blocks are not reserved; else 0.
int64_t locus_reservation_load(struct locus_reservations *reservations, struct locus_reservation *reservation,
                               struct locus_prefix *prefix, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                               struct locus_table *table);
uint32_t locus_reservation_offload_start(struct locus_reservations *reservations, struct locus_prefix *prefix, uint32_t count);

// Gives back to the reservation what a truncation has freed, so that it can be taken again. 0, or -EAGAIN: others have reserved it.
int locus_reservation_renew(struct locus_reservations *reservations, struct locus_reservation *reservation, uint32_t count);

// The request has ended: nothing is reserved to it any more.
void locus_reservation_end(struct locus_reservations *reservations, struct locus_reservation *reservation);

struct locus_reservations_stats {
    uint32_t reserved;          // blocks
    uint32_t available;         // free or cached, and not reserved
};

// Any thread. Exact in owner context; elsewhere as of some moment.
void locus_reservations_stats(const struct locus_reservations *reservations, struct locus_reservations_stats *out);

#ifdef __cplusplus
}
#endif

#endif
