// SPDX-License-Identifier: Apache-2.0
//
// waiting: how a pool without an owner of the library waits for blocks. As there, it waits only while what was declared on its way
// home could be enough, so it ends by itself, and a chunk that never comes costs two seconds.
#ifndef TB_WAITING_H
#define TB_WAITING_H

#include <stdint.h>

struct tb_wait {
    void (*drain)(void *context);
    void *drain_context;
    void (*look)(void *context, struct tb_wait *wait); // fills in the last two
    void *look_context;
    uint64_t free, in_flight;   // blocks
};

// Drains until `count` blocks are free. -ENOMEM when even everything in flight is not enough, -ETIMEDOUT after two seconds: a
// worker that lives needs microseconds.
int tb_wait_for(struct tb_wait *wait, uint32_t count);

#endif
