// SPDX-License-Identifier: Apache-2.0
//
// turns: in which order the arms of a process run their laps. In a turn each runs one.
//
// What slows a lap down often lasts for several, so a ratio of laps next to each other is steadier than one of medians. But an arm
// that always came second would have what the first left in the caches. So orders are shuffled in blocks: of two arms every two
// turns have AB and BA, of three every six turns have all six orders, each block in random order.
//
// What turns change: a lap mostly begins with the caches and the TLB full of what another arm has just used, while a lap of a
// process of its own begins with what the same arm's last lap left. So a ratio of turns is one of arms beside each other, and where
// their memory does not fit the caches together it may differ from that of arms which run alone. Who asks what a process of its own
// gains by memory (pages, order, placement) takes rounds, `pairing: rounds`, and pays for it with wider intervals.
#ifndef TB_TURNS_H
#define TB_TURNS_H

#include "testbed/measure/sample.h"
#include "testbed/stats/random.h"

#define TB_TURN_ORDERS 6u // of three arms

struct tb_turns {
    uint32_t arms, orders;      // 1 to TB_PROCESS_ARMS, and its factorial
    uint64_t random;
    uint32_t block[TB_TURN_ORDERS], next;
};

static inline void tb_turns_begin(struct tb_turns *turns, uint32_t arms, uint64_t seed)
{
    *turns = (struct tb_turns){.arms = arms, .orders = arms == 3 ? 6 : arms, .random = seed};
    turns->next = turns->orders;
}

static inline void tb_turns_next(struct tb_turns *turns, uint32_t order[TB_PROCESS_ARMS])
{
    static const uint32_t orders[TB_TURN_ORDERS][TB_PROCESS_ARMS] = {{0, 1, 2}, {1, 0, 2}, {2, 0, 1},
                                                                     {0, 2, 1}, {1, 2, 0}, {2, 1, 0}}; // two arms: the first two
    if (turns->next == turns->orders) {
        tb_random_order(turns->block, turns->orders, &turns->random);
        turns->next = 0;
    }
    const uint32_t *drawn = orders[turns->block[turns->next++]];
    for (uint32_t i = 0; i < turns->arms; i++)
        order[i] = drawn[i];
}

#endif
