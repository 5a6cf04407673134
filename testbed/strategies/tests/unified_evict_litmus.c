// SPDX-License-Identifier: Apache-2.0
//
// unified_evict: who evicts, and when, in the unified pool's listing (seeds/README.md), in every interleaving.
//
// allocate: a try_lock that fails is taken for a list without pages, and the eviction that follows asks for a tenth more than is
//   needed, so it evicts although a page is free.
// coordinate: maybe_evict() looks whether somebody evicts, and then locks. Two threads look at the same time; the second evicts
//   although the first has freed pages, and says true without a look whether any are left. And a third that waits for an eviction
//   is told false when others took what it freed, although more could be evicted.
// queue: evict_until_free() takes pinned pages out of the queue and never puts them back, so they cannot go when they are unpinned;
//   and an empty queue has no exit.
//
// Repaired: one evictor at a time; who has waited looks again, and takes its page before it lets the next one in; a pinned page
// stays in the queue; a queue without a page that may go is an error. (unified_test.c has what eviction frees, and in which order.)
#include "placement/base/tests/interleave.h"

#define THREADS 3u
#define NOBODY 0u
#define LAST 20u

enum role { IDLE, ALLOCATES, GIVES_BACK, COORDINATES, EVICTS, UNPINS, WAITS_ITS_TURN, DOES_NOT_LOOK, EVICTS_AND_KEEPS };

struct with {
    enum role roles[THREADS];
    uint8_t free_pages, evictable; // at the beginning
    uint8_t pinned;                // of the evictable, the first ones in the queue
    const char *only;              // nothing else is looked for
};

enum wrong { NEEDLESS = 1, TRUE_FOR_NOTHING, FALSE_TOO_EARLY, NEVER_AGAIN };
static const char *const wrongs[] = {NULL, "evicts although pages are free", "says that there are pages, and there are none",
                                     "says that there are none, and a page could go", "a page that may go is in no queue"};

struct all {
    uint8_t free_pages, evictable, pinned, queued;
    uint8_t lock, evicting; // lock: 1 + thread
    uint8_t at[THREADS], got[THREADS], failed[THREADS];
    uint8_t wrong, unused;
};

static void begin(const void *argument, void *state)
{
    const struct with *with = argument;
    struct all *all = state;
    all->free_pages = with->free_pages;
    all->evictable = with->evictable;
    all->queued = with->evictable;
    all->pinned = with->pinned;
}

static void report(const struct with *with, struct all *all, enum wrong wrong)
{
    if (!all->wrong && (!with->only || with->only == wrongs[wrong]))
        all->wrong = (uint8_t)wrong;
}

static void evict_one(const struct with *with, struct all *all)
{
    if (all->free_pages)
        report(with, all, NEEDLESS);
    interleave_say("evicts a page, %u were free", all->free_pages);
    all->evictable--;
    all->queued--;
    all->free_pages++;
}

static bool take_page(struct all *all, unsigned me)
{
    interleave_say("takes a page: %u are free", all->free_pages);
    if (!all->free_pages)
        return false;
    all->free_pages--;
    all->got[me] = 1;
    return true;
}

// The listing's allocation of one page. All that happens under the lock is one step; the lock is held before and after it.
static enum interleave_step step_allocate(const struct with *with, struct all *all, unsigned me)
{
    switch (all->at[me]) {
    case 0:
        all->at[me] = all->lock == NOBODY ? 1 : 3;
        interleave_say("tries the lock of the free list: %s", all->lock == NOBODY ? "gets it" : "somebody has it");
        all->lock = all->lock == NOBODY ? (uint8_t)(1 + me) : all->lock;
        break;
    case 1: all->at[me] = take_page(all, me) ? 2 : 4; break;
    case 2:
    case 4:
        all->lock = NOBODY;
        interleave_say("unlocks the free list");
        all->at[me] = all->at[me] == 2 ? LAST : 3;
        break;
    case 3: // until a tenth more is free than the one page that it needs
        if (all->free_pages * 10 < 11 && all->evictable)
            evict_one(with, all);
        else
            interleave_say("evicts nothing, %u pages are free", all->free_pages);
        all->at[me] = LAST;
        break;
    default: return INTERLEAVE_ENDED;
    }
    return INTERLEAVE_WENT;
}

