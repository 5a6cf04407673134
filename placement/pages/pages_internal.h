// SPDX-License-Identifier: Apache-2.0
//
// pages_internal: the structs of an arena, and what its files call of each other. Not installed.
//
// Locks, from the outside in: a set's holder, `room`, `magazines_lock`, a zone's, `log`. `leave` is called with none but the first.
// The thread that evicts holds no lock meanwhile: `evictor` names it, and `room` guards the name.
#ifndef LOCUS_PAGES_INTERNAL_H
#define LOCUS_PAGES_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "locus/pages.h"
#include "locus/pages_evict.h"
#include "locus/pages_report.h"
#include "placement/base/counters.h"
#include "word.h"
#include "zone.h"

#define VICTIMS_MAX 256u         // of one pass; arbitrary: a pass over 4,096 pages costs each of them 16 entries
#define REFUSED_MAX 64u          // ranges that had to stay, after which an ask is given up; arbitrary
#define VAIN_ALLOCATIONS 64u     // arbitrary: a pass over 16,384 pages costs each of them some hundred ns
#define THRASH_NS UINT64_C(1000000000)

struct locus_magazine {
    struct locus_pages *pages;
    struct locus_magazine *next;
    uint32_t room;
    uint32_t top;               // slots from here on are empty, as far as the owner knows
    uint64_t allocated, freed;  // counters
    uint32_t slots[LOCUS_MAGAZINE_MAX]; // page + 1, or 0
} __attribute__((aligned(ZONE_ALIGN_BYTES)));

enum set_state { SET_NONE, SET_PREPARED, SET_COMMITTED };

struct locus_pages_set {
    pthread_mutex_t holder;     // robust: held from prepare to the end
    struct locus_pages *pages;
    uint32_t first;             // its ranges, chained by `next`
    uint32_t state;             // enum set_state, an atomic (set.c)
};

struct victim {
    double score;
    uint64_t word, last_use_ns;
    uint32_t page;
};

struct gone {                   // an eviction that may turn out to be thrash
    uint64_t owner, at_ns;
    uint8_t kind;
    bool used;
};

struct locus_pages {
    struct locus_pages_config config;
    struct locus_region *region, *table_region;
    char *memory;
    struct page *table;
    unsigned page_shift;
    unsigned zones_count;
    struct zone *zones;         // one, or one for each kind
    struct locus_pages_set *sets;
    _Atomic uint64_t now_ns;
    _Atomic uint64_t evicted_until_ns; // until when an allocation may be thrash; 0: nothing was evicted so far
    _Atomic bool draining;
    _Atomic uint32_t pages_peak;
    pthread_mutex_t room;       // guards `evictor`; with `freed`, whoever waits for room
    pthread_cond_t freed;
    bool evicting;
    pthread_t evictor;
    _Atomic uint32_t waiting;
    struct victim victims[VICTIMS_MAX]; // the evictor's, with the next two
    uint32_t victims_count, victims_next;
    uint32_t refused[REFUSED_MAX]; // pages of ranges that had to stay, during one ask
    uint32_t refused_count;
    _Atomic uint32_t vain;      // allocations until the watermarks are tried again after nobody could leave
    pthread_mutex_t magazines_lock;
    struct locus_magazine *magazines;
    pthread_mutex_t log;        // guards what follows
    struct locus_pages_eviction evictions[LOCUS_PAGES_EVICTIONS];
    uint64_t evictions_count;
    struct gone *gone;
    uint32_t gone_mask;
    _Atomic uint64_t ranges_allocated, ranges_freed, evict_refused, thrashed, pins_refused, room_waits, sets_reaped;
    _Atomic uint64_t ranges_evicted[LOCUS_PAGES_KINDS][LOCUS_EVICT_REASONS];
    _Atomic uint64_t pages_evicted[LOCUS_PAGES_KINDS][LOCUS_EVICT_REASONS];
};

static inline void count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static inline uint64_t now_of(const struct locus_pages *pages)
{
    return atomic_load_explicit(&pages->now_ns, memory_order_relaxed);
}

