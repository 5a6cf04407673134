// SPDX-License-Identifier: Apache-2.0
//
// promise: one word with the number of promised blocks and of all changes so far.
//
//     63            32 31             0
//    +----------------+----------------+
//    |    changes     |    promised    |
//    +----------------+----------------+
//
// A scheduler reads the word, then how many blocks the pool has free, and promises some of them by a compare-and-exchange. Two
// things may have happened in between. Another scheduler may have promised: the word differs. Or the owner may have taken blocks,
// so that fewer are free than were read: it changes the word after it has taken them, even by nothing, so the word differs as
// well. The changes are counted because the number of promised blocks could be the same again.
//
// Atomics here:
//   Q1 (release)   every change of the word, partner Q2 (acquire) of every read: who reads the word as it is after a take also
//                  sees the pool's `top` of after that take. Blocks that come home in between only make the answer too cautious.
//
// An owner that grows beyond a promise first promises the blocks to itself, like any scheduler, so it needs no rule of its own.

#include "promise.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "config.h"
#include "cpu_relax.h"
#include "pool_internal.h"
#include "prefix_internal.h"
#include "rules.h"
#include "share_internal.h"

struct locus_promises {
    struct locus_owner *owner;
    struct locus_pool *pool;
    enum locus_admission admission;
    uint32_t watermark_blocks;
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t word;
};

static uint64_t changed(uint64_t word, uint32_t promised)
{
    return ((word >> 32) + 1) << 32 | promised;
}

// Free or kept. `pool_stats` may count a block twice for a moment while it is revived, but then the word changes too.
static uint32_t ready(const struct locus_promises *promises, bool *anybody)
{
    struct locus_pool_stats stats;
    locus_pool_stats(promises->pool, &stats);
    *anybody = stats.outstanding > 0;
    return stats.blocks_free + stats.blocks_kept;
}

// Promises `count` blocks if `left` stay available, or if nobody runs.
static int promise(struct locus_promises *promises, uint32_t count, uint32_t left)
{
    uint64_t word = atomic_load_explicit(&promises->word, memory_order_acquire); // Q2
    for (;;) {
        bool anybody;
        uint64_t promised = (uint32_t)word, free_blocks = ready(promises, &anybody);
        uint64_t needed = promised + count + (anybody || promised ? left : 0);
        if (needed > free_blocks)
            return -EAGAIN;
        if (atomic_compare_exchange_weak_explicit(&promises->word, &word, changed(word, (uint32_t)promised + count),
                                                  memory_order_acq_rel, memory_order_acquire)) // Q1, Q2
            return 0;
        locus_cpu_relax();
    }
}

static void unpromise(struct locus_promises *promises, uint32_t count)
{
    uint64_t word = atomic_load_explicit(&promises->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&promises->word, &word, changed(word, (uint32_t)word - count),
                                                  memory_order_release, memory_order_relaxed)) // Q1
        locus_cpu_relax();
}

int locus_promises_open(struct locus_promises **out, const struct locus_promises_config *given)
{
    struct locus_promises_config config;
    int error = config_take(&config, sizeof config, given);
    if (error)
        return error;
    if (!config.owner || (unsigned)config.admission > LOCUS_ADMIT_WATERMARK)
        return -EINVAL;
    struct locus_pool *pool = locus_owner_pool(config.owner);
    if (config.watermark_blocks >= pool->blocks)
        return -EINVAL;
    struct locus_promises *promises = aligned_alloc(LOCUS_CACHE_LINE, sizeof *promises);
    if (!promises)
        return -ENOMEM;
    promises->owner = config.owner;
    promises->pool = pool;
    promises->admission = config.admission;
    promises->watermark_blocks = config.admission == LOCUS_ADMIT_WATERMARK ? config.watermark_blocks : 0;
    atomic_init(&promises->word, 0);
    *out = promises;
    return 0;
}

void locus_promises_close(struct locus_promises *promises)
{
    free(promises);
}

int locus_promise_admit(struct locus_promises *promises, struct locus_promise *mine, uint32_t now, uint32_t most)
{
    uint32_t count = promises->admission == LOCUS_ADMIT_FULL ? most : now;
    if (mine->blocks || now > most)
        return -EINVAL;
    if (most > promises->pool->blocks - counter_read(&promises->pool->counters.retired))
        return -ENOSPC;
    int error = promise(promises, count, promises->watermark_blocks);
    if (!error)
        mine->blocks = count;
    return error;
}

