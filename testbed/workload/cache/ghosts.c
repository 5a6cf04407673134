// SPDX-License-Identifier: Apache-2.0
//
// ghosts: a hash table with chained buckets. All is allocated at once, because a policy cannot say later that it has no memory.
#include "testbed/workload/cache/ghosts.h"

#include <errno.h>
#include <stdlib.h>

int tb_ghosts_open(struct tb_ghosts *ghosts, uint32_t most)
{
    size_t buckets = 1;
    while (buckets < most)
        buckets *= 2;
    *ghosts = (struct tb_ghosts){.mask = (uint32_t)(buckets - 1)};
    ghosts->ghost = calloc(most, sizeof *ghosts->ghost);
    ghosts->bucket = calloc(buckets, sizeof *ghosts->bucket);
    if (!ghosts->ghost || !ghosts->bucket)
        return -ENOMEM;
    for (uint32_t i = 0; i < TB_GHOST_QUEUES; i++)
        TAILQ_INIT(&ghosts->queue[i]);
    TAILQ_INIT(&ghosts->free);
    for (uint32_t i = 0; i < most; i++)
        TAILQ_INSERT_TAIL(&ghosts->free, &ghosts->ghost[i], age);
    return 0;
}

void tb_ghosts_close(struct tb_ghosts *ghosts)
{
    free(ghosts->ghost);
    free(ghosts->bucket);
}

static struct tb_ghost_bucket *bucket_of(const struct tb_ghosts *ghosts, struct locus_id id)
{
    // 2^64 divided by the golden ratio: the high bits of the product depend on all of the words' bits
    return &ghosts->bucket[((id.word[0] ^ id.word[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & ghosts->mask];
}

struct tb_ghost *tb_ghosts_find(const struct tb_ghosts *ghosts, struct locus_id id)
{
    struct tb_ghost *ghost = LIST_FIRST(bucket_of(ghosts, id));
    while (ghost && !locus_id_equal(ghost->id, id))
        ghost = LIST_NEXT(ghost, alike);
    return ghost;
}

void tb_ghosts_add(struct tb_ghosts *ghosts, struct locus_id id, uint32_t queue)
{
    struct tb_ghost *ghost = TAILQ_FIRST(&ghosts->free);
    TAILQ_REMOVE(&ghosts->free, ghost, age);
    ghost->id = id;
    ghost->queue = queue;
    TAILQ_INSERT_TAIL(&ghosts->queue[queue], ghost, age);
    LIST_INSERT_HEAD(bucket_of(ghosts, id), ghost, alike);
    ghosts->count[queue]++;
}

void tb_ghosts_drop(struct tb_ghosts *ghosts, struct tb_ghost *ghost)
{
    TAILQ_REMOVE(&ghosts->queue[ghost->queue], ghost, age);
    LIST_REMOVE(ghost, alike);
    TAILQ_INSERT_HEAD(&ghosts->free, ghost, age);
    ghosts->count[ghost->queue]--;
}
