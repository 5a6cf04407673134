// SPDX-License-Identifier: Apache-2.0
//
// tier_internal: what a kind of tier gives, and what all of them have. Not installed.
//
// tier.c checks a call and keeps the objects; a kind moves the bytes. The life of an object:
//
//     tier_coming()  COMING; of a key that is here, beside the old one, which is `replaced`
//     tier_came()    HERE, and the old one leaves; or tier_came_not()
//     tier_left()    from HERE or DROPPING; FREE at once, or GONE until the last reader ends
#ifndef LOCUS_TIER_INTERNAL_H
#define LOCUS_TIER_INTERNAL_H

#include <string.h>

#include "placement/base/counters.h"

#include "locus/tier.h"
#include "objects.h"

enum { TIER_STORE, TIER_LOAD, TIER_DROP };

struct tier_kind {
    // How many units an object takes at most, and its stored bytes. 0: the tier could never hold it.
    uint64_t (*units)(const struct locus_tier *tier, uint64_t bytes, uint64_t *held);
    // Begins the operation; op is filled in, and its object is COMING, HERE or DROPPING. 0: done() is or will be called.
    int (*store)(struct locus_tier *tier, struct locus_tier_op *op);
    int (*load)(struct locus_tier *tier, struct locus_tier_op *op);
    int (*drop)(struct locus_tier *tier, struct locus_tier_op *op);
    uint32_t (*poll)(struct locus_tier *tier, uint64_t wait_ns);
    int (*check)(struct locus_tier *tier);
    void (*close)(struct locus_tier *tier); // with all that is under way; frees the tier
    bool numbers;                           // objects are arrays of f16
};

struct locus_tier {
    const struct tier_kind *kind;
    struct objects objects;
    uint32_t unit_bytes;
    int refuses;                // 0, or the error of every store and drop from now on
    char why[256];
    struct locus_tier_stats stats __attribute__((aligned(COUNTERS_ALIGN_BYTES)));
};

// 0, or as objects_open().
int tier_init(struct locus_tier *tier, const struct tier_kind *kind, uint64_t units, uint32_t unit_bytes);

// These count, and call done() last.
void tier_store_done(struct locus_tier *tier, struct locus_tier_op *op, int result);
void tier_load_done(struct locus_tier *tier, struct locus_tier_op *op, int result);
void tier_drop_done(struct locus_tier *tier, struct locus_tier_op *op, int result);

// The store has failed before anything was under way: as if it had not been asked for.
void tier_came_not(struct locus_tier *tier, uint32_t object);

// An object that open found.
void tier_found(struct locus_tier *tier, uint32_t object);

// No more stores and drops, because of this. The first reason stays.
void tier_refuse(struct locus_tier *tier, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Writes a sentence to where a config wants it, if it does.
void tier_say(char *why, size_t why_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

// The next byte of an operation's memory.
struct tier_cursor {
    const struct locus_piece *piece;
    size_t at;
};

static inline struct tier_cursor tier_cursor(const struct locus_tier_op *op)
{
    return (struct tier_cursor){.piece = op->pieces};
}

// How many of the next `most` bytes, which must be there, lie one behind the other, and where. Moves on behind them.
static inline char *tier_run(struct tier_cursor *cursor, uint64_t most, uint64_t *bytes)
{
    char *here = (char *)cursor->piece->memory + cursor->at;
    uint64_t left = cursor->piece->bytes - cursor->at;
    *bytes = most < left ? most : left;
    cursor->at += *bytes;
    if (*bytes == left)
        *cursor = (struct tier_cursor){.piece = cursor->piece + 1};
    return here;
}

static inline void tier_skip(struct tier_cursor *cursor, uint64_t bytes)
{
    for (uint64_t done = 0, run; done < bytes; done += run)
        tier_run(cursor, bytes - done, &run);
}

static inline void tier_gather(void *to, struct tier_cursor *from, uint64_t bytes)
{
    for (uint64_t done = 0, run; done < bytes; done += run) {
        const char *here = tier_run(from, bytes - done, &run);
        memcpy((char *)to + done, here, run);
    }
}

static inline void tier_scatter(struct tier_cursor *to, const void *from, uint64_t bytes)
{
    for (uint64_t done = 0, run; done < bytes; done += run) {
        char *here = tier_run(to, bytes - done, &run);
        memcpy(here, (const char *)from + done, run);
    }
}

static inline struct object *tier_object(struct locus_tier *tier, const struct locus_tier_op *op)
{
    return &tier->objects.object[op->object];
}

#endif
