// SPDX-License-Identifier: Apache-2.0
//
// handle_queue: one bounded queue of single handles for many senders and one receiver.
//
// It is the bounded array queue with a sequence number per cell (D. Vyukov, "Bounded MPMC queue", 1024cores.net), which the LOCUS
// paper's channel (Rust's std::sync::mpsc::sync_channel) also uses inside. The sequence of the cell for position p runs
//
//     p           empty: the sender that moves `tail` from p to p + 1 may fill it
//     p + 1       full: the owner may take it
//     p + 1024    empty again, for the next turn
//
// Atomics:
//   Q1 (release)   the sender fills a cell, partner Q2 (acquire) of the owner: the owner sees the handle.
//   Q3 (release)   the owner has emptied a cell, partner Q4 (acquire) of a sender one turn later: the handle was read.
//   tail           relaxed: it only divides the cells among the senders; the sequences order their contents.
#ifndef TB_HANDLE_QUEUE_H
#define TB_HANDLE_QUEUE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "locus/block.h"
#include "locus/lane.h"

#define TB_HANDLE_QUEUE_CAPACITY 1024u // the suite's; a power of two

struct tb_handle_cell {
    _Atomic uint64_t sequence;
    locus_block block;
};

struct tb_handle_queue {
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t tail; // senders
    _Alignas(LOCUS_CACHE_LINE) uint64_t head;         // owner
    _Alignas(LOCUS_CACHE_LINE) struct tb_handle_cell cells[TB_HANDLE_QUEUE_CAPACITY];
};

// 0 or -ENOMEM; free() it.
static inline int tb_handle_queue_open(struct tb_handle_queue **out)
{
    struct tb_handle_queue *queue = aligned_alloc(LOCUS_CACHE_LINE, sizeof *queue);
    if (!queue)
        return -ENOMEM;
    atomic_init(&queue->tail, 0);
    queue->head = 0;
    for (uint32_t i = 0; i < TB_HANDLE_QUEUE_CAPACITY; i++)
        atomic_init(&queue->cells[i].sequence, i);
    *out = queue;
    return 0;
}

// Any thread. False: full.
static inline bool tb_handle_queue_send(struct tb_handle_queue *queue, locus_block block)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    for (;;) {
        struct tb_handle_cell *cell = &queue->cells[tail % TB_HANDLE_QUEUE_CAPACITY];
        uint64_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire); // Q4
        if (sequence < tail)
            return false; // still has the handle of the previous turn
        if (sequence > tail) {
            tail = atomic_load_explicit(&queue->tail, memory_order_relaxed); // another sender has taken this cell
        } else if (atomic_compare_exchange_weak_explicit(&queue->tail, &tail, tail + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            cell->block = block;
            atomic_store_explicit(&cell->sequence, tail + 1, memory_order_release); // Q1
            return true;
        }
    }
}

// Owner only. False: empty, or the next handle is not in its cell yet.
static inline bool tb_handle_queue_receive(struct tb_handle_queue *queue, locus_block *block)
{
    struct tb_handle_cell *cell = &queue->cells[queue->head % TB_HANDLE_QUEUE_CAPACITY];
    if (atomic_load_explicit(&cell->sequence, memory_order_acquire) != queue->head + 1) // Q2
        return false;
    *block = cell->block;
    atomic_store_explicit(&cell->sequence, queue->head + TB_HANDLE_QUEUE_CAPACITY, memory_order_release); // Q3
    queue->head++;
    return true;
}

#endif
