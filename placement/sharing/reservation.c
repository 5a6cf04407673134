// SPDX-License-Identifier: Apache-2.0
//
// reservation: one word with the number of reserved blocks and of all changes so far.
//
//     63            32 31             0
//    +----------------+----------------+
//    |    changes     |    reserved    |
//    +----------------+----------------+
//
// A scheduler reads the word, then how many blocks the pool has free, and reserves some of them by a compare-and-exchange. Two
// things may have happened in between. Another scheduler may have reserved: the word differs. Or the owner may have taken blocks,
// so that fewer are free than were read: it changes the word after it has taken them, even by nothing, so the word differs as
// well. The changes are counted because the number of reserved blocks could be the same again.
//
// Atomics here:
//   Q1 (release)   every change of the word, partner Q2 (acquire) of every read: who reads the word as it is after a take also
//                  sees the pool's `top` of after that take. Blocks that come home in between only make the answer too cautious.
//
// An owner that grows beyond a reservation first reserves the blocks for itself, like any scheduler, so it needs no rule of its
// own.

#include "locus/reservation.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "locus/lane.h"
#include "placement/base/config.h"
#include "placement/base/rules.h"
#include "placement/blocks/pool_internal.h"
#include "prefix_internal.h"
#include "share_internal.h"

struct locus_reservations {
    struct locus_owner *owner;
    struct locus_pool *pool;
    enum locus_admission admission;
    uint32_t watermark_blocks;
    _Alignas(LOCUS_CACHE_LINE) _Atomic uint64_t word;
};

static uint64_t changed(uint64_t word, uint32_t reserved)
{
    return ((word >> 32) + 1) << 32 | reserved;
}

// Free or cached. `pool_stats` may count a block twice for a moment while it is revived, but then the word changes too.
static uint32_t ready(const struct locus_reservations *reservations, bool *anybody)
{
    struct locus_pool_stats stats;
    locus_pool_stats(reservations->pool, &stats);
    *anybody = stats.outstanding > 0;
    return stats.blocks_free + stats.blocks_cached;
}

// Reserves `count` blocks if `left` stay available, or if nobody runs.
static int reserve(struct locus_reservations *reservations, uint32_t count, uint32_t left)
{
    uint64_t word = atomic_load_explicit(&reservations->word, memory_order_acquire); // Q2
    for (;;) {
        bool anybody;
        uint64_t reserved = (uint32_t)word, free_blocks = ready(reservations, &anybody);
        uint64_t needed = reserved + count + (anybody || reserved ? left : 0);
        if (needed > free_blocks)
            return -EAGAIN;
        if (atomic_compare_exchange_weak_explicit(&reservations->word, &word, changed(word, (uint32_t)reserved + count),
                                                  memory_order_acq_rel, memory_order_acquire)) // Q1, Q2
            return 0;
        locus_cpu_relax();
    }
}

static void unreserve(struct locus_reservations *reservations, uint32_t count)
{
    uint64_t word = atomic_load_explicit(&reservations->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&reservations->word, &word, changed(word, (uint32_t)word - count),
                                                  memory_order_release, memory_order_relaxed)) // Q1
        locus_cpu_relax();
}

int locus_reservations_open(struct locus_reservations **out, const struct locus_reservations_config *given)
{
    struct locus_reservations_config config;
    int error = config_take(&config, sizeof config, given);
    if (error)
        return error;
    if (!config.owner || (unsigned)config.admission > LOCUS_ADMIT_WATERMARK)
        return -EINVAL;
    struct locus_pool *pool = locus_owner_pool(config.owner);
    if (config.watermark_blocks >= pool->blocks)
        return -EINVAL;
    struct locus_reservations *reservations = aligned_alloc(LOCUS_CACHE_LINE, sizeof *reservations);
    if (!reservations)
        return -ENOMEM;
    reservations->owner = config.owner;
    reservations->pool = pool;
    reservations->admission = config.admission;
    reservations->watermark_blocks = config.admission == LOCUS_ADMIT_WATERMARK ? config.watermark_blocks : 0;
    atomic_init(&reservations->word, 0);
    *out = reservations;
    return 0;
}

void locus_reservations_close(struct locus_reservations *reservations)
{
    free(reservations);
}

int locus_reservation_admit(struct locus_reservations *reservations, struct locus_reservation *mine, uint32_t now, uint32_t most)
{
    uint32_t count = reservations->admission == LOCUS_ADMIT_FULL ? most : now;
    if (mine->blocks || now > most)
        return -EINVAL;
    if (most > reservations->pool->blocks - counter_read(&reservations->pool->counters.retired))
        return -ENOSPC;
    int error = reserve(reservations, count, reservations->watermark_blocks);
    if (!error)
        mine->blocks = count;
    return error;
}

