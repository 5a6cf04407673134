// SPDX-License-Identifier: Apache-2.0
//
// region: brings back pages that are where their policy does not allow them. A policy rules allocations only: a page stays where
// another process, a cpuset or demotion has migrated it, or where it spilled while the node was full.
//
// The result of move_pages is not trusted. If a node runs out in the middle, it answers ENOMEM and leaves the status of every
// page as it was, although thousands have moved; in a huge page only the first address succeeds and the others are busy. So the
// pages are located before and after, and only the difference counts.
//
// A page goes to the node that its place falls to: with interleaving, the node where it would have been allocated; with a set, an
// even share goes to each node. If that fails, it goes to the next node in the set. Once every node in the set has answered that
// it is full, we stop, or each batch would make the kernel search for memory again.
#include "placement/memory/region_internal.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES_MIN 2u // a page can be busy for a moment

struct batch {
    unsigned long count;
    void *address[REGION_BATCH];
    int node[REGION_BATCH]; // where it is, where it shall go, and move_pages' answer
};

// Keeps only the pages of the batch that are on a node outside the set.
static int keep_astray(const struct locus_nodes *allowed, struct batch *batch)
{
    unsigned long kept = 0;
    int result = region_ask_nodes(batch->address, batch->count, batch->node);
    if (result)
        return result;
    for (unsigned long i = 0; i < batch->count; i++)
        if (batch->node[i] >= 0 && !locus_nodes_has(allowed, batch->node[i]))
            batch->address[kept++] = batch->address[i];
    batch->count = kept;
    return 0;
}

static int send_back(const struct region_turns *turns, unsigned attempt, struct batch *batch)
{
    int status[REGION_BATCH];
    for (unsigned long i = 0; i < batch->count; i++) {
        unsigned place = 0;
        while (turns->node[place] != region_turn_of(turns, batch->address[i]))
            place++;
        batch->node[i] = turns->node[(place + attempt) % turns->count];
    }
    return syscall(SYS_move_pages, 0, batch->count, batch->address, batch->node, status, MPOL_MF_MOVE) < 0 ? -errno : 0;
}

// Tries each node of the set once. *refused is the error of the last try, if pages remain.
static int repair_batch(const struct locus_nodes *allowed, const struct region_turns *turns, struct batch *batch, int *refused)
{
    unsigned tries = turns->count > TRIES_MIN ? turns->count : TRIES_MIN;
    int result = 0;
    for (unsigned attempt = 0; !result && batch->count > 0 && attempt < tries; attempt++) {
        *refused = send_back(turns, attempt, batch);
        result = keep_astray(allowed, batch);
    }
    if (batch->count == 0)
        *refused = 0;
    return result;
}

int locus_region_repair(const struct locus_region *region, uint64_t *moved, uint64_t *left)
{
    struct region_turns turns;
    struct batch batch;
    int refused = 0, result = 0;
    *moved = *left = 0;
    region_turns_read(region, &turns);
    if (turns.count == 0)
        return 0;
    for (size_t done = 0; !result && done < region->bytes;) {
        for (batch.count = 0; batch.count < REGION_BATCH && done < region->bytes; done += REGION_UNIT_BYTES)
            batch.address[batch.count++] = region->base + done;
        result = keep_astray(&region->nodes, &batch);
        unsigned long astray = result ? 0 : batch.count;
        if (astray > 0 && !refused)
            result = repair_batch(&region->nodes, &turns, &batch, &refused);
        *moved += astray - (astray ? batch.count : 0);
        *left += astray ? batch.count : 0;
    }
    return result ? result : refused;
}
