// SPDX-License-Identifier: Apache-2.0
//
// extent: which neighbouring ranges must leave, so that a range of several pages finds room.
//
// One pass over a zone, under its lock: free extents cost nothing, ranges that nobody pins have a score, all else is a wall. For
// each beginning the shortest run of neighbours that is long enough is looked at. The highest score in a run that moves along is
// the first of a queue in which scores fall: an element that comes behind a lower one can never be the highest again. It suffices
// to begin at the first page of a neighbour: from its middle a run would hold the same neighbours or more.
#include <errno.h>
#include <stdlib.h>

#include "pages_internal.h"

#define TRIES 8u                 // passes, each of which a new pin, or a range that must stay, has made vain; arbitrary

struct neighbour {
    double score;
    uint64_t word;              // 0: a free extent
    uint32_t first, pages;
};

struct search {
    struct locus_pages *pages;
    struct zone *zone;
    uint32_t length;
    struct neighbour *neighbours;
    uint32_t *falling;          // indices: their scores fall, the first is the run's highest
    uint32_t count, begin;      // the run that moves along is begin .. count - 1
    uint32_t fall_begin, fall_end;
    uint32_t pages_of_run, used_of_run; // used: to be evicted
    struct neighbour *best;     // the best run so far
    uint32_t best_count, best_pages; // no pages: none so far
    double best_score;
    uint32_t best_used;
};

static double run_score(const struct search *search)
{
    return search->fall_begin < search->fall_end ? search->neighbours[search->falling[search->fall_begin]].score : -__DBL_MAX__;
}

static void consider(struct search *search)
{
    double score = run_score(search);
    if (search->best_pages &&
        (score > search->best_score || (score == search->best_score && search->used_of_run >= search->best_used)))
        return;
    search->best_count = search->count - search->begin;
    search->best_pages = search->pages_of_run;
    search->best_score = score;
    search->best_used = search->used_of_run;
    search->best = &search->neighbours[search->begin];
}

static void leave_first(struct search *search)
{
    const struct neighbour *first = &search->neighbours[search->begin];
    search->pages_of_run -= first->pages;
    if (first->word) {
        search->used_of_run -= first->pages;
        search->fall_begin += search->falling[search->fall_begin] == search->begin;
    }
    search->begin++;
}

static void add(struct search *search, struct neighbour neighbour)
{
    search->neighbours[search->count] = neighbour;
    search->pages_of_run += neighbour.pages;
    if (neighbour.word) {
        search->used_of_run += neighbour.pages;
        while (search->fall_end > search->fall_begin &&
               search->neighbours[search->falling[search->fall_end - 1]].score <= neighbour.score)
            search->fall_end--;
        search->falling[search->fall_end++] = search->count;
    }
    search->count++;
    while (search->pages_of_run >= search->length) {
        consider(search);
        leave_first(search);
    }
}

static void wall(struct search *search)
{
    search->begin = search->count;
    search->fall_begin = search->fall_end;
    search->pages_of_run = search->used_of_run = 0;
}

// The cheapest run of the zone, whose lock the caller holds.
static void look(struct search *search)
{
    struct page *table = search->pages->table;
    uint32_t end = search->zone->first + search->zone->pages;
    uint64_t now_ns = now_of(search->pages);
    search->best_pages = search->count = search->fall_end = 0;
    wall(search);
    for (uint32_t at = search->zone->first; at < end; at += table[at].pages) {
        uint64_t word = word_read(&table[at].word);
        struct neighbour neighbour = {.first = at, .pages = table[at].pages};
        if (!table[at].free) {
            if (word_state(word) != LOCUS_RANGE_RESIDENT || word_pins(word) > 0 || evictor_was_refused(search->pages, at)) {
                wall(search);
                continue;
            }
            neighbour.word = word;
            neighbour.score = evictor_score(search->pages, &table[at], now_ns);
        }
        add(search, neighbour);
    }
}

// Claims the ranges of the best run and takes its free extents. False: one was pinned meanwhile, and nothing is claimed.
static bool claim(struct search *search)
{
    struct page *table = search->pages->table;
    for (uint32_t i = 0; i < search->best_count; i++) {
        struct neighbour *neighbour = &search->best[i];
        if (neighbour->word && !evictor_claim(&table[neighbour->first], neighbour->word)) {
            search->best_count = i; // those before it are claimed
            return false;
        }
    }
    for (uint32_t i = 0; i < search->best_count; i++)
        if (!search->best[i].word)
            zone_take_at(search->zone, table, search->best[i].first);
    return true;
}

static bool claim_best(struct search *search)
{
    pthread_mutex_lock(&search->zone->lock);
    look(search);
    bool found = search->best_pages > 0, claimed = found && claim(search);
    pthread_mutex_unlock(&search->zone->lock);
    for (uint32_t i = 0; found && !claimed && i < search->best_count; i++)
        if (search->best[i].word)
            evictor_unclaim(search->pages, search->best[i].first);
    return claimed;
}

// All ranges of the run go, until one must stay. 0: the whole run is the caller's. Otherwise the parts that became free are given
// back, and whoever was not asked yet stays.
static int let_go(struct search *search, enum locus_evict_reason reason)
{
    struct locus_pages *pages = search->pages;
    int error = 0;
    for (uint32_t i = 0; i < search->best_count; i++) {
        struct neighbour *neighbour = &search->best[i];
        if (!neighbour->word)
            continue;
        if (error == -EBUSY) {
            evictor_unclaim(pages, neighbour->first);
            neighbour->pages = 0;
            continue;
        }
        int result = evictor_leave(pages, neighbour->first, neighbour->score, reason);
        neighbour->pages = result == 0 ? neighbour->pages : 0;
        if (result)
            error = result > 0 ? -EAGAIN : -EBUSY;
    }
    for (uint32_t i = 0; error && i < search->best_count; i++)
        if (search->best[i].pages)
            pages_give(pages, NULL, search->best[i].first);
    return error;
}

static int scratch_open(struct search *search)
{
    uint64_t most = search->zone->pages;
    search->neighbours = malloc(most * sizeof *search->neighbours);
    search->falling = malloc(most * sizeof *search->falling);
    return search->neighbours && search->falling ? 0 : -ENOMEM;
}

int extent_clear(struct locus_pages *pages, const struct locus_pages_request *ask, enum locus_evict_reason reason, uint32_t *page)
{
    struct search search = {.pages = pages, .zone = zone_of_kind(pages, ask->kind), .length = ask->pages};
    int error = scratch_open(&search);
    unsigned tries = error ? TRIES : 0;
    for (; tries < TRIES; tries++) {
        if (claim_best(&search)) {
            error = let_go(&search, reason);
            if (error != -EBUSY)
                break;
        } else if (search.best_pages == 0) {
            error = -ENOMEM;
            break;
        }
        error = -ENOMEM;
    }
    if (!error) {
        uint32_t first = search.best[0].first;
        zone_join(search.zone, pages->table, first, ask->pages, first + search.best_pages);
        *page = first;
    }
    free(search.falling);
    free(search.neighbours);
    return error;
}
