// SPDX-License-Identifier: Apache-2.0
//
// zone: the free extents of some pages. A set of lengths finds the best fit, a set of first pages the first fit; extents of
// equal length are a list, the latest first. The first and the last page of a free extent know it, so that neighbours join when
// a range comes back.
#include "zone.h"

#include <errno.h>
#include <stdlib.h>

#include "placement/base/counters.h"

int zone_open(struct zone *zone, struct page *table, uint32_t first, uint32_t pages)
{
    *zone = (struct zone){.first = first, .pages = pages};
    pthread_mutex_init(&zone->lock, NULL);
    int error = bits_open(&zone->lengths, pages + 1);
    if (!error)
        error = bits_open(&zone->heads, pages + 1);
    zone->of_length = malloc((pages + UINT64_C(1)) * sizeof *zone->of_length);
    if (error || !zone->of_length)
        return -ENOMEM;
    for (uint32_t i = 0; i <= pages; i++)
        zone->of_length[i] = PAGE_NONE;
    if (pages)
        zone_give(zone, table, first, pages); // a zone of no pages is one that an arena has no use for
    return 0;
}

void zone_close(struct zone *zone)
{
    free(zone->of_length);
    bits_close(&zone->heads);
    bits_close(&zone->lengths);
    pthread_mutex_destroy(&zone->lock);
}

static void insert(struct zone *zone, struct page *table, uint32_t first, uint32_t length)
{
    struct page *head = &table[first], *last = &table[first + length - 1];
    uint32_t next = zone->of_length[length];
    head->free = last->free = true;
    RELAXED_STORE(head->in_magazine, false);
    RELAXED_STORE(head->pages, length);
    last->head = first;
    head->previous = PAGE_NONE;
    head->next = next;
    if (next != PAGE_NONE)
        table[next].previous = first;
    else
        bits_set(&zone->lengths, length);
    zone->of_length[length] = first;
    bits_set(&zone->heads, first - zone->first);
}

static void withdraw(struct zone *zone, struct page *table, uint32_t first)
{
    struct page *head = &table[first];
    uint32_t length = head->pages;
    if (head->next != PAGE_NONE)
        table[head->next].previous = head->previous;
    if (head->previous != PAGE_NONE)
        table[head->previous].next = head->next;
    else if ((zone->of_length[length] = head->next) == PAGE_NONE)
        bits_clear(&zone->lengths, length);
    head->free = table[first + length - 1].free = false;
    bits_clear(&zone->heads, first - zone->first);
}

// `length` pages from `at` on leave the free extent `first`; what is left on both sides stays free.
static uint32_t cut(struct zone *zone, struct page *table, uint32_t first, uint32_t at, uint32_t length)
{
    uint32_t end = first + table[first].pages;
    withdraw(zone, table, first);
    if (at > first)
        insert(zone, table, first, at - first);
    if (end > at + length)
        insert(zone, table, at + length, end - at - length);
    RELAXED_STORE(table[at].pages, length);
    counter_add(&zone->pages_free, -(uint64_t)length);
    return at;
}

static uint32_t find(const struct zone *zone, const struct page *table, uint32_t length, bool first_fit)
{
    if (length > zone->pages)
        return PAGE_NONE;
    if (!first_fit) {
        uint32_t best = bits_next(&zone->lengths, length);
        return best == BITS_NONE ? PAGE_NONE : zone->of_length[best];
    }
    for (uint32_t i = bits_next(&zone->heads, 0); i != BITS_NONE; i = bits_next(&zone->heads, i + 1))
        if (table[zone->first + i].pages >= length)
            return zone->first + i;
    return PAGE_NONE;
}

static uint32_t take(struct zone *zone, struct page *table, uint32_t length, bool first_fit, bool high_end)
{
    uint32_t first = find(zone, table, length, first_fit);
    if (first == PAGE_NONE)
        return PAGE_NONE;
    return cut(zone, table, first, high_end ? first + table[first].pages - length : first, length);
}

uint32_t zone_take(struct zone *zone, struct page *table, uint32_t length, bool first_fit, bool high_end)
{
    pthread_mutex_lock(&zone->lock);
    uint32_t page = take(zone, table, length, first_fit, high_end);
    pthread_mutex_unlock(&zone->lock);
    return page;
}

uint32_t zone_take_singles(struct zone *zone, struct page *table, uint32_t singles[], uint32_t most)
{
    uint32_t taken = 0;
    pthread_mutex_lock(&zone->lock);
    for (; taken < most; taken++) {
        uint32_t page = take(zone, table, 1, false, false);
        if (page == PAGE_NONE)
            break;
        RELAXED_STORE(table[page].in_magazine, true);
        singles[taken] = page;
    }
    pthread_mutex_unlock(&zone->lock);
    return taken;
}

static void give(struct zone *zone, struct page *table, uint32_t first, uint32_t length)
{
    uint32_t end = first + length;
    counter_add(&zone->pages_free, length);
    if (first > zone->first && table[first - 1].free) {
        first = table[first - 1].head;
        withdraw(zone, table, first);
    }
    if (end < zone->first + zone->pages && table[end].free) {
        uint32_t neighbour = end;
        end += table[neighbour].pages;
        withdraw(zone, table, neighbour);
    }
    insert(zone, table, first, end - first);
}

void zone_give(struct zone *zone, struct page *table, uint32_t first, uint32_t length)
{
    pthread_mutex_lock(&zone->lock);
    give(zone, table, first, length);
    pthread_mutex_unlock(&zone->lock);
}

void zone_take_at(struct zone *zone, struct page *table, uint32_t first)
{
    cut(zone, table, first, first, table[first].pages);
}

void zone_join(struct zone *zone, struct page *table, uint32_t first, uint32_t length, uint32_t end)
{
    pthread_mutex_lock(&zone->lock);
    RELAXED_STORE(table[first].pages, length);
    if (end > first + length) {
        RELAXED_STORE(table[first + length].pages, end - first - length);
        give(zone, table, first + length, end - first - length);
    }
    pthread_mutex_unlock(&zone->lock);
}

uint32_t zone_largest(struct zone *zone)
{
    pthread_mutex_lock(&zone->lock);
    uint32_t largest = bits_last(&zone->lengths);
    pthread_mutex_unlock(&zone->lock);
    return largest == BITS_NONE ? 0 : largest;
}
