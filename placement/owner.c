// SPDX-License-Identifier: Apache-2.0
//
// owner: grow, retire, drain, and the waiting in between.
//
// in_flight counts the blocks of this home in tables that were retired here and have not been drained. It is what makes
// waiting sound: grow waits only while top + in_flight could satisfy it, so it ends by itself when everything is home, and a
// table that never arrives costs at most wait_ns. A drain inside a wait is the same function as any other drain; counts
// and reclaimed tables cannot be lost in it.
//
// Atomics here, besides P1/T1 (mailbox.h) and D1 (table.c):
//   D2 (acq_rel)   last drain of a table that spans homes, partner D2 of the other homes: release, so that this home's reading of
//                  the array is over before the last one empties it; acquire, so that the last one really comes after.
//   O1 (release)   leave, partner O2 (acquire) of the next adopt: the pool as the last holder left it.

#include "owner.h"
#include "cpu_relax.h"
#include "pool_internal.h"
#include "topo/pin.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

// Polls of the mailboxes between two looks at the clock, each of which also yields the CPU to a worker that may need it.
// Arbitrary: 64 polls last about as long as the line transfer of one push.
#define POLLS_PER_YIELD 64u

struct locus_owner {
    struct locus_pool *pool;
    struct locus_mailbox *mailboxes;
    uint64_t home_bit;
    uint32_t mailboxes_count;
    bool backpressure;
    uint64_t wait_ns;
    uint64_t in_flight;
    struct locus_table *reclaimed_first, *reclaimed_last;
    struct locus_owner_stats stats;
    struct locus_region *mailboxes_region;

    _Atomic bool held;
    pthread_t holder; // meaningful while held

    bool spawned;
    pthread_t thread;
    locus_owner_step_fn *step;
    void *step_context;
    int step_result;
    int node;
    int start_error;
    sem_t started;
};

static inline void assert_owner_context(const struct locus_owner *owner)
{
    assert(atomic_load_explicit(&owner->held, memory_order_relaxed) && pthread_equal(owner->holder, pthread_self()));
    (void)owner;
}

static int mailboxes_open(struct locus_owner *owner)
{
    struct locus_region_config region = {
        .bytes = owner->mailboxes_count * sizeof(struct locus_mailbox),
        .memory_class = LOCUS_CLASS_METADATA,
        .page = LOCUS_PAGE_4K,
        .policy = owner->pool->policy,
        .node = owner->pool->node,
        .populate = true,
    };
    int error = locus_region_open(&owner->mailboxes_region, &region);
    if (error)
        return error;
    owner->mailboxes = locus_region_base(owner->mailboxes_region);
    for (uint32_t i = 0; i < owner->mailboxes_count; i++)
        locus_mailbox_init(&owner->mailboxes[i]);
    return 0;
}

int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *config)
{
    if (!config->pool || config->mailboxes == 0 || (config->backpressure && config->pool->reuse != LOCUS_REUSE_LIFO))
        return -EINVAL;
    struct locus_owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return -ENOMEM;
    owner->pool = config->pool;
    owner->home_bit = UINT64_C(1) << config->pool->home;
    owner->mailboxes_count = config->mailboxes;
    owner->backpressure = config->backpressure;
    owner->wait_ns = config->wait_ns;
    int error = sem_init(&owner->started, 0, 0) ? -errno : mailboxes_open(owner);
    if (error) {
        locus_owner_close(owner);
        return error;
    }
    *out = owner;
    return 0;
}

void locus_owner_close(struct locus_owner *owner)
{
    if (!owner)
        return;
    assert(!owner->spawned);
    sem_destroy(&owner->started);
    locus_region_close(owner->mailboxes_region);
    free(owner);
}

int locus_owner_adopt(struct locus_owner *owner)
{
    bool free_role = false;
    if (!atomic_compare_exchange_strong_explicit(&owner->held, &free_role, true, memory_order_acquire, memory_order_relaxed)) // O2
        return -EBUSY;
    owner->holder = pthread_self();
    return 0;
}

void locus_owner_leave(struct locus_owner *owner)
{
    assert_owner_context(owner);
    atomic_store_explicit(&owner->held, false, memory_order_release); // O1
}

