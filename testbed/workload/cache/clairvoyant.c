// SPDX-License-Identifier: Apache-2.0
//
// clairvoyant: Belady's MIN as an eviction policy (id_cache.h).
//
// Every reference of the sequence has a position, and no two ids are used at the same one. So the next uses of kept blocks are
// different, except for those of blocks that are never used again; these get a position after all others, later ones higher, so
// that what was kept last leaves first. The victim is the highest position, which a heap yields. Entries of blocks that were
// taken stay in the heap until they come up: an entry is valid if it says what its block says. Ids are those of a trace: their
// first word is the number.
#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/id_cache.h"
#include "testbed/workload/cache/id_map.h"

#define POSITION_NONE UINT64_MAX // the block is not kept

struct entry {
    uint64_t position;
    uint32_t block;
};

struct clairvoyant {
    uint64_t *position;         // of a block: where its id is used next
    uint32_t blocks;
    struct tb_id_map map;
    uint64_t *next;             // of a position: where the same id is used next
    uint64_t *last;             // of an id's number: its last use so far
    uint64_t now, never;        // the next request's first position; where those stand that are never used again
    struct entry *heap;
    size_t count, room;
};

static void clairvoyant_close(void *state)
{
    struct clairvoyant *seer = state;
    if (!seer)
        return;
    tb_id_map_close(&seer->map);
    free(seer->position);
    free(seer->next);
    free(seer->last);
    free(seer->heap);
    free(seer);
}

static int clairvoyant_open(void **state, uint32_t blocks)
{
    *state = NULL;
    struct clairvoyant *seer = calloc(1, sizeof *seer);
    if (!seer)
        return -ENOMEM;
    seer->blocks = blocks;
    seer->position = malloc((blocks + (size_t)1) * sizeof *seer->position);
    if (!seer->position) {
        clairvoyant_close(seer);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < blocks; i++)
        seer->position[i] = POSITION_NONE;
    *state = seer;
    return 0;
}

int tb_clairvoyant_foresee(void *state, const struct tb_id_request requests[], size_t count)
{
    struct clairvoyant *seer = state;
    uint64_t at = 0, ids = 0;
    for (size_t i = 0; i < count; i++)
        ids += requests[i].count;
    int error = tb_id_map_open(&seer->map, ids);
    seer->next = malloc((ids + 1) * sizeof *seer->next);
    seer->last = malloc((ids + 1) * sizeof *seer->last);
    // At most one entry for each reference, and one that is pushed before the oldest one was seen to be invalid.
    seer->heap = malloc((ids + seer->blocks + 1) * sizeof *seer->heap);
    if (error || !seer->next || !seer->last || !seer->heap)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < requests[i].count; j++, at++) {
            uint32_t known = seer->map.count, number = tb_id_map_number(&seer->map, requests[i].ids[j]);
            if (number < known)
                seer->next[seer->last[number]] = at;
            seer->last[number] = at;
            seer->next[at] = POSITION_NONE;
        }
    }
    seer->never = ids;
    return 0;
}

static void clairvoyant_request(void *state, uint64_t now_ns, const struct locus_id ids[], uint32_t count)
{
    struct clairvoyant *seer = state;
    (void)now_ns;
    for (uint32_t i = 0; i < count; i++)
        seer->last[tb_id_map_number(&seer->map, ids[i].word[0])] = seer->now++;
}

static void clairvoyant_insert(void *state, uint32_t block, struct locus_id id, uint32_t parent, bool fresh)
{
    struct clairvoyant *seer = state;
    uint64_t position = seer->next[seer->last[tb_id_map_number(&seer->map, id.word[0])]];
    size_t at = seer->count++;
    (void)parent;
    (void)fresh;
    if (position == POSITION_NONE)
        position = seer->never++;
    seer->position[block] = position;
    for (; at > 0 && seer->heap[(at - 1) / 2].position < position; at = (at - 1) / 2)
        seer->heap[at] = seer->heap[(at - 1) / 2];
    seer->heap[at] = (struct entry){position, block};
}

static void clairvoyant_unlink(void *state, uint32_t block)
{
    ((struct clairvoyant *)state)->position[block] = POSITION_NONE;
}

static void pop(struct clairvoyant *seer)
{
    struct entry last = seer->heap[--seer->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < seer->count; at = child) {
        child += child + 1 < seer->count && seer->heap[child + 1].position > seer->heap[child].position;
        if (seer->heap[child].position <= last.position)
            break;
        seer->heap[at] = seer->heap[child];
    }
    seer->heap[at] = last;
}

static uint32_t clairvoyant_victim(void *state)
{
    struct clairvoyant *seer = state;
    while (seer->count > 0 && seer->position[seer->heap[0].block] != seer->heap[0].position)
        pop(seer);
    return seer->count ? seer->heap[0].block : LOCUS_EVICT_NONE;
}

const struct locus_evict_ops tb_clairvoyant = {
    .name = "clairvoyant",
    .summary = "knows the future: what is used again last leaves first",
    .open = clairvoyant_open,
    .close = clairvoyant_close,
    .request = clairvoyant_request,
    .hit = clairvoyant_unlink,
    .insert = clairvoyant_insert,
    .victim = clairvoyant_victim,
    .remove = clairvoyant_unlink,
};
