// SPDX-License-Identifier: Apache-2.0
//
// owner_drain: what arrives in an owner's lanes is freed, and its tables are handed back.
//
// A drain goes from lane to lane until each has been found empty. A budget may end it anywhere, also within a table, and the next
// one goes on there: the table that is open, the rest of what one mailbox had, then the other lanes. A table is freed from its end
// towards its beginning, so what leaves the stack next is the same however many drains it took (pool.c).
//
// D2 (acq_rel) of the drain of a table that spans homes, partner D2 of the other homes: release, so that this home has read the
// array before the last one empties it; acquire, so that the last one empties it after all others have read it. (D1 is in table.c;
// P1/T1 in mailbox.h and V1/V2 in lane.h bring the table here.)
//
// A route of one exclusive lane does not look into the table. So a table may arrive that is not retired, pushed twice or never
// declared, or that holds blocks of other homes, too. It is refused here.

#include "owner_internal.h"
#include "placement/base/rules.h"
#include "placement/blocks/pools/shared.h"

#include <errno.h>

// What one drain brought home: local, and counted once at its end.
struct arrival {
    uint64_t tables, declared;          // declared: blocks recorded as in flight here
    uint64_t budget;                    // blocks that may still be looked at
    uint32_t freed;
};

// A table of several homes: frees the handles from `first` to before `end` that name this home, in the order that leaves them on
// the stack as a chunk does (pool.c). A handle that names a home outside the table's set is damaged; the lowest home of the table
// passes it to the pool, which refuses and reports it once.
static uint32_t free_own(struct locus_owner *owner, const struct locus_table *table, uint32_t first, uint32_t end)
{
    uint64_t home_bit = owner->hot.home_bit;
    bool lowest = (table->homes & (home_bit - 1)) == 0, forwards = owner->hot.pool->reuse == LOCUS_REUSE_FIFO;
    uint32_t freed = 0;
    for (uint32_t n = 0; n < end - first; n++) {
        const locus_block *block = &table->blocks[forwards ? first + n : end - 1 - n];
        uint64_t bit = UINT64_C(1) << locus_block_home(*block);
        if (bit == home_bit || (lowest && !(bit & table->homes)))
            freed += pool_free(owner->hot.pool, 1, block, table->tag);
    }
    return freed;
}

static struct locus_table *table_of(const struct locus_owner *owner, struct locus_link *link)
{
    char *links = (char *)link - owner->hot.home * sizeof *link;
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
    if (owner->hot.reclaimed_first)
        owner->reclaimed_last->reclaimed_next = table;
    else
        owner->hot.reclaimed_first = table;
    owner->reclaimed_last = table;
}

// Did the pusher know where the table goes? It did if it was told to look; else it left push_to as it was.
static inline bool is_astray(const struct locus_table *table, bool alone)
{
    return !alone && table->push_to;
}

static __attribute__((cold, noinline)) void refuse(struct locus_pool *pool, bool retired, const struct locus_table *table)
{
    RULE_OF("locus_owner_drain", pool->on_error, "a table with the tag %llu %s (locus_pool_on_error is not set)",
            (unsigned long long)table->tag,
            retired ? "came by a route that does not have all its homes" : "was pushed twice, or never declared");
    pool_refuse(pool, retired ? LOCUS_FREE_MISROUTED : LOCUS_FREE_NOT_RETIRED, LOCUS_BLOCK_NONE, table->tag);
}

// A ring keeps the order in which blocks come home, and a prefix cache hears of a block before it hears of those below it: their
// tables come home whole.
static inline bool is_divisible(const struct locus_pool *pool)
{
    return pool->reuse != LOCUS_REUSE_FIFO && !pool->keeper;
}

// Frees the table's first `left` blocks, as far as the budget goes.
static void drain_table(struct locus_owner *owner, struct locus_table *table, uint32_t left, struct arrival *arrival)
{
    bool alone = table->homes == owner->hot.home_bit, retired = table->state == LOCUS_TABLE_RETIRED;
    if (__builtin_expect(!retired || is_astray(table, alone), 0)) {
        refuse(owner->hot.pool, retired, table);
        return;
    }
    bool whole = left <= arrival->budget || !is_divisible(owner->hot.pool);
    uint32_t now = whole ? left : (uint32_t)arrival->budget;
    const locus_block *blocks = table->blocks + left - now;
    if (__builtin_expect(!whole, 0)) {
        owner->open = table;
        owner->open_left = left - now;
    }
    arrival->freed += alone ? pool_free(owner->hot.pool, now, blocks, table->tag) : free_own(owner, table, left - now, left);
    arrival->budget -= now < arrival->budget ? now : arrival->budget;
    if (!whole)
        return;
    if (table->retired_by == owner->hot.home)
        arrival->declared += table->in_flight; // as recorded at retire: a handle may have been damaged since
    arrival->tables++;
    if (alone || __atomic_sub_fetch(&table->pending, 1, __ATOMIC_ACQ_REL) == 0) // D2
        reclaim(owner, table);
}

