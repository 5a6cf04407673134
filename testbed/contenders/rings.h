// SPDX-License-Identifier: Apache-2.0
//
// rings: a bounded queue for each worker, for single handles or whole requests; each has one sender and one owner.
//
// A ring of 64-bit words. `tail` counts the words sent and `head` the words taken; neither is ever reset, so the ring is empty
// when they are equal and full when they are a capacity apart. With one sender that suffices; the shared queue (handle_queue.h)
// needs a sequence per cell and an exchange. Each side keeps to its own cache line, and the sender reads `head` only if the ring
// was full when it last looked.
//
//     sender                                   owner
//     words[tail] = word, tail++  -- H1/H2 -->  read words[head]
//     may overwrite a word        <-- H4/H3 --  head++
//
// Atomics:
//   H1 (release)   the sender's tail, partner H2 (acquire) of the owner: it sees the word, and what that points to, as sent.
//   H3 (release)   the owner's head, partner H4 (acquire) of a sender that finds the ring full: the word was read.
//   Each side reads its own counter relaxed, because only it writes it.
#ifndef TB_RINGS_H
#define TB_RINGS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "locus/lane.h"
#include "testbed/contenders/full_queue.h"

struct tb_ring {
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t tail; // sender
    uint64_t head_seen;                               // sender: head as of its last look
    uint64_t mask;                                    // capacity - 1
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t head; // owner
    _Alignas(LOCUS_CACHE_LINE) uint64_t words[];
};

struct tb_rings {
    struct tb_ring **ring; // one per worker
    uint32_t count;
    pthread_t owner;
};

// capacity: a power of two. 0 or -ENOMEM; free it with free().
static inline int tb_ring_open(struct tb_ring **out, uint64_t capacity)
{
    size_t bytes = sizeof(struct tb_ring) + capacity * sizeof(uint64_t);
    struct tb_ring *ring = aligned_alloc(LOCUS_CACHE_LINE, (bytes + LOCUS_CACHE_LINE - 1) / LOCUS_CACHE_LINE * LOCUS_CACHE_LINE);
    if (!ring)
        return -ENOMEM;
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->head, 0);
    ring->head_seen = 0;
    ring->mask = capacity - 1;
    *out = ring;
    return 0;
}

// For the ring's one sender. False: full.
static inline bool tb_ring_send(struct tb_ring *ring, uint64_t word)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - ring->head_seen > ring->mask) {
        ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire); // H4
        if (tail - ring->head_seen > ring->mask)
            return false;
    }
    ring->words[tail & ring->mask] = word;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release); // H1
    return true;
}

// For the owner, as the next two: the number of words that have arrived.
static inline uint64_t tb_ring_arrived(struct tb_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire); // H2
    return tail - atomic_load_explicit(&ring->head, memory_order_relaxed);
}

// The i-th of these words.
static inline uint64_t tb_ring_word(const struct tb_ring *ring, uint64_t i)
{
    return ring->words[(atomic_load_explicit(&ring->head, memory_order_relaxed) + i) & ring->mask];
}

// Frees the places of the first `count`.
static inline void tb_ring_took(struct tb_ring *ring, uint64_t count)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + count, memory_order_release); // H3
}

// On the owner's thread. 0 or -ENOMEM; close it either way.
static inline int tb_rings_open(struct tb_rings *rings, uint32_t workers, uint64_t capacity)
{
    *rings = (struct tb_rings){.ring = calloc(workers, sizeof(struct tb_ring *)), .owner = pthread_self()};
    int error = rings->ring ? 0 : -ENOMEM;
    while (!error && rings->count < workers && !(error = tb_ring_open(&rings->ring[rings->count], capacity)))
        rings->count++;
    return error;
}

static inline void tb_rings_close(struct tb_rings *rings)
{
    for (uint32_t i = 0; i < rings->count; i++)
        free(rings->ring[i]);
    free(rings->ring);
}

// Called by the worker; waits while its ring is full.
static inline void tb_rings_send(struct tb_rings *rings, uint32_t worker, uint64_t word, void (*drain)(void *context),
                                 void *context)
{
    for (uint32_t spins = 1; !tb_ring_send(rings->ring[worker], word); spins++)
        tb_full_queue_wait(spins, rings->owner, drain, context);
}

#endif
