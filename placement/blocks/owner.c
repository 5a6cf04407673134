// SPDX-License-Identifier: Apache-2.0
//
// owner: the role, grow and retire, and the waiting for what is on its way home. The drain is in owner_drain.c, the spawned thread
// in owner_thread.c.
//
// The pool's in_flight counts the blocks of this home in tables that were retired and have not been drained. It makes waiting
// sound: grow waits only while top + in_flight could satisfy it, so it ends by itself when everything is home, and a table that
// never arrives costs at most wait_ns. It belongs to the pool, not to the owner, because a table may be retired under one owner
// and come home under the next. A drain inside a wait is the same function as any other, so it loses no counts and no reclaimed
// tables.
//
// The role is one word, which names the thread that holds it (owner_inline.h), so a plain load and a comparison tell a thread
// whether it holds the role. (If a thread ends while it holds the role, a new thread may get its name.)
//
// O1 (release) of leave, partner O2 (acquire) of the next adopt: the adopter sees the pool as the last holder left it.

#include "locus/lane.h"
#include "owner_internal.h"
#include "placement/base/apart.h"
#include "placement/base/clock.h"
#include "placement/base/config.h"
#include "placement/base/rules.h"
#include "placement/blocks/pools/runs.h"
#include "placement/blocks/pools/shared.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

// Polls of the lanes between two looks at the clock; each look also yields the CPU to a worker that may need it. Arbitrary:
// 64 polls take about as long as the line transfer of one push.
#define POLLS_PER_YIELD 64u

// New memory is zeroed, so its lanes are empty.
static int lanes_open(struct locus_owner *owner)
{
    struct locus_region_config region = {
        .size = sizeof region,
        .bytes = owner->hot.lanes_count * (sizeof(struct locus_lane) + sizeof(struct locus_lane_end)),
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = owner->hot.pool->policy,
        .node = owner->hot.pool->node,
        .populate = true,
    };
    int error = locus_region_open(&owner->lanes_region, &region);
    if (error)
        return error;
    owner->hot.lanes = locus_region_base(owner->lanes_region);
    owner->hot.ends = (struct locus_lane_end *)(void *)(owner->hot.lanes + owner->hot.lanes_count);
    return 0;
}

// Atomic, because any thread may ask for a reason (locus_owner_why).
static const struct locus_owner *owner_of(const struct locus_pool *pool)
{
    return __atomic_load_n(&pool->owner, __ATOMIC_RELAXED);
}

static const char *config_fault(const struct locus_owner_config *config)
{
    if (!config->pool)
        return "pool is NULL";
    if (owner_of(config->pool))
        return "another owner is open on the pool";
    if (config->lanes == 0 || config->lanes > LOCUS_LANES_MAX)
        return "lanes is 0, so that nothing could come home, or more than 65536 (LOCUS_LANES_MAX)";
    if (config->backpressure && config->pool->reuse != LOCUS_REUSE_LIFO)
        return "backpressure needs a LIFO pool: the others hand out never-used blocks before used ones";
    return NULL;
}

_Static_assert(sizeof(struct locus_owner) <= APART_MOST_BYTES, "it begins a page again");

int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *given)
{
    struct locus_owner_config config;
    int error = config_take(&config, sizeof config, given);
    if (!error && config_fault(&config))
        error = config.pool && owner_of(config.pool) ? -EBUSY : -EINVAL;
    if (error)
        return error;
    struct locus_owner *owner = apart_alloc(sizeof *owner);
    if (!owner)
        return -ENOMEM;
    *owner = (struct locus_owner){
        .hot = {.pool = config.pool,
                .home_bit = UINT64_C(1) << config.pool->home,
                .home = (uint8_t)config.pool->home,
                .lanes_count = config.lanes},
        .backpressure = config.backpressure,
        .wait_ns = config.wait_ns,
    };
    error = sem_init(&owner->started, 0, 0) ? -errno : lanes_open(owner);
    if (error) {
        locus_owner_close(owner);
        return error;
    }
    __atomic_store_n(&config.pool->owner, owner, __ATOMIC_RELAXED);
    *out = owner;
    return 0;
}

void locus_owner_why(const struct locus_owner_config *given, int error, char *why, size_t why_bytes)
{
    struct locus_owner_config config;
    int taken = config_take(&config, sizeof config, given);
    const char *fault = taken ? config_why(taken) : config_fault(&config);
    if (!fault && abs(error) == ENOMEM)
        fault = "the pool's node has no memory for the lanes";
    snprintf(why, why_bytes, "%s", fault ? fault : strerror(abs(error)));
}

