// SPDX-License-Identifier: Apache-2.0
//
// V1/V2: the owner sees what the lane's only pusher wrote before it sent, and everything in the order in which it was sent, through
// the ring and through the mailbox.
#include "placement/base/tests/litmus.h"
#include "placement/blocks/lane.h"

#define LETTERS (3 * LOCUS_LANE_SLOTS)

struct letter {
    struct locus_link link; // first: a taken link is its letter
    _Alignas(LOCUS_CACHE_LINE) unsigned text; // the plain data that the pair orders
};

static struct locus_lane lane;
static struct locus_lane_end end;
static struct letter letters[LETTERS];
static _Atomic unsigned arrived;
static _Atomic unsigned detours;

static void *pusher_main(void *argument)
{
    (void)argument;
    litmus_start(&arrived, 2);
    for (unsigned i = 0; i < LETTERS; i++) {
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
    ++*last;
}

static void take_all(void)
{
    unsigned last = 0;
    for (unsigned spin = 1; last < LETTERS; spin++, litmus_pause(spin)) {
        struct letter *letter;
        while ((letter = locus_lane_take(&lane, &end)))
            read_letter(letter, &last);
        if (end.looks == LOCUS_LOOKS_RING || !locus_mailbox_arrived(&lane.mailbox))
            continue;
        while ((letter = locus_lane_take(&lane, &end))) // sent after the last look, but before what is in the mailbox
            read_letter(letter, &last);
        struct locus_link *link = end.looks == LOCUS_LOOKS_RING ? NULL : locus_mailbox_take(&lane.mailbox);
        for (; link; link = link->next)
            read_letter((struct letter *)link, &last);
    }
}

// In every other run the owner begins when the ring has overflowed.
static void run_once(unsigned run)
{
    unsigned before = atomic_load_explicit(&detours, memory_order_relaxed);
    atomic_store_explicit(&arrived, 0, memory_order_relaxed);
    pthread_t pusher = litmus_thread(pusher_main, NULL);
    litmus_start(&arrived, 2);
    for (unsigned spin = 1; run % 2 && atomic_load_explicit(&detours, memory_order_relaxed) == before; spin++)
        litmus_pause(spin);
    take_all();
    pthread_join(pusher, NULL);
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 0; run < runs; run++)
        run_once(run);
    litmus_expect(detours >= runs / 2, "half of the runs made detours");
    printf("%u runs, %u detours\n", runs, detours);
    return 0;
}
