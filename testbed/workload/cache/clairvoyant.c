// SPDX-License-Identifier: Apache-2.0
//
// clairvoyant: Belady's MIN as an eviction policy (id_cache.h).
//
// Every reference of the sequence has a position, and no two ids are used at the same one. So the next uses of kept blocks are
// different, except for those of blocks that are never used again; these get a position after all others, later ones higher, so
// that what was kept last leaves first. The victim is the highest position, which a heap yields. Ids are those of a trace: their
// first word is the number.
#include <errno.h>
#include <stdlib.h>

#include "testbed/workload/cache/heap.h"
#include "testbed/workload/cache/id_cache.h"
#include "testbed/workload/cache/id_map.h"

#define POSITION_NONE UINT64_MAX // it is not used again

struct clairvoyant {
    struct tb_heap heap;        // key: where a block's id is used next, from the end
    struct tb_id_map map;
    uint64_t *next;             // of a position: where the same id is used next
    uint64_t *last;             // of an id's number: its last use so far
    uint64_t now, never;        // the next request's first position; where those stand that are never used again
};

static void clairvoyant_close(void *state)
{
    struct clairvoyant *seer = state;
    if (!seer)
        return;
    tb_id_map_close(&seer->map);
    tb_heap_close(&seer->heap);
    free(seer->next);
    free(seer->last);
    free(seer);
}

static int clairvoyant_open(void **state, uint32_t blocks)
{
    *state = NULL;
    struct clairvoyant *seer = calloc(1, sizeof *seer);
    if (!seer)
        return -ENOMEM;
    if (tb_heap_open(&seer->heap, blocks)) {
        clairvoyant_close(seer);
        return -ENOMEM;
    }
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
    if (error || !seer->next || !seer->last)
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
    (void)parent;
    (void)fresh;
    if (position == POSITION_NONE)
        position = seer->never++;
    tb_heap_push(&seer->heap, block, (struct tb_heap_key){UINT64_MAX - position, 0});
}

static void clairvoyant_unlink(void *state, uint32_t block)
{
    tb_heap_remove(&((struct clairvoyant *)state)->heap, block);
}

static uint32_t clairvoyant_victim(void *state)
{
    return tb_heap_top(&((struct clairvoyant *)state)->heap);
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
