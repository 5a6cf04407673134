// SPDX-License-Identifier: Apache-2.0
//
// magazine: single pages of one thread. Its owner puts pages into empty slots by a store (M1, release) and takes them by an
// exchange (M2, acquire; slot_take()); others take them by the same exchange, so of two exactly one gets a page. M1 and M2 order
// what was done to a page before it was given against what its next user does.
#include <errno.h>
#include <stdlib.h>

#include "pages_internal.h"

bool magazine_give(struct locus_magazine *magazine, uint32_t page)
{
    if (magazine->top == magazine->room)
        return false;
    RELAXED_STORE(magazine->pages->table[page].in_magazine, true);
    __atomic_store_n(&magazine->slots[magazine->top++], page + 1, __ATOMIC_RELEASE); // M1
    return true;
}

// Half full, so that the next frees find room as well.
uint32_t magazine_fill(struct locus_magazine *magazine)
{
    uint32_t singles[LOCUS_MAGAZINE_MAX];
    uint32_t count = zone_take_singles(magazine->pages->zones, magazine->pages->table, singles, (magazine->room + 1) / 2);
    while (count > 0)
        magazine_give(magazine, singles[--count]);
    return magazine_take(magazine);
}

static void empty(struct locus_pages *pages, struct locus_magazine *magazine)
{
    for (uint32_t i = 0; i < magazine->room; i++) {
        uint32_t taken = slot_take(&magazine->slots[i]);
        if (taken)
            zone_give(pages->zones, pages->table, taken - 1, 1);
    }
}

void magazines_empty(struct locus_pages *pages)
{
    pthread_mutex_lock(&pages->magazines_lock);
    for (struct locus_magazine *magazine = pages->magazines; magazine; magazine = magazine->next)
        empty(pages, magazine);
    pthread_mutex_unlock(&pages->magazines_lock);
}

int locus_magazine_open(struct locus_magazine **out, struct locus_pages *pages)
{
    struct locus_magazine *magazine = aligned_alloc(ZONE_ALIGN_BYTES, sizeof *magazine);
    if (!magazine)
        return -ENOMEM;
    *magazine = (struct locus_magazine){.pages = pages, .room = pages->config.magazine_pages};
    pthread_mutex_lock(&pages->magazines_lock);
    magazine->next = pages->magazines;
    pages->magazines = magazine;
    pthread_mutex_unlock(&pages->magazines_lock);
    *out = magazine;
    return 0;
}

void locus_magazine_close(struct locus_magazine *magazine)
{
    if (!magazine)
        return;
    struct locus_pages *pages = magazine->pages;
    pthread_mutex_lock(&pages->magazines_lock);
    struct locus_magazine **link = &pages->magazines;
    while (*link != magazine)
        link = &(*link)->next;
    *link = magazine->next;
    empty(pages, magazine);
    count(&pages->ranges_allocated, magazine->allocated);
    count(&pages->ranges_freed, magazine->freed);
    pthread_mutex_unlock(&pages->magazines_lock);
    pages_wake(pages);
    free(magazine);
}
