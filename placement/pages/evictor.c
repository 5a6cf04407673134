// SPDX-License-Identifier: Apache-2.0
//
// evictor: one thread at a time makes room; the others wait for it, and look again whenever pages come back and when it has done.
// Nobody waits without an evictor at work, and an evictor ends: each range that it claims goes, is on its way, or must stay, and
// after some of the last kind it gives up. So no wait is for ever, whatever the others do. A range that had to stay at once is not
// asked again during the same ask.
//
// Victims come from one pass over all pages, the lowest scores first, and are used until they run out. A victim that was used or
// pinned since is passed over. Under a score that does not age this is the exact order: by its definition (pages_evict.h) whatever
// came or was used since the pass scores higher than all victims of the pass.
#include <errno.h>
#include <stdlib.h>

#include "pages_internal.h"

double evictor_score(const struct locus_pages *pages, const struct page *page, uint64_t now_ns)
{
    uint64_t used_ns = RELAXED_LOAD(page->last_use_ns);
    struct locus_score_view view = {
        .kind = (enum locus_pages_kind)RELAXED_LOAD(page->kind),
        .pages = RELAXED_LOAD(page->pages),
        .pages_total = pages->config.pages,
        .owner = RELAXED_LOAD(page->owner),
        .idle_ns = now_ns > used_ns ? now_ns - used_ns : 0,
        .cost_ns = RELAXED_LOAD(page->cost_ns),
    };
    return pages->config.score->score(&view);
}

static bool unpinned(uint64_t word)
{
    return word_state(word) == LOCUS_RANGE_RESIDENT && word_pins(word) == 0;
}

bool evictor_claim(struct page *page, uint64_t word)
{
    return word_exchange(&page->word, &word, word_with(word, LOCUS_RANGE_EVICTING) + WORD_PIN);
}

// EVICTING, or DOOMED if it was freed meanwhile -> FREE, or RESIDENT if it `stays`. True: FREE by this call. *was_freed: DOOMED.
static bool ended(struct page *page, bool stays, bool *was_freed)
{
    uint64_t word = word_read(&page->word);
    *was_freed = false;
    while (word_state(word) == LOCUS_RANGE_EVICTING)
        if (word_exchange(&page->word, &word, (stays ? word_with(word, LOCUS_RANGE_RESIDENT) : word_ended(word)) - WORD_PIN))
            return !stays;
    *was_freed = true;
    return word_unpin(&page->word);
}

void evictor_unclaim(struct locus_pages *pages, uint32_t page)
{
    bool was_freed;
    if (ended(&pages->table[page], true, &was_freed))
        pages_give(pages, NULL, page);
}

bool evictor_was_refused(const struct locus_pages *pages, uint32_t page)
{
    for (uint32_t i = 0; i < pages->refused_count; i++)
        if (pages->refused[i] == page)
            return true;
    return false;
}

static void note(struct locus_pages *pages, const struct locus_pages_eviction *eviction)
{
    count(&pages->ranges_evicted[eviction->kind][eviction->reason], 1);
    count(&pages->pages_evicted[eviction->kind][eviction->reason], eviction->pages);
    log_eviction(pages, eviction);
}

// A range that was claimed has its contents safe (result 0) or must stay. True: it is FREE, and its pages are the caller's.
static bool settle(struct locus_pages *pages, uint32_t at, int result)
{
    struct page *page = &pages->table[at];
    struct locus_pages_eviction eviction = {
        .at_ns = now_of(pages),
        .owner = page->owner,
        .idle_ns = now_of(pages) - page->last_use_ns,
        .score = page->score,
        .first = at,
        .pages = page->pages,
        .kind = (enum locus_pages_kind)page->kind,
        .reason = (enum locus_evict_reason)(page->reason & ~ANSWER_DUE),
    };
    bool was_freed;
    if (result) {
        count(&pages->evict_refused, 1);
        RELAXED_STORE(page->last_use_ns, now_of(pages)); // or it would be the next victim again
    }
    bool is_free = ended(page, result != 0, &was_freed);
    if (is_free && !was_freed)
        note(pages, &eviction);
    return is_free;
}

