// SPDX-License-Identifier: Apache-2.0
//
// pages: allocate, pin, unpin and free. Each changes a range by one exchange on its word (word.h).
#include <errno.h>

#include "pages_internal.h"

static struct page *page_of(const struct locus_pages *pages, locus_range range)
{
    return range_page(range) < pages->config.pages ? &pages->table[range_page(range)] : NULL;
}

uint64_t pages_in_use(const struct locus_pages *pages)
{
    uint64_t in_use = pages->config.pages;
    for (unsigned i = 0; i < pages->zones_count; i++)
        in_use -= counter_read(&pages->zones[i].pages_free);
    return in_use;
}

int pages_check(const struct locus_pages *pages, const struct locus_pages_request *ask)
{
    if (ask->kind == LOCUS_PAGES_GRADIENT)
        return -EOPNOTSUPP;
    if ((unsigned)ask->kind >= LOCUS_PAGES_KINDS || ask->pages == 0 || ask->pages > zone_of_kind(pages, ask->kind)->pages)
        return -EINVAL;
    return 0;
}

static bool is_magazines(const struct locus_pages *pages, const struct locus_magazine *magazine, uint32_t length)
{
    return magazine && length == 1 && pages->config.split == LOCUS_SPLIT_NONE;
}

uint32_t pages_find(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *ask)
{
    if (is_magazines(pages, magazine, ask->pages))
        return magazine_fill(magazine);
    bool high_end = pages->config.split == LOCUS_SPLIT_ENDS && ask->kind >= LOCUS_PAGES_SCRATCH;
    return zone_take(zone_of_kind(pages, ask->kind), pages->table, ask->pages, pages->config.first_fit || ask->first_fit, high_end);
}

int pages_take(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *ask, uint32_t *page)
{
    *page = pages_find(pages, magazine, ask);
    if (*page == PAGE_NONE) {
        magazines_empty(pages); // perhaps another thread has just done so: the arena has to be looked at in any case
        *page = pages_find(pages, NULL, ask);
    }
    if (*page != PAGE_NONE)
        return 0;
    return ask->no_evict ? -ENOMEM : evictor_room(pages, ask, LOCUS_EVICTED_FOR_ROOM, page);
}

locus_range pages_begin(struct locus_pages *pages, const struct locus_pages_request *ask, uint32_t page,
                        enum locus_range_state state)
{
    struct page *entry = &pages->table[page];
    RELAXED_STORE(entry->owner, ask->owner);
    RELAXED_STORE(entry->cost_ns, ask->cost_ns);
    RELAXED_STORE(entry->kind, (uint8_t)ask->kind);
    RELAXED_STORE(entry->last_use_ns, now_of(pages));
    RELAXED_STORE(entry->pinned_since_ns, now_of(pages));
    return range_of(page, word_begin(&entry->word, state));
}

// Magazines count as in use here, which is what the watermarks and the peak are about: room that others cannot find at once.
static void after_growth(struct locus_pages *pages)
{
    uint32_t in_use = (uint32_t)pages_in_use(pages);
    uint32_t peak = atomic_load_explicit(&pages->pages_peak, memory_order_relaxed);
    while (in_use > peak &&
           !atomic_compare_exchange_weak_explicit(&pages->pages_peak, &peak, in_use, memory_order_relaxed, memory_order_relaxed))
        ;
    uint32_t vain = atomic_load_explicit(&pages->vain, memory_order_relaxed);
    if (vain > 0)
        atomic_store_explicit(&pages->vain, vain - 1, memory_order_relaxed); // a lost count does no harm
    else if (!pages->config.balance_by_caller)
        locus_pages_balance(pages);
}

static locus_range begin(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *ask,
                         uint32_t page)
{
    if (magazine)
        counter_add(&magazine->allocated, 1);
    else
        count(&pages->ranges_allocated, 1);
    // Most do not get as far as the lock of the log: nothing was evicted lately.
    if (__builtin_expect(now_of(pages) < atomic_load_explicit(&pages->evicted_until_ns, memory_order_relaxed), 0) &&
        log_thrash(pages, ask))
        count(&pages->thrashed, 1);
    return pages_begin(pages, ask, page, LOCUS_RANGE_RESIDENT);
}

int locus_pages_alloc(struct locus_pages *pages, struct locus_magazine *magazine, const struct locus_pages_request *ask,
                      locus_range *out)
{
    int error = pages_check(pages, ask);
    uint32_t page = PAGE_NONE;
    *out = LOCUS_RANGE_NONE;
    if (error)
        return error;
    if (is_magazines(pages, magazine, ask->pages))
        page = magazine_take(magazine);
    if (__builtin_expect(page != PAGE_NONE, 1)) { // it counted as in use before
        *out = begin(pages, magazine, ask, page);
        return 0;
    }
    error = pages_take(pages, magazine, ask, &page);
    if (error)
        return error;
    *out = begin(pages, magazine, ask, page);
    after_growth(pages);
    return 0;
}

// A pin came upon a PREPARED range. True: the range has become visible, by its set's word or, if that is another set's already, by
// its own.
static bool has_become_visible(const struct locus_pages *pages, struct page *page, locus_range range)
{
    bool committed = set_is_committed(pages, page);
    uint64_t word = word_look(&page->word);
    while (committed && word_state(word) == LOCUS_RANGE_PREPARED && word_generation(word) == range_generation(range))
        if (word_show(&page->word, &word))
            return true;
    return word_state(word) == LOCUS_RANGE_RESIDENT && word_generation(word) == range_generation(range);
}