static void *spawned_main(void *argument)
{
    struct locus_owner *owner = argument;
    int error = owner->node == LOCUS_NODE_ANY ? 0 : locus_pin_node(owner->node);
    if (!error)
        error = locus_owner_adopt(owner);
    owner->start_error = error;
    sem_post(&owner->started);
    if (error)
        return NULL;
    do {
        owner->step_result = owner->step(owner, owner->step_context);
    } while (owner->step_result == 0);
    locus_owner_leave(owner);
    return NULL;
}

int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context)
{
    if (owner->spawned)
        return -EBUSY;
    owner->node = node;
    owner->step = step;
    owner->step_context = context;
    int error = pthread_create(&owner->thread, NULL, spawned_main, owner);
    if (error)
        return -error;
    while (sem_wait(&owner->started) && errno == EINTR)
        ;
    if (owner->start_error) {
        pthread_join(owner->thread, NULL);
        return owner->start_error;
    }
    owner->spawned = true;
    return 0;
}

int locus_owner_join(struct locus_owner *owner, int *result)
{
    if (!owner->spawned)
        return -EINVAL;
    int error = pthread_join(owner->thread, NULL);
    if (error)
        return -error;
    owner->spawned = false;
    *result = owner->step_result;
    return 0;
}

// Blocks that this owner would have to hand out from its never-used ones, while others are on their way home.
static inline bool must_wait(const struct locus_owner *owner, uint32_t count)
{
    const struct locus_pool *pool = owner->pool;
    return pool->top < count || (owner->backpressure && owner->in_flight && pool->top - count < pool->fresh);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((cold, noinline)) int grow_wait(struct locus_owner *owner, uint32_t count)
{
    uint64_t start_ns = now_ns(), waited_ns = 0;
    int error = 0;
    for (uint32_t polls = 1;; polls++) {
        locus_owner_drain(owner);
        if (!must_wait(owner, count))
            break;
        if (owner->pool->top + owner->in_flight < count)
            error = -ENOMEM;
        else if (owner->wait_ns == 0)
            error = -EAGAIN;
        else if (polls % POLLS_PER_YIELD == 0 && (waited_ns = now_ns() - start_ns) > owner->wait_ns)
            error = -ETIMEDOUT;
        if (error)
            break;
        if (polls % POLLS_PER_YIELD == 0)
            sched_yield();
        else
            locus_cpu_relax();
    }
    owner->stats.waits++;
    owner->stats.wait_ns += now_ns() - start_ns;
    return error;
}

static __attribute__((noinline)) int grow_many(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    struct locus_pool *pool = owner->pool;
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (pool->home >= table->homes_max)
        return -EXDEV;
    if (table->capacity - table->count < count)
        return -ENOSPC;
    if (__builtin_expect(must_wait(owner, count), 0)) {
        int error = grow_wait(owner, count);
        if (error)
            return error;
    }
    if (count == 0)
        return 0;
    pool_take(pool, count, table->blocks + table->count);
    table->count += count;
    table->homes |= owner->home_bit;
    return 0;
}

// A decode step asks for one block, for a table that has some already. With nothing unusual about it, that is these few lines;
// everything else, the checks in detail too, is grow_many's. A used block on top needs no wait, with back-pressure either.
int locus_owner_grow(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    assert_owner_context(owner);
    struct locus_pool *pool = owner->pool;
    uint32_t at = table->count;
    bool usual = count == 1 && table->state == LOCUS_TABLE_LIVE && (table->homes & owner->home_bit) && at < table->capacity &&
                 pool_top_is_used(pool);
    if (__builtin_expect(!usual, 0))
        return grow_many(owner, table, count);
    table->blocks[at] = pool_take_top(pool);
    table->count = at + 1;
    return 0;
}

static uint64_t homes_of(const struct locus_table *table)
{
    uint64_t homes = 0;
    for (uint32_t i = 0; i < table->count; i++)
        homes |= UINT64_C(1) << locus_block_home(table->blocks[i]);
    return homes;
}

int locus_owner_truncate(struct locus_owner *owner, struct locus_table *table, uint32_t keep)
{
    assert_owner_context(owner);
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (keep >= table->count)
        return 0;
    for (uint32_t i = keep; i < table->count; i++)
        if (locus_block_home(table->blocks[i]) != owner->pool->home)
            return -EXDEV;
    locus_pool_free_bulk(owner->pool, table->count - keep, table->blocks + keep, table->tag);
    table->count = keep;
    table->homes = homes_of(table);
    return 0;
}

// Blocks in the table that name this home.
static uint32_t own_blocks(const struct locus_owner *owner, const struct locus_table *table)
{
    if (table->homes == owner->home_bit)
        return table->count;
    uint32_t own = 0;
    for (uint32_t i = 0; i < table->count; i++)
        own += locus_block_home(table->blocks[i]) == owner->pool->home;
    return own;
}

int locus_owner_retire(struct locus_owner *owner, struct locus_table *table)
{
    assert_owner_context(owner);
    if (table->state != LOCUS_TABLE_LIVE)
        return -EINVAL;
    if (table->count == 0)
        return -ENODATA;
    table->state = LOCUS_TABLE_RETIRED;
    table->parcel = table->homes;
    table->retired_by = (uint8_t)owner->pool->home;
    table->in_flight = own_blocks(owner, table);
    owner->in_flight += table->in_flight;
    owner->stats.tables_retired++;
    return 0;
}

// A table of several homes: frees what names this home. A handle that names a home which the table does not hold blocks of is
// damaged; the lowest home of the table passes it to the pool, which refuses and reports it once.
static uint32_t free_own(struct locus_owner *owner, const struct locus_table *table)
{
    bool lowest = (table->homes & (owner->home_bit - 1)) == 0;
    uint32_t freed = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        uint64_t bit = UINT64_C(1) << locus_block_home(table->blocks[i]);
        if (bit == owner->home_bit || (lowest && !(bit & table->homes)))
            freed += locus_pool_free_bulk(owner->pool, 1, &table->blocks[i], table->tag);
    }
    return freed;
}

