// SPDX-License-Identifier: Apache-2.0
//
// spsc: a worker's way home as a ring of table pointers, with one producer and one consumer.
//
// A slot has a table's address and, in the lowest bit, the parity of its turn round the ring (as in dispatch.h, after
// FastForward: Giacomoni, Moseley, Vachharajani, PPoPP 2008). So the slot alone tells the owner whether a message is new: it
// polls one line and writes none of the worker's, and the worker pushes with a single store and reads none of the owner's.
//
//                 | worker: sent, slots | owner: taken, slots | slots: written by the worker, read by the owner |
//
// It cannot overflow, so it does not check: a table is in a ring at most once and is sent again only after it came home, and the
// ring has at least as many slots as there are tables. A library could not demand that bound of its users; Treiber's mailbox
// needs none, and any number of threads may push.
//
// V1 (release) of the push, partner V2 (acquire) of the poll: the owner sees the table as the worker left it. The way back needs
// no order: a slot is written again only after its table was taken out, used and sent to a worker again, and that worker gets it
// through a dispatch that synchronises.
#ifndef TB_SPSC_H
#define TB_SPSC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "locus/table.h"

struct tb_spsc {
    // The worker's.
    _Alignas(LOCUS_CACHE_LINE) uint64_t sent;
    uint64_t sent_slots;        // number of slots, a power of two
    // The owner's.
    _Alignas(LOCUS_CACHE_LINE) uint64_t taken;
    uint64_t taken_slots;       // the same number, so that neither reads the other's line
    _Alignas(LOCUS_CACHE_LINE) _Atomic uintptr_t slots[];
};

// Slots for that many tables: the least power of two that suffices, in whole lines.
static inline uint64_t tb_spsc_slots(uint64_t tables)
{
    uint64_t slots = LOCUS_CACHE_LINE / sizeof(uintptr_t);
    while (slots < tables)
        slots *= 2;
    return slots;
}

static inline size_t tb_spsc_bytes(uint64_t slots)
{
    return sizeof(struct tb_spsc) + slots * sizeof(uintptr_t);
}

// pre: the memory is zeroed, and `slots` is the result of tb_spsc_slots().
static inline void tb_spsc_init(struct tb_spsc *ring, uint64_t slots)
{
    ring->sent_slots = slots;
    ring->taken_slots = slots;
}

// In even rounds the lowest bit is 1, so an unwritten slot is not a message.
static inline uintptr_t tb_spsc_parity(uint64_t turn, uint64_t slots)
{
    return (turn & slots) == 0;
}

// For the worker. pre: a slot is free, which holds if there are no more tables than slots.
static inline void tb_spsc_push(struct tb_spsc *ring, struct locus_table *table)
{
    uint64_t turn = ring->sent++, slots = ring->sent_slots;
    atomic_store_explicit(&ring->slots[turn & (slots - 1)], (uintptr_t)table | tb_spsc_parity(turn, slots),
                          memory_order_release); // V1
}

// For the owner. NULL: nothing new.
static inline struct locus_table *tb_spsc_take(struct tb_spsc *ring)
{
    uint64_t turn = ring->taken, slots = ring->taken_slots;
    uintptr_t message = atomic_load_explicit(&ring->slots[turn & (slots - 1)], memory_order_acquire); // V2
    if ((message & 1) != tb_spsc_parity(turn, slots))
        return NULL;
    ring->taken = turn + 1;
    return (struct locus_table *)(message & ~(uintptr_t)1);
}

#endif
