// SPDX-License-Identifier: Apache-2.0
//
// owner: grow, retire, drain, and the waiting in between.
//
// The pool's in_flight counts the blocks of this home in tables that were retired and have not been drained. It makes waiting
// sound: grow waits only while top + in_flight could satisfy it, so it ends by itself when everything is home, and a table that
// never arrives costs at most wait_ns. It belongs to the pool, not to the owner, because a table may be retired under one owner
// and come home under the next. A drain inside a wait is the same function as any other, so it loses no counts and no reclaimed
// tables.
//
// The role is one word, which names the thread that holds it. No other live thread finds its own name there, so a plain load and
// a comparison tell a thread whether it holds the role. (If a thread ends while it holds the role, a new thread may get its
// name.)
//
// Atomics here, besides P1/T1 (mailbox.h) and D1 (table.c):
//   D2 (acq_rel)   drain of a table that spans homes, partner D2 of the other homes: release, so that this home has read the array
//                  before the last one empties it; acquire, so that the last one empties it after all others have read it.
//   O1 (release)   leave, partner O2 (acquire) of the next adopt: the adopter sees the pool as the last holder left it.
//   S1 (release)   spawn or join has finished with the thread's fields, partner S2 (acquire) of the next call that takes them.

#include "clock.h"
#include "config.h"
#include "cpu_relax.h"
#include "owner_internal.h"
#include "pool_runs.h"
#include "pool_shared.h"
#include "rules.h"
#include "topo/pin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// Polls of the mailboxes between two looks at the clock; each look also yields the CPU to a worker that may need it. Arbitrary:
// 64 polls take about as long as the line transfer of one push.
#define POLLS_PER_YIELD 64u

struct locus_owner {
    struct locus_pool *pool;
    struct locus_mailbox *mailboxes;
    uint64_t home_bit;
    uint32_t mailboxes_count;
    bool backpressure;
    uint64_t wait_ns;
    struct locus_table *reclaimed_first, *reclaimed_last;
    struct locus_region *mailboxes_region;

    _Atomic uintptr_t holder; // this_thread() of the thread that has the role; 0: none

    _Atomic int thread_state; // enum thread_state; the call that changes it owns the fields below
    pthread_t thread;
    locus_owner_step_fn *step;
    void *step_context;
    int step_result;
    bool step_returned; // false: ended by pthread_exit or cancelled
    int node;
    int start_error;
    sem_t started;

    _Alignas(COUNTERS_ALIGN_BYTES) struct locus_owner_stats counters; // any thread reads
};

enum thread_state { THREAD_NONE, THREAD_STARTING, THREAD_RUNNING, THREAD_JOINING };

