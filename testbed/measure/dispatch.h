// SPDX-License-Identifier: Apache-2.0
//
// dispatch: how a finished request reaches a worker. It is the same for every contender, and part of the timed code.
//
// inline   the owner does the worker's work itself: no second thread; deterministic
// spin     a ring per worker, which the worker polls: the least that two threads can cost
// futex    the same ring, but the worker sleeps when it is empty, as in an engine that shares its CPUs
//
// Ring: single producer, single consumer. A slot has the table's address, with the parity of its turn in the lowest bit, so the
// worker polls one line and need not write it (after FastForward: Giacomoni, Moseley, Vachharajani, PPoPP 2008).
#ifndef TB_DISPATCH_H
#define TB_DISPATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "locus/table.h"
#include "testbed/measure/sample.h"

#define TB_RING_SLOTS 1024u // more than any suite workload has in flight; a replay that fills it drains and waits

struct tb_worker {
    // Written by the owner.
    _Alignas(LOCUS_CACHE_LINE) uint64_t sent;
    uint64_t done_seen;
    // Written by the worker.
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t done; // requests finished. W1 (release), partner W2 (acquire) in tb_worker_idle()
    // Both write it, rarely: 1 while the worker sleeps or is about to.
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint32_t asleep;
    _Alignas(LOCUS_CACHE_LINE) _Atomic uintptr_t ring[TB_RING_SLOTS];

    enum tb_dispatch dispatch;
    uint32_t number;
    int cpu;                    // -1: no CPU of its own
    // Whose requests it finishes: written by the owner while the worker is idle (tb_crew_assign).
    void (*finish)(void *context, uint32_t worker, struct locus_table *table);
    void *context;
    pthread_t thread;
};

struct tb_crew {
    struct tb_worker *workers;
    uint32_t count;
    bool pinned;                // the owner and every worker have a CPU of their own
};

// Pins the calling thread to the first allowed CPU and starts `count` workers on the next ones. With too few CPUs, the workers
// share all but the owner's (if there are at least two). 0, or -errno: nothing runs.
int tb_crew_start(struct tb_crew *crew, uint32_t count, enum tb_dispatch dispatch,
                  void (*finish)(void *, uint32_t, struct locus_table *), void *context);
void tb_crew_stop(struct tb_crew *crew); // when every worker is idle

// From now on the crew finishes requests of another contender. It is for the arms of one process, which share a crew because a
// spinning worker of one arm would take the CPU of another's.
// pre: tb_worker_idle() was true of every worker after its last request (a lap ends so). Then the plain stores race with nothing:
// the worker's last reads came before its W1, which the owner saw by W2; its next come after the R2 that takes the next request,
// which the owner sends by R1, after these stores. Between them the worker reads only its ring.
void tb_crew_assign(struct tb_crew *crew, void (*finish)(void *, uint32_t, struct locus_table *), void *context);
void tb_worker_wake(struct tb_worker *worker);

// W2 (acquire), partner W1: if this is true, everything that the worker freed and pushed is visible.
static inline bool tb_worker_idle(struct tb_worker *worker)
{
    worker->done_seen = atomic_load_explicit(&worker->done, memory_order_acquire); // W2
    return worker->done_seen == worker->sent;
}

static inline bool tb_worker_full(struct tb_worker *worker)
{
    if (worker->sent - worker->done_seen < TB_RING_SLOTS)
        return false;
    tb_worker_idle(worker); // refreshes done_seen
    return worker->sent - worker->done_seen == TB_RING_SLOTS;
}

// pre: not full. R1 (release), partner R2 (acquire) in worker_main: the worker sees the table as the owner left it. With a
// sleeping worker the exchange and the load of `asleep` are sequentially consistent (S1), as are the worker's two accesses (S2):
// at least one side sees what the other wrote, so no wake-up is lost. A store would do in C11, and compiles to the same xchg on
// x86. But QEMU, emulating aarch64 on x86, lets a load (ldar) pass the store before it (stlr): there the wake-up was lost.
static inline void tb_worker_send(struct tb_worker *worker, struct locus_table *table)
{
    uint64_t turn = worker->sent++;
    uintptr_t message = (uintptr_t)table | (~(turn / TB_RING_SLOTS) & 1);
    _Atomic uintptr_t *slot = &worker->ring[turn % TB_RING_SLOTS];
    if (worker->dispatch == TB_DISPATCH_SPIN) {
        atomic_store_explicit(slot, message, memory_order_release); // R1
        return;
    }
    atomic_exchange_explicit(slot, message, memory_order_seq_cst);   // R1, S1
    if (atomic_load_explicit(&worker->asleep, memory_order_seq_cst)) // S1
        tb_worker_wake(worker);
}

#endif
