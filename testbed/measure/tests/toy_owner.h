// SPDX-License-Identifier: Apache-2.0
//
// toy_owner: what the toy does on its scheduler's thread, from entering to retiring.
#ifndef TB_TESTS_TOY_OWNER_H
#define TB_TESTS_TOY_OWNER_H

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "locus/lane.h"
#include "testbed/measure/tests/toy.h"

static inline int toy_enter(void *context, uint32_t station)
{
    struct toy *toy = context;
    fixture_cpu = (int)station;
    if (station == toy->broken && toy->enter_error) {
        toy->refused = true;
        return toy->enter_error;
    }
    if (toy->enter_error) {
        const struct timespec a_while = {.tv_nsec = 20000000};
        while (!toy->refused)
            sched_yield();
        nanosleep(&a_while, NULL);
    }
    toy->homes[station].entered = true;
    return 0;
}

static inline void toy_leave(void *context, uint32_t station)
{
    ((struct toy *)context)->homes[station].left = true;
}

static inline int toy_take(void *context, uint32_t station, struct locus_table *table, uint32_t count)
{
    struct toy *toy = context;
    struct toy_home *home = &toy->homes[station];
    if (station == toy->broken && toy->takes_late && toy->takes_late--)
        return -EAGAIN;
    if (station == toy->broken && toy->take_error && toy->takes_good-- == 0)
        return toy->take_error;
    if (home->free_count < count)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        table->blocks[table->count++] = home->free[--home->free_count];
    home->taken += count;
    table->tag = station;
    return 0;
}

static inline void *toy_address(void *context, locus_block block)
{
    struct toy *toy = context;
    uint64_t station = toy->one_for_all ? 0 : block / TOY_BLOCKS;
    return toy->memory[station][block % TOY_BLOCKS];
}

static inline int toy_retire(void *context, uint32_t station, struct locus_table *table)
{
    struct toy *toy = context;
    uint64_t *random = &toy->homes[station].random;
    if (toy->hesitates_max) {
        *random = (*random + station + 1) * UINT64_C(6364136223846793005); // Knuth's; variety is wanted, not quality
        for (uint64_t pauses = (*random >> 33) % toy->hesitates_max; pauses; pauses--)
            locus_cpu_relax();
    }
    return table->tag == station ? 0 : -EXDEV;
}

#endif