// Different for any two live threads, and never 0: an address in the thread's control block.
static inline uintptr_t this_thread(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

static inline bool holds_role(const struct locus_owner *owner)
{
    return __builtin_expect(atomic_load_explicit(&owner->holder, memory_order_relaxed) == this_thread(), 1);
}

static int mailboxes_open(struct locus_owner *owner)
{
    struct locus_region_config region = {
        .size = sizeof region,
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
    if (config->lanes == 0)
        return "lanes is 0: nothing could come home";
    if (config->backpressure && config->pool->reuse != LOCUS_REUSE_LIFO)
        return "backpressure needs a LIFO pool: the others hand out never-used blocks before used ones";
    return NULL;
}

int locus_owner_open(struct locus_owner **out, const struct locus_owner_config *given)
{
    struct locus_owner_config config;
    int error = config_take(&config, sizeof config, given);
    if (!error && config_fault(&config))
        error = config.pool && owner_of(config.pool) ? -EBUSY : -EINVAL;
    if (error)
        return error;
    struct locus_owner *owner = aligned_alloc(COUNTERS_ALIGN_BYTES, sizeof *owner);
    if (!owner)
        return -ENOMEM;
    *owner = (struct locus_owner){
        .pool = config.pool,
        .home_bit = UINT64_C(1) << config.pool->home,
        .mailboxes_count = config.lanes,
        .backpressure = config.backpressure,
        .wait_ns = config.wait_ns,
    };
    error = sem_init(&owner->started, 0, 0) ? -errno : mailboxes_open(owner);
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
        fault = "the pool's node has no memory for the mailboxes";
    snprintf(why, why_bytes, "%s", fault ? fault : strerror(abs(error)));
}

bool owner_has_thread(const struct locus_owner *owner)
{
    return atomic_load_explicit(&owner->thread_state, memory_order_relaxed) != THREAD_NONE;
}

int locus_owner_close(struct locus_owner *owner)
{
    if (!owner)
        return 0;
    RULE(!owner_has_thread(owner), "the owner's spawned thread was not joined (locus_owner_join)");
    if (owner_has_thread(owner))
        return -EBUSY;
    if (owner_of(owner->pool) == owner)
        __atomic_store_n(&owner->pool->owner, NULL, __ATOMIC_RELAXED);
    sem_destroy(&owner->started);
    locus_region_close(owner->mailboxes_region);
    free(owner);
    return 0;
}

int locus_owner_adopt(struct locus_owner *owner)
{
    uintptr_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(&owner->holder, &nobody, this_thread(), memory_order_acquire, // O2
                                                   memory_order_relaxed)
               ? 0
               : -EBUSY;
}

int locus_owner_leave(struct locus_owner *owner)
{
    RULE(holds_role(owner), RULE_ROLE);
    if (!holds_role(owner))
        return -EPERM;
    atomic_store_explicit(&owner->holder, 0, memory_order_release); // O1
    return 0;
}

bool locus_owner_held_here(const struct locus_owner *owner)
{
    return holds_role(owner);
}

// --- the spawned thread --------------------------------------------------------------------------------------------------------

// Runs however the thread ends. The step function may have left the role itself.
static void spawned_end(void *argument)
{
    if (holds_role(argument))
        locus_owner_leave(argument);
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
    pthread_cleanup_push(spawned_end, owner);
    do {
        owner->step_result = owner->step(owner, owner->step_context);
    } while (owner->step_result == 0);
    owner->step_returned = true;
    pthread_cleanup_pop(1);
    return NULL;
}

static bool thread_take(struct locus_owner *owner, int from, int to)
{
    return atomic_compare_exchange_strong_explicit(&owner->thread_state, &from, to, memory_order_acquire, // S2
                                                   memory_order_relaxed);
}

static void thread_give(struct locus_owner *owner, int state)
{
    atomic_store_explicit(&owner->thread_state, state, memory_order_release); // S1
}

// Cancellation is off here: nobody else could finish what the caller has begun.
static int thread_start(struct locus_owner *owner)
{
    int error = pthread_create(&owner->thread, NULL, spawned_main, owner), cancel;
    if (error)
        return -error;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (sem_wait(&owner->started) && errno == EINTR)
        ;
    if (owner->start_error)
        pthread_join(owner->thread, NULL);
    pthread_setcancelstate(cancel, NULL);
    return owner->start_error;
}

int locus_owner_spawn(struct locus_owner *owner, int node, locus_owner_step_fn *step, void *context)
{
    if (!thread_take(owner, THREAD_NONE, THREAD_STARTING))
        return -EBUSY;
    owner->node = node;
    owner->step = step;
    owner->step_context = context;
    owner->step_returned = false;
    int error = thread_start(owner);
    thread_give(owner, error ? THREAD_NONE : THREAD_RUNNING);
    return error;
}

// The waiting thread may be cancelled; then the spawned thread can be joined again.
static void join_cancelled(void *owner)
{
    thread_give(owner, THREAD_RUNNING);
}

int locus_owner_join(struct locus_owner *owner, int *result)
{
    int error;
    if (!thread_take(owner, THREAD_RUNNING, THREAD_JOINING))
        return -EINVAL;
    pthread_cleanup_push(join_cancelled, owner);
    error = -pthread_join(owner->thread, NULL);
    pthread_cleanup_pop(0);
    if (!error && !owner->step_returned)
        error = -ECANCELED;
    else if (!error)
        *result = owner->step_result;
    thread_give(owner, error && error != -ECANCELED ? THREAD_RUNNING : THREAD_NONE);
    return error;
}

// Would this owner have to hand out never-used blocks while others are on their way home?
static inline bool must_wait(const struct locus_owner *owner, uint32_t count)
{
    const struct locus_pool *pool = owner->pool;
    return pool->top < count || (owner->backpressure && pool->in_flight && pool->top - count < pool->fresh);
}

static __attribute__((cold, noinline)) int grow_wait(struct locus_owner *owner, uint32_t count)
{
    uint64_t start_ns = clock_now_ns(), waited_ns = 0;
    int error = 0;
    for (uint32_t polls = 1;; polls++) {
        locus_owner_drain(owner);
        if (!must_wait(owner, count))
            break;
        if (owner->pool->top + owner->pool->in_flight < count)
            error = -ENOMEM;
        else if (owner->wait_ns == 0)
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
    return owner->pool->home >= table->homes_max ? -EXDEV : -ENOSPC;
}

// Where a run goes on; a handle in a table may be damaged.
static uint32_t last_of(const struct locus_pool *pool, const struct locus_table *table)
{
    if (!pool->runs || !table->count)
        return POOL_NOWHERE;
    return pool_runs_index(pool, (uint32_t)(table->blocks[table->count - 1] >> 32));
}

// Never-used blocks, runs, or too few.
static __attribute__((noinline)) int take_unusual(struct locus_owner *owner, const struct locus_table *table, uint32_t count)
{
    if (owner->pool->top < count)
        pool_reclaim(owner->pool, count);
    int error = must_wait(owner, count) ? grow_wait(owner, count) : 0;
    if (!error && count)
        pool_take_unusual(owner->pool, count, table->blocks + table->count, table->tag, last_of(owner->pool, table));
    return error;
}

static __attribute__((noinline)) int grow_many(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    struct locus_pool *pool = owner->pool;
    bool fits = (int)holds_role(owner) & (table->state == LOCUS_TABLE_LIVE) & (pool->home < table->homes_max) &
                (table->capacity - table->count >= count); // one branch for all
    if (__builtin_expect(!fits, 0))
        return grow_fault(owner, table);
    if (pool_plain(pool, count) && count) {
        pool_take_plain(pool, count, table->blocks + table->count);
    } else {
        int error = take_unusual(owner, table, count);
        if (error || count == 0)
            return error;
    }
    table->count += count;
    table->homes |= owner->home_bit;
    return 0;
}

// The usual case of a pool with runs: the block behind the table's last one is free. pre: as asked for in locus_owner_grow(), but
// for the role.
static __attribute__((noinline)) int grow_run(struct locus_owner *owner, struct locus_table *table)
{
    uint32_t at = table->count;
    uint32_t next = at ? (uint32_t)(table->blocks[at - 1] >> 32) + 1 : 0;
    if (!at || !holds_role(owner) || !pool_runs_next(owner->pool, next, &table->blocks[at]))
        return grow_many(owner, table, 1);
    table->count = at + 1;
    return 0;
}

// A decode step asks for one block for a table that already has some. The usual case is these few lines; grow_many() does
// everything else, including the detailed checks.
int locus_owner_grow(struct locus_owner *owner, struct locus_table *table, uint32_t count)
{
    RULE(holds_role(owner), RULE_ROLE);
    struct locus_pool *pool = owner->pool;
    uint32_t at = table->count;
    bool one = count == 1 && table->state == LOCUS_TABLE_LIVE && (table->homes & owner->home_bit) && at < table->capacity;
    bool usual = one && pool_plain_one(pool) && holds_role(owner);
    if (__builtin_expect(!usual, 0))
        return one && pool->runs ? grow_run(owner, table) : grow_many(owner, table, count);
    table->blocks[at] = pool_take_top(pool);
    table->count = at + 1;
    return 0;
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
    for (uint32_t i = keep; i < table->count; i++)
        if (locus_block_home(table->blocks[i]) != owner->pool->home)
            return -EXDEV;
    locus_pool_free_bulk(owner->pool, table->count - keep, table->blocks + keep, table->tag);
    table->count = keep;
    table->homes = table_homes(table);
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
    RULE(holds_role(owner), RULE_ROLE);
    if (!((int)holds_role(owner) & (table->state == LOCUS_TABLE_LIVE) & (table->count > 0))) // one branch for all
        return !holds_role(owner) ? -EPERM : table->state == LOCUS_TABLE_LIVE ? -ENODATA : -EINVAL;
    table->state = LOCUS_TABLE_RETIRED;
    table->push_to = table->homes;
    table->retired_by = (uint8_t)owner->pool->home;
    table->in_flight = own_blocks(owner, table);
    counter_add(&owner->pool->in_flight, table->in_flight);
    counter_add(&owner->counters.tables_retired, 1);
    return 0;
}

// A table of several homes: frees the handles that name this home. A handle that names a home outside the table's set is damaged;
// the lowest home of the table passes it to the pool, which refuses and reports it once.
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

// Linked in the owner's line of the table, not by its mailbox link: the line that travels stays with the pusher until the table
// is retired again.
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

// What one drain brought home: local, and counted once at its end.
struct arrival {
    uint64_t tables, declared; // blocks recorded as in flight here
    uint32_t freed;
};

static inline void drain_table(struct locus_owner *owner, struct locus_link *link, struct arrival *arrival)
{
    struct locus_table *table = table_of(owner, link);
    bool alone = table->homes == owner->home_bit;
    if (table->retired_by == owner->pool->home)
        arrival->declared += table->in_flight; // as recorded at retire: a handle may have been damaged since
    arrival->tables++;
    arrival->freed += alone ? locus_pool_free_bulk(owner->pool, table->count, table->blocks, table->tag) : free_own(owner, table);
    if (alone || __atomic_sub_fetch(&table->pending, 1, __ATOMIC_ACQ_REL) == 0) // D2
        reclaim(owner, table);
}

// A table declared to another pool with the same home number must not make this pool's count wrap.
static void count_arrival(struct locus_owner *owner, const struct arrival *arrival)
{
    uint64_t in_flight = owner->pool->in_flight;
    counter_set(&owner->pool->in_flight, in_flight - (arrival->declared < in_flight ? arrival->declared : in_flight));
    counter_add(&owner->counters.tables_drained, arrival->tables);
}

// Drains the mailboxes from number `first` on; that one is not empty.
static __attribute__((noinline)) uint32_t drain_from(struct locus_owner *owner, uint32_t first)
{
    struct arrival arrival = {0};
    if (!holds_role(owner))
        return 0;
    for (uint32_t i = first; i < owner->mailboxes_count; i++) {
        bool alone;
        struct locus_link *link = locus_mailbox_take_all(&owner->mailboxes[i], &alone);
        while (link) {
            struct locus_link *next = alone ? NULL : link->next; // read before the table is handed back and reused
            drain_table(owner, link, &arrival);
            link = next;
        }
    }
    count_arrival(owner, &arrival);
    return arrival.freed;
}

// A step often finds nothing, so empty mailboxes are skipped first; any thread may check that.
uint32_t locus_owner_drain(struct locus_owner *owner)
{
    RULE(holds_role(owner), RULE_ROLE);
    for (uint32_t i = 0; i < owner->mailboxes_count; i++)
        if (!locus_mailbox_empty(&owner->mailboxes[i]))
            return drain_from(owner, i);
    return 0;
}

struct locus_table *locus_owner_next_reclaimed(struct locus_owner *owner)
{
    RULE(holds_role(owner), RULE_ROLE);
    struct locus_table *table = holds_role(owner) ? owner->reclaimed_first : NULL;
    if (!table)
        return NULL;
    owner->reclaimed_first = table->reclaimed_next;
    return table;
}

void locus_owner_stats(const struct locus_owner *owner, struct locus_owner_stats *out)
{
    counters_read(out, &owner->counters, sizeof *out);
    out->blocks_in_flight = counter_read(&owner->pool->in_flight);
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