int locus_owner_close(struct locus_owner *owner)
{
    if (!owner)
        return 0;
    RULE(!owner_has_thread(owner), "the owner's spawned thread was not joined (locus_owner_join)");
    if (owner_has_thread(owner))
        return -EBUSY;
    if (owner_of(owner->hot.pool) == owner)
        __atomic_store_n(&owner->hot.pool->owner, NULL, __ATOMIC_RELAXED);
    sem_destroy(&owner->started);
    locus_region_close(owner->lanes_region);
    apart_free(owner);
    return 0;
}

int locus_owner_adopt(struct locus_owner *owner)
{
    uintptr_t nobody = 0, self = (uintptr_t)__builtin_thread_pointer();
    bool taken = __atomic_compare_exchange_n(&owner->hot.holder, &nobody, self, false, __ATOMIC_ACQUIRE, // O2
                                             __ATOMIC_RELAXED);
    if (taken)
        owner->draining = false; // the last holder's thread may have ended in on_error()
    return taken ? 0 : -EBUSY;
}

int locus_owner_leave(struct locus_owner *owner)
{
    RULE(holds_role(owner), RULE_ROLE);
    if (!holds_role(owner))
        return -EPERM;
    __atomic_store_n(&owner->hot.holder, 0, __ATOMIC_RELEASE); // O1
    return 0;
}

bool locus_owner_held_here(const struct locus_owner *owner)
{
    return holds_role(owner);
}

// Would this owner have to hand out never-used blocks while others are on their way home?
static inline bool must_wait(const struct locus_owner *owner, uint32_t count)
{
    const struct locus_pool *pool = owner->hot.pool;
    return pool->hot.top < count || (owner->backpressure && pool->in_flight && pool->hot.top - count < pool->fresh);
}

static __attribute__((cold, noinline)) int grow_wait(struct locus_owner *owner, uint32_t count)
{
    struct locus_pool *pool = owner->hot.pool;
    uint64_t start_ns = clock_now_ns(), waited_ns = 0;
    int error = 0;
    for (uint32_t polls = 1;; polls++) {
        locus_owner_drain(owner);
        pool_reclaim(pool, count); // what came home may be kept
        if (!must_wait(owner, count))
            break;
        if (pool->hot.top + pool->counters.kept + pool->in_flight < count)
            error = -ENOMEM;
        else if (owner->wait_ns == 0 || owner->draining)
            error = -EAGAIN;
        else if (polls % POLLS_PER_YIELD == 0 && (waited_ns = clock_now_ns() - start_ns) > owner->wait_ns)
            error = -ETIMEDOUT;
        if (error)
            break;
        if (polls % POLLS_PER_YIELD == 0)
            sched_yield();
        else
            locus_cpu_relax();
    }
    counter_add(&owner->counters.waits, 1);
    counter_add(&owner->counters.wait_ns, clock_now_ns() - start_ns);
    return error;
}

