// SPDX-License-Identifier: Apache-2.0
//
// promise: admission that reserves. What one scheduler has promised to a request, another cannot promise again.
//
// A check like "are there enough free blocks?" reserves nothing: two schedulers can both pass it, and one sequence that outgrows
// its prompt takes what another was told it could have. Here admit() reserves blocks in the same step in which it finds them, and
// grow() takes promised blocks first and others only if nobody was promised them.
//
//     admit(promise, now, most)      0: the blocks are promised;  -EAGAIN: not now;  -ENOSPC: never
//     grow(promise, table, n)        takes them, and more if that breaks no promise
//     end(promise)                   what was promised and not taken
//
// How much a request is promised is the engine's choice:
//
//     LOCUS_ADMIT_FULL        all that it may ever need: no admitted request ever lacks a block, and much is reserved in vain
//     LOCUS_ADMIT_PROMPT      its prompt: the pool is full, and requests that outgrow it must be thrown out
//     LOCUS_ADMIT_WATERMARK   its prompt, if the watermark stays free while others run: room for those to grow
//
// Everybody who takes blocks of this pool must do it through its promises: grow, write, match, raise and sink_start here do what
// the functions of the same names do, under a promise. A match takes kept blocks; one that is in use costs nothing. Available is
// what is free or kept (prefix.h) and not promised; blocks on their way count when they are home.
//
// Threads: admit and end may be called by any thread, grow is owner context. A promise belongs to one thread at a time.
#ifndef LOCUS_PROMISE_H
#define LOCUS_PROMISE_H

#include "owner.h"
#include "prefix_sink.h"

#ifdef __cplusplus
extern "C" {
#endif

enum locus_admission { LOCUS_ADMIT_FULL, LOCUS_ADMIT_PROMPT, LOCUS_ADMIT_WATERMARK };

struct locus_promises;

struct locus_promises_config {
    size_t size;                // sizeof this struct (version.h)
    struct locus_owner *owner;  // borrowed, must outlive this
    enum locus_admission admission;
    uint32_t watermark_blocks;  // for LOCUS_ADMIT_WATERMARK, less than the pool has
};

// One request's; {0} before it is admitted.
struct locus_promise {
    uint32_t blocks;            // promised and not taken
};

// 0, -EINVAL, -E2BIG (version.h) or -ENOMEM. One for a pool; nobody checks that.
int locus_promises_open(struct locus_promises **out, const struct locus_promises_config *config);
void locus_promises_close(struct locus_promises *promises); // NULL is allowed

// `now` blocks are needed to begin, `most` is what the request may need in the end, both without blocks that it has adopted from a
// prefix cache. 0, -EAGAIN, -ENOSPC: the pool is too small for `most`, -EINVAL: now > most, or the promise is not {0}.
int locus_promise_admit(struct locus_promises *promises, struct locus_promise *promise, uint32_t now, uint32_t most);

// locus_owner_grow(), but -EAGAIN if the blocks beyond the promise are promised to others.
int locus_promise_grow(struct locus_promises *promises, struct locus_promise *promise, struct locus_table *table, uint32_t count);

// locus_owner_write() and locus_prefix_match(), but -EAGAIN if blocks that they would take are promised to others. Then nothing
// has changed.
int locus_promise_write(struct locus_promises *promises, struct locus_promise *promise, struct locus_table *table, uint64_t first,
                        uint64_t count, uint32_t planes);
int64_t locus_promise_match(struct locus_promises *promises, struct locus_promise *promise, struct locus_prefix *prefix,
                            uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                            struct locus_table *table);

// locus_prefix_raise(), in the same way; and locus_prefix_sink_start(), if `count` blocks are promised to nobody; else 0.
int64_t locus_promise_raise(struct locus_promises *promises, struct locus_promise *promise, struct locus_prefix *prefix,
                            const struct locus_id ids[], const uint32_t tokens[], uint32_t count, struct locus_table *table);
uint32_t locus_promise_sink_start(struct locus_promises *promises, struct locus_prefix *prefix, uint32_t count);

// Gives back to the promise what a cut has freed, so that it can be taken again. 0, or -EAGAIN: promised to others meanwhile.
int locus_promise_renew(struct locus_promises *promises, struct locus_promise *promise, uint32_t count);

// The request has ended: nothing is promised to it any more.
void locus_promise_end(struct locus_promises *promises, struct locus_promise *promise);

struct locus_promises_stats {
    uint32_t promised;          // blocks
    uint32_t available;         // free or kept, and not promised
};

// Any thread. Exact in owner context; elsewhere as of some moment.
void locus_promises_stats(const struct locus_promises *promises, struct locus_promises_stats *out);

#ifdef __cplusplus
}
#endif

#endif
