// SPDX-License-Identifier: Apache-2.0
//
// way: see way.h.
//
// `count` is the least that a hold which others can see may cost: one locked instruction before and one after. It has no state, so
// nobody could be sent away from a range that leaves; no way that has one can be faster, but by luck.
#include "testbed/measure/pins/way.h"

#include <string.h>

#include "locus/pages_report.h"

// --- pages: the arena's own -----------------------------------------------------------------------------------------------------

static inline int pages_pin(struct tb_pins_world *world, uint32_t range)
{
    return locus_pages_pin(world->pages, world->range[range]);
}

static inline int pages_unpin(struct tb_pins_world *world, uint32_t range)
{
    return locus_pages_unpin(world->pages, world->range[range]);
}

// Its ranges have a page each.
static uint32_t pages_held(struct tb_pins_world *world)
{
    struct locus_pages_stats stats;
    locus_pages_stats(world->pages, &stats);
    return stats.pages_pinned;
}

// --- count ----------------------------------------------------------------------------------------------------------------------

// The acquire keeps the reads of the range after it, the release before it. Their partner would be who frees the range when the
// count is 0; here nobody does.
static inline int count_pin(struct tb_pins_world *world, uint32_t range)
{
    atomic_fetch_add_explicit(&world->slot[range].count, 1, memory_order_acquire);
    return 0;
}

static inline int count_unpin(struct tb_pins_world *world, uint32_t range)
{
    atomic_fetch_sub_explicit(&world->slot[range].count, 1, memory_order_release);
    return 0;
}

static uint32_t count_held(struct tb_pins_world *world)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < world->ranges; i++)
        held += atomic_load_explicit(&world->slot[i].count, memory_order_relaxed) != 0; // its threads have been joined
    return held;
}

// --- spin -----------------------------------------------------------------------------------------------------------------------

static int spin_open(struct tb_pins_world *world)
{
    int error = 0;
    for (uint32_t i = 0; i < world->ranges && !error; i++) {
        world->slot[i].spin.count = 0;
        error = -pthread_spin_init(&world->slot[i].spin.lock, PTHREAD_PROCESS_PRIVATE);
    }
    return error;
}

static inline int spin_add(struct tb_pins_world *world, uint32_t range, uint64_t what)
{
    pthread_spin_lock(&world->slot[range].spin.lock);
    world->slot[range].spin.count += what;
    pthread_spin_unlock(&world->slot[range].spin.lock);
    return 0;
}

static inline int spin_pin(struct tb_pins_world *world, uint32_t range)
{
    return spin_add(world, range, 1);
}

static inline int spin_unpin(struct tb_pins_world *world, uint32_t range)
{
    return spin_add(world, range, UINT64_MAX); // -1
}

static uint32_t spin_held(struct tb_pins_world *world)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < world->ranges; i++)
        held += world->slot[i].spin.count != 0;
    return held;
}

// --- rwlock ---------------------------------------------------------------------------------------------------------------------

static int rwlock_open(struct tb_pins_world *world)
{
    int error = 0;
    for (uint32_t i = 0; i < world->ranges && !error; i++)
        error = -pthread_rwlock_init(&world->slot[i].rwlock, NULL);
    return error;
}

static inline int rwlock_pin(struct tb_pins_world *world, uint32_t range)
{
    return pthread_rwlock_rdlock(&world->slot[range].rwlock);
}

static inline int rwlock_unpin(struct tb_pins_world *world, uint32_t range)
{
    return pthread_rwlock_unlock(&world->slot[range].rwlock);
}

// A writer gets those that no reader holds.
static uint32_t rwlock_held(struct tb_pins_world *world)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < world->ranges; i++)
        if (pthread_rwlock_trywrlock(&world->slot[i].rwlock) == 0)
            pthread_rwlock_unlock(&world->slot[i].rwlock);
        else
            held++;
    return held;
}

// --- the list -------------------------------------------------------------------------------------------------------------------

TB_PINS_LAPS(pages)
TB_PINS_LAPS(count)
TB_PINS_LAPS(spin)
TB_PINS_LAPS(rwlock)

static const struct tb_pins_way ways[] = {
    {"pages", "the arena's pin and unpin, each one exchange on the range's word", NULL, pages_pin, pages_unpin, pages_held,
     pages_lap, pages_lap_timed},
    {"count", "an atomic count for each range and no state: the bound", NULL, count_pin, count_unpin, count_held, count_lap,
     count_lap_timed},
    {"spin", "a spin lock for each range, around a count", spin_open, spin_pin, spin_unpin, spin_held, spin_lap, spin_lap_timed},
    {"rwlock", "a pthread_rwlock for each range, held by its readers", rwlock_open, rwlock_pin, rwlock_unpin, rwlock_held,
     rwlock_lap, rwlock_lap_timed},
};

const struct tb_pins_way *tb_pins_way_at(size_t i)
{
    return i < sizeof ways / sizeof *ways ? &ways[i] : NULL;
}

const struct tb_pins_way *tb_pins_way_find(const char *name)
{
    for (size_t i = 0; tb_pins_way_at(i); i++)
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    return NULL;
}