// A pin that did not find what its handle names. 0: it holds all the same.
static int pin_refused(struct locus_pages *pages, struct page *page, locus_range range, uint64_t before)
{
    int error = -ESTALE;
    if (word_generation(before) == range_generation(range)) {
        enum locus_range_state state = word_state(before);
        if (state == LOCUS_RANGE_PREPARED && has_become_visible(pages, page, range))
            return 0;
        error = state == LOCUS_RANGE_PREPARED ? -EAGAIN : state == LOCUS_RANGE_EVICTING ? -EBUSY : -ESTALE;
    }
    if (word_unpin(&page->word))
        pages_give(pages, NULL, range_page(range));
    count(&pages->pins_refused, 1);
    return error;
}

int locus_pages_pin(struct locus_pages *pages, locus_range range)
{
    struct page *page = page_of(pages, range);
    if (!page)
        return -ESTALE;
    uint64_t before = word_pin(&page->word);
    if (__builtin_expect((before & (WORD_PIN - 1)) != (word_state_of(LOCUS_RANGE_RESIDENT) | range_generation(range)), 0)) {
        int error = pin_refused(pages, page, range, before);
        if (error)
            return error;
    }
    if (__builtin_expect(word_pins(before) >= LOCUS_PINS_MAX, 0)) {
        if (word_unpin(&page->word)) // all others may have ended since
            pages_give(pages, NULL, range_page(range));
        return -EOVERFLOW;
    }
    if (word_pins(before) == 0)
        RELAXED_STORE(page->pinned_since_ns, now_of(pages));
    return 0;
}

int locus_pages_unpin(struct locus_pages *pages, locus_range range)
{
    struct page *page = page_of(pages, range);
    if (!page)
        return -ESTALE;
    // The holder of a pin finds its range as it is. Only without one is this look too early to say anything.
    uint64_t word = word_read(&page->word);
    if (word_generation(word) != range_generation(range) || word_state(word) == LOCUS_RANGE_FREE)
        return -ESTALE;
    bool others = word_state(word) == LOCUS_RANGE_PREPARED || word_state(word) == LOCUS_RANGE_EVICTING;
    if (word_pins(word) == 0 || others)
        return -EPERM;
    RELAXED_STORE(page->last_use_ns, now_of(pages));
    if (word_unpin(&page->word))
        pages_give(pages, NULL, range_page(range));
    return 0;
}

static uint64_t freed(uint64_t word)
{
    bool unpinned = word_state(word) == LOCUS_RANGE_RESIDENT && word_pins(word) == 0;
    return unpinned ? word_ended(word) : word_with(word, LOCUS_RANGE_DOOMED);
}

int locus_pages_free(struct locus_pages *pages, struct locus_magazine *magazine, locus_range range)
{
    struct page *page = page_of(pages, range);
    if (!page)
        return -ESTALE;
    uint64_t word = word_read(&page->word), now;
    do {
        enum locus_range_state state = word_state(word);
        if (word_generation(word) != range_generation(range) || state == LOCUS_RANGE_FREE || state == LOCUS_RANGE_DOOMED)
            return -ESTALE;
        if (state == LOCUS_RANGE_PREPARED)
            return -EPERM;
        now = freed(word);
    } while (!word_exchange(&page->word, &word, now));
    if (magazine)
        counter_add(&magazine->freed, 1);
    else
        count(&pages->ranges_freed, 1);
    if (word_state(now) == LOCUS_RANGE_FREE)
        pages_give(pages, magazine, range_page(range));
    return 0;
}

void pages_give(struct locus_pages *pages, struct locus_magazine *magazine, uint32_t page)
{
    uint32_t length = RELAXED_LOAD(pages->table[page].pages);
    if (!is_magazines(pages, magazine, length) || !magazine_give(magazine, page))
        zone_give(zone_of_page(pages, page), pages->table, page, length);
    pages_wake(pages);
}

// A waiter counts itself before it looks for room, under the lock under which a zone takes pages back. So either it finds them, or
// it is seen here. A page that goes into a magazine may be missed; the waiter looks again at the latest when the evictor has done.
void pages_wake(struct locus_pages *pages)
{
    if (atomic_load_explicit(&pages->waiting, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&pages->room);
    pthread_cond_broadcast(&pages->freed);
    pthread_mutex_unlock(&pages->room);
}

void *locus_pages_address(const struct locus_pages *pages, locus_range range)
{
    return pages->memory + ((uint64_t)range_page(range) << pages->page_shift);
}

uint64_t locus_pages_bytes(const struct locus_pages *pages, locus_range range)
{
    return (uint64_t)RELAXED_LOAD(pages->table[range_page(range)].pages) << pages->page_shift;
}

int locus_pin_take(struct locus_pin *pin, struct locus_pages *pages, locus_range range)
{
    if (pin->pages)
        return -EBUSY;
    int error = locus_pages_pin(pages, range);
    if (!error)
        *pin = (struct locus_pin){pages, range};
    return error;
}

void locus_pin_release(struct locus_pin *pin)
{
    if (pin->pages)
        locus_pages_unpin(pin->pages, pin->range);
    pin->pages = NULL;
}
