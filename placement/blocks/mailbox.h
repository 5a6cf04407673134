// SPDX-License-Identifier: Apache-2.0
//
// mailbox: how blocks travel home. Any number of threads push, one owner takes everything at once.
//
// A mailbox is the head of an intrusive stack (R. K. Treiber, IBM RJ 5118, 1986). There is no pop, only take-all, so the ABA
// problem of Treiber's pop cannot occur: a push compares the head with the value it has just linked to, and it is irrelevant
// whether that node left and came back in between. There is no capacity and no batch size to tune; push never allocates and never
// waits for another thread to be scheduled.
//
//                 push        take        empty
//     push         -           -            -         "-"  may run at the same time
//     take         -           X            -         "X"  one owner at a time
//
// Ownership: a link (and whatever it is embedded in) belongs to the pusher until push, to the mailbox afterwards, and to the
// taker once take has returned it.
//
// The atomics are the compiler's builtins, because C11 and C++ do not share a header for theirs.
#ifndef LOCUS_MAILBOX_H
#define LOCUS_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_CACHE_LINE 64 // x86-64 and aarch64 servers

struct locus_link {
    struct locus_link *next; // private to the library from push until the taker has read it
};

// One per cache line: two heads in one line would make every worker's push fight with its neighbour's. Initialise with
// locus_mailbox_init(); place it on the home's node, because the owner polls it and the pushers come from anywhere.
//
// The head is the address of the link pushed last, with its lowest bit set if the mailbox was empty before. So a taker that finds
// a single link, as a frequent drain mostly does, need not fetch the link's line to learn that nothing follows.
struct locus_mailbox {
    uintptr_t head __attribute__((aligned(LOCUS_CACHE_LINE))); // atomic: only the functions below touch it
};

#define LOCUS_MAILBOX_ALONE ((uintptr_t)1)

inline void locus_mailbox_init(struct locus_mailbox *mailbox)
{
    mailbox->head = 0;
}

// P1 (release), partner T1: a taker that finds this link sees everything that the pusher wrote before: the link, the table around
// it, the blocks. The load before the loop and the failed exchange may be relaxed: the value is only stored in link->next, and
// the pusher never follows it. Pushes of several threads form one release sequence, so a take that finds the last link has also
// acquired all the earlier ones.
inline void locus_mailbox_push(struct locus_mailbox *mailbox, struct locus_link *link)
{
    uintptr_t head = __atomic_load_n(&mailbox->head, __ATOMIC_RELAXED);
    uintptr_t own;
    do {
        link->next = (struct locus_link *)(head & ~LOCUS_MAILBOX_ALONE);
        own = (uintptr_t)link | (head ? 0 : LOCUS_MAILBOX_ALONE);
    } while (!__atomic_compare_exchange_n(&mailbox->head, &head, own, true, __ATOMIC_RELEASE, // P1
                                          __ATOMIC_RELAXED));
}

// A hint: true means that nothing had arrived when it looked. Any thread.
inline bool locus_mailbox_empty(const struct locus_mailbox *mailbox)
{
    return __atomic_load_n(&mailbox->head, __ATOMIC_RELAXED) == 0;
}

// T2 (acquire), partner P1: if true, everything is visible that the pusher of the last link wrote before, in other places, too.
inline bool locus_mailbox_arrived(const struct locus_mailbox *mailbox)
{
    return __atomic_load_n(&mailbox->head, __ATOMIC_ACQUIRE) != 0; // T2
}

// Takes all that has arrived, oldest first, or NULL. *alone: it is a single link, and its `next` (which is NULL) need not be
// read. T1 (acquire), partner P1. The check before the exchange makes polling cheap: a locked exchange costs as much on an empty
// mailbox as on a full one, and takes the line from the pushers. (Prefetching head or link for writing was measured: no
// difference.)
inline struct locus_link *locus_mailbox_take_all(struct locus_mailbox *mailbox, bool *alone)
{
    *alone = true;
    if (locus_mailbox_empty(mailbox))
        return NULL;
    uintptr_t head = __atomic_exchange_n(&mailbox->head, 0, __ATOMIC_ACQUIRE); // T1
    struct locus_link *link = (struct locus_link *)(head & ~LOCUS_MAILBOX_ALONE);
    struct locus_link *oldest_first = NULL;
    if (head & LOCUS_MAILBOX_ALONE)
        return link;
    *alone = false;
    while (link) {
        struct locus_link *next = link->next;
        link->next = oldest_first;
        oldest_first = link;
        link = next;
    }
    return oldest_first;
}

// The same, for a caller that reads `next` in any case.
inline struct locus_link *locus_mailbox_take(struct locus_mailbox *mailbox)
{
    bool alone;
    return locus_mailbox_take_all(mailbox, &alone);
}

#ifdef __cplusplus
}
#endif

#endif
