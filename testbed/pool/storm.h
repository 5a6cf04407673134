// SPDX-License-Identifier: Apache-2.0
//
// storm: threads that want 1.5 times as much from an arena of pages (pages.h) as there is, in virtual time, and a checker of what
// they find there.
//
// There are objects of all four kinds, whose pages sum up to the load. Each step of a thread moves the common clock by a random
// time of 1 ms on average, ends the pins that are due, and uses an object, popular ones more often: it pins the object's range, or
// allocates and fills one if there is none. A pin lasts milliseconds (scratch) to seconds (KV). Half of the short-lived kinds are
// freed at the end of their use, while others may pin them. Of the ranges that shall leave some must stay, and some are saved by
// another thread later.
//
// Contents. Every 32 KiB of a range, and its last word, have a pattern of its owner and its handle. It is checked by each pin and
// each unpin at some places, and at all of them before the range leaves and when it has been saved. So a range that was given
// away while it was pinned, or evicted without its contents being asked for, is noticed.
//
// With one thread the seed decides all counts. With more it decides what each thread does, and not in which order.
//
// Threads: open, run, rest and close belong to one thread. tb_storm_audit() and tb_storm_stop() may be called by any.
#ifndef TB_POOL_STORM_H
#define TB_POOL_STORM_H

#include <stdbool.h>

#include "testbed/pool/audit.h"

struct tb_storm;

#define TB_STORM_THREADS_MAX 64u
#define TB_STORM_LOAD_PERCENT 150u

struct tb_storm_config {
    uint32_t threads;           // 1 .. TB_STORM_THREADS_MAX
    uint64_t seed;
    uint64_t for_ns;            // of virtual time; 0: until tb_storm_stop()
    void (*tick)(void *context, uint64_t now_ns); // NULL, or called every 100 ms by the thread that waits in tb_storm_run()
    void *context;
};

struct tb_storm_report {
    uint64_t now_ns;            // of virtual time
    uint64_t steps, calls;      // calls of the arena
    uint64_t checks;            // of a range's contents
    uint64_t damaged;           // of these, not as they were written
    uint64_t pins_lost;         // an unpin, a free or an end of saving that was refused to the holder
    uint64_t objects, object_pages, clock_ns; // what reading the clock costs, which is subtracted
    double took_s;              // of real time
    int error;                  // of a call that has no reason to fail, or 0
    char first[160];            // the first thing that went wrong, in words; "": nothing did
};

// Opens the arena that the configuration describes. 0 or -errno: `why` says it.
int tb_storm_open(struct tb_storm **out, const struct tb_pool_config *config, const struct tb_storm_config *storm, char *why,
                  size_t why_bytes);

// Runs it. Afterwards the threads have ended, and their pins are as they were: what is shown then is how a storm looks. 0;
// -EDEADLK: no thread took a step for 60 seconds (they cannot be stopped then: the process should end); -errno: no thread could be
// made.
int tb_storm_run(struct tb_storm *storm);
void tb_storm_stop(struct tb_storm *storm); // may be called in a signal handler

// Ends all pins, frees the short-lived kinds and half of the others, and empties the magazines: an arena without load.
void tb_storm_rest(struct tb_storm *storm);

void tb_storm_audit(void *storm, struct tb_pool_audit *out); // a tb_audit_fn
void tb_storm_report(const struct tb_storm *storm, struct tb_storm_report *out);
const struct locus_pages *tb_storm_pages(const struct tb_storm *storm);
void tb_storm_close(struct tb_storm *storm); // NULL is allowed

#endif
