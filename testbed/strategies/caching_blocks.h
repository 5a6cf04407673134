// SPDX-License-Identifier: Apache-2.0
//
// caching_blocks: what caching.c and expandable.c have in common: blocks of bytes that know their neighbours, sets of free ones, a
// sequence's block, and the thresholds of PyTorch's caching allocator.
//
// Every sequence has one block, as long as it will ever be. Blocks are cut from segments, and join again when they are free; one
// without neighbours is a whole segment.
#ifndef TB_CACHING_BLOCKS_H
#define TB_CACHING_BLOCKS_H

#include "testbed/strategies/extents.h"
#include "testbed/strategies/strategy.h"

#define TB_MIB UINT64_C(1048576)
#define TB_CACHING_SMALL TB_MIB // requests up to this have a pool of their own
#define TB_CACHING_SMALL_SEGMENT (2 * TB_MIB)
#define TB_CACHING_LARGE_SEGMENT (20 * TB_MIB)

// Of the sets of free blocks: the pools, then the same for addresses without memory (expandable.c).
enum { TB_CACHING_POOL_SMALL, TB_CACHING_POOL_LARGE, TB_CACHING_POOLS, TB_CACHING_SETS = 2 * TB_CACHING_POOLS };

struct tb_block {
    uint64_t start, bytes;
    struct tb_block *previous, *next; // of the same segment, in order of address
    uint8_t set;                // to which it belongs when it is free
    bool taken;
};

struct tb_block_set {           // by size, equal ones by address
    struct tb_block **block;
    uint32_t count, room;
    uint64_t bytes;
};

struct tb_caching {
    const struct tb_strategy_setup *setup;
    struct tb_extents region;   // bytes that no segment has
    struct tb_block_set set[TB_CACHING_SETS];
    uint32_t blocks;            // in all
    uint64_t taken_bytes;
    struct tb_block **seat;     // [sequences]; NULL: not live
};

int tb_caching_open(struct tb_caching *caching, const struct tb_strategy_setup *setup, uint64_t region_bytes); // 0 or -ENOMEM
void tb_caching_close(struct tb_caching *caching);

static inline uint8_t tb_caching_pool(uint64_t bytes)
{
    return bytes <= TB_CACHING_SMALL ? TB_CACHING_POOL_SMALL : TB_CACHING_POOL_LARGE;
}

static inline uint64_t tb_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

// A segment in one block, neither taken nor in its set. NULL: no memory. Every set has room for all blocks, so that giving one
// back does not fail.
struct tb_block *tb_caching_segment(struct tb_caching *caching, uint8_t set, uint64_t start, uint64_t bytes);
void tb_caching_forget(struct tb_caching *caching, struct tb_block *block); // a whole segment that is in no set

// The first block of a set that has so many bytes, or `count`.
uint32_t tb_block_set_from(const struct tb_block_set *set, uint64_t bytes);

// Cuts a block that is in no set: what is behind its first `bytes` becomes its neighbour, in no set either. NULL: no memory.
struct tb_block *tb_caching_cut(struct tb_caching *caching, struct tb_block *block, uint64_t bytes);

// Takes a free block out of its set, or puts one in, joined with free neighbours of that set. Returns the joined one.
void tb_caching_remove(struct tb_caching *caching, struct tb_block *block);
struct tb_block *tb_caching_add(struct tb_caching *caching, struct tb_block *block);

// --- sequences -----------------------------------------------------------------------------------------------------------------

// Gives the sequence the first `bytes` of a block that is in no set, and the rest back. 0, or -ENOMEM: all of it is given back.
int tb_caching_seat(struct tb_caching *caching, uint32_t sequence, struct tb_block *block, uint64_t bytes);
void tb_caching_leave(struct tb_caching *caching, uint32_t sequence);

// The length is known in advance: nothing to do.
int tb_caching_extend(void *state, uint32_t sequence, uint32_t tokens);
void tb_caching_shorten(void *state, uint32_t sequence, uint32_t tokens);

void tb_caching_usage(const struct tb_caching *caching, uint64_t below, uint64_t largest_bytes, struct tb_usage *out);

// Whether free blocks lie in their sets, joined, and all bytes are somebody's.
int tb_caching_audit(const struct tb_caching *caching, uint64_t all_bytes, char *why, size_t why_bytes);

#endif