static enum interleave_step step_give_back(struct all *all, unsigned me)
{
    switch (all->at[me]) {
    case 0:
        if (all->lock != NOBODY)
            return INTERLEAVE_WAITS;
        all->lock = (uint8_t)(1 + me);
        interleave_say("locks the free list, to give a page back");
        break;
    case 1:
        all->free_pages++;
        interleave_say("gives a page back: %u are free", all->free_pages);
        break;
    case 2:
        all->lock = NOBODY;
        interleave_say("unlocks the free list");
        break;
    default: return INTERLEAVE_ENDED;
    }
    all->at[me]++;
    return INTERLEAVE_WENT;
}

// The listing's maybe_evict(1), and then the page is taken.
static enum interleave_step step_coordinate(const struct with *with, struct all *all, unsigned me)
{
    switch (all->at[me]) {
    case 0:
        interleave_say("sees %u free pages", all->free_pages);
        all->at[me] = all->free_pages ? 7 : 1;
        break;
    case 1:
        interleave_say("sees that %s evicts", all->evicting ? "somebody" : "nobody");
        all->at[me] = all->evicting ? 8 : 2;
        break;
    case 2:
        if (all->lock != NOBODY)
            return INTERLEAVE_WAITS;
        all->lock = (uint8_t)(1 + me);
        all->at[me] = 3;
        interleave_say("locks");
        break;
    case 3:
        all->evicting = 1;
        all->at[me] = 4;
        interleave_say("says that it evicts");
        break;
    case 4:
        if (all->evictable)
            evict_one(with, all);
        else
            interleave_say("finds nothing to evict");
        all->at[me] = 5;
        break;
    case 5:
        all->evicting = 0;
        all->at[me] = 6;
        interleave_say("says that it evicts no more");
        break;
    case 6:
        all->lock = NOBODY;
        all->at[me] = 7;
        interleave_say("unlocks");
        break;
    case 7: // it was told that there is one
        if (!take_page(all, me))
            report(with, all, TRUE_FOR_NOTHING);
        all->at[me] = LAST;
        break;
    case 8: // one read at a time, but reads that change nothing need no state of their own
        if (all->evicting)
            return INTERLEAVE_WAITS;
        all->at[me] = 9;
        interleave_say("sees that nobody evicts any more");
        break;
    case 9:
        interleave_say("sees %u free pages", all->free_pages);
        if (!all->free_pages && all->evictable)
            report(with, all, FALSE_TOO_EARLY);
        all->at[me] = all->free_pages ? 7 : LAST;
        break;
    default: return INTERLEAVE_ENDED;
    }
    return INTERLEAVE_WENT;
}

// Repaired: the lock is waited for; look, evict and take are under it.
static enum interleave_step step_in_turn(const struct with *with, struct all *all, unsigned me, bool looks)
{
    switch (all->at[me]) {
    case 0:
        if (all->lock != NOBODY)
            return INTERLEAVE_WAITS;
        all->lock = (uint8_t)(1 + me);
        interleave_say("locks");
        break;
    case 1:
        if (!(looks && all->free_pages) && all->evictable)
            evict_one(with, all);
        else
            interleave_say("has no need to evict, or nothing to");
        break;
    case 2: all->failed[me] = !take_page(all, me); break;
    case 3:
        all->lock = NOBODY;
        interleave_say("unlocks");
        if (all->failed[me] && all->evictable)
            report(with, all, FALSE_TOO_EARLY);
        break;
    default: return INTERLEAVE_ENDED;
    }
    all->at[me]++;
    return INTERLEAVE_WENT;
}

// The queue holds the pinned pages first. `keeps`: a pinned page stays in the queue, and a look at all of them ends.
static enum interleave_step step_queue(const struct with *with, struct all *all, unsigned me, bool keeps)
{
    if (all->at[me] == LAST)
        return INTERLEAVE_ENDED;
    if (all->free_pages) {
        take_page(all, me);
        all->at[me] = LAST;
    } else if (keeps && all->at[me] == all->queued) {
        interleave_say("has looked at every page, and says that none may go");
        all->at[me] = LAST;
    } else if (!keeps && !all->queued) {
        return INTERLEAVE_WAITS; // the queue's own pop waits for an entry
    } else if (keeps ? all->at[me] < all->pinned : all->evictable - all->queued < all->pinned) {
        all->queued -= !keeps;
        all->at[me]++;
        interleave_say("looks at a page, which is pinned: %s", keeps ? "it stays in the queue" : "it was in the queue");
    } else {
        evict_one(with, all);
    }
    return INTERLEAVE_WENT;
}