int evictor_leave(struct locus_pages *pages, uint32_t at, double score, enum locus_evict_reason reason)
{
    struct page *page = &pages->table[at];
    uint32_t length = page->pages;
    _Atomic uint64_t *leaving = &zone_of_page(pages, at)->pages_leaving;
    locus_range range = range_of(at, word_generation(word_read(&page->word)));
    int result = 0;
    page->score = score;
    // Both before `leave`, because the answer may come from another thread before it returns.
    RELAXED_STORE(page->reason, (uint8_t)(reason | ANSWER_DUE));
    atomic_fetch_add_explicit(leaving, length, memory_order_relaxed);
    if (pages->config.evict)
        result = pages->config.evict(pages->config.context, range, (enum locus_pages_kind)page->kind, page->owner,
                                     locus_pages_address(pages, range), locus_pages_bytes(pages, range));
    if (result > 0)
        return 1;
    RELAXED_STORE(page->reason, (uint8_t)reason);
    atomic_fetch_sub_explicit(leaving, length, memory_order_relaxed);
    if (result < 0 && pages->refused_count < REFUSED_MAX)
        pages->refused[pages->refused_count++] = at;
    if (settle(pages, at, result))
        return 0;
    return result ? result : 1;
}

int locus_pages_evict_done(struct locus_pages *pages, locus_range range, int result)
{
    uint32_t at = range_page(range);
    if (at >= pages->config.pages)
        return -ESTALE;
    struct page *page = &pages->table[at];
    uint64_t word = word_read(&page->word);
    enum locus_range_state state = word_state(word);
    if (word_generation(word) != range_generation(range) || (state != LOCUS_RANGE_EVICTING && state != LOCUS_RANGE_DOOMED))
        return -ESTALE;
    if (!(__atomic_fetch_and(&page->reason, (uint8_t)~ANSWER_DUE, __ATOMIC_RELAXED) & ANSWER_DUE))
        return -ESTALE; // of two answers one counts, and a range that was freed while others pin it waits for none
    atomic_fetch_sub_explicit(&zone_of_page(pages, at)->pages_leaving, page->pages, memory_order_relaxed);
    if (settle(pages, at, result < 0 ? result : 0))
        pages_give(pages, NULL, at);
    return 0;
}

// --- victims -------------------------------------------------------------------------------------------------------------------

static bool less(const struct victim *a, const struct victim *b)
{
    return a->score < b->score || (a->score == b->score && a->page < b->page);
}

static int compare(const void *a, const void *b)
{
    return less(a, b) ? -1 : 1;
}

// Keeps the lowest `room` victims as a heap whose first is the greatest.
static void offer(struct victim *heap, uint32_t *held, uint32_t room, struct victim victim)
{
    uint32_t i;
    if (*held < room) {
        for (i = (*held)++; i > 0 && less(&heap[(i - 1) / 2], &victim); i = (i - 1) / 2)
            heap[i] = heap[(i - 1) / 2];
    } else if (less(&victim, &heap[0])) {
        uint32_t child;
        for (i = 0; (child = 2 * i + 1) < room; i = child) {
            child += child + 1 < room && less(&heap[child], &heap[child + 1]);
            if (!less(&victim, &heap[child]))
                break;
            heap[i] = heap[child];
        }
    } else {
        return;
    }
    heap[i] = victim;
}

static void pass(struct locus_pages *pages)
{
    uint32_t room = pages->config.score->ages ? 1 : VICTIMS_MAX;
    uint64_t now_ns = now_of(pages); // once, or ranges that are looked at later would seem older
    pages->victims_count = pages->victims_next = 0;
    for (uint32_t i = 0; i < pages->config.pages; i++) {
        const struct page *page = &pages->table[i];
        uint64_t word = word_read(&page->word);
        if (unpinned(word) && !evictor_was_refused(pages, i))
            offer(pages->victims, &pages->victims_count, room,
                  (struct victim){evictor_score(pages, page, now_ns), word, RELAXED_LOAD(page->last_use_ns), i});
    }
    qsort(pages->victims, pages->victims_count, sizeof *pages->victims, compare);
}

// The next victim, claimed.
static bool claim_next(struct locus_pages *pages, struct victim *out)
{
    for (bool fresh = false;; fresh = true) {
        while (pages->victims_next < pages->victims_count) {
            *out = pages->victims[pages->victims_next++];
            struct page *page = &pages->table[out->page];
            if (RELAXED_LOAD(page->last_use_ns) == out->last_use_ns && evictor_claim(page, out->word))
                return true;
        }
        if (fresh)
            return false;
        pass(pages);
    }
}

// --- one evictor at a time -----------------------------------------------------------------------------------------------------

static bool is_evictor(const struct locus_pages *pages)
{
    return pages->evicting && pthread_equal(pages->evictor, pthread_self());
}

static void begin(struct locus_pages *pages)
{
    pages->evicting = true;
    pages->evictor = pthread_self();
    pages->refused_count = 0;
    pthread_mutex_unlock(&pages->room);
}

static void end(struct locus_pages *pages)
{
    pthread_mutex_lock(&pages->room);
    pages->evicting = false;
    pthread_cond_broadcast(&pages->freed);
}