// Before `count` blocks are taken: promises what the promise lacks, *more.
static int begin_take(struct locus_promises *promises, struct locus_promise *mine, uint32_t count, uint32_t *more)
{
    if (!locus_owner_held_here(promises->owner))
        return -EPERM;
    *more = count > mine->blocks ? count - mine->blocks : 0;
    int error = *more ? promise(promises, *more, 0) : 0;
    if (!error)
        mine->blocks += *more;
    return error;
}

// After it: so many are neither promised nor available any more; if it failed, what was promised for it.
static void end_take(struct locus_promises *promises, struct locus_promise *mine, uint32_t count)
{
    mine->blocks -= count;
    unpromise(promises, count);
}

int locus_promise_grow(struct locus_promises *promises, struct locus_promise *mine, struct locus_table *table, uint32_t count)
{
    RULE(locus_owner_held_here(promises->owner), RULE_ROLE);
    uint32_t more;
    if (table->capacity - table->count < count)
        return locus_owner_grow(promises->owner, table, count); // which says why not
    int error = begin_take(promises, mine, count, &more);
    if (error)
        return error;
    error = locus_owner_grow(promises->owner, table, count);
    end_take(promises, mine, error ? more : count);
    return error;
}

int locus_promise_write(struct locus_promises *promises, struct locus_promise *mine, struct locus_table *table, uint64_t first,
                        uint64_t count, uint32_t planes)
{
    RULE(locus_owner_held_here(promises->owner), RULE_ROLE);
    struct share_write write = {.owner = promises->owner, .table = table, .first = first, .count = count, .planes = planes};
    uint32_t needs, more, left;
    int error = share_write_needs(&write, &needs);
    if (!error)
        error = begin_take(promises, mine, needs, &more);
    if (error)
        return error;
    error = share_write(&write);
    share_write_needs(&write, &left);
    uint32_t taken = needs - left; // some, if it failed in the middle
    end_take(promises, mine, taken > more ? taken : more);
    return error;
}

int64_t locus_promise_match(struct locus_promises *promises, struct locus_promise *mine, struct locus_prefix *prefix,
                            uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[], uint32_t count,
                            struct locus_table *table)
{
    RULE(locus_owner_held_here(promises->owner), RULE_ROLE);
    uint32_t room = table->capacity - table->count, kept, more;
    locus_prefix_look(prefix, ids, tokens, count < room ? count : room, &kept);
    int error = begin_take(promises, mine, kept, &more);
    if (error)
        return error;
    int64_t found = locus_prefix_match(prefix, now_ns, ids, tokens, count, table);
    end_take(promises, mine, found < 0 ? more : kept);
    return found;
}

int64_t locus_promise_raise(struct locus_promises *promises, struct locus_promise *mine, struct locus_prefix *prefix,
                            const struct locus_id ids[], const uint32_t tokens[], uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(promises->owner), RULE_ROLE);
    uint32_t has = locus_prefix_raise_look(prefix, ids, count, table), more;
    int error = begin_take(promises, mine, has, &more);
    if (error)
        return error;
    int64_t raised = prefix_raise(prefix, ids, tokens, count, table, has);
    end_take(promises, mine, raised > more ? (uint32_t)raised : more); // fewer, if not all could be loaded
    return raised;
}

// Promised to the store only until it has taken them: from then on they are out.
uint32_t locus_promise_sink_start(struct locus_promises *promises, struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(promises->owner), RULE_ROLE);
    if (!locus_owner_held_here(promises->owner) || promise(promises, count, 0))
        return 0;
    uint32_t started = locus_prefix_sink_start(prefix, count);
    unpromise(promises, count);
    return started;
}

int locus_promise_renew(struct locus_promises *promises, struct locus_promise *mine, uint32_t count)
{
    int error = promise(promises, count, 0);
    if (!error)
        mine->blocks += count;
    return error;
}

void locus_promise_end(struct locus_promises *promises, struct locus_promise *mine)
{
    unpromise(promises, mine->blocks);
    mine->blocks = 0;
}

void locus_promises_stats(const struct locus_promises *promises, struct locus_promises_stats *out)
{
    bool anybody;
    uint32_t promised = (uint32_t)atomic_load_explicit(&promises->word, memory_order_acquire),
             free_blocks = ready(promises, &anybody);
    *out = (struct locus_promises_stats){
        .promised = promised,
        .available = free_blocks > promised ? free_blocks - promised : 0,
    };
}
