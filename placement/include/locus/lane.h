// SPDX-License-Identifier: Apache-2.0
//
// lane: one way into an owner. Every lane has a mailbox, which any number of threads may push to; a lane with one pusher has a
// ring as well, where a push is a plain store.
//
// The mailbox is the head of an intrusive stack (R. K. Treiber, IBM RJ 5118, 1986). There is no pop, only take-all, so the ABA
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
// The ring is for a lane whose mode is exclusive (locus_route_add_exclusive). A slot has a message: an address, and in its lowest
// bit the parity of its turn round the ring. So the slot says whether it is new: the owner polls one line and writes none of the
// pusher's (FastForward: Giacomoni et al., PPoPP 2008). Now and then it writes down how many it took (MCRingBuffer: Lee et al.,
// IPDPS 2010). A full ring sends its pusher to the mailbox, so nobody waits, and nothing is lost.
//
// Order. What one pusher sends arrives as it was sent. The message that may fill the ring says so (LAST). Then, and at first, the
// owner looks into the mailbox, too, until the next message. The pusher comes back to the ring only when it has seen the mailbox
// empty: what it put there was taken before. So an owner that finds the ring empty and the mailbox not (T2) looks at the ring once
// more before it takes the mailbox, and finishes that before the ring. V1 (release) of a send, partner V2 (acquire) of the take:
// the owner sees the table as the pusher left it. `taken` is relaxed: if the owner's V2 read a message that overwrote an unread
// one, it would synchronise with that one's V1, and the pusher's load of `taken`, before that V1, would happen before the store
// that it read from.
//
// The atomics are the compiler's builtins, because C11 and C++ do not share a header for theirs.
#ifndef LOCUS_LANE_H
#define LOCUS_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOCUS_CACHE_LINE 64 // x86-64 and aarch64 servers

