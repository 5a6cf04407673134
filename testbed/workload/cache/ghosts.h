// SPDX-License-Identifier: Apache-2.0
//
// ghosts: the ids of blocks that have left a cache, in two queues by age, for policies that learn from what they evicted too
// early. About 60 bytes an id.
#ifndef TB_GHOSTS_H
#define TB_GHOSTS_H

#include <stdint.h>
#include <sys/queue.h>

#include "locus/evict.h"

enum { TB_GHOST_QUEUES = 2 };

struct tb_ghost {
    struct locus_id id;
    uint32_t queue;
    TAILQ_ENTRY(tb_ghost) age;  // in its queue, or among the free ones
    LIST_ENTRY(tb_ghost) alike; // those that the table begins to look for at one place
};

TAILQ_HEAD(tb_ghost_queue, tb_ghost);
LIST_HEAD(tb_ghost_bucket, tb_ghost);

struct tb_ghosts {
    struct tb_ghost *ghost;
    struct tb_ghost_bucket *bucket;
    uint32_t mask;              // buckets - 1
    struct tb_ghost_queue free, queue[TB_GHOST_QUEUES]; // the oldest first
    uint32_t count[TB_GHOST_QUEUES];
};

int tb_ghosts_open(struct tb_ghosts *ghosts, uint32_t most); // 0 or -ENOMEM; close it in both cases. It stays where it is
void tb_ghosts_close(struct tb_ghosts *ghosts);
struct tb_ghost *tb_ghosts_find(const struct tb_ghosts *ghosts, struct locus_id id); // NULL: it is not there
void tb_ghosts_add(struct tb_ghosts *ghosts, struct locus_id id, uint32_t queue);    // pre: it is not there, and one is free
void tb_ghosts_drop(struct tb_ghosts *ghosts, struct tb_ghost *ghost);

#endif
