// SPDX-License-Identifier: Apache-2.0
//
// extents: the free pieces of a region, in order of address. For strategies that give each sequence one contiguous piece.
//
// A sorted array, searched from its beginning: the list of the textbooks, whose cost grows with the number of holes. Neighbours
// coalesce when a piece comes back.
#ifndef TB_EXTENTS_H
#define TB_EXTENTS_H

#include <stdint.h>

struct tb_extent {
    uint64_t start, length;     // in the caller's unit
};

struct tb_extents {
    struct tb_extent *free;     // ascending, never adjacent
    uint32_t count, room;
    uint64_t total;             // their lengths
};

#define TB_EXTENT_NONE UINT64_MAX

int tb_extents_open(struct tb_extents *extents, uint64_t length); // all free. 0 or -ENOMEM
void tb_extents_close(struct tb_extents *extents);

// The lowest free piece that is long enough, or (best) the shortest such. Its start, or TB_EXTENT_NONE.
uint64_t tb_extents_take_first(struct tb_extents *extents, uint64_t length);
uint64_t tb_extents_take_best(struct tb_extents *extents, uint64_t length);

// Takes a piece back that lies between free ones. 0; -ENOMEM; -EEXIST: part of it is free already.
int tb_extents_give(struct tb_extents *extents, uint64_t start, uint64_t length);

uint64_t tb_extents_largest(const struct tb_extents *extents);
uint64_t tb_extents_below(const struct tb_extents *extents, uint64_t length); // the sum of those that are shorter

#endif
