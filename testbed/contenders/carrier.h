// SPDX-License-Identifier: Apache-2.0
//
// carrier: the library's pool with a way home other than its mailbox, or its mailbox with another pool. A contender supplies a box
// per worker and three functions: open, push one table into a worker's box, and drain all boxes. Everything else is here and the
// same for all.
//
//     locus_treiber.c   the library's own mailbox, as the control: compared with `locus-mailbox` it shows the effect of this
//                       frame, and compared with the others the effect of the mailbox
//     locus_spsc.c      a ring with a single producer and a single consumer
//     locus_urcu.c      lock-free stack and wait-free queue of liburcu
//     locus_ck.c        the stack of Concurrency Kit
//     locus_bare.c      the mailbox again (mailboxes.h), with pools that do less
//
// The frame does what owner.c does for one home: it counts blocks in flight, frees a table's blocks at the drain and hands the
// table back. It saves the list of reclaimed tables, because the driver knows its tables by slot. Except with the ring, the
// worker reads the table's second line as locus_table_push() does, since a library with several homes must know where a table
// goes. Stacks and queues use the table's own links, which saves an allocation and a line.
//
// Threads: take, retire, drain and the counts belong to the owner thread; tb_carrier_leaves() belongs to the worker.
#ifndef TB_CARRIER_H
#define TB_CARRIER_H

#include <errno.h>

#include "testbed/contenders/library.h"

// The untimed functions of a pool; the timed ones: TB_CARRIER_FRAME().
struct tb_carrier_pool {
    int (*open)(const struct tb_setup *setup, void **out);
    void (*close)(void *pool);  // also after a failed open, and of NULL
    void (*stats)(const void *pool, struct locus_pool_stats *out); // at least blocks_free and freed
    void (*audit)(const void *pool, struct tb_audit *out);         // the pool's part
};

struct tb_carrier {
    // Never changes after open. Workers read it while the owner writes the next line.
    _Alignas(LOCUS_CACHE_LINE) void *pool;
    char *boxes;                // one per worker
    size_t box_bytes;
    uint32_t boxes_count;
    // Owner thread.
    _Alignas(LOCUS_CACHE_LINE) uint64_t in_flight; // blocks
    uint64_t drained;           // requests
    uint64_t waits;             // takes that found too few blocks
    const struct tb_carrier_pool *calls;
};

extern const struct tb_carrier_pool tb_carrier_library;

// pre: box_bytes is a multiple of a cache line. The boxes are zeroed.
int tb_carrier_open_with(const struct tb_carrier_pool *calls, const struct tb_setup *setup, size_t box_bytes, void **out);
int tb_carrier_open(const struct tb_setup *setup, size_t box_bytes, void **out); // with the library's pool
void tb_carrier_close(void *context);
int tb_carrier_wait(struct tb_carrier *carrier, uint32_t count, void (*drain)(void *)); // 0, or the error of tb_wait_for()
uint64_t tb_carrier_freed(void *context);
uint64_t tb_carrier_waits(void *context);
void tb_carrier_audit(void *context, struct tb_audit *out);

static inline void *tb_carrier_box(const struct tb_carrier *carrier, uint32_t worker)
{
    return carrier->boxes + worker * carrier->box_bytes;
}

static inline int tb_carrier_retire(void *context, struct locus_table *table)
{
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (table->count == 0)
        return -ENODATA;
    table->state = LOCUS_TABLE_RETIRED;
    table->push_to = table->homes;
    table->in_flight = table->count;
    ((struct tb_carrier *)context)->in_flight += table->count;
    return 0;
}

// Called by the worker before it pushes. False: the table was not declared, or is of another home, and stays where it is.
static inline bool tb_carrier_leaves(struct locus_table *table)
{
    bool declared = table->push_to == 1;
    table->push_to = 0;
    return declared;
}

