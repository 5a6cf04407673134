// SPDX-License-Identifier: Apache-2.0
//
// pages_evict: which range is evicted from an arena (pages.h) first, and when.
//
// Room is needed for a *range*, not for a number of pages: enough free pages in the wrong places help nobody. So for one page the
// range with the lowest score goes. For more, the arena looks at every extent of that many pages in which nobody pins anything,
// and clears the one whose highest score is lowest, of equals the one that costs the fewest pages. It claims all ranges of the
// extent before the contents of any are given up, so nothing is lost for room that a new pin makes impossible.
//
// Watermarks have memory: at `high_permille` the arena begins to evict, by score alone, and goes on until `low_permille` is
// reached. Between the two it does what it did last.
//
// One thread evicts at a time. The others that need room wait, and take what it frees as soon as it is free. Room in magazines
// is taken before anybody is evicted.
//
// Cost: one pass over the arena's pages for an extent, or for up to 256 victims if the order of unused ranges cannot change by
// itself; a score that ages has a pass for each victim.
//
// Threads: any thread.
#ifndef LOCUS_PAGES_EVICT_H
#define LOCUS_PAGES_EVICT_H

#include "pages.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_score_view {       // of a range that nobody pins
    enum locus_pages_kind kind;
    uint32_t pages;
    uint32_t pages_total;       // of the arena
    uint64_t owner;
    uint64_t idle_ns;           // since its last unpin
    uint64_t cost_ns;           // of bringing it back
};

struct locus_score_ops {
    const char *name;           // "lru"
    const char *summary;        // one line
    bool ages;                  // the order of two ranges may change while neither is used, or one that is used later score lower
    double (*score)(const struct locus_score_view *view); // the lowest goes first, of equals the lower page. No state
};

// The scores of the library by number, in no meaningful order; NULL: there is none with this number or this name.
const struct locus_score_ops *locus_score_at(uint32_t i);
const struct locus_score_ops *locus_score_find(const char *name);

extern const struct locus_score_ops locus_score_lru, locus_score_weighted;

// Puts a score on the list, as LOCUS_EVICT does for policies (evict.h).
#define LOCUS_SCORE(variable)                                                                                                      \
    static const struct locus_score_ops *const variable##_entry __attribute__((used, retain, section("locus_scores"))) = &(variable)

enum locus_evict_reason {
    LOCUS_EVICTED_FOR_ROOM,     // an allocation found no room
    LOCUS_EVICTED_BY_WATERMARK,
    LOCUS_EVICTED_ON_REQUEST,   // locus_pages_evict()
};
#define LOCUS_EVICT_REASONS 3u

// Works off the watermarks: evicts if the arena is above the high one, or was and is not down at the low one yet. Returns how many
// pages have become free; 0 as well if another thread is at it.
uint64_t locus_pages_balance(struct locus_pages *pages);

// Evicts until there is a free extent of `count` pages, for anybody. 0; or the errors of locus_pages_alloc().
int locus_pages_evict(struct locus_pages *pages, enum locus_pages_kind kind, uint32_t count);

// The answer to `evict` returning 1, by any thread: 0: the contents are safe, and the range may go; -errno: it stays. 0; -ESTALE:
// no such range is being evicted.
int locus_pages_evict_done(struct locus_pages *pages, locus_range range, int result);

#ifdef __cplusplus
}
#endif

#endif
