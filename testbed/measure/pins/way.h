// SPDX-License-Identifier: Apache-2.0
//
// way: an arm of touch `pins`: one way to hold a range, so that it stays while it is read. To add one, add it to way.c.
//
// All ways read the same memory, ranges of a real arena (placement/pages), and make the same draws; they differ only in what they
// do before and after. The laps are instantiated for each way (TB_PINS_LAPS), so that none pays for a call that another avoids.
#ifndef TB_PINS_WAY_H
#define TB_PINS_WAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "locus/pages.h"
#include "testbed/measure/pins/plan.h"
#include "testbed/stats/latency.h"

union tb_pins_slot {            // what a way other than the arena's has of a range, on a cache line of its own
    _Alignas(64) _Atomic uint64_t count;
    struct {
        pthread_spinlock_t lock;
        uint64_t count;         // under the lock
    } spin;
    pthread_rwlock_t rwlock;
};

struct tb_pins_world {
    struct locus_pages *pages;
    locus_range *range;         // [ranges], a page each
    const volatile uint64_t **word; // [ranges], in that page
    union tb_pins_slot *slot;   // [ranges]
    uint32_t ranges;
};

struct tb_pins_hand {           // of a thread
    struct tb_pins_world *world;
    const uint16_t *draws;      // [TB_PINS_PAIRS]
    uint64_t sum;               // of the words that it read
    uint64_t refused, failed;   // pins; unpins
    uint64_t clock_ns;          // what reading the clock costs
    struct tb_latency pin, unpin; // of timed laps
};

struct tb_pins_way {
    const char *name, *summary;
    int (*open)(struct tb_pins_world *world); // makes its slots; NULL: they are as they should be when they are 0
    int (*pin)(struct tb_pins_world *world, uint32_t range); // 0, or it is refused
    int (*unpin)(struct tb_pins_world *world, uint32_t range);
    uint32_t (*held)(struct tb_pins_world *world); // ranges that somebody holds, by its own books, when nothing else runs
    void (*lap)(struct tb_pins_hand *hand);
    void (*lap_timed)(struct tb_pins_hand *hand);
};

const struct tb_pins_way *tb_pins_way_at(size_t i); // NULL ends the list
const struct tb_pins_way *tb_pins_way_find(const char *name);

typedef int tb_pins_call(struct tb_pins_world *world, uint32_t range);

// pin, unpin and timed are constants where this is instantiated, so the compiler calls or inlines them directly.
static inline __attribute__((always_inline)) void tb_pins_pairs(struct tb_pins_hand *hand, tb_pins_call *pin, tb_pins_call *unpin,
                                                                bool timed)
{
    struct tb_pins_world *world = hand->world;
    uint64_t sum = 0, begin_ns = 0;
    for (uint32_t i = 0; i < TB_PINS_PAIRS; i++) {
        uint32_t range = hand->draws[i];
        if (timed)
            begin_ns = tb_latency_now_ns();
        int refused = pin(world, range);
        if (timed)
            tb_latency_add(&hand->pin, tb_latency_now_ns() - begin_ns, hand->clock_ns);
        if (refused) {
            hand->refused++;
            continue;
        }
        sum += *world->word[range];
        if (timed)
            begin_ns = tb_latency_now_ns();
        hand->failed += unpin(world, range) != 0;
        if (timed)
            tb_latency_add(&hand->unpin, tb_latency_now_ns() - begin_ns, hand->clock_ns);
    }
    hand->sum += sum;
}

// Of functions NAME_pin and NAME_unpin.
#define TB_PINS_LAPS(name)                                                                                                         \
    static void name##_lap(struct tb_pins_hand *hand)                                                                              \
    {                                                                                                                              \
        tb_pins_pairs(hand, name##_pin, name##_unpin, false);                                                                      \
    }                                                                                                                              \
    static void name##_lap_timed(struct tb_pins_hand *hand)                                                                        \
    {                                                                                                                              \
        tb_pins_pairs(hand, name##_pin, name##_unpin, true);                                                                       \
    }

#endif
