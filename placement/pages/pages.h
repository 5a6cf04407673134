// SPDX-License-Identifier: Apache-2.0
//
// pages: one arena of pages for what a block pool cannot hold: ranges of several sizes and kinds, pinned by many threads at once,
// which may have to go when room runs out.
//
//     allocate -> (pinned once) fill -> unpin ... pin -> read -> unpin ... free, or evicted while nobody pins it
//
// A range is contiguous. All that decides over its life is one 64-bit word, {pins, state, generation}, so no two parts of it can
// contradict each other, and each call is one exchange on it. What each call makes of each state ("-E": refused, nothing changes):
//
//     state           pin      unpin            free      evict       the evictor ends      commit     roll back
//     FREE            -ESTALE  -ESTALE          -ESTALE   -           -                     -          -
//     PREPARED        -EAGAIN  -EPERM           -EPERM    -           -                     RESIDENT   FREE
//     RESIDENT, 0     RESIDENT -EPERM           FREE      LEAVING     -                     -          -
//     RESIDENT, > 0   RESIDENT RESIDENT         DOOMED    -           -                     -          -
//     LEAVING         -EBUSY   -EPERM           DOOMED    -           FREE or RESIDENT      -          -
//     DOOMED          -ESTALE  DOOMED or FREE   -ESTALE   -           FREE, if it was LEAVING -       -
//
// "-": the call passes such a range over. DOOMED: freed while pinned or leaving; it becomes FREE at the last unpin. LEAVING: its
// contents are being saved or dropped; the evictor's hold counts as a pin. Becoming FREE ends the generation, and with it every
// handle of the range. No pin ends by itself, because that would take memory from someone who reads it; locus_pages_overdue()
// (pages_report.h) names who holds one for too long.
//
// Room is found by best fit, in O(log pages), or by first fit for those in a hurry. Pages of single-page ranges pass through a
// magazine of the calling thread, without a lock (the idea: Bonwick and Adams, 2001). If there is no room, somebody must leave:
// pages_evict.h. How to open an arena: pages_open.h. Ranges that become visible together: pages_set.h.
//
// Time is the engine's (locus_pages_now()). Nothing here reads a clock, so equal calls by one thread have equal results.
//
// Threads: any thread may make any of these calls. A magazine belongs to one thread at a time.
#ifndef LOCUS_PAGES_H
#define LOCUS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct locus_pages;
struct locus_magazine;          // pages_open.h

typedef uint64_t locus_range;   // generation << 24 | first page
#define LOCUS_RANGE_NONE 0u     // never a range
#define LOCUS_PAGES_MAX (UINT32_C(1) << 24)
#define LOCUS_PINS_MAX (UINT32_C(1) << 18) // on one range at one time

enum locus_pages_kind { LOCUS_PAGES_KV, LOCUS_PAGES_ADAPTER, LOCUS_PAGES_SCRATCH, LOCUS_PAGES_ACTIVATION, LOCUS_PAGES_GRADIENT };
#define LOCUS_PAGES_KINDS 4u    // GRADIENT is refused, because inference has none

struct locus_pages_ask {
    enum locus_pages_kind kind;
    uint32_t pages;             // > 0, contiguous
    uint64_t owner;             // whose it is: a request, an adapter. Reports and the count of thrash name it
    uint64_t cost_ns;           // of bringing the contents back, for scores that look at it
    bool hurried;               // first fit
    bool stay;                  // evict nobody for it
};

// A range, pinned once. `magazine` may be NULL.
// -EINVAL: no pages, more than the arena or the kind's zone has, or an unknown kind; -EOPNOTSUPP: gradients; -ENOMEM: no room,
// and nobody (else) may leave; -EAGAIN: room is on its way, because contents are being saved; -EDEADLK: called by `leave`, and
// there is no room.
int locus_pages_allocate(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_ask *ask,
                         locus_range *out);

// 0, or as in the table. -EOVERFLOW: LOCUS_PINS_MAX. A pin is no lock: who writes what others read must see to that.
int locus_pages_pin(struct locus_pages *pages, locus_range range);
int locus_pages_unpin(struct locus_pages *pages, locus_range range);
int locus_pages_free(struct locus_pages *pages, struct locus_magazine *magazine, locus_range range);

// For the holder of a pin.
void *locus_pages_address(const struct locus_pages *pages, locus_range range);
uint64_t locus_pages_bytes(const struct locus_pages *pages, locus_range range);

// A pin that ends with its scope, for what a request or a kernel holds as long as it runs:
//     LOCUS_PINNED struct locus_pin pin = {0};
//     if (locus_pin_take(&pin, pages, range) == 0) ...
struct locus_pin {
    struct locus_pages *pages;  // NULL: holds none
    locus_range range;
};
#define LOCUS_PINNED __attribute__((cleanup(locus_pin_release)))
int locus_pin_take(struct locus_pin *pin, struct locus_pages *pages, locus_range range); // as pin. -EBUSY: it holds one
void locus_pin_release(struct locus_pin *pin);

#ifdef __cplusplus
}
#endif

#endif
