// SPDX-License-Identifier: Apache-2.0
//
// zone: the entry of a page, and which extents of some pages are free. Not installed.
#ifndef LOCUS_PAGES_ZONE_H
#define LOCUS_PAGES_ZONE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bits.h"

#define PAGE_NONE UINT32_MAX
#define ZONE_ALIGN_BYTES 128     // two lines, which some processors fetch together
#define ANSWER_DUE 0x80u

#define RELAXED_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define RELAXED_STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

// One line for each page. Of a range only its first page's entry counts. Fields that other threads look at while a range's owner
// changes them are read and written by relaxed atomics; what they say is believed only if the word is still the same (E1).
struct page {
    uint64_t word;
    uint64_t last_use_ns;
    uint64_t pinned_since_ns;
    uint64_t owner;
    uint64_t cost_ns;
    uint32_t pages;             // of a range, of a free extent, or 1 in a magazine. Changes under the zone's lock
    uint32_t head;              // of a free extent, in the entry of its last page
    union {
        struct {
            uint32_t previous, next; // free extents of equal length; `next` also chains the ranges of a set
        };
        double score;           // of a EVICTING range
    };
    uint8_t kind;
    uint8_t reason;             // of a EVICTING range; with ANSWER_DUE until locus_pages_evict_done() takes it
    bool free;                  // first or last page of a free extent
    bool in_magazine;           // or last came from one
    uint32_t set;               // of a PREPARED range
} __attribute__((aligned(64)));

struct zone {                   // of a lock: which extents of some pages are free
    pthread_mutex_t lock;
    struct bits lengths;        // of which there are free extents
    struct bits heads;          // first pages of free extents, less `first`
    uint32_t *of_length;        // the latest free extent of a length
    uint32_t first, pages;
    uint64_t pages_free;        // counter (counters.h)
    _Atomic uint64_t pages_leaving; // whose contents are being saved
} __attribute__((aligned(ZONE_ALIGN_BYTES)));

// zone.c. Takes an extent, or returns PAGE_NONE.
int zone_open(struct zone *zone, struct page *table, uint32_t first, uint32_t pages); // 0 or -ENOMEM; close it in both cases
void zone_close(struct zone *zone);
uint32_t zone_take(struct zone *zone, struct page *table, uint32_t length, bool first_fit, bool high_end);
uint32_t zone_take_singles(struct zone *zone, struct page *table, uint32_t singles[], uint32_t most); // how many
void zone_take_at(struct zone *zone, struct page *table, uint32_t first); // the free extent there; the caller holds the lock
void zone_give(struct zone *zone, struct page *table, uint32_t first, uint32_t length);
// Taken pages first .. end - 1 become one extent of `length`, still taken; the rest is given.
void zone_join(struct zone *zone, struct page *table, uint32_t first, uint32_t length, uint32_t end);
uint32_t zone_largest(struct zone *zone);

#endif
