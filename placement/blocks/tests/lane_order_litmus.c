// SPDX-License-Identifier: Apache-2.0
//
// V1/V2: the owner sees what the lane's only pusher wrote before it sent, and everything in the order in which it was sent, through
// the ring and through the mailbox. The ring has four slots here, so that it is full, empty and full again between two looks of
// the owner's. `inline` is made static: the library's symbols have the usual ring.
#define LOCUS_LANE_SLOTS 4u
#define inline static inline
#include "locus/lane.h" // before litmus.h, which includes it as well
#undef inline

#include "placement/base/tests/litmus.h"

#define LETTERS 4096u

struct letter {
    struct locus_link link; // first: a taken link is its letter
    _Alignas(LOCUS_CACHE_LINE) unsigned text; // the plain data that the pair orders
};

static struct locus_lane lane;
static struct locus_lane_end end;
static struct letter letters[LETTERS];
static _Atomic unsigned arrived, detours, received; // relaxed, all of them

// Goes on when the owner is behind by few letters only, or by none: how many is drawn for each burst.
static void wait_for_owner(unsigned sent)
{
    static unsigned random = 1, burst_end;
    if (sent < burst_end && sent)
        return;
    random = random * 1664525 + 1013904223;
    burst_end = sent + 1 + (random >> 29);
    for (unsigned spin = 1; sent > atomic_load_explicit(&received, memory_order_relaxed) + (random >> 26 & 3); spin++)
        litmus_pause(spin);
}

static void *pusher_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < LETTERS; i++) {
        wait_for_owner(i);
        letters[i].text = i + 1;
        if (locus_lane_send(&lane, &letters[i]))
            continue;
        locus_mailbox_push(&lane.mailbox, &letters[i].link);
        atomic_fetch_add_explicit(&detours, 1, memory_order_relaxed);
    }
    return NULL;
}

static void read_letter(const struct letter *letter, unsigned *last)
{
    litmus_expect(letter->text == *last + 1, "letters arrive whole and in order");
    atomic_store_explicit(&received, ++*last, memory_order_relaxed);
}

static void take_all(void)
{
    unsigned last = 0;
    for (unsigned spin = 1; last < LETTERS; spin++) {
        struct locus_link *links;
        bool alone;
        struct letter *letter = locus_lane_next(&lane, &end, &links, &alone);
        if (letter)
            read_letter(letter, &last);
        for (; links; links = alone ? NULL : links->next)
            read_letter((struct letter *)links, &last);
        if (!letter)
            litmus_pause(spin);
    }
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 0; run < runs; run++) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&received, 0, memory_order_relaxed);
        pthread_t pusher = litmus_thread(pusher_main, NULL);
        litmus_start(&arrived, 2);
        take_all();
        pthread_join(pusher, NULL);
    }
    litmus_expect(detours > 0 && detours < runs * LETTERS, "both ways were used");
    printf("%u runs, %u of %u messages made a detour\n", runs, detours, runs * LETTERS);
    return 0;
}
