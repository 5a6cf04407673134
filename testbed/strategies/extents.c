// SPDX-License-Identifier: Apache-2.0
//
// extents: see extents.h.

#include "testbed/strategies/extents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64u // arbitrary: doubles when it is full

int tb_extents_open(struct tb_extents *extents, uint64_t length)
{
    *extents = (struct tb_extents){.free = malloc(ROOM_FIRST * sizeof *extents->free), .room = ROOM_FIRST};
    if (!extents->free)
        return -ENOMEM;
    extents->free[0] = (struct tb_extent){0, length};
    extents->count = 1;
    extents->total = length;
    return 0;
}

void tb_extents_close(struct tb_extents *extents)
{
    free(extents->free);
    *extents = (struct tb_extents){0};
}

static void remove_at(struct tb_extents *extents, uint32_t i)
{
    extents->count--;
    memmove(extents->free + i, extents->free + i + 1, (extents->count - i) * sizeof *extents->free);
}

static uint64_t take(struct tb_extents *extents, uint32_t i, uint64_t length)
{
    struct tb_extent *extent = &extents->free[i];
    uint64_t start = extent->start;
    extent->start += length;
    extent->length -= length;
    extents->total -= length;
    if (extent->length == 0)
        remove_at(extents, i);
    return start;
}

uint64_t tb_extents_take_first(struct tb_extents *extents, uint64_t length)
{
    for (uint32_t i = 0; i < extents->count; i++)
        if (extents->free[i].length >= length)
            return take(extents, i, length);
    return TB_EXTENT_NONE;
}

uint64_t tb_extents_take_best(struct tb_extents *extents, uint64_t length)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < extents->count; i++)
        if (extents->free[i].length >= length && (best == UINT32_MAX || extents->free[i].length < extents->free[best].length))
            best = i;
    return best == UINT32_MAX ? TB_EXTENT_NONE : take(extents, best, length);
}

static int insert(struct tb_extents *extents, uint32_t i, uint64_t start, uint64_t length)
{
    if (extents->count == extents->room) {
        struct tb_extent *more = reallocarray(extents->free, extents->room * 2, sizeof *more);
        if (!more)
            return -ENOMEM;
        extents->free = more;
        extents->room *= 2;
    }
    memmove(extents->free + i + 1, extents->free + i, (extents->count - i) * sizeof *extents->free);
    extents->free[i] = (struct tb_extent){start, length};
    extents->count++;
    return 0;
}

// The first piece that begins at or after `start`.
static uint32_t after(const struct tb_extents *extents, uint64_t start)
{
    uint32_t low = 0, high = extents->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (extents->free[middle].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int tb_extents_give(struct tb_extents *extents, uint64_t start, uint64_t length)
{
    uint32_t i = after(extents, start);
    struct tb_extent *next = i < extents->count ? &extents->free[i] : NULL;
    struct tb_extent *previous = i > 0 ? &extents->free[i - 1] : NULL;
    if ((next && next->start < start + length) || (previous && previous->start + previous->length > start))
        return -EEXIST;
    bool joins_next = next && next->start == start + length,
         joins_previous = previous && previous->start + previous->length == start;
    int error = 0;
    if (joins_previous) {
        previous->length += length + (joins_next ? next->length : 0);
        if (joins_next)
            remove_at(extents, i);
    } else if (joins_next) {
        *next = (struct tb_extent){start, next->length + length};
    } else {
        error = insert(extents, i, start, length);
    }
    extents->total += error ? 0 : length;
    return error;
}

uint64_t tb_extents_largest(const struct tb_extents *extents)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < extents->count; i++)
        if (extents->free[i].length > largest)
            largest = extents->free[i].length;
    return largest;
}

uint64_t tb_extents_below(const struct tb_extents *extents, uint64_t length)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < extents->count; i++)
        sum += extents->free[i].length < length ? extents->free[i].length : 0;
    return sum;
}