// The next table of what a mailbox had, or from one lane; or NULL.
static struct locus_table *next_from(struct locus_owner *owner, struct locus_lane *lane, struct locus_lane_end *end)
{
    struct locus_link *link = owner->chain;
    bool alone = false;
    if (!link) {
        struct locus_table *table = locus_lane_next(lane, end, &link, &alone);
        if (!link)
            return table;
        if (__atomic_load_n(&lane->mode, __ATOMIC_RELAXED) != LOCUS_LANE_EXCLUSIVE) // told apart before it was pushed: P1/T1
            end->source = LOCUS_LANE_FROM_MAILBOX;
    }
    owner->chain = alone ? NULL : link->next; // read before the table is handed back and reused
    return table_of(owner, link);
}

// The table that is open, or the next one, or NULL if the owner's lane has none. *left: its blocks that are not free yet.
static inline struct locus_table *next_table(struct locus_owner *owner, uint32_t *left)
{
    struct locus_table *table = owner->open;
    if (__builtin_expect(table != NULL, 0)) {
        *left = owner->open_left;
        owner->open = NULL;
        return table;
    }
    table = next_from(owner, &owner->hot.lanes[owner->lane], &owner->hot.ends[owner->lane]);
    *left = table ? table->count : 0;
    return table;
}

// A table declared to another pool with the same home number must not make this pool's count wrap.
static void count_arrival(struct locus_owner *owner, const struct arrival *arrival)
{
    struct locus_pool *pool = owner->hot.pool;
    uint64_t in_flight = pool->in_flight;
    counter_set(&pool->in_flight, in_flight - (arrival->declared < in_flight ? arrival->declared : in_flight));
    counter_add(&owner->counters.tables_drained, arrival->tables);
}

static void lane_advance(struct locus_owner *owner)
{
    owner->lane = owner->lane + 1 == owner->hot.lanes_count ? 0 : owner->lane + 1;
}

// on_error() may call what drains, too. It gets nothing, because it would hand back a table that is being read.
static uint32_t drain(struct locus_owner *owner, uint64_t budget)
{
    struct arrival arrival = {.budget = budget};
    if (__builtin_expect(owner->draining, 0))
        return 0;
    owner->draining = true;
    for (uint32_t empty = 0, left; empty < owner->hot.lanes_count && arrival.budget;) {
        struct locus_table *table = next_table(owner, &left);
        if (table) {
            drain_table(owner, table, left, &arrival);
        } else {
            empty++;
            lane_advance(owner);
        }
    }
    if (budget && !arrival.budget)
        lane_advance(owner); // one that always has something must not keep the others waiting
    owner->draining = false;
    owner->hot.unfinished = owner->open || owner->chain;
    count_arrival(owner, &arrival);
    pool_settle(owner->hot.pool, arrival.budget);
    return arrival.freed;
}

uint32_t locus_owner_drain_slow(struct locus_owner *owner)
{
    RULE_OF("locus_owner_drain", holds_role(owner), RULE_ROLE);
    return holds_role(owner) ? drain(owner, UINT64_MAX) : 0;
}

uint32_t locus_owner_drain(struct locus_owner *owner)
{
    return locus_owner_drain_inline(owner);
}

uint32_t locus_owner_drain_some(struct locus_owner *owner, uint32_t blocks)
{
    RULE(holds_role(owner), RULE_ROLE);
    return holds_role(owner) ? drain(owner, blocks) : 0;
}

struct locus_table *locus_owner_next_reclaimed_slow(struct locus_owner *owner)
{
    RULE_OF("locus_owner_next_reclaimed", holds_role(owner), RULE_ROLE);
    return holds_role(owner) ? locus_owner_next_reclaimed_inline(owner) : NULL;
}

struct locus_table *locus_owner_next_reclaimed(struct locus_owner *owner)
{
    return locus_owner_next_reclaimed_inline(owner);
}

// A lane has one mode, for good.
static int route_add(struct locus_route *route, const struct locus_owner *owner, uint32_t lane, uint32_t mode)
{
    uint32_t before = LOCUS_LANE_UNUSED;
    if (lane >= owner->hot.lanes_count)
        return -EINVAL;
    bool first =
        __atomic_compare_exchange_n(&owner->hot.lanes[lane].mode, &before, mode, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (!first && (before != mode || mode == LOCUS_LANE_EXCLUSIVE))
        return -EBUSY;
    route->home[owner->hot.home] = &owner->hot.lanes[lane];
    route->homes |= owner->hot.home_bit;
    route->exclusive &= ~owner->hot.home_bit;
    if (mode == LOCUS_LANE_EXCLUSIVE)
        route->exclusive |= owner->hot.home_bit;
    bool one = route->homes == owner->hot.home_bit;
    route->only = one && route->exclusive ? &owner->hot.lanes[lane] : NULL;
    return 0;
}

int locus_route_add(struct locus_route *route, const struct locus_owner *owner, uint32_t lane)
{
    return route_add(route, owner, lane, LOCUS_LANE_SHARED);
}

int locus_route_add_exclusive(struct locus_route *route, const struct locus_owner *owner, uint32_t lane)
{
    return route_add(route, owner, lane, LOCUS_LANE_EXCLUSIVE);
}
