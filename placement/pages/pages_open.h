// SPDX-License-Identifier: Apache-2.0
//
// pages_open: an arena of pages (pages.h): its memory, its rules, its magazines and its clock.
//
// Threads: open and close belong to one thread, while nobody else uses the arena. A magazine belongs to one thread at a time.
#ifndef LOCUS_PAGES_OPEN_H
#define LOCUS_PAGES_OPEN_H

#include "pages.h"
#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    bool first_fit;             // for all; else only for those in a hurry
    bool balance_by_caller;     // the watermarks act in locus_pages_balance() only; else also in the allocation that crosses one
    uint32_t magazine_pages;    // of each magazine, 1 .. LOCUS_MAGAZINE_MAX; 0: 16
    enum locus_pages_split split;
    uint32_t zone_pages[LOCUS_PAGES_KINDS]; // only for LOCUS_SPLIT_ZONES; their sum is `pages`
    const struct locus_score_ops *score; // who leaves first; NULL: locus_score_lru
    uint32_t high_permille;     // with so many thousandths of the pages in use the arena begins to evict, ...
    uint32_t low_permille;      // ... and it goes on until no more than these are. 0 and 0: it evicts only for want of room
    uint32_t sets;              // that may be prepared at one time (pages_set.h); 0: 64
    // Called by the thread that evicts, for a range that shall leave. 0: the contents are safe, or nobody wants them. 1: they are
    // being saved, and locus_pages_left() follows. -errno: the range must stay. NULL: contents are dropped. It may make any call,
    // but an allocation in it evicts nobody.
    int (*leave)(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes);
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
void locus_pages_now(struct locus_pages *pages, uint64_t now_ns);

// -ENOMEM. Other threads take pages out of a magazine when room is missing. Close gives back what is left; NULL is allowed.
int locus_magazine_open(struct locus_magazine **out, struct locus_pages *pages);
void locus_magazine_close(struct locus_magazine *magazine);

#ifdef __cplusplus
}
#endif

#endif
