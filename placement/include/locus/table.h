// SPDX-License-Identifier: Apache-2.0
//
// table: which block holds which position of one request's sequence, and the parcel in which its blocks go home.
//
// The blocks are an array in sequence order, so a look-up is one division. The same array travels home: a push tells each home
// whose blocks the table holds (route.h), by its address, or by a link of which it has one for each home. Every home's drain
// walks the array and frees the handles that name it; the last one to finish hands the table back. So a push neither allocates
// nor copies, and does not touch a block's memory.
//
// A sequence may let its oldest blocks go and keep its positions, as sliding-window attention needs (locus_owner_drop_before).
// Their places stay in the array, as LOCUS_BLOCK_NONE.
//
// Life of a table (owner.h has the functions):
//
//     LIVE --retire--> RETIRED --push--> on its way --last drain--> LIVE,
//     empty, handed back by locus_owner_next_reclaimed()
//
// Threads: a table belongs to one thread at a time; handing it to another thread (by a dispatch queue) must synchronise, as for
// any object. A pushed table belongs to the owners of its homes, and others must not even read it.
//
// Memory is the caller's: locus_table_bytes() says how much, locus_table_init() lays a table out in it. There is nothing to
// close. locus_table_extend() enlarges a table that has become too small.
#ifndef LOCUS_TABLE_H
#define LOCUS_TABLE_H

#include "block.h"
#include "lane.h"

#ifdef __cplusplus
extern "C" {
#endif

enum locus_table_state { LOCUS_TABLE_LIVE, LOCUS_TABLE_RETIRED };

// Read the fields freely while the table is yours; let the functions change them. Only the owner uses the first cache line. The
// second one travels, if the push looks at the table: retire writes there where it has to go, push reads that and may link it,
// drain reads the links. So at most one line per request goes to the pusher and back.
struct locus_table {
    locus_block *blocks;        // [capacity], in sequence order; after the links, unless the table was extended
    uint64_t homes;             // bit h: the table holds a block of home h
    uint64_t tag;               // the engine's name for the request; errors report it
    uint32_t count;             // blocks of the sequence, with those that were dropped
    uint32_t capacity;
    uint32_t tokens_per_block;
    uint8_t state;              // enum locus_table_state
    uint8_t homes_max;          // links laid out: home ordinals 0 .. homes_max - 1
    uint8_t retired_by;         // the home whose owner counts this table as in flight
    uint32_t in_flight;         // its blocks at that time
    uint32_t dropped;           // the first so many are LOCUS_BLOCK_NONE, and went home before
    struct locus_table *reclaimed_next; // in the list of locus_owner_next_reclaimed()
    uint64_t push_to __attribute__((aligned(LOCUS_CACHE_LINE))); // bit h: push to home h; a push that looks at it sets it to 0
    uint32_t pending;           // atomic: drains still to come; used when the table spans several homes
#ifndef __cplusplus             // C++ has no flexible array members; the size is the same
    struct locus_link links[];  // one per home
#endif
};

// Bytes for a table of `capacity` blocks that may span `homes` homes. Memory for it must be aligned to LOCUS_CACHE_LINE.
size_t locus_table_bytes(uint32_t homes, uint32_t capacity);

// Lays out an empty LIVE table in `memory`. 0, or -EINVAL: homes is not in 1..LOCUS_HOMES_MAX, an argument is 0, or memory is not
// aligned.
int locus_table_init(void *memory, uint32_t homes, uint32_t capacity, uint32_t tokens_per_block);

// Appends one block that the caller holds. 0, -ENOSPC (full), -EINVAL (not LIVE, or LOCUS_BLOCK_NONE), -EXDEV (its home has no link
// here).
int locus_table_append(struct locus_table *table, locus_block block);

// Gives a LIVE table room for `capacity` blocks in the caller's array: its handles are copied there and keep their positions.
// *unused is an array that may be freed now, the one of the last extension, or NULL. The table keeps its array after it has come
// home; free table->blocks with the table.
// 0, or -EINVAL: not LIVE, no array, or it holds more than `capacity`. Then nothing changes, and *unused is NULL.
int locus_table_extend(struct locus_table *table, locus_block array[], uint32_t capacity, locus_block **unused);

// The block that holds `position` (in tokens, from 0); LOCUS_BLOCK_NONE past the last block, and where it was dropped.
inline locus_block locus_table_at(const struct locus_table *table, uint64_t position)
{
    uint64_t index = position / table->tokens_per_block;
    return index < table->count ? table->blocks[index] : LOCUS_BLOCK_NONE;
}

// The blocks that a sequence of `tokens` needs.
inline uint64_t locus_table_blocks_for(const struct locus_table *table, uint64_t tokens)
{
    return tokens / table->tokens_per_block + (tokens % table->tokens_per_block != 0);
}

// The fields, for languages that do not know the struct.
inline uint32_t locus_table_count(const struct locus_table *table)
{
    return table->count;
}

inline uint32_t locus_table_dropped(const struct locus_table *table)
{
    return table->dropped;
}

inline uint64_t locus_table_tag(const struct locus_table *table)
{
    return table->tag;
}

inline void locus_table_set_tag(struct locus_table *table, uint64_t tag)
{
    table->tag = tag;
}

#ifdef __cplusplus
}
#endif

#endif
