// SPDX-License-Identifier: Apache-2.0
//
// caching_blocks: see caching_blocks.h.

#include "testbed/strategies/caching_blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- sets ----------------------------------------------------------------------------------------------------------------------

static bool comes_before(const struct tb_block *block, uint64_t bytes, uint64_t start)
{
    return block->bytes < bytes || (block->bytes == bytes && block->start < start);
}

static uint32_t place(const struct tb_block_set *set, uint64_t bytes, uint64_t start)
{
    uint32_t low = 0, high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (comes_before(set->block[middle], bytes, start))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t tb_block_set_from(const struct tb_block_set *set, uint64_t bytes)
{
    return place(set, bytes, 0);
}

void tb_caching_remove(struct tb_caching *caching, struct tb_block *block)
{
    struct tb_block_set *set = &caching->set[block->set];
    uint32_t i = place(set, block->bytes, block->start);
    set->count--;
    set->bytes -= block->bytes;
    memmove(set->block + i, set->block + i + 1, (set->count - i) * sizeof *set->block);
}

static void insert(struct tb_block_set *set, struct tb_block *block)
{
    uint32_t i = place(set, block->bytes, block->start);
    memmove(set->block + i + 1, set->block + i, (set->count - i) * sizeof *set->block);
    set->block[i] = block;
    set->count++;
    set->bytes += block->bytes;
}

static int sets_room(struct tb_caching *caching, uint32_t count)
{
    for (size_t i = 0; i < TB_CACHING_SETS; i++) {
        struct tb_block_set *set = &caching->set[i];
        if (count <= set->room)
            continue;
        uint32_t room = set->room ? set->room * 2 : 64;
        struct tb_block **more = reallocarray(set->block, room, sizeof(struct tb_block *));
        if (!more)
            return -ENOMEM;
        set->block = more;
        set->room = room;
    }
    return 0;
}

// --- blocks --------------------------------------------------------------------------------------------------------------------

struct tb_block *tb_caching_segment(struct tb_caching *caching, uint8_t set, uint64_t start, uint64_t bytes)
{
    struct tb_block *block = sets_room(caching, caching->blocks + 1) ? NULL : malloc(sizeof *block);
    if (!block)
        return NULL;
    *block = (struct tb_block){.start = start, .bytes = bytes, .set = set};
    caching->blocks++;
    return block;
}

void tb_caching_forget(struct tb_caching *caching, struct tb_block *block)
{
    caching->blocks--;
    free(block);
}

struct tb_block *tb_caching_cut(struct tb_caching *caching, struct tb_block *block, uint64_t bytes)
{
    struct tb_block *rest = tb_caching_segment(caching, block->set, block->start + bytes, block->bytes - bytes);
    if (!rest)
        return NULL;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next)
        rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    return rest;
}

// `block` gets the bytes of the neighbour behind it.
static void join(struct tb_caching *caching, struct tb_block *block)
{
    struct tb_block *gone = block->next;
    block->bytes += gone->bytes;
    block->next = gone->next;
    if (block->next)
        block->next->previous = block;
    tb_caching_forget(caching, gone);
}

static bool joins(const struct tb_block *block, const struct tb_block *neighbour)
{
    return neighbour && !neighbour->taken && neighbour->set == block->set;
}

struct tb_block *tb_caching_add(struct tb_caching *caching, struct tb_block *block)
{
    if (joins(block, block->next)) {
        tb_caching_remove(caching, block->next);
        join(caching, block);
    }
    if (joins(block, block->previous)) {
        block = block->previous;
        tb_caching_remove(caching, block);
        join(caching, block);
    }
    insert(&caching->set[block->set], block);
    return block;
}

// --- sequences -----------------------------------------------------------------------------------------------------------------

int tb_caching_open(struct tb_caching *caching, const struct tb_strategy_setup *setup, uint64_t region_bytes)
{
    *caching = (struct tb_caching){.setup = setup, .seat = calloc(setup->sequences, sizeof(struct tb_block *))};
    return caching->seat ? tb_extents_open(&caching->region, region_bytes) : -ENOMEM;
}