// The timed functions, for a pool with calls_alloc(), _alloc_bulk(), _free_bulk() and _address(). It is a macro, and not a table
// of functions, so that all frames are the same code: with a table, gcc 12 no longer inlined the take of some contenders.
// frame_take() takes all or none, and its errors are the pool's.
#define TB_CARRIER_FRAME(frame, calls)                                                                                             \
    static inline int frame##_take_now(struct tb_carrier *carrier, struct locus_table *table, uint32_t count)                      \
    {                                                                                                                              \
        locus_block *out = table->blocks + table->count;                                                                           \
        if (count == 1)                                                                                                            \
            return (*out = calls##_alloc(carrier->pool)) == LOCUS_BLOCK_NONE ? -ENOMEM : 0;                                        \
        return calls##_alloc_bulk(carrier->pool, count, out);                                                                      \
    }                                                                                                                              \
    static inline int frame##_take(void *context, struct locus_table *table, uint32_t count, void (*drain)(void *))                \
    {                                                                                                                              \
        struct tb_carrier *carrier = context;                                                                                      \
        if (table->state != LOCUS_TABLE_LIVE)                                                                                      \
            return -EINVAL;                                                                                                        \
        if (table->capacity - table->count < count)                                                                                \
            return -ENOSPC;                                                                                                        \
        if (__builtin_expect(frame##_take_now(carrier, table, count) != 0, 0)) {                                                   \
            int error = tb_carrier_wait(carrier, count, drain);                                                                    \
            if (!error)                                                                                                            \
                error = frame##_take_now(carrier, table, count);                                                                   \
            if (error)                                                                                                             \
                return error;                                                                                                      \
        }                                                                                                                          \
        table->count += count;                                                                                                     \
        table->homes = 1; /* the pool's home is 0 */                                                                               \
        return 0;                                                                                                                  \
    }                                                                                                                              \
    static inline locus_block frame##_alloc(void *context)                                                                         \
    {                                                                                                                              \
        return calls##_alloc(((struct tb_carrier *)context)->pool);                                                                \
    }                                                                                                                              \
    static inline void frame##_release(void *context, locus_block blocks[], uint32_t count)                                        \
    {                                                                                                                              \
        calls##_free_bulk(((struct tb_carrier *)context)->pool, count, blocks, 0);                                                 \
    }                                                                                                                              \
    static inline void *frame##_address(void *context, locus_block block)                                                          \
    {                                                                                                                              \
        return calls##_address(((struct tb_carrier *)context)->pool, block);                                                       \
    }                                                                                                                              \
    /* One table has arrived. */                                                                                                   \
    static inline void frame##_home(struct tb_carrier *carrier, struct locus_table *table)                                         \
    {                                                                                                                              \
        carrier->in_flight -= table->in_flight; /* as recorded at retire: a handle may have been damaged since */                  \
        carrier->drained++;                                                                                                        \
        calls##_free_bulk(carrier->pool, table->count, table->blocks, table->tag);                                                 \
        table->count = 0;                                                                                                          \
        table->homes = 0;                                                                                                          \
        table->state = LOCUS_TABLE_LIVE;                                                                                           \
    }

TB_CARRIER_FRAME(tb_carrier, locus_pool);

// Converts to the link that other libraries' stacks and queues use, and back. They use only their own type, never the library's;
// both are one pointer.
static inline void *tb_carrier_link(struct locus_table *table)
{
    return &table->links[0];
}

static inline struct locus_table *tb_carrier_table(void *link)
{
    return (struct locus_table *)(void *)((char *)link - offsetof(struct locus_table, links));
}

// The contender supplies name_open, name_finish and name_drain. The take stays a function for all of them: gcc 12 made it part of
// the driver for some and not for others, which is worth more than what is compared (a factor of 1.2 on steady-decode without
// touch).
#define TB_CARRIER_OPS(name) TB_CARRIER_OPS_OF(name, tb_carrier)
#define TB_CARRIER_OPS_OF(name, frame)                                                                                             \
    static __attribute__((noinline)) int name##_take(void *context, struct locus_table *table, uint32_t count)                     \
    {                                                                                                                              \
        return frame##_take(context, table, count, name##_drain);                                                                  \
    }                                                                                                                              \
    static const struct tb_ops name##_ops = {                                                                                      \
        .open = name##_open,                                                                                                       \
        .close = tb_carrier_close,                                                                                                 \
        .take = name##_take,                                                                                                       \
        .alloc = frame##_alloc,                                                                                                    \
        .release = frame##_release,                                                                                                \
        .address = frame##_address,                                                                                                \
        .retire = tb_carrier_retire,                                                                                               \
        .finish = name##_finish,                                                                                                   \
        .drain = name##_drain,                                                                                                     \
        .freed = tb_carrier_freed,                                                                                                 \
        .waits = tb_carrier_waits,                                                                                                 \
        .audit = tb_carrier_audit,                                                                                                 \
    };                                                                                                                             \
    TB_DRIVER(name##_ops)

#endif