static inline locus_range range_of(uint32_t page, uint64_t generation)
{
    return generation << 24 | page;
}

static inline uint32_t range_page(locus_range range)
{
    return (uint32_t)(range & (LOCUS_PAGES_MAX - 1));
}

static inline uint64_t range_generation(locus_range range)
{
    return range >> 24;
}

static inline struct zone *zone_of_kind(const struct locus_pages *pages, enum locus_pages_kind kind)
{
    return &pages->zones[pages->zones_count > 1 ? (unsigned)kind : 0];
}

static inline struct zone *zone_of_page(const struct locus_pages *pages, uint32_t page)
{
    struct zone *zone = pages->zones;
    while (page - zone->first >= zone->pages)
        zone++;
    return zone;
}

static inline uint32_t slot_take(uint32_t *slot)
{
    return RELAXED_LOAD(*slot) ? __atomic_exchange_n(slot, 0, __ATOMIC_ACQUIRE) : 0; // M2
}

// Its owner. PAGE_NONE: it is empty.
static inline uint32_t magazine_take(struct locus_magazine *magazine)
{
    while (magazine->top > 0) {
        uint32_t taken = slot_take(&magazine->slots[--magazine->top]);
        if (taken)
            return taken - 1;
    }
    return PAGE_NONE;
}

// magazine.c
uint32_t magazine_fill(struct locus_magazine *magazine); // its owner. A page of those that came; PAGE_NONE: the zone has none
bool magazine_give(struct locus_magazine *magazine, uint32_t page); // its owner; false: full
void magazines_empty(struct locus_pages *pages); // all, into the zone

// pages.c
uint64_t pages_in_use(const struct locus_pages *pages); // with those in magazines
uint32_t pages_find(struct locus_pages *pages, struct locus_magazine *magazine,
                    const struct locus_pages_request *ask); // or PAGE_NONE
locus_range pages_begin(struct locus_pages *pages, const struct locus_pages_request *ask, uint32_t page,
                        enum locus_range_state state);
int pages_check(const struct locus_pages *pages, const struct locus_pages_request *ask); // 0, -EINVAL or -EOPNOTSUPP
int pages_take(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *ask, uint32_t *page);
void pages_give(struct locus_pages *pages, struct locus_magazine *magazine, uint32_t page); // of a range that has become FREE
void pages_wake(struct locus_pages *pages); // whoever waits for room

// evictor.c. Room for an ask that found none: 0 and an extent that was taken, or an error of locus_pages_alloc().
int evictor_room(struct locus_pages *pages, const struct locus_pages_request *ask, enum locus_evict_reason reason, uint32_t *page);
double evictor_score(const struct locus_pages *pages, const struct page *page, uint64_t now_ns);
bool evictor_was_refused(const struct locus_pages *pages, uint32_t page); // during this ask
bool evictor_claim(struct page *page, uint64_t word); // RESIDENT without pins -> EVICTING, if the word is still the same
void evictor_unclaim(struct locus_pages *pages, uint32_t page);
// A claimed range goes. 0: it is FREE, and its pages are the caller's; 1: on its way; -errno: it stays.
int evictor_leave(struct locus_pages *pages, uint32_t page, double score, enum locus_evict_reason reason);

// extent.c: clears the cheapest extent, under the rules of evictor_room().
int extent_clear(struct locus_pages *pages, const struct locus_pages_request *ask, enum locus_evict_reason reason, uint32_t *page);

// set.c
int sets_open(struct locus_pages *pages); // 0 or -ENOMEM; close them in both cases
void sets_close(struct locus_pages *pages);
bool set_is_committed(const struct locus_pages *pages, const struct page *page);

// report.c
void log_eviction(struct locus_pages *pages, const struct locus_pages_eviction *eviction);
bool log_thrash(struct locus_pages *pages, const struct locus_pages_request *ask); // pre: something was evicted within THRASH_NS

#endif
