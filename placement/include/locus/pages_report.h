// SPDX-License-Identifier: Apache-2.0
//
// pages_report: what an arena of pages (pages.h) holds, what was evicted and why, and who pins for too long.
//
// Threads: any thread. Counts are each as of some moment; they balance when nobody else calls. each() and
// overdue() hold the lock that finds room, so their callbacks must be short, and must not call the arena.
#ifndef LOCUS_PAGES_REPORT_H
#define LOCUS_PAGES_REPORT_H

#include "pages_evict.h"

#ifdef __cplusplus
extern "C" {
#endif

enum locus_range_state {
    LOCUS_RANGE_FREE,
    LOCUS_RANGE_PREPARED,
    LOCUS_RANGE_RESIDENT,
    LOCUS_RANGE_EVICTING,
    LOCUS_RANGE_DOOMED,
};

struct locus_pages_stats {
    uint32_t pages;
    uint32_t pages_free;        // with those in magazines
    uint32_t pages_in_magazines;
    uint32_t pages_largest;     // longest free extent, without magazines
    uint32_t pages_pinned;      // in ranges with a pin
    uint32_t pages_peak;        // most pages in use so far, with those in magazines
    uint32_t pages_of[LOCUS_PAGES_KINDS]; // in use, by kind
    uint32_t ranges;            // in use
    bool draining;              // between the watermarks, on the way down
    uint64_t ranges_allocated, ranges_freed; // since open. Freed: by a call, not by eviction
    uint64_t ranges_evicted[LOCUS_PAGES_KINDS][LOCUS_EVICT_REASONS];
    uint64_t pages_evicted[LOCUS_PAGES_KINDS][LOCUS_EVICT_REASONS];
    uint64_t evict_refused;     // `evict` said that a range must stay
    uint64_t thrashed;          // allocations for an owner and kind that was evicted within the last second; a lower bound
    uint64_t pins_refused;      // undone: the range was gone, being evicted or not yet visible
    uint64_t room_waits;        // allocations that waited for another thread's eviction
    uint64_t sets_reaped;
};

void locus_pages_stats(const struct locus_pages *pages, struct locus_pages_stats *out);

struct locus_range_info {
    locus_range range;          // LOCUS_RANGE_NONE: a free extent
    uint32_t first, pages;
    enum locus_range_state state;
    enum locus_pages_kind kind;
    uint32_t pins;
    bool in_magazine;
    uint64_t owner;
    uint64_t last_use_ns;       // its last unpin, or its allocation
    uint64_t pinned_since_ns;   // since when it has not been without a pin; 0: it is without one
};

// Every range and free extent in order of address, until `each` returns non-zero, which is returned.
int locus_pages_each(const struct locus_pages *pages, int (*each)(void *context, const struct locus_range_info *info),
                     void *context);

// Only ranges that have not been without a pin for `held_ns`. The seed of this design ended such pins after 30 s; here their
// owners are named. Returns how many; `each` may be NULL. A pin that is being taken in this moment may be told with the age of the
// one before it; so whoever acts on it looks twice.
uint32_t locus_pages_overdue(const struct locus_pages *pages, uint64_t held_ns,
                             void (*each)(void *context, const struct locus_range_info *info), void *context);

struct locus_pages_eviction {
    uint64_t at_ns;
    uint64_t owner;
    uint64_t idle_ns;
    double score;
    uint32_t first, pages;
    enum locus_pages_kind kind;
    enum locus_evict_reason reason;
};
#define LOCUS_PAGES_EVICTIONS 64u

// The latest evictions, newest first, at most LOCUS_PAGES_EVICTIONS. Returns how many.
uint32_t locus_pages_evictions(const struct locus_pages *pages, struct locus_pages_eviction out[], uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