struct locus_link {
    struct locus_link *next;    // private to the library from push until the taker has read it
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

#ifndef LOCUS_LANE_SLOTS // It decides only how often a pusher makes a detour. All that share a lane have the same; a test has fewer
#define LOCUS_LANE_SLOTS 128u
#elif LOCUS_LANE_SLOTS < 4 || LOCUS_LANE_SLOTS > 1048576 || (LOCUS_LANE_SLOTS & (LOCUS_LANE_SLOTS - 1))
#error "LOCUS_LANE_SLOTS is not a power of two from 4 to 2^20"
#endif
#define LOCUS_LANE_ACK_EVERY (LOCUS_LANE_SLOTS / 4) // after so many messages the owner writes down how many it took
#define LOCUS_LANE_PARITY ((uintptr_t)1)
#define LOCUS_LANE_LAST ((uintptr_t)2) // of a message: the ring may be full now
enum locus_lane_source { LOCUS_LANE_FROM_BOTH, LOCUS_LANE_FROM_MAILBOX, LOCUS_LANE_FROM_RING }; // where the owner looks next
enum locus_lane_mode { LOCUS_LANE_UNUSED, LOCUS_LANE_SHARED, LOCUS_LANE_EXCLUSIVE };

// Zeroed memory is an empty lane. Its owner's node has it. Only the functions below touch it. The counts wrap.
struct locus_lane {
    struct locus_mailbox mailbox;
    uint32_t taken
        __attribute__((aligned(LOCUS_CACHE_LINE)));           // atomic: messages, as last acknowledged; the owner's, for the pusher
    uint32_t mode;              // atomic: enum locus_lane_mode; whoever makes a route
    uint32_t sent __attribute__((aligned(LOCUS_CACHE_LINE))); // messages; the pusher's
    uint32_t limit;             // up to here it may send before it has to look again
    bool detours;               // the last message went to the mailbox
    uintptr_t slots[LOCUS_LANE_SLOTS] __attribute__((aligned(LOCUS_CACHE_LINE)));
};

// The owner's end. Those of all lanes are in one array, so a poll of many is short.
struct locus_lane_end {
    uint32_t taken;             // messages
    uint32_t source;            // enum locus_lane_source
};

inline uintptr_t locus_lane_parity(uint32_t turn) // 1 in the first round, so an unwritten slot is no message
{
    return ~(turn / LOCUS_LANE_SLOTS) & LOCUS_LANE_PARITY;
}

// May the next message use the ring? To be asked when it looks full, and after a detour.
inline bool locus_lane_reopen(struct locus_lane *lane)
{
    uint32_t limit = __atomic_load_n(&lane->taken, __ATOMIC_RELAXED) + LOCUS_LANE_SLOTS;
    lane->detours = (lane->detours && !locus_mailbox_empty(&lane->mailbox)) || lane->sent == limit;
    lane->limit = lane->detours ? lane->sent : limit;
    return !lane->detours;
}

// The only pusher's. `parcel` is aligned to a cache line. False: its link has to go into the mailbox, before anything else is sent.
inline bool locus_lane_send(struct locus_lane *lane, void *parcel)
{
    uint32_t turn = lane->sent;
    if (__builtin_expect(turn == lane->limit, 0) && !locus_lane_reopen(lane))
        return false;
    bool last = turn + 1 == lane->limit;
    uintptr_t message = (uintptr_t)parcel | (last ? LOCUS_LANE_LAST : 0) | locus_lane_parity(turn);
    lane->sent = turn + 1;
    __atomic_store_n(&lane->slots[turn % LOCUS_LANE_SLOTS], message, __ATOMIC_RELEASE); // V1
    return true;
}

// The owner's. NULL: nothing new in the ring.
inline void *locus_lane_take(struct locus_lane *lane, struct locus_lane_end *end)
{
    uint32_t turn = end->taken;
    uintptr_t message = __atomic_load_n(&lane->slots[turn % LOCUS_LANE_SLOTS], __ATOMIC_ACQUIRE); // V2
    if (end->source == LOCUS_LANE_FROM_MAILBOX || (message & LOCUS_LANE_PARITY) != locus_lane_parity(turn))
        return NULL;
    end->taken = turn + 1;
    if (end->taken % LOCUS_LANE_ACK_EVERY == 0)
        __atomic_store_n(&lane->taken, end->taken, __ATOMIC_RELAXED);
    end->source = message & LOCUS_LANE_LAST ? LOCUS_LANE_FROM_BOTH : LOCUS_LANE_FROM_RING;
    return (void *)(message & ~(LOCUS_LANE_PARITY | LOCUS_LANE_LAST));
}

// The owner's. The next parcel of the ring; or NULL, and all links of the mailbox, as locus_mailbox_take_all() gives them.
inline void *locus_lane_next(struct locus_lane *lane, struct locus_lane_end *end, struct locus_link **links, bool *alone)
{
    void *parcel = locus_lane_take(lane, end);
    *links = NULL;
    if (parcel || end->source == LOCUS_LANE_FROM_RING || !locus_mailbox_arrived(&lane->mailbox))
        return parcel;
    parcel = locus_lane_take(lane, end); // sent after that look, but before what is in the mailbox
    if (!parcel)
        *links = locus_mailbox_take_all(&lane->mailbox, alone);
    return parcel;
}

// The owner's. A hint: true means that nothing had arrived when it looked.
inline bool locus_lane_empty(const struct locus_lane *lane, const struct locus_lane_end *end)
{
    uintptr_t slot = __atomic_load_n(&lane->slots[end->taken % LOCUS_LANE_SLOTS], __ATOMIC_RELAXED);
    if (end->source != LOCUS_LANE_FROM_MAILBOX && (slot & LOCUS_LANE_PARITY) == locus_lane_parity(end->taken))
        return false;
    return end->source == LOCUS_LANE_FROM_RING || locus_mailbox_empty(&lane->mailbox);
}

// A pause for a loop that polls memory which another CPU writes. It saves power, leaves room to the core's other hardware thread,
// and avoids a mis-speculated load when the loop ends. Any thread.
inline void locus_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); // yield is a no-op on most cores; isb stalls about as long as pause
#endif
}

#ifdef __cplusplus
}
#endif

#endif
