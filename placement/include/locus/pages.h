// SPDX-License-Identifier: Apache-2.0
//
// pages: one arena of pages for what a block pool cannot hold: ranges of several sizes and kinds, pinned by many threads at once,
// which may be evicted when room runs out.
//
//     alloc -> (pinned once) fill -> unpin ... pin -> read -> unpin ... free, or evicted while nobody pins it
//
// A range is contiguous. All that decides over its life is one 64-bit word, {pins, state, generation}, so no two parts of it can
// contradict each other, and each call is one exchange on it. What each call makes of each state ("-E": refused, nothing changes):
//
//     state           pin      unpin            free      evict       the evictor ends      commit     rollback
//     FREE            -ESTALE  -ESTALE          -ESTALE   -           -                     -          -
//     PREPARED        -EAGAIN  -EPERM           -EPERM    -           -                     RESIDENT   FREE
//     RESIDENT, 0     RESIDENT -EPERM           FREE      EVICTING    -                     -          -
//     RESIDENT, > 0   RESIDENT RESIDENT         DOOMED    -           -                     -          -
//     EVICTING        -EBUSY   -EPERM           DOOMED    -           FREE or RESIDENT      -          -
//     DOOMED          -ESTALE  DOOMED or FREE   -ESTALE   -           FREE, if it was EVICTING -      -
//
// "-": the call passes such a range over. DOOMED: freed while pinned or being evicted; it becomes FREE at the last unpin. EVICTING:
// its contents are being saved or dropped; the evictor's hold counts as a pin. Becoming FREE ends the generation, and with it every
// handle of the range. No pin ends by itself, because that would take memory from someone who reads it; locus_pages_overdue()
// (pages_report.h) names who holds one for too long.
//
// Room is found by best fit, in O(log pages), or by first fit where that is asked for. Pages of single-page ranges pass through a
// magazine of the calling thread, without a lock (the idea: Bonwick and Adams, 2001). If there is no room, ranges are evicted:
// pages_evict.h.
//
// Sets are ranges that become visible together or not at all, in two phases.
//
//     prepare(requests) -> fill them (locus_pages_address()), hand their handles to anybody -> commit, or rollback
//
// Until the commit a pin of any of them returns -EAGAIN. The commit is one store: every pin after it finds the whole set, and a
// reader that has found one range of a set finds all others. The ranges stay pinned once by their holder, as after
// locus_pages_alloc(). A thread that ends without commit or rollback is noticed by the next prepare() that finds no other free
// place, by locus_pages_reap(), and by an arena that looks for room: its set is rolled back (a robust mutex tells, see
// pthread_mutexattr_setrobust(3)). If it ended inside the commit, the set is visible, and the holder's pins end.
//
// Time is the engine's (locus_pages_set_time()). Nothing here reads a clock, so equal calls by one thread have equal results.
//
// Threads: open and close belong to one thread, while nobody else uses the arena. Any thread may make the other calls. A magazine
// belongs to one thread at a time; commit and rollback belong to the thread that prepared.
#ifndef LOCUS_PAGES_H
#define LOCUS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_pages;
struct locus_magazine;

typedef uint64_t locus_range;   // generation << 24 | first page
#define LOCUS_RANGE_NONE 0u     // never a range
#define LOCUS_PAGES_MAX (UINT32_C(1) << 24)
#define LOCUS_PINS_MAX (UINT32_C(1) << 18) // on one range at one time

enum locus_pages_kind { LOCUS_PAGES_KV, LOCUS_PAGES_ADAPTER, LOCUS_PAGES_SCRATCH, LOCUS_PAGES_ACTIVATION, LOCUS_PAGES_GRADIENT };
#define LOCUS_PAGES_KINDS 4u    // GRADIENT is refused, because inference has none

struct locus_pages_request {
    enum locus_pages_kind kind;
    uint32_t pages;             // > 0, contiguous
    uint64_t owner;             // whose it is: a request, an adapter. Reports and the count of thrash name it
    uint64_t cost_ns;           // of bringing the contents back, for scores that look at it
    bool first_fit;             // faster, for those in a hurry
    bool no_evict;              // evict nobody for it
};

