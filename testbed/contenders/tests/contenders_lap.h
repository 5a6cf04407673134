// SPDX-License-Identifier: Apache-2.0
//
// contenders_lap: a whole lap of the small schedule, played with a contender (contenders_play.h) and checked block by block, and
// a late worker.
#ifndef TB_CONTENDERS_LAP_H
#define TB_CONTENDERS_LAP_H

#include <pthread.h>
#include <time.h>

#include "testbed/contenders/tests/contenders_play.h"

// Two live blocks are at least a block apart.
static inline void expect_apart(const struct play *play)
{
    for (uint32_t a = 0; a < TABLES * POOL_BLOCKS; a++) {
        for (uint32_t b = 0; b < a; b++) {
            if (a % POOL_BLOCKS >= play->tables[a / POOL_BLOCKS]->count || b % POOL_BLOCKS >= play->tables[b / POOL_BLOCKS]->count)
                continue;
            char *one = play_address(play, a / POOL_BLOCKS, a % POOL_BLOCKS);
            char *other = play_address(play, b / POOL_BLOCKS, b % POOL_BLOCKS);
            cr_assert_geq(one < other ? other - one : one - other, BLOCK_BYTES, "%s: live blocks overlap", play->contender->name);
        }
    }
}

static inline void play_lap(struct play *play)
{
    const struct tb_span *lap = tb_schedule_lap(play->schedule, 0);
    for (uint64_t i = lap->begin; i < lap->end; i++) {
        struct tb_op op = tb_schedule_ops(play->schedule)[i];
        struct locus_table *table = play->tables[op.slot];
        if (op.kind == TB_OP_DRAIN) {
            play->ops->drain(play->context);
        } else if (op.kind == TB_OP_TAKE) {
            uint32_t first = table->count;
            cr_assert_eq(play_take(play, op.slot, op.count), 0, "%s: take", play->contender->name);
            cr_assert_eq(table->count, first + op.count, "%s: take gave another number", play->contender->name);
            for (uint32_t b = first; b < table->count; b++)
                memset(play_address(play, op.slot, b), tb_tag(op.slot), BLOCK_BYTES);
            if (!play->contender->harness)
                expect_apart(play);
        } else {
            for (uint32_t b = 0; b < table->count && !play->contender->harness; b++)
                cr_assert(tb_intact(play_address(play, op.slot, b), BLOCK_BYTES, op.slot), "%s: overwritten",
                          play->contender->name);
            play_retire(play, op.slot);
            play->ops->finish(play->context, 0, table);
        }
    }
}

static inline void *finish_late(void *argument)
{
    struct play *play = argument;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    play->ops->finish(play->context, 1, play->tables[0]);
    return NULL;
}

#endif
