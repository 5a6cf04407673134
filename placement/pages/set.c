// SPDX-License-Identifier: Apache-2.0
//
// set: two phases. The ranges of a set are PREPARED until its state, one word, says COMMITTED (C1, release). A pin that meets a
// PREPARED range reads that word (C2, acquire) and, if it is committed, makes the range RESIDENT itself; so it does not matter how
// far the committer has come with doing so. A set's place is used again only when none of its ranges is PREPARED any more, and each
// later state is stored with release too: a pin that reads one looks at the range again, and finds what has become of it.
#include "locus/pages.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "pages_internal.h"

int sets_open(struct locus_pages *pages)
{
    pthread_mutexattr_t robust;
    pages->sets = calloc(pages->config.sets, sizeof *pages->sets);
    if (!pages->sets)
        return -ENOMEM;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    for (uint32_t i = 0; i < pages->config.sets; i++) {
        pthread_mutex_init(&pages->sets[i].holder, &robust);
        pages->sets[i].pages = pages;
        pages->sets[i].first = PAGE_NONE;
    }
    pthread_mutexattr_destroy(&robust);
    return 0;
}

void sets_close(struct locus_pages *pages)
{
    for (uint32_t i = 0; pages->sets && i < pages->config.sets; i++)
        pthread_mutex_destroy(&pages->sets[i].holder);
    free(pages->sets);
}

bool set_is_committed(const struct locus_pages *pages, const struct page *page)
{
    const struct locus_pages_set *set = &pages->sets[RELAXED_LOAD(page->set)];
    return __atomic_load_n(&set->state, __ATOMIC_ACQUIRE) == SET_COMMITTED; // C2
}

// The range was PREPARED. RESIDENT, with the holder's pin, unless a pin was faster.
static void show(struct page *page)
{
    uint64_t word = word_read(&page->word);
    while (word_state(word) == LOCUS_RANGE_PREPARED && !word_show(&page->word, &word))
        ;
}

// The range was PREPARED. FREE, without the holder's pin.
static void take_back(struct locus_pages *pages, uint32_t at)
{
    struct page *page = &pages->table[at];
    uint64_t word = word_read(&page->word);
    while (!word_exchange(&page->word, &word, word_ended(word) - WORD_PIN))
        ; // a passing pin
    count(&pages->ranges_freed, 1);
    pages_give(pages, NULL, at);
}

// The place is free for another set when its holder lets it go.
static void end(struct locus_pages_set *set, bool visible)
{
    struct locus_pages *pages = set->pages;
    for (uint32_t at = set->first; visible && at != PAGE_NONE; at = pages->table[at].next)
        show(&pages->table[at]); // it keeps the holder's pin, so `next` stays as it is, also for bury()
    while (!visible && set->first != PAGE_NONE) {
        uint32_t at = set->first;
        set->first = pages->table[at].next; // read before the range may be somebody else's
        take_back(pages, at);
    }
    set->first = PAGE_NONE;
    __atomic_store_n(&set->state, SET_NONE, __ATOMIC_RELEASE); // C1
}

void locus_pages_set_commit(struct locus_pages_set *set)
{
    __atomic_store_n(&set->state, SET_COMMITTED, __ATOMIC_RELEASE); // C1
    end(set, true);
    pthread_mutex_unlock(&set->holder);
}

void locus_pages_set_rollback(struct locus_pages_set *set)
{
    end(set, false);
    pthread_mutex_unlock(&set->holder);
}

// The holder has ended. Of a committed set the rest becomes visible, and the pins that nobody is left to end, end.
static void bury(struct locus_pages_set *set)
{
    struct locus_pages *pages = set->pages;
    bool committed = set->state == SET_COMMITTED;
    for (uint32_t at = set->first; committed && at != PAGE_NONE;) {
        uint32_t next = pages->table[at].next;
        show(&pages->table[at]);
        if (word_unpin(&pages->table[at].word))
            pages_give(pages, NULL, at);
        at = next;
    }
    if (committed)
        set->first = PAGE_NONE;
    end(set, false);
    count(&pages->sets_reaped, 1);
}

// Takes the place of a set. False: it has a holder who lives. *reaped: it had one who does not.
static bool place_take(struct locus_pages_set *set, bool *reaped)
{
    int error = pthread_mutex_trylock(&set->holder);
    *reaped = error == EOWNERDEAD;
    if (*reaped) {
        pthread_mutex_consistent(&set->holder);
        bury(set);
    }
    return error == 0 || *reaped;
}

uint32_t locus_pages_reap(struct locus_pages *pages)
{
    uint32_t reaped_count = 0;
    for (uint32_t i = 0; i < pages->config.sets; i++) {
        bool reaped;
        if (place_take(&pages->sets[i], &reaped))
            pthread_mutex_unlock(&pages->sets[i].holder);
        reaped_count += reaped;
    }
    return reaped_count;
}

// A place, taken; NULL: sets are prepared at all of them. A place without a set may be locked for a moment by who looks for the
// dead, or who is about to use or leave it, and is worth another look.
static struct locus_pages_set *place_find(struct locus_pages *pages)
{
    for (bool worth = true; worth; sched_yield()) {
        worth = false;
        for (uint32_t i = 0; i < pages->config.sets; i++) {
            struct locus_pages_set *set = &pages->sets[i];
            bool reaped;
            if (place_take(set, &reaped))
                return set;
            worth |= __atomic_load_n(&set->state, __ATOMIC_RELAXED) == SET_NONE;
        }
    }
    return NULL;
}

int locus_pages_set_prepare(struct locus_pages_set **out, struct locus_pages *pages, const struct locus_pages_request asks[],
                            uint32_t asks_count, locus_range ranges[])
{
    struct locus_pages_set *set = NULL;
    int error = asks_count ? 0 : -EINVAL;
    *out = NULL;
    for (uint32_t i = 0; !error && i < asks_count; i++)
        error = pages_check(pages, &asks[i]);
    if (!error)
        set = place_find(pages);
    if (error || !set)
        return error ? error : -EBUSY;
    __atomic_store_n(&set->state, SET_PREPARED, __ATOMIC_RELEASE); // C1
    for (uint32_t i = 0; !error && i < asks_count; i++) {
        uint32_t page;
        error = pages_take(pages, NULL, &asks[i], &page);
        if (error)
            break;
        pages->table[page].next = set->first;
        RELAXED_STORE(pages->table[page].set, (uint32_t)(set - pages->sets));
        ranges[i] = pages_begin(pages, &asks[i], page, LOCUS_RANGE_PREPARED);
        set->first = page;
        count(&pages->ranges_allocated, 1);
    }
    if (error) {
        locus_pages_set_rollback(set);
        return error;
    }
    *out = set;
    return 0;
}