static struct locus_table *table_of(const struct locus_owner *owner, struct locus_link *link)
{
    char *links = (char *)link - owner->pool->home * sizeof *link;
    return (struct locus_table *)(void *)(links - offsetof(struct locus_table, links));
}

// In the owner's line of the table, not by its link: the line that travels stays with the pusher until the table is retired again.
static void reclaim(struct locus_owner *owner, struct locus_table *table)
{
    table->count = 0;
    table->homes = 0;
    table->state = LOCUS_TABLE_LIVE;
    table->reclaimed_next = NULL;
    if (owner->reclaimed_first)
        owner->reclaimed_last->reclaimed_next = table;
    else
        owner->reclaimed_first = table;
    owner->reclaimed_last = table;
}

static uint32_t drain_table(struct locus_owner *owner, struct locus_link *link)
{
    struct locus_table *table = table_of(owner, link);
    bool alone = table->homes == owner->home_bit;
    if (table->retired_by == owner->pool->home)
        owner->in_flight -= table->in_flight; // as noted then: a handle may have been damaged since
    owner->stats.tables_drained++;
    uint32_t freed = alone ? locus_pool_free_bulk(owner->pool, table->count, table->blocks, table->tag) : free_own(owner, table);
    if (alone || atomic_fetch_sub_explicit(&table->pending, 1, memory_order_acq_rel) == 1) // D2
        reclaim(owner, table);
    return freed;
}

uint32_t locus_owner_drain(struct locus_owner *owner)
{
    assert_owner_context(owner);
    uint32_t freed = 0;
    for (uint32_t i = 0; i < owner->mailboxes_count; i++) {
        bool alone;
        struct locus_link *link = locus_mailbox_take_all(&owner->mailboxes[i], &alone);
        while (link) {
            struct locus_link *next = alone ? NULL : link->next; // before the table is handed back and used again
            freed += drain_table(owner, link);
            link = next;
        }
    }
    return freed;
}

struct locus_table *locus_owner_reclaimed(struct locus_owner *owner)
{
    assert_owner_context(owner);
    struct locus_table *table = owner->reclaimed_first;
    if (table)
        owner->reclaimed_first = table->reclaimed_next;
    return table;
}

void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out)
{
    *out = owner->stats;
    out->blocks_in_flight = owner->in_flight;
}

struct locus_pool *locus_owner_pool(const struct locus_owner *owner)
{
    return owner->pool;
}

int locus_route_add(struct locus_route *route, const struct locus_owner *owner, uint32_t lane)
{
    if (lane >= owner->mailboxes_count)
        return -EINVAL;
    route->home[owner->pool->home] = &owner->mailboxes[lane];
    route->homes |= owner->home_bit;
    return 0;
}