static enum interleave_step step_unpin(struct all *all, unsigned me)
{
    if (!all->pinned || all->at[me] == LAST)
        return INTERLEAVE_ENDED;
    all->pinned--;
    interleave_say("unpins a page: it may go");
    return INTERLEAVE_WENT;
}

static enum interleave_step step(const void *argument, void *state, unsigned thread)
{
    const struct with *with = argument;
    switch (with->roles[thread]) {
    case ALLOCATES: return step_allocate(with, state, thread);
    case GIVES_BACK: return step_give_back(state, thread);
    case COORDINATES: return step_coordinate(with, state, thread);
    case EVICTS: return step_queue(with, state, thread, false);
    case EVICTS_AND_KEEPS: return step_queue(with, state, thread, true);
    case UNPINS: return step_unpin(state, thread);
    case WAITS_ITS_TURN: return step_in_turn(with, state, thread, true);
    case DOES_NOT_LOOK: return step_in_turn(with, state, thread, false);
    default: return INTERLEAVE_ENDED;
    }
}

static const char *wrong(const void *argument, const void *state, bool all_ended)
{
    const struct with *with = argument;
    const struct all *all = state;
    if (all_ended && !all->pinned && all->queued < all->evictable && (!with->only || with->only == wrongs[NEVER_AGAIN]))
        return wrongs[NEVER_AGAIN];
    return wrongs[all->wrong];
}

int main(void)
{
    const struct {
        const char *name, *what;
        struct with with;
    } scenes[] = {
        {"listing: allocate while another gives back",
         wrongs[NEEDLESS],
         {.roles = {ALLOCATES, GIVES_BACK}, .free_pages = 1, .evictable = 1}},
        {"listing: two find no page",
         wrongs[NEEDLESS],
         {.roles = {COORDINATES, COORDINATES}, .evictable = 2, .only = wrongs[NEEDLESS]}},
        {"listing: two find no page, and one can go",
         wrongs[TRUE_FOR_NOTHING],
         {.roles = {COORDINATES, COORDINATES}, .evictable = 1, .only = wrongs[TRUE_FOR_NOTHING]}},
        {"listing: one waits for the eviction of another",
         wrongs[FALSE_TOO_EARLY],
         {.roles = {COORDINATES, COORDINATES}, .evictable = 2, .only = wrongs[FALSE_TOO_EARLY]}},
        {"listing: a pinned page is skipped, and is unpinned",
         "no thread can go on",
         {.roles = {EVICTS, UNPINS}, .evictable = 1, .pinned = 1}},
        {"listing: a pinned page is skipped, another goes",
         wrongs[NEVER_AGAIN],
         {.roles = {EVICTS, UNPINS}, .evictable = 2, .pinned = 1}},
        {"repaired: three find no page, and two can go",
         NULL,
         {.roles = {WAITS_ITS_TURN, WAITS_ITS_TURN, WAITS_ITS_TURN}, .evictable = 2}},
        {"repaired: two find no page, and one is given back",
         NULL,
         {.roles = {WAITS_ITS_TURN, GIVES_BACK, WAITS_ITS_TURN}, .evictable = 2}},
        {"broken: who has waited does not look again",
         wrongs[NEEDLESS],
         {.roles = {DOES_NOT_LOOK, GIVES_BACK, DOES_NOT_LOOK}, .evictable = 2}},
        {"repaired: a pinned page stays in the queue", NULL, {.roles = {EVICTS_AND_KEEPS, UNPINS}, .evictable = 1, .pinned = 1}},
        {"repaired: the other page goes", NULL, {.roles = {EVICTS_AND_KEEPS, UNPINS}, .evictable = 2, .pinned = 1}},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        struct interleave_model model = {scenes[i].name, &scenes[i].with, THREADS, sizeof(struct all), begin, step, wrong};
        if (scenes[i].what)
            interleave_expect_fault(&model, scenes[i].what);
        else
            interleave_expect_none(&model);
    }
    return 0;
}