void tb_caching_close(struct tb_caching *caching)
{
    for (uint32_t i = 0; caching->seat && i < caching->setup->sequences; i++)
        free(caching->seat[i]);
    for (size_t i = 0; i < TB_CACHING_SETS; i++) {
        for (uint32_t at = 0; at < caching->set[i].count; at++)
            free(caching->set[i].block[at]);
        free(caching->set[i].block);
    }
    tb_extents_close(&caching->region);
    free(caching->seat);
}

int tb_caching_seat(struct tb_caching *caching, uint32_t sequence, struct tb_block *block, uint64_t bytes)
{
    struct tb_block *rest = block->bytes > bytes ? tb_caching_cut(caching, block, bytes) : NULL;
    if (!rest && block->bytes > bytes) {
        tb_caching_add(caching, block);
        return -ENOMEM;
    }
    block->taken = true;
    caching->taken_bytes += block->bytes;
    caching->seat[sequence] = block;
    if (rest)
        tb_caching_add(caching, rest);
    return 0;
}

void tb_caching_leave(struct tb_caching *caching, uint32_t sequence)
{
    struct tb_block *block = caching->seat[sequence];
    block->taken = false;
    caching->taken_bytes -= block->bytes;
    caching->seat[sequence] = NULL;
    tb_caching_add(caching, block);
}

int tb_caching_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
    return 0;
}

void tb_caching_shorten(void *state, uint32_t sequence, uint32_t tokens)
{
    (void)state;
    (void)sequence;
    (void)tokens;
}

void tb_caching_usage(const struct tb_caching *caching, uint64_t below, uint64_t largest_bytes, struct tb_usage *out)
{
    uint64_t token_bytes = caching->setup->kv->token_bytes, free_bytes = caching->region.total;
    uint64_t holes = tb_extents_below(&caching->region, below * token_bytes);
    for (size_t i = 0; i < TB_CACHING_POOLS; i++) {
        const struct tb_block_set *set = &caching->set[i];
        free_bytes += set->bytes;
        for (uint32_t at = 0; at < set->count && set->block[at]->bytes < below * token_bytes; at++)
            holes += set->block[at]->bytes;
    }
    *out = (struct tb_usage){
        .reserved = caching->taken_bytes / token_bytes,
        .free = free_bytes / token_bytes,
        .largest = largest_bytes / token_bytes,
        .holes = holes / token_bytes,
    };
}

static const char *fault(const struct tb_block *block, size_t set)
{
    const struct tb_block *next = block->next, *previous = block->previous;
    if (block->taken || block->set != set)
        return "is in a set that is not its own";
    if (joins(block, next) || joins(block, previous))
        return "is free beside another free one";
    if ((next && next->start != block->start + block->bytes) || (previous && previous->start + previous->bytes != block->start))
        return "does not end where its neighbour begins";
    return NULL;
}

int tb_caching_audit(const struct tb_caching *caching, uint64_t all_bytes, char *why, size_t why_bytes)
{
    const char *name = caching->setup->strategy->name;
    uint64_t held = 0, free_bytes = caching->region.total, in_sets = 0;
    for (uint32_t i = 0; i < caching->setup->sequences; i++)
        held += caching->seat[i] ? caching->seat[i]->bytes : 0;
    for (size_t i = 0; i < TB_CACHING_SETS; i++)
        for (uint32_t at = 0; at < caching->set[i].count; at++) {
            const struct tb_block *block = caching->set[i].block[at];
            if (fault(block, i)) {
                snprintf(why, why_bytes, "strategy %s: the free block at byte %llu %s", name, (unsigned long long)block->start,
                         fault(block, i));
                return -EBADMSG;
            }
            in_sets += i < TB_CACHING_POOLS ? block->bytes : 0;
        }
    if (held == caching->taken_bytes && held + free_bytes + in_sets == all_bytes)
        return 0;
    snprintf(why, why_bytes, "strategy %s: %llu bytes are held, %llu are cached and %llu are free, of %llu", name,
             (unsigned long long)held, (unsigned long long)in_sets, (unsigned long long)free_bytes, (unsigned long long)all_bytes);
    return -EBADMSG;
}
