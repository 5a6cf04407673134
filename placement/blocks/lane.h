// SPDX-License-Identifier: Apache-2.0
//
// lane: one way into an owner, for one pusher or for many.
//
// Many pushers share the mailbox. One pusher, promised when its route is made (locus_route_add_sole), has a ring as well: a push is
// a plain store of the table's address, where the mailbox takes a locked exchange and writes into the table. A full ring sends its
// pusher to the mailbox, so nobody waits, and nothing is lost. A slot has a message: an address, and in its lowest bit the parity
// of its turn round the ring. So the slot says whether it is new: the owner polls one line and writes none of the pusher's
// (FastForward: Giacomoni et al., PPoPP 2008). It writes down now and then how many it took (MCRingBuffer: Lee et al., IPDPS 2010).
// Order. What one pusher sends arrives as it was sent. The message that may fill the ring says so (LAST). Then, and at first, the
// owner looks into the mailbox, too, until the next message. The pusher comes back to the ring only when it has seen the mailbox
// empty: what it put there was taken before. So an owner that finds the ring empty and the mailbox not (T2) looks at the ring once
// more before it takes the mailbox, and finishes that before the ring. V1 (release) of a send, partner V2 (acquire) of the take:
// the owner sees the table as the pusher left it. `taken` is relaxed: if the owner's V2 read a message that overwrote an unread
// one, it would synchronise with that one's V1, and the pusher's load of `taken`, before that V1, would happen before the store
// that it read from.
#ifndef LOCUS_LANE_H
#define LOCUS_LANE_H

#include "mailbox.h"
#ifdef __cplusplus
extern "C" {
#endif

#ifndef LOCUS_LANE_SLOTS // It decides only how often a pusher makes a detour. All that share a lane have the same; a test has fewer
#define LOCUS_LANE_SLOTS 128u
#elif LOCUS_LANE_SLOTS < 4 || LOCUS_LANE_SLOTS > 1048576 || (LOCUS_LANE_SLOTS & (LOCUS_LANE_SLOTS - 1))
#error "LOCUS_LANE_SLOTS is not a power of two from 4 to 2^20"
#endif
#define LOCUS_LANE_TOLD (LOCUS_LANE_SLOTS / 4) // after so many messages the owner writes down how many it took
#define LOCUS_LANE_PARITY ((uintptr_t)1)
#define LOCUS_LANE_LAST ((uintptr_t)2) // of a message: the ring may be full now
enum locus_lane_looks { LOCUS_LOOKS_BOTH, LOCUS_LOOKS_MAILBOX, LOCUS_LOOKS_RING }; // where the owner looks
enum locus_lane_promise { LOCUS_LANE_FREE, LOCUS_LANE_MANY, LOCUS_LANE_SOLE };

// Zeroed memory is an empty lane. Its owner's node has it. Only the functions below touch it. The counts wrap.
struct locus_lane {
    struct locus_mailbox mailbox;
    uint32_t taken __attribute__((aligned(LOCUS_CACHE_LINE))); // atomic: messages, as last told; the owner's, for the pusher
    uint32_t promise;           // atomic: enum locus_lane_promise; whoever makes a route
    uint32_t sent __attribute__((aligned(LOCUS_CACHE_LINE)));  // messages; the pusher's
    uint32_t limit;             // up to here it may send before it has to look again
    bool detours;               // the last message went to the mailbox
    uintptr_t slots[LOCUS_LANE_SLOTS] __attribute__((aligned(LOCUS_CACHE_LINE)));
};

// The owner's end. Those of all lanes are in one array, so a poll of many is short.
struct locus_lane_end {
    uint32_t taken;             // messages
    uint32_t looks;             // enum locus_lane_looks
};

inline uintptr_t locus_lane_parity(uint32_t turn) // 1 in the first round, so an unwritten slot is no message
{
    return ~(turn / LOCUS_LANE_SLOTS) & LOCUS_LANE_PARITY;
}

// May the next message use the ring? To be asked when it looks full, and after a detour.
inline bool locus_lane_reopens(struct locus_lane *lane)
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
    if (__builtin_expect(turn == lane->limit, 0) && !locus_lane_reopens(lane))
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
    if (end->looks == LOCUS_LOOKS_MAILBOX || (message & LOCUS_LANE_PARITY) != locus_lane_parity(turn))
        return NULL;
    end->taken = turn + 1;
    if (end->taken % LOCUS_LANE_TOLD == 0)
        __atomic_store_n(&lane->taken, end->taken, __ATOMIC_RELAXED);
    end->looks = message & LOCUS_LANE_LAST ? LOCUS_LOOKS_BOTH : LOCUS_LOOKS_RING;
    return (void *)(message & ~(LOCUS_LANE_PARITY | LOCUS_LANE_LAST));
}

// The owner's. The next parcel of the ring; or NULL, and all links of the mailbox, as locus_mailbox_take_all() gives them.
inline void *locus_lane_next(struct locus_lane *lane, struct locus_lane_end *end, struct locus_link **links, bool *alone)
{
    void *parcel = locus_lane_take(lane, end);
    *links = NULL;
    if (parcel || end->looks == LOCUS_LOOKS_RING || !locus_mailbox_arrived(&lane->mailbox))
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
    if (end->looks != LOCUS_LOOKS_MAILBOX && (slot & LOCUS_LANE_PARITY) == locus_lane_parity(end->taken))
        return false;
    return end->looks == LOCUS_LOOKS_RING || locus_mailbox_empty(&lane->mailbox);
}

#ifdef __cplusplus
}
#endif

#endif