// A range, pinned once. `magazine` may be NULL.
// -EINVAL: no pages, more than the arena or the kind's zone has, or an unknown kind; -EOPNOTSUPP: gradients; -ENOMEM: no room,
// and nobody (else) can be evicted; -EAGAIN: room is on its way, because contents are being saved; -EDEADLK: called by `evict`, and
// there is no room.
int locus_pages_alloc(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *request,
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

struct locus_score_ops;         // pages_evict.h

enum locus_pages_split {
    LOCUS_SPLIT_NONE,           // every kind anywhere. Magazines are used only with it
    LOCUS_SPLIT_ENDS,           // KV and adapters at the low end of a hole, the short-lived kinds at its high end
    LOCUS_SPLIT_ZONES,          // each kind in a zone of its own
};

#define LOCUS_MAGAZINE_MAX 64u

struct locus_pages_config {
    size_t size;                // sizeof this struct (version.h)
    uint64_t page_bytes;        // 512 KiB, 1, 2 or 4 MiB; 0: 2 MiB. Pages begin on multiples of 4 KiB at least
    uint32_t pages;             // 1 .. LOCUS_PAGES_MAX
    enum locus_page page;       // what the memory is made of, and where it lies: as in region.h
    enum locus_policy policy;
    int node;                   // LOCUS_NODE_ANY: none. Without a policy a named node binds (policy.h), and 0 is node 0
    bool populate;
    bool first_fit;             // for all; else only for requests that ask for it
    bool balance_by_caller;     // the watermarks act in locus_pages_balance() only; else also in the allocation that crosses one
    uint32_t magazine_pages;    // of each magazine, 1 .. LOCUS_MAGAZINE_MAX; 0: 16
    enum locus_pages_split split;
    uint32_t zone_pages[LOCUS_PAGES_KINDS]; // only for LOCUS_SPLIT_ZONES; their sum is `pages`
    const struct locus_score_ops *score; // who is evicted first; NULL: locus_score_lru
    uint32_t high_permille;     // with so many thousandths of the pages in use the arena begins to evict, ...
    uint32_t low_permille;      // ... and it goes on until no more than these are. 0 and 0: it evicts only for want of room
    uint32_t sets;              // that may be prepared at one time; 0: 64
    // Called by the thread that evicts, for each range that it evicts. 0: the contents are safe, or nobody wants them. 1: they are
    // being saved, and locus_pages_evict_done() follows. -errno: the range must stay. NULL: contents are dropped. It may make any
    // call, but an allocation in it evicts nobody.
    int (*evict)(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes);
    void *context;
};

// Maps the arena. -EINVAL: a value above is not possible; -ENOMEM; -E2BIG; or the error of locus_region_open().
int locus_pages_open(struct locus_pages **out, const struct locus_pages_config *config);

// One sentence on why open returned `error`. Cut to why_bytes > 0, always terminated.
void locus_pages_why(const struct locus_pages_config *config, int error, char *why, size_t why_bytes);

// -EBUSY: a range is pinned, or a magazine is open. Then nothing changes. NULL is allowed.
int locus_pages_close(struct locus_pages *pages);

const struct locus_region *locus_pages_region(const struct locus_pages *pages); // for locus_region_verify()

uint64_t locus_pages_page_bytes(const struct locus_pages *pages); // of the config, or what 0 stood for

// The engine's clock in ns, which never decreases: a value below the present one is ignored. It stamps uses and evictions.
void locus_pages_set_time(struct locus_pages *pages, uint64_t now_ns);

// -ENOMEM. Other threads take pages out of a magazine when room is missing. Close gives back what is left; NULL is allowed.
int locus_magazine_open(struct locus_magazine **out, struct locus_pages *pages);
void locus_magazine_close(struct locus_magazine *magazine);

struct locus_pages_set;

// All ranges or none; ranges[] has room for `count` > 0 handles. The errors of locus_pages_alloc(); -EBUSY: as many sets as the
// arena was opened for are prepared.
int locus_pages_set_prepare(struct locus_pages_set **out, struct locus_pages *pages, const struct locus_pages_request requests[],
                            uint32_t count, locus_range ranges[]);

void locus_pages_set_commit(struct locus_pages_set *set);    // the set is gone; its ranges are RESIDENT, pinned once
void locus_pages_set_rollback(struct locus_pages_set *set); // the set and its ranges are gone

// Rolls back the sets of threads that have ended. Returns how many.
uint32_t locus_pages_reap(struct locus_pages *pages);

#ifdef __cplusplus
}
#endif

#endif
