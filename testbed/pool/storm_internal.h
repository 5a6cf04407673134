// SPDX-License-Identifier: Apache-2.0
//
// storm_internal: what a storm's threads share. storm.c opens, waits and reports; storm_work.c is a thread's work; storm_leave.c
// is what happens to contents, also those that leave.
#ifndef TB_POOL_STORM_INTERNAL_H
#define TB_POOL_STORM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "locus/pages.h"
#include "testbed/pool/storm.h"

#define HOLDS_MAX 64u           // pins of one thread at one time
#define SAVES_MAX 64u           // ranges that are being saved at one time

struct object {
    // O1: compare-exchange, release by who filled the range (partner O2), so who finds the handle finds the contents.
    // O2: load, acquire (partner O1). Who frees takes the handle out by compare-exchange, so one thread alone frees a range.
    _Atomic locus_range range;
    uint64_t owner, cost_ns;
    enum locus_pages_kind kind;
    uint32_t pages;
};

struct hold {
    struct object *object;
    locus_range range;
    uint64_t until_ns;
};

struct worker {
    struct tb_storm *storm;
    struct locus_magazine *magazine;
    pthread_t thread;
    bool started;
    uint64_t random;
    struct hold holds[HOLDS_MAX];
    uint32_t holds_count, pages_pinned;
    uint64_t leave_ns;          // of the present allocation: what `leave` took, which is the storm's own
    // What others read while the thread runs: one writer, relaxed loads and stores (latency.h).
    uint64_t steps, calls, checks;
    struct tb_engine_counts counts;
} __attribute__((aligned(64)));

struct save {
    locus_range range;
    uint64_t owner, bytes;
    void *memory;
};

struct tb_storm {
    struct locus_pages *pages;
    struct tb_pool_config config;
    struct tb_storm_config storm;
    struct object *objects;
    uint64_t objects_count, object_pages, clock_ns;
    struct worker *workers;
    double took_s;
    _Atomic uint64_t now_ns;    // relaxed: a clock orders nothing
    _Atomic bool stop;          // relaxed: the threads look at it until they see it
    _Atomic uint32_t running;   // R1: decrement, release, at the end of a thread (partner R2: load, acquire, by who waits)
    pthread_mutex_t saves_lock;
    struct save saves[SAVES_MAX];
    uint32_t saves_count;
    pthread_mutex_t wrong_lock;
    uint64_t damaged, pins_lost;
    _Atomic int error;          // relaxed: of one of the threads that had one
    char first[160];
};

// One writer; others read.
static inline void tb_storm_bump(uint64_t *counter, uint64_t by)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

void *tb_storm_work(void *worker); // of a thread, until the storm ends
void tb_storm_release(struct worker *worker, uint32_t i); // ends the i-th hold
void tb_storm_object_free(struct worker *worker, struct object *object, locus_range range); // if it is still its range

// --- contents (storm_leave.c) ---

enum places { PLACES_SOME, PLACES_ALL };
void tb_storm_fill(void *memory, uint64_t bytes, uint64_t owner, locus_range range);
void tb_storm_check(struct worker *worker, const void *memory, uint64_t bytes, uint64_t owner, locus_range range,
                    enum places places, const char *when);

int tb_storm_leave(void *storm, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes);
void tb_storm_save_end(struct worker *worker); // of the range that waits longest, if there is one
void tb_storm_as(struct worker *worker); // this thread is that worker from now on

// Counts what went wrong, and keeps the first one's words. `counter` belongs to the storm.
void tb_storm_wrong(struct tb_storm *storm, uint64_t *counter, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