// Before `count` blocks are taken: reserves what the reservation lacks, *more.
static int begin_take(struct locus_reservations *reservations, struct locus_reservation *mine, uint32_t count, uint32_t *more)
{
    if (!locus_owner_held_here(reservations->owner))
        return -EPERM;
    *more = count > mine->blocks ? count - mine->blocks : 0;
    int error = *more ? reserve(reservations, *more, 0) : 0;
    if (!error)
        mine->blocks += *more;
    return error;
}

// After it: so many are neither reserved nor available any more; if it failed, what was reserved for it.
static void end_take(struct locus_reservations *reservations, struct locus_reservation *mine, uint32_t count)
{
    mine->blocks -= count;
    unreserve(reservations, count);
}

int locus_reservation_grow(struct locus_reservations *reservations, struct locus_reservation *mine, struct locus_table *table,
                           uint32_t count)
{
    RULE(locus_owner_held_here(reservations->owner), RULE_ROLE);
    uint32_t more;
    if (table->capacity - table->count < count)
        return locus_owner_grow(reservations->owner, table, count); // which says why not
    int error = begin_take(reservations, mine, count, &more);
    if (error)
        return error;
    error = locus_owner_grow(reservations->owner, table, count);
    end_take(reservations, mine, error ? more : count);
    return error;
}

int locus_reservation_write(struct locus_reservations *reservations, struct locus_reservation *mine, struct locus_table *table,
                            uint64_t first, uint64_t count, uint32_t planes)
{
    RULE(locus_owner_held_here(reservations->owner), RULE_ROLE);
    struct share_write write = {.owner = reservations->owner, .table = table, .first = first, .count = count, .planes = planes};
    uint32_t needs, more, left;
    int error = share_write_needs(&write, &needs);
    if (!error)
        error = begin_take(reservations, mine, needs, &more);
    if (error)
        return error;
    error = share_write(&write);
    share_write_needs(&write, &left);
    uint32_t taken = needs - left; // some, if it failed in the middle
    end_take(reservations, mine, taken > more ? taken : more);
    return error;
}

int64_t locus_reservation_match(struct locus_reservations *reservations, struct locus_reservation *mine,
                                struct locus_prefix *prefix, uint64_t now_ns, const struct locus_id ids[], const uint32_t tokens[],
                                uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(reservations->owner), RULE_ROLE);
    uint32_t room = table->capacity - table->count, kept, more;
    locus_prefix_probe(prefix, ids, tokens, count < room ? count : room, &kept);
    int error = begin_take(reservations, mine, kept, &more);
    if (error)
        return error;
    int64_t found = locus_prefix_match(prefix, now_ns, ids, tokens, count, table);
    end_take(reservations, mine, found < 0 ? more : kept);
    return found;
}

int64_t locus_reservation_load(struct locus_reservations *reservations, struct locus_reservation *mine, struct locus_prefix *prefix,
                               const struct locus_id ids[], const uint32_t tokens[], uint32_t count, struct locus_table *table)
{
    RULE(locus_owner_held_here(reservations->owner), RULE_ROLE);
    uint32_t has = locus_prefix_load_probe(prefix, ids, count, table), more;
    int error = begin_take(reservations, mine, has, &more);
    if (error)
        return error;
    int64_t loaded = prefix_load(prefix, ids, tokens, count, table, has);
    end_take(reservations, mine, loaded > more ? (uint32_t)loaded : more); // fewer, if not all could be loaded
    return loaded;
}

// Promised to the store only until it has taken them: from then on they are out.
uint32_t locus_reservation_offload_start(struct locus_reservations *reservations, struct locus_prefix *prefix, uint32_t count)
{
    RULE(locus_owner_held_here(reservations->owner), RULE_ROLE);
    if (!locus_owner_held_here(reservations->owner) || reserve(reservations, count, 0))
        return 0;
    uint32_t started = locus_prefix_offload_start(prefix, count);
    unreserve(reservations, count);
    return started;
}

int locus_reservation_renew(struct locus_reservations *reservations, struct locus_reservation *mine, uint32_t count)
{
    int error = reserve(reservations, count, 0);
    if (!error)
        mine->blocks += count;
    return error;
}

void locus_reservation_end(struct locus_reservations *reservations, struct locus_reservation *mine)
{
    unreserve(reservations, mine->blocks);
    mine->blocks = 0;
}

void locus_reservations_stats(const struct locus_reservations *reservations, struct locus_reservations_stats *out)
{
    bool anybody;
    uint32_t reserved = (uint32_t)atomic_load_explicit(&reservations->word, memory_order_acquire),
             free_blocks = ready(reservations, &anybody);
    *out = (struct locus_reservations_stats){
        .reserved = reserved,
        .available = free_blocks > reserved ? free_blocks - reserved : 0,
    };
}