static __attribute__((cold, noinline)) int grow_fault(const struct locus_owner *owner, const struct locus_table *table)
{
    if (!holds_role(owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    return owner->hot.pool->home >= table->homes_max ? -EXDEV : -ENOSPC;
}

// Where a run goes on; a handle in a table may be damaged.
static uint32_t last_of(const struct locus_pool *pool, const struct locus_table *table)
{
    if (!pool->runs || table->count == table->dropped)
        return POOL_NOWHERE;
    return pool_runs_index(pool, (uint32_t)(table->blocks[table->count - 1] >> 32));
}

// Never-used blocks, runs, or too few.
static __attribute__((noinline)) int take_slow(struct locus_owner *owner, const struct locus_table *table, uint32_t count)
{
    if (owner->hot.pool->hot.top < count)
        pool_reclaim(owner->hot.pool, count);
    int error = must_wait(owner, count) ? grow_wait(owner, count) : 0;
    if (!error && count)
        pool_take_slow(owner->hot.pool, count, table->blocks + table->count, table->tag, last_of(owner->hot.pool, table));
    return error;
}

static int grow_any(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    struct locus_pool *pool = owner->hot.pool;
    bool fits = (int)holds_role(owner) & (table->state == LOCUS_TABLE_LIVE) & (pool->home < table->homes_max) &
                (table->capacity - table->count >= count); // one branch for all
    if (__builtin_expect(!fits, 0))
        return grow_fault(owner, table);
    int error = take_slow(owner, table, count);
    if (error || count == 0)
        return error;
    table->count += count;
    table->homes |= owner->hot.home_bit;
    return 0;
}

// The usual case of a pool with runs: the block behind the table's last one is free. False: it is not that simple.
static bool grow_run(struct locus_owner *owner, struct locus_table *table)
{
    uint32_t at = table->count;
    bool one = table->state == LOCUS_TABLE_LIVE && (table->homes & owner->hot.home_bit) && at && at < table->capacity;
    if (!one || !holds_role(owner))
        return false;
    uint32_t next = (uint32_t)(table->blocks[at - 1] >> 32) + 1;
    if (!pool_runs_next(owner->hot.pool, next, &table->blocks[at]))
        return false;
    table->count = at + 1;
    return true;
}

__attribute__((noinline)) int locus_owner_grow_slow(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    RULE_OF("locus_owner_grow", holds_role(owner), RULE_ROLE);
    if (owner->hot.pool->runs && count == 1 && grow_run(owner, table))
        return 0;
    return grow_any(owner, table, count);
}

static __attribute__((noinline)) int grow_several(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    return locus_owner_grow_fast(owner, table, count) ? 0 : locus_owner_grow_slow(owner, table, count);
}

// As locus_owner_grow_inline(); the call for one block stays as short as it can be.
int locus_owner_grow(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    if (count == 1 && locus_owner_grow_one_fast(owner, table))
        return 0;
    return grow_several(owner, table, count);
}

// Do the blocks from `first` to before `end` name this home? A handle that was damaged is the pool's to refuse.
static bool all_own(const struct locus_owner *owner, const struct locus_table *table, uint32_t first, uint32_t end)
{
    if (table->homes == owner->hot.home_bit)
        return true;
    for (uint32_t i = first; i < end; i++)
        if (locus_block_home(table->blocks[i]) != owner->hot.pool->home)
            return false;
    return true;
}

// It ends before what a sliding window has left.
static __attribute__((cold, noinline)) int truncate_slow(struct locus_owner *owner, struct locus_table *table, uint32_t keep)
{
    int error = locus_owner_truncate(owner, table, table->dropped);
    if (!error)
        table->count = table->dropped = keep;
    return error;
}

int locus_owner_truncate(struct locus_owner *owner, struct locus_table *table, uint32_t keep)
{
    RULE(holds_role(owner), RULE_ROLE);
    if (!holds_role(owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (keep >= table->count)
        return 0;
    if (__builtin_expect(keep < table->dropped, 0))
        return truncate_slow(owner, table, keep);
    if (!all_own(owner, table, keep, table->count))
        return -EXDEV;
    locus_pool_free_bulk(owner->hot.pool, table->count - keep, table->blocks + keep, table->tag);
    table->count = keep;
    table->homes = table_homes(table);
    return 0;
}

int locus_owner_drop_before(struct locus_owner *owner, struct locus_table *table, uint64_t position)
{
    RULE(holds_role(owner), RULE_ROLE);
    if (!holds_role(owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    uint32_t first = table->dropped, end = table_drops(table, position);
    if (!all_own(owner, table, first, end))
        return -EXDEV;
    locus_pool_free_bulk(owner->hot.pool, end - first, table->blocks + first, table->tag);
    table_drop(table, end);
    return 0;
}

// Blocks in the table that name this home.
static uint32_t own_blocks(const struct locus_owner *owner, const struct locus_table *table)
{
    if (table->homes == owner->hot.home_bit)
        return table->count;
    uint32_t own = 0;
    for (uint32_t i = 0; i < table->count; i++)
        own += locus_block_home(table->blocks[i]) == owner->hot.pool->home;
    return own;
}

// Why the table may not go. Or it does, but first what a sliding window has left moves to its front: drains know nothing of what
// was dropped.
static __attribute__((cold, noinline)) int retire_slow(struct locus_owner *owner, struct locus_table *table)
{
    if (!holds_role(owner))
        return -EPERM;
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    table->count -= table->dropped;
    memmove(table->blocks, table->blocks + table->dropped, table->count * sizeof *table->blocks);
    table->dropped = 0;
    return table->count ? locus_owner_retire(owner, table) : -ENODATA;
}

int locus_owner_retire(struct locus_owner *owner, struct locus_table *table)
{
    RULE(holds_role(owner), RULE_ROLE);
    bool usual = (int)holds_role(owner) & (table->state == LOCUS_TABLE_LIVE) & (table->count > 0) & !table->dropped; // one branch
    if (__builtin_expect(!usual, 0))
        return retire_slow(owner, table);
    table->state = LOCUS_TABLE_RETIRED;
    table->push_to = table->homes;
    table->retired_by = (uint8_t)owner->hot.pool->home;
    table->in_flight = own_blocks(owner, table);
    counter_add(&owner->hot.pool->in_flight, table->in_flight);
    counter_add(&owner->counters.tables_retired, 1);
    return 0;
}

void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out)
{
    counters_read(out, &owner->counters, sizeof *out);
    out->blocks_in_flight = counter_read(&owner->hot.pool->in_flight);
}

struct locus_pool *locus_owner_pool(const struct locus_owner *owner)
{
    return owner->hot.pool;
}
