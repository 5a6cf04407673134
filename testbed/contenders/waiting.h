// SPDX-License-Identifier: Apache-2.0
//
// waiting: how a pool without the library's owner waits for blocks. Like the owner, it waits only while the blocks declared on
// their way home could be enough, so it ends by itself, and a chunk that never comes costs two seconds.
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

// Drains until `count` blocks are free. -ENOMEM: even everything in flight is not enough; -ETIMEDOUT after two seconds: a live
// worker needs microseconds.
int tb_wait_for(struct tb_wait *wait, uint32_t count);

#endif