// By score: the victim's first page is the caller's, and the rest is given back.
static int clear_one(struct locus_pages *pages, enum locus_evict_reason reason, uint32_t *page)
{
    struct victim victim;
    while (pages->refused_count < REFUSED_MAX && claim_next(pages, &victim)) {
        uint32_t length = pages->table[victim.page].pages;
        int result = evictor_leave(pages, victim.page, victim.score, reason);
        if (result > 0)
            return -EAGAIN;
        if (result < 0)
            continue;
        zone_join(zone_of_page(pages, victim.page), pages->table, victim.page, 1, victim.page + length);
        *page = victim.page;
        return 0;
    }
    return -ENOMEM;
}

static int clear(struct locus_pages *pages, const struct locus_pages_request *ask, enum locus_evict_reason reason, uint32_t *page)
{
    int error = -EAGAIN;
    if (atomic_load_explicit(&zone_of_kind(pages, ask->kind)->pages_leaving, memory_order_relaxed) < ask->pages) {
        error =
            ask->pages == 1 && pages->zones_count == 1 ? clear_one(pages, reason, page) : extent_clear(pages, ask, reason, page);
    }
    if (error && locus_pages_reap(pages) > 0)
        error = 0; // look again
    return error;
}

int evictor_room(struct locus_pages *pages, const struct locus_pages_request *ask, enum locus_evict_reason reason, uint32_t *page)
{
    int error = 0;
    *page = PAGE_NONE;
    pthread_mutex_lock(&pages->room);
    atomic_fetch_add_explicit(&pages->waiting, 1, memory_order_relaxed);
    while (!error && *page == PAGE_NONE) {
        magazines_empty(pages);
        *page = pages_find(pages, NULL, ask);
        if (*page != PAGE_NONE)
            break;
        if (is_evictor(pages)) {
            error = -EDEADLK;
        } else if (pages->evicting) {
            count(&pages->room_waits, 1);
            pthread_cond_wait(&pages->freed, &pages->room);
        } else {
            begin(pages);
            error = clear(pages, ask, reason, page);
            end(pages);
        }
    }
    atomic_fetch_sub_explicit(&pages->waiting, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pages->room);
    return error;
}

int locus_pages_evict(struct locus_pages *pages, enum locus_pages_kind kind, uint32_t length)
{
    struct locus_pages_request ask = {.kind = kind, .pages = length};
    uint32_t page;
    int error = pages_check(pages, &ask);
    if (!error)
        error = evictor_room(pages, &ask, LOCUS_EVICTED_ON_REQUEST, &page);
    if (!error)
        pages_give(pages, NULL, page);
    return error;
}

// --- watermarks ----------------------------------------------------------------------------------------------------------------

static bool is_high(const struct locus_pages *pages)
{
    return pages_in_use(pages) * 1000 >= (uint64_t)pages->config.high_permille * pages->config.pages;
}

static uint64_t all_leaving(const struct locus_pages *pages)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < pages->zones_count; i++)
        sum += atomic_load_explicit(&pages->zones[i].pages_leaving, memory_order_relaxed);
    return sum;
}

static bool is_low(const struct locus_pages *pages)
{
    return (pages_in_use(pages) - all_leaving(pages)) * 1000 <= (uint64_t)pages->config.low_permille * pages->config.pages;
}

// Refusals that come later count as well, whosever they are: or a range that never may leave would be asked for ever.
static uint64_t drain(struct locus_pages *pages)
{
    uint64_t gone = 0, refused = atomic_load_explicit(&pages->evict_refused, memory_order_relaxed);
    struct victim victim;
    magazines_empty(pages);
    while (!is_low(pages)) {
        if (atomic_load_explicit(&pages->evict_refused, memory_order_relaxed) - refused >= REFUSED_MAX ||
            !claim_next(pages, &victim)) {
            atomic_store_explicit(&pages->vain, VAIN_ALLOCATIONS, memory_order_relaxed);
            return gone;
        }
        uint32_t length = pages->table[victim.page].pages;
        int result = evictor_leave(pages, victim.page, victim.score, LOCUS_EVICTED_BY_WATERMARK);
        if (result == 0) {
            pages_give(pages, NULL, victim.page);
            gone += length;
        }
    }
    atomic_store_explicit(&pages->draining, false, memory_order_relaxed);
    return gone;
}

uint64_t locus_pages_balance(struct locus_pages *pages)
{
    uint64_t gone = 0;
    if (pages->config.high_permille == 0)
        return 0;
    if (is_high(pages))
        atomic_store_explicit(&pages->draining, true, memory_order_relaxed);
    if (!atomic_load_explicit(&pages->draining, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&pages->room);
    if (!pages->evicting) {
        begin(pages);
        gone = drain(pages);
        end(pages);
    }
    pthread_mutex_unlock(&pages->room);
    return gone;
}
